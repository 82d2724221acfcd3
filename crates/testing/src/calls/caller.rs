//! The treatment of calls and of their results.

use meshmap::Result;

use super::look::Look;

/// The treatment of calls and of their results.
pub trait Caller {
    /// Makes a call. Returns nothing where it failed, or was not made.
    fn call<T: Look>(&mut self, name: &str, job: impl FnOnce() -> Result<T>) -> Option<T>;

    /// Makes a call for each of these. A caller may also take them together.
    fn each<I, T: Look>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = I>,
        mut job: impl FnMut(I) -> Result<T>,
    ) {
        for item in items.into_iter().take(self.most()) {
            self.call(name, || job(item));
        }
    }

    /// The most items of a kind that calls are made for.
    fn most(&self) -> usize {
        usize::MAX
    }

    /// `true` if values are inspected.
    fn looks(&self) -> bool {
        false
    }

    /// The number of times that all calls are made on an open file.
    fn rounds(&self) -> usize {
        1
    }

    /// Told before the calls are made again.
    fn begin_round(&mut self, _round: usize) {}

    /// Told while everything that was decoded is given back, and only the file is still held.
    fn held(&mut self, _what: &str) {}
}

/// Lookups by name, and other calls of which each takes time in proportion to all items, are made for as many.
pub(super) const FEW: usize = 64;

/// The first ones and the last one.
pub(super) fn few(count: usize) -> impl Iterator<Item = usize> {
    (0..count.min(FEW)).chain((count > FEW).then(|| count - 1))
}
