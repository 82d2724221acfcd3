use std::ops::Range;

use bytes::Bytes;
use zerocopy::FromZeros;

use super::fault::fault_error;
use super::scratch::Scratch;
use crate::bytes::Source;
use crate::codec::inflate::Inflate;
use crate::codec::{Codec, Fault, FaultKind, lzma};
use crate::limits::Budget;
use crate::num::{as_u64, as_usize};
use crate::options::{Checksums, Options, Strictness};
use crate::report::{Address, Error, ErrorKind, Result};

/// A compressed part of a file: located, not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// What it is, as the format's specification names it.
    pub what: &'static str,
    /// The part of the file.
    pub address: Address,
    /// Its bytes, counted from the start of the source.
    pub range: Range<u64>,
    /// How it is compressed.
    pub codec: Codec,
    /// Its decoded size in bytes, where the file stores it.
    pub decoded_len: Option<u64>,
}

impl Block {
    /// A block that the caller has located, in a format of its own.
    #[must_use]
    pub fn new(
        what: &'static str,
        address: Address,
        range: Range<u64>,
        codec: Codec,
        decoded_len: Option<u64>,
    ) -> Self {
        Self { what, address, range, codec, decoded_len }
    }

    /// The content, decoded to its end, with the checksum verified, unless [`Options`] say that it is ignored.
    ///
    /// LZMA has none. With [`Strictness::Strict`] its stream must end where the block does, with nothing left over, which
    /// few damaged streams do; [`Decoder::Reference`](crate::Decoder::Reference) sees only whether bytes are
    /// left.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) or [`Truncated`](ErrorKind::Truncated) for a damaged stream,
    /// [`LimitExceeded`](ErrorKind::LimitExceeded), and the errors of reading.
    pub fn decode(&self, source: &Source, options: &Options, scratch: &mut Scratch) -> Result<Bytes> {
        let stored = source.get(self.range.clone(), self.what)?;
        self.decode_stored(stored, options, scratch).map_err(|error| error.format_is(source.format()))
    }

    /// Decodes the block's bytes, which have been read.
    pub(crate) fn decode_stored(
        &self,
        input: Bytes,
        options: &Options,
        scratch: &mut Scratch,
    ) -> Result<Bytes> {
        if self.codec == Codec::Stored {
            return Ok(input);
        }
        if let Codec::Lzma { properties } = self.codec {
            return self.lzma(&input, properties, options, scratch);
        }
        let mut out = Vec::new();
        let length = self.inflate_into(&input, options, &mut out, scratch)?;
        out.truncate(length);
        // Room that was taken on a guess is given back, unless there is little of it.
        if out.capacity() > length.saturating_add(length / 4) {
            out.shrink_to_fit();
        }
        Ok(out.into())
    }

    /// Decodes an LZMA stream, whose decoded length is known.
    fn lzma(
        &self,
        input: &[u8],
        properties: [u8; 5],
        options: &Options,
        scratch: &mut Scratch,
    ) -> Result<Bytes> {
        let here = |error: Error| error.at(self.range.clone()).of(self.address.clone());
        let malformed = || here(Error::new(ErrorKind::Malformed, self.what));
        let length = self
            .decoded_len
            .ok_or_else(|| malformed().expected("the length of what an LZMA stream holds").found("none"))?;
        lzma::check_length(length, as_u64(input.len()))
            .map_err(|fault| here(fault_error(&fault, self.what, Some(length))))?;
        let mut out = Budget::new(&options.limits).vec(length, self.what).map_err(here)?;
        let end = lzma_into(input, properties, &mut out, self.what, options, scratch).map_err(here)?;
        if !end.is_clean && options.strictness == Strictness::Strict {
            let found = format!("{} of {} bytes used", end.consumed, input.len());
            return Err(malformed().expected("an end with nothing left over").found(found));
        }
        Ok(out.into())
    }

    /// Inflates the block's bytes into `out`, which grows as needed; returns the decoded length.
    ///
    /// All of `out` is room. Bytes that are overwritten are not cleared first.
    pub(crate) fn inflate_into(
        &self,
        input: &[u8],
        options: &Options,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let here = |error: Error| error.at(self.range.clone()).of(self.address.clone());
        let budget = Budget::new(&options.limits);
        let most = budget.largest();
        if let Some(length) = self.decoded_len.filter(|length| *length > most) {
            return Err(here(budget.exceeded(length, self.what)));
        }
        let fail = |fault: Fault| here(fault_error(&fault, self.what, self.decoded_len));
        let Scratch { inflater, cancel, .. } = scratch;
        let mut inflate =
            Inflate::new(inflater, input, self.codec, options.decoder, cancel.as_deref()).map_err(fail)?;
        if options.checksums == Checksums::Ignore {
            inflate = inflate.ignoring_checksum();
        }

        // The length is not always stored. Memory grows with the output, never with an announced length.
        let longest = self.decoded_len.unwrap_or(most);
        let mut filled = 0_usize;
        let mut room =
            self.decoded_len.unwrap_or_else(|| as_u64(input.len()).saturating_mul(FIRST_GUESS).max(256));
        loop {
            let length = as_u64(filled).saturating_add(room).max(as_u64(out.len())).min(longest);
            let length_there = as_usize(length);
            grow(out, length_there).map_err(|()| here(budget.exceeded_by_machine(length, self.what)))?;
            let free = out.get_mut(filled..length_there).unwrap_or_default();
            let count = inflate.read(free).map_err(fail)?;
            let is_full = count == free.len();
            filled = filled.saturating_add(count);
            if !is_full || self.decoded_len == Some(as_u64(filled)) {
                break;
            }
            if as_u64(filled) >= most {
                // It may end exactly here.
                return inflate.finish().map(|()| filled).map_err(|fault| match fault.kind {
                    FaultKind::Long => here(budget.exceeded(most.saturating_add(1), self.what).found("more")),
                    _ => fail(fault),
                });
            }
            room = as_u64(filled).max(4096);
        }
        inflate.finish().map_err(fail)?;
        match self.decoded_len {
            Some(length) if length != as_u64(filled) => {
                Err(fail(Fault { decoded: as_u64(filled), ..self.codec.fault(FaultKind::Short) }))
            }
            _ => Ok(filled),
        }
    }
}

/// Decodes an LZMA stream into a slice as long as its content.
pub(crate) fn lzma_into(
    input: &[u8],
    properties: [u8; 5],
    out: &mut [u8],
    what: &'static str,
    options: &Options,
    scratch: &mut Scratch,
) -> Result<lzma::End> {
    let Scratch { lzma, cancel, .. } = scratch;
    let end = lzma.decode(properties, input, out, options.decoder, cancel.as_deref());
    end.map_err(|fault| fault_error(&fault, what, Some(as_u64(out.len()))))
}

/// Makes a buffer at least this long. Fails where the machine does not have as much.
fn grow(out: &mut Vec<u8>, length: usize) -> Result<(), ()> {
    if out.is_empty() {
        // Fresh pages of the system are zero already, and those that are not touched cost nothing.
        *out = u8::new_vec_zeroed(length).map_err(|_| ())?;
    } else if out.len() < length {
        out.try_reserve_exact(length.saturating_sub(out.len())).map_err(|_| ())?;
        out.resize(length, 0);
    }
    Ok(())
}

/// The ratio of content to stream that memory is first taken for.
const FIRST_GUESS: u64 = 3;

/// Decodes several blocks, in parallel where that pays; returns one result for each, in order.
///
/// Each block fails independently. Blocks that would exceed [`max_total_bytes`](crate::Limits::max_total_bytes), counted in
/// their order, are refused. The results do not depend on threads; see [`Parallelism`](crate::Parallelism).
pub fn decode_all(source: &Source, blocks: &[Block], options: &Options) -> Vec<Result<Bytes>> {
    let mut results = decode_each(source, blocks, options);
    let mut budget = Budget::new(&options.limits);
    for (result, block) in results.iter_mut().zip(blocks) {
        let Ok(bytes) = result else { continue };
        if let Err(error) = budget.spend(as_u64(bytes.len()), block.what) {
            let error = error.at(block.range.clone()).of(block.address.clone());
            *result = Err(error.format_is(source.format()));
        }
    }
    results
}

fn decode_each(source: &Source, blocks: &[Block], options: &Options) -> Vec<Result<Bytes>> {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;

        use crate::num::Span;
        /// Stored bytes of deflate streams, beside the largest block, that are worth waking another thread for.
        const PARALLEL: u64 = 256 << 10;
        /// LZMA takes this many times as long for a stored byte.
        const LZMA: u64 = 16;
        let work = blocks.iter().map(|block| {
            block.range.length().saturating_mul(if matches!(block.codec, Codec::Lzma { .. }) {
                LZMA
            } else {
                1
            })
        });
        let largest = work.clone().max().unwrap_or(0);
        let all = work.fold(0_u64, u64::saturating_add);
        if options.parallelism == crate::options::Parallelism::Rayon
            && all.saturating_sub(largest) >= PARALLEL
        {
            let decode = |scratch: &mut Scratch, block: &Block| block.decode(source, options, scratch);
            return blocks.par_iter().map_init(Scratch::default, decode).collect();
        }
    }
    let mut scratch = Scratch::default();
    blocks.iter().map(|block| block.decode(source, options, &mut scratch)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::options::Parallelism;

    /// Some streams one after the other, and what they hold.
    fn streams(lengths: &[usize]) -> (Source, Vec<Block>, Vec<Vec<u8>>) {
        let contents: Vec<Vec<u8>> =
            lengths.iter().map(|length| (0..*length).map(|i| (i % 251 * i / 1000) as u8).collect()).collect();
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
        let (source, blocks, contents) = streams(&[0, 1, 5000, 300_000, 2_000_000, 4_000_000, 4_000_000]);
        for parallelism in [Parallelism::Off, Parallelism::Rayon] {
            let options = Options::default().with_parallelism(parallelism);
            let decoded = decode_all(&source, &blocks, &options);
            assert!(
                decoded.iter().zip(&contents).all(|(found, expected)| found.as_ref().unwrap() == expected)
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn limits_hold_for_each_block_and_for_all() {
        let (source, blocks, _) = streams(&[1000, 1000, 1000]);
        let read = |limits| decode_all(&source, &blocks, &Options::default().with_limits(limits));
        let kinds = |results: Vec<Result<Bytes>>| -> Vec<_> {
            results.iter().map(|result| result.as_ref().err().map(Error::kind)).collect()
        };
        let exceeded = Some(ErrorKind::LimitExceeded);
        assert_eq!(kinds(read(Limits::default().with_max_block_bytes(1000))), [None, None, None]);
        assert_eq!(
            kinds(read(Limits::default().with_max_block_bytes(999))),
            [exceeded.clone(), exceeded.clone(), exceeded.clone()]
        );
        assert_eq!(kinds(read(Limits::default().with_max_total_bytes(2999))), [None, None, exceeded]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn wrong_lengths_and_damaged_streams_spoil_themselves_only() {
        let (source, mut blocks, contents) = streams(&[1000, 1000, 1000]);
        blocks[0].decoded_len = Some(1001);
        blocks[2].range.end -= 1;
        let results = decode_all(&source, &blocks, &Options::default());
        assert_eq!(results[0].as_ref().unwrap_err().kind(), ErrorKind::Malformed);
        assert_eq!(results[1].as_ref().unwrap(), &contents[1]);
        assert_eq!(results[2].as_ref().unwrap_err().kind(), ErrorKind::Truncated);
        assert_eq!(results[2].as_ref().unwrap_err().byte_range(), Some(blocks[2].range.clone()));
        blocks[0].decoded_len = Some(999);
        assert_eq!(
            decode_all(&source, &blocks[..1], &Options::default())[0].as_ref().unwrap_err().kind(),
            ErrorKind::Malformed
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn wrong_and_missing_checksums_are_errors_unless_they_are_ignored() {
        let (source, mut blocks, contents) = streams(&[1000]);
        let mut file = source.get(0..source.len().unwrap().unwrap(), "file").unwrap().to_vec();
        *file.last_mut().unwrap() ^= 1;
        let source = Source::from_bytes(file);
        let end = blocks[0].range.end;
        let ignoring = Options::default().with_checksums(Checksums::Ignore);
        for (end, kind) in [(end, ErrorKind::Malformed), (end - 4, ErrorKind::Truncated)] {
            blocks[0].range.end = end;
            for decoder in [crate::codec::Decoder::Fast, crate::codec::Decoder::Reference] {
                let decode = |options: Options| {
                    blocks[0].decode(&source, &options.with_decoder(decoder), &mut Scratch::default())
                };
                assert_eq!(decode(Options::default()).unwrap_err().kind(), kind);
                assert_eq!(decode(ignoring).unwrap(), contents[0]);
            }
        }
        // What is no whole stream is an error all the same.
        blocks[0].range.end = end - 6;
        assert!(blocks[0].decode(&source, &ignoring, &mut Scratch::default()).is_err());
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
            let mut writer = lzma_rust2::LzmaWriter::new_no_header(&mut file, &options, false).unwrap();
            writer.write_all(content).unwrap();
            writer.finish().unwrap();
            block.range = start..file.len() as u64;
            block.codec = Codec::Lzma { properties: [options.get_props(), 0, 0, 1, 0] };
            block.decoded_len = Some(content.len() as u64);
        }
        (Source::from_bytes(file), blocks, contents)
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn lzma_is_decoded_by_both_decoders_for_any_parallelism() {
        let (source, blocks, contents) = lzma_streams(&[1, 5000, 300_000, 400_000]);
        for decoder in [crate::codec::Decoder::Fast, crate::codec::Decoder::Reference] {
            for parallelism in [Parallelism::Off, Parallelism::Rayon] {
                let options = Options::default().with_parallelism(parallelism).with_decoder(decoder);
                let options = options.with_strictness(Strictness::Strict);
                for (decoded, content) in decode_all(&source, &blocks, &options).iter().zip(&contents) {
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
        assert_eq!(decode(strict).unwrap_err().byte_range(), Some(blocks[0].range.clone()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn lzma_lengths_are_checked_before_anything_is_allocated() {
        let (source, mut blocks, _) = lzma_streams(&[1000]);
        let stored = blocks[0].range.end;
        let mut kind = |length, limits| {
            blocks[0].decoded_len = length;
            let options = Options::default().with_limits(limits);
            blocks[0].decode(&source, &options, &mut Scratch::default()).err().map(|error| error.kind())
        };
        let unlimited = Limits::default().with_max_block_bytes(u64::MAX).with_max_total_bytes(u64::MAX);
        assert_eq!(kind(Some(u64::MAX), unlimited), Some(ErrorKind::Malformed));
        assert_eq!(kind(Some(stored * 8192 + 1), unlimited), Some(ErrorKind::Malformed));
        assert_eq!(kind(Some(1001), unlimited), Some(ErrorKind::Truncated));
        assert_eq!(kind(None, unlimited), Some(ErrorKind::Malformed));
        assert_eq!(kind(Some(1000), Limits::default().with_max_block_bytes(1000)), None);
        let exceeded = Some(ErrorKind::LimitExceeded);
        assert_eq!(kind(Some(1000), Limits::default().with_max_block_bytes(999)), exceeded);
    }
}
