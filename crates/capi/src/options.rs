//! How files are read, and the numbers that stand for enums.

use std::ffi::{CStr, c_char};

use meshmap::cgeo::{Dialect, LengthPrefix, OffsetTarget, SizeMeaning, Wrap};
use meshmap::{
    Checksums, Codec, Decoder, Format, IndexFormat, Limits, Options, Parallelism, Scalar, Severity,
    Strictness,
};

use crate::fail::{Fail, Result, guard, mm_status};
use crate::memory::{First, put};

/// A format of files: MM_FORMAT_*.
pub type mm_format = u32;
/// Corona Renderer proxy.
pub const MM_FORMAT_CGEO: mm_format = 1;
/// OpenCTM.
pub const MM_FORMAT_OPENCTM: mm_format = 2;
/// Second Life mesh asset.
pub const MM_FORMAT_SLMESH: mm_format = 3;
/// Inter-Quake Model.
pub const MM_FORMAT_IQM: mm_format = 4;
/// Tight Model Format.
pub const MM_FORMAT_TMF: mm_format = 5;

/// The type of a number: MM_SCALAR_*.
pub type mm_scalar = u32;
/// uint8_t.
pub const MM_SCALAR_U8: mm_scalar = 1;
/// int8_t.
pub const MM_SCALAR_I8: mm_scalar = 2;
/// uint16_t.
pub const MM_SCALAR_U16: mm_scalar = 3;
/// int16_t.
pub const MM_SCALAR_I16: mm_scalar = 4;
/// uint32_t.
pub const MM_SCALAR_U32: mm_scalar = 5;
/// int32_t.
pub const MM_SCALAR_I32: mm_scalar = 6;
/// Half precision, IEEE 754 binary16.
pub const MM_SCALAR_F16: mm_scalar = 7;
/// float.
pub const MM_SCALAR_F32: mm_scalar = 8;
/// double.
pub const MM_SCALAR_F64: mm_scalar = 9;

/// The type of an index: MM_INDEX_*.
pub type mm_index_format = u32;
/// The narrowest one that holds every index; 65,535 does not count as one of 16 bits.
pub const MM_INDEX_NARROWEST: mm_index_format = 0;
/// uint16_t.
pub const MM_INDEX_U16: mm_index_format = 2;
/// uint32_t.
pub const MM_INDEX_U32: mm_index_format = 4;

/// What happens before the first snapshot and after the last: MM_WRAP_*.
pub type mm_wrap = u32;
/// The first and the last snapshot stay.
pub const MM_WRAP_CLAMP: mm_wrap = 0;
/// The first snapshot follows the last, one step later.
pub const MM_WRAP_LOOP: mm_wrap = 1;
/// Snapshots run back to the first, then forth again.
pub const MM_WRAP_PING_PONG: mm_wrap = 2;

/// How serious a finding is: MM_SEVERITY_*, least serious first.
pub type mm_severity = u32;
/// Legal and harmless.
pub const MM_SEVERITY_NOTE: mm_severity = 1;
/// Legal, or what ordinary writers do.
pub const MM_SEVERITY_SUSPICIOUS: mm_severity = 2;
/// Against the specification, and read all the same.
pub const MM_SEVERITY_FORBIDDEN: mm_severity = 3;
/// The data cannot be used.
pub const MM_SEVERITY_UNUSABLE: mm_severity = 4;

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

/// How a CGeo file is read where the published text says nothing.
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

/// How a file is read. Filled by mm_options_init, then changed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_options {
    /// sizeof(mm_options), set by mm_options_init.
    pub size: usize,
    /// The size in bytes of the largest decoded array or block. 512 MiB.
    pub max_block_bytes: u64,
    /// The most bytes that one call holds of what it decodes, and that a file keeps for later calls. 1 GiB.
    pub max_total_bytes: u64,
    /// How many times its stored bytes a block may decode to, whatever the other limits say. 16; 0 switches this off.
    pub free_ratio: u64,
    /// How deep containers may be nested, in formats that nest them. 96.
    pub max_depth: u32,
    /// MM_STRICTNESS_*. Tolerant.
    pub strictness: u32,
    /// MM_PARALLELISM_*. The pool. Renderers that call from threads of their own switch it off.
    pub parallelism: u32,
    /// MM_DECODER_*. Fast.
    pub decoder: u32,
    /// MM_CHECKSUMS_*. Verified.
    pub checksums: u32,
    /// 1 where cgeo_dialect is used, and not found in the file. 0.
    pub has_cgeo_dialect: u32,
    /// The dialect of a CGeo file.
    pub cgeo_dialect: mm_cgeo_dialect,
}

// SAFETY: `repr(C)`, begins with its size, and has integers alone.
unsafe impl First for mm_options {}

/// What options are where a caller says nothing.
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
/// Ownership: nothing is handed over. Threads: any. Errors: MM_ERROR_ARGUMENT for NULL, or a size that is that of no version
/// of mm_options.
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

/// What to read with, and the dialect that is forced.
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

/// Whether a number that is 0 or 1 is 0.
fn one_of(what: &str, number: u32) -> Result<bool> {
    if number <= 1 { Ok(number == 0) } else { Err(unknown(what, number)) }
}

pub(crate) fn unknown(what: &str, number: u32) -> Fail {
    Fail::argument(format!("expected one of the values of {what}, found {number}"))
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

pub(crate) fn format_number(format: Format) -> mm_format {
    match format {
        Format::CGeo => MM_FORMAT_CGEO,
        Format::OpenCtm => MM_FORMAT_OPENCTM,
        Format::SlMesh => MM_FORMAT_SLMESH,
        Format::Iqm => MM_FORMAT_IQM,
        Format::Tmf => MM_FORMAT_TMF,
        _ => 0,
    }
}

/// The name of a format: "cgeo", "openctm", "slmesh", "iqm" or "tmf".
///
/// Ownership: the text is static. Threads: any. Errors: "unknown" for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn mm_format_name(format: mm_format) -> *const c_char {
    let name: &CStr = match format {
        MM_FORMAT_CGEO => c"cgeo",
        MM_FORMAT_OPENCTM => c"openctm",
        MM_FORMAT_SLMESH => c"slmesh",
        MM_FORMAT_IQM => c"iqm",
        MM_FORMAT_TMF => c"tmf",
        _ => c"unknown",
    };
    name.as_ptr()
}

pub(crate) fn scalar_number(scalar: Scalar) -> mm_scalar {
    match scalar {
        Scalar::U8 => MM_SCALAR_U8,
        Scalar::I8 => MM_SCALAR_I8,
        Scalar::U16 => MM_SCALAR_U16,
        Scalar::I16 => MM_SCALAR_I16,
        Scalar::U32 => MM_SCALAR_U32,
        Scalar::I32 => MM_SCALAR_I32,
        Scalar::F16 => MM_SCALAR_F16,
        Scalar::F32 => MM_SCALAR_F32,
        Scalar::F64 => MM_SCALAR_F64,
        _ => 0,
    }
}

pub(crate) fn scalar(number: mm_scalar) -> Result<Scalar> {
    Ok(match number {
        MM_SCALAR_U8 => Scalar::U8,
        MM_SCALAR_I8 => Scalar::I8,
        MM_SCALAR_U16 => Scalar::U16,
        MM_SCALAR_I16 => Scalar::I16,
        MM_SCALAR_U32 => Scalar::U32,
        MM_SCALAR_I32 => Scalar::I32,
        MM_SCALAR_F16 => Scalar::F16,
        MM_SCALAR_F32 => Scalar::F32,
        MM_SCALAR_F64 => Scalar::F64,
        other => return Err(unknown("mm_scalar", other)),
    })
}

pub(crate) fn index_number(format: IndexFormat) -> mm_index_format {
    if format == IndexFormat::Uint16 { MM_INDEX_U16 } else { MM_INDEX_U32 }
}

pub(crate) fn wrap(number: mm_wrap) -> Result<Wrap> {
    Ok(match number {
        MM_WRAP_CLAMP => Wrap::Clamp,
        MM_WRAP_LOOP => Wrap::Loop,
        MM_WRAP_PING_PONG => Wrap::PingPong,
        other => return Err(unknown("mm_wrap", other)),
    })
}

pub(crate) fn severity_number(severity: Severity) -> mm_severity {
    match severity {
        Severity::Note => MM_SEVERITY_NOTE,
        Severity::Suspicious => MM_SEVERITY_SUSPICIOUS,
        Severity::Forbidden => MM_SEVERITY_FORBIDDEN,
        _ => MM_SEVERITY_UNUSABLE,
    }
}
