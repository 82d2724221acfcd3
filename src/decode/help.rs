use bytes::Bytes;

use super::content::Content;
use crate::limits::Budget;
use crate::options::Options;

/// Memory for threads that help with one stream, which is spent as long as this is there.
pub(crate) struct Help<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl<'a> Help<'a> {
    /// Lets other threads help with a stream, whose bytes these are, where the options allow it and it may pay.
    #[cfg(feature = "rayon")]
    pub(crate) fn with(
        content: &mut Content<'_>,
        input: &Bytes,
        options: &Options,
        budget: &'a Budget,
    ) -> Self {
        use meshmap_inflate::Helpers;

        use crate::num::as_u64;
        use crate::options::Parallelism;

        /// They take no more than this, than half of what may still be taken, and than this many bytes for each of the stream.
        const MOST: u64 = 256 << 20;
        const RATIO: u64 = 64;
        let is_wanted = options.parallelism == Parallelism::Rayon && input.len() >= Helpers::MIN_INPUT;
        let most = MOST.min(budget.left() / 2).min(as_u64(input.len()).saturating_mul(RATIO));
        if !is_wanted || !budget.try_spend(most) {
            return Self { budget, bytes: 0 };
        }
        if let Some(stream) = content.stream() {
            stream.set_helpers(Helpers::new(input.clone(), most));
        }
        Self { budget, bytes: most }
    }

    #[cfg(not(feature = "rayon"))]
    pub(crate) fn with(_: &mut Content<'_>, _: &Bytes, _: &Options, budget: &'a Budget) -> Self {
        Self { budget, bytes: 0 }
    }

    /// Releases the memory, if there is any, because it is needed for something else; returns `true` if there was.
    pub(crate) fn end(&mut self, content: &mut Content<'_>) -> bool {
        #[cfg(feature = "rayon")]
        if let Some(stream) = content.stream() {
            stream.remove_helpers();
        }
        #[cfg(not(feature = "rayon"))]
        let _ = content;
        let bytes = std::mem::take(&mut self.bytes);
        self.budget.give_back(bytes);
        bytes > 0
    }
}

impl Drop for Help<'_> {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}
