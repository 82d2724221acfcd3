//! Command lines of every command that there is, for the checks of time and memory.

use std::path::Path;

use meshmap_export::Target;

/// Stands for the file, and for an empty folder, in a command line.
const FILE: &str = "FILE";
const FOLDER: &str = "FOLDER";

/// The words of a command line after `meshmap`.
pub(crate) type Line = Vec<String>;

/// Some lines for each command of the command line, for every target that conversions have.
///
/// # Panics
///
/// Panics for a command that has no lines here.
pub(crate) fn all() -> Vec<Line> {
    let commands = meshmap_cli::command();
    let names = commands
        .get_subcommands()
        .map(|command| command.get_name().to_owned());
    names.flat_map(|name| of(&name)).collect()
}

/// Lines that draw pictures of the usual size.
#[allow(dead_code, reason = "not all examples draw")]
pub(crate) fn pictures() -> Vec<Line> {
    let lines = ["-o FOLDER/out.png", "--sheet --every 16 -o FOLDER/out.png"];
    lines.map(|rest| line("render", rest)).to_vec()
}

fn of(command: &str) -> Vec<Line> {
    let lines: &[&str] = match command {
        "info" => &["", "--json", "--full", "--json --full", "--report"],
        "verify" => &["", "--json", "--cross-check"],
        "dump" | "digest" => &[""],
        "diff" => &["FILE"],
        "render" => &[
            "--size 24x24 -o FOLDER/out.png",
            "--size 24x24 --sheet --every 16 -o FOLDER/out.png",
            "--size 24x24 --animate --every 16 -o FOLDER/out.png",
        ],
        "catalog" => &["", "--full --hash"],
        "convert" => return Target::ALL.into_iter().flat_map(conversions).collect(),
        // These read no file.
        "completions" | "man" | "help" => return Vec::new(),
        // The browser reads the files.
        "view" => return Vec::new(),
        other => panic!("`meshmap {other}` has no lines in the checks of time and memory"),
    };
    lines.iter().map(|rest| line(command, rest)).collect()
}

fn conversions(target: Target) -> Vec<Line> {
    let options = match target {
        Target::Glb => &["", "--quantized --nest --morph-normals --lod all"][..],
        _ => &[""],
    };
    let name = target.name();
    // Mapped, because reading takes fewer steps for files that are shorter than what is read at first.
    let rest = |options: &&str| {
        format!("--to {name} -o FOLDER/out.{name} --mmap --force --zero-non-finite {options}")
    };
    options
        .iter()
        .map(|options| line("convert", &rest(options)))
        .collect()
}

fn line(command: &str, rest: &str) -> Line {
    [command, FILE]
        .into_iter()
        .chain(rest.split_whitespace())
        .map(str::to_owned)
        .collect()
}

/// The line with the paths of a file and a folder.
pub(crate) fn with_paths(line: &Line, file: &Path, folder: &Path) -> Line {
    let [file, folder] = [file, folder].map(|path| path.display().to_string());
    line.iter()
        .map(|word| word.replace(FILE, &file).replace(FOLDER, &folder))
        .collect()
}

/// The line as tables show it.
pub(crate) fn name(line: &Line) -> String {
    let words: Vec<&str> = line
        .iter()
        .map(String::as_str)
        .filter(|word| *word != FILE)
        .collect();
    format!("meshmap {}", words.join(" "))
}
