//! Files that are made of others: where they go, which are up to date, and what is told about them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use meshmap::MeshFile;
use meshmap_export::{Limit, Output};

use super::Outcome;
use crate::inputs::{Choice, Found, Input, Problem, Reading};
use crate::progress::{self, Progress};
use crate::screen::{Screen, Style};
use crate::text;

/// A file, and what is made of it.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) input: Input,
    pub(super) output: PathBuf,
}

/// What became of a job.
pub(super) enum Done {
    /// Lines for the user: what was written, what was left out, what looks wrong.
    Written(Vec<String>),
    /// What was written is not what the file has.
    Differs(Vec<String>),
    UpToDate,
    /// No mesh file.
    Other,
    Failed(String),
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

/// Does all jobs, and ends in a line about them. `make` writes the output of one file.
pub(super) fn all(
    mut found: Found,
    jobs: Vec<Job>,
    (how, force): (Reading, bool),
    choice: &Choice,
    screen: Screen,
    make: impl Fn(&MeshFile, &Path) -> Done + Send + Sync + 'static,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let start = Instant::now();
    let progress = Progress::of(&found, choice.quiet);
    let folders: BTreeSet<&Path> = jobs.iter().map(|job| folder_of(&job.output)).collect();
    folders.into_iter().for_each(Output::remove_abandoned);
    let work = move |job: &Job| {
        if !force && is_up_to_date(job) { Done::UpToDate } else { one(job, &how, &make) }
    };
    let (mut written, mut failed, mut up_to_date) = (0_u64, 0_u64, 0_u64);
    let jobs = Arc::new(jobs);
    let told = |Job { input, output }: &Job, done| {
        let names = || format!("{} -> {}", input.shown(), text::path(output));
        let (head, lines) = match done {
            Done::Written(lines) => {
                written += 1;
                (names(), lines)
            }
            Done::Differs(lines) => {
                failed += 1;
                (screen.paint(Style::Bad, &format!("{}: what was written differs", names())), lines)
            }
            Done::Failed(why) => {
                failed += 1;
                (screen.paint(Style::Bad, &format!("{}: {why}", input.shown())), Vec::new())
            }
            Done::UpToDate => {
                up_to_date += 1;
                return Vec::new();
            }
            Done::Other => {
                found.skipped.others += 1;
                return Vec::new();
            }
        };
        let lines = lines.iter().map(|line| format!("  {line}\n"));
        std::iter::once(head + "\n").chain(lines).collect::<String>().into_bytes()
    };
    let handed = progress::each(&jobs, |job| job.input.bytes, (&progress, choice.threads), work, told, out)?;
    failed += unreadable(&found, out)?;
    let counts = format!("{} written, {} up to date", text::plural(written, "file"), text::count(up_to_date));
    let is_done = handed == jobs.len();
    Sum { counts, made: written + up_to_date, failed, is_done, start }.write(&found, screen, out)
}

/// Does one job.
pub(super) fn one(job: &Job, how: &Reading, make: impl Fn(&MeshFile, &Path) -> Done) -> Done {
    let file = match open(&job.input, how) {
        Ok(Some(file)) => file,
        Ok(None) => return Done::Other,
        Err(problem) => return Done::Failed(problem),
    };
    let create_folder = |()| job.output.parent().map_or(Ok(()), fs::create_dir_all);
    match Output::check_path(&job.output).and_then(create_folder) {
        Ok(()) => make(&file, &job.output),
        Err(error) => Done::Failed(said(error.into())),
    }
}

/// How files are read, alone or beside others.
pub(super) fn reading(choice: &Choice, is_one_of_many: bool) -> Reading {
    let limits = choice.memory.limits_of(3);
    Reading { mmap: choice.mmap, format: choice.format, is_one_of_many, limits, ..Reading::default() }
}

pub(super) fn open(input: &Input, how: &Reading) -> Result<Option<MeshFile>, String> {
    let file = input.source(how.mmap).and_then(|source| input.open(&source, how));
    file.map_err(|problem| problem.to_string())
}

/// Why nothing was made, without the path that stands before it.
pub(super) fn said(error: meshmap_export::Error) -> String {
    match error {
        meshmap_export::Error::Read(error) => Problem::from(error).to_string(),
        meshmap_export::Error::NotHeld { what, .. } => text::line(&what),
        meshmap_export::Error::LimitExceeded { what, limit, most, needed } => {
            let raised = match limit {
                Limit::Memory => "raise the limit with --max-memory",
                Limit::Output => "raise the limit with --max-output",
                _ => "leave some out with --every",
            };
            let (most, needed) = (text::count(most), text::count(needed));
            format!("{what}: {needed} {limit} needed, the limit is {most}; {raised}")
        }
        other => text::line(&other.to_string()),
    }
}

/// Whether the output was written after the file was changed.
fn is_up_to_date(Job { input, output }: &Job) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    matches!((changed(&input.path), changed(output)), (Some(input), Some(output)) if output >= input)
}

fn folder_of(output: &Path) -> &Path {
    output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns why jobs cannot be done: two of them would write one file, or one would replace an input or a directory.
///
/// `files` returns the files that a job writes.
pub(super) fn conflict(
    inputs: &[Input],
    jobs: &[Job],
    how: &Reading,
    files: impl Fn(&Path) -> Vec<PathBuf>,
) -> Option<String> {
    let mut places = Places::default();
    let mut taken: HashMap<PathBuf, &Job> = HashMap::new();
    let mut replaced: HashSet<PathBuf> = HashSet::new();
    for (job, file) in jobs.iter().flat_map(|job| files(&job.output).into_iter().map(move |file| (job, file)))
    {
        match fs::metadata(&file) {
            Ok(metadata) if metadata.is_dir() => {
                return Some(format!("{}: a directory, which cannot be replaced", text::path(&file)));
            }
            Ok(_) => drop(fs::canonicalize(&file).map(|path| replaced.insert(path))),
            Err(_) => {}
        }
        let Some(other) = taken.insert(places.of(&file), job) else { continue };
        // Files that hold no mesh are found with the others, and write nothing.
        if other.input.is_mesh(how) && job.input.is_mesh(how) {
            let [a, b] = [other, job].map(|job| job.input.shown());
            return Some(format!(
                "{a} and {b} would both be written to {}: convert them one at a time",
                text::path(&file)
            ));
        }
    }
    if replaced.is_empty() {
        return None;
    }
    let input = inputs.iter().find(|input| {
        fs::canonicalize(&input.path).is_ok_and(|path| replaced.contains(&path)) && input.is_mesh(how)
    })?;
    Some(format!("{}: an input, which cannot be replaced", input.shown()))
}

/// The places of files that may not exist yet: each folder is resolved once.
#[derive(Default)]
struct Places {
    folders: HashMap<PathBuf, PathBuf>,
}

impl Places {
    fn of(&mut self, file: &Path) -> PathBuf {
        let folder = folder_of(file);
        let resolve = || fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let resolved = self.folders.entry(folder.to_owned()).or_insert_with(resolve);
        resolved.join(file.file_name().unwrap_or_default())
    }
}

/// Tells about directories that could not be read; returns how many.
pub(super) fn unreadable(found: &Found, out: &mut impl Write) -> io::Result<u64> {
    for (path, error) in &found.unreadable {
        writeln!(out, "{}: {error}", text::path(path))?;
    }
    Ok(found.unreadable.len() as u64)
}

/// What became of all files.
pub(super) struct Sum {
    pub(super) counts: String,
    pub(super) made: u64,
    pub(super) failed: u64,
    pub(super) is_done: bool,
    pub(super) start: Instant,
}

impl Sum {
    pub(super) fn write(self, found: &Found, screen: Screen, out: &mut impl Write) -> io::Result<Outcome> {
        let verdict = match (self.is_done, self.failed) {
            (false, _) => "STOPPED",
            (true, 0) if self.made > 0 => "DONE",
            (true, _) => "FAILED",
        };
        let (counts, failed, skipped) = (&self.counts, text::count(self.failed), &found.skipped);
        let seconds = self.start.elapsed().as_secs_f64();
        let sum = format!("{verdict}: {counts}, {failed} failed{skipped}   {seconds:.2} s");
        for line in text::wrap(&sum, screen.width, 2) {
            writeln!(out, "{}", screen.paint(Style::Bold, &line))?;
        }
        Ok(if self.is_done { Outcome::good_if(verdict == "DONE") } else { Outcome::Interrupted })
    }
}
