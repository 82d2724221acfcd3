//! The reference decoder, lzma-rs, with the same interface.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::coder::Bits;
use super::end::{End, fault};
use crate::codec::{Fault, FaultKind};
use crate::num::as_u64;

/// The reference decoder, lzma-rs: fed with the input and emptied into the output.
///
/// Its dictionary is as long as the output, so that it is handed over, and nothing more, when the output is full: what
/// it says after that, of bytes after the stream or of a match over the end, does not matter.
pub(super) fn lzma_rs(
    bits: Bits,
    input: &[u8],
    out: &mut [u8],
    cancel: Option<&AtomicBool>,
) -> Result<End, Fault> {
    use lzma_rs::decompress::raw::{LzmaDecoder, LzmaParams, LzmaProperties};

    let length = out.len();
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
    let kind = match result {
        _ if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) => FaultKind::Cancelled,
        _ if reader.is_short => FaultKind::Truncated,
        Ok(()) => FaultKind::TooShort,
        Err(_) => FaultKind::Corrupt("damaged data"),
    };
    Err(fault(kind, length.saturating_sub(left)))
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
        // A byte is asked for at a time; it makes 7 KiB at most.
        if self
            .cancel
            .is_some_and(|cancel| cancel.load(Ordering::Relaxed))
        {
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
