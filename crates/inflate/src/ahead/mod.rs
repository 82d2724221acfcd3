//! One stream, decoded by several threads.
//!
//! A thread that helps searches for a place further on where a block may begin, and decodes from there. It does not know
//! the 32 KiB before: a copy of them is marked, and so is what is copied from it, until no marks are left. When the thread in
//! front comes to that very place, between two blocks, it puts the bytes in for the marks, and goes on where the part ends.
//! A part that begins anywhere else was not one, and is dropped. So the bytes are the same as one thread makes, and whatever is
//! wrong with the stream is found by the thread in front.

mod credit;
mod finder;
mod part;
mod queue;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::bits::Position;
use super::decoder::Deflate;
use super::error::Problem;
use super::history::FAR;
use credit::Credit;
use part::DecodedPart;
use queue::{Queue, Shared};

pub(super) use queue::Spare;

/// Threads that help with a stream.
pub(super) struct Ahead {
    queue: Arc<Queue>,
    bytes: part::Bytes,
    /// The part that is being copied, and how far it is.
    current: Option<(DecodedPart, (usize, usize))>,
}

/// Helper threads for one [`Stream`](crate::Stream): idle threads of the current rayon pool decode later parts of it.
///
/// Helpers pay if the input has at least [`MIN_INPUT`](Self::MIN_INPUT) bytes, the pool has idle threads, and the slices
/// given to [`read`](crate::Stream::read) are large. Otherwise the stream is decoded without them. The output and all errors
/// are the same as without helpers. No thread is ever waited for that has not started to help.
///
/// Bytes can be made such that helpers work in vain. They are not used any more when that has taken three tenths of the
/// processor time that the stream needed.
pub struct Helpers {
    input: Shared,
    /// The memory that they may allocate, in bytes.
    most: u64,
    /// A part is not begun nearer than this to the one before it, in bytes of the input.
    nearest: usize,
    /// The credit that is left from the members so far.
    credit: Credit,
}

impl Helpers {
    const NEAREST: usize = 256 << 10;
    /// The minimum length of an input for which helpers are used, in bytes.
    pub const MIN_INPUT: usize = 2 * Self::NEAREST;

    /// Helpers for the stream in `input`, which allocate at most `max_memory` bytes together.
    ///
    /// `input` must be a shared handle to the same bytes that the stream was made from, such as a clone of the
    /// `Arc<[u8]>` or `bytes::Bytes` that it borrows: helpers may run until the [`Stream`](crate::Stream) is dropped, so they
    /// cannot borrow.
    pub fn new(input: impl AsRef<[u8]> + Send + Sync + 'static, max_memory: u64) -> Self {
        Self {
            input: Arc::new(input),
            most: max_memory,
            nearest: Self::NEAREST,
            credit: Credit::default(),
        }
    }

    /// Helpers whose parts may begin as near to one another as `nearest` bytes of the input, and which need no credit.
    #[cfg(any(test, fuzzing))]
    #[doc(hidden)]
    #[must_use]
    pub fn with_nearest(self, nearest: usize) -> Self {
        Self {
            nearest,
            credit: Credit::unlimited(),
            ..self
        }
    }

    /// Returns `true` if these are helpers for this very slice.
    pub(super) fn are_for(&self, input: &[u8]) -> bool {
        std::ptr::eq((*self.input).as_ref(), input)
    }

    /// Returns `true` if they pay for the rest of the input, of a deflate stream that begins at `start`.
    pub(super) fn pay(&self, start: usize, consumed: usize) -> bool {
        let left = (*self.input).as_ref().len().saturating_sub(consumed);
        let is_long = consumed.saturating_sub(start) >= self.nearest / 4;
        is_long && left >= self.nearest.saturating_mul(2) && rayon::current_num_threads() > 1
    }
}

impl fmt::Debug for Helpers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helpers")
            .field("max_memory", &self.most)
            .finish_non_exhaustive()
    }
}

impl Ahead {
    pub(super) fn new(helpers: &Helpers, position: Position, spare: Spare) -> Self {
        let Helpers {
            input,
            most,
            nearest,
            credit,
        } = helpers;
        let queue = Queue::new(
            Arc::clone(input),
            (*most, *nearest),
            position.byte,
            spare,
            *credit,
        );
        Self {
            queue,
            bytes: part::Bytes::new(),
            current: None,
        }
    }

    /// Ends the work of other threads, and returns their memory. The helpers keep their credit for the next member.
    pub(super) fn close(&mut self, helpers: Option<&mut Helpers>) -> Spare {
        if let Some((part, _)) = self.current.take() {
            self.queue.recycle(part);
        }
        let (spare, credit) = self.queue.close();
        if let Some(helpers) = helpers {
            helpers.credit = credit;
        }
        spare
    }

    /// Ends the work of other threads. What is left of the part that is being copied is to be decoded once more.
    pub(super) fn give_up(&mut self, deflate: &mut Deflate, input: &[u8]) {
        drop(self.queue.close());
        let Some((part, done)) = self.current.take() else {
            return;
        };
        let mut left = part.length_before(done);
        let start = part.start;
        drop(part);
        deflate.reset(start);
        deflate.leave(self.bytes.before());
        let mut again = vec![0; left.min(FAR)];
        while left > 0 {
            let mut at = 0;
            let until = left.min(again.len());
            let out = again.get_mut(..until).unwrap_or_default();
            // Another thread has decoded it without a fault.
            if deflate
                .run(input, out, &mut at, until, Position::NEVER)
                .is_err()
                || at == 0
            {
                return;
            }
            deflate.leave(out);
            left = left.saturating_sub(at);
        }
    }

    /// Fills `out` as [`Deflate::run`] does. No part is begun at `end` of the input or after it.
    pub(super) fn run(
        &mut self,
        deflate: &mut Deflate,
        out: &mut [u8],
        at: &mut usize,
        (until, end): (usize, usize),
        input: &[u8],
    ) -> Result<(), Problem> {
        let until = until.min(out.len());
        while *at < until && !deflate.has_ended() {
            if let Some((part, mut done)) = self.current.take() {
                let space = out.get_mut(*at..until).unwrap_or_default();
                *at = at.saturating_add(part.copy(&self.bytes, &mut done, space));
                if done.0 < part.pieces() {
                    self.current = Some((part, done));
                } else {
                    deflate.go_on(part.end, part.has_ended);
                    self.queue.recycle(part);
                }
                continue;
            }
            if deflate.is_between_blocks() {
                let part = self.queue.part(deflate.position());
                let before = out.get(..*at).unwrap_or_default();
                match part {
                    Some(part) if self.bytes.set(deflate.history(), before) => {
                        self.current = Some((part, (0, 0)));
                        #[cfg(test)]
                        tests::PARTS.set(tests::PARTS.get().saturating_add(1));
                        self.queue.ask(deflate.position().byte, end);
                        continue;
                    }
                    Some(part) => self.queue.recycle(part),
                    None => {}
                }
                self.queue.ask(deflate.position().byte, end);
            }
            let from = deflate.position().byte;
            let begun = Instant::now();
            let result = deflate.run(input, out, at, until, self.queue.stop(from));
            self.queue.decoded(
                deflate.position().byte.saturating_sub(from),
                begun.elapsed(),
            );
            result?;
        }
        Ok(())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.close(None);
    }
}
