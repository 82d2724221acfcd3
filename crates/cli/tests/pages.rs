//! The output of the command, word by word: files in `snapshots`.
//!
//! If it changes on purpose, run `INSTA_UPDATE=always cargo test -p meshmap-cli --test pages` and look at the
//! difference.

use std::fmt::Write;

use insta::assert_snapshot;
use meshmap_testing::data;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use child::Run as _;

mod child;

/// Names of files of each format.
type Files = [(&'static str, &'static [&'static str]); 5];

/// Good files of each format.
const GOOD: Files = [
    (
        "cgeo",
        &[
            "anim_a.cgeo",
            "dialect_gzip_a.cgeo",
            "names_latin1_a.cgeo",
            "topology_a.cgeo",
        ],
    ),
    (
        "iqm",
        &[
            "anim_only_joints.iqm",
            "ext_fte_skins.iqm",
            "ours_odd_a.iqm",
            "skin_multi_anim.iqm",
        ],
    ),
    (
        "openctm",
        &[
            "cyl_MG2_multi.ctm",
            "hand_concat_b.ctm",
            "hand_mg1_a.ctm",
            "hand_raw_n_a.ctm",
        ],
    ),
    (
        "slmesh",
        &[
            "gen_08_server_header.slmesh",
            "nodemv_17_submodel_undef_convex.slmesh",
            "ours_skin_a.slmesh",
            "ours_nogeometry_a.slmesh",
        ],
    ),
    (
        "tmf",
        &[
            "v011_last_vertex_far.tmf",
            "v020_custom_all.tmf",
            "v021_tiny_edge_1e-30.tmf",
            "v021_unified_cube.tmf",
        ],
    ),
];

/// Files with an error each.
const BAD: Files = [
    (
        "cgeo",
        &[
            "adler_a.cgeo",
            "ceetron_a.cgeo",
            "count_huge_a.cgeo",
            "cut_table_a.cgeo",
        ],
    ),
    (
        "iqm",
        &[
            "ext_cycle.iqm",
            "joint_parent_self.iqm",
            "truncated_half.iqm",
            "version_0.iqm",
        ],
    ),
    (
        "openctm",
        &[
            "counts_huge_a.ctm",
            "lzma_match_b.ctm",
            "method_b.ctm",
            "trunc_raw_02616_b.ctm",
        ],
    ),
    (
        "slmesh",
        &[
            "h04_header_array.slmesh",
            "own_a_adler_high_lod.slmesh",
            "own_a_cut_00119.slmesh",
            "own_a_version_1000.slmesh",
        ],
    ),
    (
        "tmf",
        &[
            "count_vert_b.tmf",
            "v2_comp1_tri_b.tmf",
            "v2_tri_out_of_range_b.tmf",
            "v2_vert_box_nan_b.tmf",
        ],
    ),
];

/// Small files, whose digests have no array that is computed with the host's sines.
const DIGESTED: Files = [
    ("cgeo", &["triangle_a.cgeo"]),
    ("iqm", &["skin_multi_anim.iqm"]),
    ("openctm", &["hand_mg1_a.ctm"]),
    ("slmesh", &["gen_01_triangle.slmesh"]),
    ("tmf", &["v021_one_point.tmf"]),
];

/// The output of a command line, run in the repository.
fn transcript(arguments: &str) -> String {
    transcript_at("100", arguments)
}

/// Like [`transcript`], on a terminal of `columns` columns.
fn transcript_at(columns: &str, arguments: &str) -> String {
    let output = child::meshmap()
        .env("COLUMNS", columns)
        .args(arguments.split(' '))
        .current_dir(data::root().join("../.."))
        .run();
    let [out, error] =
        [output.stdout, output.stderr].map(|bytes| as_on_linux(String::from_utf8(bytes).unwrap()));
    let mut text = format!("$ meshmap {arguments}\n{out}");
    if !error.is_empty() {
        write!(text, "--- standard error\n{error}").unwrap();
    }
    match output.status.code() {
        Some(0) => text.push('\n'),
        code => writeln!(text, "--- status {}\n", code.unwrap()).unwrap(),
    }
    text
}

/// A text with the separators and the program name of Linux.
fn as_on_linux(text: String) -> String {
    if !cfg!(windows) {
        return text;
    }
    ["valid", "bad", "regressions"]
        .iter()
        .fold(text.replace("meshmap.exe", "meshmap"), |text, folder| {
            text.replace(&format!("/{folder}\\"), &format!("/{folder}/"))
        })
}

/// The transcripts of one command for several files.
fn transcripts(command: &str, folder: &str, files: &[&str]) -> String {
    files
        .iter()
        .map(|file| transcript(&format!("{command} tests/data/{folder}/{file}")))
        .collect()
}

/// The paths of files, each behind a blank.
fn paths(folder: &str, files: Files) -> String {
    let paths = files
        .into_iter()
        .flat_map(|(format, files)| files.iter().map(move |file| (format, file)));
    paths
        .map(|(format, file)| format!(" tests/data/{format}/{folder}/{file}"))
        .collect()
}

/// JSON on many lines, so that differences can be read.
fn pretty(text: String) -> String {
    let lines = text
        .lines()
        .map(|line| match serde_json::from_str::<Value>(line) {
            Ok(object) => serde_json::to_string_pretty(&object).unwrap() + "\n",
            Err(_) => line.to_owned() + "\n",
        });
    lines.collect()
}

#[test]
#[cfg_attr(
    feature = "stores",
    ignore = "this build has options for stores as well"
)]
fn help() {
    for command in [
        "", "info ", "verify ", "dump ", "diff ", "convert ", "render ", "view ", "catalog ",
        "digest ",
    ] {
        let usual = transcript_at("80", &format!("{command}-h"));
        let all = transcript_at("80", &format!("{command}--help"));
        assert_snapshot!(
            format!("help {command}").trim().replace(' ', "_"),
            usual + &all
        );
    }
}

#[test]
fn wrong_usage() {
    let lines = [
        "info",
        "info --json --report a",
        "verify --fail-on nothing a",
        "digest a b",
        "show a",
    ];
    assert_snapshot!(lines.map(transcript).concat());
}

/// One page for each format. Further facts are asserted in `cli.rs` and by [`info_json`].
#[test]
fn info() {
    for (format, files) in GOOD {
        assert_snapshot!(
            format!("info_{format}"),
            transcripts("info", &format!("{format}/valid"), &files[..1])
        );
    }
}

#[test]
fn info_of_one_format_alone() {
    let mapped = transcripts("info --mmap --full", "iqm/valid", &["skin_multi_anim.iqm"]);
    assert_snapshot!("info_mmap", mapped);
    assert_snapshot!(
        "info_snapshots",
        transcripts("info --snapshots", "cgeo/valid", &["anim_a.cgeo"])
    );
    let report = transcripts("info --report", "cgeo/valid", &["header_keys_a.cgeo"]);
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let report = report
        .replace(env!("CARGO_PKG_VERSION"), "VERSION")
        .replace(&system, "linux x86_64");
    assert_snapshot!("info_report", report);
}

#[test]
fn info_of_many_files() {
    let text = transcript(&format!(
        "info{}{} tests/data/iqm/regressions",
        paths("valid", GOOD),
        paths("bad", BAD)
    ));
    assert_snapshot!(without_time(text));
}

/// A transcript without how long it took.
fn without_time(mut text: String) -> String {
    let seconds = text
        .rfind(" s\n")
        .and_then(|end| text[..end].rfind("   ").map(|start| start..end + 2))
        .unwrap();
    text.replace_range(seconds, "");
    text
}

/// Pages of one file of each format, and rows of directories with good and with bad files.
#[test]
fn pages_are_as_wide_as_the_terminal() {
    for columns in ["60", "80", "100", "200"] {
        let mut text = String::new();
        for (format, files) in GOOD {
            text += &transcript_at(
                columns,
                &format!("info tests/data/{format}/valid/{}", files[0]),
            );
        }
        let pages = text.clone();
        text += &without_time(transcript_at(
            columns,
            "info tests/data/tmf/valid tests/data/slmesh/bad",
        ));
        text += &transcript_at(columns, "verify tests/data/iqm/valid tests/data/iqm/bad");
        // Requested values, and lines on standard error for programs, may have any length.
        let wide = columns.parse::<usize>().unwrap().min(120);
        // Without a terminal, rows have whole paths.
        for line in text
            .lines()
            .filter(|line| !line.starts_with("$ ") && !line.contains("tests/data/"))
        {
            assert!(line.width() <= wide, "{columns}: {line}");
        }
        if ["60", "200"].contains(&columns) {
            assert_snapshot!(format!("columns_{columns}"), pages);
        }
    }
}

/// All facts of a file of each format, and the first of its lists.
#[test]
fn info_json() {
    for (format, files) in GOOD {
        let path = data::valid(format, files[1]);
        let output = child::meshmap().args(["info", "--json"]).arg(path).run();
        let mut object: Value = serde_json::from_slice(&output.stdout).unwrap();
        for list in ["parts", "meshes"] {
            object[list].as_array_mut().unwrap().truncate(1);
        }
        for mesh in object["meshes"].as_array_mut().unwrap() {
            mesh["groups"]
                .as_array_mut()
                .into_iter()
                .for_each(|groups| groups.truncate(2));
        }
        object["path"] = files[1].into();
        let lines = one_fact_a_line(&object, "");
        assert_snapshot!(format!("info_json_{format}"), lines);
    }
    let [one, other] = ["iqm/bad/truncated_half.iqm", "tmf/bad/count_vert_b.tmf"];
    let text = transcript(&format!("info --json tests/data/{one} tests/data/{other}"));
    let objects = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: String = objects.map(|object| one_fact_a_line(&object, "")).collect();
    assert_snapshot!("info_json_errors", lines);
}

/// The address and the value of each number, text and list of numbers or texts.
fn one_fact_a_line(value: &Value, address: &str) -> String {
    let inner = |name: String, value| one_fact_a_line(value, &format!("{address}{name}"));
    match value {
        Value::Object(object) => {
            let dot = if address.is_empty() { "" } else { "." };
            object
                .iter()
                .map(|(name, value)| inner(format!("{dot}{name}"), value))
                .collect()
        }
        Value::Array(list) if list.iter().any(Value::is_object) => (0..)
            .zip(list)
            .map(|(index, value): (u32, _)| inner(format!("[{index}]"), value))
            .collect(),
        value => format!("{address} {value}\n"),
    }
}

#[test]
fn verify() {
    assert_snapshot!(
        "verify_good",
        transcript(&format!("verify --cross-check{}", paths("valid", GOOD)))
    );
    assert_snapshot!(
        "verify_bad",
        transcript(&format!("verify{}", paths("bad", BAD)))
    );
}

/// The library's digest, as JSON. `corpus.rs` compares the hashes with the results of other programs.
#[test]
fn digest() {
    for (format, files) in DIGESTED {
        let text = transcripts("digest", &format!("{format}/valid"), files);
        let printed: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
        let file = meshmap::MeshFile::open(data::valid(format, files[0])).unwrap();
        let digest = meshmap_catalog::digest::of(&file).unwrap();
        assert_eq!(printed, serde_json::to_value(digest).unwrap());
    }
    assert_snapshot!(
        "digest_tmf",
        pretty(transcripts("digest", "tmf/valid", DIGESTED[4].1))
    );
}

#[test]
fn errors() {
    for (format, files) in BAD {
        let text: String = ["info", "verify", "digest"]
            .map(|command| transcripts(command, &format!("{format}/bad"), files))
            .concat();
        assert_snapshot!(format!("errors_{format}"), text);
    }
}
