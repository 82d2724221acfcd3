//! Reading as much of a mesh as its first arrays need.
//!
//! Positions come first in the stream of a mesh, then normals. A source that is not in memory is read no further than the stream is
//! inflated. The length of the first read is estimated from the differences before. A store, which takes long for each request, gets
//! one request; of a file, the estimate is closer, and the rest follows piece by piece.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::parts::{Part, Parts};
use super::raw;
use super::reading::with_skipped;
use super::rest::{PIECE, Rest, grown};
use super::sections::Section;
use super::snapshot::Snapshot;
use super::stream::Stream;
use crate::codec::Codec;
use crate::decode::Scratch;
use crate::dialect::SizeMeaning;
use crate::limits::Budget;
use crate::num::Span;
use crate::report::{ErrorKind, Result};

/// Sections before the mesh, its headers and its counts.
const FEW: u64 = 4 << 10;

/// The length before a stream, and the header of zlib; and some bytes.
const HEADERS: u64 = 64;

impl Snapshot {
    /// The byte range to fetch before a call of [`mesh_parts_into`](Self::mesh_parts_into) with these parts.
    ///
    /// Positions and normals need only the beginning of a snapshot. Its length is estimated: the maximum length that the last decoded
    /// snapshots needed, plus a quarter. If the estimate is too short, `mesh_parts_into` reads the rest. Returns `None` if there is no
    /// estimate yet, because no snapshot after the first one has been decoded.
    ///
    /// Returns the [whole snapshot](Self::range) for the first snapshot, for map channels, and for dialects that store the inflated
    /// size or, except in files, no compressed data.
    ///
    /// The range starts with the start tag, which in some dialects stands in the 4 bytes before the snapshot's offset.
    #[must_use]
    pub fn likely_range(&self, parts: Parts) -> Option<Range<u64>> {
        self.likely(parts.last(), false)
    }

    /// The [likely range](Self::likely_range) in two parts. A large point cloud of a file lies between them; otherwise the second is
    /// empty.
    pub(super) fn likely_ranges(&self, parts: Parts) -> Option<[Range<u64>; 2]> {
        let (last, is_file) = (parts.last(), self.proxy.layout().source.is_file());
        let range = self.likely(last, is_file)?;
        let mesh = self.proxy.prefixes().far_mesh().filter(|_| is_file && self.has_prefix(last));
        Some(match mesh {
            Some(mesh) => [self.beginning(FEW), range.start.saturating_add(mesh).min(range.end)..range.end],
            None => [range, 0..0],
        })
    }

    fn likely(&self, last: Part, is_file: bool) -> Option<Range<u64>> {
        if !self.has_prefix(last) {
            return Some(self.start()..self.extent.end);
        }
        // The estimate may have grown by the time of the call, which reads as much as the estimate asks for.
        let length = self.proxy.prefixes().estimate(last, is_file)?;
        Some(self.beginning(grown(length, is_file)))
    }

    /// Returns `true` if the length that a mesh up to this part needs is estimated from the snapshots before.
    fn has_prefix(&self, last: Part) -> bool {
        self.index > 0 && self.may_end_before(last)
    }

    /// This number of bytes from the beginning, or all that there are.
    fn beginning(&self, length: u64) -> Range<u64> {
        let end = self.start().saturating_add(length);
        self.start()..end.clamp(self.extent.start, self.extent.end)
    }

    /// Returns `true` if a mesh that is decoded up to this part can be read in part.
    fn may_end_before(&self, last: Part) -> bool {
        let dialect = self.proxy.dialect();
        last != Part::Triangles
            && match dialect.codec {
                Codec::Deflate | Codec::Zlib => true,
                // Read in pieces, each of which would be a request to a store.
                Codec::Stored => self.proxy.source().is_file(),
                _ => false,
            }
            && dialect.size != SizeMeaning::Inflated
    }

    /// Runs a job on the stream of the mesh that reads it as far as an array, with memory for the bytes that it skips.
    pub(super) fn mesh_prefix_with<T>(
        &self,
        last: Part,
        budget: &Budget,
        scratch: &mut Scratch,
        job: impl FnOnce(&Section, &mut Stream<'_>, &mut [u8]) -> Result<T>,
    ) -> Result<T> {
        let needed = Cell::new((0, 0));
        let job = |section: &Section, stream: &mut Stream<'_>, skipped: &mut [u8]| {
            let result = job(section, stream, skipped);
            let before = section.content.start.saturating_sub(self.start());
            needed.set((before, before.saturating_add(stream.used())));
            result
        };
        let result = match self.first_bytes(last) {
            None => self.mesh_stream_with(budget, scratch, job),
            Some(length) => self.in_part(length, budget, scratch, job),
        };
        if result.is_ok() && self.index > 0 {
            let (mesh, bytes) = needed.get();
            self.proxy.prefixes().learn(last, mesh, bytes);
        }
        result
    }

    /// The start of the 4 bytes that are the start tag in some dialects.
    fn start(&self) -> u64 {
        self.extent.start.saturating_sub(4)
    }

    /// Returns the number of bytes to read first, if it pays to read the snapshot in part.
    fn first_bytes(&self, last: Part) -> Option<u64> {
        let source = &self.proxy.layout().source;
        // A caller that requests a second part of it will also request the others.
        if !self.may_end_before(last)
            || !self.is_to_be_read_alone(source)
            || self.kept().is_read_in_part.swap(true, Ordering::Relaxed)
        {
            return None;
        }
        let is_file = source.is_file();
        let estimate = if self.index > 0 { self.proxy.prefixes().estimate(last, is_file) } else { None };
        if !is_file {
            return estimate.filter(|length| *length < self.extent.length());
        }
        // There may be a hole behind a short snapshot, which would be read with it.
        let stored = self.end(source).ok()?.saturating_sub(self.start());
        // Uncompressed data needs no more than its counts: its arrays are read into their memory.
        let first =
            if self.proxy.dialect().codec == Codec::Stored { FEW } else { estimate.unwrap_or(0).max(PIECE) };
        Some(first).filter(|length| *length < stored)
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
        let located = |error| self.place().locate(error);
        let read = |range: Range<u64>| {
            if source.is_file() {
                // Otherwise the system may read ahead, and more than this.
                source.will_read(range.clone());
            }
            source.with_ranges(&[range], "snapshot").map_err(located)
        };
        // Only the headers, if there is a large point cloud before the mesh.
        let is_far = source.is_file() && self.proxy.prefixes().far_mesh().is_some();
        let first = self.beginning(if is_far { length.min(FEW) } else { length });
        let light = read(first.clone())?;
        let section = self.find(&light, raw::TAG_MESH_DATA, self.sample, &mut scratch.decoders)?;
        let Some(section) = section else {
            return self.mesh_stream_with(budget, scratch, job);
        };
        let content = section.content.clone();
        let headers_end = content.start.saturating_add(HEADERS);
        let (light, end) = if headers_end < first.end {
            (light, first.end)
        } else {
            let estimated = self.start().saturating_add(length);
            let end = if headers_end < estimated { estimated } else { content.start.saturating_add(length) };
            let end = end.min(content.end);
            (read(content.start..end)?, end)
        };
        // The section is read in part, and counts as a whole.
        let last = content.end.saturating_sub(1)..content.end;
        source.require(&[last], "TAG_MESH_DATA").map_err(located)?;
        let there = content.start..end.min(content.end);
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
        match rest.error.into_inner() {
            Some(error) if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Truncated) => {
                Err(located(error))
            }
            _ => result,
        }
    }
}
