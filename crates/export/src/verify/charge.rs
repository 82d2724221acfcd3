//! The memory that reading a written file takes.

use std::path::Path;

use crate::budget::Budget;
use crate::error::Result;

/// Charges numbers that take this many bytes in a file, with what they are converted to.
pub(super) fn numbers(bytes: u64, budget: &Budget) -> Result<()> {
    const OF_BYTE: u64 = 6;
    budget.charge(bytes.saturating_mul(OF_BYTE), "numbers of the written file")
}

/// Charges all numbers of a file.
pub(super) fn file(path: &Path, budget: &Budget) -> Result<()> {
    numbers(length(path), budget)
}

/// The length of a file. A missing file is reported as a difference, by those who read it.
pub(super) fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
