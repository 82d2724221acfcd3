//! How a stream ends: with its output full, or with a fault.

use crate::codec::{Fault, FaultKind};
use crate::num::as_u64;

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Bytes of the input that were used.
    pub(crate) consumed: usize,
    /// Whether all of the input was used, the last match ends with the output, and the range coder is left with nothing,
    /// as every encoder leaves it that writes no end marker. lzma-rs tells only whether all of the input was used.
    pub(crate) is_clean: bool,
}

/// What stopped a stream after so many bytes of output.
pub(super) fn fault(kind: FaultKind, decoded: usize) -> Fault {
    Fault { kind, stream: "LZMA", decoded: as_u64(decoded), bit: None }
}
