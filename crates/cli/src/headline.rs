//! The first lines about a file: what it is, how large and how long, and which of its images are there.

use std::path::{Path, PathBuf};

use meshmap::{Axis, Format, LengthUnit};
use meshmap_catalog::inspect::Inspection;
use meshmap_images::Library;
use meshmap_job::Search;
use meshmap_scene::{ClipTime, Overview, SnapshotTimes, Unit, is_image};

use crate::inputs::folder_of;
use crate::text;

/// The names that a line lists before it counts the others.
const MOST_NAMED: usize = 3;

/// The lines about a file that could be opened.
///
/// Images are looked for in the folder of the file, if it has one, and below the folders `textures`.
pub(crate) fn lines(inspection: &Inspection, textures: &[PathBuf]) -> Vec<String> {
    let Some(file) = &inspection.file else {
        return Vec::new();
    };
    let overview = Overview::of(file);
    let folder = folder_of(&inspection.input);
    let mut lines = vec![kind(inspection, &overview)];
    lines.extend(size(inspection, &overview));
    lines.extend(images(&overview.images, folder, textures));
    lines
}

/// The kind of file, and the parts that move.
fn kind(inspection: &Inspection, overview: &Overview) -> String {
    let joints = match overview.joints {
        None => "joints".to_owned(),
        Some(joints) => text::plural(joints, "joint"),
    };
    let has_joints = overview.joints != Some(0);
    let Some(geometry) = geometry(inspection) else {
        return match (overview.clip_count, has_joints) {
            (0, false) => "Nothing to draw".to_owned(),
            (0, true) => format!("A skeleton of {joints}, without a mesh"),
            _ => format!("Animations for {joints}: {}", clips(overview)),
        };
    };
    if let Some(times) = &overview.snapshots {
        let count = text::plural(times.count, "snapshot");
        let length = length_of(times);
        return format!("{geometry}, in {count}: {length}");
    }
    let mut words = match overview.levels {
        0 => geometry,
        1 => format!("{geometry}, with 1 level of detail"),
        levels => format!("{geometry}, with {levels} levels of detail"),
    };
    if has_joints {
        words = format!("{words}, on {joints}");
    }
    if overview.clip_count > 0 {
        let count = text::plural(overview.clip_count, "animation");
        words = format!("{words}, with {count}: {}", clips(overview));
    }
    words
}

/// The triangles and vertices that are drawn; `None` if the file has no meshes.
fn geometry(inspection: &Inspection) -> Option<String> {
    if inspection.meshes().is_empty() {
        return None;
    }
    let summary = &inspection.facts.as_ref()?.summary;
    if summary.vertices == Some(0) {
        let is_animation = inspection.meshes().len() > 1 && inspection.format == Some(Format::CGeo);
        let words = if is_animation {
            "A mesh without vertices in the first snapshot"
        } else {
            "A mesh without vertices"
        };
        return Some(words.to_owned());
    }
    let [vertices, triangles] = summary.counts(["vertex", "triangle"]);
    let separate = inspection.meshes().iter();
    let meshes = match separate.filter(|mesh| mesh.role == "geometry").count() {
        // Snapshots and faces are of one mesh.
        0 | 1 => "A mesh".to_owned(),
        count => text::plural(count, "mesh"),
    };
    Some(match (summary.triangles, vertices, triangles) {
        (Some(0), Some(_), _) => {
            let points = text::plural(summary.vertices.unwrap_or(0), "point");
            format!("A cloud of {points}")
        }
        (_, Some(vertices), Some(triangles)) => format!("{meshes} of {triangles} and {vertices}"),
        (_, Some(count), None) | (_, None, Some(count)) => format!("{meshes} of {count}"),
        (_, None, None) => meshes,
    })
}

/// The time that snapshots take.
fn length_of(times: &SnapshotTimes) -> String {
    match (times.seconds(), times.rate) {
        (Some(seconds), Some(rate)) => {
            let rate = (rate * 1000.0).round() / 1000.0;
            format!("{} at {rate} per second", text::seconds(seconds))
        }
        _ => "no rate is stored".to_owned(),
    }
}

/// The names and lengths of animations.
fn clips(overview: &Overview) -> String {
    let mut words = Vec::new();
    for ClipTime { name, seconds, .. } in overview.clips.iter().take(MOST_NAMED) {
        let name = text::name(&name.to_string_lossy());
        words.push(format!("{name} {}", text::seconds(*seconds)));
    }
    let words = with_more(words, overview.clip_count);
    if overview.clips.iter().all(|clip| clip.is_rate_stored) {
        words
    } else {
        // The lengths are a guess.
        format!(
            "{words}; {} frames per second if none are stored",
            Format::USUAL_RATE
        )
    }
}

/// Names, and the number of the names that are not listed.
fn with_more(mut names: Vec<String>, count: usize) -> String {
    let more = count.saturating_sub(names.len());
    if more > 0 {
        names.push(format!("{} more", text::count(more)));
    }
    names.join(", ")
}

/// The size of the box around what is drawn, standing upright.
fn size(inspection: &Inspection, overview: &Overview) -> Option<String> {
    let summary = &inspection.facts.as_ref()?.summary;
    let [min, max] = bounds(inspection).filter(|_| summary.vertices != Some(0))?;
    let lengths: [f32; 3] = std::array::from_fn(|axis| max[axis] - min[axis]);
    let [wide, high, deep] = overview.up.rotate_to(Axis::Y, lengths).map(f32::abs);
    let conventions = inspection.format.map(Format::conventions);
    let is_of_object = conventions.is_some_and(|of| of.unit == Some(LengthUnit::ObjectSize));
    let (scale, unit, remark) = match overview.unit {
        _ if is_of_object => (1.0, "", ", as parts of the object's size"),
        Unit::Millimeters(millimeters) => (millimeters / 1000.0, " m", ""),
        _ => (1.0, "", "; no unit is stored"),
    };
    let length = |number: f32| format!("{}{unit}", rounded(f64::from(number) * scale));
    Some(format!(
        "{} wide, {} high, {} deep{remark}",
        length(wide),
        length(high),
        length(deep)
    ))
}

/// The box of the meshes that are drawn, which come first: all with the role of the first one, but only one snapshot.
pub(crate) fn bounds(inspection: &Inspection) -> Option<[[f32; 3]; 2]> {
    let meshes = inspection.meshes();
    let first = meshes.first()?;
    let most = if first.role == "snapshot" {
        1
    } else {
        meshes.len()
    };
    let boxes = meshes
        .iter()
        .take(most)
        .filter(|mesh| mesh.role == first.role)
        .filter_map(|mesh| mesh.bounds);
    boxes.reduce(|[a, b], [c, d]| {
        [
            std::array::from_fn(|axis| a[axis].min(c[axis])),
            std::array::from_fn(|axis| b[axis].max(d[axis])),
        ]
    })
}

/// A length to three digits.
fn rounded(length: f64) -> String {
    if length == 0.0 {
        return "0".to_owned();
    }
    match length {
        0.01..10.0 => format!("{length:.2}"),
        10.0..100.0 => format!("{length:.1}"),
        100.0..1e6 => format!("{length:.0}"),
        _ => format!("{length:.2e}"),
    }
}

/// Images that are there, and images that are not.
fn images(names: &[String], folder: Option<&Path>, textures: &[PathBuf]) -> Vec<String> {
    let overview_is_full = names.len() == Overview::MOST_LISTED;
    let library = Library::default();
    let search = Search {
        library: &library,
        folder,
        textures,
    };
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for name in names {
        match search.find(name) {
            Ok(_) => found.push(name),
            Err(problem) if is_image(name) || problem.is_of_found() => missing.push(name),
            // The name of a material.
            Err(_) => {}
        }
    }
    let mut lines = Vec::new();
    for (names, what) in [(found, "found"), (missing, missing_words(folder, textures))] {
        if names.is_empty() {
            continue;
        }
        let mut listed = Vec::new();
        for name in names.iter().take(MOST_NAMED) {
            listed.push(text::name(name));
        }
        let mut count = text::plural(names.len(), "image");
        if overview_is_full {
            count = format!(
                "of the first {} names, {count}",
                text::count(Overview::MOST_LISTED)
            );
        }
        lines.push(format!(
            "{count} {what}: {}",
            with_more(listed, names.len())
        ));
    }
    lines
}

fn missing_words(folder: Option<&Path>, textures: &[PathBuf]) -> &'static str {
    match (folder, textures) {
        (None, []) => "named",
        (_, []) => "not beside the file (--textures DIR)",
        _ => "not found",
    }
}
