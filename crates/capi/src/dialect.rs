//! The dialects of CGeo files, for `include/meshmap_cgeo.h`.

use meshmap::Codec;
use meshmap::cgeo::{Dialect, LengthPrefix, OffsetTarget, SizeMeaning};

use crate::fail::Result;
use crate::format::{number, value};
use crate::memory::{First, take_sized};

/// The compression of the sections of a CGeo file.
pub type mm_codec = u32;
/// Sections are not compressed.
pub const MM_CODEC_STORED: mm_codec = 0;
/// Sections are zlib streams.
pub const MM_CODEC_ZLIB: mm_codec = 1;
/// Sections are gzip streams.
pub const MM_CODEC_GZIP: mm_codec = 2;
/// Sections are raw deflate streams.
pub const MM_CODEC_DEFLATE: mm_codec = 3;
/// The bytes before a compressed section of a CGeo file.
pub type mm_prefix = u32;
/// Nothing.
pub const MM_PREFIX_NONE: mm_prefix = 0;
/// The inflated length, in 4 bytes, little-endian.
pub const MM_PREFIX_U32_LE: mm_prefix = 1;
/// The inflated length, in 4 bytes, big-endian.
pub const MM_PREFIX_U32_BE: mm_prefix = 2;
/// The inflated length, in 8 bytes, little-endian.
pub const MM_PREFIX_U64_LE: mm_prefix = 3;
/// The meaning of the size of a section of a CGeo file.
pub type mm_section_size = u32;
/// Stored bytes.
pub const MM_SECTION_SIZE_STORED: mm_section_size = 0;
/// Stored bytes and the 12 bytes of the section's header.
pub const MM_SECTION_SIZE_STORED_WITH_HEADER: mm_section_size = 1;
/// Inflated bytes.
pub const MM_SECTION_SIZE_INFLATED: mm_section_size = 2;
/// The target of the offsets of a CGeo file.
pub type mm_offset = u32;
/// The first section of a snapshot.
pub const MM_OFFSET_FIRST_SECTION: mm_offset = 0;
/// The tag before the first section.
pub const MM_OFFSET_START_TAG: mm_offset = 1;

/// The choices for reading a CGeo file that the published text leaves open.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct mm_cgeo_dialect {
    /// sizeof(mm_cgeo_dialect), set by the caller.
    pub size: usize,
    /// The compression of sections.
    pub codec: mm_codec,
    /// The bytes before a compressed section.
    pub prefix: mm_prefix,
    /// The meaning of the size of a section.
    pub section_size: mm_section_size,
    /// The target of offsets.
    pub offset: mm_offset,
}

// SAFETY: `repr(C)`, begins with its size, and has only integers.
unsafe impl First for mm_cgeo_dialect {}

const CODECS: [(mm_codec, Codec); 4] = [
    (MM_CODEC_STORED, Codec::Stored),
    (MM_CODEC_ZLIB, Codec::Zlib),
    (MM_CODEC_GZIP, Codec::Gzip),
    (MM_CODEC_DEFLATE, Codec::Deflate),
];
const PREFIXES: [(mm_prefix, LengthPrefix); 4] = [
    (MM_PREFIX_NONE, LengthPrefix::None),
    (MM_PREFIX_U32_LE, LengthPrefix::U32Le),
    (MM_PREFIX_U32_BE, LengthPrefix::U32Be),
    (MM_PREFIX_U64_LE, LengthPrefix::U64Le),
];
const SIZES: [(mm_section_size, SizeMeaning); 3] = [
    (MM_SECTION_SIZE_STORED, SizeMeaning::Stored),
    (
        MM_SECTION_SIZE_STORED_WITH_HEADER,
        SizeMeaning::StoredWithHeader,
    ),
    (MM_SECTION_SIZE_INFLATED, SizeMeaning::Inflated),
];
const OFFSETS: [(mm_offset, OffsetTarget); 2] = [
    (MM_OFFSET_FIRST_SECTION, OffsetTarget::FirstSection),
    (MM_OFFSET_START_TAG, OffsetTarget::StartTag),
];

/// The dialect that a caller describes; `None` for NULL.
///
/// # Safety
///
/// `from` is NULL, or may be read for as many bytes as its first field says.
pub(crate) unsafe fn dialect(from: *const mm_cgeo_dialect) -> Result<Option<Dialect>> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller promised.
    let from = unsafe { take_sized(from, dialect_numbers(Dialect::default())) }?;
    let dialect = Dialect::default()
        .with_codec(value("codec", &CODECS, from.codec)?)
        .with_prefix(value("prefix", &PREFIXES, from.prefix)?)
        .with_size(value("section_size", &SIZES, from.section_size)?)
        .with_offset(value("offset", &OFFSETS, from.offset)?);
    Ok(Some(dialect))
}

pub(crate) fn dialect_numbers(dialect: Dialect) -> mm_cgeo_dialect {
    mm_cgeo_dialect {
        size: size_of::<mm_cgeo_dialect>(),
        codec: number(&CODECS, dialect.codec),
        prefix: number(&PREFIXES, dialect.prefix),
        section_size: number(&SIZES, dialect.size),
        offset: number(&OFFSETS, dialect.offset),
    }
}
