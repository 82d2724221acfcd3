//! Files that were found by fuzzing, each named by what was wrong with the library.

mod support;

use std::fs;

use meshmap::{ErrorKind, MeshFile, Options, Source};

#[test]
fn files_that_were_found_by_fuzzing_panic_nowhere() {
    for file in support::data("iqm/regressions") {
        println!("{}", file.display());
        support::exercise::bytes(&fs::read(file).unwrap());
    }
}

#[test]
fn empty_source_of_unknown_length_is_an_empty_file() {
    let source = Source::ranged(support::Recorder::of_unknown_length(Vec::new()));
    let error = MeshFile::from_source(source, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownFormat);
}

#[test]
fn source_of_unknown_length_that_ends_before_a_tag_of_cgeo_is_of_unknown_format() {
    let mut bytes = vec![0; 100_000];
    bytes[0] = b'C';
    bytes[1..5].copy_from_slice(&200_000_u32.to_le_bytes());
    let source = Source::ranged(support::Recorder::of_unknown_length(bytes));
    let error = MeshFile::from_source(source, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownFormat);
}
