//! The dialect of a CGeo file: what the published text leaves open.
//!
//! It names no compression, does not say what the size of a section counts, and contradicts itself about where the
//! offsets point.

use std::fmt;

use crate::codec::Codec;

/// The choices for reading a file that the published text leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[non_exhaustive]
pub struct Dialect {
    /// The compression of sections.
    pub codec: Codec,
    /// The prefix of each stream.
    pub prefix: LengthPrefix,
    /// The bytes that the size of a section counts.
    pub size: SizeMeaning,
    /// The target of the offsets in the table.
    pub offset: OffsetTarget,
}

/// The bytes that the size of a section counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum SizeMeaning {
    /// The bytes after tag and size.
    Stored,
    /// Those and the 12 bytes of tag and size.
    StoredWithHeader,
    /// The bytes of the inflated content: each stream must be inflated to find the next section.
    Inflated,
}

/// The target of an offset in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum OffsetTarget {
    /// The first section, after the start tag.
    FirstSection,
    /// The start tag.
    StartTag,
}

/// The inflated length before a stream, as some compression libraries write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum LengthPrefix {
    /// None.
    None,
    /// 4 bytes, little-endian.
    U32Le,
    /// 4 bytes, big-endian.
    U32Be,
    /// 8 bytes, little-endian.
    U64Le,
}

impl LengthPrefix {
    /// The length in bytes of the prefix itself.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::None => 0,
            Self::U32Le | Self::U32Be => 4,
            Self::U64Le => 8,
        }
    }

    /// The length that a prefix stores.
    pub(crate) fn read(self, bytes: &[u8]) -> Option<u64> {
        match self {
            Self::None => None,
            Self::U32Le => bytes
                .first_chunk()
                .map(|bytes| u32::from_le_bytes(*bytes).into()),
            Self::U32Be => bytes
                .first_chunk()
                .map(|bytes| u32::from_be_bytes(*bytes).into()),
            Self::U64Le => bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)),
        }
    }
}

impl Default for Dialect {
    /// The most likely reading: zlib streams, sizes as stored, offsets to the first section.
    fn default() -> Self {
        Self {
            codec: Codec::Zlib,
            prefix: LengthPrefix::None,
            size: SizeMeaning::Stored,
            offset: OffsetTarget::FirstSection,
        }
    }
}

impl Dialect {
    /// Sets [`codec`](Self::codec).
    #[must_use]
    pub fn with_codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Sets [`prefix`](Self::prefix).
    #[must_use]
    pub fn with_prefix(mut self, prefix: LengthPrefix) -> Self {
        self.prefix = prefix;
        self
    }

    /// Sets [`size`](Self::size).
    #[must_use]
    pub fn with_size(mut self, size: SizeMeaning) -> Self {
        self.size = size;
        self
    }

    /// Sets [`offset`](Self::offset).
    #[must_use]
    pub fn with_offset(mut self, offset: OffsetTarget) -> Self {
        self.offset = offset;
        self
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codec = match self.codec {
            Codec::Stored => "not compressed",
            Codec::Zlib => "zlib",
            Codec::Gzip => "gzip",
            Codec::Deflate => "raw deflate",
            Codec::Lzma { .. } => "LZMA",
        };
        let prefix = match self.prefix {
            LengthPrefix::None => "",
            LengthPrefix::U32Le => " after 4 bytes of length",
            LengthPrefix::U32Be => " after 4 big-endian bytes of length",
            LengthPrefix::U64Le => " after 8 bytes of length",
        };
        let size = match self.size {
            SizeMeaning::Stored => "stored bytes",
            SizeMeaning::StoredWithHeader => "stored bytes + 12",
            SizeMeaning::Inflated => "inflated bytes",
        };
        let offset = match self.offset {
            OffsetTarget::FirstSection => "first section",
            OffsetTarget::StartTag => "start tag",
        };
        write!(f, "{codec}{prefix}, size = {size}, offset = {offset}")
    }
}
