//! `meshmap info`: what files are.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use meshmap::cgeo::Dialect;
use meshmap::{MeshFile, Meter};
use meshmap_catalog::inspect::{self, parse_dialect};
use meshmap_catalog::json;
use meshmap_catalog::{Depth, SHARES};

use super::{Outcome, Reporting, bad, print_stderr, usage};
use crate::inputs::{self, Choice, Found, Input, Reading, folder_parser};
use crate::page::{self, List};
use crate::progress::{self, Printed, Reported};
use crate::screen::{Screen, Style};
use crate::words::{NOT_CHECKED, Troubled};
use crate::{damage, report, rows, text};

/// The arguments of `meshmap info`.
#[derive(clap::Args)]
pub(crate) struct InfoArgs {
    /// Files, directories to search, or `-` for standard input.
    #[arg(required_unless_present_any = ["schema", "files_from"])]
    paths: Vec<PathBuf>,
    /// Print a JSON object for each file, one per line.
    #[arg(long)]
    json: bool,
    /// Print the schema of the JSON objects.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
    /// Decode and check everything. Counts are exact, and all problems are listed, as `verify` reports them. By default little is
    /// read, and NaN or values out of range may be missed: the last line reports this, and in JSON `checked` is false.
    #[arg(long)]
    full: bool,
    /// List every snapshot of one CGeo file. Rows have the time, the size and the kind.
    #[arg(long, conflicts_with_all = ["json", "report", "boxes"])]
    snapshots: bool,
    /// List the bounding box of every snapshot of one CGeo file.
    #[arg(long, conflicts_with_all = ["json", "report"])]
    boxes: bool,
    /// Print a text for bug reports, without geometry. It has the structure and no names. Also works for files that cannot be opened.
    #[arg(long, conflicts_with_all = ["json", "full"])]
    report: bool,
    /// Add bytes of a file that cannot be opened to the report. They can contain names.
    #[arg(long, requires = "report")]
    hex: bool,
    /// Also look for images anywhere below this directory. It may be the root of a game. Can be given several times.
    #[arg(long, value_name = "DIR", value_parser = folder_parser())]
    textures: Vec<PathBuf>,
    /// Force the dialect of CGeo files: CODEC,SIZE,OFFSET,PREFIX, such as zlib,stored,first_section,none.
    #[arg(long, value_name = "DIALECT", value_parser = parse_dialect)]
    dialect: Option<Dialect>,
}

impl InfoArgs {
    fn list(&self) -> Option<List> {
        if self.boxes {
            Some(List::Boxes)
        } else {
            self.snapshots.then_some(List::Snapshots)
        }
    }

    fn depth(&self) -> Depth {
        match self.list() {
            _ if self.full => Depth::Everything,
            Some(_) => Depth::Snapshots,
            None => Depth::Headers,
        }
    }
}

pub(crate) fn run(
    args: &InfoArgs,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let found = inputs::find(&args.paths, choice);
    let single = found.single && found.files.len() == 1;
    let how = Reading {
        dialect: args.dialect,
        ..choice.reading(SHARES, !single)
    };
    if let (true, [input]) = (single, found.files.as_slice()) {
        if args.report {
            let (lines, good) = choice.memory.job(|| report::of(input, &how, args.hex));
            out.write_all(&text::joined(lines))?;
            return Ok(Outcome::good_if(good));
        }
        if !args.json {
            return choice.memory.job(|| one(input, args, &how, screen, out));
        }
    }
    if args.list().is_some() || args.report {
        return usage("--snapshots, --boxes and --report are for one file");
    }
    many(found, args, choice, &how, screen, out)
}

/// Prints one file as a separate page.
fn one(
    input: &Input,
    args: &InfoArgs,
    how: &Reading,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let Some(inspection) = inspect::inspect(input, how, args.depth(), true) else {
        return Ok(Outcome::Bad);
    };
    if inspection.problem.is_some() {
        let what = damage::what_is_broken(&inspection).unwrap_or_default();
        return bad(screen.problem(&format!("{}: {what}", input.shown())));
    }
    let proxy = inspection.file.as_ref().and_then(MeshFile::as_cgeo);
    let lines = match (args.list(), proxy) {
        (None, _) => page::lines(&inspection, &args.textures, screen, how.mmap),
        (Some(what), Some(proxy)) => {
            let bytes = page::LIST_ROW_BYTES.saturating_mul(inspection.meshes().len() as u64);
            let meter = Meter::current();
            let room = meter
                .as_ref()
                .map(|meter| meter.take(bytes, "list of snapshots"));
            if let Some(Err(error)) = &room {
                return bad(screen.problem(&format!("{}: {error}", input.shown())));
            }
            page::list(proxy, &inspection, what).lines(screen.width)
        }
        (Some(_), None) => {
            let format = inspection
                .file
                .as_ref()
                .map_or_else(String::new, |file| file.format().to_string());
            return usage(format_args!(
                "{}: --snapshots and --boxes are for CGeo files, this one is {format}",
                input.shown()
            ));
        }
    };
    out.write_all(&text::joined(lines))?;
    Ok(Outcome::good_if(!inspection.is_broken()))
}

/// The facts of a file that the last line adds up.
struct Facts {
    troubled: Troubled,
    /// The size of the file.
    bytes: u64,
}

/// A row or an object for each file, in order, as they are done, and a line about all rows.
fn many(
    mut found: Found,
    args: &InfoArgs,
    choice: &Choice,
    how: &Reading,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let start = Instant::now();
    let inputs = Arc::new(std::mem::take(&mut found.files));
    let layout = Arc::new(rows::Layout::of(&inputs, screen));
    let mut files = 0_u64;
    let mut troubled = Troubled::default();
    let mut bytes = 0_u64;
    let work = {
        let layout = Arc::clone(&layout);
        let how = *how;
        let depth = args.depth();
        let is_json = args.json;
        move |input: &Input| {
            let inspection = inspect::inspect(input, &how, depth, true)?;
            let printed = if is_json {
                let mut object = Vec::new();
                // Writing to memory does not fail.
                drop(json::write_line(&mut object, &inspect::object(&inspection)));
                Printed::result(object)
            } else if let Some(what) = damage::what_is_broken(&inspection) {
                Printed::problem(text::joined(layout.error(&inspection.input.shown(), &what)))
            } else {
                Printed::result(text::joined(vec![layout.line(&inspection)]))
            };
            Some(Reported {
                printed,
                facts: Facts {
                    troubled: Troubled::of(&inspection),
                    bytes: inspection.bytes.unwrap_or(0),
                },
            })
        }
    };
    let add = |facts: Facts| {
        files += 1;
        troubled += facts.troubled;
        bytes += facts.bytes;
        facts.troubled.sum() > 0
    };
    let skipped = &mut found.skipped;
    let handed = progress::each_mesh_file(&inputs, choice, skipped, work, add, out)?;
    for (path, error) in &found.unreadable {
        files += 1;
        troubled.not_readable += 1;
        if args.json {
            json::write_line(&mut *out, &inspect::object_of_no_file(path, error))?;
        } else {
            Printed::problem(text::joined(layout.error(&text::path(path), error))).write(out)?;
        }
    }
    let is_done = handed == inputs.len();
    if !args.json {
        let colon = if troubled.sum() > 0 { ": " } else { "" };
        let not_checked = if args.full {
            String::new()
        } else {
            format!("   {NOT_CHECKED}")
        };
        let sum = format!(
            "{}{colon}{troubled}{}   {}{not_checked}   {:.2} s",
            text::plural(files, "file"),
            found.skipped,
            text::size(bytes),
            start.elapsed().as_secs_f64(),
        );
        let sum = if is_done {
            sum
        } else {
            format!("STOPPED after {sum}")
        };
        let wrapped = text::wrap(&sum, screen.width, 2);
        let painted = wrapped
            .into_iter()
            .map(|line| screen.paint(Style::Bold, &line));
        let summary = painted.collect::<Vec<_>>().join("\n");
        Reporting {
            quiet: choice.quiet,
            json: false,
        }
        .conclude(&summary, is_done, out)?;
        if is_done && files == 0 {
            print_stderr("info: no mesh file was found");
        }
    }
    Ok(match is_done {
        false => Outcome::Interrupted,
        true => Outcome::good_if(troubled.sum() == 0 && files > 0),
    })
}
