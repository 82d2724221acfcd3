//! Builds with `--cfg meshmap_small` leave parts of the library out, and read the same: `.ci/slow browser` runs this.
#![cfg(meshmap_small)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use meshmap::{Decoder, ErrorKind, Format, MeshFile, Options, Source, Strictness};

fn data(format: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data")
        .join(format)
        .join("valid");
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension != "json")
        })
        .collect()
}

#[test]
fn strict_reading_is_refused() {
    let strict = Options::default().with_strictness(Strictness::Strict);
    for format in Format::ALL.map(Format::name) {
        let source = Source::open(&data(format)[0]).unwrap();
        let error = MeshFile::from_source(source, &strict).unwrap_err();
        assert_eq!(
            (error.kind(), error.what()),
            (ErrorKind::Unsupported, "strictness")
        );
    }
}

#[test]
fn reference_decoders_are_the_fast_ones_and_boxes_are_right() {
    let mut boxes = 0;
    for format in ["cgeo", "openctm", "slmesh"] {
        for path in data(format) {
            let all = |decoder| {
                let options = Options::default().with_decoder(decoder);
                let file = MeshFile::from_source(Source::open(&path).unwrap(), &options).unwrap();
                let views = file
                    .meshes()
                    .unwrap()
                    .map(|entry| file.mesh(&entry.address));
                let boxes = views.map(|view| {
                    view.map_err(|error| error.message())?
                        .bounds()
                        .map_err(|e| e.message())
                });
                boxes.collect::<Vec<_>>()
            };
            let found = all(Decoder::Reference);
            assert_eq!(found, all(Decoder::Fast), "{}", path.display());
            boxes += found
                .iter()
                .filter(|found| matches!(found, Ok(Some(_))))
                .count();
        }
    }
    assert!(boxes > 50, "{boxes}");
}
