//! Deflate streams, with the header and checksum of zlib or gzip around them or none.
//!
//! A stream is inflated into the caller's slices, piece by piece, so that a prefix costs a prefix. What is around it is
//! handled here, so that both decoders are equally strict: the fast one, which is written after RFC 1951, and the
//! reference decoder, miniz_oxide.
//!
//! The fast one has the slice that it fills for its window, and copies only the last 32 KiB of each, since the next one
//! may lie elsewhere. It accepts and refuses what zlib does. Where miniz_oxide differs:
//!
//! * A dynamic block without a code for its end is refused when its header is read. miniz_oxide decodes its symbols, to
//!   the first that is damaged or to the end of the input, and refuses it then.
//! * Nothing is looked at after the output is full. miniz_oxide goes on to the next byte that would come out, over the end of
//!   a block and the header of the next one; what it says of those is kept back until more is asked for.

#[cfg(feature = "rayon")]
mod ahead;
mod bits;
mod block;
mod code;
mod copy;
mod decoder;
mod entry;
mod fast;
mod history;
mod matches;
mod problem;
mod processor;
mod reference;
#[cfg(any(test, meshmap_small))]
mod small_crc;
mod table;
mod unit;
mod wrap;

#[cfg(fuzzing)]
mod fuzzing;
#[cfg(test)]
mod generator;
#[cfg(test)]
mod tests;

#[cfg(fuzzing)]
pub use fuzzing::in_pieces;

use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "rayon")]
use ahead::Ahead;
#[cfg(feature = "rayon")]
pub(crate) use ahead::Help;
use bits::Position;
use decoder::Deflate;
use problem::Problem;
use reference::{Miniz, Status};
use wrap::{Checksum, Trailer, gzip_header, is_member, zlib_header};

use super::{Codec, Decoder, Fault, FaultKind};
use crate::num::as_u64;

/// The decoders, kept from one stream to the next: their memory is allocated once.
#[derive(Default)]
pub(crate) struct Inflater {
    deflate: Option<Box<Deflate>>,
    miniz: Option<Box<Miniz>>,
    #[cfg(feature = "rayon")]
    spare: ahead::Spare,
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
    /// Where in the input it ends what the caller is known to want.
    #[cfg(feature = "rayon")]
    wanted: usize,
    #[cfg(feature = "rayon")]
    help: Option<Help>,
    #[cfg(feature = "rayon")]
    ahead: Option<Ahead>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// Nothing to decode.
    Stored,
    Deflate,
    Miniz,
}

impl<'a> Inflate<'a> {
    /// A cancel flag is looked at each time as much has been inflated.
    const CANCELLABLE_PIECE: usize = (64 << 10) - Deflate::MARGIN;
    /// The checksum is computed each time as much has been inflated, while it is in the cache.
    pub(crate) const PIECE: usize = 256 << 10;

    /// Begins a stream. The stream of uncompressed data is the input itself.
    pub(crate) fn new(
        inflater: &'a mut Inflater,
        input: &'a [u8],
        codec: Codec,
        decoder: Decoder,
        cancel: Option<&'a AtomicBool>,
    ) -> Result<Self, Fault> {
        let header = match codec {
            Codec::Stored | Codec::Deflate => Ok((0, Checksum::None)),
            Codec::Zlib => zlib_header(input),
            Codec::Gzip => gzip_header(input),
            Codec::Lzma { .. } => Err(FaultKind::Corrupt("no deflate stream")),
        };
        let (consumed, checksum) = header.map_err(|kind| codec.fault(kind))?;
        let engine = match (codec, decoder) {
            (Codec::Stored, _) => Engine::Stored,
            (_, Decoder::Reference) if !cfg!(meshmap_small) => Engine::Miniz,
            _ => Engine::Deflate,
        };
        inflater.reset(engine, consumed);
        Ok(Self {
            inflater,
            engine,
            codec,
            input,
            consumed,
            produced: 0,
            checksum,
            ended: false,
            cancel,
            #[cfg(feature = "rayon")]
            wanted: usize::MAX,
            #[cfg(feature = "rayon")]
            help: None,
            #[cfg(feature = "rayon")]
            ahead: None,
        })
    }

    /// Lets other threads help, where that pays.
    #[cfg(feature = "rayon")]
    pub(crate) fn with_help(&mut self, help: Help) {
        self.help = Some(help).filter(|_| self.engine == Engine::Deflate);
    }

    /// Says that, of what comes next, so many bytes of output are wanted, and nothing after them.
    #[cfg(feature = "rayon")]
    pub(crate) fn wants(&mut self, bytes: usize) {
        // No stream is much longer than its content.
        self.wanted = self.consumed.saturating_add(bytes);
    }

    /// Lets no other thread help any more, and gives their memory back. Between two reads.
    #[cfg(feature = "rayon")]
    pub(crate) fn without_help(&mut self) {
        self.help = None;
        if let Some(mut ahead) = self.ahead.take() {
            ahead.give_up(self.inflater.deflate(), self.input);
        }
        self.inflater.spare = ahead::Spare::default();
    }

    /// Computes no checksum, because the stream will not be read to its end.
    pub(crate) fn without_checksum(&mut self) {
        self.checksum = Checksum::None;
    }

    /// Ignores the checksum, even where it is missing.
    pub(crate) fn ignoring_checksum(mut self) -> Self {
        self.checksum = self.checksum.ignored();
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
        // Where in the slice the stream begins, or goes on.
        let (mut start, mut filled) = (0, 0);
        let piece = if self.cancel.is_some() { Self::CANCELLABLE_PIECE } else { Self::PIECE };
        while filled < out.len() {
            if self.is_cancelled() {
                return Err(self.fault(FaultKind::Cancelled));
            }
            if self.ended {
                if !self.next_member()? {
                    break;
                }
                start = filled;
            }
            let window = out.get_mut(start..).unwrap_or_default();
            let before = filled.saturating_sub(start);
            let mut at = before;
            let result = self.decode(window, &mut at, before.saturating_add(piece));
            self.produced = self.produced.saturating_add(as_u64(at.saturating_sub(before)));
            result.map_err(|kind| self.fault(kind))?;
            self.checksum.update(window.get(before..at).unwrap_or_default());
            filled = start.saturating_add(at);
        }
        if self.engine == Engine::Deflate && !self.ended {
            self.inflater.deflate().leave(out.get(start..filled).unwrap_or_default());
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
        if self.read(&mut [0])? > 0 {
            return Err(self.fault(FaultKind::Long));
        }
        self.end()
    }

    /// Reads what comes after a deflate stream.
    fn end(&mut self) -> Result<(), Fault> {
        let rest = self.input.get(self.consumed..).unwrap_or_default();
        let Trailer { length, result } = self.checksum.compare(rest);
        self.consumed = self.consumed.saturating_add(length);
        result.map_err(|kind| self.fault(kind))
    }

    /// Goes on with the next member of a gzip file, where there is one.
    fn next_member(&mut self) -> Result<bool, Fault> {
        let next = self.consumed.saturating_add(wrap::GZIP_TRAILER);
        let rest = self.input.get(next..).unwrap_or_default();
        if self.codec != Codec::Gzip || !is_member(rest) {
            return Ok(false);
        }
        let (header, checksum) = gzip_header(rest).map_err(|kind| self.fault(kind))?;
        self.end()?;
        self.consumed = next.saturating_add(header);
        self.checksum = match self.checksum {
            Checksum::None => Checksum::None,
            Checksum::Ignored(_) => checksum.ignored(),
            _ => checksum,
        };
        self.inflater.reset(self.engine, self.consumed);
        self.ended = false;
        Ok(true)
    }

    /// Fills `out`, where the stream begins or goes on, from `at` up to `until` or some bytes more, or less where the stream
    /// ends. `at` becomes the end of what is written, in case of an error, too.
    fn decode(&mut self, out: &mut [u8], at: &mut usize, until: usize) -> Result<(), FaultKind> {
        match self.engine {
            Engine::Stored => {
                let input = self.input.get(self.consumed..).unwrap_or_default();
                let room = out.get_mut(*at..).unwrap_or_default();
                let count = input.len().min(room.len());
                if let (Some(from), Some(to)) = (input.get(..count), room.get_mut(..count)) {
                    to.copy_from_slice(from);
                }
                *at = at.saturating_add(count);
                self.consumed = self.consumed.saturating_add(count);
                self.ended = self.consumed == self.input.len();
                Ok(())
            }
            Engine::Deflate => {
                let result = self.deflate(out, at, until);
                let deflate = self.inflater.deflate();
                self.consumed = deflate.consumed();
                self.ended = deflate.has_ended();
                result.map_err(Problem::kind)
            }
            Engine::Miniz => {
                let until = until.min(out.len());
                while let Some(room) = out.get_mut(*at..until).filter(|room| !room.is_empty() && !self.ended)
                {
                    let input = self.input.get(self.consumed..).unwrap_or_default();
                    let (used, count, status) = self.inflater.miniz().inflate(input, room);
                    let is_full = count == room.len();
                    self.consumed = self.consumed.saturating_add(used);
                    *at = at.saturating_add(count);
                    self.ended = status == Status::Ended;
                    match status {
                        Status::Damaged if !is_full => return Err(FaultKind::Corrupt("damaged data")),
                        Status::GoesOn if used == 0 && count == 0 => return Err(FaultKind::Truncated),
                        _ => {}
                    }
                }
                Ok(())
            }
        }
    }

    #[cfg(not(feature = "rayon"))]
    fn deflate(&mut self, out: &mut [u8], at: &mut usize, until: usize) -> Result<(), Problem> {
        self.inflater.deflate().run(self.input, out, at, until, Position::NEVER)
    }

    /// Fills `out` as [`Deflate::run`] does, with the help of other threads where that pays.
    #[cfg(feature = "rayon")]
    fn deflate(&mut self, out: &mut [u8], at: &mut usize, until: usize) -> Result<(), Problem> {
        self.inflater.deflate();
        let Inflater { deflate: Some(deflate), spare, .. } = &mut *self.inflater else { return Ok(()) };
        if let Some(help) = self.help.as_ref().filter(|_| self.ahead.is_none())
            && help.pays(self.consumed)
        {
            self.ahead = Some(Ahead::new(help, deflate.position(), std::mem::take(spare)));
        }
        let Some(ahead) = &mut self.ahead else {
            return deflate.run(self.input, out, at, until, Position::NEVER);
        };
        let result = ahead.run(deflate, out, at, (until, self.wanted), self.input);
        if deflate.has_ended() {
            *spare = ahead.close();
            self.ahead = None;
        }
        result
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        let is_corrupt = matches!(kind, FaultKind::Corrupt(_)) && self.engine == Engine::Deflate;
        let deflate = self.inflater.deflate.as_ref().filter(|_| is_corrupt && !self.ended);
        let bit = deflate.map(|deflate| deflate.position()).map(|Position { byte, bit }| (as_u64(byte), bit));
        Fault { decoded: self.produced, bit, ..self.codec.fault(kind) }
    }
}

impl Inflater {
    fn deflate(&mut self) -> &mut Deflate {
        self.deflate.get_or_insert_with(|| Box::new(Deflate::new()))
    }

    fn miniz(&mut self) -> &mut Miniz {
        self.miniz.get_or_insert_with(Box::default)
    }

    /// Begins a deflate stream at this byte of the input.
    fn reset(&mut self, engine: Engine, byte: usize) {
        match engine {
            Engine::Stored => {}
            Engine::Deflate => self.deflate().reset(Position { byte, bit: 0 }),
            Engine::Miniz => self.miniz().reset(),
        }
    }
}
