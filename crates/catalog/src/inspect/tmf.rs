//! The facts of a TMF file.

use std::collections::{BTreeSet, HashMap};

use meshmap::tmf::{Document, FileLayout, Mesh, Packed};
use meshmap::{Bounds, Semantic, VertexFormat};
use serde_json::{Value, json};

use super::model::{
    AttributeInfo, Facts, Look, MeshInfo, Summary, Variant, WORTH_READING, corners, lossy,
};
use crate::depth::Depth;
use crate::text;

/// Format and version.
pub(super) fn variant(document: &Document) -> Variant {
    let header = document.header();
    Variant::of_one_form(format!("TMF {}.{}", header.tmf_major, header.tmf_minor))
}

pub(super) fn facts(document: &Document, look: &mut Look<'_>) -> Facts {
    let vertices = document.meshes().filter_map(|mesh| mesh.positions());
    let stored: u64 = vertices
        .map(|v| v.ranges().map(|range| range.end - range.start).sum::<u64>())
        .sum();
    let worth = look.depth >= Depth::Meshes || stored <= WORTH_READING;
    let meshes = document.meshes().map(|mesh| {
        let vertices = mesh.positions().filter(|_| worth);
        let bounds =
            vertices.and_then(|vertices| look.read(bounds(&vertices), vertices.address().clone()));
        MeshInfo {
            name: Some(lossy(&mesh.name())),
            vertices: Some(mesh.positions().map_or(0, |vertices| vertices.len() as u64)),
            triangles: Some(
                mesh.position_indices()
                    .map_or(0, |triangles| triangles.len() as u64 / 3),
            ),
            attributes: attributes(&mesh).into(),
            bounds: bounds.map(corners),
            ..MeshInfo::new(mesh.address().to_string(), "geometry")
        }
    });
    let meshes: Vec<MeshInfo> = meshes.collect();
    let header = document.header();
    let (shared_indices, separate_indices) = indices(document);
    let values = json!({
        "version": [header.tmf_major.get(), header.tmf_minor.get()],
        "least_version": [header.min_tmf_major.get(), header.min_tmf_minor.get()],
        "layout": if document.file_layout() == FileLayout::A { "A" } else { "B" },
        "shared_indices": shared_indices,
        "separate_indices": separate_indices,
        "meshes": look.lists.cut("tmf.meshes", document.meshes().map(|mesh| stored_as(&mesh))),
    });
    let summary = Summary::of(&meshes, text::plural(meshes.len(), "mesh"));
    Facts {
        values,
        words: Vec::new(),
        summary,
        meshes,
        details: HashMap::new(),
    }
}

/// Around all points that are finite, decoded a part at a time.
fn bounds(vertices: &Packed<[f32; 3]>) -> meshmap::Result<Option<Bounds>> {
    const PART: usize = 64 << 10;
    let mut points = vec![[0.0; 3]; PART.min(vertices.len())];
    let mut bounds = Bounds::default();
    for first in (0..vertices.len()).step_by(PART) {
        let end = first.saturating_add(PART).min(vertices.len());
        let points = &mut points[..end - first];
        vertices.read_range_into(first..end, points)?;
        bounds = bounds.union(Bounds::around(points.iter().copied()).unwrap_or_default());
    }
    Ok((!bounds.is_empty()).then_some(bounds))
}

fn attributes(mesh: &Mesh) -> Vec<AttributeInfo> {
    let known = [
        (
            mesh.positions().is_some(),
            Semantic::Position,
            VertexFormat::FLOAT32X3,
        ),
        (
            mesh.normals().is_some(),
            Semantic::Normal,
            VertexFormat::FLOAT32X3,
        ),
        (
            mesh.texcoords(0).is_some(),
            Semantic::TexCoord(0),
            VertexFormat::FLOAT32X2,
        ),
        (
            mesh.tangents().is_some(),
            Semantic::Tangent,
            VertexFormat::FLOAT32X4,
        ),
    ];
    let known = known.into_iter().filter(|(has, ..)| *has);
    known
        .map(|(_, semantic, format)| AttributeInfo::new(semantic, format))
        .collect()
}

/// The encoding of a mesh: its segments, and the bits of their values, each number of bits once.
fn stored_as(mesh: &Mesh) -> Value {
    const VERTEX: u16 = 1;
    const NORMAL: u16 = 3;
    const UV: u16 = 5;
    const TANGENT: u16 = 9;
    const CUSTOM_INDEX: u16 = 15;
    const CUSTOM_FLOAT: u16 = 16;
    const CUSTOM_COLOR: u16 = 23;
    const CUSTOM_INTEGER: u16 = 24;
    let mut bits = [const { BTreeSet::new() }; 4];
    let mut segments = 0_u64;
    let mut coordinate_segments = 0_u64;
    let mut custom = 0_u64;
    let [coordinates, normals, tangents, uvs] = &mut bits;
    for segment in mesh.segments() {
        segments += 1;
        match segment.seg_type {
            VERTEX => {
                coordinate_segments += 1;
                coordinates.extend(segment.precision);
            }
            NORMAL => drop(normals.insert(segment.precision[0])),
            TANGENT => drop(tangents.insert(segment.precision[0])),
            UV => drop(uvs.insert(segment.precision[0])),
            CUSTOM_INDEX | CUSTOM_FLOAT | CUSTOM_COLOR | CUSTOM_INTEGER => custom += 1,
            _ => {}
        }
    }
    let range = mesh.range();
    let [coordinate_bits, normal_bits, tangent_bits, uv_bits] = bits;
    json!({
        "name": lossy(&mesh.name()),
        "stored": range.end - range.start,
        "segments": segments,
        "coordinate_bits": coordinate_bits,
        "coordinate_segments": coordinate_segments,
        "normal_bits": normal_bits,
        "tangent_bits": tangent_bits,
        "uv_bits": uv_bits,
        "custom": custom,
    })
}

/// Over all meshes: whether arrays share their indices, and whether some have separate indices.
fn indices(document: &Document) -> (Option<bool>, bool) {
    let mut any = false;
    let mut several = false;
    let mut shared = true;
    for mesh in document.meshes() {
        let Some(vertex) = mesh.position_indices() else {
            continue;
        };
        any = true;
        let others = [
            mesh.normal_indices(),
            mesh.texcoord_indices(),
            mesh.tangent_indices(),
        ];
        several |= others.iter().any(Option::is_some);
        shared &= others.iter().flatten().all(|other| other.shares(&vertex));
    }
    (any.then_some(shared), several)
}
