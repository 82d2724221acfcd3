//! Facts and page of a TMF file.

use std::collections::{BTreeSet, HashMap};

use meshmap::tmf::{CustomValues, Document, FileLayout, Mesh, Packed, PackedElement};
use meshmap::{Bounds, Semantic, VertexFormat};
use serde::Serialize;

use super::block::{Block, MOST_ROWS};
use super::model::{AttributeInfo, Damage, Damages, Depth, Inspection, Look, MeshInfo, WORTH_READING, lossy};
use crate::table::{Kind, Table};
use crate::text;

/// Facts that only TMF files have.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    version: [u16; 2],
    least_version: [u16; 2],
    layout: &'static str,
    /// `true` if normals and texture coordinates share the indices of the positions.
    shared_indices: Option<bool>,
    separate_indices: bool,
    meshes: Vec<MeshFact>,
}

#[derive(Debug, Serialize)]
struct MeshFact {
    name: String,
    stored: u64,
    segments: u64,
    /// Bits of coordinates, each number of bits once.
    coordinate_bits: Vec<u8>,
    coordinate_segments: u64,
    normal_bits: Vec<u8>,
    tangent_bits: Vec<u8>,
    uv_bits: Vec<u8>,
    custom: u64,
}

/// Format and version: `TMF 0.2`.
pub(super) fn variant(document: &Document) -> String {
    let header = document.header();
    format!("TMF {}.{}", header.tmf_major, header.tmf_minor)
}

pub(super) fn look(
    document: &Document,
    depth: Depth,
    bytes: Option<u64>,
    damages: &mut Damages,
) -> Look<Facts> {
    let vertices = document.meshes().filter_map(|mesh| mesh.positions());
    let stored: u64 = vertices.map(|v| v.ranges().map(|range| range.end - range.start).sum::<u64>()).sum();
    let worth = depth != Depth::Look || stored <= WORTH_READING;
    let meshes = document.meshes().map(|mesh| {
        let bounds = mesh.positions().filter(|_| worth).and_then(|vertices| match bounds(&vertices) {
            Ok(bounds) => bounds.map(|bounds| [bounds.min, bounds.max]),
            Err(error) => {
                damages.add(Damage::of(error.address().unwrap_or(vertices.address()).clone(), &error, bytes));
                None
            }
        });
        let (vertices, triangles) = counts(&mesh);
        MeshInfo {
            address: mesh.address().to_string(),
            name: Some(lossy(&mesh.name())),
            role: "geometry",
            material: None,
            vertices: Some(vertices),
            triangles: Some(triangles),
            attributes: attributes(&mesh).into(),
            bounds,
            groups: None,
        }
    });
    let meshes = meshes.collect();
    let header = document.header();
    let (shared_indices, separate_indices) = indices(document);
    let facts = Facts {
        version: [header.tmf_major.get(), header.tmf_minor.get()],
        least_version: [header.min_tmf_major.get(), header.min_tmf_minor.get()],
        layout: if document.file_layout() == FileLayout::A { "A" } else { "B" },
        shared_indices,
        separate_indices,
        meshes: document.meshes().map(|mesh| mesh_fact(&mesh)).collect(),
    };
    Look { variant: variant(document), facts, meshes, details: HashMap::new() }
}

/// Around all points that are finite, decoded a part at a time.
pub(crate) fn bounds(vertices: &Packed<[f32; 3]>) -> meshmap::Result<Option<Bounds>> {
    const PART: usize = 64 << 10;
    let mut points = vec![[0.0; 3]; PART.min(vertices.len())];
    let mut bounds: Option<Bounds> = None;
    for first in (0..vertices.len()).step_by(PART) {
        let end = first.saturating_add(PART).min(vertices.len());
        let points = &mut points[..end - first];
        vertices.read_range_into(first..end, points)?;
        bounds = Bounds::around(points.iter().copied().chain(bounds.iter().flat_map(|b| [b.min, b.max])));
    }
    Ok(bounds)
}

fn attributes(mesh: &Mesh) -> Vec<AttributeInfo> {
    let known = [
        (mesh.positions().is_some(), Semantic::Position, VertexFormat::FLOAT32X3),
        (mesh.normals().is_some(), Semantic::Normal, VertexFormat::FLOAT32X3),
        (mesh.texcoords(0).is_some(), Semantic::TexCoord(0), VertexFormat::FLOAT32X2),
        (mesh.tangents().is_some(), Semantic::Tangent, VertexFormat::FLOAT32X4),
    ];
    let known = known.into_iter().filter(|(has, ..)| *has);
    known.map(|(_, semantic, format)| AttributeInfo::new(semantic, format)).collect()
}

/// Vertices and triangles.
pub(crate) fn counts(mesh: &Mesh) -> (u64, u64) {
    let vertices = mesh.positions().map_or(0, |vertices| vertices.len());
    let corners = mesh.position_indices().map_or(0, |triangles| triangles.len());
    (vertices as u64, corners as u64 / 3)
}

fn mesh_fact(mesh: &Mesh) -> MeshFact {
    const VERTEX: u16 = 1;
    const NORMAL: u16 = 3;
    const UV: u16 = 5;
    const TANGENT: u16 = 9;
    const CUSTOM_INDEX: u16 = 15;
    const CUSTOM_FLOAT: u16 = 16;
    const CUSTOM_COLOR: u16 = 23;
    const CUSTOM_INTEGER: u16 = 24;
    let mut bits = [const { BTreeSet::new() }; 4];
    let (mut segments, mut coordinate_segments, mut custom) = (0, 0, 0);
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
    let [coordinate_bits, normal_bits, tangent_bits, uv_bits] = bits.map(|bits| bits.into_iter().collect());
    let range = mesh.range();
    MeshFact {
        name: lossy(&mesh.name()),
        stored: range.end - range.start,
        segments,
        coordinate_bits,
        coordinate_segments,
        normal_bits,
        tangent_bits,
        uv_bits,
        custom,
    }
}

/// Over all meshes: whether arrays share their indices, and whether some have indices of their own.
fn indices(document: &Document) -> (Option<bool>, bool) {
    let (mut any, mut several) = (false, false);
    let mut shared = true;
    for mesh in document.meshes() {
        let Some(vertex) = mesh.position_indices() else { continue };
        any = true;
        let others = [mesh.normal_indices(), mesh.texcoord_indices(), mesh.tangent_indices()];
        several |= others.iter().any(Option::is_some);
        shared &= others.iter().flatten().all(|other| other.shares(&vertex));
    }
    (any.then_some(shared), several)
}

/// Decodes every array by itself, and reports the arrays that cannot be decoded.
pub(super) fn each_array(document: &Document, bytes: Option<u64>, damages: &mut Damages) {
    for mesh in document.meshes() {
        try_array(mesh.positions(), bytes, damages);
        try_array(mesh.normals(), bytes, damages);
        try_array(mesh.texcoords(0), bytes, damages);
        try_array(mesh.tangents(), bytes, damages);
        try_array(mesh.position_indices(), bytes, damages);
        try_array(mesh.normal_indices(), bytes, damages);
        try_array(mesh.texcoord_indices(), bytes, damages);
        try_array(mesh.tangent_indices(), bytes, damages);
        for custom in mesh.custom().into_iter().flatten() {
            match custom.values {
                CustomValues::Float(values) => try_array(Some(values), bytes, damages),
                CustomValues::ColorRgba(values) => try_array(Some(values), bytes, damages),
                CustomValues::Index(values) | CustomValues::Integer(values) => {
                    try_array(Some(values), bytes, damages)
                }
                _ => {}
            }
        }
    }
}

fn try_array<T: PackedElement>(array: Option<Packed<T>>, bytes: Option<u64>, damages: &mut Damages) {
    if let Some(array) = array
        && let Err(error) = array.read()
    {
        damages.add(Damage::of(error.address().unwrap_or(array.address()).clone(), &error, bytes));
    }
}

/// The parts of a document, in a few words.
pub(crate) fn summary(inspection: &Inspection) -> [String; 3] {
    let (vertices, triangles) = totals(inspection);
    let meshes = text::plural(inspection.meshes.len(), "mesh");
    [format!("{} verts", text::count(vertices)), format!("{} tris", text::count(triangles)), meshes]
}

fn totals(inspection: &Inspection) -> (u64, u64) {
    let counts =
        inspection.meshes.iter().map(|mesh| (mesh.vertices.unwrap_or(0), mesh.triangles.unwrap_or(0)));
    counts.fold((0, 0), |sum, mesh| (sum.0 + mesh.0, sum.1 + mesh.1))
}

pub(super) fn page(facts: &Facts, inspection: &Inspection) -> (String, Vec<Block>) {
    let (vertices, triangles) = totals(inspection);
    let line = vec![
        text::plural(facts.meshes.len(), "mesh"),
        text::plural(vertices, "vertex"),
        text::plural(triangles, "triangle"),
        "unit and axes not stored".to_owned(),
    ];
    let mut blocks = vec![Block::Words("mesh", line)];
    if !facts.meshes.is_empty() {
        blocks.push(Block::Table(table(facts, inspection)));
    }
    let boxes = inspection.meshes.iter().filter_map(|mesh| mesh.bounds);
    let around = boxes.reduce(|[a, b], [c, d]| {
        [std::array::from_fn(|axis| a[axis].min(c[axis])), std::array::from_fn(|axis| b[axis].max(d[axis]))]
    });
    if let Some(around) = around {
        blocks.push(Block::Words("box", vec![text::corners(around), "(of the points)".to_owned()]));
    }
    let arrays = arrays(facts);
    if !arrays.is_empty() {
        blocks.push(Block::Words("arrays", arrays));
    }
    let indices = match (facts.shared_indices, facts.separate_indices) {
        (None, _) => None,
        (_, false) => Some("one array a mesh: nothing to weld"),
        (Some(true), true) => Some("one array a mesh, shared by positions, normals and uvs: nothing to weld"),
        (Some(false), true) => Some("separate indices of positions, normals and uvs"),
    };
    blocks.extend(indices.map(|indices| Block::line("indices", indices)));
    let subtitle = match facts.layout {
        "A" => "layout A, as written by crate tmf 0.1",
        _ => "layout B, as written by crate tmf 0.2",
    };
    (subtitle.to_owned(), blocks)
}

fn table(facts: &Facts, inspection: &Inspection) -> Table {
    let mut table = Table::new(
        "mesh",
        &[
            ("#", Kind::Number, 9),
            ("name", Kind::Name, 9),
            ("vertices", Kind::Number, 8),
            ("triangles", Kind::Number, 8),
            ("bits/coordinate", Kind::Word, 3),
            ("stored", Kind::Number, 5),
        ],
    );
    for (index, (fact, mesh)) in facts.meshes.iter().zip(&inspection.meshes).enumerate().take(MOST_ROWS) {
        table.push(vec![
            index.to_string(),
            text::name(&fact.name),
            text::count(mesh.vertices.unwrap_or(0)),
            text::count(mesh.triangles.unwrap_or(0)),
            coordinate_bits(fact),
            text::size(fact.stored),
        ]);
    }
    table.total = facts.meshes.len();
    table
}

/// `9`, `8 and 9 (2 segments)`, `7 to 12 (148 segments)`.
fn coordinate_bits(fact: &MeshFact) -> String {
    let segments = match fact.coordinate_segments {
        0 | 1 => String::new(),
        count => format!(" ({})", text::plural(count, "segment")),
    };
    match fact.coordinate_bits.as_slice() {
        [] => "none".to_owned(),
        [one] => format!("{one}{segments}"),
        [one, other] => format!("{one} and {other}{segments}"),
        [least, .., most] => format!("{least} to {most}{segments}"),
    }
}

fn arrays(facts: &Facts) -> Vec<String> {
    let bits = |of: fn(&MeshFact) -> &Vec<u8>| -> BTreeSet<u8> {
        facts.meshes.iter().flat_map(of).copied().collect()
    };
    let range = |bits: &BTreeSet<u8>| match (bits.first(), bits.last()) {
        (Some(least), Some(most)) if least == most => format!("{least} bits"),
        (Some(least), Some(most)) => format!("{least} to {most} bits"),
        _ => String::new(),
    };
    let mut arrays = Vec::new();
    if facts.meshes.iter().any(|mesh| mesh.coordinate_segments > 0) {
        arrays.push("position".to_owned());
    }
    for (name, bits) in
        [("normal", bits(|mesh| &mesh.normal_bits)), ("tangent", bits(|mesh| &mesh.tangent_bits))]
    {
        if let Some(least) = bits.first() {
            // A quarter of a circle in `2^least` steps.
            let degrees = 90.0 / 2_f64.powi(i32::from(*least));
            let degrees = match degrees {
                degrees if degrees >= 0.5 => text::plural(degrees.round() as usize, "degree"),
                degrees if degrees >= 1e-4 => format!("{degrees:.4} degrees"),
                degrees => format!("{degrees:.0e} degrees"),
            };
            arrays.push(format!("{name} {} (about {degrees})", range(&bits)));
        }
    }
    let uvs = bits(|mesh| &mesh.uv_bits);
    if !uvs.is_empty() {
        arrays.push(format!("uv {}", range(&uvs)));
    }
    let custom: u64 = facts.meshes.iter().map(|mesh| mesh.custom).sum();
    if custom > 0 {
        arrays.push(text::plural(custom, "custom array"));
    }
    arrays
}
