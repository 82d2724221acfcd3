//! Pictures, and files of them.

use std::io::{self, Write};
use std::ops::Range;

use meshmap_job::{Error, Result};
use png::{BitDepth, ColorType, Compression, Encoder, SrgbRenderingIntent, Writer};

use crate::background::Background;
use crate::camera::Frame;

/// A picture: rows from above, of pixels from the left, of red, green and blue in sRGB, and of opacity if the background is transparent.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    frame: Frame,
    channels: usize,
    bytes: Vec<u8>,
}

impl Picture {
    /// A picture of one background.
    pub(crate) fn plain(frame: Frame, background: Background) -> Self {
        let mut picture = Self {
            frame,
            channels: background.channels(),
            bytes: vec![0; frame.pixels() * background.channels()],
        };
        picture.clear(background);
        picture
    }

    /// Fills it with its background, which has as many channels as before.
    pub(crate) fn clear(&mut self, background: Background) {
        match background {
            Background::Color(color) => {
                for pixel in self.bytes.chunks_exact_mut(self.channels) {
                    pixel.copy_from_slice(&color);
                }
            }
            Background::Transparent => self.bytes.fill(0),
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

    /// The number of bytes of a pixel: three, or four if the background is transparent.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The bytes of all pixels. Colours are not multiplied by their opacity.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of some rows, to be drawn.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The colour of a pixel; `None` outside of the picture.
    #[must_use]
    pub fn pixel(&self, column: u32, row: u32) -> Option<[u8; 3]> {
        let [red, green, blue, _] = self.get(column, row)?;
        Some([red, green, blue])
    }

    /// The opacity of a pixel, 255 if the picture has none; `None` outside of the picture.
    #[must_use]
    pub fn opacity(&self, column: u32, row: u32) -> Option<u8> {
        let [.., opacity] = self.get(column, row)?;
        Some(opacity)
    }

    fn place(&self, column: u32, row: u32) -> Option<Range<usize>> {
        let index = row as usize * self.frame.width as usize + column as usize;
        let is_inside = column < self.frame.width && row < self.frame.height;
        let first = index * self.channels;
        is_inside.then_some(first..first + self.channels)
    }

    /// A pixel with its opacity.
    fn get(&self, column: u32, row: u32) -> Option<[u8; 4]> {
        match *self.bytes.get(self.place(column, row)?)? {
            [red, green, blue] => Some([red, green, blue, u8::MAX]),
            [red, green, blue, opacity] => Some([red, green, blue, opacity]),
            _ => None,
        }
    }

    /// Sets a pixel, if it is inside the picture.
    pub(crate) fn set(&mut self, column: u32, row: u32, color: [u8; 4]) {
        let place = self.place(column, row);
        if let Some(pixel) = place.and_then(|place| self.bytes.get_mut(place)) {
            let color = color.get(..pixel.len()).unwrap_or_default();
            pixel.copy_from_slice(color);
        }
    }

    /// Mixes a share of a colour, from 0 to 1, into a pixel, if it is inside the picture.
    pub(crate) fn blend(&mut self, column: u32, row: u32, color: [u8; 3], share: f32) {
        let Some([red, green, blue, opacity]) = self.get(column, row) else {
            return;
        };
        let below = f32::from(opacity) / 255.0 * (1.0 - share);
        let whole = share + below;
        if whole <= 0.0 {
            return;
        }
        // Saturates.
        let mixed = |from: u8, to: u8| {
            ((f32::from(from) * below + f32::from(to) * share) / whole + 0.5) as u8
        };
        let color = [
            mixed(red, color[0]),
            mixed(green, color[1]),
            mixed(blue, color[2]),
            (whole * 255.0 + 0.5) as u8,
        ];
        self.set(column, row, color);
    }

    /// Copies another picture into this one, as far as it lies inside.
    pub(crate) fn paste(&mut self, other: &Self, column: u32, row: u32) {
        for y in 0..other.height() {
            for x in 0..other.width() {
                if let Some(pixel) = other.get(x, y) {
                    self.set(column + x, row + y, pixel);
                }
            }
        }
    }

    /// Writes it as PNG.
    ///
    /// # Errors
    ///
    /// [`Write`](Error::Write) where that fails.
    pub fn write_png(&self, out: impl Write) -> Result<()> {
        let mut writer = header(out, self.frame, self.channels, None)?;
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
    channels: usize,
    animation: Option<Animation>,
) -> Result<Writer<W>> {
    let mut encoder = Encoder::new(out, frame.width, frame.height);
    encoder.set_color(match channels {
        4 => ColorType::Rgba,
        _ => ColorType::Rgb,
    });
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
