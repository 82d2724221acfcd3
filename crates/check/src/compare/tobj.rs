//! Compares what [`obj`](crate::obj) reads with what `tobj` reads, which gives materials to objects by rules that are not written here.

use std::path::Path;

use tobj::LoadOptions;

use crate::mesh::{Mesh, Stream};

/// A corner of a triangle: its position, texture coordinates, and normal.
#[derive(Debug)]
struct Corner {
    position: [f32; 3],
    coord: Option<[f32; 2]>,
    normal: Option<[f32; 3]>,
}

/// A triangle, and the name of its material.
#[derive(Debug)]
struct Triangle {
    corners: [Corner; 3],
    material: Option<String>,
}

impl Triangle {
    fn is(&self, theirs: &Self) -> bool {
        let mut corners = self.corners.iter().zip(&theirs.corners);
        corners.all(|(ours, theirs)| ours.is(theirs)) && self.material == theirs.material
    }
}

impl Corner {
    /// `tobj` has zeros for what an object has not, if another object has it.
    fn is(&self, theirs: &Self) -> bool {
        let has_coord = self.coord == theirs.coord || self.coord.is_none();
        let has_normal = self.normal == theirs.normal || self.normal.is_none();
        self.position == theirs.position && has_coord && has_normal
    }
}

/// Fails if `tobj` does not read the same triangles. It reads no points.
pub(crate) fn agrees(path: &Path, objects: &[Mesh]) -> Result<(), String> {
    let options = LoadOptions::default();
    let (models, materials) = tobj::load_obj(path, &options).map_err(|error| error.to_string())?;
    let materials = materials.map_err(|error| format!("the MTL: {error}"))?;
    let name_of = |id: usize| materials.get(id).map(|material| material.name.clone());
    let theirs = models.iter().flat_map(|model| {
        let material = model.mesh.material_id.and_then(name_of);
        let count = model.mesh.indices.len() / 3;
        (0..count).map(move |index| Triangle {
            corners: [0, 1, 2].map(|corner| their_corner(&model.mesh, index * 3 + corner)),
            material: material.clone(),
        })
    });
    let ours = objects.iter().flat_map(|object| {
        let triangles = object.corners.iter().enumerate();
        triangles.map(|(index, corners)| our_triangle(object, index, *corners))
    });
    let mut theirs = theirs;
    let mut ours = ours;
    let mut index = 0_u64;
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return Ok(()),
            (Some(ours), Some(theirs)) if ours.is(&theirs) => index += 1,
            (ours, theirs) => {
                return Err(format!(
                    "triangle {index} is {theirs:?} for tobj, where the file has {ours:?}"
                ));
            }
        }
    }
}

fn their_corner(mesh: &tobj::Mesh, corner: usize) -> Corner {
    Corner {
        position: element(&mesh.positions, &mesh.indices, corner).unwrap_or([f32::NAN; 3]),
        coord: element(&mesh.texcoords, &mesh.texcoord_indices, corner),
        normal: element(&mesh.normals, &mesh.normal_indices, corner),
    }
}

fn element<const N: usize>(values: &[f32], indices: &[u32], corner: usize) -> Option<[f32; N]> {
    let index = *indices.get(corner)? as usize;
    values.as_chunks().0.get(index).copied()
}

fn our_triangle(object: &Mesh, index: usize, corners: [u32; 3]) -> Triangle {
    let corner = |corner: usize| {
        let vertex = corners[corner];
        let position = object.positions.get(vertex as usize).copied();
        let coord = object.coords.first();
        Corner {
            position: position.unwrap_or([f32::NAN; 3]),
            coord: coord.and_then(|coord| Stream::at(coord, index, corner, vertex)),
            normal: object
                .normals
                .as_ref()
                .and_then(|normal| normal.at(index, corner, vertex)),
        }
    };
    let material = object.materials.at(index);
    Triangle {
        corners: [0, 1, 2].map(corner),
        material: (!material.is_empty()).then(|| material.to_owned()),
    }
}
