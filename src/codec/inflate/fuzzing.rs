//! What fuzz targets need, which see no more than any user otherwise.

use super::{Inflate, Inflater};
use crate::codec::{Codec, Decoder};

/// Inflates a deflate stream into pieces of these lengths, over and over, each in memory of its own, up to `most` bytes and
/// a piece. Returns what came out, whether there was an error, and where the stream ended, if that was reached. Other
/// threads help, where `nearest` says how near to one another parts may begin.
pub fn in_pieces(
    stream: &bytes::Bytes,
    decoder: Decoder,
    pieces: &[usize],
    most: usize,
    nearest: Option<usize>,
) -> (Vec<u8>, bool, Option<usize>) {
    let mut inflater = Inflater::default();
    let mut content = Vec::new();
    let Ok(mut inflate) = Inflate::new(&mut inflater, stream, Codec::Deflate, decoder, None) else {
        return (content, true, None);
    };
    #[cfg(feature = "rayon")]
    if let Some(nearest) = nearest {
        inflate.with_help(super::Help::with_nearest(stream.clone(), nearest));
    }
    #[cfg(not(feature = "rayon"))]
    let _ = nearest;
    for piece in pieces.iter().cycle() {
        let mut out = vec![0x55; *piece];
        let result = inflate.read(&mut out);
        let length = crate::num::as_usize(inflate.produced()).saturating_sub(content.len());
        content.extend_from_slice(out.get(..length).unwrap_or_default());
        match result {
            Err(_) => return (content, true, None),
            Ok(count) if count < out.len() => return (content, false, Some(inflate.consumed())),
            Ok(_) if content.len() > most => break,
            Ok(_) => {}
        }
    }
    (content, false, None)
}
