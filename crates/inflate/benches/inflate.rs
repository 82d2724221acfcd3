//! Decoding: whole streams of several kinds, a stream in pieces, short streams, and gzip's checksum.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use meshmap_inflate::{Format, Inflater, Stream};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    whole(&mut criterion);
    pieces(&mut criterion);
    short(&mut criterion);
    criterion.final_summary();
}

/// Four megabytes of each kind of content, the same in every run.
fn contents() -> [(&'static str, Vec<u8>); 3] {
    const COUNT: u32 = 1 << 20;
    let noise = |i: u32| i.wrapping_mul(2_654_435_761).rotate_left(i % 31) ^ i;
    let floats = (0..COUNT).map(|i| ((i as f32) * 1e-3).sin() + (noise(i) & 0xff) as f32 * 1e-6);
    let indices = (0..COUNT).map(|i| i / 3 + noise(i) % 3);
    let words = ["vertex ", "normal ", "face ", "group\n", "usemtl "];
    let text = (0..COUNT).flat_map(|i| words[noise(i) as usize % words.len()].bytes());
    [
        ("floats", floats.flat_map(f32::to_le_bytes).collect()),
        ("indices", indices.flat_map(u32::to_le_bytes).collect()),
        ("text", text.take(4 << 20).collect()),
    ]
}

fn compress(content: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec(content, 6)
}

fn whole(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("whole");
    for (name, content) in contents() {
        let stream = compress(&content);
        let zlib = miniz_oxide::deflate::compress_to_vec_zlib(&content, 6);
        let (mut inflater, mut out) = (Inflater::new(), vec![0; content.len()]);
        group.throughput(Throughput::Bytes(content.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                inflater
                    .inflate_into(&stream, Format::Raw, black_box(&mut out))
                    .unwrap()
            });
        });
        group.bench_function(format!("{name}, zlib with its checksum"), |bencher| {
            bencher.iter(|| {
                inflater
                    .inflate_into(&zlib, Format::Zlib, black_box(&mut out))
                    .unwrap()
            });
        });
        group.bench_function(format!("{name}, into a new vector"), |bencher| {
            bencher.iter(|| {
                inflater
                    .inflate(&stream, Format::Raw, content.len())
                    .unwrap()
            });
        });
    }
    group.finish();
}

/// The same stream in slices of several lengths.
fn pieces(criterion: &mut Criterion) {
    let [(_, content), ..] = contents();
    let stream = compress(&content);
    let mut inflater = Inflater::new();
    let mut group = criterion.benchmark_group("in pieces");
    group.throughput(Throughput::Bytes(content.len() as u64));
    for length in [1 << 10, 16 << 10, Stream::PIECE] {
        let mut out = vec![0; length];
        group.bench_function(format!("{length} bytes"), |bencher| {
            bencher.iter(|| {
                let mut stream = Stream::new(&mut inflater, &stream, Format::Raw).unwrap();
                while stream.read(black_box(&mut out)).unwrap() == length {}
            });
        });
    }
    group.finish();
}

/// Streams of a few bytes, for which tables of codes are most of the work.
fn short(criterion: &mut Criterion) {
    let [(_, content), ..] = contents();
    let mut inflater = Inflater::new();
    let mut group = criterion.benchmark_group("short");
    for length in [16, 256, 4096] {
        let stream = compress(&content[..length]);
        let mut out = vec![0; length];
        group.throughput(Throughput::Bytes(length as u64));
        group.bench_function(format!("{length} bytes"), |bencher| {
            bencher.iter(|| {
                inflater
                    .inflate_into(&stream, Format::Raw, black_box(&mut out))
                    .unwrap()
            });
        });
    }
    group.finish();
}
