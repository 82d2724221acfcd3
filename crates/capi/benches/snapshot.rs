//! Snapshots of 60,000 vertices through C, compared with the library: the shortest of 200 times each, in turns.
//!
//! Prints a table of ratios, with the bar that each is held against. With `--only c` or `--only library`, pulls 200 snapshots
//! one way and measures nothing, for tools that count: `valgrind --tool=dhat --mode=copy` reports the bytes that are copied.
#![allow(unsafe_code, reason = "C functions are called")]

use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use meshmap::cgeo::{Dialect, MeshBuffer, Parts, Proxy, SnapshotCache, Wrap};
use meshmap::{Options, Parallelism, Scratch, Source};
use meshmap_capi::*;
use meshmap_testing::fixtures::cgeo;
use meshmap_testing::measure::{Table, interleave};

const ROUNDS: usize = 200;

/// The result of a C function.
macro_rules! ok {
    ($call:expr) => {
        // SAFETY: places and memory that are there.
        assert_eq!(unsafe { $call }, MM_OK, stringify!($call))
    };
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` runs this too, and has no time for it.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = animation(folder.path());
    let (c, library) = (C::new(&path), library(&path));
    let only = arguments.iter().position(|argument| argument == "--only");
    match only
        .and_then(|at| arguments.get(at + 1))
        .map(String::as_str)
    {
        Some("c") => {
            (0..ROUNDS).for_each(|round| c.shown(1 + round % (library.snapshot_count() - 1)))
        }
        Some(_) => {
            let (mut out, mut scratch) = (Vec::new(), Scratch::default());
            for round in 0..ROUNDS {
                let snapshot = library
                    .snapshot(1 + round % (library.snapshot_count() - 1))
                    .expect("a snapshot");
                snapshot
                    .positions_into(&mut out, &mut scratch)
                    .expect("positions");
            }
        }
        None => measure(&c, &library),
    }
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

fn library(path: &Path) -> Proxy {
    // SAFETY: nobody changes the file while this runs.
    let source = unsafe { Source::map(path) }.expect("a file that can be mapped");
    let options = Options::default().with_parallelism(Parallelism::Off);
    Proxy::from_source(source, &options).expect("a file without errors")
}

/// Handles of the C interface.
struct C {
    file: *mut mm_file,
    scratch: *mut mm_scratch,
    place: *mut mm_snapshot,
    cache: *mut mm_cache,
}

impl C {
    fn new(path: &Path) -> Self {
        let path = std::ffi::CString::new(path.to_str().expect("UTF-8")).expect("no 0");
        let mut c = Self {
            file: null_mut(),
            scratch: null_mut(),
            place: null_mut(),
            cache: null_mut(),
        };
        // SAFETY: zeros are values of it.
        let mut options: mm_options = unsafe { std::mem::zeroed() };
        ok!(mm_options_init(&raw mut options, size_of::<mm_options>()));
        options.parallelism = MM_PARALLELISM_OFF;
        ok!(mm_open_map(
            path.as_ptr(),
            &raw const options,
            &raw mut c.file
        ));
        ok!(mm_scratch_new(&raw mut c.scratch));
        ok!(mm_snapshot_new(&raw mut c.place));
        ok!(mm_cache_new(1 << 30, &raw mut c.cache));
        c
    }

    fn shown(&self, index: usize) {
        // SAFETY: numbers and a pointer, for which zeros are values.
        let mut view = mm_array_info {
            size: size_of::<mm_array_info>(),
            ..unsafe { std::mem::zeroed() }
        };
        ok!(mm_array(
            self.file,
            positions(index).as_ptr().cast(),
            self.scratch,
            &raw mut view
        ));
        black_box(view);
    }
}

/// The address of positions, on the stack, as a caller makes it for each call.
fn positions(snapshot: usize) -> [u8; 64] {
    let mut address = [0; 64];
    write!(&mut address[..63], "snapshots[{snapshot}].positions").expect("a short address");
    address
}

fn measure(c: &C, library: &Proxy) {
    let last = library.snapshot_count() - 1;
    // Both take the same snapshots, each in its turn.
    let mut rounds = [0_usize; 2];
    let mut next = |who: usize| {
        rounds[who] += 1;
        1 + rounds[who] % last
    };
    let mut table = Table::default();
    let (mut out, mut scratch, mut mesh) = (Vec::new(), Scratch::default(), MeshBuffer::default());
    let snapshot = |index| library.snapshot(index).expect("a snapshot");
    let vertices = usize::try_from(
        snapshot(0)
            .counts(&mut Scratch::default())
            .expect("counts")
            .vertices,
    )
    .expect("memory");
    let mut memory = vec![[0.0_f32; 4]; vertices * 4];
    let mut memory_too = memory.clone();
    let mut count = 0;

    let next = std::cell::RefCell::new(&mut next);
    let turn = |who| (next.borrow_mut())(who);
    let [times, others] = interleave(
        ROUNDS,
        [&mut || c.shown(turn(0)), &mut || {
            snapshot(turn(1))
                .positions_into(&mut out, &mut scratch)
                .expect("positions");
            black_box(&out);
        }],
    );
    table.slower(
        "positions, shown, through C",
        "positions_into",
        [times, others],
        1.05,
    );

    let [times, others] = interleave(
        ROUNDS,
        [
            &mut || {
                let start = memory.as_mut_ptr();
                ok!(mm_read_into(
                    c.file,
                    positions(turn(0)).as_ptr().cast(),
                    MM_SCALAR_F32,
                    3,
                    c.scratch,
                    start.cast(),
                    16,
                    vertices,
                    &raw mut count
                ));
            },
            &mut || {
                snapshot(turn(1))
                    .positions_into(&mut out, &mut scratch)
                    .expect("positions");
                for (place, position) in memory_too.iter_mut().zip(&out) {
                    place[..3].copy_from_slice(position);
                }
                black_box(&memory_too);
            },
        ],
    );
    table.slower(
        "positions, 16 bytes apart, through C",
        "positions_into, and a copy",
        [times, others],
        1.05,
    );

    let [times, others] = interleave(
        ROUNDS,
        [
            &mut || {
                ok!(mm_snapshot_read(
                    c.file,
                    turn(0),
                    0,
                    MM_PARTS_ALL,
                    c.scratch,
                    c.place
                ))
            },
            &mut || {
                snapshot(turn(1))
                    .mesh_into(Parts::ALL, &mut mesh, &mut scratch)
                    .expect("a mesh")
            },
        ],
    );
    table.slower(
        "a whole snapshot, through C",
        "mesh_into",
        [times, others],
        1.05,
    );

    let timing = library.timing().expect("a file with times");
    let mut times_of_keys = [0.0_f64; 8];
    let mut keys = Vec::new();
    let [times, others] = interleave(
        ROUNDS,
        [
            &mut || {
                let (open, first) = (timing.time_of(turn(0)) - 0.01, times_of_keys.as_mut_ptr());
                let start = memory.as_mut_ptr().cast();
                ok!(mm_cgeo_keys(
                    c.file,
                    null(),
                    open,
                    open + 0.02,
                    MM_WRAP_LOOP,
                    c.scratch,
                    first,
                    0,
                    8,
                    &raw mut count
                ));
                ok!(mm_cgeo_positions_at(
                    c.file,
                    null(),
                    first,
                    count,
                    MM_WRAP_LOOP,
                    null(),
                    c.scratch,
                    start,
                    16,
                    vertices * 4,
                    &raw mut count
                ));
            },
            &mut || {
                let open = timing.time_of(turn(1)) - 0.01;
                timing
                    .keys_into(open, open + 0.02, Wrap::Loop, &mut keys)
                    .expect("keys");
                library
                    .positions_at(&timing, &keys, Wrap::Loop, &mut out, &mut scratch)
                    .expect("positions");
                for (place, position) in memory_too.iter_mut().zip(&out) {
                    place[..3].copy_from_slice(position);
                }
                black_box(&memory_too);
            },
        ],
    );
    table.slower(
        "a shutter, 16 bytes apart, through C",
        "positions_at, and a copy",
        [times, others],
        1.05,
    );

    let cache = SnapshotCache::new(1 << 30);
    for index in 0..=last {
        ok!(mm_cache_get(c.cache, c.file, index, MM_PARTS_ALL, c.place));
        drop(cache.get(library, index, Parts::ALL).expect("a mesh"));
    }
    let many = 1000;
    let [times, others] = interleave(
        ROUNDS,
        [
            &mut || {
                (0..many).for_each(|index| {
                    ok!(mm_cache_get(
                        c.cache,
                        c.file,
                        1 + index % last,
                        MM_PARTS_ALL,
                        c.place
                    ))
                })
            },
            &mut || {
                (0..many).for_each(|index| {
                    drop(black_box(
                        cache
                            .get(library, 1 + index % last, Parts::ALL)
                            .expect("a mesh"),
                    ))
                });
            },
        ],
    );
    println!(
        "what is in a cache: {:.0} ns through C, {:.0} ns in the library",
        times.seconds() * 1e9 / f64::from(many as u32),
        others.seconds() * 1e9 / f64::from(many as u32)
    );
    print!("{table}");
}
