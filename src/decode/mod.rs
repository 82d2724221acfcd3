//! The codecs applied to parts of files.

mod block;
mod fault;
mod once;
mod scratch;

pub use block::{Block, decode_all};
pub use scratch::Scratch;

pub(crate) use block::lzma_into;
pub(crate) use fault::fault_error;
pub(crate) use once::Once;
#[cfg(feature = "cache")]
pub(crate) use once::may_wait_for;
