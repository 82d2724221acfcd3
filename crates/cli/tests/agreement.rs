//! All commands agree on which files are good: what `verify` calls unusable, the others report in the same words, and they
//! report nothing else.
//!
//! `cargo test -p meshmap-cli --test agreement -- --nocapture` prints how many files each command agrees on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;

use meshmap::Format;
use meshmap_testing::{data, test_files};
use serde_json::Value;

use child::Run as _;

mod child;

/// A check of a command: what is wrong with its reports on these files, compared with the verdict of `verify`.
type Check = fn(&Verdicts) -> Tally;

/// A row for each command. A command that needs no check has none, with the reason.
fn check_of(command: &str) -> Result<Check, &'static str> {
    Ok(match command {
        "verify" => |verdicts| statuses(verdicts, &["verify"]),
        "info" => info,
        "convert" => convert,
        "render" => render,
        "dump" => dump,
        "digest" => |verdicts| each_file(verdicts, &["digest", "--all"]),
        "catalog" => catalog,
        "diff" => diff,
        "view" => return Err("serves files to a page, which reports what it cannot read"),
        "completions" | "man" | "help" => return Err("reads no mesh file"),
        other => panic!("no row for the command {other}"),
    })
}

/// The first problem that `verify` reports of an invalid file.
#[derive(Debug, PartialEq)]
struct Problem {
    kind: String,
    address: Option<String>,
    message: String,
}

impl Problem {
    fn of(error: &Value) -> Option<Self> {
        let text = |name: &str| error[name].as_str().map(str::to_owned);
        Some(Self {
            kind: text("kind")?,
            address: text("address"),
            message: text("message")?,
        })
    }
}

struct Verdicts {
    folders: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Option<Problem>>,
}

/// Files on which a command agrees with `verify`, and contradictions.
#[derive(Default)]
struct Tally {
    good: u64,
    bad: u64,
    contradictions: Vec<String>,
}

impl Tally {
    /// Counts a file, of which a command reported a problem or not.
    fn add(&mut self, path: &Path, problem: Option<&Problem>, result: Result<(), String>) {
        match (problem, result) {
            (None, Ok(())) => self.good += 1,
            (Some(_), Ok(())) => self.bad += 1,
            (_, Err(why)) => self
                .contradictions
                .push(format!("{}: {why}; verify: {problem:?}", path.display())),
        }
    }
}

fn run(words: &[&str], paths: &[&Path]) -> Output {
    let output = child::meshmap().args(words).args(paths).run();
    let status = output.status.code();
    assert!(
        matches!(status, Some(0 | 1)),
        "{words:?} {paths:?} ends with {status:?}"
    );
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_owned()).unwrap()
}

/// The JSON objects that a command prints about these folders.
fn objects(words: &[&str], folders: &[PathBuf]) -> Vec<Value> {
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let lines = text(&run(words, &folders).stdout);
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn path_of(object: &Value) -> PathBuf {
    PathBuf::from(object["path"].as_str().unwrap())
}

impl Verdicts {
    fn of(root: &Path) -> Self {
        let folder =
            |format: &Format| ["valid", "bad"].map(|kind| root.join(format.name()).join(kind));
        let folders: Vec<PathBuf> = Format::ALL.iter().flat_map(folder).collect();
        let objects = objects(&["verify", "--json"], &folders);
        let files: BTreeMap<_, _> = objects
            .iter()
            .map(|object| (path_of(object), Problem::of(&object["error"])))
            .collect();
        for object in &objects {
            assert_eq!(
                object["checked"],
                !object["format"].is_null() && is_open(object),
                "{object}"
            );
        }
        let listed = folders.iter().flat_map(|folder| data::files(folder));
        let missing: Vec<PathBuf> = listed.filter(|file| !files.contains_key(file)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        Self { folders, files }
    }

    /// Compares the objects of a command, of which there is one for each file.
    fn compare(
        &self,
        objects: &[Value],
        compare: impl Fn(&Value, Option<&Problem>) -> Result<(), String>,
    ) -> Tally {
        let mut tally = Tally::default();
        let objects: BTreeMap<PathBuf, &Value> = objects
            .iter()
            .map(|object| (path_of(object), object))
            .collect();
        for (path, problem) in &self.files {
            let result = objects.get(path).ok_or_else(|| "no object".to_owned());
            tally.add(
                path,
                problem.as_ref(),
                result.and_then(|object| compare(object, problem.as_ref())),
            );
        }
        tally
    }

    /// Runs a check for each file, on two threads.
    fn each(&self, check: impl Fn(&Path, Option<&Problem>) -> Result<(), String> + Sync) -> Tally {
        let files: Vec<_> = self.files.iter().collect();
        let half = |files: &[(&PathBuf, &Option<Problem>)]| {
            let mut tally = Tally::default();
            for (path, problem) in files {
                tally.add(path, problem.as_ref(), check(path, problem.as_ref()));
            }
            tally
        };
        let (left, right) = files.split_at(files.len() / 2);
        let (mut left, right) = thread::scope(|scope| {
            let other = scope.spawn(|| half(left));
            let own = half(right);
            (other.join().unwrap(), own)
        });
        left.good += right.good;
        left.bad += right.bad;
        left.contradictions.extend(right.contradictions);
        left
    }
}

/// A file that was opened has a variant.
fn is_open(object: &Value) -> bool {
    !object["variant"].is_null()
}

fn expect(is_true: bool, otherwise: impl ToString) -> Result<(), String> {
    if is_true {
        Ok(())
    } else {
        Err(otherwise.to_string())
    }
}

/// Commands for one file: the status, and the words.
fn each_file(verdicts: &Verdicts, words: &[&str]) -> Tally {
    verdicts.each(|path, problem| {
        let output = run(words, &[path]);
        let said = text(&output.stdout) + &text(&output.stderr);
        expect(
            output.status.success() == problem.is_none(),
            "the status differs",
        )?;
        let Some(problem) = problem else {
            return Ok(());
        };
        expect(said.contains(&problem.message), "other words")?;
        expect(
            problem
                .address
                .as_ref()
                .is_none_or(|address| said.contains(address)),
            "another address",
        )
    })
}

/// The list of arrays reports problems. The address of a problem is accepted: its values or its arrays are shown.
fn dump(verdicts: &Verdicts) -> Tally {
    for (path, problem) in &verdicts.files {
        if let Some(address) = problem
            .as_ref()
            .and_then(|problem| problem.address.as_ref())
        {
            run(&["dump"], &[path, Path::new(address)]);
        }
    }
    each_file(verdicts, &["dump"])
}

/// Only the status.
fn statuses(verdicts: &Verdicts, words: &[&str]) -> Tally {
    verdicts.each(|path, problem| {
        expect(
            run(words, &[path]).status.success() == problem.is_none(),
            "the status",
        )
    })
}

/// `info --full` has the verdict of `verify`. Without `--full` it may miss what it did not decode, and says so.
fn info(verdicts: &Verdicts) -> Tally {
    let quick = verdicts.compare(
        &objects(&["info", "--json"], &verdicts.folders),
        |object, problem| {
            expect(
                object["checked"] == false,
                "it claims to have checked every value",
            )?;
            let found = Problem::of(&object["error"]);
            expect(found.is_none() || problem.is_some(), "bad")?;
            let of_same_part = found
                .as_ref()
                .zip(problem)
                .filter(|(found, known)| found.address == known.address);
            expect(
                of_same_part.is_none_or(|(found, known)| found == known),
                format!("other words: {found:?}"),
            )
        },
    );
    let full = verdicts.compare(
        &objects(&["info", "--json", "--full"], &verdicts.folders),
        |object, problem| {
            let found = Problem::of(&object["error"]);
            expect(found.as_ref() == problem, format!("{found:?}"))?;
            expect(
                object["checked"] == is_open(object),
                "it claims to have checked values of a file that is not open",
            )
        },
    );
    Tally {
        contradictions: [quick.contradictions, full.contradictions].concat(),
        ..full
    }
}

/// A good file may have no mesh that the target can hold. The rest of a bad one may be written. Parts that are not converted are not
/// read, so that their damage is not reported.
fn convert(verdicts: &Verdicts) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let words = [
        "convert",
        "--json",
        "--to",
        "glb",
        "--zero-non-finite",
        "-o",
        output,
    ];
    verdicts.compare(&objects(&words, &verdicts.folders), |object, problem| {
        let damage: Vec<Problem> = object["damage"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Problem::of)
            .collect();
        let error = Problem::of(&object["error"]);
        let is_written = object["state"] != "failed" && object["state"] != "skipped";
        expect(error.is_none() == is_written, "a state without its error")?;
        match (problem, &error) {
            (None, Some(error)) => expect(error.kind == "unsupported", format!("{error:?}"))?,
            (None, None) => {}
            // Two conversions have less memory than two checks, so that the numbers in messages differ.
            (Some(_), None) if damage.is_empty() => {}
            (Some(known), _) if known.kind == "limit_exceeded" => {
                let first = damage.first().or(error.as_ref());
                expect(
                    first.is_some_and(|first| first.kind == known.kind),
                    format!("{first:?}"),
                )?;
            }
            (Some(known), _) => {
                let first = damage.first().or(error.as_ref());
                expect(
                    first.is_some_and(|first| first.message == known.message),
                    format!("{first:?}"),
                )?;
                expect(
                    damage.first().is_none_or(|first| first == known),
                    "another address",
                )?;
            }
        }
        expect(
            problem.is_some() || damage.is_empty(),
            format!("{damage:?}"),
        )
    })
}

/// A picture is not a verdict, because only what it shows is decoded. But a good file is drawn, unless it has no mesh.
fn render(verdicts: &Verdicts) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let words = [
        "render",
        "--json",
        "--size",
        "8x8",
        "--zero-non-finite",
        "-o",
        output,
    ];
    verdicts.compare(&objects(&words, &verdicts.folders), |object, problem| {
        let error = Problem::of(&object["error"]).filter(|error| error.kind != "unsupported");
        expect(error.is_none() || problem.is_some(), format!("{error:?}"))
    })
}

/// A row with the problem, or none with any.
fn catalog(verdicts: &Verdicts) -> Tally {
    let rows = objects(&["catalog", "--full", "--json"], &verdicts.folders);
    let mut tally = Tally::default();
    let mut errors: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for row in &rows {
        let errors = errors.entry(path_of(row)).or_default();
        errors.extend(
            ["error", "part_error"]
                .iter()
                .filter_map(|name| row[name].as_str())
                .map(str::to_owned),
        );
    }
    for (path, problem) in &verdicts.files {
        let errors = &errors[path];
        let result = match problem {
            None => expect(errors.is_empty(), format!("{errors:?}")),
            Some(known) => expect(
                errors.iter().any(|error| error.contains(&known.message)),
                format!("other words: {errors:?}"),
            ),
        };
        tally.add(path, problem.as_ref(), result);
    }
    tally
}

/// A comparison is not a verdict, but a good file equals itself, unless its arrays need too much memory.
fn diff(verdicts: &Verdicts) -> Tally {
    verdicts.each(|path, problem| {
        let output = run(&["diff"], &[path, path]);
        let is_equal = output.status.success() || text(&output.stderr).contains("above the limit");
        expect(problem.is_some() || is_equal, "it differs from itself")
    })
}

test_files!(commands_agree_on_which_files_are_bad);

fn commands_agree_on_which_files_are_bad(root: &Path) {
    let verdicts = Verdicts::of(root);
    let bad = verdicts.files.values().flatten().count();
    let good = verdicts.files.len() - bad;
    assert!(good > 50 && bad > 50, "{good} good and {bad} bad files");
    let mut definition = meshmap_cli::command();
    definition.build();
    let mut contradictions = Vec::new();
    println!(
        "{:<12} {:>12} {:>12}",
        "command", "agreed good", "agreed bad"
    );
    for command in definition.get_subcommands().map(clap::Command::get_name) {
        let tally = match check_of(command) {
            Ok(check) => check(&verdicts),
            Err(reason) => {
                println!("{command:<12} {reason}");
                continue;
            }
        };
        println!("{command:<12} {:>12} {:>12}", tally.good, tally.bad);
        assert!(
            tally.contradictions.len() as u64 + tally.good + tally.bad
                >= verdicts.files.len() as u64
        );
        contradictions.extend(
            tally
                .contradictions
                .into_iter()
                .map(|line| format!("{command}: {line}")),
        );
    }
    println!("{} files: {good} good, {bad} bad", verdicts.files.len());
    assert!(
        contradictions.is_empty(),
        "{} contradictions:\n{}",
        contradictions.len(),
        contradictions.join("\n")
    );
}
