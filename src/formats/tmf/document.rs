//! The file: its meshes, by index and by name, and the list of its parts.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::angles::AngleTables;
use super::layout::{Layout, MeshLayout};
use super::mesh::Mesh;
use super::packed::File;
#[cfg(feature = "raw")]
use super::raw;
use super::rules::FILE;
use super::segment::{FileLayout, Segment, SegmentType};
use crate::bytes::Source;
use crate::format::Format;
use crate::mesh::{Entries, MeshEntry, Role};
use crate::num::{Span, as_u64, less_than};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, Finding, Item, Result};

/// A TMF file.
///
/// Cloning is cheap. Opening reads names, counts and the list of segments; each array is read and decoded when it is
/// asked for.
#[derive(Clone)]
pub struct Document {
    file: Arc<File>,
    /// Nothing: a build that leaves the format out has no values of this type.
    #[cfg(meshmap_without = "tmf")]
    _absent: std::convert::Infallible,
}

impl Document {
    /// Opens a file; arrays are read when they are asked for.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?, &Options::default())
    }

    /// Reads the headers of a file, and none of the arrays.
    ///
    /// [`Strictness::Strict`](crate::Strictness::Strict) also runs [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](crate::ErrorKind::UnknownFormat) for another magic,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a minimum version above 0.2 and for compressed segments,
    /// [`Truncated`](crate::ErrorKind::Truncated) for a file that ends before its last segment does,
    /// [`Malformed`](crate::ErrorKind::Malformed) for segments that are shorter than their counts demand, and
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more elements of no bits than the
    /// [`Limits`](crate::Limits) allow. In strict reading, returns [`Malformed`](crate::ErrorKind::Malformed) for any finding
    /// that the specification forbids, and the errors of decoding.
    pub fn from_source(source: Source, options: &Options) -> Result<Self> {
        let layout =
            Layout::read(&source, &options.limits).map_err(|error| source.locate(error))?;
        let document = Self {
            file: Arc::new(File {
                source: layout.source.clone(),
                layout: Arc::new(layout),
                options: *options,
                angles: Arc::new(AngleTables::new()),
            }),
            #[cfg(meshmap_without = "tmf")]
            _absent: return Err(crate::options::left_out(Format::Tmf)),
        };
        refuse_forbidden(options, Format::Tmf, || document.validate())
            .map_err(|error| document.source().locate(error))?;
        Ok(document)
    }

    /// The header as stored: versions of the writer and of the oldest reader.
    #[cfg(feature = "raw")]
    #[must_use]
    pub fn header(&self) -> &raw::Header {
        &self.file.layout.header
    }

    /// The layout of the file: A or B.
    #[must_use]
    pub fn file_layout(&self) -> FileLayout {
        self.file.layout.file_layout
    }

    pub(crate) fn options(&self) -> &Options {
        &self.file.options
    }

    /// The source that the file is read from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.file.source
    }

    /// The number of meshes.
    #[must_use]
    pub(crate) fn mesh_count(&self) -> usize {
        self.file.layout.meshes.len()
    }

    /// The meshes, in the order of the file.
    pub fn meshes(&self) -> impl ExactSizeIterator<Item = Mesh> + '_ {
        (0..self.mesh_count()).map(|index| Mesh::new(&self.file, index))
    }

    /// The mesh at an index.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the file has no such mesh.
    pub fn mesh(&self, index: usize) -> Result<Mesh> {
        if index < self.mesh_count() {
            return Ok(Mesh::new(&self.file, index));
        }
        let address = Address::field("meshes").index(as_u64(index));
        let error = FILE.out_of_range("mesh").of(address);
        Err(error.expected(less_than(self.mesh_count())).found(index))
    }

    /// Deviations from the specification found when opening, by [rule](crate::Rule).
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.file.layout.findings
    }

    /// The parts of the file: each mesh, followed by its segments. Reads nothing.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        (0..)
            .zip(&self.file.layout.meshes)
            .flat_map(|(index, mesh)| self.items_of(index, mesh))
    }

    /// A mesh, then its segments, which are made one by one: there may be many.
    fn items_of(&self, index: u64, mesh: &MeshLayout) -> impl Iterator<Item = Item> + '_ {
        let address = Address::field("meshes").index(index);
        let item = self.mesh_item(address.clone(), mesh);
        let segments = (0..).zip(self.file.layout.segments_of(mesh));
        let segments = segments.map(move |(index, segment)| {
            let address = address.clone().then("segments").index(index);
            segment_item(address, segment)
        });
        std::iter::once(item).chain(segments)
    }

    fn mesh_item(&self, address: Address, mesh: &MeshLayout) -> Item {
        let segments = self.file.layout.segments_of(mesh);
        let range = self.file.layout.mesh_range(mesh);
        let mut decoded = 0_u64;
        for segment in segments {
            decoded = decoded.saturating_add(segment.decoded_bytes().unwrap_or(0));
        }
        Item {
            address,
            counts: vec![
                ("vertices", count(segments, SegmentType::Vertex)),
                ("normals", count(segments, SegmentType::Normal)),
                ("uvs", count(segments, SegmentType::Uv)),
                ("tangents", count(segments, SegmentType::Tangent)),
                (
                    "vertex_triangles",
                    count(segments, SegmentType::VertexTriangle),
                ),
                ("segments", as_u64(segments.len())),
            ],
            stored: range.length(),
            decoded: Some(decoded),
            range,
        }
    }

    /// The meshes.
    pub(crate) fn mesh_entries(&self) -> Entries<'_> {
        Box::new(self.meshes().map(|mesh| {
            let entry = MeshEntry::new(mesh.address(), mesh.name(), Role::Geometry);
            entry.with_counts(mesh.counts())
        }))
    }

    /// The index of the first mesh with this name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.file
            .layout
            .meshes
            .iter()
            .position(|mesh| String::from_utf8_lossy(&mesh.name) == name)
    }
}

/// The number of elements in the segments that store data of a type.
fn count(segments: &[Segment], kind: SegmentType) -> u64 {
    let mut count = 0_u64;
    for segment in segments {
        if segment.stores(kind) {
            count = count.saturating_add(segment.count);
        }
    }
    count
}

fn segment_item(address: Address, segment: &Segment) -> Item {
    let range = segment.range.clone();
    let counts = match segment.kind {
        SegmentType::Reserved(number) | SegmentType::Unknown(number) => {
            vec![("seg_type", number.into())]
        }
        _ => vec![("elements", segment.count), ("bits", segment.record_bits())],
    };
    Item {
        address,
        counts,
        stored: range.length(),
        decoded: segment.decoded_bytes(),
        range,
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("file_layout", &self.file_layout())
            .field("meshes", &self.file.layout.meshes.len())
            .field("segments", &self.file.layout.segments.len())
            .finish_non_exhaustive()
    }
}
