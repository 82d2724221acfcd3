//! Contact sheets: many small pictures with words below them, in one.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use meshmap_job::{Error, Result};
use meshmap_outputs::{Output, Place, Written};
use png::StreamWriter;

use crate::background::Background;
use crate::camera::Frame;
use crate::color::{INK, TROUBLE};
use crate::label;
use crate::picture::{self, Picture, written};
use crate::settings::TARGET;

/// A sheet of tiles, written row after row: no more than one row of them is in memory.
///
/// # Examples
///
/// ```
/// use meshmap::MeshFile;
/// use meshmap_render::{Background, Render, Sheet};
///
/// # let folder = std::env::temp_dir().join(format!("meshmap-sheet-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("sheet.png");
/// let names = ["iqm/valid/skin_multi_anim.iqm", "tmf/valid/v021_unified_cube.tmf"];
/// let mut sheet = Sheet::create(&path, names.len(), [128, 128], Background::default())?;
/// for name in names {
///     # let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
///     let file = MeshFile::open(root.join(name))?;
///     let (picture, _) = Render { size: Some([128, 128]), ..Render::default() }.picture(&file)?;
///     sheet.push(&picture, &[name])?;
/// }
/// let written = sheet.finish()?;
/// # assert!(written.path.is_file());
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sheet {
    output: Shared,
    stream: StreamWriter<'static, Shared>,
    tile: Frame,
    background: Background,
    columns: u32,
    /// Tiles that are still to come.
    left: usize,
    /// The row of tiles in the making, and how many it has.
    row: Picture,
    filled: u32,
    /// The first lines of words so far.
    labels: HashSet<String>,
}

/// Between tiles, and around them.
const GAP: u32 = 6;
/// Lines of words below each picture.
const LINES: u32 = 2;
/// The height of the text below a picture.
const WORDS: u32 = LINES * label::LINE + GAP;

impl Sheet {
    /// Creates a sheet for this number of `tiles`, with pictures of this size in pixels, on a background.
    ///
    /// It is about as wide as it is high.
    ///
    /// # Errors
    ///
    /// Returns [`Write`](Error::Write) if the file cannot be made, [`NotHeld`](Error::NotHeld) if there are no tiles or the
    /// sheet would be too large for a picture.
    pub fn create(
        path: impl AsRef<Path>,
        tiles: usize,
        size: [u32; 2],
        background: Background,
    ) -> Result<Self> {
        Self::create_at(&Place::at(path)?, tiles, size, background)
    }

    pub(crate) fn create_at(
        place: &Place,
        tiles: usize,
        [width, height]: [u32; 2],
        background: Background,
    ) -> Result<Self> {
        // The square root, rounded up.
        let columns = tiles.saturating_sub(1).isqrt() + 1;
        let too_large = || {
            let what = format!("a sheet of {tiles} pictures of {width} x {height} pixels");
            Error::NotHeld {
                target: TARGET,
                what,
            }
        };
        let side = |count: usize, tile: u32| {
            let sides = u32::try_from(count)
                .ok()?
                .checked_mul(tile.checked_add(GAP)?)?
                .checked_add(GAP)?;
            Some(sides).filter(|side| *side < 1 << 20)
        };
        let across = side(columns, width)
            .filter(|_| tiles > 0 && width > 0 && height > 0)
            .ok_or_else(too_large)?;
        let words = height.checked_add(WORDS).ok_or_else(too_large)?;
        let down = side(tiles.div_ceil(columns), words).ok_or_else(too_large)?;
        let row = Frame {
            width: across,
            height: words + GAP,
        };
        let output = Shared(Arc::new(Mutex::new(Some(Output::create(place)?))));
        let frame = Frame {
            width: across,
            height: down,
        };
        let channels = background.channels();
        let mut stream = picture::header(output.clone(), frame, channels, None)?
            .into_stream_writer()
            .map_err(written)?;
        stream.write_all(Picture::plain(Frame { height: GAP, ..row }, background).bytes())?;
        Ok(Self {
            output,
            stream,
            tile: Frame { width, height },
            columns: u32::try_from(columns).map_err(|_| too_large())?,
            left: tiles,
            row: Picture::plain(row, background),
            background,
            filled: 0,
            labels: HashSet::new(),
        })
    }

    /// The memory that it holds: a row of tiles.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.row.bytes().len() as u64
    }

    /// Adds a picture, with words below it: two lines, which are cut if they are too long.
    ///
    /// Tiles beyond the capacity of the sheet are left out.
    ///
    /// # Errors
    ///
    /// [`Write`](Error::Write) where that fails.
    pub fn push(&mut self, picture: &Picture, words: &[&str]) -> Result<()> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(());
        };
        let column = GAP + self.filled * (self.tile.width + GAP);
        self.row.paste(picture, column, 0);
        for (line, words) in (0..LINES).zip(words) {
            let words = match line {
                0 => self.own_label(words),
                _ => label::cut(words, self.tile.width, 0.5),
            };
            label::write(
                &mut self.row,
                &words,
                column,
                self.tile.height + GAP / 2 + line * label::LINE,
                self.background.ink(),
            );
        }
        self.filled += 1;
        self.left = left;
        if self.filled == self.columns || left == 0 {
            self.stream.write_all(self.row.bytes())?;
            // In place, because a second row may be large.
            self.row.clear(self.background);
            self.filled = 0;
        }
        Ok(())
    }

    /// A name that fits below a tile, shortened at a place where it differs from the labels so far. If there is none, its end is the number
    /// of the tile.
    fn own_label(&mut self, name: &str) -> String {
        let shares = [0.5, 0.75, 0.25, 1.0, 0.0];
        let mut cuts = shares
            .into_iter()
            .map(|share| label::cut(name, self.tile.width, share));
        let label = cuts.find(|cut| !self.labels.contains(cut));
        let label = label.unwrap_or_else(|| {
            let number = format!(" ({})", self.labels.len() + 1);
            let room = self.tile.width as f32 - label::width(&number);
            label::cut(name, room.max(0.0) as u32, 0.5) + &number
        });
        self.labels.insert(label.clone());
        label
    }

    /// Adds a tile with the reason why the picture is missing.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`push`](Self::push).
    pub fn push_trouble(&mut self, why: &str, words: &[&str]) -> Result<()> {
        let mut tile = Picture::plain(self.tile, Background::Color(TROUBLE));
        let lines = label::wrap(why, self.tile.width.saturating_sub(2 * GAP));
        for (line, words) in (0..).zip(lines) {
            let row = GAP + line * label::LINE;
            if row + label::LINE > self.tile.height {
                break;
            }
            label::write(&mut tile, &words, GAP, row, INK);
        }
        self.push(&tile, words)
    }

    /// Moves the file to its path, with empty tiles for missing ones.
    ///
    /// # Errors
    ///
    /// [`Write`](Error::Write) where that fails.
    pub fn finish(mut self) -> Result<Written> {
        let empty = Picture::plain(self.tile, self.background);
        while self.left > 0 {
            self.push(&empty, &[])?;
        }
        self.stream.finish().map_err(written)?;
        let output = self
            .output
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let output = output.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(output.finish()?)
    }
}

impl std::fmt::Debug for Sheet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sheet({} tiles to come)", self.left)
    }
}

/// A file in the making, which the encoder writes to and this crate puts into its place.
#[derive(Clone)]
struct Shared(Arc<Mutex<Option<Output>>>);

impl Shared {
    fn with<T>(&self, work: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match output.as_mut() {
            Some(output) => work(output),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|out| out.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_cut_differ() {
        let folder = tempfile::tempdir().unwrap();
        let mut sheet = Sheet::create(
            folder.path().join("sheet.png"),
            4,
            [100, 100],
            Background::default(),
        )
        .unwrap();
        let names = [
            "beginning_of_a_long_name_a_with_an_end.iqm",
            "beginning_of_a_long_name_b_with_an_end.iqm",
        ];
        let labels = names.map(|name| sheet.own_label(name));
        assert_ne!(labels[0], labels[1]);
        // Names that differ in the middle only, where both are cut, or not at all.
        let long = |middle: &str| format!("{0}{middle}{0}", "a_long_name_".repeat(9));
        let labels = [
            labels.to_vec(),
            [long("a"), long("b"), long("b")]
                .map(|name| sheet.own_label(&name))
                .to_vec(),
        ]
        .concat();
        assert_eq!(labels.iter().collect::<HashSet<_>>().len(), 5, "{labels:?}");
        assert!(
            labels.iter().all(|cut| label::width(cut) <= 100.0),
            "{labels:?}"
        );
    }
}
