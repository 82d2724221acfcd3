//! Opening an IQM file and each kind of work on it.
//!
//! The files are generated; with `MESHMAP_CORPUS`, they are the large ones of the corpus in that folder.

use std::fs::File;
use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput};
use meshmap::iqm::{Model, Pose};
use meshmap::{Options, Parallelism, Source};
use meshmap_testing::measure::iqm::{files, plain_loop};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

fn main() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let (mesh, animation) = files(folder.path());
    let mut criterion = Criterion::default().configure_from_args();
    open(&mut criterion, &mesh);
    check(&mut criterion, &mesh);
    poses(&mut criterion, &animation);
    criterion.final_summary();
}

#[allow(unsafe_code, reason = "maps are what is measured")]
fn map(path: &Path) -> Source {
    // SAFETY: nothing writes to the corpus, nor to the generated files once they are complete.
    unsafe { Source::map(path) }.expect("a file that can be mapped")
}

#[allow(unsafe_code, reason = "maps are what is measured")]
fn bare_map(path: &Path) -> memmap2::Mmap {
    let file = File::open(path).expect("a file that can be opened");
    // SAFETY: as in `map`.
    unsafe { memmap2::Mmap::map(&file) }.expect("a file that can be mapped")
}

fn model(path: &Path) -> Model {
    Model::from_source(map(path), &Options::default()).expect("a file without errors")
}

/// The header and the tables, with no array touched.
fn open(criterion: &mut Criterion, mesh: &Path) {
    let mut group = criterion.benchmark_group("open");
    group.bench_function("map, header and tables", |bencher| {
        bencher.iter(|| model(mesh))
    });
    group.bench_function("map, header, tables and views", |bencher| {
        bencher.iter(|| {
            let model = model(mesh);
            (
                model.positions().unwrap(),
                model.normals().unwrap(),
                model.raw_triangles().unwrap(),
            )
        });
    });
    group.bench_function("lazily", |bencher| {
        bencher.iter(|| Model::open(mesh).unwrap())
    });
    group.bench_function("lazily, then positions", |bencher| {
        bencher.iter(|| Model::open(mesh).unwrap().positions().unwrap());
    });
    group.finish();
}

/// Reading the data of a file that is mapped again each time.
fn check(criterion: &mut Criterion, mesh: &Path) {
    let header = *model(mesh).header();
    let start = header.ofs_triangles.get() as usize;
    let range = start..start + header.num_triangles.get() as usize * 12;

    let mut group = criterion.benchmark_group("check");
    group.throughput(Throughput::Bytes(range.len() as u64));
    group.bench_function("indices", |bencher| {
        bencher.iter(|| model(mesh).triangles().unwrap())
    });
    group.bench_function("maximum of the indices, without the library", |bencher| {
        bencher.iter(|| {
            let map = bare_map(mesh);
            let indices = <[U32]>::ref_from_bytes(&map[range.clone()]).unwrap();
            indices.iter().map(|index| index.get()).max()
        });
    });
    group.throughput(Throughput::Bytes(header.filesize.get().into()));
    group.bench_function("everything", |bencher| {
        bencher.iter(|| model(mesh).validate().unwrap())
    });
    group.finish();
}

/// All poses of all frames into a buffer that is reused.
fn poses(criterion: &mut Criterion, animation: &Path) {
    let model = model(animation);
    let poses: Vec<Pose> = model.poses().collect();
    let header = *model.header();
    let start = u64::from(header.ofs_frames.get());
    let channels = u64::from(header.num_frames.get()) * u64::from(header.num_framechannels.get());
    let stored = model.source().read(start..start + channels * 2).unwrap();
    let mut out = model.frames().read().unwrap();

    let mut group = criterion.benchmark_group("poses");
    group.throughput(Throughput::Elements(out.len() as u64));
    for (name, parallelism) in [
        ("one thread", Parallelism::Off),
        ("rayon", Parallelism::Rayon),
    ] {
        let options = Options::default().with_parallelism(parallelism);
        let frames = Model::from_source(map(animation), &options)
            .unwrap()
            .frames();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                frames
                    .read_range_into(0..frames.len(), black_box(&mut out))
                    .unwrap()
            });
        });
    }
    group.bench_function("a plain loop", |bencher| {
        bencher.iter(|| plain_loop(&poses, &stored, black_box(&mut out)));
    });
    group.finish();
}
