//! Whole streams in one call.

use super::error::{Error, ErrorKind};
use super::format::Format;
use super::inflater::Inflater;
use super::stream::Stream;

/// Decodes a whole stream, of at most `max_len` bytes of output, and verifies its checksum.
///
/// Memory is allocated as output appears, and at most about `max_len` bytes of it: nothing that the input declares leads to
/// an allocation. Bytes after the end of the stream are ignored.
///
/// # Errors
///
/// Returns [`TooLong`](ErrorKind::TooLong) if there is more output than `max_len` bytes, and other kinds if the stream is
/// truncated, invalid, or has a wrong checksum.
///
/// # Examples
///
/// ```
/// use meshmap_inflate::{ErrorKind, Format, inflate};
///
/// // zlib.compress(b"hello, hello, hello")
/// let stream = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\x40\xa2\x00\x44\x28\x06\xd5";
/// assert_eq!(inflate(stream, Format::Zlib, 1 << 20)?, b"hello, hello, hello");
///
/// let error = inflate(stream, Format::Zlib, 10).unwrap_err();
/// assert_eq!(error.kind(), &ErrorKind::TooLong);
/// # Ok::<(), meshmap_inflate::Error>(())
/// ```
pub fn inflate(input: &[u8], format: Format, max_len: usize) -> Result<Vec<u8>, Error> {
    Inflater::new().inflate(input, format, max_len)
}

impl Inflater {
    /// Like the function [`inflate`], with the memory of this `Inflater`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`inflate`].
    pub fn inflate(
        &mut self,
        input: &[u8],
        format: Format,
        max_len: usize,
    ) -> Result<Vec<u8>, Error> {
        /// The ratio of output to input that memory is first allocated for.
        const FIRST_GUESS: usize = 3;
        const MIN: usize = 256;
        let mut stream = Stream::new(self, input, format)?;
        let mut out = Vec::new();
        let mut filled = 0;
        let mut length = input.len().saturating_mul(FIRST_GUESS).max(MIN);
        loop {
            length = length.min(max_len);
            let more = length.saturating_sub(out.len());
            out.try_reserve_exact(more)
                .map_err(|_| stream.error(ErrorKind::OutOfMemory))?;
            out.resize(length, 0);
            let space = out.get_mut(filled..).unwrap_or_default();
            let count = stream.read(space)?;
            let is_full = count == space.len();
            filled = filled.saturating_add(count);
            if !is_full || filled == max_len {
                break;
            }
            length = length.saturating_mul(2);
        }
        stream.finish()?;
        out.truncate(filled);
        Ok(out)
    }

    /// Decodes a whole stream into `out`, verifies its checksum, and returns the length of the output.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`inflate`]; `out` may then contain a part of the output.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap_inflate::{Format, Inflater};
    ///
    /// // One stored block.
    /// let stream = b"\x01\x05\x00\xfa\xffhello";
    /// let mut out = [0; 8];
    /// let length = Inflater::new().inflate_into(stream, Format::Raw, &mut out)?;
    /// assert_eq!(&out[..length], b"hello");
    /// # Ok::<(), meshmap_inflate::Error>(())
    /// ```
    pub fn inflate_into(
        &mut self,
        input: &[u8],
        format: Format,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let mut stream = Stream::new(self, input, format)?;
        let count = stream.read(out)?;
        stream.finish()?;
        Ok(count)
    }
}
