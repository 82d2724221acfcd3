//! A file is the same however its bytes come in: mapped, opened, in memory, by ranges, in fragments.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use meshmap::{Format, Fragments, MeshFile, Options, Result, Source};
use meshmap_testing::calls::{Digest, assert_same, digests, needs_length};
use meshmap_testing::{Recorder, data, fixtures, in_pieces, in_steps, test_files};

/// The files of a kind of all formats.
fn files(root: &Path, kind: &str) -> Vec<PathBuf> {
    Format::ALL
        .iter()
        .flat_map(|format| data::files(&root.join(format.name()).join(kind)))
        .collect()
}

/// The values and errors of all calls.
fn all(source: &Source) -> Result<Vec<Digest>> {
    digests(source, &Options::default(), 64)
}

test_files!(every_way_in_gives_the_same);

fn every_way_in_gives_the_same(root: &Path) {
    let mut paths = files(root, "valid");
    paths.extend(files(root, "bad"));
    paths.extend(data::files(&root.join("slmesh/extras")));
    // Half of them on each of two threads.
    thread::scope(|scope| {
        for part in 0..2 {
            let part = paths.iter().skip(part).step_by(2);
            scope.spawn(move || part.for_each(|path| agree(path)));
        }
    });
}

/// All ways to the bytes of a file show the same.
fn agree(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let expected = all(&Source::from_bytes(bytes.clone())).unwrap();
    let check = |way: &str, source: Source| {
        assert_same(
            &format!("{}, {way}", path.display()),
            &all(&source).unwrap(),
            &expected,
            true,
        );
    };
    check("by ranges", Source::ranged(Recorder::new(bytes.clone())));
    check("opened", Source::open(path).unwrap());
    #[cfg(feature = "mmap")]
    {
        #[allow(
            unsafe_code,
            reason = "the files of the repository do not change while tests run"
        )]
        // SAFETY: as above.
        let mapped = unsafe { Source::map(path) }.unwrap();
        check("mapped", mapped);
    }
    let fragments = Fragments::new(Some(bytes.len() as u64));
    let (found, steps) = in_steps(&fragments, &bytes, all).unwrap();
    assert_same(
        &format!("{}, in fragments", path.display()),
        &found,
        &expected,
        true,
    );
    assert!(steps <= 30, "{}: {steps} steps", path.display());
    if needs_length(&MeshFile::open(path)) {
        return;
    }
    let reader = Source::ranged(Recorder::of_unknown_length(bytes.clone()));
    let (stepped, _) = in_steps(&Fragments::new(None), &bytes, all).unwrap();
    for (way, found) in [("ranges", all(&reader).unwrap()), ("fragments", stepped)] {
        assert_same(
            &format!("{}, {way} of unknown length", path.display()),
            &found,
            &expected,
            false,
        );
    }
}

/// The values that opening, checking and reading all arrays give.
fn briefly(source: &Source) -> Result<String> {
    let file = MeshFile::from_source(source.clone(), &Options::default())?;
    let arrays = file
        .arrays()
        .map(|entry| entry?.read())
        .collect::<Result<Vec<_>>>()?;
    Ok(format!(
        "{:?} {:?} {arrays:?}",
        file.items().collect::<Vec<_>>(),
        file.validate()?
    ))
}

/// One byte a step, of what is asked for first: the job begins again each time.
#[test]
fn fragments_of_one_byte_give_the_same() {
    let mut seen = 0;
    for path in files(&data::root(), "valid") {
        let bytes = fs::read(&path).unwrap();
        if bytes.len() > 1500 {
            continue;
        }
        let expected = briefly(&Source::from_bytes(bytes.clone())).unwrap();
        let found = in_pieces(
            &Fragments::new(Some(bytes.len() as u64)),
            &bytes,
            1,
            briefly,
        );
        assert_eq!(found.unwrap().0, expected, "{}", path.display());
        seen += 1;
    }
    assert!(seen > 30, "{seen} files");
}

/// A block behind the end of an asset is as damaged if the end is found only by reading the block.
#[test]
fn meshes_of_cut_assets_are_listed_without_a_length() {
    let bytes = fixtures::slmesh::large(64);
    let listed = |source: Source| {
        let file = MeshFile::from_source(source, &Options::default()).unwrap();
        file.meshes().map(|meshes| {
            meshes
                .map(|entry| entry.address.to_string())
                .collect::<Vec<_>>()
        })
    };
    let asset =
        meshmap::slmesh::Asset::from_source(Source::from_bytes(bytes.clone()), &Options::default())
            .unwrap();
    let ends: Vec<u64> = asset
        .blocks()
        .unwrap()
        .into_iter()
        .map(|block| block.range.end)
        .collect();
    assert!(
        ends.iter().filter(|end| **end > 4096).count() > 3,
        "{ends:?}"
    );
    for end in ends {
        for cut in [end as usize - 1, end as usize] {
            let cut = bytes[..cut].to_vec();
            let expected = listed(Source::from_bytes(cut.clone())).unwrap();
            assert_eq!(
                listed(Source::ranged(Recorder::of_unknown_length(cut))).unwrap(),
                expected,
                "{end}"
            );
        }
    }
}
