//! Damaged files: every length and every changed byte of small ones. Nothing panics, and errors say where.

use meshmap::{ErrorKind, Finding, Fragments, MeshFile, Options, Severity, Source, iqm};
use meshmap_testing::{Recorder, data, exercise, fixtures, in_steps, open};

/// A file that was cut is refused by name: for its signature, as long as that is `signature` bytes, and then for what it
/// lacks, with a range that begins in what there is.
fn assert_truncated(cut: &[u8], signature: usize) {
    let len = cut.len();
    let error = MeshFile::from_source(Source::from_bytes(cut.to_vec()), &Options::default());
    let error = error.expect_err("a file that lacks bytes was read");
    let expected = if len < signature {
        ErrorKind::UnknownFormat
    } else {
        ErrorKind::Truncated
    };
    assert_eq!(error.kind(), expected, "{len} bytes: {error}");
    assert!(
        error
            .byte_range()
            .is_some_and(|range| range.start <= len as u64),
        "{len} bytes: {error}"
    );
}

/// Changes each byte of a file in turn, by one of three masks in turn, and exercises it; returns the number that opened.
fn changed_bytes(number: usize, file: &[u8], exercise: fn(&[u8]) -> bool) -> usize {
    let masks = [0x01, 0x80, 0xff];
    let mut opened = 0;
    for place in 0..file.len() {
        let mut damaged = file.to_vec();
        damaged[place] ^= masks[(place + number) % masks.len()];
        opened += usize::from(exercise(&damaged));
    }
    opened
}

/// Small IQM files that have every section, of both versions, with extensions, and without a mesh.
fn small_models() -> Vec<Vec<u8>> {
    let names = [
        "skin_scale_nonuniform",
        "ours_v1_full_a",
        "ours_extensions_a",
        "frames_odd",
        "ext_fte_skins",
    ];
    names
        .map(|name| std::fs::read(data::valid("iqm", &format!("{name}.iqm"))).unwrap())
        .to_vec()
}

/// A tiny CGeo file of each dialect: a complete snapshot and a difference.
fn small_proxies() -> Vec<Vec<u8>> {
    let (_, snapshots) = fixtures::cgeo::animation(3, 2);
    fixtures::cgeo::dialects()
        .into_iter()
        .map(|dialect| fixtures::cgeo::file(&snapshots, dialect))
        .collect()
}

#[test]
fn every_truncation_of_a_proxy_is_an_error() {
    for file in small_proxies() {
        for len in 0..file.len() {
            let read = MeshFile::from_source(
                Source::from_bytes(file[..len].to_vec()),
                &Options::default(),
            );
            let findings = read.and_then(|file| file.validate());
            let is_whole = findings.is_ok_and(|findings| {
                findings
                    .iter()
                    .all(|finding| finding.severity() < Severity::Unusable)
            });
            assert!(!is_whole, "{len} of {} bytes", file.len());
        }
    }
}

#[test]
fn every_changed_byte_of_a_proxy_panics_nowhere() {
    for (number, file) in small_proxies().into_iter().enumerate() {
        let opened = changed_bytes(number, &file, exercise::cgeo::bytes);
        assert!(opened > file.len() / 4, "{opened} of {} open", file.len());
    }
}

#[test]
fn every_truncation_of_a_model_is_an_error() {
    for file in small_models() {
        for len in 0..file.len() {
            assert_truncated(&file[..len], 15);
        }
    }
}

#[test]
fn every_truncation_of_a_model_of_unknown_length_panics_nowhere() {
    for file in small_models() {
        for len in 0..file.len() {
            let reader = Recorder::of_unknown_length(file[..len].to_vec());
            if let Ok(model) = iqm::Model::from_source(Source::ranged(reader), &Options::default())
            {
                let _ = (model.triangles(), model.validate(), model.frames().read());
            }
        }
    }
}

#[test]
fn every_changed_byte_of_a_model_panics_nowhere() {
    for (number, file) in small_models().into_iter().enumerate() {
        let opened = changed_bytes(number, &file, exercise::iqm::bytes);
        // Most bytes are coordinates; a reader that refuses those would pass this test otherwise.
        assert!(opened > file.len() / 3, "{opened} of {} open", file.len());
    }
}

/// Numbers that overflow when they are added or multiplied, in each field of the header.
#[test]
fn every_extreme_number_in_the_header_of_a_model_panics_nowhere() {
    for file in small_models() {
        for field in (16..124).step_by(4) {
            for value in [
                0,
                1,
                2,
                0x7fff_ffff,
                0x8000_0000,
                0xffff_fff0,
                0xffff_ffff,
                0x2000_0001_u32,
            ] {
                let mut damaged = file.clone();
                damaged[field..field + 4].copy_from_slice(&value.to_le_bytes());
                exercise::iqm::bytes(&damaged);
            }
        }
    }
}

#[test]
fn fragments_of_a_truncated_file_end_in_an_error() {
    let file = fixtures::iqm::small();
    for len in [0, 10, 123, 124, 1000, file.len() - 1] {
        let fragments = Fragments::new(Some(len as u64));
        let open = |source: &Source| MeshFile::from_source(source.clone(), &Options::default());
        let error = in_steps(&fragments, &file, open)
            .err()
            .unwrap_or_else(|| panic!("{len} bytes were read"));
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Truncated | ErrorKind::UnknownFormat
            ),
            "{error}"
        );
    }
}

/// A body of each method with everything that it can have, and files of the reference encoder.
fn small_bodies() -> Vec<Vec<u8>> {
    use meshmap_testing::fixtures::openctm::{Body, MG1, MG2, RAW};
    let mut files: Vec<_> = [RAW, MG1, MG2]
        .map(|method| Body::sheet(method, 3).to_bytes())
        .into();
    for name in ["tri1_MG1_all", "degen_MG2_pu", "tri1_MG2_pn"] {
        files.push(std::fs::read(data::valid("openctm", &format!("{name}.ctm"))).unwrap());
    }
    files
}

#[test]
fn every_truncation_of_a_body_is_an_error() {
    for file in small_bodies() {
        for len in 0..file.len() {
            assert_truncated(&file[..len], 4);
            let reader = Recorder::of_unknown_length(file[..len].to_vec());
            assert!(
                MeshFile::from_source(Source::ranged(reader), &Options::default()).is_err(),
                "{len} bytes"
            );
        }
    }
}

#[test]
fn every_changed_byte_of_a_body_panics_nowhere() {
    for (number, file) in small_bodies().into_iter().enumerate() {
        let opened = changed_bytes(number, &file, exercise::openctm::bytes);
        assert!(opened > file.len() / 3, "{opened} of {} open", file.len());
    }
}

/// TMF files of both layouts, with everything that each has.
fn small_documents() -> Vec<Vec<u8>> {
    let mut files = vec![
        fixtures::tmf::everything(false),
        fixtures::tmf::everything(true),
    ];
    for name in [
        "v011_cube",
        "v021_unified_cube",
        "v021_tiny_edge_1e-12",
        "hand_v1_omitted_normal_tri_a",
    ] {
        files.push(std::fs::read(data::valid("tmf", &format!("{name}.tmf"))).unwrap());
    }
    files
}

#[test]
fn every_truncation_of_a_document_is_an_error() {
    for file in small_documents() {
        for len in 0..file.len() {
            assert_truncated(&file[..len], 3);
            let reader = Recorder::of_unknown_length(file[..len].to_vec());
            if let Ok(file) = MeshFile::from_source(Source::ranged(reader), &Options::default()) {
                let _ = (
                    file.items().count(),
                    file.validate(),
                    file.meshes()
                        .map(|mut meshes| meshes.next().map(|entry| file.mesh(&entry.address))),
                );
            }
        }
    }
}

#[test]
fn every_changed_byte_of_a_document_panics_nowhere() {
    for (number, file) in small_documents().into_iter().enumerate() {
        let opened = changed_bytes(number, &file, exercise::tmf::bytes);
        assert!(opened > file.len() / 6, "{opened} of {} open", file.len());
    }
}

/// Small mesh assets: one with every block, and one whose blocks lie in front of each other in any order.
fn small_assets() -> Vec<Vec<u8>> {
    let mut files = vec![fixtures::slmesh::everything()];
    for name in [
        "gen_01_triangle",
        "ours_quoted_a",
        "odd_w07_zero_influences",
        "odd_z01_gzip_block",
    ] {
        files.push(std::fs::read(data::valid("slmesh", &format!("{name}.slmesh"))).unwrap());
    }
    files
}

#[test]
fn every_truncation_of_an_asset_is_an_error() {
    for file in small_assets() {
        let whole = open::file(file.clone());
        // Bytes behind the last block mean nothing.
        let MeshFile::SlMesh(asset) = &whole else {
            panic!("another format")
        };
        let ends = asset.entries().filter(|entry| entry.name() != "some_block");
        let end = ends
            .filter_map(|entry| entry.range().unwrap())
            .map(|range| range.end)
            .max()
            .unwrap() as usize;
        for len in 0..end {
            let file = Source::from_bytes(file[..len].to_vec());
            let error = match MeshFile::from_source(file, &Options::default())
                .and_then(|file| file.validate())
            {
                Ok(findings) => {
                    // Whole parts are checked anyway.
                    let is_cut = |finding: &&Finding| finding.rule.id == "block";
                    let cut = findings
                        .iter()
                        .find(is_cut)
                        .expect("a file that lacks bytes was read");
                    assert!(
                        cut.detail.contains("cut off"),
                        "{len} bytes: {}",
                        cut.detail
                    );
                    continue;
                }
                Err(error) => error,
            };
            let expected = if len < 6 {
                ErrorKind::UnknownFormat
            } else {
                ErrorKind::Truncated
            };
            assert_eq!(error.kind(), expected, "{len} bytes: {error}");
            assert!(
                error.byte_range().is_some_and(
                    |range| range.start <= len as u64 || expected == ErrorKind::Truncated
                ),
                "{len} bytes: {error}"
            );
        }
        for len in (0..file.len()).step_by(7) {
            let reader = Recorder::of_unknown_length(file[..len].to_vec());
            if let Ok(file) = MeshFile::from_source(Source::ranged(reader), &Options::default()) {
                let _ = (
                    file.items().count(),
                    file.validate(),
                    file.meshes().map(Iterator::count),
                );
            }
        }
    }
}

#[test]
fn every_changed_byte_of_an_asset_panics_nowhere() {
    for (number, file) in small_assets().into_iter().enumerate() {
        let opened = changed_bytes(number, &file, exercise::slmesh::bytes);
        // A block that is damaged does not keep the file from opening.
        assert!(opened > file.len() / 6, "{opened} of {} open", file.len());
    }
}

/// The content of a block, damaged before it is compressed: what inflates is wrong.
#[test]
fn every_changed_byte_of_a_block_panics_nowhere() {
    use meshmap_testing::fixtures::slmesh::{Llsd, Writer, hulls, sheet, skin};
    let lod = Llsd::Array(vec![sheet(2, 3)]).to_bytes();
    for (name, content) in [
        ("high_lod", lod),
        ("skin", skin(2).to_bytes()),
        ("physics_convex", hulls(&[2, 1]).to_bytes()),
    ] {
        for place in 0..content.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = content.clone();
                damaged[place] ^= change;
                let file = Writer::default()
                    .block(name, &Llsd::Raw(damaged))
                    .to_bytes();
                assert!(exercise::slmesh::bytes(&file), "the header is good");
            }
        }
    }
}
