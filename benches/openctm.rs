//! OpenCTM: a RAW body in place, and the compressed methods compared with the streams that they consist of.
//!
//! The files are generated; with `MESHMAP_CORPUS`, the MG1 and MG2 files are the large ones of the corpus in that folder.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput};
use meshmap::openctm::{Mesh, MeshBuffer};
use meshmap::{Options, Parallelism, Scratch, Source};
use meshmap_testing::fixtures::openctm::{Body, MG1, MG2, RAW};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    raw(&mut criterion, &generated(RAW).into());
    for (name, method) in [("MG1", MG1), ("MG2", MG2)] {
        let file = match std::env::var_os("MESHMAP_CORPUS") {
            Some(corpus) => {
                fs::read(Path::new(&corpus).join(format!("openctm/large/big1M_{name}.ctm")))
                    .unwrap()
            }
            None => generated(method),
        };
        compressed(&mut criterion, name, &file.into());
    }
    criterion.final_summary();
}

/// A sheet of 62,500 vertices and 124,002 triangles, with normals and maps.
fn generated(method: [u8; 4]) -> Vec<u8> {
    Body::sheet(method, 250).to_bytes()
}

fn mesh(file: &bytes::Bytes, parallelism: Parallelism) -> Mesh {
    let options = Options::default().with_parallelism(parallelism);
    Mesh::at(&Source::from_bytes(file.clone()), 0, &options).unwrap()
}

/// Opening and using arrays; checking them, compared with reading every number once.
fn raw(criterion: &mut Criterion, file: &bytes::Bytes) {
    let mut group = criterion.benchmark_group("openctm, RAW");
    group.bench_function("open, every array as a view", |bencher| {
        bencher.iter(|| mesh(file, Parallelism::Off).arrays().unwrap());
    });
    group.throughput(Throughput::Bytes(file.len() as u64));
    group.bench_function("open, validate", |bencher| {
        bencher.iter(|| mesh(file, Parallelism::Off).validate().unwrap());
    });
    group.bench_function("maximum of all words, without the library", |bencher| {
        bencher.iter(|| {
            let words = black_box(file).chunks_exact(4);
            words
                .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                .max()
        });
    });
    group.finish();
}

/// All arrays into memory that is used again, and the bare streams of the same file with the same decoder.
fn compressed(criterion: &mut Criterion, name: &str, file: &bytes::Bytes) {
    let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
    let blocks = mesh(file, Parallelism::Off).blocks();
    let decoded = blocks.iter().filter_map(|block| block.decoded_len).sum();
    let mut group = criterion.benchmark_group(format!("openctm, {name}"));
    group.sample_size(10);
    group.throughput(Throughput::Bytes(decoded));
    for (threads, parallelism) in [
        ("one thread", Parallelism::Off),
        ("rayon", Parallelism::Rayon),
    ] {
        group.bench_function(BenchmarkId::new("all arrays", threads), |bencher| {
            bencher.iter(|| {
                mesh(file, parallelism)
                    .arrays_into(black_box(&mut buffer), &mut scratch)
                    .unwrap();
            });
        });
    }
    let (source, options) = (Source::from_bytes(file.clone()), Options::default());
    group.bench_function("its streams alone, one thread", |bencher| {
        bencher.iter(|| {
            for block in &blocks {
                black_box(block.decode(&source, &options, &mut scratch).unwrap());
            }
        });
    });
    group.finish();
}
