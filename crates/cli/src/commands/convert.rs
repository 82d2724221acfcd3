//! `meshmap convert`: files of other formats.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use meshmap::MeshFile;
use meshmap::iqm::Model;
use meshmap_catalog::{inspect, json as json_text};
use meshmap_export::{Convert, Target};
use meshmap_outputs::{Outputs, Place};
use meshmap_url::RemoteUrl;
use serde_json::{Value, json};

use super::outputs::{self, Damaged, Job, JobResult, Plan, Remark, STANDARD_OUTPUT, Written};
use super::{
    Outcome, Reporting, bad, making, print_stderr, report, taking_negative_numbers, usage,
};
use crate::inputs::{self, Choice, Durable, FileList, Found, Input, Problem, Reading};
use crate::screen::Screen;
use crate::{text, words};

/// The arguments of `meshmap convert`.
#[derive(Args)]
#[command(mut_arg("max_output_bytes", |argument| argument.value_parser(inputs::parse_size)))]
#[command(mut_arg("every", |argument| argument.value_parser(inputs::parse_from_one)))]
#[command(mut_arg("textures", |argument| argument.value_parser(inputs::folder_parser())))]
#[command(mut_args(taking_negative_numbers))]
#[command(mut_arg("up", |argument| argument.allow_hyphen_values(true)))]
pub(crate) struct ConvertArgs {
    /// Files, directories to search, or `-` for standard input.
    #[arg(required_unless_present_any = ["files_from", "schema"])]
    paths: Vec<PathBuf>,
    /// The file to write; for several files, the directory. The folder of a file has to exist, and a directory is created; `-` is
    /// standard output.
    #[arg(short, long, value_name = "PATH", required_unless_present = "schema", value_parser = inputs::output_or_store_parser())]
    output: Option<PathBuf>,
    #[arg(long, value_name = "FORMAT", help = help_of_targets())]
    to: Option<Target>,
    #[command(flatten)]
    convert: Convert,
    /// Add the animations of these IQM files. In directories, only files with the same joints are used.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    with: Vec<PathBuf>,
    /// Print the outputs, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print a JSON object for each file, one per line, and the summary on standard error.
    #[arg(long, conflicts_with = "dry_run")]
    json: bool,
    /// Print the schema of the JSON objects.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
    /// Write outputs in a directory even if they are up to date: made from the same file, with the same options, by this
    /// version.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pub(crate) durable: Durable,
}

impl ConvertArgs {
    fn output(&self) -> &Path {
        // Without --schema, clap has required it.
        self.output.as_deref().unwrap_or(Path::new(""))
    }

    /// The conversion to a target. Prints an error about an option that has no effect.
    fn convert(&self, target: Target) -> Option<Convert> {
        let convert = Convert {
            target,
            textures: outputs::absolute(&self.convert.textures),
            ..self.convert.clone()
        };
        match convert.check_settings() {
            Ok(()) => Some(convert),
            Err(error) => {
                print_stderr(error.words(&words::option::<Convert>));
                None
            }
        }
    }
}

/// Lists the targets in the help of `--to`.
fn help_of_targets() -> String {
    let [others @ .., last] = Target::ALL.map(Target::name);
    format!(
        "Format: {} or {last}. By default the ending of the output decides",
        others.join(", ")
    )
}

/// Files up to this size are checked for all that is wrong with them if they cannot be converted.
const CHECKED: u64 = 64 << 20;

pub(crate) fn run(
    args: &ConvertArgs,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let mut found = inputs::find(&args.paths, choice);
    let output = args.output();
    if output.as_os_str() == STANDARD_OUTPUT {
        return to_output(&found, args, choice, screen, out);
    }
    let store = inputs::store_of(output);
    let is_folder = match &store {
        Some(url) => url.name().is_empty(),
        None => output.is_dir(),
    };
    let is_one = found.single && found.files.len() == 1 && !is_folder;
    let Some(target) = args
        .to
        .or_else(|| Target::of_path(output).filter(|_| is_one))
    else {
        let endings = Target::ALL.map(Target::name).join(", ");
        return usage(match is_one {
            true => format!(
                "{}: no target has this file extension; pass --to {endings}",
                text::path(output)
            ),
            false => format!("--to is needed for directories and several files: {endings}"),
        });
    };
    let Some(convert) = args.convert(target) else {
        return Ok(Outcome::Usage);
    };
    let outputs = match &store {
        Some(url) => {
            match outputs::in_store(url, is_one, &choice.reading(outputs::SHARES, false)) {
                Ok(outputs) => outputs,
                Err(error) => return bad(words::writing(&error)),
            }
        }
        None => Outputs::below(output),
    };
    let place = |url: &RemoteUrl| outputs.place(url.name());
    let jobs = match found.files.as_slice() {
        [input] if is_one => match store.as_ref().map_or_else(|| Place::at(output), place) {
            Ok(place) => vec![Job {
                input: input.clone(),
                place,
            }],
            Err(error) => return bad(words::writing(&error)),
        },
        _ => outputs::jobs(&args.paths, &mut found, target.name(), &outputs),
    };
    if args.dry_run {
        for Job { input, place } in &jobs {
            writeln!(out, "{} -> {}", input.shown(), text::path(&place.path()))?;
        }
        return Ok(Outcome::Good);
    }
    let how = choice.reading(outputs::SHARES, jobs.len() > 1);
    if let Some(why) = outputs::conflict(&found.files, &jobs, &how, |output| convert.names(output))
    {
        return usage(why);
    }
    let convert = Convert {
        refuses_without_effect: is_one,
        ..convert
    };
    let Some(conversion) = conversion(args, convert, choice, &how) else {
        return Ok(Outcome::Bad);
    };
    let also = conversion.animations.iter();
    let also = also
        .map(|animations| outputs::origin(&animations.input, &how))
        .collect();
    let plan = Plan {
        how,
        outputs: (!is_one || store.is_some()).then_some(&outputs),
        options: conversion.convert.identity(),
        also,
        force: args.force || is_one,
        library: conversion.convert.library.clone(),
        reporting: Reporting {
            quiet: choice.quiet,
            json: args.json,
        },
        // It is charged with what is held of the file.
        making_bytes: 0,
    };
    let make = move |file: &MeshFile, job: &Job| make(file, job, &conversion);
    making::all(found, jobs, &plan, choice, screen, make, out)
}

/// The conversion of files, if their additional inputs can be read.
fn conversion(
    args: &ConvertArgs,
    convert: Convert,
    choice: &Choice,
    how: &Reading,
) -> Option<Conversion> {
    match animations(&args.with, choice, how) {
        Ok(animations) => {
            let output = args.output();
            // From standard output or a store, no path leads to an image of this machine.
            let is_file =
                output.as_os_str() != STANDARD_OUTPUT && inputs::store_of(output).is_none();
            let finds_textures = is_file || convert.copy_textures || convert.embed_textures;
            Some(Conversion {
                convert,
                animations,
                asks_for_animations: !args.with.is_empty(),
                finds_textures,
            })
        }
        Err(problem) => {
            print_stderr(problem);
            None
        }
    }
}

/// The conversion of each file.
struct Conversion {
    convert: Convert,
    animations: Vec<Animations>,
    /// `true` if animations of other files are asked for, whether there are some or not.
    asks_for_animations: bool,
    /// `true` if the output has a place from which paths could lead to images, or holds them.
    finds_textures: bool,
}

impl Conversion {
    /// The conversion of this file: the animations that it takes are added.
    ///
    /// Objects without a name are named after the file, without its extension.
    /// Images are looked for in its folder.
    fn of(&self, file: &MeshFile, input: &Input) -> Convert {
        let fits = |animations: &&Animations| {
            let joins = |model: &Model| {
                let joined = model.attach(&animations.model).ok();
                model.meshes().len() > 0
                    && joined.is_some_and(|joined| joined.resting_joints().count() == 0)
            };
            animations.input.is_named || file.as_iqm().is_some_and(joins)
        };
        let named = |Animations { input, model }: &Animations| (input.name(), model.clone());
        let animations = self.animations.iter().filter(fits).map(named).collect();
        let folder = inputs::folder_of(input).filter(|_| self.finds_textures);
        let folder = folder.map(Path::to_owned);
        Convert {
            name: input.stem(),
            animations,
            folder,
            ..self.convert.clone()
        }
    }
}

/// An IQM file with animations for others.
struct Animations {
    /// A named file is always used. A file found below a directory is used if its joints fit.
    input: Input,
    model: Model,
}

fn animations(
    paths: &[PathBuf],
    choice: &Choice,
    how: &Reading,
) -> Result<Vec<Animations>, String> {
    let mut animations = Vec::new();
    // The list names files to convert, not files with animations.
    let choice = Choice {
        list: FileList::default(),
        ..choice.clone()
    };
    for input in inputs::find(paths, &choice).files {
        let problem = |why: &dyn Display| format!("{}: {why}", input.shown());
        let model = input
            .read(how)
            .map(|file| file.and_then(|file| file.as_iqm().cloned()));
        match model {
            Ok(Some(model))
                if input.is_named || model.meshes().len() == 0 && model.anims().len() > 0 =>
            {
                animations.push(Animations { input, model });
            }
            Ok(None) if input.is_named => {
                return Err(problem(&"not an IQM file: only these have animations"));
            }
            Err(why) if input.is_named => return Err(problem(&why)),
            // A conversion of the directory reports these.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(animations)
}

/// Converts a file, and adds the parts of it that cannot be used to the result, if a part that was to be converted is one of them.
fn make(file: &MeshFile, job: &Job, conversion: &Conversion) -> JobResult {
    let (result, is_damaged) = write(file, job, conversion);
    let is_small = || {
        file.source()
            .len()
            .ok()
            .flatten()
            .is_some_and(|bytes| bytes <= CHECKED)
    };
    match result {
        JobResult::Written(mut made) if is_damaged => {
            made.damage = Damaged::new(&inspect::check(file).damage);
            JobResult::Written(made)
        }
        JobResult::Failed(ref problem) | JobResult::Nothing(ref problem)
            if !["io", "not_found"].contains(&problem.kind()) && is_small() =>
        {
            let damage = Damaged::new(&inspect::check(file).damage);
            if damage.is_empty() {
                result
            } else {
                JobResult::Unusable(damage)
            }
        }
        result => result,
    }
}

/// Also returns `true` if a part could not be converted.
fn write(
    file: &MeshFile,
    Job { input, place }: &Job,
    conversion: &Conversion,
) -> (JobResult, bool) {
    let convert = conversion.of(file, input);
    if convert.refuses_without_effect
        && conversion.asks_for_animations
        && convert.animations.is_empty()
    {
        let what = "--with has no effect: none of its animations has the joints of the file";
        return (
            JobResult::Failed(Problem::other("unsupported", what.to_owned()).into()),
            false,
        );
    }
    let outcome = match convert.write(file, place) {
        Ok(outcome) => outcome,
        Err(error) => return (JobResult::of(error), true),
    };
    let is_damaged = outcome.report.has_damage();
    let made = Written {
        about: about(&outcome),
        details: details(&outcome),
        notes: report::warnings::<Convert>(&outcome.report),
        facts: facts(&outcome),
        counts: outcome.counts(),
        files: outcome.files,
        textures: outcome.textures,
        damage: Damaged::default(),
    };
    (JobResult::Written(Box::new(made)), is_damaged)
}

/// The properties of the JSON object.
fn facts(outcome: &meshmap_export::Outcome) -> Value {
    let facts = json!({
        "triangles": outcome.triangles,
        "degenerate": outcome.degenerate,
        "vertices": outcome.vertices,
        "points": outcome.points,
        "joints": outcome.joints,
        "snapshots": outcome.snapshots,
        "animations": outcome.animations,
        "textures": outputs::textures(&outcome.textures),
        "moment": outcome.moment,
    });
    json_text::with(facts, report::facts::<Convert>(&outcome.report))
}

/// The size and the counts of what was written.
fn about(outcome: &meshmap_export::Outcome) -> String {
    let bytes = outcome.files.iter().map(|file| file.bytes);
    let counts = [
        (outcome.triangles, "triangle"),
        (outcome.vertices - outcome.points, "vertex"),
        (outcome.points, "point"),
        (outcome.joints, "joint"),
        (outcome.snapshots, "snapshot"),
        (outcome.animations, "animation"),
        (outcome.textures.found().count() as u64, "texture"),
    ];
    let counts = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| text::plural(*count, what));
    std::iter::once(text::size(bytes.sum()))
        .chain(counts)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Lines about omitted and changed data, assumptions, and the moment that was written.
fn details(outcome: &meshmap_export::Outcome) -> Vec<Remark> {
    let mut details = Vec::new();
    if outcome.report.left_out.is_empty() {
        // Always reported, because silence could mean anything.
        details.push(Remark::of_one("left out: nothing"));
    }
    details.extend(report::details::<Convert>(&outcome.report));
    if !outcome.moment.is_empty() {
        details.push(Remark::of_one(&format!("written as in {}", outcome.moment)));
    }
    details
}

/// Writes one file to standard output.
fn to_output(
    found: &Found,
    args: &ConvertArgs,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let ([input], true) = (found.files.as_slice(), found.single) else {
        return usage("standard output takes one file");
    };
    if args.json {
        return usage(
            "standard output takes the file or the JSON objects: --json needs another output",
        );
    }
    let single = Target::ALL
        .into_iter()
        .filter(|target| target.is_one_file());
    let Some(target) = args.to.filter(|target| target.is_one_file()) else {
        let names: Vec<_> = single.map(Target::name).collect();
        return usage(format_args!(
            "--to is needed for standard output, which takes {}",
            names.join(", ")
        ));
    };
    let Some(convert) = args.convert(target) else {
        return Ok(Outcome::Usage);
    };
    if let Err(error) = convert.check_stream() {
        return usage(error.words(&words::option::<Convert>));
    }
    if args.dry_run {
        print_stderr(format_args!("{} -> (standard output)", input.shown()));
        return Ok(Outcome::Good);
    }
    let how = choice.reading(outputs::SHARES, false);
    let convert = Convert {
        refuses_without_effect: true,
        ..convert
    };
    let Some(conversion) = conversion(args, convert, choice, &how) else {
        return Ok(Outcome::Bad);
    };
    let make = |file: &MeshFile, job: &Job| make(file, job, &conversion);
    outputs::to_standard_output(input, &how, target.name(), make, choice, screen, out)
}
