//! Work that grows in proportion to the file: no count in a file multiplies with another.
//!
//! Work is counted: reads, steps, and bytes allocated. The example `doubling` of the command measures the time of every call.

use std::sync::LazyLock;

use meshmap::cgeo::{self, Parts};
use meshmap::{ErrorKind, Fragments, Options, Source};
use meshmap::{iqm, tmf};

use meshmap_testing::allocator::{Counting, counted};
use meshmap_testing::{Recorder, fixtures, in_steps, kinds, open};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes that a job allocates on this thread: every list it builds, every buffer it decodes into, every copy.
fn allocated<T>(job: impl FnOnce() -> T) -> u64 {
    u64::try_from(counted(job).1.total).unwrap()
}

/// Four times as many items are about four times the work; items that multiply are sixteen times the work.
fn assert_linear(few: u64, many: u64) {
    assert!(
        few > 0 && many < few * 6,
        "{few}, and for four times as many {many}"
    );
}

#[test]
fn map_channels_without_coordinates_do_not_multiply_with_snapshots() {
    let base = fixtures::cgeo::Mesh {
        texcoords: vec![Vec::new(); 4097],
        ..Default::default()
    };
    let differences = std::iter::repeat_n(base.difference(&base), 40);
    let contents = std::iter::once(base.complete()).chain(differences);
    let snapshots: Vec<_> = contents
        .map(|content| vec![(cgeo::raw::TAG_MESH_DATA, content)])
        .collect();
    let bytes = fixtures::cgeo::file(&snapshots, cgeo::Dialect::default());
    let proxy = open::proxy(bytes);
    assert_eq!(
        proxy
            .snapshot(1)
            .unwrap()
            .mesh(Parts::ALL)
            .unwrap_err()
            .kind(),
        ErrorKind::LimitExceeded
    );
}

#[test]
fn views_of_snapshots_do_not_copy_the_name_of_the_object() {
    let views = |bytes_of_name: usize| {
        let proxy = open::proxy(fixtures::cgeo::long_names(
            bytes_of_name,
            bytes_of_name / 16,
        ));
        allocated(|| {
            for index in 0..proxy.snapshot_count() {
                proxy.snapshot(index).unwrap().view().unwrap();
            }
        })
    };
    assert_linear(views(4_000), views(16_000));
}

#[test]
fn properties_of_a_long_header_are_found_once() {
    let proxy = open::proxy(fixtures::cgeo::long_names(500_000, 1));
    let begin = std::time::Instant::now();
    for _ in 0..200_000 {
        assert!(
            proxy.timing().is_some()
                && proxy.object_name().is_some()
                && proxy.unit_length().is_some()
        );
    }
    // Searching a megabyte each time takes a minute.
    assert!(
        begin.elapsed() < std::time::Duration::from_secs(10),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
#[cfg(feature = "hash")]
fn blocks_that_share_bytes_thousands_of_times_are_not_all_hashed() {
    use fixtures::slmesh::{Llsd, Writer};
    static NAMES: LazyLock<Vec<String>> =
        LazyLock::new(|| (0..4000).map(|number| format!("block {number}")).collect());
    let mut writer = Writer::default().stored("high_lod", &vec![7; 256 << 10]);
    for name in NAMES.iter() {
        let fields =
            [("offset", 0), ("size", 256 << 10)].map(|(name, value)| (name, Llsd::Integer(value)));
        let hash = ("hash", Llsd::Binary(vec![0; 16]));
        let entry = Llsd::Map(fields.into_iter().chain([hash]).collect());
        writer = writer.key(name, entry);
    }
    let asset = open::asset(writer.to_bytes());
    let findings = asset.check_hashes().unwrap();
    let names: Vec<_> = findings.iter().map(|finding| finding.rule.name).collect();
    assert_eq!(names, ["hash", "blocks that overlap"]);
}

#[test]
fn fragments_are_not_joined_again_with_each_piece() {
    const PIECE: u64 = 4 << 10;
    let read = |pieces: u64| {
        allocated(|| {
            let fragments = Fragments::new(Some(pieces * PIECE));
            for piece in 0..pieces {
                fragments
                    .supply(piece * PIECE, vec![piece as u8; PIECE as usize])
                    .unwrap();
                // A structure that lies on both sides of a seam.
                let seam = (piece * PIECE).saturating_sub(8)..piece * PIECE + 8;
                assert_eq!(
                    *fragments.source().read(seam).unwrap().last().unwrap(),
                    piece as u8
                );
            }
        })
    };
    assert_linear(read(200), read(800));
}

#[test]
fn fragments_that_overlap_cost_what_they_add() {
    let read = |pieces: u64| {
        allocated(|| {
            let fragments = Fragments::new(Some(pieces * 2 + 64));
            (0..pieces)
                .rev()
                .for_each(|piece| fragments.supply(piece * 2, vec![7; 64]).unwrap());
            let all = fragments.source().read(0..pieces * 2 + 62).unwrap();
            assert!(all.iter().all(|byte| *byte == 7));
        })
    };
    assert_linear(read(20_000), read(80_000));
}

/// The result of a job over fragments of a file, and the number of steps.
fn in_fragments<T>(file: &[u8], job: impl Fn(&Source) -> meshmap::Result<T>) -> (T, usize) {
    in_steps(&Fragments::new(Some(file.len() as u64)), file, job).unwrap()
}

#[test]
fn checking_fragments_of_many_snapshots_takes_few_steps() {
    let (_, snapshots) = fixtures::cgeo::animation(2, 500);
    let file = fixtures::cgeo::file(&snapshots, cgeo::Dialect::default());
    let (findings, steps) = in_fragments(&file, |source| {
        cgeo::Proxy::from_source(source.clone(), &Options::default())?.validate()
    });
    assert!(
        findings
            .iter()
            .all(|finding| finding.severity() < meshmap::Severity::Unusable),
        "{findings:?}"
    );
    assert!(steps < 16, "{steps}");
}

#[test]
fn names_in_a_long_text_are_neither_a_step_nor_a_read_each() {
    const COUNT: usize = 200_000;
    let file = build("custom vertex arrays of different names", COUNT);
    let open = |source: &Source| iqm::Model::from_source(source.clone(), &Options::default());
    let (model, steps) = in_fragments(&file, open);
    assert_eq!(model.vertex_arrays().len(), COUNT);
    assert!(steps < 8, "{steps}");

    let reader = Recorder::new(file);
    let again = open(&Source::ranged(reader.clone())).unwrap();
    assert_eq!(again.vertex_arrays().len(), COUNT);
    let reads = reader.reads().len();
    assert!(reads < 2000, "{reads}");
}

#[test]
fn a_long_name_takes_few_steps() {
    let file = build("a name that fills the file", 1 << 16);
    let (model, steps) = in_fragments(&file, |source| {
        iqm::Model::from_source(source.clone(), &Options::default())
    });
    assert_eq!(
        model.meshes().next().unwrap().name.as_bytes().len(),
        64 << 16
    );
    assert!(steps < 20, "{steps}");
}

#[test]
fn arrays_of_many_segments_are_neither_a_step_nor_a_read_each() {
    // Longer than what is kept of opening.
    const COUNT: usize = 60_000;
    let file = build("shared segments", COUNT);
    let read = |source: &Source| {
        let mesh = tmf::Document::from_source(source.clone(), &Options::default())?
            .mesh(0)
            .unwrap();
        mesh.position_indices().unwrap().read()
    };
    let (indices, steps) = in_fragments(&file, read);
    assert_eq!(indices.len(), 3 * COUNT + 3);
    assert!(steps < 20, "{steps}");

    let reader = Recorder::new(file);
    assert_eq!(read(&Source::ranged(reader.clone())).unwrap(), indices);
    let reads = reader.reads().len();
    assert!(reads < 20, "{reads}");

    let reader = Recorder::new(build("custom segments of different names", COUNT));
    let document = open::document(reader.clone());
    assert_eq!(document.mesh(0).unwrap().custom().unwrap().len(), COUNT);
    let reads = reader.reads().len();
    assert!(reads < 20, "{reads}");
}

/// A file of a kind of tiny items.
fn build(kind: &str, count: usize) -> Vec<u8> {
    let kind = kinds::all()
        .into_iter()
        .find(|one| one.name == kind)
        .unwrap();
    (kind.build)(count)
}
