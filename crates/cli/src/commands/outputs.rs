//! Files that are made from others: their paths, their up-to-date check, and the report about them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use meshmap::MeshFile;
use meshmap_catalog::inspect::{Damage, ErrorInfo, cut, path_bytes};
use meshmap_catalog::json as json_text;
use meshmap_export::{Index, Limit, Output};
use serde_json::{Value, json};

use super::{Outcome, Reporting, print_stderr};
use crate::inputs::{Choice, Found, Input, Problem, Reading};
use crate::progress::{self, Progress};
use crate::screen::{Screen, Style};
use crate::{text, words};

/// A file, and what is made of it.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) input: Input,
    pub(super) output: PathBuf,
}

/// The result of a job.
pub(super) enum JobResult {
    Written(Written),
    /// The output was read back and differs from the file.
    Differs(Written),
    UpToDate,
    /// No mesh file.
    Other,
    Failed(Problem),
    /// Nothing was written, because these parts of the file cannot be used.
    Unusable(Vec<Damage>),
    /// The output was not written, because the disk is full.
    DiskFull,
}

impl JobResult {
    /// The result of a job whose output cannot be written.
    pub(super) fn of(error: meshmap_export::Error) -> Self {
        match error {
            meshmap_export::Error::Write(error) if error.kind() == io::ErrorKind::StorageFull => {
                Self::DiskFull
            }
            error => Self::Failed(problem_of(error)),
        }
    }
}

/// The outputs that were written for one file.
#[derive(Default)]
pub(super) struct Written {
    pub(super) files: Vec<PathBuf>,
    /// Lines for the user: what was written, what was left out, what looks wrong.
    pub(super) lines: Vec<String>,
    /// Further properties of the JSON object.
    pub(super) facts: Value,
    /// The parts of the input that cannot be used. They were left out.
    pub(super) damage: Vec<Damage>,
}

/// The settings for writing and reporting the outputs of a command.
pub(super) struct Plan<'a> {
    /// The directory of the outputs; `None` for one output, which is always written.
    pub(super) root: Option<&'a Path>,
    /// The options that decide about the content of outputs.
    pub(super) options: String,
    /// Files besides the input that the outputs are made from.
    pub(super) also: Vec<PathBuf>,
    /// Write outputs that are up to date.
    pub(super) force: bool,
    pub(super) reporting: Reporting,
}

/// The path of a file below the directory that was named, or the name of a file that was named itself.
pub(super) fn below(paths: &[PathBuf], input: &Input) -> PathBuf {
    let directory = paths.iter().filter(|path| !input.is_named && input.path.starts_with(path));
    let longest = directory.max_by_key(|path| path.as_os_str().len());
    let relative = longest.and_then(|directory| input.path.strip_prefix(directory).ok());
    relative.map_or_else(|| input.file_name().to_owned(), Path::to_owned)
}

/// The output path of each file: below the output in the same place as below the named directory.
pub(super) fn jobs(paths: &[PathBuf], found: &Found, ending: &str, output: &Path) -> Vec<Job> {
    let places: Vec<PathBuf> = found.files.iter().map(|input| below(paths, input)).collect();
    let mut counts: HashMap<PathBuf, u32> = HashMap::new();
    for place in &places {
        *counts.entry(place.with_extension(ending)).or_default() += 1;
    }
    let jobs = found.files.iter().zip(places).map(|(input, place)| {
        let mut name = place.with_extension(ending);
        if counts.get(&name).is_some_and(|count| *count > 1) {
            // Files whose names differ only in their extension keep it.
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
    make: impl Fn(&MeshFile, &Job) -> JobResult + Send + Sync + 'static,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let start = Instant::now();
    let progress = Progress::of(&found, choice.quiet);
    let folders: BTreeSet<&Path> = jobs.iter().map(|job| folder_of(&job.output)).collect();
    folders.into_iter().for_each(Output::remove_abandoned);
    let index = Arc::new(plan.root.map(|root| Index::read(root, &plan.options, &plan.also)));
    let is_full = Arc::new(AtomicBool::new(false));
    let work = {
        let (index, is_full, force) = (Arc::clone(&index), Arc::clone(&is_full), plan.force);
        move |job: &Job| {
            let index = index.as_ref().as_ref();
            // Before the file is read, so that a file that changes meanwhile is not up to date.
            let fingerprint = index.and_then(|index| index.fingerprint(&job.input.path));
            let known = index.zip(fingerprint.as_deref()).filter(|_| !force);
            let result = match () {
                () if known.is_some_and(|(index, made)| index.is_up_to_date(&job.output, made)) => {
                    JobResult::UpToDate
                }
                () if is_full.load(Ordering::Relaxed) => JobResult::DiskFull,
                () => one(job, &how, &make),
            };
            (result, fingerprint)
        }
    };
    let (mut written, mut failed, mut up_to_date, mut not_written) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut damaged = 0_u64;
    let mut not_recorded = None;
    let jobs = Arc::new(jobs);
    let report = |job: &Job, (result, fingerprint): (JobResult, Option<String>)| {
        match &result {
            JobResult::Written(made) => {
                written += 1;
                damaged += u64::from(!made.damage.is_empty());
                // Outputs of damaged files are never up to date, so that the damage is reported each time.
                let fingerprint = fingerprint.filter(|_| made.damage.is_empty());
                if let (Some(index), Some(fingerprint)) = (&*index, fingerprint) {
                    let added = index.add(&job.output, fingerprint, &made.files);
                    not_recorded = not_recorded.take().or(added.err());
                }
            }
            JobResult::Differs(_) | JobResult::Failed(_) | JobResult::Unusable(_) => failed += 1,
            JobResult::UpToDate => up_to_date += 1,
            JobResult::Other => found.skipped.others += 1,
            JobResult::DiskFull => {
                not_written += 1;
                is_full.store(true, Ordering::Relaxed);
            }
        }
        if plan.reporting.json {
            object(job, result)
        } else {
            lines(job, result, plan.reporting.quiet, screen)
        }
    };
    let handed = progress::each(&jobs, |job| job.input.bytes, (&progress, choice), work, report, out)?;
    failed += unreadable(&found, plan.reporting.json, out)? + not_written;
    if not_written > 0 {
        let files = text::plural(not_written, "file");
        print_stderr(screen.paint(Style::Bad, &format!("{}: {files} not written", words::DISK_FULL)));
    }
    if let Some(why) = not_recorded {
        print_stderr(text::line(&why));
    }
    let counts = format!("{} written, {} up to date", text::plural(written, "file"), text::count(up_to_date));
    let is_done = handed == jobs.len();
    Summary { counts, made: written + up_to_date, failed, damaged, is_done, start }.write(
        &found,
        plan.reporting,
        screen,
        out,
    )
}

/// The lines about a job. With `quiet`, only problems are reported.
pub(super) fn lines(Job { input, output }: &Job, result: JobResult, quiet: bool, screen: Screen) -> Vec<u8> {
    let names = || format!("{} -> {}", input.shown(), text::path(output));
    let bad = |line: String| screen.paint(Style::Bad, &line);
    let unusable = |damage: &[Damage]| {
        let count = text::plural(damage.len(), "part");
        bad(format!("{}: {count} cannot be used", input.shown()))
    };
    let (head, lines) = match result {
        JobResult::Written(made) if made.damage.is_empty() && quiet => return Vec::new(),
        JobResult::Written(made) if made.damage.is_empty() => (names(), made.lines),
        JobResult::Written(made) if quiet => (unusable(&made.damage), lines_of_parts(&made.damage)),
        JobResult::Written(made) => {
            let lines = made.lines.into_iter().chain(lines_of_parts(&made.damage));
            (format!("{}: {}", names(), bad("damaged".to_owned())), lines.collect())
        }
        JobResult::Unusable(damage) => (unusable(&damage), lines_of_parts(&damage)),
        JobResult::Differs(made) => (bad(format!("{}: what was written differs", names())), made.lines),
        JobResult::Failed(problem) => (bad(format!("{}: {problem}", input.shown())), Vec::new()),
        // One line about all that a full disk has no space for is enough.
        JobResult::UpToDate | JobResult::Other | JobResult::DiskFull => return Vec::new(),
    };
    let lines = lines.iter().map(|line| format!("  {line}\n"));
    std::iter::once(head + "\n").chain(lines).collect::<String>().into_bytes()
}

/// A line for each part that cannot be used.
pub(super) fn lines_of_parts(damage: &[Damage]) -> Vec<String> {
    text::listed(damage, "part", |part| vec![text::line(&format!("x {}: {}", part.address, part.problem))])
}

/// The JSON object of a job, on a line; nothing for files that are not meshes.
pub(super) fn object(Job { input, output }: &Job, result: JobResult) -> Vec<u8> {
    let whole = |problem: &Problem| Some(ErrorInfo::new(problem, None, None));
    let (state, made, error) = match result {
        JobResult::Written(made) => ("written", made, None),
        JobResult::Differs(made) => ("differs", made, None),
        JobResult::UpToDate => ("up_to_date", Written::default(), None),
        JobResult::Failed(problem) => ("failed", Written::default(), whole(&problem)),
        JobResult::Unusable(damage) => {
            let error = damage.first().map(ErrorInfo::of_part);
            ("failed", Written { damage, ..Written::default() }, error)
        }
        JobResult::DiskFull => {
            let problem = Problem::other("io", words::DISK_FULL.to_owned());
            ("failed", Written::default(), whole(&problem))
        }
        JobResult::Other => return Vec::new(),
    };
    let object = json!({
        "meshmap": 1,
        "path": input.path.to_string_lossy(),
        "path_bytes": path_bytes(&input.path),
        "output": output.to_string_lossy(),
        "output_bytes": path_bytes(output),
        "state": state,
        "error": error,
        "damage": made.damage.iter().map(ErrorInfo::of_part).collect::<Vec<_>>(),
        "files": made.files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(),
    });
    let mut line = Vec::new();
    // Writing to memory does not fail.
    drop(json_text::write_line(&mut line, &cut(json_text::with(object, made.facts))));
    line
}

/// Does one job.
pub(super) fn one(job: &Job, how: &Reading, make: impl Fn(&MeshFile, &Job) -> JobResult) -> JobResult {
    let file = match open(&job.input, how) {
        Ok(Some(file)) => file,
        Ok(None) => return JobResult::Other,
        Err(problem) => return JobResult::Failed(problem),
    };
    let create_folder = |()| job.output.parent().map_or(Ok(()), fs::create_dir_all);
    match Output::check_path(&job.output).and_then(create_folder) {
        Ok(()) => make(&file, job),
        Err(error) => JobResult::of(meshmap_export::Error::Write(error)),
    }
}

/// The settings for reading files, one at a time or in parallel.
pub(in crate::commands) fn reading(choice: &Choice, is_one_of_many: bool) -> Reading {
    let within = choice.memory.reading(3);
    Reading { mmap: choice.mmap, format: choice.format, is_one_of_many, ..within }
}

pub(super) fn open(input: &Input, how: &Reading) -> Result<Option<MeshFile>, Problem> {
    input.source(how).and_then(|source| input.open(&source, how))
}

/// The reason why nothing was made, without the path that precedes it.
pub(super) fn problem_of(error: meshmap_export::Error) -> Problem {
    match error {
        meshmap_export::Error::Read(error) => error.into(),
        meshmap_export::Error::Write(error) => Problem::other("io", words::writing(&error)),
        meshmap_export::Error::NotHeld { what, .. } => Problem::other("unsupported", what),
        meshmap_export::Error::LimitExceeded { what, limit, most, needed } => {
            let raised = match limit {
                Limit::Output => "raise the limit with --max-output",
                _ => "leave some out with --every",
            };
            let (most, needed) = (text::count(most), text::count(needed));
            let message = format!("{what}: {needed} {limit} needed, the limit is {most}; {raised}");
            Problem::other("limit_exceeded", message)
        }
        meshmap_export::Error::NothingToConvert { has_animations } => {
            let hint =
                if has_animations { "; --with adds its animations to a file with triangles" } else { "" };
            Problem::other("unsupported", format!("nothing to convert: the file has no triangles{hint}"))
        }
        meshmap_export::Error::NonFinite { address, value } => {
            let message = format!("{address} is {value}; --zero-non-finite writes 0 in its place");
            Problem::other("unsupported", message)
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
            out.write_all(&object(&job, JobResult::Failed(problem)))?;
        } else {
            writeln!(out, "{}: {error}", text::path(path))?;
        }
    }
    Ok(found.unreadable.len() as u64)
}

/// The results for all files.
pub(super) struct Summary {
    pub(super) counts: String,
    pub(super) made: u64,
    pub(super) failed: u64,
    /// Files that have parts which cannot be used, and of which the rest was written.
    pub(super) damaged: u64,
    pub(super) is_done: bool,
    pub(super) start: Instant,
}

impl Summary {
    pub(super) fn write(
        self,
        found: &Found,
        reporting: Reporting,
        screen: Screen,
        out: &mut impl Write,
    ) -> io::Result<Outcome> {
        let verdict = match (self.is_done, self.failed + self.damaged) {
            (false, _) => "STOPPED",
            (true, 0) if self.made > 0 => "DONE",
            (true, _) => "FAILED",
        };
        let (counts, failed, skipped) = (&self.counts, text::count(self.failed), &found.skipped);
        let seconds = self.start.elapsed().as_secs_f64();
        let damaged = match self.damaged {
            0 => String::new(),
            damaged => format!(", {} damaged", text::count(damaged)),
        };
        let sum = format!("{verdict}: {counts}, {failed} failed{damaged}{skipped}   {seconds:.2} s");
        let painted =
            text::wrap(&sum, screen.width, 2).into_iter().map(|line| screen.paint(Style::Bold, &line));
        reporting.conclude(&painted.collect::<Vec<_>>().join("\n"), self.is_done, out)?;
        Ok(if self.is_done { Outcome::good_if(verdict == "DONE") } else { Outcome::Interrupted })
    }
}
