//! Deflate streams, with the header and checksum of zlib or gzip around them or none.
//!
//! A stream is inflated into the caller's slices, piece by piece, so that a prefix costs a prefix. Header and checksum
//! are handled here, so that both decoders are equally strict.

use std::sync::atomic::{AtomicBool, Ordering};

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

use super::{Codec, Decoder, Fault, FaultKind};
use crate::num::as_u64;

/// The decoders, kept from one stream to the next: their memory is allocated once.
#[derive(Default)]
pub(crate) struct Inflater {
    #[cfg(feature = "zlib-rs")]
    fast: Option<Box<zlib_rs::Inflate>>,
    miniz: Option<Box<Miniz>>,
}

/// miniz_oxide, with what it needs of the content before.
///
/// Its own interface for streams takes what lies before the beginning of a stream for zeros, where a damaged stream
/// refers to it; here it is an error, as in every other decoder.
struct Miniz {
    state: DecompressorOxide,
    /// The last [`FAR`](Self::FAR) bytes that came out, or all of them, and room for more.
    window: Box<[u8]>,
    /// How much of the window is filled.
    filled: usize,
}

/// A stream that is being inflated.
pub(crate) struct Inflate<'a> {
    inflater: &'a mut Inflater,
    engine: Engine,
    codec: Codec,
    input: &'a [u8],
    /// Bytes of the input that are used up.
    consumed: usize,
    /// Bytes that have come out.
    produced: u64,
    checksum: Checksum,
    ended: bool,
    cancel: Option<&'a AtomicBool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// Nothing to decode.
    Stored,
    #[cfg(feature = "zlib-rs")]
    ZlibRs,
    Miniz,
}

enum Checksum {
    None,
    /// Of so many bytes, which may be missing.
    Ignored(usize),
    Adler32(simd_adler32::Adler32),
    Crc32(crc32fast::Hasher),
}

impl<'a> Inflate<'a> {
    /// A cancel flag is looked at each time as much has been inflated.
    const CANCELLABLE_PIECE: usize = 64 << 10;
    /// Without a flag, pieces are longer: zlib-rs keeps a copy of the last 32 KiB of each, and the checksum is computed
    /// while a piece is in the cache.
    pub(crate) const PIECE: usize = 512 << 10;

    /// Begins a stream. The stream of uncompressed data is the input itself.
    pub(crate) fn new(
        inflater: &'a mut Inflater,
        input: &'a [u8],
        codec: Codec,
        decoder: Decoder,
        cancel: Option<&'a AtomicBool>,
    ) -> Result<Self, Fault> {
        let (header, checksum) = match codec {
            Codec::Stored | Codec::Deflate => (Ok(0), Checksum::None),
            Codec::Zlib => (zlib_header(input), Checksum::Adler32(simd_adler32::Adler32::new())),
            Codec::Gzip => (gzip_header(input), Checksum::Crc32(crc32fast::Hasher::new())),
            Codec::Lzma { .. } => (Err(FaultKind::Corrupt("no deflate stream")), Checksum::None),
        };
        let header = header.map_err(|kind| codec.fault(kind))?;
        let engine = match codec {
            Codec::Stored => Engine::Stored,
            _ => inflater.engine(decoder),
        };
        inflater.reset(engine);
        Ok(Self {
            inflater,
            engine,
            codec,
            input,
            consumed: header,
            produced: 0,
            checksum,
            ended: false,
            cancel,
        })
    }

    /// Computes no checksum, because the stream will not be read to its end.
    pub(crate) fn without_checksum(&mut self) {
        self.checksum = Checksum::None;
    }

    /// Ignores the checksum, even where it is missing.
    pub(crate) fn ignoring_checksum(mut self) -> Self {
        self.checksum = match self.checksum {
            Checksum::Adler32(_) => Checksum::Ignored(4),
            Checksum::Crc32(_) => Checksum::Ignored(8),
            checksum => checksum,
        };
        self
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Bytes of output so far.
    pub(crate) fn produced(&self) -> u64 {
        self.produced
    }

    /// Bytes of input used so far, with the header and, after [`finish`](Self::finish), the checksum.
    pub(crate) fn consumed(&self) -> usize {
        self.consumed
    }

    /// Inflates until `out` is full or the stream ends; returns the number of bytes.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            if self.is_cancelled() {
                return Err(self.fault(FaultKind::Cancelled));
            }
            if self.ended {
                break;
            }
            let most = if self.cancel.is_some() { Self::CANCELLABLE_PIECE } else { Self::PIECE };
            let length = rest.len().min(most);
            let Some(piece) = rest.get_mut(..length) else { break };
            let count = self.read_piece(piece)?;
            match &mut self.checksum {
                Checksum::None | Checksum::Ignored(_) => {}
                Checksum::Adler32(adler) => adler.write(piece.get(..count).unwrap_or_default()),
                Checksum::Crc32(crc) => crc.update(piece.get(..count).unwrap_or_default()),
            }
            filled = filled.saturating_add(count);
        }
        Ok(filled)
    }

    /// Inflates until `out` is full.
    pub(crate) fn read_exact(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        if self.read(out)? < out.len() { Err(self.fault(FaultKind::Short)) } else { Ok(()) }
    }

    /// The next bytes of uncompressed data where they lie; `None` where there are fewer, or they are compressed.
    pub(crate) fn stored(&mut self, count: usize) -> Option<&'a [u8]> {
        let is_there = self.engine == Engine::Stored && !self.is_cancelled();
        let end = self.consumed.checked_add(count).filter(|_| is_there)?;
        let bytes = self.input.get(self.consumed..end)?;
        self.consumed = end;
        self.produced = self.produced.saturating_add(as_u64(count));
        self.ended = end == self.input.len();
        Some(bytes)
    }

    /// Inflates and drops this many bytes, through `buffer`, which must have room.
    pub(crate) fn skip(&mut self, mut count: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        if self.engine == Engine::Stored {
            let left = self.input.len().saturating_sub(self.consumed);
            let length = usize::try_from(count).unwrap_or(usize::MAX);
            if self.is_cancelled() {
                return Err(self.fault(FaultKind::Cancelled));
            }
            let skipped = self.stored(length.min(left));
            let is_all = skipped.is_some_and(|skipped| skipped.len() == length);
            return if is_all { Ok(()) } else { Err(self.fault(FaultKind::Short)) };
        }
        while count > 0 {
            let length = usize::try_from(count).unwrap_or(usize::MAX).min(buffer.len());
            let Some(piece) = buffer.get_mut(..length).filter(|piece| !piece.is_empty()) else { break };
            self.read_exact(piece)?;
            count = count.saturating_sub(as_u64(length));
        }
        Ok(())
    }

    /// Checks that the stream ends here, with the right checksum. Bytes after it are not read.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        if !self.ended && self.read(&mut [0])? > 0 {
            return Err(self.fault(FaultKind::Long));
        }
        let trailer = self.input.get(self.consumed..).unwrap_or_default();
        let (stored, computed) = match &self.checksum {
            Checksum::None => return Ok(()),
            Checksum::Ignored(length) => {
                self.consumed = self.consumed.saturating_add(*length).min(self.input.len());
                return Ok(());
            }
            Checksum::Adler32(adler) => {
                let stored = trailer.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
                self.consumed = self.consumed.saturating_add(4);
                (stored, adler.finish())
            }
            Checksum::Crc32(crc) => {
                let stored = trailer
                    .first_chunk()
                    .map(|[a, b, c, d, _, _, _, _]| u32::from_le_bytes([*a, *b, *c, *d]));
                self.consumed = self.consumed.saturating_add(8);
                (stored, crc.clone().finalize())
            }
        };
        match stored {
            Some(stored) if stored == computed => Ok(()),
            Some(stored) => Err(self.fault(FaultKind::Checksum { stored, computed })),
            None => Err(self.fault(FaultKind::Truncated)),
        }
    }

    /// Fills a piece, or less where the stream ends.
    fn read_piece(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty() && !self.ended) {
            let input = self.input.get(self.consumed..).unwrap_or_default();
            let (used, count, status) = match self.engine {
                Engine::Stored => {
                    let count = input.len().min(rest.len());
                    if let (Some(from), Some(to)) = (input.get(..count), rest.get_mut(..count)) {
                        to.copy_from_slice(from);
                    }
                    (count, count, if count == input.len() { Status::Ended } else { Status::GoesOn })
                }
                #[cfg(feature = "zlib-rs")]
                Engine::ZlibRs => self.inflater.zlib_rs(input, rest),
                Engine::Miniz => self.inflater.miniz.get_or_insert_with(Box::default).inflate(input, rest),
            };
            self.consumed = self.consumed.saturating_add(used);
            self.produced = self.produced.saturating_add(as_u64(count));
            filled = filled.saturating_add(count);
            self.ended = status == Status::Ended;
            match status {
                Status::Damaged => return Err(self.fault(FaultKind::Corrupt("damaged data"))),
                Status::GoesOn if used == 0 && count == 0 => return Err(self.fault(FaultKind::Truncated)),
                Status::GoesOn | Status::Ended => {}
            }
        }
        Ok(filled)
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault { decoded: self.produced, ..self.codec.fault(kind) }
    }
}

/// How a decoder left a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    /// It is out of input or of room, as the numbers of bytes tell.
    GoesOn,
    Ended,
    Damaged,
}

impl Inflater {
    fn engine(&self, decoder: Decoder) -> Engine {
        match decoder {
            #[cfg(feature = "zlib-rs")]
            Decoder::Fast => Engine::ZlibRs,
            _ => Engine::Miniz,
        }
    }

    fn reset(&mut self, engine: Engine) {
        match engine {
            Engine::Stored => {}
            #[cfg(feature = "zlib-rs")]
            Engine::ZlibRs => match &mut self.fast {
                Some(inflate) => inflate.reset(false),
                None => self.fast = Some(Box::new(zlib_rs::Inflate::new(false, 15))),
            },
            Engine::Miniz => self.miniz.get_or_insert_with(Box::default).reset(),
        }
    }

    #[cfg(feature = "zlib-rs")]
    fn zlib_rs(&mut self, input: &[u8], out: &mut [u8]) -> (usize, usize, Status) {
        let Some(inflate) = &mut self.fast else { return (0, 0, Status::Damaged) };
        let (total_in, total_out) = (inflate.total_in(), inflate.total_out());
        let status = match inflate.decompress(input, out, zlib_rs::InflateFlush::NoFlush) {
            Ok(zlib_rs::Status::StreamEnd) => Status::Ended,
            Ok(_) => Status::GoesOn,
            Err(_) => Status::Damaged,
        };
        let difference = |after: u64, before: u64| crate::num::as_usize(after.saturating_sub(before));
        (difference(inflate.total_in(), total_in), difference(inflate.total_out(), total_out), status)
    }
}

impl Default for Miniz {
    fn default() -> Self {
        let window = vec![0; Self::FAR.saturating_mul(3)].into_boxed_slice();
        Self { state: DecompressorOxide::new(), window, filled: 0 }
    }
}

impl Miniz {
    /// The greatest distance of a match.
    const FAR: usize = 32 << 10;

    fn reset(&mut self) {
        self.state.init();
        self.filled = 0;
    }

    fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> (usize, usize, Status) {
        if self.filled > Self::FAR.saturating_mul(2) {
            self.window.copy_within(self.filled.saturating_sub(Self::FAR)..self.filled, 0);
            self.filled = Self::FAR;
        }
        let end = self.filled.saturating_add(out.len()).min(self.window.len());
        let window = self.window.get_mut(..end).unwrap_or_default();
        let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, used, count) = decompress(&mut self.state, input, window, self.filled, flags);
        let status = match status {
            TINFLStatus::Done => Status::Ended,
            TINFLStatus::HasMoreOutput
            | TINFLStatus::NeedsMoreInput
            | TINFLStatus::FailedCannotMakeProgress => Status::GoesOn,
            _ => Status::Damaged,
        };
        let new = self.window.get(self.filled..self.filled.saturating_add(count)).unwrap_or_default();
        if let Some(out) = out.get_mut(..new.len()) {
            out.copy_from_slice(new);
        }
        self.filled = self.filled.saturating_add(count);
        (used, count, status)
    }
}

/// The length of a zlib header (RFC 1950, section 2.2), which must not ask for a dictionary.
fn zlib_header(input: &[u8]) -> Result<usize, FaultKind> {
    const DEFLATE: u8 = 8;
    const FDICT: u8 = 0x20;
    let Some([cmf, flg]) = input.first_chunk::<2>() else { return Err(FaultKind::Truncated) };
    let check = u16::from_be_bytes([*cmf, *flg]);
    if cmf & 0x0f != DEFLATE || cmf >> 4 > 7 || !check.is_multiple_of(31) {
        return Err(FaultKind::Corrupt("no zlib header"));
    }
    if flg & FDICT != 0 {
        return Err(FaultKind::Corrupt("a header that asks for a preset dictionary"));
    }
    Ok(2)
}

/// The length of a gzip header (RFC 1952, section 2.3).
fn gzip_header(input: &[u8]) -> Result<usize, FaultKind> {
    const FHCRC: u8 = 2;
    const FEXTRA: u8 = 4;
    const FNAME: u8 = 8;
    const FCOMMENT: u8 = 16;
    const RESERVED: u8 = 0xe0;
    let Some([0x1f, 0x8b, method, flags, ..]) = input.first_chunk::<10>() else {
        return Err(if input.len() < 10 {
            FaultKind::Truncated
        } else {
            FaultKind::Corrupt("no gzip header")
        });
    };
    if *method != 8 || flags & RESERVED != 0 {
        return Err(FaultKind::Corrupt("no gzip header"));
    }
    let mut at = 10_usize;
    let rest = |at: usize| input.get(at..).unwrap_or_default();
    if flags & FEXTRA != 0 {
        let length =
            rest(at).first_chunk().map(|bytes| u16::from_le_bytes(*bytes)).ok_or(FaultKind::Truncated)?;
        at = at.saturating_add(2).saturating_add(length.into());
    }
    for flag in [FNAME, FCOMMENT] {
        if flags & flag != 0 {
            let end = rest(at).iter().position(|byte| *byte == 0).ok_or(FaultKind::Truncated)?;
            at = at.saturating_add(end).saturating_add(1);
        }
    }
    if flags & FHCRC != 0 {
        at = at.saturating_add(2);
    }
    if at > input.len() { Err(FaultKind::Truncated) } else { Ok(at) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DECODERS: [Decoder; 2] = [Decoder::Fast, Decoder::Reference];

    fn deflate(data: &[u8]) -> Vec<u8> {
        miniz_oxide::deflate::compress_to_vec(data, 6)
    }

    fn wrapped(data: &[u8], codec: Codec) -> Vec<u8> {
        match codec {
            Codec::Zlib => miniz_oxide::deflate::compress_to_vec_zlib(data, 6),
            Codec::Gzip => {
                let mut crc = crc32fast::Hasher::new();
                crc.update(data);
                // With every optional field: extra, name, comment, header checksum.
                let mut stream = vec![0x1f, 0x8b, 8, 30, 0, 0, 0, 0, 0, 255, 3, 0, 1, 2, 3];
                stream.extend_from_slice(b"name\0comment\0\xaa\xbb");
                stream.extend(deflate(data));
                stream.extend(crc.finalize().to_le_bytes());
                stream.extend((data.len() as u32).to_le_bytes());
                stream
            }
            Codec::Deflate => deflate(data),
            _ => data.to_vec(),
        }
    }

    fn inflate(
        input: &[u8],
        codec: Codec,
        decoder: Decoder,
        lengths: &[usize],
    ) -> Result<Vec<u8>, FaultKind> {
        let mut inflater = Inflater::default();
        let mut read = || {
            let mut stream = Inflate::new(&mut inflater, input, codec, decoder, None)?;
            let mut all = Vec::new();
            for length in lengths {
                let mut piece = vec![0; *length];
                stream.read_exact(&mut piece)?;
                all.extend(piece);
            }
            stream.finish()?;
            Ok(all)
        };
        read().map_err(|fault: Fault| fault.kind)
    }

    fn sample() -> Vec<u8> {
        (0..200_000_u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> (i % 24)).to_le_bytes()).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn pieces_of_every_size_make_the_same() {
        let data = sample();
        for codec in [Codec::Stored, Codec::Zlib, Codec::Gzip, Codec::Deflate] {
            let stream = wrapped(&data, codec);
            for decoder in DECODERS {
                for piece in [1 << 20, 100_000, 4097] {
                    let mut lengths = vec![piece; data.len() / piece];
                    lengths.push(data.len() % piece);
                    assert!(inflate(&stream, codec, decoder, &lengths).unwrap() == data, "{codec:?} {piece}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn prefix_needs_the_beginning_of_the_stream_only() {
        let data = sample();
        let stream = wrapped(&data, Codec::Zlib);
        for decoder in DECODERS {
            let mut inflater = Inflater::default();
            let half = &stream[..stream.len() / 2];
            let mut prefix = vec![0; 1000];
            let mut inflate = Inflate::new(&mut inflater, half, Codec::Zlib, decoder, None).unwrap();
            inflate.read_exact(&mut prefix).unwrap();
            assert!(prefix == data[..1000] && inflate.produced() == 1000);
            assert!(inflate.consumed() < stream.len() / 4);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn streams_of_another_length_or_checksum_are_faults() {
        let data = sample();
        for codec in [Codec::Zlib, Codec::Gzip, Codec::Deflate] {
            let stream = wrapped(&data, codec);
            for decoder in DECODERS {
                let all = data.len();
                assert_eq!(inflate(&stream, codec, decoder, &[all - 1]), Err(FaultKind::Long));
                assert_eq!(inflate(&stream, codec, decoder, &[all + 1]), Err(FaultKind::Short));
                assert_eq!(inflate(&stream[..1000], codec, decoder, &[all]), Err(FaultKind::Truncated));
                if codec != Codec::Deflate {
                    let end = stream.len() - 1;
                    assert_eq!(inflate(&stream[..end], codec, decoder, &[all]), Err(FaultKind::Truncated));
                    let mut damaged = stream.clone();
                    let place = stream.len() - 6 + usize::from(codec == Codec::Zlib) * 4;
                    damaged[place] ^= 1;
                    assert!(matches!(
                        inflate(&damaged, codec, decoder, &[all]),
                        Err(FaultKind::Checksum { .. })
                    ));
                }
            }
        }
    }

    #[test]
    fn other_headers_are_faults() {
        let dictionary = [0x78, 0xbb, 0, 0, 0, 0];
        let method = [0x79, 0x9c, 0, 0];
        for header in [&dictionary[..], &method, b"BZh9", &[0x28, 0xb5, 0x2f, 0xfd]] {
            let mut inflater = Inflater::default();
            let stream = Inflate::new(&mut inflater, header, Codec::Zlib, Decoder::Fast, None);
            assert!(matches!(stream.err().unwrap().kind, FaultKind::Corrupt(_)));
        }
        let mut inflater = Inflater::default();
        let short = Inflate::new(&mut inflater, &[0x78], Codec::Zlib, Decoder::Fast, None);
        assert_eq!(short.err().unwrap().kind, FaultKind::Truncated);
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn cancelled_streams_stop() {
        let stream = wrapped(&sample(), Codec::Zlib);
        let mut inflater = Inflater::default();
        let cancel = AtomicBool::new(false);
        let mut inflate =
            Inflate::new(&mut inflater, &stream, Codec::Zlib, Decoder::Fast, Some(&cancel)).unwrap();
        let mut out = vec![0; 100];
        inflate.read_exact(&mut out).unwrap();
        cancel.store(true, Ordering::Relaxed);
        let fault = inflate.read_exact(&mut out).unwrap_err();
        assert_eq!((fault.kind, fault.decoded), (FaultKind::Cancelled, 100));
    }

    /// A match that refers to what lies before the beginning of the stream.
    #[test]
    fn matches_before_the_beginning_are_faults() {
        for decoder in DECODERS {
            let found = inflate(&[0x23, 0x02, 0x00, 0x54], Codec::Deflate, decoder, &[35]);
            assert!(matches!(found, Err(FaultKind::Corrupt(_))), "{decoder:?}: {found:?}");
        }
    }

    proptest! {
        #[test]
        fn decoders_agree_on_anything(input in proptest::collection::vec(any::<u8>(), 0..200), length in 0_usize..400) {
            for codec in [Codec::Zlib, Codec::Gzip, Codec::Deflate] {
                let [fast, second] = DECODERS.map(|decoder| inflate(&input, codec, decoder, &[length]));
                prop_assert_eq!(fast.is_ok(), second.is_ok(), "{:?} {:?}", fast, second);
                if let (Ok(fast), Ok(second)) = (fast, second) {
                    prop_assert_eq!(fast, second);
                }
            }
        }
    }
}
