//! The reference decoder: miniz_oxide.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

use super::{Decoded, RawDecoder, Status};

/// miniz_oxide, with all of its output.
///
/// Its own interface for streams takes bytes before the start of a stream for zeros if a damaged stream refers to them; here
/// they are an error, as in every other decoder.
#[derive(Default)]
pub(crate) struct Reference {
    state: Box<DecompressorOxide>,
    output: Vec<u8>,
}

impl RawDecoder for Reference {
    fn reset(&mut self) {
        self.state.init();
        self.output.clear();
    }

    fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Decoded {
        let before = self.output.len();
        self.output.resize(before + out.len(), 0);
        let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, consumed, produced) =
            decompress(&mut self.state, input, &mut self.output, before, flags);
        self.output.truncate(before + produced);
        out[..produced].copy_from_slice(&self.output[before..]);
        let status = match status {
            TINFLStatus::Done => Status::Ended,
            TINFLStatus::HasMoreOutput
            | TINFLStatus::NeedsMoreInput
            | TINFLStatus::FailedCannotMakeProgress => Status::Continues,
            _ => Status::Damaged,
        };
        Decoded {
            consumed,
            produced,
            status,
        }
    }
}
