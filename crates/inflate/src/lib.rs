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

// `Stream::read` (`stream.rs`) reads header, members and checksum, and gives the caller's slice to `Deflate::run` (`decoder.rs`)
// in pieces. That uses the slice as its window; `History` has a copy of the 32 KiB before it. `block.rs` reads the header of a
// block and `table.rs` makes its tables. `fast::run` decodes symbols while there are 8 bytes of input and 320 of output space;
// `decoder.rs` decodes the rest bit by bit. `ahead` runs the same code over 16-bit units, of which some stand for bytes that are
// not yet known (`copy::Unit`). Tests compare it with miniz_oxide and zlib-rs on streams of `tests/generator.rs`.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     format: raw deflate, zlib or gzip
//     error: problems of a stream, inside the package and for users
//     bits: the input, bit by bit
//     history: the output before the slice that is being filled
//     code entry: canonical codes; entries of the lookup tables
//     copy matches: copying of matches; table entries of whole matches
//     table: the lookup tables of one block
//     block fast: headers of blocks; the loop that decodes most symbols
//     decoder: one raw deflate stream, which stops and continues anywhere
//     ahead: parts of one stream decoded by several threads
//     inflater raw_decoder: reused memory; the trait for other decoders of raw deflate
//     small_crc: the CRC-32 of builds with meshmap_small
//     wrap: headers and checksums of zlib and gzip
//     stream: a stream of any format, in pieces
//     whole: whole streams in one call

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
