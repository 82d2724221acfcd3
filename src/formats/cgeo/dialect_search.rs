//! Finds the dialect of a file.
//!
//! Each reading leads from section to section; the right one ends on the end tag of the snapshot.

use std::ops::Range;

use zerocopy::{FromBytes, FromZeros};

use super::header::names;
use super::layout::{Layout, snapshot_address, tag};
use super::raw;
use super::rules::{self, FILE};
use super::sections::{self, Section};
use crate::bytes::Walk;
use crate::codec::{Codec, Decoder, Fault};
use crate::decode::{Content, Decoders};
use crate::dialect::{Dialect, LengthPrefix, OffsetTarget, SizeMeaning};
use crate::limits::caps;
use crate::num::{Span, size_u64, span};
use crate::report::{Address, Cause, Error, ErrorKind, Finding, Result, quoted};

/// Finds the dialect from the first snapshots: usually from the very first one, and from one of the next if the first is damaged.
pub(crate) fn find(layout: &Layout, decoder: Decoder) -> Result<Dialect> {
    const SNAPSHOTS: usize = 4;
    /// The most sections that are followed far: each may be another request to a store.
    const FAR_STEPS: u32 = 28;
    let (mut first_error, mut far) = (None, FAR_STEPS);
    for index in 0..layout.table.len().min(SNAPSHOTS) {
        match find_in(layout, index, &mut far, decoder) {
            Ok(dialect) => return Ok(dialect),
            Err(error) if error.is_of_reading() => return Err(error),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.map_or_else(|| Ok(Dialect::default()), Err)
}

fn find_in(layout: &Layout, index: usize, far: &mut u32, decoder: Decoder) -> Result<Dialect> {
    let extent = layout.extent(index)?;
    let source = &layout.source;
    // In most files the first bytes, tag included, have every small section.
    const BEGINNING: u64 = 32 << 10;
    let before = extent.start.saturating_sub(4);
    let source = source.with_ranges(
        &[before..extent.end.min(before.saturating_add(BEGINNING))],
        "snapshot",
    )?;

    let offset = if tag(&source, extent.start, "TAG_ANIMATION_SNAPSHOT_START")?
        == raw::TAG_ANIMATION_SNAPSHOT_START
    {
        OffsetTarget::StartTag
    } else {
        OffsetTarget::FirstSection
    };
    let region = sections::region(&source, &extent, offset)
        .map_err(|error| error.of(snapshot_address(index)))?;

    let mut decoders = Decoders::default();
    let is_stored = layout
        .properties
        .get(names::COMPRESSED)
        .is_some_and(|value| {
            value
                .to_str()
                .is_some_and(|value| value.eq_ignore_ascii_case("false"))
        });
    let mut best: Option<(bool, Dialect)> = None;
    for size in [SizeMeaning::Stored, SizeMeaning::StoredWithHeader] {
        let Some((exact, found)) = land(&source, &region, far, size)? else {
            continue;
        };
        if best.is_some_and(|(before, _)| before || !exact) {
            continue;
        }
        if let Some((codec, prefix)) =
            recognise(&source, &found, is_stored, decoder, &mut decoders)?
        {
            best = Some((
                exact,
                Dialect {
                    codec,
                    prefix,
                    size,
                    offset,
                },
            ));
        }
    }
    if let Some((_, dialect)) = best {
        return Ok(dialect);
    }
    for codec in [Codec::Zlib, Codec::Gzip, Codec::Deflate] {
        let dialect = Dialect {
            codec,
            prefix: LengthPrefix::None,
            size: SizeMeaning::Inflated,
            offset,
        };
        let bytes = source.get(region.clone(), "snapshot")?;
        if sections::inflated_chain(&bytes, codec, decoder, &mut decoders).is_ok() {
            return Ok(dialect);
        }
    }
    Err(unreadable(&source, &region).of(snapshot_address(index)))
}

/// Follows the sections under one meaning of their sizes. Returns `None` unless they end on the end tag, or there are enough of them;
/// otherwise the sections, and `true` if they end with the bytes of the snapshot. `far`: the sections that may still be followed far.
fn land(
    source: &crate::bytes::Source,
    region: &Range<u64>,
    far: &mut u32,
    size: SizeMeaning,
) -> Result<Option<(bool, Vec<Section>)>> {
    /// A wrong reading is lost after one or two sections.
    const ENOUGH: usize = 6;
    /// Less than this is read with the header before.
    const NEAR: u64 = 4 << 10;
    let mut walk = source.walk();
    let (mut found, mut knows_one) = (Vec::new(), false);
    let mut at = region.start;
    while found.len() < caps::CGEO_SECTIONS && !(knows_one && found.len() >= ENOUGH) && *far > 0 {
        match next(&mut walk, at, region, size) {
            Ok(Step::Section(section)) => {
                at = section.range.end;
                *far = far.saturating_sub(u32::from(section.content.length() > NEAR));
                knows_one |= section.is_known();
                found.push(section);
            }
            Ok(Step::End) => return Ok(Some((at.saturating_add(4) == region.end, found))),
            Ok(Step::Lost) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Truncated => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some((false, found)))
}

enum Step {
    Section(Section),
    End,
    Lost,
}

fn next(walk: &mut Walk, at: u64, region: &Range<u64>, size: SizeMeaning) -> Result<Step> {
    if at.saturating_add(4) > region.end {
        return Ok(Step::Lost);
    }
    let tag: zerocopy::little_endian::U32 = walk.read_struct(at, "snapshot")?;
    if tag.get() == raw::TAG_ANIMATION_SNAPSHOT_END {
        return Ok(Step::End);
    }
    if at.saturating_add(12) > region.end {
        return Ok(Step::Lost);
    }
    let header: raw::SectionHeader = walk.read_struct(at, "snapshot")?;
    let section =
        Section::stored(&header, at, size).filter(|section| section.range.end <= region.end);
    Ok(section.map_or(Step::Lost, Step::Section))
}

/// The compression, by the smallest section whose content is known.
fn recognise(
    source: &crate::bytes::Source,
    sections: &[Section],
    is_stored: bool,
    decoder: Decoder,
    decoders: &mut Decoders,
) -> Result<Option<(Codec, LengthPrefix)>> {
    let known = |section: &&Section| section.is_known();
    let mut candidates: Vec<&Section> = sections.iter().filter(known).collect();
    candidates.sort_by_key(|section| section.content.length());
    for section in candidates {
        let bytes = source.get(section.content.clone(), "section")?;
        let stored = (Codec::Stored, LengthPrefix::None);
        let mut readings = vec![
            (Codec::Zlib, LengthPrefix::None),
            (Codec::Gzip, LengthPrefix::None),
            (Codec::Zlib, LengthPrefix::U32Le),
            (Codec::Zlib, LengthPrefix::U32Be),
            (Codec::Zlib, LengthPrefix::U64Le),
            (Codec::Deflate, LengthPrefix::None),
        ];
        // A stream can be mistaken for numbers more easily than numbers for a stream, unless the header says so.
        readings.insert(if is_stored { 0 } else { readings.len() }, stored);
        for (codec, prefix) in readings {
            let Some(stream) = bytes.get(prefix.size()..) else {
                continue;
            };
            let length = prefix.read(&bytes);
            if has_content(section.tag, stream, codec, length, decoder, decoders) {
                return Ok(Some((codec, prefix)));
            }
        }
    }
    Ok(None)
}

/// Returns `true` if a stream inflates to the content that its section must hold.
fn has_content(
    tag: u32,
    stream: &[u8],
    codec: Codec,
    length: Option<u64>,
    decoder: Decoder,
    decoders: &mut Decoders,
) -> bool {
    let mut content = || -> Result<bool, Fault> {
        let mut content = Content::new(decoders, stream, codec, decoder, None)?;
        let mut buffer = [0; 4096];
        match tag {
            raw::TAG_BOUNDING_BOX => content.skip(24, &mut buffer)?,
            raw::TAG_POINTCLOUD => {
                let mut count = [0; 8];
                content.read_exact(&mut count)?;
                content.skip(u64::from_le_bytes(count).saturating_mul(12), &mut buffer)?;
            }
            _ => return begins_like_a_mesh(&mut content, &mut buffer),
        }
        content.finish()?;
        Ok(length.is_none_or(|length| length == content.produced()))
    };
    content().unwrap_or(false)
}

/// Returns `true` if a complete mesh has its first tag in place; for a difference, which has no counts, only the kind is known.
fn begins_like_a_mesh(content: &mut Content<'_>, buffer: &mut [u8]) -> Result<bool, Fault> {
    let mut kind = [0];
    content.read_exact(&mut kind)?;
    if kind != [sections::COMPLETE] {
        return Ok(kind == [sections::DIFFERENCE]);
    }
    let mut counts = [0; size_of::<raw::MeshCounts>()];
    content.read_exact(&mut counts)?;
    let counts =
        raw::MeshCounts::read_from_bytes(&counts).unwrap_or_else(|_| raw::MeshCounts::new_zeroed());
    content.skip(u64::from(counts.vertices.get()).saturating_mul(12), buffer)?;
    let mut tag = [0; 4];
    content.read_exact(&mut tag)?;
    Ok(u32::from_le_bytes(tag) == raw::TAG_MESH_VERTICES_END)
}

/// The error of a snapshot that no reading leads through, naming compressions that are known but not read.
fn unreadable(source: &crate::bytes::Source, region: &Range<u64>) -> Error {
    let magics: [(&[u8], &str); 5] = [
        (&[0x04, 0x22, 0x4d, 0x18], "an LZ4 frame"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "a Zstandard frame"),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], "an xz stream"),
        (b"BZh", "a bzip2 stream"),
        (b"7z\xbc\xaf", "a 7-Zip archive"),
    ];
    let content = region
        .start
        .saturating_add(size_u64::<raw::SectionHeader>());
    let beginning = source.get(span(content, 8), "section").unwrap_or_default();
    let other = magics
        .iter()
        .find(|(magic, _)| beginning.starts_with(magic));
    match other {
        Some((_, name)) => {
            let error = FILE.error(ErrorKind::Unsupported, "compression of the sections");
            error
                .at(span(content, 8))
                .expected("zlib, gzip, deflate or none")
                .found(name)
        }
        None => FILE
            .malformed("sections")
            .at(region.clone())
            .because(Cause::NoEndTag),
    }
}

/// The finding that the property "Compressed" contradicts what the sections are.
pub(crate) fn contradiction(layout: &Layout, dialect: Dialect) -> Option<Finding> {
    let value = layout.properties.get(names::COMPRESSED)?;
    let said = match value.as_bytes() {
        value if value.eq_ignore_ascii_case(b"true") => Some(true),
        value if value.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    };
    let is_compressed = dialect.codec != Codec::Stored;
    if said == Some(is_compressed) || layout.table.is_empty() {
        return None;
    }
    let detail = format!(
        "{}, and the sections are {dialect}",
        quoted(&value.to_string_lossy())
    );
    Some(Finding::new(
        rules::COMPRESSED,
        FILE.of(Address::field("header")).at(layout.header.clone()),
        detail,
    ))
}
