//! Other decoders of raw deflate.

/// A decoder of raw deflate streams that a [`Stream`](crate::Stream) uses in place of this crate's own.
///
/// Headers, checksums, members and limits are then handled by the same code, so that two decoders can be compared with each
/// other on any [`Format`](crate::Format). See [`Stream::with_decoder`](crate::Stream::with_decoder).
pub trait RawDecoder: Send {
    /// Prepares for the first byte of another stream.
    fn reset(&mut self);

    /// Decodes until `out` is full, `input` is used up, or the stream ends.
    ///
    /// `input` is the whole rest of the input, from after the bytes that earlier calls have consumed. `out` need not lie next
    /// to the slice of the call before.
    fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Decoded;
}

/// The result of one call of [`RawDecoder::decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The number of bytes of the input that were used.
    pub consumed: usize,
    /// The number of bytes that were written.
    pub produced: usize,
    /// The state of the stream after them.
    pub status: Status,
}

/// The state of a stream between two calls of [`RawDecoder::decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The input is used up, or the output is full.
    Continues,
    /// The stream has ended.
    Ended,
    /// The stream is invalid.
    Damaged,
}
