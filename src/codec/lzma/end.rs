//! The end of a stream: with its output full, or with a fault.

use crate::codec::{Fault, FaultKind};
use crate::num::as_u64;

/// The end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Bytes of the input that were used.
    pub(crate) consumed: usize,
    /// `true` if all of the input was used, the last match ends with the output, and the range coder is left with nothing, as every
    /// encoder leaves it that writes no end marker. lzma-rs reports only that all of the input was used.
    pub(crate) is_clean: bool,
}

/// The fault that stopped a stream after `decoded` bytes of output.
pub(super) fn fault(kind: FaultKind, decoded: usize) -> Fault {
    Fault {
        kind,
        stream: "LZMA",
        decoded: as_u64(decoded),
        length: None,
        bit: None,
    }
}
