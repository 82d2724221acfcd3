//! The distances between the vertices of two meshes, as colours, with a scale.

use meshmap_job::{Error, Result};

use crate::background::Background;
use crate::camera::Frame;
use crate::color::{self, Palette};
use crate::drawing::Drawing;
use crate::label;
use crate::picture::Picture;
use crate::settings::TARGET;

/// The height of the scale.
pub(crate) const SCALE: u32 = 40;

/// Colours a scene by the distances between its vertices and the vertices of another scene; returns the largest.
pub(crate) fn color_by_distance(scene: &mut Drawing, other: &Drawing) -> Result<f64> {
    let refused = |what: String| {
        Err(Error::NotHeld {
            target: TARGET,
            what,
        })
    };
    let [a, b] = [scene.vertices, other.vertices];
    if a != b {
        return refused(format!(
            "{a} vertices in the first, {b} in the second: distances need the same number"
        ));
    }
    if scene.triangles != other.triangles || scene.indices != other.indices {
        let corners = |scene: &Drawing, triangle: &[u32; 3]| {
            triangle.map(|corner| scene.indices.get(corner as usize).copied())
        };
        let pairs = scene.triangles.iter().zip(&other.triangles);
        let differing = pairs
            .filter(|(a, b)| corners(scene, a) != corners(other, b))
            .count();
        let [a, b] = [scene.triangles.len(), other.triangles.len()];
        return refused(match a == b {
            true => format!(
                "{differing} of {a} triangles have other corners in the second: distances need the same"
            ),
            false => {
                format!("{a} triangles in the first, {b} in the second: distances need the same")
            }
        });
    }
    let distance = |(a, b): (&[f32; 3], &[f32; 3])| {
        let squares = a.iter().zip(b).map(|(a, b)| {
            let way = f64::from(*a) - f64::from(*b);
            way * way
        });
        squares.sum::<f64>().sqrt()
    };
    let distances: Vec<f64> = scene
        .positions
        .iter()
        .zip(&other.positions)
        .map(distance)
        .collect();
    let largest = distances.iter().fold(
        0.0,
        |largest, next| if *next > largest { *next } else { largest },
    );
    #[expect(clippy::cast_possible_truncation, reason = "a part of 1")]
    let part = |distance: f64| {
        if largest > 0.0 {
            (distance / largest) as f32
        } else {
            0.0
        }
    };
    scene.heat = Some(distances.into_iter().map(part).collect());
    Ok(largest)
}

/// A picture with a scale from 0 to the largest distance below it.
pub(crate) fn with_scale(picture: &Picture, largest: f64, background: Background) -> Picture {
    /// From the edges of the picture, and the height of the coloured bar.
    const MARGIN: u32 = 16;
    const BAR: u32 = 10;
    let frame = Frame {
        width: picture.width(),
        height: picture.height() + SCALE,
    };
    let mut whole = Picture::plain(frame, background);
    whole.paste(picture, 0, 0);
    let left = MARGIN.min(frame.width / 4);
    let right = frame.width - MARGIN.min(frame.width / 4);
    let top = picture.height() + 2;
    let steps = (right - left).max(2) - 1;
    let palette = Palette::new();
    for column in left..right {
        let [red, green, blue] = color::bytes(palette.heat((column - left) as f32 / steps as f32));
        let color = [red, green, blue, u8::MAX];
        (top..top + BAR).for_each(|row| whole.set(column, row, color));
    }
    let row = top + BAR + 4;
    label::write(&mut whole, "0", left, row, background.ink());
    let words = label::cut(&shown(largest), right - left, 0.5);
    // Saturates.
    let start = right.saturating_sub(label::width(&words).ceil() as u32);
    label::write(&mut whole, &words, start, row, background.ink());
    whole
}

/// A distance in four digits.
fn shown(distance: f64) -> String {
    if distance == 0.0 || (1e-3..1e5).contains(&distance) {
        format!("{distance:.4}")
    } else {
        format!("{distance:.3e}")
    }
}
