//! A page about one file: about 25 lines, no wider than the terminal. All formats have the same page.

use std::collections::HashMap;
use std::path::PathBuf;

use meshmap::{Conventions, Finding, LengthUnit, Severity, VOrigin, Winding};
use serde_json::{Map, Value};

use crate::screen::{Screen, Style};
use crate::table::Table;
use crate::{damage, headline, text};
use meshmap_catalog::inspect::{Facts, Inspection, MeshInfo, Part, State, value_words};

/// A page ends before this line, if it can.
const PAGE: usize = 25;

/// Elements of a list that are shown on a line.
const MOST_WORDS: usize = 12;

/// A part of a page.
enum Block {
    /// A label, and words after it on as many lines as they take.
    Words(String, Vec<String>),
    Table(Table),
}

/// The page about a file that could be opened, whose images are also looked for below the folders `textures`.
pub(crate) fn lines(
    inspection: &Inspection,
    textures: &[PathBuf],
    screen: Screen,
    mmap: bool,
) -> Vec<String> {
    let variant = inspection.variant.as_ref();
    let mut title = vec![variant.map_or_else(String::new, |variant| variant.long.clone())];
    title.extend(inspection.bytes.map(text::size));
    let mut lines = title_lines(&inspection.input.name(), &title, screen);
    lines.push(String::new());
    for line in headline::lines(inspection, textures) {
        lines.extend(text::wrap(&format!("  {line}"), screen.width, 4));
    }
    lines.push(String::new());
    let tail = marks(inspection, screen);
    let blocks = blocks(inspection);
    let label = |block: &Block| {
        if let Block::Words(label, _) = block {
            label.len()
        } else {
            0
        }
    };
    let label = blocks.iter().map(label).max().unwrap_or(0);
    let laid: Vec<Vec<String>> = blocks
        .iter()
        .map(|block| block.lines(screen.width, label))
        .collect();
    let is_table = |block: &&Block| matches!(block, Block::Table(_));
    let tables = blocks.iter().filter(is_table).count().max(1);
    let all: usize = laid.iter().map(Vec::len).sum();
    let in_tables: usize = blocks
        .iter()
        .zip(&laid)
        .filter(|(block, _)| is_table(block))
        .map(|(_, l)| l.len())
        .sum();
    let room = PAGE.saturating_sub(lines.len() + all - in_tables + tail.len() + 1);
    let share = if in_tables <= room {
        usize::MAX
    } else {
        (room / tables).max(4)
    };
    for (block, laid) in blocks.iter().zip(laid) {
        let Block::Table(table) = block else {
            lines.extend(laid);
            continue;
        };
        let all = table.total + 1;
        let shown = if all > share { share - 1 } else { laid.len() };
        lines.extend(laid.into_iter().take(shown));
        if shown < all {
            lines.push(format!(
                "    .. {} more (--json lists more)",
                text::plural(all - shown, table.row)
            ));
        }
    }
    lines.extend(tail);
    lines.push(screen.paint(Style::Dim, &format!("  {}", cost(inspection, mmap))));
    lines
}

fn blocks(inspection: &Inspection) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (Some(format), Some(facts)) = (inspection.format, &inspection.facts) else {
        return blocks;
    };
    let meshes = inspection.meshes();
    let is_animation = meshes.first().is_some_and(|mesh| mesh.role == "snapshot");
    let one = if is_animation { "snapshot" } else { "mesh" };
    let mut counts = vec![text::plural(meshes.len(), one)];
    counts.extend(
        facts
            .summary
            .counts(["vertex", "triangle"])
            .into_iter()
            .flatten(),
    );
    blocks.push(Block::words("meshes", counts));
    blocks.push(Block::words(
        "conventions",
        conventions(format.conventions()),
    ));
    if let Some(first) = meshes.first() {
        let shown = first
            .attributes
            .iter()
            .map(|one| format!("{} {}", text::name(&one.semantic), one.format));
        blocks.push(Block::words(
            "attributes",
            few(shown, first.attributes.len()),
        ));
    }
    if facts.values.get("box").is_none() {
        blocks.extend(
            headline::bounds(inspection)
                .map(|corners| Block::words("box", vec![text::corners(corners)])),
        );
    }
    if let Value::Object(values) = &facts.values {
        blocks.extend(of_object("file", values, facts));
    }
    let titles = ["mesh", "vertices", "triangles", "name", "material", "role"];
    let rows = meshes.iter().take(PAGE).map(mesh_row);
    blocks.push(Block::Table(Table::of("mesh", titles, meshes.len(), rows)));
    let titles = [
        "part", "stored", "decoded", "state", "codec", "offset", "counts",
    ];
    let rows = inspection.parts().take(PAGE).map(part_row);
    blocks.push(Block::Table(Table::of(
        "part",
        titles,
        inspection.parts().count(),
        rows,
    )));
    blocks.retain(|block| !matches!(block, Block::Table(table) if table.total == 0));
    blocks
}

fn mesh_row(mesh: &MeshInfo) -> Vec<String> {
    let count = |count: Option<u64>| count.map(text::count).unwrap_or_default();
    let name = |name: &Option<String>| name.as_deref().map(text::name).unwrap_or_default();
    let (name, material) = (name(&mesh.name), name(&mesh.material));
    vec![
        mesh.address.clone(),
        count(mesh.vertices),
        count(mesh.triangles),
        name,
        material,
        mesh.role.to_owned(),
    ]
}

fn part_row(part: Part) -> Vec<String> {
    let counts = part
        .counts
        .iter()
        .map(|(name, count)| format!("{} {}", label(name), text::count(*count)));
    vec![
        text::line(&part.address),
        text::size(part.stored),
        part.decoded.map(text::size).unwrap_or_default(),
        if part.state >= State::Broken {
            part.state.name().to_owned()
        } else {
            String::new()
        },
        if part.codec == "none" {
            String::new()
        } else {
            part.codec.to_owned()
        },
        format!("{:#x}", part.range.start),
        counts.collect::<Vec<_>>().join(", "),
    ]
}

/// Axes, winding, texture origin and unit of a format.
fn conventions(of: Conventions) -> Vec<String> {
    let winding = |winding| match winding {
        Winding::Clockwise => "front faces clockwise",
        _ => "front faces counter-clockwise",
    };
    let direction = |origin| {
        if origin == VOrigin::Top {
            "V down"
        } else {
            "V up"
        }
    };
    let unit = |unit| {
        if unit == LengthUnit::ObjectSize {
            "unit cube"
        } else {
            ""
        }
    };
    let known = [
        ("up axis", of.up.map(|axis| format!("{axis:?} up"))),
        ("winding", of.front_face.map(winding).map(str::to_owned)),
        (
            "direction of V",
            of.v_origin.map(direction).map(str::to_owned),
        ),
        ("unit", of.unit.map(unit).map(str::to_owned)),
    ];
    let unknown: Vec<&str> = known
        .iter()
        .filter(|(_, known)| known.is_none())
        .map(|(name, _)| *name)
        .collect();
    let unknown = (!unknown.is_empty()).then(|| format!("not stored: {}", unknown.join(", ")));
    let known: Vec<String> = known.into_iter().filter_map(|(_, known)| known).collect();
    known
        .into_iter()
        .chain(unknown)
        .filter(|words| !words.is_empty())
        .collect()
}

/// A name of JSON as words.
fn label(name: &str) -> String {
    name.replace('_', " ")
}

/// A flag as words: `has_normals` as "has normals" or "no normals".
fn flag(name: &str, is_true: bool) -> String {
    let [yes, no, name] = match (
        name.strip_prefix("has_"),
        name.strip_prefix("is_not_"),
        name.strip_prefix("is_"),
    ) {
        (Some(name), ..) => ["has ", "no ", name],
        // Absence of what nobody expects is not worth a word.
        (_, Some(_), _) if !is_true => return String::new(),
        (_, Some(name), _) => ["not ", "", name],
        (.., Some(name)) => ["", "not ", name],
        _ => return format!("{} {}", label(name), if is_true { "yes" } else { "no" }),
    };
    format!("{}{}", if is_true { yes } else { no }, label(name))
}

/// The first of some words, and the number of the others.
fn few(words: impl Iterator<Item = String>, count: usize) -> Vec<String> {
    let more = count.saturating_sub(MOST_WORDS);
    let more = (more > 0).then(|| format!(".. {} more", text::count(more)));
    words.take(MOST_WORDS).chain(more).collect()
}

/// The blocks of an object: its numbers and texts on one line, then each list and each object.
fn of_object(name: &str, object: &Map<String, Value>, facts: &Facts) -> Vec<Block> {
    const SHORT: usize = 24;
    let mut own = Vec::new();
    let mut unknown = Vec::new();
    let mut others = Vec::new();
    for (name, value) in object {
        match (facts.words.iter().find(|(known, _)| known == name), value) {
            (Some((_, words)), _) if words.len() > SHORT => {
                others.push(Block::words(name, vec![words.clone()]))
            }
            (Some((_, words)), _) if words.is_empty() => {}
            (Some((_, words)), _) => own.push(format!("{} {words}", label(name))),
            (None, Value::Null) => unknown.push(label(name)),
            (None, Value::Object(object)) => others.extend(of_object(name, object, facts)),
            (None, Value::Array(list)) if list.is_empty() => {}
            (None, Value::Array(list)) if !list.iter().all(Value::is_number) => {
                others.extend(of_list(name, list, facts));
            }
            (None, Value::Bool(is_true)) => own.push(flag(name, *is_true)),
            (None, value) => own.push(format!("{} {}", label(name), shown(name, value))),
        }
    }
    if !unknown.is_empty() {
        own.push(format!("not known: {}", unknown.join(", ")));
    }
    std::iter::once(Block::words(name, own))
        .chain(others)
        .collect()
}

fn of_list(name: &str, list: &[Value], facts: &Facts) -> Vec<Block> {
    const LONGEST_ON_A_LINE: usize = 3;
    match list {
        [Value::Object(one)] => of_object(name, one, facts),
        [Value::Object(first), ..] if first.len() > LONGEST_ON_A_LINE => {
            let titles = first.keys().map(|key| label(key));
            let cells = |row: &Value| {
                let cells = row.as_object().into_iter().flatten();
                cells.map(|(name, value)| shown(name, value)).collect()
            };
            vec![Block::Table(Table::of(
                "row",
                titles,
                list.len(),
                list.iter().take(PAGE).map(cells),
            ))]
        }
        [Value::Array(_), Value::Array(_)] if name.ends_with("box") => {
            let corner = |corner: &Value| {
                let numbers = corner
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_f64);
                numbers
                    .map(|one| text::coordinate(one as f32))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            vec![Block::words(
                name,
                vec![list.iter().map(corner).collect::<Vec<_>>().join("  ..  ")],
            )]
        }
        _ => vec![Block::words(
            name,
            few(list.iter().map(|value| shown(name, value)), list.len()),
        )],
    }
}

/// A value in a few words: sizes with units, numbers with their digits in groups.
fn shown(name: &str, value: &Value) -> String {
    const SIZES: [&str; 7] = [
        "stored",
        "decoded",
        "bytes",
        "header_bytes",
        "first",
        "each_difference",
        "all",
    ];
    const IN_HEXADECIMAL: [&str; 2] = ["tag", "flags"];
    const LONGEST: usize = 100;
    match value {
        Value::Null => String::new(),
        Value::Bool(is_true) => if *is_true { "yes" } else { "no" }.to_owned(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => text::cut(&text::line(text), LONGEST),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(number), _) if SIZES.contains(&name) => text::size(number),
            (Some(number), _) if IN_HEXADECIMAL.contains(&name) => format!("{number:#x}"),
            (_, Some(number)) if name == "rate" => format!("{number} fps"),
            (Some(number), _) => text::count(number),
            (None, Some(number))
                if number.abs() < 1e7 && (number.abs() >= 1e-6 || number == 0.0) =>
            {
                ((number * 1e6).round() / 1e6).to_string()
            }
            (None, Some(number)) => format!("{number:e}"),
            (None, None) => number.to_string(),
        },
        Value::Array(list) if list.iter().any(Value::is_object) => text::count(list.len()),
        Value::Array(list) => joined(list.iter().map(|value| (name, value))),
        Value::Object(object) => joined(object.iter().map(|(name, value)| (name.as_str(), value))),
    }
}

fn joined<'a>(values: impl Iterator<Item = (&'a str, &'a Value)>) -> String {
    let words = values
        .map(|(name, value)| shown(name, value))
        .filter(|words| !words.is_empty());
    words.take(MOST_WORDS).collect::<Vec<_>>().join(" ")
}

impl Block {
    fn words(name: &str, words: Vec<String>) -> Self {
        Self::Words(
            label(name),
            words
                .into_iter()
                .filter(|words| !words.is_empty())
                .collect(),
        )
    }

    /// The lines of the block; `labels` is the width of the longest label.
    fn lines(&self, width: usize, labels: usize) -> Vec<String> {
        match self {
            Self::Words(_, words) if words.is_empty() => Vec::new(),
            Self::Words(label, words) => {
                let lines = fill(words.clone(), width, labels + 4, labels + 4);
                let label = |index: usize| if index == 0 { label.as_str() } else { "" };
                let line = |(index, line): (usize, &String)| {
                    format!("  {:<labels$}  {line}", label(index))
                };
                lines.iter().enumerate().map(line).collect()
            }
            Self::Table(table) => table
                .lines(width.saturating_sub(4))
                .into_iter()
                .map(|row| format!("    {row}"))
                .collect(),
        }
    }
}

/// Words with three blanks between them on as many lines as they take. The first line begins after `first` columns, later
/// ones after `later`.
fn fill(words: Vec<String>, width: usize, first: usize, later: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in words {
        let begin = if lines.len() == 1 { first } else { later };
        let Some(line) = lines.last_mut() else {
            continue;
        };
        let gap = if line.is_empty() { "" } else { "   " };
        if begin + text::width(line) + gap.len() + text::width(&word) <= width {
            line.push_str(gap);
            line.push_str(&word);
        } else {
            if !line.is_empty()
                || lines.len() == 1 && first > later && later + text::width(&word) <= width
            {
                lines.push(String::new());
            }
            let begin = if lines.len() == 1 { first } else { later };
            let parts = text::wrap(&word, width.saturating_sub(begin), 2);
            lines.pop();
            lines.extend(parts);
        }
    }
    lines
}

/// The title on as many lines as it takes.
fn title_lines(name: &str, words: &[String], screen: Screen) -> Vec<String> {
    let name = text::cut(name, screen.width.max(16) - 4);
    let words: Vec<String> = words
        .iter()
        .filter(|word| !word.is_empty())
        .cloned()
        .collect();
    let mut lines = fill(words, screen.width, text::width(&name) + 3, 4);
    let first = if lines.is_empty() {
        String::new()
    } else {
        lines.remove(0)
    };
    let first = format!("{}   {first}", screen.paint(Style::Bold, &name))
        .trim_end()
        .to_owned();
    std::iter::once(first)
        .chain(lines.into_iter().map(|line| format!("    {line}")))
        .collect()
}

/// The kind of list of all snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Snapshots,
    Boxes,
}

/// The memory for a row of a [`list`], with its line.
pub(crate) const LIST_ROW_BYTES: u64 = 768;

/// A row for each snapshot.
pub(crate) fn list(proxy: &meshmap::cgeo::Proxy, inspection: &Inspection, what: List) -> Table {
    let titles: &[&str] = match what {
        List::Snapshots => &[
            "snapshot",
            "time",
            "stored",
            "mesh",
            "vertices",
            "triangles",
            "offset",
        ],
        List::Boxes => &["snapshot", "min", "max", "time"],
    };
    let damaged: HashMap<String, State> = inspection
        .damage
        .iter()
        .map(|damage| (damage.address.to_string(), damage.state))
        .collect();
    let row = |(index, mesh): (usize, &MeshInfo)| {
        let snapshot = proxy.snapshot(index).ok();
        let time = snapshot
            .as_ref()
            .and_then(|one| one.time())
            .map_or_else(|| "-".to_owned(), text::seconds);
        let count = |count: Option<u64>| count.map(text::count).unwrap_or_default();
        let state = damaged.get(&mesh.address).map(|state| state.name());
        let index = index.to_string();
        match what {
            List::Snapshots => {
                let range = snapshot.map(|snapshot| snapshot.range());
                let stored = range
                    .as_ref()
                    .map(|range| text::size(range.end - range.start));
                let kind = state
                    .unwrap_or(if mesh.is_complete {
                        "complete"
                    } else {
                        "difference"
                    })
                    .to_owned();
                let offset = range
                    .map(|range| format!("{:#x}", range.start))
                    .unwrap_or_default();
                let counts = [mesh.vertices, mesh.triangles].map(count);
                let [vertices, triangles] = counts;
                vec![
                    index,
                    time,
                    stored.unwrap_or_default(),
                    kind,
                    vertices,
                    triangles,
                    offset,
                ]
            }
            List::Boxes => {
                let [min, max] = match mesh.bounds {
                    Some(bounds) => bounds.map(text::point),
                    None => [state.unwrap_or("not stored").to_owned(), String::new()],
                };
                vec![index, min, max, time]
            }
        }
    };
    let meshes = inspection.meshes();
    Table::of(
        "snapshot",
        titles.iter().copied(),
        meshes.len(),
        meshes.iter().enumerate().map(row),
    )
}

/// Lists damaged parts and broken rules.
fn marks(inspection: &Inspection, screen: Screen) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(what) = damage::what_is_broken(inspection) {
        lines.extend(marked("x", &what, screen));
    }
    lines.extend(findings(inspection, Severity::Suspicious, screen));
    lines
}

/// The findings with a severity of at least `least`. Parts that cannot be used are reported separately.
pub(crate) fn findings(inspection: &Inspection, least: Severity, screen: Screen) -> Vec<String> {
    let listed = |finding: &&Finding| (least..Severity::Unusable).contains(&finding.severity());
    text::listed(
        inspection.findings.iter().filter(listed),
        "finding",
        |finding| {
            let mark = mark(finding.severity()).unwrap_or("");
            marked(mark, &text::line(&self::finding(finding)), screen)
        },
    )
}

/// A line with a mark before it, wrapped.
pub(crate) fn marked(mark: &str, line: &str, screen: Screen) -> Vec<String> {
    let style = if mark == "x" {
        Style::Bad
    } else {
        Style::Warning
    };
    let wrapped = text::wrap(line, screen.width.saturating_sub(5), 0);
    let lead = |index: usize| {
        if index == 0 {
            screen.paint(style, &format!("{mark:<2}"))
        } else {
            "  ".to_owned()
        }
    };
    wrapped
        .iter()
        .enumerate()
        .map(|(index, line)| format!("  {} {line}", lead(index)))
        .collect()
}

/// The mark of a severity on pages; a note has no mark.
fn mark(severity: Severity) -> Option<&'static str> {
    match severity {
        Severity::Note => None,
        Severity::Suspicious => Some("!"),
        Severity::Forbidden => Some("!!"),
        _ => Some("x"),
    }
}

/// The location and the text of a finding.
fn finding(finding: &Finding) -> String {
    let place = finding
        .address
        .as_ref()
        .map(|address| format!("{address}: "))
        .unwrap_or_default();
    let count = match finding.count {
        0 | 1 => String::new(),
        count => format!(" ({} occurrences)", text::count(count)),
    };
    match value_words(finding) {
        Some(words) => format!("{words}{count}"),
        None => format!("{place}{}: {}{count}", finding.rule.name, finding.detail),
    }
}

fn cost(inspection: &Inspection, mmap: bool) -> String {
    let [reads, bytes] = inspection.reads;
    let bytes = text::size(bytes);
    let cost = if mmap {
        "mapped".to_owned()
    } else if reads == 0 {
        "in memory".to_owned()
    } else {
        format!("read {bytes} in {}", text::plural(reads, "read"))
    };
    if inspection.is_checked() {
        cost
    } else {
        format!("{cost}; values not checked (--full)")
    }
}
