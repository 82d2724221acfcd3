//! The memory test: every public call on every file there is and on bombs made of them, under an allocator that counts what
//! all threads take.
//!
//! A call may take the larger of the total that the limits allow and 16 times the stored bytes, the stored bytes, and
//! 1 MiB for each thread. Files are tried at the default limits and at limits of 1 MiB, commands with `--max-memory`.
//! The check also fails for pages, reports and JSON objects that are too long.

mod lines;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use bytes::Bytes;
use cpu_time::ProcessTime;
use meshmap::{Format, Limits, Options, Source};
use meshmap_testing::allocator::{self, Counting};
use meshmap_testing::calls::{Measured, Meter, every, most_memory};
use meshmap_testing::fixtures::tmf::Writer;
use meshmap_testing::kinds::{self, Kind};
use meshmap_testing::{again, bombs, data, hooked};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const USAGE: &str = "usage: memory [--from NUMBER] [--share K/N] [--short] [FILTER..]: cases from a number on, of each N the one with remainder K, whose name has one of the filters in it";
const MIB: i64 = 1 << 20;
const MOST_MEMORY: i64 = 6 << 30;
/// The processor time for the picture of `diff`.
const PICTURE_TIME: Duration = Duration::from_secs(4);
/// The picture of `diff`, which is 1024 x 1024 with four samples per pixel.
const PICTURE: i64 = 40 * MIB;
/// The processor time that a command may take, and for each byte of the file: LZMA makes 6,000 bytes of one.
const LONGEST: Duration = Duration::from_secs(4);
const LONGEST_OF_BYTE: Duration = Duration::from_micros(24);
/// The factor by which `--cross-check` may take longer: it also runs the reference decoders.
const SLOWER: u32 = 3;
/// The maximum output of a command, except for [lists](is_list), for a file of up to 10 MB.
const MOST_PRINTED: u64 = 1_000_000;
const PRINTED_FOR: usize = 10_000_000;
/// Without a sign of life for so long, a process is ended: it hangs, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut value = |option: &str| {
        let is_named =
            arguments.first().is_some_and(|argument| argument == option) && arguments.len() > 1;
        is_named.then(|| arguments.drain(..2).nth(1).unwrap_or_default())
    };
    let number = |text: String| text.parse().unwrap_or(0);
    let (child, first) = (
        value("--child").map(number),
        value("--from").map_or(0, number),
    );
    let Some(share) = value("--share").map_or(Some([0, 1]), |share| parse_share(&share)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let short = arguments
        .first()
        .is_some_and(|argument| argument == "--short");
    let filters = &arguments[usize::from(short)..];
    if filters.iter().any(|filter| filter.starts_with('-')) {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    if let Some(from) = child {
        allocator::abort_beyond(MOST_MEMORY);
        cases(
            short,
            &mut Runner {
                from,
                share,
                next: 0,
                filters,
            },
        );
        return ExitCode::SUCCESS;
    }
    parent(&arguments, first, share)
}

/// K and N of `K/N`, where K is less than N.
fn parse_share(text: &str) -> Option<[usize; 2]> {
    let (k, n) = text.split_once('/')?;
    let share = [k.parse().ok()?, n.parse().ok()?];
    (share[0] < share[1]).then_some(share)
}

/// Runs the cases in another process, and goes on in a new one after a case that ended it.
fn parent(arguments: &[String], first: usize, share: [usize; 2]) -> ExitCode {
    let printed =
        Printed(std::env::temp_dir().join(format!("meshmap-memory-{}.out", std::process::id())));
    let mut from = first;
    let mut faults: BTreeMap<String, usize> = BTreeMap::new();
    let mut fault = |line: String| {
        println!("{line}");
        // There are many bombs of a kind.
        *faults
            .entry(line.rsplit(": ").next().unwrap_or_default().to_owned())
            .or_default() += 1;
    };
    let mut cases = 0_usize;
    loop {
        let first = from;
        let (mut case, mut call, mut panic) = (String::new(), String::new(), None);
        let prepare = |command: &mut Command| {
            let share = share.map(|number| number.to_string()).join("/");
            command
                .arg("--child")
                .arg(first.to_string())
                .arg("--share")
                .arg(share)
                .args(arguments);
            command
                .env(Printed::VARIABLE, &printed.0)
                .stdout(printed.file());
        };
        let end = again::run(prepare, PATIENCE, |line| match line.split_once(' ') {
            Some(("@case", rest)) => {
                let (index, name) = rest.split_once(' ').unwrap_or((rest, ""));
                (from, case) = (index.parse::<usize>().unwrap_or(from) + 1, name.to_owned());
                cases += 1;
                if cases.is_multiple_of(1000) {
                    eprintln!("case {from}: {case}");
                }
            }
            Some(("@begun", name)) => call = name.to_owned(),
            Some(("@bad", text)) => fault(format!("{case}: {text}")),
            _ if line.contains("panicked at") => panic = Some(line),
            _ => {}
        });
        if end.code() == Some(0) {
            break;
        }
        fault(format!(
            "{case}: {call} ended with {}",
            panic.unwrap_or_else(|| end.to_string())
        ));
    }
    drop(std::fs::remove_file(&printed.0));
    println!(
        "cases {first}..{from}: {cases} cases, {} faults",
        faults.values().sum::<usize>()
    );
    faults
        .iter()
        .for_each(|(call, count)| println!("{count:6} x {call}"));
    if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Runner<'a> {
    from: usize,
    share: [usize; 2],
    next: usize,
    filters: &'a [String],
}

fn small() -> Limits {
    Limits::default()
        .with_max_block_bytes(MIB as u64)
        .with_max_total_bytes(MIB as u64)
}

impl Runner<'_> {
    /// Begins the next case. `false` if it is not to be run.
    fn begins(&mut self, name: &str) -> bool {
        let index = self.next;
        self.next += 1;
        let [k, n] = self.share;
        let wanted = index >= self.from
            && index % n == k
            && (self.filters.is_empty()
                || self
                    .filters
                    .iter()
                    .any(|filter| name.contains(filter.as_str())));
        if wanted {
            eprintln!("@case {index} {name}");
        }
        wanted
    }

    fn case(&mut self, name: &str, body: &[u8], all_limits: &[Limits], ranged: bool) {
        if !self.begins(name) {
            return;
        }
        let body = Bytes::copy_from_slice(body);
        for limits in all_limits {
            let options = Options::default().with_limits(*limits);
            let most = limits.max_total_bytes as i64;
            let bad = |measured: Measured| check(&measured, limits, body.len());
            let mut meter = Meter::new(|name: &str| eprintln!("@begun {name}"), bad);
            meter.most = 64;
            let prefix = if most == MIB {
                "at 1 MiB, "
            } else {
                "by default, "
            };
            meter.begin(prefix);
            every(&Source::from_bytes(body.clone()), &options, &mut meter);
            if ranged {
                meter.begin(if most == MIB {
                    "at 1 MiB, by ranges, "
                } else {
                    "by default, by ranges, "
                });
                every(&hooked(body.clone(), |_| Ok(())), &options, &mut meter);
            }
        }
    }

    /// Every command on a file, and one share of the lines with options.
    fn commands(&mut self, name: &str, body: &[u8], all_limits: &[Limits], shares: usize) {
        let lines = lines::share(format_of(body), self.next, shares);
        self.run(&format!("{name}, commands"), body, &lines, all_limits);
    }

    /// The commands that print a page or a JSON object, on the largest file whose output is limited.
    fn pages(&mut self, kind: &Kind) {
        let size = |n: &usize| (kind.build)(*n).len();
        let numbers =
            std::iter::successors(Some(64), |n| Some(n * 4)).take_while(|n| *n <= kind.most);
        let Some(n) = numbers.take_while(|n| size(n) <= PRINTED_FOR).last() else {
            return;
        };
        let body = (kind.build)(n);
        let mut lines = lines::all(format_of(&body));
        lines.retain(|line| ["info", "verify"].contains(&line[0].as_str()));
        self.run(
            &format!("{n} x {}/{}, pages", kind.format, kind.name),
            &body,
            &lines,
            &[Limits::default()],
        );
    }

    fn run(&mut self, name: &str, body: &[u8], lines: &[lines::Line], all_limits: &[Limits]) {
        if !self.begins(name) {
            return;
        }
        let folder = std::env::temp_dir().join(format!("meshmap-memory-{}", std::process::id()));
        let file = folder.join("file");
        let printed = Printed(
            std::env::var_os(Printed::VARIABLE)
                .expect("the parent names it")
                .into(),
        );
        for line in lines {
            std::fs::create_dir_all(&folder).expect("room for temporary files");
            std::fs::write(&file, body).expect("room for temporary files");
            for limits in all_limits {
                let is_small = limits.max_total_bytes == MIB as u64;
                if is_small && !has_option(line, "max-memory") {
                    continue;
                }
                let option = is_small.then(|| "--max-memory=1MiB".to_owned());
                let line: lines::Line = line.iter().cloned().chain(option).collect();
                command(&line, body.len(), limits, (&file, &folder), &printed);
            }
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

/// Runs one command on a file, and reports if it uses too much memory or time, or prints too much.
fn command(
    line: &lines::Line,
    stored: usize,
    limits: &Limits,
    (file, folder): (&Path, &Path),
    printed: &Printed,
) {
    let name = lines::name(line);
    let Some(line_of_file) = lines::with_paths(line, file, folder, u64::MAX) else {
        return;
    };
    let words = std::iter::once("meshmap".to_owned()).chain(line_of_file);
    eprintln!("@begun {name}");
    let start = ProcessTime::now();
    printed.clear();
    let (_, count) = allocator::counted_in_process(|| meshmap_cli::run_to_status(words));
    // A picture of the usual size is not made of numbers of the file, and `diff` has no other size.
    let has_picture = line.iter().any(|word| word.starts_with("--picture"));
    let picture = if has_picture { PICTURE } else { 0 };
    let measured = Measured {
        name,
        time: start.elapsed(),
        peak: count.peak - picture,
    };
    let bytes = printed.len();
    if bytes > MOST_PRINTED && stored <= PRINTED_FOR && !is_list(line) {
        eprintln!(
            "@bad {bytes} bytes printed for {stored} bytes: {}",
            measured.name
        );
    }
    check(&measured, limits, stored);
    let slower = if line.iter().any(|word| word == "--cross-check") {
        SLOWER
    } else {
        1
    };
    let longest = (LONGEST + LONGEST_OF_BYTE * u32::try_from(stored).unwrap_or(u32::MAX)) * slower;
    // Without optimization, and next to other processes, the picture of `diff` takes seconds whatever is on it.
    let longest = if has_picture {
        longest + PICTURE_TIME
    } else {
        longest
    };
    if measured.time > longest {
        eprintln!(
            "@bad {:.1?} for {stored} bytes: {}",
            measured.time, measured.name
        );
    }
}

/// Returns `true` if the command has an option with this name.
fn has_option(line: &[String], option: &str) -> bool {
    let commands = meshmap_cli::command();
    let command = commands.find_subcommand(&line[0]).expect("a command");
    command
        .get_arguments()
        .any(|argument| argument.get_long() == Some(option))
}

/// Returns `true` if the command prints a line or an object for each array, mesh or snapshot, so that its output has no limit.
fn is_list(line: &[String]) -> bool {
    let is_list_of_snapshots = |word: &String| word == "--snapshots" || word == "--boxes";
    ["digest", "dump", "catalog"].contains(&line[0].as_str())
        || line.iter().any(is_list_of_snapshots)
}

fn format_of(body: &[u8]) -> Format {
    lines::format_of(&Source::from_bytes(Bytes::copy_from_slice(body)))
}

/// The file that receives the standard output of a child.
struct Printed(PathBuf);

impl Printed {
    /// Names it in the child's environment.
    const VARIABLE: &str = "MESHMAP_PRINTED";

    fn file(&self) -> File {
        File::options()
            .create(true)
            .append(true)
            .open(&self.0)
            .expect("room for temporary files")
    }

    fn clear(&self) {
        self.file().set_len(0).expect("an open file");
    }

    fn len(&self) -> u64 {
        self.file().metadata().expect("an open file").len()
    }
}

fn check(measured: &Measured, limits: &Limits, stored: usize) {
    let allowed = most_memory(limits, stored as u64) as i64;
    if measured.peak > allowed {
        let [peak, allowed] = [measured.peak, allowed].map(|bytes| bytes as f64 / MIB as f64);
        eprintln!(
            "@bad {peak:.1} MiB of {allowed:.1} MiB for {stored} bytes: {}",
            measured.name
        );
    }
}

/// Many files after one that is slow: their results wait for their turn, and are charged.
#[cfg(unix)]
fn slow_first_input(runner: &mut Runner) {
    /// The results of all these need more memory than they may take.
    const FILES: usize = 400;
    /// Long enough for as many results.
    const SLOW: Duration = Duration::from_secs(10);
    /// More than the option allows: each thread may hold its share, and the program something.
    const MOST: i64 = 200 * MIB;
    let lines = [
        "info --json --full",
        "catalog --full",
        "render --sheet --size=1024x1024 --samples=1 -o FOLDER/out.png",
        "render --size=1024x1024 --samples=1 -o FOLDER",
        "convert --to=glb -o FOLDER --force",
    ];
    for line in lines {
        if !runner.begins(&format!("a slow first input: {line}")) {
            continue;
        }
        let folder = std::env::temp_dir().join(format!("meshmap-slow-{}", std::process::id()));
        let inputs = folder.join("in");
        let outputs = folder.join("out");
        std::fs::create_dir_all(&inputs).expect("room for temporary files");
        std::fs::create_dir_all(&outputs).expect("room for temporary files");
        let file = folder.join("meshes.tmf");
        std::fs::write(&file, many_meshes()).expect("room for temporary files");
        for number in 0..FILES {
            let link = inputs.join(format!("{number}.tmf"));
            std::fs::hard_link(&file, link).expect("room for temporary files");
        }
        let slow = folder.join("slow.tmf");
        let made = Command::new("mkfifo").arg(&slow).status();
        assert!(made.is_ok_and(|status| status.success()), "no mkfifo");
        let writer = slow.clone();
        // The command reads the pipe until it is closed.
        let writer = std::thread::spawn(move || {
            let pipe = File::options().write(true).open(writer);
            std::thread::sleep(SLOW);
            drop(pipe);
        });
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for word in &mut words {
            *word = word.replace("FOLDER", &outputs.display().to_string());
        }
        let paths = [&slow, &inputs].map(|path| path.display().to_string());
        words.splice(1..1, paths);
        words.insert(0, "meshmap".to_owned());
        words.extend(["-j4", "--max-memory=50MiB", "--quiet"].map(str::to_owned));
        let (_, count) = allocator::counted_in_process(|| meshmap_cli::run_to_status(words));
        // Otherwise the writer would wait for ever if the command did not open the pipe. For both, opening does not wait.
        drop(File::options().read(true).write(true).open(&slow));
        drop(writer.join());
        if count.peak > MOST {
            let peak = count.peak / MIB;
            eprintln!("@bad {peak} MiB while the first input is slow: {line}");
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
}

/// A file about which there is much to report.
#[cfg(unix)]
fn many_meshes() -> Vec<u8> {
    let add = |writer: Writer, number: usize| {
        let writer = writer.mesh(format!("mesh {number}"));
        writer.vertices(
            [0., 1., 0., 1., 0., 1.],
            [3, 3, 3],
            &[[0, 1, 2], [3, 4, 5], [6, 7, 0]],
        )
    };
    (0..2000).fold(Writer::b(), add).to_bytes()
}

/// The number of shares of the lines with options. Each case tries one share.
const fn shares(short: bool) -> usize {
    if short { 16 } else { 4 }
}

/// All cases, in the same order every time.
fn cases(short: bool, runner: &mut Runner) {
    let default = Limits::default();
    known(short, runner);
    for kind in kinds::all() {
        let n = kind.most.min(if short { 1000 } else { 20_000 });
        let name = format!("{n} x {}/{}", kind.format, kind.name);
        let body = (kind.build)(n);
        runner.case(&name, &body, &[small()], !short);
        runner.commands(&name, &body, &[default, small()], shares(short));
        if !short {
            runner.pages(&kind);
        }
    }
    hostile(short, runner);
    #[cfg(unix)]
    if !short {
        slow_first_input(runner);
    }
    for format in Format::ALL.map(Format::name) {
        let files = files(format);
        let every = |few: usize| if short { few } else { usize::MAX };
        for path in spread(&files, every(100)) {
            let body = std::fs::read(path).expect("a file of tests");
            if short && body.len() > 1 << 20 {
                continue;
            }
            // An item that is 64 times in a large file is as large 64 times.
            let limits: &[Limits] = if short && body.len() > 256 << 10 {
                &[small()]
            } else {
                &[default, small()]
            };
            runner.case(&name(path), &body, limits, !short || body.len() < 64 << 10);
        }
        let damaged: Vec<PathBuf> = files
            .iter()
            .filter(|path| is_damaged(path))
            .cloned()
            .collect();
        for path in spread(&damaged, every(6)) {
            runner.commands(
                &name(path),
                &std::fs::read(path).expect("a file of tests"),
                &[default],
                2 * shares(short),
            );
        }
        for path in spread(&files, every(6)) {
            let body = Bytes::from(std::fs::read(path).expect("a file of tests"));
            if body.len() > 1 << 20 {
                continue;
            }
            for (how, bomb) in bombs::of_blocks(&body, MIB as usize) {
                let name = format!("{}: {how}", name(path));
                runner.case(&name, &bomb, &[small()], false);
                if !short || how.ends_with('0') {
                    runner.commands(&name, &bomb, &[default], 2 * shares(short));
                }
            }
        }
        // For all files, these would be a hundred million cases.
        for path in spread(&files, if short { 2 } else { 8 }) {
            let body = std::fs::read(path).expect("a file of tests");
            if body.len() > 16 << 10 {
                continue;
            }
            let (first, step) = if short { (128, 4) } else { (256, 1) };
            for (how, bomb) in bombs::of_counts(&body, first, step) {
                runner.case(&format!("{}: {how}", name(path)), &bomb, &[small()], false);
            }
        }
    }
}

/// Small files that took gigabytes once.
fn known(short: bool, runner: &mut Runner) {
    let mut bomb = |name: &str, body: &[u8], limits: Limits| {
        runner.case(&format!("bomb of {name}"), body, &[limits], false);
        if !short {
            runner.commands(&format!("bomb of {name}"), body, &[Limits::default()], 1);
        }
    };
    // Indices of no bits, of which there are as many as a block may have, shared by all arrays of two meshes.
    let points = [[0, 1, 2], [3, 4, 5], [6, 7, 0]];
    let count: u64 = (512 << 20) / 4 / 3 * 3;
    let shared = [&[15, 0][..], &count.to_le_bytes(), &[0; 8]].concat();
    let writer = Writer::b()
        .mesh("")
        .vertices([0., 1., 0., 1., 0., 1.], [3, 3, 3], &points);
    let writer = writer
        .directions(3, 4, &[(0, 0, 1)])
        .uvs(3, &[[0, 1]])
        .directions(9, 3, &[(9, 7, 0)]);
    let body = writer.segment(25, 0, &shared).to_bytes();
    bomb("tmf: shared triangles of no bits", &body, Limits::default());

    for (keys, bytes) in [(100, 64 << 20), (4090, 1 << 20)] {
        let body = kinds::one_block_of_zeros(keys, bytes);
        bomb(
            &format!("slmesh: {keys} keys that name {bytes} zeros"),
            &body,
            Limits::default(),
        );
    }
    bomb(
        "cgeo: a small snapshot before 64 large ones",
        &kinds::small_before_large(64, 80_000),
        small(),
    );
    bomb(
        "cgeo: 64 snapshots of 20,000 empty map channels",
        &kinds::cgeo_channels(20_000, 64),
        small(),
    );
    bomb(
        "openctm: 200 bodies of 8 MB",
        &kinds::openctm_bomb(700_000).repeat(200),
        Limits::default(),
    );

    // Each command takes seconds for 8 MB.
    let meshes = if short { 100_000_u32 } else { 2_000_000 };
    let mut empty = Writer::b().to_bytes();
    empty[11..15].copy_from_slice(&meshes.to_le_bytes());
    empty.resize(empty.len() + meshes as usize * 4, 0);
    runner.commands(
        &format!("bomb of tmf: {meshes} empty meshes"),
        &empty,
        &[Limits::default()],
        2 * shares(short),
    );
}

/// Files of a few hundred KiB whose numbers, multiplied with each other, are gigabytes.
fn hostile(short: bool, runner: &mut Runner) {
    use meshmap_testing::fixtures::iqm;
    let files = [
        (
            "4294967295 frames in which nothing moves",
            iqm::constant_frames(1, u32::MAX),
        ),
        (
            "200 joints x 1000000 frames in which nothing moves",
            iqm::constant_frames(200, 1_000_000),
        ),
        (
            "10000 meshes of the same 16000 vertices",
            iqm::shared_vertices(10_000, 16_000),
        ),
        (
            "10000 meshes of the same 1000 triangles",
            iqm::shared_triangles(10_000, 1000),
        ),
        (
            "10000 animations of the same 1000 frames",
            iqm::shared_frames(10_000, 1000),
        ),
    ];
    for (name, body) in files {
        runner.commands(
            &format!("iqm: {name}"),
            &body,
            &[Limits::default(), small()],
            shares(short),
        );
    }
    // Each command may take seconds, also where nothing is optimized.
    if short {
        return;
    }
    for path in data::files(&data::root().with_file_name("attack")) {
        let body = std::fs::read(&path).expect("a file of tests");
        let lines = lines::share(format_of(&body), runner.next, shares(short));
        let lines = [lines, lines::pictures()].concat();
        runner.run(
            &format!("{}, commands", name(&path)),
            &body,
            &lines,
            &[Limits::default()],
        );
    }
}

/// The files of a format, of the repository and of the larger corpus.
fn files(format: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let corpus = std::env::var_os("MESHMAP_CORPUS").map(PathBuf::from);
    for root in [Some(data::root()), corpus].into_iter().flatten() {
        for folder in ["valid", "bad", "regressions", "extras", "llsd", "large"] {
            let folder = root.join(format).join(folder);
            if folder.is_dir() {
                files.extend(data::files(&folder));
            }
        }
    }
    files
}

fn is_damaged(path: &Path) -> bool {
    path.parent()
        .is_some_and(|folder| folder.ends_with("bad") || folder.ends_with("regressions"))
}

/// So many of the files, from all over.
fn spread(files: &[PathBuf], count: usize) -> impl Iterator<Item = &PathBuf> {
    files
        .iter()
        .step_by((files.len() / count.min(files.len()).max(1)).max(1))
        .take(count)
}

fn name(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .rev()
        .take(3)
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}
