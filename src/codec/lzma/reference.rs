//! The reference decoder, lzma-rs, with the same interface.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::coder::Bits;
use super::end::{End, fault};
use crate::codec::{Fault, FaultKind};
use crate::num::as_u64;

/// Decodes a stream with the reference decoder, lzma-rs.
///
/// lzma-rs writes its dictionary to the output whenever the dictionary is full. The dictionary is
/// as long as the output here, so that lzma-rs writes everything at once, as soon as all bytes are
/// decoded. Errors after that are ignored: they are about bytes after the stream, or about a match
/// that goes on after the end of the output, which this library accepts.
pub(super) fn lzma_rs(
    bits: Bits,
    input: &[u8],
    out: &mut [u8],
    cancel: Option<&AtomicBool>,
) -> Result<End, Fault> {
    use lzma_rs::decompress::raw::{LzmaDecoder, LzmaParams, LzmaProperties};

    let length = out.len();
    // An empty output needs no decoder. Its stream has only the five bytes that initialise the range
    // coder: a byte that is 0, and four bytes of the code, 0 if nothing is encoded.
    if length == 0 {
        return Ok(End {
            consumed: 5,
            is_clean: input == [0; 5],
        });
    }
    let properties = LzmaProperties {
        lc: bits.of_previous,
        lp: bits.of_literal_position,
        pb: bits.of_position,
    };
    let dictionary = u32::try_from(length).unwrap_or(u32::MAX);
    let params = LzmaParams::new(properties, dictionary, Some(as_u64(length)));
    let mut decoder = LzmaDecoder::new(params, Some(length))
        .map_err(|_| fault(FaultKind::Corrupt("damaged data"), 0))?;
    let mut reader = Reader {
        rest: input,
        is_short: false,
        cancel,
    };
    let mut writer = Writer { rest: out };
    let result = decoder.decompress(&mut reader, &mut writer);
    let left = writer.rest.len();
    if left == 0 {
        let consumed = input.len().saturating_sub(reader.rest.len());
        return Ok(End {
            consumed,
            is_clean: reader.rest.is_empty(),
        });
    }
    let kind = if is_cancelled(cancel) {
        FaultKind::Cancelled
    } else if reader.is_short {
        FaultKind::Truncated
    } else if result.is_ok() {
        FaultKind::TooShort
    } else {
        FaultKind::Corrupt("damaged data")
    };
    Err(fault(kind, length.saturating_sub(left)))
}

fn is_cancelled(cancel: Option<&AtomicBool>) -> bool {
    match cancel {
        Some(cancel) => cancel.load(Ordering::Relaxed),
        None => false,
    }
}

/// The input of lzma-rs.
struct Reader<'a> {
    rest: &'a [u8],
    /// `true` if more was requested than is available.
    is_short: bool,
    cancel: Option<&'a AtomicBool>,
}

impl io::Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // lzma-rs reads single bytes, each of which decodes to at most 7 KiB: cancelling takes effect soon.
        if is_cancelled(self.cancel) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.is_short |= buffer.len() > self.rest.len();
        self.rest.read(buffer)
    }
}

impl io::BufRead for Reader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.rest)
    }

    fn consume(&mut self, count: usize) {
        self.rest.consume(count);
    }
}

/// The output of lzma-rs: bytes beyond its capacity are dropped.
struct Writer<'a> {
    rest: &'a mut [u8],
}

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.rest.len());
        let (to, rest) = std::mem::take(&mut self.rest).split_at_mut(count);
        to.copy_from_slice(bytes.get(..count).unwrap_or_default());
        self.rest = rest;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
