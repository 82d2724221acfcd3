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
    Stored {
        input: &'a [u8],
        /// The length of the content, and what reads it behind the input.
        rest: Option<(usize, ReadAt<'a>)>,
        /// The number of bytes that were read.
        read: usize,
        cancel: Option<&'a AtomicBool>,
    },
    Deflate(Stream<'a>),
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
                return Ok(Self {
                    codec,
                    kind: Kind::Stored {
                        input,
                        rest: None,
                        read: 0,
                        cancel,
                    },
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
        let mut stream = stream.map_err(|error| fault(codec, &error))?;
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
            Kind::Stored { .. } => None,
            Kind::Deflate(stream) => Some(stream),
        }
    }

    /// Reads stored content of this length behind the input, directly into the memory where it goes.
    pub(crate) fn set_tail(&mut self, length: usize, read_at: ReadAt<'a>) {
        if let Kind::Stored { rest, .. } = &mut self.kind {
            *rest = Some((length, read_at));
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
            Kind::Stored { read, .. } => as_u64(*read),
            Kind::Deflate(stream) => stream.produced(),
        }
    }

    /// The number of bytes of input so far, with the header and, after [`finish`](Self::finish), the checksum.
    pub(crate) fn consumed(&self) -> usize {
        match &self.kind {
            Kind::Stored { read, .. } => *read,
            Kind::Deflate(stream) => stream.consumed(),
        }
    }

    /// Reads until `out` is full or the content ends; returns the number of bytes.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        match &mut self.kind {
            Kind::Stored {
                input,
                rest,
                read,
                cancel,
            } => {
                if !out.is_empty() && is_set(*cancel) {
                    return Err(self.fault(FaultKind::Cancelled));
                }
                let length = rest.map_or(input.len(), |(length, _)| length);
                let count = out.len().min(length.saturating_sub(*read));
                let there = input.get(*read..).unwrap_or_default();
                let (here, behind) = out.split_at_mut(count.min(there.len()));
                if let Some(there) = there.get(..here.len()) {
                    here.copy_from_slice(there);
                }
                let behind = behind
                    .get_mut(..count.saturating_sub(here.len()))
                    .unwrap_or_default();
                if let Some((_, read_at)) = rest.filter(|_| !behind.is_empty())
                    && !read_at(read.saturating_add(here.len()), behind)
                {
                    return Err(self.fault(FaultKind::Truncated));
                }
                *read = read.saturating_add(count);
                Ok(count)
            }
            Kind::Deflate(stream) => stream.read(out).map_err(|error| fault(self.codec, &error)),
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
        let Kind::Stored {
            input,
            read,
            cancel,
            ..
        } = &mut self.kind
        else {
            return None;
        };
        let end = read.checked_add(count).filter(|_| !is_set(*cancel))?;
        let bytes = input.get(*read..end)?;
        *read = end;
        Some(bytes)
    }

    /// Reads and drops `count` bytes. Compressed content is decoded to `buffer`, which must not be empty.
    pub(crate) fn skip(&mut self, mut count: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        if let Kind::Stored {
            input,
            rest,
            read,
            cancel,
        } = &mut self.kind
        {
            if is_set(*cancel) {
                return Err(self.fault(FaultKind::Cancelled));
            }
            let left = rest
                .map_or(input.len(), |(length, _)| length)
                .saturating_sub(*read);
            let length = usize::try_from(count).unwrap_or(usize::MAX);
            *read = read.saturating_add(length.min(left));
            return if length <= left {
                Ok(())
            } else {
                Err(self.fault(FaultKind::TooShort))
            };
        }
        while count > 0 {
            let length = usize::try_from(count)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            let Some(piece) = buffer.get_mut(..length).filter(|piece| !piece.is_empty()) else {
                break;
            };
            self.read_exact(piece)?;
            count = count.saturating_sub(as_u64(length));
        }
        Ok(())
    }

    /// Checks that the content ends here, with the right checksum. Bytes after it are not read.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        if let Kind::Deflate(stream) = &mut self.kind {
            return stream.finish().map_err(|error| fault(self.codec, &error));
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

fn is_set(flag: Option<&AtomicBool>) -> bool {
    flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// The fault of an error of the decoder.
fn fault(codec: Codec, error: &meshmap_inflate::Error) -> Fault {
    let bit = error
        .position()
        .map(|position| (position.byte, position.bit));
    Fault {
        bit,
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
                    let (mut all, mut out) = (Vec::new(), vec![0; piece]);
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
            let (input, cancel) = (packed(codec), AtomicBool::new(false));
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
