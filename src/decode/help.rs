use bytes::Bytes;

use super::content::Content;
use crate::limits::{Charge, Meter};
use crate::options::Options;

/// Memory for threads that help with one stream, which is charged as long as this is there.
pub(crate) struct Help<'a>(Option<Charge<'a>>);

impl<'a> Help<'a> {
    /// Lets other threads help with a stream, whose bytes these are, where the options allow it and it may pay.
    #[cfg(feature = "rayon")]
    pub(crate) fn with(
        content: &mut Content<'_>,
        input: &Bytes,
        options: &Options,
        meter: &'a Meter<'a>,
    ) -> Self {
        use meshmap_inflate::Helpers;

        use crate::num::as_u64;
        use crate::options::Parallelism;

        /// They take no more than this, than half of what may still be taken, and than this many bytes for each of the stream.
        const MOST: u64 = 256 << 20;
        const RATIO: u64 = 64;
        let most = MOST
            .min(meter.left() / 2)
            .min(as_u64(input.len()).saturating_mul(RATIO));
        let is_wanted =
            options.parallelism == Parallelism::Rayon && input.len() >= Helpers::MIN_INPUT;
        let charge = if is_wanted {
            meter.take(most, "threads that help").ok()
        } else {
            None
        };
        if let (Some(_), Some(stream)) = (&charge, content.stream()) {
            stream.set_helpers(Helpers::new(input.clone(), most));
        }
        Self(charge)
    }

    #[cfg(not(feature = "rayon"))]
    pub(crate) fn with(_: &mut Content<'_>, _: &Bytes, _: &Options, _: &'a Meter<'a>) -> Self {
        Self(None)
    }

    /// Releases the memory, if there is any, because it is needed for something else; returns `true` if there was.
    pub(crate) fn end(&mut self, content: &mut Content<'_>) -> bool {
        #[cfg(feature = "rayon")]
        if let Some(stream) = content.stream() {
            stream.remove_helpers();
        }
        #[cfg(not(feature = "rayon"))]
        let _ = content;
        self.0.take().is_some()
    }
}
