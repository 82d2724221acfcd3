//! Arrays that are not compressed, read from a file straight into the caller's memory: CGeo and OpenCTM.
//!
//! Prints a table of ratios to a bare read of the same bytes, and to a reader that cannot read into memory of the caller.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use meshmap::cgeo::{Dialect, Proxy};
use meshmap::openctm::{self, Container};
use meshmap::{Codec, Options, ReadRange, Scratch, Source};
use meshmap_testing::fixtures;
use meshmap_testing::measure::{Table, Times, interleave};

const ROUNDS: usize = 200;
/// Vertices of each side of a mesh.
const SIDE: u16 = 490;

/// One thread reads at a time.
fn read_at(mut file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(out)
}

/// A file whose ranges are read into new memory each time.
struct Ranges(File);

impl ReadRange for Ranges {
    fn len(&self) -> io::Result<Option<u64>> {
        self.0.metadata().map(|metadata| Some(metadata.len()))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        read_at(&self.0, range.start, &mut bytes)?;
        Ok(bytes.into())
    }
}

fn main() {
    // `cargo test --benches` runs this too, and has no time for it.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut table = Table::default();
    cgeo(folder.path(), &mut table);
    openctm(folder.path(), &mut table);
    print!("{table}");
}

/// The file in the folder, read directly and through ranges.
fn written(folder: &Path, name: &str, bytes: &[u8]) -> (PathBuf, [Source; 2]) {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("room for a temporary file");
    let ranges = Ranges(File::open(&path).expect("a file that can be opened"));
    let sources = [
        Source::open(&path).expect("a file that can be opened"),
        Source::ranged(ranges),
    ];
    (path, sources)
}

/// A bare read of `bytes` bytes into a reused buffer.
fn bare(path: &Path, bytes: usize) -> impl FnMut() + use<> {
    let (file, mut memory) = (
        File::open(path).expect("a file that can be opened"),
        vec![0; bytes],
    );
    move || {
        read_at(&file, 64, &mut memory).expect("a file as long as its arrays");
        black_box(&memory);
    }
}

fn cgeo(folder: &Path, table: &mut Table) {
    let (_, snapshots) = fixtures::cgeo::animation(SIDE.into(), 3);
    let bytes = fixtures::cgeo::file(&snapshots, Dialect::default().with_codec(Codec::Stored));
    let (path, sources) = written(folder, "stored.cgeo", &bytes);
    let bytes = usize::from(SIDE).pow(2) * 12;
    let [mut direct, mut ranges] = sources.clone().map(|source| {
        let (mut out, mut scratch) = (Vec::new(), Scratch::default());
        // Opened each time, because a proxy retains the positions of its first snapshot.
        move || {
            let proxy =
                Proxy::from_source(source.clone(), &Options::default()).expect("a valid file");
            proxy
                .snapshot(0)
                .and_then(|mesh| mesh.positions_into(&mut out, &mut scratch))
                .expect("positions");
            black_box(&out);
        }
    });
    let mut open = || {
        drop(black_box(
            Proxy::from_source(sources[0].clone(), &Options::default()).expect("a valid file"),
        ))
    };
    let [direct, ranges, read, open] = interleave(
        ROUNDS,
        [&mut direct, &mut ranges, &mut bare(&path, bytes), &mut open],
    );
    let times = [direct, ranges, open.and(read)];
    rows(
        table,
        [
            "CGeo, open, positions of a complete mesh",
            "open, a bare read of as many bytes",
        ],
        times,
    );

    let [mut direct, mut ranges] = sources.map(|source| {
        let proxy = Proxy::from_source(source, &Options::default()).expect("a valid file");
        let (mut out, mut scratch) = (Vec::new(), Scratch::default());
        move || {
            proxy
                .snapshot(2)
                .and_then(|mesh| mesh.positions_into(&mut out, &mut scratch))
                .expect("positions");
            black_box(&out);
        }
    });
    let (base, mut sums) = (vec![1_f32; bytes / 4], vec![1_f32; bytes / 4]);
    let mut add = || {
        for (sum, base) in sums.iter_mut().zip(black_box(&base)) {
            *sum += base;
        }
        black_box(&sums);
    };
    let [direct, ranges, read, add] = interleave(
        ROUNDS,
        [&mut direct, &mut ranges, &mut bare(&path, bytes), &mut add],
    );
    let times = [direct, ranges, read.and(add)];
    rows(
        table,
        [
            "CGeo, positions of a difference",
            "a bare read of as many bytes, a pass that adds",
        ],
        times,
    );
}

fn openctm(folder: &Path, table: &mut Table) {
    let body = fixtures::openctm::Body::sheet(fixtures::openctm::RAW, SIDE);
    let bytes = body.to_bytes();
    let (path, sources) = written(folder, "raw.ctm", &bytes);
    let [mut direct, mut ranges] = sources.map(|source| {
        let bodies = Container::from_source(source, &Options::default()).expect("a valid file");
        let (mut out, mut scratch) = (openctm::MeshBuffer::default(), Scratch::default());
        move || {
            let mesh = bodies.mesh(0).expect("a body");
            mesh.arrays_into(&mut out, &mut scratch).expect("arrays");
            black_box(&out);
        }
    });
    // All of the file but its header and names.
    let times = interleave(
        ROUNDS,
        [
            &mut direct,
            &mut ranges,
            &mut bare(&path, bytes.len() - 256),
        ],
    );
    rows(
        table,
        ["OpenCTM RAW, all arrays", "a bare read of as many bytes"],
        times,
    );
}

fn rows(table: &mut Table, [ours, theirs]: [&'static str; 2], [direct, ranges, bare]: [Times; 3]) {
    table.slower(ours, theirs, [direct, bare], 1.5);
    table.beside(ours, "the same through new memory", [direct, ranges]);
}
