//! Meshes as arrays that WebGL and WebGPU take.

use meshmap::slmesh::BindShape;
use meshmap::{
    Attribute, AttributeInfo, Bounds, Error, ErrorKind, IndexFormat, MeshView, Scalar, Semantic,
    VertexFormat, colors_to_linear,
};

use crate::describe;
use crate::failure::Failure;
use crate::json::list;
use crate::reply::{Job, Reply};

/// The requested parts of a mesh.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Positions that are stored as normalized integers stay so, with their dequantization. Everything else that has one
    /// becomes floats.
    pub quantized: bool,
    /// Triangles ordered by material, so that each material is one group.
    pub by_material: bool,
    /// The attributes, by their names; all of them if there is none.
    pub attributes: Vec<String>,
    /// Joints and weights as programs draw them, of a skeleton of this many joints, in place of the stored ones; and positions and
    /// normals of vertices that follow joints in the bind pose.
    pub joints: Option<u16>,
    /// Colours as linear light. Colours that are other data have another name.
    pub linear_colors: bool,
}

/// The reply for a mesh that takes at most `most` bytes; `shape` is the bind shape, if vertices follow joints.
pub(crate) fn reply(
    view: &MeshView,
    wanted: &Wanted,
    shape: Option<&BindShape>,
    most: u64,
) -> Job<Reply> {
    let ordered = if wanted.by_material {
        view.by_material()?
    } else {
        view.clone()
    };
    let is_wanted = |info: &&AttributeInfo| {
        let name = info.semantic.to_string();
        wanted.attributes.is_empty() || wanted.attributes.contains(&name)
    };
    let is_influence =
        |semantic: &Semantic| matches!(semantic, Semantic::Joints(_) | Semantic::Weights(_));
    let is_stored =
        |info: &&AttributeInfo| wanted.joints.is_none() || !is_influence(&info.semantic);
    let infos: Vec<&AttributeInfo> = view
        .attributes()
        .iter()
        .filter(is_wanted)
        .filter(is_stored)
        .collect();
    // No component is handed out in more than four bytes; linear colours have four.
    let least = |info: &AttributeInfo| {
        if matches!(info.semantic, Semantic::Color(_)) {
            4
        } else {
            0
        }
    };
    let sizes = infos.iter().map(|info| {
        u64::from(info.format.components)
            .max(least(info))
            .saturating_mul(4)
    });
    let of_joints = if wanted.joints.is_some() { 24 } else { 0 };
    let vertices = sizes
        .fold(of_joints, u64::saturating_add)
        .saturating_mul(view.vertex_count() as u64);
    let all = vertices.saturating_add(ordered.indices().len() as u64 * 4);
    if all > most {
        let expected = format!("at most {most} bytes (maxTotalBytes)");
        return Ok(Err(Failure::new(
            "limit_exceeded",
            "arrays of a mesh",
            &expected,
            &all.to_string(),
        )));
    }

    let (mut described, mut arrays, mut bounds) = (Vec::new(), Vec::new(), None);
    let mut missing: Option<Error> = None;
    for AttributeInfo { semantic, .. } in infos {
        let attribute = match view.attribute(semantic) {
            Ok(Some(attribute)) => attribute,
            Ok(None) => continue,
            // The others are asked for as well, so that all that is missing is fetched at once.
            Err(error) if matches!(error.kind(), ErrorKind::NeedBytes(_)) => {
                missing.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        if missing.is_some() {
            continue;
        }
        let is_position = *semantic == Semantic::Position;
        let shape = shape.filter(|_| is_position || *semantic == Semantic::Normal);
        let (description, bytes) = match shape {
            Some(shape) => bound(&attribute, shape, &mut bounds),
            None => array(&attribute, wanted),
        };
        if is_position && shape.is_none() {
            bounds = attribute.bounds();
        }
        described.push(description);
        arrays.push(bytes);
    }
    let influences = match wanted.joints {
        Some(joints) => view.influences(joints),
        None => Ok(None),
    };
    if let Some(error) = missing {
        return Err(error);
    }
    let mut resting = None;
    if let Some(influences) = influences? {
        let joints: Vec<u8> = influences
            .joints
            .iter()
            .flatten()
            .flat_map(|joint| joint.to_le_bytes())
            .collect();
        let weights: Vec<u8> = influences
            .weights
            .iter()
            .flatten()
            .flat_map(|weight| weight.to_le_bytes())
            .collect();
        described.push(describe::attribute("joints", VertexFormat::UINT16X4, None));
        described.push(describe::attribute(
            "weights",
            VertexFormat::FLOAT32X4,
            None,
        ));
        arrays.extend([joints, weights]);
        resting = Some(influences.resting as f64);
    }

    let format = ordered.indices().narrowest();
    let mut indices = Vec::with_capacity(ordered.indices().len() * format.size());
    ordered
        .indices()
        .write_chunks(format, |_, bytes| indices.extend_from_slice(bytes))?;
    arrays.push(indices);
    arrays.push(groups(&ordered));
    let object = describe::mesh(view)
        .with("bounds", &describe::bounds(bounds))
        .with("attributes", &list(described.into_iter()))
        .float("resting", resting)
        .text(
            "indexType",
            if format == IndexFormat::Uint16 {
                "u16"
            } else {
                "u32"
            },
        );
    Ok(Ok(Reply {
        json: object.end(),
        arrays,
    }))
}

/// Positions or normals in the bind pose, and the bounds of positions.
fn bound(
    attribute: &Attribute,
    shape: &BindShape,
    bounds: &mut Option<Bounds>,
) -> (String, Vec<u8>) {
    let is_position = *attribute.semantic() == Semantic::Position;
    let mut bytes = Vec::with_capacity(attribute.len().saturating_mul(12));
    for [x, y, z, _] in attribute.iter_f32::<4>() {
        let element = if is_position {
            shape.point([x, y, z])
        } else {
            shape.normal([x, y, z])
        };
        if is_position && let Some(around) = Bounds::around([element]) {
            *bounds = Some(bounds.map_or(around, |bounds| bounds.union(around)));
        }
        element
            .iter()
            .for_each(|float| bytes.extend_from_slice(&float.to_le_bytes()));
    }
    (
        describe::attribute(
            &attribute.semantic().to_string(),
            VertexFormat::FLOAT32X3,
            None,
        ),
        bytes,
    )
}

/// Colours as linear light, or numbers that are none.
fn light(attribute: &Attribute) -> (String, Vec<u8>) {
    let mut colors: Vec<[f32; 4]> = attribute.iter_f32().collect();
    let data = if colors_to_linear(&mut colors) {
        ""
    } else {
        "data."
    };
    let semantic = format!("{data}{}", attribute.semantic());
    let bytes = colors
        .iter()
        .flatten()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    (
        describe::attribute(&semantic, VertexFormat::FLOAT32X4, None),
        bytes,
    )
}

/// Material, first index and number of indices of each group, as u32.
fn groups(view: &MeshView) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let mut out = Vec::new();
    for group in view.groups() {
        let (first, count) = (group.triangles.start * 3, group.triangles.len() * 3);
        for number in [group.material, number(first), number(count)] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    out
}

/// An attribute, and its elements in the format that it is handed out in.
fn array(attribute: &Attribute, wanted: &Wanted) -> (String, Vec<u8>) {
    // The other formats have none, and their modules are smaller without.
    let have_colors = cfg!(any(feature = "iqm", feature = "openctm", feature = "tmf"));
    if have_colors && wanted.linear_colors && matches!(attribute.semantic(), Semantic::Color(_)) {
        return light(attribute);
    }
    let stored = attribute.format();
    let keeps = wanted.quantized && *attribute.semantic() == Semantic::Position;
    let needs_formula = attribute.dequant().is_some() && !keeps;
    let is_kept = stored.scalar != Scalar::F64 && !needs_formula;
    let mut format = stored;
    if !is_kept {
        (format.scalar, format.normalized) = (Scalar::F32, false);
    }
    let dequant = attribute.dequant().filter(|_| is_kept);
    let described = describe::attribute(&attribute.semantic().to_string(), format, dequant);
    (
        described,
        if is_kept {
            attribute.as_bytes().to_vec()
        } else {
            floats(attribute)
        },
    )
}

/// The elements as floats: doubles, which GPUs do not take, and integers that need a formula.
///
/// The plain way of the library, as those that are faster take more room in a module.
fn floats(attribute: &Attribute) -> Vec<u8> {
    if attribute.format().scalar == Scalar::F64 {
        let numbers = attribute.as_bytes().as_chunks::<8>().0;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the nearest float is meant"
        )]
        return numbers
            .iter()
            .flat_map(|bytes| (f64::from_le_bytes(*bytes) as f32).to_le_bytes())
            .collect();
    }
    let components = attribute.format().components as usize;
    let mut out = Vec::with_capacity(attribute.len().saturating_mul(components).saturating_mul(4));
    // No format has a formula for more than four components.
    for element in attribute.iter_f32::<4>() {
        element
            .iter()
            .take(components)
            .for_each(|float| out.extend_from_slice(&float.to_le_bytes()));
    }
    out
}
