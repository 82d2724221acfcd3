use std::path::Path;

use crate::bytes::Source;
use crate::format::Format;
use crate::formats::{cgeo, iqm, openctm, slmesh, tmf};
use crate::mesh::MeshView;
use crate::options::Options;
use crate::report::{Address, Error, ErrorKind, Finding, Item, Result};

impl Format {
    /// The format of a source, by its first bytes.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](ErrorKind::UnknownFormat), which names look-alikes, and the errors of reading.
    pub fn detect(source: &Source) -> Result<Self> {
        let len = source.len()?.unwrap_or(SIGNATURE);
        let end = len.min(SIGNATURE);
        let source = source.with_head(end, SIGNATURE, "signature")?;
        let head = source.get(0..end, "signature")?;
        // Without the last byte of the magic: a file that is damaged there is told so by its reader.
        if head.starts_with(b"INTERQUAKEMODEL") {
            Ok(Self::Iqm)
        } else if head.starts_with(b"OCTM") {
            Ok(Self::OpenCtm)
        } else if head.starts_with(b"TMF") {
            Ok(Self::Tmf)
        } else if is_cgeo(&source, &head)? {
            Ok(Self::CGeo)
        } else if is_slmesh(&head) {
            Ok(Self::SlMesh)
        } else {
            Err(unknown(&head))
        }
    }
}

/// What detection looks at first, in bytes.
const SIGNATURE: u64 = 32;

/// CGeo begins with one byte that other files share; the tag of its offset table behind the text header is what
/// tells it.
fn is_cgeo(source: &Source, head: &[u8]) -> Result<bool> {
    const MAGIC: u8 = 0x43;
    const TABLE_START: [u8; 4] = 0xFAD0_CCA1_u32.to_le_bytes();
    const LONGEST_HEADER: u32 = 1 << 20;
    let Some((&[MAGIC, a, b, c, d], _)) = head.split_first_chunk() else { return Ok(false) };
    let header_size = u32::from_le_bytes([a, b, c, d]);
    let tag = 9_u64.saturating_add(header_size.into());
    let end = tag.saturating_add(4);
    if header_size > LONGEST_HEADER || source.len()?.is_some_and(|len| end > len) {
        return Ok(false);
    }
    match source.get(tag..end, "signature") {
        Ok(bytes) => Ok(bytes[..] == TABLE_START),
        // The length was not known: the file ends before the tag of a CGeo file.
        Err(error) if error.kind() == ErrorKind::Truncated => Ok(false),
        Err(error) => Err(error),
    }
}

/// A mesh asset begins with a map of binary LLSD that has at least one key, with or without LLSD's line before it.
fn is_slmesh(head: &[u8]) -> bool {
    let line = head.get(..18).is_some_and(|line| line.eq_ignore_ascii_case(b"<? llsd/binary ?>\n"))
        || head.get(..16).is_some_and(|line| line.eq_ignore_ascii_case(b"<?llsd/binary?>\n"));
    line || matches!(head, [b'{', _, _, _, _, b'k' | b'"' | b'\'', ..])
}

fn unknown(head: &[u8]) -> Error {
    let look_alikes: [(&[u8], &str); 6] = [
        (b"# Inter-Quake Export", "the text form of IQM (.iqe), which a compiler turns into .iqm"),
        (b"CGEOv", "first byte as CGeo, but a cluster-LOD viewer's file"),
        (b"\xc3\x9d\x1f\x00", "a Ceetron geometry file (.cgeo)"),
        (b"\x41\x34\xb8\x00", "a Ceetron geometry file (.cgeo)"),
        (b"\x01\x00\x00\x00", "perhaps an entry of a viewer's asset cache, whose mesh begins at byte 12"),
        (b"glTF", "binary glTF (.glb)"),
    ];
    let shown = head.get(..head.len().min(16)).unwrap_or_default();
    let found = match look_alikes.iter().find(|(magic, _)| head.starts_with(magic)) {
        Some((_, name)) => format!("\"{}\": {name}", shown.escape_ascii()),
        None if head.is_empty() => "an empty file".to_owned(),
        None => format!("\"{}\"", shown.escape_ascii()),
    };
    let end = crate::num::as_u64(shown.len());
    Error::new(ErrorKind::UnknownFormat, "signature")
        .at(0..end)
        .expected("that of CGeo, OpenCTM, a Second Life mesh, IQM or TMF")
        .found(found)
}

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
        Self::open_with(path, &Options::default())
    }

    /// Opens a file lazily, whatever its format, with options.
    ///
    /// # Errors
    ///
    /// Those of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        Self::from_source(Source::open(path)?, options)
    }

    /// Reads the layout of a source, whatever its format.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](ErrorKind::UnknownFormat), and the errors of the format's own reader.
    pub fn from_source(source: Source, options: &Options) -> Result<Self> {
        let source = source.with_head(SIGNATURE, iqm::HEAD.max(tmf::HEAD).max(openctm::HEAD), "signature")?;
        match Format::detect(&source)? {
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
    #[must_use]
    pub fn items(&self) -> Vec<Item> {
        with_file!(self, file => file.items())
    }

    /// The addresses of the meshes, in the order of the file.
    ///
    /// Those of a Second Life mesh asset are the faces of all levels of detail and of the physics mesh. Their number is
    /// stored inside the blocks, which are therefore read, inflated and kept; faces of blocks that cannot be read are
    /// left out. Of other formats, nothing is read.
    #[must_use]
    pub fn meshes(&self) -> Vec<Address> {
        with_file!(self, file => file.mesh_addresses())
    }

    /// The mesh at an address, by index or by name.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) where there is none, and the errors of reading it.
    pub fn mesh(&self, address: &Address) -> Result<MeshView> {
        with_file!(self, file => file.mesh_view(address))
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
        with_file!(self, file => file.validate())
    }
}
