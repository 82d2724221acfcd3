//! Snapshots that are decoded straight into vertex buffers, and what such calls allocate.

use std::cell::Cell;
use std::path::Path;

use meshmap::cgeo::{
    Dialect, MeshBuffer, Parts, Proxy, SnapshotCache, Timing, Triangles, VertexWriter, Wrap,
};
use meshmap::{
    ErrorKind, Limits, MeshFile, Options, Parallelism, Scratch, Semantic, Source, VertexFormat,
    VertexLayout, iqm, openctm, slmesh,
};
use meshmap_testing::allocator::{Counting, counted};
use meshmap_testing::fixtures::cgeo::{Mesh, animation, file, snapshot};
use meshmap_testing::{data, open, test_files};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Positions, small normals and texture coordinates, with a gap of 4 bytes.
fn layout() -> VertexLayout {
    VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with_default(
            Semantic::Normal,
            VertexFormat::SNORM8X4,
            [0.0, 0.0, 1.0, 0.0],
        )
        .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT32X2, [0.5; 4])
        .with_stride(28)
}

fn proxy(bytes: Vec<u8>) -> Proxy {
    open::proxy(bytes)
}

/// The vertices of a snapshot, in memory that is filled with something else before.
fn written(
    writer: &mut VertexWriter,
    proxy: &Proxy,
    index: usize,
    stride: usize,
) -> meshmap::Result<Vec<u8>> {
    let snapshot = proxy.snapshot(index)?;
    let count = writer.remap(&snapshot)?.vertex_count();
    let mut out = vec![0xa5; count * stride + 3];
    writer.write(&snapshot, &mut [&mut out])?;
    assert_eq!(out.split_off(count * stride), [0xa5; 3]);
    Ok(out)
}

fn interleaved(proxy: &Proxy, index: usize, layout: &VertexLayout) -> meshmap::Result<Vec<u8>> {
    let view = proxy.snapshot(index)?.view()?;
    let mut out = vec![0; view.vertex_count() * layout.stride()];
    view.interleave_into(layout, &mut out)?;
    Ok(out)
}

fn every_snapshot_has_the_vertices_of_its_view(root: &Path) {
    let layouts = [
        layout(),
        VertexLayout::new().with(Semantic::Position, VertexFormat::FLOAT32X3),
        VertexLayout::new()
            .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT16X2, [0.0; 4])
            .with(Semantic::Position, VertexFormat::FLOAT32X4)
            .with_default(Semantic::Normal, VertexFormat::FLOAT32X3, [0.0; 4]),
    ];
    let (mut same, mut refused) = (0, 0);
    for path in data::files(&root.join("cgeo/valid")) {
        let Ok(MeshFile::CGeo(proxy)) = MeshFile::open(&path) else {
            continue;
        };
        for layout in &layouts {
            let mut writer = VertexWriter::new(layout.clone()).unwrap();
            for index in (0..proxy.snapshot_count()).chain([0]) {
                let found = written(&mut writer, &proxy, index, layout.stride());
                match (found, interleaved(&proxy, index, layout)) {
                    (Ok(found), Ok(expected)) => {
                        assert!(found == expected, "{} {index} {layout:?}", path.display());
                        same += 1;
                    }
                    (Err(found), Err(expected)) => {
                        assert_eq!(
                            found.kind(),
                            expected.kind(),
                            "{}: {found} | {expected}",
                            path.display()
                        );
                        refused += 1;
                    }
                    (found, expected) => {
                        panic!("{}: {:?} {:?}", path.display(), found.err(), expected.err())
                    }
                }
            }
        }
    }
    assert!(same > 300 && refused < same / 10, "{same} {refused}");
}

test_files!(every_snapshot_has_the_vertices_of_its_view);

#[test]
fn between_snapshots_positions_normals_and_velocities_are_those_of_the_motion() {
    let (_, snapshots) = animation(9, 5);
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let timing = Timing::new(0.0, 0.5, 5);
    let layout = VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with(Semantic::Normal, VertexFormat::FLOAT32X3)
        .with_default(
            Semantic::Custom("velocity".into()),
            VertexFormat::FLOAT32X3,
            [9.0; 4],
        );
    let mut writer = VertexWriter::new(layout).unwrap();
    let remap = writer.remap(&proxy.snapshot(0).unwrap()).unwrap();
    let (mut out, mut scratch) = (vec![0; remap.vertex_count() * 36], Scratch::default());
    let cache = SnapshotCache::new(1 << 20);
    for (seconds, wrap) in [
        (0.0, Wrap::Clamp),
        (0.6, Wrap::Clamp),
        (1.0, Wrap::Clamp),
        (2.0, Wrap::Clamp),
        (2.2, Wrap::Loop),
    ] {
        writer
            .write_at(&proxy, &timing, seconds, wrap, &mut [&mut out])
            .unwrap();
        let (mut positions, mut normals, mut cached) = (Vec::new(), Vec::new(), Vec::new());
        proxy
            .positions_at(&timing, &[seconds], wrap, &mut positions, &mut scratch)
            .unwrap();
        proxy
            .normals_at(&timing, &[seconds], wrap, &mut normals, &mut scratch)
            .unwrap();
        cache
            .normals_at(&proxy, &timing, &[seconds], wrap, &mut cached)
            .unwrap();
        assert_eq!(normals, cached);
        let key = timing.index_at(seconds, wrap).unwrap();
        // The last snapshot has no next one, and moves as before it.
        let (from, to) = if key.from == key.to {
            (key.from - 1, key.to)
        } else {
            (key.from, key.to)
        };
        let [from, to] =
            [from, to].map(|index| proxy.snapshot(index).unwrap().positions().unwrap().to_vec());
        let velocity =
            |at: usize| std::array::from_fn(|axis| (to[at][axis] - from[at][axis]) * 2.0);
        for (vertex, bytes) in out.chunks_exact(36).enumerate() {
            let found: Vec<f32> = bytes
                .chunks(4)
                .map(|b| f32::from_ne_bytes(b.try_into().unwrap()))
                .collect();
            let [at, normal] = [0, 1].map(|stream| remap.sources(stream).unwrap()[vertex] as usize);
            let velocity: [f32; 3] = velocity(at);
            assert_eq!(
                found,
                [positions[at], normals[normal], velocity].concat(),
                "{seconds} {vertex}"
            );
            assert!((normals[normal].iter().map(|n| n * n).sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
    // A snapshot by itself does not move.
    writer
        .write(&proxy.snapshot(1).unwrap(), &mut [&mut out])
        .unwrap();
    assert_eq!(out[24..28], 9.0_f32.to_ne_bytes());
}

#[test]
fn other_triangles_make_another_remap_and_no_motion() {
    let (_, mut snapshots) = animation(5, 4);
    let other = Mesh::sheet(7, 1, 0.5);
    snapshots[2] = snapshot(&other, other.complete());
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let mut writer = VertexWriter::new(layout()).unwrap();
    let sizes: Vec<usize> = (0..4)
        .map(|index| written(&mut writer, &proxy, index, 28).unwrap().len() / 28)
        .collect();
    assert!(
        sizes[0] == sizes[1] && sizes[1] == sizes[3] && sizes[2] > sizes[1],
        "{sizes:?}"
    );
    let clone = writer.clone();
    assert!(format!("{clone:?}").contains(&sizes[3].to_string()));
    let mut out = vec![0; sizes[2] * 28];
    let timing = Timing::new(0.0, 1.0, 4);
    let error = writer
        .write_at(&proxy, &timing, 1.5, Wrap::Clamp, &mut [&mut out])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    let at = |index: usize| proxy.snapshot(index).unwrap();
    let ids = [0, 2].map(|index| writer.write(&at(index), &mut [&mut out]).unwrap());
    assert_ne!(ids[0], ids[1]);
    assert_eq!(
        writer
            .write(&at(0), &mut [&mut out[..28]])
            .unwrap_err()
            .kind(),
        ErrorKind::OutOfRange
    );
    let error = writer
        .write_at(&proxy, &timing, f64::NAN, Wrap::Clamp, &mut [&mut out])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    let overlapping = layout()
        .with(Semantic::Normal, VertexFormat::FLOAT32X3)
        .at(8);
    assert_eq!(
        VertexWriter::new(overlapping).unwrap_err().kind(),
        ErrorKind::OutOfRange
    );
}

#[test]
fn limits_hold_whatever_was_decoded_before() {
    let (_, snapshots) = animation(60, 3);
    let bytes = file(&snapshots, Dialect::default());
    let timing = Timing::new(0.0, 1.0, 3);
    let open = |most: u64| {
        let options = Options::default().with_limits(
            Limits::default()
                .with_max_total_bytes(most)
                .with_free_ratio(0),
        );
        Proxy::from_source(Source::from_bytes(bytes.clone()), &options).unwrap()
    };
    let mut verdicts = Vec::new();
    for most in (1..60).map(|step| step * 100_000) {
        let proxy = open(most);
        let write = |times: &[f64]| {
            let mut writer = VertexWriter::new(layout()).unwrap();
            let mut out = vec![0; 60 * 60 * 28 * 2];
            let results: Vec<bool> = times
                .iter()
                .map(|time| {
                    writer
                        .write_at(&proxy, &timing, *time, Wrap::Clamp, &mut [&mut out])
                        .is_ok()
                })
                .collect();
            *results.last().unwrap()
        };
        assert_eq!(write(&[1.5]), write(&[1.0, 1.5, 1.5]), "{most}");
        verdicts.push(write(&[1.5]));
    }
    assert!(verdicts.contains(&false) && verdicts.contains(&true));
}

#[test]
fn velocities_follow_the_direction_of_the_time() {
    let (meshes, snapshots) = animation(5, 3);
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let timing = Timing::new(0.0, 0.5, 3);
    let layout =
        VertexLayout::new().with(Semantic::Custom("velocity".into()), VertexFormat::FLOAT32X3);
    let mut writer = VertexWriter::new(layout).unwrap();
    let remap = writer.remap(&proxy.snapshot(0).unwrap()).unwrap();
    let mut velocities = |seconds: f64, wrap: Wrap| {
        let mut out = vec![0xa5; remap.vertex_count() * 12];
        writer
            .write_at(&proxy, &timing, seconds, wrap, &mut [&mut out])
            .unwrap();
        out.chunks(4)
            .map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()))
            .collect::<Vec<_>>()
    };
    let sources = remap.sources(0).unwrap();
    let step = |from: usize, to: usize, sign: f32| -> Vec<f32> {
        let at = |index: usize, source: &u32| meshes[index].positions[*source as usize];
        let of = |source| {
            (0..3).map(move |axis| (at(to, source)[axis] - at(from, source)[axis]) * 2.0 * sign)
        };
        sources.iter().flat_map(of).collect()
    };
    let close = |found: Vec<f32>, expected: Vec<f32>| {
        assert!(expected.iter().any(|number| *number != 0.0) && found.len() == expected.len());
        let differ = found
            .iter()
            .zip(&expected)
            .filter(|(a, b)| (*a - *b).abs() > 1e-5)
            .count();
        assert_eq!(differ, 0, "{found:?} {expected:?}");
    };
    close(velocities(0.7, Wrap::Clamp), step(1, 2, 1.0));
    close(velocities(1.0, Wrap::Clamp), step(1, 2, 1.0));
    close(velocities(1.2, Wrap::Loop), step(2, 0, 1.0));
    close(velocities(1.2, Wrap::PingPong), step(1, 2, -1.0));
    for seconds in [-0.1, 1.1] {
        assert!(
            velocities(seconds, Wrap::Clamp)
                .iter()
                .all(|number| *number == 0.0),
            "{seconds}"
        );
    }
}

#[test]
fn several_buffers_have_the_attributes_of_one() {
    let (_, snapshots) = animation(9, 3);
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let positions = VertexLayout::new().with(Semantic::Position, VertexFormat::FLOAT32X3);
    let others = VertexLayout::new()
        .with(Semantic::Normal, VertexFormat::SNORM8X4)
        .with(Semantic::TexCoord(0), VertexFormat::FLOAT32X2)
        .with_stride(16);
    let mut writer = VertexWriter::new(positions)
        .unwrap()
        .with_buffer(others)
        .unwrap();
    assert_eq!(
        writer.parts(),
        Parts::POSITIONS | Parts::NORMALS | Parts::TEXCOORDS
    );
    let snapshot = proxy.snapshot(2).unwrap();
    let count = writer.remap(&snapshot).unwrap().vertex_count();
    let (mut first, mut second) = (vec![0xa5; count * 12], vec![0xa5; count * 16]);
    writer
        .write(&snapshot, &mut [&mut first, &mut second])
        .unwrap();
    let expected = interleaved(&proxy, 2, &layout()).unwrap();
    let vertices = first
        .chunks(12)
        .zip(second.chunks(16))
        .map(|(first, second)| [first, second].concat());
    assert_eq!(vertices.collect::<Vec<_>>().concat(), expected);
    let error = writer.write(&snapshot, &mut [&mut first]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
}

#[test]
fn a_material_has_its_triangles_and_no_other_vertices() {
    let (meshes, snapshots) = animation(6, 3);
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let positions = VertexLayout::new().with(Semantic::Position, VertexFormat::FLOAT32X3);
    let snapshot = proxy.snapshot(2).unwrap();
    for material in 0..4 {
        let mut writer = VertexWriter::new(positions.clone())
            .unwrap()
            .with_material(material);
        let remap = writer.remap(&snapshot).unwrap();
        let mut out = vec![0; remap.vertex_count() * 12];
        writer.write(&snapshot, &mut [&mut out]).unwrap();
        let vertices: Vec<&[u8]> = out.chunks(12).collect();
        let triangles = meshes[2].triangles.iter().enumerate();
        let of_material = triangles.filter(|(number, _)| number % 3 == material as usize);
        let corners: Vec<u32> = of_material
            .flat_map(|(_, [positions, _])| *positions)
            .collect();
        assert_eq!(remap.indices().len(), corners.len(), "{material}");
        for (index, corner) in remap.indices().iter().zip(&corners) {
            let found = vertices[*index as usize].chunks(4);
            let found = found.map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()));
            let expected = meshes[2].positions[*corner as usize];
            assert!(
                found.zip(expected).all(|(a, b)| (a - b).abs() < 1e-6),
                "{material} {corner}"
            );
        }
        let used: std::collections::BTreeSet<u32> = remap.indices().iter().copied().collect();
        assert_eq!(used.len(), remap.vertex_count(), "{material}");
    }
}

#[test]
fn writers_of_a_cache_decode_each_snapshot_once() {
    let (_, snapshots) = animation(9, 4);
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let timing = Timing::new(0.0, 1.0, 4);
    let cache = SnapshotCache::new(1 << 20);
    assert_eq!(cache.capacity(), 1 << 20);
    let mut own = VertexWriter::new(layout()).unwrap();
    let mut shared = own.clone().with_cache(cache.clone());
    let mut others = shared.clone();
    let count = own
        .remap(&proxy.snapshot(0).unwrap())
        .unwrap()
        .vertex_count();
    for time in [0.0, 0.3, 1.0, 1.5, 2.9, 3.0, 3.5] {
        let mut outs = [0; 3].map(|_| vec![0xa5; count * 28]);
        for (writer, out) in [&mut own, &mut shared, &mut others]
            .into_iter()
            .zip(&mut outs)
        {
            writer
                .write_at(&proxy, &timing, time, Wrap::Loop, &mut [out])
                .unwrap();
        }
        assert!(outs[0] == outs[1] && outs[1] == outs[2], "{time}");
    }
    // Once all parts of the first one, for the vertices.
    let stats = cache.stats();
    assert!(
        stats.decodes <= 5 && stats.repeated_decodes == 0,
        "{stats:?}"
    );
}

/// Times of instances, in no order, all around a loop of `count` snapshots.
fn times_of_instances(timing: &Timing, instances: u32, count: usize) -> Vec<f64> {
    let length = timing.step() * count as f64;
    let mut times = vec![timing.time_of(3), timing.time_of(count - 1), -length / 3.0];
    for instance in 0..instances {
        let place = f64::from(instance.wrapping_mul(0x9e37_79b1)) / f64::from(u32::MAX);
        times.push(timing.start() + place * 2.0 * length);
    }
    times
}

/// More snapshots than the cache has room for: one call for all instances decodes each once.
#[test]
fn many_instances_decode_each_snapshot_once() {
    let (_, snapshots) = animation(9, 40);
    let proxy = proxy(file(&snapshots, Dialect::default()));
    let timing = proxy.timing().unwrap();
    let times = times_of_instances(&timing, 64, 40);
    let whole = SnapshotCache::new(1 << 30);
    for index in 0..40 {
        whole
            .get(&proxy, index, Parts::POSITIONS | Parts::NORMALS)
            .unwrap();
    }
    let room = whole.stats().bytes_held / 2;

    let mut plain = VertexWriter::new(layout()).unwrap();
    let bytes = 28
        * plain
            .remap(&proxy.snapshot(0).unwrap())
            .unwrap()
            .vertex_count();
    for wrap in [Wrap::Loop, Wrap::PingPong, Wrap::Clamp] {
        let cache = SnapshotCache::new(room);
        let mut cached = plain.clone().with_cache(cache.clone());
        for writer in [&mut plain, &mut cached] {
            let mut outs: Vec<_> = times.iter().map(|_| vec![7; bytes]).collect();
            let mut buffers: Vec<_> = outs.iter_mut().map(|out| [&mut out[..]]).collect();
            let mut outputs: Vec<_> = times
                .iter()
                .zip(&mut buffers)
                .map(|(time, buffer)| (*time, &mut buffer[..]))
                .collect();
            let all = writer
                .write_many_at(&proxy, &timing, wrap, &mut outputs)
                .unwrap();
            let mut alone = VertexWriter::new(layout()).unwrap();
            let mut expected = vec![9; bytes];
            for (time, out) in times.iter().zip(&outs) {
                let one = alone
                    .write_at(&proxy, &timing, *time, wrap, &mut [&mut expected])
                    .unwrap();
                assert!(one == all && expected == *out, "{wrap:?} {time}");
            }
        }
        let stats = cache.stats();
        assert!(
            stats.decodes <= 40 && stats.repeated_decodes == 0,
            "{wrap:?} {stats:?}"
        );

        let cache = SnapshotCache::new(room);
        let (mut many, mut direct) = (Vec::new(), Vec::new());
        cache
            .positions_at(&proxy, &timing, &times, wrap, &mut many)
            .unwrap();
        let stats = cache.stats();
        assert!(
            stats.decodes <= 40 && stats.repeated_decodes == 0,
            "{wrap:?} {stats:?}"
        );
        let (mut scratch, mut one) = (Scratch::default(), Vec::new());
        proxy
            .positions_at(&timing, &times, wrap, &mut direct, &mut scratch)
            .unwrap();
        assert!(many == direct);
        for (time, positions) in times.iter().zip(many.chunks(many.len() / times.len())) {
            proxy
                .positions_at(&timing, &[*time], wrap, &mut one, &mut scratch)
                .unwrap();
            assert!(one == positions, "{wrap:?} {time}");
        }
    }
    let error = plain
        .write_many_at(&proxy, &timing, Wrap::Loop, &mut [])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
}

#[test]
fn equal_triangles_that_are_stored_again_keep_the_vertices() {
    let meshes = [0.0, 0.3, 0.6, 0.9].map(|time| Mesh::sheet(6, 1, time));
    let all = meshes
        .each_ref()
        .map(|mesh| snapshot(mesh, mesh.complete()));
    let proxy = proxy(file(&all, Dialect::default()));
    let timing = Timing::new(0.0, 1.0, 4);
    let positions = VertexLayout::new().with(Semantic::Position, VertexFormat::FLOAT32X3);
    let mut writer = VertexWriter::new(positions).unwrap();
    let at = |index: usize| proxy.snapshot(index).unwrap();
    let remap = writer.remap(&at(0)).unwrap();
    let mut out = vec![0; remap.vertex_count() * 12];
    let mut ids = vec![writer.write(&at(0), &mut [&mut out]).unwrap()];
    for time in [0.5, 1.5, 2.5, 3.5] {
        ids.push(
            writer
                .write_at(&proxy, &timing, time, Wrap::Loop, &mut [&mut out])
                .unwrap(),
        );
        let (from, to) = (&meshes[time as usize], &meshes[(time as usize + 1) % 4]);
        for (vertex, source) in out.chunks(12).zip(remap.sources(0).unwrap()) {
            let z = f32::from_ne_bytes(vertex[8..].try_into().unwrap());
            let [a, b] = [from, to].map(|mesh| mesh.positions[*source as usize][2]);
            assert!((z - (a + b) / 2.0).abs() < 1e-6, "{time}");
        }
        assert!(
            std::sync::Arc::ptr_eq(&remap, &writer.remap(&at(time as usize)).unwrap()),
            "{time}"
        );
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

/// The bytes that a call allocates once its memory is large enough.
fn again(mut job: impl FnMut()) -> i64 {
    (0..4).for_each(|_| job());
    counted(job).1.total
}

type Calls = Vec<(&'static str, i64)>;

/// The table of docs/performance.md: bytes that functions of a renderer's inner loop allocate once their memory is large enough, with the
/// default options and a stream above 1 MB, and where that differs.
#[test]
fn the_page_has_what_each_call_allocates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("animation.cgeo");
    std::fs::write(&path, file(&animation(245, 4).1, Dialect::default())).unwrap();
    let in_memory = |path: &Path| Source::from_bytes(std::fs::read(path).unwrap());
    let of = |source: &dyn Fn(&Path) -> Source, options: &Options| {
        let mut calls = cgeo(&Proxy::from_source(source(&path), options).unwrap());
        others(&mut calls, source, options);
        calls
    };
    let off = Options::default().with_parallelism(Parallelism::Off);
    let columns = [
        of(&in_memory, &Options::default()),
        of(&in_memory, &off),
        of(&|path| Source::open(path).unwrap(), &Options::default()),
    ];
    let mut table = String::from(
        "| call | in memory or mapped | the same, `Parallelism::Off` | `Source::open` |\n|---|---|---|---|\n",
    );
    for (row, (call, _)) in columns[0].iter().enumerate() {
        let cells = columns.each_ref().map(|calls| {
            if calls[row].1 == 0 {
                "nothing"
            } else {
                "the bytes read"
            }
        });
        table += &format!("| {call} | {} |\n", cells.join(" | "));
        println!("{call}: {:?}", columns.each_ref().map(|calls| calls[row].1));
    }
    for calls in &columns[..2] {
        assert!(calls.iter().all(|(_, bytes)| *bytes == 0), "{calls:?}");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/performance.md");
    let text = std::fs::read_to_string(&page).unwrap().replace('\r', "");
    let (before, rest) = text.split_once("<!-- table: allocations -->\n\n").unwrap();
    let (stored, after) = rest.split_once("\n<!-- end -->").unwrap();
    if std::env::var_os("MESHMAP_ACCEPT").is_some() {
        let text = format!("{before}<!-- table: allocations -->\n\n{table}\n<!-- end -->{after}");
        std::fs::write(&page, text).unwrap();
    } else {
        assert!(
            stored == table,
            "docs/performance.md differs: run this with MESHMAP_ACCEPT=1\n{table}"
        );
    }
}

/// The calls of an animation of snapshots of 60,025 vertices.
fn cgeo(proxy: &Proxy) -> Calls {
    let timing = proxy.timing().unwrap();
    let first = proxy.snapshot(0).unwrap();
    // Another snapshot each time, because a file that is read by requests keeps the last bytes.
    let number = Cell::new(1);
    let next = || {
        proxy
            .snapshot(number.replace(number.get() % 3 + 1))
            .unwrap()
    };
    let mut s = Scratch::default();
    let (mut vectors, mut mesh, mut triangles) =
        (Vec::new(), MeshBuffer::default(), Triangles::default());
    let mut slice = vec![[0.0_f32; 3]; 245 * 245];
    let mut writer = VertexWriter::new(layout()).unwrap();
    let mut buffer = vec![0; writer.remap(&first).unwrap().vertex_count() * 28];
    let cache = SnapshotCache::new(1 << 30);
    let mut keys = Vec::new();
    let mut table = vec![("`Proxy::snapshot`", again(|| drop(proxy.snapshot(1))))];
    table.push((
        "`Snapshot::positions_into` a vector",
        again(|| next().positions_into(&mut vectors, &mut s).unwrap()),
    ));
    table.push((
        "`Snapshot::positions_into` a slice",
        again(|| next().positions_into(&mut slice[..], &mut s).unwrap()),
    ));
    table.push((
        "`Snapshot::normals_into`",
        again(|| next().normals_into(&mut vectors, &mut s).unwrap()),
    ));
    table.push((
        "`Snapshot::texcoords_into`",
        again(|| next().texcoords_into(0, &mut vectors, &mut s).unwrap()),
    ));
    table.push((
        "`Snapshot::triangles_into`",
        again(|| next().triangles_into(&mut triangles, &mut s).unwrap()),
    ));
    table.push((
        "`Snapshot::mesh_into`, a difference",
        again(|| next().mesh_into(Parts::ALL, &mut mesh, &mut s).unwrap()),
    ));
    let masks = [
        Parts::POSITIONS,
        Parts::TRIANGLES,
        Parts::NORMALS | Parts::TEXCOORDS,
        Parts::ALL,
    ];
    let mut mask = masks.iter().cycle();
    table.push((
        "`Snapshot::mesh_into`, other parts each time",
        again(|| {
            for parts in mask.by_ref().take(masks.len() + 1) {
                next().mesh_into(*parts, &mut mesh, &mut s).unwrap();
            }
        }),
    ));
    table.push((
        "`Snapshot::mesh_into`, complete",
        again(|| {
            assert!(next().counts(&mut s).is_ok());
            first.mesh_into(Parts::ALL, &mut mesh, &mut s).unwrap();
        }),
    ));
    table.push((
        "`Snapshot::point_cloud_into`",
        again(|| drop(next().point_cloud_into(&mut vectors, &mut s))),
    ));
    table.push((
        "`Snapshot::position_differences_into`",
        again(|| drop(next().position_differences_into(&mut vectors, &mut s))),
    ));
    table.push((
        "`Snapshot::counts`",
        again(|| assert!(next().counts(&mut s).is_ok())),
    ));
    table.push((
        "`Snapshot::bounding_box`",
        again(|| assert!(next().bounding_box(&mut s).is_ok())),
    ));
    table.push((
        "`Snapshot::topology`",
        again(|| assert!(next().topology(&mut s).is_ok())),
    ));
    table.push((
        "`Snapshot::is_complete`",
        again(|| assert!(next().is_complete(&mut s).is_ok())),
    ));
    table.push((
        "`Snapshot::samples`",
        again(|| assert!(next().samples(&mut s).is_ok())),
    ));
    table.push((
        "`Timing::keys_into`",
        again(|| timing.keys_into(0.01, 0.1, Wrap::Loop, &mut keys).unwrap()),
    ));
    let times = [0.01, 0.05];
    table.push((
        "`Proxy::positions_at`",
        again(|| {
            proxy
                .positions_at(&timing, &times, Wrap::Loop, &mut vectors, &mut s)
                .unwrap()
        }),
    ));
    table.push((
        "`Proxy::normals_at`",
        again(|| {
            proxy
                .normals_at(&timing, &times, Wrap::Loop, &mut vectors, &mut s)
                .unwrap()
        }),
    ));
    table.push((
        "`Proxy::velocities`",
        again(|| proxy.velocities(&timing, 1, &mut vectors, &mut s).unwrap()),
    ));
    table.push((
        "`VertexWriter::remap`",
        again(|| drop(writer.remap(&next()).unwrap())),
    ));
    table.push((
        "`VertexWriter::write`, the same snapshot",
        again(|| assert!(writer.write(&first, &mut [&mut buffer]).is_ok())),
    ));
    table.push((
        "`VertexWriter::write`, other snapshots",
        again(|| assert!(writer.write(&next(), &mut [&mut buffer]).is_ok())),
    ));
    let mut time = 0.0;
    table.push((
        "`VertexWriter::write_at`",
        again(|| {
            time += 0.03;
            writer
                .write_at(proxy, &timing, time, Wrap::Loop, &mut [&mut buffer])
                .unwrap();
        }),
    ));
    let mut others = buffer.clone();
    // Over the seam of a loop, between the first two snapshots, and before the last one.
    let last = timing.time_of(proxy.snapshot_count() - 1);
    let at_seam = last + timing.step() / 2.0;
    let instances = [last - timing.step() / 2.0, at_seam, timing.start() + 0.01];
    table.push((
        "`VertexWriter::write_many_at`",
        again(|| {
            let [before, at_seam, after] = instances;
            let (mut first, mut second) = ([&mut buffer[..]], [&mut others[..]]);
            let mut outputs = [(at_seam, &mut first[..]), (before, &mut second[..])];
            writer
                .write_many_at(proxy, &timing, Wrap::Loop, &mut outputs)
                .unwrap();
            outputs[0].0 = after;
            writer
                .write_many_at(proxy, &timing, Wrap::Loop, &mut outputs)
                .unwrap();
        }),
    ));
    table.push((
        "`SnapshotCache::get`, cached",
        again(|| drop(cache.get(proxy, 1, Parts::ALL).unwrap())),
    ));
    table.push((
        "`SnapshotCache::positions_at`, cached",
        again(|| {
            cache
                .positions_at(proxy, &timing, &times, Wrap::Loop, &mut vectors)
                .unwrap()
        }),
    ));
    table.push((
        "`SnapshotCache::normals_at`, cached",
        again(|| {
            cache
                .normals_at(proxy, &timing, &times, Wrap::Loop, &mut vectors)
                .unwrap()
        }),
    ));
    cache_hits(&mut table);
    table
}

/// Hits in caches with 1, 12 and 1,000 entries, in turn and at random, with masks of parts in turn.
fn cache_hits(table: &mut Calls) {
    const MASKS: [Parts; 4] = [
        Parts::POSITIONS,
        Parts::NORMALS,
        Parts::ALL,
        Parts::TRIANGLES,
    ];
    let proxy = proxy(file(&animation(2, 1_000).1, Dialect::default()));
    let timing = proxy.timing().unwrap();
    let (mut get, mut try_get, mut motion, mut out) = (0, 0, 0, Vec::new());
    for entries in [1, 12, 1_000] {
        let cache = SnapshotCache::new(1 << 30);
        (0..entries).for_each(|index| drop(cache.get(&proxy, index, Parts::ALL).unwrap()));
        let mut random = 1_u32;
        let mut indices: Vec<usize> = (0..entries).collect();
        for _ in 0..2_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            indices.push((random >> 8) as usize % entries);
        }
        let masks = || indices.iter().zip(MASKS.into_iter().cycle());
        get += again(|| {
            for (index, parts) in masks() {
                assert!(
                    cache
                        .get(&proxy, *index, parts)
                        .unwrap()
                        .parts
                        .contains(parts)
                );
            }
        });
        try_get += again(|| {
            for (index, parts) in masks() {
                assert!(cache.try_get(&proxy, *index, parts).is_some());
            }
        });
        motion += again(|| {
            for index in &indices {
                let (time, other) = (
                    timing.time_of(*index),
                    timing.time_of(entries - 1 - index % entries),
                );
                cache
                    .positions_at(&proxy, &timing, &[time, other], Wrap::Clamp, &mut out)
                    .unwrap();
                cache
                    .normals_at(&proxy, &timing, &[time, other], Wrap::Clamp, &mut out)
                    .unwrap();
                if entries == 1_000 {
                    cache.velocities(&proxy, &timing, *index, &mut out).unwrap();
                }
            }
        });
        assert_eq!(cache.stats().decodes, entries as u64);
    }
    table.push(("`SnapshotCache::get`, 1 to 1,000 cached snapshots", get));
    table.push((
        "`SnapshotCache::try_get`, 1 to 1,000 cached snapshots",
        try_get,
    ));
    table.push((
        "`SnapshotCache::velocities` and others, 1 to 1,000 cached snapshots",
        motion,
    ));
}

/// Hits in a full cache change the policy of eviction, and allocate nothing either.
#[test]
fn hits_in_a_full_cache_allocate_nothing() {
    let proxy = proxy(file(&animation(2, 40).1, Dialect::default()));
    let one = {
        let cache = SnapshotCache::new(1 << 30);
        drop(cache.get(&proxy, 1, Parts::POSITIONS).unwrap());
        cache.stats().bytes_held
    };
    let cache = SnapshotCache::new(one * 36);
    let (mut hits, mut bytes) = (0, 0);
    for request in 0..4_000 {
        // Loops, and half of the loop for a while.
        let index = request % if request / 400 % 2 == 0 { 40 } else { 20 };
        let before = cache.stats().hits;
        let (mesh, count) = counted(|| cache.get(&proxy, index, Parts::POSITIONS).unwrap());
        drop(mesh);
        if cache.stats().hits > before {
            (hits, bytes) = (hits + 1, bytes + count.total);
        }
    }
    assert!(hits > 2_000 && bytes == 0, "{bytes} bytes for {hits} hits");
}

/// The calls of other formats.
fn others(table: &mut Calls, source: &dyn Fn(&Path) -> Source, options: &Options) {
    let bytes = |format: &str, name: &str| source(&data::valid(format, name));
    let model = iqm::Model::from_source(bytes("iqm", "skin_multi_anim.iqm"), options).unwrap();
    let (frames, skeleton) = (model.frames(), model.skeleton().unwrap());
    let mut pose = vec![iqm::Trs::default(); frames.pose_count()];
    let mut matrices = vec![iqm::IDENTITY; pose.len()];
    table.push((
        "`iqm::Frames::read_frame_into`",
        again(|| frames.read_frame_into(1, &mut pose).unwrap()),
    ));
    table.push((
        "`iqm::Frames::interpolate_into`",
        again(|| frames.interpolate_into(0, 1, 0.5, &mut pose).unwrap()),
    ));
    table.push((
        "`iqm::Skeleton::skinning_matrices_into`",
        again(|| {
            skeleton
                .skinning_matrices_into(&pose, &mut matrices)
                .unwrap()
        }),
    ));
    let mut s = Scratch::default();
    for (name, call) in [
        ("cyl_RAW_pn.ctm", "`openctm::Mesh::arrays_into`, RAW"),
        (
            "conv_sphere_obj_MG1.ctm",
            "`openctm::Mesh::arrays_into`, MG1",
        ),
    ] {
        let mesh = openctm::Mesh::at(&bytes("openctm", name), 0, options).unwrap();
        let mut buffer = openctm::MeshBuffer::default();
        table.push((
            call,
            again(|| mesh.arrays_into(&mut buffer, &mut s).unwrap()),
        ));
    }
    let asset =
        slmesh::Asset::from_source(bytes("slmesh", "nodemv_02_static_4lod.slmesh"), options)
            .unwrap();
    let mut buffer = slmesh::MeshBuffer::default();
    table.push((
        "`slmesh::Asset::lod_into`",
        again(|| {
            assert!(
                asset
                    .lod_into(slmesh::Lod::High, &mut buffer, &mut s)
                    .unwrap()
            )
        }),
    ));
}
