//! Streams the positions of a proxy of 10 GB: CGeo, on Linux.
//!
//!     cargo bench --bench stream                   # all rows
//!     cargo bench --bench stream -- cold read 1    # rows whose first cells have all of these words
//!
//! The file is generated once, and kept in `target/tmp`. Each row plays it to its end, mapped or read, with its pages in memory
//! (warm) or on the disk (cold), and prints next to it bare inflating of the same bytes, by as many threads, and reading them in
//! order from the disk. They take turns, a third of the file at a time; each turn opens the file, decodes its first snapshot and ends
//! what is decoded ahead. A disk whose own cache the system cannot empty looks faster than it is.

#[cfg(target_os = "linux")]
fn main() {
    // `cargo test --benches` runs this too, and has no time for it.
    if !std::env::args().any(|argument| argument == "--test") {
        linux::main();
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("stream: the page cache can be emptied, and reads be counted, on Linux only");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::hint::black_box;
    use std::ops::Range;
    use std::os::unix::fs::FileExt;
    use std::path::{Path, PathBuf};
    use std::time::Instant;

    use meshmap::cgeo::{Dialect, Parts, Proxy, raw};
    use meshmap::{Options, Source};
    use meshmap_inflate::{Format, Inflater, Stream};
    use meshmap_testing::allocator::{Counting, counted_in_process};
    use meshmap_testing::fixtures::cgeo;
    use meshmap_testing::measure::ProcessTime;
    use rayon::ThreadPoolBuilder;
    use rustix::fs::{Advice, fadvise, statvfs};

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    /// Points of an edge of the sheet: 240,100 vertices.
    const SIDE: u32 = 490;
    const SNAPSHOTS: usize = 5_400;
    /// Snapshots of a turn, which lasts for seconds: each turn also opens the file, and a disk whose rate the system limits is faster
    /// for a tenth of a second after a rest.
    const TURN: usize = 1_800;

    pub(super) fn main() {
        let wanted: Vec<String> = std::env::args()
            .skip(1)
            .filter(|argument| !argument.starts_with('-'))
            .collect();
        let Some(path) = file() else { return };
        let prefixes = prefixes(&path);
        let share: u64 = prefixes
            .iter()
            .map(|prefix| prefix.end - prefix.start)
            .sum();
        let size = fs::metadata(&path).expect("the file").len();
        println!(
            "Positions take {:.2} of the {:.2} MB of a snapshot\n",
            megabytes(share),
            megabytes(size)
        );
        println!(
            "| pages | source | threads | snapshots/s | CPU, ms each | read, MB each | memory, MB | inflated/s | read/s | of the slower | bar | |"
        );
        println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|");
        for pages in [Pages::Warm, Pages::Cold] {
            for is_mapped in [true, false] {
                for threads in [1, 2] {
                    let name = format!(
                        "{pages:?} {} {threads}",
                        if is_mapped { "mapped" } else { "read" }
                    );
                    if wanted.iter().all(|word| name.to_lowercase().contains(word)) {
                        row(&path, &prefixes, pages, is_mapped, threads);
                    }
                }
            }
        }
    }

    /// The proxy, which is written if it is not there; nothing where the disk lacks room.
    fn file() -> Option<PathBuf> {
        /// Snapshots that are made; they come again and again.
        const MADE: usize = 25;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join("stream.cgeo");
        if path.exists() {
            return Some(path);
        }
        let (_, snapshots) = cgeo::animation(SIDE, MADE);
        let bytes = |snapshot| cgeo::snapshot_bytes(snapshot, Dialect::default());
        let snapshots: Vec<_> = snapshots.iter().map(bytes).collect();
        let size: usize = snapshots.iter().map(Vec::len).sum::<usize>() / MADE * SNAPSHOTS;
        let disk = statvfs(folder).expect("a disk");
        let free = disk.f_bavail * disk.f_frsize;
        if free < size as u64 * 5 / 4 {
            println!(
                "skipped: {} needs {size} bytes and some, and the disk has {free}",
                path.display()
            );
            return None;
        }
        let part = folder.join("stream.part");
        cgeo::repeated(&part, &snapshots, SNAPSHOTS).expect("room for the file");
        fs::rename(part, &path).expect("a file of this name");
        Some(path)
    }

    fn open(path: &Path, is_mapped: bool) -> Proxy {
        #[allow(unsafe_code, reason = "maps are what is measured")]
        let source = if is_mapped {
            // SAFETY: nobody changes the file while this runs.
            unsafe { Source::map(path) }
        } else {
            Source::open(path)
        };
        source
            .and_then(|source| Proxy::from_source(source, &Options::default()))
            .expect("a file without errors")
    }

    /// The byte ranges of the compressed positions.
    fn prefixes(path: &Path) -> Vec<Range<u64>> {
        let proxy = open(path, true);
        let (mut inflater, mut out) = (Inflater::new(), vec![0; inflated(0)]);
        let prefix = |index| {
            let sections = proxy
                .snapshot(index)
                .and_then(|snapshot| snapshot.sections())
                .expect("sections");
            let mesh = sections
                .into_iter()
                .find(|section| section.tag == raw::TAG_MESH_DATA)
                .expect("a mesh");
            let stored = proxy.source().read(mesh.content.clone()).expect("bytes");
            let used = inflate(&mut inflater, &stored, &mut out[..inflated(index)]);
            mesh.content.start..mesh.content.start + used
        };
        (0..SNAPSHOTS).map(prefix).collect()
    }

    /// The kind of a mesh, the counts of a complete one, and the positions.
    fn inflated(index: usize) -> usize {
        let positions = (SIDE * SIDE) as usize * 12;
        positions + if index == 0 { 17 } else { 1 }
    }

    /// Inflates as much as there is room for; returns how many bytes of the stream that took.
    fn inflate(inflater: &mut Inflater, stored: &[u8], out: &mut [u8]) -> u64 {
        let mut stream = Stream::new(inflater, stored, Format::Zlib).expect("a stream");
        stream.ignore_checksum();
        stream.read_exact(out).expect("positions");
        black_box(out);
        stream.consumed() as u64
    }

    #[derive(Clone, Copy, Debug)]
    enum Pages {
        /// In memory.
        Warm,
        /// On the disk.
        Cold,
    }

    impl Pages {
        /// Brings the pages of the file into memory, or lets go of them, where no map has them.
        fn make(self, file: &File, prefixes: &[Range<u64>]) {
            match self {
                Self::Warm => read(file, prefixes),
                Self::Cold => {
                    fadvise(file, 0, None, Advice::DontNeed).expect("advice that the system takes")
                }
            }
        }
    }

    /// Reads the prefixes in order.
    fn read(file: &File, prefixes: &[Range<u64>]) {
        let mut buffer = Vec::new();
        for prefix in prefixes {
            buffer.resize((prefix.end - prefix.start) as usize, 0);
            file.read_exact_at(&mut buffer, prefix.start)
                .expect("bytes");
            black_box(&buffer);
        }
    }

    /// Plays the file in turns with the ceiling, and prints what came of it.
    fn row(path: &Path, prefixes: &[Range<u64>], pages: Pages, is_mapped: bool, threads: usize) {
        let file = File::open(path).expect("the file");
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool of threads");
        let [mut ours, mut inflating, mut reading] = [const { Sums::NONE }; 3];
        for start in (0..SNAPSHOTS).step_by(TURN) {
            let turn = start..start + TURN;
            let prefixes = &prefixes[turn.clone()];
            pages.make(&file, prefixes);
            reading.add(|| read(&file, prefixes));
            inflating.add(|| inflate_all(path, start, prefixes, threads));
            pages.make(&file, prefixes);
            ours.add(|| pool.install(|| play(&open(path, is_mapped), turn)));
        }
        let (pages, bar) = match (pages, threads) {
            (Pages::Warm, 1) => ("warm", Bar::Rate(100.0)),
            (Pages::Warm, _) => ("warm", Bar::Rate(170.0)),
            (Pages::Cold, _) => ("cold", Bar::Ratio(0.85)),
        };
        let source = if is_mapped { "mapped" } else { "read" };
        let each = |value: f64| value / SNAPSHOTS as f64;
        let [rate, inflated, read] =
            [&ours, &inflating, &reading].map(|sums| SNAPSHOTS as f64 / sums.seconds);
        let ratio = rate / inflated.min(read);
        let (bar, is_reached) = match bar {
            Bar::Rate(least) => (format!("{least}/s"), rate >= least),
            Bar::Ratio(least) => (format!("{least}"), ratio >= least),
        };
        println!(
            "| {pages} | {source} | {threads} | {rate:.0} | {:.2} | {:.2} | {:.1} | {inflated:.0} | {read:.0} | {ratio:.2} | >= {bar} | {} |",
            each(ours.cpu) * 1e3,
            each(ours.read as f64) / 1e6,
            ours.memory as f64 / 1e6,
            if is_reached { "reached" } else { "not reached" },
        );
    }

    enum Bar {
        /// Snapshots in a second.
        Rate(f64),
        /// The ratio to inflating or reading, whichever is slower.
        Ratio(f64),
    }

    /// Plays the positions of these snapshots.
    fn play(proxy: &Proxy, turn: Range<usize>) {
        for (_, mesh) in proxy.play(turn).parts(Parts::POSITIONS) {
            assert_eq!(
                black_box(mesh.expect("a mesh")).positions.len(),
                (SIDE * SIDE) as usize
            );
        }
    }

    /// Inflates the positions of the snapshots from `start` on, each thread some of them.
    fn inflate_all(path: &Path, start: usize, prefixes: &[Range<u64>], threads: usize) {
        let source = open(path, true).source().clone();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let source = &source;
                scope.spawn(move || {
                    let (mut inflater, mut out) = (Inflater::new(), vec![0; inflated(0)]);
                    for (place, prefix) in prefixes.iter().enumerate().skip(thread).step_by(threads)
                    {
                        let stored = source.read(prefix.clone()).expect("bytes");
                        inflate(&mut inflater, &stored, &mut out[..inflated(start + place)]);
                    }
                });
            }
        });
    }

    /// Time and memory of several jobs.
    struct Sums {
        seconds: f64,
        /// Seconds, summed over all threads.
        cpu: f64,
        /// Bytes that came from the disk.
        read: u64,
        /// The most bytes that were allocated at once; pages of maps are not.
        memory: i64,
    }

    impl Sums {
        const NONE: Self = Self {
            seconds: 0.0,
            cpu: 0.0,
            read: 0,
            memory: 0,
        };

        fn add(&mut self, job: impl FnOnce()) {
            let (cpu, read, start) = (ProcessTime::now(), bytes_from_disk(), Instant::now());
            let ((), count) = counted_in_process(job);
            self.seconds += start.elapsed().as_secs_f64();
            self.cpu += cpu.elapsed().as_secs_f64();
            self.read += bytes_from_disk() - read;
            self.memory = self.memory.max(count.peak);
        }
    }

    /// Bytes that this process has had read from a disk so far.
    fn bytes_from_disk() -> u64 {
        let io = fs::read_to_string("/proc/self/io").expect("what this process read");
        let line = io
            .lines()
            .find_map(|line| line.strip_prefix("read_bytes: "));
        line.and_then(|bytes| bytes.parse().ok())
            .expect("a number of bytes")
    }

    fn megabytes(of_all: u64) -> f64 {
        of_all as f64 / SNAPSHOTS as f64 / 1e6
    }
}
