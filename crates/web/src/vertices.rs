//! Meshes as arrays that WebGL and WebGPU take.

use meshmap::{
    Attribute, AttributeInfo, Bounds, Dequant, Error, ErrorKind, IndexFormat, Influences, MeshView,
    Scalar, Semantic, VertexFormat, colors_to_linear,
};
use meshmap_scene::{Pose, VectorKind};

use crate::describe;
use crate::failure::Failure;
use crate::json::{List, Object};
use crate::reply::{Job, Reply, add_floats};

/// The requested parts of a mesh.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Positions that are stored as normalized integers stay so, with their dequantization, unless they follow joints. Everything else that
    /// has a dequantization becomes floats.
    pub quantized: bool,
    /// Triangles ordered by material, so that each material is one group.
    pub by_material: bool,
    /// The attributes, by their names; all of them if there is none.
    pub attributes: Vec<String>,
    /// Colours as linear light. Colours that are other data have another name.
    pub linear_colors: bool,
}

/// The joints that vertices follow. Without any, all attributes are as stored.
#[derive(Clone, Copy, Default)]
pub(crate) struct Joined<'a> {
    /// The transform of vertices with joints and weights into the bind pose.
    pub(crate) pose: Option<&'a Pose>,
    /// The number of joints of a skeleton. Joints and weights are of these then, in place of the stored ones.
    pub(crate) joint_count: Option<u16>,
}

/// The description of a mesh, and its arrays.
pub(crate) struct Mesh {
    pub(crate) object: Object,
    /// `true` if there are colours of vertices.
    pub(crate) has_colors: bool,
    /// The material of each group of triangles.
    pub(crate) materials: Vec<u32>,
    /// The descriptions of the attributes.
    described: List,
    /// The attributes, the indices, the groups, and what is added.
    pub(crate) arrays: Vec<Vec<u8>>,
    bounds: Option<Bounds>,
}

/// Reads a mesh whose arrays take at most `most` bytes.
pub(crate) fn read(view: &MeshView, wanted: &Wanted, joined: &Joined<'_>, most: u64) -> Job<Mesh> {
    let ordered = if wanted.by_material {
        view.by_material()?
    } else {
        view.clone()
    };
    let mut infos = Vec::new();
    for info in view.attributes() {
        let is_influence = matches!(info.semantic, Semantic::Joints(_) | Semantic::Weights(_));
        let is_replaced = is_influence && joined.joint_count.is_some();
        if !is_replaced && wanted.has(&info.semantic) {
            infos.push(info);
        }
    }
    let size = size_of(&infos, view, &ordered, joined);
    if size > most {
        let expected = format!("at most {most} bytes (maxTotalBytes)");
        let found = size.to_string();
        let failure = Failure::new("limit_exceeded", "arrays of a mesh", &expected, &found);
        return Err(failure.into());
    }

    let mut mesh = Mesh {
        object: describe::mesh(view),
        has_colors: false,
        materials: Vec::new(),
        described: List::new(),
        arrays: Vec::new(),
        bounds: None,
    };
    let follows = view.has(&Semantic::Joints(0)) && view.has(&Semantic::Weights(0));
    let mover = Mover {
        pose: joined.pose.filter(|_| follows),
        influences: Influences::default(),
        has_joints: follows && joined.joint_count.is_some(),
    };
    let mut missing: Option<Error> = None;
    for AttributeInfo { semantic, .. } in infos {
        match view.attribute(semantic) {
            Ok(Some(attribute)) if missing.is_none() => mesh.add(&attribute, wanted, &mover),
            Ok(_) => {}
            // The others are asked for as well, so that all that is missing is fetched at once.
            Err(error) if matches!(error.kind(), ErrorKind::NeedBytes(_)) => {
                missing.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let influences = match joined.joint_count {
        Some(joints) => view.influences(joints),
        None => Ok(None),
    };
    if let Some(error) = missing {
        return Err(error.into());
    }
    let influences = influences?;
    let resting = influences.as_ref().map(|influences| influences.resting);
    mesh.object = mesh
        .object
        .float("resting", resting.map(|resting| resting as f64));
    if let Some(influences) = influences {
        mesh.add_influences(&influences);
    }
    mesh.add_triangles(&ordered)?;
    Ok(mesh)
}

/// The number of bytes of the arrays of a mesh.
fn size_of(
    infos: &[&AttributeInfo],
    view: &MeshView,
    ordered: &MeshView,
    joined: &Joined<'_>,
) -> u64 {
    let mut of_vertex: u64 = if joined.joint_count.is_some() { 24 } else { 0 };
    for info in infos {
        // No component is handed out in more than four bytes; linear colours have four.
        let least = match info.semantic {
            Semantic::Color(_) => 4,
            _ => 0,
        };
        let components = u64::from(info.format.components).max(least);
        of_vertex = of_vertex.saturating_add(components.saturating_mul(4));
    }
    let vertices = of_vertex.saturating_mul(view.vertex_count() as u64);
    vertices.saturating_add(ordered.indices().len() as u64 * 4)
}

impl Wanted {
    fn has(&self, semantic: &Semantic) -> bool {
        self.attributes.is_empty() || self.attributes.contains(&semantic.to_string())
    }
}

/// The movement of the vertices of a mesh.
struct Mover<'a> {
    /// The transform into the bind pose.
    pose: Option<&'a Pose>,
    /// Empty: the bind pose moves all vertices of a mesh alike.
    influences: Influences,
    /// `true` if vertices follow the joints of a skeleton.
    has_joints: bool,
}

impl Mover<'_> {
    /// Moves an element of an attribute.
    fn apply(&self, semantic: &Semantic, element: [f32; 4]) -> [f32; 4] {
        let mut moved = [element];
        if let Some(pose) = self.pose
            && let Some(kind) = VectorKind::of(semantic)
        {
            pose.apply(kind, &self.influences, |place| place, &mut moved);
        }
        let [element] = moved;
        element
    }
}

impl Mesh {
    pub(crate) fn into_reply(self) -> Reply {
        let object = self
            .object
            .with("bounds", &describe::bounds(self.bounds))
            .with("attributes", &self.described.end());
        Reply {
            json: object.end(),
            arrays: self.arrays,
        }
    }

    /// Adds an attribute in the format that it is handed out in.
    fn add(&mut self, attribute: &Attribute, wanted: &Wanted, mover: &Mover<'_>) {
        let semantic = attribute.semantic();
        if wanted.linear_colors && matches!(semantic, Semantic::Color(_)) {
            self.add_light(attribute);
            return;
        }
        self.has_colors |= *semantic == Semantic::Color(0);
        let is_position = *semantic == Semantic::Position;
        let is_moved = mover.pose.is_some() && VectorKind::of(semantic).is_some();
        if is_position && !is_moved {
            self.bounds = attribute.bounds();
        }
        let keeps = wanted.quantized && is_position && !mover.has_joints;
        let needs_formula = attribute.dequant().is_some() && !keeps;
        let mut format = attribute.format();
        let is_stored = format.scalar != Scalar::F64 && !needs_formula && !is_moved;
        let mut bytes;
        let mut dequant = None;
        if is_stored {
            bytes = attribute.as_bytes().to_vec();
            dequant = attribute.dequant();
        } else {
            format.scalar = Scalar::F32;
            format.normalized = false;
            bytes = Vec::with_capacity(attribute.len().saturating_mul(format.size()));
            self.add_elements(attribute, mover, &mut bytes);
        }
        self.add_array(&semantic.to_string(), format, dequant, bytes);
    }

    /// Adds elements as floats: doubles, which GPUs do not take, integers that need a formula, and vertices that move.
    ///
    /// In the plain way of the library: faster ways take more room in a module.
    fn add_elements(&mut self, attribute: &Attribute, mover: &Mover<'_>, bytes: &mut Vec<u8>) {
        let semantic = attribute.semantic();
        let components = attribute.format().components as usize;
        if components > 4 {
            // Only doubles of other data have as many.
            for double in attribute.as_bytes().as_chunks::<8>().0 {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the nearest float is meant"
                )]
                add_floats(bytes, &[f64::from_le_bytes(*double) as f32]);
            }
            return;
        }
        let is_moved_position = mover.pose.is_some() && *semantic == Semantic::Position;
        for stored in attribute.iter_f32::<4>() {
            let element = mover.apply(semantic, stored);
            let [x, y, z, _] = element;
            if is_moved_position && let Some(around) = Bounds::around([[x, y, z]]) {
                self.bounds = Some(self.bounds.map_or(around, |bounds| bounds.union(around)));
            }
            add_floats(bytes, element.get(..components).unwrap_or_default());
        }
    }

    /// Adds colours as linear light, or numbers that are other data.
    fn add_light(&mut self, attribute: &Attribute) {
        let mut colors: Vec<[f32; 4]> = attribute.iter_f32().collect();
        let are_colors = colors_to_linear(&mut colors);
        self.has_colors |= are_colors && *attribute.semantic() == Semantic::Color(0);
        let data = if are_colors { "" } else { "data." };
        let semantic = format!("{data}{}", attribute.semantic());
        let mut bytes = Vec::with_capacity(colors.len().saturating_mul(16));
        add_floats(&mut bytes, colors.as_flattened());
        self.add_array(&semantic, VertexFormat::FLOAT32X4, None, bytes);
    }

    /// Adds the joints and the weights of vertices.
    fn add_influences(&mut self, influences: &Influences) {
        let count = influences.joints.len();
        let mut joints = Vec::with_capacity(count.saturating_mul(8));
        for joint in influences.joints.as_flattened() {
            joints.extend_from_slice(&joint.to_le_bytes());
        }
        let mut weights = Vec::with_capacity(count.saturating_mul(16));
        add_floats(&mut weights, influences.weights.as_flattened());
        self.add_array("joints", VertexFormat::UINT16X4, None, joints);
        self.add_array("weights", VertexFormat::FLOAT32X4, None, weights);
    }

    fn add_array(
        &mut self,
        semantic: &str,
        format: VertexFormat,
        dequant: Option<Dequant>,
        bytes: Vec<u8>,
    ) {
        self.described
            .push(&describe::attribute(semantic, format, dequant));
        self.arrays.push(bytes);
    }

    /// Adds the indices, and of each group of triangles the material, the first index and the number of indices, as u32.
    fn add_triangles(&mut self, view: &MeshView) -> meshmap::Result<()> {
        let format = view.indices().narrowest();
        let mut indices = Vec::with_capacity(view.indices().len() * format.size());
        view.indices()
            .write_chunks(format, |_, bytes| indices.extend_from_slice(bytes))?;
        self.arrays.push(indices);
        let mut numbers = Vec::new();
        for group in view.groups() {
            let first = group.triangles.start * 3;
            let count = group.triangles.len() * 3;
            for number in [group.material, number_of(first), number_of(count)] {
                numbers.extend_from_slice(&number.to_le_bytes());
            }
            self.materials.push(group.material);
        }
        self.arrays.push(numbers);
        let index_type = match format {
            IndexFormat::Uint16 => "u16",
            _ => "u32",
        };
        let object = std::mem::replace(&mut self.object, Object::new());
        self.object = object.text("indexType", index_type);
        Ok(())
    }
}

fn number_of(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
