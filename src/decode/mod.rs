//! The codecs applied to parts of files.
//!
//! * `block` has [`Block`], a compressed part of a file that is located and not decoded; `decode_all` decodes several of them in parallel.
//! * `content` has [`Content`], stored or deflated data that is read piece by piece.
//! * `reservation` is memory that grows with a stream, `scratch` memory that is reused, `help` the memory of threads that help with one
//!   stream.
//! * `slot` has values that are made once for all threads.
//!
//! The library makes no thread pool. Bytes for the value of a [`Slot`] are read before the slot is locked, and code that makes a value
//! waits for nothing, so that a thread that waits is never one that is waited for. The only thread that waits for a job that reads is one
//! that plays (`formats/cgeo/play`). Results never depend on the number of threads.

mod block;
mod content;
mod decode_all;
mod help;
mod reference;
mod reservation;
mod scratch;
mod slot;

pub use block::Block;
pub use decode_all::decode_all;
pub use scratch::Scratch;

pub(crate) use block::lzma_into;
pub(crate) use content::{Content, Decoders};
pub(crate) use help::Help;
pub(crate) use scratch::Context;
pub(crate) use slot::{Slot, lasting};
