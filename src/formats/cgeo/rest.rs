//! Sections that are read in parts: how much of a mesh is read first, and what is read after that.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::parts::Part;
use super::sections::Section;
use crate::bytes::Source;
use crate::num::{as_u64, span};
use crate::report::Error;

/// Bytes that are read at a time from a file.
pub(super) const PIECE: u64 = 256 << 10;

/// The maximum growth of the next prefix over the last ones: one part in this number.
const LONGER: u64 = 8;

/// The same for files, where reading on costs less than another request to a store.
const LONGER_IN_FILES: u64 = 32;

/// The maximum length of the prefix that follows one of this length.
pub(super) fn grown(length: u64, is_file: bool) -> u64 {
    length.saturating_add(if is_file { length / LONGER_IN_FILES } else { length / LONGER })
}

/// Lengths in bytes, from the beginning of a snapshot, that the last differences needed; 0 as long as unknown.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    /// The greatest lengths, which decrease slowly: after a short difference, a long one may follow.
    positions: AtomicU64,
    normals: AtomicU64,
    /// The beginning of the last mesh.
    mesh: AtomicU64,
}

impl Prefixes {
    fn of(&self, last: Part) -> Option<&AtomicU64> {
        match last {
            Part::Positions => Some(&self.positions),
            Part::Normals => Some(&self.normals),
            Part::MapChannel(_) | Part::Triangles => None,
        }
    }

    /// About how many bytes are needed.
    pub(super) fn estimate(&self, last: Part, is_file: bool) -> Option<u64> {
        let known = self.of(last)?.load(Ordering::Relaxed);
        (known > 0).then(|| grown(known, is_file))
    }

    /// About where the mesh begins, if there is so much before it that it pays to skip that.
    pub(super) fn far_mesh(&self) -> Option<u64> {
        const FAR: u64 = 64 << 10;
        let known = self.mesh.load(Ordering::Relaxed);
        Some(known.saturating_sub(known / LONGER_IN_FILES)).filter(|mesh| *mesh >= FAR)
    }

    pub(super) fn learn(&self, last: Part, mesh: u64, bytes: u64) {
        /// One part in this number is forgotten with each difference.
        const SLOWLY: u64 = 32;
        let Some(prefix) = self.of(last) else { return };
        let known = prefix.load(Ordering::Relaxed);
        prefix.store(bytes.max(known.saturating_sub(known / SLOWLY)), Ordering::Relaxed);
        self.mesh.store(mesh, Ordering::Relaxed);
    }
}

/// The rest of a section, which is read as it is needed.
pub(super) struct Rest<'a> {
    source: &'a Source,
    section_start: u64,
    /// The start and the end of the bytes that are left.
    next: AtomicU64,
    end: u64,
    /// `true` if it is read in pieces.
    is_file: bool,
    read: Link,
    /// The reason why it could not be read.
    pub(super) error: OnceLock<Error>,
}

/// Bytes that have been read, each with a link to the bytes that were read next.
#[derive(Default)]
struct Link {
    bytes: OnceLock<Vec<u8>>,
    next: OnceLock<Box<Self>>,
}

impl<'a> Rest<'a> {
    pub(super) fn new(source: &'a Source, section: &Section, start: u64) -> Self {
        Self {
            source,
            section_start: section.content.start,
            next: AtomicU64::new(start),
            end: section.content.end,
            is_file: source.is_file(),
            read: Link::default(),
            error: OnceLock::new(),
        }
    }

    /// Reads bytes of the section that are stored as they are. Returns `false` if they cannot be read.
    pub(super) fn read_at(&self, offset: u64, out: &mut [u8]) -> bool {
        let range = span(offset, as_u64(out.len()));
        match self.source.read_to(range, "TAG_MESH_DATA", out) {
            Ok(()) => true,
            Err(error) => {
                let _ = self.error.set(error);
                false
            }
        }
    }

    /// `unused`, with the next bytes of the section after them; `None` at its end, or if they cannot be read.
    pub(super) fn more(&self, unused: &[u8]) -> Option<&[u8]> {
        let start = self.next.load(Ordering::Relaxed);
        if start >= self.end {
            return None;
        }
        let so_far = start.saturating_sub(self.section_start);
        let wanted = if self.is_file { PIECE.max(so_far / LONGER) } else { u64::MAX };
        let end = start.saturating_add(wanted).min(self.end);
        self.next.store(end, Ordering::Relaxed);
        if self.is_file {
            // Otherwise the system reads ahead, and more than this.
            self.source.will_read(start..end);
        }
        match self.source.get(start..end, "TAG_MESH_DATA") {
            Ok(bytes) => Some(self.read.push([unused, &bytes].concat())),
            Err(error) => {
                let _ = self.error.set(error);
                None
            }
        }
    }
}

impl Link {
    fn push(&self, bytes: Vec<u8>) -> &[u8] {
        let mut link = self;
        while link.bytes.get().is_some() {
            link = link.next.get_or_init(Box::default);
        }
        link.bytes.get_or_init(|| bytes)
    }
}
