//! Tools that several fuzz targets share.

use std::path::{Path, PathBuf};

use meshmap::{Limits, MeshFile, Options, Result, Source};
use meshmap_export::{Entry, Report, Say};

/// The bytes of an input that select options, one after the other; zeros follow when there are none left.
#[derive(Clone, Debug)]
pub struct Choices<'a>(&'a [u8]);

/// Splits an input into a file and, at its end, up to `count` bytes that select options.
///
/// They are at the end so that the file keeps its first bytes when a mutation changes the length of the options.
pub fn split(data: &[u8], count: usize) -> (&[u8], Choices<'_>) {
    let (file, choices) = data.split_at(data.len().saturating_sub(count));
    (file, Choices(choices))
}

impl<'a> Choices<'a> {
    /// All of these bytes are choices.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns `true` if only zeros follow.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// A number less than `count`, which is at most 256.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count.max(1)
    }

    /// One of these values; the first one if only zeros follow.
    pub fn of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    /// Eight decisions of one byte.
    pub fn flags(&mut self) -> [bool; 8] {
        let byte = self.byte();
        std::array::from_fn(|bit| byte >> bit & 1 == 1)
    }
}

/// Numbers for options that accept any `f64`.
pub const NUMBERS: [f64; 10] = [
    0.0,
    24.0,
    -1.0,
    0.041,
    1e300,
    -1e300,
    f64::MIN_POSITIVE,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// The memory that one call of a reader may hold.
pub const MEMORY: u64 = 8 << 20;

/// Reading within [`MEMORY`].
pub fn options() -> Options {
    let limits = Limits::default()
        .with_max_block_bytes(1 << 20)
        .with_max_total_bytes(MEMORY);
    Options::default().with_limits(limits.with_free_ratio(4))
}

/// Opens a file within [`MEMORY`].
pub fn open(file: &[u8]) -> Result<MeshFile> {
    MeshFile::from_source(Source::from_bytes(file.to_vec()), &options())
}

/// Asserts that a text is one line without characters that control a terminal.
pub fn assert_line(text: &str) {
    assert!(
        !text.is_empty() && !text.chars().any(char::is_control),
        "{text:?}"
    );
}

/// Fails if an entry of a report has more than one line, or names none of the items that the entry counts.
pub fn assert_report(report: &Report) {
    fn assert_entries<T: Say>(entries: &[Entry<T>]) {
        for entry in entries {
            assert_line(&entry.to_string());
            assert!(entry.count >= entry.first.len() as u64, "{entry}");
        }
    }
    assert_entries(&report.left_out);
    assert_entries(&report.changed);
    assert_entries(&report.assumed);
    assert_entries(&report.warnings);
}

/// Asserts that every line of an output can be printed on a terminal.
pub fn assert_lines(text: &str) {
    assert!(
        !text.chars().any(|c| c != '\n' && c.is_control()),
        "{text:?}"
    );
}

/// A folder for the files of one run, in memory if the system has such a file system.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder, which is removed when this is dropped.
    pub fn new(target: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        let folder = parent.join(format!("meshmap-fuzz-{target}-{}", std::process::id()));
        // A run that was killed may have left it.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("space for temporary files");
        Self(folder)
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The paths of all its files, sorted.
    pub fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).expect("the folder");
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
