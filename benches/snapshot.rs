//! One snapshot out of many, and playing all of them: CGeo.
//!
//! Prints a table of ratios, with the bar that each is held against. The files are generated; with `MESHMAP_CORPUS`,
//! the animation is the large one of the corpus in that folder.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};

use meshmap::cgeo::{Dialect, MeshBuffer, Parts, Proxy, SnapshotCache, Wrap, raw};
use meshmap::{Codec, Options, Scratch, Source, VertexRemap};
use meshmap_testing::fixtures::cgeo;
use meshmap_testing::measure::{Table, interleave};

const ROUNDS: usize = 200;

fn main() {
    // `cargo test --benches` runs this too, and has no time for it.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let animation = animation(folder.path());
    let mut table = Table::default();
    flat(folder.path(), &mut table);
    floor(&animation, &mut table);
    positions(&animation, &mut table);
    first_frame(folder.path(), &mut table);
    first_view(&mut table);
    uncompressed(folder.path(), &mut table);
    shutter(&animation, &mut table);
    instances(&animation, &mut table);
    play(&animation, &mut table);
    play_positions(folder.path(), &mut table);
    ask(&animation, &mut table);
    print!("{table}");
}

fn map(path: &Path) -> Proxy {
    #[allow(unsafe_code, reason = "maps are what is measured")]
    // SAFETY: nobody changes the files while this runs.
    let source = unsafe { Source::map(path) }.expect("a file that can be mapped");
    Proxy::from_source(source, &Options::default()).expect("a file without errors")
}

fn animation(folder: &Path) -> PathBuf {
    if let Some(corpus) = std::env::var_os("MESHMAP_CORPUS") {
        return Path::new(&corpus).join("cgeo/large/anim_60k_40.cgeo");
    }
    let path = folder.join("animation.cgeo");
    let (_, snapshots) = cgeo::animation(245, 40);
    std::fs::write(&path, cgeo::file(&snapshots, Dialect::default()))
        .expect("room for a temporary file");
    path
}

/// Numbers in no order, the same ones for everybody.
fn random(count: usize) -> impl FnMut() -> usize {
    let mut state = 1_u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) as usize % (count - 1)
    }
}

/// A random snapshot of a file, decoded into memory that is used again.
fn pull(proxy: Proxy) -> impl FnMut() {
    let (mut mesh, mut scratch, mut next) = (
        MeshBuffer::default(),
        Scratch::default(),
        random(proxy.snapshot_count()),
    );
    proxy.base().expect("a first snapshot");
    move || {
        let snapshot = proxy.snapshot(next()).expect("a snapshot");
        snapshot
            .mesh_into(Parts::ALL, &mut mesh, &mut scratch)
            .expect("a mesh");
        black_box(&mesh);
    }
}

/// The cost of a snapshot does not depend on the size of the file.
fn flat(folder: &Path, table: &mut Table) {
    let (_, snapshots) = cgeo::animation(110, 24);
    let snapshots: Vec<_> = snapshots
        .iter()
        .map(|snapshot| cgeo::snapshot_bytes(snapshot, Dialect::default()))
        .collect();
    let sizes = [10_u64 << 20, 1 << 30, 10 << 30];
    let files = sizes.map(|size| {
        let path = folder.join(format!("{size}.cgeo"));
        cgeo::spread(&path, &snapshots, snapshots.len(), size).expect("a sparse file");
        path
    });
    let open = |path: &PathBuf| Proxy::open(path).expect("a file without errors");
    let [small, middle, large] = &files;
    let [mut a, mut b, mut c] = [small, middle, large].map(|path| pull(map(path)));
    let [small_times, middle_times, large_times] = interleave(ROUNDS, [&mut a, &mut b, &mut c]);
    table.slower(
        "a snapshot of 1 GiB, mapped",
        "one of 10 MiB",
        [middle_times, small_times],
        1.1,
    );
    table.slower(
        "a snapshot of 10 GiB, mapped",
        "one of 10 MiB",
        [large_times, small_times],
        1.1,
    );
    let [mut a, mut c] = [small, large].map(|path| pull(open(path)));
    let [small_times, large_times] = interleave(ROUNDS, [&mut a, &mut c]);
    table.slower(
        "a snapshot of 10 GiB, lazily",
        "one of 10 MiB",
        [large_times, small_times],
        1.1,
    );
}

/// A snapshot whose base is decoded, compared with reading and inflating its mesh section with the same inflater.
fn floor(animation: &Path, table: &mut Table) {
    let proxy = map(animation);
    let sections: Vec<_> = (0..proxy.snapshot_count())
        .map(|index| mesh_section(&proxy, index))
        .collect();
    let mut next = random(sections.len());
    let mut out = vec![0; 16 << 20];
    let mut inflate = zlib_rs::Inflate::new(true, 15);
    let mut bare = || {
        inflate.reset(true);
        let status =
            inflate.decompress(&sections[next()], &mut out, zlib_rs::InflateFlush::NoFlush);
        assert_eq!(status, Ok(zlib_rs::Status::StreamEnd));
        black_box(&out);
    };
    let mut ours = pull(proxy.clone());
    let [ours, bare] = interleave(ROUNDS, [&mut ours, &mut bare]);
    table.slower(
        "a snapshot, base at hand",
        "inflating its section",
        [ours, bare],
        1.1,
    );
}

/// Only positions, compared with the whole mesh.
fn positions(animation: &Path, table: &mut Table) {
    let proxy = map(animation);
    let (mut mesh, mut out) = (MeshBuffer::default(), Vec::new());
    let (mut scratch, mut scratch_too) = (Scratch::default(), Scratch::default());
    for (index, name, bar) in [
        (0, "positions of a complete mesh", 5.0),
        (proxy.snapshot_count() / 2, "positions of a difference", 2.5),
    ] {
        let snapshot = proxy.snapshot(index).expect("a snapshot");
        let mut alone = || {
            snapshot
                .positions_into(&mut out, &mut scratch)
                .expect("positions")
        };
        let mut whole = || {
            snapshot
                .mesh_into(Parts::ALL, &mut mesh, &mut scratch_too)
                .expect("a mesh")
        };
        let [alone, whole] = interleave(ROUNDS / 2, [&mut alone, &mut whole]);
        table.faster(name, "the whole mesh", [alone, whole], bar);
    }
}

/// Vertices in a row of the sheets that first frames are measured on: 240,000 of them.
const SIDE: u32 = 490;

/// A file of two snapshots, the second one a difference.
fn two_snapshots(folder: &Path, codec: Codec) -> PathBuf {
    let path = folder.join(format!("{codec:?}.cgeo"));
    let (_, snapshots) = cgeo::animation(SIDE, 2);
    let file = cgeo::file(&snapshots, Dialect::default().with_codec(codec));
    std::fs::write(&path, file).expect("room for a temporary file");
    path
}

/// The content of the mesh section of a snapshot.
fn mesh_section(proxy: &Proxy, index: usize) -> bytes::Bytes {
    let sections = proxy
        .snapshot(index)
        .and_then(|snapshot| snapshot.sections())
        .expect("sections");
    let mesh = sections
        .into_iter()
        .find(|section| section.tag == raw::TAG_MESH_DATA)
        .expect("a mesh");
    proxy.source().read(mesh.content).expect("bytes")
}

/// Opening, and the positions of one difference, compared with inflating the two prefixes that they are in.
fn first_frame(folder: &Path, table: &mut Table) {
    let path = two_snapshots(folder, Codec::Zlib);
    let proxy = map(&path);
    let sections = [0, 1].map(|index| mesh_section(&proxy, index));
    let positions = (SIDE * SIDE) as usize * 12;
    let mut inflate = zlib_rs::Inflate::new(true, 15);
    let mut prefixes = || {
        // Kind and counts; a difference has only the kind.
        for (section, length) in sections.iter().zip([17 + positions, 1 + positions]) {
            let mut out = vec![0; length];
            inflate.reset(true);
            let status = inflate.decompress(section, &mut out, zlib_rs::InflateFlush::NoFlush);
            assert_eq!(
                (status, inflate.total_out()),
                (Ok(zlib_rs::Status::Ok), length as u64)
            );
            black_box(&out);
        }
    };
    let mut ours = || {
        let (mut out, mut scratch) = (Vec::new(), Scratch::default());
        let snapshot = map(&path).snapshot(1).expect("a snapshot");
        snapshot
            .positions_into(&mut out, &mut scratch)
            .expect("positions");
        black_box(&out);
    };
    let [ours, prefixes] = interleave(ROUNDS / 2, [&mut ours, &mut prefixes]);
    table.slower(
        "open, positions of one difference",
        "inflating the two prefixes",
        [ours, prefixes],
        1.3,
    );
}

/// The first view of a mesh, in the order of its vertices and with its triangles in no order; and its remap, in one pass over
/// the records and from streams that are copied out of them.
fn first_view(table: &mut Table) {
    for shuffled in [false, true] {
        let (mut meshes, _) = cgeo::animation(SIDE, 1);
        let mut mesh = meshes.remove(0);
        if shuffled {
            let count = mesh.triangles.len();
            let mut next = random(count);
            (1..count).for_each(|index| mesh.triangles.swap(index, next()));
        }
        let bytes = cgeo::file(
            &[cgeo::snapshot(&mesh, mesh.complete())],
            Dialect::default(),
        );
        let source = Source::from_bytes(bytes);
        let first = || {
            let proxy = Proxy::from_source(source.clone(), &Options::default())
                .expect("a file without errors");
            proxy.snapshot(0).expect("a snapshot")
        };
        let mesh = first().mesh(Parts::ALL).expect("a mesh");
        let counts = [
            mesh.positions.len(),
            mesh.normals.len(),
            mesh.texcoords[0].len(),
        ];
        let general = || {
            let indices = (
                mesh.triangles.positions(),
                mesh.triangles.normals(),
                mesh.triangles.texcoords(0),
            );
            let (Some(normals), Some(texcoords)) = (indices.1, indices.2) else {
                panic!("all kinds of indices")
            };
            let streams = [
                indices.0.as_flattened(),
                normals.as_flattened(),
                texcoords.as_flattened(),
            ];
            VertexRemap::new(&streams, &counts).expect("indices in range")
        };
        assert!(general() == mesh.vertex_remap().expect("indices in range"));
        let [view, decoded, one_pass, streams] = interleave(
            ROUNDS / 8,
            [
                &mut || drop(black_box(first().view().expect("a view"))),
                &mut || drop(black_box(first().mesh(Parts::ALL).expect("a mesh"))),
                &mut || drop(black_box(mesh.vertex_remap().expect("indices in range"))),
                &mut || drop(black_box(general())),
            ],
        );
        let [of_view, of_remap] = match shuffled {
            false => ["first view", "remap in one pass"],
            true => [
                "first view, triangles in no order",
                "remap in one pass, triangles in no order",
            ],
        };
        table.slower(of_view, "decoding the mesh", [view, decoded], 2.0);
        table.beside(
            of_remap,
            "copied streams, one after the other",
            [one_pass, streams],
        );
    }
}

/// Positions of a difference that is not compressed, compared with one pass over the mapped bytes.
fn uncompressed(folder: &Path, table: &mut Table) {
    let proxy = map(&two_snapshots(folder, Codec::Stored));
    let sections = [0, 1].map(|index| mesh_section(&proxy, index));
    let count = (SIDE * SIDE) as usize;
    let numbers = |section: usize, start: usize| {
        let bytes = &sections[section][start..start + count * 12];
        bytes.as_chunks::<4>().0
    };
    let (base, difference) = (numbers(0, 17), numbers(1, 1));
    let (mut sums, mut out, mut scratch) = (vec![0.0; count * 3], Vec::new(), Scratch::default());
    let mut pass = || {
        for (sum, (base, difference)) in sums.iter_mut().zip(base.iter().zip(difference)) {
            *sum = f32::from_le_bytes(*difference) + f32::from_le_bytes(*base);
        }
        black_box(&sums);
    };
    let snapshot = proxy.snapshot(1).expect("a snapshot");
    let mut ours = || {
        snapshot
            .positions_into(&mut out, &mut scratch)
            .expect("positions");
        black_box(&out);
    };
    let [ours, pass] = interleave(ROUNDS * 5, [&mut ours, &mut pass]);
    table.slower(
        "positions of a difference, not compressed",
        "one pass base + difference",
        [ours, pass],
        1.2,
    );
}

/// Four keys of a shutter through a cache, compared with the same without one: both decode the positions of four snapshots.
fn shutter(animation: &Path, table: &mut Table) {
    let proxy = map(animation);
    proxy.base().expect("a first snapshot");
    let timing = proxy.timing().expect("times");
    let [open, close] = [4, 6].map(|index| timing.time_of(index) + timing.step() / 2.0);
    let keys = timing.keys(open, close, Wrap::Clamp).expect("four keys");
    assert_eq!(keys.len(), 4);
    let (mut out, mut other, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
    let mut ours = || {
        let cache = SnapshotCache::new(64 << 20);
        cache
            .positions_at(&proxy, &timing, &keys, Wrap::Clamp, &mut out)
            .expect("positions");
        assert_eq!(cache.stats().decodes, 4);
        black_box(&out);
    };
    let mut without = || {
        proxy
            .positions_at(&timing, &keys, Wrap::Clamp, &mut other, &mut scratch)
            .expect("positions");
        black_box(&other);
    };
    let [ours, without] = interleave(ROUNDS / 4, [&mut ours, &mut without]);
    table.slower(
        "four keys through a cache",
        "without a cache",
        [ours, without],
        1.1,
    );
}

/// 64 instances at other times of a loop, with a cache that has room for half of the snapshots: one call for all of them, compared with
/// one call for each.
fn instances(animation: &Path, table: &mut Table) {
    let proxy = map(animation);
    let timing = proxy.timing().expect("times");
    let count = proxy.snapshot_count();
    let all = SnapshotCache::new(1 << 30);
    for index in 0..count {
        all.get(&proxy, index, Parts::POSITIONS).expect("positions");
    }
    let capacity = all.stats().bytes_held / 2;
    drop(all);
    let mut next = random(1_000);
    let times: Vec<f64> = (0..64)
        .map(|_| timing.start() + timing.step() * count as f64 * next() as f64 / 1_000.0)
        .collect();
    let (mut out, mut each) = (Vec::new(), Vec::new());
    let mut together = || {
        let cache = SnapshotCache::new(capacity);
        cache
            .positions_at(&proxy, &timing, &times, Wrap::Loop, &mut out)
            .expect("positions");
        assert!(cache.stats().decodes <= count as u64);
        black_box(&out);
    };
    let mut one_by_one = || {
        let cache = SnapshotCache::new(capacity);
        for time in &times {
            cache
                .positions_at(&proxy, &timing, &[*time], Wrap::Loop, &mut each)
                .expect("positions");
            black_box(&each);
        }
    };
    let [together, one_by_one] = interleave(ROUNDS / 10, [&mut together, &mut one_by_one]);
    table.beside(
        "64 instances one by one, half of the snapshots in the cache",
        "in one call",
        [one_by_one, together],
    );
}

/// Positions of 240,000 vertices, played by one thread, compared with inflating the prefixes that they are in, and by two threads.
fn play_positions(folder: &Path, table: &mut Table) {
    const SNAPSHOTS: usize = 12;
    let path = folder.join("positions.cgeo");
    let (_, snapshots) = cgeo::animation(SIDE, SNAPSHOTS);
    std::fs::write(&path, cgeo::file(&snapshots, Dialect::default()))
        .expect("room for a temporary file");
    let proxy = map(&path);
    let positions = (SIDE * SIDE) as usize * 12;
    let sections: Vec<_> = (0..SNAPSHOTS)
        .map(|index| mesh_section(&proxy, index))
        .collect();
    let mut inflater = meshmap_inflate::Inflater::new();
    let mut out = vec![0; 17 + positions];
    let mut bare = || {
        for (index, section) in sections.iter().enumerate() {
            let format = meshmap_inflate::Format::Zlib;
            let mut stream =
                meshmap_inflate::Stream::new(&mut inflater, section, format).expect("a stream");
            stream.ignore_checksum();
            let length = positions + if index == 0 { 17 } else { 1 };
            stream.read_exact(&mut out[..length]).expect("a prefix");
            black_box(&out);
        }
    };
    let pools = [1, 2].map(|threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool of threads")
    });
    let run = |pool: &rayon::ThreadPool, parts| {
        pool.install(|| {
            for (_, mesh) in proxy.play(0..SNAPSHOTS).parts(parts) {
                black_box(mesh.expect("a mesh"));
            }
        });
    };
    let [one, two] = &pools;
    let mut ours = || run(one, Parts::POSITIONS);
    let mut both = || run(two, Parts::POSITIONS);
    let mut whole = || run(one, Parts::ALL);
    let [bare, ours, both, whole] =
        interleave(ROUNDS / 10, [&mut bare, &mut ours, &mut both, &mut whole]);
    table.slower(
        "positions played, 1 thread",
        "inflating their prefixes",
        [ours, bare],
        1.15,
    );
    table.faster(
        "positions played, 1 thread",
        "whole meshes played",
        [ours, whole],
        1.5,
    );
    table.faster("positions played, 2 threads", "1 thread", [both, ours], 1.7);
}

/// All snapshots in order, by two threads and by one; and, for what the machine allows, twice at once by one thread each.
fn play(animation: &Path, table: &mut Table) {
    const CAPACITY: u64 = 32 << 20;
    let pools = [1, 2, 1].map(|threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool of threads")
    });
    let run = |pool: &rayon::ThreadPool| {
        pool.install(|| {
            let proxy = map(animation);
            proxy
                .play(0..proxy.snapshot_count())
                .capacity(CAPACITY)
                .for_each(|_, mesh| {
                    black_box(mesh.expect("a mesh"));
                    ControlFlow::Continue(())
                });
        });
    };
    let [one, two, other] = &pools;
    let mut both = || {
        std::thread::scope(|scope| {
            scope.spawn(|| run(other));
            run(one);
        });
    };
    let [one, two, both] = interleave(ROUNDS / 10, [&mut || run(one), &mut || run(two), &mut both]);
    println!(
        "Played twice at once, by one thread each: {:.2} times as much in the time\n",
        2.0 * one.times_of(both)
    );
    table.faster("playing, 2 threads", "playing, 1 thread", [two, one], 1.7);
}

/// 64 threads ask a cache for one snapshot that it does not have, compared with one thread. The threads are there already.
fn ask(animation: &Path, table: &mut Table) {
    let proxy = map(animation);
    proxy.base().expect("a first snapshot");
    let cache = Mutex::new(SnapshotCache::new(64 << 20));
    let (start, end) = (Barrier::new(65), Barrier::new(65));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                loop {
                    start.wait();
                    if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                    let cache = cache.lock().expect("no thread panics").clone();
                    black_box(cache.get(&proxy, 0, Parts::ALL).expect("a mesh"));
                    end.wait();
                }
            });
        }
        let fresh = || {
            let fresh = SnapshotCache::new(64 << 20);
            *cache.lock().expect("no thread panics") = fresh.clone();
            fresh
        };
        let mut one = || {
            black_box(fresh().get(&proxy, 0, Parts::ALL).expect("a mesh"));
        };
        let mut many = || {
            let fresh = fresh();
            start.wait();
            end.wait();
            assert_eq!(fresh.stats().decodes, 1);
        };
        let [one, many] = interleave(ROUNDS / 4, [&mut one, &mut many]);
        table.slower(
            "64 threads ask for a snapshot",
            "one thread asks",
            [many, one],
            1.3,
        );
        is_over.store(true, Ordering::SeqCst);
        start.wait();
    });
}
