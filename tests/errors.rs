//! The texts of errors: each fact once, and the file.

use std::error::Error as _;
use std::fmt::Write;
use std::io;
use std::ops::Range;
use std::path::Path;

use meshmap::cgeo::Parts;
use meshmap::slmesh::{Asset, Lod};
use meshmap::{Error, ErrorKind, MeshFile, Options, Source, cgeo, iqm, openctm, slmesh, tmf};
use meshmap_testing::{data, hooked, open};

/// An error and what caused it, as programs print them.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        write!(text, ": {error}").unwrap();
        source = error.source();
    }
    text
}

fn times(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn file_that_is_not_there_is_named_once_with_the_reason_once() {
    let error = MeshFile::open("tests/data/nothing.iqm").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io(io::ErrorKind::NotFound));
    assert_eq!(error.path(), Some(Path::new("tests/data/nothing.iqm")));
    assert_eq!(
        error.to_string(),
        "tests/data/nothing.iqm: cannot read file"
    );
    let reason = error.source().unwrap().to_string();
    for text in [format!("{error:#}"), format!("{error:?}"), chain(&error)] {
        assert!(
            times(&text, "nothing.iqm") == 1 && times(&text, &reason) == 1,
            "{text}"
        );
    }
    assert_eq!(error.message(), format!("cannot read file: {reason}"));
}

#[test]
fn what_a_file_does_not_have_is_told_with_its_path() {
    let file = MeshFile::open(data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
    let error = file.mesh(&"meshes[99]".parse().unwrap()).unwrap_err();
    assert_eq!(
        error.path(),
        Some(&*data::valid("iqm", "skin_multi_anim.iqm"))
    );
    assert_eq!(times(&error.to_string(), "skin_multi_anim.iqm"), 1);
}

#[test]
fn reader_that_fails_is_quoted_once() {
    let gone = |_: &Range<u64>| {
        Err(io::Error::new(
            io::ErrorKind::ConnectionReset,
            "the store\nis gone",
        ))
    };
    let error =
        MeshFile::from_source(hooked(vec![0; 1 << 20], gone), &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io(io::ErrorKind::ConnectionReset));
    assert_eq!(error.to_string(), "cannot read signature (0x0..0x1000)");
    assert_eq!(
        chain(&error),
        "cannot read signature (0x0..0x1000): the store\nis gone"
    );
    assert_eq!(
        format!("{error:#}"),
        "cannot read signature (0x0..0x1000): the store is gone"
    );
    assert_eq!(error.message(), format!("{error:#}"));
    assert!(error.path().is_none());
}

#[test]
fn errors_of_opening_name_the_file_in_every_format() {
    type Open = fn(Source) -> Option<Error>;
    let open: [(&str, &str, Open); 5] = [
        ("cgeo", "cut_table_a.cgeo", |source| {
            cgeo::Proxy::from_source(source, &Options::default()).err()
        }),
        ("iqm", "joint_parent_self.iqm", |source| {
            iqm::Model::from_source(source, &Options::default()).err()
        }),
        ("openctm", "method_b.ctm", |source| {
            openctm::Container::from_source(source, &Options::default()).err()
        }),
        ("slmesh", "own_a_version_1000.slmesh", |source| {
            slmesh::Asset::from_source(source, &Options::default()).err()
        }),
        ("tmf", "count_vert_b.tmf", |source| {
            tmf::Document::from_source(source, &Options::default()).err()
        }),
    ];
    for (format, name, open) in open {
        let path = data::root().join(format).join("bad").join(name);
        let of_any = MeshFile::open(&path).unwrap_err();
        let of_one = open(Source::open(&path).unwrap()).unwrap();
        let in_memory = open(Source::from_bytes(std::fs::read(&path).unwrap())).unwrap();
        for error in [of_any, of_one] {
            assert_eq!(error.path(), Some(&*path), "{error}");
            assert_eq!(
                error.to_string(),
                format!("{}: {in_memory}", path.display())
            );
            assert_eq!(error.message(), in_memory.message());
        }
    }
    let path = data::root().join("../../Cargo.toml");
    assert_eq!(MeshFile::open(&path).unwrap_err().path(), Some(&*path));
}

#[test]
fn errors_deep_in_a_file_name_it() {
    let path = data::root().join("slmesh/bad/own_a_adler_high_lod.slmesh");
    let asset = Asset::open(&path).unwrap();
    let error = asset.lod(Lod::High).unwrap_err();
    assert_eq!(error.path(), Some(&*path));
    assert!(
        error
            .to_string()
            .starts_with(&format!("{}: slmesh: block", path.display())),
        "{error}"
    );

    let path = data::root().join("cgeo/bad/adler_a.cgeo");
    let proxy = cgeo::Proxy::open(&path).unwrap();
    let error = (0..proxy.snapshot_count())
        .find_map(|index| proxy.snapshot(index).unwrap().mesh(Parts::ALL).err())
        .unwrap();
    assert_eq!(error.path(), Some(&*path), "{error}");
    // Findings are the same for files and memory.
    let of_file = proxy.validate().unwrap();
    let of_memory = open::proxy(std::fs::read(&path).unwrap());
    assert_eq!(of_file, of_memory.validate().unwrap());
    assert!(!of_file.is_empty());
}
