//! Proxies whose snapshots are stored complete: equal triangles are one topology, whichever snapshot is asked first.

use meshmap::cgeo::{
    Dialect, MeshBuffer, Parts, Proxy, SnapshotCache, Timing, TopologyId, VertexWriter, Wrap,
};
use meshmap::{ErrorKind, Scratch, Semantic, VertexFormat, VertexLayout};
use meshmap_testing::allocator::{Counting, counted};
use meshmap_testing::fixtures::cgeo::{Mesh, dialects, file, snapshot};
use meshmap_testing::open;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Positions and normals.
fn layout() -> VertexLayout {
    VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with(Semantic::Normal, VertexFormat::FLOAT32X3)
}

/// A sheet at a time. With `is_turned`, its triangles are in another order.
fn sheet(time: f32, is_turned: bool) -> Mesh {
    let mut mesh = Mesh::sheet(7, 1, time);
    if is_turned {
        mesh.triangles.reverse();
    }
    mesh
}

/// A proxy of complete snapshots, with triangles in the one order or the other.
fn complete(turned: &[bool], dialect: Dialect) -> Proxy {
    let meshes = turned
        .iter()
        .enumerate()
        .map(|(time, is_turned)| sheet(time as f32 * 0.3, *is_turned));
    let snapshots: Vec<_> = meshes
        .map(|mesh| snapshot(&mesh, mesh.complete()))
        .collect();
    open::proxy(file(&snapshots, dialect))
}

/// A proxy of differences, in which each third snapshot is complete, with the same triangles.
fn mixed(count: usize) -> Proxy {
    let meshes: Vec<Mesh> = (0..count)
        .map(|time| sheet(time as f32 * 0.3, false))
        .collect();
    let content = |(at, mesh): (usize, &Mesh)| match at % 3 {
        0 => snapshot(mesh, mesh.complete()),
        _ => snapshot(mesh, mesh.difference(&meshes[0])),
    };
    open::proxy(file(
        &meshes.iter().enumerate().map(content).collect::<Vec<_>>(),
        Dialect::default(),
    ))
}

fn topology(proxy: &Proxy, index: usize) -> TopologyId {
    proxy
        .snapshot(index)
        .unwrap()
        .topology(&mut Scratch::default())
        .unwrap()
}

#[test]
fn equal_triangles_are_one_topology_in_any_order_of_calls() {
    let turned = [false, true, false, true, true, false];
    for dialect in dialects() {
        for start in 0..turned.len() {
            let proxy = complete(&turned, dialect);
            let order = (0..turned.len()).map(|step| (start + step) % turned.len());
            let mut ids = [None; 6];
            for index in order {
                ids[index] = Some(topology(&proxy, index));
            }
            for (a, is_turned) in turned.iter().enumerate() {
                for b in 0..turned.len() {
                    assert_eq!(
                        ids[a] == ids[b],
                        *is_turned == turned[b],
                        "{dialect:?}, {start}: {a} and {b}"
                    );
                }
            }
        }
    }
}

#[test]
fn meshes_with_triangles_have_the_topology_and_others_one_of_their_own() {
    let proxy = complete(&[false, true, false, true], Dialect::default());
    let cache = SnapshotCache::new(1 << 20);
    let ids: Vec<TopologyId> = (0..4).map(|index| topology(&proxy, index)).collect();
    for (index, id) in ids.iter().enumerate() {
        let snapshot = proxy.snapshot(index).unwrap();
        for parts in [
            Parts::ALL,
            Parts::TRIANGLES,
            Parts::POSITIONS | Parts::TRIANGLES,
        ] {
            assert_eq!(snapshot.mesh(parts).unwrap().topology, *id);
            assert_eq!(cache.get(&proxy, index, parts).unwrap().topology, *id);
        }
        let unseen = snapshot.mesh(Parts::POSITIONS).unwrap().topology;
        assert_eq!(unseen == *id, index == 0);
        assert!((0..4).all(|other| other == index || ids[other] != unseen || index == 0));
    }
    // A mesh of the cache that gets its triangles later.
    let cache = SnapshotCache::new(1 << 20);
    assert_ne!(
        cache.get(&proxy, 2, Parts::NORMALS).unwrap().topology,
        ids[2]
    );
    assert_eq!(
        cache.get(&proxy, 2, Parts::TRIANGLES).unwrap().topology,
        ids[2]
    );
    assert_eq!(
        cache.get(&proxy, 2, Parts::POSITIONS).unwrap().topology,
        ids[2]
    );
}

/// Triangles of more than a piece are hashed as a whole, or in pieces while the stream is inflated.
#[test]
fn triangles_have_one_topology_in_whatever_pieces_they_are_seen() {
    let meshes = [0.0, 0.3, 0.6].map(|time| {
        let mut mesh = Mesh::sheet(60, 1, time);
        if time > 0.0 {
            mesh.triangles.reverse();
        }
        mesh
    });
    let snapshots: Vec<_> = meshes
        .iter()
        .map(|mesh| snapshot(mesh, mesh.complete()))
        .collect();
    for dialect in dialects() {
        let proxy = open::proxy(file(&snapshots, dialect));
        let whole = proxy.snapshot(1).unwrap().mesh(Parts::ALL).unwrap();
        assert!(whole.triangles.as_bytes().len() > 200_000);
        assert_eq!(topology(&proxy, 2), whole.topology, "{dialect:?}");
        assert_ne!(topology(&proxy, 0), whole.topology);
    }
}

/// The vertices at a time by a writer, and by arrays that are interpolated and gathered.
fn both_ways(
    proxy: &Proxy,
    writer: &mut VertexWriter,
    timing: &Timing,
    time: f64,
) -> [Vec<[f32; 6]>; 2] {
    let mut scratch = Scratch::default();
    let (mut positions, mut normals) = (Vec::new(), Vec::new());
    proxy
        .positions_at(timing, &[time], Wrap::Loop, &mut positions, &mut scratch)
        .unwrap();
    proxy
        .normals_at(timing, &[time], Wrap::Loop, &mut normals, &mut scratch)
        .unwrap();
    let remap = writer.remap(&proxy.snapshot(0).unwrap()).unwrap();
    let mut bytes = vec![0; remap.vertex_count() * 24];
    writer
        .write_at(proxy, timing, time, Wrap::Loop, &mut [&mut bytes])
        .unwrap();
    let numbers: Vec<f32> = bytes
        .chunks(4)
        .map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()))
        .collect();
    let written = numbers
        .chunks(6)
        .map(|vertex| vertex.try_into().unwrap())
        .collect();
    let sources = remap
        .sources(0)
        .unwrap()
        .iter()
        .zip(remap.sources(1).unwrap());
    let gathered = sources.map(|(position, normal)| {
        let ([x, y, z], [a, b, c]) = (positions[*position as usize], normals[*normal as usize]);
        [x, y, z, a, b, c]
    });
    [written, gathered.collect()]
}

#[test]
fn complete_snapshots_are_interpolated_by_every_call_with_the_same_bits() {
    for proxy in [complete(&[false; 5], Dialect::default()), mixed(8)] {
        let count = proxy.snapshot_count();
        let timing = Timing::new(0.0, 1.0, count);
        let cache = SnapshotCache::new(1 << 20);
        let mut own = VertexWriter::new(layout()).unwrap();
        let mut of_cache = own.clone().with_cache(cache.clone());
        for step in 0..3 * count {
            let time = step as f64 * 0.37;
            for writer in [&mut own, &mut of_cache] {
                let [written, gathered] = both_ways(&proxy, writer, &timing, time);
                assert!(written == gathered, "at {time}");
            }
            let (mut cached, mut direct) = (Vec::new(), Vec::new());
            let mut scratch = Scratch::default();
            cache
                .positions_at(&proxy, &timing, &[time], Wrap::Loop, &mut cached)
                .unwrap();
            proxy
                .positions_at(&timing, &[time], Wrap::Loop, &mut direct, &mut scratch)
                .unwrap();
            assert!(cached == direct, "at {time}");
            cache
                .normals_at(&proxy, &timing, &[time], Wrap::Loop, &mut cached)
                .unwrap();
            proxy
                .normals_at(&timing, &[time], Wrap::Loop, &mut direct, &mut scratch)
                .unwrap();
            assert!(cached == direct, "at {time}");
            cache
                .velocities(&proxy, &timing, step % count, &mut cached)
                .unwrap();
            proxy
                .velocities(&timing, step % count, &mut direct, &mut scratch)
                .unwrap();
            assert!(cached == direct, "at {time}");
        }
    }
}

#[test]
fn other_triangles_are_refused_by_every_call() {
    let proxy = complete(&[false, true], Dialect::default());
    let timing = Timing::new(0.0, 1.0, 2);
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    let cache = SnapshotCache::new(1 << 20);
    let mut writer = VertexWriter::new(layout()).unwrap();
    let mut bytes = vec![0; 10_000];
    let errors = [
        proxy
            .positions_at(&timing, &[0.5], Wrap::Clamp, &mut out, &mut scratch)
            .unwrap_err(),
        proxy
            .velocities(&timing, 0, &mut out, &mut scratch)
            .unwrap_err(),
        cache
            .positions_at(&proxy, &timing, &[0.5], Wrap::Clamp, &mut out)
            .unwrap_err(),
        writer
            .write_at(&proxy, &timing, 0.5, Wrap::Clamp, &mut [&mut bytes])
            .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    }
    // Each snapshot itself is written, with its own vertices.
    let remaps = [0, 1].map(|index| {
        let snapshot = proxy.snapshot(index).unwrap();
        writer.write(&snapshot, &mut [&mut bytes]).unwrap();
        writer.remap(&snapshot).unwrap()
    });
    assert_ne!(remaps[0].indices(), remaps[1].indices());
}

#[test]
fn damage_of_triangles_is_an_error_where_they_are_compared() {
    let meshes = [0.0, 0.3].map(|time| sheet(time, false));
    let mut contents = meshes.each_ref().map(Mesh::complete);
    // Without the last byte of the triangles.
    contents[1].pop();
    let snapshots: Vec<_> = meshes
        .iter()
        .zip(contents)
        .map(|(mesh, content)| snapshot(mesh, content))
        .collect();
    let proxy = open::proxy(file(&snapshots, Dialect::default()));
    let damaged = proxy.snapshot(1).unwrap();
    let mut scratch = Scratch::default();
    assert!(damaged.positions().is_ok());
    assert_eq!(
        damaged.topology(&mut scratch).unwrap_err().kind(),
        ErrorKind::Malformed
    );
    let error = damaged.mesh(Parts::ALL).unwrap_err();
    assert_eq!(
        damaged.topology(&mut scratch).unwrap_err().to_string(),
        error.to_string()
    );
    let mut writer = VertexWriter::new(layout()).unwrap();
    let mut bytes = vec![0; 10_000];
    assert_eq!(
        writer
            .write(&damaged, &mut [&mut bytes])
            .unwrap_err()
            .kind(),
        ErrorKind::Malformed
    );
    assert!(
        writer
            .write(&proxy.snapshot(0).unwrap(), &mut [&mut bytes])
            .is_ok()
    );
}

/// The bytes that a job allocates the second time.
fn again(mut job: impl FnMut()) -> i64 {
    job();
    counted(job).1.total
}

#[test]
fn nothing_is_allocated_for_complete_snapshots_that_have_been_seen() {
    for proxy in [complete(&[false; 5], Dialect::default()), mixed(8)] {
        let count = proxy.snapshot_count();
        let timing = Timing::new(0.0, 1.0, count);
        let mut writer = VertexWriter::new(layout()).unwrap();
        let vertices = writer
            .remap(&proxy.snapshot(0).unwrap())
            .unwrap()
            .vertex_count();
        let mut bytes = vec![0; vertices * 24];
        let written = again(|| {
            for index in 0..count {
                writer
                    .write(&proxy.snapshot(index).unwrap(), &mut [&mut bytes])
                    .unwrap();
            }
        });
        let moved = again(|| {
            for step in 0..3 * count {
                let time = step as f64 * 0.37;
                writer
                    .write_at(&proxy, &timing, time, Wrap::Loop, &mut [&mut bytes])
                    .unwrap();
            }
        });
        let (mut out, mut scratch) = (Vec::new(), Scratch::default());
        let interpolated = again(|| {
            for step in 0..3 * count {
                let time = step as f64 * 0.37;
                proxy
                    .positions_at(&timing, &[time], Wrap::Loop, &mut out, &mut scratch)
                    .unwrap();
            }
        });
        assert_eq!([written, moved, interpolated], [0; 3]);
    }
}

/// Masks of parts in turn keep the memory of the others.
#[test]
fn nothing_is_allocated_for_any_mask_of_parts() {
    let parts = [
        Parts::POSITIONS,
        Parts::NORMALS,
        Parts::TEXCOORDS,
        Parts::TRIANGLES,
    ];
    let mask = |bits: usize| {
        let wanted = (0..4)
            .filter(|bit| bits & 1 << bit != 0)
            .map(|bit| parts[bit]);
        wanted.fold(Parts::default(), |all, part| all | part)
    };
    for make in [|| complete(&[false; 5], Dialect::default()), || mixed(8)] {
        let proxy = make();
        let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
        // All pairs of masks follow each other.
        let all = again(|| {
            for bits in 0..256 {
                for index in 0..proxy.snapshot_count() {
                    let snapshot = proxy.snapshot(index).unwrap();
                    snapshot
                        .mesh_into(mask(bits % 16), &mut mesh, &mut scratch)
                        .unwrap();
                    snapshot
                        .mesh_into(mask(bits / 16), &mut mesh, &mut scratch)
                        .unwrap();
                }
            }
        });
        assert_eq!(all, 0);
        for bits in 0..16 {
            let one = again(|| {
                let snapshot = proxy.snapshot(2).unwrap();
                snapshot
                    .mesh_into(mask(bits), &mut mesh, &mut scratch)
                    .unwrap();
            });
            assert_eq!(one, 0, "mask {bits}");
        }
        // Differences before the whole first mesh has been decoded.
        let fresh = make();
        for bits in [1, 2, 3] {
            let one = again(|| {
                fresh
                    .snapshot(2)
                    .unwrap()
                    .mesh_into(mask(bits), &mut mesh, &mut scratch)
                    .unwrap();
            });
            assert_eq!(one, 0, "mask {bits} of a proxy that was just opened");
        }
    }
}
