//! The page about a CGeo file, and the lists of its snapshots.

use std::collections::HashMap;

use meshmap::cgeo::{Proxy, Snapshot};

use super::facts::{DecodedFact, Facts, FirstFact, SectionFact, TimeFact};
use crate::inspect::block::Block;
use crate::inspect::model::{Damage, Inspection, State};
use crate::table::{Kind, Table};
use crate::text;

/// The snapshots of a proxy, in a few words.
pub(crate) fn summary(facts: &Facts, inspection: &Inspection) -> [String; 3] {
    let first = inspection.meshes.first();
    let vertices = first.and_then(|mesh| mesh.vertices).map(|count| format!("{} verts", text::count(count)));
    let triangles = first.and_then(|mesh| mesh.triangles).map(|count| format!("{} tris", text::count(count)));
    let time = facts.time.as_ref().filter(|_| facts.snapshots > 1);
    let time = time.map_or_else(String::new, |time| format!(", {}", text::seconds(time.last)));
    let snapshots = text::plural(facts.snapshots, "snapshot");
    [vertices.unwrap_or_default(), triangles.unwrap_or_default(), format!("{snapshots}{time}")]
}

pub(in crate::inspect) fn page(facts: &Facts, inspection: &Inspection) -> (String, Vec<Block>) {
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
        Some(time) if facts.snapshots <= 1 => format!("{count}, at {}", text::seconds(time.start)),
        Some(TimeFact { start, step, last }) => {
            let step = step * 1000.0;
            let rate = format!("{:.2}", 1000.0 / step);
            let rate = rate.trim_end_matches('0').trim_end_matches('.');
            let [start, last] = [*start, *last].map(text::seconds);
            format!("{count}, one every {step:.3} ms ({rate} fps): first {start}, last {last}")
        }
    };
    Block::line("time", text)
}

/// Describes the complete snapshots and the differences.
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
    // If there are several clouds, the first one counts.
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

/// The kind of list of all snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Snapshots,
    Boxes,
}

/// A row for each snapshot.
pub(crate) fn list(proxy: &Proxy, facts: &Facts, inspection: &Inspection, what: List) -> Table {
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
        let time = snapshot.as_ref().and_then(Snapshot::time).map_or_else(|| "-".to_owned(), text::seconds);
        let range = snapshot.as_ref().map(Snapshot::range);
        let count = |count: Option<u64>| count.map(text::count).unwrap_or_default();
        let kind = match damaged.get(&mesh.address) {
            Some(damage) => damage.state.name(),
            None if is_complete(facts, index) => "complete",
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

fn is_complete(facts: &Facts, index: usize) -> bool {
    let after = facts.complete.partition_point(|[from, _]| *from <= index as u64);
    after.checked_sub(1).and_then(|run| facts.complete.get(run)).is_some_and(|[_, to]| index as u64 <= *to)
}
