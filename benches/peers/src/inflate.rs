//! The decoder of `meshmap-inflate` against others, on the same streams.

use std::error::Error;
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;

use meshmap::slmesh::Asset;
use meshmap::{Block, Bytes, Codec, Options, Scratch, Source, cgeo};
use meshmap_inflate::{Format, Inflater};
use meshmap_testing::fixtures;
use meshmap_testing::measure::{Times, interleave};

use crate::igzip::Igzip;
use crate::tmf::keep_pages;

const PEERS: [&str; 5] = [
    "zlib-rs",
    "libdeflate",
    "igzip",
    "zune-inflate",
    "miniz_oxide",
];

/// Streams of this kind are the mean of one row.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Base,
    Difference,
    Plain,
    Skinned,
}

/// A deflate stream, and its content.
struct Packed {
    name: String,
    kind: Kind,
    stream: Vec<u8>,
    content: Bytes,
}

/// Every stream by every decoder, and geometric means of the ratios.
pub(crate) fn streams() -> Result<(), Box<dyn Error>> {
    keep_pages();
    let mut rows = Vec::new();
    let mut out = String::new();
    writeln!(
        out,
        "| stream | bytes | ratio | ours, MB/s | {} |",
        PEERS.join(" | ")
    )?;
    writeln!(out, "|---|--:|--:|--:|{}", "--:|".repeat(PEERS.len()))?;
    for packed in all()? {
        let [ours, peers @ ..] = times(&packed);
        let ratios = peers.map(|peer| peer.times_of(ours));
        let length = packed.content.len();
        let speed = length as f64 / ours.seconds() / 1e6;
        let ratio = packed.stream.len() as f64 / length as f64;
        writeln!(
            out,
            "| {} | {length} | {ratio:.2} | {speed:.0} | {} |",
            packed.name,
            cells(ratios)
        )?;
        rows.push((packed.kind, ratios));
    }
    let means: [(&str, &[Kind]); 5] = [
        ("CGeo, the base", &[Kind::Base]),
        ("CGeo, differences", &[Kind::Difference]),
        ("Second Life, plain", &[Kind::Plain]),
        ("Second Life, skinned", &[Kind::Skinned]),
        (
            "all",
            &[Kind::Base, Kind::Difference, Kind::Plain, Kind::Skinned],
        ),
    ];
    for (name, kinds) in means {
        let of: Vec<_> = rows
            .iter()
            .filter(|(kind, _)| kinds.contains(kind))
            .map(|(_, ratios)| ratios)
            .collect();
        if of.is_empty() {
            continue;
        }
        let mean = |peer: usize| {
            (of.iter().map(|ratios| ratios[peer].ln()).sum::<f64>() / of.len() as f64).exp()
        };
        writeln!(
            out,
            "| **geometric mean: {name}** | | | | {} |",
            cells(std::array::from_fn(mean))
        )?;
        let least = |peer: usize| {
            of.iter()
                .map(|ratios| ratios[peer])
                .fold(f64::INFINITY, f64::min)
        };
        writeln!(
            out,
            "| least: {name} | | | | {} |",
            cells(std::array::from_fn(least))
        )?;
    }
    print!("{out}");
    Ok(())
}

fn cells(ratios: [f64; PEERS.len()]) -> String {
    ratios.map(|ratio| format!("{ratio:.2}")).join(" | ")
}

/// The streams of the large files of the corpus; without it, of one that is generated.
fn all() -> Result<Vec<Packed>, Box<dyn Error>> {
    let Some(corpus) = std::env::var_os("MESHMAP_CORPUS").map(PathBuf::from) else {
        return of_asset(
            &Asset::from_source(
                Source::from_bytes(fixtures::slmesh::large(142)),
                &Options::default(),
            )?,
            Kind::Skinned,
        );
    };
    let proxy = cgeo::Proxy::open(corpus.join("cgeo/large/anim_60k_40.cgeo"))?;
    let mut all = Vec::new();
    for index in (0..proxy.snapshot_count()).step_by(4) {
        let snapshot = proxy.snapshot(index)?;
        let kind = if snapshot.is_complete(&mut Scratch::default())? {
            Kind::Base
        } else {
            Kind::Difference
        };
        for block in snapshot
            .blocks()?
            .iter()
            .filter(|block| block.what == "TAG_MESH_DATA")
        {
            all.extend(packed(
                format!("CGeo, snapshot {index}"),
                kind,
                block,
                proxy.source(),
            )?);
        }
    }
    for (name, kind) in [
        ("10_large_8x20k", Kind::Plain),
        ("11_large_skinned_8x20k", Kind::Skinned),
    ] {
        all.extend(of_asset(
            &Asset::open(corpus.join(format!("slmesh/large/{name}.slmesh")))?,
            kind,
        )?);
    }
    Ok(all)
}

fn of_asset(asset: &Asset, kind: Kind) -> Result<Vec<Packed>, Box<dyn Error>> {
    let name = if kind == Kind::Plain {
        "plain"
    } else {
        "skinned"
    };
    let mut all = Vec::new();
    for block in asset.blocks()? {
        all.extend(packed(
            format!("Second Life, {name}: {}", block.address),
            kind,
            &block,
            asset.source(),
        )?);
    }
    Ok(all)
}

/// The deflate stream of a block, without header and checksum, if it is long enough to be measured.
fn packed(
    name: String,
    kind: Kind,
    block: &Block,
    source: &Source,
) -> Result<Option<Packed>, Box<dyn Error>> {
    let content = block.decode(source, &Options::default(), &mut Scratch::default())?;
    if block.codec != Codec::Zlib || content.len() < 50_000 {
        return Ok(None);
    }
    let stored = source.read(block.range.clone())?;
    Ok(Some(Packed {
        name,
        kind,
        stream: stored[2..].to_vec(),
        content,
    }))
}

/// Each decoder writes the content into fresh memory, whose pages stay with the program, and computes no checksum.
fn times(packed: &Packed) -> [Times; PEERS.len() + 1] {
    let Packed {
        stream, content, ..
    } = packed;
    let length = content.len();
    let mut inflater = Inflater::new();
    let mut ours = || {
        let mut out = vec![0; length];
        let count = inflater
            .inflate_into(stream, Format::Raw, &mut out)
            .expect("a stream without faults");
        assert_eq!(count, length);
        out
    };

    let mut inflate = zlib_rs::Inflate::new(false, 15);
    let mut zlib_rs = || {
        let mut out = vec![0; length];
        inflate.reset(false);
        let status = inflate.decompress(stream, &mut out, zlib_rs::InflateFlush::Finish);
        assert_eq!(status, Ok(zlib_rs::Status::StreamEnd));
        out
    };
    let mut decompressor = libdeflater::Decompressor::new();
    let mut libdeflate = || {
        let mut out = vec![0; length];
        decompressor
            .deflate_decompress(stream, &mut out)
            .expect("a stream without faults");
        out
    };
    let mut state = Igzip::new();
    let mut igzip = || {
        let mut out = vec![0; length];
        assert_eq!(state.inflate(stream, &mut out), length);
        out
    };
    let zune = || {
        let options = zune_inflate::DeflateOptions::default().set_size_hint(length);
        let mut decoder = zune_inflate::DeflateDecoder::new_with_options(stream, options);
        decoder.decode_deflate().expect("a stream without faults")
    };
    let miniz_oxide = || {
        let mut out = vec![0; length];
        let mut state = Box::new(miniz_oxide::inflate::core::DecompressorOxide::new());
        let flags =
            miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (.., count) =
            miniz_oxide::inflate::core::decompress(&mut state, stream, &mut out, 0, flags);
        assert_eq!(count, length);
        out
    };
    let same = |name: &str, content: &[u8]| {
        assert!(content == packed.content, "{name} decodes something else")
    };
    same("meshmap-inflate", &ours());
    let peers = [zlib_rs(), libdeflate(), igzip(), zune(), miniz_oxide()];
    PEERS
        .iter()
        .zip(&peers)
        .for_each(|(name, content)| same(name, content));
    interleave(
        if length < 1_000_000 { 101 } else { 31 },
        [
            &mut || drop(black_box(ours())),
            &mut || drop(black_box(zlib_rs())),
            &mut || drop(black_box(libdeflate())),
            &mut || drop(black_box(igzip())),
            &mut || drop(black_box(zune())),
            &mut || drop(black_box(miniz_oxide())),
        ],
    )
}
