use std::sync::atomic::{AtomicBool, Ordering};

use meshmap_inflate::{Format, Inflater, Stream};

use super::reference::Miniz;
use crate::codec::{Codec, Decoder, Fault, FaultKind};
use crate::num::as_u64;

/// Both decoders of deflate, reused from one stream to the next: their memory is allocated once.
#[derive(Default)]
pub(crate) struct Decoders {
    inflater: Inflater,
    miniz: Option<Box<Miniz>>,
}

/// Reads stored content from an offset in it. Returns `false` if the bytes cannot be read.
pub(crate) type ReadAt<'a> = &'a (dyn Fn(usize, &mut [u8]) -> bool + Sync);

/// The content of a section or block, stored or compressed with deflate, read piece by piece.
pub(crate) struct Content<'a> {
    codec: Codec,
    kind: Kind<'a>,
}

#[allow(
    clippy::large_enum_variant,
    reason = "there is one per call, on the stack"
)]
enum Kind<'a> {
    /// The content is the input itself.
    Stored(StoredContent<'a>),
    Deflate(Stream<'a>),
}

/// Content that is not compressed: the input, and what follows it in the source.
struct StoredContent<'a> {
    input: &'a [u8],
    tail: Option<Tail<'a>>,
    /// The number of bytes that were read.
    position: usize,
    cancel: Option<&'a AtomicBool>,
}

/// Content behind the input, which is read from the source.
#[derive(Clone, Copy)]
struct Tail<'a> {
    /// The length of the whole content, with the input.
    length: usize,
    read_at: ReadAt<'a>,
}

impl<'a> StoredContent<'a> {
    /// The number of bytes that are left.
    fn left(&self) -> usize {
        let length = match &self.tail {
            Some(tail) => tail.length,
            None => self.input.len(),
        };
        length.saturating_sub(self.position)
    }

    fn check_cancelled(&self) -> Result<(), FaultKind> {
        match self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(FaultKind::Cancelled),
            _ => Ok(()),
        }
    }

    /// Reads until `out` is full or the content ends; returns the number of bytes. Bytes behind the input are read directly into
    /// `out`.
    fn read(&mut self, out: &mut [u8]) -> Result<usize, FaultKind> {
        if !out.is_empty() {
            self.check_cancelled()?;
        }
        let count = out.len().min(self.left());
        let input = self.input.get(self.position..).unwrap_or_default();
        let from_input = count.min(input.len());
        let (out_of_input, out_of_tail) = out.split_at_mut(from_input);
        if let Some(input) = input.get(..from_input) {
            out_of_input.copy_from_slice(input);
        }
        let from_tail = count.saturating_sub(from_input);
        if from_tail > 0
            && let Some(tail) = &self.tail
            && let Some(out) = out_of_tail.get_mut(..from_tail)
        {
            let start = self.position.saturating_add(from_input);
            if !(tail.read_at)(start, out) {
                return Err(FaultKind::Truncated);
            }
        }
        self.position = self.position.saturating_add(count);
        Ok(count)
    }

    /// The next `count` bytes of the input, without a copy.
    fn view(&mut self, count: usize) -> Option<&'a [u8]> {
        self.check_cancelled().ok()?;
        let end = self.position.checked_add(count)?;
        let bytes = self.input.get(self.position..end)?;
        self.position = end;
        Some(bytes)
    }

    fn skip(&mut self, count: u64) -> Result<(), FaultKind> {
        self.check_cancelled()?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let left = self.left();
        self.position = self.position.saturating_add(count.min(left));
        if count > left {
            return Err(FaultKind::TooShort);
        }
        Ok(())
    }
}

impl<'a> Content<'a> {
    /// The length of a piece that is decoded at a time, in bytes.
    pub(crate) const PIECE: usize = Stream::PIECE;

    /// Begins to read a stream, whose bytes are `input`.
    pub(crate) fn new(
        decoders: &'a mut Decoders,
        input: &'a [u8],
        codec: Codec,
        decoder: Decoder,
        cancel: Option<&'a AtomicBool>,
    ) -> Result<Self, Fault> {
        let format = match codec {
            Codec::Stored => {
                let stored = StoredContent {
                    input,
                    tail: None,
                    position: 0,
                    cancel,
                };
                return Ok(Self {
                    codec,
                    kind: Kind::Stored(stored),
                });
            }
            Codec::Deflate => Format::Raw,
            Codec::Zlib => Format::Zlib,
            Codec::Gzip => Format::Gzip,
            Codec::Lzma { .. } => return Err(codec.fault(FaultKind::Corrupt("no deflate stream"))),
        };
        let stream = match decoder {
            Decoder::Reference if !cfg!(meshmap_small) => {
                Stream::with_decoder(&mut **decoders.miniz.get_or_insert_default(), input, format)
            }
            _ => Stream::new(&mut decoders.inflater, input, format),
        };
        let mut stream = stream.map_err(|error| decoder_fault(codec, &error))?;
        if let Some(cancel) = cancel {
            stream = stream.cancelled_by(cancel);
        }
        Ok(Self {
            codec,
            kind: Kind::Deflate(stream),
        })
    }

    /// The deflate stream, if the content is compressed.
    #[cfg(feature = "rayon")]
    pub(crate) fn stream(&mut self) -> Option<&mut Stream<'a>> {
        match &mut self.kind {
            Kind::Stored(_) => None,
            Kind::Deflate(stream) => Some(stream),
        }
    }

    /// Makes stored content `length` bytes long: what is behind the input is read directly into the memory where it goes.
    pub(crate) fn set_tail(&mut self, length: usize, read_at: ReadAt<'a>) {
        if let Kind::Stored(stored) = &mut self.kind {
            stored.tail = Some(Tail { length, read_at });
        }
    }

    /// Accepts any checksum, or none, and does not compute it.
    pub(crate) fn ignore_checksum(&mut self) {
        if let Kind::Deflate(stream) = &mut self.kind {
            stream.ignore_checksum();
        }
    }

    /// The number of bytes of content so far.
    pub(crate) fn produced(&self) -> u64 {
        match &self.kind {
            Kind::Stored(stored) => as_u64(stored.position),
            Kind::Deflate(stream) => stream.produced(),
        }
    }

    /// The number of bytes of input so far, with the header and, after [`finish`](Self::finish), the checksum.
    pub(crate) fn consumed(&self) -> usize {
        match &self.kind {
            Kind::Stored(stored) => stored.position,
            Kind::Deflate(stream) => stream.consumed(),
        }
    }

    /// Reads until `out` is full or the content ends; returns the number of bytes.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        match &mut self.kind {
            Kind::Stored(stored) => stored.read(out).map_err(|kind| self.fault(kind)),
            Kind::Deflate(stream) => stream
                .read(out)
                .map_err(|error| decoder_fault(self.codec, &error)),
        }
    }

    /// Reads until `out` is full.
    pub(crate) fn read_exact(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        if self.read(out)? < out.len() {
            Err(self.fault(FaultKind::TooShort))
        } else {
            Ok(())
        }
    }

    /// The next `count` bytes in place; `None` if the input has fewer, they are compressed, or reading is cancelled.
    pub(crate) fn stored(&mut self, count: usize) -> Option<&'a [u8]> {
        match &mut self.kind {
            Kind::Stored(stored) => stored.view(count),
            Kind::Deflate(_) => None,
        }
    }

    /// Reads and drops `count` bytes. Compressed content is decoded to `buffer`, which must not be empty.
    pub(crate) fn skip(&mut self, mut count: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        if let Kind::Stored(stored) = &mut self.kind {
            return stored.skip(count).map_err(|kind| self.fault(kind));
        }
        while count > 0 {
            let length = usize::try_from(count)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            let Some(piece) = buffer.get_mut(..length) else {
                break;
            };
            if piece.is_empty() {
                break;
            }
            self.read_exact(piece)?;
            count = count.saturating_sub(as_u64(length));
        }
        Ok(())
    }

    /// Checks that the content ends here, with the right checksum. Bytes after it are not read.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        if let Kind::Deflate(stream) = &mut self.kind {
            return stream
                .finish()
                .map_err(|error| decoder_fault(self.codec, &error));
        }
        if self.read(&mut [0])? > 0 {
            Err(self.fault(FaultKind::TooLong))
        } else {
            Ok(())
        }
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault {
            decoded: self.produced(),
            ..self.codec.fault(kind)
        }
    }
}

/// The fault of an error of the decoder.
fn decoder_fault(codec: Codec, error: &meshmap_inflate::Error) -> Fault {
    let position = error.position();
    Fault {
        bit: position.map(|position| (position.byte, position.bit)),
        decoded: error.decoded(),
        ..codec.fault(error.kind().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &[u8] = b"bytes that repeat, bytes that repeat, bytes that repeat";

    fn packed(codec: Codec) -> Vec<u8> {
        match codec {
            Codec::Zlib => miniz_oxide::deflate::compress_to_vec_zlib(DATA, 6),
            Codec::Deflate => miniz_oxide::deflate::compress_to_vec(DATA, 6),
            _ => DATA.to_vec(),
        }
    }

    #[test]
    fn content_is_the_same_for_every_codec_decoder_and_piece() {
        for codec in [Codec::Stored, Codec::Zlib, Codec::Deflate] {
            let input = packed(codec);
            for decoder in [Decoder::Fast, Decoder::Reference] {
                for piece in [1, 7, DATA.len(), DATA.len() + 1] {
                    let mut decoders = Decoders::default();
                    let mut content =
                        Content::new(&mut decoders, &input, codec, decoder, None).unwrap();
                    let mut all = Vec::new();
                    let mut out = vec![0; piece];
                    loop {
                        let count = content.read(&mut out).unwrap();
                        all.extend_from_slice(&out[..count]);
                        if count < piece {
                            break;
                        }
                    }
                    content.finish().unwrap();
                    assert_eq!((&all[..], content.produced()), (DATA, as_u64(DATA.len())));
                    assert_eq!(
                        content.consumed(),
                        input.len(),
                        "{codec:?} {decoder:?} {piece}"
                    );
                }
            }
        }
    }

    #[test]
    fn content_of_another_length_is_a_fault() {
        for codec in [Codec::Stored, Codec::Zlib, Codec::Deflate] {
            let input = packed(codec);
            for decoder in [Decoder::Fast, Decoder::Reference] {
                let mut decoders = Decoders::default();
                let mut content =
                    Content::new(&mut decoders, &input, codec, decoder, None).unwrap();
                content.skip(as_u64(DATA.len()) - 1, &mut [0; 10]).unwrap();
                let fault = content.finish().unwrap_err();
                assert_eq!(
                    (fault.kind, fault.decoded),
                    (FaultKind::TooLong, as_u64(DATA.len()))
                );
                let fault = content.skip(1, &mut [0; 10]).unwrap_err();
                assert_eq!(
                    (fault.kind, fault.decoded),
                    (FaultKind::TooShort, as_u64(DATA.len()))
                );
            }
        }
    }

    #[test]
    fn cancelled_content_stops() {
        for codec in [Codec::Stored, Codec::Zlib] {
            let input = packed(codec);
            let cancel = AtomicBool::new(false);
            let mut decoders = Decoders::default();
            let mut content =
                Content::new(&mut decoders, &input, codec, Decoder::Fast, Some(&cancel)).unwrap();
            content.read_exact(&mut [0; 9]).unwrap();
            cancel.store(true, Ordering::Relaxed);
            let fault = content.read(&mut [0; 9]).unwrap_err();
            assert_eq!((fault.kind, fault.decoded), (FaultKind::Cancelled, 9));
            assert_eq!(
                content.skip(1, &mut [0; 9]).unwrap_err().kind,
                FaultKind::Cancelled
            );
            assert_eq!(content.stored(1), None);
        }
    }

    #[test]
    fn lzma_is_refused() {
        let codec = Codec::Lzma { properties: [0; 5] };
        let content = Content::new(&mut Decoders::default(), &[], codec, Decoder::Fast, None).err();
        assert_eq!(
            content.map(|fault| fault.kind),
            Some(FaultKind::Corrupt("no deflate stream"))
        );
    }
}
