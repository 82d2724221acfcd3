//! The facts of a CGeo file, and its damage.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use meshmap::cgeo::{
    Dialect, LengthPrefix, OffsetTarget, Parts, Proxy, Section, SizeMeaning, Snapshot,
    UnitEvidence, raw,
};
use meshmap::{
    Address, Bounds, Cause, Codec, Limit, Result, Scratch, Segment, Semantic, VertexFormat,
};
use serde_json::{Value, json};

use super::lists::Lists;
use super::model::{
    AttributeInfo, Damage, Damages, Facts, Group, Look, MeshInfo, PartDetail, SMALL, State,
    Summary, Variant, corners, lossy,
};
use crate::depth::Depth;
use crate::input::Problem;
use crate::text;

/// The number of snapshots that are inspected unless all are asked for: reading the beginning of each takes time, in a store one to
/// three requests.
const WORTH_LOOKING: usize = 16;

/// The number of sections at the beginning of a snapshot in which its box and its mesh are looked for.
const NEAR: usize = 3;

/// The most bytes of a box, which has 24 before it is compressed.
const LARGE_BOX: u64 = 1 << 10;

/// The number of sections that are listed of the first snapshot, and followed to find out whether the last one is truncated.
const FOLLOWED: usize = 12;

/// The most bytes of the first snapshot that are read without being asked to: the library reads longer ones section by section.
const WORTH_READING: u64 = 8 << 20;

const CODECS: [(&str, Codec); 4] = [
    ("none", Codec::Stored),
    ("zlib", Codec::Zlib),
    ("deflate", Codec::Deflate),
    ("gzip", Codec::Gzip),
];
const SIZES: [(&str, SizeMeaning); 3] = [
    ("stored", SizeMeaning::Stored),
    ("inflated", SizeMeaning::Inflated),
    ("stored_with_header", SizeMeaning::StoredWithHeader),
];
const OFFSETS: [(&str, OffsetTarget); 2] = [
    ("first_section", OffsetTarget::FirstSection),
    ("start_tag", OffsetTarget::StartTag),
];
const PREFIXES: [(&str, LengthPrefix); 4] = [
    ("none", LengthPrefix::None),
    ("u32le", LengthPrefix::U32Le),
    ("u32be", LengthPrefix::U32Be),
    ("u64le", LengthPrefix::U64Le),
];

fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> &'static str {
    names
        .iter()
        .find(|(_, known)| known == value)
        .map_or("other", |(name, _)| name)
}

/// A dialect by the names of JSON: `zlib,stored,first_section,none`.
///
/// # Errors
///
/// Returns a message that lists the names.
pub fn parse_dialect(text: &str) -> Result<Dialect, String> {
    fn named<T: Copy>(names: &[(&str, T)], text: &str) -> Option<T> {
        names
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, value)| *value)
    }
    let dialect = || {
        let [codec, size, offset, prefix] = *text.split(',').collect::<Vec<_>>() else {
            return None;
        };
        let dialect = Dialect::default()
            .with_codec(named(&CODECS, codec)?)
            .with_size(named(&SIZES, size)?);
        Some(
            dialect
                .with_offset(named(&OFFSETS, offset)?)
                .with_prefix(named(&PREFIXES, prefix)?),
        )
    };
    dialect().ok_or_else(|| {
        "expected CODEC,SIZE,OFFSET,PREFIX of none|zlib|deflate|gzip, stored|inflated|stored_with_header, \
         first_section|start_tag, none|u32le|u32be|u64le"
            .to_owned()
    })
}

/// Format and version.
pub(super) fn variant(proxy: &Proxy) -> Variant {
    match proxy.version() {
        Some(version) => Variant::new(
            format!("CGeo version {version} (Corona proxy)"),
            format!("CGeo {version}"),
        ),
        None => Variant::new("CGeo (Corona proxy)", "CGeo"),
    }
}

/// Follows each snapshot to its end tag, to find truncated snapshots and wrong offsets.
pub(super) fn walk(proxy: &Proxy, bytes: Option<u64>, depth: Depth, damages: &mut Damages) {
    // The parts of a snapshot can be truncated only at the end of the file; the other snapshots are read whole to be checked.
    let small = bytes.filter(|bytes| *bytes <= SMALL);
    let all = depth == Depth::Everything || small.is_some();
    let most = if depth == Depth::Headers {
        FOLLOWED
    } else {
        usize::MAX
    };
    if let Some(bytes) = small {
        // At once: from a store, each part would be a request. Where it fails, so do the parts.
        drop(proxy.source().read(0..bytes));
    }
    let mut seen: HashMap<u64, Option<meshmap::Error>> = HashMap::new();
    for index in 0..proxy.snapshot_count() {
        let address = || Address::field("snapshots").index(index as u64);
        let (state, range, problem) = match proxy.snapshot(index) {
            // The snapshot that the table names does not exist, or no snapshot can be there.
            Err(error) => {
                let is_beyond = matches!(error.cause(), Cause::Offset { found, .. } if bytes.is_some_and(|bytes| *found >= bytes));
                let state = if is_beyond {
                    State::Missing
                } else {
                    State::Broken
                };
                (state, error.byte_range(), error)
            }
            Ok(snapshot)
                if all || bytes == Some(snapshot.range().end) && !has_end_tag(proxy, &snapshot) =>
            {
                let range = snapshot.range();
                let walk = || {
                    if all {
                        snapshot.sections()
                    } else {
                        snapshot.section_headers(most)
                    }
                    .err()
                };
                let walked = seen.entry(range.start).or_insert_with(walk);
                let Some(error) = walked else { continue };
                if matches!(
                    error.cause(),
                    Cause::Limit {
                        limit: Limit::Work,
                        ..
                    }
                ) {
                    // The job ends here: the snapshot is not damaged, and neither are those after it.
                    return;
                }
                let ends = bytes == Some(range.end);
                (
                    if ends {
                        State::Incomplete
                    } else {
                        State::Broken
                    },
                    Some(range),
                    error.clone(),
                )
            }
            Ok(_) => continue,
        };
        damages.add(Damage {
            address: address(),
            state,
            range,
            problem: problem.into(),
            rule: None,
        });
    }
}

/// Returns `true` if the last snapshot ends with its end tag, so that it is not truncated, however many sections it has.
fn has_end_tag(proxy: &Proxy, snapshot: &Snapshot) -> bool {
    let end = snapshot.range().end;
    let tag = proxy.source().read(end.saturating_sub(4)..end);
    tag.is_ok_and(|tag| *tag == raw::TAG_ANIMATION_SNAPSHOT_END.to_le_bytes())
}

/// `true` if a snapshot at the end of the file has no end tag there, and more sections than are followed.
fn ends_unread(proxy: &Proxy, index: usize, bytes: Option<u64>) -> bool {
    let ends =
        |snapshot: &Snapshot| bytes == Some(snapshot.range().end) && !has_end_tag(proxy, snapshot);
    proxy
        .snapshot(index)
        .ok()
        .filter(ends)
        .is_some_and(|snapshot| {
            snapshot
                .section_headers(FOLLOWED)
                .is_ok_and(|sections| sections.len() == FOLLOWED)
        })
}

/// The reason why a snapshot cannot be read.
pub(super) fn error_of(proxy: &Proxy, address: &Address) -> Option<meshmap::Error> {
    let [_, Segment::Index(index)] = address.segments() else {
        return None;
    };
    let snapshot = match proxy.snapshot(usize::try_from(*index).ok()?) {
        Ok(snapshot) => snapshot,
        Err(error) => return Some(error),
    };
    let first = snapshot
        .sections()
        .err()
        .or_else(|| snapshot.bounding_box(&mut Scratch::default()).err());
    first
        .or_else(|| snapshot.point_cloud().err())
        .or_else(|| snapshot.mesh(Parts::ALL).err())
}

/// The facts at the beginning of a snapshot.
#[derive(Clone, Copy)]
struct Glance {
    is_complete: bool,
    counts: Option<meshmap::cgeo::Counts>,
    bounds: Option<Bounds>,
}

/// `None` if `is_quick`, and if the box and the mesh are not among the first sections.
fn glance(snapshot: &Snapshot, is_quick: bool, scratch: &mut Scratch) -> Result<Option<Glance>> {
    if is_quick && !is_near(snapshot) {
        return Ok(None);
    }
    let is_complete = snapshot.is_complete(scratch)?;
    let counts = if is_complete {
        Some(snapshot.counts(scratch)?)
    } else {
        None
    };
    Ok(Some(Glance {
        is_complete,
        counts,
        bounds: snapshot.bounding_box(scratch)?,
    }))
}

/// `true` if what is found in a snapshot, or its damage, is in its first sections.
fn is_near(snapshot: &Snapshot) -> bool {
    // An error is reported when the snapshot is inspected, which ends there as well.
    let Ok(sections) = snapshot.section_headers(NEAR) else {
        return true;
    };
    let find = |tag| sections.iter().find(|section| section.tag == tag);
    let bounding_box = find(raw::TAG_BOUNDING_BOX);
    let is_small = |section: &Section| section.content.end - section.content.start <= LARGE_BOX;
    (sections.len() < NEAR || bounding_box.is_some() && find(raw::TAG_MESH_DATA).is_some())
        && bounding_box.is_none_or(is_small)
}

/// The facts at the beginnings of the first `count` snapshots, by their offsets. Each is read once, even if the table names it
/// several times.
fn glances(
    proxy: &Proxy,
    (count, is_quick): (usize, bool),
    threads: usize,
) -> HashMap<u64, Result<Option<Glance>>> {
    let mut begun = HashSet::new();
    let distinct: Vec<Snapshot> = (0..count)
        .filter_map(|index| proxy.snapshot(index).ok())
        .filter(|snapshot| begun.insert(snapshot.range().start))
        .collect();
    let each = distinct.len().div_ceil(threads).max(1);
    let glance_at = |snapshots: &[Snapshot]| -> Vec<(u64, Result<Option<Glance>>)> {
        let mut scratch = Scratch::default();
        let glance = |snapshot: &Snapshot| {
            (
                snapshot.range().start,
                self::glance(snapshot, is_quick, &mut scratch),
            )
        };
        snapshots.iter().map(glance).collect()
    };
    if distinct.len() <= each {
        return glance_at(&distinct).into_iter().collect();
    }
    thread::scope(|scope| {
        let parts: Vec<_> = distinct
            .chunks(each)
            .map(|part| scope.spawn(move || glance_at(part)))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// Collects the facts of a file. `threads` threads inspect the snapshots, which matters if each inspection is a request.
pub(super) fn facts(proxy: &Proxy, threads: usize, look: &mut Look<'_>) -> Facts {
    let depth = look.depth;
    let bytes = look.bytes;
    let is_small = bytes.is_some_and(|bytes| bytes <= SMALL);
    let is_quick = depth == Depth::Headers && !is_small;
    let looked = proxy
        .snapshot_count()
        .min(if is_quick { WORTH_LOOKING } else { usize::MAX });
    let seen = self::glances(proxy, (looked, is_quick), threads);
    let mut far: Vec<u64> = Vec::new();
    let mut glances: Vec<Option<Glance>> = Vec::new();
    for index in 0..looked {
        let found = proxy
            .snapshot(index)
            .ok()
            .and_then(|snapshot| seen.get(&snapshot.range().start));
        if let Some(Err(error)) = &found {
            look.failed(Address::field("snapshots").index(index as u64), error);
        }
        if let Some(Ok(None)) = found {
            far.push(index as u64);
        }
        glances.push(found.and_then(|found| found.as_ref().ok().copied().flatten()));
    }
    let which = |run| {
        format!(
            "snapshots[{}], whose first {NEAR} sections are not a box and a mesh",
            span(run)
        )
    };
    let mut not_read: Vec<String> = runs(far).into_iter().map(which).collect();
    if let Some(last) = proxy.snapshot_count().checked_sub(1).filter(|_| is_quick) {
        if last >= looked {
            not_read.push(format!("snapshots[{looked}..{last}]"));
        }
        if ends_unread(proxy, last, bytes) {
            not_read.push(format!(
                "the end of snapshots[{last}], after its first {FOLLOWED} sections"
            ));
        }
    }
    let first = glances.first().copied().flatten();
    if look.damages.has("snapshots[0]") {
        differences_from_nothing(&glances, look.damages);
    }
    let mut values = values(proxy, &glances, look.lists);
    values["not_read"] = json!(not_read);
    let contradictions = contradictions(proxy, first.as_ref());
    values["contradictions"] = json!(look.lists.cut("cgeo.contradictions", contradictions));
    let mut groups = None;
    if let Ok(snapshot) = proxy.snapshot(0) {
        match first_snapshot(proxy, &snapshot, depth, first, &mut values, look.lists) {
            Ok(found) => groups = found,
            Err(error) => look.failed(Address::field("snapshots").index(0), &error),
        }
    }
    let meshes = meshes(proxy, &glances, groups, look.lists);
    let detail = |mesh: &MeshInfo| {
        let counts = [("vertices", mesh.vertices), ("triangles", mesh.triangles)];
        let counts = counts
            .into_iter()
            .filter_map(|(name, count)| Some((name, count?)))
            .collect();
        (
            mesh.address.clone(),
            PartDetail {
                decoded: None,
                counts,
                is_intact: false,
            },
        )
    };
    let details = meshes.iter().map(detail).collect();
    let (vertices, triangles) = meshes.first().map_or((None, None), |mesh: &MeshInfo| {
        (mesh.vertices, mesh.triangles)
    });
    let last = values["time"]["last"]
        .as_f64()
        .filter(|_| proxy.snapshot_count() > 1);
    let words = text::plural(proxy.snapshot_count(), "snapshot")
        + &last.map_or_else(String::new, |last| format!(", {}", text::seconds(last)));
    let summary = Summary {
        vertices,
        triangles,
        is_estimate: false,
        words,
    };
    Facts {
        words: words_of(proxy, &glances, &values),
        values,
        meshes,
        details,
        summary,
    }
}

/// Differences from a first snapshot that cannot be read cannot be read either.
fn differences_from_nothing(glances: &[Option<Glance>], damages: &mut Damages) {
    for (index, _) in glances
        .iter()
        .enumerate()
        .filter(|(_, glance)| glance.is_some_and(|g| !g.is_complete))
    {
        let message = "a difference from snapshot 0, which cannot be read".to_owned();
        damages.add(Damage {
            address: Address::field("snapshots").index(index as u64),
            state: State::Broken,
            range: None,
            problem: Problem::other("malformed", message),
            rule: None,
        });
    }
}

fn meshes(
    proxy: &Proxy,
    glances: &[Option<Glance>],
    mut groups: Option<Vec<Group>>,
    lists: &mut Lists,
) -> Vec<MeshInfo> {
    // Thousands of snapshots may have thousands of channels each.
    let mut known: HashMap<(bool, u32), Arc<[AttributeInfo]>> = HashMap::new();
    let first = glances
        .first()
        .copied()
        .flatten()
        .and_then(|first| first.counts);
    let name = proxy.object_name().map(|name| lossy(&name));
    let material = proxy
        .properties()
        .get("Original material name")
        .map(|name| lossy(&name));
    let mesh = |index: usize| {
        let glance = glances.get(index).copied().flatten();
        // A difference has the counts of the first snapshot, and shares its triangles.
        let counts = glance.and_then(|glance| {
            if glance.is_complete {
                glance.counts
            } else {
                first
            }
        });
        let attributes = counts.map(|counts| {
            let has_normals = counts.normals > 0;
            let channels = counts.texcoord_sets;
            let attributes = known.entry((has_normals, channels)).or_insert_with(|| {
                let normal = has_normals.then_some(Semantic::Normal);
                let semantics = [Semantic::Position].into_iter().chain(normal);
                let semantics = semantics.chain((0..channels).map(Semantic::TexCoord));
                let format = VertexFormat::FLOAT32X3;
                lists
                    .cut(
                        "meshes.attributes",
                        semantics.map(|one| AttributeInfo::new(one, format)),
                    )
                    .into()
            });
            Arc::clone(attributes)
        });
        MeshInfo {
            name: name.clone(),
            material: material.clone(),
            vertices: counts.map(|counts| counts.vertices.into()),
            triangles: counts.map(|counts| counts.triangles.into()),
            attributes: attributes.unwrap_or_default(),
            bounds: glance.and_then(|glance| glance.bounds).map(corners),
            groups: if index == 0 { groups.take() } else { None },
            is_complete: glance.is_some_and(|glance| glance.is_complete),
            ..MeshInfo::new(format!("snapshots[{index}]"), "snapshot")
        }
    };
    (0..proxy.snapshot_count()).map(mesh).collect()
}

fn values(proxy: &Proxy, glances: &[Option<Glance>], lists: &mut Lists) -> Value {
    let dialect = proxy.dialect();
    let count = proxy.snapshot_count();
    let complete: Vec<Option<bool>> = glances
        .iter()
        .map(|glance| glance.map(|glance| glance.is_complete))
        .collect();
    let topology = match complete.as_slice() {
        [] => "unknown",
        [_] if count == 1 => "single",
        all if all.len() < count || all.contains(&None) => "unknown",
        all if all.iter().all(|kind| *kind == Some(true)) => "all_complete",
        [Some(true), rest @ ..] if rest.iter().all(|kind| *kind == Some(false)) => "constant",
        _ => "mixed",
    };
    let text = |text: Option<meshmap::Text>| text.map(|text| lossy(&text));
    let evidence = |evidence| match evidence {
        UnitEvidence::Scale => "scale",
        UnitEvidence::BoxSizesScaleIsReciprocal => "box_sizes_scale_is_reciprocal",
        UnitEvidence::BoxSizesScaleDiffers => "box_sizes_scale_differs",
        _ => "box_sizes",
    };
    let properties = proxy
        .properties()
        .iter()
        .map(|(name, value)| [lossy(&name), lossy(&value)]);
    let timing = proxy.timing().filter(|timing| timing.step() != 0.0);
    json!({
        "version": proxy.version(),
        "flags": proxy.flags(),
        "object_name": text(proxy.object_name()),
        "material_name": text(proxy.properties().get("Original material name")),
        "date_created": text(proxy.properties().get("Date created")),
        "properties": lists.cut("cgeo.properties", properties),
        "dialect": {
            "codec": name_of(&CODECS, &dialect.codec),
            "size": name_of(&SIZES, &dialect.size),
            "offset": name_of(&OFFSETS, &dialect.offset),
            "prefix": name_of(&PREFIXES, &dialect.prefix),
            "is_found": proxy.dialect_is_found(),
        },
        "snapshots": count,
        "looked_at": glances.len(),
        "not_read": null,
        "topology": topology,
        "complete": lists.cut("cgeo.complete", runs_of_complete(glances)),
        "time": timing.map(|timing| json!({
            "start": timing.start(),
            "step": timing.step(),
            "last": timing.time_of(count.saturating_sub(1)),
        })),
        "unit": proxy.unit_length().map(|unit| json!({
            "millimeters": unit.millimeters,
            "evidence": evidence(unit.evidence),
        })),
        "scale": proxy.scale(),
        "triangle_tail": null,
        "decoded": null,
        "first_snapshot": null,
        "contradictions": null,
    })
}

/// Adds the facts that need decoding the first snapshot; returns the triangles of each material.
fn first_snapshot(
    proxy: &Proxy,
    snapshot: &Snapshot,
    depth: Depth,
    glance: Option<Glance>,
    values: &mut Value,
    lists: &mut Lists,
) -> Result<Option<Vec<Group>>> {
    let Some(counts) = glance.and_then(|glance| glance.counts) else {
        return Ok(None);
    };
    let range = snapshot.range();
    let worth = depth >= Depth::Meshes || range.end - range.start <= WORTH_READING;
    let name = |tag: u32| match tag {
        raw::TAG_BOUNDING_BOX => Some("box"),
        raw::TAG_MESH_DATA => Some("mesh"),
        raw::TAG_POINTCLOUD => Some("cloud"),
        _ => None,
    };
    let most = if depth == Depth::Headers {
        FOLLOWED
    } else {
        usize::MAX
    };
    let sections = if worth {
        snapshot.sections()
    } else {
        snapshot.section_headers(most)
    }?;
    if let Some(not_read) = values["not_read"].as_array_mut().filter(|_| !worth) {
        not_read.push(json!("the content of snapshots[0], which is large"));
        if sections.len() == most {
            not_read.push(json!(format!(
                "the sections of snapshots[0] after the first {FOLLOWED}"
            )));
        }
    }
    let points = if worth {
        snapshot.point_cloud()?.map(|points| points.len() as u64)
    } else {
        None
    };
    let sections = sections.iter().map(|section| {
        let stored = section.content.end - section.content.start;
        json!({ "tag": section.tag, "name": name(section.tag), "stored": stored })
    });
    values["first_snapshot"] = json!({
        "positions": counts.vertices,
        "normals": counts.normals,
        "triangles": counts.triangles,
        "map_channels": counts.texcoord_sets,
        "points": points,
        "sections": lists.cut("cgeo.first_snapshot.sections", sections),
    });
    if !worth {
        return Ok(None);
    }
    let mesh = snapshot.mesh(Parts::ALL)?;
    let channels: usize = mesh
        .texcoords
        .iter()
        .map(|channel| channel.as_bytes().len())
        .sum();
    let each_difference =
        (mesh.positions.as_bytes().len() + mesh.normals.as_bytes().len() + channels) as u64;
    let first = each_difference + mesh.triangles.as_bytes().len() as u64;
    let all = match values["topology"].as_str() {
        Some("single") => Some(first),
        Some("constant") => Some(first + each_difference * (proxy.snapshot_count() as u64 - 1)),
        _ => None,
    };
    values["decoded"] = json!({ "first": first, "each_difference": each_difference, "all": all });
    if !mesh.triangles.is_empty() {
        values["triangle_tail"] = json!(mesh.triangles.tail_len());
    }
    Ok(mesh.triangles.material_ids().map(|ids| {
        let mut groups: BTreeMap<u32, u64> = BTreeMap::new();
        ids.into_iter()
            .for_each(|id| *groups.entry(id).or_default() += 1);
        let groups = groups.into_iter().map(|(material, triangles)| Group {
            material,
            triangles,
        });
        lists.cut("meshes.groups", groups)
    }))
}

/// Statements of the header about the first snapshot that the snapshot contradicts.
fn contradictions(proxy: &Proxy, first: Option<&Glance>) -> Vec<String> {
    let Some(first) = first else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let counts = first.counts.map(|counts| {
        [
            ("Number of faces", counts.triangles),
            ("Number of vertices", counts.vertices),
            ("Number of normals", counts.normals),
            ("Number of mapping channels", counts.texcoord_sets),
        ]
    });
    for (name, count) in counts.into_iter().flatten() {
        let Some(value) = proxy.properties().get(name) else {
            continue;
        };
        let value = lossy(&value);
        if value.trim() != count.to_string() {
            lines.push(format!(
                "\"{name}: {}\"; snapshot 0 has {}",
                value.trim(),
                text::count(count)
            ));
        }
    }
    if let (Some(bounds), Some(value)) = (
        first.bounds,
        proxy.properties().get("Bounding box size (original units)"),
    ) {
        let value = lossy(&value);
        let numbers = value.split(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E'));
        let declared: Vec<f32> = numbers.filter_map(|number| number.parse().ok()).collect();
        let found: [f32; 3] = std::array::from_fn(|axis| bounds.max[axis] - bounds.min[axis]);
        let is_far =
            |(declared, found): (&f32, f32)| (declared - found).abs() > found.abs() * 1e-2 + 1e-6;
        if declared.len() == 3 && declared.iter().zip(found).any(is_far) {
            let size = found.map(text::coordinate).join(" x ");
            lines.push(format!(
                "box size \"{}\"; the stored box is {size}",
                value.trim()
            ));
        }
    }
    lines
}

/// First and last index of the runs of snapshots that are complete.
fn runs_of_complete(glances: &[Option<Glance>]) -> Vec<[u64; 2]> {
    let complete = (0_u64..)
        .zip(glances)
        .filter(|(_, glance)| glance.is_some_and(|one| one.is_complete));
    runs(complete.map(|(index, _)| index))
}

/// First and last of the indices that follow each other.
fn runs(indices: impl IntoIterator<Item = u64>) -> Vec<[u64; 2]> {
    let mut runs: Vec<[u64; 2]> = Vec::new();
    for index in indices {
        match runs.last_mut() {
            Some([_, last]) if *last + 1 == index => *last = index,
            _ => runs.push([index, index]),
        }
    }
    runs
}

fn span([from, to]: [u64; 2]) -> String {
    if from == to {
        from.to_string()
    } else {
        format!("{from}..{to}")
    }
}

fn words_of(
    proxy: &Proxy,
    glances: &[Option<Glance>],
    values: &Value,
) -> Vec<(&'static str, String)> {
    let complete: Vec<String> = runs_of_complete(glances)
        .into_iter()
        .take(8)
        .map(span)
        .collect();
    let step = values["time"]["step"]
        .as_f64()
        .filter(|_| proxy.snapshot_count() > 1);
    let time = step.map(|step| {
        let rate = format!("{:.2}", 1.0 / step);
        let rate = rate.trim_end_matches('0').trim_end_matches('.');
        let [start, last] =
            ["start", "last"].map(|name| values["time"][name].as_f64().map(text::seconds));
        let first = start.unwrap_or_default();
        let last = last.unwrap_or_default();
        format!(
            "first {first}, last {last}, one every {:.3} ms ({rate} fps)",
            step * 1000.0
        )
    });
    let mut words = vec![
        ("complete", complete.join(", ")),
        ("properties", String::new()),
    ];
    words.extend(time.map(|time| ("time", time)));
    let hint = "--snapshots and --boxes read the beginnings, --full reads all";
    let not_read = values["not_read"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let not_read = not_read.collect::<Vec<_>>().join("; ");
    words.extend((!not_read.is_empty()).then(|| ("not_read", format!("{not_read}: {hint}"))));
    words
}
