//! The policy of how much of a snapshot is read at a time. Decides; reads nothing.
//!
//! Positions come first in the stream of a mesh, then normals, so that a call for positions needs only the beginning of a section. How
//! much of it is learned from the snapshots before ([`LearnedLengths`]). If a guess is too short, more is read, and decoding begins
//! again. The cost of a request decides how to guess:
//!
//! | source | a request costs | policy |
//! |---|---|---|
//! | memory | nothing | everything is there |
//! | map | page faults | the system is advised of what will be needed, because it does not read ahead |
//! | file | microseconds | headers first, then the mesh in pieces of 256 KiB at least |
//! | store (a reader of the caller) | milliseconds | one request for headers and mesh, a second one for the rest |
//!
//! `cargo bench --bench snapshot` pays for it, by its rows "a snapshot of 10 GiB, lazily" and "open, positions of one difference", and
//! `cargo bench --bench stream`, which plays 10 GB from a disk; the last ratios are in `benches/README.md`. `tests/parts.rs` counts the
//! requests.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::parts::MeshArray;
use crate::bytes::Source;
use crate::codec::Codec;
use crate::dialect::{Dialect, SizeMeaning};
use crate::num::Span;

/// The headers of the sections before the mesh, the header of the mesh, and its counts.
pub(super) const HEADERS: u64 = 4 << 10;

/// The minimum length of a mesh that is read from a file at a time.
pub(super) const PIECE: u64 = 256 << 10;

/// Reading this length costs no more than reading each header of a section.
pub(super) const FAR: u64 = 8 << 20;

/// The length before a stream, the header of zlib, and some bytes: fewer bytes of a section are read again with the rest.
pub(super) const TOO_SHORT: u64 = 64;

/// The cost of a request to a source that is not in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Requests {
    /// Files, and maps of files: reading on costs less than reading too much.
    Cheap,
    /// Stores: a second request costs more than some bytes too many.
    Dear,
}

impl Requests {
    pub(super) fn of(source: &Source) -> Self {
        if source.is_file() {
            Self::Cheap
        } else {
            Self::Dear
        }
    }

    /// The length to read after snapshots that needed this length: a little more.
    fn grown(self, length: u64) -> u64 {
        let margin = match self {
            Self::Cheap => length / 32,
            Self::Dear => length / 8,
        };
        length.saturating_add(margin)
    }
}

/// The lengths of a mesh that the last differences needed, in bytes; 0 as long as unknown.
#[derive(Debug, Default)]
pub(super) struct LearnedLengths {
    /// The greatest lengths, which decrease slowly: after a short difference, a long one may follow.
    positions: AtomicU64,
    normals: AtomicU64,
    /// The bytes of the last snapshot before its mesh.
    before_mesh: AtomicU64,
}

impl LearnedLengths {
    fn of(&self, last: MeshArray) -> Option<&AtomicU64> {
        match last {
            MeshArray::Positions => Some(&self.positions),
            MeshArray::Normals => Some(&self.normals),
            MeshArray::MapChannel(_) | MeshArray::Triangles => None,
        }
    }

    /// About how many bytes of a mesh are needed up to an array; `None` as long as unknown.
    fn estimate(&self, last: MeshArray, requests: Requests) -> Option<u64> {
        match self.of(last)?.load(Ordering::Relaxed) {
            0 => None,
            known => Some(requests.grown(known)),
        }
    }

    fn before_mesh(&self) -> u64 {
        self.before_mesh.load(Ordering::Relaxed)
    }

    /// Learns from a difference with `before_mesh` bytes before its mesh, of which `used` bytes were needed.
    pub(super) fn learn(&self, last: MeshArray, before_mesh: u64, used: u64) {
        /// One part in this number is forgotten with each difference.
        const SLOWLY: u64 = 32;
        let Some(length) = self.of(last) else { return };
        let known = length.load(Ordering::Relaxed);
        let remembered = known.saturating_sub(known / SLOWLY);
        length.store(used.max(remembered), Ordering::Relaxed);
        self.before_mesh.store(before_mesh, Ordering::Relaxed);
    }
}

/// The first request for a section.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstRead {
    /// The whole snapshot.
    Snapshot,
    /// The section, after the headers before it.
    Section,
    /// This number of bytes of the section, after the headers before it.
    Beginning(u64),
}

impl FirstRead {
    /// The request for the counts of a mesh: enough for the tables of a deflate block, and a few bytes after them.
    pub(super) const COUNTS: Self = Self::Beginning(1024);
}

/// The range that the headers of the sections are read with.
pub(super) struct HeaderRead {
    pub(super) range: Range<u64>,
    /// `true` if the range is also meant to have the beginning of the section.
    pub(super) has_content: bool,
}

/// The ranges that are likely read of a snapshot.
pub(super) struct LikelyRanges {
    /// The headers, if they are read separately; empty otherwise.
    pub(super) headers: Range<u64>,
    /// The mesh, with the headers unless they are read separately.
    pub(super) mesh: Range<u64>,
}

/// The policy for one snapshot, made of all that it depends on.
pub(super) struct ReadPolicy<'a> {
    pub(super) source: &'a Source,
    pub(super) dialect: Dialect,
    pub(super) lengths: &'a LearnedLengths,
    /// The index of the snapshot, and its bytes.
    pub(super) index: usize,
    pub(super) extent: &'a Range<u64>,
}

impl ReadPolicy<'_> {
    /// The start of the 4 bytes that are the start tag in some dialects.
    pub(super) fn start(&self) -> u64 {
        self.extent.start.saturating_sub(4)
    }

    /// This number of bytes from the beginning, or the whole snapshot if it is shorter.
    pub(super) fn beginning(&self, length: u64) -> Range<u64> {
        let end = self.start().saturating_add(length);
        self.start()..end.clamp(self.extent.start, self.extent.end)
    }

    /// Returns `true` if reading a part of the snapshot saves reading the rest. If headers store inflated sizes, sections can be
    /// followed only by inflating them.
    pub(super) fn may_read_in_part(&self) -> bool {
        !self.source.is_in_memory() && self.dialect.size != SizeMeaning::Inflated
    }

    /// Returns `true` if a mesh that is decoded up to this array can be read in part.
    pub(super) fn may_end_before(&self, last: MeshArray) -> bool {
        if last == MeshArray::Triangles || self.dialect.size == SizeMeaning::Inflated {
            return false;
        }
        match self.dialect.codec {
            Codec::Deflate | Codec::Zlib => true,
            // A store would get a request for the counts, and another one for the arrays.
            Codec::Stored => self.source.is_file(),
            Codec::Gzip | Codec::Lzma { .. } => false,
        }
    }

    /// Returns `true` if other differences show how much of the mesh is needed for an array.
    pub(super) fn is_learned_from_others(&self, last: MeshArray) -> bool {
        self.index > 0 && self.may_end_before(last)
    }

    /// The first request for an array of a mesh that can be read in part. The caller reads a file's snapshot at once if it is no
    /// longer than a piece.
    pub(super) fn first_read(&self, last: MeshArray) -> FirstRead {
        let requests = Requests::of(self.source);
        let known = if self.index > 0 {
            self.lengths.estimate(last, requests)
        } else {
            None
        };
        if requests == Requests::Dear {
            return match known {
                Some(length) if length < self.extent.length() => FirstRead::Beginning(length),
                _ => FirstRead::Snapshot,
            };
        }
        if self.dialect.codec == Codec::Stored {
            // The counts suffice: uncompressed arrays are read directly into their memory.
            return FirstRead::COUNTS;
        }
        FirstRead::Beginning(known.unwrap_or(0).max(PIECE))
    }

    /// The range to read for the headers of the sections, of which there are mostly `headers` bytes.
    pub(super) fn header_read(&self, headers: u64, first: FirstRead) -> HeaderRead {
        let before_mesh = self.lengths.before_mesh();
        // In a file, a point cloud before the mesh is not read.
        let is_near = (1..HEADERS).contains(&before_mesh);
        match first {
            FirstRead::Beginning(length) if is_near || !self.source.is_file() => HeaderRead {
                range: self.beginning(headers.max(before_mesh.saturating_add(length))),
                has_content: true,
            },
            _ => HeaderRead {
                range: self.beginning(headers),
                has_content: false,
            },
        }
    }

    /// The length of a section to read after `there` bytes of it, of which about `wanted` are needed.
    pub(super) fn next_length(&self, there: u64, wanted: u64) -> u64 {
        match Requests::of(self.source) {
            Requests::Cheap => wanted.max(there.saturating_add(PIECE / 4)),
            Requests::Dear => u64::MAX,
        }
    }

    /// The ranges that a call for an array likely reads; `None` as long as no other difference has been decoded.
    pub(super) fn likely_ranges(
        &self,
        last: MeshArray,
        requests: Requests,
    ) -> Option<LikelyRanges> {
        if !self.is_learned_from_others(last) {
            return Some(LikelyRanges {
                headers: 0..0,
                mesh: self.start()..self.extent.end,
            });
        }
        let estimate = self.lengths.estimate(last, requests)?;
        // The estimate may have grown by the time of the call, which reads as much as the estimate asks for.
        let length = requests.grown(estimate);
        let before_mesh = self.lengths.before_mesh();
        let mesh = self.start().saturating_add(before_mesh);
        let end = mesh
            .saturating_add(length)
            .clamp(self.extent.start, self.extent.end);
        if requests == Requests::Cheap && before_mesh > HEADERS {
            return Some(LikelyRanges {
                headers: self.beginning(HEADERS),
                mesh: mesh.min(end)..end,
            });
        }
        Some(LikelyRanges {
            headers: 0..0,
            mesh: self.start()..end,
        })
    }
}
