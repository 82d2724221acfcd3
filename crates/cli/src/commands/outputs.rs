//! Files that are made from others: their paths, their up-to-date check, and the report about them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use meshmap::MeshFile;
use meshmap_catalog::inspect::{Damage, ErrorInfo, cut, path_bytes};
use meshmap_catalog::{PASSING_KINDS, json as json_text};
use meshmap_export::{Convert, Counts, Limit, Textures, is_image_file};
use meshmap_images::Library;
use meshmap_outputs::{
    Names, Origin, Output, Outputs, Place, Written as WrittenFile, find_conflict, name_all,
};
use meshmap_url::RemoteUrl;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Outcome, Reporting, print_stderr};
use crate::inputs::{Choice, Found, Input, Problem, Reading};
use crate::pool::Waits;
use crate::progress::Printed;
use crate::screen::{Screen, Style};
use crate::{text, words};

/// A file, and the place of what is made of it.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) input: Input,
    pub(super) place: Place,
}

impl Job {
    /// The paths of the job, for reports.
    pub(super) fn paths(&self) -> Paths<'_> {
        Paths {
            input: &self.input,
            output: self.place.path(),
        }
    }
}

/// A file, and the path of what is made of it, in a report.
pub(super) struct Paths<'a> {
    pub(super) input: &'a Input,
    pub(super) output: PathBuf,
}

/// The result of a job.
pub(super) enum JobResult {
    Written(Box<Written>),
    UpToDate(UpToDate),
    /// No mesh file.
    Other,
    /// The file has nothing that the target holds, such as only animations.
    Nothing(Told),
    Failed(Told),
    /// Nothing was written, because these parts of the file cannot be used.
    Unusable(Damaged),
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
            error @ (meshmap_export::Error::NothingToConvert {
                has_unusable: false,
                ..
            }
            | meshmap_export::Error::NothingToDraw {
                has_unusable: false,
            }) => Self::Nothing(problem_of(error).into()),
            error => Self::Failed(problem_of(error).into()),
        }
    }
}

/// The facts about an output in the record, while it is up to date.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct UpToDate {
    #[serde(flatten)]
    pub(super) damage: Damaged,
    #[serde(flatten)]
    pub(super) counts: Counts,
}

/// The reason why nothing was made of a file, in the record, so that the file is not read again.
#[derive(Serialize, Deserialize)]
struct Failure {
    kind: FailureKind,
    /// The memory that a file could take. With another limit, it may not fail.
    memory: u64,
    #[serde(flatten)]
    damage: Damaged,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FailureKind {
    /// The file has nothing that the target holds.
    Nothing,
    Failed,
    /// Parts of the file cannot be used.
    Unusable,
}

impl JobResult {
    /// Returns a failure as a text for the record. `None` if the next run may not fail.
    pub(super) fn failure_record(&self, how: &Reading) -> Option<String> {
        let one = |problem: &Told| Damaged {
            parts: vec![problem.clone()],
            more: 0,
        };
        let (kind, damage) = match self {
            Self::Nothing(problem) => (FailureKind::Nothing, one(problem)),
            Self::Failed(problem) => (FailureKind::Failed, one(problem)),
            Self::Unusable(damage) => (FailureKind::Unusable, damage.for_record()),
            _ => return None,
        };
        let is_passing = |part: &Told| PASSING_KINDS.contains(&&*part.error.kind);
        // Files that --format leaves out can be converted.
        if how.format.is_some() || damage.parts.iter().any(is_passing) {
            return None;
        }
        let failure = Failure {
            kind,
            memory: how.memory,
            damage,
        };
        serde_json::to_string(&failure).ok()
    }

    /// The failure that an earlier run recorded. `None` if it was by another program, or with another limit of memory.
    pub(super) fn of_failure(record: &str, memory: u64) -> Option<Self> {
        let failure: Failure = serde_json::from_str(record).ok()?;
        let mut damage = failure.damage;
        if failure.memory != memory {
            return None;
        }
        match failure.kind {
            FailureKind::Nothing => damage.parts.pop().map(Self::Nothing),
            FailureKind::Failed => damage.parts.pop().map(Self::Failed),
            FailureKind::Unusable => Some(Self::Unusable(damage)),
        }
    }

    /// A file that was named, and has nothing for the output, has failed.
    pub(super) fn of_named(self, is_named: bool) -> Self {
        match self {
            Self::Nothing(problem) if is_named => Self::Failed(problem),
            result => result,
        }
    }
}

impl Waits for JobResult {
    fn held_bytes(&self) -> u64 {
        match self {
            Self::Written(written) => written.held_bytes(),
            Self::UpToDate(output) => json_len(output),
            Self::Unusable(damaged) => json_len(damaged),
            Self::Nothing(problem) | Self::Failed(problem) => json_len(problem),
            Self::Other | Self::DiskFull => 0,
        }
    }
}

/// The length of a value as JSON, which is near to the memory that it takes.
pub(super) fn json_len(value: &impl Serialize) -> u64 {
    struct Length(u64);

    impl Write for Length {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut length = Length(0);
    // Counting does not fail.
    drop(json_text::write(&mut length, value));
    length.0
}

/// The outputs that were written for one file.
#[derive(Default)]
pub(super) struct Written {
    pub(super) files: Vec<WrittenFile>,
    pub(super) textures: Textures,
    /// The size and the counts of what was written.
    pub(super) about: String,
    /// Omitted and changed data, and assumptions.
    pub(super) details: Vec<Remark>,
    /// Possible problems.
    pub(super) notes: Vec<Remark>,
    /// Further properties of the JSON object.
    pub(super) facts: Value,
    /// The counts that the record has.
    pub(super) counts: Counts,
    /// The parts of the input that cannot be used. They were left out.
    pub(super) damage: Damaged,
}

impl Waits for Written {
    fn held_bytes(&self) -> u64 {
        let remarks = self.details.iter().chain(&self.notes);
        let lines: usize = remarks
            .map(|remark| remark.line.len() + remark.kind.len())
            .sum();
        let paths: usize = self
            .files
            .iter()
            .map(|file| file.path.as_os_str().len())
            .sum();
        let texts = (self.about.len() + lines + paths) as u64;
        texts + json_len(&self.facts) + json_len(&self.textures) + json_len(&self.damage)
    }
}

/// A line about a file.
pub(super) struct Remark {
    line: String,
    /// The line without the items of the file; empty if it is not worth a total.
    kind: String,
}

impl Remark {
    pub(super) fn of_kind(line: &str, kind: &str) -> Self {
        Self {
            line: text::line(line),
            kind: text::line(kind),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.line
    }

    /// A line that many files may have in common without need to know it.
    pub(super) fn of_one(line: &str) -> Self {
        Self::of_kind(line, "")
    }
}

/// A problem of a file or a part of it, as reports and the record have it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Told {
    #[serde(flatten)]
    error: ErrorInfo,
    /// The problem without what differs between files. A record that an earlier version wrote has none.
    #[serde(default)]
    summary: String,
}

impl From<Problem> for Told {
    fn from(problem: Problem) -> Self {
        Self {
            error: ErrorInfo::new(&problem, None, None),
            summary: problem.summary(),
        }
    }
}

impl Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::line(&self.error.message))
    }
}

impl Told {
    pub(super) fn kind(&self) -> &str {
        &self.error.kind
    }

    fn new(damage: &Damage) -> Self {
        Self {
            error: ErrorInfo::of_part(damage),
            summary: damage.problem.summary(),
        }
    }

    /// The words by which files with the same problem are counted.
    fn summary(&self) -> &str {
        if self.summary.is_empty() {
            &self.error.kind
        } else {
            &self.summary
        }
    }
}

/// The parts of a file that cannot be used.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Damaged {
    parts: Vec<Told>,
    /// The number of further parts, which the index of outputs does not list.
    more: usize,
}

impl Damaged {
    pub(super) fn new(damage: &[Damage]) -> Self {
        Self {
            parts: damage.iter().map(Told::new).collect(),
            more: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The first parts, and the number of the others.
    pub(super) fn for_record(&self) -> Self {
        const MOST: usize = 64;
        let parts: Vec<Told> = self.parts.iter().take(MOST).cloned().collect();
        let more = self.more + self.parts.len() - parts.len();
        Self { parts, more }
    }

    fn head(&self) -> String {
        format!(
            "{} cannot be used",
            text::plural(self.parts.len() + self.more, "part")
        )
    }

    /// A line for each part.
    pub(super) fn lines(&self) -> Vec<String> {
        text::listed(&self.parts, "part", |part| {
            let error = &part.error;
            let address = error.address.as_deref().unwrap_or_default();
            vec![text::line(&format!("x {address}: {}", error.message))]
        })
    }
}

/// Folders of images as absolute paths, so that the index of outputs does not take other folders for the same.
pub(super) fn absolute(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut whole = Vec::new();
    for folder in folders {
        whole.push(std::path::absolute(folder).unwrap_or_else(|_| folder.clone()));
    }
    whole
}

/// The images that an output shows, refers to or holds, for its JSON object.
pub(super) fn textures(textures: &Textures) -> Value {
    let mut objects = Vec::new();
    for (name, file) in textures.found() {
        objects.push(json!({ "name": name, "file": file.to_string_lossy() }));
    }
    Value::Array(objects)
}

/// The settings for writing and reporting the outputs of a command.
pub(super) struct Plan<'a> {
    /// The settings for reading each file.
    pub(super) how: Reading,
    /// The directory of the outputs; `None` for one output, which is always written.
    pub(super) outputs: Option<&'a Outputs>,
    /// The options that decide about the content of outputs.
    pub(super) options: String,
    /// Files besides the input that the outputs are made from. `None` if one of them may change unnoticed.
    pub(super) also: Option<Vec<Origin>>,
    /// Write outputs that are up to date.
    pub(super) force: bool,
    /// The folders and images that the run knows.
    pub(super) library: Library,
    pub(super) reporting: Reporting,
    /// The memory that making an output takes, besides what is held of its file.
    pub(super) making_bytes: u64,
}

/// The path of a file below the directory that was named, or the name of a file that was named itself.
pub(super) fn below(paths: &[PathBuf], input: &Input) -> PathBuf {
    let is_above = |path: &&PathBuf| input.path.starts_with(path) && input.path != **path;
    let directory = paths
        .iter()
        .filter(|path| !input.is_named && is_above(path));
    let longest = directory.max_by_key(|path| path.as_os_str().len());
    let relative = longest.and_then(|directory| input.path.strip_prefix(directory).ok());
    relative.map_or_else(|| input.file_name().to_owned(), Path::to_owned)
}

/// The outputs below the folder of a store; with `is_one`, the folder of a single output.
pub(super) fn in_store(url: &RemoteUrl, is_one: bool, how: &Reading) -> io::Result<Outputs> {
    let text = url.with_secrets();
    let folder = match text.rsplit_once('/') {
        Some((folder, _)) if is_one => format!("{folder}/"),
        _ => format!("{}/", text.trim_end_matches('/')),
    };
    #[cfg(feature = "stores")]
    return Outputs::in_store(&folder.as_str().into(), how.network.settings());
    #[cfg(not(feature = "stores"))]
    {
        let _ = (folder, how);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The output of each file: below the directory of outputs in the same place as below the named directory.
///
/// Files that would have an output outside of the directory, such as an object of a store with `..` in its key, are reported as
/// unreadable.
pub(super) fn jobs(
    paths: &[PathBuf],
    found: &mut Found,
    ending: &str,
    outputs: &Outputs,
) -> Vec<Job> {
    // A file may be named, and be in a directory that is named.
    let mut seen: HashSet<OsString> = HashSet::new();
    found
        .files
        .retain(|input| seen.insert(input.source_with_secrets().to_owned()));
    let sources: Vec<PathBuf> = found
        .files
        .iter()
        .map(|input| below(paths, input))
        .collect();
    // Images have no outputs, but lie next to meshes of the same name.
    let names = name_all(&sources, ending, |source| {
        is_image_file(&source.to_string_lossy())
    });
    let mut jobs = Vec::new();
    for (input, name) in found.files.iter().zip(names) {
        match outputs.place(name) {
            Ok(place) => jobs.push(Job {
                input: input.clone(),
                place,
            }),
            Err(error) => found
                .unreadable
                .push((input.path.clone(), error.to_string())),
        }
    }
    jobs
}

/// The version of a file that outputs are made from. `None` if the file may change unnoticed.
pub(super) fn origin(input: &Input, how: &Reading) -> Option<Origin> {
    if !input.is_in_store() {
        return Origin::of_path(&input.path);
    }
    let (address, version) = input.fetch_version(how).ok().flatten()?;
    Some(Origin::of_address(&address, &version))
}

/// Lines about many files that say the same, counted.
#[derive(Default)]
pub(super) struct Totals {
    /// Omitted and changed data, and assumptions.
    details: Counted,
    notes: Counted,
    /// Reasons why files failed, and what is damaged.
    problems: Counted,
}

#[derive(Default)]
struct Counted(HashMap<String, u64>);

impl Counted {
    /// Counted each line of one file once.
    fn add(&mut self, lines: impl IntoIterator<Item = String>) {
        for line in lines
            .into_iter()
            .filter(|line| !line.is_empty())
            .collect::<BTreeSet<_>>()
        {
            *self.0.entry(line).or_default() += 1;
        }
    }

    /// The most frequent lines first.
    fn lines(&self, screen: Screen) -> Vec<u8> {
        const MOST: usize = 20;
        let mut counted: Vec<(&String, u64)> =
            self.0.iter().map(|(line, count)| (line, *count)).collect();
        counted.sort_by_key(|(line, count)| (Reverse(*count), *line));
        let mut lines = Vec::new();
        for (line, count) in counted.iter().take(MOST) {
            lines.extend(screen.fit(&format!("{}: {line}", text::plural(*count, "file"))));
        }
        let more = counted.len().saturating_sub(MOST);
        if more > 0 {
            lines.push(format!("{} more", text::plural(more, "other line")));
        }
        text::joined(lines)
    }
}

impl Totals {
    pub(super) fn add(&mut self, result: &JobResult) {
        let reasons = |outcome: &str, damage: &Damaged| {
            damage
                .parts
                .iter()
                .map(|part| format!("{outcome}: {}", part.summary()))
                .collect::<Vec<_>>()
        };
        match result {
            JobResult::Written(made) => {
                self.details
                    .add(made.details.iter().map(|detail| detail.kind.clone()));
                self.notes
                    .add(made.notes.iter().map(|note| note.kind.clone()));
                self.problems.add(reasons("damaged", &made.damage));
            }
            JobResult::UpToDate(output) => self.problems.add(reasons("damaged", &output.damage)),
            JobResult::Unusable(damage) => self.problems.add(reasons("failed", damage)),
            JobResult::Failed(problem) => {
                self.problems
                    .add([format!("failed: {}", problem.summary())]);
            }
            JobResult::Other | JobResult::Nothing(_) | JobResult::DiskFull => {}
        }
    }

    pub(super) fn printed(&self, quiet: bool, screen: Screen) -> Printed {
        let results = if quiet {
            Vec::new()
        } else {
            self.details.lines(screen)
        };
        let problems = [self.notes.lines(screen), self.problems.lines(screen)];
        Printed {
            results,
            problems: problems.concat(),
        }
    }
}

/// The lines about a job: all that is known of the only file, and one line for each of many files. With `quiet`, only problems are
/// reported.
pub(super) fn lines(
    Paths { input, output }: &Paths<'_>,
    result: JobResult,
    quiet: bool,
    is_one: bool,
    screen: Screen,
) -> Printed {
    let path = input.shown();
    let names = format!("{path} -> {}", text::path(output));
    let bad =
        |problem: &dyn Display| format!("{}\n", screen.problem(&format!("{path}: {problem}")));
    let fitted = |line: String| {
        let mut lines = screen.fit(&line).join("\n");
        lines.push('\n');
        lines
    };
    let indented = |lines: Vec<String>| {
        let mut text = String::new();
        for line in lines {
            text += &fitted(format!("  {line}"));
        }
        text
    };
    let unusable = |damage: &Damaged| match damage.parts.first() {
        None => String::new(),
        Some(_) if is_one => bad(&damage.head()) + &indented(damage.lines()),
        Some(part) => bad(&format!(
            "{}: {}",
            damage.head(),
            text::line(&part.error.message)
        )),
    };
    let (mut results, problems) = match result {
        JobResult::Written(made) if is_one => {
            let details = std::iter::once(made.about)
                .chain(made.details.into_iter().map(|detail| detail.line));
            let notes = made
                .notes
                .iter()
                .map(|note| format!("{path}: {}\n", note.line))
                .collect::<String>();
            (
                fitted(names) + &indented(details.collect()),
                notes + &unusable(&made.damage),
            )
        }
        JobResult::Written(made) => (
            match screen.fit(&format!("{names}   {}", made.about)).as_slice() {
                [one] => format!("{one}\n"),
                _ => fitted(names) + &indented(vec![made.about]),
            },
            unusable(&made.damage),
        ),
        JobResult::UpToDate(UpToDate { damage, .. }) | JobResult::Unusable(damage) => {
            (String::new(), unusable(&damage))
        }
        JobResult::Failed(problem) => (String::new(), bad(&problem)),
        // One line about all that a full disk has no space for is enough.
        JobResult::Other | JobResult::Nothing(_) | JobResult::DiskFull => Default::default(),
    };
    if quiet {
        results.clear();
    }
    Printed {
        results: results.into_bytes(),
        problems: problems.into_bytes(),
    }
}

/// The JSON object of a job, on a line; nothing for files that are not meshes.
pub(super) fn object(Paths { input, output }: &Paths<'_>, result: JobResult) -> Vec<u8> {
    let whole = |problem: Told| Some(problem.error);
    let (state, made, error) = match result {
        JobResult::Written(made) => ("written", *made, None),
        JobResult::UpToDate(UpToDate { damage, counts }) => (
            "up_to_date",
            Written {
                damage,
                // The records of earlier versions have no counts.
                facts: match counts.vertices {
                    Some(_) => json!(counts),
                    None => Value::Null,
                },
                ..Written::default()
            },
            None,
        ),
        JobResult::Nothing(problem) => ("skipped", Written::default(), whole(problem)),
        JobResult::Failed(problem) => ("failed", Written::default(), whole(problem)),
        JobResult::Unusable(damage) => {
            let error = damage.parts.first().map(|part| part.error.clone());
            (
                "failed",
                Written {
                    damage,
                    ..Written::default()
                },
                error,
            )
        }
        JobResult::DiskFull => {
            let problem = Problem::other("io", words::DISK_FULL.to_owned());
            ("failed", Written::default(), whole(problem.into()))
        }
        JobResult::Other => return Vec::new(),
    };
    let damage: Vec<&ErrorInfo> = made.damage.parts.iter().map(|part| &part.error).collect();
    let object = json!({
        "meshmap": 2,
        "path": input.path.to_string_lossy(),
        "path_bytes": path_bytes(&input.path),
        "output": output.to_string_lossy(),
        "output_bytes": path_bytes(output),
        "state": state,
        "error": error,
        "damage": damage,
        "files": made.files.iter().map(|file| file.path.to_string_lossy()).collect::<Vec<_>>(),
    });
    let mut object = cut(json_text::with(object, made.facts));
    if made.damage.more > 0 {
        let cut = object["omitted"]["damage"].as_u64().unwrap_or_default();
        object["omitted"]["damage"] = json!(cut + made.damage.more as u64);
    }
    let mut line = Vec::new();
    // Writing to memory does not fail.
    drop(json_text::write_line(&mut line, &object));
    line
}

/// Does one job. The folder of the output is created, unless the user names the output itself.
pub(super) fn one(
    job: &Job,
    how: &Reading,
    make: impl Fn(&MeshFile, &Job) -> JobResult,
) -> JobResult {
    let file = match job.input.read(how) {
        Ok(Some(file)) => file,
        Ok(None) => return JobResult::Other,
        Err(problem) => return JobResult::Failed(problem.into()),
    };
    match job.place.prepare() {
        Ok(()) => make(&file, job),
        Err(error) => JobResult::of(meshmap_export::Error::Write(error)),
    }
}

/// Equal shares of the memory: for what a file object holds, for a call, and for what is made.
pub(super) const SHARES: u64 = 3;

/// The reason why nothing was made, without the path that precedes it.
pub(super) fn problem_of(error: meshmap_export::Error) -> Problem {
    match error {
        meshmap_export::Error::Read(error) => error.into(),
        meshmap_export::Error::Write(error) => Problem::other("io", words::writing(&error)),
        meshmap_export::Error::NotHeld { what, .. } => Problem::other("unsupported", what),
        meshmap_export::Error::LimitExceeded {
            what,
            limit,
            most,
            needed,
        } => {
            let raised = match limit {
                Limit::Output => "raise the limit with --max-output",
                _ => "leave some out with --every",
            };
            let most = text::count(most);
            let needed = text::count(needed);
            let message = format!("{what}: {needed} {limit} needed, the limit is {most}; {raised}");
            let summary = format!("{what}: more {limit} needed than the limit; {raised}");
            Problem::summarized("limit_exceeded", message, summary)
        }
        meshmap_export::Error::NothingToConvert { has_animations, .. } => {
            let hint = if has_animations {
                "; --with adds its animations to a file with triangles"
            } else {
                ""
            };
            Problem::other(
                "unsupported",
                format!("nothing to convert: the file has no vertices{hint}"),
            )
        }
        other => {
            let option = words::option::<Convert>;
            let message = other.words(&option);
            if !matches!(other, meshmap_export::Error::NonFinite { .. }) {
                return Problem::other("unsupported", message);
            }
            let zero = option("zero_non_finite");
            let summary = format!("positions that are not finite; {zero} writes 0 in their place");
            Problem::summarized("unsupported", message, summary)
        }
    }
}

/// The path that stands for standard output.
pub(super) const STANDARD_OUTPUT: &str = "-";

/// Makes the output of one file, and writes it to standard output by way of a temporary file: pipes cannot seek.
pub(super) fn to_standard_output(
    input: &Input,
    how: &Reading,
    ending: &str,
    make: impl Fn(&MeshFile, &Job) -> JobResult,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let output = folder.path().join(format!("output.{ending}"));
    let job = Job {
        input: input.clone(),
        place: Place::at(&output)?,
    };
    let (result, outcome) = match one(&job, how, make).of_named(input.is_named) {
        JobResult::Written(made) => {
            io::copy(&mut File::open(output)?, out)?;
            let outcome = Outcome::good_if(made.damage.is_empty());
            (JobResult::Written(made), outcome)
        }
        JobResult::DiskFull => (
            JobResult::Failed(Problem::other("io", words::DISK_FULL.to_owned()).into()),
            Outcome::Bad,
        ),
        result => (result, Outcome::Bad),
    };
    let paths = Paths {
        input,
        output: "(standard output)".into(),
    };
    let Printed { results, problems } = lines(&paths, result, choice.quiet, true, screen);
    Printed::problem([results, problems].concat()).write(out)?;
    Ok(outcome)
}

/// Begins an output that the user names.
pub(super) fn create(output: &Path) -> io::Result<Output> {
    Output::create(&Place::at(output)?)
}

/// Returns why jobs cannot be done: two of them would write one file, or one would replace an input or a directory.
///
/// `names` returns the names that a job may take, below the directory of outputs.
pub(super) fn conflict(
    inputs: &[Input],
    jobs: &[Job],
    how: &Reading,
    names: impl Fn(&Path) -> Names,
) -> Option<String> {
    let root = jobs.first()?.place.outputs().path();
    let names: Vec<Names> = jobs.iter().map(|job| names(job.place.below())).collect();
    let mut replaced: HashSet<PathBuf> = HashSet::new();
    for file in names.iter().flat_map(|names| &names.files) {
        let file = root.join(file);
        match fs::metadata(&file) {
            Ok(metadata) if metadata.is_dir() => {
                return Some(format!(
                    "{}: a directory, which cannot be replaced",
                    text::path(&file)
                ));
            }
            Ok(_) => drop(fs::canonicalize(&file).map(|path| replaced.insert(path))),
            Err(_) => {}
        }
    }
    // Files that hold no mesh are found with the others, and write nothing.
    let is_mesh = |job: usize| jobs.get(job).is_some_and(|job| job.input.is_mesh(how));
    if let Some(found) = find_conflict(&names, |_, _| false, is_mesh) {
        let [a, b] = found.outputs.map(|job| {
            jobs.get(job)
                .map(|job| job.input.shown())
                .unwrap_or_default()
        });
        return Some(format!(
            "{a} and {b} would both be written to {}: convert them one at a time",
            text::path(&root.join(found.path))
        ));
    }
    if replaced.is_empty() {
        return None;
    }
    let input = inputs.iter().find(|input| {
        fs::canonicalize(&input.path).is_ok_and(|path| replaced.contains(&path))
            && input.is_mesh(how)
    })?;
    Some(format!(
        "{}: an input, which cannot be replaced",
        input.shown()
    ))
}

/// Reports directories that could not be read, and returns their number.
pub(super) fn unreadable(found: &Found, json: bool, out: &mut impl Write) -> io::Result<u64> {
    for (path, error) in &found.unreadable {
        if json {
            let problem = Problem::other("io", error.clone());
            let paths = Paths {
                input: &Input::named(path),
                output: PathBuf::new(),
            };
            out.write_all(&object(&paths, JobResult::Failed(problem.into())))?;
        } else {
            out.flush()?;
            print_stderr(format_args!("{}: {error}", text::path(path)));
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
            (true, 0) if self.made + found.skipped.nothing > 0 => "DONE",
            (true, _) => "FAILED",
        };
        let counts = &self.counts;
        let failed = text::count(self.failed);
        let skipped = &found.skipped;
        let seconds = self.start.elapsed().as_secs_f64();
        let damaged = match self.damaged {
            0 => String::new(),
            damaged => format!(", {} damaged", text::count(damaged)),
        };
        let sum =
            format!("{verdict}: {counts}, {failed} failed{damaged}{skipped}   {seconds:.2} s");
        let painted = text::wrap(&sum, screen.width, 2)
            .into_iter()
            .map(|line| screen.paint(Style::Bold, &line));
        reporting.conclude(&painted.collect::<Vec<_>>().join("\n"), self.is_done, out)?;
        Ok(if self.is_done {
            Outcome::good_if(verdict == "DONE")
        } else {
            Outcome::Interrupted
        })
    }
}
