//! Colours for materials of which a file stores a name or a number, and no colour.

use std::collections::HashMap;

/// The colours of the materials of a scene, so that all programs draw a file in the same colours.
///
/// A material with vertex colours or an image has these, and is white otherwise.
///
/// # Examples
///
/// ```
/// use meshmap_scene::Tints;
///
/// let mut tints = Tints::default();
/// let clay = tints.color(0, None, None);
/// assert_eq!(clay, [0xc9, 0xc4, 0xbc]);
/// assert_ne!(tints.color(1, Some("bricks"), None), clay);
/// assert_eq!(tints.color(0, None, None), clay);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tints {
    numbers: HashMap<Surface, usize>,
}

/// Something that has one colour.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Surface {
    /// All triangles whose material has this name.
    Named(String),
    /// A shape without a material.
    Shape(usize),
}

impl Tints {
    /// The colours in sRGB; the first one is the colour of clay. Materials beyond the last one begin with the first again.
    pub const COLORS: [[u8; 3]; 12] = [
        [0xc9, 0xc4, 0xbc],
        [0x4f, 0x8f, 0xc9],
        [0xe0, 0x9a, 0x3e],
        [0x5f, 0xac, 0x62],
        [0xc9, 0x5d, 0x63],
        [0x8d, 0x78, 0xc0],
        [0x4d, 0xb0, 0xac],
        [0xd9, 0xc5, 0x4b],
        [0xb5, 0x7b, 0x55],
        [0xd4, 0x87, 0xb8],
        [0x86, 0x95, 0xa5],
        [0x9c, 0xb8, 0x55],
    ];

    /// The number of the colour of a surface.
    ///
    /// Triangles with a [number](crate::Buffer::material_ids) for their material have that number, in whatever order they are asked for.
    /// Otherwise it counts the surfaces that were asked for: a material of this [name](crate::Material::name) or, without a name, a shape
    /// by its index in [`Scene::shapes`](crate::Scene::shapes). Programs that ask in the order of the shapes agree.
    pub fn number(&mut self, shape: usize, name: Option<&str>, id: Option<u32>) -> usize {
        let surface = match (name, id) {
            (Some(name), _) => Surface::Named(name.to_owned()),
            (None, Some(id)) => return id as usize,
            (None, None) => Surface::Shape(shape),
        };
        let next = self.numbers.len();
        *self.numbers.entry(surface).or_insert(next)
    }

    /// The colour of a surface in sRGB: see [`number`](Self::number).
    pub fn color(&mut self, shape: usize, name: Option<&str>, id: Option<u32>) -> [u8; 3] {
        let number = self.number(shape, name, id);
        Self::COLORS
            .get(number % Self::COLORS.len())
            .copied()
            .unwrap_or_default()
    }
}
