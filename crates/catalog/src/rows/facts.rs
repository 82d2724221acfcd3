//! Rows of a catalogue, a table at a time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

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
        let mut rows = Vec::new();
        let mut bytes = 0;
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
        let rows = first_rows(part, &self.how);
        self.next_item += rows.len();
        self.together = (self.together * 2).min(FILES);
        self.waiting.extend(rows.into_iter().flatten());
    }
}

/// The rows of the first files, by all threads of the pool: of at least one, and of no more once the rows of the others fill a table.
fn first_rows(items: &[Item], how: &Options) -> Vec<Vec<Row>> {
    let next = AtomicUsize::new(0);
    let made_bytes = AtomicU64::new(0);
    // Files are taken in their order: the ones whose rows are made are the first ones, without a gap.
    let work = || {
        let mut made = Vec::new();
        while made_bytes.load(Ordering::Relaxed) < BATCH_BYTES {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                break;
            };
            let rows = file::of(item, how);
            let bytes = rows.iter().map(Row::byte_len).sum();
            made_bytes.fetch_add(bytes, Ordering::Relaxed);
            made.push((index, rows));
        }
        made
    };
    let threads = rayon::current_num_threads().min(items.len());
    let mut made: Vec<(usize, Vec<Row>)> = (0..threads)
        .into_par_iter()
        .flat_map_iter(|_| work())
        .collect();
    made.sort_unstable_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, rows)| rows).collect()
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use meshmap::Source;

    use super::*;

    /// Rows that wait for their table are no more than the table and what each thread works on.
    #[test]
    fn files_with_long_rows_are_read_as_they_are_needed() {
        const NAME_BYTES: usize = 1 << 20;
        const FILES: usize = 300;
        let opened = Arc::new(AtomicUsize::new(0));
        let item = |number: usize| {
            let opened = Arc::clone(&opened);
            let name = format!("{number:03}{}", "x".repeat(NAME_BYTES));
            Item::source(name, None, move || {
                opened.fetch_add(1, Ordering::Relaxed);
                Ok(Source::from_bytes(&b"no mesh"[..]))
            })
        };
        let items: Vec<Item> = (0..FILES).map(item).collect();
        let columns = Arc::new(Columns::named(&["path".to_owned()]).unwrap());
        let mut facts = Facts::new(Arc::new(items), Options::default(), columns, 1);

        let most = BATCH_BYTES as usize / NAME_BYTES + rayon::current_num_threads();
        let mut seen = HashSet::new();
        while let Some(batch) = facts.next_batch(usize::MAX).unwrap() {
            let [column] = batch.columns() else {
                panic!("{batch:?}")
            };
            let paths = column
                .as_any()
                .downcast_ref::<arrow_array::StringArray>()
                .unwrap();
            assert_eq!(paths.value(0)[..3], format!("{:03}", seen.len()));
            seen.insert(paths.value(0)[..3].to_owned());
            let ahead = opened.load(Ordering::Relaxed) - seen.len();
            assert!(ahead <= most, "{ahead}");
        }
        assert_eq!(seen.len(), FILES);
    }
}
