//! The rows of one file, within its limits.

use std::ops::ControlFlow;

use meshmap::MeshFile;

use super::row::Row;
use crate::input::memory_for;
use crate::text;

/// Bytes of rows that a small file may always have, and bytes for each byte of a larger file: as much as `convert` writes.
const FREE_OUTPUT: u64 = 64 << 20;
const OUTPUT_RATIO: u64 = 256;

/// The rows of a file. A name in the header of a file is in each row, so that a small file can have gigabytes of rows.
pub(super) struct Limited {
    rows: Vec<Row>,
    bytes: u64,
    max_memory: u64,
    max_output: u64,
}

impl Limited {
    /// No rows yet. `max_output` replaces the usual limit.
    pub(super) fn new(file: &MeshFile, file_row: &Row, max_output: Option<u64>) -> Self {
        let stored = file_row.file_bytes.map_or(0, i64::unsigned_abs);
        let usual = FREE_OUTPUT.max(stored.saturating_mul(OUTPUT_RATIO));
        Self {
            rows: Vec::new(),
            bytes: 0,
            max_memory: memory_for(file.limits(), stored),
            max_output: max_output.unwrap_or(usual),
        }
    }

    /// Adds a row. Returns `Break` if the rows exceed a limit, so that further rows are not made.
    pub(super) fn push(&mut self, row: Row) -> ControlFlow<()> {
        self.bytes = self.bytes.saturating_add(row.byte_len_without_errors());
        if self.exceeded().is_some() {
            return ControlFlow::Break(());
        }
        self.rows.push(row);
        ControlFlow::Continue(())
    }

    /// The rows, or a row with an error if they exceed a limit.
    pub(super) fn finish(self, file_row: &Row) -> Vec<Row> {
        match self.exceeded() {
            None => self.rows,
            Some(error) => {
                vec![Row {
                    error_kind: Some("limit_exceeded"),
                    error: Some(error),
                    ..file_row.clone()
                }]
            }
        }
    }

    fn exceeded(&self) -> Option<String> {
        let limits = [(self.max_memory, "memory"), (self.max_output, "output")];
        let (most, what) = limits.into_iter().find(|(most, _)| self.bytes > *most)?;
        let most = text::size(most);
        Some(format!(
            "rows: more than {most} of {what} needed; raise the limit with --max-{what}"
        ))
    }
}
