//! Options for reading files, and the numbers that stand for enums.

mod number;

use meshmap::cgeo::{Dialect, LengthPrefix, OffsetTarget, SizeMeaning};
use meshmap::{Checksums, Codec, Decoder, Limits, Options, Parallelism, Strictness};

pub use self::number::*;

use crate::fail::{Result, guard, mm_status};
use crate::memory::{First, put};

/// Broken rules are findings (mm_options.strictness).
pub const MM_STRICTNESS_TOLERANT: u32 = 0;
/// Opening checks every value, and refuses what the specification forbids.
pub const MM_STRICTNESS_STRICT: u32 = 1;
/// Everything runs on the calling thread (mm_options.parallelism).
pub const MM_PARALLELISM_OFF: u32 = 0;
/// Large jobs are split over the threads of the process' pool, which is made when it is first needed.
pub const MM_PARALLELISM_POOL: u32 = 1;
/// The fast decoders (mm_options.decoder).
pub const MM_DECODER_FAST: u32 = 0;
/// The independent decoders that the fast ones are compared with.
pub const MM_DECODER_REFERENCE: u32 = 1;
/// A wrong or missing checksum is an error (mm_options.checksums).
pub const MM_CHECKSUMS_VERIFY: u32 = 0;
/// Checksums are not verified.
pub const MM_CHECKSUMS_IGNORE: u32 = 1;

/// Sections are not compressed (mm_cgeo_dialect.codec).
pub const MM_CODEC_STORED: u32 = 0;
/// Sections are zlib streams.
pub const MM_CODEC_ZLIB: u32 = 1;
/// Sections are gzip streams.
pub const MM_CODEC_GZIP: u32 = 2;
/// Sections are raw deflate streams.
pub const MM_CODEC_DEFLATE: u32 = 3;
/// Nothing precedes a stream (mm_cgeo_dialect.prefix).
pub const MM_PREFIX_NONE: u32 = 0;
/// Its inflated length does, in 4 bytes, little-endian.
pub const MM_PREFIX_U32_LE: u32 = 1;
/// In 4 bytes, big-endian.
pub const MM_PREFIX_U32_BE: u32 = 2;
/// In 8 bytes, little-endian.
pub const MM_PREFIX_U64_LE: u32 = 3;
/// The size of a section counts stored bytes (mm_cgeo_dialect.section_size).
pub const MM_SECTION_SIZE_STORED: u32 = 0;
/// Stored bytes and the 12 of its header.
pub const MM_SECTION_SIZE_STORED_WITH_HEADER: u32 = 1;
/// Inflated bytes.
pub const MM_SECTION_SIZE_INFLATED: u32 = 2;
/// Offsets point to the first section of a snapshot (mm_cgeo_dialect.offset).
pub const MM_OFFSET_FIRST_SECTION: u32 = 0;
/// To the tag before it.
pub const MM_OFFSET_START_TAG: u32 = 1;

/// The choices for reading a CGeo file that the published text leaves open.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct mm_cgeo_dialect {
    /// MM_CODEC_*.
    pub codec: u32,
    /// MM_PREFIX_*.
    pub prefix: u32,
    /// MM_SECTION_SIZE_*.
    pub section_size: u32,
    /// MM_OFFSET_*.
    pub offset: u32,
}

/// Options for reading a file. Filled by mm_options_init, then changed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_options {
    /// sizeof(mm_options), set by mm_options_init.
    pub size: usize,
    /// The size in bytes of the largest decoded array or block. 512 MiB. Exact only if free_ratio is 0.
    pub max_block_bytes: u64,
    /// The most bytes that one call holds of what it decodes, and that a file keeps for later calls. 1 GiB. Exact only if
    /// free_ratio is 0.
    pub max_total_bytes: u64,
    /// The decoded size that is always allowed, as a multiple of the stored size, whatever max_block_bytes and max_total_bytes are.
    /// 16. Set it to 0 to switch this off, so that these limits are exact.
    pub free_ratio: u64,
    /// The maximum nesting depth of containers, in formats that nest them. 96.
    pub max_depth: u32,
    /// MM_STRICTNESS_*. Tolerant.
    pub strictness: u32,
    /// MM_PARALLELISM_*. The pool. Renderers that call from threads of their own switch it off.
    pub parallelism: u32,
    /// MM_DECODER_*. Fast.
    pub decoder: u32,
    /// MM_CHECKSUMS_*. Verified.
    pub checksums: u32,
    /// 1 if cgeo_dialect is used, and not found in the file. 0.
    pub has_cgeo_dialect: u32,
    /// The dialect of a CGeo file.
    pub cgeo_dialect: mm_cgeo_dialect,
}

// SAFETY: `repr(C)`, begins with its size, and has only integers.
unsafe impl First for mm_options {}

/// Returns the default options.
fn defaults() -> mm_options {
    let Limits { max_block_bytes, max_total_bytes, free_ratio, max_depth, .. } = Limits::default();
    mm_options {
        size: size_of::<mm_options>(),
        max_block_bytes,
        max_total_bytes,
        free_ratio,
        max_depth,
        strictness: MM_STRICTNESS_TOLERANT,
        parallelism: MM_PARALLELISM_POOL,
        decoder: MM_DECODER_FAST,
        checksums: MM_CHECKSUMS_VERIFY,
        has_cgeo_dialect: 0,
        cgeo_dialect: dialect_numbers(Dialect::default()),
    }
}

/// Fills options with what holds unless a caller says otherwise: mm_options_init(&options, sizeof options).
///
/// Ownership: nothing is transferred. Threads: any. Errors: MM_ERROR_ARGUMENT for NULL, or a size that no version of mm_options
/// has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_options_init(out: *mut mm_options, size: usize) -> mm_status {
    guard(|| {
        // SAFETY: the caller's, as the header says.
        unsafe {
            put(out.cast::<usize>(), size)?;
            crate::memory::put_sized(out, defaults())
        }
    })
}

/// Returns the options for reading, and the dialect that is forced.
pub(crate) unsafe fn options(from: *const mm_options) -> Result<(Options, Option<Dialect>)> {
    // SAFETY: the caller's, as the header says.
    let from = unsafe { crate::memory::take_sized(from, defaults()) }?;
    let limits = Limits::default()
        .with_max_block_bytes(from.max_block_bytes)
        .with_max_total_bytes(from.max_total_bytes)
        .with_free_ratio(from.free_ratio)
        .with_max_depth(from.max_depth);
    let [tolerant, off, fast, verify] = [
        one_of("strictness", from.strictness)?,
        one_of("parallelism", from.parallelism)?,
        one_of("decoder", from.decoder)?,
        one_of("checksums", from.checksums)?,
    ];
    let options = Options::default()
        .with_limits(limits)
        .with_strictness(if tolerant { Strictness::Tolerant } else { Strictness::Strict })
        .with_parallelism(if off { Parallelism::Off } else { Parallelism::Rayon })
        .with_decoder(if fast { Decoder::Fast } else { Decoder::Reference })
        .with_checksums(if verify { Checksums::Verify } else { Checksums::Ignore });
    let dialect = if one_of("has_cgeo_dialect", from.has_cgeo_dialect)? {
        None
    } else {
        Some(dialect(from.cgeo_dialect)?)
    };
    Ok((options, dialect))
}

/// Returns `true` if a number that is 0 or 1 is 0.
fn one_of(what: &str, number: u32) -> Result<bool> {
    if number <= 1 { Ok(number == 0) } else { Err(unknown(what, number)) }
}

fn dialect(from: mm_cgeo_dialect) -> Result<Dialect> {
    let codec = match from.codec {
        MM_CODEC_STORED => Codec::Stored,
        MM_CODEC_ZLIB => Codec::Zlib,
        MM_CODEC_GZIP => Codec::Gzip,
        MM_CODEC_DEFLATE => Codec::Deflate,
        other => return Err(unknown("codec", other)),
    };
    let prefix = match from.prefix {
        MM_PREFIX_NONE => LengthPrefix::None,
        MM_PREFIX_U32_LE => LengthPrefix::U32Le,
        MM_PREFIX_U32_BE => LengthPrefix::U32Be,
        MM_PREFIX_U64_LE => LengthPrefix::U64Le,
        other => return Err(unknown("prefix", other)),
    };
    let size = match from.section_size {
        MM_SECTION_SIZE_STORED => SizeMeaning::Stored,
        MM_SECTION_SIZE_STORED_WITH_HEADER => SizeMeaning::StoredWithHeader,
        MM_SECTION_SIZE_INFLATED => SizeMeaning::Inflated,
        other => return Err(unknown("section_size", other)),
    };
    let offset = match from.offset {
        MM_OFFSET_FIRST_SECTION => OffsetTarget::FirstSection,
        MM_OFFSET_START_TAG => OffsetTarget::StartTag,
        other => return Err(unknown("offset", other)),
    };
    Ok(Dialect::default().with_codec(codec).with_prefix(prefix).with_size(size).with_offset(offset))
}

pub(crate) fn dialect_numbers(dialect: Dialect) -> mm_cgeo_dialect {
    mm_cgeo_dialect {
        codec: match dialect.codec {
            Codec::Zlib => MM_CODEC_ZLIB,
            Codec::Gzip => MM_CODEC_GZIP,
            Codec::Deflate => MM_CODEC_DEFLATE,
            _ => MM_CODEC_STORED,
        },
        prefix: match dialect.prefix {
            LengthPrefix::U32Le => MM_PREFIX_U32_LE,
            LengthPrefix::U32Be => MM_PREFIX_U32_BE,
            LengthPrefix::U64Le => MM_PREFIX_U64_LE,
            _ => MM_PREFIX_NONE,
        },
        section_size: match dialect.size {
            SizeMeaning::StoredWithHeader => MM_SECTION_SIZE_STORED_WITH_HEADER,
            SizeMeaning::Inflated => MM_SECTION_SIZE_INFLATED,
            _ => MM_SECTION_SIZE_STORED,
        },
        offset: match dialect.offset {
            OffsetTarget::StartTag => MM_OFFSET_START_TAG,
            _ => MM_OFFSET_FIRST_SECTION,
        },
    }
}
