//! Work that grows in proportion to the file: no count in a file multiplies with another.
//!
//! Work is counted: reads, bytes read, steps, and bytes allocated. Only searches, which do none of these, are timed, with so
//! many items that no allowance for the clock is needed.

use std::sync::LazyLock;
use std::time::Duration;

use meshmap::cgeo::{self, Parts, Proxy, SizeMeaning};
use meshmap::{Codec, ErrorKind, Fragments, Options, Source, Strictness};
use meshmap::{MeshFile, iqm, tmf};

use meshmap_testing::allocator::{Counting, counted};
use meshmap_testing::measure::ThreadTime;
use meshmap_testing::{Recorder, fixtures, in_steps, kinds, open};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes that a job allocates on this thread: every list it builds, every buffer it decodes into, every copy.
fn allocated<T>(job: impl FnOnce() -> T) -> u64 {
    u64::try_from(counted(job).1.total).unwrap()
}

/// The bytes that a job reads and allocates. The reader is not cached, so bytes that are read again count again.
fn read_and_allocated<T>(bytes: Vec<u8>, job: impl FnOnce(Source) -> T) -> u64 {
    let reader = Recorder::new(bytes);
    let allocated = allocated(|| job(Source::ranged(reader.clone())));
    let reads = reader.reads();
    allocated + reads.iter().map(|range| range.end - range.start).sum::<u64>()
}

/// The shortest of five runs of a search, which neither reads nor allocates in proportion to what it compares.
fn searching<T>(mut job: impl FnMut() -> T) -> Duration {
    let run = |job: &mut dyn FnMut() -> T| {
        let start = ThreadTime::now();
        job();
        start.elapsed()
    };
    (0..5).map(|_| run(&mut job)).min().unwrap()
}

/// Four times as many items take about four times as long to search; items that multiply take sixteen times as long.
fn assert_searches_are_linear(few: Duration, many: Duration) {
    assert!(many < few * 10, "{few:?}, and for four times as many {many:?}");
}

/// Four times as many items are about four times the work; items that multiply are sixteen times the work.
fn assert_linear(few: u64, many: u64) {
    assert!(few > 0 && many < few * 6, "{few}, and for four times as many {many}");
}

/// A snapshot with this many meshes of no vertices.
fn many_samples(count: usize, dialect: cgeo::Dialect) -> Vec<u8> {
    let mesh = fixtures::cgeo::Mesh::default().complete();
    let sections = vec![(cgeo::raw::TAG_MESH_DATA, mesh); count];
    fixtures::cgeo::file(&[sections], dialect)
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn meshes_of_a_snapshot_are_not_searched_from_its_start() {
    let stored = cgeo::Dialect::default().with_codec(Codec::Stored);
    let inflated = cgeo::Dialect::default().with_codec(Codec::Deflate).with_size(SizeMeaning::Inflated);
    for dialect in [stored, inflated] {
        let validate = |count: usize| {
            let options = Options::default().with_strictness(Strictness::Strict);
            let open = |source| Proxy::from_source(source, &options).unwrap();
            read_and_allocated(many_samples(count, dialect), open)
        };
        assert_linear(validate(60), validate(240));
    }
}

#[test]
fn map_channels_without_coordinates_do_not_multiply_with_snapshots() {
    let base = fixtures::cgeo::Mesh { texcoords: vec![Vec::new(); 4097], ..Default::default() };
    let differences = std::iter::repeat_n(base.difference(&base), 40);
    let contents = std::iter::once(base.complete()).chain(differences);
    let snapshots: Vec<_> = contents.map(|content| vec![(cgeo::raw::TAG_MESH_DATA, content)]).collect();
    let bytes = fixtures::cgeo::file(&snapshots, cgeo::Dialect::default());
    let proxy = open::proxy(bytes);
    assert_eq!(proxy.snapshot(1).unwrap().mesh(Parts::ALL).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

/// A RAW body of one vertex with this many attribute maps.
fn many_maps(count: usize) -> Vec<u8> {
    let mut body = fixtures::openctm::Body::sheet(fixtures::openctm::RAW, 1);
    body.triangles = vec![[0; 3]];
    body.uv_maps = Vec::new();
    body.attribute_maps = vec![("", vec![[0.5; 4]]); count];
    body.to_bytes()
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn attributes_of_a_view_are_not_searched_from_the_first() {
    let read = |count: usize| {
        let mesh = open::body(many_maps(count));
        let view = mesh.view().unwrap();
        searching(|| {
            let found = view.attributes().iter().map(|info| view.attribute(&info.semantic).unwrap().unwrap());
            assert_eq!(found.count(), count + 2);
        })
    };
    assert_searches_are_linear(read(20_000), read(80_000));
}

/// An IQM file without vertices, with this many meshes and this many custom arrays of the same name.
fn many_meshes_and_arrays(count: u32) -> Vec<u8> {
    let mut file = fixtures::iqm::small();
    let text = file.len() as u32;
    file.extend(*b"\0name\0\0");
    let meshes = file.len() as u32;
    (0..count).for_each(|_| [1_u32, 1, 0, 0, 0, 0].iter().for_each(|n| file.extend(n.to_le_bytes())));
    let arrays = file.len() as u32;
    (0..count).for_each(|_| [1_u32, 0, 7, 2, 0].iter().for_each(|n| file.extend(n.to_le_bytes())));
    let size = file.len() as u32;
    let fields = [
        (0x14, size),
        (0x1c, 8),
        (0x20, text),
        (0x24, count),
        (0x28, meshes),
        (0x2c, count),
        (0x30, 0),
        (0x34, arrays),
        (0x38, 0),
        (0x3c, 0),
        (0x40, 0),
        (0x44, 0),
        (0x48, 0),
        (0x4c, 0),
        (0x50, 0),
        (0x54, 0),
        (0x58, 0),
        (0x5c, 0),
        (0x60, 0),
        (0x64, 0),
        (0x68, 0),
    ];
    for (at, value) in fields {
        file[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
    }
    file
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn views_of_many_meshes_list_their_vertex_arrays_once() {
    let view = |count: u32| {
        read_and_allocated(many_meshes_and_arrays(count), |source| {
            let file = MeshFile::from_source(source, &Options::default()).unwrap();
            let views = file.meshes().unwrap().map(|entry| file.mesh(&entry.address).unwrap());
            assert_eq!(
                views.map(|view| view.attributes().len()).sum::<usize>(),
                count as usize * count as usize
            );
        })
    };
    assert_eq!(open::model(many_meshes_and_arrays(3)).meshes().len(), 3);
    assert_linear(view(1000), view(4000));
}

#[test]
#[cfg(feature = "hash")]
fn blocks_that_share_bytes_thousands_of_times_are_not_all_hashed() {
    use fixtures::slmesh::{Llsd, Writer};
    static NAMES: LazyLock<Vec<String>> =
        LazyLock::new(|| (0..4000).map(|number| format!("block {number}")).collect());
    let mut writer = Writer::default().stored("high_lod", &vec![7; 256 << 10]);
    for name in NAMES.iter() {
        let fields = [("offset", 0), ("size", 256 << 10)].map(|(name, value)| (name, Llsd::Integer(value)));
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
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn fragments_are_not_joined_again_with_each_piece() {
    const PIECE: u64 = 4 << 10;
    let read = |pieces: u64| {
        allocated(|| {
            let fragments = Fragments::new(Some(pieces * PIECE));
            for piece in 0..pieces {
                fragments.supply(piece * PIECE, vec![piece as u8; PIECE as usize]).unwrap();
                // A structure that lies on both sides of a seam.
                let seam = (piece * PIECE).saturating_sub(8)..piece * PIECE + 8;
                assert_eq!(*fragments.source().read(seam).unwrap().last().unwrap(), piece as u8);
            }
        })
    };
    assert_linear(read(200), read(800));
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn fragments_that_overlap_cost_what_they_add() {
    let read = |pieces: u64| {
        allocated(|| {
            let fragments = Fragments::new(Some(pieces * 2 + 64));
            (0..pieces).rev().for_each(|piece| fragments.supply(piece * 2, vec![7; 64]).unwrap());
            let all = fragments.source().read(0..pieces * 2 + 62).unwrap();
            assert!(all.iter().all(|byte| *byte == 7));
        })
    };
    assert_linear(read(20_000), read(80_000));
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn custom_data_of_a_mesh_is_not_compared_with_all_before() {
    let view = |count: usize| {
        let mut writer = fixtures::tmf::Writer::b().mesh("m");
        writer = writer.vertices([0., 1., 0., 1., 0., 1.], [1; 3], &[[0; 3]]);
        for number in 0..count {
            writer = writer.custom(24, &number.to_string(), 1, 0, &[0]);
        }
        let document = open::document(writer.to_bytes());
        searching(|| assert_eq!(document.mesh(0).unwrap().view().unwrap().attributes().len(), count + 1))
    };
    assert_searches_are_linear(view(10_000), view(40_000));
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn playing_one_snapshot_again_and_again_does_not_walk_its_sections_each_time() {
    let play = |count: usize| {
        let mesh = fixtures::cgeo::Mesh::sheet(2, 0, 0.0);
        let mut snapshot = vec![(0x7777, Vec::new()); count.min(250)];
        snapshot.push((cgeo::raw::TAG_MESH_DATA, mesh.complete()));
        let dialect = cgeo::Dialect::default();
        let mut file = fixtures::cgeo::header(count, dialect);
        let start = (file.len() + count * 8 + 4) as u64;
        let offset = if dialect.offset == cgeo::OffsetTarget::StartTag { start } else { start + 4 };
        (0..count).for_each(|_| file.extend(offset.to_le_bytes()));
        file.extend(cgeo::raw::TAG_ANIM_TABLE_END.to_le_bytes());
        file.extend(fixtures::cgeo::snapshot_bytes(&snapshot, dialect));
        let proxy = open::proxy(file);
        searching(|| {
            let mut played = 0;
            proxy.play(0..count).capacity(1 << 20).for_each(|_, mesh| {
                played += mesh.unwrap().triangles.len();
                std::ops::ControlFlow::Continue(())
            });
            assert_eq!(played, 2 * count);
        })
    };
    assert_searches_are_linear(play(1000), play(4000));
}

/// The result of a job over fragments of a file, and the number of steps.
fn in_fragments<T>(file: &[u8], job: impl Fn(&Source) -> meshmap::Result<T>) -> (T, usize) {
    in_steps(&Fragments::new(Some(file.len() as u64)), file, job).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
fn checking_fragments_of_many_snapshots_takes_few_steps() {
    let (_, snapshots) = fixtures::cgeo::animation(2, 500);
    let file = fixtures::cgeo::file(&snapshots, cgeo::Dialect::default());
    let (findings, steps) = in_fragments(&file, |source| {
        cgeo::Proxy::from_source(source.clone(), &Options::default())?.validate()
    });
    assert!(findings.iter().all(|finding| finding.severity() < meshmap::Severity::Unusable), "{findings:?}");
    assert!(steps < 16, "{steps}");
}

#[test]
#[cfg_attr(miri, ignore = "takes Miri minutes")]
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
    let (model, steps) =
        in_fragments(&file, |source| iqm::Model::from_source(source.clone(), &Options::default()));
    assert_eq!(model.meshes().next().unwrap().name.as_bytes().len(), 64 << 16);
    assert!(steps < 20, "{steps}");
}

#[test]
fn arrays_of_many_segments_are_neither_a_step_nor_a_read_each() {
    // Longer than what is kept of opening.
    const COUNT: usize = 60_000;
    let file = build("shared segments", COUNT);
    let read = |source: &Source| {
        let mesh = tmf::Document::from_source(source.clone(), &Options::default())?.mesh(0).unwrap();
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
    let kind = kinds::all().into_iter().find(|one| one.name == kind).unwrap();
    (kind.build)(count)
}
