//! The extension list, and the extensions of the FTE engine.
//!
//! Other extensions have not been found in files.

use std::ops::Range;

use bytes::Bytes;

use super::layout::ExtensionNode;
use super::model::Model;
use super::names::Names;
use super::raw;
use super::rules::FILE;
use super::tables::{Field, Row, rows, table};
use crate::bytes::{Array, Text};
use crate::limits::{Meter, take_block};
use crate::num::{Span, decimal, size_u64, span};
use crate::report::Result;

/// A node of the extension list: named data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extension {
    /// The name, such as `FTE_MESH`.
    pub name: Text,
    /// The bytes of the node, from the start of the file.
    pub node: Range<u64>,
    /// The bytes of the data, from the start of the file.
    pub range: Range<u64>,
}

/// An element of `FTE_MESH`: what the FTE engine knows about a mesh, with the field names of its compiler.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FteMesh {
    /// The contents flags of the surface.
    pub contents: u32,
    /// The surface flags.
    pub surface_flags: u32,
    /// The ID of the surface, for events.
    pub surface_id: u32,
    /// The geometry set of the mesh.
    pub geomset: u32,
    /// The variant of the mesh within its geometry set.
    pub geomid: u32,
    /// The minimum distance at which the mesh is drawn.
    pub min_distance: f32,
    /// The maximum distance at which the mesh is drawn.
    pub max_distance: f32,
}

impl FteMesh {
    fn new(stored: raw::FteMesh) -> Self {
        Self {
            contents: stored.contents.get(),
            surface_flags: stored.surfaceflags.get(),
            surface_id: stored.surfaceid.get(),
            geomset: stored.geomset.get(),
            geomid: stored.geomid.get(),
            min_distance: stored.mindist.get(),
            max_distance: stored.maxdist.get(),
        }
    }
}

/// An element of `FTE_EVENT`: an event at a time of an animation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FteEvent {
    /// The index of the animation; not checked.
    pub anim: u32,
    /// Seconds from the start of the animation.
    ///
    /// Infinite if the compiler did not know the framerate.
    pub timestamp: f32,
    /// The kind of event, in the game's own numbers.
    pub evcode: u32,
    /// Text that the game gets with the event.
    pub evdata: Text,
}

/// `FTE_SKINS`: materials that can replace the materials of the meshes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FteSkins {
    /// The number of skins of each mesh.
    pub numskins: Array<u32>,
    /// The materials.
    pub frames: Vec<FteSkinFrame>,
    /// The skins of all meshes: all skins of mesh 0, then all of mesh 1, and so on.
    pub skins: Vec<FteMeshSkin>,
}

/// A material of `FTE_SKINS`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FteSkinFrame {
    /// The name of a material or texture.
    pub material: Text,
    /// The text of a shader; can be empty.
    pub shadertext: Text,
}

/// A skin of `FTE_SKINS`: a run of materials, shown one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FteMeshSkin {
    /// The index of the first material; not checked.
    pub firstframe: u32,
    /// The number of materials.
    pub countframes: u32,
    /// Seconds that each material is shown.
    pub interval: f32,
}

impl FteMeshSkin {
    fn new(stored: raw::FteMeshSkin) -> Self {
        Self {
            firstframe: stored.firstframe.get(),
            countframes: stored.countframes.get(),
            interval: stored.interval.get(),
        }
    }
}

impl Model {
    /// The extensions, in the order of the list.
    pub fn extensions(&self) -> impl ExactSizeIterator<Item = Extension> + '_ {
        self.layout().extensions.iter().map(|node| Extension {
            name: self.layout().text_at(node.name),
            node: node.node.clone(),
            range: node.data.clone(),
        })
    }

    /// The data of the first extension with this name, in place; `Ok(None)` without.
    ///
    /// ASCII letters match in either case.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn extension(&self, name: impl AsRef<[u8]>) -> Result<Option<Bytes>> {
        let Some(node) = self.extension_node(name.as_ref()) else {
            return Ok(None);
        };
        let data = self
            .layout()
            .source
            .get(node.data.clone(), "iqmextension")?;
        Ok(Some(data))
    }

    fn extension_node(&self, name: &[u8]) -> Option<&ExtensionNode> {
        let layout = self.layout();
        for node in &layout.extensions {
            let found = layout.text_at(node.name);
            if found.as_bytes().eq_ignore_ascii_case(name) {
                return Some(node);
            }
        }
        None
    }

    /// `FTE_MESH`: one element per mesh; `Ok(None)` if the file does not have the extension.
    ///
    /// As in the engine, also `Ok(None)` if the numbers of elements and of meshes differ.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the elements are larger than the limits allow, and the errors
    /// of reading.
    pub fn fte_meshes(&self) -> Result<Option<Vec<FteMesh>>> {
        let Some(node) = self.extension_node(b"FTE_MESH") else {
            return Ok(None);
        };
        let meshes = self.layout().meshes.len_u64();
        let expected = meshes.saturating_mul(size_u64::<raw::FteMesh>());
        if node.data.length() != expected {
            return Ok(None);
        }
        let stored: Array<raw::FteMesh> = table(&self.layout().source, &node.data, "FTE_MESH")?;
        let meter = Meter::of_part(&self.options.limits, &node.data);
        let bytes = stored.len_u64().saturating_mul(size_u64::<FteMesh>());
        take_block(&meter, node.data.length(), bytes, "FTE_MESH")
            .map_err(|error| FILE.locate(error))?
            .keep();
        Ok(Some(stored.iter().map(FteMesh::new).collect()))
    }

    /// `FTE_EVENT`; `Ok(None)` if the file does not have it.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if the data of an event lies outside the text,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if events share long text many times, and the errors of reading.
    pub fn fte_events(&self) -> Result<Option<Vec<FteEvent>>> {
        let Some(node) = self.extension_node(b"FTE_EVENT") else {
            return Ok(None);
        };
        let events = table::<raw::FteEvent>(&self.layout().source, &node.data, "FTE_EVENT")?;
        let mut names = self.names();
        let mut all = Vec::new();
        for (row, event) in rows("", &node.data, events.iter()) {
            let evdata = row.field("FTE_EVENT.evdata", 12, event.evdata);
            all.push(FteEvent {
                anim: event.anim.get(),
                timestamp: event.timestamp.get(),
                evcode: event.evcode.get(),
                evdata: names.look(evdata)?,
            });
        }
        Ok(Some(all))
    }

    /// `FTE_SKINS`; `Ok(None)` if the file does not have it.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if its parts are longer than its data, or a name lies outside the text,
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if names share long text many times, and the errors of reading.
    pub fn fte_skins(&self) -> Result<Option<FteSkins>> {
        let Some(node) = self.extension_node(b"FTE_SKINS") else {
            return Ok(None);
        };
        let source = &self.layout().source;
        // Two lengths are stored: the length of the data, and two counts in it.
        let head = span(node.data.start, size_u64::<raw::FteSkins>());
        let meshes = self.layout().meshes.len_u64();
        let numskins = span(head.end, meshes.saturating_mul(size_u64::<u32>()));
        if numskins.end > node.data.end {
            let place = FILE.at(node.node.part(4, 4));
            let error = place.malformed("iqmextension.num_data");
            let needed = decimal(numskins.end.saturating_sub(head.start));
            let expected = format!("at least {needed} bytes of FTE_SKINS");
            return Err(error.expected(expected).found(node.data.length()));
        }
        let counts: raw::FteSkins = source.read_struct(head.start, "FTE_SKINS")?;
        let row = Row {
            start: head.start,
            table: "",
            index: 0,
        };
        let count = row.field("FTE_SKINS.numskinframes", 0, counts.numskinframes);
        let size = size_u64::<raw::FteSkinFrame>();
        let frames = counted_part(numskins.end..node.data.end, count, size)?;
        let count = row.field("FTE_SKINS.nummeshskins", 4, counts.nummeshskins);
        let size = size_u64::<raw::FteMeshSkin>();
        let skins = counted_part(frames.end..node.data.end, count, size)?;

        let stored_frames: Array<raw::FteSkinFrame> = table(source, &frames, "FTE_SKINS")?;
        let mut names = self.names();
        let mut all_frames = Vec::new();
        let numskins = table(source, &numskins, "FTE_SKINS")?;
        for (row, frame) in rows("", &frames, stored_frames.iter()) {
            let material = row.field("FTE_SKINS.material", 0, frame.material);
            let shadertext = row.field("FTE_SKINS.shadertext", 4, frame.shadertext);
            all_frames.push(FteSkinFrame {
                material: names.look(material)?,
                shadertext: names.look(shadertext)?,
            });
        }
        let stored_skins: Array<raw::FteMeshSkin> = table(source, &skins, "FTE_SKINS")?;
        Ok(Some(FteSkins {
            numskins,
            frames: all_frames,
            skins: stored_skins.iter().map(FteMeshSkin::new).collect(),
        }))
    }

    /// Names of an extension, which opening has not checked.
    fn names(&self) -> Names<'_> {
        let layout = self.layout();
        let filesize = layout.header.filesize.get();
        Names::new(&layout.text, filesize, &self.options.limits)
    }
}

/// The bytes of `count` elements of `size` bytes at the beginning of `bytes`.
fn counted_part(bytes: Range<u64>, count: Field, size: u64) -> Result<Range<u64>> {
    let max = bytes.length().checked_div(size).unwrap_or(0);
    let wanted = u64::from(count.value);
    if wanted <= max {
        return Ok(span(bytes.start, wanted.saturating_mul(size)));
    }
    let max = decimal(max);
    let expected = format!("at most {max}, for which there is room in the extension");
    Err(count.malformed().expected(expected).found(wanted))
}
