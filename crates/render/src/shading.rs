//! The colour of a triangle at a position on the picture.
//!
//! Light is a sum of products and square roots, which are the same on every host.

use meshmap_images::Alpha;

use crate::camera::{FINE, Place, View};
use crate::color::{self, Light, Palette};
use crate::drawing::Drawing;
use crate::raster::edge;
use crate::settings::Mode;
use crate::texture::{Texel, Texture};
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
    pub(crate) view: View,
    pub(crate) mode: Mode,
    pub(crate) palette: &'a Palette,
}

/// A triangle at a place.
pub(crate) struct Look {
    pub(crate) light: Light,
    /// From 0 to 1.
    pub(crate) opacity: f32,
    /// On the side of the viewer.
    pub(crate) normal: [f32; 3],
    pub(crate) nearness: f32,
}

impl Seen<'_> {
    /// The places of the corners of a triangle.
    pub(crate) fn places_of(&self, id: u32) -> Option<[Place; 3]> {
        let [a, b, c] = *self.scene.triangles.get(id as usize)?;
        Some([self.place(a)?, self.place(b)?, self.place(c)?])
    }

    fn place(&self, corner: u32) -> Option<Place> {
        self.places.get(corner as usize).copied()
    }

    /// The image of a triangle.
    fn texture(&self, id: u32) -> Option<&Texture> {
        let surface = self.scene.surfaces.get(id as usize)?;
        let texture = self.scene.textures.get(usize::from(surface.texture))?;
        Some(texture)
    }

    /// The use of the opacity of a triangle.
    pub(crate) fn alpha(&self, id: u32) -> Alpha {
        self.texture(id)
            .map_or(Alpha::Opaque, |texture| texture.alpha)
    }

    /// The colour and the opacity between three vertices; `None` if one of them has none.
    fn mixed(&self, corners: [usize; 3], near: &Shares) -> Option<Texel> {
        let [a, b, c] = corners.map(|corner| self.scene.colors.get(corner).copied().flatten());
        let a = a?;
        let b = b?;
        let c = c?;
        let mixed = |at: usize| near.mixed([a[at], b[at], c[at]]);
        Some([mixed(0), mixed(1), mixed(2), mixed(3)])
    }

    /// The image at a place inside a triangle, in parts of a pixel.
    fn image(
        &self,
        texture: &Texture,
        corners: [usize; 3],
        places: [Place; 3],
        [x, y]: [i64; 2],
    ) -> Texel {
        let coordinates = corners.map(|corner| {
            let known = self.scene.coordinates.get(corner);
            known.copied().unwrap_or_default()
        });
        let at = |x: i64, y: i64| {
            let near = Shares::at(places, x, y);
            let [a, b, c] = coordinates;
            [
                near.mixed([a[0], b[0], c[0]]),
                near.mixed([a[1], b[1], c[1]]),
            ]
        };
        let place = at(x, y);
        let step = |other: [f32; 2]| [other[0] - place[0], other[1] - place[1]];
        let pixel = 1 << FINE;
        texture.sample(place, step(at(x + pixel, y)), step(at(x, y + pixel)))
    }

    /// The opacity of a triangle at a place inside it, in parts of a pixel.
    pub(crate) fn opacity(&self, id: u32, x: i64, y: i64) -> Option<f32> {
        let texture = self.texture(id)?;
        let corners = (*self.scene.triangles.get(id as usize)?).map(|corner| corner as usize);
        let places = self.places_of(id)?;
        let [.., opacity] = self.image(texture, corners, places, [x, y]);
        let near = Shares::at(places, x, y);
        let [.., of_vertices] = self.mixed(corners, &near).unwrap_or([1.0; 4]);
        Some(opacity * of_vertices)
    }

    /// A triangle at a place inside it, in parts of a pixel.
    pub(crate) fn look(&self, id: u32, x: i64, y: i64) -> Option<Look> {
        let corners = (*self.scene.triangles.get(id as usize)?).map(|corner| corner as usize);
        let surface = self.scene.surfaces.get(id as usize)?;
        let [a, b, c] = corners;
        let places = self.places_of(id)?;
        let near = Shares::at(places, x, y);
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
            scaled(if has_edge { flat } else { normal }, near.shares[index])
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
        let normal = if dot(smooth, side) < -IN_PLANE {
            scaled(smooth, -1.0)
        } else {
            smooth
        };
        if let Some(heat) = &self.scene.heat {
            let of = |corner: usize| heat.get(corner).copied().unwrap_or(0.0);
            let base = self.palette.heat(near.mixed([of(a), of(b), of(c)]));
            return Some(Look {
                // Colours that stand in a scale are not to be darkened much.
                light: scaled(base, 0.7 + 0.3 * normal[2]),
                opacity: 1.0,
                normal,
                nearness: near.nearness,
            });
        }
        let mut opacity = 1.0;
        let light = match self.mode {
            Mode::Clay | Mode::Wireframe => lit(self.palette.tint(0), normal),
            Mode::Normals => {
                let upright = self.view.upright(smooth);
                color::light(upright.map(|number| color::byte(number * 0.5 + 0.5)))
            }
            Mode::Shaded => {
                let of_vertices = self.mixed(corners, &near);
                let [red, green, blue, alpha] = match self.texture(id) {
                    // As in glTF, colours of vertices multiply the image.
                    Some(texture) => {
                        let image = self.image(texture, corners, places, [x, y]);
                        let factor = of_vertices.unwrap_or([1.0; 4]);
                        std::array::from_fn(|channel| image[channel] * factor[channel])
                    }
                    None => of_vertices.unwrap_or_else(|| {
                        let [red, green, blue] = self.palette.tint(surface.tint);
                        [red, green, blue, 1.0]
                    }),
                };
                if self.alpha(id) == Alpha::Blend {
                    opacity = alpha;
                }
                lit([red, green, blue], normal)
            }
        };
        Some(Look {
            light,
            opacity,
            normal,
            nearness: near.nearness,
        })
    }
}

/// The shares of the corners of a triangle at a place on the picture, each by its nearness: what is evenly spread on the triangle is mixed
/// with these.
struct Shares {
    shares: [f32; 3],
    nearness: f32,
}

impl Shares {
    fn at([a, b, c]: [Place; 3], x: i64, y: i64) -> Self {
        let sides = [edge(b, c, x, y), edge(c, a, x, y), edge(a, b, x, y)];
        let area = sides[0] + sides[1] + sides[2];
        let whole = area as f32;
        let shares = [
            a.nearness * (sides[0] as f32 / whole),
            b.nearness * (sides[1] as f32 / whole),
            c.nearness * (sides[2] as f32 / whole),
        ];
        Self {
            shares,
            nearness: shares[0] + shares[1] + shares[2],
        }
    }

    fn mixed(&self, [a, b, c]: [f32; 3]) -> f32 {
        (a * self.shares[0] + b * self.shares[1] + c * self.shares[2]) / self.nearness
    }
}

/// The cosine of the angle between a triangle and a computed normal of a corner, about 45 degrees, from which on the
/// triangle has an edge there.
const CREASE: f32 = 0.7;

/// Maximum cosine of the angle between a normal that lies in its triangle and the normal of the triangle. It is on the visible side then,
/// because rounding would decide otherwise, for each pixel by itself.
const IN_PLANE: f32 = 1e-4;

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
