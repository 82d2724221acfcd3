//! Images of each kind are decoded, and none takes more memory than it says.

mod made;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ExtendedColorType, ImageFormat};
use made::{BitWriter, bmp_head, dds, dds_of_pixels, png_of_rows, riff, tga};
use meshmap_images::{Alpha, DecodeError, Found, Kind, Library, Pixels, Places};
use meshmap_testing::allocator::{Counting, counted};
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ANY: u64 = u64::MAX;

/// Images in a folder.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn add(&self, name: &str, bytes: &[u8]) -> Found {
        fs::write(self.0.path().join(name), bytes).unwrap();
        self.find(name)
    }

    fn find(&self, name: &str) -> Found {
        find(self.0.path(), name)
    }
}

fn find(folder: &Path, name: &str) -> Found {
    let places = Places {
        beside: Some(folder),
        below: &[],
    };
    let found = Library::default().find(&[name.to_owned()], &places);
    found.unwrap()
}

/// The pixels of a file with these bytes.
fn decoded(bytes: &[u8]) -> Result<Arc<Pixels>, DecodeError> {
    let folder = Folder::new();
    let found = folder.add("image.png", bytes);
    Library::default().pixels(&found, ANY)
}

fn texels(bytes: &[u8]) -> Vec<[u8; 4]> {
    decoded(bytes).unwrap().texels().to_vec()
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn of_hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().collect();
    let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// An image of any size that has all values of each channel.
fn gradient(width: u32, height: u32) -> DynamicImage {
    let pixel = |x: u32, y: u32| image::Rgba([x as u8, y as u8, (x ^ y) as u8, (x + 3 * y) as u8]);
    image::RgbaImage::from_fn(width, height, pixel).into()
}

#[track_caller]
fn assert_near(texels: &[[u8; 4]], expected: [u8; 4]) {
    assert!(!texels.is_empty());
    for texel in texels {
        for (value, expected) in texel.iter().zip(expected) {
            assert!(
                value.abs_diff(expected) <= 6,
                "{texel:?}, expected {expected:?}"
            );
        }
    }
}

#[test]
fn lossless_kinds_have_the_pixels_that_were_encoded() {
    use ImageFormat::{Bmp, Png, Tga, WebP};
    let rgba = gradient(77, 31);
    let rgb: DynamicImage = rgba.to_rgb8().into();
    let grey: DynamicImage = rgba.to_luma8().into();
    let grey_alpha: DynamicImage = rgba.to_luma_alpha8().into();
    let deep: DynamicImage = rgba.to_rgba16().into();
    let deep_grey: DynamicImage = rgba.to_luma16().into();
    for format in [Png, WebP, Tga, Bmp] {
        for image in [&rgba, &rgb, &grey, &grey_alpha, &deep, &deep_grey] {
            let channels = image.color().channel_count();
            let is_deep = image.color().bytes_per_pixel() > channels;
            // The encoders make other pixels of these.
            let is_changed = match format {
                Png => false,
                Bmp => is_deep || channels == 2,
                WebP => is_deep || channels < 3,
                _ => is_deep,
            };
            if is_changed {
                continue;
            }
            let mut bytes = std::io::Cursor::new(Vec::new());
            image.write_to(&mut bytes, format).unwrap();
            let decoded = decoded(&bytes.into_inner()).unwrap();
            let size = (decoded.width, decoded.height);
            assert_eq!(size, (77, 31), "{format:?} {:?}", image.color());
            let expected = image.to_rgba8().into_raw();
            assert!(decoded.bytes == expected, "{format:?} {:?}", image.color());
        }
    }
    let pixels = decoded(&encoded(&rgba, Png)).unwrap();
    assert_eq!(pixels.texel(5, 7), Some([5, 7, 2, 26]));
    assert_eq!(pixels.texel(76, 30), Some([76, 30, 82, 166]));
    assert_eq!((pixels.texel(77, 0), pixels.texel(0, 31)), (None, None));
}

#[test]
fn png_of_a_palette_with_transparent_colors_and_interlaced() {
    // Two bits for a pixel: the colours 0, 1, 2, 1.
    let palette = (b"PLTE", &[1, 2, 3, 4, 5, 6, 7, 8, 9][..]);
    let transparent = (b"tRNS", &[255, 128][..]);
    let bytes = png_of_rows(
        [4, 1],
        [2, 3, 0],
        &[palette, transparent],
        &[0, 0b0001_1001],
    );
    let expected = [
        [1, 2, 3, 255],
        [4, 5, 6, 128],
        [7, 8, 9, 255],
        [4, 5, 6, 128],
    ];
    assert_eq!(texels(&bytes), expected);

    // The passes of a picture of two by two: the first pixel, the one next to it, the second row.
    let rows = [0, 10, 0, 20, 0, 30, 40];
    let bytes = png_of_rows([2, 2], [8, 0, 1], &[], &rows);
    let values: Vec<u8> = texels(&bytes).iter().map(|texel| texel[0]).collect();
    assert_eq!(values, [10, 20, 30, 40]);

    // A grey value that is transparent.
    let bytes = png_of_rows([2, 1], [8, 0, 0], &[(b"tRNS", &[0, 20])], &[0, 10, 20]);
    assert_eq!(texels(&bytes), [[10, 10, 10, 255], [20, 20, 20, 0]]);
}

#[test]
fn jpeg_of_all_kinds_and_lossy_webp() {
    let mut baseline = Vec::new();
    let color = [200, 60, 30].repeat(24 * 16);
    JpegEncoder::new(&mut baseline)
        .encode(&color, 24, 16, ExtendedColorType::Rgb8)
        .unwrap();
    assert_near(&texels(&baseline), [200, 60, 30, 255]);
    let mut grey = Vec::new();
    JpegEncoder::new(&mut grey)
        .encode(&[77; 24 * 16], 24, 16, ExtendedColorType::L8)
        .unwrap();
    assert_near(&texels(&grey), [77, 77, 77, 255]);
    // Written by Pillow, eight by eight of the same colour.
    for (name, hex, expected) in [
        ("progressive", made::PROGRESSIVE_JPEG, [200, 60, 30, 255]),
        ("CMYK", made::CMYK_JPEG, [200, 60, 30, 255]),
        ("lossy WebP", made::LOSSY_WEBP, [200, 60, 30, 255]),
        (
            "lossy WebP with alpha",
            made::LOSSY_WEBP_WITH_ALPHA,
            [200, 60, 30, 128],
        ),
    ] {
        println!("{name}");
        let texels = texels(&of_hex(hex));
        assert_eq!(texels.len(), 64);
        assert_near(&texels, expected);
    }
}

#[test]
fn tga_of_all_kinds() {
    // Blue, green, red; the first row is the lowest.
    let rows = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    let top = [[9, 8, 7, 255], [12, 11, 10, 255]];
    let bottom = [[3, 2, 1, 255], [6, 5, 4, 255]];
    let bytes = tga(2, [2, 2], 24, 0, &rows);
    assert_eq!(texels(&bytes), [top, bottom].concat());
    let bytes = tga(2, [2, 2], 24, 0x20, &rows);
    assert_eq!(texels(&bytes), [bottom, top].concat());
    // A run of two, then two as they are.
    let bytes = tga(
        10,
        [4, 1],
        32,
        0x28,
        &[0x81, 1, 2, 3, 4, 0x01, 5, 6, 7, 8, 9, 10, 11, 12],
    );
    let expected = [[3, 2, 1, 4], [3, 2, 1, 4], [7, 6, 5, 8], [11, 10, 9, 12]];
    assert_eq!(texels(&bytes), expected);
    // Many programs forget the number of bits of alpha.
    let bytes = tga(2, [1, 1], 32, 0x20, &[1, 2, 3, 4]);
    assert_eq!(texels(&bytes), [[3, 2, 1, 4]]);
    let bytes = tga(2, [1, 1], 16, 0x20, &[0b0001_1111, 0b0111_1100]);
    assert_eq!(texels(&bytes), [[255, 0, 255, 255]]);
    let bytes = tga(3, [2, 1], 8, 0x20, &[7, 9]);
    assert_eq!(texels(&bytes), [[7, 7, 7, 255], [9, 9, 9, 255]]);
    // A colour map of two colours.
    let mut bytes = tga(1, [3, 1], 8, 0x20, &[1, 2, 3, 4, 5, 6, 1, 0, 1]);
    (bytes[1], bytes[5], bytes[7]) = (1, 2, 24);
    assert_eq!(
        texels(&bytes),
        [[6, 5, 4, 255], [3, 2, 1, 255], [6, 5, 4, 255]]
    );
}

#[test]
fn bmp_of_all_kinds() {
    let rows = [1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0];
    let mut bytes = bmp_head([2, 2], 24, 0);
    bytes.extend(rows);
    let expected = [
        [9, 8, 7, 255],
        [12, 11, 10, 255],
        [3, 2, 1, 255],
        [6, 5, 4, 255],
    ];
    assert_eq!(texels(&bytes), expected);
    let mut bytes = bmp_head([2, -1], 24, 0);
    bytes.extend(&rows[..8]);
    assert_eq!(texels(&bytes), expected[2..]);
    // The fourth byte has no meaning.
    let mut bytes = bmp_head([1, 1], 32, 0);
    bytes.extend([1, 2, 3, 4]);
    assert_eq!(texels(&bytes), [[3, 2, 1, 255]]);
    // Runs of a palette of two colours.
    let mut bytes = bmp_head([4, 1], 8, 1);
    bytes[10] += 8;
    bytes[46] = 2;
    bytes.extend([1, 2, 3, 0, 4, 5, 6, 0, 3, 1, 1, 0, 0, 1]);
    let (one, two) = ([3, 2, 1, 255], [6, 5, 4, 255]);
    assert_eq!(texels(&bytes), [two, two, two, one]);
}

#[test]
fn dds_of_usual_kinds() {
    let bytes = dds_of_pixels([2, 1], true, &[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(texels(&bytes), [[3, 2, 1, 4], [7, 6, 5, 8]]);
    let bytes = dds_of_pixels([2, 1], false, &[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(texels(&bytes), [[3, 2, 1, 255], [7, 6, 5, 255]]);
    // Red and blue, and a row of each index.
    let colors = [0, 0xF8, 0x1F, 0, 0x00, 0x55, 0xAA, 0xFF];
    let bytes = dds([4, 4], b"DXT1", &colors);
    let expected = [
        [255, 0, 0, 255],
        [0, 0, 255, 255],
        [170, 0, 85, 255],
        [85, 0, 170, 255],
    ];
    let rows: Vec<[u8; 4]> = texels(&bytes).into_iter().step_by(4).collect();
    assert_eq!(rows, expected);
    // The other order has a transparent colour.
    let colors = [0x1F, 0, 0, 0xF8, 0x00, 0x55, 0xAA, 0xFF];
    let bytes = dds([4, 4], b"DXT1", &colors);
    assert_eq!(texels(&bytes)[15], [0, 0, 0, 0]);
    // Alpha 64 in each pixel.
    let block = [
        64, 64, 0, 0, 0, 0, 0, 0, 0, 0xF8, 0x1F, 0, 0x00, 0x55, 0xAA, 0xFF,
    ];
    let bytes = dds([4, 4], b"DXT5", &block);
    assert_eq!(texels(&bytes)[0], [255, 0, 0, 64]);
    // A part of a block.
    let bytes = dds([3, 2], b"DXT5", &block);
    assert_eq!(texels(&bytes).len(), 6);
    // The head of such a file, and nothing else.
    let mut head = b"DDS ".to_vec();
    head.extend(124u32.to_le_bytes());
    head.extend([0; 120]);
    assert!(matches!(
        decoded(&head),
        Err(DecodeError::Damaged(_) | DecodeError::Unsupported(_))
    ));
}

#[test]
fn alpha_is_known_without_pixels_if_the_head_has_none() {
    let folder = Folder::new();
    let library = Library::default();
    let alpha = |name: &str, bytes: &[u8], most| {
        let found = folder.add(name, bytes);
        library.alpha(&found, most)
    };
    let rgba = gradient(40, 40);
    let png = encoded(&rgba, ImageFormat::Png);
    assert_eq!(alpha("a.png", &png, ANY), Ok(Alpha::Blend));
    let Err(DecodeError::TooLarge { needed, most: 0 }) = alpha("a.png", &png, 0) else {
        panic!("expected an error, though the alpha is known")
    };
    assert!(needed > 40 * 40 * 8);
    let rgb: DynamicImage = rgba.to_rgb8().into();
    for format in [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::WebP,
        ImageFormat::Bmp,
    ] {
        let mut bytes = encoded(&rgb, format);
        // Nothing after the head is read.
        if format != ImageFormat::Jpeg {
            bytes.truncate(60);
        }
        assert_eq!(alpha("b.png", &bytes, 0), Ok(Alpha::Opaque), "{format:?}");
    }
    // The fourth channel is not used.
    let unused = tga(2, [2, 1], 32, 0x28, &[1, 2, 3, 0, 4, 5, 6, 0]);
    assert_eq!(alpha("c.tga", &unused, ANY), Ok(Alpha::Opaque));
    let cut = tga(2, [2, 1], 32, 0x28, &[1, 2, 3, 0, 4, 5, 6, 255]);
    assert_eq!(alpha("d.tga", &cut, ANY), Ok(Alpha::Mask));
}

#[test]
fn a_png_of_an_image_has_its_pixels_and_the_same_bytes_each_time() {
    let folder = Folder::new();
    let opaque = folder.add(
        "a.tga",
        &tga(2, [2, 1], 32, 0x28, &[1, 2, 3, 0, 4, 5, 6, 0]),
    );
    let noise: Vec<u8> = (0..64 * 64 * 4u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let noisy = folder.add("b.tga", &tga(2, [64, 64], 32, 0x28, &noise));
    let library = Library::default();
    let png = library.as_png(&opaque, ANY).unwrap();
    assert_eq!(png[25], 2, "no alpha");
    assert_eq!(texels(&png), [[3, 2, 1, 255], [6, 5, 4, 255]]);
    let png = library.as_png(&noisy, ANY).unwrap();
    assert_eq!(png[25], 6);
    assert_eq!(texels(&png), library.pixels(&noisy, ANY).unwrap().texels());
    let again = Library::default().as_png(&noisy, ANY).unwrap();
    assert!(again == png && !Arc::ptr_eq(&again, &png));
    assert!(Arc::ptr_eq(&library.as_png(&noisy, ANY).unwrap(), &png));
    // Written once, by this version of the encoder: outputs of two versions differ.
    let sum = png.iter().fold(0u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add((*byte).into())
    });
    assert_eq!((png.len(), sum), (made::NOISE_LENGTH, made::NOISE_SUM));
}

#[test]
fn an_image_is_decoded_once_for_all_threads() {
    let folder = Folder::new();
    let png = encoded(&gradient(500, 500), ImageFormat::Png);
    let found = folder.add("a.png", &png);
    let library = Library::default();
    let mut all: Vec<Arc<Pixels>> = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let library = library.clone();
                let found = &found;
                scope.spawn(move || library.pixels(found, ANY).unwrap())
            })
            .collect();
        all.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
    });
    assert!(all.iter().all(|pixels| Arc::ptr_eq(pixels, &all[0])));
    drop(all);
    let first = library.pixels(&found, ANY).unwrap();
    assert!(Arc::ptr_eq(&first, &library.pixels(&found, ANY).unwrap()));

    // A file that is replaced is another one.
    let newer = folder.add("a.png", &encoded(&gradient(501, 500), ImageFormat::Png));
    assert_eq!(library.pixels(&newer, ANY).unwrap().width, 501);
    let fresh = Library::default();
    assert_eq!(fresh.pixels(&found, ANY), Err(DecodeError::Changed));
    fs::remove_file(&newer.path).unwrap();
    assert!(matches!(
        fresh.pixels(&newer, ANY),
        Err(DecodeError::Read(_))
    ));
}

/// Decodes a file in a fresh library. Panics if it takes more memory than it says, or than it may.
#[track_caller]
fn check_memory(name: &str, found: &Found, most: u64) -> Result<Arc<Pixels>, DecodeError> {
    let library = Library::default();
    let (needed, count) = counted(|| library.needed_bytes(found));
    // The head of a PNG may have large chunks.
    let head = 2 * found.stamp.bytes as i64 + (1 << 20);
    assert!(
        count.peak <= head,
        "{name}: {} bytes for its head",
        count.peak
    );
    let library = Library::default();
    let (pixels, count) = counted(|| library.pixels(found, most));
    let allowed = match needed {
        Ok(needed) if needed <= most => needed as i64,
        _ => head,
    };
    assert!(
        count.peak <= allowed,
        "{name}: {} of {allowed} bytes",
        count.peak
    );
    let needed_by_png = library.needed_by_png(found);
    let allowed = match needed_by_png {
        Ok(needed) if needed <= most => needed as i64,
        _ => head,
    };
    let library = Library::default();
    let (png, count) = counted(|| library.as_png(found, most));
    assert!(
        count.peak <= allowed,
        "{name}: {} of {allowed} bytes as PNG",
        count.peak
    );
    // A PNG needs at least as much memory.
    let is_enough = needed_by_png.is_ok_and(|needed| needed <= most);
    assert_eq!(png.is_ok(), pixels.is_ok() && is_enough, "{name}");
    if let Ok(pixels) = &pixels {
        assert!(pixels.bytes.len() as u64 <= most);
    }
    pixels
}

/// Images of each kind, of any size.
fn samples(width: u32, height: u32) -> Vec<(String, Vec<u8>)> {
    let rgba = gradient(width, height);
    let rgb: DynamicImage = rgba.to_rgb8().into();
    let mut all = vec![
        (
            "16.png".to_owned(),
            encoded(&rgba.to_rgba16().into(), ImageFormat::Png),
        ),
        (
            "grey.png".to_owned(),
            encoded(&rgba.to_luma8().into(), ImageFormat::Png),
        ),
    ];
    for (ending, format) in [
        ("png", ImageFormat::Png),
        ("tga", ImageFormat::Tga),
        ("bmp", ImageFormat::Bmp),
    ] {
        all.push((format!("rgb.{ending}"), encoded(&rgb, format)));
        all.push((format!("rgba.{ending}"), encoded(&rgba, format)));
    }
    all.push(("rgb.jpg".to_owned(), encoded(&rgb, ImageFormat::Jpeg)));
    for (name, image, color) in [
        ("rgb.webp", rgb.as_bytes(), ExtendedColorType::Rgb8),
        ("rgba.webp", rgba.as_bytes(), ExtendedColorType::Rgba8),
    ] {
        let mut bytes = Vec::new();
        WebPEncoder::new_lossless(&mut bytes)
            .encode(image, width, height, color)
            .unwrap();
        all.push((name.to_owned(), bytes));
    }
    let blocks = width.div_ceil(4) * height.div_ceil(4);
    let block = [
        64, 200, 9, 8, 7, 6, 5, 4, 0, 0xF8, 0x1F, 0, 0x00, 0x55, 0xAA, 0xFF,
    ];
    let body = block.repeat(blocks as usize);
    all.push(("dxt5.dds".to_owned(), dds([width, height], b"DXT5", &body)));
    all.push((
        "rgba.dds".to_owned(),
        dds_of_pixels([width, height], true, rgba.as_bytes()),
    ));
    all
}

#[test]
fn no_image_takes_more_memory_than_it_says() {
    let folder = Folder::new();
    for (width, height) in [(1, 1), (777, 333), (3000, 5), (5, 3000), (1024, 1024)] {
        for (name, bytes) in samples(width, height) {
            let found = folder.add(&name, &bytes);
            let pixels = check_memory(&name, &found, ANY).unwrap();
            assert_eq!((pixels.width, pixels.height), (width, height), "{name}");
            let needed = Library::default().needed_bytes(&found).unwrap();
            let error = check_memory(&name, &found, needed - 1).unwrap_err();
            assert_eq!(
                error,
                DecodeError::TooLarge {
                    needed,
                    most: needed - 1
                }
            );
            assert!(check_memory(&name, &found, needed).is_ok());
        }
    }
    for hex in [
        made::PROGRESSIVE_JPEG,
        made::CMYK_JPEG,
        made::LOSSY_WEBP,
        made::LOSSY_WEBP_WITH_ALPHA,
    ] {
        let found = folder.add("small.png", &of_hex(hex));
        assert!(check_memory(&hex[..30], &found, ANY).is_ok());
    }
}

#[test]
fn bombs_are_refused_before_they_are_allocated() {
    let folder = Folder::new();
    let mut jpeg = of_hex(made::PROGRESSIVE_JPEG);
    let frame = jpeg
        .windows(2)
        .position(|pair| pair == [0xFF, 0xC2])
        .unwrap();
    jpeg[frame + 5..frame + 9].fill(0xFF);
    let mut lying_frame = of_hex(made::LOSSY_WEBP_WITH_ALPHA);
    let start = lying_frame
        .windows(3)
        .position(|bytes| bytes == [0x9D, 1, 0x2A])
        .unwrap();
    lying_frame[start + 3..start + 7].copy_from_slice(&[0xFF, 0x3F, 0xFF, 0x3F]);
    let mut lying_image = of_hex(made::LOSSY_WEBP_WITH_ALPHA);
    lying_image[24..30].fill(0xFF);
    // 60,000 by 60,000 pixels, of which there is a row.
    let huge = png_of_rows([60_000, 60_000], [8, 6, 0], &[], &[0; 240_001]);
    let bombs = [
        ("huge.png", huge),
        ("huge.jpg", jpeg),
        (
            "runs.tga",
            tga(10, [65_535, 65_535], 32, 0x28, &[0xFF, 1, 2, 3, 4]),
        ),
        ("lying.bmp", bmp_head([65_535, 65_535], 24, 0)),
        ("runs.bmp", bmp_head([65_535, 65_535], 8, 1)),
        (
            "huge.dds",
            dds([0xFFFF_FFFF, 0xFFFF_FFFF], b"DXT1", &[0; 8]),
        ),
        ("frame.webp", lying_frame),
        ("image.webp", lying_image),
    ];
    for (name, bytes) in bombs {
        let found = folder.add(name, &bytes);
        let start = Instant::now();
        let error = check_memory(name, &found, 1 << 30).unwrap_err();
        println!("{name}: {error}");
        assert!(start.elapsed() < Duration::from_secs(2), "{name}");
        let is_named = matches!(error, DecodeError::TooLarge { .. });
        assert!(
            is_named || matches!(error, DecodeError::Damaged(_)),
            "{name}: {error:?}"
        );
    }
    // If the caller allows it, the time is the time of the pixels.
    let runs = [0xFF, 1, 2, 3, 4].repeat(8192 * 2048 / 128);
    let found = folder.add("runs.tga", &tga(10, [8192, 2048], 32, 0x28, &runs));
    let start = Instant::now();
    assert!(check_memory("runs.tga", &found, 1 << 30).is_ok());
    assert!(start.elapsed() < Duration::from_secs(60));
}

/// A lossless WebP of four by four pixels, with tables of 4 KiB each for as few bytes as possible.
#[test]
fn a_webp_of_many_tables_takes_no_more_than_it_says() {
    let mut bits = BitWriter::default();
    bits.write(0x2F, 8);
    bits.write(3, 14);
    bits.write(3, 14);
    // Alpha, version, no transform, no cache, groups of codes for blocks of four by four.
    bits.write(1, 1);
    bits.write(0, 3);
    bits.write(0, 1);
    bits.write(0, 1);
    bits.write(1, 1);
    bits.write(0, 3);
    // The only block has the group 999: green 231, red 3.
    bits.write(0, 1);
    for value in [231, 3, 0, 0, 0] {
        bits.write(0b101, 3);
        bits.write(value, 8);
    }
    for _ in 0..1000 * 5 {
        bits.write(0, 1);
        // Lengths of the codes of lengths, in the order of the format: 1 to 10, of three or four bits.
        bits.write(14 - 4, 4);
        for length in [0, 0, 0, 4, 4, 4, 4, 3, 0, 3, 3, 3, 3, 3] {
            bits.write(length, 3);
        }
        // Eleven lengths: 1 to 10, and 10 again.
        bits.write(1, 1);
        bits.write(1, 3);
        bits.write(9, 4);
        // Codes of three bits for 5 to 10 come first, then codes of four bits for 1 to 4; the highest bit is first.
        for length in [1, 2, 3, 4] {
            bits.write_reversed(0b1100 + length - 1, 4);
        }
        for length in [5, 6, 7, 8, 9, 10, 10] {
            bits.write_reversed(length - 5, 3);
        }
    }
    bits.write(0, 32);
    bits.write(0, 32);
    let bytes = riff(b"VP8L", &bits.bytes);
    let folder = Folder::new();
    let found = folder.add("tables.webp", &bytes);
    let library = Library::default();
    let (pixels, count) = counted(|| library.pixels(&found, ANY));
    println!(
        "{} bytes, {} bytes of memory: {:?}",
        bytes.len(),
        count.peak,
        pixels
    );
    assert!(count.peak > 5000 * 4096, "it is no bomb: {}", count.peak);
    check_memory("tables.webp", &found, ANY).ok();
}

/// Files with some bytes changed, and files that end early, are images or errors.
#[test]
fn mutated_images_are_images_or_errors() {
    const MOST: u64 = 64 << 20;
    let folder = Folder::new();
    let mut all = samples(33, 17);
    for (name, hex) in [
        ("progressive.jpg", made::PROGRESSIVE_JPEG),
        ("cmyk.jpg", made::CMYK_JPEG),
        ("lossy.webp", made::LOSSY_WEBP),
        ("alpha.webp", made::LOSSY_WEBP_WITH_ALPHA),
    ] {
        all.push((name.to_owned(), of_hex(hex)));
    }
    let runs = [0x9F, 1, 2, 3].repeat(20);
    all.push(("runs.tga".to_owned(), tga(10, [33, 17], 24, 0, &runs)));
    let mut random: u64 = 1;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let mut counts = [0, 0];
    for (name, bytes) in &all {
        for round in 0..400 {
            let mut mutant = bytes.clone();
            if round % 8 == 0 {
                mutant.truncate(next(bytes.len()));
            }
            // Most of the sense is in the head.
            let reach = if round % 2 == 0 { 64 } else { bytes.len() };
            for _ in 0..=next(3) {
                let at = next(reach.min(mutant.len().max(1)));
                if let Some(byte) = mutant.get_mut(at) {
                    *byte = [next(256) as u8, 0, 255, *byte ^ (1 << next(8))][next(4)];
                }
            }
            let path = folder.0.path().join(name);
            fs::write(&path, &mutant).unwrap();
            let places = Places {
                beside: Some(folder.0.path()),
                below: &[],
            };
            let Ok(found) = Library::default().find(std::slice::from_ref(name), &places) else {
                continue;
            };
            let result = check_memory(name, &found, MOST);
            let failed =
                matches!(&result, Err(DecodeError::Damaged(what)) if what == "the decoder failed");
            assert!(!failed, "a panic for {name}: {mutant:?}");
            counts[usize::from(result.is_ok())] += 1;
        }
    }
    println!("{counts:?} errors and images");
    assert!(counts.iter().all(|count| *count > 100));
    assert_eq!(folder.find("rgba.dds").kind, Kind::Dds);
}
