use std::ops::Range;

use bytes::Bytes;

use super::content::Content;
use super::help::Help;
use super::reservation::Reservation;
use super::scratch::Scratch;
use crate::bytes::Source;
use crate::codec::{Codec, Fault, FaultKind, lzma};
use crate::limits::{Meter, zeroed_vec};
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
        let attempt = self.attempt(input, options, meter, scratch);
        meter
            .work(attempt.reached, self.what)
            .map_err(|error| self.locate(error))?;
        attempt.result
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
        let result;
        let mut reached = 0;
        match self.codec {
            Codec::Lzma { properties } => {
                result = self.lzma(&input, properties, options, meter, scratch);
                reached = self.decoded_len.unwrap_or(0);
            }
            _ => {
                let inflated = self.inflate_to_bytes(&input, options, meter, &mut reached, scratch);
                result = inflated.map_err(|error| self.locate(error));
            }
        }
        // A result that is larger than a block may be is refused by any call, whatever else that call holds.
        let is_limit = matches!(&result, Err(error) if error.kind() == ErrorKind::LimitExceeded);
        let decoded = reached.max(self.decoded_len.unwrap_or(0));
        Attempt {
            is_refused: is_limit && decoded <= meter.block(as_u64(input.len())),
            result,
            reached,
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
        let Some(length) = self.decoded_len else {
            let error = self.locate(Error::new(ErrorKind::Malformed, self.what));
            return Err(error
                .expected("the length of what an LZMA stream holds")
                .found("none"));
        };
        let stored = as_u64(input.len());
        if let Err(fault) = lzma::check_length(length, stored) {
            let error = Error::stream(fault.with_length(Some(length)), self.what);
            return Err(self.locate(error));
        }
        // Released again if the stream cannot be decoded.
        let part = meter.part();
        let mut out =
            zeroed_vec(&part, stored, length, self.what).map_err(|error| self.locate(error))?;
        let end = lzma_into(input, properties, &mut out, self.what, options, scratch)
            .map_err(|error| self.locate(error))?;
        if !end.is_clean && options.strictness == Strictness::Strict {
            let error = self.locate(Error::new(ErrorKind::Malformed, self.what));
            let used = decimal(end.consumed);
            return Err(error
                .expected("an end with nothing left over")
                .found(format!("{used} of {} bytes used", decimal(input.len()))));
        }
        part.commit();
        Ok(out.into())
    }

    /// Inflates the block's bytes into `out`, from its first byte on; returns the decoded length.
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
        let mut reservation = Reservation::new(std::mem::take(out), meter);
        let length = self.inflate(input, options, &mut reservation, &mut 0, scratch);
        *out = reservation.into_vec();
        length.map_err(|error| self.locate(error))
    }

    /// Inflates a stream into memory of its decoded length.
    fn inflate_to_bytes(
        &self,
        input: &Bytes,
        options: &Options,
        meter: &Meter,
        reached: &mut u64,
        scratch: &mut Scratch,
    ) -> Result<Bytes> {
        let mut reservation = Reservation::new(Vec::new(), meter);
        let length = self.inflate(input, options, &mut reservation, reached, scratch)?;
        if !reservation.shrink(length) {
            self.inflate_exactly(input, length, options, &mut reservation, scratch)?;
        }
        Ok(reservation.into_bytes())
    }

    /// Inflates a stream; `reached` becomes the number of bytes that have come out, even if there is an error.
    fn inflate(
        &self,
        input: &Bytes,
        options: &Options,
        reservation: &mut Reservation<'_>,
        reached: &mut u64,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        if let Some(length) = self.decoded_len {
            self.inflate_exactly(input, as_usize(length), options, reservation, scratch)?;
            *reached = length;
            return Ok(as_usize(length));
        }
        self.inflate_growing(input, options, reservation, reached, scratch)
    }

    /// Inflates a stream of unknown length, into memory that grows with the output.
    fn inflate_growing(
        &self,
        input: &Bytes,
        options: &Options,
        reservation: &mut Reservation<'_>,
        reached: &mut u64,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let meter = reservation.meter;
        let stored = as_u64(input.len());
        let max_length = meter.block(stored);
        let helped = scratch.within(options);
        let mut content = self.begin(input, options, scratch)?;
        reservation.adopt();
        let mut help = Help::with(&mut content, input, &helped, meter);
        let mut filled = 0_usize;
        let mut more = stored.saturating_mul(FIRST_GUESS).max(256);
        loop {
            let length = as_u64(filled)
                .saturating_add(more)
                .max(as_u64(reservation.bytes.len()))
                .min(max_length);
            let mut has_grown = reservation.grow(length, self.what)?;
            if !has_grown && help.end(&mut content) {
                has_grown = reservation.grow(length, self.what)?;
            }
            if !has_grown {
                break;
            }
            let free = reservation.bytes.get_mut(filled..).unwrap_or_default();
            let count = content.read(free);
            *reached = content.produced();
            let count = count.map_err(|fault| self.fault(fault))?;
            let is_full = count == free.len();
            filled = filled.saturating_add(count);
            if !is_full || as_u64(filled) >= max_length {
                let end = content.finish();
                *reached = content.produced();
                return match end {
                    Ok(()) => Ok(filled),
                    Err(fault) if fault.kind == FaultKind::TooLong => {
                        Err(meter.exceeded(stored, max_length.saturating_add(1), self.what))
                    }
                    Err(fault) => Err(self.fault(fault)),
                };
            }
            more = growth(as_u64(filled));
        }

        // Old and new memory are not allowed at once: the rest is counted, and then all is inflated again.
        let held = reservation.charge.bytes();
        let max_length = max_length.min(meter.left().saturating_add(held));
        let mut buffer = [0; 16 << 10];
        loop {
            let count = content.read(&mut buffer);
            *reached = content.produced();
            if *reached > max_length {
                return Err(meter.exceeded(stored, reached.saturating_sub(held), self.what));
            }
            if count.map_err(|fault| self.fault(fault))? < buffer.len() {
                break;
            }
        }
        content.finish().map_err(|fault| self.fault(fault))?;
        let length = as_usize(*reached);
        self.inflate_exactly(input, length, options, reservation, scratch)?;
        Ok(length)
    }

    /// Inflates a stream of a known length, into memory that is allocated at once.
    fn inflate_exactly(
        &self,
        input: &Bytes,
        length: usize,
        options: &Options,
        reservation: &mut Reservation<'_>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        reservation.replace(as_u64(input.len()), as_u64(length), self.what)?;
        let helped = scratch.within(options);
        let mut content = self.begin(input, options, scratch)?;
        let _help = Help::with(&mut content, input, &helped, reservation.meter);
        let out = reservation.bytes.get_mut(..length).unwrap_or_default();
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
    /// The number of bytes that were decoded, or would have been.
    pub(super) reached: u64,
    /// `true` if it failed because of the memory that the call holds already.
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

/// The assumed ratio of content to stream for the first allocation, if the length is unknown.
const FIRST_GUESS: u64 = 3;

/// Above this many bytes, memory grows by a quarter instead of doubling: bytes that are not filled are cleared anyway.
const LARGE: u64 = 16 << 20;

/// Returns the number of bytes by which memory grows that has been filled.
fn growth(filled: u64) -> u64 {
    if filled < LARGE {
        filled.max(4096)
    } else {
        filled / 4
    }
}
