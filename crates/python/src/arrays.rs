//! `meshmap.Arrays`: a shape as arrays, as programs draw it.

use meshmap::{Array, Attribute, Indices, Scalar, Scratch, Semantic, VOrigin};
use meshmap_scene::{Buffer, Corners, DrawOptions, Parts, Shape};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::buffer;
use crate::living::Handle;
use crate::mesh;
use crate::whole::Whole;

/// The parts of a shape that are asked for.
pub(crate) struct Wanted {
    pub(crate) names: Option<Vec<String>>,
    pub(crate) one_index: bool,
}

impl Wanted {
    fn has(&self, semantic: &Semantic) -> bool {
        let Some(names) = &self.names else {
            return true;
        };
        let name = semantic.to_string();
        names.contains(&name)
    }

    /// The parts of a snapshot.
    fn parts(&self) -> Parts {
        let mut parts = Parts::POSITIONS | Parts::TRIANGLES;
        if self.has(&Semantic::Normal) {
            parts = parts | Parts::NORMALS;
        }
        let is_texcoord = |name: &String| name.starts_with("texcoord");
        let names = self.names.as_deref();
        if names.is_none_or(|names| names.iter().any(is_texcoord)) {
            parts = parts | Parts::TEXCOORDS;
        }
        parts
    }
}

/// The arrays of a shape, without Python.
#[derive(Default)]
pub(crate) struct Decoded {
    positions: Numbers<3>,
    triangles: Triangles,
    normals: Option<Numbers<3>>,
    tangents: Option<Array<[f32; 4]>>,
    texcoords: Vec<(u32, Numbers<2>)>,
    colors: Vec<(u32, Array<[f32; 4]>)>,
    joints: Option<Array<[u16; 4]>>,
    weights: Option<Array<[f32; 4]>>,
    influence_counts: Vec<(&'static str, u64)>,
    material_ids: Option<Vec<u32>>,
    others: Vec<(String, Attribute)>,
    corners: Vec<(String, Vec<[u32; 3]>)>,
}

impl Decoded {
    pub(crate) fn of(
        whole: &Whole,
        index: usize,
        shape: &Shape,
        key: usize,
        wanted: &Wanted,
    ) -> meshmap_scene::Result<Self> {
        let mut decoded = Self::default();
        if shape.has_keys() && !wanted.one_index {
            decoded.read_snapshot(whole, shape, key, wanted)?;
            if whole.turns_triangles()? {
                decoded.turn_triangles();
            }
        } else {
            decoded.draw(whole, index, key, wanted)?;
        }
        if !wanted.one_index
            && let Some(sources) = whole.scene.position_sources(index)?
        {
            decoded.join_positions(&sources);
        }
        Ok(decoded)
    }

    /// Reads a shape with one index for all attributes of a vertex.
    fn draw(
        &mut self,
        whole: &Whole,
        index: usize,
        key: usize,
        wanted: &Wanted,
    ) -> meshmap_scene::Result<()> {
        let mut options = DrawOptions::default();
        options.v_origin = VOrigin::Bottom;
        options.joint_count = whole.joint_count();
        options.attributes = wanted.names.as_deref();
        let drawn = whole.scene.draw(index, key, &options)?;
        for info in drawn.mesh.attributes() {
            if let Some(attribute) = drawn.mesh.attribute(&info.semantic)? {
                self.add(attribute);
            }
        }
        if let Some(influences) = &drawn.influences {
            self.influence_counts = mesh::influence_counts(influences).to_vec();
        }
        if !whole.scene.are_points() {
            self.triangles = Triangles::of(drawn.mesh.indices());
            self.material_ids = drawn.mesh.material_ids().map(|ids| ids.iter().collect());
        }
        Ok(())
    }

    /// Adds an attribute as it is drawn.
    fn add(&mut self, attribute: Attribute) {
        let components = attribute.format().components;
        match attribute.semantic() {
            Semantic::Position => self.positions = Numbers::of(&attribute),
            Semantic::Normal if components >= 3 => self.normals = Some(Numbers::of(&attribute)),
            Semantic::Tangent if components >= 3 => self.tangents = Some(fours(&attribute)),
            Semantic::TexCoord(set) if components >= 2 => {
                self.texcoords.push((*set, Numbers::of(&attribute)));
            }
            Semantic::Color(set) => self.colors.push((*set, fours(&attribute))),
            Semantic::Joints(0) => self.joints = attribute.array(),
            Semantic::Weights(0) => self.weights = attribute.array(),
            other => self.others.push((other.to_string(), attribute)),
        }
    }

    /// Reads a snapshot, whose attributes have separate corners.
    fn read_snapshot(
        &mut self,
        whole: &Whole,
        shape: &Shape,
        key: usize,
        wanted: &Wanted,
    ) -> meshmap_scene::Result<()> {
        let mut buffer = Buffer::default();
        let mut scratch = Scratch::default();
        shape.read(key, wanted.parts(), &mut buffer, &mut scratch)?;
        let are_points = whole.scene.are_points();
        if let Some(corners) = buffer.position_corners().filter(|_| !are_points) {
            self.triangles = Triangles::of_list(list_of(corners));
        }
        for stream in buffer.streams() {
            let semantic = stream.semantic();
            if *semantic == Semantic::Position {
                self.positions = Numbers::of_list(stream.to_f32()?);
                continue;
            }
            // Nothing refers to other arrays of points, or to arrays without indices.
            let list = stream.corners().filter(|_| !are_points);
            let Some(corners) = list.and_then(|list| buffer.corners().get(list)) else {
                continue;
            };
            match semantic {
                Semantic::Normal => self.normals = Some(Numbers::of_list(stream.to_f32()?)),
                Semantic::TexCoord(set) => {
                    let mut texcoords = stream.to_f32()?;
                    if whole.is_from_top() {
                        turn_upward(&mut texcoords);
                    }
                    self.texcoords.push((*set, Numbers::of_list(texcoords)));
                }
                _ => continue,
            }
            self.corners.push((semantic.to_string(), list_of(corners)));
        }
        if !are_points {
            self.material_ids = buffer.material_ids().map(Iterator::collect);
        }
        Ok(())
    }

    /// Makes one position of the vertices that have the same source.
    fn join_positions(&mut self, sources: &[u32]) {
        let count = sources.iter().max().map_or(0, |last| *last as usize + 1);
        let mut positions = vec![[0.0; 3]; count];
        for (source, position) in sources.iter().zip(self.positions.own()) {
            if let Some(place) = positions.get_mut(*source as usize) {
                *place = *position;
            }
        }
        self.positions = Numbers::of_list(positions);
        let triangles = self.triangles.own();
        let vertices = triangles.clone();
        for corner in triangles.as_flattened_mut() {
            *corner = sources.get(*corner as usize).copied().unwrap_or_default();
        }
        for name in self.vertex_attributes() {
            self.corners.push((name, vertices.clone()));
        }
    }

    /// The names of the attributes that have a value for each vertex.
    fn vertex_attributes(&self) -> Vec<String> {
        let mut names = Vec::new();
        if self.normals.is_some() {
            names.push(Semantic::Normal.to_string());
        }
        if self.tangents.is_some() {
            names.push(Semantic::Tangent.to_string());
        }
        for (set, _) in &self.texcoords {
            names.push(Semantic::TexCoord(*set).to_string());
        }
        for (set, _) in &self.colors {
            names.push(Semantic::Color(*set).to_string());
        }
        names.extend(self.others.iter().map(|(name, _)| name.clone()));
        names
    }

    fn turn_triangles(&mut self) {
        let separate = self.corners.iter_mut().map(|(_, corners)| corners);
        for corners in separate.chain([self.triangles.own()]) {
            for [_, b, c] in corners {
                std::mem::swap(b, c);
            }
        }
    }

    pub(crate) fn into_arrays(self, py: Python<'_>, handle: &Handle) -> PyResult<Arrays> {
        let texcoords = PyDict::new(py);
        for (set, values) in self.texcoords {
            texcoords.set_item(set, values.into_array(py)?)?;
        }
        let colors = PyDict::new(py);
        for (set, values) in self.colors {
            colors.set_item(set, buffer::of_array(py, values)?)?;
        }
        let others = PyDict::new(py);
        for (name, attribute) in self.others {
            others.set_item(name, mesh::numbers(py, handle, attribute)?)?;
        }
        let influence_counts = PyDict::new(py);
        for (name, count) in self.influence_counts {
            influence_counts.set_item(name, count)?;
        }
        let corners = PyDict::new(py);
        for (name, list) in self.corners {
            corners.set_item(name, buffer::of_array(py, Array::from_vec(list))?)?;
        }
        Ok(Arrays {
            positions: self.positions.into_array(py)?,
            triangles: self.triangles.into_array(py)?,
            normals: self.normals.map(|it| it.into_array(py)).transpose()?,
            tangents: buffer::of_optional(py, self.tangents)?,
            texcoords: texcoords.unbind(),
            colors: colors.unbind(),
            joints: buffer::of_optional(py, self.joints)?,
            weights: buffer::of_optional(py, self.weights)?,
            influence_counts: influence_counts.unbind(),
            material_ids: buffer::of_optional(py, self.material_ids.map(Array::from_vec))?,
            others: others.unbind(),
            corners: corners.unbind(),
        })
    }
}

/// The numbers of an attribute as floats.
#[derive(Default)]
struct Numbers<const N: usize> {
    /// Floats as they are decoded, which are not copied unless they are changed.
    stored: Option<Attribute>,
    own: Vec<[f32; N]>,
}

impl<const N: usize> Numbers<N> {
    fn of(attribute: &Attribute) -> Self {
        let format = attribute.format();
        let is_plain = format.scalar == Scalar::F32
            && format.components as usize == N
            && attribute.dequant().is_none();
        if is_plain {
            return Self {
                stored: Some(attribute.clone()),
                own: Vec::new(),
            };
        }
        Self::of_list(attribute.to_f32())
    }

    fn of_list(own: Vec<[f32; N]>) -> Self {
        Self { stored: None, own }
    }

    /// To be changed in place.
    fn own(&mut self) -> &mut Vec<[f32; N]> {
        if let Some(stored) = self.stored.take() {
            self.own = stored.to_f32();
        }
        &mut self.own
    }

    fn into_array(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.stored {
            Some(stored) => mesh::stored(py, stored),
            None => buffer::of_array(py, Array::from_vec(self.own)),
        }
    }
}

/// The elements of an attribute with four components, which are shared if they are stored so.
fn fours(attribute: &Attribute) -> Array<[f32; 4]> {
    let stored = attribute.array();
    stored.unwrap_or_else(|| Array::from_vec(attribute.to_f32()))
}

/// The corners of triangles.
#[derive(Default)]
struct Triangles {
    /// As the file has them, which is not copied unless it is changed.
    stored: Option<Array<u32>>,
    own: Vec<[u32; 3]>,
}

impl Triangles {
    fn of(indices: &Indices) -> Self {
        match mesh::stored_triangles(indices) {
            Some(stored) => Self {
                stored: Some(stored.clone()),
                own: Vec::new(),
            },
            None => Self::of_list(indices.triangles().collect()),
        }
    }

    fn of_list(own: Vec<[u32; 3]>) -> Self {
        Self { stored: None, own }
    }

    /// To be changed in place.
    fn own(&mut self) -> &mut Vec<[u32; 3]> {
        if let Some(stored) = self.stored.take() {
            self.own = stored.to_vec().as_chunks().0.to_vec();
        }
        &mut self.own
    }

    fn into_array(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.stored {
            Some(stored) => {
                let count = stored.len() / 3;
                buffer::of_bytes(py, stored.into_bytes(), Scalar::U32, &[count, 3])
            }
            None => buffer::of_array(py, Array::from_vec(self.own)),
        }
    }
}

fn list_of(corners: &Corners) -> Vec<[u32; 3]> {
    corners.triangles().collect()
}

fn turn_upward(texcoords: &mut [[f32; 2]]) {
    for [_, v] in texcoords {
        *v = 1.0 - *v;
    }
}

/// The arrays of a shape: see `Shape.arrays`.
#[pyclass(frozen, get_all, name = "Arrays", module = "meshmap")]
pub struct Arrays {
    /// `float32 [positions, 3]`, in the units and axes of the file.
    positions: Py<PyAny>,
    /// The corners of triangles, `uint32 [triangles, 3]`, indices of positions, counter-clockwise around the front; empty for points.
    triangles: Py<PyAny>,
    /// `float32 [normals, 3]`, as stored, or of length 1 where a pose has moved them; None if the file stores none.
    normals: Option<Py<PyAny>>,
    /// `float32 [vertices, 4]`; None if the file stores none.
    tangents: Option<Py<PyAny>>,
    /// Texture coordinates by the number of their set, each `float32 [coordinates, 2]`. V runs upward from the bottom of the image, if the format says
    /// where it begins.
    texcoords: Py<PyDict>,
    /// Colours as linear light by the number of their set, each `float32 [vertices, 4]`. Numbers outside of 0 to 1 are no colours, and are in `others`.
    colors: Py<PyDict>,
    /// Four joints of each vertex, `uint16 [vertices, 4]`, indices of the joints of the skeleton; a vertex that no joint moves has the index
    /// after the last one. None if vertices follow no joints.
    joints: Option<Py<PyAny>>,
    /// The shares of these joints, `float32 [vertices, 4]`, which have the sum 1.
    weights: Option<Py<PyAny>>,
    /// The number of vertices that no joint moves (`resting`), and counts of changed weights as in `Mesh.influences`; empty without joints.
    influence_counts: Py<PyDict>,
    /// The number of the material of each triangle, `uint32 [triangles]`; None if triangles have none.
    material_ids: Option<Py<PyAny>>,
    /// Other attributes as in `Mesh`, `[vertices, components]`, by their names.
    others: Py<PyDict>,
    /// The corners of attributes that have others than `triangles`, each `uint32 [triangles, 3]`, by the names of the attributes, such as
    /// `texcoord[1]`; empty with `one_index`.
    corners: Py<PyDict>,
}
