//! One deflate stream on several threads, compared with one thread and with two streams on two threads.

use std::error::Error;
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;

use meshmap::slmesh::{Asset, Lod};
use meshmap::{Address, Block, Bytes, Codec, Options, Parallelism, Scratch, Source, cgeo};
use meshmap_testing::fixtures;
use meshmap_testing::measure::interleave;
use rayon::ThreadPool;

use crate::tmf::keep_pages;

const MEGABYTE: usize = 1_000_000;

/// Streams of several lengths, on one thread and on two.
pub(crate) fn streams() -> Result<(), Box<dyn Error>> {
    keep_pages();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    let mut out = String::new();
    writeln!(
        out,
        "| stream | bytes | ratio | one thread, MB/s | two threads | two streams on two threads |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|")?;
    for (name, content, add) in contents()? {
        for length in [
            MEGABYTE / 2,
            MEGABYTE,
            2 * MEGABYTE,
            4 * MEGABYTE,
            16 * MEGABYTE,
            100 * MEGABYTE,
        ] {
            let stream = compress(&long(&content, length, add));
            let [speed, threads, ceiling] = ratios(&pool, &stream, length);
            let ratio = stream.len() as f64 / length as f64;
            writeln!(
                out,
                "| {name} | {length} | {ratio:.2} | {speed:.0} | {threads:.2} | {ceiling:.2} |"
            )?;
        }
    }
    print!("{out}");
    Ok(())
}

type Add = fn(&mut [u8], u32);

/// The contents of streams: the base of a proxy, and a level of detail; and a way to make copies differ.
fn contents() -> Result<Vec<(&'static str, Bytes, Add)>, Box<dyn Error>> {
    let floats: Add = |content, copy| {
        for number in content.as_chunks_mut::<4>().0 {
            let scaled = f32::from_le_bytes(*number) * (1.0 + copy as f32 * 1e-3);
            *number = scaled.to_le_bytes();
        }
    };
    let integers: Add = |content, copy| {
        for number in content.as_chunks_mut::<2>().0 {
            *number = u16::from_le_bytes(*number)
                .wrapping_add((copy * 7) as u16)
                .to_le_bytes();
        }
    };
    let content = |block: &Block, source: &Source| {
        block.decode(source, &Options::default(), &mut Scratch::default())
    };
    let high = |asset: &Asset| -> Result<Bytes, Box<dyn Error>> {
        let blocks = asset.blocks()?;
        let high = blocks
            .iter()
            .find(|block| block.address.to_string() == Lod::High.name());
        Ok(content(high.ok_or("no finest level")?, asset.source())?)
    };
    let Some(corpus) = std::env::var_os("MESHMAP_CORPUS").map(PathBuf::from) else {
        let asset = Asset::from_source(
            Source::from_bytes(fixtures::slmesh::large(142)),
            &Options::default(),
        )?;
        return Ok(vec![("Second Life", high(&asset)?, integers)]);
    };
    let proxy = cgeo::Proxy::open(corpus.join("cgeo/large/anim_60k_40.cgeo"))?;
    let blocks = proxy.snapshot(0)?.blocks()?;
    let base = blocks
        .iter()
        .find(|block| block.what == "TAG_MESH_DATA")
        .ok_or("no mesh")?;
    let asset = Asset::open(corpus.join("slmesh/large/10_large_8x20k.slmesh"))?;
    Ok(vec![
        ("CGeo", content(base, proxy.source())?, floats),
        ("Second Life", high(&asset)?, integers),
    ])
}

/// So many bytes of mesh data: copies, each with other numbers.
fn long(content: &[u8], length: usize, add: Add) -> Vec<u8> {
    let mut long = Vec::new();
    for copy in 0.. {
        if long.len() >= length {
            break;
        }
        let start = long.len();
        long.extend_from_slice(content);
        add(&mut long[start..], copy);
    }
    long.truncate(length);
    long
}

fn compress(content: &[u8]) -> Bytes {
    let mut stream = vec![0; zlib_rs::compress_bound(content.len())];
    let config = zlib_rs::DeflateConfig {
        level: 6,
        window_bits: -15,
        ..Default::default()
    };
    let (stream, status) = zlib_rs::compress_slice(&mut stream, content, config);
    assert_eq!(status, zlib_rs::ReturnCode::Ok);
    Bytes::copy_from_slice(stream)
}

/// The speed of one thread; how many times as fast one stream is on two threads; and two streams, each on a thread of its
/// own.
fn ratios(pool: &ThreadPool, stream: &Bytes, length: usize) -> [f64; 3] {
    let source = Source::from_bytes(stream.clone());
    let range = 0..stream.len() as u64;
    let block = Block::new(
        "stream",
        Address::field("stream"),
        range,
        Codec::Deflate,
        Some(length as u64),
    );
    let decode = |parallelism, scratch: &mut Scratch| {
        let options = Options::default().with_parallelism(parallelism);
        block
            .decode(&source, &options, scratch)
            .expect("a stream without faults")
    };
    let [mut scratch, mut shared, mut first, mut second] =
        std::array::from_fn(|_| Scratch::default());
    let same = decode(Parallelism::Off, &mut scratch)
        == pool.install(|| decode(Parallelism::Rayon, &mut shared));
    assert!(same, "threads change the content");
    let rounds = if length > 50 * MEGABYTE { 9 } else { 31 };
    let [one, two, both] = interleave(
        rounds,
        [
            &mut || {
                drop(black_box(
                    pool.install(|| decode(Parallelism::Off, &mut scratch)),
                ))
            },
            &mut || {
                drop(black_box(
                    pool.install(|| decode(Parallelism::Rayon, &mut shared)),
                ))
            },
            &mut || {
                pool.join(
                    || drop(black_box(decode(Parallelism::Off, &mut first))),
                    || drop(black_box(decode(Parallelism::Off, &mut second))),
                );
            },
        ],
    );
    [
        length as f64 / one.seconds() / 1e6,
        one.times_of(two),
        2.0 * one.times_of(both),
    ]
}
