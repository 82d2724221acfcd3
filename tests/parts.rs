//! Parts of CGeo meshes: the same values as in whole meshes, and nothing else decoded, read or held.

use std::ops::ControlFlow;
use std::sync::Arc;

use meshmap::cgeo::{Dialect, MeshBuffer, Parts, Proxy, SizeMeaning};
use meshmap::{Options, Parallelism, Scratch, Source};
use meshmap_testing::{Recorder, data, fixtures, open};

/// All combinations of parts.
fn all_parts() -> impl Iterator<Item = Parts> {
    (0..=Parts::ALL.bits()).filter_map(Parts::from_bits)
}

fn sheets(side: u32, snapshots: usize) -> Vec<u8> {
    let (_, snapshots) = fixtures::cgeo::animation(side, snapshots);
    fixtures::cgeo::file(&snapshots, Dialect::default())
}

/// Checks that `found` has these parts of `whole`, and no others.
fn assert_parts(found: &MeshBuffer, whole: &MeshBuffer, parts: Parts, text: &str) {
    let bits = |array: &[[f32; 3]]| {
        array
            .as_flattened()
            .iter()
            .map(|number| number.to_bits())
            .collect::<Vec<_>>()
    };
    let expected = |part, array: &[[f32; 3]]| {
        if parts.contains(part) {
            bits(array)
        } else {
            Vec::new()
        }
    };
    assert_eq!(
        bits(&found.positions),
        expected(Parts::POSITIONS, &whole.positions),
        "{text}"
    );
    assert_eq!(
        bits(&found.normals),
        expected(Parts::NORMALS, &whole.normals),
        "{text}"
    );
    let channels: &[_] = if parts.contains(Parts::TEXCOORDS) {
        &whole.texcoords
    } else {
        &[]
    };
    assert_eq!(found.texcoords.len(), channels.len(), "{text}");
    for (found, expected) in found.texcoords.iter().zip(channels) {
        assert_eq!(bits(found), bits(expected), "{text}");
    }
    let triangles = if parts.contains(Parts::TRIANGLES) {
        whole.triangles.as_bytes()
    } else {
        &[]
    };
    assert!(found.triangles.as_bytes() == triangles, "{text}");
    assert_eq!(
        (found.parts, found.is_complete),
        (parts, whole.is_complete),
        "{text}"
    );
    let is_first = text.contains(": 0: ");
    if found.is_complete && !is_first && !parts.contains(Parts::TRIANGLES) {
        // Its triangles have not been seen.
        assert!(
            found.topology.is_some() && found.topology != whole.topology,
            "{text}"
        );
    } else if cfg!(unix) {
        assert_eq!(found.topology, whole.topology, "{text}");
    } else {
        // Only Unix knows that a file that is opened twice is one file.
        assert_eq!(found.topology.is_some(), whole.topology.is_some(), "{text}");
    }
}

#[test]
fn parts_are_those_of_the_whole_mesh() {
    let mut differences = 0;
    for path in data::files(&data::root().join("cgeo/valid")) {
        let open = || Proxy::open(&path).unwrap();
        let (proxy, mut scratch) = (open(), Scratch::default());
        for index in 0..proxy.snapshot_count().min(4) {
            let mut whole = MeshBuffer::default();
            if proxy
                .snapshot(index)
                .unwrap()
                .mesh_into(Parts::ALL, &mut whole, &mut scratch)
                .is_err()
            {
                continue;
            }
            differences += usize::from(!whole.is_complete);
            // In memory that was used for other parts, of a proxy of which other parts are known.
            let mut reused = MeshBuffer::default();
            for parts in all_parts() {
                let text = format!("{}: {index}: {parts:?}", path.display());
                let mut fresh = MeshBuffer::default();
                let snapshot = open().snapshot(index).unwrap();
                snapshot
                    .mesh_into(parts, &mut fresh, &mut Scratch::default())
                    .unwrap();
                assert_parts(&fresh, &whole, parts, &text);
                proxy
                    .snapshot(index)
                    .unwrap()
                    .mesh_into(parts, &mut reused, &mut scratch)
                    .unwrap();
                assert_parts(&reused, &whole, parts, &text);
            }
        }
    }
    assert!(differences > 10, "{differences}");
}

#[test]
fn names_and_bits_of_parts() {
    assert_eq!(
        format!("{:?}", Parts::POSITIONS | Parts::TRIANGLES),
        "POSITIONS | TRIANGLES"
    );
    assert_eq!(format!("{:?}", Parts::NONE), "NONE");
    assert_eq!(Parts::from_bits(16), None);
    let two = Parts::NORMALS | Parts::TEXCOORDS;
    assert!(Parts::ALL.contains(two) && !two.contains(Parts::ALL) && two.contains(Parts::NONE));
    assert_eq!(Parts::ALL.without(two), Parts::POSITIONS | Parts::TRIANGLES);
    assert_eq!(all_parts().count(), 16);
}

/// The stream of snapshot 1 is damaged in its last third, behind the positions.
fn damaged() -> Proxy {
    let mut file = sheets(30, 3);
    let proxy = open::proxy(file.clone());
    let blocks = proxy.snapshot(1).unwrap().blocks().unwrap();
    let mesh = blocks
        .iter()
        .max_by_key(|block| block.range.end - block.range.start)
        .unwrap();
    let place = usize::try_from(mesh.range.end - 60).unwrap();
    file[place..place + 30].fill(0xff);
    open::proxy(file)
}

#[test]
fn damage_behind_a_part_does_not_matter() {
    let (proxy, mut mesh, mut scratch) = (damaged(), MeshBuffer::default(), Scratch::default());
    let snapshot = proxy.snapshot(1).unwrap();
    assert!(
        snapshot
            .mesh_into(Parts::ALL, &mut mesh, &mut scratch)
            .is_err()
    );
    snapshot
        .mesh_into(Parts::POSITIONS, &mut mesh, &mut scratch)
        .unwrap();
    assert_eq!(mesh.positions.len(), 900);
    let played: Vec<bool> = proxy
        .play(0..3)
        .parts(Parts::POSITIONS)
        .into_iter()
        .map(|(_, mesh)| mesh.is_ok())
        .collect();
    assert_eq!(played, [true; 3]);
    let played: Vec<bool> = proxy
        .play(0..3)
        .into_iter()
        .map(|(_, mesh)| mesh.is_ok())
        .collect();
    assert_eq!(played, [true, false, true]);
}

#[test]
fn playing_goes_forwards_backwards_and_by_strides() {
    let proxy = open::proxy(sheets(10, 11));
    let indices = |play: meshmap::cgeo::Play<'_>| {
        let player = play.into_iter();
        let announced = player.len();
        let indices: Vec<usize> = player
            .map(|(index, mesh)| mesh.map(|_| index).unwrap())
            .collect();
        assert_eq!(indices.len(), announced);
        indices
    };
    for range in [0..11, 3..9, 5..6, 4..4] {
        for stride in [1, 2, 3, 20] {
            let play = || proxy.play(range.clone()).stride(stride);
            assert!(
                range.clone().step_by(stride).eq(indices(play())),
                "{range:?} {stride}"
            );
            assert!(
                range
                    .clone()
                    .rev()
                    .step_by(stride)
                    .eq(indices(play().backwards())),
                "{range:?} {stride}"
            );
        }
    }
    assert_eq!(indices(proxy.play(0..3).stride(0)), [0, 1, 2]);
    // Backwards, every mesh is also the same.
    for (index, mesh) in proxy
        .play(0..11)
        .backwards()
        .parts(Parts::POSITIONS | Parts::NORMALS)
    {
        let mesh = mesh.unwrap();
        let whole = proxy.snapshot(index).unwrap().mesh(Parts::ALL).unwrap();
        assert!(
            mesh.positions == whole.positions.to_vec() && mesh.normals == whole.normals.to_vec()
        );
        assert!(mesh.triangles.is_empty() && mesh.texcoords.is_empty());
    }
}

/// One thread uses the memory of a snapshot for the next one, and decodes the first one for itself and the differences at once.
#[test]
fn one_thread_plays_in_the_same_memory() {
    let proxy =
        Proxy::from_source(Source::from_bytes(sheets(20, 12)), &Options::default()).unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let mut places = Vec::new();
    pool.install(|| {
        proxy.play(0..12).for_each(|_, mesh| {
            let mesh = mesh.unwrap();
            places.push([mesh.positions.as_ptr(), mesh.normals.as_ptr()].map(|place| place.addr()));
            assert_eq!(
                mesh.triangles.as_bytes().as_ptr(),
                proxy.base().unwrap().triangles.as_bytes().as_ptr()
            );
            ControlFlow::Continue(())
        });
    });
    assert_eq!(places, [places[0]; 12]);
}

#[test]
fn meshes_that_were_played_can_be_kept() {
    let proxy = open::proxy(sheets(20, 12));
    let expected: Vec<_> = (0..12)
        .map(|index| proxy.snapshot(index).unwrap().mesh(Parts::ALL).unwrap())
        .collect();
    // More than fit the capacity: what the caller keeps stays as it is.
    let held: Vec<_> = proxy
        .play(0..12)
        .capacity(10_000)
        .into_iter()
        .map(|(_, mesh)| mesh.unwrap())
        .collect();
    for (found, expected) in held.iter().zip(&expected) {
        assert!(found.positions == expected.positions.to_vec());
    }
    let kept: Vec<_> = held
        .into_iter()
        .map(meshmap::cgeo::PlayedMesh::into_mesh)
        .collect();
    for (found, expected) in kept.iter().zip(&expected) {
        assert!(found.positions == expected.positions && found.topology == expected.topology);
    }
    // Playing ends when the iterator is dropped, and errors of absent snapshots follow the existing ones.
    assert!(proxy.play(0..12).into_iter().next().is_some());
    let beyond: Vec<_> = proxy
        .play(10..14)
        .into_iter()
        .map(|(index, mesh)| (index, mesh.is_ok()))
        .collect();
    assert_eq!(beyond, [(10, true), (11, true), (12, false), (13, false)]);
    let mut seen = 0;
    proxy.play(0..12).for_each(|index, _| {
        seen += 1;
        if index == 4 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(seen, 5);
}

/// A proxy whose meshes are longer than what is read at a time.
fn large() -> &'static bytes::Bytes {
    static FILE: std::sync::LazyLock<bytes::Bytes> =
        std::sync::LazyLock::new(|| large_with(Dialect::default()));
    &FILE
}

/// The same meshes, stored otherwise.
fn large_with(dialect: Dialect) -> bytes::Bytes {
    fixtures::cgeo::file(&large_snapshots(), dialect).into()
}

fn large_snapshots() -> Vec<fixtures::cgeo::Snapshot> {
    let (_, mut snapshots) = fixtures::cgeo::animation(1, 1);
    snapshots.clear();
    let noise = |seed: u32| {
        let mut state = seed | 1;
        move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 16_777_216.0
        }
    };
    let mut base = fixtures::cgeo::Mesh::sheet(250, 1, 0.0);
    let mut next = noise(7);
    base.positions
        .iter_mut()
        .flatten()
        .for_each(|number| *number += next());
    base.normals
        .iter_mut()
        .flatten()
        .for_each(|number| *number += next());
    snapshots.push(vec![(TAG_MESH_DATA, base.complete())]);
    for index in 1..5 {
        let mut moved = base.clone();
        let mut next = noise(100 + index);
        moved
            .positions
            .iter_mut()
            .flatten()
            .for_each(|number| *number += next());
        moved
            .normals
            .iter_mut()
            .flatten()
            .for_each(|number| *number += next());
        snapshots.push(vec![(TAG_MESH_DATA, moved.difference(&base))]);
    }
    snapshots
}

/// The tag of the section of a mesh.
const TAG_MESH_DATA: u32 = meshmap::cgeo::raw::TAG_MESH_DATA;
const TAG_POINTCLOUD: u32 = meshmap::cgeo::raw::TAG_POINTCLOUD;

fn bits_of(mesh: &MeshBuffer) -> Vec<u8> {
    let arrays = [&mesh.positions, &mesh.normals]
        .into_iter()
        .chain(&mesh.texcoords);
    let mut bits: Vec<u8> = arrays
        .flat_map(|array| array.as_flattened())
        .flat_map(|number| number.to_le_bytes())
        .collect();
    bits.extend_from_slice(mesh.triangles.as_bytes());
    bits
}

fn fingerprint(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Every part of every snapshot of a proxy, or its error.
fn everything(open: impl Fn() -> Proxy) -> Vec<String> {
    let mut all = Vec::new();
    let mut tell = |result: meshmap::Result<Vec<u8>>| {
        all.push(match result {
            Ok(bytes) => format!("{} bytes, {:x}", bytes.len(), fingerprint(&bytes)),
            // Only one of them knows a path.
            Err(error) => error.message(),
        });
    };
    let bytes = |array: meshmap::Array<[f32; 3]>| array.as_bytes().to_vec();
    let shared = open();
    let some = [
        Parts::POSITIONS,
        Parts::NORMALS,
        Parts::POSITIONS | Parts::TRIANGLES,
        Parts::ALL,
    ];
    for index in [2, 0, 4] {
        for proxy in [&shared, &open()] {
            tell(proxy.snapshot(index).unwrap().positions().map(bytes));
            tell(proxy.snapshot(index).unwrap().normals().map(bytes));
            tell(proxy.snapshot(index).unwrap().texcoords(0).map(bytes));
            for parts in some {
                let mut mesh = MeshBuffer::default();
                let snapshot = proxy.snapshot(index).unwrap();
                let result = snapshot.mesh_into(parts, &mut mesh, &mut Scratch::default());
                tell(result.map(|()| bits_of(&mesh)));
            }
            // Two parts of one snapshot.
            let snapshot = proxy.snapshot(index).unwrap();
            tell(snapshot.positions().map(bytes));
            tell(snapshot.normals().map(bytes));
        }
    }
    all
}

#[test]
fn parts_are_the_same_from_any_source() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("large.cgeo");
    parts_are_the_same(large(), true, &path);
    parts_are_the_same(
        &large_with(Dialect::default().with_codec(meshmap::Codec::Stored)),
        false,
        &path,
    );
}

/// Compares sources of a file that is intact, cut off, and damaged in several places.
fn parts_are_the_same(intact: &bytes::Bytes, is_compressed: bool, path: &std::path::Path) {
    let extent = |index| open::proxy(intact.clone()).snapshot(index).unwrap().range();
    let mut files = vec![intact.to_vec(), intact[..intact.len() - 1_000_000].to_vec()];
    for (index, share) in [(0, 3), (2, 9)] {
        let mut damaged = intact.to_vec();
        let range = extent(index);
        let place = usize::try_from(range.start + (range.end - range.start) / share).unwrap();
        damaged[place..place + 12].fill(0xff);
        files.push(damaged);
    }
    for (number, file) in files.into_iter().enumerate() {
        std::fs::write(path, &file).unwrap();
        let file = bytes::Bytes::from(file);
        let expected = everything(|| open::proxy(file.clone()));
        // Damage within numbers that are not compressed cannot be seen.
        let is_seen = if is_compressed {
            number > 0
        } else {
            number == 1
        };
        assert_eq!(
            is_seen,
            expected.iter().any(|line| line.contains("cgeo: ")),
            "{number}"
        );
        let found = everything(|| Proxy::open(path).unwrap());
        assert!(found == expected, "{number}: {found:#?} {expected:#?}");
        let found = everything(|| open::proxy(Recorder::new(file.to_vec())));
        assert!(found == expected, "{number}: {found:#?} {expected:#?}");
    }
}

/// The number of bytes from the beginning of a snapshot that its positions need.
fn prefix_of_positions(index: usize) -> u64 {
    let proxy = open::proxy(large().clone());
    let snapshot = proxy.snapshot(index).unwrap();
    let block = snapshot.blocks().unwrap().pop().unwrap();
    let stream = &large()[block.range.start as usize..block.range.end as usize];
    let mut inflater = meshmap_inflate::Inflater::new();
    let mut stream =
        meshmap_inflate::Stream::new(&mut inflater, stream, meshmap_inflate::Format::Zlib).unwrap();
    let head = if snapshot.is_complete(&mut Scratch::default()).unwrap() {
        17
    } else {
        1
    };
    let mut content = vec![0; head + 250 * 250 * 12];
    stream.read_exact(&mut content).unwrap();
    block.range.start - snapshot.range().start + stream.consumed() as u64
}

#[test]
fn stores_are_asked_once_for_the_positions_of_a_difference() {
    let recorder = Recorder::new(large().to_vec());
    let proxy = open::proxy(recorder.clone());
    recorder.take();
    // The first snapshot, and a difference of which nothing is known yet.
    proxy.snapshot(1).unwrap().positions().unwrap();
    let first = recorder.take();
    assert!(first.len() <= 2, "{first:?}");
    for index in [2, 3, 4] {
        proxy.snapshot(index).unwrap().positions().unwrap();
        let reads = recorder.take();
        let prefix = prefix_of_positions(index);
        assert_eq!(reads.len(), 1, "{reads:?}");
        assert!(
            reads[0].end - reads[0].start <= prefix * 13 / 10,
            "{reads:?}, {prefix}"
        );
    }
}

#[test]
fn files_are_read_as_far_as_the_positions_go() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("large.cgeo");
    std::fs::write(&path, large()).unwrap();
    let proxy = Proxy::open(&path).unwrap();
    for index in [0, 3, 1] {
        let before = proxy.source().read_stats().bytes;
        proxy.snapshot(index).unwrap().positions().unwrap();
        let read = proxy.source().read_stats().bytes - before;
        // A piece of 256 KiB may begin just before the end.
        let most = prefix_of_positions(index) * 9 / 8 + (256 << 10);
        // The first difference also needs the positions of the first snapshot.
        let most = if index == 3 {
            most + prefix_of_positions(0) * 9 / 8 + (257 << 10)
        } else {
            most
        };
        let range = proxy.snapshot(index).unwrap().range();
        assert!(
            read <= most && most < 2 * (range.end - range.start),
            "{index}: {read} of at most {most}"
        );
    }
}

#[test]
fn files_are_not_read_where_a_large_point_cloud_is() {
    let mut snapshots = large_snapshots();
    let mut cloud = fixtures::cgeo::Mesh::sheet(250, 1, 0.0);
    cloud
        .positions
        .iter_mut()
        .flatten()
        .for_each(|number| *number = number.sin());
    for snapshot in &mut snapshots {
        snapshot.insert(0, (TAG_POINTCLOUD, cloud.point_cloud(1)));
    }
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("cloud.cgeo");
    std::fs::write(&path, fixtures::cgeo::file(&snapshots, Dialect::default())).unwrap();
    let proxy = Proxy::open(&path).unwrap();
    let read = |index: usize| {
        let before = proxy.source().read_stats().bytes;
        proxy.snapshot(index).unwrap().positions().unwrap();
        proxy.source().read_stats().bytes - before
    };
    // The first difference shows where the meshes begin.
    read(1);
    let mesh = proxy
        .snapshot(2)
        .unwrap()
        .blocks()
        .unwrap()
        .pop()
        .unwrap()
        .range
        .start;
    assert!(mesh - proxy.snapshot(2).unwrap().range().start > 300_000);
    for index in 2..5 {
        let most = prefix_of_positions(index) * 9 / 8 + (64 << 10);
        let read = read(index);
        assert!(read <= most, "{index}: {read} of at most {most}");
    }
}

#[test]
fn uncompressed_positions_are_read_into_the_callers_memory() {
    let file = large_with(Dialect::default().with_codec(meshmap::Codec::Stored));
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("stored.cgeo");
    std::fs::write(&path, &file).unwrap();
    let expected = open::proxy(file);
    let proxy = Proxy::open(&path).unwrap();
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    for index in [0, 3, 1] {
        let before = proxy.source().read_stats().bytes;
        proxy
            .snapshot(index)
            .unwrap()
            .positions_into(&mut out, &mut scratch)
            .unwrap();
        let read = proxy.source().read_stats().bytes - before;
        let values = expected.snapshot(index).unwrap().positions().unwrap();
        assert!(values.iter().eq(out.iter().copied()), "{index}");
        // The first difference needs the positions of the first snapshot as well.
        let arrays = if index == 3 { 2 } else { 1 };
        let most = arrays * (250 * 250 * 12 + (8 << 10));
        assert!(read <= most, "{index}: {read} of at most {most}");
    }
}

#[test]
fn errors_of_reading_are_not_kept() {
    let expected = open::proxy(large().clone());
    let expected = expected.snapshot(2).unwrap().positions().unwrap();
    for succeed in 0..4 {
        let recorder = Recorder::new(large().to_vec());
        let proxy = open::proxy(recorder.clone());
        recorder.fail_after(succeed);
        let found = proxy.snapshot(2).unwrap().positions();
        if let Err(error) = found {
            assert!(matches!(error.kind(), meshmap::ErrorKind::Io(_)), "{error}");
        }
        recorder.fail_after(usize::MAX);
        assert!(
            proxy.snapshot(2).unwrap().positions().unwrap() == expected,
            "{succeed}"
        );
    }
}

#[cfg(feature = "cache")]
mod cache {
    use std::sync::Arc;

    use meshmap::cgeo::{SnapshotCache, Wrap};

    use super::*;

    fn proxy(side: u32) -> Proxy {
        open::proxy(sheets(side, 6))
    }

    #[test]
    fn positions_alone_are_held_until_more_is_asked_for() {
        const SIDE: u32 = 60;
        let (proxy, cache) = (proxy(SIDE), SnapshotCache::new(1 << 30));
        let timing = proxy.timing().unwrap();
        let mut out = Vec::new();
        cache
            .positions_at(&proxy, &timing, &[timing.time_of(2)], Wrap::Clamp, &mut out)
            .unwrap();
        let positions = u64::from(SIDE * SIDE * 12);
        let held = cache.stats().bytes_held;
        assert!(
            held >= positions && held < positions + 2048,
            "{held} for {positions}"
        );

        assert!(cache.try_get(&proxy, 2, Parts::ALL).is_none());
        let first = cache.try_get(&proxy, 2, Parts::POSITIONS).unwrap();
        assert_eq!(first.parts, Parts::POSITIONS);
        let more = cache
            .get(&proxy, 2, Parts::POSITIONS | Parts::NORMALS)
            .unwrap();
        assert_eq!(more.parts, Parts::POSITIONS | Parts::NORMALS);
        assert_eq!(
            first.positions.as_bytes().as_ptr(),
            more.positions.as_bytes().as_ptr(),
            "decoded once"
        );
        let whole = cache.get(&proxy, 2, Parts::ALL).unwrap();
        let expected = proxy.snapshot(2).unwrap().mesh(Parts::ALL).unwrap();
        assert!(whole.positions == expected.positions && whole.normals == expected.normals);
        assert!(whole.texcoords == expected.texcoords);
        assert!(whole.triangles.as_bytes() == expected.triangles.as_bytes());
        assert_eq!(
            (whole.topology, whole.is_complete),
            (expected.topology, expected.is_complete)
        );
        // Fewer parts than there are need nothing.
        let before = cache.stats();
        assert!(Arc::ptr_eq(
            &whole,
            &cache.get(&proxy, 2, Parts::TRIANGLES).unwrap()
        ));
        let stats = cache.stats();
        assert_eq!(
            (before.decodes, stats.decodes, stats.repeated_decodes),
            (3, 3, 0)
        );
        assert_eq!(stats.hits, before.hits + 1);
    }

    /// Damage that concerns requests for the whole mesh does not concern requests for positions, in any order.
    #[test]
    fn errors_belong_to_the_parts_that_were_asked_for() {
        for _ in 0..20 {
            let (proxy, cache) = (damaged(), SnapshotCache::new(1 << 30));
            std::thread::scope(|scope| {
                for number in 0..8 {
                    let (proxy, cache) = (&proxy, &cache);
                    scope.spawn(move || {
                        let parts = if number % 2 == 0 {
                            Parts::ALL
                        } else {
                            Parts::POSITIONS
                        };
                        assert_eq!(
                            cache.get(proxy, 1, parts).is_ok(),
                            parts == Parts::POSITIONS
                        );
                    });
                }
            });
        }
    }

    #[test]
    fn threads_that_ask_for_parts_get_all_that_they_asked_for() {
        let (proxy, cache) = (proxy(20), SnapshotCache::new(1 << 30));
        std::thread::scope(|scope| {
            for number in 0..8_usize {
                let (proxy, cache) = (&proxy, &cache);
                scope.spawn(move || {
                    for round in 0..200 {
                        let parts =
                            Parts::from_bits(((round * 7 + number * 5) % 16) as u8).unwrap();
                        let index = (round * 3 + number) % 6;
                        assert!(
                            cache
                                .get(proxy, index, parts)
                                .unwrap()
                                .parts
                                .contains(parts)
                        );
                        if round % 50 == 49 {
                            cache.clear();
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn snapshots_of_unknown_stored_size_are_fetched_whole() {
    let (_, snapshots) = fixtures::cgeo::animation(40, 4);
    for (size, is_part) in [(SizeMeaning::Stored, true), (SizeMeaning::Inflated, false)] {
        let bytes = fixtures::cgeo::file(&snapshots, Dialect::default().with_size(size));
        let proxy = open::proxy(bytes);
        assert_eq!(proxy.dialect().size, size);
        let (mut positions, snapshot) = (Vec::new(), proxy.snapshot(2).unwrap());
        proxy
            .snapshot(1)
            .unwrap()
            .positions_into(&mut positions, &mut Scratch::default())
            .unwrap();
        let likely = snapshot.likely_range(Parts::POSITIONS).unwrap();
        // The start tag of the dialects in which offsets point to the first section.
        let start = snapshot.range().start - 4;
        assert_eq!(likely.start, start);
        assert_eq!(likely.end < snapshot.range().end, is_part, "{size:?}");
        assert_eq!(
            snapshot.likely_range(Parts::ALL),
            Some(start..snapshot.range().end)
        );
    }
}

#[test]
fn readers_are_told_what_will_be_played() {
    let bytes = bytes::Bytes::from(sheets(40, 12));
    let whole = open::proxy(bytes.clone());
    // With the start tag.
    let range = |index: usize| {
        let range = whole.snapshot(index).unwrap().range();
        range.start - 4..range.end
    };
    for (parts, is_backwards) in [
        (Parts::ALL, false),
        (Parts::ALL, true),
        (Parts::POSITIONS, false),
    ] {
        let reader = Recorder::new(bytes.to_vec());
        let options = Options::default().with_parallelism(Parallelism::Off);
        let proxy = Proxy::from_source(Source::ranged(Arc::clone(&reader)), &options).unwrap();
        let mut play = proxy.play(2..11).parts(parts).stride(2);
        if is_backwards {
            play = play.backwards();
        }
        let mut played = play.into_iter();
        played.next().unwrap().1.unwrap();
        // All fit into 16 MiB. The size of positions cannot be estimated before the first snapshot is decoded.
        let told = |of: &Recorder| of.told.lock().unwrap().clone();
        let turns: Vec<usize> = if is_backwards {
            vec![8, 6, 4, 2]
        } else {
            vec![4, 6, 8, 10]
        };
        if parts == Parts::ALL {
            assert_eq!(
                told(&reader),
                turns.iter().map(|index| range(*index)).collect::<Vec<_>>()
            );
        } else {
            assert_eq!(told(&reader), []);
        }
        played.for_each(|(_, mesh)| drop(mesh.unwrap()));
        let told = told(&reader);
        let known = if parts == Parts::ALL {
            &turns[..]
        } else {
            &turns[1..]
        };
        assert_eq!(told.len(), known.len());
        for (told, index) in told.iter().zip(known) {
            let whole = range(*index);
            assert_eq!(told.start, whole.start);
            assert!(
                if parts == Parts::ALL {
                    told.end == whole.end
                } else {
                    told.end < whole.end
                },
                "{told:?}"
            );
        }
    }
}
