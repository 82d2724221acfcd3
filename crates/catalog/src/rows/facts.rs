//! Rows of a catalogue, a table at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use rayon::prelude::*;

use super::batch::Columns;
use super::file;
use super::item::Item;
use super::options::Options;
use super::row::Row;
use crate::depth::Depth;

/// A table ends with the row that reaches this size.
const BATCH_BYTES: u64 = 8 << 20;
/// The most files that are worked on together, and the most bytes of files that are decoded together.
const FILES: usize = 256;
const FILE_BYTES: u64 = 8 << 20;

/// A row for each mesh of many files. An invalid file or mesh is also a row.
pub struct Facts {
    items: Arc<Vec<Item>>,
    how: Options,
    columns: Arc<Columns>,
    batch_rows: usize,
    next_item: usize,
    /// Files that are worked on together: few at first, so that the first rows come soon.
    together: usize,
    waiting: VecDeque<Row>,
}

impl Facts {
    /// Nothing is read before the first table. A table has at most `batch_rows` rows, and 8 MiB if one row is not larger.
    #[must_use]
    pub fn new(
        items: Arc<Vec<Item>>,
        how: Options,
        columns: Arc<Columns>,
        batch_rows: usize,
    ) -> Self {
        Self {
            items,
            how,
            columns,
            batch_rows,
            next_item: 0,
            together: 16,
            waiting: VecDeque::new(),
        }
    }

    /// The next table; `None` at the end. If only `most` rows are needed, no more files than that are read.
    ///
    /// # Errors
    ///
    /// Returns Arrow's errors, for texts of more than 2 GiB.
    pub fn next_batch(&mut self, most: usize) -> Result<Option<RecordBatch>, ArrowError> {
        while self.waiting.is_empty() && self.next_item < self.items.len() {
            self.read_more(most);
        }
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while rows.len() < self.batch_rows && bytes < BATCH_BYTES {
            let Some(row) = self.waiting.pop_front() else {
                break;
            };
            bytes += row.byte_len();
            rows.push(row);
        }
        if rows.is_empty() {
            Ok(None)
        } else {
            self.columns.batch(&rows).map(Some)
        }
    }

    fn read_more(&mut self, most: usize) {
        let left = self.items.get(self.next_item..).unwrap_or_default();
        let decoded = |item: &Item| {
            if self.how.depth >= Depth::Meshes {
                item.byte_len()
            } else {
                0
            }
        };
        let count = fitting(
            left.iter().map(decoded),
            FILE_BYTES,
            self.together.min(most),
        );
        let part = left.get(..count).unwrap_or_default();
        let rows: Vec<Vec<Row>> = part
            .par_iter()
            .map(|item| file::of(item, &self.how))
            .collect();
        self.waiting.extend(rows.into_iter().flatten());
        let added: u64 = self.waiting.iter().map(Row::byte_len).sum();
        // Files with many rows are worked on one by one.
        let few = usize::try_from(BATCH_BYTES * part.len() as u64 / added.max(1)).unwrap_or(FILES);
        self.together = (self.together * 2).min(FILES).min(few).max(1);
        self.next_item += count;
    }
}

/// The number of first sizes whose sum is at most `most`: at least one, unless there are none, and at most `count`.
pub(super) fn fitting(sizes: impl Iterator<Item = u64>, most: u64, count: usize) -> usize {
    let sums = sizes.take(count.max(1)).scan(0_u64, |sum, size| {
        *sum = sum.saturating_add(size);
        Some(*sum)
    });
    sums.enumerate()
        .take_while(|(index, sum)| *index == 0 || *sum <= most)
        .count()
}
