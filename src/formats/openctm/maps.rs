//! UV maps and attribute maps.

use zerocopy::{FromZeros, Immutable, IntoBytes};

use super::decode::Decoded;
use super::layout::Map;
use super::mesh::Mesh;
use crate::bytes::{Array, Element, Text};
use crate::decode::{Context, Scratch, Slot};
use crate::report::Result;

/// A UV map of a [`Mesh`].
#[derive(Clone, Debug)]
pub struct UvMap {
    map: Handle,
    file: Text,
}

/// An attribute map of a [`Mesh`].
#[derive(Clone, Debug)]
pub struct AttributeMap {
    map: Handle,
}

/// The data that maps of both kinds have.
#[derive(Clone, Debug)]
struct Handle {
    mesh: Mesh,
    index: usize,
    name: Text,
    precision: Option<f32>,
}

impl Handle {
    fn new(mesh: &Mesh, index: usize, map: &Map) -> Self {
        Self {
            mesh: mesh.clone(),
            index,
            name: Text::new(map.name.clone()),
            precision: map.precision,
        }
    }
}

impl Mesh {
    /// The UV maps, in the order of the file.
    pub fn uv_maps(&self) -> impl ExactSizeIterator<Item = UvMap> + '_ {
        let maps = self.layout.uv_maps.iter().enumerate();
        maps.map(|(index, map)| UvMap::new(self, index, map))
    }

    /// The UV map at an index; `None` if the mesh has no such map.
    #[must_use]
    pub(crate) fn uv_map(&self, index: usize) -> Option<UvMap> {
        let map = self.layout.uv_maps.get(index)?;
        Some(UvMap::new(self, index, map))
    }

    /// The texture coordinates u, v of a set, which is the UV map at this index; `Ok(None)` if there is none.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`UvMap::read`].
    #[doc(alias = "uv")]
    pub fn texcoords(&self, set: usize) -> Result<Option<Array<[f32; 2]>>> {
        match self.uv_map(set) {
            Some(map) => Ok(Some(map.read()?)),
            None => Ok(None),
        }
    }

    /// The attribute maps, in the order of the file.
    pub fn attribute_maps(&self) -> impl ExactSizeIterator<Item = AttributeMap> + '_ {
        let maps = self.layout.attribute_maps.iter().enumerate();
        maps.map(|(index, map)| AttributeMap {
            map: Handle::new(self, index, map),
        })
    }

    /// The attribute map at an index; `None` if the mesh has no such map.
    #[must_use]
    pub(crate) fn attribute_map(&self, index: usize) -> Option<AttributeMap> {
        let map = self.layout.attribute_maps.get(index)?;
        Some(AttributeMap {
            map: Handle::new(self, index, map),
        })
    }

    pub(crate) fn decoded_uv_map(
        &self,
        index: usize,
        context: Context<'_>,
    ) -> Result<Decoded<[f32; 2]>> {
        self.decoded_map(&self.layout.uv_maps, &self.decoded.uv_maps, index, context)
    }

    pub(crate) fn decoded_attribute_map(
        &self,
        index: usize,
        context: Context<'_>,
    ) -> Result<Decoded<[f32; 4]>> {
        let slots = &self.decoded.attribute_maps;
        self.decoded_map(&self.layout.attribute_maps, slots, index, context)
    }

    fn decoded_map<const N: usize>(
        &self,
        maps: &[Map],
        slots: &[Slot<Decoded<[f32; N]>>],
        index: usize,
        context: Context<'_>,
    ) -> Result<Decoded<[f32; N]>>
    where
        [f32; N]: Element + FromZeros + IntoBytes + Immutable,
    {
        let map = self.at_index(maps, index)?;
        let slot = self.at_index(slots, index)?;
        self.array(slot, &map.section, context, |mesh, out, scratch| {
            mesh.map(map, out, scratch)
        })
    }

    fn at_index<'a, T>(&self, maps: &'a [T], index: usize) -> Result<&'a T> {
        match maps.get(index) {
            Some(map) => Ok(map),
            None => Err(self.layout.place().out_of_range("map").found(index)),
        }
    }
}

impl UvMap {
    fn new(mesh: &Mesh, index: usize, map: &Map) -> Self {
        Self {
            map: Handle::new(mesh, index, map),
            file: Text::new(map.file.clone()),
        }
    }

    /// The name; empty if the map has no name.
    #[must_use]
    pub fn name(&self) -> Text {
        self.map.name.clone()
    }

    /// The file name reference, usually of the texture; empty if the map has none.
    #[must_use]
    pub fn file(&self) -> Text {
        self.file.clone()
    }

    /// The step between stored coordinates; `None` if they are stored without loss.
    #[must_use]
    pub fn precision(&self) -> Option<f32> {
        self.map.precision
    }

    /// Texture coordinates u, v, one pair for each vertex.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Mesh::triangles`].
    pub fn read(&self) -> Result<Array<[f32; 2]>> {
        let Handle { mesh, index, .. } = &self.map;
        let mut scratch = Scratch::default();
        let decoded = mesh.decoded_uv_map(*index, Context::new(&mesh.meter(), &mut scratch))?;
        Ok(decoded.array)
    }

    /// Like [`read`](Self::read), into `out`, which gets their number.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read`](Self::read).
    pub fn read_into(&self, out: &mut Vec<[f32; 2]>, scratch: &mut Scratch) -> Result<()> {
        let Handle { mesh, index, .. } = &self.map;
        let map = mesh.at_index(&mesh.layout.uv_maps, *index)?;
        mesh.decode(&mesh.meter()).map(map, out, scratch)?;
        Ok(())
    }
}

impl AttributeMap {
    /// The name; empty if the map has no name. Colours are mostly named `Color`.
    #[must_use]
    pub fn name(&self) -> Text {
        self.map.name.clone()
    }

    /// The step between stored values; `None` if they are stored without loss.
    #[must_use]
    pub fn precision(&self) -> Option<f32> {
        self.map.precision
    }

    /// Values a, b, c, d, one quadruple for each vertex.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Mesh::triangles`].
    pub fn read(&self) -> Result<Array<[f32; 4]>> {
        let Handle { mesh, index, .. } = &self.map;
        let mut scratch = Scratch::default();
        let meter = mesh.meter();
        let decoded = mesh.decoded_attribute_map(*index, Context::new(&meter, &mut scratch))?;
        Ok(decoded.array)
    }

    /// Like [`read`](Self::read), into `out`, which gets their number.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read`](Self::read).
    pub fn read_into(&self, out: &mut Vec<[f32; 4]>, scratch: &mut Scratch) -> Result<()> {
        let Handle { mesh, index, .. } = &self.map;
        let map = mesh.at_index(&mesh.layout.attribute_maps, *index)?;
        mesh.decode(&mesh.meter()).map(map, out, scratch)?;
        Ok(())
    }
}
