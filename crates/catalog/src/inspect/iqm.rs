//! The facts of an IQM file.

use std::collections::HashMap;
use std::sync::Arc;

use meshmap::iqm::{Model, VertexArrayType, raw};
use meshmap::{Address, MeshFile, Semantic, Source};
use serde_json::json;

use super::model::{
    AttributeInfo, Facts, Look, MeshInfo, Part, State, Summary, WORTH_READING, corners, lossy,
    single,
};
use crate::depth::Depth;
use crate::text;

pub(super) fn facts(model: &Model, look: &mut Look<'_>) -> Facts {
    let positions = positions(model, look);
    let lists = &mut *look.lists;
    let attributes = attributes(model);
    // Meshes that declare the same vertices have bounds as long as all of them together are not many times the file.
    let mut left = 16 * (model.vertex_count() as u64).saturating_add(model.triangle_count() as u64);
    let meshes = model.meshes().enumerate().map(|(index, mesh)| {
        let own = u64::from(mesh.first_vertex)
            ..u64::from(mesh.first_vertex) + u64::from(mesh.num_vertexes);
        left = left.saturating_sub(own.end - own.start);
        MeshInfo {
            name: Some(lossy(&mesh.name)),
            material: Some(lossy(&mesh.material)),
            vertices: Some(mesh.num_vertexes.into()),
            triangles: Some(mesh.num_triangles.into()),
            attributes: Arc::clone(&attributes),
            bounds: positions
                .as_ref()
                .filter(|_| left > 0)
                .and_then(|positions| {
                    let own = usize::try_from(own.start).ok()?..usize::try_from(own.end).ok()?;
                    Some(corners(positions.slice(own)?.bounds()?))
                }),
            ..MeshInfo::new(format!("meshes[{index}]"), "geometry")
        }
    });
    let meshes: Vec<MeshInfo> = meshes.collect();
    let has = |section: &str| {
        MeshFile::Iqm(model.clone())
            .items()
            .any(|item| item.address.to_string() == section)
    };
    let comment = model.comment().ok().flatten();
    let arrays = model.vertex_arrays().map(|array| {
        json!({ "type": type_of(&array.kind), "format": array.format.to_string(), "components": array.size })
    });
    let joints = model
        .joints()
        .map(|joint| json!({ "name": lossy(&joint.name), "parent": joint.parent }));
    let anims = model.anims().map(|anim| {
        let rate = (anim.framerate > 0.0 && anim.framerate.is_finite()).then_some(anim.framerate);
        json!({
            "name": lossy(&anim.name),
            "first_frame": anim.first_frame,
            "frames": anim.num_frames,
            "rate": rate.map(single),
            "loop": anim.is_loop(),
        })
    });
    let extensions = model.extensions().map(|extension| {
        let bytes = extension.range.end - extension.range.start;
        json!({ "name": lossy(&extension.name), "bytes": bytes })
    });
    let bounds = positions
        .and_then(|positions| positions.bounds())
        .map(corners);
    let values = json!({
        "version": model.version(),
        "flags": model.flags(),
        "comment": comment.map(|comment| lossy(&comment).trim_end_matches('\0').to_owned()),
        "vertices": model.vertex_count(),
        "triangles": model.triangle_count(),
        "vertex_arrays": lists.cut("iqm.vertex_arrays", arrays),
        "has_adjacency": has("adjacency"),
        "has_bounds": has("bounds"),
        "joints": lists.cut("iqm.joints", joints),
        "poses": lists.cut("iqm.poses", model.poses().map(|pose| pose.parent)),
        "frames": model.frames().len(),
        "animated_channels": model.header().num_framechannels.get(),
        "channels": model.poses().len() as u64 * if model.version() == 1 { 9 } else { 10 },
        "anims": lists.cut("iqm.anims", anims),
        "extensions": lists.cut("iqm.extensions", extensions),
        "box": bounds.map(|corners| corners.map(|corner| corner.map(single))),
    });
    Facts {
        summary: summary(model),
        words: vec![("joints", skeleton(model)), ("poses", String::new())],
        values,
        meshes,
        details: HashMap::new(),
    }
}

fn attributes(model: &Model) -> Arc<[AttributeInfo]> {
    let known = model.vertex_arrays().filter_map(|array| {
        let semantic = match &array.kind {
            VertexArrayType::Position => Semantic::Position,
            VertexArrayType::TexCoord => Semantic::TexCoord(0),
            VertexArrayType::Normal => Semantic::Normal,
            VertexArrayType::Tangent => Semantic::Tangent,
            VertexArrayType::BlendIndexes => Semantic::Joints(0),
            VertexArrayType::BlendWeights => Semantic::Weights(0),
            VertexArrayType::Color => Semantic::Color(0),
            VertexArrayType::Custom(name) => Semantic::Custom(lossy(name)),
            _ => return None,
        };
        Some(AttributeInfo::new(semantic, array.vertex_format()))
    });
    known.take(64).collect()
}

/// The positions, where they cost little.
fn positions(model: &Model, look: &mut Look<'_>) -> Option<meshmap::Attribute> {
    let kind = VertexArrayType::Position;
    let (index, array) = model
        .vertex_arrays()
        .enumerate()
        .find(|(_, array)| array.kind == kind)?;
    if array.range.end - array.range.start > WORTH_READING && look.depth < Depth::Meshes {
        return None;
    }
    let address = Address::field("vertex_arrays").index(index as u64);
    model
        .vertex_array(index)
        .inspect_err(|error| look.failed(address, error))
        .ok()
}

/// The name of the type of a vertex array, as in the specification.
fn type_of(kind: &VertexArrayType) -> String {
    match kind {
        VertexArrayType::Position => "position".to_owned(),
        VertexArrayType::TexCoord => "texcoord".to_owned(),
        VertexArrayType::Normal => "normal".to_owned(),
        VertexArrayType::Tangent => "tangent".to_owned(),
        VertexArrayType::BlendIndexes => "blendindexes".to_owned(),
        VertexArrayType::BlendWeights => "blendweights".to_owned(),
        VertexArrayType::Color => "color".to_owned(),
        VertexArrayType::Custom(name) => format!("\"{}\"", lossy(name)),
        VertexArrayType::Reserved(number) => format!("reserved {number}"),
        _ => "other".to_owned(),
    }
}

fn summary(model: &Model) -> Summary {
    let animation = match (model.poses().len(), model.frames().len()) {
        (0, _) => None,
        (poses, frames) => Some(format!(
            "{}, {}",
            text::plural(poses, "pose"),
            text::plural(frames, "frame")
        )),
    };
    if model.meshes().len() == 0 {
        let words = animation.map_or_else(
            || "no meshes, no poses".to_owned(),
            |animation| format!("animation only, {animation}"),
        );
        return Summary {
            words,
            ..Summary::default()
        };
    }
    let joints = Some(model.joints().len()).filter(|joints| *joints > 0);
    let joints = joints.map(|joints| text::plural(joints, "joint"));
    Summary {
        vertices: Some(model.vertex_count() as u64),
        triangles: Some(model.triangle_count() as u64),
        is_estimate: false,
        words: joints
            .into_iter()
            .chain(animation)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// The tree of joints or, without joints, of poses.
fn skeleton(model: &Model) -> String {
    let joints: Vec<_> = model.joints().map(|joint| joint.parent).collect();
    let poses: Vec<_> = model.poses().map(|pose| pose.parent).collect();
    let (tree, things) = match (joints.len(), poses.len()) {
        (0, 0) => return String::new(),
        (0, count) => (&poses, text::plural(count, "pose")),
        (count, _) => (&joints, text::plural(count, "joint")),
    };
    let roots = tree.iter().filter(|parent| parent.is_none()).count();
    let mut depths: Vec<usize> = Vec::with_capacity(tree.len());
    for parent in tree {
        let above = parent.and_then(|parent| depths.get(parent as usize).copied());
        depths.push(above.map_or(1, |above| above + 1));
    }
    let depth = depths.iter().max().copied().unwrap_or(0);
    let parents = if joints == poses { "the same" } else { "other" };
    let poses = match (joints.is_empty(), poses.len()) {
        (true, _) => String::new(),
        (false, 0) => "; no poses".to_owned(),
        (false, count) => format!("; {} with {parents} parents", text::plural(count, "pose")),
    };
    format!(
        "{things}, {}, depth {depth}{poses}",
        text::plural(roots, "root")
    )
}

/// The sections of a truncated file, as its header declares them.
pub(super) fn salvage(source: &Source, bytes: Option<u64>) -> Vec<Part> {
    sections(source, bytes).unwrap_or_default()
}

fn sections(source: &Source, bytes: Option<u64>) -> Option<Vec<Part>> {
    /// Name, place of the count and the offset in the header, bytes of an element.
    type Place = (&'static str, usize, usize, u64);
    let bytes = bytes?;
    let head = source.read(0..size_of::<raw::Header>() as u64).ok()?;
    let field = |at: usize| {
        head.get(at..at + 4)?
            .try_into()
            .ok()
            .map(u32::from_le_bytes)
            .map(u64::from)
    };
    let version = field(0x10)?;
    let filesize = field(0x14)?;
    if !head.starts_with(raw::MAGIC) || filesize <= bytes {
        return None;
    }
    let (joint, pose) = if version == 1 { (44, 80) } else { (48, 88) };
    let places: [Place; 11] = [
        ("text", 0x1c, 0x20, 1),
        ("meshes", 0x24, 0x28, 24),
        ("vertex_arrays", 0x2c, 0x34, 20),
        ("triangles", 0x38, 0x3c, 12),
        ("adjacency", 0x38, 0x40, 12),
        ("joints", 0x44, 0x48, joint),
        ("poses", 0x4c, 0x50, pose),
        ("anims", 0x54, 0x58, 20),
        ("frames", 0x5c, 0x64, field(0x60)? * 2),
        ("bounds", 0x5c, 0x68, 32),
        ("comment", 0x6c, 0x70, 1),
    ];
    let mut parts = Vec::new();
    for (name, count, offset, size) in places {
        let count = field(count)?;
        let start = field(offset)?;
        let range = start..start.saturating_add(count.saturating_mul(size));
        // No offset, no section.
        if range.is_empty() || start == 0 {
            continue;
        }
        let state = match () {
            () if range.end <= bytes => State::NotChecked,
            () if range.start >= bytes => State::Missing,
            () => State::Incomplete,
        };
        parts.push(Part::without_counts(name.to_owned(), range, state));
    }
    parts.sort_by_key(|part| part.range.start);
    Some(parts)
}
