//! What can be wrong with a stream.

use super::bits::IsShort;
use crate::codec::FaultKind;

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The input ends before the stream does.
    Truncated,
    /// As the error says it.
    Corrupt(&'static str),
}

/// Bits that make no symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoSymbol {
    /// There are too few.
    Short,
    /// No code begins with them.
    Unused,
}

impl Problem {
    pub(super) fn kind(self) -> FaultKind {
        match self {
            Self::Truncated => FaultKind::Truncated,
            Self::Corrupt(found) => FaultKind::Corrupt(found),
        }
    }

    /// Bits that make no symbol; `found` is what they are where there are enough.
    pub(super) fn no_symbol(no: NoSymbol, found: &'static str) -> Self {
        match no {
            NoSymbol::Short => Self::Truncated,
            NoSymbol::Unused => Self::Corrupt(found),
        }
    }
}

impl From<IsShort> for Problem {
    fn from(IsShort: IsShort) -> Self {
        Self::Truncated
    }
}
