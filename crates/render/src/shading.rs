//! The colour of a triangle at a position on the picture.
//!
//! Light is a sum of products and square roots, which are the same on every host.

use crate::camera::{FINE, Place, upright};
use crate::color::{self, Light, Palette};
use crate::drawing::Drawing;
use crate::raster::edge;
use crate::settings::Mode;
use meshmap_scene::vector::{cross, dot, scaled, sub, unit};

/// A light far away, and large enough that its shadows have no edges.
struct Lamp {
    /// To the lamp, of length 1.
    to: [f32; 3],
    /// Half way from the lamp to the viewer, of length 1.
    half: [f32; 3],
    light: Light,
    shine: f32,
}

/// From the left above, from the right, and from behind.
const LAMPS: [Lamp; 3] = [
    Lamp {
        to: [-0.48, 0.64, 0.6],
        half: [-0.268_328, 0.357_771, 0.894_427],
        light: [0.66, 0.64, 0.6],
        shine: 0.16,
    },
    Lamp {
        to: [0.8, 0.0, 0.6],
        half: [0.447_214, 0.0, 0.894_427],
        light: [0.2, 0.22, 0.26],
        shine: 0.05,
    },
    Lamp {
        to: [0.36, 0.48, -0.8],
        half: [0.569_21, 0.758_947, 0.316_228],
        light: [0.2, 0.2, 0.2],
        shine: 0.0,
    },
];
/// The light from above and from below, for both sides.
const SKY: Light = [0.3, 0.31, 0.33];
const FLOOR: Light = [0.13, 0.125, 0.12];

/// Points of a scene as a camera sees them.
pub(crate) struct Seen<'a> {
    pub(crate) scene: &'a Drawing,
    pub(crate) places: &'a [Place],
    /// From the eye: to the right, up, and to the viewer.
    pub(crate) points: &'a [[f32; 3]],
    /// Their normals, in the same directions.
    pub(crate) normals: &'a [[f32; 3]],
    pub(crate) mode: Mode,
    pub(crate) palette: &'a Palette,
}

/// A triangle at a place.
pub(crate) struct Look {
    pub(crate) light: Light,
    /// On the side of the viewer.
    pub(crate) normal: [f32; 3],
    pub(crate) nearness: f32,
}

impl Seen<'_> {
    /// The colour between three vertices; `None` if one of them has none.
    fn mixed(&self, corners: [usize; 3], near: [f32; 3], nearness: f32) -> Option<Light> {
        let [a, b, c] = corners.map(|corner| self.scene.colors.get(corner).copied().flatten());
        let (a, b, c) = (a?, b?, c?);
        Some(std::array::from_fn(|at| {
            (a[at] * near[0] + b[at] * near[1] + c[at] * near[2]) / nearness
        }))
    }

    /// A triangle at a place inside it, in parts of a pixel.
    pub(crate) fn look(&self, id: u32, x: i64, y: i64) -> Option<Look> {
        let corners = *self.scene.triangles.get(id as usize)?;
        let surface = self.scene.surfaces.get(id as usize)?;
        let [a, b, c] = [
            corners[0] as usize,
            corners[1] as usize,
            corners[2] as usize,
        ];
        let [pa, pb, pc] = [
            *self.places.get(a)?,
            *self.places.get(b)?,
            *self.places.get(c)?,
        ];
        let sides = [edge(pb, pc, x, y), edge(pc, pa, x, y), edge(pa, pb, x, y)];
        let area = sides[0] + sides[1] + sides[2];
        let whole = area as f32;
        let shares = [
            sides[0] as f32 / whole,
            sides[1] as f32 / whole,
            sides[2] as f32 / whole,
        ];
        let near = [
            pa.nearness * shares[0],
            pb.nearness * shares[1],
            pc.nearness * shares[2],
        ];
        let nearness = near[0] + near[1] + near[2];
        let points = [
            *self.points.get(a)?,
            *self.points.get(b)?,
            *self.points.get(c)?,
        ];
        let normals = [
            *self.normals.get(a)?,
            *self.normals.get(b)?,
            *self.normals.get(c)?,
        ];
        let flat = unit(cross(sub(points[1], points[0]), sub(points[2], points[0])))
            .unwrap_or([0.0, 0.0, 1.0]);
        let corner = |index: usize| {
            let normal = normals[index];
            let has_edge = surface.is_creased && dot(normal, flat) < CREASE;
            scaled(if has_edge { flat } else { normal }, near[index])
        };
        let [na, nb, nc] = [corner(0), corner(1), corner(2)];
        let sum = [
            na[0] + nb[0] + nc[0],
            na[1] + nb[1] + nc[1],
            na[2] + nb[2] + nc[2],
        ];
        let smooth = unit(sum).unwrap_or(flat);
        // The visible side of the triangle faces the viewer, for either winding.
        let side = if dot(flat, points[0]) > 0.0 {
            scaled(flat, -1.0)
        } else {
            flat
        };
        let normal = if dot(smooth, side) < 0.0 {
            scaled(smooth, -1.0)
        } else {
            smooth
        };
        let base = match &self.scene.heat {
            Some(heat) => {
                let of = |corner: usize| heat.get(corner).copied().unwrap_or(0.0);
                let [ha, hb, hc] = [of(a), of(b), of(c)];
                self.palette
                    .heat((ha * near[0] + hb * near[1] + hc * near[2]) / nearness)
            }
            None if self.mode == Mode::Clay => self.palette.tint(0),
            None => self
                .mixed([a, b, c], near, nearness)
                .unwrap_or(self.palette.tint(surface.tint)),
        };
        let light = match self.mode {
            // Colours that stand in a scale are not to be darkened much.
            Mode::Shaded | Mode::Clay if self.scene.heat.is_some() => {
                scaled(base, 0.7 + 0.3 * normal[2])
            }
            Mode::Shaded | Mode::Clay => lit(base, normal),
            Mode::Normals => {
                let bytes = upright(smooth).map(|number| color::byte(number * 0.5 + 0.5));
                color::light(bytes)
            }
            Mode::Wireframe => {
                let line = line([pa, pb, pc], sides);
                let (ground, ink) = (self.palette.ground, base.map(|channel| channel * 0.35));
                std::array::from_fn(|channel| {
                    ground[channel] + (ink[channel] - ground[channel]) * line
                })
            }
        };
        Some(Look {
            light,
            normal,
            nearness,
        })
    }
}

/// The cosine of the angle between a triangle and a computed normal of a corner, about 45 degrees, from which on the
/// triangle has an edge there.
const CREASE: f32 = 0.7;

/// The coverage of a line at a position with these distances from the sides of a triangle.
fn line([a, b, c]: [Place; 3], sides: [i64; 3]) -> f32 {
    /// Half the width of lines, in pixels.
    const HALF: f32 = 0.55;
    let length = |p: Place, q: Place| {
        let [x, y] = [
            f64::from(q.x) - f64::from(p.x),
            f64::from(q.y) - f64::from(p.y),
        ];
        (x * x + y * y).sqrt()
    };
    let lengths = [length(b, c), length(c, a), length(a, b)];
    let mut nearest = f32::INFINITY;
    for (side, length) in sides.iter().zip(lengths) {
        #[expect(clippy::cast_possible_truncation, reason = "the nearest will do")]
        let distance = (side.unsigned_abs() as f64 / length / f64::from(1 << FINE)) as f32;
        if distance < nearest {
            nearest = distance;
        }
    }
    (HALF + 0.5 - nearest).clamp(0.0, 1.0)
}

/// The light that a surface of a colour sends to the viewer.
fn lit(base: Light, normal: [f32; 3]) -> Light {
    let above = normal[1] * 0.5 + 0.5;
    let mut light: Light =
        std::array::from_fn(|channel| FLOOR[channel] + (SKY[channel] - FLOOR[channel]) * above);
    let mut shine = 0.0;
    for lamp in &LAMPS {
        // A large lamp also lights what is turned away from its middle.
        let facing = (dot(normal, lamp.to) + 0.25) / 1.25;
        if facing > 0.0 {
            for (sum, channel) in light.iter_mut().zip(lamp.light) {
                *sum += channel * facing * (0.4 + 0.6 * facing);
            }
        }
        let mirrored = dot(normal, lamp.half);
        if mirrored > 0.0 {
            let square = mirrored * mirrored;
            let fourth = square * square;
            let eighth = fourth * fourth;
            shine += lamp.shine * eighth * eighth * eighth;
        }
    }
    std::array::from_fn(|channel| base[channel] * light[channel] + shine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lamps_have_directions_of_length_1() {
        for lamp in &LAMPS {
            assert!((dot(lamp.to, lamp.to) - 1.0).abs() < 1e-5);
            let half = unit([lamp.to[0], lamp.to[1], lamp.to[2] + 1.0]).unwrap();
            assert!(
                half.iter()
                    .zip(lamp.half)
                    .all(|(a, b)| (a - b).abs() < 1e-4),
                "{half:?}"
            );
        }
    }

    #[test]
    fn what_faces_the_first_lamp_is_the_brightest_and_nothing_is_black() {
        let gray = [0.5; 3];
        let towards = lit(gray, LAMPS[0].to);
        for normal in [
            [0.0, 0.0, 1.0],
            [1.0, 0.0, 0.0],
            [0.0, -1.0, 0.0],
            [-1.0, 0.0, 0.0],
        ] {
            let other = lit(gray, normal);
            assert!(
                other[0] < towards[0] && other[0] > 0.03,
                "{normal:?}: {other:?}"
            );
        }
    }
}
