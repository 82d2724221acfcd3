//! The reference decoder of deflate, miniz_oxide.

use meshmap_inflate::{Decoded, RawDecoder, Status};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// miniz_oxide, with what it needs of the content before.
///
/// Its own interface for streams takes what lies before the beginning of a stream for zeros, where a damaged stream
/// refers to it; here it is an error, as in every other decoder.
pub(super) struct Miniz {
    state: DecompressorOxide,
    /// The last [`FAR`](Self::FAR) bytes that came out, or all of them, and free space.
    window: Box<[u8]>,
    /// The number of bytes of the window that are filled.
    filled: usize,
}

impl Default for Miniz {
    fn default() -> Self {
        let window = vec![0; Self::FAR.saturating_mul(3)].into_boxed_slice();
        Self {
            state: DecompressorOxide::new(),
            window,
            filled: 0,
        }
    }
}

impl Miniz {
    /// The greatest distance of a match.
    const FAR: usize = 32 << 10;
}

impl RawDecoder for Miniz {
    fn reset(&mut self) {
        self.state.init();
        self.filled = 0;
    }

    fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Decoded {
        if cfg!(meshmap_small) {
            // Never called there: what follows is left out.
            return Decoded {
                consumed: 0,
                produced: 0,
                status: Status::Damaged,
            };
        }
        if self.filled > Self::FAR.saturating_mul(2) {
            self.window
                .copy_within(self.filled.saturating_sub(Self::FAR)..self.filled, 0);
            self.filled = Self::FAR;
        }
        let end = self.filled.saturating_add(out.len()).min(self.window.len());
        let window = self.window.get_mut(..end).unwrap_or_default();
        let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, consumed, produced) =
            decompress(&mut self.state, input, window, self.filled, flags);
        let status = match status {
            TINFLStatus::Done => Status::Ended,
            TINFLStatus::HasMoreOutput
            | TINFLStatus::NeedsMoreInput
            | TINFLStatus::FailedCannotMakeProgress => Status::Continues,
            _ => Status::Damaged,
        };
        let new = self
            .window
            .get(self.filled..self.filled.saturating_add(produced))
            .unwrap_or_default();
        if let Some(out) = out.get_mut(..new.len()) {
            out.copy_from_slice(new);
        }
        self.filled = self.filled.saturating_add(produced);
        Decoded {
            consumed,
            produced,
            status,
        }
    }
}
