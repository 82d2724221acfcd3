//! Images as PNG.

use std::io::{self, Write};

use png::{BitDepth, ColorType, Compression, Encoder, SrgbRenderingIntent};

use crate::alpha::Alpha;
use crate::pixels::Pixels;

/// The maximum length of a chunk of pixels.
const CHUNK: usize = 64 << 10;

/// The maximum number of bytes that a PNG of these pixels has, and that writing it takes.
pub(crate) fn most_bytes(width: u32, height: u32) -> u64 {
    let width = u64::from(width);
    let height = u64::from(height);
    let row = width.saturating_mul(4).saturating_add(1);
    let rows = row.saturating_mul(height);
    // A code of the fast compression has at most 12 bits for a byte. Some rows and a chunk are in use meanwhile.
    rows.saturating_add(rows / 2)
        .saturating_add(rows / 1024)
        .saturating_add(row.saturating_mul(8))
        .saturating_add(4 * CHUNK as u64)
}

/// The pixels as PNG: in red, green and blue, and with alpha unless it has no use.
pub(crate) fn png_of(pixels: &Pixels, alpha: Alpha) -> io::Result<Vec<u8>> {
    // The length is counted before, so that no more memory is allocated than the result has.
    let mut counter = Counter { length: 0 };
    write(pixels, alpha, &mut counter)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(counter.length)?;
    write(pixels, alpha, &mut bytes)?;
    Ok(bytes)
}

fn write(pixels: &Pixels, alpha: Alpha, out: &mut impl Write) -> io::Result<()> {
    let mut encoder = Encoder::new(out, pixels.width, pixels.height);
    encoder.set_color(match alpha {
        Alpha::Opaque => ColorType::Rgb,
        Alpha::Mask | Alpha::Blend => ColorType::Rgba,
    });
    encoder.set_depth(BitDepth::Eight);
    encoder.set_source_srgb(SrgbRenderingIntent::Perceptual);
    // One implementation, for any features of the program: the same pixels give the same bytes.
    encoder.set_compression(Compression::Fast);
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer_with_size(CHUNK)?;
    let mut row = Vec::new();
    for texels in pixels.texels().chunks(pixels.width.max(1) as usize) {
        row.clear();
        for [red, green, blue, opacity] in texels {
            row.extend([red, green, blue]);
            if alpha != Alpha::Opaque {
                row.push(*opacity);
            }
        }
        stream.write_all(&row)?;
    }
    stream.finish()?;
    Ok(writer.finish()?)
}

/// Counts what is written.
struct Counter {
    length: usize,
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
