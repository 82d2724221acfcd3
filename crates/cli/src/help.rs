//! The help of the commands: options in groups, of which `-h` shows the usual ones on one screen of 24 lines and 80 columns.
//!
//! The words of an option are with the option. Its first sentence is what `-h` shows.

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};

/// The options of a group, by their long names. An option has the same meaning in all commands that have it.
struct Group {
    title: &'static str,
    options: &'static [&'static str],
}

/// All options, in the order in which `--help` has the groups.
const GROUPS: [Group; 6] = [
    Group {
        title: "Input",
        options: &[
            "glob",
            "format",
            "hidden",
            "files-from",
            "null",
            "dialect",
            "mmap",
            "with",
            "textures",
        ],
    },
    Group {
        title: "What is shown or written",
        options: &[
            "mesh",
            "lod",
            "snapshot",
            "frame",
            "time",
            "anim",
            "every",
            "animate",
            "turntable",
            "sheet",
            "full",
            "hash",
            "all",
            "list",
            "snapshots",
            "boxes",
            "head",
            "stats",
            "fail-on",
            "allow",
            "cross-check",
            "rules",
            "tolerance",
        ],
    },
    Group {
        title: "Contents of the output",
        options: &[
            "fps",
            "nest",
            "quantized",
            "morph-normals",
            "dense",
            "merge-materials",
            "keep-materials",
            "drop-degenerate",
            "keep-degenerate",
            "zero-non-finite",
            "copy-textures",
            "embed-textures",
        ],
    },
    Group {
        title: "Appearance",
        options: &[
            "up",
            "turn",
            "flip",
            "unit",
            "raw",
            "size",
            "view",
            "mode",
            "background",
            "points",
            "samples",
            "no-occlusion",
            "no-shadow",
        ],
    },
    Group {
        title: "Limits",
        options: &[
            "max-memory",
            "max-output",
            "jobs",
            "timeout",
            "deadline",
            "retries",
            "requests-per-second",
            "redirects",
        ],
    },
    Group {
        title: "Output",
        options: &[
            "output",
            "to",
            "as",
            "json",
            "schema",
            "report",
            "hex",
            "picture",
            "thumbnail",
            "no-open",
            "quiet",
            "dry-run",
            "force",
            "sync",
            "color",
            "help",
        ],
    },
];

/// The options that `-h` shows, for each command: what most people need, and no more than a screen has room for.
const USUAL: [(&str, &[&str]); 9] = [
    (
        "info",
        &[
            "glob",
            "textures",
            "snapshots",
            "boxes",
            "full",
            "json",
            "report",
        ],
    ),
    (
        "verify",
        &["glob", "fail-on", "allow", "rules", "json", "quiet"],
    ),
    ("dump", &["list", "head", "stats", "as", "output"]),
    ("diff", &["glob", "tolerance", "picture", "json", "quiet"]),
    (
        "convert",
        &[
            "with", "lod", "snapshot", "anim", "textures", "up", "unit", "flip", "output", "to",
        ],
    ),
    (
        "render",
        &[
            "lod", "time", "anim", "animate", "sheet", "textures", "view", "mode", "size", "output",
        ],
    ),
    ("view", &["glob", "textures", "no-open"]),
    ("catalog", &["glob", "full", "hash", "output", "json"]),
    ("digest", &["all"]),
];

/// The commands with their options in groups.
pub(crate) fn grouped(program: Command) -> Command {
    let program = with_own_help(program)
        .mut_arg("color", |color| {
            color.help_heading("Output").hide_short_help(true)
        })
        .after_help("Help on a command: meshmap COMMAND -h");
    program.mut_subcommands(|command| {
        let command = with_own_help(command);
        let usual = USUAL.iter().find(|(name, _)| *name == command.get_name());
        let Some((name, usual)) = usual else {
            return command;
        };
        in_groups(command, usual)
            .after_help(format!("All options, with examples: meshmap {name} --help"))
    })
}

/// The option `--help` as an argument like others, which can be in a group.
fn with_own_help(command: Command) -> Command {
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .help("Print the usual options, or all of them with --help");
    command.disable_help_flag(true).arg(help)
}

/// A command with its arguments in the order of the groups, which is the order of the groups in its help.
fn in_groups(command: Command, usual: &[&str]) -> Command {
    let mut arguments = Vec::new();
    for argument in command.get_arguments() {
        arguments.push(described(argument.clone(), usual));
    }
    arguments.sort_by_key(rank);
    let mut sorted = arguments.into_iter().enumerate();
    command.mut_args(|argument| match sorted.next() {
        Some((place, next)) => next.display_order(place),
        None => argument,
    })
}

/// The place of an argument in the help: arguments without a name first, then by the group, and in the group.
fn rank(argument: &Arg) -> (usize, usize) {
    let long = argument.get_long().unwrap_or_default();
    for (number, group) in GROUPS.iter().enumerate() {
        if let Some(place) = group.options.iter().position(|option| *option == long) {
            return (number + 1, place);
        }
    }
    (0, 0)
}

/// An argument with its group. It is in `-h` if it is usual, with the first sentence of its help.
fn described(argument: Arg, usual: &[&str]) -> Arg {
    let long = argument.get_long().unwrap_or_default().to_owned();
    let group = GROUPS
        .iter()
        .find(|group| group.options.contains(&long.as_str()));
    let argument = match group {
        Some(group) => argument.help_heading(group.title),
        None => argument,
    };
    if long == "help" {
        return argument;
    }
    if !usual.contains(&long.as_str()) {
        return argument.hide_short_help(true);
    }
    if argument.get_long_help().is_some() {
        return argument;
    }
    let whole = argument.get_help().map(StyledStr::to_string);
    let whole = whole.unwrap_or_default();
    argument
        .help(first_sentence(&whole).to_owned())
        .long_help(whole)
}

/// The first sentence of a text, without its full stop.
fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first)
}
