use std::io;
use std::ops::Range;

/// The kind of an [`Error`](crate::Error), which programs can act on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file has no format that this library knows.
    #[error("unknown format")]
    UnknownFormat,
    /// The file ends too early: more bytes would help.
    #[error("truncated")]
    Truncated,
    /// These bytes have not been supplied to the [`Fragments`](crate::Fragments) yet.
    #[error("missing bytes {:#x}..{:#x}: not supplied yet,", .0.start, .0.end)]
    NeedBytes(Range<u64>),
    /// The file breaks a rule of its format in a way that makes it unreadable.
    #[error("malformed")]
    Malformed,
    /// Valid, as far as this library can determine, but not supported by it.
    #[error("unsupported")]
    Unsupported,
    /// More memory would be needed than the [`Limits`](crate::Limits) allow.
    #[error("limit exceeded by")]
    LimitExceeded,
    /// The caller asked for something that does not exist, or passed a buffer of the wrong length.
    #[error("out of range")]
    OutOfRange,
    /// Two things do not match, such as a mesh and the animation of another skeleton.
    #[error("mismatch of")]
    Mismatch,
    /// The caller cancelled the call; see [`Scratch::set_cancel`](crate::Scratch::set_cancel).
    #[error("cancelled")]
    Cancelled,
    /// The operating system or a [`ReadRange`](crate::ReadRange) failed.
    #[error("cannot read")]
    Io(io::ErrorKind),
}

impl ErrorKind {
    /// Its identifier, which stays the same: `limit_exceeded`. JSON of the command, and bindings to other languages, have it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::UnknownFormat => "unknown_format",
            Self::Truncated => "truncated",
            Self::NeedBytes(_) => "need_bytes",
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::LimitExceeded => "limit_exceeded",
            Self::OutOfRange => "out_of_range",
            Self::Mismatch => "mismatch",
            Self::Cancelled => "cancelled",
            Self::Io(_) => "io",
        }
    }
}
