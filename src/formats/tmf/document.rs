//! The file: its meshes, by index and by name.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::layout::{FileLayout, Layout, MeshEntry, SegmentType};
use super::mesh::Mesh;
use super::raw;
use crate::bytes::Source;
use crate::format::Format;
use crate::num::{Span, as_u64};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, Finding, Item, Result};

/// A TMF file.
///
/// Cloning is cheap. Names, counts and the list of segments are at hand; arrays are read and decoded when asked for.
#[derive(Clone)]
pub struct Document {
    pub(crate) layout: Arc<Layout>,
    pub(crate) options: Options,
}

impl Document {
    /// Opens a file lazily.
    ///
    /// # Errors
    ///
    /// Those of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?)
    }

    /// Reads the layout of a file: the headers, and none of the arrays.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](crate::ErrorKind::UnknownFormat) for another magic, [`Unsupported`](crate::ErrorKind::Unsupported) for a
    /// minimum version above 0.2 and for compressed segments, [`Truncated`](crate::ErrorKind::Truncated) for a file that ends
    /// before its last segment does, [`Malformed`](crate::ErrorKind::Malformed) for segments that are shorter than what they
    /// announce, and [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for elements of no bits in numbers beyond the
    /// [`Limits`](crate::Limits).
    pub fn from_source(source: Source) -> Result<Self> {
        Self::from_source_with(source, &Options::default())
    }

    /// The same with options; [`Strictness::Strict`](crate::Strictness::Strict) also runs [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// Those of [`from_source`](Self::from_source); strictly, [`Malformed`](crate::ErrorKind::Malformed) for any finding
    /// that the specification forbids, and the errors of decoding.
    pub fn from_source_with(source: Source, options: &Options) -> Result<Self> {
        let layout = Arc::new(Layout::read(&source, &options.limits)?);
        let document = Self { layout, options: *options };
        refuse_forbidden(options, Format::Tmf, || document.validate())?;
        Ok(document)
    }

    /// The header as stored: the version of the writer, and the minimum version of a reader.
    #[must_use]
    pub fn header(&self) -> &raw::Header {
        &self.layout.header
    }

    /// Which of the two layouts the file has.
    #[must_use]
    pub fn file_layout(&self) -> FileLayout {
        self.layout.file_layout
    }

    /// The source, for reading what else lies in the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.layout.source
    }

    /// The meshes.
    pub fn meshes(&self) -> impl ExactSizeIterator<Item = Mesh> + '_ {
        (0..self.layout.meshes.len()).map(|index| Mesh::new(&self.layout, self.options, index))
    }

    /// The mesh at an index.
    #[must_use]
    pub fn mesh(&self, index: usize) -> Option<Mesh> {
        (index < self.layout.meshes.len()).then(|| Mesh::new(&self.layout, self.options, index))
    }

    /// The first mesh with this name.
    #[must_use]
    pub fn mesh_named(&self, name: impl AsRef<[u8]>) -> Option<Mesh> {
        let index = self.layout.meshes.iter().position(|mesh| mesh.name == name.as_ref())?;
        self.mesh(index)
    }

    /// What was tolerated when opening.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.layout.findings
    }

    /// The meshes, and behind each its segments. Reads nothing.
    #[must_use]
    pub fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for (index, mesh) in (0..).zip(&self.layout.meshes) {
            let address = Address::field("meshes").index(index);
            items.push(self.mesh_item(address.clone(), mesh));
            for (segment, entry) in (0..).zip(self.layout.segments_of(mesh)) {
                let range = entry.range();
                let counts = match entry.kind {
                    SegmentType::Reserved(number) | SegmentType::Unknown(number) => {
                        vec![("seg_type", number.into())]
                    }
                    _ => vec![("elements", entry.count), ("bits", entry.record_bits())],
                };
                items.push(Item {
                    address: address.clone().then("segments").index(segment),
                    counts,
                    stored: range.length(),
                    decoded: entry.decoded_bytes(),
                    range,
                });
            }
        }
        items
    }

    fn mesh_item(&self, address: Address, mesh: &MeshEntry) -> Item {
        let segments = self.layout.segments_of(mesh);
        let count = |kind: SegmentType, bit: u8| {
            let shared = |mask: u8| mask & bit != 0;
            let own = segments.iter().filter(|entry| {
                entry.kind == kind || entry.kind == SegmentType::SharedTriangle && shared(entry.mask)
            });
            own.fold(0_u64, |sum, entry| sum.saturating_add(entry.count))
        };
        let range = self.layout.mesh_range(mesh);
        let decoded = segments.iter().filter_map(|entry| entry.decoded_bytes());
        Item {
            address,
            counts: vec![
                ("vertices", count(SegmentType::Vertex, 0)),
                ("normals", count(SegmentType::Normal, 0)),
                ("uvs", count(SegmentType::Uv, 0)),
                ("tangents", count(SegmentType::Tangent, 0)),
                ("vertex_triangles", count(SegmentType::VertexTriangle, 1)),
                ("segments", as_u64(segments.len())),
            ],
            stored: range.length(),
            decoded: Some(decoded.fold(0, u64::saturating_add)),
            range,
        }
    }

    /// The addresses of the meshes.
    pub(crate) fn mesh_addresses(&self) -> Vec<Address> {
        (0..as_u64(self.layout.meshes.len())).map(|index| Address::field("meshes").index(index)).collect()
    }

    /// The index of the first mesh with this name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.layout.meshes.iter().position(|mesh| String::from_utf8_lossy(&mesh.name) == name)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("file_layout", &self.file_layout())
            .field("meshes", &self.layout.meshes.len())
            .field("segments", &self.layout.segments.len())
            .finish_non_exhaustive()
    }
}
