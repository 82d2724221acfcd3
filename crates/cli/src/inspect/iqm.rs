//! Facts and page of an IQM file.

use std::collections::HashMap;
use std::sync::Arc;

use meshmap::iqm::{Model, VertexArrayType, raw};
use meshmap::{Address, MeshFile, Semantic, Source};
use serde::Serialize;

use super::block::{Block, MOST_ROWS};
use super::model::{
    AttributeInfo, Damage, Damages, Depth, Inspection, Look, MeshInfo, Part, State, WORTH_READING, lossy,
};
use crate::table::{Kind, Table};
use crate::text;

/// Facts that only IQM files have.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    version: u32,
    flags: u32,
    comment: Option<String>,
    vertices: u64,
    triangles: u64,
    vertex_arrays: Vec<ArrayFact>,
    has_adjacency: bool,
    has_bounds: bool,
    joints: Vec<JointFact>,
    poses: Vec<Option<u32>>,
    frames: u32,
    animated_channels: u32,
    channels: u64,
    anims: Vec<AnimFact>,
    extensions: Vec<ExtensionFact>,
    /// Around all points; on the page of a file of several meshes.
    #[serde(rename = "box")]
    bounds: Option<[[f32; 3]; 2]>,
}

#[derive(Debug, Serialize)]
struct ArrayFact {
    #[serde(rename = "type")]
    kind: String,
    format: String,
    components: u32,
}

#[derive(Debug, Serialize)]
struct JointFact {
    name: String,
    parent: Option<u32>,
}

#[derive(Debug, Serialize)]
struct AnimFact {
    name: String,
    first_frame: u32,
    frames: u32,
    /// Frames per second; null if it is not stored.
    rate: Option<f32>,
    #[serde(rename = "loop")]
    loops: bool,
}

#[derive(Debug, Serialize)]
struct ExtensionFact {
    name: String,
    bytes: u64,
}

pub(super) fn look(model: &Model, depth: Depth, bytes: Option<u64>, damages: &mut Damages) -> Look<Facts> {
    let attributes = || {
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
        known.take(64).collect::<Arc<[_]>>()
    };
    let (attributes, positions) = (attributes(), positions(model, depth, bytes, damages));
    // Meshes that declare the same vertices have bounds as long as all of them together are not many times the file.
    let mut left = 16 * (model.vertex_count() as u64).saturating_add(model.triangle_count() as u64);
    let meshes = model.meshes().enumerate().map(|(index, mesh)| {
        let own = u64::from(mesh.first_vertex)..u64::from(mesh.first_vertex) + u64::from(mesh.num_vertexes);
        left = left.saturating_sub(own.end - own.start);
        MeshInfo {
            address: format!("meshes[{index}]"),
            name: Some(lossy(&mesh.name)),
            role: "geometry",
            material: Some(lossy(&mesh.material)),
            vertices: Some(mesh.num_vertexes.into()),
            triangles: Some(mesh.num_triangles.into()),
            attributes: Arc::clone(&attributes),
            bounds: positions.as_ref().filter(|_| left > 0).and_then(|positions| {
                let own = usize::try_from(own.start).ok()?..usize::try_from(own.end).ok()?;
                let bounds = positions.slice(own)?.bounds()?;
                Some([bounds.min, bounds.max])
            }),
            groups: None,
        }
    });
    let meshes: Vec<MeshInfo> = meshes.collect();
    let has =
        |section: &str| MeshFile::Iqm(model.clone()).items().any(|item| item.address.to_string() == section);
    let comment = model.comment().ok().flatten();
    let facts = Facts {
        version: model.version(),
        flags: model.flags(),
        comment: comment.map(|comment| lossy(&comment).trim_end_matches('\0').to_owned()),
        vertices: model.vertex_count() as u64,
        triangles: model.triangle_count() as u64,
        vertex_arrays: model.vertex_arrays().map(|array| array_fact(&array)).collect(),
        has_adjacency: has("adjacency"),
        has_bounds: has("bounds"),
        joints: model
            .joints()
            .map(|joint| JointFact { name: lossy(&joint.name), parent: joint.parent })
            .collect(),
        poses: model.poses().map(|pose| pose.parent).collect(),
        frames: model.frames().len(),
        animated_channels: model.header().num_framechannels.get(),
        channels: model.poses().len() as u64 * if model.version() == 1 { 9 } else { 10 },
        anims: model
            .anims()
            .map(|anim| AnimFact {
                name: lossy(&anim.name),
                first_frame: anim.first_frame,
                frames: anim.num_frames,
                rate: (anim.framerate > 0.0 && anim.framerate.is_finite()).then_some(anim.framerate),
                loops: anim.is_loop(),
            })
            .collect(),
        extensions: model
            .extensions()
            .map(|extension| ExtensionFact {
                name: lossy(&extension.name),
                bytes: extension.range.end - extension.range.start,
            })
            .collect(),
        bounds: positions.and_then(|positions| positions.bounds()).map(|bounds| [bounds.min, bounds.max]),
    };
    let variant = format!("IQM {}", model.version());
    Look { variant, facts, meshes, details: HashMap::new() }
}

/// The positions, where they cost little.
fn positions(
    model: &Model,
    depth: Depth,
    bytes: Option<u64>,
    damages: &mut Damages,
) -> Option<meshmap::Attribute> {
    let kind = VertexArrayType::Position;
    let (index, array) = model.vertex_arrays().enumerate().find(|(_, array)| array.kind == kind)?;
    if array.range.end - array.range.start > WORTH_READING && depth == Depth::Look {
        return None;
    }
    match model.vertex_array(index) {
        Ok(positions) => Some(positions),
        Err(error) => {
            let address = Address::field("vertex_arrays").index(index as u64);
            damages.add(Damage::of(address, &error, bytes));
            None
        }
    }
}

fn array_fact(array: &meshmap::iqm::VertexArray) -> ArrayFact {
    let kind = match &array.kind {
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
    };
    ArrayFact { kind, format: array.format.to_string(), components: array.size }
}

/// The parts of a model, in a few words.
pub(crate) fn summary(facts: &Facts, inspection: &Inspection) -> [String; 3] {
    let animation = match (facts.poses.len(), facts.frames) {
        (0, _) => String::new(),
        (poses, frames) => format!("{}, {}", text::plural(poses, "pose"), text::plural(frames, "frame")),
    };
    if inspection.meshes.is_empty() {
        let words = match animation.is_empty() {
            true => "no meshes, no poses".to_owned(),
            false => format!("animation only, {animation}"),
        };
        return [String::new(), String::new(), words];
    }
    let joints = match facts.joints.len() {
        0 => String::new(),
        joints => text::plural(joints, "joint"),
    };
    let parts: Vec<String> = [joints, animation].into_iter().filter(|part| !part.is_empty()).collect();
    let counts = [facts.vertices, facts.triangles].map(text::count);
    let [vertices, triangles] = counts;
    [format!("{vertices} verts"), format!("{triangles} tris"), parts.join(", ")]
}

pub(super) fn page(facts: &Facts, inspection: &Inspection) -> (String, Vec<Block>) {
    let meshes = &inspection.meshes;
    let mut blocks = Vec::new();
    if !meshes.is_empty() {
        let counts = vec![
            text::plural(meshes.len(), "mesh"),
            text::plural(facts.vertices, "vertex"),
            text::plural(facts.triangles, "triangle"),
            "Z up, front faces clockwise".to_owned(),
        ];
        blocks.push(Block::Words("mesh", counts));
        let mut table = Table::new(
            "mesh",
            &[
                ("#", Kind::Number, 9),
                ("name", Kind::Name, 9),
                ("vertices", Kind::Number, 8),
                ("triangles", Kind::Number, 8),
                ("material", Kind::Name, 3),
            ],
        );
        for (index, mesh) in meshes.iter().enumerate().take(MOST_ROWS) {
            let name = |name: &Option<String>| text::name(name.as_deref().unwrap_or_default());
            let count = |count: Option<u64>| count.map(text::count).unwrap_or_default();
            table.push(vec![
                index.to_string(),
                name(&mesh.name),
                count(mesh.vertices),
                count(mesh.triangles),
                name(&mesh.material),
            ]);
        }
        table.total = meshes.len();
        blocks.push(Block::Table(table));
    }
    let arrays = arrays(facts);
    if !arrays.is_empty() {
        blocks.push(Block::Words("arrays", arrays));
    }
    match facts.bounds {
        Some(bounds) => blocks.push(Block::line("box", text::corners(bounds))),
        None if facts.vertex_arrays.iter().any(|array| array.kind == "position") && facts.vertices > 0 => {
            blocks.push(Block::line("box", "not computed (--full)"));
        }
        None => {}
    }
    blocks.extend(skeleton(facts));
    if !facts.poses.is_empty() || facts.frames > 0 {
        animation(facts, &mut blocks);
    }
    let others = others(facts);
    if !others.is_empty() {
        blocks.push(Block::Words("also", others));
    }
    (subtitle(facts, inspection), blocks)
}

fn subtitle(facts: &Facts, inspection: &Inspection) -> String {
    if !inspection.meshes.is_empty() {
        return String::new();
    }
    match (facts.poses.len(), facts.joints.len()) {
        (0, 0) => "no meshes, no animation".to_owned(),
        (0, _) => "skeleton only: no meshes, no animation".to_owned(),
        (_, 0) => "animation only: no meshes, no joint names".to_owned(),
        (_, _) => "animation only: no meshes".to_owned(),
    }
}

fn arrays(facts: &Facts) -> Vec<String> {
    const MOST: usize = 24;
    let arrays = &facts.vertex_arrays;
    let name =
        |array: &ArrayFact| format!("{} {}x{}", text::name(&array.kind), array.format, array.components);
    let mut words: Vec<String> = arrays.iter().take(MOST).map(name).collect();
    if arrays.len() > MOST {
        words.push(format!(".. {} more", text::count(arrays.len() - MOST)));
    }
    words.extend(facts.has_adjacency.then(|| "adjacency".to_owned()));
    words
}

fn skeleton(facts: &Facts) -> Option<Block> {
    let joints: Vec<_> = facts.joints.iter().map(|joint| joint.parent).collect();
    let poses = &facts.poses;
    let tree = if joints.is_empty() { poses } else { &joints };
    let things = match (joints.len(), poses.len()) {
        (0, 0) => return None,
        (0, poses) => text::plural(poses, "pose"),
        (joints, _) => text::plural(joints, "joint"),
    };
    let roots = tree.iter().filter(|parent| parent.is_none()).count();
    let mut depths: Vec<usize> = Vec::with_capacity(tree.len());
    for parent in tree {
        let above = parent.and_then(|parent| depths.get(parent as usize).copied());
        depths.push(above.map_or(1, |above| above + 1));
    }
    let depth = depths.iter().max().copied().unwrap_or(0);
    let poses = match (joints.is_empty(), poses.is_empty()) {
        (true, _) => String::new(),
        (false, true) => "; no poses".to_owned(),
        (false, false) if joints == *poses => {
            format!("; {} with the same parents", text::plural(poses.len(), "pose"))
        }
        (false, false) => format!("; {} with other parents", text::plural(poses.len(), "pose")),
    };
    Some(Block::line("skeleton", format!("{things}, {}, depth {depth}{poses}", text::plural(roots, "root"))))
}

fn animation(facts: &Facts, blocks: &mut Vec<Block>) {
    blocks.push(Block::line(
        "animation",
        format!(
            "{}, {} animated channels of {}, {} a frame",
            text::plural(facts.frames, "frame"),
            text::count(facts.animated_channels),
            text::count(facts.channels),
            text::size(u64::from(facts.animated_channels) * 2),
        ),
    ));
    if facts.anims.is_empty() {
        return;
    }
    let mut table = Table::new(
        "animation",
        &[
            ("#", Kind::Number, 9),
            ("name", Kind::Name, 9),
            ("frames", Kind::Word, 8),
            ("rate", Kind::Number, 7),
            ("last", Kind::Number, 6),
            ("loop", Kind::Word, 2),
        ],
    );
    for (index, anim) in facts.anims.iter().enumerate().take(MOST_ROWS) {
        let last = anim.frames.saturating_sub(1);
        table.push(vec![
            index.to_string(),
            text::name(&anim.name),
            match anim.frames {
                0 => "none".to_owned(),
                _ => format!("{}..{}", anim.first_frame, anim.first_frame.saturating_add(last)),
            },
            anim.rate.map_or_else(|| "not stored".to_owned(), |rate| format!("{rate} fps")),
            anim.rate
                .map_or_else(|| "-".to_owned(), |rate| format!("{:.3} s", f64::from(last) / f64::from(rate))),
            if anim.loops { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table.total = facts.anims.len();
    blocks.push(Block::Table(table));
}

fn others(facts: &Facts) -> Vec<String> {
    const MOST: usize = 8;
    let mut others = Vec::new();
    if facts.has_bounds {
        others.push("per-frame bounds".to_owned());
    }
    others.extend(facts.comment.as_ref().map(|comment| format!("comment \"{}\"", text::name(comment))));
    if facts.flags != 0 {
        others.push(format!("flags {:#x}", facts.flags));
    }
    let name = |extension: &ExtensionFact| {
        format!("{} {}", text::name(&extension.name), text::size(extension.bytes))
    };
    others.extend(facts.extensions.iter().take(MOST).map(name));
    others
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
    let field = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes).map(u64::from);
    let (version, filesize) = (field(0x10)?, field(0x14)?);
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
        let (count, start) = (field(count)?, field(offset)?);
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
        let stored = range.end - range.start;
        parts.push(Part {
            address: name.to_owned(),
            range,
            codec: "none",
            stored,
            decoded: None,
            counts: Vec::new(),
            state,
        });
    }
    parts.sort_by_key(|part| part.range.start);
    Some(parts)
}
