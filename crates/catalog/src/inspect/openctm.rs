//! The facts of an OpenCTM file.

use std::collections::HashMap;

use meshmap::openctm::{Container, Mesh, Method};
use meshmap::{Address, Bounds, Options, Semantic, VertexFormat};
use serde_json::{Value, json};

use super::lists::Lists;
use super::model::{
    AttributeInfo, Facts, Look, MeshInfo, Summary, Variant, WORTH_READING, corners, lossy, single,
};
use crate::depth::Depth;
use crate::text;

/// Format, version, and the method of the first body.
pub(super) fn variant(bodies: &Container) -> Variant {
    let Some(first) = bodies.meshes().next() else {
        return Variant::of_one_form("OpenCTM".to_owned());
    };
    let method = first.method();
    let lossy = if method == Method::Mg2 {
        " (lossy)"
    } else {
        ""
    };
    Variant::new(
        format!("OpenCTM 5, {method}{lossy}"),
        format!("OpenCTM {method}"),
    )
}

pub(super) fn facts(bodies: &Container, look: &mut Look<'_>) -> Facts {
    let boxes = are_boxes_worth_it(bodies, look.depth);
    let meshes = bodies.meshes().enumerate().map(|(index, mesh)| {
        // A separate mesh, so that the decoded data is released.
        let bounds = || {
            let mesh = Mesh::at(mesh.source(), mesh.range().start, &Options::default())?;
            Ok(Bounds::around(mesh.positions()?.iter()))
        };
        let positions = Address::field("bodies")
            .index(index as u64)
            .then("positions");
        let bounds = look
            .read(boxes.then(bounds).transpose(), positions)
            .flatten();
        MeshInfo {
            vertices: Some(mesh.vertex_count() as u64),
            triangles: Some(mesh.triangle_count() as u64),
            attributes: look.lists.cut("meshes.attributes", attributes(mesh)).into(),
            bounds: bounds.map(corners),
            ..MeshInfo::new(format!("bodies[{index}]"), "geometry")
        }
    });
    let meshes: Vec<MeshInfo> = meshes.collect();
    let values: Vec<Value> = bodies.meshes().map(|mesh| body(mesh, look.lists)).collect();
    let words = Some(meshes.len())
        .filter(|bodies| *bodies > 1)
        .map(|bodies| text::plural(bodies, "body"));
    Facts {
        values: json!({ "bodies": look.lists.cut("openctm.bodies", values) }),
        words: Vec::new(),
        summary: Summary::of(&meshes, words.unwrap_or_default()),
        meshes,
        details: HashMap::new(),
    }
}

fn attributes(mesh: &Mesh) -> impl Iterator<Item = AttributeInfo> + '_ {
    let normal = mesh.has_normals().then_some(Semantic::Normal);
    let known = [Semantic::Position].into_iter().chain(normal);
    let known = known.map(|semantic| AttributeInfo::new(semantic, VertexFormat::FLOAT32X3));
    let uvs = (0..)
        .zip(mesh.uv_maps())
        .map(|(set, _)| Semantic::TexCoord(set));
    let uvs = uvs.map(|semantic| AttributeInfo::new(semantic, VertexFormat::FLOAT32X2));
    let maps = mesh
        .attribute_maps()
        .map(|map| Semantic::Custom(lossy(&map.name())));
    known
        .chain(uvs)
        .chain(maps.map(|own| AttributeInfo::new(own, VertexFormat::FLOAT32X4)))
}

fn body(mesh: &Mesh, lists: &mut Lists) -> Value {
    let uv_maps = mesh.uv_maps().map(|map| {
        let precision = map.precision().map(single);
        json!({ "name": lossy(&map.name()), "file": lossy(&map.file()), "precision": precision })
    });
    let attribute_maps = mesh.attribute_maps().map(
        |map| json!({ "name": lossy(&map.name()), "file": null, "precision": map.precision().map(single) }),
    );
    json!({
        "method": mesh.method().to_string(),
        "comment": lossy(&mesh.comment().unwrap_or_default()),
        "vertices": mesh.vertex_count(),
        "triangles": mesh.triangle_count(),
        "has_normals": mesh.has_normals(),
        "decoded": mesh.items().next().and_then(|body| body.decoded).unwrap_or(0),
        "uv_maps": lists.cut("openctm.bodies.uv_maps", uv_maps),
        "attribute_maps": lists.cut("openctm.bodies.attribute_maps", attribute_maps),
        "mg2": mesh.mg2_header().map(|header| json!({
            "position_precision": single(header.vertex_precision.get()),
            "normal_precision": single(header.normal_precision.get()),
            "grid_min": header.lower_bound.map(|component| single(component.get())),
            "grid_max": header.higher_bound.map(|component| single(component.get())),
            "grid": header.div.map(|component| component.get()),
        })),
    })
}

/// Returns `true` if all positions are decoded without a request.
fn are_boxes_worth_it(bodies: &Container, depth: Depth) -> bool {
    /// Decoding data that a few bytes declare may take long.
    const WORTH_DECODING: u64 = 64 * WORTH_READING;
    let blocks = bodies
        .meshes()
        .flat_map(Mesh::blocks)
        .filter(|block| block.what == "VERT");
    let (stored, decoded) = blocks.fold((0_u64, 0_u64), |sum, block| {
        (
            sum.0 + block.range.end - block.range.start,
            sum.1 + block.decoded_len.unwrap_or(0),
        )
    });
    depth >= Depth::Meshes || (stored <= WORTH_READING && decoded <= WORTH_DECODING)
}
