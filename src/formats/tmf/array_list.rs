//! The arrays of a document, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use super::document::Document;
use super::mesh::{Custom, CustomValues, Mesh};
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
        let indices = 0..self.mesh_count();
        Box::new(indices.flat_map(move |index| document.mesh_arrays(index, together)))
    }

    fn mesh_arrays(&self, index: usize, together: bool) -> ArrayList {
        let mesh = match self.mesh(index) {
            Ok(mesh) if together => mesh.load(),
            mesh => mesh,
        };
        match mesh {
            Ok(mesh) => mesh.array_entries(),
            Err(error) => failed(error),
        }
    }

    /// The array at an address: `meshes[0].vertices`, `meshes[0].custom[1]`.
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
        if field != "meshes" || *index >= as_u64(self.mesh_count()) {
            return Err(absent());
        }
        let mesh = self.mesh(as_usize(*index))?;
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
        Box::new(self.meshes().flat_map(|mesh| mesh.texts()))
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

    /// The name of the mesh, then the names of its custom data.
    fn texts(&self) -> Vec<Result<(Address, Text)>> {
        let address = self.address();
        let name = Ok((address.clone().then("name"), self.name()));
        let custom = match self.custom() {
            Ok(custom) => custom,
            Err(error) => return vec![name, Err(error)],
        };
        let mut texts = Vec::with_capacity(custom.len().saturating_add(1));
        texts.push(name);
        for (index, custom) in (0..).zip(custom) {
            let address = address.clone().then("custom").index(index).then("name");
            texts.push(Ok((address, custom.name)));
        }
        texts
    }

    /// The arrays that are not custom.
    fn own_entries(&self) -> Vec<ArrayEntry> {
        let vertices = [
            self.positions().map(entry),
            self.normals().map(entry),
            self.texcoords(0).map(entry),
            self.tangents().map(entry),
        ];
        let indices = [
            self.position_indices(),
            self.normal_indices(),
            self.texcoord_indices(),
            self.tangent_indices(),
        ];
        let mut entries: Vec<ArrayEntry> = vertices.into_iter().flatten().collect();
        // Index arrays may share their segments.
        let mut earlier: Vec<Packed<u32>> = Vec::new();
        for array in indices.into_iter().flatten() {
            let same_as = earlier.iter().find(|earlier| earlier.shares(&array));
            entries.push(ArrayEntry {
                same_as: same_as.map(|same| same.address().clone()),
                ..entry(array.clone())
            });
            earlier.push(array);
        }
        entries
    }

    /// There may be many custom arrays, so each entry is made when it is asked for.
    fn custom_entries(&self) -> Result<impl Iterator<Item = ArrayEntry> + Send + use<>> {
        Ok(self.custom()?.into_iter().map(custom_entry))
    }
}

fn custom_entry(custom: Custom) -> ArrayEntry {
    let entry = match custom.values {
        CustomValues::Float(values) => {
            let count = as_u64(values.len());
            entry(values).with_components(vec![1]).with_count(count)
        }
        CustomValues::ColorRgba(values) => entry(values),
        CustomValues::Index(values) | CustomValues::Integer(values) => entry(values),
    };
    entry.with_name(&custom.name)
}

/// The entry of an array; its range is from the first of its segments to the last.
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
