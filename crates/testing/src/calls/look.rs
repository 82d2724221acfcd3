//! Values of calls, looked at: so that two of them can be compared when they are long gone.

use std::fmt::{Debug, Write};
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use meshmap::{Array, Attribute, Bounds, Error, ErrorKind, Finding, Item, MeshView, Result, Text};

/// The parts of a value that were seen.
#[derive(Default)]
pub struct Looked {
    hasher: DefaultHasher,
    /// Errors in it.
    pub errors: usize,
    /// The first error of bytes that were not there yet.
    pub missing: Option<Error>,
}

impl Looked {
    /// Two values of which this is equal are equal.
    pub fn digest(&self) -> u64 {
        self.hasher.finish()
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.hasher.write_usize(bytes.len());
        self.hasher.write(bytes);
    }

    fn debug(&mut self, value: &dyn Debug) {
        // A hasher takes anything.
        let _ = write!(Writing(self), "{value:?}");
        self.hasher.write_u8(0xff);
    }
}

struct Writing<'a>(&'a mut Looked);

impl Write for Writing<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.hasher.write(text.as_bytes());
        Ok(())
    }
}

/// A value that can be looked at.
pub trait Look {
    /// Looks at all of it.
    fn look(&self, at: &mut Looked);
}

macro_rules! by_debug {
    ($($type:ty),* $(,)?) => {$(
        impl Look for $type {
            fn look(&self, at: &mut Looked) {
                at.debug(self);
            }
        }
    )*};
}

by_debug!(
    (),
    bool,
    i32,
    u32,
    u64,
    usize,
    f64,
    &'static str,
    String,
    Text,
    Bounds,
    Finding,
    Item,
    meshmap::Address,
    meshmap::Block,
    meshmap::cgeo::Counts,
    meshmap::cgeo::Proxy,
    meshmap::cgeo::Section,
    meshmap::iqm::Model,
    meshmap::iqm::Trs,
    meshmap::openctm::Mesh,
    meshmap::slmesh::Asset,
    meshmap::slmesh::CacheEntry,
    meshmap::slmesh::Hull,
    meshmap::slmesh::Lod,
    meshmap::slmesh::PhysicsConvex,
    meshmap::slmesh::Skin,
    meshmap::slmesh::UploadCache,
    meshmap::tmf::Document,
    meshmap::tmf::Mesh,
    std::ops::Range<u64>,
);

impl Look for meshmap::MeshFile {
    fn look(&self, at: &mut Looked) {
        at.debug(&(self.format(), self.findings()));
        self.items().for_each(|item| item.look(at));
    }
}

impl Look for Bytes {
    fn look(&self, at: &mut Looked) {
        at.bytes(self);
    }
}

impl<T: meshmap::Element> Look for Array<T> {
    fn look(&self, at: &mut Looked) {
        at.bytes(self.as_bytes());
    }
}

impl Look for meshmap::ArrayEntry {
    fn look(&self, at: &mut Looked) {
        at.debug(&(self, &self.name));
    }
}

impl Look for meshmap::ArrayData {
    fn look(&self, at: &mut Looked) {
        at.debug(&(self.scalar(), self.shape()));
        at.bytes(self.as_bytes());
    }
}

impl Look for Attribute {
    fn look(&self, at: &mut Looked) {
        at.debug(&(self.format(), self.semantic(), self.dequant()));
        at.bytes(self.as_bytes());
    }
}

impl Look for MeshView {
    fn look(&self, at: &mut Looked) {
        at.debug(&(
            self.name(),
            self.address(),
            self.role(),
            self.vertex_count(),
        ));
        at.debug(&(self.attributes(), self.findings(), self.indices().base()));
        self.indices()
            .iter()
            .for_each(|index| at.hasher.write_u32(index));
    }
}

impl Look for meshmap::VertexRemap {
    fn look(&self, at: &mut Looked) {
        self.indices()
            .iter()
            .for_each(|index| at.hasher.write_u32(*index));
        at.debug(&(self.vertex_count(), self.groups().len()));
    }
}

impl Look for meshmap::cgeo::Triangles {
    fn look(&self, at: &mut Looked) {
        at.bytes(self.as_bytes());
    }
}

impl Look for meshmap::cgeo::Mesh {
    fn look(&self, at: &mut Looked) {
        (&self.positions, &self.normals).look(at);
        self.texcoords.look(at);
        self.triangles.look(at);
    }
}

impl Look for meshmap::openctm::MeshArrays {
    fn look(&self, at: &mut Looked) {
        (&self.positions, &self.triangles).look(at);
        self.normals.look(at);
    }
}

impl Look for meshmap::slmesh::Mesh {
    fn look(&self, at: &mut Looked) {
        at.debug(&(self.range(), self.faces().len()));
        at.bytes(self.content());
    }
}

impl Look for meshmap::slmesh::Decoded {
    fn look(&self, at: &mut Looked) {
        self.lods.iter().for_each(|lod| lod.look(at));
        (&self.physics_mesh, &self.physics_convex).look(at);
        self.skin.look(at);
    }
}

impl<T: Look> Look for Option<T> {
    fn look(&self, at: &mut Looked) {
        at.debug(&self.is_some());
        self.iter().for_each(|value| value.look(at));
    }
}

impl<T: Look> Look for Result<T> {
    fn look(&self, at: &mut Looked) {
        match self {
            Ok(value) => value.look(at),
            Err(error) => error.look(at),
        }
    }
}

impl Look for Error {
    fn look(&self, at: &mut Looked) {
        at.errors += 1;
        if matches!(self.kind(), ErrorKind::NeedBytes(_)) {
            at.missing.get_or_insert_with(|| self.clone());
        }
        // Not every source has a path.
        at.debug(&self.message());
    }
}

impl<T: Look> Look for Vec<T> {
    fn look(&self, at: &mut Looked) {
        at.debug(&self.len());
        self.iter().for_each(|value| value.look(at));
    }
}

impl<T: Look> Look for Arc<T> {
    fn look(&self, at: &mut Looked) {
        (**self).look(at);
    }
}

impl<T: Look> Look for &T {
    fn look(&self, at: &mut Looked) {
        (**self).look(at);
    }
}

impl<A: Look, B: Look> Look for (A, B) {
    fn look(&self, at: &mut Looked) {
        self.0.look(at);
        self.1.look(at);
    }
}

/// Values that are looked at one after the other, and kept no longer.
pub struct Seen {
    looked: Option<Looked>,
}

impl Seen {
    /// An empty digest. Without `looks`, no value is inspected.
    pub fn new(looks: bool) -> Self {
        Self {
            looked: looks.then(Looked::default),
        }
    }

    /// Looks at a value.
    pub fn add(&mut self, value: &impl Look) {
        if let Some(looked) = &mut self.looked {
            value.look(looked);
        }
    }
}

impl Look for Seen {
    fn look(&self, at: &mut Looked) {
        if let Some(looked) = &self.looked {
            at.errors += looked.errors;
            at.missing = at.missing.take().or(looked.missing.clone());
            at.debug(&looked.digest());
        }
    }
}
