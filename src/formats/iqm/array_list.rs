//! The arrays of a model, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::frames::Frames;
use super::model::Model;
use super::pose::Trs;
use super::rules::FILE;
use super::vertex_array::VertexArray;
use crate::arrays::{ArrayEntry, ArrayList, Encoding, ReadArray, TextList, no_array};
use crate::bytes::{Array, Scalar};
use crate::codec::Codec;
use crate::num::{as_u64, as_usize};
use crate::report::{Address, Result, Segment};

impl Model {
    /// All arrays: vertex arrays, then the tables of the header. Reads nothing.
    pub(crate) fn array_list(&self) -> ArrayList {
        let mut lister = VertexArrayLister {
            model: self.clone(),
            known: HashMap::new(),
        };
        let vertex_arrays = (0..self.vertex_arrays().len()).map(move |index| lister.entry(index));
        Box::new(vertex_arrays.chain(self.table_entries().into_iter().map(Ok)))
    }

    /// The array at an address.
    pub(crate) fn array_at(&self, address: &Address) -> Result<ArrayEntry> {
        if let [Segment::Field(field), Segment::Index(index)] = address.segments()
            && field == "vertex_arrays"
        {
            let index = as_usize(*index);
            let array = self.vertex_array_at(index)?;
            return Ok(self.vertex_array_entry(index, &array));
        }
        let mut entries = self.table_entries().into_iter();
        entries
            .find(|entry| entry.address == *address)
            .ok_or_else(|| no_array(FILE, address))
    }

    fn vertex_array_at(&self, index: usize) -> Result<VertexArray> {
        match self.layout.vertex_arrays.get(index) {
            Some(raw) => Ok(VertexArray::new(&self.layout, &raw)),
            None => Err(no_array(FILE, &vertex_array_address(index))),
        }
    }

    fn vertex_array_entry(&self, index: usize, array: &VertexArray) -> ArrayEntry {
        let model = self.clone();
        let read = move || Ok(model.vertex_array(index)?.into_bytes());
        let address = vertex_array_address(index);
        let element = (array.format, vec![array.size.into()]);
        let entry = ArrayEntry::of_bytes(address, array.range.clone(), element, Arc::new(read));
        let entry = entry.with_count(as_u64(self.vertex_count()));
        ArrayEntry {
            name: array.semantic(0).to_string(),
            ..entry
        }
    }

    /// The arrays that are no vertex arrays.
    fn table_entries(&self) -> Vec<ArrayEntry> {
        let sections = &self.layout.sections;
        let mut entries = Vec::new();
        let triangles = as_u64(self.triangle_count());
        if triangles > 0 {
            let model = self.clone();
            let read = move || model.triangles();
            let address = Address::field("triangles");
            let entry = ArrayEntry::new(address, sections.triangles.clone(), read);
            entries.push(entry.with_count(triangles));
        }
        if !sections.adjacency.is_empty() {
            let model = self.clone();
            let address = Address::field("adjacency");
            let absent = no_array(FILE, &address);
            let read = move || model.adjacency()?.ok_or_else(|| absent.clone());
            let entry = ArrayEntry::new(address, sections.adjacency.clone(), read);
            entries.push(entry.with_count(triangles));
        }
        if self.joint_count() > 0 {
            let model = self.clone();
            let read = move || {
                let joints = model.joints().map(|joint| joint.trs.to_array());
                Ok(Array::from_vec(joints.collect()))
            };
            let address = Address::field("joints");
            let entry = ArrayEntry::new(address, sections.joints.clone(), read)
                .stored_as(Codec::Stored, Encoding::Fields)
                .with_count(as_u64(self.joint_count()));
            entries.push(entry);
        }
        let frames = self.frames();
        let frame_count = u64::from(frames.len());
        let pose_count = as_u64(frames.pose_count());
        if frame_count > 0 && pose_count > 0 {
            let address = Address::field("frames");
            let range = self.animation.sections.frames.clone();
            let element = (Scalar::F32, vec![pose_count, 10]);
            let entry = ArrayEntry::of_bytes(address, range, element, Arc::new(frames))
                .stored_as(Codec::Stored, Encoding::Channels)
                .with_count(frame_count);
            entries.push(entry);
        }
        let bounds = &self.animation.sections.bounds;
        if !bounds.is_empty() {
            let model = self.clone();
            let address = Address::field("bounds");
            let absent = no_array(FILE, &address);
            let read = move || model.bounds()?.ok_or_else(|| absent.clone());
            let entry = ArrayEntry::new(address, bounds.clone(), read);
            entries.push(entry.with_count(frame_count));
        }
        entries
    }

    /// The names of meshes, materials, joints and animations.
    pub(crate) fn text_list(&self) -> TextList<'_> {
        let meshes = (0..).zip(self.meshes()).flat_map(|(index, mesh)| {
            let address = Address::field("meshes").index(index);
            [
                (address.clone().then("name"), mesh.name),
                (address.then("material"), mesh.material),
            ]
        });
        let joints = (0..).zip(self.joints()).map(|(index, joint)| {
            let address = Address::field("joints").index(index).then("name");
            (address, joint.name)
        });
        let anims = (0..).zip(self.anims()).map(|(index, anim)| {
            let address = Address::field("anims").index(index).then("name");
            (address, anim.name)
        });
        Box::new(meshes.chain(joints).chain(anims).map(Ok))
    }
}

/// Lists the vertex arrays of a model, which may share their bytes.
struct VertexArrayLister {
    model: Model,
    /// The index of the first vertex array with these bytes and elements.
    known: HashMap<StoredArray, usize>,
}

/// The bytes of a vertex array, and how its elements are stored in them.
#[derive(PartialEq, Eq, Hash)]
struct StoredArray {
    range: Range<u64>,
    format: Scalar,
    size: u32,
}

impl VertexArrayLister {
    fn entry(&mut self, index: usize) -> Result<ArrayEntry> {
        let array = self.model.vertex_array_at(index)?;
        let mut entry = self.model.vertex_array_entry(index, &array);
        let stored = StoredArray {
            range: array.range,
            format: array.format,
            size: array.size,
        };
        let first = *self.known.entry(stored).or_insert(index);
        if first < index {
            entry.same_as = Some(vertex_array_address(first));
        }
        Ok(entry)
    }
}

impl ReadArray for Frames {
    fn bytes(&self) -> Result<Bytes> {
        let numbers = self.read()?.into_iter().map(Trs::to_array).collect();
        Ok(Array::<[f32; 10]>::from_vec(numbers).into_bytes())
    }

    /// A few frames at a time: constant channels take up no bytes of the file, so frames may be larger than memory.
    fn pieces(&self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        const POSES: usize = 4096;
        let poses = self.pose_count().max(1);
        let frames = POSES.checked_div(poses).unwrap_or(0).max(1);
        let mut out = vec![Trs::default(); frames.saturating_mul(poses)];
        let mut bytes = Vec::new();
        let step = u32::try_from(frames).unwrap_or(u32::MAX);
        let mut first = 0_u32;
        while first < self.len() {
            let end = first.saturating_add(step).min(self.len());
            let count = as_usize(end.saturating_sub(first)).saturating_mul(poses);
            let part = out.get_mut(..count).unwrap_or_default();
            self.read_range_into(first..end, part)?;
            bytes.clear();
            // Arrays of known lengths, whose total length is known at once. Loops over numbers check
            // the capacity for each: a digest of large_anim.iqm then takes 1.3 times as long.
            let numbers = part.iter().flat_map(|trs| trs.to_array());
            bytes.extend(numbers.flat_map(f32::to_le_bytes));
            each(&bytes);
            first = end;
        }
        Ok(())
    }
}

fn vertex_array_address(index: usize) -> Address {
    Address::field("vertex_arrays").index(as_u64(index))
}
