//! Files of any format: the only file that names all of them.

use std::path::Path;

use crate::arrays::{ArrayData, ArrayEntry, ArrayList, BoundedList};
use crate::bytes::{Element, Out, Source, Text};
use crate::decode::Scratch;
use crate::format::Format;
use crate::formats::{cgeo, iqm, openctm, slmesh, tmf};
use crate::limits::{Limits, job};
use crate::mesh::{Bounds, Entries, MeshCounts, MeshEntry, MeshView, Role};
use crate::num::as_u64;
use crate::options::{Options, left_out};
use crate::report::{Address, Cause, Error, ErrorKind, Finding, Item, Result, Rule, Segment};

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
    OpenCtm(openctm::Container),
    /// Tight Model Format.
    Tmf(tmf::Document),
}

/// Evaluates the same expression for the file of any format.
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
    /// Returns the errors of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?, &Options::default())
    }

    /// Reads the layout of a source, whatever its format.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](ErrorKind::UnknownFormat), and the errors of the format's own reader.
    pub fn from_source(source: Source, options: &Options) -> Result<Self> {
        // A request to a store of the caller may be costly: formats continue from the bytes of the first one.
        let head = if source.is_file() {
            iqm::HEAD.max(tmf::HEAD).max(openctm::HEAD)
        } else {
            FIRST_READ
        };
        let source = source.with_head(SIGNATURE, head, "signature")?;
        if let Some(job) = job::meter() {
            job.count_file(source.len().ok().flatten().unwrap_or(0));
        }
        Self::read(&source, options).map_err(|error| source.locate(error))
    }

    fn read(source: &Source, options: &Options) -> Result<Self> {
        let format = match ONLY {
            Some(format) => format,
            None => Format::detect(source)?,
        };
        let source = source.clone();
        match format {
            Format::CGeo if !cfg!(meshmap_without = "cgeo") => {
                cgeo::Proxy::from_source(source, options).map(Self::CGeo)
            }
            Format::SlMesh if !cfg!(meshmap_without = "slmesh") => {
                slmesh::Asset::from_source(source, options).map(Self::SlMesh)
            }
            Format::Iqm if !cfg!(meshmap_without = "iqm") => {
                iqm::Model::from_source(source, options).map(Self::Iqm)
            }
            Format::OpenCtm if !cfg!(meshmap_without = "openctm") => {
                openctm::Container::from_source(source, options).map(Self::OpenCtm)
            }
            Format::Tmf if !cfg!(meshmap_without = "tmf") => {
                tmf::Document::from_source(source, options).map(Self::Tmf)
            }
            _ => Err(left_out(format)),
        }
    }

    /// The file as a Corona Renderer proxy, with everything that the format stores; `None` if the file has a different format.
    #[must_use]
    pub fn as_cgeo(&self) -> Option<&cgeo::Proxy> {
        if let Self::CGeo(file) = self {
            Some(file)
        } else {
            None
        }
    }

    /// The file as a Second Life mesh asset; `None` if the file has a different format.
    #[must_use]
    pub fn as_slmesh(&self) -> Option<&slmesh::Asset> {
        if let Self::SlMesh(file) = self {
            Some(file)
        } else {
            None
        }
    }

    /// The file as an Inter-Quake Model; `None` if the file has a different format.
    #[must_use]
    pub fn as_iqm(&self) -> Option<&iqm::Model> {
        if let Self::Iqm(file) = self {
            Some(file)
        } else {
            None
        }
    }

    /// The file as the bodies of an OpenCTM file; `None` if the file has a different format.
    #[must_use]
    pub fn as_openctm(&self) -> Option<&openctm::Container> {
        if let Self::OpenCtm(file) = self {
            Some(file)
        } else {
            None
        }
    }

    /// The file as a Tight Model Format document; `None` if the file has a different format.
    #[must_use]
    pub fn as_tmf(&self) -> Option<&tmf::Document> {
        if let Self::Tmf(file) = self {
            Some(file)
        } else {
            None
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
    pub fn items(&self) -> Box<dyn Iterator<Item = Item> + '_> {
        with_file!(self, file => Box::new(file.items()))
    }

    /// Every array of the file with its address, type, encoding and shape, in the order of the file.
    ///
    /// Each array is described here and read on demand ([`ArrayEntry::read`]). Listing reads what it must: nothing more for IQM
    /// and OpenCTM, the names of custom data for TMF, all blocks for Second Life meshes, and for CGeo the sections of each snapshot
    /// and the mesh of each complete one. An item is an error if a part of the file is damaged so that its arrays are unknown;
    /// the list goes on with the next part.
    ///
    /// A list is one job: it ends with [`LimitExceeded`](ErrorKind::LimitExceeded) after as much [work](crate::Meter::work) as a
    /// job may do, for example if thousands of entries of a small table name the same large mesh.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::MeshFile;
    ///
    /// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
    /// for array in file.arrays() {
    ///     let array = array?;
    ///     println!("{}  {} {:?}", array.address, array.scalar, array.shape);
    ///     assert_eq!(array.read()?, file.array(&array.address)?);
    /// }
    /// # Ok::<(), meshmap::Error>(())
    /// ```
    ///
    /// The iterator shares the file, and does not borrow the `MeshFile`.
    pub fn arrays(&self) -> impl Iterator<Item = Result<ArrayEntry>> + Send + use<> {
        self.array_list(false, &[])
    }

    /// Like [`arrays`](Self::arrays), but decodes all arrays of a snapshot or body together, when its first array is listed.
    ///
    /// For callers that read every array. The entries of a snapshot or body hold its decoded values, so drop them before the
    /// next one.
    pub fn arrays_together(&self) -> impl Iterator<Item = Result<ArrayEntry>> + Send + use<> {
        self.array_list(true, &[])
    }

    /// Like [`arrays_together`](Self::arrays_together), but lists only the arrays of one part, such as `snapshots[7]` or `lowest_lod`,
    /// and the errors of parts whose address is unknown. No other snapshot and no other block is read.
    pub fn arrays_of(
        &self,
        part: &Address,
    ) -> impl Iterator<Item = Result<ArrayEntry>> + Send + use<> {
        let entries = self.array_list(true, part.segments());
        let part = part.clone();
        entries.filter(move |entry| {
            let address = match entry {
                Ok(entry) => Some(&entry.address),
                Err(error) => error.address(),
            };
            match address {
                Some(address) => address.segments().starts_with(part.segments()),
                None => true,
            }
        })
    }

    /// The part that an array at an address belongs to, as [`arrays_of`](Self::arrays_of) accepts it: the snapshot of a CGeo file, the
    /// body of an OpenCTM file, the block of a Second Life mesh asset, or the mesh of a TMF file. `None` for IQM files, whose arrays
    /// belong to the file as a whole.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::MeshFile;
    ///
    /// let file = MeshFile::open("tests/data/cgeo/valid/anim_a.cgeo")?;
    /// let part = file.part_of(&"snapshots[3].triangles.positions".parse()?);
    /// assert_eq!(part, Some("snapshots[3]".parse()?));
    /// # Ok::<(), meshmap::Error>(())
    /// ```
    #[must_use]
    pub fn part_of(&self, address: &Address) -> Option<Address> {
        match self {
            // `snapshots[3]`, `bodies[0]`, `meshes[0]`
            Self::CGeo(_) | Self::OpenCtm(_) | Self::Tmf(_) => Some(address.first(2)),
            // `high_lod`
            Self::SlMesh(_) => Some(address.first(1)),
            Self::Iqm(_) => None,
        }
    }

    fn array_list(&self, together: bool, part: &[Segment]) -> ArrayList {
        let file = self.clone();
        let list = match &file {
            Self::CGeo(proxy) => proxy.array_list(together, part),
            Self::SlMesh(asset) => asset.array_list(part),
            Self::Iqm(model) => model.array_list(),
            Self::OpenCtm(bodies) => bodies.array_list(together),
            Self::Tmf(document) => document.array_list(together),
        };
        let list = BoundedList::new(list, self.source(), self.limits());
        Box::new(list.map(move |entry| entry.map_err(|error| file.locate(error))))
    }

    /// Reads and decodes one array.
    ///
    /// The address is one that [`arrays`](Self::arrays) lists; in OpenCTM files, `bodies[0].` may be left out. No other array is
    /// decoded, unless the format needs it.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the file has no such array, and the errors of [`ArrayEntry::read`].
    pub fn array(&self, address: &Address) -> Result<ArrayData> {
        self.try_array(address).map_err(|error| self.locate(error))
    }

    fn try_array(&self, address: &Address) -> Result<ArrayData> {
        let entry = with_file!(self, file => file.array_at(address))?;
        entry.read()
    }

    /// Like [`array`](Self::array), into a vector or a slice of elements of type `T`. After an error, the content of `out` is
    /// unspecified.
    ///
    /// Positions, normals and map channels of CGeo snapshots are decoded into `out` itself, with the working memory of `scratch`.
    /// Other arrays are copied from their decoded values.
    ///
    /// # Errors
    ///
    /// Returns [`Mismatch`](ErrorKind::Mismatch) if `T` is not the type of an element of the array,
    /// [`OutOfRange`](ErrorKind::OutOfRange) if a slice has another length than the array, and the errors of
    /// [`array`](Self::array).
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{MeshFile, Scratch};
    ///
    /// let file = MeshFile::open("tests/data/cgeo/valid/anim_a.cgeo")?;
    /// let (mut positions, mut scratch) = (Vec::<[f32; 3]>::new(), Scratch::default());
    /// for snapshot in 0..3 {
    ///     let address = format!("snapshots[{snapshot}].positions").parse()?;
    ///     file.read_into(&address, &mut positions, &mut scratch)?;
    /// }
    /// # Ok::<(), meshmap::Error>(())
    /// ```
    pub fn read_into<'a, T: Element>(
        &self,
        address: &Address,
        out: impl Into<Out<'a, T>>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut out = out.into();
        if let Self::CGeo(proxy) = self
            && let Some(floats) = out.downcast()
            && let Some(read) = proxy.array_into(address, floats, scratch)
        {
            return read.map_err(|error| self.locate(error));
        }
        let data = self.array(address)?;
        let Some(array) = data.array::<T>() else {
            let error = Error::new(ErrorKind::Mismatch, "type of the elements").of(address.clone());
            let expected = format!("{} of {}", data.components(), data.scalar());
            return Err(self.locate(error.expected(expected)));
        };
        out.copy_from(&array)
            .map_err(|error| self.locate(error.of(address.clone())))
    }

    /// Every text of the file with its address: names, materials, comments.
    ///
    /// An item is an error if a text cannot be read.
    pub fn texts(&self) -> impl Iterator<Item = Result<(Address, Text)>> + Send + '_ {
        let texts = with_file!(self, file => file.text_list());
        texts.map(|text| text.map_err(|error| self.locate(error)))
    }

    /// The meshes, in the order of the file, each with its address, name and role.
    ///
    /// The meshes of a Second Life mesh asset are the faces of all levels of detail and of the physics mesh. Their number is stored
    /// inside the blocks, which are therefore read, inflated and cached. A block that cannot be decoded is one entry, with an
    /// address such as `high_lod`, for which [`mesh`](Self::mesh) returns the error. In other formats, nothing is read.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn meshes(&self) -> Result<Box<dyn ExactSizeIterator<Item = MeshEntry> + Send + '_>> {
        self.entries(&|_| true)
    }

    /// The meshes whose role is `wanted`; of a Second Life mesh asset, no other blocks are read.
    ///
    /// `file.meshes_where(Role::is_drawn_by_default)` lists what a viewer draws. Some of these meshes may be empty: skip
    /// them with [`MeshEntry::is_drawn_by_default`] or [`MeshView::is_empty`].
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn meshes_where(
        &self,
        wanted: impl Fn(Role) -> bool + Send,
    ) -> Result<impl Iterator<Item = MeshEntry> + Send> {
        let entries = self.entries(&wanted)?;
        Ok(entries.filter(move |entry| wanted(entry.role)))
    }

    /// Returns the meshes; if listing them requires reading, only the meshes that are `wanted`.
    fn entries(&self, wanted: &dyn Fn(Role) -> bool) -> Result<Entries<'_>> {
        match self {
            Self::CGeo(file) => Ok(file.mesh_entries()),
            Self::SlMesh(file) => file
                .mesh_entries(wanted)
                .map_err(|error| self.locate(error)),
            Self::Iqm(file) => Ok(file.mesh_entries()),
            Self::OpenCtm(file) => Ok(file.mesh_entries()),
            Self::Tmf(file) => Ok(file.mesh_entries()),
        }
    }

    /// The mesh at an address, by index or by name.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the file has no such mesh, and an error if the mesh cannot be read.
    pub fn mesh(&self, address: &Address) -> Result<MeshView> {
        let view = with_file!(self, file => file.mesh_view(address))
            .map_err(|error| self.locate(error))?;
        Ok(view.with_source(self.source().clone()))
    }

    /// The numbers of vertices and triangles of the mesh at an address.
    ///
    /// Reads as little as the format allows: nothing for IQM, OpenCTM and TMF, the block for a Second Life mesh, and the
    /// first bytes of the mesh for CGeo.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the file has no such mesh, and the errors of reading.
    pub fn counts(&self, address: &Address) -> Result<MeshCounts> {
        with_file!(self, file => file.mesh_counts(address)).map_err(|error| self.locate(error))
    }

    /// The bounding box of the positions of the mesh at an address, computed from them; `Ok(None)` if no position is finite.
    ///
    /// Decodes positions only. In IQM files these are the vertices in the range of the mesh, whether a triangle uses them or
    /// not.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the file has no such mesh, and the errors of reading and decoding.
    pub fn bounds(&self, address: &Address) -> Result<Option<Bounds>> {
        with_file!(self, file => file.mesh_bounds(address)).map_err(|error| self.locate(error))
    }

    /// The rules that the file breaks, as far as opening detects them.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        with_file!(self, file => file.findings())
    }

    /// Checks every value of the file: returns [`findings`](Self::findings), and the findings that need a scan of all data.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or decoded. Wrong values are findings of severity
    /// [`Unusable`](crate::Severity::Unusable).
    pub fn validate(&self) -> Result<Vec<Finding>> {
        with_file!(self, file => file.validate()).map_err(|error| self.locate(error))
    }

    /// The source, to read other bytes of the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        with_file!(self, file => file.source())
    }

    /// The limits with which the file was opened.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        with_file!(self, file => &file.options().limits)
    }

    /// An error of this file, with its path if the source has one.
    fn locate(&self, error: Error) -> Error {
        self.source().locate(error)
    }
}

/// The format of a build that leaves all others out: it takes each file for one of this format, and needs no detection.
const ONLY: Option<Format> = {
    let left_out = [
        cfg!(meshmap_without = "cgeo"),
        cfg!(meshmap_without = "iqm"),
        cfg!(meshmap_without = "openctm"),
        cfg!(meshmap_without = "slmesh"),
        cfg!(meshmap_without = "tmf"),
    ];
    match left_out {
        [false, true, true, true, true] => Some(Format::CGeo),
        [true, false, true, true, true] => Some(Format::Iqm),
        [true, true, false, true, true] => Some(Format::OpenCtm),
        [true, true, true, false, true] => Some(Format::SlMesh),
        [true, true, true, true, false] => Some(Format::Tmf),
        _ => None,
    }
};

/// Returns `true` if a source, which begins with these bytes, has the format.
type Detector = fn(&Source, &[u8]) -> Result<bool>;

/// The formats in the order in which they are tried: the most certain magic first.
const DETECTORS: [(Format, Detector); 5] = [
    (Format::Iqm, iqm::detect),
    (Format::OpenCtm, openctm::detect),
    (Format::Tmf, tmf::detect),
    (Format::CGeo, cgeo::detect),
    (Format::SlMesh, slmesh::detect),
];

impl Rule {
    /// Finds a rule of a format by its [`id`](Self::id); `None` if the format has no such rule.
    ///
    /// [`Format::rules`] lists all rules.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{Format, Rule, Severity};
    ///
    /// let rule = Rule::by_id(Format::Iqm, "weight_sum").expect("a rule of this format");
    /// assert_eq!(rule.severity, Severity::Suspicious);
    /// println!("{}: {} (written by {})", rule.id, rule.cause, rule.writers.unwrap_or("unknown programs"));
    /// ```
    #[must_use]
    pub fn by_id(format: Format, id: &str) -> Option<Self> {
        format.rules().iter().find(|rule| rule.id == id).copied()
    }
}

impl Format {
    /// The rules that files of this format are checked against.
    #[must_use]
    pub fn rules(self) -> &'static [Rule] {
        match self {
            Self::CGeo => cgeo::rules::ALL,
            Self::OpenCtm => openctm::rules::ALL,
            Self::SlMesh => slmesh::rules::ALL,
            Self::Iqm => iqm::rules::ALL,
            Self::Tmf => tmf::rules::ALL,
        }
    }

    /// The format of a source, by its first bytes.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](ErrorKind::UnknownFormat), which names look-alikes, and the errors of reading.
    pub fn detect(source: &Source) -> Result<Self> {
        let source = source.with_head(signature_end(source)?, SIGNATURE, "signature")?;
        // Asked again: a source of unknown length that ends early knows its length now.
        let head = source.get(0..signature_end(&source)?, "signature")?;
        for (format, detect) in DETECTORS {
            if detect(&source, &head)? {
                return Ok(format);
            }
        }
        Err(source.locate(unknown(&head)))
    }
}

/// The number of bytes that detection inspects.
const SIGNATURE: u64 = 32;

/// The number of bytes that are read before the format is known: the size of the header of a Second Life mesh. Apart from it,
/// reading one level of detail needs only that level's block.
const FIRST_READ: u64 = 4 << 10;

/// The end of the signature in a source, which may be shorter.
fn signature_end(source: &Source) -> Result<u64> {
    Ok(source.len()?.unwrap_or(SIGNATURE).min(SIGNATURE))
}

fn unknown(head: &[u8]) -> Error {
    let look_alikes: [(&[u8], &str); 34] = [
        (
            b"# Inter-Quake Export",
            "the text form of IQM (.iqe), which a compiler turns into .iqm",
        ),
        (
            b"CGEOv",
            "a file of a cluster-LOD viewer, whose first byte is that of CGeo",
        ),
        (b"\xc3\x9d\x1f\x00", "a Ceetron geometry file (.cgeo)"),
        (b"\x41\x34\xb8\x00", "a Ceetron geometry file (.cgeo)"),
        (
            b"\x01\x00\x00\x00",
            "perhaps an entry of a viewer's asset cache, whose mesh begins at byte 12",
        ),
        (b"glTF", "binary glTF (.glb)"),
        (b"ply\n", "a PLY file"),
        (b"ply\r", "a PLY file"),
        (
            b"\x1f\x8b",
            "compressed with gzip: unpack it first (with tar if it is an archive of OpenSimulator, .iar or .oar: the meshes are \
             assets/*.llmesh)",
        ),
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
        (
            b"<!DOCTYPE",
            "a web page, perhaps about a download that failed",
        ),
        (b"<html", "a web page, perhaps about a download that failed"),
        (b"vrmesh", "a V-Ray proxy (.vrmesh)"),
        (b"# Blender", "a Wavefront OBJ or MTL file"),
        (b"mtllib ", "a Wavefront OBJ file"),
        (b"v ", "a Wavefront OBJ file"),
        (b"CMF\0", "a Cal3D mesh"),
        (b"CRF\0", "a Cal3D material"),
        (b"data:", "a data URL: decode its base64 text first"),
        (
            b";;",
            "a text of speech tools, such as a transcript with times (.ctm)",
        ),
    ];
    let shown = head.get(..head.len().min(16)).unwrap_or_default();
    let look_alike = look_alikes
        .iter()
        .find(|(magic, _)| head.starts_with(magic));
    let known_as = if let Some((_, name)) = look_alike {
        Some(*name)
    } else if is_llsd(head) {
        Some("LLSD, but its first line is not `<? llsd/binary ?>` and a line feed")
    } else if is_transcript(head) {
        Some("a transcript of speech with times (.ctm)")
    } else {
        None
    };
    Error::new(ErrorKind::UnknownFormat, "signature")
        .at(0..as_u64(shown.len()))
        .because(Cause::Signature {
            start: shown.to_vec(),
            known_as,
        })
}

/// Returns `true` for the first line of binary LLSD, in any case and with any blanks.
fn is_llsd(head: &[u8]) -> bool {
    let letters: Vec<u8> = head
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(u8::to_ascii_lowercase)
        .collect();
    letters.starts_with(b"<?llsd/binary?>")
}

/// Returns `true` for a recording, a channel, a start and a duration in seconds.
fn is_transcript(head: &[u8]) -> bool {
    let fields: Vec<&str> = std::str::from_utf8(head)
        .unwrap_or_default()
        .split_ascii_whitespace()
        .collect();
    // Reading the numbers would take 10 kB of tables in the module for browsers.
    let is_number = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    matches!(fields.as_slice(), [_, channel, start, duration, ..]
        if channel.len() == 1 && is_number(start) && is_number(duration))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn files_of_other_programs_are_named() {
        for (head, name) in [
            (
                &b"2830-3980-0043 1 0.16 0.28 JUST\n"[..],
                "transcript of speech",
            ),
            (b";; a transcript\n", "speech tools"),
            (b"data:application/octet-stream;base64,T0NU", "base64"),
            (b"# Blender\no Cube\nv 0 0 0\n", "Wavefront OBJ"),
            (b"vrmesh\0\0", "V-Ray"),
            (b"<? LLSD/Binary ?>{", "LLSD"),
            (b"<?llsd/binary?>\r\n{", "LLSD"),
            (b"<!DOCTYPE html>", "web page"),
        ] {
            let error = Format::detect(&Source::from_bytes(head.to_vec())).unwrap_err();
            assert!(error.message().contains(name), "{}", error.message());
        }
        let error = Format::detect(&Source::from_bytes(b"some words 1 2".to_vec())).unwrap_err();
        assert!(
            error.message().starts_with("not a CGeo"),
            "{}",
            error.message()
        );
    }

    #[test]
    fn rules_are_listed_once_each_with_a_cause() {
        for format in Format::ALL {
            let rules = format.rules();
            let ids: HashSet<&str> = rules.iter().map(|rule| rule.id).collect();
            assert!(!rules.is_empty() && ids.len() == rules.len(), "{format}");
            for rule in rules {
                let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                assert!(
                    rule.id.chars().all(is_plain) && rule.cause.ends_with('.'),
                    "{format}: {rule:?}"
                );
                assert!(
                    rule.writers.is_none_or(|writers| !writers.ends_with('.')),
                    "{format}: {rule:?}"
                );
            }
        }
    }
}
