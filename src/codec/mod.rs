//! The codecs: bytes in, bytes out, without knowledge of files and formats. Deflate is the package `meshmap-inflate`.
//!
//! A codec reads a slice and writes a slice. Its [`Fault`] becomes the cause of an error in `decode`. LZMA and deflate each have a second,
//! independent decoder (`lzma/reference`, `decode/reference`), which tests and `verify --cross-check` compare with the first one.

use std::fmt;

#[doc(inline)]
pub use meshmap_inflate::ErrorKind as FaultKind;

use crate::num::decimal;

pub(crate) mod bits;
pub(crate) mod dequant;
pub(crate) mod lzma;
pub(crate) mod planes;
#[cfg(target_arch = "x86_64")]
mod wide;

/// The compression of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum Codec {
    /// Not compressed.
    Stored,
    /// A zlib stream (RFC 1950).
    Zlib,
    /// A gzip stream (RFC 1952).
    Gzip,
    /// A deflate stream (RFC 1951), without a header or checksum.
    Deflate,
    /// An LZMA stream without a header, whose decoded length is known.
    Lzma {
        /// lc, lp and pb in one byte, then the dictionary size: the first five bytes of an `.lzma` file.
        properties: [u8; 5],
    },
}

/// The choice between the two decoders of each codec. Both return the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[non_exhaustive]
pub enum Decoder {
    /// The faster one: deflate and LZMA by this library.
    #[default]
    Fast,
    /// The reference decoder, for cross-checks: deflate by miniz_oxide, LZMA by lzma-rs.
    Reference,
}

/// The reason why a compressed stream cannot be decoded, and how far decoding came.
///
/// Displayed as `the zlib stream is cut off after 6,621 decoded bytes`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The reason.
    pub kind: FaultKind,
    /// The kind of stream: `uncompressed`, `zlib`, `gzip`, `deflate` or `LZMA`.
    pub stream: &'static str,
    /// The number of bytes that were decoded before.
    pub decoded: u64,
    /// The decoded length of the whole stream, if it is known.
    pub length: Option<u64>,
    /// The position in the stream, if it is known: a byte, and a bit of it, from the lowest.
    pub bit: Option<(u64, u32)>,
}

impl Fault {
    /// The fault of a stream whose decoded length is known.
    pub(crate) fn with_length(self, length: Option<u64>) -> Self {
        Self { length, ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stream = self.stream;
        let decoded = decimal(self.decoded);
        let after = match self.length {
            Some(length) => format!("after {decoded} of {} decoded bytes", decimal(length)),
            None => format!("after {decoded} decoded bytes"),
        };
        match &self.kind {
            FaultKind::Truncated => write!(f, "the {stream} stream is cut off {after}"),
            FaultKind::TooShort => write!(f, "the {stream} stream ends too early, {after}"),
            FaultKind::TooLong => write!(
                f,
                "the {stream} stream goes on {after}, where it should end"
            ),
            FaultKind::Corrupt(problem) => {
                write!(f, "damaged {stream} stream: {problem}")?;
                if let Some((byte, bit)) = self.bit {
                    write!(f, ", in bit {bit} of its byte {}", decimal(byte))?;
                }
                write!(f, ", {after}")
            }
            FaultKind::Checksum { stored, computed } => {
                let name = if stream == "zlib" { "Adler-32" } else { "CRC" };
                write!(
                    f,
                    "corrupt: {name} {stored:#010x} stored, {computed:#010x} computed"
                )
            }
            _ => write!(f, "the {stream} stream is not decoded further, {after}"),
        }
    }
}

impl Codec {
    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stored => "uncompressed",
            Self::Zlib => "zlib",
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Lzma { .. } => "LZMA",
        }
    }

    /// The fault of a stream before any byte has been decoded.
    pub(crate) fn fault(self, kind: FaultKind) -> Fault {
        Fault {
            kind,
            stream: self.name(),
            decoded: 0,
            length: None,
            bit: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_name_the_kind_of_stream() {
        let lzma = Codec::Lzma { properties: [0; 5] };
        let names = [
            Codec::Stored,
            Codec::Zlib,
            Codec::Gzip,
            Codec::Deflate,
            lzma,
        ]
        .map(|codec| codec.fault(FaultKind::TooLong).stream);
        assert_eq!(names, ["uncompressed", "zlib", "gzip", "deflate", "LZMA"]);
    }
}
