//! Pictures, and files of them.

use std::io::{self, Write};

use meshmap_job::{Error, Result};
use png::{BitDepth, ColorType, Compression, Encoder, SrgbRenderingIntent, Writer};

use crate::camera::Frame;

/// A picture: rows from above, of pixels from the left, of red, green and blue in sRGB.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    frame: Frame,
    bytes: Vec<u8>,
}

impl Picture {
    pub(crate) fn new(frame: Frame, bytes: Vec<u8>) -> Self {
        Self { frame, bytes }
    }

    /// One of one colour.
    pub(crate) fn plain(frame: Frame, color: [u8; 3]) -> Self {
        Self {
            frame,
            bytes: color.repeat(frame.pixels()),
        }
    }

    /// Its width in pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.frame.width
    }

    /// Its height in pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.frame.height
    }

    pub(crate) fn frame(&self) -> Frame {
        self.frame
    }

    /// Three bytes for each pixel.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A pixel; `None` outside of the picture.
    #[must_use]
    pub fn pixel(&self, column: u32, row: u32) -> Option<[u8; 3]> {
        let index = row as usize * self.frame.width as usize + column as usize;
        self.bytes
            .as_chunks::<3>()
            .0
            .get(index)
            .copied()
            .filter(|_| column < self.frame.width)
    }

    /// Sets a pixel, if it is inside the picture.
    pub(crate) fn set(&mut self, column: u32, row: u32, color: [u8; 3]) {
        let index = row as usize * self.frame.width as usize + column as usize;
        if column < self.frame.width
            && let Some(pixel) = self.bytes.as_chunks_mut::<3>().0.get_mut(index)
        {
            *pixel = color;
        }
    }

    /// Mixes a share of a colour, from 0 to 1, into a pixel, if it is inside the picture.
    pub(crate) fn blend(&mut self, column: u32, row: u32, color: [u8; 3], share: f32) {
        if let Some(ground) = self.pixel(column, row) {
            let mixed = |channel: usize| {
                let (from, to) = (f32::from(ground[channel]), f32::from(color[channel]));
                // Saturates.
                (from + (to - from) * share + 0.5) as u8
            };
            self.set(column, row, std::array::from_fn(mixed));
        }
    }

    /// Copies another picture into this one, as far as it lies inside.
    pub(crate) fn paste(&mut self, other: &Self, column: u32, row: u32) {
        for (y, line) in (0..other.height()).zip(
            other
                .bytes
                .chunks_exact((other.frame.width as usize * 3).max(1)),
        ) {
            for (x, pixel) in (0..).zip(line.as_chunks::<3>().0) {
                self.set(column + x, row + y, *pixel);
            }
        }
    }

    /// Writes it as PNG.
    ///
    /// # Errors
    ///
    /// [`Write`](Error::Write) where that fails.
    pub fn write_png(&self, out: impl Write) -> Result<()> {
        let mut writer = header(out, self.frame, None)?;
        writer.write_image_data(&self.bytes).map_err(written)?;
        writer.finish().map_err(written)
    }
}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picture({} x {})", self.frame.width, self.frame.height)
    }
}

/// The number of pictures of an animation, and the duration of each, as a fraction of a second.
pub(crate) type Animation = (u32, [u16; 2]);

/// The beginning of a PNG, or of an APNG that repeats for ever.
pub(crate) fn header<W: Write>(
    out: W,
    frame: Frame,
    animation: Option<Animation>,
) -> Result<Writer<W>> {
    let mut encoder = Encoder::new(out, frame.width, frame.height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_source_srgb(SrgbRenderingIntent::Perceptual);
    // One implementation, for any features of the program: the same pixels give the same bytes.
    encoder.set_compression(Compression::Fast);
    if let Some((count, [numerator, denominator])) = animation {
        encoder.set_animated(count, 0).map_err(written)?;
        encoder
            .set_frame_delay(numerator, denominator)
            .map_err(written)?;
    }
    encoder.write_header().map_err(written)
}

/// An error of writing.
pub(crate) fn written(error: png::EncodingError) -> Error {
    match error {
        png::EncodingError::IoError(error) => error.into(),
        other => Error::Write(io::Error::other(other)),
    }
}
