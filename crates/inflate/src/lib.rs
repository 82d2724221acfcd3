//! A fast decoder of deflate, zlib and gzip, in safe Rust.
//!
//! * [`inflate`] decodes a whole stream in one call, with a limit on the output. [`Inflater`] does so with memory that is
//!   reused from call to call.
//! * [`Stream`] decodes into the caller's slices, piece by piece; a prefix takes the time of a prefix.
//! * `Helpers` (feature `rayon`) are threads that decode later parts of one long stream.
//! * [`Error`] contains the problem, the bit of the input at which it was found, and the number of bytes decoded before.
//!
//! The input is a slice: in memory, or mapped. Streams are accepted and refused as zlib does. Nothing is allocated
//! because a stream declares it: memory grows with the output, up to the caller's limit.
//!
//! # Examples
//!
//! ```
//! use meshmap_inflate::{Format, inflate};
//!
//! // zlib.compress(b"hello, hello, hello")
//! let stream = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\x40\xa2\x00\x44\x28\x06\xd5";
//! assert_eq!(inflate(stream, Format::Zlib, 1 << 20)?, b"hello, hello, hello");
//! # Ok::<(), meshmap_inflate::Error>(())
//! ```
//!
//! # Features
//!
//! * `rayon`: `Helpers`, which run in the caller's thread pool.
//!
//! WebAssembly modules whose size matters may be built with `RUSTFLAGS="--cfg meshmap_small"`: the CRC-32 of gzip is then
//! computed with 64 bytes of tables in place of 16 KiB, and slower. It is not a feature, as features are additive.
//!
//! # Differences from miniz_oxide
//!
//! * A dynamic block without a code for its end is refused when its header is read. miniz_oxide decodes its symbols, up to
//!   the first that is damaged or to the end of the input, and refuses it then.
//! * Nothing is inspected after the output is full. miniz_oxide continues to the next byte of output, over the end of a
//!   block and the header of the next one. Here, problems there are reported if more output is requested.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::missing_errors_doc,
    clippy::incompatible_msrv
)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::panic,
        clippy::cast_possible_truncation
    )
)]

#[cfg(feature = "rayon")]
mod ahead;
mod bits;
mod block;
mod code;
mod copy;
mod decoder;
mod entry;
mod error;
mod fast;
mod format;
mod history;
mod inflater;
mod matches;
mod raw_decoder;
#[cfg(any(test, meshmap_small))]
mod small_crc;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod whole;
mod wrap;

#[cfg(feature = "rayon")]
pub use ahead::Helpers;
pub use error::{BitPosition, Error, ErrorKind};
pub use format::Format;
pub use inflater::Inflater;
pub use raw_decoder::{Decoded, RawDecoder, Status};
pub use stream::Stream;
pub use whole::inflate;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
