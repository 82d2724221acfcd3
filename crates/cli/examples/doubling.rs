//! The doubling test: every public call, and every command, on files of n, 2n, 4n.. tiny items of every kind.
//!
//! The time of a call must grow linearly with the file: from n to 4n by a factor of at most six, if it is long enough to be
//! measured. Work that multiplies two numbers of the file takes sixteen times as long. The time for touching newly allocated
//! memory is subtracted, because memory has its own rule: it must stay within the limits. Each size runs in a separate
//! process, so that a call that never returns is also a row of the table.

mod lines;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use meshmap::{Format, Limits, Options, Parallelism, Source};
use meshmap_testing::allocator::{self, Counting};
use meshmap_testing::calls::{Measured, Meter, every, in_steps, most_memory};
use meshmap_testing::kinds::{self, Kind};
use meshmap_testing::{again, hooked};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const USAGE: &str = "usage: doubling [--short] [--list] [FILTER..]: kinds whose `format/name` has one of the filters in it";

/// More than this and a process ends: what is allowed is less.
const MOST_MEMORY: i64 = 5 << 30;

/// The thoroughness of a run.
struct Plan {
    name: &'static str,
    /// Calls that take less are fast enough.
    least: Duration,
    /// Files do not become longer.
    most_bytes: usize,
    /// The factor from each size to the next.
    step: usize,
    /// Calls that take longer are not made for larger sizes.
    enough: Duration,
    /// Without a sign of life for so long, a process is ended.
    patience: Duration,
    /// A size is the last one where the calls that would be made again took longer together.
    budget: Duration,
    /// The number of shares of the command lines with options. Each kind tries one share.
    shares: usize,
}

const SHORT: Plan = Plan {
    name: "short",
    least: Duration::from_millis(10),
    most_bytes: 512 << 10,
    step: 4,
    enough: Duration::from_millis(150),
    patience: Duration::from_secs(30),
    budget: Duration::from_millis(700),
    shares: 16,
};

const LONG: Plan = Plan {
    name: "long",
    least: Duration::from_millis(20),
    most_bytes: 16 << 20,
    step: 2,
    enough: Duration::from_secs(2),
    patience: Duration::from_secs(600),
    budget: Duration::from_secs(5),
    shares: 4,
};

const MOST_ITEMS: usize = 4_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--child") => {
            child(&arguments[1..]);
            return ExitCode::SUCCESS;
        }
        Some("--command") => return command(&arguments[1..]),
        _ => {}
    }
    let (mut short, mut list, mut filters) = (false, false, Vec::new());
    for argument in arguments {
        match argument.as_str() {
            "--short" => short = true,
            "--list" => list = true,
            option if option.starts_with('-') => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
            _ => filters.push(argument),
        }
    }
    let mut kinds = kinds::all();
    kinds.retain(|kind| {
        filters.is_empty()
            || filters
                .iter()
                .any(|filter| name_of(kind).contains(filter.as_str()))
    });
    if list {
        kinds.iter().for_each(|kind| println!("{}", name_of(kind)));
        return ExitCode::SUCCESS;
    }
    let plan = if short { &SHORT } else { &LONG };
    let mut faults = Vec::new();
    let (mut fast, mut calls) = (0, 0);
    println!("| kind | call | n | time at n | 4n : n | peak | |");
    println!("|---|---|--:|--:|--:|--:|---|");
    for row in all_rows(&kinds, plan) {
        calls += 1;
        if row.verdict.is_empty() && row.time < plan.least {
            fast += 1;
            continue;
        }
        println!("{row}");
        if !row.verdict.is_empty() {
            faults.push(row);
        }
    }
    println!(
        "\n{} kinds, {calls} calls, of which {fast} take less than {:?} for any size",
        kinds.len(),
        plan.least
    );
    if faults.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\n{} calls that take too long or too much:", faults.len());
    faults.iter().for_each(|row| println!("{row}"));
    ExitCode::FAILURE
}

fn name_of(kind: &Kind) -> String {
    format!("{}/{}", kind.format, kind.name)
}

/// The results of one call on files of one kind.
struct Row {
    kind: String,
    call: String,
    n: usize,
    time: Duration,
    ratio: f64,
    peak: i64,
    /// Empty where all is well.
    verdict: String,
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            kind,
            call,
            n,
            time,
            ratio,
            peak,
            verdict,
        } = self;
        let milliseconds = time.as_secs_f64() * 1e3;
        let peak = *peak as f64 / f64::from(1 << 20);
        write!(
            f,
            "| {kind} | {call} | {n} | {milliseconds:.1} ms | {ratio:.1} | {peak:.1} MiB | {verdict} |"
        )
    }
}

/// Times and peaks of a call, by the number of items.
#[derive(Default)]
struct Series {
    times: BTreeMap<usize, Duration>,
    peak: i64,
    verdict: String,
}

/// Kinds in their order, as many at a time as there are cores: what is measured is the time of each process, not of the machine.
fn all_rows(kinds: &[Kind], plan: &Plan) -> impl Iterator<Item = Row> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(kinds.len().max(1));
    let next = AtomicUsize::new(0);
    let mut all: Vec<(usize, Vec<Row>)> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(kind) = kinds.get(index) else {
                    return done;
                };
                eprintln!("kind {} of {}: {}", index + 1, kinds.len(), name_of(kind));
                done.push((index, rows(kind, plan)));
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a thread that measures"))
            .collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().flat_map(|(_, rows)| rows)
}

fn rows(kind: &Kind, plan: &Plan) -> Vec<Row> {
    let mut calls: BTreeMap<String, Series> = BTreeMap::new();
    let mut skipped = HashSet::new();
    for n in sizes(kind, plan) {
        let run = run(kind, n, &skipped, plan);
        let mut spent = Duration::ZERO;
        for measured in run.measured.clone() {
            let series = calls.entry(measured.name.clone()).or_default();
            series.times.insert(n, measured.time);
            series.peak = series.peak.max(measured.peak);
            if measured.peak > run.allowed(&measured.name) && series.verdict.is_empty() {
                series.verdict = format!(
                    "memory: {} are allowed at n = {n}",
                    run.allowed(&measured.name)
                );
            }
            // Calls that others need are always made.
            let needed = ["open", "meshes", "blocks"]
                .iter()
                .any(|name| measured.name.ends_with(name));
            if measured.time > plan.enough && !needed {
                skipped.insert(measured.name);
            } else {
                spent += measured.time;
            }
        }
        if let Some((call, how)) = run.ended {
            let series = calls.entry(call.clone()).or_default();
            series.verdict = format!("{how} at n = {n}");
            skipped.insert(call);
        }
        if spent > plan.budget {
            break;
        }
    }
    // Calls that were not measured at a size are not measured there again: they take too long.
    let mut left_out = LeftOut::new();
    for n in calls.values().flat_map(|series| series.times.keys()) {
        left_out.entry(*n).or_insert_with(|| {
            let is_left_out = |series: &Series| !series.times.contains_key(n);
            calls
                .iter()
                .filter(|(_, series)| is_left_out(series))
                .map(|(call, _)| call.clone())
                .collect()
        });
    }
    let mut again = Again::new();
    calls
        .into_iter()
        .map(|(call, series)| row(kind, call, series, plan, &left_out, &mut again))
        .collect()
}

fn sizes(kind: &Kind, plan: &Plan) -> Vec<usize> {
    let most = kind.most.min(MOST_ITEMS);
    let fits = |n: usize| n <= most && (kind.build)(n).len() <= plan.most_bytes;
    let mut sizes: Vec<usize> = std::iter::successors(Some(64), |n| Some(n * plan.step))
        .take_while(|n| fits(*n))
        .collect();
    // Up to what is allowed, with what it is compared with.
    let last = most / 4 * 4;
    if sizes.last().is_some_and(|n| n * plan.step > last) && fits(last) {
        sizes.extend([last / 4, last]);
        sizes.sort_unstable();
        sizes.dedup();
    }
    sizes
}

/// The growth of the time of a call, by the largest files on which it was measured; measured again if it is too great.
fn row(
    kind: &Kind,
    call: String,
    mut series: Series,
    plan: &Plan,
    left_out: &LeftOut,
    again: &mut Again,
) -> Row {
    const MOST: f64 = 6.0;
    // Calls too short to be measured took at most `least`.
    let ratio_of = |time: Duration, longer: Duration| longer.div_duration_f64(time.max(plan.least));
    let pair = |(n, time): (&usize, &Duration)| {
        let longer = series
            .times
            .get(&(n * 4))
            .filter(|longer| **longer >= plan.least)?;
        Some((*n, *time, ratio_of(*time, *longer)))
    };
    // The largest files show best how time grows.
    let longest = series
        .times
        .last_key_value()
        .map_or((0, Duration::ZERO), |(n, time)| (*n, *time));
    let (n, time, mut ratio) = series
        .times
        .iter()
        .rev()
        .find_map(pair)
        .unwrap_or((longest.0, longest.1, 0.0));
    // A busy machine is slow by chance, and caches end somewhere, but not ten times in a row: what is quadratic takes 16.
    if ratio > MOST && series.verdict.is_empty() {
        for attempt in 1..10 {
            let mut time = |n| {
                again
                    .entry((n, attempt))
                    .or_insert_with(|| run(kind, n, &left_out[&n], plan))
                    .time(&call)
            };
            if let (Some(time), Some(longer)) = (time(n), time(n * 4)) {
                ratio = ratio.min(ratio_of(time, longer));
            }
            if ratio <= MOST {
                break;
            }
        }
        if ratio > MOST {
            series.verdict = "time".to_owned();
        }
    }
    Row {
        kind: name_of(kind),
        call,
        n,
        time,
        ratio,
        peak: series.peak,
        verdict: series.verdict,
    }
}

/// The calls that were not made at a size.
type LeftOut = HashMap<usize, HashSet<String>>;

/// Runs that were made again, by the number of items and the attempt.
type Again = HashMap<(usize, usize), Run>;

/// The output of a process.
#[derive(Default)]
struct Run {
    measured: Vec<Measured>,
    stored: i64,
    /// The memory that opening may keep, if it is known.
    headers: Option<i64>,
    panic: Option<String>,
    /// The call that did not end, and how it did.
    ended: Option<(String, String)>,
}

impl Run {
    fn time(&self, call: &str) -> Option<Duration> {
        self.measured
            .iter()
            .find(|one| one.name == call)
            .map(|one| one.time)
    }

    /// The rule of memory. The decoded data that a handle holds is also within the total.
    fn allowed(&self, call: &str) -> i64 {
        if let Some(headers) = self
            .headers
            .filter(|_| call == "by ranges: held after opening")
        {
            // The first bytes that are read may be the body's, and few windows and short texts are kept.
            return 8 * headers + (192 << 10) + (2 << 20);
        }
        most_memory(&Limits::default(), self.stored as u64) as i64
    }
}

fn run(kind: &Kind, n: usize, skipped: &HashSet<String>, plan: &Plan) -> Run {
    let mut run = Run::default();
    let mut arguments = vec![
        "--child".to_owned(),
        name_of(kind),
        n.to_string(),
        plan.name.to_owned(),
    ];
    arguments.extend(skipped.iter().cloned());
    watch(&arguments, plan, &mut run);
    let folder = Folder::new();
    let file = folder.path.join("file");
    std::fs::write(&file, (kind.build)(n)).expect("room for temporary files");
    for line in lines::share(format_of(kind), number_of(kind), plan.shares) {
        let name = lines::name(&line);
        if skipped.contains(&name) {
            continue;
        }
        // Numbers of a small file may describe a large array, and the time of reading it grows with the array.
        let most_of_array = 16 * run.stored as u64;
        let Some(line) = lines::with_paths(&line, &file, &folder.path, most_of_array) else {
            continue;
        };
        let arguments = ["--command".to_owned(), name].into_iter();
        let arguments: Vec<String> = arguments.chain(line).collect();
        watch(&arguments, plan, &mut run);
    }
    run
}

fn format_of(kind: &Kind) -> Format {
    let format = Format::ALL
        .into_iter()
        .find(|format| format.name() == kind.format);
    format.expect("the name of a format")
}

/// The number of a kind among all of them.
fn number_of(kind: &Kind) -> usize {
    let number = kinds::all()
        .iter()
        .position(|one| name_of(one) == name_of(kind));
    number.expect("one of all kinds")
}

/// A folder that goes when it is dropped.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("meshmap-doubling-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("room for temporary files");
        Self { path }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Runs this program again, and reads its output.
fn watch(arguments: &[String], plan: &Plan, run: &mut Run) {
    let mut current = String::new();
    let prepare = |command: &mut Command| {
        command.args(arguments).env("RAYON_NUM_THREADS", "1");
        // Otherwise glibc returns memory at the end of the heap with each call, or keeps it: by chance, for each size.
        command.env("MALLOC_TRIM_THRESHOLD_", "1073741824");
        // The heaps of threads are returned whatever the threshold is: one heap for all of them.
        command.env("MALLOC_ARENA_MAX", "1");
    };
    let end = again::run(prepare, plan.patience, |line| {
        told(&line, run, &mut current)
    });
    // The commands end with 1 where a file is bad.
    let is_good = end.code().is_some_and(|code| code <= 1);
    let how = run
        .panic
        .take()
        .or_else(|| (!is_good).then(|| end.to_string()));
    run.ended = run.ended.take().or(how.map(|how| (current, how)));
}

/// A line of another process: `@stored BYTES HEADERS`, `@begun NAME` or `@done TIME PEAK NAME`.
fn told(line: &str, run: &mut Run, current: &mut String) {
    let words: Vec<&str> = line.splitn(4, ' ').collect();
    match words.as_slice() {
        ["@stored", stored, headers] => {
            // Commands do not know of headers.
            (run.stored, run.headers) = (
                stored.parse().unwrap_or(0),
                headers.parse().ok().or(run.headers),
            );
        }
        ["@begun", ..] => *current = line["@begun ".len()..].to_owned(),
        ["@done", time, peak, name] => {
            let (time, peak) = (
                Duration::from_nanos(time.parse().unwrap_or(0)),
                peak.parse().unwrap_or(0),
            );
            let time = time.saturating_sub(time_of_memory(peak));
            run.measured.push(Measured {
                name: (*name).to_owned(),
                time,
                peak,
            });
        }
        // Commands also print their errors there.
        _ if line.contains("panicked at") => run.panic = Some(line.to_owned()),
        _ => {}
    }
}

/// The time for allocating and filling `peak` bytes. The rule for memory allows a short file many times its length, so this
/// time may grow faster than the file. A byte of decoded poses takes 1.1 ns on an idle machine.
fn time_of_memory(peak: i64) -> Duration {
    const NANOSECONDS_OF_BYTE: u64 = 2;
    Duration::from_nanos(u64::try_from(peak).unwrap_or(0) * NANOSECONDS_OF_BYTE)
}

fn tell(measured: Measured) {
    eprintln!(
        "@done {} {} {}",
        measured.time.as_nanos(),
        measured.peak,
        measured.name
    );
}

/// Makes all calls on a file: KIND N HOW SKIPPED..
fn child(arguments: &[String]) {
    allocator::abort_beyond(MOST_MEMORY);
    let kind = kinds::all()
        .into_iter()
        .find(|kind| name_of(kind) == arguments[0])
        .expect("a kind");
    let n = arguments[1].parse().expect("a number");
    let short = arguments[2] == "short";
    let body = bytes::Bytes::from((kind.build)(n));
    let headers = kind
        .headers
        .map_or_else(|| "-".to_owned(), |headers| headers(n).to_string());
    eprintln!("@stored {} {headers}", body.len());
    let mut meter = Meter::new(|name: &str| eprintln!("@begun {name}"), tell);
    meter.skipped = arguments[3..].iter().cloned().collect();
    meter.most = if kind.shared { 64 } else { usize::MAX };
    let mut options = Options::default().with_parallelism(Parallelism::Off);
    if let Some(total) = kind.max_total_bytes {
        options.limits = options.limits.with_max_total_bytes(total);
    }
    meter.begin("");
    every(&Source::from_bytes(body.clone()), &options, &mut meter);
    // If opening reads only headers, there are blocks to be read later, which could be read too often.
    let reads_later = kind.headers.is_some() || matches!(kind.format, "cgeo" | "slmesh");
    if reads_later || !short {
        meter.most = 64;
        meter.begin("by ranges: ");
        every(&hooked(body.clone(), |_| Ok(())), &options, &mut meter);
    }
    meter.begin("");
    in_steps(&body, 4 << 10, &options, &mut meter);
}

/// Runs a command: NAME ARGUMENTS.., and prints its time and memory.
fn command(arguments: &[String]) -> ExitCode {
    allocator::abort_beyond(MOST_MEMORY);
    // The name of the command, the command, and the file.
    let file = Path::new(&arguments[2]);
    let stored = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    eprintln!("@stored {stored} -\n@begun {}", arguments[0]);
    let start = cpu_time::ProcessTime::now();
    let command = std::iter::once("meshmap".to_owned()).chain(arguments[1..].iter().cloned());
    let (status, count) = allocator::counted_in_process(|| meshmap_cli::run(command));
    tell(Measured {
        name: arguments[0].clone(),
        time: start.elapsed(),
        peak: count.peak,
    });
    status
}
