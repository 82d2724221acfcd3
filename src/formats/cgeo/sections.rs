//! The sections of a snapshot.

use std::ops::Range;

use bytes::Bytes;
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use super::layout::expect_tag;
use super::raw;
use super::rules::FILE;
use crate::bytes::Source;
use crate::codec::{Codec, Decoder, Fault, FaultKind};
use crate::decode::{Content, Decoders};
use crate::dialect::{Dialect, OffsetTarget, SizeMeaning};
use crate::limits::{caps, job};
use crate::num::{as_u64, as_usize, size_u64, span};
use crate::report::{Error, ErrorKind, Result};

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
        Some(Self {
            tag: header.tag.get(),
            range: at..end,
            content: start..end,
            size: header.size.get(),
        })
    }

    /// Returns `true` if the published text describes the content of the section.
    pub(crate) fn is_known(&self) -> bool {
        matches!(
            self.tag,
            raw::TAG_BOUNDING_BOX | raw::TAG_POINTCLOUD | raw::TAG_MESH_DATA
        )
    }
}

/// The bytes of a snapshot from its first section to the end of its end tag. Its start tag must be where the dialect
/// says.
pub(crate) fn region(
    source: &Source,
    extent: &Range<u64>,
    offset: OffsetTarget,
) -> Result<Range<u64>> {
    // If offsets are of the first section, the start tag of the next snapshot also belongs to that one.
    let tag_before_offset = match offset {
        OffsetTarget::StartTag => 0,
        OffsetTarget::FirstSection => 4,
    };
    let start_tag = extent.start.saturating_sub(tag_before_offset);
    expect_tag(
        source,
        start_tag,
        raw::TAG_ANIMATION_SNAPSHOT_START,
        "TAG_ANIMATION_SNAPSHOT_START",
    )?;
    let is_last = source.len()?.is_none_or(|len| extent.end >= len);
    let end = if is_last {
        extent.end
    } else {
        extent.end.saturating_sub(tag_before_offset)
    };
    let first = start_tag.saturating_add(4);
    Ok(first..end.max(first))
}

/// Walks the sections of a snapshot, one at a time.
pub(crate) struct Sections<'a> {
    source: Source,
    dialect: Dialect,
    decoder: Decoder,
    /// The bytes of the snapshot that are left.
    rest: Range<u64>,
    left: usize,
    decoders: &'a mut Decoders,
    /// The rest of the snapshot, if it is needed to follow the sections.
    bytes: Option<Rest>,
}

/// The bytes of a snapshot from an offset on.
struct Rest {
    start: u64,
    bytes: Bytes,
}

impl<'a> Sections<'a> {
    pub(crate) fn new(
        source: &Source,
        region: Range<u64>,
        dialect: Dialect,
        decoder: Decoder,
        decoders: &'a mut Decoders,
    ) -> Self {
        Self {
            source: source.clone(),
            dialect,
            decoder,
            rest: region,
            left: caps::CGEO_SECTIONS,
            decoders,
            bytes: None,
        }
    }

    /// The next section; `Ok(None)` at the end tag.
    pub(crate) fn next(&mut self) -> Result<Option<Section>> {
        let at = self.rest.start;
        let tag_range = span(at, 4);
        let lost = |what, range: Range<u64>| FILE.malformed(what).at(range);
        if tag_range.end > self.rest.end {
            let error = lost("TAG_ANIMATION_SNAPSHOT_END", tag_range);
            return Err(error
                .expected(format!(
                    "it before {:#x}, where the snapshot ends",
                    self.rest.end
                ))
                .found("none"));
        }
        self.read_ahead(at)?;
        let tag = self
            .source
            .read_struct::<U32>(at, "tag of a section")?
            .get();
        if tag == raw::TAG_ANIMATION_SNAPSHOT_END {
            return Ok(None);
        }
        let header_end = at.saturating_add(size_u64::<raw::SectionHeader>());
        if self.left == 0 {
            let error = FILE
                .at(tag_range)
                .error(ErrorKind::LimitExceeded, "sections of a snapshot");
            return Err(error.above(as_u64(caps::CGEO_SECTIONS), "", None));
        }
        if header_end > self.rest.end {
            let error = lost("tag of a section", tag_range);
            let expected = format!("a section, or the end tag, before {:#x}", self.rest.end);
            return Err(error.expected(expected).found(format_args!("tag {tag:#x}")));
        }
        let header: raw::SectionHeader = self.source.read_struct(at, "header of a section")?;
        let section = match self.dialect.size {
            SizeMeaning::Inflated => Some(self.inflated(&header, at)?),
            size => Section::stored(&header, at, size),
        };
        match section {
            Some(section) if section.range.end <= self.rest.end => {
                self.rest.start = section.range.end;
                self.left = self.left.saturating_sub(1);
                Ok(Some(section))
            }
            _ => {
                let most = self.rest.end.saturating_sub(header_end);
                let error = lost("size of a section", at.saturating_add(4)..header_end);
                Err(error
                    .expected(format!("at most {most:#x}, what is left of the snapshot"))
                    .found(hex(header.size.get())))
            }
        }
    }

    /// Reads headers of small sections together, if there are more than a few.
    fn read_ahead(&mut self, at: u64) -> Result<()> {
        const FEW: usize = 8;
        const AHEAD: u64 = 4 << 10;
        let passed = caps::CGEO_SECTIONS.saturating_sub(self.left);
        if passed >= FEW
            && !self
                .source
                .is_cached(&span(at, size_u64::<raw::SectionHeader>()))
        {
            let ahead = at..at.saturating_add(AHEAD).min(self.rest.end);
            self.source = self.source.with_ranges(&[ahead], "section")?;
        }
        Ok(())
    }

    /// The start of the next section, or of the end tag.
    pub(crate) fn position(&self) -> u64 {
        self.rest.start
    }

    /// Returns a section whose size is the size of its inflated content: it ends at the end of the stream.
    fn inflated(&mut self, header: &raw::SectionHeader, at: u64) -> Result<Section> {
        let start = at.saturating_add(size_u64::<raw::SectionHeader>());
        let rest = match &self.bytes {
            Some(rest) => rest,
            None => {
                let bytes = self.source.get(start..self.rest.end, "section")?;
                self.bytes.insert(Rest { start, bytes })
            }
        };
        let passed = as_usize(start.saturating_sub(rest.start));
        let bytes = rest.bytes.slice(passed.min(rest.bytes.len())..);
        let size = header.size.get();
        let codec = self.dialect.codec;
        let used = stream_length(&bytes, size, codec, self.decoder, self.decoders);
        let used = used.map_err(|fault| {
            let error = Error::stream(fault, "section");
            FILE.at(start..self.rest.end).locate(error)
        })?;
        // A small table may name one snapshot thousands of times, and each time all of it is inflated to find the ends of its sections.
        job::work(size, "sections")?;
        let end = start.saturating_add(as_u64(used));
        Ok(Section {
            tag: header.tag.get(),
            range: at..end,
            content: start..end,
            size,
        })
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
    for _ in 0..caps::CGEO_SECTIONS {
        if rest
            .first_chunk()
            .is_some_and(|tag| u32::from_le_bytes(*tag) == raw::TAG_ANIMATION_SNAPSHOT_END)
        {
            return Ok(());
        }
        let Ok((header, content)) = raw::SectionHeader::read_from_prefix(rest) else {
            break;
        };
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
