//! The facts of a Second Life mesh asset.

use std::collections::HashMap;

use meshmap::slmesh::{Asset, Decoded, Face, Lod, Mesh, Skin};
use meshmap::{Address, Bounds, Error, Result, Segment, Semantic};
use serde_json::{Value, json};

use super::lists::Lists;
use super::model::{
    AttributeInfo, Damage, Damages, Facts, Look, MeshInfo, PartDetail, Summary, Variant,
    WORTH_READING, corners, cut_off, lossy, single,
};
use crate::depth::Depth;
use crate::text;

/// The format, which has no versions.
pub(super) fn variant() -> Variant {
    Variant::new("Second Life mesh asset", "SL mesh")
}

/// Blocks whose bytes are missing, or whose declared location is wrong.
pub(super) fn beyond_the_end(asset: &Asset, bytes: u64, damages: &mut Damages) {
    for entry in asset.entries() {
        let address = address(&lossy(entry.name()));
        match entry.range() {
            Ok(Some(range)) if range.end > bytes && !range.is_empty() => {
                damages.add(cut_off(address, range, bytes));
            }
            Ok(_) => {}
            Err(error) => damages.add(Damage::of(address, &error, Some(bytes))),
        }
    }
}

/// The reason why a block cannot be read.
pub(super) fn error_of(asset: &Asset, address: &Address) -> Option<Error> {
    let Some(Segment::Field(name)) = address.segments().first() else {
        return None;
    };
    match name.as_ref() {
        "skin" => asset.skin().err(),
        "physics_convex" => asset.physics_convex().err(),
        "physics_mesh" => asset.physics_mesh().err(),
        name => Lod::ALL
            .into_iter()
            .find(|lod| lod.name() == name)
            .and_then(|lod| asset.lod(lod).err()),
    }
}

fn address(name: &str) -> Address {
    const OTHERS: [&str; 5] = [
        "physics_mesh",
        "physics_shape",
        "physics_convex",
        "physics_havok",
        "skin",
    ];
    match Lod::ALL
        .map(Lod::name)
        .into_iter()
        .chain(OTHERS)
        .find(|known| *known == name)
    {
        Some(known) => Address::field(known),
        None => Address::field("header").name(name),
    }
}

/// Returns `true` if all blocks together are small enough to be inflated without a request.
fn is_worth_reading(asset: &Asset) -> bool {
    let stored = asset
        .entries()
        .filter_map(|entry| entry.range().ok().flatten());
    stored
        .map(|range| range.end.saturating_sub(range.start))
        .fold(0, u64::saturating_add)
        <= WORTH_READING
}

pub(super) fn facts(asset: &Asset, look: &mut Look<'_>) -> Facts {
    let decoded =
        (look.depth >= Depth::Meshes || is_worth_reading(asset)).then(|| asset.decode_all());
    let decoded = decoded.transpose().unwrap_or_else(|error| {
        look.failed(Address::field("file"), &error);
        None
    });
    for (name, error) in decoded.iter().flat_map(errors) {
        look.failed(address(name), error);
    }
    let meshes = decoded
        .as_ref()
        .map(|decoded| meshes(decoded, look))
        .unwrap_or_default();
    let details = decoded
        .as_ref()
        .map(|decoded| details(asset, decoded, look.damages))
        .unwrap_or_default();
    let date = asset
        .date()
        .filter(|date| date.is_finite())
        .map(|date| ("date", day(date)));
    // The table of parts has the exact counts.
    let levels = decoded
        .as_ref()
        .map(|_| ("levels_of_detail", String::new()));
    Facts {
        values: values(asset, decoded.as_ref(), look.lists),
        words: date.into_iter().chain(levels).collect(),
        summary: summary(asset, decoded.as_ref()),
        meshes,
        details,
    }
}

/// The meshes that could be decoded, by the names of their blocks.
fn blocks(decoded: &Decoded) -> impl Iterator<Item = (&'static str, &Mesh)> {
    let lods = Lod::ALL
        .into_iter()
        .map(|lod| (lod.name(), decoded.lod(lod).ok().flatten()));
    let physics = decoded.physics_mesh.as_ref().ok().and_then(Option::as_ref);
    lods.chain([("physics_mesh", physics)])
        .filter_map(|(name, mesh)| Some((name, mesh?)))
}

fn errors(decoded: &Decoded) -> impl Iterator<Item = (&'static str, &Error)> {
    let lods = Lod::ALL
        .into_iter()
        .zip(&decoded.lods)
        .map(|(lod, mesh)| (lod.name(), mesh.as_ref().err()));
    let others = [
        ("physics_mesh", decoded.physics_mesh.as_ref().err()),
        ("physics_convex", decoded.physics_convex.as_ref().err()),
        ("skin", decoded.skin.as_ref().err()),
    ];
    lods.chain(others)
        .filter_map(|(name, error)| Some((name, error?)))
}

/// A mesh for each face.
fn meshes(decoded: &Decoded, look: &mut Look<'_>) -> Vec<MeshInfo> {
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
            let bounds = bounds_of(&face).unwrap_or_else(|error| {
                look.failed(Address::field(name), &error);
                None
            });
            let has = [
                (face.has_geometry(), Semantic::Position, "unorm16x3"),
                (face.raw_normals().is_some(), Semantic::Normal, "unorm16x3"),
                (
                    face.raw_texcoords().is_some(),
                    Semantic::TexCoord(0),
                    "unorm16x2",
                ),
                (face.weights().is_some(), Semantic::Joints(0), "uint8x4"),
                (face.weights().is_some(), Semantic::Weights(0), "unorm16x4"),
            ];
            let has = has.into_iter().filter(|(has, ..)| *has);
            meshes.push(MeshInfo {
                vertices: Some(face.vertex_count() as u64),
                triangles: Some(face.triangle_count() as u64),
                attributes: has
                    .map(|(_, semantic, format)| AttributeInfo::new(semantic, format))
                    .collect(),
                bounds: bounds.map(corners),
                ..MeshInfo::new(face.address().to_string(), role)
            });
        }
    }
    meshes
}

fn bounds_of(face: &Face) -> Result<Option<Bounds>> {
    Ok(Bounds::around(face.positions()?.iter()))
}

fn details(asset: &Asset, decoded: &Decoded, damages: &Damages) -> HashMap<String, PartDetail> {
    let mut details = HashMap::new();
    let mut add = |name: &str, is_intact, decoded, counts: Vec<(&'static str, u64)>| {
        details.insert(
            name.to_owned(),
            PartDetail {
                decoded,
                counts,
                is_intact,
            },
        );
    };
    for (name, mesh) in blocks(decoded) {
        // The older name of a block stands for the newer one.
        let shown = if asset.entry(name).is_none() && name == "physics_mesh" {
            "physics_shape"
        } else {
            name
        };
        let counts = vec![
            ("faces", mesh.faces().len() as u64),
            ("vertices", mesh.vertex_count() as u64),
            ("triangles", mesh.triangle_count() as u64),
        ];
        add(
            shown,
            !damages.has(shown),
            Some(mesh.content().len() as u64),
            counts,
        );
    }
    if let Ok(Some(skin)) = &decoded.skin {
        add(
            "skin",
            !damages.has("skin"),
            None,
            vec![("joints", skin.joint_count() as u64)],
        );
    }
    if let Some([hulls, points, bounding_points, _]) = convex(decoded) {
        let counts = vec![
            ("hulls", hulls),
            ("points", points),
            ("bounding_points", bounding_points),
        ];
        add(
            "physics_convex",
            !damages.has("physics_convex"),
            None,
            counts,
        );
    }
    details
}

/// The numbers of hulls without the hull around all points, of their points, of the points of that hull, and of that hull.
fn convex(decoded: &Decoded) -> Option<[u64; 4]> {
    let convex = decoded.physics_convex.as_ref().ok()?.as_ref()?;
    let bounding = convex.raw_bounding_verts();
    Some([
        convex.hull_sizes().map_or(0, |sizes| sizes.len() as u64),
        convex
            .raw_hull_points()
            .map_or(0, |points| points.len() as u64),
        bounding.as_ref().map_or(0, |points| points.len() as u64),
        u64::from(bounding.is_some()),
    ])
}

fn values(asset: &Asset, decoded: Option<&Decoded>, lists: &mut Lists) -> Value {
    let header = asset.header_range();
    let finest = asset.best_lod(Lod::High);
    let mesh = |lod: Lod| decoded.and_then(|decoded| decoded.lod(lod).ok().flatten());
    let (bounds, uv_box) = finest.and_then(mesh).map_or((None, None), boxes);
    let inside = asset.entries().filter(|entry| {
        entry
            .range()
            .ok()
            .flatten()
            .is_some_and(|range| range.end <= header.start + 4096)
    });
    let absent = asset
        .entries()
        .filter(|entry| matches!(entry.range(), Ok(None)));
    let levels = Lod::ALL
        .into_iter()
        .filter(|lod| !matches!(asset.lod_range(*lod), Ok(None)))
        .map(|lod| {
            json!({
                "name": lod.name(),
                "triangle_estimate": asset.triangle_estimate(lod),
                "vertices": mesh(lod).map(Mesh::vertex_count),
                "triangles": mesh(lod).map(Mesh::triangle_count),
                "faces": mesh(lod).map(|mesh| mesh.faces().len()),
            })
        });
    let skin = decoded.and_then(|decoded| decoded.skin.as_ref().ok()?.as_ref());
    json!({
        "version": asset.version(),
        "creator": asset.creator().map(uuid),
        "date": asset.date(),
        "submodel": asset.submodel_id(),
        "is_not_found": asset.is_not_found(),
        "header_bytes": header.end - header.start,
        "in_first_4096_bytes": lists.cut("slmesh.in_first_4096_bytes", inside.map(|entry| lossy(entry.name()))),
        "is_inflated": decoded.is_some(),
        "levels_of_detail": lists.cut("slmesh.levels_of_detail", levels),
        "finest": finest.map(Lod::name),
        "skin": skin.map(|skin| skin_values(skin, lists)),
        "physics_convex": decoded.and_then(convex).map(|[hulls, points, bounding_points, bounding]| json!({
            "hulls": hulls,
            "points": points,
            "has_bounding_hull": bounding > 0,
            "bounding_points": bounding_points,
        })),
        "box": bounds,
        "uv_box": uv_box,
        "absent": lists.cut("slmesh.absent", absent.map(|entry| lossy(entry.name()))),
    })
}

fn skin_values(skin: &Skin, lists: &mut Lists) -> Value {
    json!({
        "joints": lists.cut("slmesh.skin.joints", skin.joint_names.iter().flatten().map(lossy)),
        "pelvis_offset": skin.pelvis_offset.map(single),
        "lock_scale_if_joint_position": skin.lock_scale_if_joint_position,
        "has_inverse_bind_matrices": skin.inverse_bind_matrices.is_some(),
        "has_joint_offsets": skin.alt_inverse_bind_matrices.is_some(),
    })
}

/// The boxes around the positions and the texture coordinates of all faces.
fn boxes(mesh: &Mesh) -> (Option<Value>, Option<Value>) {
    let mut around = [Bounds::default(); 2];
    for face in mesh.faces() {
        let texcoords = face.texcoords(0).ok().flatten();
        let flat = texcoords
            .iter()
            .flat_map(|uvs| uvs.iter())
            .map(|[u, v]| [u, v, 0.0]);
        let found = [bounds_of(&face).ok().flatten(), Bounds::around(flat)];
        for (around, own) in around.iter_mut().zip(found) {
            *around = around.union(own.unwrap_or_default());
        }
    }
    let shown = |bounds: Bounds, axes: usize| {
        let corner = |corner: [f32; 3]| {
            corner
                .into_iter()
                .take(axes)
                .map(single)
                .collect::<Vec<_>>()
        };
        (!bounds.is_empty()).then(|| json!(corners(bounds).map(corner)))
    };
    (shown(around[0], 3), shown(around[1], 2))
}

fn uuid(bytes: [u8; 16]) -> String {
    let hex = text::hex(&bytes);
    [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-")
}

/// The finest level of detail, and the parts of an asset in a few words.
fn summary(asset: &Asset, decoded: Option<&Decoded>) -> Summary {
    let finest = asset.best_lod(Lod::High);
    let mesh = finest.and_then(|lod| decoded?.lod(lod).ok().flatten());
    let estimate = finest
        .filter(|_| decoded.is_none())
        .and_then(|lod| asset.triangle_estimate(lod));
    let levels = Lod::ALL
        .into_iter()
        .filter(|lod| !matches!(asset.lod_range(*lod), Ok(None)))
        .count();
    let skin = decoded.and_then(|decoded| decoded.skin.as_ref().ok()?.as_ref());
    let joints = skin.map(|skin| skin.joint_names.iter().flatten().count());
    let joints = joints.map_or_else(String::new, |joints| {
        format!(", {}", text::plural(joints, "joint"))
    });
    Summary {
        vertices: mesh.map(|mesh| mesh.vertex_count() as u64),
        triangles: mesh.map(|mesh| mesh.triangle_count() as u64).or(estimate),
        is_estimate: estimate.is_some(),
        words: text::plural(levels, "LOD") + &joints,
    }
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
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
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
