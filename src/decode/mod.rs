//! The codecs applied to parts of files.

mod block;
mod content;
mod decode_all;
mod help;
mod once;
mod reference;
mod room;
mod scratch;

pub use block::Block;
pub use decode_all::decode_all;
pub use scratch::Scratch;

pub(crate) use block::lzma_into;
pub(crate) use content::{Content, Decoders};
pub(crate) use help::Help;
pub(crate) use once::{Once, lasting};
#[cfg(any(feature = "cache", feature = "rayon"))]
pub(crate) use once::{may_wait_for, wait_at_work};
