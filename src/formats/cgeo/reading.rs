//! Reading the sections of a snapshot: no more bytes than needed, and each once.

use bytes::Bytes;

use super::raw;
use super::rest::Rest;
use super::rules::FILE;
use super::sections::{self, Section, Sections};
use super::snapshot::Snapshot;
use super::stream::{Stream, Unit};
use crate::bytes::Source;
use crate::decode::{Content, Decoders, Scratch};
use crate::limits::Budget;
use crate::num::{Span, as_u64, as_usize, span};
use crate::options::Checksums;
use crate::report::{Error, ErrorKind, Result};

/// Reading this much costs no more than reading each header of a section.
pub(super) const FAR: u64 = 8 << 20;

impl Snapshot {
    /// The source, with the bytes of this snapshot read.
    pub(super) fn load(&self) -> Result<&Source> {
        let source = &self.proxy.layout().source;
        if source.is_in_memory() {
            return Ok(source);
        }
        let loaded = &self.kept().loaded;
        if loaded.get().is_none() {
            let with_tag = self.extent.start.saturating_sub(4)..self.end(source)?;
            let read =
                source.with_ranges(&[with_tag], "snapshot").map_err(|error| self.place().locate(error))?;
            let _ = loaded.set(read);
        }
        Ok(loaded.get().unwrap_or(source))
    }

    /// The end of the snapshot: at the next one or, if that is far, after its own end tag. There may be a hole
    /// between them, or the rest of the file.
    pub(super) fn end(&self, source: &Source) -> Result<u64> {
        let length = self.extent.length();
        if length <= FAR || self.proxy.dialect().size == super::SizeMeaning::Inflated {
            return Ok(self.extent.end);
        }
        let mut decoders = Decoders::default();
        let mut sections = self.walk(source, &mut decoders)?;
        self.kept().listed.all(&mut sections).map_err(|error| self.place().locate(error))?;
        Ok(sections.position().saturating_add(4).min(self.extent.end))
    }

    pub(super) fn walk<'a>(&self, source: &'a Source, decoders: &'a mut Decoders) -> Result<Sections<'a>> {
        let dialect = self.proxy.dialect();
        let region = sections::region(source, &self.extent, dialect.offset)
            .map_err(|error| self.place().locate(error))?;
        Ok(Sections::new(source, region, dialect, self.proxy.options().decoder, decoders))
    }

    /// The section of the mesh.
    fn mesh_header(&self, source: &Source, decoders: &mut Decoders) -> Result<Option<Section>> {
        self.find(source, raw::TAG_MESH_DATA, self.sample, decoders)
    }

    /// The section with this tag, after `skip` others with it.
    pub(super) fn find(
        &self,
        source: &Source,
        tag: u32,
        skip: usize,
        decoders: &mut Decoders,
    ) -> Result<Option<Section>> {
        let mut sections = self.walk(source, decoders)?;
        let found = match sections.among_few(tag, skip) {
            Ok(None) => self.kept().listed.section(tag, skip, &mut sections),
            Ok(Some(found)) => Ok(found),
            Err(error) => Err(error),
        };
        found.map_err(|error| self.place().locate(error))
    }

    /// Reads only one section, unless the whole snapshot has been read.
    pub(super) fn small_section(
        &self,
        tag: u32,
        usually: u64,
        scratch: &mut Scratch,
    ) -> Result<Option<(Section, bytes::Bytes)>> {
        let source = &self.proxy.layout().source;
        let light;
        let source = if self.is_to_be_read_alone(source) {
            let start = self.extent.start.saturating_sub(4);
            let end = start.saturating_add(usually).min(self.extent.end);
            light = source
                .with_ranges(std::slice::from_ref(&(start..end)), "snapshot")
                .map_err(|error| self.place().locate(error))?;
            &light
        } else {
            self.load()?
        };
        let Some(section) = self.find(source, tag, 0, &mut scratch.decoders)? else { return Ok(None) };
        let bytes =
            source.get(section.content.clone(), "section").map_err(|error| self.place().locate(error))?;
        Ok(Some((section, bytes)))
    }

    /// The stream of a section, without the length that may precede it.
    pub(super) fn stream<'a>(&self, section: &Section, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let prefix = self.proxy.dialect().prefix;
        bytes.get(prefix.size()..).ok_or_else(|| {
            let error =
                FILE.error(ErrorKind::Truncated, "length before a stream").at(section.content.clone());
            self.place().locate(error).truncated(as_u64(prefix.size()), as_u64(bytes.len()))
        })
    }

    /// Runs a job on the stream of a section.
    pub(super) fn with_stream<T>(
        &self,
        section: &Section,
        bytes: &Bytes,
        what: &'static str,
        with: (&Budget, &mut Scratch),
        job: impl FnOnce(&mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_stream_of(section, (bytes, None), what, with, job)
    }

    /// Runs a job on the stream of a section of which these bytes have been read; `rest` reads the others.
    pub(super) fn with_stream_of<T>(
        &self,
        section: &Section,
        (bytes, rest): (&Bytes, Option<&Rest<'_>>),
        what: &'static str,
        (budget, scratch): (&Budget, &mut Scratch),
        job: impl FnOnce(&mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        let (dialect, options) = (self.proxy.dialect(), self.proxy.options());
        let input = bytes.slice_ref(self.stream(section, bytes)?);
        let Scratch { decoders, cancel, .. } = scratch;
        let range = section.content.clone();
        budget.count_read(&range);
        let content = Content::new(decoders, &input, dialect.codec, options.decoder, cancel.as_deref());
        let mut content =
            content.map_err(|fault| self.place().locate(Error::stream(fault, what).at(range.clone())))?;
        if options.checksums == Checksums::Ignore {
            content.ignore_checksum();
        }
        let more = |unused: &[u8]| rest?.more(unused);
        let start = section.content.start.saturating_add(as_u64(dialect.prefix.size()));
        let stored = section.content.end.saturating_sub(start);
        let read_at = |offset: usize, out: &mut [u8]| {
            rest.is_some_and(|rest| rest.read_at(start.saturating_add(as_u64(offset)), out))
        };
        if rest.is_some() {
            content.continued_by(&more);
            content.stored_behind(as_usize(stored), &read_at);
        }
        let stored = if rest.is_some() { stored } else { as_u64(input.len()) };
        let unit = Unit { what, range, snapshot: self.index, codec: dialect.codec, stored };
        job(&mut Stream::new(content, input.clone(), unit, options, budget))
            .map_err(|error| self.proxy.layout().source.tell(error))
    }

    /// Runs a job on the stream of the mesh, with memory for the bytes that it skips.
    pub(super) fn mesh_stream_with<T>(
        &self,
        budget: &Budget,
        scratch: &mut Scratch,
        job: impl FnOnce(&Section, &mut Stream<'_>, &mut [u8]) -> Result<T>,
    ) -> Result<T> {
        with_skipped(scratch, |scratch, skipped| {
            self.mesh_section(budget, scratch, |section, stream| job(section, stream, skipped))
        })
    }

    /// Runs a job that needs only the start of the mesh. Reads no more, unless the whole snapshot has been read.
    pub(super) fn mesh_beginning<T>(
        &self,
        budget: &Budget,
        scratch: &mut Scratch,
        mut job: impl FnMut(&Section, &mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        /// Enough for the tables of a deflate block and a few bytes after them.
        const BEGINNING: u64 = 1024;
        let source = &self.proxy.layout().source;
        if self.is_to_be_read_alone(source)
            && let Some(section) = self.mesh_header(source, &mut scratch.decoders)?
            && section.content.length() > BEGINNING
        {
            let start = section.content.start;
            let bytes = source.get(span(start, BEGINNING), "TAG_MESH_DATA");
            let bytes = bytes.map_err(|error| self.place().locate(error))?;
            let what = "TAG_MESH_DATA";
            match self.with_stream(&section, &bytes, what, (budget, scratch), |stream| job(&section, stream))
            {
                Err(error) if error.kind() == ErrorKind::Truncated => {}
                result => return result,
            }
        }
        self.mesh_section(budget, scratch, job)
    }

    /// Returns `true` if reading only a part of the snapshot saves reading the rest.
    pub(super) fn is_to_be_read_alone(&self, source: &Source) -> bool {
        !source.is_in_memory()
            && self.kept.get().is_none_or(|kept| kept.loaded.get().is_none())
            && self.proxy.dialect().size != super::SizeMeaning::Inflated
    }

    pub(super) fn mesh_section<T>(
        &self,
        budget: &Budget,
        scratch: &mut Scratch,
        job: impl FnOnce(&Section, &mut Stream<'_>) -> Result<T>,
    ) -> Result<T> {
        let source = self.load()?;
        let section = self.mesh_header(source, &mut scratch.decoders)?.ok_or_else(|| {
            let error = FILE.malformed("TAG_MESH_DATA").at(self.extent.clone());
            self.place().locate(error).expected(format!("mesh section {}", self.sample)).found("none")
        })?;
        let bytes = source
            .get(section.content.clone(), "TAG_MESH_DATA")
            .map_err(|error| self.place().locate(error))?;
        let what = "TAG_MESH_DATA";
        self.with_stream(&section, &bytes, what, (budget, scratch), |stream| job(&section, stream))
    }
}

/// Runs a job with memory for bytes that are skipped.
pub(super) fn with_skipped<T>(scratch: &mut Scratch, job: impl FnOnce(&mut Scratch, &mut [u8]) -> T) -> T {
    const SKIPPED_AT_ONCE: usize = 32 << 10;
    let mut skipped = std::mem::take(&mut scratch.bytes);
    skipped.resize(SKIPPED_AT_ONCE, 0);
    let result = job(scratch, &mut skipped);
    scratch.bytes = skipped;
    result
}
