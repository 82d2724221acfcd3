//! The codecs: bytes in, bytes out. They know no file and no format. Deflate is the package `meshmap-inflate`.

pub(crate) mod bits;
pub(crate) mod dequant;
pub(crate) mod lzma;
pub(crate) mod planes;

/// The compression of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Decoder {
    /// The faster one: deflate and LZMA by this library.
    #[default]
    Fast,
    /// The reference decoder, for cross-checks: deflate by miniz_oxide, LZMA by lzma-rs.
    Reference,
}

/// The reason why a stream cannot be decoded, and how far decoding came. Callers that know the file turn this into an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// The kind of stream, such as `zlib`.
    pub(crate) stream: &'static str,
    /// Bytes that came out before.
    pub(crate) decoded: u64,
    /// The position in the stream, if it is known: a byte, and a bit of it, from the lowest.
    pub(crate) bit: Option<(u64, u32)>,
}

/// The reason why a stream cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The input ends before the stream does.
    Truncated,
    /// The stream ends before the output is full.
    Short,
    /// The stream goes on when the output is full.
    Long,
    /// Not a stream of its kind, or a damaged one: what was found.
    Corrupt(&'static str),
    /// The checksum after the stream differs from the checksum of the output.
    Checksum { stored: u32, computed: u32 },
    /// The caller does not want the output any more.
    Cancelled,
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

    /// The fault of a stream before anything has come out.
    pub(crate) fn fault(self, kind: FaultKind) -> Fault {
        Fault { kind, stream: self.name(), decoded: 0, bit: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_name_the_kind_of_stream() {
        let lzma = Codec::Lzma { properties: [0; 5] };
        let names = [Codec::Stored, Codec::Zlib, Codec::Gzip, Codec::Deflate, lzma]
            .map(|codec| codec.fault(FaultKind::Long).stream);
        assert_eq!(names, ["uncompressed", "zlib", "gzip", "deflate", "LZMA"]);
    }
}
