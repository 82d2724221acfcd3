//! One stream, decoded by several threads.
//!
//! A thread that helps searches for a place further on where a block may begin, and decodes from there. It does not know
//! the 32 KiB before: a copy of them is marked, and so is what is copied from it, until no marks are left. When the thread in
//! front comes to that very place, between two blocks, it puts the bytes in for the marks, and goes on where the part ends.
//! A part that begins anywhere else was none, and is dropped. So the bytes are those that one thread makes, and whatever is
//! wrong with the stream is found by the thread in front.

mod finder;
mod part;
mod queue;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::bits::Position;
use super::decoder::Deflate;
use super::history::FAR;
use super::problem::Problem;
use part::Part;
use queue::Queue;

pub(super) use queue::Spare;

/// Threads that help with a stream.
pub(super) struct Ahead {
    queue: Arc<Queue>,
    bytes: part::Bytes,
    /// Whether threads have been asked to help, which is done between two blocks.
    has_asked: bool,
    /// The part that is being copied, and how far it is.
    current: Option<(Part, (usize, usize))>,
}

/// What a stream needs for threads to help with it.
pub(crate) struct Help {
    input: bytes::Bytes,
    /// How much memory they may take, in bytes.
    most: u64,
    /// A part is not begun nearer than this to the one before it, in bytes of the input.
    nearest: usize,
}

impl Help {
    const NEAREST: usize = 256 << 10;
    /// The least input for which help pays, in bytes.
    pub(crate) const LEAST: usize = 2 * Self::NEAREST;

    /// Help with a stream of this whole input, by threads which may take so many bytes of memory.
    pub(crate) fn new(input: bytes::Bytes, most: u64) -> Self {
        Self { input, most, nearest: Self::NEAREST }
    }

    /// Help with parts that begin as near to one another as this.
    #[cfg(fuzzing)]
    pub(super) fn with_nearest(input: bytes::Bytes, nearest: usize) -> Self {
        Self { input, most: 64 << 20, nearest }
    }

    /// Whether it pays for what is left.
    pub(super) fn pays(&self, consumed: usize) -> bool {
        self.input.len().saturating_sub(consumed) >= self.nearest.saturating_mul(2)
    }
}

impl Ahead {
    pub(super) fn new(help: &Help, position: Position, spare: Spare) -> Self {
        let Help { input, most, nearest } = help;
        let queue = Queue::new(input.clone(), (*most, *nearest), position.byte, spare);
        Self { queue, bytes: part::Bytes::new(), has_asked: false, current: None }
    }

    /// Ends the work of other threads, and returns their memory.
    pub(super) fn close(&mut self) -> Spare {
        if let Some((part, _)) = self.current.take() {
            self.queue.recycle(part);
        }
        self.queue.close()
    }

    /// Ends the work of other threads. What is left of the part that is being copied is to be decoded once more.
    pub(super) fn give_up(&mut self, deflate: &mut Deflate, input: &[u8]) {
        drop(self.queue.close());
        let Some((part, done)) = self.current.take() else { return };
        let mut left = part.length_before(done);
        let start = part.start;
        drop(part);
        deflate.reset(start);
        deflate.leave(self.bytes.before());
        let mut again = vec![0; left.min(FAR)];
        while left > 0 {
            let (mut at, until) = (0, left.min(again.len()));
            let out = again.get_mut(..until).unwrap_or_default();
            // Another thread has decoded it without a fault.
            if deflate.run(input, out, &mut at, until, Position::NEVER).is_err() || at == 0 {
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
                let room = out.get_mut(*at..until).unwrap_or_default();
                *at = at.saturating_add(part.copy(&self.bytes, &mut done, room));
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
                self.has_asked = true;
            }
            let stop = if self.has_asked { self.queue.stop() } else { Position::default() };
            deflate.run(input, out, at, until, stop)?;
        }
        Ok(())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.close();
    }
}
