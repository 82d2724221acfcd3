//! UV maps and attribute maps.

use zerocopy::{FromZeros, Immutable, IntoBytes};

use super::decode::check_room;
use super::layout::Map;
use super::mesh::Mesh;
use crate::bytes::{Array, Element, Text};
use crate::decode::{Once, Scratch};
use crate::report::Result;

/// A UV map of a [`Mesh`].
#[derive(Clone, Debug)]
pub struct UvMap {
    mesh: Mesh,
    index: usize,
}

/// An attribute map of a [`Mesh`].
#[derive(Clone, Debug)]
pub struct AttributeMap {
    mesh: Mesh,
    index: usize,
}

impl Mesh {
    /// The UV maps.
    pub fn uv_maps(&self) -> impl ExactSizeIterator<Item = UvMap> + '_ {
        (0..self.layout.uv_maps.len()).map(|index| UvMap { mesh: self.clone(), index })
    }

    /// The UV map at an index.
    #[must_use]
    pub fn uv_map(&self, index: usize) -> Option<UvMap> {
        self.uv_maps().nth(index)
    }

    /// The attribute maps.
    pub fn attribute_maps(&self) -> impl ExactSizeIterator<Item = AttributeMap> + '_ {
        (0..self.layout.attribute_maps.len()).map(|index| AttributeMap { mesh: self.clone(), index })
    }

    /// The attribute map at an index.
    #[must_use]
    pub fn attribute_map(&self, index: usize) -> Option<AttributeMap> {
        self.attribute_maps().nth(index)
    }

    pub(crate) fn uv_map_with(&self, index: usize, scratch: &mut Scratch) -> Result<Array<[f32; 2]>> {
        self.map_with(&self.layout.uv_maps, &self.arrays.uv_maps, index, scratch)
    }

    pub(crate) fn attribute_map_with(&self, index: usize, scratch: &mut Scratch) -> Result<Array<[f32; 4]>> {
        self.map_with(&self.layout.attribute_maps, &self.arrays.attribute_maps, index, scratch)
    }

    fn map_with<const N: usize>(
        &self,
        maps: &[Map],
        arrays: &[Once<Array<[f32; N]>>],
        index: usize,
        scratch: &mut Scratch,
    ) -> Result<Array<[f32; N]>>
    where
        [f32; N]: Element + FromZeros + IntoBytes + Immutable,
    {
        // Whoever has an index has it from the list.
        let (Some(map), Some(once)) = (maps.get(index), arrays.get(index)) else {
            return Ok(Array::from_vec(Vec::new()));
        };
        let decode = |out: &mut [_], scratch: &mut _| self.decode().map(map, out, scratch);
        self.array(once, &map.section, self.vertex_count(), scratch, decode)
    }
}

impl UvMap {
    fn map(&self) -> Option<&Map> {
        self.mesh.layout.uv_maps.get(self.index)
    }

    /// The name; empty where it has none.
    #[must_use]
    pub fn name(&self) -> Text {
        Text::new(self.map().map(|map| map.name.clone()).unwrap_or_default())
    }

    /// The file name reference: of the texture, usually; empty where there is none.
    #[must_use]
    pub fn file(&self) -> Text {
        Text::new(self.map().map(|map| map.file.clone()).unwrap_or_default())
    }

    /// The step between two coordinates that can be told apart; `None` where coordinates are stored without loss.
    #[must_use]
    pub fn precision(&self) -> Option<f32> {
        self.map()?.precision
    }

    /// Texture coordinates u, v, one for each vertex.
    ///
    /// # Errors
    ///
    /// Those of decoding and reading, as [`Mesh::indices`] has them.
    pub fn coords(&self) -> Result<Array<[f32; 2]>> {
        self.mesh.uv_map_with(self.index, &mut Scratch::default())
    }

    /// The same, decoded into `out`, which has room for them and no more.
    ///
    /// # Errors
    ///
    /// Those of [`coords`](Self::coords), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another length.
    pub fn coords_into(&self, out: &mut [[f32; 2]], scratch: &mut Scratch) -> Result<()> {
        check_room(out.len(), self.mesh.vertex_count(), "uv map")?;
        self.map().map_or(Ok(()), |map| self.mesh.decode().map(map, out, scratch))
    }
}

impl AttributeMap {
    fn map(&self) -> Option<&Map> {
        self.mesh.layout.attribute_maps.get(self.index)
    }

    /// The name; empty where it has none. Colours are mostly named `Color`.
    #[must_use]
    pub fn name(&self) -> Text {
        Text::new(self.map().map(|map| map.name.clone()).unwrap_or_default())
    }

    /// The step between two values that can be told apart; `None` where values are stored without loss.
    #[must_use]
    pub fn precision(&self) -> Option<f32> {
        self.map()?.precision
    }

    /// Values a, b, c, d, one quadruple for each vertex.
    ///
    /// # Errors
    ///
    /// Those of decoding and reading, as [`Mesh::indices`] has them.
    pub fn values(&self) -> Result<Array<[f32; 4]>> {
        self.mesh.attribute_map_with(self.index, &mut Scratch::default())
    }

    /// The same, decoded into `out`, which has room for them and no more.
    ///
    /// # Errors
    ///
    /// Those of [`values`](Self::values), and [`OutOfRange`](ErrorKind::OutOfRange) where `out` has another length.
    pub fn values_into(&self, out: &mut [[f32; 4]], scratch: &mut Scratch) -> Result<()> {
        check_room(out.len(), self.mesh.vertex_count(), "attribute map")?;
        self.map().map_or(Ok(()), |map| self.mesh.decode().map(map, out, scratch))
    }
}
