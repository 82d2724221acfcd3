//! Colours: as light, which adds up, and as the bytes of a picture.
//!
//! The curve between them is made of products and square roots, which are the same on every host.

use meshmap_scene::Tints;

/// Red, green and blue as amounts of light.
pub(crate) type Light = [f32; 3];

/// The colour of the plain background.
pub(crate) const GROUND: [u8; 3] = [0xf2, 0xf3, 0xf5];
/// The colour of text and of lines.
pub(crate) const INK: [u8; 3] = [0x22, 0x26, 0x2b];
/// The background colour of texts about pictures that cannot be shown.
pub(crate) const TROUBLE: [u8; 3] = [0xf3, 0xd6, 0xd2];

/// From no distance to the largest.
const HEAT: [[u8; 3]; 5] = [
    [0x30, 0x3f, 0x7a],
    [0x2b, 0x8c, 0xa8],
    [0x6c, 0xb8, 0x6a],
    [0xec, 0xc2, 0x3f],
    [0xc9, 0x3a, 0x2c],
];

/// The light of colours that are looked up for each pixel.
pub(crate) struct Palette {
    tints: [Light; Tints::COLORS.len()],
    heat: [Light; HEAT.len()],
}

impl Palette {
    pub(crate) fn new() -> Self {
        Self {
            tints: Tints::COLORS.map(light),
            heat: HEAT.map(light),
        }
    }

    /// The colour of a material, by its index in the scene.
    pub(crate) fn tint(&self, number: u16) -> Light {
        self.tints[usize::from(number) % self.tints.len()]
    }

    /// The colour of a distance, as a part of the largest.
    pub(crate) fn heat(&self, part: f32) -> Light {
        let part = if part > 0.0 { part } else { 0.0 };
        let at = part * (HEAT.len() - 1) as f32;
        let below = (at as usize).min(HEAT.len() - 2);
        let fraction = if at - below as f32 > 1.0 {
            1.0
        } else {
            at - below as f32
        };
        let a = self.heat[below];
        let b = self.heat[below + 1];
        std::array::from_fn(|channel| a[channel] + (b[channel] - a[channel]) * fraction)
    }
}

/// The light of a colour of a picture: [`bytes`] gives the colour back.
pub(crate) fn light(bytes: [u8; 3]) -> Light {
    bytes.map(|byte| {
        let wanted = f32::from(byte) / 255.0;
        let mut below = 0.0;
        let mut above = 1.0;
        // As often as numbers of this precision can be halved.
        for _ in 0..24 {
            let middle = (below + above) * 0.5;
            if curve(middle) < wanted {
                below = middle
            } else {
                above = middle
            }
        }
        if byte == 0 { 0.0 } else { above }
    })
}

/// The light of each byte.
pub(crate) fn light_of_bytes() -> [f32; 256] {
    std::array::from_fn(|byte| light([byte as u8; 3])[0])
}

/// The colour of light in a picture. What is too bright is white.
pub(crate) fn bytes([red, green, blue]: Light) -> [u8; 3] {
    [byte(curve(red)), byte(curve(green)), byte(curve(blue))]
}

/// Light as a number of a picture, nearly as sRGB defines it.
pub(crate) fn curve(x: f32) -> f32 {
    let x = if x > 0.0 { x } else { 0.0 };
    if x <= 0.003_130_8 {
        return x * 12.92;
    }
    let square = x.sqrt();
    let fourth = square.sqrt();
    let eighth = fourth.sqrt();
    0.662_002_7 * square + 0.684_122_1 * fourth - 0.323_583_6 * eighth - 0.022_541_147 * x
}

/// The nearest byte of a number from 0 to 1.
pub(crate) fn byte(number: f32) -> u8 {
    // Saturates.
    (number * 255.0 + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_light_are_the_bytes_it_was_made_of() {
        for value in 0..=255_u8 {
            assert_eq!(bytes(light([value; 3])), [value; 3]);
        }
        assert_eq!(bytes([f32::INFINITY, -1.0, f32::NAN])[1..], [0, 0]);
    }

    #[test]
    fn the_curve_is_nearly_that_of_srgb() {
        for step in 0..=1000 {
            let x = step as f32 / 1000.0;
            let exact = if x <= 0.003_130_8 {
                x * 12.92
            } else {
                1.055 * x.powf(1.0 / 2.4) - 0.055
            };
            assert!(
                (curve(x) - exact).abs() < 0.012,
                "{x}: {} {exact}",
                curve(x)
            );
        }
    }

    #[test]
    fn heat_is_that_of_its_ends_beyond_them() {
        let palette = Palette::new();
        assert_eq!(palette.heat(-1.0), palette.heat(0.0));
        assert_eq!(palette.heat(2.0), palette.heat(1.0));
        assert_eq!(palette.heat(f32::NAN), palette.heat(0.0));
    }
}
