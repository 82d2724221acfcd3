//! `meshmap catalog` as a shell runs it, and the rows that other packages show.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use meshmap::{Bytes, Format, Source};
use meshmap_catalog::rows::{self as catalog, Item, Options, Row};
use meshmap_catalog::{Depth, Reading, inspect};
use meshmap_testing::kinds::small_before_large;
use meshmap_testing::{Recorder, data, fixtures, hooked};
use serde_json::Value;

use child::{Run as _, text};

mod child;

fn run(arguments: &[&str], paths: &[&Path]) -> Output {
    let mut command = child::meshmap();
    command.arg("catalog").args(paths).args(arguments).run()
}

/// The rows of a folder, in order.
fn rows(folder: &Path, how: Options) -> Vec<Row> {
    catalog::find(&[folder.to_owned()])
        .iter()
        .flat_map(|item| catalog::of(item, &how))
        .collect()
}

#[test]
fn every_format_has_rows_and_bad_files_are_rows_too() {
    let rows = rows(
        &data::root(),
        Options {
            depth: Depth::Everything,
            ..Options::default()
        },
    );
    let (bad, good): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.error_kind.is_some());
    let formats: BTreeSet<&str> = good.iter().filter_map(|row| row.format).collect();
    assert_eq!(formats, Format::ALL.map(Format::name).into());
    assert!(bad.len() > 50, "{}", bad.len());
    assert!(bad.iter().all(|row| {
        row.error
            .as_ref()
            .is_some_and(|error| !error.contains('\n'))
    }));
    let boxes = good.iter().filter(|row| row.bounds.is_some()).count();
    assert!(boxes * 2 > good.len(), "{boxes} of {}", good.len());
}

#[test]
fn how_much_is_decoded_changes_values_and_never_which_rows_there_are() {
    let depths = [Depth::Headers, Depth::Meshes, Depth::Everything];
    for item in catalog::find(&[data::root()]) {
        let of = |depth| {
            catalog::of(
                &item,
                &Options {
                    depth,
                    ..Options::default()
                },
            )
        };
        let [headers, meshes, full] = depths.map(of);
        let name = |row: &Row| {
            (
                row.path.clone(),
                row.address.clone(),
                row.role,
                row.mesh_bytes,
            )
        };
        let names = |rows: &[Row]| rows.iter().map(name).collect::<Vec<_>>();
        assert_eq!(names(&headers), names(&full));
        assert_eq!(names(&meshes), names(&full));
        let values = |row: &Row| {
            (
                row.vertices,
                row.triangles,
                row.bounds.map(|bounds| bounds.map(|b| b.map(f32::to_bits))),
            )
        };
        for ((header, mesh), full) in headers.iter().zip(&meshes).zip(&full) {
            assert_eq!(values(mesh), values(full), "{full:?}");
            // Headers of CGeo may be wrong, which is a finding.
            if full.error.is_none() && header.vertices.is_some() && header.format != Some("cgeo") {
                assert_eq!(
                    (header.vertices, header.triangles),
                    (full.vertices, full.triangles),
                    "{header:?}"
                );
            }
        }
    }
}

/// `meshmap verify` and the rows of a file name the same parts.
#[test]
fn parts_that_are_no_error_of_a_mesh_are_in_the_rows_of_their_file() {
    let mut found = 0;
    for item in catalog::find(&[data::root()]) {
        let rows = catalog::of(
            &item,
            &Options {
                depth: Depth::Everything,
                ..Options::default()
            },
        );
        let Some(error) = rows.iter().find_map(|row| row.part_error.clone()) else {
            assert!(
                rows.iter()
                    .all(|row| row.damaged_parts == 0 && row.part_error_kind.is_none())
            );
            continue;
        };
        let file = meshmap::MeshFile::open(item.path()).unwrap();
        let damage = inspect::check(&file).damage;
        let others = damage.iter().map(|part| part.line(file.format()));
        let is_other = |line: &String| rows.iter().all(|row| row.error.as_ref() != Some(line));
        let others: Vec<String> = others.filter(is_other).collect();
        assert_eq!(others.first(), Some(&error));
        for row in &rows {
            assert_eq!(
                (row.damaged_parts, row.part_error.as_ref()),
                (others.len() as i64, Some(&error))
            );
            assert!(row.part_error_kind.is_some());
        }
        found += 1;
    }
    assert!(found > 3, "{found}");
}

#[test]
fn decoders_that_panic_and_hashes_that_fail_leave_the_rows_of_the_headers() {
    let bytes = large();
    let len = bytes.len() as u64;
    for (how, kind, panics) in [
        (
            Options {
                depth: Depth::Everything,
                ..Options::default()
            },
            "panic",
            true,
        ),
        (
            Options {
                hash: true,
                ..Options::default()
            },
            "io",
            false,
        ),
    ] {
        let all = Bytes::from(bytes.clone());
        // Everything behind the middle fails.
        let open = move || {
            Ok(hooked(all.clone(), move |range| {
                assert!(!panics || range.end <= len / 2, "a defect");
                if range.end > len / 2 {
                    Err(std::io::Error::other("no network"))
                } else {
                    Ok(())
                }
            }))
        };
        let item = Item::source("store".to_owned(), Some("etag".to_owned()), open);
        let headers = catalog::of(&item, &Options::default());
        let rows = catalog::of(&item, &how);
        assert!(
            headers
                .iter()
                .all(|row| row.error.is_none() && row.address.is_some()),
            "{headers:?}"
        );
        assert_eq!(rows.len(), headers.len());
        for (row, header) in rows.iter().zip(&headers) {
            assert_eq!(
                (&row.address, row.vertices),
                (&header.address, header.vertices)
            );
            assert_eq!(row.error_kind, Some(kind), "{row:?}");
        }
    }
}

/// Names in the header of a file are in each of its rows.
#[test]
fn rows_that_repeat_long_names_keep_to_the_limits_of_memory_and_output() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    fs::create_dir(&input).unwrap();
    let names: &[&str] = match cfg!(feature = "parquet") {
        true => &["out.csv", "out.jsonl", "out.arrow", "out.parquet"],
        false => &["out.csv", "out.jsonl"],
    };
    let written = |arguments: &[&str], name: &str| {
        let output = folder.path().join(name);
        let done = run(
            &[arguments, &["-o", output.to_str().unwrap()]].concat(),
            &[&input],
        );
        (done.status.code(), fs::read(output).unwrap())
    };
    // 112 KB, and 320 MB of names in its rows.
    fs::write(
        input.join("names.cgeo"),
        fixtures::cgeo::long_names(40_000, 4000),
    )
    .unwrap();
    for name in names {
        for (arguments, limit) in [
            (
                &[][..],
                "more than the limit of 64.0 MiB of output; raise it with --max-output",
            ),
            (
                &["--full"],
                "more than the limit of 64.0 MiB of output; raise it with --max-output",
            ),
            (
                &["--max-output", "1GiB", "--max-memory", "20MiB"],
                "more than the limit of 10.0 MiB of memory; raise it with --max-memory",
            ),
        ] {
            let (status, bytes) = written(arguments, name);
            assert_eq!(status, Some(1), "{name} {arguments:?}");
            assert!(
                bytes.len() < 100_000,
                "{name} {arguments:?}: {} bytes",
                bytes.len()
            );
            let is_there = |text: &str| {
                bytes
                    .windows(text.len())
                    .any(|part| part == text.as_bytes())
            };
            // The cells of Parquet are compressed.
            assert!(
                is_there(limit) || name.ends_with(".parquet"),
                "{name} {arguments:?}"
            );
        }
    }
    let only = &rows(&input, Options::default())[..];
    assert!(
        matches!(only, [row] if row.error_kind == Some("limit_exceeded")),
        "{only:?}"
    );
    // A quarter of the limit, in parts.
    fs::write(
        input.join("names.cgeo"),
        fixtures::cgeo::long_names(4000, 2000),
    )
    .unwrap();
    for name in names {
        let (status, bytes) = written(&[], name);
        assert_eq!(status, Some(0), "{name}");
        assert!(
            name.ends_with(".parquet") || bytes.len() > 16_000_000,
            "{name}: {} bytes",
            bytes.len()
        );
    }
    assert_eq!(rows(&input, Options::default()).len(), 2000);
}

#[test]
fn the_command_writes_files_of_all_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let usual = Options::default();
    let limits = usual
        .reading
        .limits
        .with_remedies(["--max-memory", "--max-memory", ""]);
    let reading = Reading {
        limits,
        ..usual.reading
    };
    let expected = rows(&data::root(), Options { reading, ..usual });
    let done = run(&[], &[&data::root()]);
    assert_eq!(
        done.status.code(),
        Some(1),
        "some files of the tests are bad: {}",
        text(&done.stderr)
    );
    // A name of one file has an end of a line in it, which stands between quotation marks.
    let mut is_quoted = false;
    let ends = text(&done.stdout).chars().filter(|c| {
        is_quoted ^= *c == '"';
        *c == '\n' && !is_quoted
    });
    assert_eq!(ends.count(), expected.len() + 1);
    let names: &[&str] = match cfg!(feature = "parquet") {
        true => &[
            "assets.csv",
            "assets.jsonl",
            "assets.arrow",
            "assets.parquet",
        ],
        false => &["assets.csv", "assets.jsonl"],
    };
    for name in names {
        let output = folder.path().join(name);
        let done = run(&["-o", output.to_str().unwrap()], &[&data::root()]);
        assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
        let written = fs::read(&output).unwrap();
        // Written again, as any output of one command.
        fs::write(&output, "something else").unwrap();
        assert_eq!(
            run(&["-o", output.to_str().unwrap()], &[&data::root()])
                .status
                .code(),
            Some(1)
        );
        assert!(fs::read(&output).unwrap() == written);
    }
    let good = run(
        &["-o", folder.path().join("good.csv").to_str().unwrap()],
        &[&data::valid("iqm", "skin_multi_anim.iqm")],
    );
    assert_eq!(good.status.code(), Some(0), "{}", text(&good.stderr));
    let objects = fs::read_to_string(folder.path().join("assets.jsonl")).unwrap();
    let csv = fs::read_to_string(folder.path().join("assets.csv")).unwrap();
    let columns: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let mut count = 0;
    for (line, row) in objects.lines().zip(&expected) {
        let object: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
        assert_eq!(object.keys().collect::<Vec<_>>(), columns);
        let unusable = Value::from(row.findings[3]);
        assert_eq!(
            (&object["path"], &object["unusable"]),
            (&Value::from(row.path.as_str()), &unusable)
        );
        assert_eq!(object["error"], Value::from(row.error.clone()));
        count += 1;
    }
    assert_eq!(
        (count, objects.lines().count()),
        (expected.len(), expected.len())
    );
    assert_eq!(
        run(&["-o", "assets.txt"], &[&data::root()]).status.code(),
        Some(2)
    );
}

#[test]
#[cfg(feature = "parquet")]
fn arrow_and_parquet_files_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let [arrow, parquet] = ["assets.arrow", "assets.parquet"].map(|name| folder.path().join(name));
    for output in [&arrow, &parquet] {
        assert_eq!(
            run(&["-o", output.to_str().unwrap()], &[&data::root()])
                .status
                .code(),
            Some(1)
        );
    }
    let arrow = fs::read(arrow).unwrap();
    assert!(arrow.starts_with(b"ARROW1") && arrow.ends_with(b"ARROW1"));
    let parquet = fs::read(parquet).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[test]
#[cfg(not(feature = "parquet"))]
fn a_build_without_parquet_says_how_to_get_it() {
    let done = run(&["-o", "assets.parquet"], &[&data::root()]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        text(&done.stderr).contains("--features parquet"),
        "{}",
        text(&done.stderr)
    );
}

#[test]
fn files_that_take_too_much_memory_are_rows() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bomb.cgeo");
    fs::write(&file, small_before_large(1, 200_000)).unwrap();
    let errors = |limit: &str| {
        let done = run(&["--full", limit], &[&file]);
        text(&done.stdout).matches("limit_exceeded").count()
    };
    assert_eq!(
        (errors("--max-memory=1MiB"), errors("--max-memory=64MiB")),
        (1, 0)
    );
}

#[test]
fn what_is_no_mesh_has_a_row_only_if_it_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("readme.txt");
    fs::write(&file, "no mesh").unwrap();
    assert!(rows(folder.path(), Options::default()).is_empty());
    let [row] = catalog::of(&Item::file(&file), &Options::default())
        .try_into()
        .unwrap();
    assert_eq!(row.error_kind, Some("unknown_format"));
    let [row] = catalog::of(
        &Item::file(&folder.path().join("nothing")),
        &Options::default(),
    )
    .try_into()
    .unwrap();
    assert_eq!(row.error_kind, Some("not_found"));
}

/// A file with 500,000 vertices, whose headers are its beginning.
fn large() -> Vec<u8> {
    let count = 500_000_u32;
    let mut file = [
        &b"OCTM\x05\0\0\0RAW\0"[..],
        &count.to_le_bytes(),
        &1_u32.to_le_bytes(),
        &[0; 16],
        b"INDX",
    ]
    .concat();
    file.extend([0_u32, 1, 2].iter().flat_map(|index| index.to_le_bytes()));
    file.extend(b"VERT");
    file.resize(file.len() + 12 * count as usize, 0);
    file
}

#[test]
fn of_an_object_in_a_store_headers_alone_are_read() {
    let reader = Recorder::new(large());
    let store = reader.clone();
    let open = move || Ok(Source::ranged(store.clone()));
    let item = Item::source(
        "s3://assets/scan.ctm".to_owned(),
        Some("etag".to_owned()),
        open,
    );
    let [row] = catalog::of(&item, &Options::default()).try_into().unwrap();
    assert_eq!(
        (row.vertices, row.triangles, row.error),
        (Some(500_000), Some(1), None)
    );
    assert_eq!(
        (row.path.as_str(), row.identity.as_deref()),
        ("s3://assets/scan.ctm", Some("etag"))
    );
    assert!(reader.bytes_read() < reader.bytes.len() as u64 / 20);
    let [row] = catalog::of(
        &item,
        &Options {
            hash: true,
            ..Options::default()
        },
    )
    .try_into()
    .unwrap();
    assert_eq!(row.hash.map(|hash| hash.len()), Some(64));
}

#[test]
fn a_reader_that_panics_is_a_row() {
    let item = Item::source("store".to_owned(), None, || panic!("no store"));
    let [row] = catalog::of(&item, &Options::default()).try_into().unwrap();
    assert_eq!(
        (row.error_kind, row.path.as_str()),
        (Some("panic"), "store")
    );
}
