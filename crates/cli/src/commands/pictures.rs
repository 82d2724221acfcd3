//! Settings and words of one picture and of a sheet of many.

use std::path::Path;

use meshmap::Parallelism;
use meshmap_catalog::json as json_text;
use meshmap_render::{Render, Rendered};
use serde_json::{Value, json};

use super::{outputs, report};
use crate::inputs::{self, Choice, Input, Problem, Reading};
use crate::text;

/// The settings for reading and drawing files, one at a time or in parallel.
pub(super) fn together(
    render: &Render,
    choice: &Choice,
    is_one_of_many: bool,
) -> (Reading, Render) {
    let parallelism = if is_one_of_many {
        Parallelism::Off
    } else {
        render.parallelism
    };
    (
        choice.reading(outputs::SHARES, is_one_of_many),
        Render {
            parallelism,
            refuses_without_effect: !is_one_of_many,
            ..render.clone()
        },
    )
}

/// The settings for one file, in whose folder images are looked for.
pub(super) fn beside(render: &Render, input: &Input) -> Render {
    Render {
        folder: inputs::folder_of(input).map(Path::to_owned),
        ..render.clone()
    }
}

/// The problem of a file that has no mesh.
pub(super) fn no_mesh() -> Problem {
    Problem::other("unknown_format", "no mesh file".to_owned())
}

/// The triangles, points or joints that were drawn.
pub(super) fn shapes(rendered: &Rendered) -> String {
    let counts = [
        (rendered.triangles, "triangle"),
        (rendered.points, "point"),
        (rendered.joints, "joint"),
    ];
    let drawn = counts.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = drawn
        .map(|(count, what)| text::plural(count, what))
        .collect();
    if words.is_empty() {
        text::plural(0, "triangle")
    } else {
        words.join(", ")
    }
}

/// The properties of the JSON object.
pub(super) fn facts(rendered: &Rendered) -> Value {
    let facts = json!({
        "size": rendered.size,
        "pictures": rendered.pictures,
        "triangles": rendered.triangles,
        "points": rendered.points,
        "joints": rendered.joints,
        "textures": outputs::textures(&rendered.textures),
        "moment": rendered.moment,
    });
    json_text::with(facts, report::facts::<Render>(&rendered.report))
}
