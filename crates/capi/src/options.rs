//! Options for reading files.

use meshmap::{Checksums, Decoder, Limits, Options, Parallelism, Strictness};

use crate::dialect::{dialect, mm_cgeo_dialect};
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
    /// The dialect of CGeo files (meshmap_cgeo.h), which is read when the file is opened; NULL to find it in the file. NULL.
    pub cgeo_dialect: *const mm_cgeo_dialect,
}

// SAFETY: `repr(C)`, begins with its size, and has only integers and a pointer.
unsafe impl First for mm_options {}

/// Returns the default options.
fn defaults() -> mm_options {
    let Limits {
        max_block_bytes,
        max_total_bytes,
        free_ratio,
        max_depth,
        ..
    } = Limits::default();
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
        .with_remedies([
            "mm_options.max_block_bytes",
            "mm_options.max_total_bytes",
            "mm_options.max_depth",
        ]);
    let [tolerant, off, fast, verify] = [
        one_of("strictness", from.strictness)?,
        one_of("parallelism", from.parallelism)?,
        one_of("decoder", from.decoder)?,
        one_of("checksums", from.checksums)?,
    ];
    let options = Options::default()
        .with_limits(limits)
        .with_strictness(if tolerant {
            Strictness::Tolerant
        } else {
            Strictness::Strict
        })
        .with_parallelism(if off {
            Parallelism::Off
        } else {
            Parallelism::Rayon
        })
        .with_decoder(if fast {
            Decoder::Fast
        } else {
            Decoder::Reference
        })
        .with_checksums(if verify {
            Checksums::Verify
        } else {
            Checksums::Ignore
        });
    if from.reserved != 0 {
        return Err(Fail::argument(
            "expected 0 in the reserved field of mm_options",
        ));
    }
    // SAFETY: the caller's, as the header says.
    Ok(match unsafe { dialect(from.cgeo_dialect) }? {
        None => options,
        Some(dialect) => options.with_dialect(dialect),
    })
}

/// Returns `true` if a number that is 0 or 1 is 0.
fn one_of(what: &str, number: u32) -> Result<bool> {
    if number <= 1 {
        Ok(number == 0)
    } else {
        Err(unknown(what, number))
    }
}
