//! The arrays of a document, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use super::document::Document;
use super::mesh::{CustomValues, Mesh};
use super::packed::{Packed, PackedElement};
use super::rules::FILE;
use crate::arrays::{ArrayEntry, ArrayList, Encoding, TextList, failed, no_array};
use crate::bytes::Text;
use crate::codec::Codec;
use crate::num::{as_u64, as_usize};
use crate::report::{Address, Result, Segment};

impl Document {
    /// All arrays, mesh by mesh. With `together`, each mesh is read when it is listed, and its entries hold it.
    pub(crate) fn array_list(&self, together: bool) -> ArrayList {
        let document = self.clone();
        let meshes = (0..self.mesh_count()).filter_map(move |index| document.mesh(index).ok());
        Box::new(meshes.flat_map(move |mesh| {
            let mesh = if together { mesh.load() } else { Ok(mesh) };
            mesh.map_or_else(failed, |mesh| mesh.array_entries())
        }))
    }

    /// The array at an address.
    pub(crate) fn array_at(&self, address: &Address) -> Result<ArrayEntry> {
        let absent = || no_array(FILE, address);
        let [
            Segment::Field(field),
            Segment::Index(index),
            Segment::Field(array),
            ..,
        ] = address.segments()
        else {
            return Err(absent());
        };
        let mesh = self
            .mesh(as_usize(*index))
            .ok()
            .filter(|_| field == "meshes")
            .ok_or_else(absent)?;
        let is_sought = |entry: &ArrayEntry| entry.address == *address;
        let found = if array == "custom" {
            mesh.custom_entries()?.find(is_sought)
        } else {
            mesh.own_entries().into_iter().find(is_sought)
        };
        found.ok_or_else(absent)
    }

    /// The names of meshes and of custom data.
    pub(crate) fn text_list(&self) -> TextList<'_> {
        Box::new(self.meshes().flat_map(|mesh| {
            let address = mesh.address();
            let name = Ok((address.clone().then("name"), mesh.name()));
            let custom = match mesh.custom() {
                Ok(custom) => (0..)
                    .zip(custom)
                    .map(|(index, custom)| {
                        Ok((
                            address.clone().then("custom").index(index).then("name"),
                            custom.name,
                        ))
                    })
                    .collect(),
                Err(error) => vec![Err(error)],
            };
            std::iter::once(name).chain(custom)
        }))
    }
}

impl Mesh {
    fn array_entries(&self) -> ArrayList {
        let own = self.own_entries().into_iter().map(Ok);
        match self.custom_entries() {
            Ok(custom) => Box::new(own.chain(custom.map(Ok))),
            Err(error) => Box::new(own.chain([Err(error)])),
        }
    }

    /// The arrays that are not custom.
    fn own_entries(&self) -> Vec<ArrayEntry> {
        let indices = [
            self.position_indices(),
            self.normal_indices(),
            self.texcoord_indices(),
            self.tangent_indices(),
        ];
        let indices: Vec<Packed<u32>> = indices.into_iter().flatten().collect();
        let vertices = [
            self.positions().map(entry),
            self.normals().map(entry),
            self.texcoords(0).map(entry),
            self.tangents().map(entry),
        ];
        // Index arrays may share their segments.
        let first = |array: &Packed<u32>| indices.iter().find(|first| first.shares(array));
        let triangles = indices.iter().map(|array| {
            let same_as = first(array).filter(|first| first.address() != array.address());
            ArrayEntry {
                same_as: same_as.map(|first| first.address().clone()),
                ..entry(array.clone())
            }
        });
        vertices.into_iter().flatten().chain(triangles).collect()
    }

    /// There may be many custom arrays, so each entry is made when it is asked for.
    fn custom_entries(&self) -> Result<impl Iterator<Item = ArrayEntry> + Send + use<>> {
        let entry = |(name, values): (Text, CustomValues)| {
            let entry = match values {
                CustomValues::Float(values) => {
                    let count = as_u64(values.len());
                    entry(values).with_components(vec![1]).with_count(count)
                }
                CustomValues::ColorRgba(values) => entry(values),
                CustomValues::Index(values) | CustomValues::Integer(values) => entry(values),
            };
            entry.with_name(&name)
        };
        Ok(self
            .custom()?
            .into_iter()
            .map(move |custom| entry((custom.name, custom.values))))
    }
}

fn entry<T: PackedElement>(array: Packed<T>) -> ArrayEntry {
    let start = array.ranges().map(|range| range.start).min().unwrap_or(0);
    let end = array.ranges().map(|range| range.end).max().unwrap_or(start);
    let count = as_u64(array.len());
    let address = array.address().clone();
    let entry = ArrayEntry::new(address, start..end, move || array.read());
    entry
        .stored_as(Codec::Stored, Encoding::BitPacked)
        .with_count(count)
}
