//! The rows of one file, within its limits.

use std::ops::ControlFlow;

use meshmap::MeshFile;

use super::options::Options;
use super::row::Row;
use crate::input::{memory_for, remedy};
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
    /// The options that raise the two limits; empty if the program has none.
    remedies: [&'static str; 2],
}

impl Limited {
    /// No rows yet.
    pub(super) fn new(file: &MeshFile, file_row: &Row, how: &Options) -> Self {
        let [_, memory, _] = file.limits().remedies();
        let stored = file_row.file_bytes.map_or(0, i64::unsigned_abs);
        let usual = FREE_OUTPUT.max(stored.saturating_mul(OUTPUT_RATIO));
        Self {
            rows: Vec::new(),
            bytes: 0,
            max_memory: memory_for(file.limits(), stored),
            max_output: how.max_output.unwrap_or(usual),
            remedies: [memory, how.output_remedy],
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
        let [memory, output] = self.remedies;
        let limits = [
            (self.max_memory, "memory", memory),
            (self.max_output, "output", output),
        ];
        let (most, what, option) = limits.into_iter().find(|(most, ..)| self.bytes > *most)?;
        let most = text::size(most);
        let remedy = remedy(option);
        Some(format!(
            "the rows need more than the limit of {most} of {what}{remedy}"
        ))
    }
}
