//! Files that were found by fuzzing, or made like files of users, each named by the fault.

use std::fs;
use std::path::PathBuf;

use meshmap::{ErrorKind, Format, MeshFile, Options, Source};
use meshmap_testing::{Recorder, data, exercise, fixtures};

/// The valid files of each format, and made ones with every method.
#[test]
fn valid_files_keep_all_promises() {
    for format in Format::ALL {
        for file in data::folder(&format!("{format}/valid")) {
            println!("{}", file.display());
            exercise::bytes(format, &fs::read(file).unwrap());
        }
    }
    use fixtures::openctm::{Body, MG1, MG2, RAW};
    for method in [RAW, MG1, MG2] {
        let mut without = Body::sheet(method, 3);
        (without.flags, without.uv_maps) = (0, Vec::new());
        let bodies = [Body::sheet(method, 20), without, Body::sheet(method, 9)];
        assert!(exercise::openctm::bytes(
            &bodies.map(|body| body.to_bytes()).concat()
        ));
    }
    assert!(exercise::tmf::bytes(&fixtures::tmf::grid(60)));
}

/// The damaged files of each format, and the files that fuzzing found, in `regressions`.
#[test]
fn damaged_files_and_files_found_by_fuzzing_keep_all_promises() {
    let mut regressions = 0;
    for format in Format::ALL {
        let found = data::root().join(format.name()).join("regressions");
        let found = if found.exists() {
            data::files(&found)
        } else {
            Vec::new()
        };
        regressions += found.len();
        for file in data::folder(&format!("{format}/bad"))
            .into_iter()
            .chain(found)
        {
            println!("{}", file.display());
            let bytes = fs::read(file).unwrap();
            exercise::bytes(format, &bytes);
            exercise::calls(&bytes);
        }
    }
    let is_regression = |path: &PathBuf| path.join("regressions").exists();
    let folders = fs::read_dir(data::root())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(is_regression);
    let of_all_folders: usize = folders
        .map(|folder| data::files(&folder.join("regressions")).len())
        .sum();
    assert!(
        regressions > 0 && regressions == of_all_folders,
        "a folder of no format has regressions"
    );
}

#[test]
fn empty_source_of_unknown_length_is_an_empty_file() {
    let source = Source::ranged(Recorder::of_unknown_length(Vec::new()));
    let error = MeshFile::from_source(source, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownFormat);
}

#[test]
fn file_of_unknown_length_that_ends_within_the_signature_is_read() {
    let bytes = fs::read(data::valid("tmf", "hand_zero_meshes_trailing_a.tmf")).unwrap();
    assert!(bytes.len() < 32);
    let source = || Source::ranged(Recorder::of_unknown_length(bytes.clone()));
    assert_eq!(Format::detect(&source()).unwrap(), Format::Tmf);
    assert_eq!(
        MeshFile::from_source(source(), &Options::default())
            .unwrap()
            .meshes()
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn source_of_unknown_length_that_ends_before_a_tag_of_cgeo_is_of_unknown_format() {
    let mut bytes = vec![0; 100_000];
    bytes[0] = b'C';
    bytes[1..5].copy_from_slice(&200_000_u32.to_le_bytes());
    let source = Source::ranged(Recorder::of_unknown_length(bytes));
    let error = MeshFile::from_source(source, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownFormat);
}

/// 20,000 meshes, vertex arrays or joints whose names are the same half MiB.
#[test]
fn names_that_share_long_text_thousands_of_times_exceed_a_limit() {
    const COUNT: u32 = 20_000;
    const TEXT: u32 = 1 << 19;
    let numbers = |numbers: &[u32]| {
        numbers
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let tables = [
        // The places of the count and the offset in the header, and an element.
        (36, 40, numbers(&[1, 0, 0, 0, 0, 0])),
        (44, 52, numbers(&[0x11, 0, 1, 1, 124])),
        (
            68,
            72,
            numbers(&[1, u32::MAX, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ),
    ];
    for (count, offset, element) in tables {
        let mut file = b"INTERQUAKEMODEL\0".to_vec();
        file.resize(124, 0);
        file.resize(124 + TEXT as usize, b'a');
        (file[124], file[123 + TEXT as usize]) = (0, 0);
        file.extend(element.repeat(COUNT as usize));
        let filesize = file.len() as u32;
        for (field, value) in [
            (16, 2),
            (20, filesize),
            (28, TEXT),
            (32, 124),
            (count, COUNT),
            (offset, 124 + TEXT),
        ] {
            file[field..field + 4].copy_from_slice(&value.to_le_bytes());
        }
        let error =
            MeshFile::from_source(Source::from_bytes(file), &Options::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    }
}

/// A reader of unknown length is asked for nothing behind an end that an earlier read showed.
#[test]
fn reads_end_where_a_short_read_has_shown_the_end() {
    // The text reaches beyond the end, and the meshes lie far behind it.
    let mut file = b"INTERQUAKEMODEL\0".to_vec();
    file.resize(100_000, 0);
    for (field, value) in [
        (16, 2),
        (20, u32::MAX),
        (28, 60_000),
        (32, 90_000),
        (36, 2_000_000),
        (40, 0x8000_0000),
    ] {
        file[field..field + 4].copy_from_slice(&u32::to_le_bytes(value));
    }
    let reader = Recorder::of_unknown_length(file);
    let error =
        MeshFile::from_source(Source::ranged(reader.clone()), &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    let reads = reader.reads();
    let shown = reads.iter().position(|range| range.end > 100_000).unwrap();
    assert!(
        reads[shown + 1..].iter().all(|range| range.end <= 100_000),
        "{reads:x?}"
    );
}
