//! The memory of the decoder.

use std::fmt;

#[cfg(feature = "rayon")]
use super::ahead::Spare;
use super::decoder::Deflate;

/// The working memory of the decoder, about 90 KiB, reused from one stream to the next.
///
/// Decoding many short streams with one `Inflater` saves an allocation for each. Nothing of a stream is visible in the next.
#[derive(Default)]
pub struct Inflater {
    deflate: Option<Box<Deflate>>,
    #[cfg(feature = "rayon")]
    pub(super) spare: Spare,
}

impl Inflater {
    /// Creates an `Inflater`, which allocates when it is first used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[inline]
    pub(super) fn deflate(&mut self) -> &mut Deflate {
        self.deflate.get_or_insert_with(new_deflate)
    }

    /// The decoder, if it has been used.
    pub(super) fn used(&self) -> Option<&Deflate> {
        self.deflate.as_deref()
    }

    /// The decoder, and memory of helpers.
    #[cfg(feature = "rayon")]
    pub(super) fn parts(&mut self) -> (&mut Deflate, &mut Spare) {
        let deflate = self.deflate.get_or_insert_with(new_deflate);
        (deflate, &mut self.spare)
    }
}

fn new_deflate() -> Box<Deflate> {
    Box::new(Deflate::new())
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater").finish_non_exhaustive()
    }
}
