//! Second Life meshes: the header, a level of detail compared with bare inflating, and floats with a plain loop.
//!
//! The file is generated; with `MESHMAP_CORPUS`, it is a large one of the corpus in that folder.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput};
use meshmap::slmesh::{Asset, Lod, MeshBuffer};
use meshmap::{Options, Parallelism, Scratch, Source};
use meshmap_testing::fixtures;

fn main() {
    let file = bytes::Bytes::from(match std::env::var_os("MESHMAP_CORPUS") {
        Some(corpus) => {
            std::fs::read(Path::new(&corpus).join("slmesh/large/11_large_skinned_8x20k.slmesh"))
                .unwrap()
        }
        None => fixtures::slmesh::large(142),
    });
    let mut criterion = Criterion::default().configure_from_args();
    open(&mut criterion, &file);
    high_lod(&mut criterion, &file);
    whole(&mut criterion, &file);
    positions(&mut criterion, &file);
    criterion.final_summary();
}

fn asset(file: &bytes::Bytes, parallelism: Parallelism) -> Asset {
    let options = Options::default().with_parallelism(parallelism);
    Asset::from_source(Source::from_bytes(file.clone()), &options).unwrap()
}

fn open(criterion: &mut Criterion, file: &bytes::Bytes) {
    criterion.bench_function("slmesh, open", |bencher| {
        bencher.iter(|| asset(file, Parallelism::Off))
    });
}

/// The finest level of detail, and inflating its block with the same inflater into memory that is used again.
fn high_lod(criterion: &mut Criterion, file: &bytes::Bytes) {
    let asset = asset(file, Parallelism::Off);
    let range = asset
        .lod_range(Lod::High)
        .unwrap()
        .expect("the finest level of detail");
    let stored = asset.source().read(range).unwrap();
    let len = asset
        .lod(Lod::High)
        .unwrap()
        .expect("the finest level of detail")
        .content()
        .len();
    let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
    let mut group = criterion.benchmark_group("slmesh, high_lod");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(len as u64));
    group.bench_function("faces, as views", |bencher| {
        bencher.iter(|| asset.lod(Lod::High).unwrap())
    });
    group.bench_function("as floats, into used memory", |bencher| {
        bencher.iter(|| {
            asset
                .lod_into(Lod::High, black_box(&mut buffer), &mut scratch)
                .unwrap()
        });
    });
    let (mut out, mut inflate) = (vec![0; len], zlib_rs::Inflate::new(true, 15));
    group.bench_function("inflating its block", |bencher| {
        bencher.iter(|| {
            inflate.reset(true);
            let status =
                inflate.decompress(&stored, black_box(&mut out), zlib_rs::InflateFlush::Finish);
            assert_eq!(status, Ok(zlib_rs::Status::StreamEnd));
        });
    });
    group.finish();
}

/// All blocks.
fn whole(criterion: &mut Criterion, file: &bytes::Bytes) {
    let mut group = criterion.benchmark_group("slmesh, all blocks");
    group.sample_size(20);
    for (threads, parallelism) in [
        ("one thread", Parallelism::Off),
        ("rayon", Parallelism::Rayon),
    ] {
        let asset = asset(file, parallelism);
        group.bench_function(threads, |bencher| {
            bencher.iter(|| asset.decode_all().unwrap())
        });
    }
    group.finish();
}

/// The positions of a face, integers in a domain.
fn positions(criterion: &mut Criterion, file: &bytes::Bytes) {
    let mesh = asset(file, Parallelism::Off)
        .lod(Lod::High)
        .unwrap()
        .expect("the finest level of detail");
    let face = mesh.face(0).expect("a face");
    let (stored, domain) = (face.raw_positions(), face.position_domain());
    let mut out = Vec::new();
    let mut group = criterion.benchmark_group("slmesh, positions");
    group.throughput(Throughput::Elements(stored.len() as u64));
    group.bench_function("positions", |bencher| {
        bencher.iter(|| black_box(&face).positions().unwrap());
    });
    group.bench_function("a plain loop", |bencher| {
        bencher.iter(|| {
            out.clear();
            for point in black_box(&stored).iter() {
                out.push([0, 1, 2].map(|axis| {
                    let size = domain.max[axis] - domain.min[axis];
                    f32::from(point[axis]) / 65_535.0 * size + domain.min[axis]
                }));
            }
            black_box(&mut out);
        });
    });
    group.finish();
}
