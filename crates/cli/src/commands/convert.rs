//! `meshmap convert`: files of other formats.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use meshmap::MeshFile;
use meshmap::iqm::Model;
use meshmap_export::{Convert, Target};

use super::{Outcome, tell};
use crate::inputs::{self, Choice, Found, Input, Reading};
use crate::progress::Progress;
use crate::screen::{Screen, Style};
use crate::{many, text};

/// What is to be written, and where.
pub(crate) struct Wish {
    pub(crate) output: PathBuf,
    /// The format; otherwise the ending of `output` says it.
    pub(crate) to: Option<Target>,
    /// How; the target is that of `to`, or of `output`.
    pub(crate) convert: Box<dyn Fn(Target) -> Convert>,
    /// Files, and directories of files, whose animations are added.
    pub(crate) with: Vec<PathBuf>,
    /// Whether what was written is read again, and compared.
    pub(crate) check: bool,
    pub(crate) dry_run: bool,
    /// Also what is up to date.
    pub(crate) force: bool,
}

/// What stands for standard output.
const STANDARD_OUTPUT: &str = "-";

/// A file, and what is made of it.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) input: Input,
    pub(super) output: PathBuf,
}

enum Done {
    /// Lines for the user: what was left out, what looks wrong.
    Written(Vec<String>),
    /// What was written is not what the file has.
    Differs(Vec<String>),
    UpToDate,
    /// No mesh file.
    Other,
    Failed(String),
}

pub(crate) fn run(
    paths: &[PathBuf],
    wish: &Wish,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let found = inputs::find(paths, choice);
    if wish.output.as_os_str() == STANDARD_OUTPUT {
        return to_output(&found, wish, choice, out);
    }
    let is_one = found.single && found.files.len() == 1 && !wish.output.is_dir();
    let Some(target) = wish.to.or_else(|| Target::of_path(&wish.output).filter(|_| is_one)) else {
        let endings = Target::ALL.map(Target::name).join(", ");
        tell(match is_one {
            true => format!("{}: the ending says no format; --to takes {endings}", text::path(&wish.output)),
            false => format!("--to is needed for directories and several files: {endings}"),
        });
        return Ok(Outcome::Usage);
    };
    let jobs = if is_one {
        let [input] = found.files.as_slice() else { return Ok(Outcome::Bad) };
        vec![Job { input: input.clone(), output: wish.output.clone() }]
    } else {
        jobs(paths, &found, target.name(), &wish.output)
    };
    if wish.dry_run {
        for Job { input, output } in &jobs {
            writeln!(out, "{} -> {}", input.shown(), text::path(output))?;
        }
        return Ok(Outcome::Good);
    }
    all(found, jobs, wish, target, choice, screen, out)
}

/// Where each file goes: below the output as it lies below the directory that was named.
pub(super) fn jobs(paths: &[PathBuf], found: &Found, ending: &str, output: &Path) -> Vec<Job> {
    let below = |input: &Input| {
        let directory = paths.iter().filter(|path| !input.is_named && input.path.starts_with(path));
        let longest = directory.max_by_key(|path| path.as_os_str().len());
        let relative = longest.and_then(|directory| input.path.strip_prefix(directory).ok());
        relative.map_or_else(|| input.path.file_name().unwrap_or_default().into(), Path::to_owned)
    };
    let places: Vec<PathBuf> = found.files.iter().map(below).collect();
    let mut counts: HashMap<PathBuf, u32> = HashMap::new();
    for place in &places {
        *counts.entry(place.with_extension(ending)).or_default() += 1;
    }
    let jobs = found.files.iter().zip(places).map(|(input, place)| {
        let mut name = place.with_extension(ending);
        if counts.get(&name).is_some_and(|count| *count > 1) {
            // Files whose names differ in their ending alone keep it.
            name = place;
            name.as_mut_os_string().push(format!(".{ending}"));
        }
        Job { input: input.clone(), output: output.join(name) }
    });
    jobs.collect()
}

/// Converts all files, and ends in a line about them.
fn all(
    mut found: Found,
    jobs: Vec<Job>,
    wish: &Wish,
    target: Target,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let start = Instant::now();
    let progress = Progress::of(&found, choice.quiet);
    let how = Reading {
        mmap: choice.mmap,
        format: choice.format,
        is_one_of_many: jobs.len() > 1,
        ..Reading::default()
    };
    let animations = match animations(&wish.with, choice, &how) {
        Ok(animations) => animations,
        Err(problem) => {
            tell(problem);
            return Ok(Outcome::Bad);
        }
    };
    sweep(&jobs);
    let work = {
        let way =
            Way { how, convert: (wish.convert)(target), animations, force: wish.force, check: wish.check };
        move |job: &Job| one(job, &way)
    };
    let (mut written, mut failed, mut up_to_date) = (0_u64, 0_u64, 0_u64);
    let jobs = Arc::new(jobs);
    let told = |Job { input, output }: &Job, done| {
        let lines = match done {
            Done::Written(lines) => {
                written += 1;
                let head = format!("{} -> {}", input.shown(), text::path(output));
                std::iter::once(head).chain(lines.iter().map(|line| format!("  {line}"))).collect()
            }
            Done::Differs(lines) => {
                failed += 1;
                let head = format!("{} -> {}: what was written differs", input.shown(), text::path(output));
                let head = screen.paint(Style::Bad, &head);
                std::iter::once(head).chain(lines.iter().map(|line| format!("  {line}"))).collect()
            }
            Done::UpToDate => {
                up_to_date += 1;
                Vec::new()
            }
            Done::Other => {
                found.skipped.others += 1;
                Vec::new()
            }
            Done::Failed(why) => {
                failed += 1;
                vec![screen.paint(Style::Bad, &format!("{}: {why}", input.shown()))]
            }
        };
        lines.iter().flat_map(|line| [line.as_bytes(), b"\n"]).flatten().copied().collect()
    };
    let handed = many::each(&jobs, |job| job.input.bytes, (&progress, choice.threads), work, told, out)?;
    for (path, error) in &found.unreadable {
        failed += 1;
        writeln!(out, "{}: {error}", text::path(path))?;
    }
    let is_done = handed == jobs.len();
    let verdict = match (is_done, failed) {
        (false, _) => "STOPPED",
        (true, 0) if written + up_to_date > 0 => "DONE",
        (true, _) => "FAILED",
    };
    let sum = format!(
        "{verdict}: {} written, {} up to date, {} failed{}   {:.2} s",
        text::plural(written, "file"),
        text::count(up_to_date),
        text::count(failed),
        found.skipped,
        start.elapsed().as_secs_f64()
    );
    for line in text::wrap(&sum, screen.width, 2) {
        writeln!(out, "{}", screen.paint(Style::Bold, &line))?;
    }
    Ok(if is_done { Outcome::good_if(verdict == "DONE") } else { Outcome::Interrupted })
}

/// How each file is converted.
struct Way {
    how: Reading,
    convert: Convert,
    animations: Vec<Animations>,
    force: bool,
    check: bool,
}

impl Way {
    /// The conversion of this file: the animations that it takes are added.
    fn of(&self, file: &MeshFile) -> Convert {
        let fits = |animations: &&Animations| {
            let joins = |model: &Model| !model.is_empty() && model.attach(&animations.model).is_ok();
            animations.is_named || file.as_iqm().is_some_and(joins)
        };
        self.animations
            .iter()
            .filter(fits)
            .fold(self.convert.clone(), |convert, Animations { name, model, .. }| {
                convert.with_animations(name.clone(), model.clone())
            })
    }
}

/// An IQM file with animations for others.
struct Animations {
    name: String,
    model: Model,
    /// Whether it was named; those that were found below a directory are taken where they fit.
    is_named: bool,
}

fn animations(paths: &[PathBuf], choice: &Choice, how: &Reading) -> Result<Vec<Animations>, String> {
    let mut animations = Vec::new();
    for input in inputs::find(paths, choice).files {
        let problem = |why: String| format!("{}: {why}", input.shown());
        let opened = input.source(how.mmap).and_then(|source| input.open(&source, how));
        match opened {
            Ok(Some(MeshFile::Iqm(model)))
                if input.is_named || model.is_empty() && model.anims().len() > 0 =>
            {
                animations.push(Animations { name: input.name(), model, is_named: input.is_named });
            }
            Ok(_) if input.is_named => {
                return Err(problem("no IQM file, which alone have animations".to_owned()));
            }
            Err(why) if input.is_named => return Err(problem(why.to_string())),
            // A conversion of the directory tells of those.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(animations)
}

fn one(job: &Job, way: &Way) -> Done {
    if !way.force && is_up_to_date(&job.input, &job.output) {
        return Done::UpToDate;
    }
    let file = job.input.source(way.how.mmap).and_then(|source| job.input.open(&source, &way.how));
    let file = match file {
        Ok(Some(file)) => file,
        Ok(None) => return Done::Other,
        Err(problem) => return Done::Failed(problem.to_string()),
    };
    let made = job.output.parent().map_or(Ok(()), fs::create_dir_all).map_err(meshmap_export::Error::from);
    let convert = way.of(&file);
    let outcome = match made.and_then(|()| convert.write_file(&file, &job.output)) {
        Ok(outcome) => outcome,
        Err(error) => return Done::Failed(text::line(&error.to_string())),
    };
    let mut lines = lines(&outcome);
    if !way.check {
        return Done::Written(lines);
    }
    let (checked, differs) = match convert.check_file(&file, &job.output) {
        Ok(checked) => (checked.lines, checked.differs),
        Err(error) => (Vec::new(), vec![error.to_string()]),
    };
    lines.extend(checked.iter().map(|line| format!("checked: {}", text::line(line))));
    if differs.is_empty() {
        return Done::Written(lines);
    }
    // It would be up to date the next time.
    outcome.files.iter().for_each(|file| drop(fs::remove_file(file)));
    lines.extend(differs.iter().map(|line| format!("differs: {}", text::line(line))));
    Done::Differs(lines)
}

/// What was written, what was left out and changed, and what looks wrong.
fn lines(outcome: &meshmap_export::Outcome) -> Vec<String> {
    let bytes =
        outcome.files.iter().filter_map(|file| fs::metadata(file).ok()).map(|metadata| metadata.len());
    let mut sums = vec![text::size(bytes.sum())];
    let counts = [
        (outcome.triangles, "triangle"),
        (outcome.vertices, "vertex"),
        (outcome.snapshots, "snapshot"),
        (outcome.animations, "animation"),
    ];
    sums.extend(
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| text::plural(*count, what)),
    );
    let left_out = outcome.left_out.iter().map(|what| format!("left out: {what}"));
    // Always said, for silence could mean anything.
    let nothing = outcome.left_out.is_empty().then(|| "left out: nothing".to_owned());
    let changed =
        outcome.changed.iter().map(|(what, count)| format!("changed: {} {what}", text::count(*count)));
    let notes = outcome.notes.iter().map(|note| format!("! {note}"));
    let lines = std::iter::once(sums.join(", ")).chain(left_out).chain(nothing).chain(changed).chain(notes);
    lines.map(|line| text::line(&line)).collect()
}

/// Whether the output was written after the file was changed.
pub(super) fn is_up_to_date(input: &Input, output: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    matches!((changed(&input.path), changed(output)), (Some(input), Some(output)) if output >= input)
}

/// Removes what conversions that were killed have left beside the outputs.
fn sweep(jobs: &[Job]) {
    /// What is being written changes all the time.
    const LEFT: Duration = Duration::from_secs(60 * 60);
    let folders: BTreeSet<&Path> = jobs.iter().filter_map(|job| job.output.parent()).collect();
    for folder in folders {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            let is_left = changed.is_ok_and(|changed| {
                SystemTime::now().duration_since(changed).is_ok_and(|since| since > LEFT)
            });
            if is_left && meshmap_export::is_part(Path::new(&entry.file_name())) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }
}

/// Writes one file to standard output, by way of a temporary one: pipes cannot seek.
fn to_output(found: &Found, wish: &Wish, choice: &Choice, out: &mut impl Write) -> io::Result<Outcome> {
    let ([input], true) = (found.files.as_slice(), found.single) else {
        tell("standard output takes one file");
        return Ok(Outcome::Usage);
    };
    let single = Target::ALL.into_iter().filter(|target| target.is_one_file());
    let Some(target) = wish.to.filter(|target| target.is_one_file()) else {
        let names: Vec<_> = single.map(Target::name).collect();
        tell(format_args!("--to is needed for standard output, which takes {}", names.join(", ")));
        return Ok(Outcome::Usage);
    };
    if wish.dry_run {
        tell(format_args!("{} -> (standard output)", input.shown()));
        return Ok(Outcome::Good);
    }
    let how = Reading { mmap: choice.mmap, format: choice.format, ..Reading::default() };
    let animations = match animations(&wish.with, choice, &how) {
        Ok(animations) => animations,
        Err(problem) => {
            tell(problem);
            return Ok(Outcome::Bad);
        }
    };
    let way = Way { how, convert: (wish.convert)(target), animations, force: true, check: wish.check };
    let folder = tempfile::tempdir()?;
    let output = folder.path().join(format!("output.{}", target.name()));
    let (lines, outcome) = match one(&Job { input: input.clone(), output: output.clone() }, &way) {
        Done::Written(lines) => (lines, Outcome::Good),
        Done::Differs(lines) => (lines, Outcome::Bad),
        Done::Failed(why) => (vec![why], Outcome::Bad),
        Done::Other | Done::UpToDate => (vec!["no mesh file".to_owned()], Outcome::Bad),
    };
    lines.iter().for_each(|line| tell(format_args!("{}: {line}", input.shown())));
    if outcome == Outcome::Good {
        io::copy(&mut File::open(output)?, out)?;
    }
    Ok(outcome)
}
