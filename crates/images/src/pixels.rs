//! The pixels of an image.

use std::fmt;

/// The pixels of an image: red, green, blue and alpha of 8 bits, as they are stored, in rows from above. Alpha is not multiplied
/// into the colours.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pixels {
    /// The number of pixels in a row.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
    /// Four bytes for each pixel.
    pub bytes: Vec<u8>,
}

impl Pixels {
    /// The pixel at a column from the left and a row from above. `None` outside of the image.
    #[must_use]
    pub fn texel(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        if x >= self.width {
            return None;
        }
        let index = y as usize * self.width as usize + x as usize;
        self.texels().get(index).copied()
    }

    /// All pixels, row after row.
    #[must_use]
    pub fn texels(&self) -> &[[u8; 4]] {
        self.bytes.as_chunks().0
    }
}

impl fmt::Debug for Pixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pixels({} x {})", self.width, self.height)
    }
}
