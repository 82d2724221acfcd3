//! The codecs: bytes in, bytes out. They know no format.

pub(crate) mod bits;
pub(crate) mod dequant;
pub(crate) mod inflate;
pub(crate) mod lzma;
pub(crate) mod planes;

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
    /// An LZMA stream without a header, of a length that is known.
    Lzma {
        /// One byte of lc, lp and pb, and the dictionary size, as at the beginning of an `.lzma` file.
        properties: [u8; 5],
    },
}

/// Which of the two decoders of each codec is used. They give the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decoder {
    /// The faster one: deflate by zlib-rs (with the feature of that name; else miniz_oxide), LZMA by this library's own.
    #[default]
    Fast,
    /// The other one, for checking: deflate by miniz_oxide, LZMA by lzma-rs.
    SecondOpinion,
}

/// Why a stream cannot be decoded; whoever knows the format makes an error of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The input ends before the stream does.
    Truncated,
    /// The stream ends after this many bytes, before what was asked for.
    EndsEarly(u64),
    /// The stream goes on behind what was asked for.
    GoesOn,
    /// Not a stream of its kind, or a damaged one.
    Malformed(&'static str),
    /// The checksum behind the stream is not that of what came out.
    Checksum { stored: u32, computed: u32 },
    /// The caller does not want it any more.
    Cancelled,
}
