//! Memory that is taken and bytes that are read: never as many as a file declares.

use std::fs;
use std::ops::Range;
use std::path::Path;

use meshmap::cgeo::{Parts, Proxy, Snapshot};
use meshmap::iqm::Model;
use meshmap::openctm::Container;
use meshmap::tmf::Document;
use meshmap::{ErrorKind, Fragments, Limits, MeshFile, Options, Result, Scratch, Semantic, Source};
use meshmap_testing::allocator::{Counting, counted};
use meshmap_testing::{Recorder, data, fixtures, in_steps, open, test_files};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const KIB: i64 = 1 << 10;
const MIB: i64 = 1 << 20;

#[cfg(feature = "mmap")]
#[test]
fn views_of_a_map_take_next_to_no_memory() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), large_mesh()).unwrap();
    assert_views_of_a_map_are_small(file.path());
}

#[cfg(feature = "mmap")]
#[test]
#[ignore = "corpus"]
fn corpus_views_of_a_map_take_next_to_no_memory() {
    assert_views_of_a_map_are_small(&data::corpus().join("iqm/large/large_mesh.iqm"));
}

#[cfg(feature = "mmap")]
fn assert_views_of_a_map_are_small(path: &Path) {
    #[allow(unsafe_code, reason = "the file does not change while tests run")]
    let (result, count) = counted(|| -> meshmap::Result<_> {
        // SAFETY: as above.
        let model = Model::from_source(unsafe { Source::map(path) }?, &Options::default())?;
        Ok((model.positions()?, model.normals()?, model.triangles()?))
    });
    let (positions, normals, triangles) = result.unwrap();
    assert!(positions.is_some() && normals.is_some() && !triangles.is_empty());
    assert!(count.total < 16 * KIB, "{count:?}");
}

/// A model of 200,000 vertices: 8 MB.
fn large_mesh() -> Vec<u8> {
    fixtures::iqm::Writer::sheets(4, 500, 100).to_bytes()
}

#[test]
fn opening_and_listing_reads_little() {
    assert_opening_reads_little(large_mesh());
}

#[test]
#[ignore = "corpus"]
fn corpus_opening_and_listing_reads_little() {
    assert_opening_reads_little(fs::read(data::corpus().join("iqm/large/large_mesh.iqm")).unwrap());
}

fn assert_opening_reads_little(bytes: Vec<u8>) {
    let recorder = Recorder::new(bytes);
    let file = open::file(recorder.clone());
    assert!(file.items().count() > 5 && file.meshes().unwrap().len() > 0);
    let reads = recorder.reads();
    let bytes: u64 = reads.iter().map(|range| range.end - range.start).sum();
    assert!(reads.len() <= 3 && bytes <= 128 << 10, "{reads:?}");
}

/// The view of a mesh whose vertices are the file's, and of one that is remapped and does not use all of them.
#[test]
fn bounds_of_tmf_hold_a_piece_of_the_positions() {
    const SIDE: u64 = 400;
    let remapped = fixtures::tmf::Writer::b()
        .mesh("two")
        .vertices(
            [0., 9., 0., 9., 0., 9.],
            [4, 4, 4],
            &[[15, 15, 15], [1, 2, 3], [4, 5, 6], [7, 0, 8]],
        )
        .uvs(2, &[[0, 1], [2, 3]])
        .indices(2, 2, 0, &[1, 2, 3, 3, 2, 1])
        .indices(6, 1, 0, &[0, 1, 0, 1, 1, 0]);
    for (bytes, vertices) in [
        (fixtures::tmf::grid(SIDE), SIDE * SIDE),
        (remapped.to_bytes(), 0),
    ] {
        let document = open::document(bytes.clone());
        let view = document.mesh(0).unwrap().view().unwrap();
        let positions = view.attribute(&Semantic::Position).unwrap().unwrap();
        let (bounds, count) = counted(|| view.bounds().unwrap());
        assert_eq!(bounds, positions.bounds());
        assert!(bounds.is_some());
        let all = i64::try_from(vertices * 12).unwrap();
        assert!(
            count.peak < MIB && (all == 0 || count.peak < all),
            "{count:?} for {all}"
        );
        // Few requests, however many pieces.
        let recorder = Recorder::new(bytes);
        let document = open::document(recorder.clone());
        let view = document.mesh(0).unwrap().view().unwrap();
        recorder.take();
        assert_eq!(view.bounds().unwrap(), bounds);
        assert!(recorder.reads().len() <= 2, "{:?}", recorder.reads);
    }
}

/// The reads of a job.
fn reads_of(bytes: &[u8], job: impl FnOnce(Source)) -> Vec<Range<u64>> {
    let recorder = Recorder::new(bytes.to_vec());
    job(Source::ranged(recorder.clone()));
    recorder.take()
}

/// Compared with opening a file whose format is known. For IQM, the header is in what is read first, and nothing is read again.
#[test]
fn finding_the_format_costs_one_small_read_at_most() {
    let open = |source| drop(MeshFile::from_source(source, &Options::default()).unwrap());
    let animation = fixtures::iqm::long_animation();
    let known = reads_of(&animation, |source| {
        drop(Model::from_source(source, &Options::default()).unwrap())
    });
    let found = reads_of(&animation, open);
    assert!(
        found[0] == (0..4096) && found.len() <= known.len(),
        "{found:?}, {known:?}"
    );

    let body = fixtures::openctm::Body::sheet(fixtures::openctm::RAW, 200).to_bytes();
    let known = reads_of(&body, |source| {
        drop(Container::from_source(source, &Options::default()).unwrap())
    });
    assert_eq!(reads_of(&body, open), [&[0..4096], &known[..]].concat());

    let grid = fixtures::tmf::grid(200);
    let known = reads_of(&grid, |source| {
        drop(Document::from_source(source, &Options::default()).unwrap())
    });
    assert_eq!(reads_of(&grid, open), [&[0..4096], &known[..]].concat());
}

#[test]
fn opening_lazily_holds_little() {
    let temporary = tempfile::NamedTempFile::new().unwrap();
    fs::write(temporary.path(), large_mesh()).unwrap();
    let (file, count) = counted(|| MeshFile::open(temporary.path()).unwrap());
    assert!(count.peak < 160 * KIB, "{count:?}");
    drop(file);
}

#[test]
fn one_pose_or_frame_of_a_lazy_file_costs_its_bytes() {
    let recorder = Recorder::new(fixtures::iqm::long_animation());
    let model = open::model(recorder.clone());
    let frames = model.frames();
    let section = MeshFile::Iqm(model.clone())
        .items()
        .find(|item| item.address.to_string() == "frames")
        .unwrap()
        .range;
    let stride = (section.end - section.start) / u64::from(frames.len());
    recorder.take();

    let mut pose = vec![Default::default(); frames.pose_count()];
    frames.read_frame_into(9_000, &mut pose).unwrap();
    let start = section.start + 9_000 * stride;
    assert_eq!(recorder.reads(), [start..start + stride]);

    recorder.take();
    assert_eq!(frames.pose(9_000, 2).unwrap(), pose[2]);
    let reads = recorder.reads();
    assert!(
        reads.len() == 1 && reads[0].end - reads[0].start <= 20,
        "{reads:?}"
    );
}

/// Opens and, where that succeeds, takes everything there is, keeping nothing.
fn read_all(source: Source) -> meshmap::Result<()> {
    let model = Model::from_source(source, &Options::default())?;
    model.validate()?;
    model.positions()?;
    model.triangles()?;
    model.adjacency()?;
    model.bounds()?;
    Ok(())
}

fn assert_modest(name: &str, bytes: &[u8]) {
    let most = bytes.len() as i64 + MIB;
    let shared = bytes::Bytes::copy_from_slice(bytes);
    let (_, count) = counted(|| read_all(Source::from_bytes(shared)));
    assert!(count.peak < most, "{name} in memory: {count:?}");
    let recorder = Recorder::new(bytes.to_vec());
    let (_, count) = counted(|| read_all(Source::ranged(recorder)));
    assert!(count.peak < most, "{name} by ranges: {count:?}");
}

test_files!(bad_files_take_no_more_than_their_size);

fn bad_files_take_no_more_than_their_size(root: &Path) {
    for path in data::files(&root.join("iqm/bad")) {
        assert_modest(&path.display().to_string(), &fs::read(&path).unwrap());
    }
}

/// Valid files as well: nothing is copied to be checked.
fn assert_checking_takes_no_more_than_the_files(folder: &Path) {
    for path in data::files(folder) {
        assert_modest(&path.display().to_string(), &fs::read(&path).unwrap());
    }
}

#[test]
fn checking_every_value_takes_no_more_than_the_size_of_the_file() {
    assert_checking_takes_no_more_than_the_files(&data::root().join("iqm/valid"));
}

#[test]
#[ignore = "corpus"]
fn corpus_checking_every_value_of_large_files_takes_no_more_than_their_size() {
    assert_checking_takes_no_more_than_the_files(&data::corpus().join("iqm/large"));
}

/// Every count and offset of the header, as large as they go.
#[test]
fn count_bombs_take_no_more_than_their_size() {
    let file = fixtures::iqm::small();
    for field in (20..124).step_by(4) {
        for value in [
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x0fff_ffff,
            0x0010_0000_u32,
        ] {
            let mut bomb = file.clone();
            bomb[field..field + 4].copy_from_slice(&value.to_le_bytes());
            assert_modest(&format!("{value:#x} at {field:#x}"), &bomb);
        }
    }
}

/// A list of `count` extensions `stride` bytes apart, which leads back and forth through the whole file.
fn zigzag(count: usize, stride: usize) -> Vec<u8> {
    const FIRST: usize = 128;
    let mut file = b"INTERQUAKEMODEL\0".to_vec();
    file.resize(FIRST + count * stride, 0);
    let at = |node: usize| (FIRST + node * stride) as u32;
    for node in 0..count {
        let next = match node {
            node if node == count / 2 => 0,
            node if node < count / 2 => at(count - 1 - node),
            node => at(count - node),
        };
        set(&mut file, FIRST + node * stride + 12, next);
    }
    let len = file.len() as u32;
    let fields = [
        (0x10, 2),
        (0x14, len),
        (0x1c, 1),
        (0x20, 124),
        (0x74, count as u32),
        (0x78, at(0)),
    ];
    fields
        .iter()
        .for_each(|(field, value)| set(&mut file, *field, *value));
    file
}

#[test]
fn extensions_all_over_a_lazy_file_take_a_read_each() {
    let file = zigzag(64, 4 << 10);
    let recorder = Recorder::new(file.clone());
    let model = open::model(recorder.clone());
    assert_eq!(model.extensions().len(), 64);
    let reads = recorder.reads();
    let bytes: u64 = reads.iter().map(|range| range.end - range.start).sum();
    assert!(
        reads.len() <= 65 && bytes < 2 * file.len() as u64,
        "{reads:?}"
    );
    assert_modest("64 extensions", &file);
}

#[test]
fn more_than_64_extensions_exceed_a_cap_that_the_error_names() {
    let error =
        Model::from_source(Source::from_bytes(zigzag(65, 16)), &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "iqm: iqmheader.num_extensions (0x74..0x78) needs 65, above the limit of 64"
    );
}

/// The length of the third snapshot is estimated from the second one, and the last one has no mesh.
#[test]
fn hundreds_of_sections_in_a_snapshot_take_few_reads() {
    const UNKNOWN: u32 = 0x1234_5678;
    const MOST: usize = 60;
    let jobs: [fn(&Snapshot) -> Result<usize>; 4] = [
        |snapshot| Ok(snapshot.positions()?.len()),
        |snapshot| Ok(snapshot.counts(&mut Scratch::default())?.triangles as usize),
        |snapshot| {
            Ok(usize::from(
                snapshot.bounding_box(&mut Scratch::default())?.is_some(),
            ))
        },
        |snapshot| Ok(snapshot.sections()?.len()),
    ];
    for dialect in fixtures::cgeo::dialects() {
        let (_, mut snapshots) = fixtures::cgeo::animation(20, 4);
        for sections in &mut snapshots[2..] {
            sections.splice(..0, std::iter::repeat_n((UNKNOWN, Vec::new()), 250));
        }
        snapshots[3].pop();
        let file = fixtures::cgeo::file(&snapshots, dialect);
        for job in jobs {
            let recorder = Recorder::new(file.clone());
            let proxy = open::proxy(recorder.clone());
            let fragments = Fragments::new(Some(file.len() as u64));
            let (stepped, _) = in_steps(&fragments, &file, |source| {
                Proxy::from_source(source.clone(), &Options::default())
            })
            .unwrap();
            for index in 0..snapshots.len() {
                recorder.take();
                let found = job(&proxy.snapshot(index).unwrap()).map_err(|error| error.to_string());
                let reads = recorder.reads().len();
                let snapshot = stepped.snapshot(index).unwrap();
                let steps = in_steps(&fragments, &file, |_| job(&snapshot))
                    .map_err(|error| error.to_string());
                let count = steps.as_ref().map_or(0, |(_, count)| *count);
                assert!(
                    reads <= MOST && count <= MOST,
                    "{dialect}, {index}: {reads} reads, {count} steps"
                );
                assert_eq!(found, steps.map(|(value, _)| value), "{dialect}, {index}");
            }
        }
    }
}

#[test]
fn more_than_256_sections_in_a_snapshot_exceed_a_cap_that_the_error_names() {
    let (_, mut snapshots) = fixtures::cgeo::animation(20, 2);
    snapshots[1].splice(..0, std::iter::repeat_n((0x1234_5678, Vec::new()), 256));
    let proxy = Proxy::from_source(
        Source::from_bytes(fixtures::cgeo::file(
            &snapshots,
            meshmap::cgeo::Dialect::default(),
        )),
        &Options::default(),
    );
    let error = proxy.unwrap().snapshot(1).unwrap().positions().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(
        error.to_string().contains("exceeds the limit of 256"),
        "{error}"
    );
}

#[test]
fn lists_of_a_million_extensions_are_refused_for_no_more_than_their_size() {
    let file = zigzag(1 << 20, 16);
    let error =
        Model::from_source(Source::from_bytes(file.clone()), &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_modest("a million extensions", &file);
}

#[test]
fn arrays_beyond_the_end_of_a_source_of_unknown_length_take_no_memory() {
    let patch = |mut file: Vec<u8>, numbers: &[(usize, u32)]| {
        for (at, number) in numbers {
            file[*at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        // More than is read when a file is opened, which would show the length.
        file.resize(file.len() + (96 << 10), 0);
        file
    };
    let iqm = fixtures::iqm::Writer::sheets(1, 2, 2)
        .animated(4, 2)
        .to_bytes();
    let files = [
        // The length of the file, and frames of 80 bytes.
        ("iqm", patch(iqm, &[(20, u32::MAX), (92, 40_000_000)])),
        // The length of a segment, the number of vertices in it, each of 24 bits.
        ("tmf", patch(tmf_of_one_segment(1 << 40, 1 << 38), &[])),
    ];
    for (format, file) in files {
        let read = |source: Source| -> Result<()> {
            match format {
                "iqm" => Model::from_source(source, &Options::default())?
                    .frames()
                    .read()
                    .map(drop),
                _ => Document::from_source(source, &Options::default())?
                    .mesh(0)?
                    .positions()
                    .unwrap()
                    .read()
                    .map(drop),
            }
        };
        let reader = Recorder::of_unknown_length(file.clone());
        let (result, count) = counted(|| read(Source::ranged(reader)));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Truncated, "{format}");
        assert!(count.peak < 16 * MIB, "{format}: {count:?}");

        // The length is known after the file is opened, and shorter than the array.
        let fragments = Fragments::new(None);
        let (result, count) =
            counted(|| in_steps(&fragments, &file, |source| read(source.clone())));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Truncated, "{format}");
        assert!(count.peak < 16 * MIB, "{format}: {count:?}");
    }
}

/// A mesh with one segment of vertices that has this length and this number of vertices.
fn tmf_of_one_segment(length: u64, vertices: u64) -> Vec<u8> {
    let mut file = fixtures::tmf::Writer::a()
        .mesh("")
        .vertices([0., 1., 0., 1., 0., 1.], [8, 8, 8], &[[0, 1, 2]])
        .to_bytes();
    // The number of vertices, six bounds of 64 bits, three widths, and a vertex.
    let stored: u64 = 8 + 48 + 3 + 3;
    let place = file
        .windows(8)
        .position(|bytes| bytes == stored.to_le_bytes())
        .expect("the length");
    file[place..place + 8].copy_from_slice(&length.to_le_bytes());
    // After the compression.
    file[place + 9..place + 17].copy_from_slice(&vertices.to_le_bytes());
    file
}

#[test]
fn frames_beyond_the_limit_are_refused_before_memory_is_taken() {
    // A pose whose channels are constant costs nothing in the file, however many frames there are.
    let mut file = fs::read(data::valid("iqm", "anim_constant.iqm")).unwrap();
    set(&mut file, 0x5c, 100_000_000);
    let model = open::model(file);
    let (result, count) = counted(|| model.frames().read());
    assert_eq!(result.unwrap_err().kind(), ErrorKind::LimitExceeded);
    assert!(count.peak < 64 * KIB, "{count:?}");

    let limits = Limits::default()
        .with_free_ratio(0)
        .with_max_block_bytes(100);
    let options = Options::default().with_limits(limits);
    let small = Model::from_source(Source::from_bytes(fixtures::iqm::small()), &options).unwrap();
    assert_eq!(
        small.frames().read().unwrap_err().kind(),
        ErrorKind::LimitExceeded
    );
}

#[test]
fn decoding_frames_into_a_buffer_takes_no_memory_to_speak_of() {
    let model = open::model(fixtures::iqm::small());
    let frames = model.frames();
    let mut pose = vec![Default::default(); frames.pose_count()];
    let ((), count) = counted(|| {
        for frame in 0..frames.len() {
            frames.read_frame_into(frame, &mut pose).unwrap();
        }
    });
    assert_eq!(count.total, 0, "{count:?}");
}

mod cgeo {
    use meshmap::cgeo::{Dialect, MeshBuffer, Proxy, Wrap, raw};
    use meshmap::{Limits, Scratch};

    use super::*;

    /// Opens and decodes everything, keeping nothing.
    fn read_all(source: Source, limits: Limits) -> meshmap::Result<()> {
        let options = Options::default().with_limits(limits);
        let proxy = Proxy::from_source(source, &options)?;
        let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
        for index in 0..proxy.snapshot_count() {
            let snapshot = proxy.snapshot(index)?;
            snapshot.point_cloud_into(&mut mesh.positions, &mut scratch)?;
            snapshot.mesh_into(Parts::ALL, &mut mesh, &mut scratch)?;
        }
        Ok(())
    }

    /// A file that is refused when it is opened takes no memory to speak of.
    #[test]
    fn headers_and_tables_are_not_believed() {
        for path in data::folder("cgeo/bad") {
            let bytes = bytes::Bytes::from(fs::read(&path).unwrap());
            let size = bytes.len() as i64;
            let (proxy, count) =
                counted(|| Proxy::from_source(Source::from_bytes(bytes), &Options::default()));
            if proxy.is_err() {
                assert!(count.peak < size + MIB, "{}: {count:?}", path.display());
            }
        }
    }

    #[test]
    fn inflate_bombs_are_stopped_at_the_limit() {
        let limits = Limits::default()
            .with_free_ratio(0)
            .with_max_block_bytes(32 << 20);
        let sheet = fixtures::cgeo::Mesh::sheet(3, 0, 0.0);
        let good = fixtures::cgeo::snapshot(&sheet, sheet.complete());
        let count = |counts: [u32; 4]| [vec![1], counts.map(u32::to_le_bytes).concat()].concat();
        let inflated = |mut content: Vec<u8>, length| {
            content.resize(length, 0);
            content
        };
        let cloud = |points: u64| inflated(points.to_le_bytes().to_vec(), 80 << 20);
        let cases = [
            (
                raw::TAG_MESH_DATA,
                inflated(count([80_000_000, 0, 0, 0]), 1 << 30),
            ),
            (
                raw::TAG_MESH_DATA,
                inflated(count([0, 6_000_000, 0, 0]), 80 << 20),
            ),
            (raw::TAG_POINTCLOUD, cloud(6_000_000)),
            (raw::TAG_POINTCLOUD, cloud(3)),
        ];
        for (tag, content) in cases {
            let file =
                fixtures::cgeo::file(&[good.clone(), vec![(tag, content)]], Dialect::default());
            let bytes = bytes::Bytes::from(file);
            let (result, count) = counted(|| read_all(Source::from_bytes(bytes), limits));
            assert!(result.is_err());
            assert!(count.peak < 64 * MIB, "{count:?}");
        }
    }

    #[test]
    fn snapshots_take_no_memory_after_warm_up() {
        let (_, snapshots) = fixtures::cgeo::animation(40, 6);
        assert_no_memory_after_warm_up(&snapshots);
    }

    /// Everything of the first snapshot, and then, into the same memory, of the others.
    fn assert_no_memory_after_warm_up(snapshots: &[fixtures::cgeo::Snapshot]) {
        let file = fixtures::cgeo::file(snapshots, Dialect::default());
        let proxy = open::proxy(file);
        let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
        let (mut positions, mut normals, mut channel, mut cloud) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut triangles = meshmap::cgeo::Triangles::default();
        let mut play = |from: usize| {
            for index in from..snapshots.len() {
                let snapshot = proxy.snapshot(index).unwrap();
                snapshot.bounding_box(&mut scratch).unwrap();
                snapshot.counts(&mut scratch).unwrap();
                snapshot.point_cloud_into(&mut cloud, &mut scratch).unwrap();
                snapshot
                    .positions_into(&mut positions, &mut scratch)
                    .unwrap();
                snapshot.normals_into(&mut normals, &mut scratch).unwrap();
                snapshot
                    .texcoords_into(0, &mut channel, &mut scratch)
                    .unwrap();
                snapshot
                    .triangles_into(&mut triangles, &mut scratch)
                    .unwrap();
                snapshot
                    .mesh_into(Parts::ALL, &mut mesh, &mut scratch)
                    .unwrap();
            }
        };
        play(0);
        let ((), count) = counted(|| play(1));
        assert_eq!(count.total, 0, "{count:?}");
    }

    /// The same of complete snapshots, whose triangles are decoded each time.
    #[test]
    fn complete_snapshots_take_no_memory_after_warm_up() {
        let meshes = (0..4).map(|time| fixtures::cgeo::Mesh::sheet(30, 1, time as f32));
        let snapshots: Vec<_> = meshes
            .map(|mesh| fixtures::cgeo::snapshot(&mesh, mesh.complete()))
            .collect();
        assert_no_memory_after_warm_up(&snapshots);
    }

    #[test]
    fn shutters_take_no_memory_after_warm_up() {
        let (_, snapshots) = fixtures::cgeo::animation(40, 6);
        let file = fixtures::cgeo::file(&snapshots, Dialect::default());
        let proxy = open::proxy(file);
        let timing = proxy.timing().unwrap();
        let (mut keys, mut out, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
        let mut shutters = || {
            for frame in 0..6 {
                let open = timing.time_of(frame) + 0.01;
                timing
                    .keys_into(open, open + 0.1, Wrap::Loop, &mut keys)
                    .unwrap();
                proxy
                    .positions_at(&timing, &keys, Wrap::Loop, &mut out, &mut scratch)
                    .unwrap();
                proxy
                    .velocities(&timing, frame, &mut out, &mut scratch)
                    .unwrap();
            }
        };
        shutters();
        let ((), count) = counted(shutters);
        assert_eq!(count.total, 0, "{count:?}");
    }

    #[test]
    fn playing_holds_the_capacity_and_the_base() {
        let (_, snapshots) = fixtures::cgeo::animation(150, 30);
        let file = fixtures::cgeo::file(&snapshots, Dialect::default());
        let options = Options::default().with_parallelism(meshmap::Parallelism::Off);
        let source = Source::from_bytes(bytes::Bytes::from(file));
        let proxy = Proxy::from_source(source, &options).unwrap();
        let (base, taken) = counted(|| proxy.base().unwrap());
        drop(base);
        const CAPACITY: u64 = 8 << 20;
        let ((), count) = counted(|| {
            proxy.play(0..30).capacity(CAPACITY).for_each(|_, mesh| {
                mesh.unwrap();
                std::ops::ControlFlow::Continue(())
            })
        });
        assert!(
            count.peak < CAPACITY as i64 + taken.live + 4 * MIB,
            "{count:?}, base {taken:?}"
        );
    }
}

mod slmesh {
    use meshmap::slmesh::llsd::Reader;
    use meshmap::slmesh::{Asset, Lod, MeshBuffer, UploadCache};
    use meshmap::{Limits, Parallelism, Scratch};
    use meshmap_testing::fixtures::slmesh::{Llsd, Writer, large, sheet};

    use super::*;

    const LIMIT: u64 = 32 << 20;

    fn options() -> Options {
        let limits = Limits::default()
            .with_free_ratio(0)
            .with_max_block_bytes(LIMIT)
            .with_max_total_bytes(4 * LIMIT);
        // The memory of other threads is not counted.
        Options::default()
            .with_limits(limits)
            .with_parallelism(Parallelism::Off)
    }

    /// Opens and decodes every block, keeping nothing but the first error.
    fn read_all(bytes: &bytes::Bytes) -> meshmap::Result<()> {
        let source = Source::from_bytes(bytes.clone());
        let asset = Asset::from_source(source, &options())?;
        let mut result = asset.validate().map(drop);
        let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
        for lod in Lod::ALL {
            result = result.and(asset.lod(lod).map(drop));
            result = result.and(asset.lod_into(lod, &mut buffer, &mut scratch).map(drop));
            drop(std::mem::take(&mut buffer));
            drop(std::mem::take(&mut scratch));
        }
        result = result.and(asset.physics_mesh().map(drop));
        result = result.and(asset.physics_convex().map(drop));
        result.and(asset.skin().map(drop))
    }

    fn stored(content: &[u8]) -> bytes::Bytes {
        Writer::default()
            .block("high_lod", &Llsd::Raw(content.to_vec()))
            .to_bytes()
            .into()
    }

    /// A million arrays in each other are some thousand bytes when compressed.
    #[test]
    fn nesting_costs_nothing() {
        for content in [
            b"[\0\0\0\x01".repeat(1 << 20),
            b"{\0\0\0\x01k\0\0\0\x01a".repeat(1 << 18),
        ] {
            let start = std::time::Instant::now();
            let (error, count) = counted(|| {
                Reader::new(&content, &Limits::default())
                    .skip_value()
                    .unwrap_err()
            });
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
            assert!(count.peak < 16 * KIB, "{count:?}");
            // In a block, in a field of a face, and in the header.
            let in_face = [b"[\0\0\0\x01{\0\0\0\x01k\0\0\0\x01a", &content[..]].concat();
            for bytes in [stored(&content), stored(&in_face)] {
                let (result, count) = counted(|| read_all(&bytes));
                assert!(result.is_err());
                assert!(count.peak < 64 * MIB, "{count:?}");
            }
            let header = bytes::Bytes::from([b"{\0\0\0\x01k\0\0\0\x01a", &content[..]].concat());
            let (error, count) = counted(|| read_all(&header).unwrap_err());
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
            assert!(count.peak < MIB, "{count:?}");
            assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        }
    }

    /// Counts and lengths from -2^31 to 2^31-1, wherever LLSD has one.
    #[test]
    fn counts_and_lengths_are_not_believed() {
        for count in [i32::MIN, -5, -1, 1 << 24, i32::MAX] {
            let count = count.to_be_bytes();
            for tag in [b"[", b"{", b"b", b"s", b"l", b"k"] {
                let value = [&tag[..], &count].concat();
                let key = |key: &str| {
                    [b"k", &(key.len() as u32).to_be_bytes()[..], key.as_bytes()].concat()
                };
                let in_face = [b"[\0\0\0\x01{\0\0\0\x01", &key("Position")[..], &value].concat();
                let in_header = [b"{\0\0\0\x01", &key("high_lod")[..], &value].concat();
                for bytes in [
                    value.clone().into(),
                    in_header.into(),
                    stored(&value),
                    stored(&in_face),
                ] {
                    let (result, count) = counted(|| read_all(&bytes));
                    assert!(result.is_err());
                    assert!(count.peak < MIB, "{count:?}");
                }
            }
        }
    }

    #[test]
    fn inflate_bombs_end_at_the_limit() {
        // 100 MB of zeros as positions, and as what follows the value.
        let zeros = vec![0; 100_000_002];
        let mut positions = b"[\0\0\0\x01{\0\0\0\x01k\0\0\0\x08Position".to_vec();
        positions.extend(Llsd::Binary(zeros.clone()).to_bytes());
        for content in [positions, [b"[\0\0\0\0]", &zeros[..]].concat()] {
            let bytes = stored(&content);
            drop(content);
            let (error, count) = counted(|| read_all(&bytes).unwrap_err());
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
            assert!(count.peak < 64 * MIB, "{count:?}");
        }
    }

    /// Faces, keys and joints of a few bytes each do not become structures of hundreds.
    #[test]
    fn lists_of_millions_are_refused() {
        let mut faces = b"[\0\x0f\x42\x40".to_vec();
        faces.extend(fixtures::slmesh::no_geometry().to_bytes().repeat(1_000_000));
        faces.push(b']');
        let mut keys = b"{\0\x0f\x42\x40".to_vec();
        keys.extend(b"k\0\0\0\0!".repeat(1_000_000));
        keys.push(b'}');
        for bytes in [stored(&faces), bytes::Bytes::from(keys)] {
            let (error, count) = counted(|| read_all(&bytes).unwrap_err());
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
            assert!(count.peak < 64 * MIB, "{count:?}");
        }
        let mut meshes = b"{\0\0\0\x01k\0\0\0\x04mesh[\0\x0f\x42\x40".to_vec();
        meshes.extend(b"s\0\0\0\0".repeat(1_000_000));
        meshes.extend(b"]}");
        let error = UploadCache::from_source(&Source::from_bytes(meshes), &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    }

    /// All blocks together, in their order, whatever their number.
    #[test]
    fn total_of_all_blocks_is_limited_in_their_order() {
        let bytes = large(24);
        let whole = open::asset(bytes.clone());
        let length = |lod| whole.lod(lod).unwrap().unwrap().content().len() as u64;
        let two = length(Lod::High) + length(Lod::Medium);
        let limits = Limits::default()
            .with_free_ratio(0)
            .with_max_total_bytes(two);
        for parallelism in [Parallelism::Off, Parallelism::Rayon] {
            let options = Options::default()
                .with_limits(limits)
                .with_parallelism(parallelism);
            let source = Source::from_bytes(bytes.clone());
            let asset = Asset::from_source(source, &options).unwrap();
            let decoded = asset.decode_all().unwrap();
            assert!(
                decoded.lod(Lod::High).unwrap().is_some()
                    && decoded.lod(Lod::Medium).unwrap().is_some()
            );
            assert_eq!(
                decoded.lod(Lod::Low).unwrap_err().kind(),
                ErrorKind::LimitExceeded
            );
        }
    }

    #[test]
    fn level_of_detail_into_used_memory_takes_none() {
        let asset = open::asset(large(40));
        let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
        for lod in Lod::ALL {
            assert!(asset.lod_into(lod, &mut buffer, &mut scratch).unwrap());
        }
        for lod in [Lod::High, Lod::Lowest, Lod::Medium, Lod::High] {
            let (is_there, count) =
                counted(|| asset.lod_into(lod, &mut buffer, &mut scratch).unwrap());
            assert!(is_there);
            assert_eq!(count.total, 0, "{lod}: {count:?}");
        }
        assert_eq!(buffer.faces().len(), 8);
        assert_eq!(buffer.faces()[0].positions.len(), 1600);
    }

    #[test]
    fn reading_llsd_takes_no_memory() {
        let content = Llsd::Array(vec![sheet(20, 7); 4]).to_bytes();
        let (events, count) = counted(|| {
            let mut reader = Reader::new(&content, &Limits::default());
            std::iter::from_fn(|| reader.next_event().unwrap()).count()
        });
        assert!(events > 50);
        assert_eq!(count.total, 0, "{count:?}");
    }
}

/// Opens and, where that succeeds, decodes everything, keeping nothing.
fn decode_document(bytes: &bytes::Bytes) -> meshmap::Result<()> {
    let document = Document::from_source(Source::from_bytes(bytes.clone()), &Options::default())?;
    for mesh in document.meshes() {
        mesh.indices()?;
        mesh.positions().map(|array| array.read()).transpose()?;
        mesh.normals().map(|array| array.read()).transpose()?;
        mesh.texcoords(0).map(|array| array.read()).transpose()?;
        mesh.tangents().map(|array| array.read()).transpose()?;
        mesh.view()?;
    }
    document.validate().map(drop)
}

/// Files of a few dozen bytes that announce billions of elements of every kind, each an error that costs nothing.
#[test]
fn documents_that_announce_billions_take_next_to_nothing() {
    use meshmap_testing::fixtures::tmf::Writer;
    let counts = [
        1 << 20,
        1 << 31,
        1 << 32,
        1 << 60,
        (1 << 61) + 1,
        u64::MAX / 3,
        u64::MAX,
    ];
    for count in counts.map(u64::to_le_bytes) {
        for bits in [1, 8, 31, 32, 33, 63, 64] {
            let indices = [&[bits][..], &count, &[0; 8]].concat();
            let numbers = [&count[..], &[bits]].concat();
            let shared = [&[7][..], &indices].concat();
            let custom = |data: &[u8]| [&[1, b'x'][..], data].concat();
            let floats = custom(&[&count[..], &[0; 16], &[bits]].concat());
            let vertices = [&count[..], &[0; 48], &[bits, 0, 0]].concat();
            let segments = [
                (1, vertices),
                (2, indices.clone()),
                (3, numbers.clone()),
                (5, [&[bits][..], &count].concat()),
                (9, numbers.clone()),
                (15, custom(&indices)),
                (16, floats),
                (23, custom(&numbers)),
                (25, shared),
            ];
            for (kind, data) in segments {
                let file =
                    bytes::Bytes::from(Writer::b().mesh("").segment(kind, 0, &data).to_bytes());
                let (result, count) = counted(|| decode_document(&file));
                assert!(result.is_err(), "kind {kind}, {bits} bits");
                assert!(count.peak < MIB, "kind {kind}, {bits} bits: {count:?}");
            }
        }
        // With no bits, any number of elements would fit the file.
        if u64::from_le_bytes(count) > 1 << 30 {
            let data = [&[0][..], &count, &[0; 8]].concat();
            let file = bytes::Bytes::from(Writer::b().mesh("").segment(2, 0, &data).to_bytes());
            let (result, count) = counted(|| decode_document(&file));
            assert_eq!(result.unwrap_err().kind(), ErrorKind::LimitExceeded);
            assert!(count.peak < MIB, "{count:?}");
        }
    }
}

#[test]
fn decoding_documents_into_buffers_takes_next_to_nothing() {
    let document = open::document(fixtures::tmf::grid(100));
    let mesh = document.mesh(0).unwrap();
    let vertices = mesh.positions().unwrap();
    let mut out = vec![[0.0; 3]; vertices.len()];
    let ((), count) = counted(|| vertices.read_into(&mut out).unwrap());
    assert!(count.total < 16 * KIB, "{count:?}");
}

fn set(file: &mut [u8], field: usize, value: u32) {
    file[field..field + 4].copy_from_slice(&value.to_le_bytes());
}

mod openctm {
    use meshmap::openctm::{Mesh, MeshBuffer};
    use meshmap::{Parallelism, Scratch};
    use meshmap_testing::fixtures::openctm::{Body, MG1, MG2, RAW};

    use super::*;

    fn alone() -> Options {
        Options::default().with_parallelism(Parallelism::Off)
    }

    fn mg2_sheet() -> bytes::Bytes {
        Body::sheet(MG2, 150).to_bytes().into()
    }

    /// An MG2 file with a million triangles.
    fn corpus_body() -> bytes::Bytes {
        fs::read(data::corpus().join("openctm/large/big1M_MG2.ctm"))
            .unwrap()
            .into()
    }

    #[test]
    #[cfg_attr(
        target_endian = "big",
        ignore = "there, arrays are copied into the byte order of files"
    )]
    fn whole_load_holds_its_arrays_and_the_largest_block() {
        assert_load_holds_arrays_and_largest_block(mg2_sheet());
    }

    #[test]
    #[ignore = "corpus"]
    fn corpus_whole_load_holds_its_arrays_and_the_largest_block() {
        assert_load_holds_arrays_and_largest_block(corpus_body());
    }

    fn assert_load_holds_arrays_and_largest_block(body: bytes::Bytes) {
        let mesh = Mesh::at(&Source::from_bytes(body), 0, &alone()).unwrap();
        let (arrays, count) = counted(|| mesh.arrays().unwrap());
        let lengths = mesh
            .blocks()
            .into_iter()
            .map(|block| block.decoded_len.unwrap() as i64);
        // Grid indices are no array of the mesh.
        let output = lengths.clone().sum::<i64>() - 4 * mesh.vertex_count() as i64;
        let largest = lengths.max().unwrap();
        let most = output + largest * 6 / 5 + 32 * KIB;
        assert!(
            count.peak <= most,
            "{count:?}, output {output}, largest block {largest}"
        );
        drop(arrays);
    }

    #[test]
    fn lzma_decoder_takes_next_to_nothing_beside_its_output() {
        assert_lzma_decoder_takes_next_to_nothing(mg2_sheet());
    }

    #[test]
    #[ignore = "corpus"]
    fn corpus_lzma_decoder_takes_next_to_nothing_beside_its_output() {
        assert_lzma_decoder_takes_next_to_nothing(corpus_body());
    }

    /// The usual parameters, 3/0/2.
    fn assert_lzma_decoder_takes_next_to_nothing(body: bytes::Bytes) {
        let mesh = Mesh::at(&Source::from_bytes(body), 0, &alone()).unwrap();
        let mut largest = mesh.blocks();
        largest.sort_by_key(|block| block.decoded_len);
        let block = largest.pop().unwrap();
        let (decoded, count) = counted(|| {
            block
                .decode(mesh.source(), &alone(), &mut Scratch::default())
                .unwrap()
        });
        assert!(
            count.peak - decoded.len() as i64 <= 64 * KIB,
            "{count:?} for {}",
            decoded.len()
        );
    }

    /// Unusual numbers of context bits, of which there are 4,096 contexts: a few bytes take a few of them.
    #[test]
    fn small_streams_of_many_contexts_take_little() {
        let path = data::valid("openctm", "hand_mg1_lc8lp4pb4_b.ctm");
        let bytes = bytes::Bytes::from(fs::read(path).unwrap());
        let mesh = Mesh::at(&Source::from_bytes(bytes), 0, &alone()).unwrap();
        let (arrays, count) = counted(|| mesh.arrays().unwrap());
        assert!(
            count.peak < 3 * MIB,
            "{count:?} for {} positions",
            arrays.positions.len()
        );
    }

    #[test]
    fn decoding_into_memory_that_is_there_takes_none() {
        let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
        for method in [RAW, MG1, MG2] {
            let mesh = open::body(Body::sheet(method, 40).to_bytes());
            mesh.arrays_into(&mut buffer, &mut scratch).unwrap();
            let mut normals = vec![[0.0; 3]; mesh.vertex_count()];
            mesh.normals_into(&mut normals, &mut scratch).unwrap();
            let (result, count) = counted(|| {
                mesh.arrays_into(&mut buffer, &mut scratch)?;
                mesh.normals_into(&mut normals, &mut scratch)
            });
            assert!(result.unwrap());
            assert_eq!(count.total, 0, "{method:?}: {count:?}");
        }
    }

    /// Bodies that each make 8 MB of 2 KiB: what is decoded of one is given back before the next one.
    #[test]
    fn many_bodies_are_validated_in_the_memory_of_one() {
        let mut body = Body::sheet(MG1, 2);
        (body.flags, body.positions) = (0, vec![[0.0; 3]; 700_000]);
        body.uv_maps.clear();
        body.attribute_maps.clear();
        let body = body.to_bytes();
        assert!(body.len() < 8 << 10);
        let bytes = bytes::Bytes::from(body.repeat(20));
        for strictness in [meshmap::Strictness::Tolerant, meshmap::Strictness::Strict] {
            let options = alone().with_strictness(strictness);
            let (findings, count) = counted(|| {
                let file =
                    MeshFile::from_source(Source::from_bytes(bytes.clone()), &options).unwrap();
                file.validate().unwrap()
            });
            assert_eq!(findings, []);
            // One body twice (a block and its array), and once more where arrays are copied into files' byte order.
            assert!(count.peak < 40 * MIB, "{strictness:?}: {count:?}");
        }
    }

    /// Streams that make a gigabyte of a few KiB, and say so: an error at once where the limit is lower.
    #[test]
    fn bombs_exceed_the_limit_before_anything_is_taken() {
        let zeros = |_: &[u8]| {
            // Zeros without end: runs of 273 bytes, whose probabilities become as small as they can.
            let (properties, stream) = fixtures::openctm::lzma(&vec![0; 40 << 20]);
            (properties, stream)
        };
        let mut body = Body::sheet(MG1, 2);
        (body.flags, body.pack) = (0, zeros);
        body.uv_maps.clear();
        body.attribute_maps.clear();
        let mut file = body.to_bytes();
        let vertices = 40_u32 << 20;
        file[12..16].copy_from_slice(&(vertices / 12).to_le_bytes());
        let bytes = bytes::Bytes::from(file);
        assert!(bytes.len() < 64 << 10);
        let limits = Limits::default()
            .with_free_ratio(0)
            .with_max_block_bytes(32 << 20);
        let options = alone().with_limits(limits);
        let (error, count) = counted(|| {
            let mesh = Mesh::at(&Source::from_bytes(bytes), 0, &options).unwrap();
            mesh.positions().unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(count.peak < 64 * KIB, "{count:?}");
    }
}
