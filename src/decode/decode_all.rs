use std::collections::{HashMap, HashSet};
use std::ops::Range;

use bytes::Bytes;

use super::block::{Attempt, Block};
use super::scratch::Scratch;
use crate::bytes::Source;
use crate::codec::Codec;
use crate::limits::{Charge, Meter};
use crate::num::as_u64;
use crate::options::Options;
use crate::report::Result;

/// Decodes several blocks, in parallel if that pays; returns one result for each, in order.
///
/// Each block fails independently. Blocks that would exceed [`max_total_bytes`](crate::Limits::max_total_bytes), counted in
/// their order, are refused before their memory is taken. The results do not depend on threads; see
/// [`Parallelism`](crate::Parallelism). Blocks of the same bytes are decoded once, and share memory.
pub fn decode_all(source: &Source, blocks: &[Block], options: &Options) -> Vec<Result<Bytes>> {
    type Content = (Range<u64>, Codec, Option<u64>);
    let content =
        |block: &Block| -> Content { (block.range.clone(), block.codec, block.decoded_len) };
    let mut seen = HashSet::new();
    let is_first: Vec<bool> = blocks
        .iter()
        .map(|block| seen.insert(content(block)))
        .collect();
    if seen.len() == blocks.len() {
        return decode_different(source, blocks, options);
    }
    let firsts = blocks
        .iter()
        .zip(is_first)
        .filter(|(_, is_first)| *is_first);
    let different: Vec<Block> = firsts.map(|(block, _)| block.clone()).collect();
    let results = decode_different(source, &different, options);
    let results: HashMap<Content, Result<Bytes>> =
        different.iter().map(content).zip(results).collect();
    let result = |block: &Block| {
        let result = results.get(&content(block))?.clone();
        Some(result.map_err(|error| error.of(block.address.clone())))
    };
    blocks.iter().filter_map(result).collect()
}

fn decode_different(source: &Source, blocks: &[Block], options: &Options) -> Vec<Result<Bytes>> {
    let mut results = Vec::with_capacity(blocks.len());
    let meter = meter(source, blocks, options);
    for (attempt, block) in in_parallel(source, blocks, options).into_iter().zip(blocks) {
        // From the first block on whose outcome depends on what is held for others, one comes after the other.
        let held = attempt
            .result
            .as_ref()
            .map_or(0, |content| size(block, content));
        if attempt.is_refused
            || attempt.reached > meter.left()
            || meter.work(attempt.reached, block.what).is_err()
            || meter.take(held, block.what).map(Charge::keep).is_err()
        {
            break;
        }
        results.push(attempt.result);
    }
    let mut scratch = Scratch::default();
    for block in blocks.get(results.len()..).unwrap_or_default() {
        results.push(decode(source, block, options, &meter, &mut scratch));
    }
    results
        .into_iter()
        .map(|result| result.map_err(|error| source.locate(error)))
        .collect()
}

/// Returns the memory of a block's content; 0 if the content is the memory of the file.
fn size(block: &Block, content: &Bytes) -> u64 {
    if block.codec == Codec::Stored {
        0
    } else {
        as_u64(content.len())
    }
}

/// Decodes a block after others, unless they were too much work.
fn decode(
    source: &Source,
    block: &Block,
    options: &Options,
    meter: &Meter,
    scratch: &mut Scratch,
) -> Result<Bytes> {
    let work = |units| {
        meter
            .work(units, block.what)
            .map_err(|error| error.at(block.range.clone()))
    };
    work(0)?;
    let Attempt {
        result, reached, ..
    } = attempt(source, block, options, meter, scratch);
    work(reached)?;
    result
}

/// The meter of a call that reads these blocks, as far as the file has them.
fn meter(source: &Source, blocks: &[Block], options: &Options) -> Meter<'static> {
    let meter = Meter::of_call(&options.limits);
    let len = source.len().ok().flatten().unwrap_or(0);
    let is_there = |block: &&Block| block.range.end <= len;
    blocks
        .iter()
        .filter(is_there)
        .for_each(|block| meter.count_read(&block.range));
    meter
}

fn attempt(
    source: &Source,
    block: &Block,
    options: &Options,
    meter: &Meter,
    scratch: &mut Scratch,
) -> Attempt {
    match source.get(block.range.clone(), block.what) {
        Ok(stored) => block.attempt(stored, options, meter, scratch),
        Err(error) => Attempt {
            result: Err(error),
            reached: 0,
            is_refused: false,
        },
    }
}

/// Decodes the blocks on several threads, if that pays; otherwise none.
#[cfg(feature = "rayon")]
fn in_parallel(source: &Source, blocks: &[Block], options: &Options) -> Vec<Attempt> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rayon::prelude::*;

    use crate::limits::job;
    use crate::num::Span;
    use crate::options::Parallelism;

    /// The minimum number of stored bytes of deflate streams, not counting the largest block, that is worth waking another thread
    /// for.
    const PARALLEL: u64 = 256 << 10;
    /// LZMA takes this many times as long for a stored byte.
    const LZMA: u64 = 16;
    let work = blocks.iter().map(|block| {
        let factor = if matches!(block.codec, Codec::Lzma { .. }) {
            LZMA
        } else {
            1
        };
        block.range.length().saturating_mul(factor)
    });
    let largest = work.clone().max().unwrap_or(0);
    let all = work.fold(0_u64, u64::saturating_add);
    if options.parallelism != Parallelism::Rayon || all.saturating_sub(largest) < PARALLEL {
        return Vec::new();
    }
    let meter = meter(source, blocks, options);
    let is_over = AtomicBool::new(false);
    let decode = |scratch: &mut Scratch, block: &Block| {
        // Blocks after a refused block are decoded again.
        let attempt = (!is_over.load(Ordering::Relaxed))
            .then(|| attempt(source, block, options, &meter, scratch))?;
        is_over.fetch_or(attempt.is_refused, Ordering::Relaxed);
        Some(attempt)
    };
    let attempts: Vec<Option<Attempt>> = job::in_pool(|job| {
        let decode = |scratch: &mut Scratch, block: &Block| job.task(|| decode(scratch, block));
        blocks
            .par_iter()
            .map_init(|| job.task(Scratch::default), decode)
            .collect()
    });
    attempts.into_iter().map_while(|attempt| attempt).collect()
}

#[cfg(not(feature = "rayon"))]
fn in_parallel(_: &Source, _: &[Block], _: &Options) -> Vec<Attempt> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::options::{Checksums, Parallelism, Strictness};
    use crate::report::{Address, Error, ErrorKind};

    /// Some streams one after the other, and what they hold.
    fn streams(lengths: &[usize]) -> (Source, Vec<Block>, Vec<Vec<u8>>) {
        let contents: Vec<Vec<u8>> = lengths
            .iter()
            .map(|length| (0..*length).map(|i| (i % 251 * i / 1000) as u8).collect())
            .collect();
        let mut file = Vec::new();
        let mut blocks = Vec::new();
        for (index, content) in contents.iter().enumerate() {
            let start = file.len() as u64;
            file.extend(miniz_oxide::deflate::compress_to_vec_zlib(content, 6));
            blocks.push(Block {
                what: "block",
                address: Address::field("blocks").index(index as u64),
                range: start..file.len() as u64,
                codec: Codec::Zlib,
                decoded_len: (index % 2 == 0).then_some(content.len() as u64),
            });
        }
        (Source::from_bytes(file), blocks, contents)
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn blocks_are_decoded_in_order_for_any_parallelism() {
        let (source, blocks, contents) =
            streams(&[0, 1, 5000, 300_000, 2_000_000, 4_000_000, 4_000_000]);
        for parallelism in [Parallelism::Off, Parallelism::Rayon] {
            let options = Options::default().with_parallelism(parallelism);
            let decoded = decode_all(&source, &blocks, &options);
            assert!(
                decoded
                    .iter()
                    .zip(&contents)
                    .all(|(found, expected)| found.as_ref().unwrap() == expected)
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn limits_hold_for_each_block_and_for_all() {
        let (source, blocks, _) = streams(&[1000, 1000, 1000]);
        let read = |limits| decode_all(&source, &blocks, &Options::default().with_limits(limits));
        let kinds = |results: Vec<Result<Bytes>>| -> Vec<_> {
            results
                .iter()
                .map(|result| result.as_ref().err().map(Error::kind))
                .collect()
        };
        let exceeded = Some(ErrorKind::LimitExceeded);
        assert_eq!(
            kinds(read(
                Limits::default()
                    .with_free_ratio(0)
                    .with_max_block_bytes(1000)
            )),
            [None, None, None]
        );
        assert_eq!(
            kinds(read(
                Limits::default()
                    .with_free_ratio(0)
                    .with_max_block_bytes(999)
            )),
            [exceeded.clone(), exceeded.clone(), exceeded.clone()]
        );
        assert_eq!(
            kinds(read(
                Limits::default()
                    .with_free_ratio(0)
                    .with_max_total_bytes(2999)
            )),
            [None, None, exceeded]
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn wrong_lengths_and_damaged_streams_spoil_themselves_only() {
        let (source, mut blocks, contents) = streams(&[1000, 1000, 1000]);
        blocks[0].decoded_len = Some(1001);
        blocks[2].range.end -= 1;
        let results = decode_all(&source, &blocks, &Options::default());
        assert_eq!(
            results[0].as_ref().unwrap_err().kind(),
            ErrorKind::Malformed
        );
        assert_eq!(results[1].as_ref().unwrap(), &contents[1]);
        assert_eq!(
            results[2].as_ref().unwrap_err().kind(),
            ErrorKind::Truncated
        );
        assert_eq!(
            results[2].as_ref().unwrap_err().byte_range(),
            Some(blocks[2].range.clone())
        );
        blocks[0].decoded_len = Some(999);
        assert_eq!(
            decode_all(&source, &blocks[..1], &Options::default())[0]
                .as_ref()
                .unwrap_err()
                .kind(),
            ErrorKind::Malformed
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn wrong_and_missing_checksums_are_errors_unless_they_are_ignored() {
        let (source, mut blocks, contents) = streams(&[1000]);
        let mut file = source
            .get(0..source.len().unwrap().unwrap(), "file")
            .unwrap()
            .to_vec();
        *file.last_mut().unwrap() ^= 1;
        let source = Source::from_bytes(file);
        let end = blocks[0].range.end;
        let ignoring = Options::default().with_checksums(Checksums::Ignore);
        for (end, kind) in [(end, ErrorKind::Malformed), (end - 4, ErrorKind::Truncated)] {
            blocks[0].range.end = end;
            for decoder in [
                crate::codec::Decoder::Fast,
                crate::codec::Decoder::Reference,
            ] {
                let decode = |options: Options| {
                    blocks[0].decode(
                        &source,
                        &options.with_decoder(decoder),
                        &mut Scratch::default(),
                    )
                };
                assert_eq!(decode(Options::default()).unwrap_err().kind(), kind);
                assert_eq!(decode(ignoring).unwrap(), contents[0]);
            }
        }
        // An incomplete stream is an error anyway.
        blocks[0].range.end = end - 6;
        assert!(
            blocks[0]
                .decode(&source, &ignoring, &mut Scratch::default())
                .is_err()
        );
    }

    /// LZMA streams one after the other, of real encoders, and what they hold.
    fn lzma_streams(lengths: &[usize]) -> (Source, Vec<Block>, Vec<Vec<u8>>) {
        use std::io::Write;
        let (_, mut blocks, contents) = streams(lengths);
        let mut options = lzma_rust2::LzmaOptions::with_preset(1);
        options.dict_size = 1 << 16;
        let mut file = Vec::new();
        for (block, content) in blocks.iter_mut().zip(&contents) {
            let start = file.len() as u64;
            let mut writer =
                lzma_rust2::LzmaWriter::new_no_header(&mut file, &options, false).unwrap();
            writer.write_all(content).unwrap();
            writer.finish().unwrap();
            block.range = start..file.len() as u64;
            block.codec = Codec::Lzma {
                properties: [options.get_props(), 0, 0, 1, 0],
            };
            block.decoded_len = Some(content.len() as u64);
        }
        (Source::from_bytes(file), blocks, contents)
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn lzma_is_decoded_by_both_decoders_for_any_parallelism() {
        let (source, blocks, contents) = lzma_streams(&[1, 5000, 300_000, 400_000]);
        for decoder in [
            crate::codec::Decoder::Fast,
            crate::codec::Decoder::Reference,
        ] {
            for parallelism in [Parallelism::Off, Parallelism::Rayon] {
                let options = Options::default()
                    .with_parallelism(parallelism)
                    .with_decoder(decoder);
                let options = options.with_strictness(Strictness::Strict);
                for (decoded, content) in
                    decode_all(&source, &blocks, &options).iter().zip(&contents)
                {
                    assert!(decoded.as_ref().unwrap() == content);
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn lzma_must_end_with_its_block_where_strict() {
        let (source, mut blocks, contents) = lzma_streams(&[1000, 1000]);
        blocks[0].range.end += 1;
        let strict = Options::default().with_strictness(Strictness::Strict);
        let decode = |options| blocks[0].decode(&source, &options, &mut Scratch::default());
        assert_eq!(decode(Options::default()).unwrap(), contents[0]);
        assert_eq!(decode(strict).unwrap_err().kind(), ErrorKind::Malformed);
        assert_eq!(
            decode(strict).unwrap_err().byte_range(),
            Some(blocks[0].range.clone())
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn lzma_lengths_are_checked_before_anything_is_allocated() {
        let (source, mut blocks, _) = lzma_streams(&[1000]);
        let stored = blocks[0].range.end;
        let mut kind = |length, limits| {
            blocks[0].decoded_len = length;
            let options = Options::default().with_limits(limits);
            blocks[0]
                .decode(&source, &options, &mut Scratch::default())
                .err()
                .map(|error| error.kind())
        };
        let unlimited = Limits::default()
            .with_free_ratio(0)
            .with_max_block_bytes(u64::MAX)
            .with_max_total_bytes(u64::MAX);
        assert_eq!(kind(Some(u64::MAX), unlimited), Some(ErrorKind::Malformed));
        assert_eq!(
            kind(Some(stored * 8192 + 1), unlimited),
            Some(ErrorKind::Malformed)
        );
        assert_eq!(kind(Some(1001), unlimited), Some(ErrorKind::Truncated));
        assert_eq!(kind(None, unlimited), Some(ErrorKind::Malformed));
        assert_eq!(
            kind(
                Some(1000),
                Limits::default()
                    .with_free_ratio(0)
                    .with_max_block_bytes(1000)
            ),
            None
        );
        let exceeded = Some(ErrorKind::LimitExceeded);
        assert_eq!(
            kind(
                Some(1000),
                Limits::default()
                    .with_free_ratio(0)
                    .with_max_block_bytes(999)
            ),
            exceeded
        );
    }
}
