//! Reading the sections of a snapshot: the beginning of a section first, and more of it as long as that does not suffice for a job
//! on its stream. [`ReadPolicy`](super::read_policy::ReadPolicy) decides how much. May use the open file and streams; does not know
//! what the jobs decode.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::file::{File, StoredSnapshot};
use super::first_mesh::{BaseArray, Head};
use super::mesh::SameTriangles;
use super::parts::MeshArray;
use super::raw;
use super::read_policy::{FAR, FirstRead, HEADERS, PIECE, Requests, TOO_SHORT};
use super::rules::FILE;
use super::sections::{self, Section, Sections};
use super::stream::{Stream, Unit};
use crate::bytes::{Array, Source};
use crate::codec::Codec;
use crate::decode::{Content, Context, Decoders, Scratch, Slot, lasting};
use crate::dialect::SizeMeaning;
use crate::limits::{Meter, job};
use crate::num::{Span, as_u64, as_usize, span};
use crate::options::Checksums;
use crate::report::{Error, ErrorKind, Result};

/// A section to be read.
pub(super) struct Query {
    tag: u32,
    /// The name of the tag.
    what: &'static str,
    /// The number of sections with this tag before it.
    skip: usize,
    /// The bytes that mostly have the headers of the sections up to it.
    headers: u64,
}

impl Query {
    /// Tag, a header, a compressed box, and another header.
    const USUAL_HEADERS: u64 = 4 + 12 + 80 + 12;

    pub(super) const BOUNDING_BOX: Self = Self {
        tag: raw::TAG_BOUNDING_BOX,
        what: "TAG_BOUNDING_BOX",
        skip: 0,
        headers: Self::USUAL_HEADERS,
    };

    pub(super) const POINT_CLOUD: Self = Self {
        tag: raw::TAG_POINTCLOUD,
        what: "TAG_POINTCLOUD",
        skip: 0,
        headers: Self::USUAL_HEADERS,
    };

    /// The mesh of this index among the meshes of a snapshot.
    fn mesh(sample: usize) -> Self {
        Self {
            tag: raw::TAG_MESH_DATA,
            what: "TAG_MESH_DATA",
            skip: sample,
            headers: HEADERS,
        }
    }
}

/// A section, as far as it has been read.
pub(super) struct Begun {
    what: &'static str,
    section: Section,
    bytes: Bytes,
}

impl Begun {
    /// Returns `true` if there is more of the section.
    fn is_partial(&self) -> bool {
        as_u64(self.bytes.len()) < self.section.content.length()
    }
}

/// The source of uncompressed arrays behind the bytes that have been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// They are read directly into their memory.
    FromSource,
    /// None: a job that needs them ends, and begins again with more bytes.
    Missing,
}

/// The outcome of a job on what has been read of a section.
struct Attempt<T> {
    result: Result<T>,
    progress: Progress,
}

/// The progress of a job in the stream of a section.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Bytes of the section that were needed.
    used: u64,
    /// About how many bytes of the section are needed, if what was read does not suffice.
    wanted: Option<u64>,
}

impl StoredSnapshot {
    /// Returns `true` if the bytes of the snapshot have been read.
    fn is_loaded(&self) -> bool {
        match self.read_already() {
            Some(read) => read.loaded.get().is_some(),
            None => false,
        }
    }

    /// The source, with the bytes of this snapshot read.
    pub(super) fn load(&self) -> Result<&Source> {
        let source = self.file.source();
        if source.is_in_memory() {
            return Ok(source);
        }
        let loaded = &self.read().loaded;
        if loaded.get().is_none() {
            let range = self.policy().start()..self.end(source)?;
            let read = self.read_ahead(source, range)?;
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
        if self.extent.length() <= FAR || self.file.dialect.size == SizeMeaning::Inflated {
            return Ok(self.extent.end);
        }
        let mut decoders = Decoders::default();
        let mut sections = self.walk(source, &mut decoders)?;
        while let Some(_section) = sections
            .next()
            .map_err(|error| self.place().locate(error))?
        {}
        let end_tag = sections.position().saturating_add(4);
        Ok(end_tag.min(self.extent.end))
    }

    /// The sections, one after the other.
    pub(super) fn walk<'a>(
        &self,
        source: &'a Source,
        decoders: &'a mut Decoders,
    ) -> Result<Sections<'a>> {
        let dialect = self.file.dialect;
        let region = sections::region(source, &self.extent, dialect.offset)
            .map_err(|error| self.place().locate(error))?;
        let decoder = self.file.options.decoder;
        Ok(Sections::new(source, region, dialect, decoder, decoders))
    }

    /// All sections, of a source that has the bytes of the snapshot. They are listed once.
    pub(super) fn list(&self, source: &Source, decoders: &mut Decoders) -> Result<&[Section]> {
        let known = &self.read().sections;
        if known.get().is_none() {
            let mut list = Vec::new();
            let mut sections = self.walk(source, decoders)?;
            while let Some(section) = sections.next().map_err(|error| error.of(self.address()))? {
                list.push(section);
            }
            let _ = known.set(list);
        }
        Ok(known.get().map_or(&[], Vec::as_slice))
    }

    /// Returns `true` if the sections have been listed.
    fn is_listed(&self) -> bool {
        match self.read_already() {
            Some(read) => read.sections.get().is_some(),
            None => false,
        }
    }

    /// Finds a section; `Ok(None)` if the snapshot lacks it.
    fn find(
        &self,
        source: &Source,
        query: &Query,
        decoders: &mut Decoders,
    ) -> Result<Option<Section>> {
        // The end of a section whose inflated size is stored is known when it has been inflated, which is done once.
        if self.file.dialect.size == SizeMeaning::Inflated || self.is_listed() {
            let list = self.list(source, decoders)?.iter();
            let mut with_tag = list.filter(|section| section.tag == query.tag);
            return Ok(with_tag.nth(query.skip).cloned());
        }
        let mut before = query.skip;
        let mut sections = self.walk(source, decoders)?;
        loop {
            let section = sections.next();
            let Some(section) = section.map_err(|error| self.place().locate(error))? else {
                return Ok(None);
            };
            if section.tag != query.tag {
                continue;
            }
            if before == 0 {
                return Ok(Some(section));
            }
            before = before.saturating_sub(1);
        }
    }

    /// Reads the beginning of a section; `Ok(None)` if the snapshot lacks it.
    fn begin(
        &self,
        query: &Query,
        first: FirstRead,
        decoders: &mut Decoders,
    ) -> Result<Option<Begun>> {
        if first == FirstRead::Snapshot {
            return self.begin_in_snapshot(query, decoders);
        }
        let source = self.file.source();
        let headers = self.policy().header_read(query.headers, first);
        let light = self.read_ahead(source, headers.range.clone())?;
        let Some(section) = self.find(&light, query, decoders)? else {
            return Ok(None);
        };
        let content = section.content.clone();
        // The section is read in part, and counts as a whole.
        let last_byte = content.end.saturating_sub(1)..content.end;
        source
            .require(&[last_byte], "section")
            .map_err(|error| self.place().locate(error))?;
        let there = content.start..headers.range.end.min(content.end);
        let bytes = if headers.has_content && there.length() > TOO_SHORT {
            light.get(there, "section")
        } else {
            let length = match first {
                FirstRead::Beginning(length) => length,
                FirstRead::Section | FirstRead::Snapshot => u64::MAX,
            };
            let end = content.start.saturating_add(length).min(content.end);
            let with_content = self.read_ahead(&light, content.start..end)?;
            with_content.get(content.start..end, "section")
        };
        Ok(Some(Begun {
            what: query.what,
            section,
            bytes: bytes.map_err(|error| self.place().locate(error))?,
        }))
    }

    /// Reads the whole snapshot, for a section.
    fn begin_in_snapshot(&self, query: &Query, decoders: &mut Decoders) -> Result<Option<Begun>> {
        let source = self.load()?;
        let Some(section) = self.find(source, query, decoders)? else {
            return Ok(None);
        };
        let bytes = source
            .get(section.content.clone(), "section")
            .map_err(|error| self.place().locate(error))?;
        Ok(Some(Begun {
            what: query.what,
            section,
            bytes,
        }))
    }

    /// Reads more of a section, of which about `wanted` bytes are needed.
    fn read_on(&self, begun: &mut Begun, wanted: u64) -> Result<()> {
        let content = &begun.section.content;
        let there = as_u64(begun.bytes.len());
        let length = self.policy().next_length(there, wanted);
        let start = content.start.saturating_add(there);
        let end = content.start.saturating_add(length).min(content.end);
        let more = self
            .read_ahead(self.file.source(), start..end)?
            .get(start..end, "section")
            .map_err(|error| self.place().locate(error))?;
        begun.bytes = [&*begun.bytes, &*more].concat().into();
        Ok(())
    }

    /// Runs a job on the whole content of a section; `Ok(None)` if the snapshot lacks it.
    pub(super) fn with_section<T>(
        &self,
        query: &Query,
        scratch: &mut Scratch,
        job: impl FnOnce(&mut Stream<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let first = if self.policy().may_read_in_part() && !self.is_loaded() {
            FirstRead::Section
        } else {
            FirstRead::Snapshot
        };
        let Some(begun) = self.begin(query, first, &mut scratch.decoders)? else {
            return Ok(None);
        };
        if self.file.source().is_mapped() {
            // A box is short, whatever its section claims.
            let most = if query.tag == raw::TAG_BOUNDING_BOX {
                PIECE
            } else {
                u64::MAX
            };
            self.advise_content(&begun, most);
        }
        let meter = self.meter();
        let context = Context::new(&meter, scratch);
        let attempt = self.attempt(&begun, Tail::Missing, context, job);
        attempt.result.map(Some)
    }

    /// Runs a job on the stream of the mesh up to an array, or on its counts. The job begins again if more has to be read.
    pub(super) fn with_mesh<T>(
        &self,
        last: Option<MeshArray>,
        meter: &Meter,
        scratch: &mut Scratch,
        mut job: impl FnMut(&mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut begun = self.begin_mesh(last, scratch)?;
        loop {
            let part = meter.part();
            let context = Context::new(&part, scratch);
            let Attempt { result, progress } =
                self.attempt(&begun, Tail::FromSource, context, &mut job);
            let Some(wanted) = progress.wanted else {
                if let Some(last) = last
                    && result.is_ok()
                    && self.index > 0
                {
                    let content = &begun.section.content;
                    let before_mesh = content.start.saturating_sub(self.policy().start());
                    self.file.lengths.learn(last, before_mesh, progress.used);
                }
                part.commit();
                return result;
            };
            drop(part);
            self.read_on(&mut begun, wanted)?;
        }
    }

    /// Makes a value of the mesh, as far as it has been read, once for all threads. Nothing is read while others wait.
    pub(super) fn make_once<T: Clone>(
        &self,
        slot: &Slot<Result<T>>,
        mut begun: Begun,
        keep: impl Fn(&T) -> bool,
        context: Context<'_>,
        mut job: impl FnMut(&mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        let Context { meter, scratch } = context;
        loop {
            let part = meter.part();
            let mut wanted = None;
            let make = || {
                let context = Context::new(&part, scratch);
                let attempt = self.attempt(&begun, Tail::Missing, context, &mut job);
                wanted = attempt.progress.wanted;
                if wanted.is_some() {
                    attempt.result.map(Ok)
                } else {
                    lasting(attempt.result)
                }
            };
            let made = slot.get_or_try_make(make, |made| made.as_ref().map_or(true, &keep));
            let Some(wanted) = wanted else {
                part.commit();
                return made?;
            };
            drop(part);
            self.read_on(&mut begun, wanted)?;
        }
    }

    /// Returns `true` if the mesh is complete, by its first byte.
    #[cfg(feature = "cache")]
    pub(super) fn begins_complete(&self, begun: &Begun, context: Context<'_>) -> Result<bool> {
        let attempt = self.attempt(begun, Tail::Missing, context, |stream| {
            stream.in_part().is_complete()
        });
        attempt.result
    }

    /// Reads the beginning of the mesh for an array, or for the counts.
    pub(super) fn begin_mesh(
        &self,
        last: Option<MeshArray>,
        scratch: &mut Scratch,
    ) -> Result<Begun> {
        let first = self.first_read(last);
        let unadvised = match last {
            Some(last) if self.file.source().is_mapped() && !self.advise_likely(last) => Some(last),
            _ => None,
        };
        let begun = self.begin(&Query::mesh(self.sample), first, &mut scratch.decoders)?;
        let begun = begun.ok_or_else(|| {
            let error = FILE.malformed("TAG_MESH_DATA").at(self.extent.clone());
            self.place()
                .locate(error)
                .expected(format!("mesh section {}", self.sample))
                .found("none")
        })?;
        if let Some(last) = unadvised {
            self.advise_content(&begun, self.most_content(last));
        }
        Ok(begun)
    }

    /// The first request for an array, or for the counts.
    fn first_read(&self, last: Option<MeshArray>) -> FirstRead {
        let policy = self.policy();
        if !policy.may_read_in_part() || self.is_loaded() {
            return FirstRead::Snapshot;
        }
        let Some(last) = last else {
            return FirstRead::COUNTS;
        };
        if !policy.may_end_before(last) {
            return FirstRead::Snapshot;
        }
        // A caller that requests a second part of it will also request the others.
        if self.read().is_read_in_part.swap(true, Ordering::Relaxed) {
            return FirstRead::Snapshot;
        }
        let source = self.file.source();
        if source.is_file() {
            // If the end is not found, reading the whole snapshot reports why.
            let Ok(end) = self.end(source) else {
                return FirstRead::Snapshot;
            };
            if end.saturating_sub(policy.start()) <= PIECE {
                return FirstRead::Snapshot;
            }
        }
        policy.first_read(last)
    }

    /// Advises the system to read what is likely needed of a map, in which it does not read ahead; returns `true` if that is known.
    fn advise_likely(&self, last: MeshArray) -> bool {
        let source = self.file.source();
        let policy = self.policy();
        let likely = if policy.is_learned_from_others(last) {
            policy.likely_ranges(last, Requests::Cheap)
        } else {
            None
        };
        let Some(likely) = likely else {
            source.will_read(policy.beginning(PIECE));
            return false;
        };
        for range in [likely.headers, likely.mesh] {
            if !range.is_empty() {
                source.will_read(range);
            }
        }
        true
    }

    /// Advises the system to read the beginning of a section of a map: at most this number of bytes.
    fn advise_content(&self, begun: &Begun, most: u64) {
        let Range { start, end } = begun.section.content;
        let range = start..start.saturating_add(most).min(end);
        self.file.source().will_read(range);
    }

    /// The maximum number of bytes of the mesh up to the end of an array, by the counts of the first snapshot. If the mesh is
    /// compressed, all of it.
    fn most_content(&self, last: MeshArray) -> u64 {
        let is_counted = matches!(last, MeshArray::Positions | MeshArray::Normals);
        if !is_counted || self.file.dialect.codec != Codec::Stored {
            return u64::MAX;
        }
        let Ok(Head { counts, .. }) = head_before_arrays(&self.file) else {
            return u64::MAX;
        };
        let mut elements = u64::from(counts.vertices);
        if last == MeshArray::Normals {
            elements = elements.saturating_add(counts.normals.into());
        }
        elements.saturating_mul(12).saturating_add(TOO_SHORT)
    }

    /// Runs a job on the stream of a section, as far as that has been read.
    fn attempt<T>(
        &self,
        begun: &Begun,
        tail: Tail,
        context: Context<'_>,
        job: impl FnOnce(&mut Stream<'_>) -> Result<T>,
    ) -> Attempt<T> {
        const SKIPPED_AT_ONCE: usize = 32 << 10;
        let Context { meter, scratch } = context;
        let mut skipped = std::mem::take(&mut scratch.bytes);
        if self.file.dialect.codec != Codec::Stored {
            skipped.resize(SKIPPED_AT_ONCE, 0);
        }
        let mut progress = Progress::default();
        let context = Context::new(meter, scratch);
        let result = self.run_job(begun, tail, context, &mut skipped, &mut progress, job);
        scratch.bytes = skipped;
        Attempt { result, progress }
    }

    fn run_job<T>(
        &self,
        begun: &Begun,
        tail: Tail,
        context: Context<'_>,
        skipped: &mut [u8],
        progress: &mut Progress,
        job: impl FnOnce(&mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        let what = begun.what;
        let source = self.file.source();
        let dialect = self.file.dialect;
        let Context { meter, scratch } = context;
        let options = scratch.within(&self.file.options);
        let input = self.without_prefix(begun)?;
        let range = begun.section.content.clone();
        let prefix = as_u64(dialect.prefix.size());
        let start = range.start.saturating_add(prefix);
        let stored = range.end.saturating_sub(start);
        meter.count_read(&range);
        self.count_work(meter, 0, begun)?;
        let content = Content::new(
            &mut scratch.decoders,
            &input,
            dialect.codec,
            options.decoder,
            scratch.cancel.as_deref(),
        );
        let mut content = content.map_err(|fault| {
            let error = Error::stream(fault, what).at(range.clone());
            self.place().locate(error)
        })?;
        if options.checksums == Checksums::Ignore {
            content.ignore_checksum();
        }
        let failure = OnceLock::new();
        let read_at = |offset: usize, out: &mut [u8]| {
            let range = span(start.saturating_add(as_u64(offset)), as_u64(out.len()));
            let read = source.read_to(range, what, out);
            read.map_err(|error| failure.set(self.place().locate(error)))
                .is_ok()
        };
        let is_partial = begun.is_partial();
        if is_partial && tail == Tail::FromSource {
            content.set_tail(as_usize(stored), &read_at);
        }
        let unit = Unit {
            what,
            offset: begun.section.range.start,
            range,
            snapshot: self.index,
            codec: dialect.codec,
            stored,
        };
        let mut stream = Stream::new(content, input.clone(), unit, skipped, &options, meter);
        let result = job(&mut stream);
        progress.used = stream.used().saturating_add(prefix);
        if is_partial
            && result.is_err()
            && let Some(wanted) = stream.wanted()
        {
            progress.wanted = Some(wanted.saturating_add(prefix));
        }
        let counted = self.count_work(meter, stream.worked(), begun);
        let result = match (failure.get(), result) {
            (Some(failure), _) => Err(failure.clone()),
            (None, Ok(value)) => counted.map(|()| value),
            (None, Err(error)) => Err(error),
        };
        result.map_err(|error| source.locate(error))
    }

    /// Counts work on a section.
    fn count_work(&self, meter: &Meter, units: u64, begun: &Begun) -> Result<()> {
        meter.work(units, begun.what).map_err(|error| {
            let error = error.at(begun.section.content.clone());
            self.place().locate(error)
        })
    }

    /// The stream of a section, without the length that may precede it.
    fn without_prefix(&self, begun: &Begun) -> Result<Bytes> {
        let prefix = self.file.dialect.prefix.size();
        if prefix <= begun.bytes.len() {
            return Ok(begun.bytes.slice(prefix..));
        }
        let error = FILE
            .error(ErrorKind::Truncated, "length before a stream")
            .at(begun.section.content.clone());
        let found = as_u64(begun.bytes.len());
        Err(self.place().locate(error).truncated(as_u64(prefix), found))
    }

    /// An array of a complete mesh that the source has in memory as it is.
    pub(super) fn in_place(
        &self,
        part: MeshArray,
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Result<Option<BaseArray>> {
        let source = self.file.source();
        if self.file.dialect.codec != Codec::Stored || !source.is_in_memory() {
            return Ok(None);
        }
        let located = self.with_mesh(Some(part), meter, scratch, |stream| {
            if !stream.is_complete()? {
                return Ok(None);
            }
            let counts = stream.counts()?;
            stream.locate_alone(&counts, part).map(Some)
        })?;
        let Some(located) = located else {
            return Ok(None);
        };
        let bytes = source
            .get(located.range, "TAG_MESH_DATA")
            .map_err(|error| self.place().locate(error))?;
        Ok(Some(BaseArray {
            array: Array::new(bytes),
            before: located.before,
            memory: 0,
        }))
    }
}

/// The first snapshot. From a store, all of it is read, because its arrays follow each other, and each request takes long.
pub(super) fn first_snapshot(file: &Arc<File>) -> Result<StoredSnapshot> {
    let first = StoredSnapshot::new(file, 0)?;
    if file.source().is_in_memory() || file.source().is_file() {
        return Ok(first);
    }
    match file.first_mesh.loaded() {
        Some(loaded) => drop(first.read().loaded.set(loaded)),
        None => {
            let loaded = first.load()?;
            file.first_mesh.keep_loaded(loaded, first.extent.length());
        }
    }
    Ok(first)
}

/// The beginning of the first snapshot's mesh, for a caller that needs no more of it.
pub(super) fn head_alone(file: &Arc<File>) -> Result<Head> {
    match file.first_mesh.head.get() {
        Some(head) => Ok(*head),
        None => read_head(&StoredSnapshot::new(file, 0)?),
    }
}

/// The beginning of the first snapshot's mesh, for a caller that needs arrays of it.
pub(super) fn head_before_arrays(file: &Arc<File>) -> Result<Head> {
    match file.first_mesh.head.get() {
        Some(head) => Ok(*head),
        None => read_head(&first_snapshot(file)?),
    }
}

fn read_head(first: &StoredSnapshot) -> Result<Head> {
    // It is made for all calls, and charged to none.
    let counts = job::unmetered(|| {
        first.with_mesh(None, &first.meter(), &mut Scratch::default(), |stream| {
            stream.in_part().complete_counts()
        })
    })?;
    let head = Head {
        counts,
        topology: first.file.topology(SameTriangles::First),
    };
    Ok(*first.file.first_mesh.head.get_or_init(|| head))
}
