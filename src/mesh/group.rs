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
use crate::limits::{Limits, Meter};
use crate::num::{as_u64, as_usize, decimal, less_than};
use crate::report::{Error, ErrorKind, Result};

impl MeshView {
    /// The runs of triangles of one material, in the order of the file: each a draw call.
    ///
    /// If triangles of several materials alternate, there are many runs: [`by_material`](Self::by_material) has one for
    /// each material. A mesh without triangles has none. [`group`](Self::group) makes a mesh of one of them.
    pub fn groups(&self) -> impl Iterator<Item = MaterialGroup> + '_ {
        let mut start = 0_usize;
        (0..).map_while(move |index| {
            let (material, triangles) = self.materials().run_at(start, self.triangle_count())?;
            start = triangles.end;
            Some(MaterialGroup::new(
                index,
                material,
                triangles.clone(),
                self.indices().corners(triangles),
            ))
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
        if materials
            .as_slice()
            .is_sorted_by_key(|material| material.get())
        {
            return Ok(self.clone());
        }
        // For each triangle, its material and its corners: as they are sorted, with half of them next to them, and as arrays.
        let memory = as_u64(self.triangle_count()).saturating_mul(16 + 8 + 16);
        let spent = self.meter().take(memory, "triangles by material").map(drop);
        spent.map_err(|error| self.place().locate(error))?;
        let mut triangles: Vec<(u32, [u32; 3])> =
            materials.iter().zip(self.indices().triangles()).collect();
        triangles.sort_by_key(|(material, _)| *material);
        let (materials, corners): (Vec<u32>, Vec<[u32; 3]>) = triangles.into_iter().unzip();
        let indices = Indices::new(Array::from_vec(corners.into_flattened()), 0);
        Ok(self
            .clone()
            .with_indices(indices)
            .with_material_ids(Array::from_vec(materials)))
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
        let part = self.part(index).map_err(|error| self.place().locate(error));
        part.map_err(|error| self.locate(error))
    }

    fn part(&self, index: usize) -> Result<Self> {
        let meter = self.meter();
        let starts = self.materials().starts(self.triangle_count(), &meter)?;
        let run = starts
            .get(index)
            .and_then(|start| self.materials().run_at(*start, self.triangle_count()));
        let (material, triangles) = run.ok_or_else(|| {
            let error = Error::new(ErrorKind::OutOfRange, "material group");
            error
                .expected(format!("{}, the number of groups", less_than(starts.len())))
                .found(index)
        })?;
        let corners = || self.indices().corners(triangles.clone());
        let count = as_u64(triangles.len()).saturating_mul(3);
        let used = UsedVertices::of(corners(), count, count.saturating_mul(4), &meter)?;
        let view = self.clone().with_material_id(material);
        if used.vertices.len() == self.vertex_count() {
            return Ok(view.with_indices(self.indices().slice(triangles)));
        }
        let (vertices, indices) = (
            used.vertices,
            Indices::new(Array::from_vec(used.indices), 0),
        );
        let vertex_count = vertices.len();
        let compacted = Compacted {
            of: self.stored().clone(),
            vertices: vertices.into(),
        };
        let attributes = Attributes::new(self.stored().list().clone(), compacted);
        Ok(view
            .with_vertices(vertex_count, attributes)
            .with_indices(indices))
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
        let compacted = |whole: &Attribute| {
            let stored = as_u64(whole.as_bytes().len());
            let size = info.format.size();
            let needed = as_u64(self.vertices.len()).saturating_mul(as_u64(size));
            let mut out: Vec<u8> = meter.vec(stored, needed, "attribute of a group")?;
            for (place, vertex) in out.chunks_exact_mut(size.max(1)).zip(self.vertices.iter()) {
                let start = as_usize(*vertex).saturating_mul(size);
                let element = whole
                    .as_bytes()
                    .get(start..start.saturating_add(size))
                    .ok_or_else(|| {
                        let error = Error::new(ErrorKind::Malformed, "attribute of a mesh");
                        error
                            .expected(format!("an element for vertex {}", decimal(vertex)))
                            .found(whole.len())
                    })?;
                place.copy_from_slice(element);
            }
            Ok(whole.with_bytes(out.into()))
        };
        self.of.load_converted(index, meter, compacted)
    }
}
