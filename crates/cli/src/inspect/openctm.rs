//! Facts and page of an OpenCTM file.

use std::collections::HashMap;

use meshmap::openctm::{Bodies, Mesh, Method};
use meshmap::{Address, Options, Result, Semantic, VertexFormat};
use serde::Serialize;

use super::block::{Block, MOST_ROWS};
use super::model::{
    AttributeInfo, Damage, Damages, Depth, Inspection, Look, MeshInfo, Part, State, WORTH_READING, lossy,
};
use crate::table::{Kind, Table};
use crate::text;

/// Facts that only OpenCTM files have.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    bodies: Vec<BodyFact>,
}

#[derive(Debug, Serialize)]
struct BodyFact {
    method: String,
    comment: String,
    vertices: u64,
    triangles: u64,
    has_normals: bool,
    /// Bytes of all arrays, decoded.
    decoded: u64,
    uv_maps: Vec<MapFact>,
    attribute_maps: Vec<MapFact>,
    mg2: Option<Mg2Fact>,
}

#[derive(Debug, Serialize)]
struct MapFact {
    name: String,
    file: Option<String>,
    precision: Option<f32>,
}

#[derive(Debug, Serialize)]
struct Mg2Fact {
    position_precision: f32,
    normal_precision: f32,
    grid_min: [f32; 3],
    grid_max: [f32; 3],
    grid: [u32; 3],
}

/// Format, version and method: `OpenCTM 5, MG2 (lossy)`.
pub(super) fn variant(bodies: &Bodies) -> String {
    let method = bodies.meshes().next().map(Mesh::method);
    let lossy = if method == Some(Method::Mg2) { " (lossy)" } else { "" };
    method.map_or_else(|| "OpenCTM".to_owned(), |method| format!("OpenCTM 5, {method}{lossy}"))
}

pub(super) fn look(bodies: &Bodies, depth: Depth, bytes: Option<u64>, damages: &mut Damages) -> Look<Facts> {
    let boxes = are_boxes_worth_it(bodies, depth);
    let meshes = bodies.meshes().enumerate().map(|(index, mesh)| {
        // A separate mesh, so that the decoded data is released.
        let bounds = || corners(&Mesh::at(mesh.source(), mesh.range().start, &Options::default())?);
        let bounds = match boxes.then(bounds).transpose() {
            Ok(bounds) => bounds.flatten(),
            Err(error) => {
                let body = Address::field("bodies").index(index as u64);
                let address = error.address().cloned().unwrap_or_else(|| body.then("positions"));
                damages.add(Damage::of(address, &error, bytes));
                None
            }
        };
        MeshInfo {
            address: format!("bodies[{index}]"),
            name: None,
            role: "geometry",
            material: None,
            vertices: Some(mesh.vertex_count() as u64),
            triangles: Some(mesh.triangle_count() as u64),
            attributes: attributes(mesh).into(),
            bounds,
            groups: None,
        }
    });
    let meshes = meshes.collect();
    let facts = Facts { bodies: bodies.meshes().map(body).collect() };
    Look { variant: variant(bodies), facts, meshes, details: HashMap::new() }
}

fn attributes(mesh: &Mesh) -> Vec<AttributeInfo> {
    let mut attributes = vec![AttributeInfo::new(Semantic::Position, VertexFormat::FLOAT32X3)];
    attributes
        .extend(mesh.has_normals().then(|| AttributeInfo::new(Semantic::Normal, VertexFormat::FLOAT32X3)));
    let uvs = (0..).zip(mesh.uv_maps());
    attributes
        .extend(uvs.map(|(set, _)| AttributeInfo::new(Semantic::TexCoord(set), VertexFormat::FLOAT32X2)));
    let maps = mesh.attribute_maps().map(|map| lossy(&map.name()));
    attributes.extend(maps.map(|name| AttributeInfo::new(Semantic::Custom(name), VertexFormat::FLOAT32X4)));
    attributes
}

fn body(mesh: &Mesh) -> BodyFact {
    BodyFact {
        method: mesh.method().to_string(),
        comment: lossy(&mesh.comment().unwrap_or_default()),
        vertices: mesh.vertex_count() as u64,
        triangles: mesh.triangle_count() as u64,
        has_normals: mesh.has_normals(),
        decoded: mesh.items().next().and_then(|body| body.decoded).unwrap_or(0),
        uv_maps: mesh
            .uv_maps()
            .map(|map| MapFact {
                name: lossy(&map.name()),
                file: Some(lossy(&map.file())),
                precision: map.precision(),
            })
            .collect(),
        attribute_maps: mesh
            .attribute_maps()
            .map(|map| MapFact { name: lossy(&map.name()), file: None, precision: map.precision() })
            .collect(),
        mg2: mesh.mg2_header().map(|header| Mg2Fact {
            position_precision: header.vertex_precision.get(),
            normal_precision: header.normal_precision.get(),
            grid_min: header.lower_bound.map(|component| component.get()),
            grid_max: header.higher_bound.map(|component| component.get()),
            grid: header.div.map(|component| component.get()),
        }),
    }
}

/// Returns `true` if all positions are decoded without a request.
fn are_boxes_worth_it(bodies: &Bodies, depth: Depth) -> bool {
    /// Decoding data that a few bytes declare may take long.
    const WORTH_DECODING: u64 = 64 * WORTH_READING;
    let (stored, decoded) = bodies
        .meshes()
        .map(positions_sizes)
        .fold((0_u64, 0_u64), |sum, mesh| (sum.0 + mesh.0, sum.1 + mesh.1));
    depth != Depth::Look || (stored <= WORTH_READING && decoded <= WORTH_DECODING)
}

/// The stored and the decoded size.
fn positions_sizes(mesh: &Mesh) -> (u64, u64) {
    let positions = mesh.blocks().into_iter().filter(|block| block.what == "VERT");
    positions.fold((0, 0), |sum, block| {
        (sum.0 + block.range.end - block.range.start, sum.1 + block.decoded_len.unwrap_or(0))
    })
}

/// The box around the points that are finite.
fn corners(mesh: &Mesh) -> Result<Option<[[f32; 3]; 2]>> {
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for point in mesh.positions()?.iter() {
        for axis in (0..3).filter(|axis| point[*axis].is_finite()) {
            (min[axis], max[axis]) = (min[axis].min(point[axis]), max[axis].max(point[axis]));
        }
    }
    Ok((0..3).all(|axis| min[axis] <= max[axis]).then_some([min, max]))
}

/// Decodes every array by itself, and reports the arrays that cannot be decoded.
pub(super) fn each_array(bodies: &Bodies, bytes: Option<u64>, damages: &mut Damages) {
    for (index, mesh) in bodies.meshes().enumerate() {
        let body = || Address::field("bodies").index(index as u64);
        let mut arrays = vec![
            (body().then("indices"), mesh.raw_triangles().err()),
            (body().then("positions"), mesh.positions().err()),
            (body().then("normals"), mesh.normals().err()),
        ];
        for (map, uv) in (0..).zip(mesh.uv_maps()) {
            arrays.push((body().then("uv_maps").index(map).then("coords"), uv.read().err()));
        }
        for (map, attribute) in (0..).zip(mesh.attribute_maps()) {
            arrays.push((body().then("attribute_maps").index(map).then("values"), attribute.read().err()));
        }
        for (address, error) in arrays {
            // If an array lacks data of another array, the damage is the other array's.
            if let Some(error) = error {
                damages.add(Damage::of(error.address().cloned().unwrap_or(address), &error, bytes));
            }
        }
    }
}

/// The bodies of a file, in a few words.
pub(crate) fn summary(facts: &Facts) -> [String; 3] {
    let (vertices, triangles) = totals(facts);
    let bodies =
        if facts.bodies.len() > 1 { text::plural(facts.bodies.len(), "body") } else { String::new() };
    [format!("{} verts", text::count(vertices)), format!("{} tris", text::count(triangles)), bodies]
}

fn totals(facts: &Facts) -> (u64, u64) {
    facts.bodies.iter().fold((0, 0), |sum, body| (sum.0 + body.vertices, sum.1 + body.triangles))
}

pub(super) fn page(facts: &Facts, inspection: &Inspection) -> (String, Vec<Block>) {
    let Some(first) = facts.bodies.first() else { return (String::new(), Vec::new()) };
    let (vertices, triangles) = totals(facts);
    let line = vec![
        text::plural(vertices, "vertex"),
        text::plural(triangles, "triangle"),
        text::plural(facts.bodies.len(), "body"),
    ];
    let mut blocks = vec![Block::Words("mesh", line)];
    blocks.extend(bounds(facts, inspection));
    blocks.extend(precision(first));
    blocks.push(Block::line("unit, axes", "not stored"));
    blocks.push(Block::Table(if facts.bodies.len() > 1 {
        list(facts, inspection)
    } else {
        arrays(first, inspection)
    }));
    blocks.push(Block::line("decoded", decoded(facts)));
    let comment = match first.comment.is_empty() {
        true => String::new(),
        false => format!("\"{}\"", text::name(first.comment.trim_end())),
    };
    (comment, blocks)
}

fn bounds(facts: &Facts, inspection: &Inspection) -> Vec<Block> {
    let boxes = inspection.meshes.iter().filter_map(|mesh| mesh.bounds);
    let around = boxes.reduce(|[a, b], [c, d]| {
        [std::array::from_fn(|axis| a[axis].min(c[axis])), std::array::from_fn(|axis| b[axis].max(d[axis]))]
    });
    let broken = inspection.damage.iter().any(|damage| damage.address.to_string().contains("positions"));
    let mut blocks = Vec::new();
    match around {
        Some(around) => blocks.push(Block::line("box", text::corners(around))),
        None if broken => {}
        None if inspection.depth == Depth::Look
            && !facts.bodies.iter().all(|body| body.vertices < 1 << 20) =>
        {
            blocks.push(Block::line("box", "not computed (--full)"));
        }
        None => blocks.push(Block::line("box", "of no point that is finite, or not computed (--full)")),
    }
    if let [BodyFact { mg2: Some(mg2), .. }] = facts.bodies.as_slice() {
        let [x, y, z] = mg2.grid;
        let corners = text::corners([mg2.grid_min, mg2.grid_max]);
        blocks.push(Block::Words("grid", vec![corners, format!("({x} x {y} x {z} cells, from the header)")]));
    }
    blocks
}

/// The steps of MG2.
fn precision(body: &BodyFact) -> Option<Block> {
    let mg2 = body.mg2.as_ref()?;
    let mut steps = vec![format!("position {}", step(mg2.position_precision))];
    if body.has_normals {
        steps.push(format!("normal {}", step(mg2.normal_precision)));
    }
    for (name, maps) in [("uv", &body.uv_maps), ("attribute", &body.attribute_maps)] {
        let all: Vec<f32> = maps.iter().filter_map(|map| map.precision).collect();
        // The finest, where maps differ.
        if let Some(least) = all.iter().copied().reduce(f32::min) {
            let more = if all.iter().all(|precision| *precision == least) { "" } else { " and more" };
            steps.push(format!("{name} {}{more}", step(least)));
        }
    }
    Some(Block::Words("precision", steps))
}

/// `1/256` of powers of two, else the number.
fn step(precision: f32) -> String {
    let parts = 1.0 / f64::from(precision);
    match precision {
        1.0 => "1".to_owned(),
        _ if parts > 1.0 && parts < 1e15 && (parts as u64).is_power_of_two() && parts.fract() == 0.0 => {
            format!("1/{}", text::count(parts as u64))
        }
        _ => precision.to_string(),
    }
}

/// The arrays of the only body.
fn arrays(body: &BodyFact, inspection: &Inspection) -> Table {
    let mut table = Table::new(
        "array",
        &[
            ("array", Kind::Name, 9),
            ("stored", Kind::Number, 8),
            ("decoded", Kind::Number, 7),
            ("ratio", Kind::Number, 4),
            ("offset", Kind::Word, 5),
            ("", Kind::Word, 9),
            ("", Kind::Name, 2),
        ],
    );
    let mut total = 0;
    for (index, part) in inspection.parts().skip(1).enumerate() {
        total = index + 1;
        if index < MOST_ROWS {
            table.push(row(body, &part));
        }
    }
    table.total = total;
    table
}

fn row(body: &BodyFact, part: &Part) -> Vec<String> {
    let (name, note) = name(body, &part.address);
    let decoded = part.decoded.unwrap_or(part.stored);
    let ratio = match body.method.as_str() {
        "RAW" => "in place".to_owned(),
        _ => format!("{:.1}", decoded as f64 / part.stored.max(1) as f64),
    };
    let state = if part.state >= State::Broken { part.state.name() } else { "" };
    let offset = format!("{:#x}", part.range.start);
    vec![name, text::size(part.stored), text::size(decoded), ratio, offset, state.to_owned(), note]
}

/// The name of an array, and its additional information.
fn name(body: &BodyFact, address: &str) -> (String, String) {
    let quoted = |name: &str| match name.is_empty() {
        true => String::new(),
        false => format!(" \"{}\"", text::name(name)),
    };
    let own = address.split_once('.').map_or(address, |(_, own)| own);
    let map = |prefix: &str| -> Option<usize> { own.strip_prefix(prefix)?.split_once(']')?.0.parse().ok() };
    if let Some(index) = map("uv_maps[") {
        let Some(map) = body.uv_maps.get(index) else { return (own.to_owned(), String::new()) };
        let file = map.file.as_deref().unwrap_or_default();
        let texture = if file.is_empty() { String::new() } else { format!("texture{}", quoted(file)) };
        return (format!("uv[{index}]{}", quoted(&map.name)), texture);
    }
    if let Some(index) = map("attribute_maps[") {
        let name = body.attribute_maps.get(index).map_or("", |map| &map.name);
        return (format!("attribute[{index}]{}", quoted(name)), String::new());
    }
    // Grid indices are a part of the positions.
    let name = if own == "grid_indices" { "  grid indices" } else { own };
    (name.to_owned(), String::new())
}

/// The bodies of a file that has several.
fn list(facts: &Facts, inspection: &Inspection) -> Table {
    let mut table = Table::new(
        "body",
        &[
            ("#", Kind::Number, 9),
            ("method", Kind::Word, 4),
            ("vertices", Kind::Number, 8),
            ("triangles", Kind::Number, 8),
            ("stored", Kind::Number, 6),
            ("offset", Kind::Word, 5),
            ("", Kind::Word, 9),
            ("comment", Kind::Name, 2),
        ],
    );
    let is_body = |part: &Part| !part.address.contains('.');
    let parts: Vec<Part> = inspection.parts().filter(is_body).take(MOST_ROWS).collect();
    for (index, (body, part)) in facts.bodies.iter().zip(&parts).enumerate() {
        table.push(vec![
            index.to_string(),
            body.method.clone(),
            text::count(body.vertices),
            text::count(body.triangles),
            text::size(part.stored),
            format!("{:#x}", part.range.start),
            if part.state >= State::Broken { part.state.name() } else { "" }.to_owned(),
            text::name(&body.comment),
        ]);
    }
    table.total = facts.bodies.len();
    table
}

fn decoded(facts: &Facts) -> String {
    if facts.bodies.iter().all(|body| body.method == "RAW") {
        return "nothing to decode: every array in place".to_owned();
    }
    let size = text::size(facts.bodies.iter().map(|body| body.decoded).sum());
    let needs = facts.bodies.iter().any(|body| body.mg2.is_some() && body.has_normals);
    let normals = if needs { " (normals need positions and indices)" } else { "" };
    format!("{size}; each array alone, or all at once{normals}")
}
