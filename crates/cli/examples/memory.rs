//! The memory test: every public call on every file there is and on bombs made of them, under an allocator that counts what
//! all threads take.
//!
//! A call may take the larger of the total that the limits allow and 16 times the stored bytes, the stored bytes, and
//! 1 MiB for each thread. Files are tried at the default limits and at limits of 1 MiB.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use bytes::Bytes;
use meshmap::{Limits, Options, Source};
use meshmap_testing::again;
use meshmap_testing::allocator::{self, Counting};
use meshmap_testing::calls::{Measured, Meter, every, most_memory};
use meshmap_testing::fixtures::tmf::Writer;
use meshmap_testing::kinds;
use meshmap_testing::{bombs, data};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const USAGE: &str = "usage: memory [--short] [FILTER..]: cases whose name has one of the filters in it";
const MIB: i64 = 1 << 20;
const MOST_MEMORY: i64 = 6 << 30;
/// Without a sign of life for so long, a process is ended: it hangs, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(600);
const FORMATS: [&str; 5] = ["cgeo", "iqm", "openctm", "slmesh", "tmf"];

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let from = match arguments.first().map(String::as_str) {
        Some("--child") => Some(arguments.drain(..2).nth(1).and_then(|from| from.parse().ok()).unwrap_or(0)),
        _ => None,
    };
    let short = arguments.first().is_some_and(|argument| argument == "--short");
    let filters = &arguments[usize::from(short)..];
    if filters.iter().any(|filter| filter.starts_with('-')) {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    if let Some(from) = from {
        allocator::abort_beyond(MOST_MEMORY);
        cases(short, &mut Runner { from, next: 0, filters });
        return ExitCode::SUCCESS;
    }
    parent(&arguments)
}

/// Runs the cases in another process, and goes on in a new one after a case that ended it.
fn parent(arguments: &[String]) -> ExitCode {
    let mut from = 0;
    let mut faults: BTreeMap<String, usize> = BTreeMap::new();
    let mut fault = |line: String| {
        println!("{line}");
        // Of bombs, there are many of a kind.
        *faults.entry(line.rsplit(": ").next().unwrap_or_default().to_owned()).or_default() += 1;
    };
    let mut cases = 0;
    loop {
        let first = from;
        let (mut case, mut call, mut panic) = (String::new(), String::new(), None);
        let prepare = |command: &mut Command| {
            command.arg("--child").arg(first.to_string()).args(arguments);
        };
        let end = again::run(prepare, PATIENCE, |line| match line.split_once(' ') {
            Some(("@case", rest)) => {
                let (index, name) = rest.split_once(' ').unwrap_or((rest, ""));
                (from, case) = (index.parse::<usize>().unwrap_or(from) + 1, name.to_owned());
                cases += 1;
            }
            Some(("@begun", name)) => call = name.to_owned(),
            Some(("@bad", text)) => fault(format!("{case}: {text}")),
            _ if line.contains("panicked at") => panic = Some(line),
            _ => {}
        });
        if end.code() == Some(0) {
            break;
        }
        fault(format!("{case}: {call} ended with {}", panic.unwrap_or_else(|| end.to_string())));
    }
    println!("{cases} cases, {} faults", faults.values().sum::<usize>());
    faults.iter().for_each(|(call, count)| println!("{count:6} x {call}"));
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Runner<'a> {
    from: usize,
    next: usize,
    filters: &'a [String],
}

fn small() -> Limits {
    Limits::default().with_max_block_bytes(MIB as u64).with_max_total_bytes(MIB as u64)
}

impl Runner<'_> {
    /// Whether the next case is to be run; if so, it has begun.
    fn begins(&mut self, name: &str) -> bool {
        let index = self.next;
        self.next += 1;
        let wanted = index >= self.from
            && (self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter.as_str())));
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
            let prefix = if most == MIB { "at 1 MiB, " } else { "by default, " };
            meter.begin(prefix);
            every(&Source::from_bytes(body.clone()), &options, &mut meter);
            if ranged {
                meter.begin(if most == MIB { "at 1 MiB, by ranges, " } else { "by default, by ranges, " });
                every(&Source::ranged(Ranges(body.clone())), &options, &mut meter);
            }
        }
    }

    fn command(&mut self, name: &str, body: &[u8], command: &[&str]) {
        if !self.begins(name) {
            return;
        }
        let path = std::env::temp_dir().join(format!("meshmap-memory-{}", std::process::id()));
        std::fs::write(&path, body).expect("room for temporary files");
        let arguments = ["meshmap"].iter().chain(command).map(PathBuf::from).chain([path.clone()]);
        eprintln!("@begun meshmap {}", command.join(" "));
        let (_, count) = allocator::counted_in_process(|| meshmap_cli::run(arguments));
        let _ = std::fs::remove_file(&path);
        let measured = Measured {
            name: format!("meshmap {}", command.join(" ")),
            time: Duration::ZERO,
            peak: count.peak,
        };
        check(&measured, &Limits::default(), body.len());
    }
}

fn check(measured: &Measured, limits: &Limits, stored: usize) {
    let allowed = most_memory(limits, stored as u64) as i64;
    if measured.peak > allowed {
        let [peak, allowed] = [measured.peak, allowed].map(|bytes| bytes as f64 / MIB as f64);
        eprintln!("@bad {peak:.1} MiB of {allowed:.1} MiB for {stored} bytes: {}", measured.name);
    }
}

/// A reader that copies what is asked for.
struct Ranges(Bytes);

impl meshmap::ReadRange for Ranges {
    fn len(&self) -> std::io::Result<Option<u64>> {
        Ok(Some(self.0.len() as u64))
    }

    fn read(&self, range: std::ops::Range<u64>) -> std::io::Result<Bytes> {
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        Ok(Bytes::copy_from_slice(&self.0[at(range.start)..at(range.end)]))
    }
}

/// All cases, in the same order every time.
fn cases(short: bool, runner: &mut Runner) {
    let default = Limits::default();
    known(runner);
    for kind in kinds::all() {
        let n = kind.most.min(if short { 1000 } else { 20_000 });
        runner.case(&format!("{n} x {}/{}", kind.format, kind.name), &(kind.build)(n), &[small()], !short);
    }
    for format in FORMATS {
        let files = files(format);
        let every = |few: usize| if short { few } else { usize::MAX };
        for path in spread(&files, every(100)) {
            let body = std::fs::read(path).expect("a file of tests");
            if short && body.len() > 1 << 20 {
                continue;
            }
            // What is 64 times in a large file is as large 64 times.
            let limits: &[Limits] =
                if short && body.len() > 256 << 10 { &[small()] } else { &[default, small()] };
            runner.case(&name(path), &body, limits, !short || body.len() < 64 << 10);
        }
        for path in spread(&files, every(6)) {
            let body = Bytes::from(std::fs::read(path).expect("a file of tests"));
            if body.len() > 1 << 20 {
                continue;
            }
            for (how, bomb) in bombs::of_blocks(&body, MIB as usize) {
                runner.case(&format!("{}: {how}", name(path)), &bomb, &[small()], false);
            }
        }
        // Of all files, these would be a hundred million cases.
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

/// Small files that took gigabytes once, at the default limits.
fn known(runner: &mut Runner) {
    let default = [Limits::default()];
    // Indices of no bits, of which there are as many as a block may have, shared by all arrays of two meshes.
    let points = [[0, 1, 2], [3, 4, 5], [6, 7, 0]];
    let count: u64 = (512 << 20) / 4 / 3 * 3;
    let shared = [&[15, 0][..], &count.to_le_bytes(), &[0; 8]].concat();
    let writer = Writer::b().mesh("").vertices([0., 1., 0., 1., 0., 1.], [3, 3, 3], &points);
    let writer = writer.directions(3, 4, &[(0, 0, 1)]).uvs(3, &[[0, 1]]).directions(9, 3, &[(9, 7, 0)]);
    runner.case(
        "bomb of tmf: shared triangles of no bits",
        &writer.segment(25, 0, &shared).to_bytes(),
        &default,
        false,
    );

    for (keys, bytes) in [(100, 64 << 20), (4090, 1 << 20)] {
        let name = format!("bomb of slmesh: {keys} keys that name {bytes} zeros");
        runner.case(&name, &kinds::one_block_of_zeros(keys, bytes), &default, false);
    }

    let body = kinds::small_before_large(64, 80_000);
    runner.case("bomb of cgeo: a small snapshot before 64 large ones", &body, &[small()], false);
    let body = kinds::cgeo_channels(20_000, 64);
    runner.case("bomb of cgeo: 64 snapshots of 20,000 empty map channels", &body, &[small()], false);

    let body = kinds::openctm_bomb(700_000);
    runner.case("bomb of openctm: 200 bodies of 8 MB", &body.repeat(200), &default, false);

    let meshes = 2_000_000_u32;
    let mut empty = Writer::b().to_bytes();
    empty[11..15].copy_from_slice(&meshes.to_le_bytes());
    empty.resize(empty.len() + meshes as usize * 4, 0);
    for command in [&["info"][..], &["info", "--json"], &["verify"], &["digest"]] {
        runner.command(&format!("bomb of tmf: 8 MB of empty meshes, {}", command.join(" ")), &empty, command);
    }
}

/// The files of a format, of the repository and of the larger corpus.
fn files(format: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for root in [Some(data::root()), data::corpus()].into_iter().flatten() {
        for folder in ["valid", "bad", "regressions", "extras", "llsd", "large"] {
            let folder = root.join(format).join(folder);
            if folder.is_dir() {
                files.extend(data::files(&folder));
            }
        }
    }
    files
}

/// So many of the files, from all over.
fn spread(files: &[PathBuf], count: usize) -> impl Iterator<Item = &PathBuf> {
    files.iter().step_by((files.len() / count.min(files.len()).max(1)).max(1)).take(count)
}

fn name(path: &Path) -> String {
    let parts: Vec<_> =
        path.components().rev().take(3).map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}
