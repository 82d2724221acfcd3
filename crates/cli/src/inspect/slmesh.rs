//! Facts and page of a Second Life mesh asset.

use std::collections::HashMap;
use std::ops::Range;

use meshmap::slmesh::{Asset, Decoded, Face, Lod, Mesh, Skin};
use meshmap::{Address, Error, Result, Segment, Semantic};
use serde::Serialize;

use super::block::{Block, MOST_ROWS};
use super::model::{
    AttributeInfo, Damage, Damages, Depth, Inspection, Look, MeshInfo, PartDetail, State, WORTH_READING,
    cut_off, lossy,
};
use crate::inputs::Problem;
use crate::table::{Kind, Table};
use crate::text;

/// Facts that only Second Life mesh assets have.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    version: Option<i32>,
    /// A UUID.
    creator: Option<String>,
    /// Seconds since the beginning of 1970.
    date: Option<f64>,
    submodel: Option<i64>,
    is_not_found: bool,
    header_bytes: u64,
    /// Blocks that lie within the first 4,096 bytes.
    in_first_4096_bytes: Vec<String>,
    /// `true` if blocks were inflated; otherwise counts are null.
    is_inflated: bool,
    levels_of_detail: Vec<LodFact>,
    /// The finest level of detail that is there.
    finest: Option<&'static str>,
    skin: Option<SkinFact>,
    physics_convex: Option<ConvexFact>,
    /// Around the positions of all faces of the finest level of detail.
    #[serde(rename = "box")]
    bounds: Option<[[f32; 3]; 2]>,
    /// Around their texture coordinates.
    uv_box: Option<[[f32; 2]; 2]>,
    absent: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LodFact {
    name: &'static str,
    triangle_estimate: Option<u64>,
    vertices: Option<u64>,
    triangles: Option<u64>,
    faces: Option<u64>,
}

#[derive(Debug, Serialize)]
struct SkinFact {
    joints: Vec<String>,
    pelvis_offset: Option<f32>,
    lock_scale_if_joint_position: bool,
    has_inverse_bind_matrices: bool,
    has_joint_offsets: bool,
}

#[derive(Debug, Serialize)]
struct ConvexFact {
    /// The number of hulls in the list, without the hull around all points.
    hulls: u64,
    points: u64,
    has_bounding_hull: bool,
    bounding_points: u64,
}

/// Blocks whose bytes are missing, or whose declared location is wrong.
pub(super) fn beyond_the_end(asset: &Asset, bytes: u64, damages: &mut Damages) {
    for entry in asset.entries() {
        let name = entry.name();
        let address = address(&lossy(name));
        match entry.range() {
            Ok(Some(range)) if range.end > bytes && !range.is_empty() => {
                let state = if range.start >= bytes { State::Missing } else { State::Incomplete };
                let problem = Problem::other("truncated", cut_off(&range, bytes));
                damages.add(Damage { address, state, range: Some(range), problem, rule: None });
            }
            Ok(_) => {}
            Err(error) => damages.add(Damage::of(address, &error, Some(bytes))),
        }
    }
}

/// The reason why a block cannot be read.
pub(super) fn error_of(asset: &Asset, address: &Address) -> Option<Error> {
    let Some(Segment::Field(name)) = address.segments().first() else { return None };
    match name.as_ref() {
        "skin" => asset.skin().err(),
        "physics_convex" => asset.physics_convex().err(),
        "physics_mesh" => asset.physics_mesh().err(),
        name => Lod::ALL.into_iter().find(|lod| lod.name() == name).and_then(|lod| asset.lod(lod).err()),
    }
}

fn address(name: &str) -> Address {
    const KNOWN: [&str; 9] = [
        "high_lod",
        "medium_lod",
        "low_lod",
        "lowest_lod",
        "physics_mesh",
        "physics_shape",
        "physics_convex",
        "physics_havok",
        "skin",
    ];
    match KNOWN.into_iter().find(|known| *known == name) {
        Some(known) => Address::field(known),
        None => Address::field("header").name(name),
    }
}

/// Returns `true` if all blocks together are small enough to be inflated without a request.
fn is_worth_reading(asset: &Asset) -> bool {
    let stored = asset.entries().filter_map(|entry| entry.range().ok().flatten());
    stored.map(|range| range.end.saturating_sub(range.start)).fold(0, u64::saturating_add) <= WORTH_READING
}

pub(super) fn look(asset: &Asset, depth: Depth, bytes: Option<u64>, damages: &mut Damages) -> Look<Facts> {
    let decoded = (depth != Depth::Look || is_worth_reading(asset)).then(|| asset.decode_all());
    let decoded = match decoded.transpose() {
        Ok(decoded) => decoded,
        Err(error) => {
            damages.add(Damage::of(Address::field("file"), &error, bytes));
            None
        }
    };
    if let Some(decoded) = &decoded {
        for (name, error) in errors(decoded) {
            damages.add(Damage::of(address(name), error, bytes));
        }
    }
    let meshes = decoded.as_ref().map(|decoded| meshes(decoded, bytes, damages)).unwrap_or_default();
    let details = decoded.as_ref().map(|decoded| details(asset, decoded, damages)).unwrap_or_default();
    let facts = facts(asset, decoded.as_ref());
    Look { variant: "Second Life mesh asset".to_owned(), facts, meshes, details }
}

/// The meshes that could be decoded, by the names of their blocks.
fn blocks(decoded: &Decoded) -> impl Iterator<Item = (&'static str, &Mesh)> {
    let lods = Lod::ALL.into_iter().map(|lod| (lod.name(), decoded.lod(lod).ok().flatten()));
    let physics = decoded.physics_mesh.as_ref().ok().and_then(Option::as_ref);
    lods.chain([("physics_mesh", physics)]).filter_map(|(name, mesh)| Some((name, mesh?)))
}

fn errors(decoded: &Decoded) -> Vec<(&'static str, &Error)> {
    let names = Lod::ALL.map(Lod::name);
    let lods = Lod::ALL.into_iter().zip(names).filter_map(|(lod, name)| {
        let index = Lod::ALL.iter().position(|other| *other == lod)?;
        Some((name, decoded.lods.get(index)?.as_ref().err()?))
    });
    let others = [
        ("physics_mesh", decoded.physics_mesh.as_ref().err()),
        ("physics_convex", decoded.physics_convex.as_ref().err()),
        ("skin", decoded.skin.as_ref().err()),
    ];
    lods.chain(others.into_iter().filter_map(|(name, error)| Some((name, error?)))).collect()
}

/// A mesh for each face.
fn meshes(decoded: &Decoded, bytes: Option<u64>, damages: &mut Damages) -> Vec<MeshInfo> {
    let mut meshes = Vec::new();
    for (name, mesh) in blocks(decoded) {
        let role = match name {
            "high_lod" => "lod0",
            "medium_lod" => "lod1",
            "low_lod" => "lod2",
            "lowest_lod" => "lod3",
            _ => "physics",
        };
        for face in mesh.faces() {
            let bounds = match bounds_of(&face) {
                Ok(bounds) => bounds,
                Err(error) => {
                    damages.add(Damage::of(Address::field(name), &error, bytes));
                    None
                }
            };
            let has = [
                (face.has_geometry(), Semantic::Position, "unorm16x3"),
                (face.raw_normals().is_some(), Semantic::Normal, "unorm16x3"),
                (face.raw_texcoords().is_some(), Semantic::TexCoord(0), "unorm16x2"),
                (face.weights().is_some(), Semantic::Joints(0), "uint8x4"),
                (face.weights().is_some(), Semantic::Weights(0), "unorm16x4"),
            ];
            let has = has.into_iter().filter(|(has, ..)| *has);
            meshes.push(MeshInfo {
                address: face.address().to_string(),
                name: None,
                role,
                material: None,
                vertices: Some(face.vertex_count() as u64),
                triangles: Some(face.triangle_count() as u64),
                attributes: has.map(|(_, semantic, format)| AttributeInfo::new(semantic, format)).collect(),
                bounds,
                groups: None,
            });
        }
    }
    meshes
}

fn bounds_of(face: &Face) -> Result<Option<[[f32; 3]; 2]>> {
    let mut extent = Extent::<3>::new();
    face.positions()?.iter().for_each(|position| extent.add(position));
    Ok(extent.finite())
}

fn details(asset: &Asset, decoded: &Decoded, damages: &Damages) -> HashMap<String, PartDetail> {
    let mut details = HashMap::new();
    for (name, mesh) in blocks(decoded) {
        let counts = vec![
            ("faces", mesh.faces().len() as u64),
            ("vertices", mesh.vertex_count() as u64),
            ("triangles", mesh.triangle_count() as u64),
        ];
        // The older name of a block stands for the newer one.
        let name = if asset.entry(name).is_none() && name == "physics_mesh" { "physics_shape" } else { name };
        let decoded = Some(mesh.content().len() as u64);
        details.insert(name.to_owned(), PartDetail { decoded, counts, is_intact: !damages.has(name) });
    }
    if let Ok(Some(skin)) = &decoded.skin {
        let counts = vec![("joints", skin.joint_count() as u64)];
        details
            .insert("skin".to_owned(), PartDetail { decoded: None, counts, is_intact: !damages.has("skin") });
    }
    if let Some(convex) = convex(decoded) {
        let counts = vec![
            ("hulls", convex.hulls),
            ("points", convex.points),
            ("bounding_points", convex.bounding_points),
        ];
        let is_intact = !damages.has("physics_convex");
        details.insert("physics_convex".to_owned(), PartDetail { decoded: None, counts, is_intact });
    }
    details
}

fn convex(decoded: &Decoded) -> Option<ConvexFact> {
    let convex = decoded.physics_convex.as_ref().ok()?.as_ref()?;
    Some(ConvexFact {
        hulls: convex.hull_sizes().map_or(0, |sizes| sizes.len() as u64),
        points: convex.raw_hull_points().map_or(0, |points| points.len() as u64),
        has_bounding_hull: convex.raw_bounding_verts().is_some(),
        bounding_points: convex.raw_bounding_verts().map_or(0, |points| points.len() as u64),
    })
}

fn facts(asset: &Asset, decoded: Option<&Decoded>) -> Facts {
    let header = asset.header_range();
    let head = header.start + 4096;
    let there = |range: &Range<u64>| range.end <= head;
    let finest = asset.best_lod(Lod::High);
    let mesh = finest.and_then(|lod| decoded?.lod(lod).ok().flatten());
    let (bounds, uv_box) = mesh.map_or((None, None), boxes);
    let absent = asset.entries().filter(|entry| matches!(entry.range(), Ok(None)));
    Facts {
        version: asset.version(),
        creator: asset.creator().map(uuid),
        date: asset.date(),
        submodel: asset.submodel_id(),
        is_not_found: asset.is_not_found(),
        header_bytes: header.end - header.start,
        in_first_4096_bytes: asset
            .entries()
            .filter(|entry| entry.range().ok().flatten().as_ref().is_some_and(there))
            .map(|entry| lossy(entry.name()))
            .collect(),
        is_inflated: decoded.is_some(),
        levels_of_detail: Lod::ALL
            .into_iter()
            .filter(|lod| !matches!(asset.lod_range(*lod), Ok(None)))
            .map(|lod| {
                let mesh = decoded.and_then(|decoded| decoded.lod(lod).ok().flatten());
                LodFact {
                    name: lod.name(),
                    triangle_estimate: asset.triangle_estimate(lod),
                    vertices: mesh.map(|mesh| mesh.vertex_count() as u64),
                    triangles: mesh.map(|mesh| mesh.triangle_count() as u64),
                    faces: mesh.map(|mesh| mesh.faces().len() as u64),
                }
            })
            .collect(),
        finest: finest.map(Lod::name),
        skin: decoded.and_then(|decoded| decoded.skin.as_ref().ok()?.as_ref()).map(skin),
        physics_convex: decoded.and_then(convex),
        bounds,
        uv_box,
        absent: absent.map(|entry| lossy(entry.name())).collect(),
    }
}

fn skin(skin: &Skin) -> SkinFact {
    let names = skin.joint_names.iter().flatten().map(lossy).collect::<Vec<_>>();
    SkinFact {
        joints: names,
        pelvis_offset: skin.pelvis_offset,
        lock_scale_if_joint_position: skin.lock_scale_if_joint_position,
        has_inverse_bind_matrices: skin.inverse_bind_matrices.is_some(),
        has_joint_offsets: skin.alt_inverse_bind_matrices.is_some(),
    }
}

/// Two corners.
type Corners<const N: usize> = [[f32; N]; 2];

/// The boxes around the positions and the texture coordinates of all faces.
fn boxes(mesh: &Mesh) -> (Option<Corners<3>>, Option<Corners<2>>) {
    let (mut positions, mut tex_coords) = (Extent::<3>::new(), Extent::<2>::new());
    for face in mesh.faces() {
        if let Ok(array) = face.positions() {
            array.iter().for_each(|position| positions.add(position));
        }
        if let Ok(Some(array)) = face.texcoords(0) {
            array.iter().for_each(|uv| tex_coords.add(uv));
        }
    }
    (positions.finite(), tex_coords.finite())
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

    fn finite(&self) -> Option<[[f32; N]; 2]> {
        let is_finite = self.min.iter().chain(&self.max).all(|number| number.is_finite());
        is_finite.then_some([self.min, self.max])
    }
}

fn uuid(bytes: [u8; 16]) -> String {
    let hex = text::hex(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The parts of an asset, in a few words.
pub(crate) fn summary(facts: &Facts) -> [String; 3] {
    let finest = facts.levels_of_detail.iter().find(|lod| Some(lod.name) == facts.finest);
    let vertices = finest.and_then(|lod| lod.vertices).map(|count| format!("{} verts", text::count(count)));
    let triangles = finest.and_then(|lod| match (lod.triangles, lod.triangle_estimate) {
        (Some(count), _) => Some(format!("{} tris", text::count(count))),
        (None, Some(estimate)) if !facts.is_inflated => Some(format!("~{} tris", text::count(estimate))),
        _ => None,
    });
    let mut parts = vec![text::plural(facts.levels_of_detail.len(), "LOD")];
    parts.extend(facts.skin.as_ref().map(|skin| text::plural(skin.joints.len(), "joint")));
    [vertices.unwrap_or_default(), triangles.unwrap_or_default(), parts.join(", ")]
}

pub(super) fn page(facts: &Facts, inspection: &Inspection) -> (String, Vec<Block>) {
    let mut blocks = vec![Block::Words("header", header(facts))];
    if let Some(skin) = &facts.skin {
        blocks.push(Block::Words("rigged", rigged(skin)));
    }
    if let (Some(bounds), Some(lod)) = (facts.bounds, facts.finest) {
        blocks.push(Block::Words("box", vec![text::corners(bounds), format!("({lod})")]));
    }
    if let Some(uvs) = facts.uv_box {
        blocks.push(Block::Words("uv", vec![text::corners(uvs), "(V up)".to_owned()]));
    }
    blocks.push(Block::Table(table(facts, inspection)));
    if let Some(words) = facts.physics_convex.as_ref().map(hulls).filter(|words| !words.is_empty()) {
        blocks.push(Block::Words("physics", words));
    }
    if !facts.is_inflated {
        blocks.push(Block::line("", "nothing inflated, triangles estimated from sizes (--full inflates)"));
    }
    let subtitle = if facts.is_not_found { "404: not found, says the service" } else { "unit cube, Z up" };
    (subtitle.to_owned(), blocks)
}

fn header(facts: &Facts) -> Vec<String> {
    let mut words = vec![text::plural(facts.header_bytes, "byte")];
    words.extend(facts.version.map(|version| format!("version {version}")));
    words.extend(facts.creator.as_ref().map(|creator| format!("creator {creator}")));
    words.extend(facts.date.filter(|date| date.is_finite()).map(|date| format!("uploaded {}", day(date))));
    words.extend(facts.submodel.map(|id| format!("submodel {id}")));
    let absent = [
        ("version", facts.version.is_none()),
        ("creator", facts.creator.is_none()),
        ("date", facts.date.is_none()),
    ];
    let absent: Vec<_> = absent.into_iter().filter(|(_, absent)| *absent).map(|(name, _)| name).collect();
    if !absent.is_empty() {
        words.push(format!("{}: not stored", absent.join(", ")));
    }
    let inside: Vec<String> = facts.in_first_4096_bytes.iter().take(8).map(|name| text::name(name)).collect();
    words.push(match inside.is_empty() {
        true => "first 4,096 bytes: header only".to_owned(),
        false => format!("first 4,096 bytes: {}", inside.join(", ")),
    });
    words
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

fn rigged(skin: &SkinFact) -> Vec<String> {
    let first: Vec<String> = skin.joints.iter().take(3).map(|name| text::name(name)).collect();
    let more = if skin.joints.len() > first.len() { " .." } else { "" };
    let mut words =
        vec![format!("{} ({}{more})", text::plural(skin.joints.len(), "joint"), first.join(", "))];
    words.extend(skin.pelvis_offset.map(|offset| format!("pelvis offset {offset}")));
    if skin.lock_scale_if_joint_position {
        words.push("scale locked".to_owned());
    }
    if !skin.has_inverse_bind_matrices {
        words.push("inverse_bind_matrix: not stored".to_owned());
    }
    if skin.has_joint_offsets {
        words.push("joint offsets".to_owned());
    }
    words
}

fn table(facts: &Facts, inspection: &Inspection) -> Table {
    let mut table = Table::new(
        "block",
        &[
            ("block", Kind::Name, 9),
            ("stored", Kind::Number, 8),
            ("inflated", Kind::Number, 4),
            ("faces", Kind::Number, 5),
            ("vertices", Kind::Number, 6),
            ("triangles", Kind::Number, 7),
            ("byte range", Kind::Word, 2),
            ("", Kind::Word, 9),
        ],
    );
    let mut total = 0;
    for part in inspection.parts().filter(|part| part.address != "header") {
        total += 1;
        if total > MOST_ROWS {
            continue;
        }
        let count =
            |name: &str| part.counts.iter().find(|(known, _)| *known == name).map(|(_, count)| *count);
        let shown = |name: &str| count(name).map(text::count).unwrap_or_default();
        let [faces, vertices] = [shown("faces"), shown("vertices")];
        let mut triangles = shown("triangles");
        let lod = facts.levels_of_detail.iter().find(|lod| lod.name == part.address);
        if let (false, Some(estimate)) = (facts.is_inflated, lod.and_then(|lod| lod.triangle_estimate)) {
            triangles = format!("~{}", text::count(estimate));
        }
        table.push(vec![
            text::name(&part.address),
            text::size(part.stored),
            part.decoded.map(text::size).unwrap_or_default(),
            faces,
            vertices,
            triangles,
            format!("{}..{}", text::count(part.range.start), text::count(part.range.end)),
            if part.state >= State::Broken { part.state.name() } else { "" }.to_owned(),
        ]);
    }
    for name in facts.absent.iter().take(MOST_ROWS.saturating_sub(total)) {
        table.push(vec![text::name(name), "absent".to_owned()]);
        total += 1;
    }
    table.total = total;
    table
}

/// The hulls of the list, and the one around all points.
fn hulls(convex: &ConvexFact) -> Vec<String> {
    let mut words = Vec::new();
    if convex.hulls > 0 {
        words.push(format!(
            "{} of {}",
            text::plural(convex.hulls, "hull"),
            text::plural(convex.points, "point")
        ));
    }
    if convex.has_bounding_hull {
        words.push(format!("bounding hull of {}", text::plural(convex.bounding_points, "point")));
    }
    words
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
