//! Reading the sections of a snapshot: the beginning of a section first, and more of it as long as that does not suffice.
//!
//! Positions come first in the stream of a mesh, then normals. A source that is not in memory is read about as far as the stream is
//! inflated: the length is estimated from the differences before. A store, which takes long for each request, gets one request for
//! the headers and the beginning. If the stream does not end in what was read, more is read, and decoding begins again.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::base::Head;
use super::parts::{MeshArray, Parts};
use super::raw;
use super::rules::FILE;
use super::sections::{self, Section, Sections};
use super::snapshot::Snapshot;
use super::stream::{Stream, Unit};
use crate::bytes::Source;
use crate::codec::Codec;
use crate::decode::{Content, Decoders, Scratch, Slot, lasting};
use crate::dialect::SizeMeaning;
use crate::limits::Meter;
use crate::num::{Span, as_u64, as_usize, span};
use crate::options::Checksums;
use crate::report::{Error, ErrorKind, Result};

/// The headers of the sections before the mesh, the header of the mesh, and its counts.
const HEADERS: u64 = 4 << 10;

/// The length before a stream, the header of zlib, and some bytes: fewer bytes of a section are read again with the rest.
const LEAST: u64 = 64;

const MESH: &str = "TAG_MESH_DATA";

/// The least of a mesh that is read from a file at a time.
const PIECE: u64 = 256 << 10;

/// Reading this much costs no more than reading each header of a section.
pub(super) const FAR: u64 = 8 << 20;

/// The length to read after differences that needed this length: a little more. Reading on costs less in files than another request
/// to a store.
fn grown(length: u64, is_file: bool) -> u64 {
    length.saturating_add(if is_file { length / 32 } else { length / 8 })
}

/// The bytes of a mesh that the last differences needed; 0 as long as unknown.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    /// The greatest lengths, which decrease slowly: after a short difference, a long one may follow.
    positions: AtomicU64,
    normals: AtomicU64,
    /// The bytes of the last snapshot before its mesh.
    before: AtomicU64,
}

impl Prefixes {
    fn of(&self, last: MeshArray) -> Option<&AtomicU64> {
        match last {
            MeshArray::Positions => Some(&self.positions),
            MeshArray::Normals => Some(&self.normals),
            MeshArray::MapChannel(_) | MeshArray::Triangles => None,
        }
    }

    /// About how many bytes are needed.
    fn estimate(&self, last: MeshArray, is_file: bool) -> Option<u64> {
        let known = self.of(last)?.load(Ordering::Relaxed);
        (known > 0).then(|| grown(known, is_file))
    }

    fn before(&self) -> u64 {
        self.before.load(Ordering::Relaxed)
    }

    fn learn(&self, last: MeshArray, before: u64, bytes: u64) {
        /// One part in this number is forgotten with each difference.
        const SLOWLY: u64 = 32;
        let Some(prefix) = self.of(last) else { return };
        let known = prefix.load(Ordering::Relaxed);
        prefix.store(
            bytes.max(known.saturating_sub(known / SLOWLY)),
            Ordering::Relaxed,
        );
        self.before.store(before, Ordering::Relaxed);
    }
}

/// A section, as far as it has been read.
pub(super) struct Begun {
    section: Section,
    bytes: Bytes,
}

impl Begun {
    /// Returns `true` if there is more of the section.
    fn is_partial(&self) -> bool {
        as_u64(self.bytes.len()) < self.section.content.length()
    }
}

/// The progress of a job in the stream of a section.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Bytes of the section that were needed.
    used: u64,
    /// About how many bytes of the section are needed, if what was read does not suffice.
    wanted: Option<u64>,
}

impl Snapshot {
    /// The byte range to fetch before a call of [`mesh_into`](Self::mesh_into) with these parts.
    ///
    /// Positions and normals need only the beginning of a snapshot. Its length is estimated: the maximum length that the last decoded
    /// snapshots needed, plus a quarter. If the estimate is too short, `mesh_into` reads the rest. Returns `None` if there is no
    /// estimate yet, because no snapshot after the first one has been decoded.
    ///
    /// Returns the [whole snapshot](Self::range) for the first snapshot, for map channels, and for dialects that store the inflated
    /// size or, except in files, no compressed data.
    ///
    /// The range starts with the start tag, which in some dialects stands in the 4 bytes before the snapshot's offset.
    #[must_use]
    pub fn likely_range(&self, parts: Parts) -> Option<Range<u64>> {
        self.likely_ranges(parts, false).map(|[_, range]| range)
    }

    /// The ranges that are read of the headers and the mesh; the first one is empty if both are read at once.
    pub(super) fn likely_ranges(&self, parts: Parts, is_file: bool) -> Option<[Range<u64>; 2]> {
        self.likely_ranges_to(parts.last(), is_file)
    }

    fn likely_ranges_to(&self, last: MeshArray, is_file: bool) -> Option<[Range<u64>; 2]> {
        if !self.is_estimated(last) {
            return Some([0..0, self.start()..self.extent.end]);
        }
        let (prefixes, start) = (self.proxy.prefixes(), self.start());
        // The estimate may have grown by the time of the call, which reads as much as the estimate asks for.
        let length = grown(prefixes.estimate(last, is_file)?, is_file);
        let mesh = start.saturating_add(prefixes.before());
        let end = mesh
            .saturating_add(length)
            .clamp(self.extent.start, self.extent.end);
        let is_apart = is_file && prefixes.before() > HEADERS;
        Some(if is_apart {
            [self.beginning(HEADERS), mesh.min(end)..end]
        } else {
            [0..0, start..end]
        })
    }

    /// Returns `true` if other differences show how much of the mesh is needed for an array.
    fn is_estimated(&self, last: MeshArray) -> bool {
        self.index > 0 && self.may_end_before(last)
    }

    /// The start of the 4 bytes that are the start tag in some dialects.
    fn start(&self) -> u64 {
        self.extent.start.saturating_sub(4)
    }

    /// This number of bytes from the beginning, or all that there are.
    fn beginning(&self, length: u64) -> Range<u64> {
        let end = self.start().saturating_add(length);
        self.start()..end.clamp(self.extent.start, self.extent.end)
    }

    /// Returns `true` if a mesh that is decoded up to this part can be read in part.
    fn may_end_before(&self, last: MeshArray) -> bool {
        let dialect = self.proxy.dialect();
        last != MeshArray::Triangles
            && match dialect.codec {
                Codec::Deflate | Codec::Zlib => true,
                // A store would get a request for the counts, and another one for the arrays.
                Codec::Stored => self.proxy.source().is_file(),
                _ => false,
            }
            && dialect.size != SizeMeaning::Inflated
    }

    /// Returns `true` if reading only a part of the snapshot saves reading the rest.
    fn reads_partially(&self) -> bool {
        !self.proxy.source().is_in_memory()
            && self
                .kept
                .get()
                .is_none_or(|kept| kept.loaded.get().is_none())
            && self.proxy.dialect().size != SizeMeaning::Inflated
    }

    /// Returns how much of the mesh is read first for an array, or for the counts; `None` for all of the snapshot.
    fn first_length(&self, last: Option<MeshArray>) -> Option<u64> {
        /// Enough for the tables of a deflate block and a few bytes after them.
        const COUNTS: u64 = 1024;
        if !self.reads_partially() {
            return None;
        }
        let Some(last) = last else {
            return Some(COUNTS);
        };
        // A caller that requests a second part of it will also request the others.
        if !self.may_end_before(last) || self.kept().is_read_in_part.swap(true, Ordering::Relaxed) {
            return None;
        }
        let source = self.proxy.source();
        let known = || {
            if self.index > 0 {
                self.proxy.prefixes().estimate(last, source.is_file())
            } else {
                None
            }
        };
        if !source.is_file() {
            return known().filter(|length| *length < self.extent.length());
        }
        if self.end(source).ok()?.saturating_sub(self.start()) <= PIECE {
            return None;
        }
        // Uncompressed data needs no more than its counts: its arrays are read into their memory.
        let is_stored = self.proxy.dialect().codec == Codec::Stored;
        Some(if is_stored {
            COUNTS
        } else {
            known().unwrap_or(0).max(PIECE)
        })
    }

    /// The source, with the bytes of this snapshot read.
    pub(super) fn load(&self) -> Result<&Source> {
        let source = self.proxy.source();
        if source.is_in_memory() {
            return Ok(source);
        }
        let loaded = &self.kept().loaded;
        if loaded.get().is_none() {
            let read = self.read_ahead(source, self.start()..self.end(source)?)?;
            let _ = loaded.set(read);
        }
        Ok(loaded.get().unwrap_or(source))
    }

    /// The source, with these bytes read.
    fn read_ahead(&self, source: &Source, range: Range<u64>) -> Result<Source> {
        if source.is_file() {
            // Otherwise the system may read more than this.
            source.will_read(range.clone());
        }
        source
            .with_ranges(&[range], "snapshot")
            .map_err(|error| self.place().locate(error))
    }

    /// The end of the snapshot: at the next one or, if that is far, after its own end tag. There may be a hole
    /// between them, or the rest of the file.
    fn end(&self, source: &Source) -> Result<u64> {
        if self.extent.length() <= FAR || self.proxy.dialect().size == SizeMeaning::Inflated {
            return Ok(self.extent.end);
        }
        let mut decoders = Decoders::default();
        let mut sections = self.walk(source, &mut decoders)?;
        while sections
            .next()
            .map_err(|error| self.place().locate(error))?
            .is_some()
        {}
        Ok(sections.position().saturating_add(4).min(self.extent.end))
    }

    pub(super) fn walk<'a>(
        &self,
        source: &'a Source,
        decoders: &'a mut Decoders,
    ) -> Result<Sections<'a>> {
        let dialect = self.proxy.dialect();
        let region = sections::region(source, &self.extent, dialect.offset)
            .map_err(|error| self.place().locate(error))?;
        Ok(Sections::new(
            source,
            region,
            dialect,
            self.proxy.options().decoder,
            decoders,
        ))
    }

    /// All sections, of a source that has the bytes of the snapshot. They are listed once.
    pub(super) fn list(&self, source: &Source, decoders: &mut Decoders) -> Result<&[Section]> {
        let known = &self.kept().sections;
        if known.get().is_none() {
            let (mut sections, mut list) = (self.walk(source, decoders)?, Vec::new());
            while let Some(section) = sections.next().map_err(|error| error.of(self.address()))? {
                list.push(section);
            }
            let _ = known.set(list);
        }
        Ok(known.get().map_or(&[], Vec::as_slice))
    }

    /// The section with this tag, after `skip` others with it.
    pub(super) fn find(
        &self,
        source: &Source,
        tag: u32,
        mut skip: usize,
        decoders: &mut Decoders,
    ) -> Result<Option<Section>> {
        let mut is_wanted = |section: &Section| {
            let is_wanted = section.tag == tag && skip == 0;
            skip = skip.saturating_sub(usize::from(section.tag == tag));
            is_wanted
        };
        // The end of a section may be known when it has been inflated.
        let is_inflated = self.proxy.dialect().size == SizeMeaning::Inflated;
        if is_inflated
            || self
                .kept
                .get()
                .is_some_and(|kept| kept.sections.get().is_some())
        {
            return Ok(self
                .list(source, decoders)?
                .iter()
                .find(|section| is_wanted(section))
                .cloned());
        }
        let mut sections = self.walk(source, decoders)?;
        while let Some(section) = sections
            .next()
            .map_err(|error| self.place().locate(error))?
        {
            if is_wanted(&section) {
                return Ok(Some(section));
            }
        }
        Ok(None)
    }

    /// Reads the beginning of a section, whose header is mostly in the first `headers` bytes: `length` bytes of its content or, if
    /// that is `None`, the whole snapshot.
    fn begin(
        &self,
        (tag, skip, headers): (u32, usize, u64),
        length: Option<u64>,
        decoders: &mut Decoders,
    ) -> Result<Option<Begun>> {
        let located = |error| self.place().locate(error);
        let source = self.proxy.source();
        let Some(length) = length else {
            let source = self.load()?;
            let Some(section) = self.find(source, tag, skip, decoders)? else {
                return Ok(None);
            };
            let bytes = source
                .get(section.content.clone(), "section")
                .map_err(located)?;
            return Ok(Some(Begun { section, bytes }));
        };
        // In a file, a point cloud before the mesh is not read.
        let before = self.proxy.prefixes().before();
        let is_at_once = length < u64::MAX && (!source.is_file() || (1..HEADERS).contains(&before));
        let both = if is_at_once {
            before.saturating_add(length)
        } else {
            0
        };
        let first = self.beginning(headers.max(both));
        let light = self.read_ahead(source, first.clone())?;
        let Some(section) = self.find(&light, tag, skip, decoders)? else {
            return Ok(None);
        };
        let content = section.content.clone();
        // The section is read in part, and counts as a whole.
        let last = content.end.saturating_sub(1)..content.end;
        source.require(&[last], "section").map_err(located)?;
        let there = content.start..first.end.min(content.end);
        let bytes = if is_at_once && there.length() > LEAST {
            light.get(there, "section")
        } else {
            let wanted = content.start..content.start.saturating_add(length).min(content.end);
            self.read_ahead(&light, wanted.clone())?
                .get(wanted, "section")
        };
        Ok(Some(Begun {
            section,
            bytes: bytes.map_err(located)?,
        }))
    }

    /// Reads more of a section, of which about `wanted` bytes are needed: from a store, all of it.
    fn read_on(&self, begun: &mut Begun, wanted: u64) -> Result<()> {
        let (source, content) = (self.proxy.source(), &begun.section.content);
        let there = as_u64(begun.bytes.len());
        let length = if source.is_file() {
            wanted.max(there.saturating_add(PIECE / 4))
        } else {
            u64::MAX
        };
        let start = content.start.saturating_add(there);
        let range = start..content.start.saturating_add(length).min(content.end);
        let more = self
            .read_ahead(source, range.clone())?
            .get(range, "section");
        let more = more.map_err(|error| self.place().locate(error))?;
        begun.bytes = [&*begun.bytes, &*more].concat().into();
        Ok(())
    }

    /// Runs a job on the whole content of the first section with this tag; `Ok(None)` if the snapshot lacks it.
    pub(super) fn with_section<T>(
        &self,
        (tag, what): (u32, &'static str),
        scratch: &mut Scratch,
        job: impl FnOnce(&mut Stream<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        /// Tag, a header, a compressed box, and another header.
        const USUALLY: u64 = 4 + 12 + 80 + 12;
        let length = self.reads_partially().then_some(u64::MAX);
        let begun = self.begin((tag, 0, USUALLY), length, &mut scratch.decoders)?;
        let Some(begun) = begun else { return Ok(None) };
        if self.proxy.source().is_mapped() {
            // A box is short, whatever its section claims.
            let most = if tag == raw::TAG_BOUNDING_BOX {
                PIECE
            } else {
                u64::MAX
            };
            self.announce(&begun, most);
        }
        self.decode(
            &begun,
            what,
            false,
            (&self.meter(), scratch),
            |_, stream, _| job(stream),
        )
        .0
        .map(Some)
    }

    /// Runs a job on the stream of the mesh up to an array, or on its counts, with memory for the bytes that it skips. The job begins
    /// again if more has to be read.
    pub(super) fn with_mesh<T>(
        &self,
        last: Option<MeshArray>,
        meter: &Meter,
        scratch: &mut Scratch,
        mut job: impl FnMut(&Section, &mut Stream<'_>, &mut [u8]) -> Result<T>,
    ) -> Result<T> {
        let mut begun = self.begin_mesh(last, scratch)?;
        loop {
            let attempt = meter.part();
            let (result, progress) = self.decode(&begun, MESH, true, (&attempt, scratch), &mut job);
            let Some(wanted) = progress.wanted else {
                if let Some(last) = last.filter(|_| result.is_ok() && self.index > 0) {
                    let before = begun.section.content.start.saturating_sub(self.start());
                    self.proxy.prefixes().learn(last, before, progress.used);
                }
                attempt.keep();
                return result;
            };
            drop(attempt);
            self.read_on(&mut begun, wanted)?;
        }
    }

    /// Makes a value of the mesh, of which as much as that has been read, once for all threads. Nothing is read while others wait.
    pub(super) fn make_once<T: Clone>(
        &self,
        slot: &Slot<Result<T>>,
        mut begun: Begun,
        keep: impl Fn(&T) -> bool,
        (meter, scratch): (&Meter, &mut Scratch),
        mut job: impl FnMut(&Section, &mut Stream<'_>, &mut [u8]) -> Result<T>,
    ) -> Result<T> {
        loop {
            let (mut more, attempt) = (None, meter.part());
            let make = || {
                let (made, progress) =
                    self.decode(&begun, MESH, false, (&attempt, scratch), &mut job);
                more = progress.wanted;
                if more.is_some() {
                    made.map(Ok)
                } else {
                    lasting(made)
                }
            };
            let made = slot.get_or_try_make(make, |made| made.as_ref().map_or(true, &keep));
            let Some(wanted) = more else {
                attempt.keep();
                return made?;
            };
            drop(attempt);
            self.read_on(&mut begun, wanted)?;
        }
    }

    /// Returns `true` if the mesh is complete, by its first byte.
    #[cfg(feature = "cache")]
    pub(super) fn begins_complete(
        &self,
        begun: &Begun,
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        self.decode(begun, MESH, false, (meter, scratch), |_, stream, _| {
            stream.in_part().is_complete()
        })
        .0
    }

    /// Has the system read what is likely needed of a map, in which it does not read ahead; returns `true` if it is known.
    fn advise(&self, last: MeshArray) -> bool {
        let source = self.proxy.source();
        let likely = self
            .is_estimated(last)
            .then(|| self.likely_ranges_to(last, true))
            .flatten();
        match &likely {
            Some(ranges) => ranges
                .iter()
                .filter(|range| !range.is_empty())
                .for_each(|range| source.will_read(range.clone())),
            None => source.will_read(self.beginning(PIECE)),
        }
        likely.is_some()
    }

    /// Reads the beginning of the mesh for an array, or for the counts.
    pub(super) fn begin_mesh(
        &self,
        last: Option<MeshArray>,
        scratch: &mut Scratch,
    ) -> Result<Begun> {
        let length = self.first_length(last);
        let last = last.filter(|_| self.proxy.source().is_mapped());
        let is_known = last.is_none_or(|last| self.advise(last));
        let begun = self.begin(
            (raw::TAG_MESH_DATA, self.sample, HEADERS),
            length,
            &mut scratch.decoders,
        )?;
        let begun = begun.ok_or_else(|| {
            let error = FILE.malformed("TAG_MESH_DATA").at(self.extent.clone());
            self.place()
                .locate(error)
                .expected(format!("mesh section {}", self.sample))
                .found("none")
        })?;
        if let Some(last) = last.filter(|_| !is_known) {
            self.announce(&begun, self.most(last));
        }
        Ok(begun)
    }

    /// Has the system read the beginning of a section of a map: at most this number of bytes.
    fn announce(&self, begun: &Begun, most: u64) {
        let Range { start, end } = begun.section.content;
        self.proxy
            .source()
            .will_read(start..start.saturating_add(most).min(end));
    }

    /// The most bytes of the mesh to the end of an array, by the counts of the first snapshot: of one that is compressed, all.
    fn most(&self, last: MeshArray) -> u64 {
        let is_counted = matches!(last, MeshArray::Positions | MeshArray::Normals);
        if !is_counted || self.proxy.dialect().codec != Codec::Stored {
            return u64::MAX;
        }
        let Ok(Head { counts, .. }) = self.proxy.base_head(true) else {
            return u64::MAX;
        };
        let normals = if last == MeshArray::Normals {
            counts.normals.into()
        } else {
            0
        };
        u64::from(counts.vertices)
            .saturating_add(normals)
            .saturating_mul(12)
            .saturating_add(LEAST)
    }

    /// Runs a job on the stream of a section, with memory for the bytes that it skips. `reads` allows that uncompressed arrays are
    /// read behind the bytes that are there.
    fn decode<T>(
        &self,
        begun: &Begun,
        what: &'static str,
        reads: bool,
        (meter, scratch): (&Meter, &mut Scratch),
        job: impl FnOnce(&Section, &mut Stream<'_>, &mut [u8]) -> Result<T>,
    ) -> (Result<T>, Progress) {
        const SKIPPED_AT_ONCE: usize = 32 << 10;
        let Begun { section, bytes } = begun;
        let mut progress = Progress::default();
        let mut skipped = std::mem::take(&mut scratch.bytes);
        if self.proxy.dialect().codec != Codec::Stored {
            skipped.resize(SKIPPED_AT_ONCE, 0);
        }
        let source = self.proxy.source();
        let result = self.stream(section, bytes).and_then(|input| {
            let (dialect, options) = (self.proxy.dialect(), scratch.within(self.proxy.options()));
            let (input, range) = (bytes.slice_ref(input), section.content.clone());
            let start = range.start.saturating_add(as_u64(dialect.prefix.size()));
            let stored = range.end.saturating_sub(start);
            let Scratch {
                decoders, cancel, ..
            } = scratch;
            meter.count_read(&range);
            let work = |units| {
                let counted = meter.work(units, what);
                counted.map_err(|error| self.place().locate(error.at(section.content.clone())))
            };
            work(0)?;
            let content = Content::new(
                decoders,
                &input,
                dialect.codec,
                options.decoder,
                cancel.as_deref(),
            );
            let mut content = content.map_err(|fault| {
                self.place()
                    .locate(Error::stream(fault, what).at(range.clone()))
            })?;
            if options.checksums == Checksums::Ignore {
                content.ignore_checksum();
            }
            let failed = OnceLock::new();
            let read_at = |offset: usize, out: &mut [u8]| {
                let range = span(start.saturating_add(as_u64(offset)), as_u64(out.len()));
                source
                    .read_to(range, what, out)
                    .map_err(|error| failed.set(self.place().locate(error)))
                    .is_ok()
            };
            let is_partial = begun.is_partial();
            if is_partial && reads {
                content.set_tail(as_usize(stored), &read_at);
            }
            let unit = Unit {
                what,
                range,
                snapshot: self.index,
                codec: dialect.codec,
                stored,
            };
            let mut stream = Stream::new(content, input.clone(), unit, &options, meter);
            let result = job(section, &mut stream, &mut skipped);
            let prefix = as_u64(dialect.prefix.size());
            progress.used = stream.used().saturating_add(prefix);
            progress.wanted = stream.wanted().filter(|_| is_partial && result.is_err());
            progress.wanted = progress.wanted.map(|wanted| wanted.saturating_add(prefix));
            let worked = work(stream.worked());
            let result = result.and_then(|value| worked.map(|()| value));
            failed
                .get()
                .cloned()
                .map_or(result, Err)
                .map_err(|error| source.locate(error))
        });
        scratch.bytes = skipped;
        (result, progress)
    }

    /// The stream of a section, without the length that may precede it.
    fn stream<'a>(&self, section: &Section, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let prefix = self.proxy.dialect().prefix;
        bytes.get(prefix.size()..).ok_or_else(|| {
            let error = FILE
                .error(ErrorKind::Truncated, "length before a stream")
                .at(section.content.clone());
            self.place()
                .locate(error)
                .truncated(as_u64(prefix.size()), as_u64(bytes.len()))
        })
    }
}
