//! Command lines of every command that there is, for the checks of time and memory.
//!
//! The commands and their options are clap's: each command without options, with each option, and with every two options together.
//! A conversion does this for every target. An option that is new is in these lines, or the checks do not run.

mod options;
mod pairs;

use std::path::Path;
use std::sync::OnceLock;

use clap::{Command, FromArgMatches};
use meshmap::{ArrayEntry, Format, MeshFile, Source};
use meshmap_export::{Convert, Target};

/// Stands for the file, and for a folder, in a command line.
const FILE: &str = "FILE";
const FOLDER: &str = "FOLDER";
/// Stands for the address of the first mesh of the file, for the address of an array, and for the name of the first animation.
const MESH: &str = "MESH";
const ARRAY: &str = "ARRAY";
const ANIM: &str = "ANIM";

/// The words of a command line after `meshmap`.
pub(crate) type Line = Vec<String>;

struct Lines {
    /// The commands without options.
    plain: Vec<Line>,
    /// With one option, then with several.
    others: Vec<Line>,
}

/// The lines of all commands for files of a format.
///
/// # Panics
///
/// Panics for a command or an option that this module does not know.
#[allow(dead_code, reason = "not all examples try all")]
pub(crate) fn all(format: Format) -> Vec<Line> {
    let Lines { plain, others } = lines(format);
    [plain.as_slice(), others].concat()
}

/// The commands without options, and of the other lines each `of`th one, beginning with line `number`: cases with different numbers
/// try all lines together.
pub(crate) fn share(format: Format, number: usize, of: usize) -> Vec<Line> {
    let Lines { plain, others } = lines(format);
    let share = others.iter().skip(number % of).step_by(of);
    plain.iter().chain(share).cloned().collect()
}

/// Lines that draw pictures of the usual size.
#[allow(dead_code, reason = "not all examples draw")]
pub(crate) fn pictures() -> Vec<Line> {
    let lines = ["-o FOLDER/out.png", "--sheet --every=16 -o FOLDER/out.png"];
    lines
        .map(|rest| words(&format!("render {FILE} {rest}")))
        .to_vec()
}

fn lines(format: Format) -> &'static Lines {
    static LINES: [OnceLock<Lines>; Format::ALL.len()] =
        [const { OnceLock::new() }; Format::ALL.len()];
    let number = Format::ALL.iter().position(|one| *one == format);
    LINES[number.expect("one of all formats")].get_or_init(|| make(format))
}

fn make(format: Format) -> Lines {
    let mut lines = Lines {
        plain: Vec::new(),
        others: Vec::new(),
    };
    let mut program = meshmap_cli::command();
    let names: Vec<String> = program
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    for name in &names {
        add_command(name, format, &mut program, &mut lines);
    }
    lines
}

/// The words that all lines of a command begin with; `None` for commands that read no file.
fn beginning(command: &str) -> Option<Line> {
    let rest = match command {
        "info" | "verify" | "dump" | "digest" | "catalog" => "FILE",
        "diff" => "FILE FILE",
        // Into a folder, which has a record of what is up to date. A small picture takes less time than its mesh. A position that is
        // not finite would be the end.
        "render" => "FILE -o FOLDER --force --size=24x24 --zero-non-finite",
        // Mapped, because reading takes fewer steps for files that are shorter than what is read at first.
        "convert" => "FILE -o FOLDER --force --mmap --zero-non-finite",
        "completions" | "man" | "help" => return None,
        // The browser reads the files.
        "view" => return None,
        other => panic!("`meshmap {other}` is not in the checks of time and memory"),
    };
    Some(words(&format!("{command} {rest}")))
}

/// Adds the lines of a command.
fn add_command(name: &str, format: Format, program: &mut Command, lines: &mut Lines) {
    let Some(beginning) = beginning(name) else {
        return;
    };
    let parameters = parameters(name, format, &beginning, program);
    let line = |row: &[usize]| {
        let mut line = beginning.clone();
        for (parameter, value) in parameters.iter().zip(row) {
            line.extend_from_slice(&parameter[*value]);
        }
        line
    };
    let counts: Vec<usize> = parameters.iter().map(Vec::len).collect();
    let mut is_allowed = |row: &pairs::Row| is_accepted(&line(row), program);

    let targets = if name == "convert" { counts[0] } else { 1 };
    for target in 0..targets {
        let mut row = vec![0; counts.len()];
        row.iter_mut().take(1).for_each(|first| *first = target);
        lines.plain.push(line(&row));
    }
    let mut seen: Vec<Vec<bool>> = counts.iter().map(|count| vec![false; *count]).collect();
    let mut rows = alone(&counts, targets, &mut is_allowed);
    rows.extend(pairs::cover(&counts, &mut is_allowed));
    for row in &rows {
        for (seen, value) in seen.iter_mut().zip(row) {
            seen[*value] = true;
        }
        let line = line(row);
        if !lines.plain.contains(&line) && !lines.others.contains(&line) {
            lines.others.push(line);
        }
    }
    for (parameter, seen) in parameters.iter().zip(&seen) {
        for (way, is_seen) in parameter.iter().zip(seen) {
            assert!(
                *is_seen || way.is_empty(),
                "`meshmap {name} {}` is in no line",
                way.join(" ")
            );
        }
    }
}

/// The ways to use each option of a command. The first one is not to use it. The first parameter of a conversion is its target.
fn parameters(name: &str, format: Format, beginning: &Line, program: &Command) -> Vec<Vec<Line>> {
    let mut parameters = Vec::new();
    if name == "convert" {
        let target = |target: Target| vec![format!("--to={}", target.name())];
        parameters.push(Target::ALL.map(target).to_vec());
    }
    let command = program.find_subcommand(name).expect("a command");
    for argument in command.get_arguments() {
        let is_given = argument.get_long().is_some_and(|option| {
            let word = format!("--{option}");
            let is_it = |given: &String| given.split('=').next() == Some(word.as_str());
            let is_output = option == "output" && beginning.contains(&"-o".to_owned());
            beginning.iter().any(is_it) || is_output || option == "to"
        });
        if is_given {
            continue;
        }
        let mut ways = options::ways(name, argument, format);
        if !ways.is_empty() {
            ways.insert(0, Line::new());
            parameters.push(ways);
        }
    }
    parameters
}

/// Rows with one option, for the first target that has a use for it.
fn alone(
    counts: &[usize],
    targets: usize,
    is_allowed: &mut impl FnMut(&pairs::Row) -> bool,
) -> Vec<pairs::Row> {
    let mut rows = Vec::new();
    let first_option = usize::from(targets > 1);
    for (parameter, count) in counts.iter().enumerate().skip(first_option) {
        for value in 1..*count {
            for target in 0..targets {
                let mut row = vec![0; counts.len()];
                row[0] = target;
                row[parameter] = value;
                if is_allowed(&row) {
                    rows.push(row);
                    break;
                }
            }
        }
    }
    rows
}

/// Returns `true` if the command accepts a line: options may exclude or require each other, or be for other targets.
fn is_accepted(line: &Line, program: &mut Command) -> bool {
    let folder = std::env::temp_dir();
    let words = line.iter().map(|word| {
        let word = word.replace(FOLDER, &folder.display().to_string());
        word.replace(MESH, "meshes[0]")
    });
    let words = std::iter::once("meshmap".to_owned()).chain(words);
    let Ok(matches) = program.try_get_matches_from_mut(words) else {
        return false;
    };
    let Some(matches) = matches.subcommand_matches("convert") else {
        return true;
    };
    let target = matches.get_one::<Target>("to");
    let convert = Convert::from_arg_matches(matches);
    let (Some(target), Ok(convert)) = (target, convert) else {
        return false;
    };
    let convert = Convert {
        target: *target,
        ..convert
    };
    convert.check_settings().is_ok()
}

fn words(line: &str) -> Line {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The line with the paths of a file and a folder, and with the addresses and names of this file. `None` if the line is about an array, and the
/// file has none of at most this many bytes.
pub(crate) fn with_paths(line: &Line, file: &Path, folder: &Path, most: u64) -> Option<Line> {
    let mut values = vec![
        (FILE, file.display().to_string()),
        (FOLDER, folder.display().to_string()),
    ];
    let asks = |name: &str| line.iter().any(|word| word.ends_with(name));
    if asks(MESH) {
        values.push((MESH, first_mesh(file).to_owned()));
    }
    if asks(ARRAY) {
        values.push((ARRAY, first_array(file, most)?));
    }
    if asks(ANIM) {
        values.push((ANIM, first_animation(file)));
    }
    let mut line = line.clone();
    for word in &mut line {
        if let Some((name, value)) = values.iter().find(|(name, _)| word.contains(name)) {
            *word = word.replace(name, value);
        }
    }
    Some(line)
}

/// The format of a file. A file of an unknown format has the options of any.
pub(crate) fn format_of(source: &Source) -> Format {
    Format::detect(source).unwrap_or(Format::Iqm)
}

/// The address of the first mesh that files of this format have.
fn first_mesh(file: &Path) -> &'static str {
    match format_of(&Source::open(file).expect("a file")) {
        Format::CGeo => "snapshots[0]",
        Format::SlMesh => "high_lod",
        Format::OpenCtm => "bodies[0]",
        _ => "meshes[0]",
    }
}

/// The address of the first array of a file that has at most this many bytes. `None` if there is none. A file that cannot be opened has any.
fn first_array(file: &Path, most: u64) -> Option<String> {
    let Ok(opened) = MeshFile::open(file) else {
        return Some("positions".to_owned());
    };
    let bytes = |array: &ArrayEntry| {
        let numbers = array.shape.iter().flatten().product::<u64>();
        numbers.saturating_mul(array.scalar.size() as u64)
    };
    let mut arrays = opened.arrays().filter_map(Result::ok);
    let array = arrays.find(|array| bytes(array) <= most)?;
    Some(array.address.to_string())
}

/// The name of the first animation. Names that are too long for an argument, or no animation, are one that no file has.
fn first_animation(file: &Path) -> String {
    const MOST: usize = 32 << 10;
    let name = meshmap::iqm::Model::open(file).ok().and_then(|model| {
        let animation = model.anims().next()?;
        Some(animation.name.to_string())
    });
    let name = name.filter(|name| name.len() <= MOST && !name.contains('\0'));
    name.unwrap_or_else(|| "none".to_owned())
}

/// The line as tables show it: without what all lines of the command have.
pub(crate) fn name(line: &Line) -> String {
    let beginning = beginning(&line[0]).unwrap_or_default();
    let rest = line.strip_prefix(beginning.as_slice());
    let rest = rest.unwrap_or(&line[1..]);
    let words = [&line[..1], rest].concat();
    format!("meshmap {}", words.join(" "))
}
