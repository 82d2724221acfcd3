//! The chunks of a WebP, read before its decoder allocates anything.

use std::io::{self, BufRead, Seek};

use crate::error::DecodeError;

/// The chunks of a WebP that have pixels.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunks {
    /// The size of the lossy frame, which the decoder compares with the size of the image after it has allocated the frame.
    pub(crate) frame: Option<[u32; 2]>,
    /// The number of bytes that are compressed without loss.
    pub(crate) lossless_bytes: u64,
}

impl Chunks {
    pub(crate) fn read(mut file: impl BufRead + Seek) -> Result<Self, DecodeError> {
        let mut chunks = Self::default();
        // After the head of the file.
        file.seek_relative(12)?;
        while let Some(head) = head_of_chunk(&mut file)? {
            let [a, b, c, d, length @ ..] = head;
            let length = u32::from_le_bytes(length);
            let mut left = i64::from(length) + i64::from(length % 2);
            match &[a, b, c, d] {
                b"VP8 " => {
                    let mut frame = [0; 10];
                    file.read_exact(&mut frame)?;
                    left -= frame.len() as i64;
                    let [.., w0, w1, h0, h1] = frame;
                    let width = u16::from_le_bytes([w0, w1]) & 0x3FFF;
                    let height = u16::from_le_bytes([h0, h1]) & 0x3FFF;
                    if chunks.frame.is_some() {
                        return Err(DecodeError::damaged("a WebP of several frames"));
                    }
                    chunks.frame = Some([width.into(), height.into()]);
                }
                b"VP8L" | b"ALPH" => chunks.lossless_bytes += u64::from(length),
                b"ANIM" | b"ANMF" => {
                    let what = "an animated WebP".to_owned();
                    return Err(DecodeError::Unsupported(what));
                }
                _ => {}
            }
            file.seek_relative(left)?;
        }
        Ok(chunks)
    }
}

/// The name and length of the next chunk. `None` at the end of the file.
fn head_of_chunk(file: &mut impl BufRead) -> io::Result<Option<[u8; 8]>> {
    let mut head = [0; 8];
    match file.read_exact(&mut head) {
        Ok(()) => Ok(Some(head)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
