use std::collections::HashMap;
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
    let mut known: HashMap<ContentKey, usize> = HashMap::new();
    // The first block of each content, and for each block the index of its content.
    let mut firsts: Vec<&Block> = Vec::new();
    let mut contents = Vec::with_capacity(blocks.len());
    for block in blocks {
        let content = *known.entry(ContentKey::of(block)).or_insert(firsts.len());
        if content == firsts.len() {
            firsts.push(block);
        }
        contents.push(content);
    }
    if firsts.len() == blocks.len() {
        return decode_different(source, blocks, options);
    }

    let different: Vec<Block> = firsts.into_iter().cloned().collect();
    let decoded = decode_different(source, &different, options);
    let mut results = Vec::with_capacity(blocks.len());
    for (block, content) in blocks.iter().zip(contents) {
        if let Some(result) = decoded.get(content) {
            let result = result.clone();
            results.push(result.map_err(|error| error.of(block.address.clone())));
        }
    }
    results
}

/// The properties of a block that determine its content.
#[derive(PartialEq, Eq, Hash)]
struct ContentKey {
    range: Range<u64>,
    codec: Codec,
    decoded_len: Option<u64>,
}

impl ContentKey {
    fn of(block: &Block) -> Self {
        Self {
            range: block.range.clone(),
            codec: block.codec,
            decoded_len: block.decoded_len,
        }
    }
}

/// Decodes blocks of different bytes.
///
/// Blocks are first decoded without regard to each other. The results are then accepted in order, as long as each would
/// also be the result if the blocks before it had been decoded first. From there on, blocks are decoded one after the other.
fn decode_different(source: &Source, blocks: &[Block], options: &Options) -> Vec<Result<Bytes>> {
    let mut results = Vec::with_capacity(blocks.len());
    let meter = meter(source, blocks, options);
    for (attempt, block) in in_parallel(source, blocks, options).into_iter().zip(blocks) {
        let held = match &attempt.result {
            Ok(content) => size(block, content),
            Err(_) => 0,
        };
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
    let results = results.into_iter();
    results
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
    count_work(0, block, meter)?;
    let attempt = attempt(source, block, options, meter, scratch);
    count_work(attempt.reached, block, meter)?;
    attempt.result
}

fn count_work(units: u64, block: &Block, meter: &Meter) -> Result<()> {
    meter
        .work(units, block.what)
        .map_err(|error| error.at(block.range.clone()))
}

/// The meter of a call that reads these blocks, as far as the file has them.
fn meter(source: &Source, blocks: &[Block], options: &Options) -> Meter<'static> {
    let meter = Meter::of_call(&options.limits);
    let len = source.len().ok().flatten().unwrap_or(0);
    for block in blocks {
        if block.range.end <= len {
            meter.count_read(&block.range);
        }
    }
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

/// Decodes the blocks on several threads, if that pays; otherwise none. The blocks after a refused one may be left out.
#[cfg(feature = "rayon")]
fn in_parallel(source: &Source, blocks: &[Block], options: &Options) -> Vec<Attempt> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rayon::prelude::*;

    use crate::limits::job;

    if !pays_off(blocks, options) {
        return Vec::new();
    }
    let meter = meter(source, blocks, options);
    let has_refused = AtomicBool::new(false);
    let decode = |scratch: &mut Scratch, block: &Block| {
        // Blocks after a refused block are decoded again anyway.
        if has_refused.load(Ordering::Relaxed) {
            return None;
        }
        let attempt = attempt(source, block, options, &meter, scratch);
        has_refused.fetch_or(attempt.is_refused, Ordering::Relaxed);
        Some(attempt)
    };
    let attempts: Vec<Option<Attempt>> = job::in_pool(|job| {
        blocks
            .par_iter()
            .map_init(
                || job.task(Scratch::default),
                |scratch, block| job.task(|| decode(scratch, block)),
            )
            .collect()
    });
    attempts.into_iter().map_while(|attempt| attempt).collect()
}

/// Returns `true` if the blocks are large enough for several threads. The largest one is not counted: a stream is decoded by
/// one thread, while the others decode the rest.
#[cfg(feature = "rayon")]
fn pays_off(blocks: &[Block], options: &Options) -> bool {
    use crate::num::Span;
    use crate::options::Parallelism;

    /// The minimum number of stored bytes of deflate streams that is worth waking another thread for.
    const MIN_BYTES: u64 = 256 << 10;
    /// LZMA takes this many times as long for a stored byte.
    const LZMA_FACTOR: u64 = 16;
    let mut all = 0_u64;
    let mut largest = 0;
    for block in blocks {
        let factor = match block.codec {
            Codec::Lzma { .. } => LZMA_FACTOR,
            _ => 1,
        };
        let work = block.range.length().saturating_mul(factor);
        all = all.saturating_add(work);
        largest = work.max(largest);
    }
    options.parallelism == Parallelism::Rayon && all.saturating_sub(largest) >= MIN_BYTES
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
