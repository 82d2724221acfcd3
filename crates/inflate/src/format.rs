//! The formats that contain deflate streams.

use std::fmt;

/// The header and trailer around a deflate stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A deflate stream without header and checksum (RFC 1951).
    Raw,
    /// A zlib stream: a header of two bytes, and an Adler-32 checksum (RFC 1950). HTTP calls this format `deflate`.
    Zlib,
    /// A gzip file: any number of members, each with a header, a CRC-32 checksum and its length (RFC 1952).
    Gzip,
}

/// The name in messages: `deflate`, `zlib` or `gzip`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raw => "deflate",
            Self::Zlib => "zlib",
            Self::Gzip => "gzip",
        })
    }
}
