//! `meshmap catalog`: a table with a row for each mesh of many files.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshmap_export::Output;

use super::{Outcome, tell};
use crate::catalog::{self, How, Item, Kind, Row, Writer};
use crate::inputs::Choice;
use crate::{interrupt, pool, text};

/// What is wanted, and where to.
pub(crate) struct Wish {
    pub(crate) output: Option<PathBuf>,
    pub(crate) how: How,
    pub(crate) force: bool,
}

pub(crate) fn run(
    paths: &[PathBuf],
    wish: &Wish,
    choice: &Choice,
    out: &mut (impl Write + Send),
) -> io::Result<Outcome> {
    let items = Arc::new(catalog::items(paths, choice));
    let Some(path) = &wish.output else {
        let (done, _) = write(&items, wish, choice, Writer::new(Kind::Csv, out)?)?;
        return Ok(done.outcome());
    };
    let kind = match Kind::of_path(path) {
        Ok(kind) => kind,
        Err(why) => {
            tell(format_args!("{}: {why}", text::path(path)));
            return Ok(Outcome::Usage);
        }
    };
    if path.exists() && !wish.force {
        tell(format_args!("{} is there already; --force replaces it", text::path(path)));
        return Ok(Outcome::Usage);
    }
    match to_file(&items, wish, choice, kind, path) {
        Ok(done) => {
            let (rows, files, bad) = (
                text::plural(done.rows, "row"),
                text::plural(items.len() as u64, "file"),
                text::count(done.bad),
            );
            writeln!(out, "{}: {rows} of {files}, {bad} of them errors", text::path(path))?;
            Ok(done.outcome())
        }
        Err(error) => {
            tell(format_args!("{}: {error}", text::path(path)));
            Ok(Outcome::Bad)
        }
    }
}

/// The file appears when it is complete.
fn to_file(
    items: &Arc<Vec<Item>>,
    wish: &Wish,
    choice: &Choice,
    kind: Kind,
    path: &Path,
) -> io::Result<Done> {
    let (done, output) = write(items, wish, choice, Writer::new(kind, Output::create(path)?)?)?;
    if !done.is_interrupted {
        output.finish()?;
    }
    Ok(done)
}

struct Done {
    rows: u64,
    bad: u64,
    is_interrupted: bool,
}

impl Done {
    /// Errors are rows: a catalogue of bad files is a good catalogue.
    fn outcome(&self) -> Outcome {
        if self.is_interrupted { Outcome::Interrupted } else { Outcome::Good }
    }
}

fn write<W: Write + Send>(
    items: &Arc<Vec<Item>>,
    wish: &Wish,
    choice: &Choice,
    mut writer: Writer<W>,
) -> io::Result<(Done, W)> {
    /// Rows that are written together.
    const TOGETHER: usize = 8192;
    let threads = choice.threads.unwrap_or_else(pool::usual_threads);
    let how = wish.how;
    let mut done = Done { rows: 0, bad: 0, is_interrupted: false };
    let mut waiting: Vec<Row> = Vec::new();
    let mut outcome = Ok(());
    let handed = pool::in_order(
        items,
        threads,
        interrupt::watch(),
        move |item| catalog::rows(item, how),
        |_, rows| {
            done.rows += rows.len() as u64;
            done.bad += rows.iter().filter(|row| row.error.is_some()).count() as u64;
            waiting.extend(rows);
            if waiting.len() >= TOGETHER {
                outcome = writer.write(&waiting);
                waiting.clear();
            }
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    outcome?;
    writer.write(&waiting)?;
    let mut out = writer.finish()?;
    out.flush()?;
    done.is_interrupted = handed < items.len();
    Ok((done, out))
}
