//! The output before the slice that is being filled.

/// The greatest distance of a match.
pub(super) const FAR: usize = 32 << 10;

/// The last [`FAR`] bytes of the output that lie before the slice that is being filled, or all of them.
///
/// Callers read a stream into slices that need not lie side by side.
#[derive(Default)]
pub(super) struct History {
    /// Space for twice as much, so that short pieces are seldom moved.
    bytes: Vec<u8>,
    filled: usize,
}

impl History {
    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.filled).unwrap_or_default()
    }

    /// Returns `true` if a match at this place of the slice lies in the stream.
    pub(super) fn reaches(&self, at: usize, distance: usize) -> bool {
        distance <= at.saturating_add(self.filled)
    }

    /// Returns the last `count` bytes, or fewer if there are not that many.
    #[cfg(feature = "rayon")]
    pub(super) fn last(&self, count: usize) -> &[u8] {
        let bytes = self.bytes();
        bytes
            .get(bytes.len().saturating_sub(count)..)
            .unwrap_or_default()
    }

    /// Keeps the needed part of the bytes that follow the existing ones.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.bytes.resize(FAR.saturating_mul(2), 0);
        let bytes = bytes
            .get(bytes.len().saturating_sub(FAR)..)
            .unwrap_or_default();
        if self.filled.saturating_add(bytes.len()) > self.bytes.len() {
            let kept = FAR.saturating_sub(bytes.len());
            self.bytes
                .copy_within(self.filled.saturating_sub(kept)..self.filled, 0);
            self.filled = kept;
        }
        let end = self.filled.saturating_add(bytes.len());
        if let Some(space) = self.bytes.get_mut(self.filled..end) {
            space.copy_from_slice(bytes);
            self.filled = end;
        }
    }

    /// Copies the part of a match that fits into `out` to `at`, if the match begins before `out`. Returns `None` if it begins
    /// before the whole stream.
    #[cold]
    #[inline(never)]
    pub(super) fn repeat(
        &self,
        out: &mut [u8],
        at: usize,
        distance: usize,
        length: usize,
    ) -> Option<()> {
        let before = distance.checked_sub(at)?;
        let start = self.filled.checked_sub(before)?;
        let old = self
            .bytes()
            .get(start..)
            .unwrap_or_default()
            .iter()
            .copied();
        let length = length.min(out.len().saturating_sub(at));
        for (offset, byte) in (0..length).zip(old.map(Some).chain(std::iter::repeat(None))) {
            let to = at.saturating_add(offset);
            // After the history, the match goes on with the slice itself.
            let byte = byte.or_else(|| out.get(to.checked_sub(distance)?).copied())?;
            *out.get_mut(to)? = byte;
        }
        Some(())
    }
}
