//! What there is to say about a CGeo file.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use meshmap::cgeo::{Dialect, LengthPrefix, OffsetTarget, Proxy, SizeMeaning, Snapshot, UnitEvidence, raw};
use meshmap::{Address, Bounds, Result, Scratch, Segment, Semantic, VertexFormat};
use serde::Serialize;

use super::page::Block;
use super::{
    AttributeInfo, Damage, Damages, Depth, Group, Inspection, Look, MeshInfo, PartDetail, State,
    WORTH_READING, codec_name, lossy,
};
use crate::inputs::Problem;
use crate::table::{Kind, Table};
use crate::text;

/// A look at each snapshot's first bytes takes time, too; so many are looked at without being asked to.
const WORTH_LOOKING: usize = 10_000;

/// What a CGeo file has that others have not.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    version: Option<i64>,
    flags: u32,
    object_name: Option<String>,
    material_name: Option<String>,
    date_created: Option<String>,
    /// The properties of the header, in the order of the file.
    properties: Vec<[String; 2]>,
    dialect: DialectFact,
    snapshots: u64,
    /// How many of the snapshots were looked at.
    looked_at: u64,
    topology: &'static str,
    /// First and last index of the runs of snapshots that are complete.
    complete: Vec<[u64; 2]>,
    time: Option<TimeFact>,
    unit: Option<UnitFact>,
    scale: Option<f64>,
    /// Bytes after the indices of a triangle.
    triangle_tail: Option<u64>,
    decoded: Option<DecodedFact>,
    first_snapshot: Option<FirstFact>,
    /// What the header says and the first snapshot contradicts.
    contradictions: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DialectFact {
    codec: &'static str,
    size: &'static str,
    offset: &'static str,
    prefix: &'static str,
    is_found: bool,
    #[serde(skip)]
    shown: String,
}

#[derive(Debug, Serialize)]
struct TimeFact {
    start: f64,
    step: f64,
    last: f64,
}

#[derive(Debug, Serialize)]
struct UnitFact {
    millimeters: f64,
    evidence: &'static str,
}

#[derive(Debug, Serialize)]
struct DecodedFact {
    first: u64,
    each_difference: u64,
    all: Option<u64>,
}

/// What is known of the first snapshot.
#[derive(Debug, Serialize)]
struct FirstFact {
    positions: u64,
    normals: u64,
    triangles: u64,
    map_channels: u64,
    points: Option<u64>,
    sections: Vec<SectionFact>,
}

#[derive(Debug, Serialize)]
struct SectionFact {
    tag: u32,
    name: Option<&'static str>,
    stored: u64,
}

/// Format and version: `CGeo 7`.
pub(super) fn variant(proxy: &Proxy) -> String {
    match proxy.version() {
        Some(version) => format!("CGeo version {version} (Corona proxy)"),
        None => "CGeo (Corona proxy)".to_owned(),
    }
}

/// Led through each snapshot to its end tag: what is cut off or leads nowhere.
pub(super) fn walk(proxy: &Proxy, bytes: Option<u64>, depth: Depth, damages: &mut Damages) {
    /// Reading this much costs no more than reading a part of it.
    const SMALL: u64 = 1 << 20;
    // What a snapshot consists of can be cut off only where the file ends; the others are read whole to be checked.
    let all = depth == Depth::Check || bytes.is_some_and(|bytes| bytes <= SMALL);
    let mut seen: HashMap<u64, Option<meshmap::Error>> = HashMap::new();
    for index in 0..proxy.len() {
        let address = || Address::field("snapshots").index(index as u64);
        match proxy.snapshot(index) {
            // What the table names is not there, or no snapshot can be there.
            Err(error) => {
                let offset = offset(&error);
                let is_beyond = offset.zip(bytes).is_some_and(|(offset, bytes)| offset >= bytes);
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

/// Why a snapshot cannot be read.
pub(super) fn error_of(proxy: &Proxy, address: &Address) -> Option<meshmap::Error> {
    let [_, Segment::Index(index)] = address.segments() else { return None };
    let snapshot = match proxy.snapshot(usize::try_from(*index).ok()?) {
        Ok(snapshot) => snapshot,
        Err(error) => return Some(error),
    };
    let first = snapshot.sections().err().or_else(|| snapshot.bounding_box().err());
    first.or_else(|| snapshot.point_cloud().err()).or_else(|| snapshot.mesh().err())
}

/// The offset that an error about the table calls wrong.
fn offset(error: &meshmap::Error) -> Option<u64> {
    u64::from_str_radix(error.found_text().strip_prefix("0x")?, 16).ok()
}

/// What is seen of a snapshot at its beginning.
#[derive(Clone, Copy)]
struct Glance {
    is_complete: bool,
    counts: Option<meshmap::cgeo::Counts>,
    bounds: Option<Bounds>,
}

fn glance(snapshot: &Snapshot, scratch: &mut Scratch) -> Result<Glance> {
    let is_complete = snapshot.is_complete()?;
    let counts = if is_complete { Some(snapshot.counts_reusing(scratch)?) } else { None };
    Ok(Glance { is_complete, counts, bounds: snapshot.bounding_box_reusing(scratch)? })
}

/// What is seen at the beginnings of the first `count` snapshots, by where they begin: each is read once, however often the
/// table names it.
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

/// What there is to say; so many threads look at the snapshots, which matters where each look is a request.
pub(super) fn look(
    proxy: &Proxy,
    depth: Depth,
    threads: usize,
    bytes: Option<u64>,
    damages: &mut Damages,
) -> Look {
    let looked = if depth == Depth::Look { WORTH_LOOKING } else { usize::MAX };
    let looked = proxy.len().min(looked);
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
    Look { variant: variant(proxy), facts: super::Facts::CGeo(facts), meshes, details }
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
    let material = proxy.material_name().map(|name| lossy(&name));
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
            let channels = (0..counts.map_channels).map(Semantic::TexCoord);
            attributes.extend(channels.map(|channel| AttributeInfo::new(channel, VertexFormat::FLOAT32X3)));
        }
        MeshInfo {
            address: format!("snapshots[{index}]"),
            name: name.clone(),
            role: "snapshot",
            material: material.clone(),
            vertices: counts.map(|counts| counts.vertices.into()),
            triangles: counts.map(|counts| counts.triangles.into()),
            attributes,
            bounds: glance.and_then(|glance| glance.bounds).map(|bounds| [bounds.min, bounds.max]),
            groups: if index == 0 { groups.take() } else { None },
        }
    };
    (0..proxy.len()).map(mesh).collect()
}

fn facts(proxy: &Proxy, glances: &[Option<Glance>]) -> Facts {
    let dialect = proxy.dialect();
    let complete: Vec<Option<bool>> =
        glances.iter().map(|glance| glance.map(|glance| glance.is_complete)).collect();
    let runs = runs(&complete);
    let topology = match complete.as_slice() {
        [] => "unknown",
        [_] if proxy.len() == 1 => "single",
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
        material_name: text(proxy.material_name()),
        date_created: text(proxy.date_created()),
        properties: proxy.properties().iter().map(|(name, value)| [lossy(&name), lossy(&value)]).collect(),
        dialect: dialect_fact(proxy, dialect),
        snapshots: proxy.len() as u64,
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
            last: timing.time_of(proxy.len().saturating_sub(1)),
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

/// What takes decoding the first snapshot; returns the triangles of each material.
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
        map_channels: counts.map_channels.into(),
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
    let mesh = snapshot.mesh()?;
    let channels: usize = mesh.map_channels.iter().map(|channel| channel.as_bytes().len()).sum();
    let each_difference = (mesh.positions.as_bytes().len() + mesh.normals.as_bytes().len() + channels) as u64;
    let first = each_difference + mesh.triangles.as_bytes().len() as u64;
    let all = match facts.topology {
        "single" => Some(first),
        "constant" => Some(first + each_difference * (proxy.len() as u64 - 1)),
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

/// What the header says of the first snapshot, where that contradicts it.
fn contradictions(proxy: &Proxy, first: Option<&Glance>) -> Vec<String> {
    let Some(first) = first else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(counts) = first.counts {
        let counts = [
            ("Number of faces", counts.triangles),
            ("Number of vertices", counts.vertices),
            ("Number of normals", counts.normals),
            ("Number of mapping channels", counts.map_channels),
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

/// The snapshots of a proxy, in a few words.
pub(crate) fn summary(facts: &Facts, inspection: &Inspection) -> [String; 3] {
    let first = inspection.meshes.first();
    let vertices = first.and_then(|mesh| mesh.vertices).map(|count| format!("{} verts", text::count(count)));
    let triangles = first.and_then(|mesh| mesh.triangles).map(|count| format!("{} tris", text::count(count)));
    let time = facts.time.as_ref().filter(|_| facts.snapshots > 1);
    let time = time.map_or_else(String::new, |time| format!(", {:.3} s", time.last));
    let snapshots = text::plural(facts.snapshots, "snapshot");
    [vertices.unwrap_or_default(), triangles.unwrap_or_default(), format!("{snapshots}{time}")]
}

pub(super) fn page(facts: &Facts, inspection: &Inspection) -> (String, Vec<Block>) {
    let mut blocks = Vec::new();
    blocks.extend(object(facts));
    blocks.push(time(facts));
    if facts.snapshots > 0 {
        blocks.push(Block::line("topology", topology(facts)));
        if let Some(first) = &facts.first_snapshot {
            blocks.push(Block::Words(
                "mesh",
                vec![
                    text::plural(first.positions, "position"),
                    text::plural(first.normals, "normal"),
                    text::plural(first.triangles, "triangle"),
                    text::plural(first.map_channels, "map channel"),
                ],
            ));
        }
        let bounds = inspection.meshes.first().and_then(|mesh| mesh.bounds);
        let more = if facts.snapshots > 1 { "(snapshot 0; all: --boxes)" } else { "(snapshot 0)" };
        blocks.push(match bounds {
            Some(bounds) => Block::Words("box", vec![text::corners(bounds), more.to_owned()]),
            None => Block::line("box", "not stored"),
        });
    }
    blocks.push(unit(facts));
    blocks.push(Block::line("up axis", "not stored"));
    match &facts.decoded {
        Some(decoded) => blocks.push(Block::line("decoded", decoded_words(facts, decoded))),
        None if facts.first_snapshot.is_some() => {
            blocks.push(Block::line("decoded", "not computed (--full)"))
        }
        None => {}
    }
    let found = if facts.dialect.is_found { "(found)" } else { "(forced)" };
    let tail = facts.triangle_tail.map(|tail| format!(", triangle tail {}", text::plural(tail, "byte")));
    blocks.push(Block::Words(
        "dialect",
        vec![format!("{}{}", facts.dialect.shown, tail.unwrap_or_default()), found.to_owned()],
    ));
    blocks.push(Block::Table(sections(facts, inspection)));
    for line in &facts.contradictions {
        blocks.push(Block::line("header", text::line(line)));
    }
    (String::new(), blocks)
}

fn object(facts: &Facts) -> Option<Block> {
    let name = |label: &str, name: &Option<String>| {
        name.as_ref().map(|name| format!("{label}\"{}\"", text::name(name)))
    };
    let date =
        facts.date_created.as_ref().map(|date| format!("saved {}", text::name(&date.replace('/', " "))));
    let parts = [name("", &facts.object_name), name("material ", &facts.material_name), date];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then_some(Block::Words("object", parts))
}

fn time(facts: &Facts) -> Block {
    let count = text::plural(facts.snapshots, "snapshot");
    let text = match &facts.time {
        None => format!("{count}, no time stored"),
        Some(time) if facts.snapshots <= 1 => format!("{count}, at {:.3} s", time.start),
        Some(TimeFact { start, step, last }) => {
            let step = step * 1000.0;
            let rate = format!("{:.2}", 1000.0 / step);
            let rate = rate.trim_end_matches('0').trim_end_matches('.');
            format!("{count}, one every {step:.3} ms ({rate} fps): first {start:.3} s, last {last:.3} s")
        }
    };
    Block::line("time", text)
}

/// Which snapshots are complete, and which are differences.
fn topology(facts: &Facts) -> String {
    let last = facts.looked_at.saturating_sub(1);
    let more = if facts.looked_at < facts.snapshots { ", the others not looked at (--full)" } else { "" };
    let span = |[from, to]: &[u64; 2]| if from == to { from.to_string() } else { format!("{from}..{to}") };
    let runs: Vec<String> = facts.complete.iter().map(span).collect();
    match facts.topology {
        "single" => "one snapshot, complete".to_owned(),
        "constant" if last == 1 => format!("constant: snapshot 0 complete, 1 a difference from it{more}"),
        "constant" => format!("constant: snapshot 0 complete, 1..{last} differences from it{more}"),
        "all_complete" => format!("may change: every snapshot is complete{more}"),
        "mixed" if runs.len() <= 4 => {
            format!(
                "may change: snapshots {} complete, the others differences from snapshot 0{more}",
                runs.join(", ")
            )
        }
        "mixed" => {
            let count: u64 = facts.complete.iter().map(|[from, to]| to - from + 1).sum();
            let others = facts.looked_at - count;
            let count = text::plural(count, "snapshot");
            format!("may change: {count} complete, {} differences from snapshot 0{more}", text::count(others))
        }
        _ => format!(
            "snapshots that are complete: {}{more}",
            if runs.is_empty() { "none known".to_owned() } else { runs.join(", ") }
        ),
    }
}

fn decoded_words(facts: &Facts, decoded: &DecodedFact) -> String {
    let first = format!("{} for snapshot 0", text::size(decoded.first));
    match decoded.all {
        _ if facts.snapshots == 1 => first,
        Some(all) => {
            format!(
                "{first}, {} for each other; {} for all",
                text::size(decoded.each_difference),
                text::size(all)
            )
        }
        None => format!("{first}, {} for each difference from it", text::size(decoded.each_difference)),
    }
}

fn unit(facts: &Facts) -> Block {
    let scale = facts.properties.iter().find(|[name, _]| name.eq_ignore_ascii_case("Scale"));
    let scale = scale.map_or_else(
        || "no scale".to_owned(),
        |[_, scale]| format!("\"Scale: {}\"", text::name(scale.trim())),
    );
    let text = match &facts.unit {
        None => format!("not known ({scale})"),
        Some(unit) => {
            let evidence = match unit.evidence {
                "scale" => "from the scale, as the published text explains it".to_owned(),
                "box_sizes_scale_is_reciprocal" => {
                    format!("from the two box sizes of the header ({scale} is the reciprocal)")
                }
                "box_sizes_scale_differs" => {
                    format!("from the two box sizes of the header (which {scale} contradicts)")
                }
                _ => "from the two box sizes of the header".to_owned(),
            };
            format!("{} mm, {evidence}", (unit.millimeters * 1e6).round() / 1e6)
        }
    };
    Block::line("unit", text)
}

/// A row for the first snapshot, and one for all others.
fn sections(facts: &Facts, inspection: &Inspection) -> Table {
    let mut table = Table::new(
        "row",
        &[
            ("snapshot", Kind::Word, 9),
            ("stored", Kind::Word, 9),
            ("", Kind::Word, 9),
            ("sections", Kind::Name, 5),
        ],
    );
    let mut parts = inspection.parts().filter(|part| part.address.starts_with("snapshots["));
    let Some(first) = parts.next() else { return table };
    let words = match &facts.first_snapshot {
        Some(known) => section_words(known),
        None => String::new(),
    };
    let state = |state: State| if state >= State::Broken { state.name().to_owned() } else { String::new() };
    table.push(vec!["0".to_owned(), text::size(first.stored), state(first.state), words]);
    let (mut count, mut least, mut most, mut broken) = (0_u64, u64::MAX, 0, 0_u64);
    for part in parts {
        count += 1;
        broken += u64::from(part.state >= State::Broken);
        if part.state != State::Missing {
            (least, most) = (least.min(part.stored), most.max(part.stored));
        }
    }
    if count > 0 {
        let size = match () {
            () if least > most => "-".to_owned(),
            () if least == most => text::size(least),
            () => format!("{} .. {}", text::size(least), text::size(most)),
        };
        let span = text::span(&(1..facts.snapshots as usize));
        let broken = if broken > 0 { format!("{} bad", text::count(broken)) } else { String::new() };
        table.push(vec![span, size, broken, "(--snapshots)".to_owned()]);
    }
    table
}

fn section_words(first: &FirstFact) -> String {
    // Of several clouds the first counts.
    let mut points = first.points;
    let name = |section: &SectionFact| {
        let size = text::size(section.stored);
        match section.name {
            Some("cloud") => {
                let points = points.take().map(|points| format!(" ({})", text::plural(points, "point")));
                format!("cloud {size}{}", points.unwrap_or_default())
            }
            Some(name) => format!("{name} {size}"),
            None => format!("{:#010x} {size}", section.tag),
        }
    };
    first.sections.iter().map(name).collect::<Vec<_>>().join(", ")
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

/// Which list of all snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Snapshots,
    Boxes,
}

/// A row for each snapshot.
pub(crate) fn list(proxy: &Proxy, inspection: &Inspection, what: List) -> Table {
    let columns: &[_] = match what {
        List::Snapshots => &[
            ("snapshot", Kind::Number, 9),
            ("time", Kind::Number, 5),
            ("stored", Kind::Number, 6),
            ("mesh", Kind::Word, 9),
            ("vertices", Kind::Number, 4),
            ("triangles", Kind::Number, 4),
            ("offset", Kind::Word, 3),
        ],
        List::Boxes => &[
            ("snapshot", Kind::Number, 9),
            ("time", Kind::Number, 1),
            ("min", Kind::Word, 9),
            ("max", Kind::Word, 9),
        ],
    };
    let mut table = Table::new("snapshot", columns);
    let damaged: HashMap<String, &Damage> =
        inspection.damage.iter().map(|damage| (damage.address.to_string(), damage)).collect();
    for (index, mesh) in inspection.meshes.iter().enumerate() {
        let snapshot = proxy.snapshot(index).ok();
        let time = snapshot
            .as_ref()
            .and_then(Snapshot::time)
            .map_or_else(|| "-".to_owned(), |time| format!("{time:.3} s"));
        let range = snapshot.as_ref().map(Snapshot::range);
        let count = |count: Option<u64>| count.map(text::count).unwrap_or_default();
        let kind = match damaged.get(&mesh.address) {
            Some(damage) => damage.state.name(),
            None if is_complete(inspection, index) => "complete",
            None => "difference",
        };
        table.push(match what {
            List::Snapshots => vec![
                index.to_string(),
                time,
                range.as_ref().map(|range| text::size(range.end - range.start)).unwrap_or_default(),
                kind.to_owned(),
                count(mesh.vertices),
                count(mesh.triangles),
                range.map(|range| format!("{:#x}", range.start)).unwrap_or_default(),
            ],
            List::Boxes => {
                let corner = |corner: usize| mesh.bounds.map(|bounds| text::point(bounds[corner]));
                let absent = if damaged.contains_key(&mesh.address) { kind } else { "not stored" };
                let min = corner(0).unwrap_or_else(|| absent.to_owned());
                vec![index.to_string(), time, min, corner(1).unwrap_or_default()]
            }
        });
    }
    table
}

fn is_complete(inspection: &Inspection, index: usize) -> bool {
    let Some(super::Facts::CGeo(facts)) = &inspection.facts else { return false };
    let after = facts.complete.partition_point(|[from, _]| *from <= index as u64);
    after.checked_sub(1).and_then(|run| facts.complete.get(run)).is_some_and(|[_, to]| index as u64 <= *to)
}
