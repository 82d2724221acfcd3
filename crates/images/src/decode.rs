//! The decoders, and the memory that they need.

use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dds::header::ParseOptions;
use dds::{Channels, ColorFormat, ImageViewMut};
use image::codecs::{bmp, jpeg, png, tga, webp};
use image::{ColorType, DynamicImage, ImageDecoder, Limits};
use meshmap_outputs::{Stamp, open_without_links};

use crate::encode;
use crate::error::DecodeError;
use crate::found::Found;
use crate::jpeg::Frame;
use crate::kind::Kind;
use crate::pixels::Pixels;
use crate::webp::Chunks;

/// The facts that the head of an image shows.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// `false` if every pixel is opaque.
    pub(crate) has_alpha: bool,
    /// The maximum number of bytes that are live while the image is decoded, including the result.
    pub(crate) needed_bytes: u64,
    /// The same while it becomes a PNG.
    pub(crate) needed_by_png: u64,
}

/// Memory of any decoder: tables, and buffers of constant size.
const TABLES: u64 = 1 << 20;

/// The maximum number of bytes of a PNG before its pixels, such as of its colour profile.
const MOST_CHUNKS: u64 = 16 << 20;

/// The size of a part of a lossy WebP has 24 bits, and memory for it is allocated before it is read.
const PART_OF_WEBP: u64 = 16 << 20;

/// The tables of a lossless WebP have 4 KiB for each code, of which there may be 327,680. The smallest such code has ten bytes in
/// the file.
const TABLE_BYTES_PER_BYTE: u64 = 440;
const MOST_TABLES: u64 = 65_536 * 5 * (4096 + 256);

impl Head {
    /// Reads the head of an image.
    pub(crate) fn read(found: &Found) -> Result<Self, DecodeError> {
        caught(|| match found.kind {
            Kind::Jpeg => head_of_jpeg(found),
            Kind::Dds => head_of_dds(found),
            Kind::Png | Kind::Webp | Kind::Tga | Kind::Bmp => head_of_others(found),
        })
    }

    /// `decoder_bytes`: the memory of the decoder, without the memory of the result.
    fn new(size: [u32; 2], has_alpha: bool, decoder_bytes: u64) -> Result<Self, DecodeError> {
        let [width, height] = size;
        let pixels = pixels(size);
        if pixels == 0 {
            return Err(DecodeError::damaged("an image without pixels"));
        }
        let needed_with = |extra: u64| {
            let bytes = pixels.saturating_mul(4).saturating_add(extra);
            bytes.saturating_add(TABLES)
        };
        let encoder_bytes = encode::most_bytes(width, height);
        Ok(Self {
            width,
            height,
            has_alpha,
            needed_bytes: needed_with(decoder_bytes),
            needed_by_png: needed_with(decoder_bytes.max(encoder_bytes)),
        })
    }
}

/// The pixels of an image, for which there is enough memory.
pub(crate) fn pixels_of(found: &Found, head: &Head) -> Result<Pixels, DecodeError> {
    caught(|| match found.kind {
        Kind::Dds => pixels_of_dds(found, head),
        _ => pixels_of_others(found, head),
    })
}

/// Turns a panic of a decoder into an error. None is known: the decoders are large, and their inputs are from strangers.
fn caught<T>(job: impl FnOnce() -> Result<T, DecodeError>) -> Result<T, DecodeError> {
    let result = catch_unwind(AssertUnwindSafe(job));
    result.unwrap_or_else(|_| Err(DecodeError::damaged("the decoder failed")))
}

fn open(found: &Found) -> Result<BufReader<File>, DecodeError> {
    // Another process may have put a link on the way meanwhile.
    let opened = open_without_links(&found.path);
    let file = opened.map_err(|error| DecodeError::Read(error.to_string()))?;
    if Stamp::of_path(&found.path) != Some(found.stamp) {
        return Err(DecodeError::Changed);
    }
    Ok(BufReader::new(file))
}

fn pixels(size: [u32; 2]) -> u64 {
    u64::from(size[0]) * u64::from(size[1])
}

/// The memory of pixels as a decoder returns them, which are converted then.
fn bytes_before_conversion(pixels: u64, color: ColorType) -> u64 {
    match color {
        ColorType::Rgba8 => 0,
        other => pixels.saturating_mul(other.bytes_per_pixel().into()),
    }
}

fn head_of_jpeg(found: &Found) -> Result<Head, DecodeError> {
    let frame = Frame::read(open(found)?)?;
    let size = [frame.width, frame.height];
    let color = match frame.is_grey() {
        true => ColorType::L8,
        false => ColorType::Rgb8,
    };
    // The decoder has the whole file in memory, and copies of some of its segments.
    let decoder_bytes = bytes_before_conversion(pixels(size), color)
        .saturating_add(frame.needed_bytes())
        .saturating_add(3 * found.stamp.bytes);
    Head::new(size, false, decoder_bytes)
}

fn head_of_others(found: &Found) -> Result<Head, DecodeError> {
    let mut webp = Chunks::default();
    if found.kind == Kind::Webp {
        webp = Chunks::read(open(found)?)?;
    }
    let decoder = decoder(found, most_chunks(found))?;
    let (width, height) = decoder.dimensions();
    let color = decoder.color_type();
    let pixels = pixels([width, height]);
    let row = u64::from(width) * 8;
    let own = match found.kind {
        Kind::Png => most_chunks(found) + 4 * row,
        Kind::Webp => {
            if webp.frame.is_some_and(|frame| frame != [width, height]) {
                return Err(DecodeError::damaged(
                    "a frame of another size than the image",
                ));
            }
            needed_by_webp(found, &webp, [width, height])
        }
        // The indices of a colour map, or pixels of 16 bits.
        Kind::Tga => pixels.saturating_mul(2),
        _ => 2 * row,
    };
    let decoder_bytes = bytes_before_conversion(pixels, color).saturating_add(own);
    Head::new([width, height], color.has_alpha(), decoder_bytes)
}

fn needed_by_webp(found: &Found, chunks: &Chunks, size: [u32; 2]) -> u64 {
    // Planes of whole blocks, alpha as a lossless image and what is made of it.
    let padded = pixels(size.map(|length| length.next_multiple_of(16)));
    let file = found.stamp.bytes;
    let tables = chunks.lossless_bytes.min(file) * TABLE_BYTES_PER_BYTE;
    padded
        .saturating_mul(10)
        .saturating_add(PART_OF_WEBP)
        .saturating_add(2 * file)
        .saturating_add(tables.min(MOST_TABLES))
}

/// The memory for the chunks of a PNG before its pixels.
fn most_chunks(found: &Found) -> u64 {
    found.stamp.bytes.min(MOST_CHUNKS)
}

/// The decoder of an image that is not a DDS. `limit`: the memory that a PNG may take before its pixels.
fn decoder(found: &Found, limit: u64) -> Result<Box<dyn ImageDecoder>, DecodeError> {
    let file = open(found)?;
    Ok(match found.kind {
        Kind::Png => {
            let mut limits = Limits::no_limits();
            limits.max_alloc = Some(limit + TABLES / 2);
            Box::new(png::PngDecoder::with_limits(file, limits)?)
        }
        Kind::Jpeg => Box::new(jpeg::JpegDecoder::new(file)?),
        Kind::Webp => Box::new(webp::WebPDecoder::new(file)?),
        Kind::Tga => Box::new(tga::TgaDecoder::new(file)?),
        Kind::Bmp | Kind::Dds => Box::new(bmp::BmpDecoder::new(file)?),
    })
}

fn pixels_of_others(found: &Found, head: &Head) -> Result<Pixels, DecodeError> {
    let row = u64::from(head.width) * 8;
    let decoder = decoder(found, most_chunks(found) + 2 * row)?;
    // Before the pixels are allocated.
    if decoder.dimensions() != (head.width, head.height) {
        return Err(DecodeError::damaged("an image of several sizes"));
    }
    let image = DynamicImage::from_decoder(decoder)?.into_rgba8();
    Ok(Pixels {
        width: image.width(),
        height: image.height(),
        bytes: image.into_raw(),
    })
}

fn open_dds(found: &Found) -> Result<dds::Decoder<BufReader<File>>, DecodeError> {
    // Many programs write heads that are not quite valid.
    let options = ParseOptions::new_permissive(Some(found.stamp.bytes));
    Ok(dds::Decoder::new_with_options(open(found)?, &options)?)
}

fn head_of_dds(found: &Found) -> Result<Head, DecodeError> {
    let decoder = open_dds(found)?;
    let size = decoder.main_size();
    let has_alpha = match decoder.native_color().channels {
        Channels::Grayscale | Channels::Rgb => false,
        Channels::Alpha | Channels::Rgba => true,
    };
    let decoder_bytes = memory_of_dds(size.width, size.height);
    Head::new([size.width, size.height], has_alpha, decoder_bytes)
}

/// The memory of the decoder: some rows, or all of the first plane of videos, two bytes for a pixel.
fn memory_of_dds(width: u32, height: u32) -> u64 {
    let rows = u64::from(width).saturating_mul(512);
    pixels([width, height])
        .saturating_mul(2)
        .saturating_add(rows)
        .saturating_add(TABLES / 2)
}

/// The first image of a DDS: the largest level, of a cube its first side, of a volume its first slice.
fn pixels_of_dds(found: &Found, head: &Head) -> Result<Pixels, DecodeError> {
    let mut decoder = open_dds(found)?;
    let size = decoder.main_size();
    if [size.width, size.height] != [head.width, head.height] {
        return Err(DecodeError::damaged("an image of several sizes"));
    }
    let memory = memory_of_dds(size.width, size.height);
    decoder.options.memory_limit = usize::try_from(memory).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let length = ColorFormat::RGBA_U8.buffer_size(size);
    let length = length.ok_or(dds::DecodingError::MemoryLimitExceeded)?;
    bytes
        .try_reserve_exact(length)
        .map_err(|_| dds::DecodingError::MemoryLimitExceeded)?;
    bytes.resize(length, 0);
    let view = ImageViewMut::new(&mut bytes, size, ColorFormat::RGBA_U8);
    let view = view.ok_or(dds::DecodingError::UnexpectedSurfaceSize)?;
    decoder.read_surface(view)?;
    Ok(Pixels {
        width: size.width,
        height: size.height,
        bytes,
    })
}
