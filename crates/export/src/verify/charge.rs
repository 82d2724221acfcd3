//! The memory that reading a written file takes.

use std::path::Path;

use super::obj;
use crate::budget::Budget;
use crate::error::Result;
use crate::settings::Target;

/// Charges numbers that take this many bytes in a file, with what they are converted to.
pub(super) fn numbers(bytes: u64, budget: &Budget) -> Result<()> {
    const OF_BYTE: u64 = 4;
    budget.charge(bytes.saturating_mul(OF_BYTE), "numbers of the written file")
}

/// Charges all numbers of an OBJ, a PLY or an STL.
pub(super) fn file(path: &Path, target: Target, budget: &Budget) -> Result<()> {
    let bytes = match target {
        Target::Obj => obj::memory(path),
        // Three corners and their indices, of 50 bytes.
        Target::Stl => length(path).saturating_mul(2),
        _ => length(path).saturating_mul(3),
    };
    budget.charge(bytes, "numbers of the written file")
}

/// The length of a file. A missing file is reported as a difference, by those who read it.
pub(super) fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
