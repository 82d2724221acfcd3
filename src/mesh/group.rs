//! The groups of triangles of one material, and views of one group.

use std::sync::Arc;

use super::attribute::Attribute;
use super::attribute_list::{Attributes, LoadAttribute};
use super::indices::Indices;
use super::material_group::MaterialGroup;
use super::semantic::AttributeInfo;
use super::used::UsedVertices;
use super::view::MeshView;
use crate::bytes::Array;
use crate::limits::{Limits, Meter, zeroed_vec};
use crate::num::{as_u64, as_usize, decimal, less_than};
use crate::report::{Error, ErrorKind, Result};

impl MeshView {
    /// The runs of triangles of one material, in the order of the file: each a draw call.
    ///
    /// If triangles of several materials alternate, there are many runs: [`by_material`](Self::by_material) has one for
    /// each material. A mesh without triangles has none. [`group`](Self::group) makes a mesh of one of them.
    pub fn groups(&self) -> impl Iterator<Item = MaterialGroup> + '_ {
        let mut next_index = 0_usize;
        let mut next_triangle = 0_usize;
        std::iter::from_fn(move || {
            let index = next_index;
            let (material, triangles) = self
                .materials()
                .run_at(next_triangle, self.triangle_count())?;
            next_index = next_index.saturating_add(1);
            next_triangle = triangles.end;
            let corners = self.indices().corners(triangles.clone());
            Some(MaterialGroup::new(index, material, triangles, corners))
        })
    }

    /// This mesh with its triangles ordered by material, so that [`groups`](Self::groups) has one for each.
    ///
    /// Materials ascend; triangles of one stay in their order. Vertices stay as they are.
    ///
    /// # Errors
    ///
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if the limits leave no memory for the new indices.
    pub fn by_material(&self) -> Result<Self> {
        let Some(materials) = self.material_ids() else {
            return Ok(self.clone());
        };
        let stored = materials.as_slice();
        if stored.is_sorted_by_key(|material| material.get()) {
            return Ok(self.clone());
        }
        // 16 bytes for each triangle to sort, half as many for the merges of the sort, and 16 in the new arrays.
        let memory = as_u64(self.triangle_count()).saturating_mul(16 + 8 + 16);
        self.check_memory(memory, "triangles by material")?;
        let mut triangles: Vec<(u32, [u32; 3])> =
            materials.iter().zip(self.indices().triangles()).collect();
        triangles.sort_by_key(|(material, _)| *material);
        let (materials, corners): (Vec<u32>, Vec<[u32; 3]>) = triangles.into_iter().unzip();
        let indices = Indices::new(Array::from_vec(corners.into_flattened()), 0);
        let view = self.clone().with_indices(indices);
        Ok(view.with_material_ids(Array::from_vec(materials)))
    }

    /// The mesh of one material group: its triangles, and the vertices that they use, each once, in the order of this mesh.
    ///
    /// For engines that draw one mesh per material. `index` counts the groups of [`groups`](Self::groups). Every attribute
    /// is included, and the view has a single group. Name, address and role are the same as in this mesh.
    ///
    /// Attributes of the group are copied from attributes of this mesh by each call: call [`load`](Self::load) on this mesh
    /// before you take several groups, so that it is decoded once. If the group uses all vertices, nothing is copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::MeshFile;
    ///
    /// let file = MeshFile::open("tests/data/cgeo/valid/anim_a.cgeo")?;
    /// let mesh = file.mesh(&"snapshots[0]".parse()?)?.by_material()?.load()?;
    /// for group in mesh.groups() {
    ///     let part = mesh.group(group.index)?;
    ///     assert_eq!(part.triangle_count(), group.triangles.len());
    ///     assert!(part.vertex_count() <= group.vertices.len());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the mesh has no such group, and [`LimitExceeded`](ErrorKind::LimitExceeded)
    /// if the limits leave no memory for the new indices.
    pub fn group(&self, index: usize) -> Result<Self> {
        self.try_group(index)
            .map_err(|error| self.locate_in_file(self.place().locate(error)))
    }

    fn try_group(&self, index: usize) -> Result<Self> {
        let meter = self.meter();
        let starts = self.materials().starts(self.triangle_count(), &meter)?;
        let run = match starts.get(index) {
            Some(start) => self.materials().run_at(*start, self.triangle_count()),
            None => None,
        };
        let Some((material, triangles)) = run else {
            let error = Error::new(ErrorKind::OutOfRange, "material group");
            let expected = format!("{}, the number of groups", less_than(starts.len()));
            return Err(error.expected(expected).found(index));
        };

        let corners = self.indices().corners(triangles.clone());
        let count = as_u64(triangles.len()).saturating_mul(3);
        let UsedVertices { vertices, indices } =
            UsedVertices::of(corners, count, count.saturating_mul(4), &meter)?;
        let view = self.clone().with_material_id(material);
        if vertices.len() == self.vertex_count() {
            return Ok(view.with_indices(self.indices().slice(triangles)));
        }
        let vertex_count = vertices.len();
        let compacted = Compacted {
            of: self.stored().clone(),
            vertices: vertices.into(),
        };
        let attributes = Attributes::new(self.stored().list().clone(), compacted);
        Ok(view
            .with_vertices(vertex_count, attributes)
            .with_indices(Indices::new(Array::from_vec(indices), 0)))
    }
}

/// The attributes of some of the vertices of a mesh.
struct Compacted {
    of: Attributes,
    /// The vertices of the mesh, in ascending order.
    vertices: Arc<[u32]>,
}

impl LoadAttribute for Compacted {
    fn limits(&self) -> Limits {
        self.of.limits()
    }

    fn load(&self, index: usize, info: &AttributeInfo, meter: &Meter) -> Result<Attribute> {
        self.of.load_converted(index, meter, |whole| {
            self.compact(whole, info.format.size(), meter)
        })
    }
}

impl Compacted {
    /// The elements of these vertices, of `size` bytes each.
    fn compact(&self, whole: &Attribute, size: usize, meter: &Meter) -> Result<Attribute> {
        let bytes = whole.as_bytes();
        let needed = as_u64(self.vertices.len()).saturating_mul(as_u64(size));
        let mut out: Vec<u8> =
            zeroed_vec(meter, as_u64(bytes.len()), needed, "attribute of a group")?;
        for (element, vertex) in out.chunks_exact_mut(size.max(1)).zip(self.vertices.iter()) {
            let start = as_usize(*vertex).saturating_mul(size);
            let Some(stored) = bytes.get(start..start.saturating_add(size)) else {
                let error = Error::new(ErrorKind::Malformed, "attribute of a mesh");
                let expected = format!("an element for vertex {}", decimal(vertex));
                return Err(error.expected(expected).found(whole.len()));
            };
            element.copy_from_slice(stored);
        }
        Ok(whole.with_bytes(out.into()))
    }
}
