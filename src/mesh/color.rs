//! Stored colours as linear light.

/// Converts colours as stored to linear light, in place. Returns `false`, and changes nothing, if a number is not from 0 to 1.
///
/// Files store red, green and blue in sRGB, as pictures do; alpha is linear. No format names a colour space, but their
/// programs agree: the exporter of the IQM SDK writes the bytes of Blender's vertex paint, engines that read IQM multiply
/// them with the pixels of textures, and MeshLab and tools for point clouds show colours as the pixels that they were made
/// from. GPUs and renderers add light, and glTF, USD, Bevy and three.js expect linear colours. Without the conversion,
/// everything but black and white is drawn too bright.
///
/// Programs also store other data under the name of colours. Numbers outside of 0 to 1, NaN and infinite ones are such data, which are
/// not drawn.
///
/// The result is the same on every host.
///
/// # Examples
///
/// ```
/// use meshmap::colors_to_linear;
///
/// let mut colors = [[0.0, 0.5, 1.0, 0.5]];
/// assert!(colors_to_linear(&mut colors));
/// assert_eq!(colors, [[0.0, 0.21404114, 1.0, 0.5]]);
/// assert!(!colors_to_linear(&mut [[2.0, 0.0, 0.0, 1.0]]));
/// ```
pub fn colors_to_linear(colors: &mut [[f32; 4]]) -> bool {
    for number in colors.as_flattened() {
        if !(0.0..=1.0).contains(number) {
            return false;
        }
    }
    for [red, green, blue, _] in colors {
        *red = linear(*red);
        *green = linear(*green);
        *blue = linear(*blue);
    }
    true
}

/// The linear light of a channel of sRGB (IEC 61966-2-1): `base` to the power of 2.4 = 2 + 2/5.
///
/// `powf` depends on the host's mathematical library. Roots and products are rounded in the same way on every host.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the nearest float is meant"
)]
fn linear(channel: f32) -> f32 {
    let channel = f64::from(channel);
    if channel <= 0.04045 {
        return (channel / 12.92) as f32;
    }
    let base = (channel + 0.055) / 1.055;
    let square = base * base;
    // The fifth root of the square by Newton's method, from the power 3/8 instead of 2/5, which is at most 6 % too large.
    let quarter = base.sqrt().sqrt();
    let mut root = quarter * quarter.sqrt();
    for _ in 0..4 {
        root -= (root - square / (root * root * root * root)) / 5.0;
    }
    (square * root) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_those_of_srgb() {
        for step in 0..=100_000_u32 {
            let channel = (f64::from(step) / 100_000.0) as f32;
            let exact = match f64::from(channel) {
                dark if dark <= 0.04045 => dark / 12.92,
                bright => ((bright + 0.055) / 1.055).powf(2.4),
            };
            assert!(
                (f64::from(linear(channel)) - exact).abs() <= exact * 6e-8,
                "{channel}"
            );
        }
        assert_eq!([linear(0.0), linear(1.0)], [0.0, 1.0]);
    }

    #[test]
    fn other_data_stay() {
        for number in [-0.1, 1.001, f32::NAN, f32::INFINITY] {
            for at in 0..4 {
                let mut colors = [[0.5; 4]; 2];
                colors[1][at] = number;
                let before = colors.map(|color| color.map(f32::to_bits));
                assert!(!colors_to_linear(&mut colors));
                assert_eq!(colors.map(|color| color.map(f32::to_bits)), before);
            }
        }
        assert!(colors_to_linear(&mut []));
    }
}
