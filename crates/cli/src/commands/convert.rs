//! `meshmap convert`: files of other formats.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

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
    pub(crate) dry_run: bool,
    /// Also what is up to date.
    pub(crate) force: bool,
}

/// A file, and what is made of it.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) input: Input,
    pub(super) output: PathBuf,
}

enum Done {
    /// Lines for the user: what was left out, what looks wrong.
    Written(Vec<String>),
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
    let (convert, force) = ((wish.convert)(target), wish.force);
    let work = move |job: &Job| one(job, &how, &convert, force);
    let (mut written, mut failed, mut up_to_date) = (0_u64, 0_u64, 0_u64);
    let jobs = Arc::new(jobs);
    let told = |Job { input, output }: &Job, done| {
        let lines = match done {
            Done::Written(lines) => {
                written += 1;
                let head = format!("{} -> {}", input.shown(), text::path(output));
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

fn one(job: &Job, how: &Reading, convert: &Convert, force: bool) -> Done {
    if !force && is_up_to_date(&job.input, &job.output) {
        return Done::UpToDate;
    }
    let file = job.input.source(how.mmap).and_then(|source| job.input.open(&source, how));
    let file = match file {
        Ok(Some(file)) => file,
        Ok(None) => return Done::Other,
        Err(problem) => return Done::Failed(problem.to_string()),
    };
    let made = job.output.parent().map_or(Ok(()), fs::create_dir_all);
    match made.map_err(meshmap_export::Error::from).and_then(|()| convert.write_file(&file, &job.output)) {
        Ok(outcome) => {
            let left_out = outcome.left_out.iter().map(|what| format!("left out: {what}"));
            let changed = outcome
                .changed
                .iter()
                .map(|(what, count)| format!("changed: {} {what}", text::count(*count)));
            let notes = outcome.notes.iter().map(|note| format!("! {note}"));
            Done::Written(left_out.chain(changed).chain(notes).map(|line| text::line(&line)).collect())
        }
        Err(error) => Done::Failed(text::line(&error.to_string())),
    }
}

/// Whether the output was written after the file was changed.
pub(super) fn is_up_to_date(input: &Input, output: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    matches!((changed(&input.path), changed(output)), (Some(input), Some(output)) if output >= input)
}
