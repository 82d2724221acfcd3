//! Decoding TMF: each array of a large mesh, single elements, and welding.
//!
//! The file is generated; with `MESHMAP_CORPUS`, it is the large one of the corpus in that folder.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput};
use meshmap::tmf::{Document, Mesh, Packed, PackedElement};
use meshmap::{Options, Parallelism, Source, VertexRemap};
use meshmap_testing::fixtures;

fn main() {
    let file = bytes::Bytes::from(match std::env::var_os("MESHMAP_CORPUS") {
        Some(corpus) => {
            std::fs::read(Path::new(&corpus).join("tmf/large/large_torus_2M.tmf")).unwrap()
        }
        None => fixtures::tmf::grid(700),
    });
    let mut criterion = Criterion::default().configure_from_args();
    arrays(&mut criterion, &file);
    elements(&mut criterion, &file);
    weld(&mut criterion, &file);
    criterion.final_summary();
}

fn mesh(file: &bytes::Bytes, parallelism: Parallelism) -> Mesh {
    let options = Options::default().with_parallelism(parallelism);
    let document = Document::from_source(Source::from_bytes(file.clone()), &options);
    document.unwrap().mesh(0).expect("a mesh")
}

/// Whole arrays into buffers that are reused.
fn arrays(criterion: &mut Criterion, file: &bytes::Bytes) {
    for (threads, parallelism) in [
        ("one thread", Parallelism::Off),
        ("rayon", Parallelism::Rayon),
    ] {
        let mut group = criterion.benchmark_group(format!("decode, {threads}"));
        let mesh = mesh(file, parallelism);
        whole(&mut group, "vertices", mesh.positions());
        whole(&mut group, "normals", mesh.normals());
        whole(&mut group, "uvs", mesh.texcoords(0));
        whole(&mut group, "vertex_triangles", mesh.position_indices());
        group.finish();
    }
    criterion.bench_function("open, all headers", |bencher| {
        bencher.iter(|| {
            Document::from_source(Source::from_bytes(file.clone()), &Options::default()).unwrap()
        });
    });
}

fn whole<T: PackedElement>(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    array: Option<Packed<T>>,
) {
    let array = array.expect("the mesh has everything");
    let mut out = vec![T::default(); array.len()];
    group.throughput(Throughput::Elements(array.len() as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| array.read_into(black_box(&mut out)).unwrap())
    });
}

/// Elements here and there.
fn elements(criterion: &mut Criterion, file: &bytes::Bytes) {
    let vertices = mesh(file, Parallelism::Off)
        .positions()
        .expect("the mesh has vertices");
    let mut index = 0;
    criterion.bench_function("one vertex of many", |bencher| {
        bencher.iter(|| {
            index = (index + 7919) % vertices.len();
            vertices.get(index).unwrap()
        });
    });
}

/// One index out of three, which are different permutations of the same corners.
fn weld(criterion: &mut Criterion, file: &bytes::Bytes) {
    let mesh = mesh(file, Parallelism::Off);
    let positions = mesh
        .position_indices()
        .expect("the mesh has triangles")
        .read()
        .unwrap()
        .to_vec();
    let count = mesh.positions().expect("the mesh has vertices").len();
    let flat: Vec<u32> = (0..positions.len() as u32)
        .map(|corner| corner / 6)
        .collect();
    let streams: [&[u32]; 3] = [&positions, &flat, &positions];
    let counts = [count, positions.len(), count];
    let mut group = criterion.benchmark_group("weld");
    group.sample_size(10);
    group.throughput(Throughput::Elements(positions.len() as u64));
    group.bench_function("three streams", |bencher| {
        bencher.iter(|| VertexRemap::new(&streams, &counts).unwrap())
    });
    let weld = VertexRemap::new(&streams, &counts).unwrap();
    let elements = vec![[0.0_f32; 3]; count];
    let mut out = vec![[0.0_f32; 3]; weld.vertex_count()];
    group.throughput(Throughput::Elements(out.len() as u64));
    group.bench_function("gather the next snapshot", |bencher| {
        bencher.iter(|| weld.gather_into(0, &elements, black_box(&mut out)).unwrap());
    });
    group.finish();
}
