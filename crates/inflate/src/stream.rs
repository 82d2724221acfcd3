//! A stream that is decoded piece by piece.
//!
//! Headers and checksums around deflate data are handled here, so that every decoder of raw deflate is equally strict.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "rayon")]
use super::ahead::{Ahead, Helpers, Spare};
use super::bits::Position;
use super::decoder::Deflate;
#[cfg(feature = "rayon")]
use super::error::Problem;
use super::error::{BitPosition, Error, ErrorKind};
use super::format::Format;
use super::inflater::Inflater;
use super::raw_decoder::{RawDecoder, Status};
use super::wrap::{Checksum, GZIP_TRAILER, Trailer, gzip_header, is_member, zlib_header};

/// A stream that is decoded into the caller's slices, piece by piece.
///
/// The whole input is in memory, or mapped. Decoding a prefix takes the time of a prefix. Slices need not lie next to one
/// another: the last 32 KiB of each are copied, because later output may refer to them.
///
/// # Examples
///
/// ```
/// use meshmap_inflate::{Format, Inflater, Stream};
///
/// // gzip.compress(b"first line\nsecond line\n", mtime=0)
/// let input = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xcb\x2c\x2a\x2e\x51\xc8\xc9\xcc\x4b\xe5\x2a\x4e\x4d\
///     \xce\xcf\x4b\x81\xb0\x01\x2c\x5a\x45\x5d\x17\x00\x00\x00";
/// let mut inflater = Inflater::new();
/// let mut stream = Stream::new(&mut inflater, input, Format::Gzip)?;
/// let mut piece = [0; 11];
/// stream.read_exact(&mut piece)?;
/// assert_eq!(&piece, b"first line\n");
/// // Fewer bytes than requested: the stream has ended.
/// let mut rest = [0; 100];
/// let count = stream.read(&mut rest)?;
/// assert_eq!(&rest[..count], b"second line\n");
/// stream.finish()?;
/// assert_eq!(stream.consumed(), input.len());
/// # Ok::<(), meshmap_inflate::Error>(())
/// ```
pub struct Stream<'a> {
    engine: Engine<'a>,
    format: Format,
    input: &'a [u8],
    /// The start in the input of the deflate data of the current member.
    #[cfg(feature = "rayon")]
    start: usize,
    /// Bytes of the input that are used up.
    consumed: usize,
    /// Bytes that have come out.
    produced: u64,
    checksum: Checksum,
    ended: bool,
    cancel: Option<&'a AtomicBool>,
    /// The end in the input of the data that the caller is known to want.
    #[cfg(feature = "rayon")]
    wanted: usize,
    #[cfg(feature = "rayon")]
    helpers: Option<Helpers>,
    #[cfg(feature = "rayon")]
    ahead: Option<Ahead>,
}

enum Engine<'a> {
    Deflate(&'a mut Inflater),
    Other(&'a mut dyn RawDecoder),
}

impl<'a> Stream<'a> {
    /// The length of output, in bytes, after which its checksum is updated, while it is in the processor's cache.
    ///
    /// Slices of this length suit callers that process the output piece by piece.
    pub const PIECE: usize = 256 << 10;
    /// A cancel flag is checked each time as much has been decoded.
    const CANCELLABLE_PIECE: usize = (64 << 10) - Deflate::MARGIN;

    /// Begins a stream at the start of `input`, and reads its header.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](ErrorKind::Truncated) or [`Corrupt`](ErrorKind::Corrupt) if `input` does not begin with a header
    /// of this format.
    pub fn new(inflater: &'a mut Inflater, input: &'a [u8], format: Format) -> Result<Self, Error> {
        Self::with_engine(Engine::Deflate(inflater), input, format)
    }

    /// Like [`new`](Self::new), with another decoder of the deflate data.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`new`](Self::new).
    pub fn with_decoder(
        decoder: &'a mut dyn RawDecoder,
        input: &'a [u8],
        format: Format,
    ) -> Result<Self, Error> {
        Self::with_engine(Engine::Other(decoder), input, format)
    }

    fn with_engine(mut engine: Engine<'a>, input: &'a [u8], format: Format) -> Result<Self, Error> {
        let header = match format {
            Format::Raw => Ok((0, Checksum::None)),
            Format::Zlib => zlib_header(input),
            Format::Gzip => gzip_header(input),
        };
        let (consumed, checksum) = header.map_err(|kind| Error::at_start(kind, format))?;
        engine.reset(consumed);
        Ok(Self {
            engine,
            format,
            input,
            #[cfg(feature = "rayon")]
            start: consumed,
            consumed,
            produced: 0,
            checksum,
            ended: false,
            cancel: None,
            #[cfg(feature = "rayon")]
            wanted: usize::MAX,
            #[cfg(feature = "rayon")]
            helpers: None,
            #[cfg(feature = "rayon")]
            ahead: None,
        })
    }

    /// Fails with [`Cancelled`](ErrorKind::Cancelled) within 64 KiB of output after `flag` is set.
    #[must_use]
    pub fn cancelled_by(mut self, flag: &'a AtomicBool) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// Does not compute the checksum, and accepts any in the input, or none.
    ///
    /// This saves time if only a prefix is decoded.
    pub fn ignore_checksum(&mut self) {
        self.checksum = self.checksum.ignored();
    }

    /// Lets idle threads of the current rayon pool help with the rest of the stream, if that pays.
    ///
    /// Has no effect if the helpers are for other bytes than this stream's, or if the stream has
    /// [another decoder](Self::with_decoder).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use meshmap_inflate::{Format, Helpers, Inflater, Stream};
    ///
    /// # let file = b"\x01\x05\x00\xfa\xffhello".to_vec();
    /// let input: Arc<[u8]> = file.into();
    /// let mut inflater = Inflater::new();
    /// let mut stream = Stream::new(&mut inflater, &input, Format::Raw)?;
    /// stream.set_helpers(Helpers::new(Arc::clone(&input), 64 << 20));
    /// let mut out = vec![0; 5];
    /// stream.read_exact(&mut out)?;
    /// stream.finish()?;
    /// # Ok::<(), meshmap_inflate::Error>(())
    /// ```
    #[cfg(feature = "rayon")]
    pub fn set_helpers(&mut self, helpers: Helpers) {
        let is_own = matches!(self.engine, Engine::Deflate(_));
        self.helpers = Some(helpers).filter(|helpers| is_own && helpers.are_for(self.input));
    }

    /// Declares that the caller will read `bytes` more bytes of output and nothing after them, so that helpers do not decode
    /// what nobody reads.
    #[cfg(feature = "rayon")]
    pub fn will_read(&mut self, bytes: usize) {
        // No stream is much longer than its content.
        self.wanted = self.consumed.saturating_add(bytes);
    }

    /// Ends the work of helpers, and releases their memory. The stream continues without them.
    #[cfg(feature = "rayon")]
    pub fn remove_helpers(&mut self) {
        self.helpers = None;
        let Engine::Deflate(inflater) = &mut self.engine else {
            return;
        };
        if let Some(mut ahead) = self.ahead.take() {
            ahead.give_up(inflater.deflate(), self.input);
        }
        inflater.spare = Spare::default();
    }

    fn is_cancelled(&self) -> bool {
        self.cancel
            .is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// The number of bytes of output so far.
    #[must_use]
    #[inline]
    pub fn produced(&self) -> u64 {
        self.produced
    }

    /// The number of bytes of the input that were used so far, with the header and, after [`finish`](Self::finish), the
    /// checksum.
    #[must_use]
    #[inline]
    pub fn consumed(&self) -> usize {
        self.consumed
    }

    /// Decodes until `out` is full or the stream ends; returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream is truncated or invalid before `out` is full, or
    /// [`Cancelled`](ErrorKind::Cancelled). The bytes before it are in `out`: as many as [`produced`](Self::produced) has
    /// grown by.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, Error> {
        // The position in the slice at which the stream begins, or goes on.
        let mut start = 0;
        let mut filled = 0;
        let piece = if self.cancel.is_some() {
            Self::CANCELLABLE_PIECE
        } else {
            Self::PIECE
        };
        while filled < out.len() {
            if self.is_cancelled() {
                return Err(self.error(ErrorKind::Cancelled));
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
            let more = u64::try_from(at.saturating_sub(before)).unwrap_or(u64::MAX);
            self.produced = self.produced.saturating_add(more);
            self.checksum
                .update(window.get(before..at).unwrap_or_default());
            filled = start.saturating_add(at);
            result.map_err(|kind| self.error(kind))?;
        }
        if let Engine::Deflate(inflater) = &mut self.engine
            && !self.ended
        {
            inflater
                .deflate()
                .leave(out.get(start..filled).unwrap_or_default());
        }
        Ok(filled)
    }

    /// Decodes until `out` is full.
    ///
    /// # Errors
    ///
    /// Returns [`TooShort`](ErrorKind::TooShort) if the stream ends before, and the errors of [`read`](Self::read).
    pub fn read_exact(&mut self, out: &mut [u8]) -> Result<(), Error> {
        if self.read(out)? < out.len() {
            Err(self.error(ErrorKind::TooShort))
        } else {
            Ok(())
        }
    }

    /// Checks that the stream ends here, with the right checksum. Bytes after it are not read.
    ///
    /// # Errors
    ///
    /// Returns [`TooLong`](ErrorKind::TooLong) if the stream continues, [`Checksum`](ErrorKind::Checksum) if the checksum
    /// differs, and the errors of [`read`](Self::read).
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.read(&mut [0])? > 0 {
            return Err(self.error(ErrorKind::TooLong));
        }
        self.end()
    }

    /// Reads what comes after a deflate stream.
    fn end(&mut self) -> Result<(), Error> {
        let rest = self.input.get(self.consumed..).unwrap_or_default();
        let Trailer { length, result } = self.checksum.compare(rest);
        self.consumed = self.consumed.saturating_add(length);
        result.map_err(|kind| self.error(kind))
    }

    /// Goes on with the next member of a gzip file, if there is one.
    fn next_member(&mut self) -> Result<bool, Error> {
        let next = self.consumed.saturating_add(GZIP_TRAILER);
        let rest = self.input.get(next..).unwrap_or_default();
        if self.format != Format::Gzip || !is_member(rest) {
            return Ok(false);
        }
        let (header, checksum) = gzip_header(rest).map_err(|kind| self.error(kind))?;
        self.end()?;
        self.consumed = next.saturating_add(header);
        self.checksum = match self.checksum {
            Checksum::Ignored(_) => checksum.ignored(),
            _ => checksum,
        };
        self.engine.reset(self.consumed);
        #[cfg(feature = "rayon")]
        {
            self.start = self.consumed;
        }
        self.ended = false;
        Ok(true)
    }

    /// Fills `out`, where the stream begins or goes on, from `at` up to `until` or some bytes more, or less if the stream
    /// ends. `at` becomes the end of what is written, also in case of an error.
    fn decode(&mut self, out: &mut [u8], at: &mut usize, until: usize) -> Result<(), ErrorKind> {
        let decoder = match &mut self.engine {
            Engine::Deflate(_) => return self.deflate(out, at, until),
            Engine::Other(decoder) => decoder,
        };
        let until = until.min(out.len());
        while let Some(space) = out
            .get_mut(*at..until)
            .filter(|space| !space.is_empty() && !self.ended)
        {
            let input = self.input.get(self.consumed..).unwrap_or_default();
            let decoded = decoder.decode(input, space);
            // Whatever a decoder claims.
            let used = decoded.consumed.min(input.len());
            let count = decoded.produced.min(space.len());
            let is_full = count == space.len();
            self.consumed = self.consumed.saturating_add(used);
            *at = at.saturating_add(count);
            self.ended = decoded.status == Status::Ended;
            match decoded.status {
                Status::Damaged if !is_full => return Err(ErrorKind::Corrupt("damaged data")),
                Status::Continues if used == 0 && count == 0 => return Err(ErrorKind::Truncated),
                _ => {}
            }
        }
        Ok(())
    }

    /// Fills `out` as [`Deflate::run`] does.
    #[cfg(not(feature = "rayon"))]
    fn deflate(&mut self, out: &mut [u8], at: &mut usize, until: usize) -> Result<(), ErrorKind> {
        let Engine::Deflate(inflater) = &mut self.engine else {
            return Ok(());
        };
        let deflate = inflater.deflate();
        let result = deflate.run(self.input, out, at, until, Position::NEVER);
        self.consumed = deflate.consumed();
        self.ended = deflate.has_ended();
        result.map_err(ErrorKind::from)
    }

    /// Fills `out` as [`Deflate::run`] does, with the help of other threads if that pays.
    #[cfg(feature = "rayon")]
    fn deflate(&mut self, out: &mut [u8], at: &mut usize, until: usize) -> Result<(), ErrorKind> {
        let Engine::Deflate(inflater) = &mut self.engine else {
            return Ok(());
        };
        let (deflate, spare) = inflater.parts();
        if let Some(helpers) = self.helpers.as_ref().filter(|_| self.ahead.is_none())
            && helpers.pay(self.start, self.consumed)
        {
            self.ahead = Some(Ahead::new(
                helpers,
                deflate.position(),
                std::mem::take(spare),
            ));
        }
        let result: Result<(), Problem> = match &mut self.ahead {
            None => deflate.run(self.input, out, at, until, Position::NEVER),
            Some(ahead) => {
                let result = ahead.run(deflate, out, at, (until, self.wanted), self.input);
                if deflate.has_ended() {
                    *spare = ahead.close(self.helpers.as_mut());
                    self.ahead = None;
                }
                result
            }
        };
        self.consumed = deflate.consumed();
        self.ended = deflate.has_ended();
        result.map_err(ErrorKind::from)
    }

    /// An error at this place of the stream.
    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        let is_corrupt = matches!(kind, ErrorKind::Corrupt(_));
        let position = match &self.engine {
            Engine::Deflate(inflater) if is_corrupt && !self.ended => {
                inflater.used().map(Deflate::position)
            }
            _ => None,
        };
        let position = position.map(|Position { byte, bit }| {
            let byte = u64::try_from(byte).unwrap_or(u64::MAX);
            BitPosition { byte, bit }
        });
        Error {
            kind,
            format: self.format,
            decoded: self.produced,
            position,
        }
    }
}

impl Engine<'_> {
    /// Begins a deflate stream at this byte of the input.
    fn reset(&mut self, byte: usize) {
        match self {
            Self::Deflate(inflater) => inflater.deflate().reset(Position { byte, bit: 0 }),
            Self::Other(decoder) => decoder.reset(),
        }
    }
}

impl fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            format,
            consumed,
            produced,
            ..
        } = self;
        f.debug_struct("Stream")
            .field("format", format)
            .field("consumed", consumed)
            .field("produced", produced)
            .finish_non_exhaustive()
    }
}
