//! A shadow on the ground below a scene, as of light from everywhere above.
//!
//! A picture from below has the height of what is above each place of the ground. Near the ground it takes most of the light; what is higher
//! takes less, and from a wider area. Renderers of products call this a contact shadow: without it, a thing seems to float.

use meshmap_job::{Budget, Result};

use crate::camera::{Camera, FINE, Ground, Place};
use crate::drawing::Drawing;
use crate::raster::{Band, Pass, Triangles};

/// The pixels of a side of the picture from below.
const SIDE: u32 = 160;
/// The pixels around the scene, into which the shadow fades.
const MARGIN: f64 = 40.0;
/// The share of the widest side of the scene up to which things above the ground take light from it.
const HEIGHT: f64 = 0.4;
/// The share of light that the darkest shadow takes.
const DARKEST: f32 = 0.65;
/// The share of half the picture at its border in which the shadow fades: about what a scene leaves free.
const BORDER: f64 = 0.1;
/// The radii of the two blurs, in pixels of the picture from below: of the contact, and of the wide shadow around it.
const RADII: [usize; 2] = [3, 12];

/// The means that make a blur.
const MEANS: usize = 3;

/// The light that the ground lacks, seen from above.
pub(crate) struct Shadow {
    ground: Ground,
    /// The corner of the picture from below, and pixels for each unit.
    corner: [f64; 2],
    scale: f64,
    /// The share of the light that is missing, row after row.
    missing: Vec<f32>,
}

impl Shadow {
    /// The shadow of the triangles of a scene that a pass takes; `None` of a scene without an extent.
    pub(crate) fn of(
        scene: &Drawing,
        camera: &Camera,
        pass: &impl Pass,
        budget: &Budget,
    ) -> Result<Option<Self>> {
        let mut least = [f64::INFINITY; 2];
        let mut greatest = [f64::NEG_INFINITY; 2];
        for point in &scene.positions {
            let [x, _, z] = camera.above_ground(*point);
            for (axis, number) in [x, z].into_iter().enumerate() {
                least[axis] = least[axis].min(number);
                greatest[axis] = greatest[axis].max(number);
            }
        }
        let extent = f64::max(greatest[0] - least[0], greatest[1] - least[1]);
        if !(extent > 0.0 && extent.is_finite()) {
            return Ok(None);
        }
        let scale = (f64::from(SIDE) - 2.0 * MARGIN) / extent;
        // The scene is in the middle of the picture.
        let corner =
            [0, 1].map(|axis| (least[axis] + greatest[axis]) / 2.0 - f64::from(SIDE) / 2.0 / scale);
        let highest = extent * HEIGHT;
        let place = |point: &[f32; 3]| {
            let [x, y, z] = camera.above_ground(*point);
            let fine = |number: f64| (number * scale * f64::from(1 << FINE)).round();
            // Within the picture, and far from where numbers end.
            #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
            Place {
                x: fine(x - corner[0]) as i32,
                y: fine(z - corner[1]) as i32,
                nearness: (1.0 - y / highest).clamp(0.0, 1.0) as f32,
            }
        };
        let _scope = budget.scope();
        budget.charge(memory_of(scene), "the shadow on the ground")?;
        let places: Vec<Place> = scene.positions.iter().map(place).collect();
        let triangles = Triangles::new(&scene.triangles, &places);
        budget.work(
            triangles.work,
            "drawing of the shadow of triangles that cover the ground many times",
        )?;
        let middle = 1 << (FINE - 1);
        let samples = [[middle, middle]];
        let band = Band::draw(&triangles, SIDE, 0..SIDE, &samples, pass);
        let [contact, wide] = RADII.map(|radius| blurred(band.nearness(), radius));
        let missing = contact
            .iter()
            .zip(&wide)
            .map(|(contact, wide)| DARKEST * (0.6 * contact + 0.4 * wide))
            .collect();
        Ok(Some(Self {
            ground: camera.ground(),
            corner,
            scale,
            missing,
        }))
    }

    /// The share of the light that is missing at the ground that is seen at a pixel.
    pub(crate) fn at(&self, column: u32, row: u32) -> f32 {
        let place = [f64::from(column) + 0.5, f64::from(row) + 0.5];
        let Some([x, z]) = self.ground.at(place[0], place[1]) else {
            return 0.0;
        };
        let [x, y] = [(x - self.corner[0]), (z - self.corner[1])].map(|way| way * self.scale - 0.5);
        let last = f64::from(SIDE - 1);
        if !(x >= 0.0 && y >= 0.0 && x < last && y < last) {
            return 0.0;
        }
        let left = x as usize;
        let above = y as usize;
        let at = |column: usize, row: usize| {
            let index = row * SIDE as usize + column;
            self.missing.get(index).copied().unwrap_or(0.0)
        };
        #[expect(clippy::cast_possible_truncation, reason = "shares of 1")]
        let (across, down) = ((x - left as f64) as f32, (y - above as f64) as f32);
        let mixed = |a: f32, b: f32, share: f32| a + (b - a) * share;
        let missing = mixed(
            mixed(at(left, above), at(left + 1, above), across),
            mixed(at(left, above + 1), at(left + 1, above + 1), across),
            down,
        );
        missing * self.fade(place)
    }

    /// The share of the shadow that is left at a place of the picture: at its border there is none. A shadow that ends at the border is
    /// seen to be cut off, above all on a page that shows a transparent picture.
    fn fade(&self, [x, y]: [f64; 2]) -> f32 {
        let [across, down] = self.ground.inside(x, y);
        let nearest = if across < down { across } else { down };
        #[expect(clippy::cast_possible_truncation, reason = "a share of 1")]
        let share = (nearest / BORDER).clamp(0.0, 1.0) as f32;
        share * share * (3.0 - 2.0 * share)
    }
}

/// The memory that the shadow of a scene takes: the places of vertices, the rows of triangles, and the pictures from below.
fn memory_of(scene: &Drawing) -> u64 {
    /// The picture and its triangles, two blurred ones, and what a blur turns.
    const PICTURES: u64 = 8;
    let places = scene.positions.len() as u64 * size_of::<Place>() as u64;
    let rows = scene.triangles.len() as u64 * size_of::<[u16; 2]>() as u64;
    let pixels = u64::from(SIDE) * u64::from(SIDE) * size_of::<f32>() as u64;
    places + rows + PICTURES * pixels
}

/// The means of the squares around each pixel, [three times](MEANS): nearly a Gaussian blur.
fn blurred(pixels: &[f32], radius: usize) -> Vec<f32> {
    let side = SIDE as usize;
    let mut blurred = pixels.to_vec();
    for _ in 0..MEANS {
        let turned = transposed(&blurred, side);
        let across = blurred_columns(&turned, side, radius);
        let turned = transposed(&across, side);
        blurred = blurred_columns(&turned, side, radius);
    }
    blurred
}

/// The mean of the pixels around each pixel of its column. Beyond the picture, there is nothing.
///
/// The sums of all columns move down together: an animation has a shadow for each frame, and sums one after the other took five times as
/// long.
fn blurred_columns(pixels: &[f32], side: usize, radius: usize) -> Vec<f32> {
    let width = (2 * radius + 1) as f32;
    let rows: Vec<&[f32]> = pixels.chunks(side).collect();
    let mut sums = vec![0.0; side];
    for row in rows.iter().take(radius) {
        add(&mut sums, row);
    }
    let mut blurred = Vec::with_capacity(pixels.len());
    for number in 0..rows.len() {
        if let Some(next) = rows.get(number + radius) {
            add(&mut sums, next);
        }
        blurred.extend(sums.iter().map(|sum| sum / width));
        let last = number.checked_sub(radius).and_then(|last| rows.get(last));
        if let Some(last) = last {
            for (sum, pixel) in sums.iter_mut().zip(*last) {
                *sum -= pixel;
            }
        }
    }
    blurred
}

fn add(sums: &mut [f32], row: &[f32]) {
    for (sum, pixel) in sums.iter_mut().zip(row) {
        *sum += pixel;
    }
}

fn transposed(pixels: &[f32], side: usize) -> Vec<f32> {
    let at = |index: usize| {
        let row = index / side;
        let column = index % side;
        pixels.get(column * side + row).copied().unwrap_or(0.0)
    };
    (0..pixels.len()).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blur_keeps_the_sum_and_spreads_it() {
        let side = SIDE as usize;
        let mut pixels = vec![0.0; side * side];
        pixels[side * 80 + 80] = 1.0;
        let blurred = blurred(&pixels, 3);
        assert!((blurred.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        assert!(blurred[side * 80 + 80] < 0.05);
        assert!((blurred[side * 80 + 85] - blurred[side * 85 + 80]).abs() < 1e-6);
        assert!(blurred[side * 80 + 95].abs() < 1e-6);
    }
}
