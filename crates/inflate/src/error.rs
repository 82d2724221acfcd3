//! The errors of a stream.

use std::fmt;

use crate::format::Format;

/// The reason why a stream cannot be decoded, and how far decoding came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub(crate) kind: ErrorKind,
    pub(crate) format: Format,
    pub(crate) decoded: u64,
    pub(crate) position: Option<BitPosition>,
}

/// The kinds of [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends before the stream does.
    Truncated,
    /// The stream ends before the caller's slice is full.
    TooShort,
    /// The stream contains more than the caller's limit or slice allows.
    TooLong,
    /// The input is not a valid stream of its format. The text names the problem, such as
    /// `an over-subscribed code of distances`.
    Corrupt(&'static str),
    /// The checksum after the stream differs from the checksum of the output: Adler-32 in zlib, CRC-32 in gzip.
    Checksum {
        /// The checksum in the input.
        stored: u32,
        /// The checksum of the output.
        computed: u32,
    },
    /// The [cancel flag](crate::Stream::cancelled_by) is set.
    Cancelled,
    /// The system has no memory for the output.
    OutOfMemory,
}

/// The position of a bit in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitPosition {
    /// The offset of its byte.
    pub byte: u64,
    /// The number of the bit in this byte: 0, the lowest, to 7.
    pub bit: u32,
}

impl Error {
    /// An error before anything has been decoded.
    pub(crate) fn at_start(kind: ErrorKind, format: Format) -> Self {
        Self {
            kind,
            format,
            decoded: 0,
            position: None,
        }
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The format that the stream was decoded as.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The number of bytes that were decoded before the error. For [`ErrorKind::TooLong`] it includes the first byte that
    /// exceeds the limit.
    #[must_use]
    pub fn decoded(&self) -> u64 {
        self.decoded
    }

    /// The position of the symbol or block header that is invalid, counted from the start of the input; `None` if the
    /// error has no such position, for example in a checksum.
    #[must_use]
    pub fn position(&self) -> Option<BitPosition> {
        self.position
    }
}

/// Returns `1 byte` or `2 bytes`.
fn bytes(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            format,
            decoded,
            position,
        } = self;
        let decoded = bytes(*decoded);
        match kind {
            ErrorKind::Truncated => {
                write!(f, "truncated {format} stream, after {decoded} of output")
            }
            ErrorKind::TooShort => write!(f, "the {format} stream ends after {decoded} of output"),
            ErrorKind::TooLong => {
                write!(
                    f,
                    "the {format} stream contains more than allowed: at least {decoded}"
                )
            }
            ErrorKind::Corrupt(problem) => {
                write!(f, "invalid {format} stream: {problem}")?;
                if let Some(BitPosition { byte, bit }) = position {
                    write!(f, " at byte {byte:#x}, bit {bit}")?;
                }
                write!(f, ", after {decoded} of output")
            }
            ErrorKind::Checksum { stored, computed } => {
                let name = if *format == Format::Zlib {
                    "Adler-32"
                } else {
                    "CRC-32"
                };
                write!(
                    f,
                    "wrong {name} in a {format} stream: computed {computed:#010x}, stored {stored:#010x}"
                )
            }
            ErrorKind::Cancelled => write!(f, "cancelled after {decoded} of output"),
            ErrorKind::OutOfMemory => write!(f, "out of memory after {decoded} of output"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind {
            ErrorKind::Truncated | ErrorKind::TooShort => Io::UnexpectedEof,
            ErrorKind::OutOfMemory => Io::OutOfMemory,
            ErrorKind::Cancelled => Io::Interrupted,
            _ => Io::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// The problem with a raw deflate stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The input ends before the stream does.
    Truncated,
    /// The text of [`ErrorKind::Corrupt`].
    Corrupt(&'static str),
}

impl From<Problem> for ErrorKind {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Truncated => Self::Truncated,
            Problem::Corrupt(found) => Self::Corrupt(found),
        }
    }
}
