//! The bodies of a file: nearly always one, but three.js puts the parts of a model one behind the other.

use std::path::Path;

use super::layout::{self, body_address};
use super::mesh::Mesh;
use super::raw;
use super::rules::{self, FILE};
use crate::bytes::{Source, Walk};
use crate::format::Format;
use crate::num::{as_u64, size_u64, span};
use crate::options::{Options, Strictness};
use crate::report::{Address, Error, ErrorKind, Finding, Item, Result};

/// All bodies of an OpenCTM file.
#[derive(Clone, Debug)]
pub struct Bodies {
    meshes: Vec<Mesh>,
    /// Those of the first body, and what lies behind the last.
    findings: Vec<Finding>,
}

impl Bodies {
    /// Opens a file lazily.
    ///
    /// # Errors
    ///
    /// Those of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?, &Options::default())
    }

    /// Reads the layout of all bodies. Bytes behind a body that begin like another one, but are none, end the list and
    /// are a finding (strictly, an error), as is anything else behind it.
    ///
    /// # Errors
    ///
    /// Those of [`Mesh::from_source_with`] for the first body, those of reading for all, and
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) for more bodies than the [`Limits`](crate::Limits) allow a list of.
    pub fn from_source(source: Source, options: &Options) -> Result<Self> {
        let mut meshes: Vec<Mesh> = Vec::new();
        let mut findings = Vec::new();
        let mut walker = bodies(source, options)?;
        let is_strict = options.strictness == Strictness::Strict;
        while let Some(mesh) = walker.next() {
            match mesh {
                Ok(mesh) => {
                    findings.extend_from_slice(mesh.findings());
                    meshes.push(mesh);
                }
                Err(error) if meshes.is_empty() || is_strict || !is_of_the_body(&error) => return Err(error),
                Err(error) => {
                    let address = body_address(as_u64(meshes.len()));
                    let end = error.byte_range().map_or(walker.end, |range| range.end);
                    let place = FILE.of(address).at(walker.end..end.max(walker.end));
                    findings.push(Finding::new(rules::DAMAGED_BODY, place, error.to_string()));
                }
            }
            let most = options.limits.max_block_bytes;
            if as_u64(meshes.len()).saturating_mul(MESH_BYTES) > most {
                let error = FILE.error(ErrorKind::LimitExceeded, "list of bodies");
                let error = error.at(0..walker.end);
                return Err(
                    error.expected(format!("at most {} bodies", most.checked_div(MESH_BYTES).unwrap_or(0)))
                );
            }
        }
        findings.extend(walker.trailing());
        Ok(Self { meshes, findings })
    }

    /// The number of bodies; at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.meshes.len()
    }

    /// The bodies, in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Mesh> + '_ {
        self.meshes.iter()
    }

    /// The body at an index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Mesh> {
        self.meshes.get(index)
    }

    /// What was tolerated when opening.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Checks every value of every body: [`findings`](Self::findings), and what [`Mesh::validate`] finds in each.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding.
    pub fn validate(&self) -> Result<Vec<Finding>> {
        let mut all = self.findings.clone();
        for mesh in &self.meshes {
            all.extend(mesh.validate()?.into_iter().skip(mesh.findings().len()));
        }
        Ok(all)
    }

    pub(crate) fn items(&self) -> Vec<Item> {
        self.meshes.iter().flat_map(Mesh::items).collect()
    }

    pub(crate) fn mesh_addresses(&self) -> Vec<Address> {
        (0..as_u64(self.meshes.len())).map(body_address).collect()
    }
}

/// What a body takes up in the list of them.
const MESH_BYTES: u64 = 1 << 10;

/// Whether an error says that the bytes are no body, rather than that they cannot be had.
fn is_of_the_body(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Truncated | ErrorKind::Malformed | ErrorKind::Unsupported)
}

/// The bodies of a source, one after the other, without a list of them. Ends behind the first that cannot be read, and
/// where no other body follows.
///
/// # Errors
///
/// Those of reading; those of a body come with it.
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
pub fn bodies(source: Source, options: &Options) -> Result<BodyIter> {
    let header_size = size_u64::<raw::Header>();
    let source = source.for_format(Format::OpenCtm).with_head(header_size, layout::HEAD, "header")?;
    Ok(BodyIter { walk: source.walk(), len: source.len()?, end: 0, next: Some(0), options: *options })
}

/// Reads one body after the other; see [`bodies`].
pub struct BodyIter {
    walk: Walk,
    len: Option<u64>,
    /// Where the last body ended.
    end: u64,
    /// The number of the next body, unless there is none.
    next: Option<u64>,
    options: Options,
}

impl Iterator for BodyIter {
    type Item = Result<Mesh>;

    fn next(&mut self) -> Option<Self::Item> {
        let body = self.next?;
        if body > 0 {
            match self.is_body_next() {
                Ok(true) => {}
                Ok(false) => {
                    self.next = None;
                    return None;
                }
                Err(error) => {
                    self.next = None;
                    return Some(Err(error));
                }
            }
        }
        let mesh = Mesh::read(&mut self.walk, self.end, body, &self.options);
        self.next = mesh.is_ok().then_some(body.saturating_add(1));
        if let Ok(mesh) = &mesh {
            self.end = mesh.range().end;
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
            // The length was not known; it is the end.
            Err(error) if error.kind() == ErrorKind::Truncated => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A finding for bytes behind the last body.
    fn trailing(&self) -> Option<Finding> {
        let len = self.len.filter(|len| *len > self.end)?;
        let detail = format!("{} bytes behind the last body", len.saturating_sub(self.end));
        Some(Finding::new(rules::TRAILING_BYTES, FILE.at(self.end..len), detail))
    }
}

impl std::fmt::Debug for BodyIter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyIter").field("end", &self.end).field("next", &self.next).finish_non_exhaustive()
    }
}
