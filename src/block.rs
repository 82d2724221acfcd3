use std::ops::Range;

use crate::Address;

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
    /// Memory for one decoded block.
    pub(crate) bytes: Vec<u8>,
}
