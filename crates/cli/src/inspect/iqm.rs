//! What `meshmap info` says about an IQM file.

use meshmap::Result;
use meshmap::iqm::{Anim, Mesh, Model, VertexArrayType};

use crate::page::{Block, MOST_ROWS, Page, WORTH_READING, labelled, pad};
use crate::show;

/// The parts of a model, in a few words.
pub(crate) fn summary(model: &Model) -> String {
    let (poses, frames) = (model.poses().len(), model.frames().len());
    let animation = match (poses, frames) {
        (0, _) => String::new(),
        _ => format!("{}, {}", show::plural(poses, "pose"), show::plural(frames as usize, "frame")),
    };
    if model.meshes().len() == 0 {
        return match animation.is_empty() {
            true => "no meshes, no poses".to_owned(),
            false => format!("animation only, {animation}"),
        };
    }
    let joints = match model.joint_count() {
        0 => String::new(),
        joints => show::plural(joints, "joint"),
    };
    let counts =
        format!("{} v   {} t", show::count(model.vertex_count()), show::count(model.triangle_count()));
    let parts = [counts, joints, animation];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("   ")
}

pub(crate) fn page(model: &Model, full: bool) -> Result<Page> {
    let mut blocks = Vec::new();
    if model.meshes().len() > 0 {
        blocks.push(meshes(model));
    }
    let arrays = arrays(model);
    if !arrays.is_empty() {
        blocks.push(Block::lines(labelled("arrays", &arrays)));
    }
    if let Some(line) = bounding_box(model, full)? {
        blocks.push(Block::lines(vec![line]));
    }
    if let Some(line) = skeleton(model) {
        blocks.push(Block::lines(vec![line]));
    }
    if model.poses().len() > 0 || !model.frames().is_empty() {
        blocks.push(animation(model));
    }
    let others = others(model)?;
    if !others.is_empty() {
        blocks.push(Block::lines(labelled("beside", &others)));
    }
    Ok(Page { subtitle: subtitle(model), blocks, ..Page::default() })
}

fn subtitle(model: &Model) -> String {
    if model.meshes().len() > 0 {
        return "every array in place, nothing to decode".to_owned();
    }
    match (model.poses().len(), model.joint_count()) {
        (0, 0) => "no meshes, no animation".to_owned(),
        (0, _) => "skeleton only: no meshes, no animation".to_owned(),
        (_, 0) => "animation only: no meshes, no joint names".to_owned(),
        (_, _) => "animation only: no meshes".to_owned(),
    }
}

fn meshes(model: &Model) -> Block {
    let counts = [
        show::plural(model.meshes().len(), "mesh"),
        format!("{} vertices", show::count(model.vertex_count())),
        format!("{} triangles", show::count(model.triangle_count())),
        "Z up, front faces clockwise".to_owned(),
    ];
    let header = ["#", "name", "vertices", "triangles", "material"].map(str::to_owned).to_vec();
    let row = |(index, mesh): (usize, Mesh)| {
        vec![
            index.to_string(),
            show::name(&mesh.name.to_string_lossy()),
            show::count(mesh.num_vertexes),
            show::count(mesh.num_triangles),
            show::name(&mesh.material.to_string_lossy()),
        ]
    };
    let rows: Vec<_> =
        std::iter::once(header).chain(model.meshes().enumerate().take(MOST_ROWS).map(row)).collect();
    let table = show::table(&rows, &[false, true, false, false, true]);
    Block { lines: labelled("mesh", &counts), table: pad(table, model.meshes().len()), rows: "meshes" }
}

fn arrays(model: &Model) -> Vec<String> {
    const MOST: usize = 24;
    let mut arrays: Vec<String> = model
        .vertex_arrays()
        .take(MOST)
        .map(|array| {
            let name = match &array.kind {
                VertexArrayType::Position => "position".to_owned(),
                VertexArrayType::TexCoord => "texcoord".to_owned(),
                VertexArrayType::Normal => "normal".to_owned(),
                VertexArrayType::Tangent => "tangent".to_owned(),
                VertexArrayType::BlendIndexes => "blendindexes".to_owned(),
                VertexArrayType::BlendWeights => "blendweights".to_owned(),
                VertexArrayType::Color => "color".to_owned(),
                VertexArrayType::Custom(name) => format!("\"{}\"", show::name(&name.to_string_lossy())),
                other => format!("{other:?}").to_lowercase(),
            };
            format!("{name} {}x{}", array.format, array.size)
        })
        .collect();
    let more = model.vertex_arrays().len().saturating_sub(MOST);
    if more > 0 {
        arrays.push(format!(".. {} more", show::count(more as u64)));
    }
    arrays.extend(has(model, "adjacency").then(|| "adjacency".to_owned()));
    arrays
}

fn bounding_box(model: &Model, full: bool) -> Result<Option<String>> {
    let kind = VertexArrayType::Position;
    let Some(array) = model.vertex_arrays().find(|array| array.kind == kind) else { return Ok(None) };
    if array.range.end - array.range.start > WORTH_READING && !full {
        return Ok(Some(format!("{:<11} not computed (--full)", "box")));
    }
    let bounds = model.vertex_array_of(&kind)?.and_then(|positions| positions.bounds());
    let point = |[x, y, z]: [f32; 3]| format!("{x:.3} {y:.3} {z:.3}");
    Ok(bounds.map(|bounds| format!("{:<11} {}  ..  {}", "box", point(bounds.min), point(bounds.max))))
}

fn skeleton(model: &Model) -> Option<String> {
    let joints: Vec<_> = model.joints().map(|joint| joint.parent).collect();
    let poses: Vec<_> = model.poses().map(|pose| pose.parent).collect();
    let tree = if joints.is_empty() { &poses } else { &joints };
    let things = match (joints.len(), poses.len()) {
        (0, 0) => return None,
        (0, poses) => show::plural(poses, "pose"),
        (joints, _) => show::plural(joints, "joint"),
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
        (false, false) if joints == poses => {
            format!("; {} with the same parents", show::plural(poses.len(), "pose"))
        }
        (false, false) => format!("; {} with other parents", show::plural(poses.len(), "pose")),
    };
    Some(format!("{:<11} {things}, {}, depth {depth}{poses}", "skeleton", show::plural(roots, "root")))
}

fn animation(model: &Model) -> Block {
    let frames = model.frames().len();
    let channels = u64::from(model.header().num_framechannels.get());
    let all = model.poses().len() as u64 * if model.version() == 1 { 9 } else { 10 };
    let line = format!(
        "{:<11} {}, {} of {} channels move, {} a frame",
        "animation",
        show::plural(frames as usize, "frame"),
        show::count(channels),
        show::count(all),
        show::size(channels * 2),
    );
    if model.anims().len() == 0 {
        return Block::lines(vec![line]);
    }
    let header = ["#", "name", "frames", "rate", "last", "loop"].map(str::to_owned).to_vec();
    let row = |(index, anim): (usize, Anim)| {
        let last = anim.num_frames.saturating_sub(1);
        let stored = anim.framerate > 0.0 && anim.framerate.is_finite();
        vec![
            index.to_string(),
            show::name(&anim.name.to_string_lossy()),
            match anim.num_frames {
                0 => "none".to_owned(),
                _ => format!("{}..{}", anim.first_frame, anim.first_frame.saturating_add(last)),
            },
            if stored { format!("{} fps", anim.framerate) } else { "not stored".to_owned() },
            if stored {
                format!("{:.3} s", f64::from(last) / f64::from(anim.framerate))
            } else {
                "-".to_owned()
            },
            if anim.is_loop() { "yes" } else { "no" }.to_owned(),
        ]
    };
    let rows: Vec<_> =
        std::iter::once(header).chain(model.anims().enumerate().take(MOST_ROWS).map(row)).collect();
    let table = show::table(&rows, &[false, true, true, false, false, true]);
    Block { lines: vec![line], table: pad(table, model.anims().len()), rows: "animations" }
}

fn others(model: &Model) -> Result<Vec<String>> {
    const MOST: usize = 8;
    let mut others = Vec::new();
    if has(model, "bounds") {
        others.push("a box for each frame".to_owned());
    }
    if let Some(comment) = model.comment()? {
        let text = comment.to_string_lossy();
        others.push(format!("comment \"{}\"", show::name(text.trim_end_matches('\0'))));
    }
    if model.flags() != 0 {
        others.push(format!("flags {:#x}", model.flags()));
    }
    others.extend(model.extensions().take(MOST).map(|extension| {
        let bytes = extension.range.end - extension.range.start;
        format!("{} {}", show::name(&extension.name.to_string_lossy()), show::size(bytes))
    }));
    Ok(others)
}

/// Whether the file has the section of this name.
fn has(model: &Model, section: &str) -> bool {
    model.items().any(|item| item.address.to_string() == section)
}
