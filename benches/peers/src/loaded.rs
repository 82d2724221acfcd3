//! A renderer's calls while other programs use the processors, against a loop over zlib-rs that knows the file.

use std::error::Error;
use std::fmt::Write;
use std::hint::black_box;
use std::process::{Child, Command};
use std::time::Instant;

use meshmap::cgeo::{Dialect, MeshBuffer, Parts, Proxy, VertexWriter, Wrap};
use meshmap::{Options, Scratch, Semantic, VertexFormat, VertexLayout, VertexRemap};
use meshmap_testing::fixtures::cgeo::{animation, file};

const SIDE: u32 = 490;
const SNAPSHOTS: usize = 24;
/// Bytes of a vertex: positions, normals in bytes, texture coordinates.
const STRIDE: usize = 24;

/// The name of the program's argument that only uses a processor.
pub(crate) const SPIN: &str = "spin";

/// Processes that use the processors until this is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn new(count: usize) -> std::io::Result<Self> {
        let program = std::env::current_exe()?;
        (0..count)
            .map(|_| Command::new(&program).arg(SPIN).spawn())
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Processor seconds of this process so far, and its context switches.
fn used() -> (f64, i64) {
    // SAFETY: a place for the numbers, of which all bytes may be 0.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    (
        seconds(usage.ru_utime) + seconds(usage.ru_stime),
        usage.ru_nvcsw + usage.ru_nivcsw,
    )
}

/// The cost of one side of a row.
#[derive(Default)]
struct Cost {
    /// Processor seconds of each batch, per call.
    batches: Vec<f64>,
    /// Seconds of each call.
    calls: Vec<f64>,
    switches: i64,
}

impl Cost {
    fn least(&self) -> f64 {
        self.batches.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The time that one call of a hundred takes longer than.
    fn p99(&mut self) -> f64 {
        self.calls.sort_by(f64::total_cmp);
        self.calls[self.calls.len() * 99 / 100]
    }
}

/// Runs both sides in turns, in batches of calls with the numbers of snapshots.
fn compare(rounds: usize, order: &[usize], mut sides: [&mut dyn FnMut(usize); 2]) -> [Cost; 2] {
    let mut costs = [Cost::default(), Cost::default()];
    sides
        .iter_mut()
        .for_each(|side| order.iter().for_each(|index| side(*index)));
    for _ in 0..rounds {
        for (side, cost) in sides.iter_mut().zip(&mut costs) {
            let before = used();
            for index in order {
                let start = Instant::now();
                side(*index);
                cost.calls.push(start.elapsed().as_secs_f64());
            }
            let after = used();
            cost.batches.push((after.0 - before.0) / order.len() as f64);
            cost.switches += after.1 - before.1;
        }
    }
    costs
}

/// The memory of a renderer that knows the format: the streams, the decoded first snapshot, and the vertices.
struct Hand {
    streams: Vec<Vec<u8>>,
    base: Vec<f32>,
    inflate: zlib_rs::Inflate,
    content: Vec<u8>,
}

impl Hand {
    fn new(proxy: &Proxy) -> meshmap::Result<Self> {
        let mut streams = Vec::new();
        for index in 0..proxy.snapshot_count() {
            let snapshot = proxy.snapshot(index)?;
            let blocks = snapshot.blocks()?;
            let mesh = blocks
                .iter()
                .find(|block| block.what == "TAG_MESH_DATA")
                .expect("a mesh");
            streams.push(proxy.source().read(mesh.range.clone())?[2..].to_vec());
        }
        let first = proxy.snapshot(0)?;
        let (positions, normals) = (first.positions()?.to_vec(), first.normals()?.to_vec());
        let texcoords = first.texcoords(0)?.to_vec();
        let base = [positions, normals, texcoords].concat().concat();
        Ok(Self {
            streams,
            base,
            inflate: zlib_rs::Inflate::new(false, 15),
            content: Vec::new(),
        })
    }

    /// Inflates the differences of a number of arrays, and leaves them with their tags.
    fn inflate(&mut self, index: usize, arrays: usize) {
        let vertices = (SIDE * SIDE) as usize;
        self.content.resize(1 + arrays * (vertices * 12 + 4), 0);
        self.inflate.reset(false);
        let flush = zlib_rs::InflateFlush::NoFlush;
        let status = self
            .inflate
            .decompress(&self.streams[index], &mut self.content, flush);
        assert!(status.is_ok() && self.inflate.total_out() as usize == self.content.len());
    }

    /// The differences of an array.
    fn differences(&self, array: usize) -> &[u8] {
        let vertices = (SIDE * SIDE) as usize;
        &self.content[1 + array * (vertices * 12 + 4)..][..vertices * 12]
    }

    fn positions(&mut self, index: usize, out: &mut [f32]) {
        self.inflate(index, 1);
        let differences = self.differences(0).chunks_exact(4);
        for ((out, base), difference) in out.iter_mut().zip(&self.base).zip(differences) {
            *out = base + f32::from_le_bytes(difference.try_into().expect("4 bytes"));
        }
    }

    fn vertices(&mut self, index: usize, remap: &VertexRemap, out: &mut [u8]) {
        self.inflate(index, 3);
        let vertices = (SIDE * SIDE) as usize;
        let number = |array: usize, element: u32, axis: usize| {
            let at = element as usize * 3 + axis;
            let bytes = &self.differences(array)[at * 4..at * 4 + 4];
            self.base[array * vertices * 3 + at]
                + f32::from_le_bytes(bytes.try_into().expect("4 bytes"))
        };
        let [positions, normals, texcoords] =
            [0, 1, 2].map(|stream| remap.sources(stream).expect("a stream"));
        for (vertex, out) in out.chunks_exact_mut(STRIDE).enumerate() {
            for axis in 0..3 {
                let position = number(0, positions[vertex], axis).to_le_bytes();
                out[axis * 4..axis * 4 + 4].copy_from_slice(&position);
                let normal = number(1, normals[vertex], axis).clamp(-1.0, 1.0) * 127.0;
                out[12 + axis] = normal.round() as i8 as u8;
            }
            out[15] = 0;
            for axis in 0..2 {
                let texcoord = number(2, texcoords[vertex], axis).to_le_bytes();
                out[16 + axis * 4..20 + axis * 4].copy_from_slice(&texcoord);
            }
        }
    }
}

/// All rows with no, one and two busy processors.
pub(crate) fn rows() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("loaded.cgeo");
    std::fs::write(
        &path,
        file(&animation(SIDE, SNAPSHOTS).1, Dialect::default()),
    )?;
    let proxy = Proxy::from_source(crate::map(&path), &Options::default())?;
    let mut hand = Hand::new(&proxy)?;
    let timing = proxy.timing().expect("times");
    let vertices = (SIDE * SIDE) as usize;
    // A fixed order that looks random, without the first snapshot, which is complete.
    let random: Vec<usize> = (0..40_usize)
        .map(|turn| 1 + turn * 7919 % (SNAPSHOTS - 1))
        .collect();
    let playing: Vec<usize> = (1..SNAPSHOTS).collect();

    let layout = VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with(Semantic::Normal, VertexFormat::SNORM8X4)
        .with(Semantic::TexCoord(0), VertexFormat::FLOAT32X2);
    let mut writer = VertexWriter::new(layout)?;
    let remap = writer.remap(&proxy.snapshot(0)?)?;
    let mut buffers = [
        vec![0_u8; remap.vertex_count() * STRIDE],
        vec![0_u8; remap.vertex_count() * STRIDE],
    ];
    let (mut scratch, mut ours, mut theirs) =
        (Scratch::default(), Vec::new(), vec![0.0_f32; vertices * 3]);
    let mut second = theirs.clone();

    // The same numbers.
    for index in [1, SNAPSHOTS - 1] {
        proxy
            .snapshot(index)?
            .positions_into(&mut ours, &mut scratch)?;
        hand.positions(index, &mut theirs);
        assert!(ours.as_flattened() == theirs.as_slice());
        let [own, other] = &mut buffers;
        writer.write(&proxy.snapshot(index)?, &mut [own])?;
        hand.vertices(index, &remap, other);
        assert!(own == other);
    }

    let mut out = String::new();
    writeln!(
        out,
        "| call | busy | processor time to the loop's | ms | p99 to the loop's | ms | switches per call |\n|---|--:|--:|--:|--:|--:|--:|"
    )?;
    for busy in 0..3 {
        let _busy = Busy::new(busy)?;
        let mut row = |name: &str, [mut a, mut b]: [Cost; 2]| {
            let (least, p99) = (a.least(), a.p99());
            let switches = a.switches as f64 / a.calls.len() as f64;
            writeln!(
                out,
                "| {name} | {busy} | {:.2} | {:.2} | {:.2} | {:.2} | {switches:.2} |",
                least / b.least(),
                least * 1e3,
                p99 / b.p99(),
                p99 * 1e3,
            )
        };
        let mut pull = |index: usize| {
            let snapshot = proxy.snapshot(index).expect("a snapshot");
            snapshot
                .positions_into(&mut ours, &mut scratch)
                .expect("positions");
            black_box(&ours);
        };
        row(
            "random positions",
            compare(
                50,
                &random,
                [&mut pull, &mut |index| {
                    hand.positions(index, &mut theirs);
                    black_box(&theirs);
                }],
            ),
        )?;
        row(
            "playing positions",
            compare(
                30,
                &playing,
                [&mut pull, &mut |index| {
                    hand.positions(index, &mut theirs);
                    black_box(&theirs);
                }],
            ),
        )?;
        row(
            "motion blur, two snapshots",
            compare(
                20,
                &playing[1..],
                [
                    &mut |index| {
                        let keys = [timing.time_of(index - 1), timing.time_of(index)];
                        proxy
                            .positions_at(&timing, &keys, Wrap::Clamp, &mut ours, &mut scratch)
                            .expect("positions");
                        black_box(&ours);
                    },
                    &mut |index| {
                        hand.positions(index - 1, &mut theirs);
                        hand.positions(index, &mut second);
                        black_box((&theirs, &second));
                    },
                ],
            ),
        )?;
        let [own, other] = &mut buffers;
        row(
            "interleaved vertices",
            compare(
                20,
                &playing,
                [
                    &mut |index| {
                        let snapshot = proxy.snapshot(index).expect("a snapshot");
                        black_box(writer.write(&snapshot, &mut [own]).expect("vertices"));
                    },
                    &mut |index| hand.vertices(index, &remap, black_box(other)),
                ],
            ),
        )?;
    }
    print!("{out}");
    Ok(())
}

/// The bytes that the system reads of a file for random pulls of positions, of which nothing is in memory.
pub(crate) fn cold() -> Result<(), Box<dyn Error>> {
    use std::os::fd::AsRawFd;

    let folder = tempfile::tempdir_in(".")?;
    let path = folder.path().join("cold.cgeo");
    std::fs::write(&path, file(&animation(SIDE, 100).1, Dialect::default()))?;
    std::fs::File::open(&path)?.sync_all()?;
    // As far as the system counts them, of all processes that wait for this one's pages: only this one.
    let read = || -> Result<u64, Box<dyn Error>> {
        let text = std::fs::read_to_string("/proc/self/io")?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("read_bytes: "))
            .ok_or("no read_bytes")?;
        Ok(line.parse()?)
    };
    let forget = || -> Result<(), Box<dyn Error>> {
        let file = std::fs::File::open(&path)?;
        // SAFETY: a file that is open.
        let status =
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        if status == 0 {
            Ok(())
        } else {
            Err("the system keeps the file in memory".into())
        }
    };
    println!(
        "| source | parts | first snapshot, ms | MB per pull | ms per pull |\n|---|---|--:|--:|--:|"
    );
    for (is_mapped, parts) in [false, true].into_iter().flat_map(|is_mapped| {
        [("positions", Parts::POSITIONS), ("all", Parts::ALL)].map(|parts| (is_mapped, parts))
    }) {
        forget()?;
        let source = if is_mapped {
            crate::map(&path)
        } else {
            meshmap::Source::open(&path)?
        };
        let proxy = Proxy::from_source(source, &Options::default())?;
        let (mut out, mut scratch) = (MeshBuffer::default(), Scratch::default());
        let count = proxy.snapshot_count();
        let mut pull = |index: usize| {
            proxy
                .snapshot(index)
                .and_then(|snapshot| snapshot.mesh_into(parts.1, &mut out, &mut scratch))
        };
        let start = Instant::now();
        pull(0)?;
        let first = start.elapsed().as_secs_f64();
        // The first differences show how much of the others is needed.
        (1..4).try_for_each(&mut pull)?;
        let order: Vec<usize> = (0..40_usize)
            .map(|turn| 4 + turn * 7919 % (count - 4))
            .collect();
        let (before, start) = (read()?, Instant::now());
        order.iter().copied().try_for_each(&mut pull)?;
        let (bytes, time) = (read()? - before, start.elapsed().as_secs_f64());
        let name = if is_mapped {
            "Source::map"
        } else {
            "Source::open"
        };
        let (pulls, first) = (order.len() as f64, first * 1e3);
        let megabytes = bytes as f64 / pulls / 1e6;
        println!(
            "| {name} | {} | {first:.1} | {megabytes:.2} | {:.1} |",
            parts.0,
            time * 1e3 / pulls
        );
    }
    Ok(())
}
