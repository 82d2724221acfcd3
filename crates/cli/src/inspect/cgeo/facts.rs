//! The facts of a CGeo file, and its damage.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use meshmap::cgeo::{
    Dialect, LengthPrefix, OffsetTarget, Parts, Proxy, SizeMeaning, Snapshot, UnitEvidence, raw,
};
use meshmap::{Address, Bounds, Cause, Result, Scratch, Segment, Semantic, VertexFormat};
use serde::Serialize;

use crate::inputs::Problem;
use crate::inspect::model::{
    AttributeInfo, Damage, Damages, Depth, Group, Look, MeshInfo, PartDetail, State, WORTH_READING,
    codec_name, lossy,
};
use crate::text;

/// The number of snapshots that are inspected without a request, because reading the first bytes of each takes time.
const WORTH_LOOKING: usize = 10_000;

/// Facts that only CGeo files have.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    pub(super) version: Option<i64>,
    pub(super) flags: u32,
    pub(super) object_name: Option<String>,
    pub(super) material_name: Option<String>,
    pub(super) date_created: Option<String>,
    /// The properties of the header, in the order of the file.
    pub(super) properties: Vec<[String; 2]>,
    pub(super) dialect: DialectFact,
    pub(super) snapshots: u64,
    /// The number of inspected snapshots.
    pub(super) looked_at: u64,
    pub(super) topology: &'static str,
    /// First and last index of the runs of snapshots that are complete.
    pub(super) complete: Vec<[u64; 2]>,
    pub(super) time: Option<TimeFact>,
    pub(super) unit: Option<UnitFact>,
    pub(super) scale: Option<f64>,
    /// Bytes after the indices of a triangle.
    pub(super) triangle_tail: Option<u64>,
    pub(super) decoded: Option<DecodedFact>,
    pub(super) first_snapshot: Option<FirstFact>,
    /// Statements of the header that the first snapshot contradicts.
    pub(super) contradictions: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct DialectFact {
    pub(super) codec: &'static str,
    pub(super) size: &'static str,
    pub(super) offset: &'static str,
    pub(super) prefix: &'static str,
    pub(super) is_found: bool,
    #[serde(skip)]
    pub(super) shown: String,
}

#[derive(Debug, Serialize)]
pub(super) struct TimeFact {
    pub(super) start: f64,
    pub(super) step: f64,
    pub(super) last: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct UnitFact {
    pub(super) millimeters: f64,
    pub(super) evidence: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct DecodedFact {
    pub(super) first: u64,
    pub(super) each_difference: u64,
    pub(super) all: Option<u64>,
}

/// The facts about the first snapshot.
#[derive(Debug, Serialize)]
pub(super) struct FirstFact {
    pub(super) positions: u64,
    pub(super) normals: u64,
    pub(super) triangles: u64,
    pub(super) map_channels: u64,
    pub(super) points: Option<u64>,
    pub(super) sections: Vec<SectionFact>,
}

#[derive(Debug, Serialize)]
pub(super) struct SectionFact {
    pub(super) tag: u32,
    pub(super) name: Option<&'static str>,
    pub(super) stored: u64,
}

/// Format and version: `CGeo 7`.
pub(in crate::inspect) fn variant(proxy: &Proxy) -> String {
    match proxy.version() {
        Some(version) => format!("CGeo version {version} (Corona proxy)"),
        None => "CGeo (Corona proxy)".to_owned(),
    }
}

/// Follows each snapshot to its end tag, to find truncated snapshots and wrong offsets.
pub(in crate::inspect) fn walk(proxy: &Proxy, bytes: Option<u64>, depth: Depth, damages: &mut Damages) {
    /// Reading this much costs no more than reading a part of it.
    const SMALL: u64 = 1 << 20;
    // The parts of a snapshot can be truncated only at the end of the file; the other snapshots are read whole to be checked.
    let all = depth == Depth::Check || bytes.is_some_and(|bytes| bytes <= SMALL);
    let mut seen: HashMap<u64, Option<meshmap::Error>> = HashMap::new();
    for index in 0..proxy.snapshot_count() {
        let address = || Address::field("snapshots").index(index as u64);
        match proxy.snapshot(index) {
            // The snapshot that the table names does not exist, or no snapshot can be there.
            Err(error) => {
                let is_beyond = matches!(error.cause(), Cause::Offset { found, .. } if bytes.is_some_and(|bytes| *found >= bytes));
                let state = if is_beyond { State::Missing } else { State::Broken };
                let range = error.byte_range();
                damages.add(Damage { address: address(), state, range, problem: error.into(), rule: None });
            }
            Ok(snapshot) if all || bytes == Some(snapshot.range().end) => {
                let range = snapshot.range();
                let walked = seen.entry(range.start).or_insert_with(|| snapshot.sections().err());
                if let Some(error) = walked {
                    let ends = bytes == Some(range.end);
                    let state = if ends { State::Incomplete } else { State::Broken };
                    let problem = error.clone().into();
                    damages.add(Damage {
                        address: address(),
                        state,
                        range: Some(range),
                        problem,
                        rule: None,
                    });
                }
            }
            Ok(_) => {}
        }
    }
}

/// The reason why a snapshot cannot be read.
pub(in crate::inspect) fn error_of(proxy: &Proxy, address: &Address) -> Option<meshmap::Error> {
    let [_, Segment::Index(index)] = address.segments() else { return None };
    let snapshot = match proxy.snapshot(usize::try_from(*index).ok()?) {
        Ok(snapshot) => snapshot,
        Err(error) => return Some(error),
    };
    let first = snapshot.sections().err().or_else(|| snapshot.bounding_box(&mut Scratch::default()).err());
    first.or_else(|| snapshot.point_cloud().err()).or_else(|| snapshot.mesh(Parts::ALL).err())
}

/// The facts at the beginning of a snapshot.
#[derive(Clone, Copy)]
struct Glance {
    is_complete: bool,
    counts: Option<meshmap::cgeo::Counts>,
    bounds: Option<Bounds>,
}

fn glance(snapshot: &Snapshot, scratch: &mut Scratch) -> Result<Glance> {
    let is_complete = snapshot.is_complete()?;
    let counts = if is_complete { Some(snapshot.counts(scratch)?) } else { None };
    Ok(Glance { is_complete, counts, bounds: snapshot.bounding_box(scratch)? })
}

/// The facts at the beginnings of the first `count` snapshots, by their offsets. Each is read once, even if the table names it
/// several times.
fn glances(proxy: &Proxy, count: usize, threads: usize) -> HashMap<u64, Result<Glance>> {
    let mut begun = HashSet::new();
    let distinct: Vec<Snapshot> = (0..count)
        .filter_map(|index| proxy.snapshot(index).ok())
        .filter(|snapshot| begun.insert(snapshot.range().start))
        .collect();
    let each = distinct.len().div_ceil(threads).max(1);
    let glance_at = |snapshots: &[Snapshot]| -> Vec<(u64, Result<Glance>)> {
        let mut scratch = Scratch::default();
        snapshots.iter().map(|snapshot| (snapshot.range().start, glance(snapshot, &mut scratch))).collect()
    };
    if distinct.len() <= each {
        return glance_at(&distinct).into_iter().collect();
    }
    thread::scope(|scope| {
        let parts: Vec<_> = distinct.chunks(each).map(|part| scope.spawn(move || glance_at(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Collects the facts of a file. `threads` threads inspect the snapshots, which matters if each inspection is a request.
pub(in crate::inspect) fn look(
    proxy: &Proxy,
    depth: Depth,
    threads: usize,
    bytes: Option<u64>,
    damages: &mut Damages,
) -> Look<Facts> {
    let looked = if depth == Depth::Look { WORTH_LOOKING } else { usize::MAX };
    let looked = proxy.snapshot_count().min(looked);
    let seen = self::glances(proxy, looked, threads);
    let mut glances: Vec<Option<Glance>> = Vec::new();
    for index in 0..looked {
        let found = proxy.snapshot(index).ok().and_then(|snapshot| seen.get(&snapshot.range().start));
        if let Some(Err(error)) = &found {
            damages.add(Damage::of(Address::field("snapshots").index(index as u64), error, bytes));
        }
        glances.push(found.and_then(|found| found.as_ref().ok().copied()));
    }
    let first = glances.first().copied().flatten();
    if damages.has("snapshots[0]") {
        differences_from_nothing(&glances, damages);
    }
    let mut facts = facts(proxy, &glances);
    let mut groups = None;
    if let Ok(snapshot) = proxy.snapshot(0) {
        match first_snapshot(proxy, &snapshot, depth, first, &mut facts) {
            Ok(found) => groups = found,
            Err(error) => damages.add(Damage::of(Address::field("snapshots").index(0), &error, bytes)),
        }
    }
    facts.contradictions = contradictions(proxy, first.as_ref());
    let meshes = meshes(proxy, &glances, &mut groups);
    let counts = |mesh: &MeshInfo| {
        let known = [("vertices", mesh.vertices), ("triangles", mesh.triangles)];
        known.into_iter().filter_map(|(name, count)| Some((name, count?))).collect()
    };
    let detail = |mesh: &MeshInfo| {
        let detail = PartDetail { decoded: None, counts: counts(mesh), is_intact: false };
        (mesh.address.clone(), detail)
    };
    let details = meshes.iter().map(detail).collect();
    Look { variant: variant(proxy), facts, meshes, details }
}

/// Differences from a first snapshot that cannot be read cannot be read either.
fn differences_from_nothing(glances: &[Option<Glance>], damages: &mut Damages) {
    for (index, _) in glances.iter().enumerate().filter(|(_, glance)| glance.is_some_and(|g| !g.is_complete))
    {
        damages.add(Damage {
            address: Address::field("snapshots").index(index as u64),
            state: State::Broken,
            range: None,
            problem: Problem::other(
                "malformed",
                "a difference from snapshot 0, which cannot be read".to_owned(),
            ),
            rule: None,
        });
    }
}

fn meshes(proxy: &Proxy, glances: &[Option<Glance>], groups: &mut Option<Vec<Group>>) -> Vec<MeshInfo> {
    let first = glances.first().copied().flatten().and_then(|first| first.counts);
    let name = proxy.object_name().map(|name| lossy(&name));
    let material = proxy.properties().get("Original material name").map(|name| lossy(&name));
    let mesh = |index: usize| {
        let glance = glances.get(index).copied().flatten();
        // A difference has the counts of the first snapshot, and shares its triangles.
        let counts = glance.and_then(|glance| if glance.is_complete { glance.counts } else { first });
        let mut attributes = Vec::new();
        if let Some(counts) = counts {
            attributes.push(AttributeInfo::new(Semantic::Position, VertexFormat::FLOAT32X3));
            if counts.normals > 0 {
                attributes.push(AttributeInfo::new(Semantic::Normal, VertexFormat::FLOAT32X3));
            }
            let channels = (0..counts.texcoord_sets).map(Semantic::TexCoord);
            attributes.extend(channels.map(|channel| AttributeInfo::new(channel, VertexFormat::FLOAT32X3)));
        }
        MeshInfo {
            address: format!("snapshots[{index}]"),
            name: name.clone(),
            role: "snapshot",
            material: material.clone(),
            vertices: counts.map(|counts| counts.vertices.into()),
            triangles: counts.map(|counts| counts.triangles.into()),
            attributes: attributes.into(),
            bounds: glance.and_then(|glance| glance.bounds).map(|bounds| [bounds.min, bounds.max]),
            groups: if index == 0 { groups.take() } else { None },
        }
    };
    (0..proxy.snapshot_count()).map(mesh).collect()
}

fn facts(proxy: &Proxy, glances: &[Option<Glance>]) -> Facts {
    let dialect = proxy.dialect();
    let complete: Vec<Option<bool>> =
        glances.iter().map(|glance| glance.map(|glance| glance.is_complete)).collect();
    let runs = runs(&complete);
    let topology = match complete.as_slice() {
        [] => "unknown",
        [_] if proxy.snapshot_count() == 1 => "single",
        all if all.contains(&None) => "unknown",
        all if all.iter().all(|kind| *kind == Some(true)) => "all_complete",
        [Some(true), rest @ ..] if rest.iter().all(|kind| *kind == Some(false)) => "constant",
        _ => "mixed",
    };
    let text = |text: Option<meshmap::Text>| text.map(|text| lossy(&text));
    Facts {
        version: proxy.version(),
        flags: proxy.flags(),
        object_name: text(proxy.object_name()),
        material_name: text(proxy.properties().get("Original material name")),
        date_created: text(proxy.properties().get("Date created")),
        properties: proxy.properties().iter().map(|(name, value)| [lossy(&name), lossy(&value)]).collect(),
        dialect: dialect_fact(proxy, dialect),
        snapshots: proxy.snapshot_count() as u64,
        looked_at: glances.len() as u64,
        topology,
        complete: runs
            .iter()
            .filter(|(_, kind)| *kind == Some(true))
            .map(|(range, _)| [range.start as u64, range.end as u64 - 1])
            .collect(),
        time: proxy.timing().filter(|timing| timing.step() != 0.0).map(|timing| TimeFact {
            start: timing.start(),
            step: timing.step(),
            last: timing.time_of(proxy.snapshot_count().saturating_sub(1)),
        }),
        unit: proxy.unit_length().map(|unit| UnitFact {
            millimeters: unit.millimeters,
            evidence: match unit.evidence {
                UnitEvidence::Scale => "scale",
                UnitEvidence::BoxSizesScaleIsReciprocal => "box_sizes_scale_is_reciprocal",
                UnitEvidence::BoxSizesScaleDiffers => "box_sizes_scale_differs",
                _ => "box_sizes",
            },
        }),
        scale: proxy.scale(),
        triangle_tail: None,
        decoded: None,
        first_snapshot: None,
        contradictions: Vec::new(),
    }
}

fn dialect_fact(proxy: &Proxy, dialect: Dialect) -> DialectFact {
    DialectFact {
        codec: codec_name(dialect.codec),
        size: match dialect.size {
            SizeMeaning::Inflated => "inflated",
            SizeMeaning::StoredWithHeader => "stored_with_header",
            _ => "stored",
        },
        offset: match dialect.offset {
            OffsetTarget::StartTag => "start_tag",
            _ => "first_section",
        },
        prefix: match dialect.prefix {
            LengthPrefix::U32Be => "u32be",
            LengthPrefix::U32Le => "u32le",
            LengthPrefix::U64Le => "u64le",
            _ => "none",
        },
        is_found: proxy.dialect_is_found(),
        shown: dialect.to_string(),
    }
}

/// A dialect by the names of JSON: `zlib,stored,first_section,none`.
pub(crate) fn parse_dialect(text: &str) -> Result<Dialect, String> {
    let expected = "expected CODEC,SIZE,OFFSET,PREFIX of none|zlib|deflate|gzip, stored|inflated|stored_with_header, \
                    first_section|start_tag, none|u32le|u32be|u64le";
    let parts: Vec<&str> = text.split(',').collect();
    let [codec, size, offset, prefix] = parts.as_slice() else { return Err(expected.to_owned()) };
    let codec = match *codec {
        "none" => meshmap::Codec::Stored,
        "zlib" => meshmap::Codec::Zlib,
        "deflate" => meshmap::Codec::Deflate,
        "gzip" => meshmap::Codec::Gzip,
        _ => return Err(expected.to_owned()),
    };
    let size = match *size {
        "stored" => SizeMeaning::Stored,
        "inflated" => SizeMeaning::Inflated,
        "stored_with_header" => SizeMeaning::StoredWithHeader,
        _ => return Err(expected.to_owned()),
    };
    let offset = match *offset {
        "first_section" => OffsetTarget::FirstSection,
        "start_tag" => OffsetTarget::StartTag,
        _ => return Err(expected.to_owned()),
    };
    let prefix = match *prefix {
        "none" => LengthPrefix::None,
        "u32le" => LengthPrefix::U32Le,
        "u32be" => LengthPrefix::U32Be,
        "u64le" => LengthPrefix::U64Le,
        _ => return Err(expected.to_owned()),
    };
    Ok(Dialect::default().with_codec(codec).with_size(size).with_offset(offset).with_prefix(prefix))
}

/// Adds the facts that need decoding the first snapshot; returns the triangles of each material.
fn first_snapshot(
    proxy: &Proxy,
    snapshot: &Snapshot,
    depth: Depth,
    glance: Option<Glance>,
    facts: &mut Facts,
) -> Result<Option<Vec<Group>>> {
    let Some(counts) = glance.and_then(|glance| glance.counts) else { return Ok(None) };
    let range = snapshot.range();
    let worth = depth != Depth::Look || range.end - range.start <= WORTH_READING;
    let sections = snapshot.sections()?;
    let name = |tag: u32| match tag {
        raw::TAG_BOUNDING_BOX => Some("box"),
        raw::TAG_MESH_DATA => Some("mesh"),
        raw::TAG_POINTCLOUD => Some("cloud"),
        _ => None,
    };
    let points = if worth { snapshot.point_cloud()?.map(|points| points.len() as u64) } else { None };
    facts.first_snapshot = Some(FirstFact {
        positions: counts.vertices.into(),
        normals: counts.normals.into(),
        triangles: counts.triangles.into(),
        map_channels: counts.texcoord_sets.into(),
        points,
        sections: sections
            .iter()
            .map(|section| SectionFact {
                tag: section.tag,
                name: name(section.tag),
                stored: section.content.end - section.content.start,
            })
            .collect(),
    });
    if !worth {
        return Ok(None);
    }
    let mesh = snapshot.mesh(Parts::ALL)?;
    let channels: usize = mesh.texcoords.iter().map(|channel| channel.as_bytes().len()).sum();
    let each_difference = (mesh.positions.as_bytes().len() + mesh.normals.as_bytes().len() + channels) as u64;
    let first = each_difference + mesh.triangles.as_bytes().len() as u64;
    let all = match facts.topology {
        "single" => Some(first),
        "constant" => Some(first + each_difference * (proxy.snapshot_count() as u64 - 1)),
        _ => None,
    };
    facts.decoded = Some(DecodedFact { first, each_difference, all });
    if !mesh.triangles.is_empty() {
        facts.triangle_tail = Some(mesh.triangles.tail_len() as u64);
    }
    Ok(mesh.triangles.material_ids().map(|ids| {
        let mut groups: std::collections::BTreeMap<u32, u64> = std::collections::BTreeMap::new();
        ids.into_iter().for_each(|id| *groups.entry(id).or_default() += 1);
        groups.into_iter().map(|(material, triangles)| Group { material, triangles }).collect()
    }))
}

/// Statements of the header about the first snapshot that the snapshot contradicts.
fn contradictions(proxy: &Proxy, first: Option<&Glance>) -> Vec<String> {
    let Some(first) = first else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(counts) = first.counts {
        let counts = [
            ("Number of faces", counts.triangles),
            ("Number of vertices", counts.vertices),
            ("Number of normals", counts.normals),
            ("Number of mapping channels", counts.texcoord_sets),
        ];
        for (name, count) in counts {
            let Some(value) = proxy.properties().get(name) else { continue };
            let value = lossy(&value);
            if value.trim() != count.to_string() {
                lines.push(format!("\"{name}: {}\"; snapshot 0 has {}", value.trim(), text::count(count)));
            }
        }
    }
    if let (Some(bounds), Some(value)) =
        (first.bounds, proxy.properties().get("Bounding box size (original units)"))
    {
        let value = lossy(&value);
        let told: Vec<f32> = value
            .split(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E'))
            .filter_map(|n| n.parse().ok())
            .collect();
        let found: [f32; 3] = std::array::from_fn(|axis| bounds.max[axis] - bounds.min[axis]);
        let differs =
            told.iter().zip(found).any(|(told, found)| (told - found).abs() > found.abs() * 1e-2 + 1e-6);
        if told.len() == 3 && differs {
            let size = found.map(text::coordinate).join(" x ");
            lines.push(format!("box size \"{}\"; the stored box is {size}", value.trim()));
        }
    }
    lines
}

/// Runs of equal elements.
fn runs<T: PartialEq + Clone>(items: &[T]) -> Vec<(Range<usize>, T)> {
    let mut runs: Vec<(Range<usize>, T)> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match runs.last_mut() {
            Some((range, last)) if last == item => range.end = index + 1,
            _ => runs.push((index..index + 1, item.clone())),
        }
    }
    runs
}
