use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::Address;
use crate::codec::inflate::Inflater;

/// A compressed part of a file: located, not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// What it is, in the words of the format's specification.
    pub what: &'static str,
    /// The part of the file.
    pub address: Address,
    /// Its bytes, from the beginning of the source.
    pub range: Range<u64>,
    /// How it is compressed.
    pub codec: Codec,
    /// Its size when decoded, in bytes, where the file says so.
    pub decoded_len: Option<u64>,
}

/// How a block is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Not compressed.
    Stored,
    /// A zlib stream (RFC 1950).
    Zlib,
    /// A gzip stream (RFC 1952).
    Gzip,
    /// A deflate stream (RFC 1951) without header and checksum.
    Deflate,
    /// Five bytes of LZMA properties and a raw LZMA1 stream of known decoded length.
    Lzma,
}

/// What decoders work with, kept so that the next decode allocates nothing.
///
/// Every `*_into` method takes one. One thread uses a scratch at a time; a thread pool keeps one for each thread.
#[derive(Default)]
pub struct Scratch {
    pub(crate) inflater: Inflater,
    /// Memory for what is decoded on the way and not kept.
    pub(crate) bytes: Vec<u8>,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
}

impl Scratch {
    /// Makes decodes with this scratch stop, with [`Cancelled`](crate::ErrorKind::Cancelled), soon after the flag is
    /// set: it is looked at each time 64 KiB have been inflated. `None` takes the flag away.
    pub fn set_cancel(&mut self, cancel: Option<Arc<AtomicBool>>) {
        self.cancel = cancel;
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}
