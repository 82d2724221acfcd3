//! Reads PLY of floats, bytes and triangles with `ply-rs-bw`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use ply_rs_bw::parser::{Parser, Reader};
use ply_rs_bw::ply::{Property, PropertyAccess, PropertyAccessResult};

use crate::mesh::{Materials, Mesh, Stream, Weights, points};

/// The memory that the numbers of a file take. A missing file is reported by [`read`].
pub(crate) fn memory(path: &Path) -> u64 {
    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    // A row of a vertex has all numbers that a vertex can have, and a face has its corners in a separate list.
    let row = size_of::<Vertex>() as u64 / 12;
    length.saturating_mul(row + 3)
}

pub(crate) fn read(path: &Path) -> Result<Mesh, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut file = Reader::new(BufReader::new(file));
    let header = Parser::<Vertex>::new()
        .read_header(&mut file)
        .map_err(|error| error.to_string())?;
    let mut vertices = Vec::new();
    let mut faces = Vec::new();
    let mut names = BTreeSet::new();
    for (name, element) in &header.elements {
        match name.as_str() {
            "vertex" => {
                names.extend(element.properties.keys().map(String::as_str));
                vertices = Parser::<Vertex>::new()
                    .read_payload_for_element(&mut file, element, &header)
                    .map_err(|error| error.to_string())?;
            }
            "face" => {
                faces = Parser::<Face>::new()
                    .read_payload_for_element(&mut file, element, &header)
                    .map_err(|error| error.to_string())?;
            }
            other => return Err(format!("an element {other}")),
        }
    }
    let mut rest = [0];
    let after = file.into_inner().read(&mut rest);
    if after.map_err(|error| error.to_string())? != 0 {
        return Err("bytes after the last face".to_owned());
    }
    mesh_of(&names, &vertices, &faces)
}

/// The mesh of rows; only what the header names is there.
fn mesh_of(names: &BTreeSet<&str>, vertices: &[Vertex], faces: &[Face]) -> Result<Mesh, String> {
    let has = |all: &[&str]| all.iter().all(|name| names.contains(name));
    if !has(&["x", "y", "z"]) {
        return Err("no positions".to_owned());
    }
    let mut mesh = Mesh {
        positions: column(vertices, |vertex| vertex.position),
        ..Mesh::default()
    };
    if has(&["nx", "ny", "nz"]) {
        mesh.normals = Some(Stream {
            values: column(vertices, |vertex| vertex.normal),
            corners: None,
        });
    }
    if has(&["s", "t"]) {
        mesh.coords.push(Stream {
            values: column(vertices, |vertex| vertex.coord),
            corners: None,
        });
    }
    if has(&["red", "green", "blue"]) {
        let colors = column(vertices, |vertex| vertex.color);
        mesh.colors.insert(0, colors);
    }
    if has(&JOINTS) && has(&WEIGHTS) {
        mesh.weights = Some(Weights {
            joints: column(vertices, |vertex| vertex.joints),
            weights: column(vertices, |vertex| vertex.weights),
            rest: None,
        });
    }
    if faces.is_empty() {
        mesh.corners = points(vertices.len());
    }
    for (index, face) in faces.iter().enumerate() {
        let [a, b, c] = face.corners[..] else {
            return Err(format!("face {index} is no triangle"));
        };
        mesh.corners.push([a, b, c]);
    }
    let ids = faces.iter().filter_map(|face| face.material);
    mesh.materials = Materials::by_id(ids.map(i32::cast_unsigned), |id| id.to_string());
    Ok(mesh)
}

fn column<const N: usize>(
    vertices: &[Vertex],
    of: impl Fn(&Vertex) -> [f32; N],
) -> Rc<Vec<[f32; N]>> {
    Rc::new(vertices.iter().map(of).collect())
}

const JOINTS: [&str; 4] = ["joints_0", "joints_1", "joints_2", "joints_3"];
const WEIGHTS: [&str; 4] = ["weights_0", "weights_1", "weights_2", "weights_3"];

/// A row of the element `vertex`.
struct Vertex {
    position: [f32; 3],
    normal: [f32; 3],
    coord: [f32; 2],
    color: [f32; 4],
    joints: [f32; 4],
    weights: [f32; 4],
}

impl Vertex {
    /// The number of a property, by its name.
    fn number(&mut self, name: &str) -> Option<&mut f32> {
        let place = |names: &[&str]| names.iter().position(|own| *own == name);
        if let Some(at) = place(&["x", "y", "z"]) {
            return self.position.get_mut(at);
        }
        if let Some(at) = place(&["nx", "ny", "nz"]) {
            return self.normal.get_mut(at);
        }
        if let Some(at) = place(&["s", "t"]) {
            return self.coord.get_mut(at);
        }
        if let Some(at) = place(&["red", "green", "blue", "alpha"]) {
            return self.color.get_mut(at);
        }
        if let Some(at) = place(&JOINTS) {
            return self.joints.get_mut(at);
        }
        self.weights.get_mut(place(&WEIGHTS)?)
    }
}

impl PropertyAccess for Vertex {
    fn new() -> Self {
        Self {
            position: [0.0; 3],
            normal: [0.0; 3],
            coord: [0.0; 2],
            color: [1.0; 4],
            joints: [0.0; 4],
            weights: [0.0; 4],
        }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        let value = match property {
            Property::Float(number) => number,
            // A share of 255: a byte is a colour or a weight.
            Property::UChar(byte) => f32::from(byte) / 255.0,
            _ => return PropertyAccessResult::Ignored,
        };
        match self.number(name) {
            Some(number) => *number = value,
            None => return PropertyAccessResult::Ignored,
        }
        PropertyAccessResult::Set
    }
}

/// A row of the element `face`.
struct Face {
    corners: Vec<u32>,
    material: Option<i32>,
}

impl PropertyAccess for Face {
    fn new() -> Self {
        Self {
            corners: Vec::new(),
            material: None,
        }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        match (name, property) {
            ("vertex_indices", Property::ListUInt(corners)) => self.corners = corners,
            ("material_index", Property::Int(id)) => self.material = Some(id),
            _ => return PropertyAccessResult::Ignored,
        }
        PropertyAccessResult::Set
    }
}
