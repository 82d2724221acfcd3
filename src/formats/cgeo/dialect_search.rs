//! Finds the dialect of a file.
//!
//! Each reading leads from section to section; the right one ends on the end tag of the snapshot.

use std::ops::Range;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, FromZeros};

use super::header::names;
use super::layout::{Layout, snapshot_address, tag};
use super::raw;
use super::rules::{self, FILE};
use super::sections::{self, Section};
use crate::bytes::{Source, Walk};
use crate::codec::{Codec, Decoder, Fault};
use crate::decode::{Content, Decoders};
use crate::dialect::{Dialect, LengthPrefix, OffsetTarget, SizeMeaning};
use crate::limits::caps;
use crate::num::{Span, size_u64, span};
use crate::report::{Address, Cause, Error, ErrorKind, Finding, Result, quoted};

/// Finds the dialect from the first snapshots: usually from the very first one, and from one of the next if the first is damaged.
pub(crate) fn find(layout: &Layout, decoder: Decoder) -> Result<Dialect> {
    const SNAPSHOTS: usize = 4;
    /// The maximum number of sections whose header is not near the header before: each may take another request to a store.
    const FAR_STEPS: u32 = 28;
    let mut first_error = None;
    let mut far = FAR_STEPS;
    for index in 0..layout.table.len().min(SNAPSHOTS) {
        match find_in(layout, index, &mut far, decoder) {
            Ok(dialect) => return Ok(dialect),
            Err(error) if error.is_of_reading() => return Err(error),
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) => Err(error),
        // A file without snapshots.
        None => Ok(Dialect::default()),
    }
}

fn find_in(layout: &Layout, index: usize, far: &mut u32, decoder: Decoder) -> Result<Dialect> {
    // In most files the first bytes, tag included, have every small section.
    const BEGINNING: u64 = 32 << 10;
    let extent = layout.extent(index)?;
    let before = extent.start.saturating_sub(4);
    let beginning = before..extent.end.min(before.saturating_add(BEGINNING));
    let source = layout.source.with_ranges(&[beginning], "snapshot")?;

    let first_tag = tag(&source, extent.start, "TAG_ANIMATION_SNAPSHOT_START")?;
    let offset = if first_tag == raw::TAG_ANIMATION_SNAPSHOT_START {
        OffsetTarget::StartTag
    } else {
        OffsetTarget::FirstSection
    };
    let region = sections::region(&source, &extent, offset)
        .map_err(|error| error.of(snapshot_address(index)))?;

    let mut decoders = Decoders::default();
    let says_stored = says_stored(layout);
    let mut best: Option<Dialect> = None;
    for size in [SizeMeaning::Stored, SizeMeaning::StoredWithHeader] {
        let Some(landed) = land(&source, &region, far, size)? else {
            continue;
        };
        // Another meaning of the sizes is better only if its sections end exactly where the snapshot does.
        if best.is_some() && !landed.is_exact {
            continue;
        }
        let compression = recognise(
            &source,
            &landed.sections,
            says_stored,
            decoder,
            &mut decoders,
        )?;
        let Some(Compression { codec, prefix }) = compression else {
            continue;
        };
        let dialect = Dialect {
            codec,
            prefix,
            size,
            offset,
        };
        if landed.is_exact {
            return Ok(dialect);
        }
        best = Some(dialect);
    }
    if let Some(dialect) = best {
        return Ok(dialect);
    }
    for codec in [Codec::Zlib, Codec::Gzip, Codec::Deflate] {
        let bytes = source.get(region.clone(), "snapshot")?;
        if sections::inflated_chain(&bytes, codec, decoder, &mut decoders).is_ok() {
            return Ok(Dialect {
                codec,
                prefix: LengthPrefix::None,
                size: SizeMeaning::Inflated,
                offset,
            });
        }
    }
    Err(unreadable(&source, &region).of(snapshot_address(index)))
}

/// Returns `true` if the header says that the file is not compressed.
fn says_stored(layout: &Layout) -> bool {
    match layout.properties.get(names::COMPRESSED) {
        Some(value) => value.as_bytes().eq_ignore_ascii_case(b"false"),
        None => false,
    }
}

/// The sections under one meaning of their sizes.
struct Landed {
    sections: Vec<Section>,
    /// `true` if they end with the bytes of the snapshot.
    is_exact: bool,
}

/// The compression of sections.
struct Compression {
    codec: Codec,
    prefix: LengthPrefix,
}

/// Follows the sections under one meaning of their sizes. Returns `None` unless they end on the end tag, or there are enough of them.
/// `far`: the number of sections that may still be followed to a header that is not near.
fn land(
    source: &Source,
    region: &Range<u64>,
    far: &mut u32,
    size: SizeMeaning,
) -> Result<Option<Landed>> {
    /// A wrong reading is lost after one or two sections.
    const ENOUGH: usize = 6;
    /// A shorter content is read with the header before.
    const NEAR: u64 = 4 << 10;
    let mut walk = source.walk();
    let mut landed = Landed {
        sections: Vec::new(),
        is_exact: false,
    };
    let mut knows_one = false;
    let mut at = region.start;
    while landed.sections.len() < caps::CGEO_SECTIONS && *far > 0 {
        if knows_one && landed.sections.len() >= ENOUGH {
            break;
        }
        match next(&mut walk, at, region, size) {
            Ok(Step::Section(section)) => {
                at = section.range.end;
                if section.content.length() > NEAR {
                    *far = far.saturating_sub(1);
                }
                knows_one |= section.is_known();
                landed.sections.push(section);
            }
            Ok(Step::End) => {
                landed.is_exact = at.saturating_add(4) == region.end;
                return Ok(Some(landed));
            }
            Ok(Step::Lost) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Truncated => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(landed))
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
    let tag: U32 = walk.read_struct(at, "snapshot")?;
    if tag.get() == raw::TAG_ANIMATION_SNAPSHOT_END {
        return Ok(Step::End);
    }
    if at.saturating_add(12) > region.end {
        return Ok(Step::Lost);
    }
    let header: raw::SectionHeader = walk.read_struct(at, "snapshot")?;
    match Section::stored(&header, at, size) {
        Some(section) if section.range.end <= region.end => Ok(Step::Section(section)),
        _ => Ok(Step::Lost),
    }
}

/// The compression, by the smallest section whose content is known.
fn recognise(
    source: &Source,
    sections: &[Section],
    says_stored: bool,
    decoder: Decoder,
    decoders: &mut Decoders,
) -> Result<Option<Compression>> {
    let mut readings = vec![
        (Codec::Zlib, LengthPrefix::None),
        (Codec::Gzip, LengthPrefix::None),
        (Codec::Zlib, LengthPrefix::U32Le),
        (Codec::Zlib, LengthPrefix::U32Be),
        (Codec::Zlib, LengthPrefix::U64Le),
        (Codec::Deflate, LengthPrefix::None),
    ];
    // A stream can be mistaken for numbers more easily than numbers for a stream, unless the header says so.
    let stored = (Codec::Stored, LengthPrefix::None);
    if says_stored {
        readings.insert(0, stored);
    } else {
        readings.push(stored);
    }
    let mut candidates = Vec::new();
    for section in sections {
        if section.is_known() {
            candidates.push(section);
        }
    }
    candidates.sort_by_key(|section| section.content.length());
    for section in candidates {
        let bytes = source.get(section.content.clone(), "section")?;
        for (codec, prefix) in &readings {
            let Some(stream) = bytes.get(prefix.size()..) else {
                continue;
            };
            let length = prefix.read(&bytes);
            if has_content(section.tag, stream, *codec, length, decoder, decoders) {
                return Ok(Some(Compression {
                    codec: *codec,
                    prefix: *prefix,
                }));
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
    let content = Content::new(decoders, stream, codec, decoder, None);
    let found = content.and_then(|content| check_content(tag, content, length));
    found.unwrap_or(false)
}

fn check_content(tag: u32, mut content: Content<'_>, length: Option<u64>) -> Result<bool, Fault> {
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
fn unreadable(source: &Source, region: &Range<u64>) -> Error {
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
    for (magic, name) in magics {
        if beginning.starts_with(magic) {
            let error = FILE.error(ErrorKind::Unsupported, "compression of the sections");
            return error
                .at(span(content, 8))
                .expected("zlib, gzip, deflate or none")
                .found(name);
        }
    }
    FILE.malformed("sections")
        .at(region.clone())
        .because(Cause::NoEndTag)
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
