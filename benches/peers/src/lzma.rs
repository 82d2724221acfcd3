//! LZMA: this library's decoder compared with others, on the same blocks.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use liblzma::stream::{Action, Filters, Stream};
use lzma_rs::decompress::raw::{LzmaDecoder, LzmaParams, LzmaProperties};
use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};
use meshmap::openctm::Mesh;
use meshmap::{Address, Block, Codec, Options, Scratch, Source};
use meshmap_testing::measure::{Table, Times, interleave};

const LZMA_RUST2: &str = if cfg!(feature = "optimization") {
    "lzma-rust2, optimization"
} else {
    "lzma-rust2, safe"
};

/// A stream, and how long its content is.
struct Packed {
    properties: [u8; 5],
    stream: Vec<u8>,
    length: usize,
}

/// Blocks of several kinds, decoded by every decoder.
pub(crate) fn blocks(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let mut groups = generated();
    if let Some(corpus) = std::env::var_os("MESHMAP_CORPUS") {
        groups.push((
            "lzma: files of the corpus",
            of_files(&PathBuf::from(corpus).join("openctm/large"))?,
        ));
    }
    let add = |a: Option<[Times; 4]>, b: [Times; 4]| match a {
        None => Some(b),
        Some(a) => Some(std::array::from_fn(|index| a[index].and(b[index]))),
    };
    let mut sums = None;
    for (name, group) in &groups {
        // Block by block: the shorter a job, the likelier that nothing disturbs it.
        let times = group.iter().map(decode).fold(None, add);
        let Some(times @ [ours, rs, rust2, liblzma]) = times else {
            continue;
        };
        table.beside(name, "lzma-rs", [ours, rs]);
        table.beside(name, LZMA_RUST2, [ours, rust2]);
        table.beside(name, "liblzma", [ours, liblzma]);
        sums = add(sums, times);
    }
    if let Some([ours, rs, rust2, liblzma]) = sums {
        table.faster("lzma: sum of all", "lzma-rs", [ours, rs], 2.5);
        table.beside("lzma: sum of all", LZMA_RUST2, [ours, rust2]);
        table.faster("lzma: sum of all", "liblzma", [ours, liblzma], 1.0);
    }
    Ok(())
}

/// The four decoders, each of which decodes the block into fresh memory.
fn decode(packed: &Packed) -> [Times; 4] {
    let mut scratch = Scratch::default();
    let source = Source::from_bytes(packed.stream.clone());
    let codec = Codec::Lzma {
        properties: packed.properties,
    };
    let range = 0..packed.stream.len() as u64;
    let block = Block::new(
        "block",
        Address::field("block"),
        range,
        codec,
        Some(packed.length as u64),
    );
    let mut ours = || {
        block
            .decode(&source, &Options::default(), &mut scratch)
            .expect("a stream without faults")
    };
    let expected = ours();
    assert!(
        expected == lzma_rs(packed),
        "lzma-rs decodes something else"
    );
    assert!(
        expected == lzma_rust2(packed),
        "lzma-rust2 decodes something else"
    );
    assert!(
        expected == liblzma(packed),
        "liblzma decodes something else"
    );
    interleave(
        9,
        [
            &mut || drop(black_box(ours())),
            &mut || drop(black_box(lzma_rs(packed))),
            &mut || drop(black_box(lzma_rust2(packed))),
            &mut || drop(black_box(liblzma(packed))),
        ],
    )
}

fn lzma_rs(packed: &Packed) -> Vec<u8> {
    let bits = u32::from(packed.properties[0]);
    let properties = LzmaProperties {
        lc: bits % 9,
        lp: bits / 9 % 5,
        pb: bits / 45,
    };
    let params = LzmaParams::new(properties, dictionary(packed), Some(packed.length as u64));
    let mut out = Vec::with_capacity(packed.length);
    let mut decoder = LzmaDecoder::new(params, None).expect("properties");
    decoder
        .decompress(&mut packed.stream.as_slice(), &mut out)
        .expect("a stream without faults");
    out
}

fn lzma_rust2(packed: &Packed) -> Vec<u8> {
    let length = packed.length as u64;
    let properties = packed.properties[0];
    let stream = packed.stream.as_slice();
    let mut reader =
        LzmaReader::new_with_props(stream, length, properties, dictionary(packed), None)
            .expect("a stream without faults");
    let mut out = vec![0; packed.length];
    reader
        .read_exact(&mut out)
        .expect("a stream without faults");
    out
}

fn liblzma(packed: &Packed) -> Vec<u8> {
    let mut properties = packed.properties;
    properties[1..].copy_from_slice(&dictionary(packed).to_le_bytes());
    let mut filters = Filters::new();
    filters.lzma1_properties(&properties).expect("properties");
    let mut stream = Stream::new_raw_decoder(&filters).expect("properties");
    let mut out = vec![0; packed.length];
    stream
        .process(&packed.stream, &mut out, Action::Run)
        .expect("a stream without faults");
    assert_eq!(stream.total_out(), packed.length as u64);
    out
}

/// The smallest valid dictionary: the encoder's, and no larger than the content.
fn dictionary(packed: &Packed) -> u32 {
    let [_, a, b, c, d] = packed.properties;
    u32::from_le_bytes([a, b, c, d])
        .min(packed.length as u32)
        .max(4096)
}

/// Blocks that compress like blocks of meshes: bytes of numbers, the most significant of all numbers first.
fn generated() -> Vec<(&'static str, Vec<Packed>)> {
    const COUNT: u32 = 300_000;
    let noise = |i: u32| i.wrapping_mul(2_654_435_761) ^ (i.wrapping_mul(2_246_822_519) >> 13);
    let wave = |i: u32, step: f32| ((i % 550) as f32 * step).sin() * 10.0 + (i / 550) as f32 * 0.01;
    let float = |i: u32, step: f32| wave(i, step) + (noise(i) % 1000) as f32 * 1e-5;
    let floats = [0.01, 0.003, 0.017].map(|step| planes(COUNT, |i| float(i, step).to_bits()));
    let mixed = [0.01, 0.003, 0.017].map(|step| {
        planes(COUNT, |i| {
            let grid = |i: u32| (wave(i, step) * 300.0) as i32;
            let change = grid(i + 1)
                .wrapping_sub(grid(i))
                .wrapping_add((noise(i) % 7) as i32 - 3);
            (change << 1 ^ change >> 31) as u32
        })
    });
    let indices = [3, 50, 1000].map(|rare| {
        planes(COUNT * 4, |i| match i % 3 {
            0 => u32::from(noise(i).is_multiple_of(rare)),
            1 => 1 + i / 3 % 2 * 549,
            _ => 550 + u32::from(noise(i / 1000).is_multiple_of(rare)),
        })
    });
    let runs = [1, 4, 12].map(|period: u32| planes(COUNT * 4, |i| i % period * 77_777));
    vec![
        ("lzma: floats", floats.map(|data| encode(&data)).into()),
        ("lzma: mixed", mixed.map(|data| encode(&data)).into()),
        (
            "lzma: like indices",
            indices.map(|data| encode(&data)).into(),
        ),
        ("lzma: runs", runs.map(|data| encode(&data)).into()),
    ]
}

fn planes(count: u32, number: impl Fn(u32) -> u32) -> Vec<u8> {
    (0..4)
        .rev()
        .flat_map(|place| (0..count).map(move |i| (i, place)))
        .map(|(i, place)| (number(i) >> (place * 8)) as u8)
        .collect()
}

/// As OpenCTM does by default: level 1 and a dictionary of 64 KiB.
fn encode(data: &[u8]) -> Packed {
    let mut options = LzmaOptions::with_preset(1);
    options.dict_size = 1 << 16;
    let mut writer = LzmaWriter::new_no_header(Vec::new(), &options, false).expect("options");
    writer.write_all(data).expect("memory");
    let mut properties = [options.get_props(); 5];
    properties[1..].copy_from_slice(&options.dict_size.to_le_bytes());
    Packed {
        properties,
        stream: writer.finish().expect("memory"),
        length: data.len(),
    }
}

/// The blocks of all files of a folder.
fn of_files(folder: &Path) -> Result<Vec<Packed>, Box<dyn Error>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    files.sort();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ctm"));
    let mut blocks = Vec::new();
    for path in files {
        let mesh = Mesh::at(&Source::open(path)?, 0, &Options::default())?;
        for block in mesh.blocks() {
            let Codec::Lzma { properties } = block.codec else {
                continue;
            };
            let stream = mesh.source().read(block.range)?.to_vec();
            let length = usize::try_from(block.decoded_len.ok_or("LZMA blocks have a length")?)?;
            blocks.push(Packed {
                properties,
                stream,
                length,
            });
        }
    }
    Ok(blocks)
}
