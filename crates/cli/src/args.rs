//! The arguments of the command line, and what becomes of them.
//!
//! One file because the options of a command and the settings that they become are read side by side.

use std::ffi::OsString;
use std::io::{self, Write};
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use meshmap::cgeo::Dialect;
use meshmap::{Address, Axis, Severity};
use meshmap_catalog::inspect::parse_dialect;
use meshmap_catalog::rows::Options;
use meshmap_export::{Convert, Lods, Mode, NonFinite, Output, Render, Samples, Target};

use crate::commands::catalog;
use crate::commands::{Outcome, convert, diff, digest, dump, info, render, tell, verify, view};
use crate::inputs::{Choice, FileList, Memory, parse_size as parse_bytes};
use crate::interrupt;
use crate::page::List;
use crate::rules::{self, Allowed};
use crate::screen::{Color, Screen};

/// The schemas of the objects that `--json` prints.
const SCHEMA: &str = include_str!("../schema/info-1.json");
const SCHEMA_OF_OUTPUTS: &str = include_str!("../schema/outputs-1.json");
const SCHEMA_OF_DIFF: &str = include_str!("../schema/diff-1.json");
const SCHEMA_OF_CATALOG: &str = include_str!("../schema/catalog-1.json");

const STATUS: &str = "Exit status, of all commands:\n  0    no problem\n  1    a file cannot be read, used or written, files \
    differ, or no file was found\n  2    the arguments are wrong\n  130  interrupted";

const MARKS: &str = "Marks:\n  x    the file, or a part of it, cannot be used\n  !!   the specification forbids it; all parts \
    can be used\n  !    allowed, but probably a mistake\n       without a mark: a note, which is harmless";

const EXAMPLES: &str = "Examples:
  meshmap info proxy.cgeo                   a page about one file
  meshmap info scans/                       a row for each file below a directory
  meshmap info --json scans/ | jq .format   one JSON object for each file
  meshmap verify scans/ --fail-on forbidden PASS or FAIL, and what is wrong
  meshmap dump mesh.ctm bodies[0].positions --stats
  meshmap diff before.iqm after.iqm
  meshmap render proxy.cgeo -o proxy.png    a picture; without -o, on the terminal
  curl -s URL | meshmap info -              standard input";

/// Inspects, verifies and compares 3D mesh files: CGeo (Corona proxies), IQM, OpenCTM, Second Life mesh assets and TMF.
#[derive(Parser)]
#[command(name = "meshmap", version, max_term_width = 100, after_help = concat_help(EXAMPLES))]
struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value = "auto")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

fn concat_help(examples: &str) -> String {
    format!("{examples}\n\n{STATUS}")
}

#[derive(Subcommand)]
enum Command {
    /// Show the contents of files: parts, counts, sizes and problems.
    #[command(after_help = concat_help("Examples:\n  meshmap info proxy.cgeo\n  meshmap info --json . -g '*.iqm' | \
        jq -r 'select(.error) | .path'\n  meshmap info --report broken.cgeo > report.txt"))]
    Info {
        /// Files, directories to search, or `-` for standard input.
        #[arg(required_unless_present_any = ["schema", "files_from"])]
        paths: Vec<PathBuf>,
        /// Print a JSON object for each file, one per line.
        #[arg(long)]
        json: bool,
        /// Print the schema of the JSON objects.
        #[arg(long, exclusive = true)]
        schema: bool,
        /// Decode and check everything: exact counts, and the problems that `verify` reports. By default little is read, and
        /// NaN or values out of range may be missed: the last line reports this, and in JSON `checked` is false.
        #[arg(long)]
        full: bool,
        /// List the time, size and kind of every snapshot of one CGeo file.
        #[arg(long, conflicts_with_all = ["json", "report", "boxes"])]
        snapshots: bool,
        /// List the bounding box of every snapshot of one CGeo file.
        #[arg(long, conflicts_with_all = ["json", "report"])]
        boxes: bool,
        /// Print the structure without geometry and names, for bug reports. Also works for files that cannot be opened.
        #[arg(long, conflicts_with_all = ["json", "full"])]
        report: bool,
        /// Add bytes of a file that cannot be opened to the report. They can contain names.
        #[arg(long, requires = "report")]
        hex: bool,
        /// Force the dialect of CGeo files: CODEC,SIZE,OFFSET,PREFIX, such as zlib,stored,first_section,none.
        #[arg(long, value_name = "DIALECT", value_parser = parse_dialect)]
        dialect: Option<Dialect>,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Decode and check everything, and print a verdict: PASS, FAIL or STOPPED.
    #[command(after_help = concat_help("Examples:\n  meshmap verify assets/ --fail-on forbidden\n  meshmap verify \
        assets/ --fail-on suspicious --allow slmesh.degenerate\n  meshmap verify --json assets/ | jq -c .findings[]\n  \
        find . -name '*.iqm' -print0 | meshmap verify -q -0 --files-from -") + "\n\n" + MARKS)]
    Verify {
        /// Files, directories to search, or `-` for standard input.
        #[arg(required_unless_present_any = ["rules", "files_from"])]
        paths: Vec<PathBuf>,
        /// Minimum severity that makes a file fail. A part that cannot be used always does.
        #[arg(long, value_enum, value_name = "SEVERITY")]
        fail_on: Option<FailOn>,
        /// Ignore this rule: IDENTIFIER, or FORMAT.IDENTIFIER.
        #[arg(long, value_name = "RULE", value_parser = Allowed::parse)]
        allow: Vec<Allowed>,
        /// List the rules, with their severities.
        #[arg(long, exclusive = true)]
        rules: bool,
        /// Print a JSON object for each file, one per line, and the verdict on standard error.
        #[arg(long)]
        json: bool,
        /// Decode everything with both decoders of each codec, and compare the bytes.
        #[arg(long)]
        cross_check: bool,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Print the values of one array, or list all arrays.
    #[command(after_help = concat_help("Examples:\n  meshmap dump proxy.cgeo\n  meshmap dump proxy.cgeo \
        snapshots[3].positions --head 10\n  meshmap dump body.slmesh high_lod.faces[0].positions --stats\n  meshmap dump \
        mesh.ctm bodies[0].positions --as npy -o positions.npy"))]
    Dump {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// Address of the array, such as snapshots[3].positions, or of an element, such as snapshots[3].positions[7]. With the
        /// address of a part, such as snapshots[3], list its arrays, or show its bytes if it has none, such as header. Without an
        /// address, list all arrays.
        address: Option<String>,
        /// List the address, shape and type of every array, and the parts that cannot be used.
        #[arg(long, conflicts_with = "address")]
        list: bool,
        /// The format of the values.
        #[arg(long = "as", value_enum, value_name = "FORM", default_value = "table")]
        form: dump::Form,
        /// Print only the first N elements.
        #[arg(long, value_name = "N")]
        head: Option<usize>,
        /// Print the minimum, the maximum, the mean, the number of NaN values, and a histogram.
        #[arg(long, conflicts_with = "form")]
        stats: bool,
        /// Write to this file instead of standard output.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Map the file instead of reading it; it must not change meanwhile.
        #[arg(long)]
        mmap: bool,
        #[command(flatten)]
        memory: Memory,
    },
    /// Compare two files, or the files of two directories.
    #[command(after_help = concat_help("Examples:\n  meshmap diff before.iqm after.iqm\n  meshmap diff mesh.raw.ctm \
        mesh.mg2.ctm --tolerance 0.001\n  meshmap diff exported/ reference/\n  meshmap diff mesh.raw.ctm mesh.mg2.ctm \
        --picture distances.png"))]
    Diff {
        /// A file of any of the formats, or a directory.
        #[arg(required_unless_present = "schema")]
        a: Option<PathBuf>,
        /// The other file.
        #[arg(required_unless_present = "schema")]
        b: Option<PathBuf>,
        /// Treat numbers as equal that differ by this or less.
        #[arg(long, default_value_t = 0.0, value_parser = parse_tolerance)]
        tolerance: f64,
        /// Write a PNG of the first mesh, coloured by the distances between vertices. Both must have the same triangles.
        #[arg(long, value_name = "FILE")]
        picture: Option<PathBuf>,
        /// Print a JSON object for each pair of files, one per line, and the verdict on standard error.
        #[arg(long)]
        json: bool,
        /// Print the schema of the JSON objects.
        #[arg(long, exclusive = true)]
        schema: bool,
        #[command(flatten)]
        choice: Choice,
    },
    /// Convert files to glTF, USD, OBJ, PLY, STL or PC2: one file, or whole directories.
    ///
    /// Parts that cannot be used are reported as in `verify`, and the rest is written; the exit status is then 1. In files
    /// larger than 64 MiB, only the converted parts are checked.
    #[command(after_help = concat_help("Examples:\n  meshmap convert proxy.cgeo -o proxy.glb\n  meshmap convert \
        proxy.cgeo --snapshot 0..99:10 -o proxy.glb\n  meshmap convert man.iqm --with walk.iqm run.iqm -o man.glb\n  \
        meshmap convert man.iqm --frame 12 -o man.obj\n  meshmap convert assets/ --to glb -o converted/"))]
    Convert {
        /// Files, directories to search, or `-` for standard input.
        #[arg(required_unless_present_any = ["files_from", "schema"])]
        paths: Vec<PathBuf>,
        /// The file to write or, for directories and several files, the directory; `-` is standard output.
        #[arg(short, long, value_name = "PATH", required_unless_present = "schema")]
        output: Option<PathBuf>,
        #[arg(long, value_name = "FORMAT", value_parser = parse_target, help = help_of_targets())]
        to: Option<Target>,
        /// Select the mesh at this address, such as high_lod.faces[0], or the meshes of a part, such as high_lod. Can be given several
        /// times.
        #[arg(long, value_name = "ADDRESS")]
        mesh: Vec<Address>,
        /// The axis that points up, for glTF and USD: x, y or z [default: the axis of the format].
        #[arg(long, value_name = "AXIS", value_parser = parse_axis)]
        up: Option<Axis>,
        /// Reverse the winding of all triangles.
        #[arg(long)]
        flip: bool,
        /// Snapshots of a CGeo file: one, such as 7, an inclusive range, such as 0..39, or every second one of it,
        /// 0..39:2. Targets without animations use the first.
        #[arg(long, value_name = "RANGE", value_parser = parse_snapshots)]
        snapshot: Option<Snapshots>,
        /// One frame of an IQM animation, counted from 0: moved vertices, without joints.
        #[arg(long, value_name = "N", conflicts_with = "snapshot")]
        frame: Option<u32>,
        /// The snapshot or frame nearest to this time.
        #[arg(long, value_name = "SECONDS", conflicts_with_all = ["frame", "snapshot"], value_parser = parse_time)]
        time: Option<f64>,
        /// Select the IQM animation with this name. Without it, --frame and --time use the first.
        #[arg(long, value_name = "NAME")]
        anim: Option<String>,
        /// Use only every N-th snapshot.
        #[arg(long, value_name = "N")]
        every: Option<NonZero<usize>>,
        /// Level of detail of a Second Life asset: high, medium, low, lowest or all [default: the finest].
        #[arg(long, value_name = "LEVEL", value_parser = parse_lods)]
        lod: Option<Lods>,
        /// Add the animations of these IQM files, or of the files in these directories that have the same joints.
        #[arg(long, value_name = "PATH", num_args = 1..)]
        with: Vec<PathBuf>,
        /// Snapshots or frames per second, for glTF and USD [default: the rate of the file].
        #[arg(long, value_name = "RATE", value_parser = parse_rate)]
        fps: Option<f64>,
        /// The unit, for glTF and USD: mm, cm, m, in, ft, or a number of millimetres [default: the unit of the file].
        #[arg(long, value_name = "LENGTH", value_parser = parse_unit)]
        unit: Option<f64>,
        /// In glTF, write the integers of a Second Life asset as stored. Not all programs read them.
        #[arg(long)]
        quantized: bool,
        /// In glTF, write the joints of a Second Life asset as children of their parents.
        #[arg(long)]
        nest: bool,
        /// In glTF, also write the normals of snapshots.
        #[arg(long)]
        morph_normals: bool,
        /// In glTF, write all values of morph targets, for programs that cannot read sparse ones.
        #[arg(long)]
        dense: bool,
        /// Leave out triangles with two equal corners, which crash some programs, and print their number.
        #[arg(long)]
        drop_degenerate: bool,
        /// Write one material for all material IDs of a CGeo file, and the IDs as an attribute if the format has attributes.
        #[arg(long)]
        merge_materials: bool,
        /// Write 0 for NaN and infinite values.
        #[arg(long)]
        zero_non_finite: bool,
        /// Read the output again, compare it with the file, and report what is equal bit for bit.
        #[arg(long)]
        check: bool,
        /// Limit the output for one file to SIZE, such as 4GiB [default: 64MiB, or 256 times the file if that is more].
        #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
        max_output: Option<u64>,
        /// Print the outputs, and write nothing.
        #[arg(long)]
        dry_run: bool,
        /// Print a JSON object for each file, one per line, and the summary on standard error.
        #[arg(long, conflicts_with = "dry_run")]
        json: bool,
        /// Print the schema of the JSON objects.
        #[arg(long, exclusive = true)]
        schema: bool,
        /// Write outputs in a directory even if they are up to date: made from the same file, with the same options, by this
        /// version.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Draw files as PNG (one picture, an animation or a contact sheet) or on the terminal.
    #[command(after_help = concat_help("Examples:\n  meshmap render mesh.ctm                         on the terminal\n  \
        meshmap render proxy.cgeo --time 0.49 -o wave.png\n  meshmap render man.iqm --anim idle --animate -o idle.png\n  \
        meshmap render mesh.tmf --turntable 48 -o mesh.png\n  meshmap render assets/ -o pictures/             one for \
        each file\n  meshmap render assets/ --sheet -o sheet.png     one with a tile for each file\n  meshmap render \
        proxy.cgeo --sheet --every 4 -o sheet.png"))]
    Render {
        /// Files, directories to search, or `-` for standard input.
        #[arg(required_unless_present_any = ["files_from", "schema"])]
        paths: Vec<PathBuf>,
        /// The PNG to write or, for directories and several files, the directory [default: the terminal].
        #[arg(short, long, value_name = "PATH")]
        output: Option<PathBuf>,
        /// Write into an existing output instead of replacing it, whatever its extension. For file managers, which hold it open.
        #[arg(long, requires = "output", conflicts_with = "motion")]
        thumbnail: bool,
        #[command(flatten)]
        how: Drawing,
        /// Print a JSON object for each file, one per line, and the summary on standard error.
        #[arg(long, requires = "output")]
        json: bool,
        /// Print the schema of the JSON objects.
        #[arg(long, exclusive = true)]
        schema: bool,
        /// Draw pictures in a directory even if they are up to date: made from the same file, with the same options, by this
        /// version.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Show files in the browser, through a server that only this machine can reach.
    ///
    /// The page shows the contents of the files, plays snapshots and animations, and reads only the parts that it shows. The command ends
    /// when the last tab is closed. Builds need the feature `view`.
    #[command(after_help = concat_help("Examples:\n  meshmap view proxy.cgeo\n  meshmap view assets/ -g '*.iqm'\n  meshmap \
        view --no-open assets/                 only print the address"))]
    View {
        /// Files, directories to search, or `-` for standard input.
        #[arg(required_unless_present = "files_from")]
        paths: Vec<PathBuf>,
        /// Print the URL of the page, and do not open it.
        #[arg(long)]
        no_open: bool,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Write a table with a row for each mesh of many files: the facts of its headers, or the reason why it cannot be read.
    #[command(after_help = concat_help("Examples:\n  meshmap catalog assets/ -o assets.parquet\n  meshmap catalog assets/ \
        --full --hash -o assets.arrow\n  meshmap catalog assets/ -g '*.iqm' > models.csv"))]
    Catalog {
        /// Files, and directories to search.
        #[arg(required_unless_present_any = ["files_from", "schema"])]
        paths: Vec<PathBuf>,
        /// The file to write: .csv or .jsonl, and .parquet or .arrow in builds with the feature `parquet`. Without it, CSV on
        /// standard output.
        #[arg(short, long)]
        output: Option<PathBuf>,
        /// Decode and check everything: every count and box, and the findings and errors that `verify` reports.
        #[arg(long)]
        full: bool,
        /// Add the SHA-256 of each file, which reads all its bytes.
        #[arg(long)]
        hash: bool,
        /// Limit the rows of one file to SIZE, such as 4GiB [default: 64MiB, or 256 times the file if that is more].
        #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
        max_output: Option<u64>,
        /// Print rows as JSON objects, one per line, without -o; with -o, a summary as a JSON object.
        #[arg(long)]
        json: bool,
        /// Print the schema of the JSON objects.
        #[arg(long, exclusive = true)]
        schema: bool,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Print a SHA-256 of every decoded array as JSON, to compare readers. Fails for files that `verify` reports as broken.
    Digest {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// Include all bodies of an OpenCTM file, with full addresses; by default only the first one, without `bodies[0].`.
        #[arg(long)]
        all: bool,
        /// Map the file instead of reading it; it must not change meanwhile.
        #[arg(long)]
        mmap: bool,
        #[command(flatten)]
        memory: Memory,
    },
    /// Print a script that completes arguments in a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

/// The style of the picture.
#[derive(clap::Args)]
struct Drawing {
    /// Width and height in pixels [default: 1024x1024; tiles 256x256, or 128x128 if there are more than 400].
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: Option<[u32; 2]>,
    /// Samples per pixel: 1, 4 or 9.
    #[arg(long, value_name = "N", default_value = "4", value_parser = parse_samples)]
    samples: Samples,
    /// Look of the triangles: shaded, clay (one colour for all materials), wireframe or normals.
    #[arg(long, value_name = "MODE", default_value = "shaded", value_parser = parse_mode)]
    mode: Mode,
    /// The axis that points up: x, y or z [default: the axis of the format].
    #[arg(long, value_name = "AXIS", value_parser = parse_axis)]
    up: Option<Axis>,
    /// Select the mesh at this address, such as high_lod.faces[0], or the meshes of a part, such as high_lod. Can be given several
    /// times.
    #[arg(long, value_name = "ADDRESS")]
    mesh: Vec<Address>,
    /// Level of detail of a Second Life asset: high, medium, low, lowest or all [default: the finest].
    #[arg(long, value_name = "LEVEL", value_parser = parse_lods, conflicts_with = "mesh")]
    lod: Option<Lods>,
    /// The snapshot of a CGeo file, counted from 0.
    #[arg(long, value_name = "N", group = "moment")]
    snapshot: Option<usize>,
    /// The frame of an IQM animation, counted from 0.
    #[arg(long, value_name = "N", group = "moment")]
    frame: Option<u32>,
    /// The snapshot or frame nearest to this time.
    #[arg(long, value_name = "SECONDS", group = "moment", value_parser = parse_time)]
    time: Option<f64>,
    /// The IQM animation with this name [default: the first].
    #[arg(long, value_name = "NAME")]
    anim: Option<String>,
    /// Write an APNG of N pictures in which the mesh turns around.
    #[arg(long, value_name = "N", group = "motion", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    turntable: Option<u32>,
    /// Write an APNG of all snapshots or frames.
    #[arg(long, group = "motion", conflicts_with = "moment")]
    animate: bool,
    /// Write a contact sheet of all files or, for a single file, of its snapshots or frames.
    #[arg(long, group = "motion")]
    sheet: bool,
    /// Use only every N-th snapshot or frame.
    #[arg(long, value_name = "N", default_value = "1")]
    every: std::num::NonZero<usize>,
    /// Draw 0 for NaN and infinite values.
    #[arg(long)]
    zero_non_finite: bool,
}

impl Drawing {
    fn into_wish(self, output: Option<PathBuf>, force: bool, json: bool) -> render::Wish {
        let non_finite = if self.zero_non_finite { NonFinite::Zero } else { NonFinite::Refuse };
        let mut render = Render::new()
            .with_samples(self.samples)
            .with_mode(self.mode)
            .with_every(self.every.get())
            .with_non_finite(non_finite);
        render = self.mesh.into_iter().fold(render, Render::with_mesh);
        render = said(render, self.size, |render, [width, height]| render.with_size(width, height));
        render = said(render, self.up, Render::with_up);
        render = said(render, self.lod, Render::with_lods);
        render = said(render, self.snapshot, Render::with_snapshot);
        render = said(render, self.frame, Render::with_frame);
        render = said(render, self.time, Render::with_time);
        render = said(render, self.anim, Render::with_anim);
        render = said(render, self.turntable, Render::with_turntable);
        render = said(render, self.animate.then_some(()), |render, ()| render.with_animation());
        render = said(render, self.sheet.then_some(()), |render, ()| render.with_sheet());
        let moves = self.turntable.is_some() || self.animate;
        render::Wish {
            output,
            thumbnail: false,
            render,
            size: self.size,
            sheet: self.sheet,
            moves,
            force,
            json,
        }
    }
}

/// A picture or a conversion with a setting, if the option was given.
fn said<B, T>(builder: B, value: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match value {
        Some(value) => set(builder, value),
        None => builder,
    }
}

fn parse_size(text: &str) -> Result<[u32; 2], String> {
    const LONGEST: u32 = 8192;
    let sides =
        text.split_once('x').and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    let is_possible = |sides: &[u32; 2]| sides.iter().all(|side| (1..=LONGEST).contains(side));
    sides.filter(is_possible).ok_or_else(|| format!("expected WIDTHxHEIGHT, each from 1 to {LONGEST}"))
}

fn parse_samples(text: &str) -> Result<Samples, String> {
    match text {
        "1" => Ok(Samples::One),
        "4" => Ok(Samples::Four),
        "9" => Ok(Samples::Nine),
        _ => Err("expected 1, 4 or 9".to_owned()),
    }
}

fn parse_mode(text: &str) -> Result<Mode, String> {
    match text {
        "shaded" => Ok(Mode::Shaded),
        "clay" => Ok(Mode::Clay),
        "wireframe" => Ok(Mode::Wireframe),
        "normals" => Ok(Mode::Normals),
        _ => Err("expected shaded, clay, wireframe or normals".to_owned()),
    }
}

fn parse_time(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("expected a number".to_owned()),
    }
}

/// Lists the targets in the help of `--to`.
fn help_of_targets() -> String {
    let [others @ .., last] = Target::ALL.map(Target::name);
    format!("The format: {} or {last} [default: by the ending of the output]", others.join(", "))
}

fn parse_target(text: &str) -> Result<Target, String> {
    let target = Target::ALL.into_iter().find(|target| target.name() == text);
    target.ok_or_else(|| format!("expected {}", Target::ALL.map(Target::name).join(", ")))
}

/// A range of snapshots, and the step from one to the next.
#[derive(Clone, Debug, PartialEq)]
struct Snapshots {
    range: RangeInclusive<usize>,
    every: Option<NonZero<usize>>,
}

fn parse_snapshots(text: &str) -> Result<Snapshots, String> {
    let (range, every) = match text.split_once(':') {
        Some((range, every)) => (range, Some(every.parse::<NonZero<usize>>().ok())),
        None => (text, None),
    };
    let number = |text: &str, otherwise| if text.is_empty() { Some(otherwise) } else { text.parse().ok() };
    let ends = match range.split_once("..") {
        Some((first, last)) => number(first, 0).zip(number(last, usize::MAX)),
        None => range.parse().ok().map(|one| (one, one)),
    };
    match (ends, every) {
        (Some((first, last)), None) if first <= last => Ok(Snapshots { range: first..=last, every: None }),
        (Some((first, last)), Some(Some(every))) if first <= last => {
            Ok(Snapshots { range: first..=last, every: Some(every) })
        }
        _ => Err("expected a number such as 7, or a range such as 0..39 or 0..39:2".to_owned()),
    }
}

fn parse_lods(text: &str) -> Result<Lods, String> {
    match text.strip_suffix("_lod").unwrap_or(text) {
        "high" => Ok(Lods::Only(0)),
        "medium" => Ok(Lods::Only(1)),
        "low" => Ok(Lods::Only(2)),
        "lowest" => Ok(Lods::Only(3)),
        "all" => Ok(Lods::All),
        _ => Err("expected high, medium, low, lowest or all".to_owned()),
    }
}

/// A length in millimetres.
fn parse_unit(text: &str) -> Result<f64, String> {
    match text {
        "mm" => Ok(1.0),
        "cm" => Ok(10.0),
        "m" => Ok(1000.0),
        "in" => Ok(25.4),
        "ft" => Ok(304.8),
        _ => {
            parse_rate(text).map_err(|_| "expected mm, cm, m, in, ft, or a number of millimetres".to_owned())
        }
    }
}

fn parse_axis(text: &str) -> Result<Axis, String> {
    match text {
        "x" => Ok(Axis::X),
        "y" => Ok(Axis::Y),
        "z" => Ok(Axis::Z),
        _ => Err("expected x, y or z".to_owned()),
    }
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number that is not negative".to_owned()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Values that are allowed, but likely not intended, and everything worse.
    Suspicious,
    /// Values that the specification of the format forbids.
    Forbidden,
}

/// The commands and their arguments, for checks that cover all of them.
#[must_use]
pub fn definition() -> clap::Command {
    Cli::command()
}

/// Runs the command line with these arguments, the first of which is the program's name.
///
/// Pages go to standard output, errors to standard error. The status is 0; 1 if at least one file cannot be read or
/// used, or files differ; 2 if the arguments are wrong; 130 if the command was interrupted.
pub fn run<T: Into<OsString> + Clone>(args: impl IntoIterator<Item = T>) -> ExitCode {
    ExitCode::from(run_to_status(args))
}

/// Like [`run`], but returns the status as a number, for programs that set the exit status themselves.
pub fn run_to_status<T: Into<OsString> + Clone>(args: impl IntoIterator<Item = T>) -> u8 {
    const FAILURE: u8 = 1;
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // If the error stream is closed, the message is lost.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(FAILURE);
        }
    };
    let screen = Screen::of_output(cli.color);
    let out = &mut io::BufWriter::new(io::stdout());
    let outcome = command(cli.command, screen, out);
    if matches!(outcome, Ok(Outcome::Interrupted)) {
        // Other threads may still be writing.
        Output::remove_all();
    }
    let status = match &outcome {
        Ok(Outcome::Good) => 0,
        Ok(Outcome::Usage) => 2,
        Ok(Outcome::Interrupted) => interrupt::STATUS,
        Ok(Outcome::Bad) => FAILURE,
        // Whoever reads the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
        Err(_) => FAILURE,
    };
    match outcome.map(drop).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            tell(format_args!("standard output: {error}"));
            FAILURE
        }
        _ => status,
    }
}

fn print(text: &str, out: &mut impl Write) -> io::Result<Outcome> {
    out.write_all(text.as_bytes())?;
    Ok(Outcome::Good)
}

fn command(command: Command, screen: Screen, out: &mut (impl Write + Send)) -> io::Result<Outcome> {
    match command {
        Command::Info { schema: true, .. } => print(SCHEMA, out),
        Command::Convert { schema: true, .. } | Command::Render { schema: true, .. } => {
            print(SCHEMA_OF_OUTPUTS, out)
        }
        Command::Diff { schema: true, .. } => print(SCHEMA_OF_DIFF, out),
        Command::Catalog { schema: true, .. } => print(SCHEMA_OF_CATALOG, out),
        Command::Info { paths, json, full, snapshots, boxes, report, hex, dialect, list, choice, .. } => {
            let choice = with_list(choice, list);
            let list = if boxes { Some(List::Boxes) } else { snapshots.then_some(List::Snapshots) };
            info::run(
                &paths,
                &info::InfoArgs { json, full, list, report, hex, dialect },
                &choice,
                screen,
                out,
            )
        }
        Command::Verify { rules: true, .. } => {
            for [format, id, severity, name] in rules::list() {
                writeln!(out, "{:<36} {severity:<11} {name}", format!("{format}.{id}"))?;
            }
            Ok(Outcome::Good)
        }
        Command::Verify { paths, fail_on, allow, json, cross_check, list, choice, .. } => {
            let choice = with_list(choice, list);
            let fail_on = match fail_on {
                None => Severity::Unusable,
                Some(FailOn::Suspicious) => Severity::Suspicious,
                Some(FailOn::Forbidden) => Severity::Forbidden,
            };
            let wish = verify::VerifyArgs { fail_on, allowed: allow, cross_check, json };
            verify::run(&paths, &wish, &choice, screen, out)
        }
        Command::Dump { path, address, list: _, form, head, stats, output, mmap, memory } => {
            let wish = dump::DumpArgs { form, head, stats, output, mmap, memory };
            wish.memory.job(|| dump::run(&path, address.as_deref(), &wish, screen, out))
        }
        Command::Diff { a, b, tolerance, picture, json, choice, .. } => {
            threads(&choice);
            // Without --schema, clap has required them.
            let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
            diff::run(&a, &b, &diff::DiffArgs { tolerance, picture, json }, &choice, screen, out)
        }
        Command::Convert {
            paths,
            output,
            to,
            mesh,
            up,
            flip,
            snapshot,
            frame,
            time,
            anim,
            every,
            lod,
            with,
            fps,
            unit,
            quantized,
            nest,
            morph_normals,
            dense,
            drop_degenerate,
            merge_materials,
            zero_non_finite,
            check,
            max_output,
            dry_run,
            json,
            force,
            list,
            choice,
            ..
        } => {
            let choice = with_list(choice, list);
            let non_finite = if zero_non_finite { NonFinite::Zero } else { NonFinite::Refuse };
            let convert = move |target| {
                let mut convert = Convert::new(target)
                    .with_flip(flip)
                    .with_dense(dense)
                    .with_drop_degenerate(drop_degenerate)
                    .with_merge_materials(merge_materials)
                    .with_non_finite(non_finite)
                    .with_lods(lod.unwrap_or_default())
                    .with_quantized(quantized)
                    .with_nested_joints(nest)
                    .with_morph_normals(morph_normals);
                if let Some(Snapshots { range, .. }) = &snapshot {
                    convert = convert.with_snapshots(range.clone());
                }
                let every = snapshot.as_ref().and_then(|snapshot| snapshot.every).or(every);
                convert = said(convert, every.map(NonZero::get), Convert::with_every);
                convert = said(convert, up, Convert::with_up);
                convert = said(convert, max_output, Convert::with_max_output_bytes);
                convert = said(convert, fps, Convert::with_rate);
                convert = said(convert, unit, Convert::with_unit);
                convert = said(convert, frame, Convert::with_frame);
                convert = said(convert, time, Convert::with_time);
                convert = said(convert, anim.clone(), Convert::with_anim);
                mesh.iter().cloned().fold(convert, Convert::with_mesh)
            };
            let output = output.unwrap_or_default();
            let wish =
                convert::Wish { output, to, convert: Box::new(convert), with, check, dry_run, force, json };
            convert::run(&paths, &wish, &choice, screen, out)
        }
        Command::Render { paths, output, thumbnail, how, json, force, list, choice, .. } => {
            let choice = with_list(choice, list);
            let wish = render::Wish { thumbnail, ..how.into_wish(output, force, json) };
            render::run(&paths, &wish, &choice, screen, out)
        }
        Command::Catalog { paths, output, full, hash, max_output, json, list, choice, .. } => {
            let choice = with_list(choice, list);
            let options = Options::default().with_full(full).with_hash(hash).with_mmap(choice.mmap);
            let options = options.with_limits(choice.memory.limits_of(2)).with_memory(choice.memory.whole());
            let options = options.with_max_output(max_output);
            catalog::run(&paths, &catalog::CatalogArgs { output, options, json }, &choice, out)
        }
        Command::View { paths, no_open, list, choice } => {
            view::run(&paths, !no_open, &with_list(choice, list), out)
        }
        Command::Digest { path, all, mmap, memory } => {
            memory.job(|| digest::run(&path, all, (mmap, memory), out))
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "meshmap", &mut script);
            out.write_all(&script)?;
            Ok(Outcome::Good)
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            out.write_all(&page)?;
            Ok(Outcome::Good)
        }
    }
}

/// Adds a list of files to the choice, and sets the number of threads.
fn with_list(choice: Choice, list: FileList) -> Choice {
    threads(&choice);
    Choice { list, ..choice }
}

/// Sets the number of threads, which also decode a single file.
fn threads(choice: &Choice) {
    if let Some(threads) = choice.threads {
        // A pool that the calling program has already made stays in use.
        drop(rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global());
    }
}
