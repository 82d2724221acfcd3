//! Each option of `Convert` and `Render` is an argument with help, and decides whether an output is up to date.

use std::collections::BTreeMap;
use std::path::Path;

use meshmap_export::Convert;
use meshmap_render::Render;
use meshmap_testing::data;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use child::Run as _;

mod child;

/// The names of the options, as serde has them.
fn options(options: Value) -> Vec<String> {
    let Value::Object(options) = options else {
        panic!("a struct of options is an object")
    };
    options.into_iter().map(|(name, _)| name).collect()
}

fn commands() -> [(&'static str, Vec<String>); 2] {
    let convert = options(serde_json::to_value(Convert::default()).unwrap());
    [
        ("convert", convert),
        (
            "render",
            options(serde_json::to_value(Render::default()).unwrap()),
        ),
    ]
}

/// The argument of an option; it has a long name.
fn argument(command: &str, option: &str) -> clap::Arg {
    let definition = meshmap_cli::command();
    let command = definition.find_subcommand(command).unwrap();
    let argument = command
        .get_arguments()
        .find(|argument| argument.get_id() == option);
    let argument =
        argument.unwrap_or_else(|| panic!("{option} is not an argument of {}", command.get_name()));
    assert!(
        argument.get_long().is_some(),
        "{option} has no name on the command line"
    );
    argument.clone()
}

#[test]
fn every_option_is_in_the_help() {
    for (command, options) in commands() {
        let help = child::meshmap().args([command, "--help"]).run();
        let help = String::from_utf8(help.stdout).unwrap();
        for option in options {
            let argument = argument(command, &option);
            let head = format!("--{}", argument.get_long().unwrap());
            assert!(
                help.lines()
                    .any(|line| line.split_whitespace().any(|word| word == head)),
                "{head}"
            );
            assert!(
                argument
                    .get_help()
                    .is_some_and(|text| !text.to_string().is_empty()),
                "{head} has no help"
            );
        }
    }
}

/// The help of a command for a terminal of 80 columns.
fn help_of(command: &str, option: &str) -> String {
    let mut program = child::meshmap();
    program.env("COLUMNS", "80");
    if !command.is_empty() {
        program.arg(command);
    }
    let help = program.arg(option).run();
    child::text(&help.stdout).to_owned()
}

#[test]
fn short_help_fits_a_screen_and_options_are_in_groups() {
    let definition = meshmap_cli::command();
    let mut names = vec![""];
    names.extend(definition.get_subcommands().map(clap::Command::get_name));
    for name in names {
        let short = help_of(name, "-h");
        let count = short.lines().count();
        assert!(
            count > 3 && count <= 24,
            "{name} -h: {count} lines\n{short}"
        );
        for help in [short, help_of(name, "--help")] {
            let longest = help.lines().max_by_key(|line| line.width()).unwrap();
            assert!(longest.width() <= 80, "{name}: {longest}");
        }
    }
    for command in definition.get_subcommands() {
        let name = command.get_name();
        if ["completions", "man"].contains(&name) {
            continue;
        }
        for argument in command.get_arguments() {
            let Some(long) = argument.get_long() else {
                continue;
            };
            assert!(
                argument.get_help_heading().is_some(),
                "{name} --{long} is in no group of src/help.rs"
            );
        }
        let usual = command
            .get_arguments()
            .filter(|argument| argument.get_long().is_some())
            .filter(|argument| !argument.is_hide_short_help_set());
        // The option --help, and at least one that the command is used with.
        assert!(usual.count() > 1, "{name} -h shows no option");
    }
}

/// A value of each option that is not a flag.
const VALUES: [(&str, &str); 22] = [
    ("anim", "idle"),
    ("background", "black"),
    ("every", "3"),
    ("fps", "12"),
    ("frame", "1"),
    ("lod", "low"),
    ("max_output_bytes", "4GiB"),
    ("meshes", "snapshots[1]"),
    ("mode", "clay"),
    ("points", "9"),
    ("samples", "9"),
    ("seconds", "0.1"),
    ("size", "9x8"),
    ("snapshot", "2"),
    ("snapshots", "0..3"),
    ("textures", "."),
    ("to", "gltf"),
    ("turn", "90"),
    ("turntable", "2"),
    ("unit_millimeters", "cm"),
    ("up", "x"),
    ("view", "top"),
];

#[test]
fn an_output_is_written_again_if_an_option_changes() {
    let folder = tempfile::tempdir().unwrap();
    let input = data::valid("cgeo", "anim_a.cgeo");
    for (command, options) in commands() {
        let out = folder.path().join(command);
        std::fs::create_dir(&out).unwrap();
        for option in options {
            let usual = BTreeMap::from(match (command, option.as_str()) {
                ("convert", "keep_degenerate") => [("to", "usdc")],
                ("convert", "raw") => [("to", "obj")],
                ("convert", _) => [("to", "glb")],
                _ => [("size", "8x8")],
            });
            let mut changed = usual.clone();
            let is_flag = !argument(command, &option).get_action().takes_values();
            let value = VALUES
                .iter()
                .find(|(name, _)| *name == option)
                .map(|(_, value)| *value);
            let value = value
                .or(is_flag.then_some(""))
                .unwrap_or_else(|| panic!("VALUES needs one of {option}"));
            changed.insert(&option, value);
            written(command, &usual, &input, &out);
            assert!(
                written(command, &usual, &input, &out).contains(" 1 up to date"),
                "{command}"
            );
            let report = written(command, &changed, &input, &out);
            assert!(
                report.contains(" 0 up to date"),
                "{command}, {option}: {report}"
            );
        }
    }
}

/// Runs a command with options by their names, and returns its report.
fn written(command: &str, options: &BTreeMap<&str, &str>, input: &Path, out: &Path) -> String {
    let mut run = child::meshmap();
    run.arg(command).arg(input).arg("-o").arg(out);
    for (option, value) in options {
        run.arg(format!(
            "--{}",
            argument(command, option).get_long().unwrap()
        ));
        run.args(Some(*value).filter(|value| !value.is_empty()));
    }
    String::from_utf8(run.run().stdout).unwrap()
}
