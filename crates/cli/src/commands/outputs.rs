//! Files that are made of others: where they go, which are up to date, and what is told about them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use meshmap::MeshFile;
use meshmap_export::{Limit, Output};
use serde_json::{Map, Value, json};

use super::index::Index;
use super::{Outcome, tell};
use crate::inputs::{Choice, Found, Input, Problem, Reading};
use crate::inspect::json::{ErrorInfo, path_bytes};
use crate::progress::{self, Progress};
use crate::screen::{Screen, Style};
use crate::{json_text, text, words};

/// A file, and what is made of it.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) input: Input,
    pub(super) output: PathBuf,
}

/// The result of a job.
pub(super) enum Done {
    Written(Made),
    /// The output was read back and differs from the file.
    Differs(Made),
    UpToDate,
    /// No mesh file.
    Other,
    Failed(Problem),
    /// The disk became full before.
    NotTried,
}

/// What was written for one file.
#[derive(Default)]
pub(super) struct Made {
    pub(super) files: Vec<PathBuf>,
    /// Lines for the user: what was written, what was left out, what looks wrong.
    pub(super) lines: Vec<String>,
    /// Further properties of the JSON object.
    pub(super) facts: Map<String, Value>,
}

/// How the outputs of a command are written and reported.
pub(super) struct Plan<'a> {
    /// The directory of the outputs; `None` for one output, which is always written.
    pub(super) root: Option<&'a Path>,
    /// The options that decide about the content of outputs.
    pub(super) options: String,
    /// Files besides the input that the outputs are made from.
    pub(super) also: &'a [Input],
    /// Write outputs that are up to date.
    pub(super) force: bool,
    /// Print a JSON object for each file.
    pub(super) json: bool,
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

/// Does all jobs and prints a summary. `make` writes the output of one file.
pub(super) fn all(
    mut found: Found,
    jobs: Vec<Job>,
    (how, plan): (Reading, &Plan<'_>),
    choice: &Choice,
    screen: Screen,
    make: impl Fn(&MeshFile, &Path) -> Done + Send + Sync + 'static,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let start = Instant::now();
    let progress = Progress::of(&found, choice.quiet);
    let folders: BTreeSet<&Path> = jobs.iter().map(|job| folder_of(&job.output)).collect();
    folders.into_iter().for_each(Output::remove_abandoned);
    let mut index = plan.root.map(|root| Index::read(root, &plan.options, plan.also));
    let tasks: Vec<Task> = jobs
        .into_iter()
        .map(|job| {
            let fingerprint = index.as_ref().and_then(|index| index.fingerprint(&job.input));
            let known = index.as_ref().zip(fingerprint.as_deref()).filter(|_| !plan.force);
            let is_up_to_date = known.is_some_and(|(index, made)| index.is_up_to_date(&job.output, made));
            Task { job, fingerprint, is_up_to_date }
        })
        .collect();
    let is_full = Arc::new(AtomicBool::new(false));
    let work = {
        let is_full = Arc::clone(&is_full);
        move |task: &Task| match () {
            () if task.is_up_to_date => Done::UpToDate,
            () if is_full.load(Ordering::Relaxed) => Done::NotTried,
            () => one(&task.job, &how, &make),
        }
    };
    let (mut written, mut failed, mut up_to_date, mut not_tried) = (0_u64, 0_u64, 0_u64, 0_u64);
    let tasks = Arc::new(tasks);
    let told = |Task { job, fingerprint, .. }: &Task, done| {
        if matches!(&done, Done::Failed(Problem::Other(_, message)) if message == words::DISK_FULL)
            && is_full.swap(true, Ordering::Relaxed)
        {
            // One line is enough.
            not_tried += 1;
            return Vec::new();
        }
        match &done {
            Done::Written(made) => {
                written += 1;
                if let (Some(index), Some(fingerprint)) = (&mut index, fingerprint) {
                    index.add(&job.output, fingerprint.clone(), &made.files);
                }
            }
            Done::Differs(_) | Done::Failed(_) => failed += 1,
            Done::UpToDate => up_to_date += 1,
            Done::Other => found.skipped.others += 1,
            Done::NotTried => not_tried += 1,
        }
        if plan.json { object(job, done) } else { lines(job, done, choice.quiet, screen) }
    };
    let bytes = |task: &Task| task.job.input.bytes;
    let handed = progress::each(&tasks, bytes, (&progress, choice.threads), work, told, out)?;
    failed += unreadable(&found, plan.json, out)?;
    if let Some(error) = index.as_ref().and_then(Index::error) {
        tell(error);
    }
    let mut counts =
        format!("{} written, {} up to date", text::plural(written, "file"), text::count(up_to_date));
    if not_tried > 0 {
        counts += &format!(", {} not tried", text::count(not_tried));
    }
    let is_done = handed == tasks.len();
    let sum = Sum { counts, made: written + up_to_date, failed, is_done, start };
    sum.write(&found, (choice.quiet, plan.json), screen, out)
}

/// A job, and what is known of its output.
struct Task {
    job: Job,
    fingerprint: Option<String>,
    is_up_to_date: bool,
}

/// The lines about a job. With `quiet`, only problems are reported.
fn lines(Job { input, output }: &Job, done: Done, quiet: bool, screen: Screen) -> Vec<u8> {
    let names = || format!("{} -> {}", input.shown(), text::path(output));
    let bad = |line: String| screen.paint(Style::Bad, &line);
    let (head, lines) = match done {
        Done::Written(_) if quiet => return Vec::new(),
        Done::Written(made) => (names(), made.lines),
        Done::Differs(made) => (bad(format!("{}: what was written differs", names())), made.lines),
        Done::Failed(problem) => (bad(format!("{}: {problem}", input.shown())), Vec::new()),
        Done::UpToDate | Done::Other | Done::NotTried => return Vec::new(),
    };
    let lines = lines.iter().map(|line| format!("  {line}\n"));
    std::iter::once(head + "\n").chain(lines).collect::<String>().into_bytes()
}

/// The JSON object of a job, on a line; nothing for files that are no meshes.
fn object(Job { input, output }: &Job, done: Done) -> Vec<u8> {
    let (state, made, problem) = match done {
        Done::Written(made) => ("written", made, None),
        Done::Differs(made) => ("differs", made, None),
        Done::UpToDate => ("up_to_date", Made::default(), None),
        Done::Failed(problem) => ("failed", Made::default(), Some(problem)),
        Done::Other | Done::NotTried => return Vec::new(),
    };
    let error = problem.map(|problem| ErrorInfo::new(&problem, None, None));
    let mut object = json!({
        "meshmap": 1,
        "path": input.path.to_string_lossy(),
        "path_bytes": path_bytes(&input.path),
        "output": output.to_string_lossy(),
        "output_bytes": path_bytes(output),
        "state": state,
        "error": error,
        "files": made.files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
    });
    if let Value::Object(object) = &mut object {
        object.extend(made.facts);
    }
    line_of(&object)
}

fn line_of(object: &Value) -> Vec<u8> {
    let mut line = Vec::new();
    // Writing to memory does not fail.
    drop(json_text::write_cut(&mut line, object, 0));
    line.push(b'\n');
    line
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
        Err(error) => Done::Failed(Problem::other("io", words::writing(&error))),
    }
}

/// How files are read, alone or beside others.
pub(super) fn reading(choice: &Choice, is_one_of_many: bool) -> Reading {
    let limits = choice.memory.limits_of(3);
    Reading { mmap: choice.mmap, format: choice.format, is_one_of_many, limits, ..Reading::default() }
}

pub(super) fn open(input: &Input, how: &Reading) -> Result<Option<MeshFile>, Problem> {
    input.source(how.mmap).and_then(|source| input.open(&source, how))
}

/// Why nothing was made, without the path that stands before it.
pub(super) fn said(error: meshmap_export::Error) -> Problem {
    match error {
        meshmap_export::Error::Read(error) => error.into(),
        meshmap_export::Error::Write(error) => Problem::other("io", words::writing(&error)),
        meshmap_export::Error::NotHeld { what, .. } => Problem::other("unsupported", what),
        meshmap_export::Error::LimitExceeded { what, limit, most, needed } => {
            let raised = match limit {
                Limit::Memory => "raise the limit with --max-memory",
                Limit::Output => "raise the limit with --max-output",
                _ => "leave some out with --every",
            };
            let (most, needed) = (text::count(most), text::count(needed));
            let message = format!("{what}: {needed} {limit} needed, the limit is {most}; {raised}");
            Problem::other("limit_exceeded", message)
        }
        other => Problem::other("unsupported", other.to_string()),
    }
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

/// Reports directories that could not be read, and returns their number.
pub(super) fn unreadable(found: &Found, json: bool, out: &mut impl Write) -> io::Result<u64> {
    for (path, error) in &found.unreadable {
        if json {
            let problem = Problem::other("io", error.clone());
            let job = Job { input: Input::named(path), output: PathBuf::new() };
            out.write_all(&object(&job, Done::Failed(problem)))?;
        } else {
            writeln!(out, "{}: {error}", text::path(path))?;
        }
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
    /// Prints the summary: to standard error if standard output has JSON objects, and not at all if only problems are wanted.
    pub(super) fn write(
        self,
        found: &Found,
        (quiet, json): (bool, bool),
        screen: Screen,
        out: &mut impl Write,
    ) -> io::Result<Outcome> {
        let verdict = match (self.is_done, self.failed) {
            (false, _) => "STOPPED",
            (true, 0) if self.made > 0 => "DONE",
            (true, _) => "FAILED",
        };
        let (counts, failed, skipped) = (&self.counts, text::count(self.failed), &found.skipped);
        let seconds = self.start.elapsed().as_secs_f64();
        let sum = format!("{verdict}: {counts}, {failed} failed{skipped}   {seconds:.2} s");
        let painted = text::wrap(&sum, screen.width, 2).into_iter();
        let mut painted = painted.map(|line| screen.paint(Style::Bold, &line));
        match (self.is_done && quiet, json) {
            (true, _) => {}
            (false, true) => {
                out.flush()?;
                painted.for_each(tell);
            }
            (false, false) => painted.try_for_each(|line| writeln!(out, "{line}"))?,
        }
        Ok(if self.is_done { Outcome::good_if(verdict == "DONE") } else { Outcome::Interrupted })
    }
}
