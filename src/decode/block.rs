use std::ops::Range;

use bytes::Bytes;

use super::content::Content;
use super::help::Help;
use super::room::Room;
use super::scratch::Scratch;
use crate::bytes::Source;
use crate::codec::{Codec, Fault, FaultKind, lzma};
use crate::limits::Meter;
use crate::num::{as_u64, as_usize, decimal};
use crate::options::{Checksums, Options, Strictness};
use crate::report::{Address, Error, ErrorKind, Result};

/// A compressed part of a file: located, not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// The structure, as the format's specification names it.
    pub what: &'static str,
    /// The part of the file.
    pub address: Address,
    /// Its bytes, counted from the start of the source.
    pub range: Range<u64>,
    /// The compression of the block.
    pub codec: Codec,
    /// The decoded size of the block in bytes, if the file stores it.
    pub decoded_len: Option<u64>,
}

impl Block {
    /// Makes a block that the caller has located, in a custom format.
    #[must_use]
    pub fn new(
        what: &'static str,
        address: Address,
        range: Range<u64>,
        codec: Codec,
        decoded_len: Option<u64>,
    ) -> Self {
        Self {
            what,
            address,
            range,
            codec,
            decoded_len,
        }
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
    pub fn decode(
        &self,
        source: &Source,
        options: &Options,
        scratch: &mut Scratch,
    ) -> Result<Bytes> {
        let stored = source.get(self.range.clone(), self.what)?;
        let meter = Meter::of_part(&options.limits, &self.range);
        let decoded = self.decode_stored(stored, options, &meter, scratch);
        decoded.map_err(|error| source.locate(error))
    }

    /// Decodes the block's bytes, which have been read.
    pub(crate) fn decode_stored(
        &self,
        input: Bytes,
        options: &Options,
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Result<Bytes> {
        let Attempt {
            result, reached, ..
        } = self.attempt(input, options, meter, scratch);
        meter
            .work(reached, self.what)
            .map_err(|error| self.locate(error))?;
        result
    }

    /// Decodes the block's bytes, and reports how far decoding came.
    pub(super) fn attempt(
        &self,
        input: Bytes,
        options: &Options,
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Attempt {
        if self.codec == Codec::Stored {
            return Attempt {
                result: Ok(input),
                reached: 0,
                is_refused: false,
            };
        }
        let stored = as_u64(input.len());
        let (result, reached) = match self.codec {
            Codec::Lzma { properties } => {
                let result = self.lzma(&input, properties, options, meter, scratch);
                (result, self.decoded_len.unwrap_or(0))
            }
            _ => {
                let mut room = Room::new(Vec::new(), meter);
                let mut reached = 0;
                let result = self.inflate(&input, options, &mut room, &mut reached, scratch);
                let result = result.and_then(|length| {
                    if !room.shrink(length) {
                        self.inflate_exactly(&input, length, options, &mut room, scratch)?;
                    }
                    Ok(room.into_bytes())
                });
                (result.map_err(|error| self.locate(error)), reached)
            }
        };
        // A result that is too large for a block is too large whatever else the call holds.
        let is_limit = matches!(&result, Err(error) if error.kind() == ErrorKind::LimitExceeded);
        let is_refused =
            is_limit && reached.max(self.decoded_len.unwrap_or(0)) <= meter.block(stored);
        Attempt {
            result,
            reached,
            is_refused,
        }
    }

    /// Decodes an LZMA stream, whose decoded length is known.
    fn lzma(
        &self,
        input: &[u8],
        properties: [u8; 5],
        options: &Options,
        meter: &Meter,
        scratch: &mut Scratch,
    ) -> Result<Bytes> {
        let malformed = || self.locate(Error::new(ErrorKind::Malformed, self.what));
        let length = self.decoded_len.ok_or_else(|| {
            malformed()
                .expected("the length of what an LZMA stream holds")
                .found("none")
        })?;
        let stored = as_u64(input.len());
        lzma::check_length(length, stored).map_err(|fault| {
            self.locate(Error::stream(fault.with_length(Some(length)), self.what))
        })?;
        let part = meter.part();
        let mut out = part
            .vec(stored, length, self.what)
            .map_err(|error| self.locate(error))?;
        let end = lzma_into(input, properties, &mut out, self.what, options, scratch);
        let is_too_long =
            |end: &lzma::End| !end.is_clean && options.strictness == Strictness::Strict;
        let end = end.map_err(|error| self.locate(error)).and_then(|end| {
            if !is_too_long(&end) {
                return Ok(());
            }
            let found = format!(
                "{} of {} bytes used",
                decimal(end.consumed),
                decimal(input.len())
            );
            Err(malformed()
                .expected("an end with nothing left over")
                .found(found))
        });
        end.map(|()| {
            part.commit();
            out.into()
        })
    }

    /// Inflates the block's bytes into `out`, all of which is room; returns the decoded length.
    ///
    /// Bytes that are overwritten are not cleared first.
    pub(crate) fn inflate_into(
        &self,
        input: &Bytes,
        options: &Options,
        meter: &Meter,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let mut room = Room::new(std::mem::take(out), meter);
        let length = self.inflate(input, options, &mut room, &mut 0, scratch);
        *out = room.into_vec();
        length.map_err(|error| self.locate(error))
    }

    /// Inflates a stream; `reached` becomes the number of bytes that have come out, even if there is an error.
    fn inflate(
        &self,
        input: &Bytes,
        options: &Options,
        room: &mut Room<'_>,
        reached: &mut u64,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let (meter, stored) = (room.meter, as_u64(input.len()));
        if let Some(length) = self.decoded_len {
            self.inflate_exactly(input, as_usize(length), options, room, scratch)?;
            *reached = length;
            return Ok(as_usize(length));
        }
        let most = meter.block(stored);
        let helped = scratch.within(options);
        let mut content = self.begin(input, options, scratch)?;
        // The length is not stored. Memory grows with the output.
        let mut filled = 0_usize;
        let mut more = stored.saturating_mul(FIRST_GUESS).max(256);
        room.adopt();
        let mut help = Help::with(&mut content, input, &helped, meter);
        loop {
            let length = as_u64(filled)
                .saturating_add(more)
                .max(as_u64(room.bytes.len()))
                .min(most);
            let mut has_room = room.grow(length, self.what)?;
            if !has_room && help.end(&mut content) {
                has_room = room.grow(length, self.what)?;
            }
            if !has_room {
                break;
            }
            let free = room.bytes.get_mut(filled..).unwrap_or_default();
            let count = content.read(free);
            *reached = content.produced();
            let count = count.map_err(|fault| self.fault(fault))?;
            let is_full = count == free.len();
            filled = filled.saturating_add(count);
            if !is_full || as_u64(filled) >= most {
                let end = content.finish();
                *reached = content.produced();
                return end.map(|()| filled).map_err(|fault| match fault.kind {
                    FaultKind::TooLong => meter.exceeded(stored, most.saturating_add(1), self.what),
                    _ => self.fault(fault),
                });
            }
            more = if as_u64(filled) < LARGE {
                as_u64(filled).max(4096)
            } else {
                as_u64(filled) / 4
            };
        }

        // Old and new memory do not fit at once: the rest is counted, and then inflated again.
        let left = most.min(meter.left().saturating_add(room.charge.bytes()));
        let mut buffer = [0; 16 << 10];
        loop {
            let count = content.read(&mut buffer);
            *reached = content.produced();
            if *reached > left {
                return Err(meter.exceeded(
                    stored,
                    reached.saturating_sub(room.charge.bytes()),
                    self.what,
                ));
            }
            if count.map_err(|fault| self.fault(fault))? < buffer.len() {
                break;
            }
        }
        content.finish().map_err(|fault| self.fault(fault))?;
        let length = as_usize(*reached);
        self.inflate_exactly(input, length, options, room, scratch)?;
        Ok(length)
    }

    /// Inflates a stream of a known length, into memory that is taken at once.
    fn inflate_exactly(
        &self,
        input: &Bytes,
        length: usize,
        options: &Options,
        room: &mut Room<'_>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        room.take(as_u64(input.len()), as_u64(length), self.what)?;
        let helped = scratch.within(options);
        let mut content = self.begin(input, options, scratch)?;
        let _help = Help::with(&mut content, input, &helped, room.meter);
        let out = room.bytes.get_mut(..length).unwrap_or_default();
        let count = content.read(out).map_err(|fault| self.fault(fault))?;
        content.finish().map_err(|fault| self.fault(fault))?;
        if count < length {
            let fault = Fault {
                decoded: as_u64(count),
                ..self.codec.fault(FaultKind::TooShort)
            };
            return Err(self.fault(fault));
        }
        Ok(())
    }

    fn begin<'a>(
        &self,
        input: &'a [u8],
        options: &Options,
        scratch: &'a mut Scratch,
    ) -> Result<Content<'a>> {
        let Scratch {
            decoders, cancel, ..
        } = scratch;
        let content = Content::new(
            decoders,
            input,
            self.codec,
            options.decoder,
            cancel.as_deref(),
        );
        let mut content = content.map_err(|fault| self.fault(fault))?;
        if options.checksums == Checksums::Ignore {
            content.ignore_checksum();
        }
        Ok(content)
    }

    fn fault(&self, fault: Fault) -> Error {
        Error::stream(fault.with_length(self.decoded_len), self.what)
    }

    fn locate(&self, error: Error) -> Error {
        error.at(self.range.clone()).of(self.address.clone())
    }
}

/// The outcome of decoding a block.
pub(super) struct Attempt {
    pub(super) result: Result<Bytes>,
    /// The number of bytes that have come out, or would have.
    pub(super) reached: u64,
    /// `true` if it failed because of what the call holds already.
    pub(super) is_refused: bool,
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
    end.map_err(|fault| Error::stream(fault.with_length(Some(as_u64(out.len()))), what))
}

/// The ratio of content to stream that memory is first taken for.
const FIRST_GUESS: u64 = 3;

/// Above this many bytes, memory grows by a quarter instead of doubling: what is not filled is cleared all the same.
const LARGE: u64 = 16 << 20;
