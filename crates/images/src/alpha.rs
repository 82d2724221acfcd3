//! The use of the alpha channel.

use crate::pixels::Pixels;

/// The use of the alpha channel of an image, as glTF's `alphaMode` has it.
///
/// Mesh files do not store it: games had it in the scripts of materials.
///
/// * [`Opaque`](Self::Opaque): no pixel has an alpha below 250 of 255, which lossy compression makes of 255 (BC3, WebP).
///   An image whose alpha is 0 everywhere is also opaque: it would not be seen at all. Programs wrote such 32-bit TGA and BMP files,
///   with the fourth channel unused, and viewers such as those with `stb_image` also ignore the channel then.
/// * [`Mask`](Self::Mask): at most a twentieth of the pixels have an alpha from 8 to 247. These are leaves and fences, whose borders are
///   antialiased. Drawn as a mask, they hide what is behind them without being sorted.
/// * [`Blend`](Self::Blend): everything else, such as glass, smoke and hair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Alpha {
    /// The alpha channel has no use.
    Opaque,
    /// A pixel is either seen or not: it is seen if its alpha is at least one half.
    Mask,
    /// The alpha channel is the opacity.
    Blend,
}

impl Alpha {
    pub(crate) fn of(pixels: &Pixels) -> Self {
        let mut minimum = u8::MAX;
        let mut maximum = 0;
        let mut between: u64 = 0;
        for [.., alpha] in pixels.texels() {
            minimum = minimum.min(*alpha);
            maximum = maximum.max(*alpha);
            between += u64::from((8..=247).contains(alpha));
        }
        if minimum >= 250 || maximum == 0 {
            Self::Opaque
        } else if between * 20 <= pixels.texels().len() as u64 {
            Self::Mask
        } else {
            Self::Blend
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(alphas: &[u8]) -> Alpha {
        let mut bytes = Vec::new();
        for alpha in alphas {
            bytes.extend([1, 2, 3, *alpha]);
        }
        Alpha::of(&Pixels {
            width: alphas.len() as u32,
            height: 1,
            bytes,
        })
    }

    #[test]
    fn few_pixels_between_the_extremes_are_a_mask() {
        assert_eq!(of(&[255; 4]), Alpha::Opaque);
        assert_eq!(of(&[255, 250, 252]), Alpha::Opaque);
        assert_eq!(of(&[0; 9]), Alpha::Opaque);
        assert_eq!(of(&[0, 255]), Alpha::Mask);
        assert_eq!(of(&[7, 248]), Alpha::Mask);
        assert_eq!(of(&[0, 1]), Alpha::Mask);
        let mut border = [255; 40];
        border[..2].fill(128);
        assert_eq!(of(&border), Alpha::Mask);
        border[2] = 8;
        assert_eq!(of(&border), Alpha::Blend);
        assert_eq!(of(&[128]), Alpha::Blend);
    }
}
