//! Images on surfaces, as glTF samples them: repeated, between the nearest pixels, and between the nearest two of smaller copies.
//!
//! A smaller copy (a mip level) has the mean of each four pixels, in linear light. Which copies are used depends on how far the coordinates
//! change from one pixel of the picture to the next.

use std::sync::Arc;

use meshmap_images::{Alpha, Pixels};

use crate::color::{byte, curve, light_of_bytes};

/// Red, green and blue as light, and opacity.
pub(crate) type Texel = [f32; 4];

/// An image, and smaller copies of it.
pub(crate) struct Texture {
    pub(crate) alpha: Alpha,
    image: Arc<Pixels>,
    /// From half the size of the image to a single pixel.
    smaller: Vec<Level>,
    light: Arc<[f32; 256]>,
}

/// A copy of an image, in bytes of sRGB.
struct Level {
    width: u32,
    height: u32,
    bytes: Vec<[u8; 4]>,
}

/// The memory of the smaller copies of an image: each has a quarter of the bytes of the one before, and the sides are rounded.
pub(crate) fn bytes_of_copies([width, height]: [u32; 2]) -> u64 {
    let mut sides = [width, height];
    let mut bytes = 0;
    while sides != [1, 1] && !sides.contains(&0) {
        sides = halves(sides);
        bytes += u64::from(sides[0]) * u64::from(sides[1]) * 4;
    }
    bytes
}

fn halves(sides: [u32; 2]) -> [u32; 2] {
    sides.map(|side| (side / 2).max(1))
}

impl Texture {
    /// Makes the smaller copies of an image.
    pub(crate) fn new(image: Arc<Pixels>, alpha: Alpha) -> Self {
        let light = Arc::new(light_of_bytes());
        let mut smaller: Vec<Level> = Vec::new();
        let mut sides = [image.width, image.height];
        while sides != [1, 1] && !sides.contains(&0) {
            let half = halves(sides);
            let texels = match smaller.last() {
                Some(level) => level.bytes.as_slice(),
                None => image.texels(),
            };
            let level = half_of(texels, sides, half, &light);
            smaller.push(level);
            sides = half;
        }
        Self {
            alpha,
            image,
            smaller,
            light,
        }
    }

    /// The mean of the image around a place, whose coordinates change by this much from one pixel of the picture to the pixel to the right
    /// and to the pixel below. V is counted from above.
    pub(crate) fn sample(&self, place: [f32; 2], right: [f32; 2], below: [f32; 2]) -> Texel {
        let sides = [self.image.width as f32, self.image.height as f32];
        let length = |step: [f32; 2]| {
            let [u, v] = [step[0] * sides[0], step[1] * sides[1]];
            (u * u + v * v).sqrt()
        };
        let right = length(right);
        let below = length(below);
        let step = if right > below { right } else { below };
        let (level, share) = level_of(step);
        let near = self.level(level, place);
        if share == 0.0 || level >= self.smaller.len() {
            return near;
        }
        let far = self.level(level + 1, place);
        std::array::from_fn(|channel| near[channel] + (far[channel] - near[channel]) * share)
    }

    /// The mean of the nearest pixels of a copy; 0 is the image.
    fn level(&self, level: usize, place: [f32; 2]) -> Texel {
        match level.checked_sub(1) {
            None => self.between(
                self.image.texels(),
                self.image.width,
                self.image.height,
                place,
            ),
            Some(index) => match self.smaller.get(index).or(self.smaller.last()) {
                Some(level) => self.between(&level.bytes, level.width, level.height, place),
                None => self.between(
                    self.image.texels(),
                    self.image.width,
                    self.image.height,
                    place,
                ),
            },
        }
    }

    /// The mean of the four pixels around a place, by their distances.
    fn between(&self, texels: &[[u8; 4]], width: u32, height: u32, [u, v]: [f32; 2]) -> Texel {
        let (left, right, across) = neighbours(u, width);
        let (above, below, down) = neighbours(v, height);
        let at = |x: u32, y: u32| {
            let index = y as usize * width as usize + x as usize;
            let [red, green, blue, alpha] = texels.get(index).copied().unwrap_or_default();
            let light = |byte: u8| self.light[usize::from(byte)];
            [
                light(red),
                light(green),
                light(blue),
                f32::from(alpha) / 255.0,
            ]
        };
        let mixed = |a: Texel, b: Texel, share: f32| -> Texel {
            std::array::from_fn(|channel| a[channel] + (b[channel] - a[channel]) * share)
        };
        let upper = mixed(at(left, above), at(right, above), across);
        let lower = mixed(at(left, below), at(right, below), across);
        mixed(upper, lower, down)
    }
}

/// The two pixels around a coordinate of a repeated image, and the share of the second.
fn neighbours(coordinate: f32, pixels: u32) -> (u32, u32, f32) {
    // A step beyond the precision of a coordinate has no place between two pixels.
    let within = coordinate - coordinate.floor();
    let within = if (0.0..1.0).contains(&within) {
        within
    } else {
        0.0
    };
    let place = within * pixels as f32 - 0.5;
    let below = place.floor();
    let share = place - below;
    let last = pixels.saturating_sub(1);
    // From -1 to the number of pixels.
    let first = if below < 0.0 {
        last
    } else {
        (below as u32).min(last)
    };
    let second = if first == last { 0 } else { first + 1 };
    (first, second, share)
}

/// The copy whose pixels are as far apart as a step, in pixels of the image, and the share of the next smaller one.
///
/// The logarithm to the base 2 is the exponent of the number, and nearly its fraction: every host has the same.
fn level_of(step: f32) -> (usize, f32) {
    // Also where the step is NaN.
    let is_smaller = step > 1.0;
    if !is_smaller {
        return (0, 0.0);
    }
    let bits = step.to_bits();
    let exponent = (bits >> 23) - 127;
    let fraction = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000) - 1.0;
    (exponent as usize, fraction)
}

/// The mean of each four pixels, whose opacity does not matter for the colour: as GPUs make smaller copies.
fn half_of(texels: &[[u8; 4]], sides: [u32; 2], half: [u32; 2], light: &[f32; 256]) -> Level {
    let [width, height] = half;
    let mut bytes = Vec::with_capacity(width as usize * height as usize);
    let at = |x: u32, y: u32| {
        let x = x.min(sides[0] - 1);
        let y = y.min(sides[1] - 1);
        let index = y as usize * sides[0] as usize + x as usize;
        texels.get(index).copied().unwrap_or_default()
    };
    for y in 0..height {
        for x in 0..width {
            let four = [
                at(2 * x, 2 * y),
                at(2 * x + 1, 2 * y),
                at(2 * x, 2 * y + 1),
                at(2 * x + 1, 2 * y + 1),
            ];
            bytes.push(mean(four, light));
        }
    }
    Level {
        width,
        height,
        bytes,
    }
}

fn mean(four: [[u8; 4]; 4], light: &[f32; 256]) -> [u8; 4] {
    let mut sum = [0.0_f32; 4];
    for texel in four {
        for (sum, byte) in sum.iter_mut().zip(texel).take(3) {
            *sum += light[usize::from(byte)];
        }
        sum[3] += f32::from(texel[3]);
    }
    let [red, green, blue, alpha] = sum.map(|sum| sum / 4.0);
    [
        byte(curve(red)),
        byte(curve(green)),
        byte(curve(blue)),
        byte(alpha / 255.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(width: u32, height: u32, texel: impl Fn(u32, u32) -> [u8; 4]) -> Texture {
        let library = meshmap_images::Library::default();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let mut encoder = png::Encoder::new(std::fs::File::create(&path).unwrap(), width, height);
        encoder.set_color(png::ColorType::Rgba);
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let bytes: Vec<u8> = places.flat_map(|(x, y)| texel(x, y)).collect();
        encoder
            .write_header()
            .unwrap()
            .write_image_data(&bytes)
            .unwrap();
        let places = meshmap_images::Places {
            beside: Some(folder.path()),
            below: &[],
        };
        let found = library.find(&["a.png".to_owned()], &places).unwrap();
        Texture::new(library.pixels(&found, 1 << 24).unwrap(), Alpha::Blend)
    }

    #[test]
    fn images_are_repeated_and_smooth() {
        let texture = image(2, 1, |x, _| [255 * x as u8, 0, 0, 255]);
        let at = |u: f32| texture.sample([u, 0.5], [0.0; 2], [0.0; 2])[0];
        assert_eq!(
            [at(0.25), at(0.75), at(1.25), at(-0.25)],
            [0.0, 1.0, 0.0, 1.0]
        );
        assert!((at(0.5) - 0.5).abs() < 1e-6 && (at(0.0) - 0.5).abs() < 1e-6);
        for odd in [f32::NAN, f32::INFINITY, 1e30, -1e30] {
            assert!(at(odd).is_finite());
        }
    }

    #[test]
    fn far_away_an_image_has_its_mean() {
        let texture = image(8, 4, |x, y| {
            let is_white = (x + y) % 2 == 0;
            [
                255 * u8::from(is_white),
                255 * u8::from(is_white),
                0,
                255 * u8::from(is_white),
            ]
        });
        let [red, _, blue, alpha] = texture.sample([0.3, 0.3], [8.0, 0.0], [0.0, 8.0]);
        assert!((red - 0.5).abs() < 0.01 && blue == 0.0 && (alpha - 0.5).abs() < 0.01);
        assert_eq!(bytes_of_copies([8, 4]), (4 * 2 + 2 + 1) * 4);
        assert_eq!(texture.smaller.len(), 3);
    }

    #[test]
    fn levels_follow_the_step() {
        assert_eq!(level_of(0.3), (0, 0.0));
        assert_eq!(level_of(2.0), (1, 0.0));
        assert_eq!(level_of(3.0), (1, 0.5));
        assert_eq!(level_of(f32::NAN), (0, 0.0));
        assert_eq!(level_of(f32::INFINITY).0, 128);
    }
}
