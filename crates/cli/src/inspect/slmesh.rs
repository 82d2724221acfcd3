//! What `meshmap info` says about a Second Life mesh asset.

use std::ops::Range;

use meshmap::slmesh::{Asset, Decoded, Lod, Mesh, PhysicsConvex, Skin};
use meshmap::{Error, Result};

use crate::page::{Block, MOST_ROWS, Page, WORTH_READING, labelled, pad};
use crate::show;

/// The parts of an asset, in a few words.
pub(crate) fn summary(asset: &Asset) -> String {
    let lods = Lod::ALL.into_iter().filter(|lod| matches!(asset.lod_range(*lod), Ok(Some(_)))).count();
    let mut parts = Vec::new();
    match asset.best_lod(Lod::High) {
        Some(lod) if is_worth_reading(asset) => {
            if let Ok(Some(mesh)) = asset.lod(lod) {
                let (vertices, triangles) = (mesh.vertex_count(), mesh.triangle_count());
                parts.push(format!(
                    "{} v   {} t",
                    show::count(vertices as u64),
                    show::count(triangles as u64)
                ));
            }
        }
        Some(lod) => {
            let triangles = asset.triangle_estimate(lod).unwrap_or(0);
            parts.push(format!("about {} t", show::count(triangles)));
        }
        None => {}
    }
    parts.push(show::plural(lods, "LOD"));
    if is_worth_reading(asset)
        && let Ok(Some(skin)) = asset.skin()
    {
        parts.push(show::plural(skin.joint_count(), "joint"));
    }
    parts.join("   ")
}

/// Whether all blocks together are small enough to be inflated unasked.
fn is_worth_reading(asset: &Asset) -> bool {
    let stored = asset.entries().filter_map(|entry| entry.range().ok().flatten());
    stored.map(|range| range.end - range.start).fold(0, u64::saturating_add) <= WORTH_READING
}

pub(crate) fn page(asset: &Asset, full: bool) -> Result<Page> {
    let decoded = if full || is_worth_reading(asset) { Some(asset.decode_all()?) } else { None };
    let mut lines = labelled("header", &header(asset));
    let mut findings = Vec::new();
    if let Some(decoded) = &decoded {
        if let Ok(Some(skin)) = &decoded.skin {
            lines.extend(labelled("rigged", &rigged(skin)));
        }
        if let Some(lod) = asset.best_lod(Lod::High)
            && let Ok(Some(mesh)) = decoded.lod(lod)
        {
            lines.extend(boxes(lod, mesh)?);
        }
        let bad = errors(decoded).into_iter().map(|error| format!("! {}", show::line(&error.message())));
        findings.extend(bad);
    } else {
        findings
            .push("! large: nothing inflated, triangles estimated from sizes (--full inflates)".to_owned());
    }
    let blocks = vec![Block::lines(lines), table(asset, decoded.as_ref())];
    Ok(Page { subtitle: subtitle(asset), blocks, findings, ..Page::default() })
}

fn subtitle(asset: &Asset) -> String {
    match asset.is_not_found() {
        true => "404: not found, says the service".to_owned(),
        false => "unit cube, Z up".to_owned(),
    }
}

fn header(asset: &Asset) -> Vec<String> {
    let range = asset.header_range();
    let mut words = vec![show::plural((range.end - range.start) as usize, "byte")];
    words.extend(asset.version().map(|version| format!("version {version}")));
    words.extend(asset.creator().map(|creator| format!("creator {}", uuid(creator))));
    words.extend(asset.date().filter(|date| date.is_finite()).map(|date| format!("uploaded {}", day(date))));
    words.extend(asset.submodel_id().map(|id| format!("sub-model {id}")));
    let absent = [
        ("version", asset.version().is_none()),
        ("creator", asset.creator().is_none()),
        ("date", asset.date().is_none()),
    ];
    let absent: Vec<_> = absent.into_iter().filter(|(_, absent)| *absent).map(|(name, _)| name).collect();
    if !absent.is_empty() {
        words.push(format!("{}: not stored", absent.join(", ")));
    }
    let head = range.start + 4096;
    let there = |range: &Range<u64>| range.end <= head;
    let inside: Vec<_> = asset
        .entries()
        .filter(|entry| entry.range().ok().flatten().as_ref().is_some_and(there))
        .map(|entry| show::name(&entry.name().to_string_lossy()))
        .take(8)
        .collect();
    words.push(match inside.is_empty() {
        true => "first 4,096 bytes: header only".to_owned(),
        false => format!("first 4,096 bytes: {}", inside.join(", ")),
    });
    words
}

fn uuid(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The day of a number of seconds since the beginning of 1970, in the calendar that is in use.
fn day(seconds: f64) -> String {
    // Years of which the calendar is certain, and which fit the arithmetic.
    let days = (seconds / 86_400.0).floor();
    if !(-200_000.0..1_000_000.0).contains(&days) {
        return format!("{seconds:e} s after 1970");
    }
    // Days since 0000-03-01, so that leap days are the last days of years, and of 400 years.
    let days = days as i64 + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

fn rigged(skin: &Skin) -> Vec<String> {
    let first: Vec<_> =
        skin.joint_names.iter().flatten().take(3).map(|name| show::name(&name.to_string_lossy())).collect();
    let more = if skin.joint_count() > first.len() { " .." } else { "" };
    let mut words =
        vec![format!("{} ({}{more})", show::plural(skin.joint_count(), "joint"), first.join(", "))];
    words.extend(skin.pelvis_offset.map(|offset| format!("pelvis offset {offset}")));
    if skin.lock_scale_if_joint_position {
        words.push("scale locked".to_owned());
    }
    if skin.inverse_bind_matrices.is_none() {
        words.push("inverse_bind_matrix: not stored".to_owned());
    }
    if skin.alt_inverse_bind_matrices.is_some() {
        words.push("joints moved".to_owned());
    }
    words
}

/// The boxes around the positions and the texture coordinates of all faces.
fn boxes(lod: Lod, mesh: &Mesh) -> Result<Vec<String>> {
    let (mut positions, mut tex_coords) = (Extent::<3>::new(), Extent::<2>::new());
    for face in mesh.faces() {
        face.positions()?.iter().for_each(|position| positions.add(position));
        face.tex_coords()?.iter().flat_map(|array| array.iter()).for_each(|uv| tex_coords.add(uv));
    }
    let mut lines = Vec::new();
    if let Some(extent) = positions.show() {
        lines.extend(labelled("box", &[format!("{extent}   ({lod})")]));
    }
    if let Some(extent) = tex_coords.show() {
        lines.extend(labelled("uv", &[format!("{extent}   (V up)")]));
    }
    Ok(lines)
}

struct Extent<const N: usize> {
    min: [f32; N],
    max: [f32; N],
}

impl<const N: usize> Extent<N> {
    fn new() -> Self {
        Self { min: [f32::INFINITY; N], max: [f32::NEG_INFINITY; N] }
    }

    fn add(&mut self, point: [f32; N]) {
        for ((number, min), max) in point.iter().zip(&mut self.min).zip(&mut self.max) {
            *min = min.min(*number);
            *max = max.max(*number);
        }
    }

    fn show(&self) -> Option<String> {
        let is_finite = self.min.iter().chain(&self.max).all(|number| number.is_finite());
        let corner = |numbers: &[f32; N]| numbers.map(|number| format!("{number:.3}")).join(" ");
        is_finite.then(|| format!("{}  ..  {}", corner(&self.min), corner(&self.max)))
    }
}

fn errors(decoded: &Decoded) -> Vec<&Error> {
    let meshes = decoded.lods.iter().chain([&decoded.physics_mesh]).filter_map(|mesh| mesh.as_ref().err());
    meshes.chain(decoded.physics_convex.as_ref().err()).chain(decoded.skin.as_ref().err()).collect()
}

fn table(asset: &Asset, decoded: Option<&Decoded>) -> Block {
    let header = ["block", "stored", "inflated", "faces", "vertices", "triangles", "byte range"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for entry in asset.entries().take(MOST_ROWS) {
        let name = entry.name().to_string_lossy();
        let mut row = vec![show::name(&name)];
        match entry.range() {
            Ok(Some(range)) => {
                row.push(show::size(range.end - range.start));
                row.extend(contents(asset, decoded, &name));
                row.push(format!("{}..{}", show::count(range.start), show::count(range.end)));
            }
            Ok(None) => row.push("absent".to_owned()),
            Err(_) => row.push("?".to_owned()),
        }
        row.resize(header.len(), String::new());
        rows.push(row);
    }
    let table = show::table(&rows, &[true, false, false, false, false, false, false]);
    Block { lines: Vec::new(), table: pad(table, asset.entries().len()), rows: "blocks" }
}

/// Inflated size, faces, vertices and triangles.
fn contents(asset: &Asset, decoded: Option<&Decoded>, name: &str) -> [String; 4] {
    let lod = Lod::ALL.into_iter().find(|lod| lod.name() == name);
    let Some(decoded) = decoded else {
        let triangles = lod.and_then(|lod| asset.triangle_estimate(lod));
        let triangles = triangles.map_or(String::new(), |triangles| format!("~{}", show::count(triangles)));
        return [String::new(), String::new(), String::new(), triangles];
    };
    let mesh = match (lod, name) {
        (Some(lod), _) => decoded.lod(lod).ok().flatten(),
        (_, "physics_mesh" | "physics_shape") => decoded.physics_mesh.as_ref().ok().and_then(Option::as_ref),
        _ => None,
    };
    match (mesh, name, &decoded.physics_convex) {
        (Some(mesh), _, _) => {
            let (vertices, triangles) = (mesh.vertex_count(), mesh.triangle_count());
            [
                show::size(mesh.content().len() as u64),
                show::count(mesh.len() as u64),
                show::count(vertices as u64),
                show::count(triangles as u64),
            ]
        }
        (_, "physics_convex", Ok(Some(convex))) => {
            [String::new(), hulls(convex), points(convex), String::new()]
        }
        (_, "skin", _) => match &decoded.skin {
            Ok(Some(skin)) => {
                let joints = show::plural(skin.joint_count(), "joint");
                [String::new(), String::new(), joints, String::new()]
            }
            _ => Default::default(),
        },
        _ => Default::default(),
    }
}

fn hulls(convex: &PhysicsConvex) -> String {
    let count = convex.hull_sizes().map_or(0, |sizes| sizes.len());
    show::plural(count + usize::from(convex.raw_bounding_verts().is_some()), "hull")
}

fn points(convex: &PhysicsConvex) -> String {
    let counts = [convex.raw_hull_points(), convex.raw_bounding_verts()];
    show::plural(counts.iter().flatten().map(|points| points.len()).sum(), "point")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0.0, "1970-01-01"),
            (-1.0, "1969-12-31"),
            (951_782_400.0, "2000-02-29"),
            (1_498_643_820.0, "2017-06-28"),
            (4_102_444_800.0, "2100-01-01"),
        ] {
            assert_eq!(day(seconds), expected);
        }
    }
}
