//! The model: header, meshes, triangles, text, and the list of its parts.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::frames::Frames;
use super::layout::Layout;
use super::pose::Trs;
use super::raw;
use super::rules::FILE;
use super::tables::table;
use crate::bytes::{Array, Source, Text};
use crate::format::Format;
use crate::mesh::{Entries, MeshEntry, Role};
use crate::num::{Span, as_u64, as_usize, less_than, size_u64, span};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, Finding, Item, Result};

/// An IQM file.
///
/// Cloning is cheap. Opening reads names and tables. Each array is read from the source when it is asked for: for free
/// if the source is mapped or in memory, with one read if it is lazy.
#[derive(Clone)]
pub struct Model {
    pub(super) layout: Arc<Layout>,
    /// The file that poses, animations, frames and bounds come from.
    pub(super) animation: Arc<Layout>,
    /// For each joint its pose in that file, if they are in another order or some have none.
    pub(super) order: Option<Arc<[Option<u32>]>>,
    pub(super) options: Options,
    /// Nothing: a build that leaves the format out has no values of this type.
    #[cfg(meshmap_without = "iqm")]
    pub(super) _absent: std::convert::Infallible,
}

impl Model {
    /// Opens a file; arrays are read when they are asked for.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?, &Options::default())
    }

    /// Reads the header and the tables of a file, and none of the arrays.
    ///
    /// [`Strictness::Strict`](crate::Strictness::Strict) also runs [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](crate::ErrorKind::UnknownFormat) for another magic,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for another version, [`Truncated`](crate::ErrorKind::Truncated)
    /// for a file shorter than its header says, [`Malformed`](crate::ErrorKind::Malformed) for ranges outside the file,
    /// names outside the text, parents that do not come before their children, a number of frame channels that differs
    /// from the masks, and extensions that make a cycle, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for names
    /// that overlap so much that together they are longer than eight times the file plus 1 MiB, and for more than 4,096
    /// extensions. In strict reading, returns [`Malformed`](crate::ErrorKind::Malformed) for any finding that the
    /// specification forbids.
    pub fn from_source(source: Source, options: &Options) -> Result<Self> {
        let layout =
            Layout::open(&source, &options.limits).map_err(|error| source.locate(error))?;
        let layout = Arc::new(layout);
        let model = Self {
            animation: Arc::clone(&layout),
            layout,
            order: None,
            options: *options,
            #[cfg(meshmap_without = "iqm")]
            _absent: return Err(crate::options::left_out(Format::Iqm)),
        };
        refuse_forbidden(options, Format::Iqm, || model.validate())
            .map_err(|error| source.locate(error))?;
        Ok(model)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// `iqmheader.version`: 1 or 2.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.layout.header.version.get()
    }

    /// `iqmheader.flags`, which the specification does not define.
    ///
    /// The FTE engine stores Quake's model flags there.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.layout.header.flags.get()
    }

    /// The header as stored.
    #[cfg(feature = "raw")]
    #[must_use]
    pub fn header(&self) -> &raw::Header {
        &self.layout.header
    }

    /// The source that the file is read from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.layout.source
    }

    /// The text section, as stored: all names, each followed by a 0 byte.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn text(&self) -> Result<Bytes> {
        self.layout
            .source
            .get(self.layout.sections.text.clone(), "text")
    }

    /// The number of meshes; 0 in a file that has only animations.
    #[must_use]
    pub(crate) fn mesh_count(&self) -> usize {
        self.layout.meshes.len()
    }

    /// The meshes, in the order of the file.
    pub fn meshes(&self) -> impl ExactSizeIterator<Item = Mesh> + '_ {
        self.layout
            .meshes
            .iter()
            .map(|mesh| Mesh::new(&self.layout, &mesh))
    }

    /// The mesh at an index.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the model has no such mesh.
    pub fn mesh(&self, index: usize) -> Result<Mesh> {
        match self.layout.meshes.get(index) {
            Some(mesh) => Ok(Mesh::new(&self.layout, &mesh)),
            None => {
                let address = Address::field("meshes").index(as_u64(index));
                let error = FILE.out_of_range("mesh").of(address);
                Err(error.expected(less_than(self.mesh_count())).found(index))
            }
        }
    }

    /// The number of vertices of all meshes together: elements of each vertex array.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        as_usize(self.layout.header.num_vertexes.get())
    }

    /// The number of triangles of all meshes together.
    #[must_use]
    pub fn triangle_count(&self) -> usize {
        as_usize(self.layout.header.num_triangles.get())
    }

    /// The triangles of all meshes: three vertex indices each, borrowed from the source.
    ///
    /// Indices count from the first vertex of the file, and each is less than [`vertex_count`](Self::vertex_count), which is
    /// checked at memory speed. Front faces are clockwise.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if an index is out of range, and the errors of reading.
    pub fn triangles(&self) -> Result<Array<[u32; 3]>> {
        let triangles = self.raw_triangles()?;
        self.check_indices(&triangles)?;
        Ok(triangles)
    }

    /// The frames of all animations.
    #[must_use]
    pub fn frames(&self) -> Frames {
        let stored = Frames::new(&self.animation, self.options);
        match &self.order {
            Some(order) => stored.in_order(order, self.joints().map(|joint| joint.trs)),
            None => stored,
        }
    }

    /// The triangles as stored, with indices that may be out of range.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading.
    pub fn raw_triangles(&self) -> Result<Array<[u32; 3]>> {
        table(
            &self.layout.source,
            &self.layout.sections.triangles,
            "iqmtriangle[]",
        )
    }

    /// The neighbours of each triangle, in place; `Ok(None)` if the file has none.
    ///
    /// The indices of the triangles at the edges 0-1, 1-2 and 2-0, counted from the first triangle of the file;
    /// `u32::MAX` for an edge without a neighbour.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn adjacency(&self) -> Result<Option<Array<[u32; 3]>>> {
        let section = &self.layout.sections.adjacency;
        if section.is_empty() {
            return Ok(None);
        }
        table(&self.layout.source, section, "iqmadjacency[]").map(Some)
    }

    /// The bounding box and radii of each frame, borrowed from the source; `Ok(None)` if the file has none.
    ///
    /// Eight numbers per frame, as in `iqmbounds`: minimum x, y, z, maximum x, y, z, the radius in the X-Y plane, and the radius.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading.
    pub fn bounds(&self) -> Result<Option<Array<[f32; 8]>>> {
        let section = &self.animation.sections.bounds;
        if section.is_empty() {
            return Ok(None);
        }
        table(&self.animation.source, section, "iqmbounds[]").map(Some)
    }

    /// The comment; `Ok(None)` if the file has no comment.
    ///
    /// `num_comment` bytes, including the 0 byte that usually ends them.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn comment(&self) -> Result<Option<Text>> {
        let section = &self.layout.sections.comment;
        if section.is_empty() {
            return Ok(None);
        }
        let text = self.layout.source.get(section.clone(), "comment")?;
        Ok(Some(Text::new(text)))
    }

    /// Deviations from the specification found when opening, by [rule](crate::Rule).
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.layout.findings
    }

    /// The parts of the file, in the order of the specification. Reads nothing.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let layout = &*self.layout;
        let meshes = layout.mesh_rows().map(|(row, mesh)| {
            let counts = vec![
                ("vertexes", mesh.num_vertexes.get().into()),
                ("triangles", mesh.num_triangles.get().into()),
            ];
            let range = span(row.start, size_u64::<raw::Mesh>());
            item(row.address(), range, counts)
        });
        let arrays = layout.vertex_array_rows().map(move |(row, array)| {
            let counts = vec![
                ("vertexes", layout.num_vertexes()),
                ("components", array.size.get().into()),
            ];
            let range = layout.array_range(&array).unwrap_or_default();
            item(row.address(), range, counts)
        });
        // Frames in which nothing moves take up no bytes.
        let sections = self
            .section_items()
            .into_iter()
            .filter(|item| item.stored > 0 || item.decoded > Some(0));
        let extensions = (0..).zip(&layout.extensions).map(|(index, extension)| {
            let address = Address::field("extensions").index(index);
            let counts = vec![("bytes", extension.data.length())];
            item(address, extension.data.clone(), counts)
        });
        meshes.chain(arrays).chain(sections).chain(extensions)
    }

    /// The sections of the header that are not listed element by element, including empty ones.
    fn section_items(&self) -> [Item; 8] {
        let header = &self.layout.header;
        let sections = &self.layout.sections;
        let triangles = u64::from(header.num_triangles.get());
        let joints = as_u64(self.layout.joints.len());
        let poses = as_u64(self.layout.poses.len());
        let anims = self.layout.anims.len_u64();
        let frames = u64::from(header.num_frames.get());
        let channels = u64::from(header.num_framechannels.get());
        let bytes = u64::from(header.num_comment.get());
        let decoded_frames = frames
            .saturating_mul(poses)
            .saturating_mul(size_u64::<Trs>());
        [
            section(
                "triangles",
                &sections.triangles,
                vec![("triangles", triangles)],
            ),
            section(
                "adjacency",
                &sections.adjacency,
                vec![("triangles", triangles)],
            ),
            section("joints", &sections.joints, vec![("joints", joints)]),
            section("poses", &sections.poses, vec![("poses", poses)]),
            section("anims", &sections.anims, vec![("anims", anims)]),
            Item {
                decoded: Some(decoded_frames),
                ..section(
                    "frames",
                    &sections.frames,
                    vec![("frames", frames), ("framechannels", channels)],
                )
            },
            section("bounds", &sections.bounds, vec![("frames", frames)]),
            section("comment", &sections.comment, vec![("bytes", bytes)]),
        ]
    }

    /// The meshes.
    pub(crate) fn mesh_entries(&self) -> Entries<'_> {
        let has_positions = self.has_positions();
        Box::new(self.meshes().enumerate().map(move |(index, mesh)| {
            let address = Address::field("meshes").index(as_u64(index));
            let counts = mesh.counts(has_positions);
            MeshEntry::new(address, mesh.name, Role::Geometry).with_counts(counts)
        }))
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("version", &self.version())
            .field("meshes", &self.meshes().len())
            .field("joints", &self.joint_count())
            .field("anims", &self.anims().len())
            .finish_non_exhaustive()
    }
}

/// A part of the file, for listings.
fn item(address: Address, range: Range<u64>, counts: Vec<(&'static str, u64)>) -> Item {
    Item {
        address,
        counts,
        stored: range.length(),
        decoded: None,
        range,
    }
}

fn section(name: &'static str, range: &Range<u64>, counts: Vec<(&'static str, u64)>) -> Item {
    item(Address::field(name), range.clone(), counts)
}

/// A mesh: a run of vertices, a run of triangles, and a material.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mesh {
    /// The name; not always unique.
    pub name: Text,
    /// The name of a material or texture.
    pub material: Text,
    /// The index of its first vertex.
    pub first_vertex: u32,
    /// The number of its vertices.
    pub num_vertexes: u32,
    /// The index of its first triangle.
    pub first_triangle: u32,
    /// The number of its triangles.
    pub num_triangles: u32,
}

impl Mesh {
    fn new(layout: &Layout, raw: &raw::Mesh) -> Self {
        Self {
            name: layout.text_at(raw.name.get()),
            material: layout.text_at(raw.material.get()),
            first_vertex: raw.first_vertex.get(),
            num_vertexes: raw.num_vertexes.get(),
            first_triangle: raw.first_triangle.get(),
            num_triangles: raw.num_triangles.get(),
        }
    }
}

/// The range of `count` elements from `first` on; opening has checked that it does not overflow.
pub(crate) fn range_of(first: u32, count: u32) -> Range<u32> {
    first..first.saturating_add(count)
}
