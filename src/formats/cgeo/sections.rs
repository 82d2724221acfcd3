//! The sections of a snapshot.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use super::layout::expect_tag;
use super::raw;
use super::rules::FILE;
use crate::bytes::{Source, Walk};
use crate::codec::{Codec, Decoder, Fault, FaultKind};
use crate::decode::{Content, Decoders};
use crate::dialect::{Dialect, OffsetTarget, SizeMeaning};
use crate::num::{as_u64, as_usize, decimal, size_u64, span};
use crate::report::{Error, Result};

/// The greatest number of sections in a snapshot. The published text has three kinds.
pub(crate) const MAX_SECTIONS: usize = 4096;

/// More than there are kinds. Sections after this number are kept in a list, and their headers are read many at a time.
const FEW: usize = 8;

/// The first byte of a complete mesh.
pub(crate) const COMPLETE: u8 = 1;
/// The first byte of a mesh that is stored as the difference from the mesh of the first snapshot.
pub(crate) const DIFFERENCE: u8 = 0;

/// A section of a snapshot: located, not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The tag: one of [`raw`](super::raw), or an unknown one.
    pub tag: u32,
    /// Tag, size and content in the file.
    pub range: Range<u64>,
    /// The stored content in the file.
    pub content: Range<u64>,
    /// The size in its header; the [`Dialect`](super::Dialect) says what it counts.
    pub size: u64,
}

impl Section {
    /// The section of a header at an offset, where sizes count stored bytes.
    pub(crate) fn stored(header: &raw::SectionHeader, at: u64, size: SizeMeaning) -> Option<Self> {
        let header_size = size_u64::<raw::SectionHeader>();
        let content = match size {
            SizeMeaning::StoredWithHeader => header.size.get().checked_sub(header_size)?,
            _ => header.size.get(),
        };
        let start = at.checked_add(header_size)?;
        let end = start.checked_add(content)?;
        Some(Self { tag: header.tag.get(), range: at..end, content: start..end, size: header.size.get() })
    }

    /// Returns `true` if the published text describes the content of the section.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.tag, raw::TAG_BOUNDING_BOX | raw::TAG_POINTCLOUD | raw::TAG_MESH_DATA)
    }
}

/// The bytes of a snapshot from its first section to the end of its end tag. Its start tag must be where the dialect
/// says.
pub(crate) fn region(source: &Source, extent: &Range<u64>, offset: OffsetTarget) -> Result<Range<u64>> {
    let (start_tag, before_next) = match offset {
        OffsetTarget::StartTag => (extent.start, 0),
        OffsetTarget::FirstSection => (extent.start.saturating_sub(4), 4),
    };
    expect_tag(source, start_tag, raw::TAG_ANIMATION_SNAPSHOT_START, "TAG_ANIMATION_SNAPSHOT_START")?;
    let is_last = source.len()?.is_none_or(|len| extent.end >= len);
    let end = if is_last { extent.end } else { extent.end.saturating_sub(before_next) };
    let first = start_tag.saturating_add(4);
    Ok(first..end.max(first))
}

/// The sections of a snapshot, as far as they have been walked: none is passed twice, however many are asked for.
#[derive(Debug, Default)]
pub(crate) struct Listed(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    sections: Vec<Section>,
    /// The indices of the sections that are meshes.
    meshes: Vec<usize>,
    /// `true` if the end tag follows.
    is_whole: bool,
}

impl Listed {
    /// The section with this tag, after `skip` others with it.
    pub(crate) fn section(
        &self,
        tag: u32,
        skip: usize,
        sections: &mut Sections<'_>,
    ) -> Result<Option<Section>> {
        if tag == raw::TAG_MESH_DATA {
            return self.find(sections, |list| list.sections.get(*list.meshes.get(skip)?).cloned());
        }
        let (mut seen, mut left) = (0, skip);
        self.find(sections, |list| {
            let new = list.sections.get(seen..).unwrap_or_default();
            seen = list.sections.len();
            new.iter().find(|section| section.tag == tag && is_next(&mut left)).cloned()
        })
    }

    /// All sections. Where the end tag is, `sections` has walked to.
    pub(crate) fn all(&self, sections: &mut Sections<'_>) -> Result<Vec<Section>> {
        self.find(sections, |_| None)?;
        Ok(self.lock().sections.clone())
    }

    /// Walks on until `look` finds a section. The list is not locked while the source is read.
    fn find(
        &self,
        sections: &mut Sections<'_>,
        mut look: impl FnMut(&List) -> Option<Section>,
    ) -> Result<Option<Section>> {
        loop {
            let known = {
                let list = self.lock();
                sections.go_on_after(&list.sections);
                let found = look(&list);
                if found.is_some() || list.is_whole {
                    return Ok(found);
                }
                list.sections.len()
            };
            let next = sections.next()?;
            let mut list = self.lock();
            // Other threads may also walk, and may have been here first.
            if list.sections.len() == known {
                list.is_whole = next.is_none();
                if next.as_ref().is_some_and(|section| section.tag == raw::TAG_MESH_DATA) {
                    list.meshes.push(known);
                }
                list.sections.extend(next);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns `true` if there are no more to be skipped; otherwise counts one that is.
fn is_next(left: &mut usize) -> bool {
    let is_next = *left == 0;
    *left = left.saturating_sub(1);
    is_next
}

/// Walks the sections of a snapshot, one at a time.
pub(crate) struct Sections<'a> {
    source: &'a Source,
    dialect: Dialect,
    decoder: Decoder,
    /// The start of the first section.
    first: u64,
    /// The bytes of the snapshot that are left.
    rest: Range<u64>,
    left: usize,
    decoders: &'a mut Decoders,
    /// The bytes from here on, if they are needed to follow the sections.
    bytes: Option<(u64, Bytes)>,
    /// Reads the headers after the first few.
    walk: Option<Walk>,
}

impl<'a> Sections<'a> {
    pub(crate) fn new(
        source: &'a Source,
        region: Range<u64>,
        dialect: Dialect,
        decoder: Decoder,
        decoders: &'a mut Decoders,
    ) -> Self {
        Self {
            source,
            dialect,
            decoder,
            first: region.start,
            rest: region,
            left: MAX_SECTIONS,
            decoders,
            bytes: None,
            walk: None,
        }
    }

    /// The next section; `Ok(None)` at the end tag.
    fn next(&mut self) -> Result<Option<Section>> {
        let at = self.rest.start;
        let tag_range = span(at, 4);
        let lost = |what, range: Range<u64>| FILE.malformed(what).at(range);
        if tag_range.end > self.rest.end {
            let error = lost("TAG_ANIMATION_SNAPSHOT_END", tag_range);
            return Err(error
                .expected(format!("it before {:#x}, where the snapshot ends", self.rest.end))
                .found("none"));
        }
        let tag = self.read_struct::<U32>(at, "tag of a section")?.get();
        if tag == raw::TAG_ANIMATION_SNAPSHOT_END {
            return Ok(None);
        }
        let header_end = at.saturating_add(size_u64::<raw::SectionHeader>());
        if header_end > self.rest.end || self.left == 0 {
            let error = lost("tag of a section", tag_range);
            let most = decimal(MAX_SECTIONS);
            let expected =
                format!("a section of at most {most}, or the end tag, before {:#x}", self.rest.end);
            return Err(error.expected(expected).found(format_args!("tag {tag:#x}")));
        }
        let header: raw::SectionHeader = self.read_struct(at, "header of a section")?;
        let section = match self.dialect.size {
            SizeMeaning::Inflated => Some(self.inflated(&header, at)?),
            size => Section::stored(&header, at, size),
        };
        let section = section.filter(|section| section.range.end <= self.rest.end).ok_or_else(|| {
            let room = self.rest.end.saturating_sub(header_end);
            let error = lost("size of a section", at.saturating_add(4)..header_end);
            error
                .expected(format!("at most {room:#x}, what is left of the snapshot"))
                .found(hex(header.size.get()))
        })?;
        self.rest.start = section.range.end;
        self.left = self.left.saturating_sub(1);
        Ok(Some(section))
    }

    fn read_struct<T: FromBytes>(&mut self, at: u64, what: &'static str) -> Result<T> {
        if MAX_SECTIONS.saturating_sub(self.left) < FEW {
            return self.source.read_struct(at, what);
        }
        self.walk.get_or_insert_with(|| self.source.walk()).read_struct(at, what)
    }

    /// The start of the next section, or of the end tag.
    pub(crate) fn position(&self) -> u64 {
        self.rest.start
    }

    /// Goes on after the sections that have been passed before.
    fn go_on_after(&mut self, passed: &[Section]) {
        self.rest.start = passed.last().map_or(self.first, |last| last.range.end);
        self.left = MAX_SECTIONS.saturating_sub(passed.len());
    }

    /// Returns the section with this tag, after `skip` others with it, if checking the first few sections is enough; `None` if more
    /// sections have to be checked.
    pub(crate) fn among_few(&mut self, tag: u32, skip: usize) -> Result<Option<Option<Section>>> {
        if self.dialect.size == SizeMeaning::Inflated {
            return Ok(None);
        }
        let mut left = skip;
        for _ in 0..FEW {
            match self.next()? {
                Some(section) if section.tag == tag && is_next(&mut left) => return Ok(Some(Some(section))),
                Some(_) => {}
                None => return Ok(Some(None)),
            }
        }
        Ok(None)
    }

    /// Returns a section whose size is the size of its inflated content: it ends at the end of the stream.
    fn inflated(&mut self, header: &raw::SectionHeader, at: u64) -> Result<Section> {
        let start = at.saturating_add(size_u64::<raw::SectionHeader>());
        let (first, all) = match self.bytes.take() {
            Some(bytes) => bytes,
            None => (start, self.source.get(start..self.rest.end, "section")?),
        };
        let bytes = all.slice(as_usize(start.saturating_sub(first)).min(all.len())..);
        self.bytes = Some((first, all));
        let (size, tag) = (header.size.get(), header.tag.get());
        let used = stream_length(&bytes, size, self.dialect.codec, self.decoder, self.decoders);
        let used =
            used.map_err(|fault| FILE.at(start..self.rest.end).locate(Error::stream(fault, "section")))?;
        let end = start.saturating_add(as_u64(used));
        Ok(Section { tag, range: at..end, content: start..end, size })
    }
}

/// Follows sections whose sizes are inflated lengths through a whole snapshot: `Ok` where that ends on the end tag.
pub(crate) fn inflated_chain(
    bytes: &[u8],
    codec: Codec,
    decoder: Decoder,
    decoders: &mut Decoders,
) -> Result<(), Fault> {
    let mut rest = bytes;
    for _ in 0..MAX_SECTIONS {
        if rest.first_chunk().is_some_and(|tag| u32::from_le_bytes(*tag) == raw::TAG_ANIMATION_SNAPSHOT_END) {
            return Ok(());
        }
        let Ok((header, content)) = raw::SectionHeader::read_from_prefix(rest) else { break };
        let used = stream_length(content, header.size.get(), codec, decoder, decoders)?;
        rest = content.get(used..).unwrap_or_default();
    }
    Err(codec.fault(FaultKind::Truncated))
}

/// Returns the number of bytes of a stream that inflates to `size` bytes.
fn stream_length(
    bytes: &[u8],
    size: u64,
    codec: Codec,
    decoder: Decoder,
    decoders: &mut Decoders,
) -> Result<usize, Fault> {
    let mut content = Content::new(decoders, bytes, codec, decoder, None)?;
    content.skip(size, &mut [0; 16 << 10])?;
    content.finish()?;
    Ok(content.consumed())
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}
