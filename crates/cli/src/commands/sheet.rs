//! One picture of many files, with a tile for each.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use meshmap_render::{Error, Picture, Render, Sheet};
use serde_json::Value;

use super::outputs::{self, JobResult, Paths, Summary, Written, unreadable};
use super::pictures::{beside, facts, no_mesh, shapes, together};
use super::{Outcome, Reporting, bad};
use crate::inputs::{Choice, Found, Input, Reading};
use crate::pool::Waits;
use crate::progress::{self, Printed};
use crate::screen::Screen;
use crate::{text, words};

/// The arguments of the user.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) paths: &'a [PathBuf],
    pub(super) render: &'a Render,
    /// Results are JSON.
    pub(super) json: bool,
}

/// One picture with a tile for each file: each tile is made and released before the next.
pub(super) fn sheet(
    found: &mut Found,
    output: &Path,
    wanted: Wanted<'_>,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let start = Instant::now();
    let (how, render) = together(wanted.render, choice, true);
    leave_out_others(found, &how);
    let files = Arc::new(found.files.clone());
    let [width, height] = render.size.unwrap_or(tile_size(files.len()));
    let render = Render {
        size: Some([width, height]),
        ..render
    };
    let sheet = match Sheet::create(output, files.len(), [width, height], render.background) {
        Ok(sheet) => sheet,
        Err(_) if files.is_empty() => {
            return bad("render: no mesh file");
        }
        Err(error) => {
            return bad(format_args!("{}: {error}", text::path(output)));
        }
    };
    let pool = choice.pool_beside(sheet.held_bytes(), render.picture_bytes());
    let mut tiles = Tiles {
        sheet,
        labels: Labels::new(&files, wanted.paths),
        drawn: 0,
        failed: 0,
        broken: None,
    };
    let work = move |input: &Input| tile(input, &how, &render);
    let report = |input: &Input, tile| {
        let result = tiles.add(input, tile);
        if matches!(result, JobResult::Nothing(_)) {
            found.skipped.nothing += 1;
        }
        let paths = Paths {
            input,
            output: output.to_owned(),
        };
        // The sheet is written when all tiles are there, so lines are about problems only.
        match wanted.json {
            true => Printed::result(outputs::object(&paths, result)),
            false => outputs::lines(&paths, result, true, false, screen),
        }
    };
    let handed = progress::each(&files, |input| input, choice, pool, work, report, out)?;

    let failed = tiles.failed + unreadable(found, wanted.json, out)?;
    let drawn = tiles.drawn;
    let is_done = handed == files.len();
    if let Err(error) = tiles.finish(is_done) {
        return bad(format_args!("{}: {error}", text::path(output)));
    }
    let counts = format!(
        "{}: {} drawn",
        text::path(output),
        text::plural(drawn, "file")
    );
    let reporting = Reporting {
        quiet: choice.quiet,
        json: wanted.json,
    };
    Summary {
        counts,
        made: drawn,
        failed,
        damaged: 0,
        is_done,
        start,
    }
    .write(found, reporting, screen, out)
}

/// Leaves out files that are no meshes, and counts them.
fn leave_out_others(found: &mut Found, how: &Reading) {
    let all = found.files.len();
    found.files.retain(|input| input.is_mesh(how));
    found.skipped.others += (all - found.files.len()) as u64;
}

/// The content of a tile on a sheet.
enum Tile {
    Picture(Box<Drawn>),
    Trouble(JobResult),
}

/// A picture, and what is reported about it: no more than that waits for its turn.
struct Drawn {
    picture: Picture,
    /// The triangles, points or joints.
    words: String,
    facts: Value,
}

impl Waits for Tile {
    fn held_bytes(&self) -> u64 {
        match self {
            Self::Picture(drawn) => {
                let texts = drawn.words.len() as u64 + outputs::json_len(&drawn.facts);
                drawn.picture.bytes().len() as u64 + texts
            }
            Self::Trouble(result) => result.held_bytes(),
        }
    }
}

/// Draws the tile of a file.
fn tile(input: &Input, how: &Reading, render: &Render) -> Tile {
    let file = match input.read(how) {
        Ok(Some(file)) => file,
        Ok(None) => return Tile::Trouble(JobResult::Failed(no_mesh().into())),
        Err(problem) => return Tile::Trouble(JobResult::Failed(problem.into())),
    };
    match beside(render, input).picture(&file) {
        Ok((picture, rendered)) => Tile::Picture(Box::new(Drawn {
            picture,
            words: shapes(&rendered),
            facts: facts(&rendered),
        })),
        Err(error) => Tile::Trouble(JobResult::of(error)),
    }
}

/// The sheet in the making.
struct Tiles<'a> {
    sheet: Sheet,
    labels: Labels<'a>,
    drawn: u64,
    failed: u64,
    /// The first error of writing the sheet.
    broken: Option<Error>,
}

impl Tiles<'_> {
    /// Adds the tile of the next file. Returns what is reported about it.
    fn add(&mut self, input: &Input, tile: Tile) -> JobResult {
        let label = self.labels.of(input);
        let (pushed, result) = match tile {
            Tile::Picture(drawn) => {
                self.drawn += 1;
                let pushed = self.sheet.push(&drawn.picture, &[&label, &drawn.words]);
                let written = Written {
                    facts: drawn.facts,
                    ..Written::default()
                };
                (pushed, JobResult::Written(Box::new(written)))
            }
            Tile::Trouble(result) => {
                self.failed += u64::from(!matches!(result, JobResult::Nothing(_)));
                let why = match &result {
                    JobResult::Nothing(why) | JobResult::Failed(why) => why.to_string(),
                    _ => words::DISK_FULL.to_owned(),
                };
                (self.sheet.push_trouble(&why, &[&label]), result)
            }
        };
        if let Err(error) = pushed {
            self.broken.get_or_insert(error);
        }
        result
    }

    /// Writes the sheet, if all of its tiles are there.
    fn finish(self, is_done: bool) -> Result<(), Error> {
        match self.broken {
            Some(error) => Err(error),
            None if is_done => self.sheet.finish().map(drop),
            None => Ok(()),
        }
    }
}

/// The labels of tiles: names, or paths of files that have the same name.
struct Labels<'a> {
    /// The number of files of each name.
    names: HashMap<String, u32>,
    /// The files and folders of the user.
    paths: &'a [PathBuf],
}

impl<'a> Labels<'a> {
    fn new(files: &[Input], paths: &'a [PathBuf]) -> Self {
        let mut names: HashMap<String, u32> = HashMap::new();
        for input in files {
            *names.entry(input.name()).or_default() += 1;
        }
        Self { names, paths }
    }

    fn of(&self, input: &Input) -> String {
        let name = input.name();
        match self.names.get(&name) {
            Some(2..) => text::path(&outputs::below(self.paths, input)),
            _ => name,
        }
    }
}

/// The default size of tiles: smaller if there are many.
fn tile_size(tiles: usize) -> [u32; 2] {
    const MANY: usize = 400;
    if tiles > MANY { [128; 2] } else { [256; 2] }
}
