//! The options of commands as the checks of time and memory try them. An option has the same meaning in all commands that have it.

use clap::{Arg, ArgAction};
use meshmap::Format;

/// Options that no line has, and the reason. Every other option is in some line, or the checks do not run.
const NOT_TRIED: &[(&str, &str)] = &[
    (
        "color",
        "changes letters, and the lines print on no terminal",
    ),
    ("quiet", "prints less"),
    ("help", "reads no file"),
    ("schema", "reads no file"),
    ("rules", "reads no file"),
    ("dry-run", "reads no file"),
    ("glob", "selects files, and there is one"),
    ("format", "selects files, and there is one"),
    ("hidden", "selects files, and there is one"),
    ("files-from", "selects files, and there is one"),
    ("null", "selects files, and there is one"),
    ("jobs", "is about several files: `memory` has these"),
    ("force", "is in all lines, so that each writes its output"),
    ("sync", "waits for the disk"),
    ("thumbnail", "writes the same picture into another file"),
    ("max-memory", "is a limit: `memory` adds it"),
    ("max-output", "is a limit"),
    ("timeout", "is about servers"),
    ("deadline", "is about servers"),
    ("retries", "is about servers"),
    ("requests-per-second", "is about servers"),
    ("redirects", "is about servers"),
    ("view", "moves the camera"),
];

/// The values of options that have any value: one for each way of working.
const VALUES: &[(&str, &[&str])] = &[
    ("allow", &["slmesh.degenerate"]),
    ("anim", &["ANIM"]),
    ("background", &["transparent"]),
    ("dialect", &["zlib,inflated,first_section,none"]),
    ("every", &["16"]),
    ("fps", &["30"]),
    ("frame", &["0"]),
    ("head", &["5"]),
    ("lod", &["all"]),
    ("mesh", &["MESH"]),
    ("mode", &["clay", "wireframe", "normals"]),
    ("picture", &["FOLDER/out.png"]),
    ("points", &["20"]),
    ("samples", &["1", "9"]),
    ("snapshot", &["0"]),
    ("textures", &["FOLDER"]),
    ("time", &["0.1"]),
    ("tolerance", &["0.001"]),
    ("turn", &["90"]),
    ("turntable", &["4"]),
    ("unit", &["mm"]),
    ("up", &["-x"]),
    ("with", &["FILE"]),
];

/// Values of an option that has other ones in other commands.
const VALUES_OF_COMMAND: &[(&str, &str, &[&str])] = &[
    ("catalog", "output", &["FOLDER/out.csv", "FOLDER/out.jsonl"]),
    ("dump", "output", &["FOLDER/out"]),
    ("dump", "address", &["ARRAY"]),
];

/// Options that have an effect on files of these formats only: `render` refuses them for others.
const ONLY_FOR: &[(&str, &[Format])] = &[
    ("anim", &[Format::Iqm]),
    ("boxes", &[Format::CGeo]),
    ("copy-textures", WITH_IMAGES),
    ("dense", &[Format::CGeo]),
    ("dialect", &[Format::CGeo]),
    ("embed-textures", WITH_IMAGES),
    ("every", WITH_TIME),
    ("fps", WITH_TIME),
    ("frame", &[Format::Iqm]),
    ("keep-materials", &[Format::CGeo]),
    ("lod", &[Format::SlMesh]),
    ("merge-materials", &[Format::CGeo]),
    ("morph-normals", &[Format::CGeo]),
    ("nest", &[Format::SlMesh]),
    ("quantized", &[Format::SlMesh]),
    ("snapshot", &[Format::CGeo]),
    ("snapshots", &[Format::CGeo]),
    ("textures", WITH_IMAGES),
    ("time", WITH_TIME),
    ("with", &[Format::Iqm]),
];
const WITH_IMAGES: &[Format] = &[Format::Iqm, Format::OpenCtm];
const WITH_TIME: &[Format] = &[Format::CGeo, Format::Iqm];

/// The words for each way to use an argument of a command on files of a format; none if it is not tried.
///
/// # Panics
///
/// Panics for an option about which the tables of this file say nothing.
pub(super) fn ways(command: &str, argument: &Arg, format: Format) -> Vec<Vec<String>> {
    let Some(option) = argument.get_long() else {
        // A positional argument: paths are in all lines.
        let name = argument.get_id().as_str();
        let values = values(command, name).unwrap_or_default();
        return values
            .iter()
            .map(|value| vec![(*value).to_owned()])
            .collect();
    };
    if NOT_TRIED.iter().any(|(name, _)| *name == option) {
        return Vec::new();
    }
    let only_for = ONLY_FOR.iter().find(|(name, _)| *name == option);
    if only_for.is_some_and(|(_, formats)| !formats.contains(&format)) {
        return Vec::new();
    }
    let word = format!("--{option}");
    if let Some(values) = values(command, option) {
        // One word, because a value may begin with `-`.
        return values
            .iter()
            .map(|value| vec![format!("{word}={value}")])
            .collect();
    }
    if matches!(argument.get_action(), ArgAction::SetTrue) {
        return vec![vec![word]];
    }
    let usual = argument.get_default_values();
    let possible = argument.get_possible_values();
    let others = possible
        .iter()
        .map(|value| value.get_name())
        .filter(|value| usual.iter().all(|usual| usual != value));
    let ways: Vec<Vec<String>> = others
        .map(|value| vec![format!("{word}={value}")])
        .collect();
    assert!(
        !ways.is_empty(),
        "`meshmap {command} {word}` is new: give it values in crates/cli/examples/lines/options.rs, or the reason why it is not tried"
    );
    ways
}

fn values(command: &str, option: &str) -> Option<&'static [&'static str]> {
    let of_command = VALUES_OF_COMMAND
        .iter()
        .find(|(of, name, _)| *of == command && *name == option);
    if let Some((_, _, values)) = of_command {
        return Some(values);
    }
    let found = VALUES.iter().find(|(name, _)| *name == option);
    found.map(|(_, values)| *values)
}
