//! Options for reading files.

use meshmap::cgeo::{Dialect, LengthPrefix, OffsetTarget, SizeMeaning};
use meshmap::{Checksums, Codec, Decoder, Limits, Options, Parallelism, Strictness};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::format::unknown;
use crate::memory::{First, put, put_sized, take_sized};

/// The treatment of files that break rules of their format.
pub type mm_strictness = u32;
/// Broken rules are findings.
pub const MM_STRICTNESS_TOLERANT: mm_strictness = 0;
/// Opening checks every value, and refuses what the specification forbids.
pub const MM_STRICTNESS_STRICT: mm_strictness = 1;
/// The use of several threads for large jobs.
pub type mm_parallelism = u32;
/// Everything runs on the calling thread.
pub const MM_PARALLELISM_OFF: mm_parallelism = 0;
/// Large jobs are split over the threads of the process' pool, which is made when it is first needed.
pub const MM_PARALLELISM_POOL: mm_parallelism = 1;
/// The decoder that is used for each codec.
pub type mm_decoder = u32;
/// The fast decoders.
pub const MM_DECODER_FAST: mm_decoder = 0;
/// The independent decoders that the fast ones are compared with.
pub const MM_DECODER_REFERENCE: mm_decoder = 1;
/// The verification of zlib and gzip checksums.
pub type mm_checksums = u32;
/// A wrong or missing checksum is an error.
pub const MM_CHECKSUMS_VERIFY: mm_checksums = 0;
/// Checksums are not verified.
pub const MM_CHECKSUMS_IGNORE: mm_checksums = 1;

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
    /// The treatment of files that break rules of their format. Tolerant.
    pub strictness: mm_strictness,
    /// The use of several threads. The pool. Renderers that call from threads of their own switch it off.
    pub parallelism: mm_parallelism,
    /// The decoder. Fast.
    pub decoder: mm_decoder,
    /// The verification of checksums. Verified.
    pub checksums: mm_checksums,
    /// 0.
    pub reserved: u32,
    /// The dialect of CGeo files, which is read when the file is opened; NULL to find it in the file. NULL.
    pub cgeo_dialect: *const mm_cgeo_dialect,
}

// SAFETY: `repr(C)`, begins with its size, and has only integers and a pointer.
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
        reserved: 0,
        cgeo_dialect: std::ptr::null(),
    }
}

/// Fills options with what holds unless a caller says otherwise: mm_options_init(&options, sizeof options).
/// MM_ERROR_ARGUMENT for NULL, or a size that no version of mm_options has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_options_init(out: *mut mm_options, size: usize) -> mm_status {
    guard(|| {
        // SAFETY: the caller's, as the header says.
        unsafe {
            put(out.cast::<usize>(), size)?;
            put_sized(out, defaults())
        }
    })
}

/// Returns the options for reading.
pub(crate) unsafe fn options(from: *const mm_options) -> Result<Options> {
    // SAFETY: the caller's, as the header says.
    let from = unsafe { take_sized(from, defaults()) }?;
    let limits = Limits::default()
        .with_max_block_bytes(from.max_block_bytes)
        .with_max_total_bytes(from.max_total_bytes)
        .with_free_ratio(from.free_ratio)
        .with_max_depth(from.max_depth)
        .with_remedies(["mm_options.max_block_bytes", "mm_options.max_total_bytes", "mm_options.max_depth"]);
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
    if from.reserved != 0 {
        return Err(Fail::argument("expected 0 in the reserved field of mm_options"));
    }
    let dialect = from.cgeo_dialect;
    // SAFETY: the caller's, as the header says.
    let dialect =
        unsafe { (!dialect.is_null()).then(|| take_sized(dialect, dialect_numbers(Dialect::default()))) };
    Ok(match dialect {
        None => options,
        Some(dialect) => options.with_dialect(self::dialect(dialect?)?),
    })
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
        size: size_of::<mm_cgeo_dialect>(),
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
