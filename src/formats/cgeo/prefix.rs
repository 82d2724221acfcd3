//! Reading as much of a mesh as its first arrays need.
//!
//! Positions come first in the stream of a mesh, then normals. A source that is not in memory is read no further than the
//! stream is inflated: a file piece by piece; a store, where each request takes long, in one request whose length is that of
//! the difference before.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicU64, Ordering};

use super::base::Part;
use super::raw;
use super::reading::with_skipped;
use super::sections::Section;
use super::snapshot::Snapshot;
use super::stream::Stream;
use crate::bytes::Source;
use crate::codec::Codec;
use crate::decode::Scratch;
use crate::limits::Budget;
use crate::num::Span;
use crate::report::{Error, ErrorKind, Result};

/// Bytes that are read at a time from a file.
const PIECE: u64 = 256 << 10;

/// The length before a stream, and the header of zlib; and some bytes.
const HEADERS: u64 = 64;

/// How much longer than the last prefix the next one may be: this part of it.
const LONGER: u64 = 8;

/// How many bytes of the last difference, from its beginning, its positions and its normals needed; 0 as long as that is unknown.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    positions: AtomicU64,
    normals: AtomicU64,
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
    fn estimate(&self, last: Part) -> Option<u64> {
        let known = self.of(last)?.load(Ordering::Relaxed);
        (known > 0).then(|| known.saturating_add(known / LONGER))
    }

    fn learn(&self, last: Part, bytes: u64) {
        if let Some(prefix) = self.of(last) {
            prefix.store(bytes, Ordering::Relaxed);
        }
    }
}

/// The rest of a section, which is read as it is needed.
pub(super) struct Rest<'a> {
    source: &'a Source,
    section_start: u64,
    /// Where what is left begins, and where it ends.
    next: Cell<u64>,
    end: u64,
    /// Whether it is read in pieces.
    is_file: bool,
    read: Link,
    error: Cell<Option<Error>>,
}

/// Bytes that have been read, each with a link to those that were read after them.
#[derive(Default)]
struct Link {
    bytes: OnceCell<Vec<u8>>,
    next: OnceCell<Box<Self>>,
}

impl<'a> Rest<'a> {
    fn new(source: &'a Source, section: &Section, start: u64) -> Self {
        Self {
            source,
            section_start: section.content.start,
            next: Cell::new(start),
            end: section.content.end,
            is_file: source.is_file(),
            read: Link::default(),
            error: Cell::new(None),
        }
    }

    /// `unused`, with the next bytes of the section after them; `None` at its end, or if they cannot be read.
    pub(super) fn more(&self, unused: &[u8]) -> Option<&[u8]> {
        let start = self.next.get();
        if start >= self.end {
            return None;
        }
        let so_far = start.saturating_sub(self.section_start);
        let wanted = if self.is_file { PIECE.max(so_far / LONGER) } else { u64::MAX };
        let end = start.saturating_add(wanted).min(self.end);
        self.next.set(end);
        match self.source.get(start..end, "TAG_MESH_DATA") {
            Ok(bytes) => Some(self.read.push([unused, &bytes].concat())),
            Err(error) => {
                self.error.set(Some(error));
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

impl Snapshot {
    /// Runs a job on the stream of the mesh that reads it as far as an array, with memory for the bytes that it skips.
    pub(super) fn mesh_prefix_with<T>(
        &self,
        last: Part,
        budget: &Budget,
        scratch: &mut Scratch,
        job: impl FnOnce(&Section, &mut Stream<'_>, &mut [u8]) -> Result<T>,
    ) -> Result<T> {
        let needed = Cell::new(0);
        let job = |section: &Section, stream: &mut Stream<'_>, skipped: &mut [u8]| {
            let result = job(section, stream, skipped);
            let before = section.content.start.saturating_sub(self.start());
            needed.set(before.saturating_add(stream.used()));
            result
        };
        let result = match self.first_bytes(last) {
            None => self.mesh_stream_with(budget, scratch, job),
            Some(length) => self.in_part(length, budget, scratch, job),
        };
        if result.is_ok() && self.index > 0 {
            self.proxy.prefixes().learn(last, needed.get());
        }
        result
    }

    /// Where its first tag may be.
    fn start(&self) -> u64 {
        self.extent.start.saturating_sub(4)
    }

    /// How many bytes to read first, if it pays to read the snapshot in part.
    fn first_bytes(&self, last: Part) -> Option<u64> {
        let source = &self.proxy.layout().source;
        let is_deflate = matches!(self.proxy.dialect().codec, Codec::Deflate | Codec::Zlib);
        // Who asks for a second part of it will ask for the others, too.
        if last == Part::Triangles
            || !is_deflate
            || !self.is_to_be_read_alone(source)
            || self.kept().is_read_in_part.swap(true, Ordering::Relaxed)
        {
            return None;
        }
        let estimate = if self.index > 0 { self.proxy.prefixes().estimate(last) } else { None };
        let length = if source.is_file() { Some(estimate.unwrap_or(0).max(PIECE)) } else { estimate };
        length.filter(|length| *length < self.extent.length())
    }

    /// Runs a job on the stream of the mesh, of which as many bytes as that are read first.
    fn in_part<T>(
        &self,
        length: u64,
        budget: &Budget,
        scratch: &mut Scratch,
        job: impl FnOnce(&Section, &mut Stream<'_>, &mut [u8]) -> Result<T>,
    ) -> Result<T> {
        let source = &self.proxy.layout().source;
        let end = self.start().saturating_add(length).min(self.extent.end);
        let located = |error| self.place().locate(error);
        let light = source.with_ranges(&[self.start()..end], "snapshot").map_err(located)?;
        let section = self.find(&light, raw::TAG_MESH_DATA, self.sample, &mut scratch.decoders)?;
        let Some(section) = section.filter(|section| section.content.start.saturating_add(HEADERS) < end)
        else {
            // The mesh lies further behind.
            return self.mesh_stream_with(budget, scratch, job);
        };
        let there = section.content.start..end.min(section.content.end);
        let rest = Rest::new(source, &section, there.end);
        let bytes = light.get(there, "TAG_MESH_DATA").map_err(located)?;
        let result = with_skipped(scratch, |scratch, skipped| {
            self.with_stream_of(
                &section,
                (&bytes, Some(&rest)),
                "TAG_MESH_DATA",
                (budget, scratch),
                |stream| job(&section, stream, skipped),
            )
        });
        // The stream seemed to end where no more could be read.
        match rest.error.take() {
            Some(error) if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Truncated) => {
                Err(located(error))
            }
            _ => result,
        }
    }
}

/// Whether an error may be gone when the call is made again.
pub(super) fn is_of_reading(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io(_) | ErrorKind::NeedBytes(_))
}
