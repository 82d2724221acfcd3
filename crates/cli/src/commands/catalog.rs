//! `meshmap catalog`: a table with a row for each mesh of many files.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshmap_catalog::inspect::path_bytes;
use meshmap_catalog::json as json_text;
use meshmap_catalog::rows::{self, FileKind, Item, Options, Row, Writer};
use meshmap_catalog::{Depth, SHARES};
use serde_json::json;

use super::{Outcome, bad, outputs, print_stderr, usage};
use crate::inputs::{self, Choice, Durable, Reading, output_parser, parse_size};
use crate::screen::Screen;
use crate::words::{self, NOT_CHECKED, Troubled};
use crate::{interrupt, pool, text};

/// The arguments of `meshmap catalog`.
#[derive(clap::Args)]
pub(crate) struct CatalogArgs {
    /// Files, and directories to search.
    #[arg(required_unless_present_any = ["files_from", "schema"])]
    paths: Vec<PathBuf>,
    /// The file to write: .csv or .jsonl, and .parquet or .arrow in builds with the feature `parquet`. Without it, CSV on
    /// standard output.
    #[arg(short, long, value_parser = output_parser())]
    output: Option<PathBuf>,
    /// Decode and check everything: every count and box, and the findings and errors that `verify` reports.
    #[arg(long)]
    full: bool,
    /// Add the SHA-256 of each file, which reads all its bytes.
    #[arg(long)]
    hash: bool,
    /// Limit the rows of one file to SIZE, such as 4GiB [default: 64MiB, or 256 times the file if that is more].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_output: Option<u64>,
    #[command(flatten)]
    pub(crate) durable: Durable,
    /// Print rows as JSON objects, one per line, without -o; with -o, a summary as a JSON object.
    #[arg(long)]
    json: bool,
    /// Print the schema of the JSON objects.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
}

impl CatalogArgs {
    /// The contents of the catalogue. Files of other formats than the selected one have rows as well.
    fn options(&self, choice: &Choice) -> Options {
        let depth = if self.full {
            Depth::Everything
        } else {
            Depth::Headers
        };
        let reading = Reading {
            format: None,
            ..choice.reading(SHARES, true)
        };
        let Self {
            hash, max_output, ..
        } = *self;
        Options {
            depth,
            hash,
            formats: Vec::new(),
            max_output,
            output_remedy: "--max-output",
            reading,
        }
    }
}

pub(crate) fn run(
    args: &CatalogArgs,
    choice: &Choice,
    screen: Screen,
    out: &mut (impl Write + Send),
) -> io::Result<Outcome> {
    let items = Arc::new(Vec::<Item>::from(inputs::find(&args.paths, choice)));
    let Some(path) = &args.output else {
        let kind = if args.json {
            FileKind::Json
        } else {
            FileKind::Csv
        };
        let (written, _) = write(&items, args, choice, Writer::new(kind, out)?)?;
        if written.is_interrupted {
            print_stderr(format_args!("STOPPED: {}", written.counts(args)));
        } else if written.troubled.sum() > 0 {
            print_stderr(written.counts(args));
        }
        return Ok(written.outcome());
    };
    let kind = match FileKind::of_path(path) {
        Ok(kind) => kind,
        Err(why) => {
            return usage(format_args!("{}: {why}", text::path(path)));
        }
    };
    match to_file(&items, args, choice, kind, path) {
        Ok(written) => {
            let counts = written.counts(args);
            match written.is_interrupted {
                true => print_stderr(format_args!(
                    "{}: STOPPED, nothing written: {counts}",
                    text::path(path)
                )),
                false if args.json => {
                    let summary = json!({
                        "meshmap": 1,
                        "output": path.to_string_lossy(),
                        "output_bytes": path_bytes(path),
                        "files": items.len(),
                        "rows": written.rows,
                        "errors": written.errors,
                    });
                    json_text::write(&mut *out, &summary)?;
                    writeln!(out)?;
                }
                false if choice.quiet && written.troubled.sum() == 0 => {}
                false => {
                    let lines = screen.fit(&format!("{}: {counts}", text::path(path)));
                    out.write_all(&text::joined(lines))?;
                }
            }
            Ok(written.outcome())
        }
        Err(error) => bad(format_args!(
            "{}: {}",
            text::path(path),
            words::writing(&error)
        )),
    }
}

/// The file appears when it is complete.
fn to_file(
    items: &Arc<Vec<Item>>,
    args: &CatalogArgs,
    choice: &Choice,
    kind: FileKind,
    path: &Path,
) -> io::Result<Written> {
    let (written, output) = write(
        items,
        args,
        choice,
        Writer::new(kind, outputs::create(path)?)?,
    )?;
    if !written.is_interrupted {
        output.finish()?;
    }
    Ok(written)
}

#[derive(Default)]
struct Written {
    rows: u64,
    /// Rows with an error.
    errors: u64,
    files: u64,
    troubled: Troubled,
    is_interrupted: bool,
}

impl Written {
    /// Counts the rows of one file.
    fn add(&mut self, rows: &[Row]) {
        let errors = rows
            .iter()
            .filter(|row| row.error.is_some() || row.part_error.is_some());
        let is_open = rows
            .iter()
            .all(|row| row.error.is_none() || row.address.is_some());
        self.rows += rows.len() as u64;
        self.files += u64::from(!rows.is_empty());
        self.troubled.not_readable += u64::from(!is_open);
        self.troubled.damaged += u64::from(is_open && errors.clone().next().is_some());
        self.errors += errors.count() as u64;
    }

    fn counts(&self, args: &CatalogArgs) -> String {
        let rows = text::plural(self.rows, "row");
        let files = text::plural(self.files, "file");
        let colon = if self.troubled.sum() > 0 { ": " } else { "" };
        let not_checked = if args.full {
            String::new()
        } else {
            format!("; {NOT_CHECKED}")
        };
        format!("{rows} for {files}{colon}{}{not_checked}", self.troubled)
    }

    fn outcome(&self) -> Outcome {
        if self.is_interrupted {
            Outcome::Interrupted
        } else {
            Outcome::good_if(self.troubled.sum() == 0)
        }
    }
}

fn write<W: Write + Send>(
    items: &Arc<Vec<Item>>,
    args: &CatalogArgs,
    choice: &Choice,
    mut writer: Writer<W>,
) -> io::Result<(Written, W)> {
    /// Rows that are written together, and bytes of them.
    const TOGETHER: usize = 8192;
    const BYTES_TOGETHER: u64 = 16 << 20;
    let options = args.options(choice);
    let mut written = Written::default();
    let (mut waiting, mut bytes): (Vec<Row>, u64) = (Vec::new(), 0);
    let mut outcome = Ok(());
    let handed = pool::in_order(
        items,
        choice.pool(0),
        interrupt::watch(),
        move |item| rows::of(item, &options),
        |_, rows| {
            written.add(&rows);
            for row in rows {
                bytes += row.byte_len();
                waiting.push(row);
                if outcome.is_ok() && (waiting.len() >= TOGETHER || bytes >= BYTES_TOGETHER) {
                    outcome = writer.write(&waiting);
                    waiting.clear();
                    bytes = 0;
                }
            }
            if outcome.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        },
    );
    outcome?;
    writer.write(&waiting)?;
    let mut out = writer.finish()?;
    out.flush()?;
    written.is_interrupted = handed < items.len();
    Ok((written, out))
}
