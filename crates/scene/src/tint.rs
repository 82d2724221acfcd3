//! Colours for materials of which a file stores a name or a number, and no colour.

use std::collections::HashMap;

/// The colours of the materials of a scene, so that all programs draw a file in the same colours: see
/// [`Scene::tints`](crate::Scene::tints).
///
/// A material with vertex colours or an image has these, and is white otherwise.
///
/// # Examples
///
/// ```
/// use meshmap_scene::Tints;
///
/// let clay = Tints::nth(0);
/// assert_eq!(clay, [0xc9, 0xc4, 0xbc]);
/// assert_ne!(Tints::nth(1), clay);
/// assert_eq!(Tints::nth(Tints::COLORS.len()), clay);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tints {
    shapes: Vec<ShapeTint>,
    /// The numbers of the materials with a name.
    named: HashMap<String, usize>,
    /// The number of the next material.
    next: usize,
}

/// The colour of a shape.
#[derive(Clone, Copy, Debug)]
struct ShapeTint {
    number: usize,
    /// `true` if triangles may have numbers for their materials, and the material has no name.
    has_ids: bool,
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

    /// The colour of a number, in sRGB.
    #[must_use]
    pub fn nth(number: usize) -> [u8; 3] {
        let color = Self::COLORS.get(number % Self::COLORS.len());
        color.copied().unwrap_or_default()
    }

    /// Counts the material of the next shape. One without triangles that is not drawn as points has no colour to count.
    pub(crate) fn add(&mut self, material: Option<&str>, has_ids: bool, is_drawn: bool) {
        let has_ids = has_ids && material.is_none();
        let known = material.and_then(|name| self.named.get(name).copied());
        let number = known.unwrap_or(self.next);
        self.shapes.push(ShapeTint { number, has_ids });
        if known.is_some() || !is_drawn {
            return;
        }
        self.next += 1;
        if let Some(name) = material {
            self.named.insert(name.to_owned(), number);
        }
    }

    /// The number of the colour of triangles of a shape, which is meant by its index in [`Scene::shapes`](crate::Scene::shapes).
    ///
    /// Materials with a [name](crate::Material::name) and shapes without a material are counted in the order of the shapes. Triangles
    /// with a [number](crate::Buffer::material_ids) for their material, `id`, have that number. A shape whose triangles have none ignores `id`.
    #[must_use]
    pub fn number(&self, shape: usize, id: Option<u32>) -> usize {
        match (self.shapes.get(shape), id) {
            (Some(shape), _) if !shape.has_ids => shape.number,
            (_, Some(id)) => id as usize,
            (Some(shape), None) => shape.number,
            (None, None) => 0,
        }
    }

    /// The colour of triangles of a shape, in sRGB: see [`number`](Self::number).
    #[must_use]
    pub fn color(&self, shape: usize, id: Option<u32>) -> [u8; 3] {
        Self::nth(self.number(shape, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_colour_and_what_is_not_drawn_takes_none() {
        let mut tints = Tints::default();
        for (material, has_ids, is_drawn) in [
            (Some("skin"), true, true),
            (None, false, false),
            (None, true, true),
            (Some("skin"), false, true),
            (Some("cloth"), false, true),
            (None, false, true),
        ] {
            tints.add(material, has_ids, is_drawn);
        }
        let numbers: Vec<usize> = (0..6).map(|shape| tints.number(shape, None)).collect();
        assert_eq!(numbers, [0, 1, 1, 0, 2, 3]);
        assert_eq!(tints.number(0, Some(7)), 0);
        assert_eq!(tints.number(2, Some(7)), 7);
        assert_eq!(tints.number(5, Some(7)), 3);
    }
}
