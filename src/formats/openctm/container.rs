//! The bodies of a file: nearly always one.
//!
//! Three.js writes one for each part of a model.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::layout::{self, body_address};
use super::mesh::Mesh;
use super::raw;
use super::rules::{self, FILE};
use crate::bytes::{Source, Text, Walk};
use crate::format::Format;
use crate::limits::{FileMemory, Meter, take_block};
use crate::mesh::{Entries, MeshEntry, Role};
use crate::num::{Span, as_u64, less_than, size_u64, span};
use crate::options::{Options, Strictness};
use crate::report::{Error, ErrorKind, Finding, Item, Result};

/// All bodies of an OpenCTM file.
#[derive(Clone)]
pub struct Container {
    meshes: Arc<[Mesh]>,
    source: Source,
    options: Options,
    /// The findings of all bodies, and of the bytes after the last one.
    findings: Vec<Finding>,
    /// Nothing: a build that leaves the format out has no values of this type.
    #[cfg(meshmap_without = "openctm")]
    _absent: std::convert::Infallible,
}

impl Container {
    /// Opens a file lazily.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?, &Options::default())
    }

    /// Reads the layout of all bodies, and none of their arrays.
    ///
    /// Bytes after a body that begin like another body, but are none, end the list and are a finding (strictly, an
    /// error). Other bytes after the last body are a finding.
    ///
    /// [`Strictness::Strict`] also runs [`Mesh::validate`] on every body.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Mesh::at`] for the first body, the errors of reading for all, and
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) for more bodies than the [`Limits`](crate::Limits) allow in a list. In strict
    /// reading, returns the errors of [`Mesh::at`] for every body.
    pub fn from_source(source: Source, options: &Options) -> Result<Self> {
        let mut meshes: Vec<Mesh> = Vec::new();
        let mut findings = Vec::new();
        let mut walker = body_iter(source, options)?;
        let kept = FileMemory::new(&options.limits, walker.len.unwrap_or(0));
        walker.kept = Some(kept.clone());
        let is_strict = options.strictness == Strictness::Strict;
        while let Some(mesh) = walker.next() {
            match mesh {
                Ok(mesh) => {
                    findings.extend_from_slice(mesh.findings());
                    // Without the bytes that the walk has read ahead.
                    meshes.push(mesh.with_source(walker.walk.without_windows()));
                    // The list also counts as cached memory.
                    kept.admits(MESH_BYTES);
                }
                Err(error) if meshes.is_empty() || is_strict || !is_of_the_body(&error) => {
                    return Err(error);
                }
                Err(error) => {
                    let address = body_address(as_u64(meshes.len()));
                    let end = error.byte_range().map_or(walker.end, |range| range.end);
                    let detail = error.message_at(&address);
                    let place = FILE.of(address).at(walker.end..end.max(walker.end));
                    findings.push(Finding::new(rules::DAMAGED_BODY, place, detail));
                }
            }
            let bytes = as_u64(meshes.len()).saturating_mul(MESH_BYTES);
            let meter = Meter::of_part(&options.limits, &(0..walker.end));
            take_block(&meter, walker.end, bytes, "list of bodies")
                .map_err(|error| FILE.at(0..walker.end).locate(error))?
                .keep();
        }
        findings.extend(walker.trailing());
        let source = walker.walk.source();
        let meshes = meshes.into_iter();
        Ok(Self {
            meshes: meshes.map(|mesh| mesh.with_source(&source)).collect(),
            source,
            options: *options,
            findings,
            #[cfg(meshmap_without = "openctm")]
            _absent: return Err(crate::options::left_out(Format::OpenCtm)),
        })
    }

    /// The number of bodies; at least one.
    #[must_use]
    pub(crate) fn mesh_count(&self) -> usize {
        self.meshes.len()
    }

    /// The bodies, in the order of the file.
    pub fn meshes(&self) -> impl ExactSizeIterator<Item = &Mesh> + '_ {
        self.meshes.iter()
    }

    /// The body at an index.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the file has no such body.
    pub fn mesh(&self, index: usize) -> Result<&Mesh> {
        let Some(mesh) = self.meshes.get(index) else {
            let error = FILE.out_of_range("body").of(body_address(as_u64(index)));
            return Err(error.expected(less_than(self.mesh_count())).found(index));
        };
        Ok(mesh)
    }

    /// The findings that opening tolerated.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Decodes and checks everything.
    ///
    /// Returns [`findings`](Self::findings), and the findings of [`Mesh::validate`] for each body.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or decoded.
    pub fn validate(&self) -> Result<Vec<Finding>> {
        let mut all = self.findings.clone();
        for mesh in self.meshes() {
            all.extend(mesh.validate()?.into_iter().skip(mesh.findings().len()));
        }
        Ok(all)
    }

    /// Each body, and after it its arrays. Reads nothing.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.meshes.iter().flat_map(Mesh::items)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The source, to read other bytes of the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The bodies, as meshes.
    pub(crate) fn mesh_entries(&self) -> Entries<'_> {
        Box::new(self.meshes.iter().map(|mesh| {
            MeshEntry::new(mesh.address(), Text::default(), Role::Geometry)
                .with_counts(mesh.counts())
        }))
    }
}

// Counts: a file may have hundreds of thousands of bodies.
impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut vertices = 0_usize;
        let mut triangles = 0_usize;
        for mesh in self.meshes() {
            vertices = vertices.saturating_add(mesh.vertex_count());
            triangles = triangles.saturating_add(mesh.triangle_count());
        }
        f.debug_struct("Container")
            .field("bodies", &self.mesh_count())
            .field("vertices", &vertices)
            .field("triangles", &triangles)
            .finish_non_exhaustive()
    }
}

/// Memory for a body in the list, in bytes.
const MESH_BYTES: u64 = 1 << 10;

/// Returns `true` if an error means that the bytes are not a body, rather than that they cannot be read.
fn is_of_the_body(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Truncated | ErrorKind::Malformed | ErrorKind::Unsupported
    )
}

/// Reads the bodies of a source one after the other, without a list of them.
///
/// Ends after the first body that cannot be read, and if no other body follows.
///
/// # Errors
///
/// Returns an error if the head of the source cannot be read; the errors of a body are items.
///
/// # Examples
///
/// ```
/// use meshmap::{Options, Source, openctm};
///
/// let source = Source::open("tests/data/openctm/valid/hand_concat_b.ctm")?;
/// let mut vertices = 0;
/// for mesh in openctm::bodies(source, &Options::default())? {
///     vertices += mesh?.vertex_count();
/// }
/// # assert!(vertices > 0);
/// # Ok::<(), meshmap::Error>(())
/// ```
pub fn bodies(
    source: Source,
    options: &Options,
) -> Result<impl Iterator<Item = Result<Mesh>> + Send + use<>> {
    body_iter(source, options)
}

fn body_iter(source: Source, options: &Options) -> Result<BodyIter> {
    let header_size = size_u64::<raw::Header>();
    let source = source.for_format(Format::OpenCtm);
    let source = source.with_head(header_size, layout::HEAD, "header")?;
    Ok(BodyIter {
        walk: source.walk(),
        len: source.len()?,
        end: 0,
        next: Some(0),
        options: *options,
        kept: None,
    })
}

/// An iterator over the bodies of a source; see [`bodies`].
struct BodyIter {
    walk: Walk,
    len: Option<u64>,
    /// The end of the last body.
    end: u64,
    /// The number of the next body; `None` at the end.
    next: Option<u64>,
    options: Options,
    /// The caches that the bodies of one list share; `None`, with a separate share for each, outside a list.
    kept: Option<FileMemory>,
}

impl Iterator for BodyIter {
    type Item = Result<Mesh>;

    fn next(&mut self) -> Option<Self::Item> {
        // Taken: the iterator ends here unless a body is read.
        let body = self.next.take()?;
        // The first body must be there; any other may be absent.
        if body > 0 {
            match self.is_body_next() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let mesh = Mesh::read(
            &mut self.walk,
            self.end,
            body,
            &self.options,
            self.kept.clone(),
        );
        if let Ok(mesh) = &mesh {
            self.end = mesh.range().end;
            self.next = Some(body.saturating_add(1));
        }
        Some(mesh)
    }
}

impl BodyIter {
    fn is_body_next(&mut self) -> Result<bool> {
        let range = span(self.end, 4);
        if self.len.is_some_and(|len| range.end > len) {
            return Ok(false);
        }
        match self.walk.get(range, "magic identifier") {
            Ok(bytes) => Ok(bytes[..] == raw::MAGIC),
            // The source does not know its length: this is its end.
            Err(error) if error.kind() == ErrorKind::Truncated => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A finding for bytes after the last body.
    fn trailing(&self) -> Option<Finding> {
        let trailing = self.end..self.len?;
        if trailing.is_empty() {
            return None;
        }
        let detail = format!("{} bytes after the last body", trailing.length());
        let place = FILE.at(trailing);
        Some(Finding::new(rules::TRAILING_BYTES, place, detail))
    }
}
