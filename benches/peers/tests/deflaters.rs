//! The output of zlib, libdeflate, zopfli and miniz_oxide at all of their levels decodes to the input: by both decoders,
//! as a whole and as a prefix, on one thread and on several.
//!
//! The crate zlib-rs stands for zlib; it writes the same as zlib-ng.

use std::num::NonZero;
use std::path::Path;

use meshmap::slmesh::Asset;
use meshmap::{Address, Block, Codec, Decoder, Options, Parallelism, Scratch, Source, cgeo};
use meshmap_testing::fixtures;
use zlib_rs::{DeflateConfig, ReturnCode, Strategy};

/// Contents of many kinds, by their names.
fn contents() -> Vec<(String, Vec<u8>)> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut all = vec![
        ("nothing".to_owned(), Vec::new()),
        ("one byte".to_owned(), vec![7]),
        ("zeros".to_owned(), vec![0; 300_000]),
        (
            "noise".to_owned(),
            (0..100_000).map(|_| random() as u8).collect(),
        ),
        (
            "few values".to_owned(),
            (0..200_000).map(|_| (random() % 3) as u8).collect(),
        ),
        (
            "far matches".to_owned(),
            (0..200_000_u32)
                .map(|i| ((i % 32_749 * 7) >> 3) as u8)
                .collect(),
        ),
    ];
    let asset = Asset::from_source(
        Source::from_bytes(fixtures::slmesh::large(40)),
        &Options::default(),
    )
    .expect("a good asset");
    all.extend(blocks(
        "Second Life",
        asset.blocks().expect("blocks"),
        asset.source(),
    ));
    if let Some(corpus) = std::env::var_os("MESHMAP_CORPUS") {
        let path = Path::new(&corpus).join("cgeo/large/anim_60k_40.cgeo");
        let proxy = cgeo::Proxy::open(path).expect("the large proxy");
        for index in [0, 7] {
            let snapshot = proxy.snapshot(index).expect("a snapshot");
            all.extend(blocks(
                "CGeo",
                snapshot.blocks().expect("blocks").to_vec(),
                proxy.source(),
            ));
        }
    }
    all
}

fn blocks(name: &str, blocks: Vec<Block>, source: &Source) -> Vec<(String, Vec<u8>)> {
    let content =
        |block: &Block| block.decode(source, &Options::default(), &mut Scratch::default());
    let named = |block: Block| {
        (
            format!("{name}, {}", block.address),
            content(&block).expect("a good block").to_vec(),
        )
    };
    blocks
        .into_iter()
        .filter(|block| block.codec != Codec::Stored)
        .map(named)
        .collect()
}

/// Deflate streams of a content, and what wrote each.
fn streams(content: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let strategies = [
        Strategy::Default,
        Strategy::Filtered,
        Strategy::HuffmanOnly,
        Strategy::Rle,
        Strategy::Fixed,
    ];
    for (level, strategy) in (0..=9).flat_map(|level| strategies.map(|strategy| (level, strategy)))
    {
        let mut out = vec![0; zlib_rs::compress_bound(content.len()) + 1000];
        let config = DeflateConfig {
            level,
            strategy,
            window_bits: -15,
            ..DeflateConfig::default()
        };
        let (stream, code) = zlib_rs::compress_slice(&mut out, content, config);
        assert_eq!(code, ReturnCode::Ok);
        all.push((format!("zlib {level} {strategy:?}"), stream.to_vec()));
    }
    for level in 0..=12 {
        let level = libdeflater::CompressionLvl::new(level).expect("a level");
        let mut compressor = libdeflater::Compressor::new(level);
        let mut out = vec![0; compressor.deflate_compress_bound(content.len())];
        let length = compressor
            .deflate_compress(content, &mut out)
            .expect("room");
        out.truncate(length);
        all.push((format!("libdeflate {level:?}"), out));
    }
    for level in 0..=10 {
        all.push((
            format!("miniz_oxide {level}"),
            miniz_oxide::deflate::compress_to_vec(content, level),
        ));
    }
    /// Zopfli takes minutes for more.
    const ZOPFLI: usize = 100_000;
    if content.len() <= ZOPFLI {
        for iterations in [1, 5, 15].map(NonZero::new).into_iter().flatten() {
            let options = zopfli::Options {
                iteration_count: iterations,
                ..zopfli::Options::default()
            };
            let mut out = Vec::new();
            zopfli::compress(options, zopfli::Format::Deflate, content, &mut out).expect("memory");
            all.push((format!("zopfli {iterations}"), out));
        }
    }
    all
}

/// Decodes a stream as a whole and half of it, in all ways that there are.
fn check(name: &str, stream: Vec<u8>, content: &[u8]) {
    let (range, length) = (0..stream.len() as u64, content.len() as u64);
    let source = Source::from_bytes(stream);
    let mut scratch = Scratch::default();
    for (decoder, parallelism) in [
        (Decoder::Fast, Parallelism::Off),
        (Decoder::Fast, Parallelism::Rayon),
        (Decoder::Reference, Parallelism::Off),
    ] {
        let options = Options::default()
            .with_decoder(decoder)
            .with_parallelism(parallelism);
        for known in [Some(length), None] {
            let block = Block::new(
                "stream",
                Address::field("stream"),
                range.clone(),
                Codec::Deflate,
                known,
            );
            let decoded = block.decode(&source, &options, &mut scratch);
            let decoded = decoded.unwrap_or_else(|error| panic!("{name}, {decoder:?}: {error}"));
            assert!(decoded == content, "{name}, {decoder:?}, {parallelism:?}");
        }
    }
}

#[test]
fn what_other_deflaters_write_comes_out_as_it_went_in() {
    let mut count = 0;
    for (content_name, content) in contents() {
        for (name, stream) in streams(&content) {
            check(&format!("{content_name} by {name}"), stream, &content);
            count += 1;
        }
        if content.len() <= 100_000 {
            continue;
        }
        // The beginning, which zopfli also gets through.
        for (name, stream) in streams(&content[..100_000]) {
            check(
                &format!("the beginning of {content_name} by {name}"),
                stream,
                &content[..100_000],
            );
            count += 1;
        }
    }
    println!("{count} streams");
}

/// Long ones, of which several threads decode parts.
#[test]
fn long_streams_of_other_deflaters_come_out_as_they_went_in() {
    for (name, content) in contents()
        .into_iter()
        .filter(|(_, content)| content.len() > 150_000)
    {
        let content = content.repeat(6_000_000 / content.len() + 1);
        for level in [1, 6, 9, 12] {
            let mut compressor = libdeflater::Compressor::new(
                libdeflater::CompressionLvl::new(level).expect("a level"),
            );
            let mut out = vec![0; compressor.deflate_compress_bound(content.len())];
            let length = compressor
                .deflate_compress(&content, &mut out)
                .expect("room");
            out.truncate(length);
            check(
                &format!("{name}, long, by libdeflate {level}"),
                out,
                &content,
            );
        }
        for level in [1, 6, 9] {
            let mut out = vec![0; zlib_rs::compress_bound(content.len()) + 1000];
            let config = DeflateConfig {
                level,
                window_bits: -15,
                ..DeflateConfig::default()
            };
            let (stream, code) = zlib_rs::compress_slice(&mut out, &content, config);
            assert_eq!(code, ReturnCode::Ok);
            let stream = stream.to_vec();
            check(&format!("{name}, long, by zlib {level}"), stream, &content);
        }
    }
}
