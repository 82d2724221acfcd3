//! Files of any format: the only file that names all of them.

use std::path::Path;

use crate::bytes::Source;
use crate::format::Format;
use crate::formats::{cgeo, iqm, openctm, slmesh, tmf};
use crate::mesh::{Entries, MeshEntry, MeshView, Role};
use crate::num::as_u64;
use crate::options::Options;
use crate::report::{Address, Error, ErrorKind, Finding, Item, Result};

/// A file of any of the formats.
///
/// # Examples
///
/// ```
/// use meshmap::MeshFile;
///
/// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// for item in file.items() {
///     println!("{}  {} bytes", item.address, item.stored);
/// }
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MeshFile {
    /// Corona Renderer proxy.
    CGeo(cgeo::Proxy),
    /// Second Life mesh asset.
    SlMesh(slmesh::Asset),
    /// Inter-Quake Model.
    Iqm(iqm::Model),
    /// OpenCTM.
    OpenCtm(openctm::Bodies),
    /// Tight Model Format.
    Tmf(tmf::Document),
}

/// Runs the same expression on the file of whichever format.
macro_rules! with_file {
    ($this:expr, $file:ident => $run:expr) => {
        match $this {
            MeshFile::CGeo($file) => $run,
            MeshFile::SlMesh($file) => $run,
            MeshFile::Iqm($file) => $run,
            MeshFile::OpenCtm($file) => $run,
            MeshFile::Tmf($file) => $run,
        }
    };
}

impl MeshFile {
    /// Opens a file lazily, whatever its format.
    ///
    /// # Errors
    ///
    /// Those of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?)
    }

    /// Reads the layout of a source, whatever its format.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](ErrorKind::UnknownFormat), and the errors of the format's own reader.
    pub fn from_source(source: Source) -> Result<Self> {
        Self::from_source_with(source, &Options::default())
    }

    /// Like [`from_source`](Self::from_source), with options.
    ///
    /// # Errors
    ///
    /// Those of [`from_source`](Self::from_source).
    pub fn from_source_with(source: Source, options: &Options) -> Result<Self> {
        // What a store of the caller's is asked for may be costly: formats read on from there.
        let head = if source.is_file() { iqm::HEAD.max(tmf::HEAD).max(openctm::HEAD) } else { FIRST_READ };
        let source = source.with_head(SIGNATURE, head, "signature")?;
        Self::read(&source, options).map_err(|error| source.tell(error))
    }

    fn read(source: &Source, options: &Options) -> Result<Self> {
        let format = Format::detect(source)?;
        let source = source.clone();
        match format {
            Format::CGeo => {
                let read = cgeo::ReadOptions::default();
                cgeo::Proxy::from_source_with(source, options, &read).map(Self::CGeo)
            }
            Format::SlMesh => {
                let read = slmesh::ReadOptions::default();
                slmesh::Asset::from_source_with(source, options, &read).map(Self::SlMesh)
            }
            Format::Iqm => iqm::Model::from_source_with(source, options).map(Self::Iqm),
            Format::OpenCtm => openctm::Bodies::from_source_with(source, options).map(Self::OpenCtm),
            Format::Tmf => tmf::Document::from_source_with(source, options).map(Self::Tmf),
        }
    }

    /// The file as a proxy of Corona Renderer, with everything that the format stores; `None` where it is another.
    #[must_use]
    pub fn as_cgeo(&self) -> Option<&cgeo::Proxy> {
        if let Self::CGeo(file) = self { Some(file) } else { None }
    }

    /// The file as a Second Life mesh asset; `None` where it is another.
    #[must_use]
    pub fn as_slmesh(&self) -> Option<&slmesh::Asset> {
        if let Self::SlMesh(file) = self { Some(file) } else { None }
    }

    /// The file as an Inter-Quake Model; `None` where it is another.
    #[must_use]
    pub fn as_iqm(&self) -> Option<&iqm::Model> {
        if let Self::Iqm(file) = self { Some(file) } else { None }
    }

    /// The file as the bodies of an OpenCTM file; `None` where it is another.
    #[must_use]
    pub fn as_openctm(&self) -> Option<&openctm::Bodies> {
        if let Self::OpenCtm(file) = self { Some(file) } else { None }
    }

    /// The file as a document of Tight Model Format; `None` where it is another.
    #[must_use]
    pub fn as_tmf(&self) -> Option<&tmf::Document> {
        if let Self::Tmf(file) = self { Some(file) } else { None }
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> Format {
        match self {
            Self::CGeo(_) => Format::CGeo,
            Self::SlMesh(_) => Format::SlMesh,
            Self::Iqm(_) => Format::Iqm,
            Self::OpenCtm(_) => Format::OpenCtm,
            Self::Tmf(_) => Format::Tmf,
        }
    }

    /// The parts of the file, in the order of the format's specification. Reads nothing.
    pub fn items(&self) -> Box<dyn Iterator<Item = Item> + '_> {
        with_file!(self, file => Box::new(file.items()))
    }

    /// The meshes, in the order of the file, each with its address, name and role.
    ///
    /// Those of a Second Life mesh asset are the faces of all levels of detail and of the physics mesh. Their number is
    /// stored inside the blocks, which are therefore read, inflated and kept. A block that cannot be decoded is one entry,
    /// with its address, such as `high_lod`, of which [`mesh`](Self::mesh) gives the error. Of other formats, nothing is
    /// read.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn meshes(&self) -> Result<Box<dyn ExactSizeIterator<Item = MeshEntry> + Send + '_>> {
        self.entries(&|_| true)
    }

    /// The meshes whose role is `wanted`; of a Second Life mesh asset, no other blocks are read.
    ///
    /// `file.meshes_where(Role::is_drawn_by_default)` has what a viewer draws.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub fn meshes_where(
        &self,
        wanted: impl Fn(Role) -> bool + Send + 'static,
    ) -> Result<Box<dyn Iterator<Item = MeshEntry> + Send + '_>> {
        let entries = self.entries(&wanted)?;
        Ok(Box::new(entries.filter(move |entry| wanted(entry.role))))
    }

    /// The meshes; of those that take reading to list, no others than those that are `wanted`.
    fn entries(&self, wanted: &dyn Fn(Role) -> bool) -> Result<Entries<'_>> {
        match self {
            Self::CGeo(file) => Ok(file.mesh_entries()),
            Self::SlMesh(file) => file.mesh_entries(wanted).map_err(|error| self.tell(error)),
            Self::Iqm(file) => Ok(file.mesh_entries()),
            Self::OpenCtm(file) => Ok(file.mesh_entries()),
            Self::Tmf(file) => Ok(file.mesh_entries()),
        }
    }

    /// The mesh at an address, by index or by name.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) where there is none, and the errors of reading it.
    pub fn mesh(&self, address: &Address) -> Result<MeshView> {
        let view = with_file!(self, file => file.mesh_view(address)).map_err(|error| self.tell(error))?;
        Ok(match self.source() {
            Some(source) => view.with_source(source.clone()),
            None => view,
        })
    }

    /// The rules that the file breaks, as far as opening can tell.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        with_file!(self, file => file.findings())
    }

    /// Checks every value of the file: returns [`findings`](Self::findings), and those that take a look at all data.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding. Wrong values are findings of severity
    /// [`Unusable`](crate::Severity::Unusable).
    pub fn validate(&self) -> Result<Vec<Finding>> {
        with_file!(self, file => file.validate()).map_err(|error| self.tell(error))
    }

    fn source(&self) -> Option<&Source> {
        match self {
            Self::CGeo(file) => Some(file.source()),
            Self::SlMesh(file) => Some(file.source()),
            Self::Iqm(file) => Some(file.source()),
            Self::OpenCtm(file) => file.source(),
            Self::Tmf(file) => Some(file.source()),
        }
    }

    /// An error of this file, with its path where there is one.
    fn tell(&self, error: Error) -> Error {
        match self.source() {
            Some(source) => source.tell(error),
            None => error,
        }
    }
}

/// Whether a source, which begins with these bytes, has a format.
type Detector = fn(&Source, &[u8]) -> Result<bool>;

/// The formats in the order in which they are tried: the most certain magic first.
const DETECTORS: [(Format, Detector); 5] = [
    (Format::Iqm, iqm::detect),
    (Format::OpenCtm, openctm::detect),
    (Format::Tmf, tmf::detect),
    (Format::CGeo, cgeo::detect),
    (Format::SlMesh, slmesh::detect),
];

impl Format {
    /// The format of a source, by its first bytes.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](ErrorKind::UnknownFormat), which names look-alikes, and the errors of reading.
    pub fn detect(source: &Source) -> Result<Self> {
        let end = |source: &Source| -> Result<u64> {
            Ok(source.len()?.map_or(SIGNATURE, |len| len.min(SIGNATURE)))
        };
        let source = source.with_head(end(source)?, SIGNATURE, "signature")?;
        // Where the length was not known, a source that ended early has told it.
        let end = end(&source)?;
        let head = source.get(0..end, "signature")?;
        for (format, detect) in DETECTORS {
            if detect(&source, &head)? {
                return Ok(format);
            }
        }
        Err(source.tell(unknown(&head)))
    }
}

/// Bytes that detection looks at.
const SIGNATURE: u64 = 32;

/// Bytes that are read before the format is known: as much as the header of a Second Life mesh takes up, of which
/// nothing else is needed to read one level of detail.
const FIRST_READ: u64 = 4 << 10;

fn unknown(head: &[u8]) -> Error {
    let look_alikes: [(&[u8], &str); 24] = [
        (b"# Inter-Quake Export", "the text form of IQM (.iqe), which a compiler turns into .iqm"),
        (b"CGEOv", "a file of a cluster-LOD viewer, whose first byte is that of CGeo"),
        (b"\xc3\x9d\x1f\x00", "a Ceetron geometry file (.cgeo)"),
        (b"\x41\x34\xb8\x00", "a Ceetron geometry file (.cgeo)"),
        (b"\x01\x00\x00\x00", "perhaps an entry of a viewer's asset cache, whose mesh begins at byte 12"),
        (b"glTF", "binary glTF (.glb)"),
        (b"ply\n", "a PLY file"),
        (b"ply\r", "a PLY file"),
        (b"\x1f\x8b", "compressed with gzip: unpack it first"),
        (b"BZh", "compressed with bzip2: unpack it first"),
        (b"\xfd7zXZ\x00", "compressed with xz: unpack it first"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"),
        (b"PK\x03\x04", "a zip archive: unpack it first"),
        (b"\x89PNG", "a PNG picture"),
        (b"\xff\xd8\xff", "a JPEG picture"),
        (b"IDP3", "a Quake 3 model (.md3)"),
        (b"IDP2", "a Quake 2 model (.md2)"),
        (b"IDST", "a GoldSrc or Source model (.mdl)"),
        (b"Kaydara FBX Binary", "an FBX file"),
        (b"solid ", "an STL file"),
        (b"BLENDER", "a Blender file"),
        (b"#usda", "a USD file"),
        (b"PXR-USDC", "a USD file"),
        (b"<?xml", "an XML file"),
    ];
    let shown = head.get(..head.len().min(16)).unwrap_or_default();
    let found = match look_alikes.iter().find(|(magic, _)| head.starts_with(magic)) {
        Some((_, name)) => format!("\"{}\": {name}", shown.escape_ascii()),
        None if head.is_empty() => "an empty file".to_owned(),
        None => format!("\"{}\"", shown.escape_ascii()),
    };
    let end = as_u64(shown.len());
    Error::new(ErrorKind::UnknownFormat, "signature")
        .at(0..end)
        .expected("that of CGeo, OpenCTM, a Second Life mesh, IQM or TMF")
        .found(found)
}
