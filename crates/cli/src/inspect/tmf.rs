//! What `meshmap info` says about a TMF file.

use std::collections::BTreeSet;

use meshmap::tmf::{Document, FileLayout, Mesh, SegmentType, rules};
use meshmap::{Finding, Result};

use crate::page::{Block, MOST_ROWS, Page, WORTH_READING, labelled, pad};
use crate::show;

/// Format and version: `TMF 0.2`.
pub(crate) fn variant(document: &Document) -> String {
    let header = document.header();
    format!("TMF {}.{}", header.tmf_major, header.tmf_minor)
}

/// The parts of a document, in a few words.
pub(crate) fn summary(document: &Document) -> String {
    let (vertices, triangles) = totals(document);
    let meshes = show::plural(document.meshes().len(), "mesh");
    format!("{} v   {} t   {meshes}", show::count(vertices), show::count(triangles))
}

fn totals(document: &Document) -> (u64, u64) {
    document.meshes().map(|mesh| counts(&mesh)).fold((0, 0), |sum, mesh| (sum.0 + mesh.0, sum.1 + mesh.1))
}

/// Vertices and triangles.
fn counts(mesh: &Mesh) -> (u64, u64) {
    let vertices = mesh.vertices().map_or(0, |vertices| vertices.len());
    let corners = mesh.vertex_triangles().map_or(0, |triangles| triangles.len());
    (vertices as u64, corners as u64 / 3)
}

pub(crate) fn page(document: &Document, full: bool) -> Result<Page> {
    let mut blocks = vec![meshes(document)];
    let arrays = arrays(document);
    if !arrays.is_empty() {
        blocks.push(Block::lines(labelled("arrays", &arrays)));
    }
    if let Some(line) = indices(document) {
        blocks.push(Block::lines(labelled("indices", &[line.to_owned()])));
    }
    let findings = boxes(document, full)?;
    Ok(Page { subtitle: subtitle(document), blocks, findings, ..Page::default() })
}

fn subtitle(document: &Document) -> String {
    match document.file_layout() {
        FileLayout::A => "layout A, as written by crate tmf 0.1".to_owned(),
        _ => "layout B, as written by crate tmf 0.2".to_owned(),
    }
}

fn meshes(document: &Document) -> Block {
    let (vertices, triangles) = totals(document);
    let line = [
        show::plural(document.meshes().len(), "mesh"),
        format!("{} vertices", show::count(vertices)),
        format!("{} triangles", show::count(triangles)),
        "unit and axes not stored".to_owned(),
    ];
    if document.meshes().len() == 0 {
        return Block::lines(labelled("mesh", &line));
    }
    let header =
        ["#", "name", "vertices", "triangles", "bits a coordinate", "stored"].map(str::to_owned).to_vec();
    let row = |(index, mesh): (usize, Mesh)| {
        let (vertices, triangles) = counts(&mesh);
        let range = mesh.range();
        vec![
            index.to_string(),
            show::name(&mesh.name().to_string_lossy()),
            show::count(vertices),
            show::count(triangles),
            coordinate_bits(&mesh),
            show::size(range.end - range.start),
        ]
    };
    let rows: Vec<_> =
        std::iter::once(header).chain(document.meshes().enumerate().take(MOST_ROWS).map(row)).collect();
    let table = show::table(&rows, &[false, true, false, false, true, false]);
    Block { lines: labelled("mesh", &line), table: pad(table, document.meshes().len()), rows: "meshes" }
}

/// `9`, `8 and 9 (2 segments)`, `7 to 12 (148 segments)`.
fn coordinate_bits(mesh: &Mesh) -> String {
    let precisions: Vec<[u8; 3]> = mesh
        .segments()
        .filter(|segment| segment.kind == SegmentType::Vertex)
        .map(|segment| segment.precision)
        .collect();
    let bits: BTreeSet<u8> = precisions.iter().flatten().copied().collect();
    let bits: Vec<u8> = bits.into_iter().collect();
    let segments = match precisions.len() {
        0 | 1 => String::new(),
        count => format!(" ({})", show::plural(count, "segment")),
    };
    match bits.as_slice() {
        [] => "none".to_owned(),
        [one] => format!("{one}{segments}"),
        [one, other] => format!("{one} and {other}{segments}"),
        [least, .., most] => format!("{least} to {most}{segments}"),
    }
}

fn arrays(document: &Document) -> Vec<String> {
    let bits = |kind: SegmentType| -> BTreeSet<u8> {
        let segments = document.meshes().flat_map(|mesh| mesh.segments().collect::<Vec<_>>());
        segments.filter(|segment| segment.kind == kind).map(|segment| segment.precision[0]).collect()
    };
    let range = |bits: &BTreeSet<u8>| match (bits.first(), bits.last()) {
        (Some(least), Some(most)) if least == most => format!("{least} bits"),
        (Some(least), Some(most)) => format!("{least} to {most} bits"),
        _ => String::new(),
    };
    let mut arrays = Vec::new();
    if !bits(SegmentType::Vertex).is_empty() {
        arrays.push("position".to_owned());
    }
    for (name, kind) in [("normal", SegmentType::Normal), ("tangent", SegmentType::Tangent)] {
        let bits = bits(kind);
        if let Some(least) = bits.first() {
            // A quarter of a circle in so many steps.
            let degrees = 90.0 / 2_f64.powi(i32::from(*least));
            let degrees = match degrees {
                degrees if degrees >= 0.5 => show::plural(degrees.round() as usize, "degree"),
                degrees if degrees >= 1e-4 => format!("{degrees:.4} degrees"),
                degrees => format!("{degrees:.0e} degrees"),
            };
            arrays.push(format!("{name} {} (about {degrees})", range(&bits)));
        }
    }
    let uvs = bits(SegmentType::Uv);
    if !uvs.is_empty() {
        arrays.push(format!("uv {}", range(&uvs)));
    }
    let custom = [
        SegmentType::CustomIndex,
        SegmentType::CustomInteger,
        SegmentType::CustomFloat,
        SegmentType::CustomColorRgba,
    ];
    let segments = document.meshes().flat_map(|mesh| mesh.segments().collect::<Vec<_>>());
    let count = segments.filter(|segment| custom.contains(&segment.kind)).count();
    if count > 0 {
        arrays.push(show::plural(count, "custom array"));
    }
    arrays
}

/// How the arrays are indexed, over all meshes.
fn indices(document: &Document) -> Option<&'static str> {
    let (mut any, mut several) = (false, false);
    let mut shared = true;
    for mesh in document.meshes() {
        let Some(vertex) = mesh.vertex_triangles() else { continue };
        any = true;
        let others = [mesh.normal_triangles(), mesh.uv_triangles(), mesh.tangent_triangles()];
        several |= others.iter().any(Option::is_some);
        shared &= others.iter().flatten().all(|other| other.shares(&vertex));
    }
    any.then_some(match (several, shared) {
        (false, _) => "one array a mesh: nothing to weld",
        (true, true) => "one array a mesh, shared by positions, normals and uvs: nothing to weld",
        (true, false) => "an array each for positions, normals and uvs: welded where they differ",
    })
}

/// Whether stored boxes are those of the points, where that costs little to tell.
fn boxes(document: &Document, full: bool) -> Result<Vec<String>> {
    let vertices = document.meshes().filter_map(|mesh| mesh.vertices());
    let stored: u64 = vertices.map(|v| v.ranges().map(|range| range.end - range.start).sum::<u64>()).sum();
    if stored == 0 || stored > WORTH_READING && !full {
        return Ok(Vec::new());
    }
    let is_box = |finding: &Finding| finding.rule == rules::STORED_BOX;
    Ok(match document.validate()?.iter().any(is_box) {
        true => vec![
            "! stored boxes are wrong (bug of every tmf writer): bounds are taken from the points".to_owned(),
        ],
        false => Vec::new(),
    })
}
