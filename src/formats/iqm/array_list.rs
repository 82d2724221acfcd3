//! The arrays of a model, for [`MeshFile::arrays`](crate::MeshFile::arrays).

use std::collections::HashMap;
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
        let model = self.clone();
        // Vertex arrays may share their bytes.
        let mut known = HashMap::new();
        let vertex_arrays = (0..self.vertex_arrays().len()).map(move |index| {
            let array = model
                .layout
                .vertex_arrays
                .get(index)
                .map(|raw| VertexArray::new(&model.layout, &raw));
            let array = array.ok_or_else(|| no_array(FILE, &vertex_array_address(index)))?;
            let entry = model.vertex_array_entry(index, &array);
            let stored = (array.range.start, array.range.end, array.format, array.size);
            let first = *known.entry(stored).or_insert(index);
            Ok(ArrayEntry {
                same_as: (first < index).then(|| vertex_array_address(first)),
                ..entry
            })
        });
        Box::new(vertex_arrays.chain(self.table_entries().into_iter().map(Ok)))
    }

    /// The array at an address.
    pub(crate) fn array_at(&self, address: &Address) -> Result<ArrayEntry> {
        let absent = || no_array(FILE, address);
        if let [Segment::Field(field), Segment::Index(index)] = address.segments()
            && field == "vertex_arrays"
        {
            let raw = self
                .layout
                .vertex_arrays
                .get(as_usize(*index))
                .ok_or_else(absent)?;
            return Ok(
                self.vertex_array_entry(as_usize(*index), &VertexArray::new(&self.layout, &raw))
            );
        }
        self.table_entries()
            .into_iter()
            .find(|entry| entry.address == *address)
            .ok_or_else(absent)
    }

    fn vertex_array_entry(&self, index: usize, array: &VertexArray) -> ArrayEntry {
        let model = self.clone();
        let read = move || {
            model
                .vertex_array(index)
                .map(crate::mesh::Attribute::into_bytes)
        };
        let element = (array.format, vec![array.size.into()]);
        let entry = ArrayEntry::of_bytes(
            vertex_array_address(index),
            array.range.clone(),
            element,
            Arc::new(read),
        );
        ArrayEntry {
            name: array.semantic(0).to_string(),
            ..entry
        }
        .with_count(as_u64(self.vertex_count()))
    }

    /// The arrays that are no vertex arrays.
    fn table_entries(&self) -> Vec<ArrayEntry> {
        let (layout, sections) = (&self.layout, &self.layout.sections);
        let model = || self.clone();
        let mut entries = Vec::new();
        let triangles = as_u64(self.triangle_count());
        if triangles > 0 {
            let model = model();
            let read = move || model.triangles();
            let entry = ArrayEntry::new(
                Address::field("triangles"),
                sections.triangles.clone(),
                read,
            );
            entries.push(entry.with_count(triangles));
        }
        if !sections.adjacency.is_empty() {
            let (model, address) = (model(), Address::field("adjacency"));
            let absent = no_array(FILE, &address);
            let read = move || model.adjacency()?.ok_or_else(|| absent.clone());
            entries.push(
                ArrayEntry::new(address, sections.adjacency.clone(), read).with_count(triangles),
            );
        }
        if self.joint_count() > 0 {
            let model = model();
            let read = move || {
                Ok(Array::from_vec(
                    model.joints().map(|joint| joint.trs.to_array()).collect(),
                ))
            };
            let entry = ArrayEntry::new(Address::field("joints"), sections.joints.clone(), read);
            let entry = entry.stored_as(Codec::Stored, Encoding::Fields);
            entries.push(entry.with_count(as_u64(layout.joints.len())));
        }
        let frames = self.frames();
        if !frames.is_empty() && frames.pose_count() > 0 {
            let range = self.animation.sections.frames.clone();
            let element = (Scalar::F32, vec![as_u64(frames.pose_count()), 10]);
            let count = u64::from(frames.len());
            let entry =
                ArrayEntry::of_bytes(Address::field("frames"), range, element, Arc::new(frames));
            entries.push(
                entry
                    .stored_as(Codec::Stored, Encoding::Channels)
                    .with_count(count),
            );
        }
        let bounds = &self.animation.sections.bounds;
        if !bounds.is_empty() {
            let (model, address) = (model(), Address::field("bounds"));
            let absent = no_array(FILE, &address);
            let read = move || model.bounds()?.ok_or_else(|| absent.clone());
            let entry = ArrayEntry::new(address, bounds.clone(), read);
            entries.push(entry.with_count(u64::from(self.frames().len())));
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
            (
                Address::field("joints").index(index).then("name"),
                joint.name,
            )
        });
        let anims = (0..)
            .zip(self.anims())
            .map(|(index, anim)| (Address::field("anims").index(index).then("name"), anim.name));
        Box::new(meshes.chain(joints).chain(anims).map(Ok))
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
        let step = POSES.checked_div(poses).unwrap_or(0).max(1);
        let mut out = vec![Trs::default(); step.saturating_mul(poses)];
        let mut bytes = Vec::new();
        for first in (0..self.len()).step_by(step) {
            let end = u64::from(first)
                .saturating_add(as_u64(step))
                .min(self.len().into());
            let end = u32::try_from(end).unwrap_or(u32::MAX);
            let count = as_usize(end.saturating_sub(first)).saturating_mul(poses);
            let part = out.get_mut(..count).unwrap_or_default();
            self.read_range_into(first..end, part)?;
            bytes.clear();
            bytes.extend(
                part.iter()
                    .flat_map(|trs| trs.to_array())
                    .flat_map(f32::to_le_bytes),
            );
            each(&bytes);
        }
        Ok(())
    }
}

fn vertex_array_address(index: usize) -> Address {
    Address::field("vertex_arrays").index(as_u64(index))
}
