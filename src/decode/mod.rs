//! The codecs applied to parts of files.

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
