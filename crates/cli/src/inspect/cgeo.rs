//! What `meshmap info` says about a CGeo file.

use std::collections::HashMap;
use std::ops::Range;

use meshmap::cgeo::{Proxy, Snapshot, UnitEvidence, raw};
use meshmap::{Finding, Result};

use crate::page::{Block, Page, WORTH_READING};
use crate::show;

/// A look at each snapshot's first bytes takes time, too; so many are looked at without being asked to.
const WORTH_LOOKING: usize = 10_000;

/// Format and version: `CGeo 7`.
pub(crate) fn variant(proxy: &Proxy) -> String {
    proxy.version().map_or_else(|| "CGeo".to_owned(), |version| format!("CGeo {version}"))
}

/// The snapshots of a proxy, in a few words.
pub(crate) fn summary(proxy: &Proxy) -> String {
    let counts = proxy.snapshot(0).and_then(|snapshot| snapshot.counts());
    let mesh = match counts {
        Ok(counts) => format!("{} v   {} t   ", show::count(counts.vertices), show::count(counts.triangles)),
        Err(_) => String::new(),
    };
    let last = proxy.len().checked_sub(1).and_then(|last| Some(proxy.timing()?.time_of(last)));
    let time = last.map_or_else(String::new, |last| format!(", {last:.3} s"));
    format!("{mesh}{}{time}", show::plural(proxy.len(), "snapshot"))
}

pub(crate) fn page(proxy: &Proxy, full: bool) -> Result<Page> {
    let mut lines = Vec::new();
    lines.extend(object(proxy));
    lines.extend(time(proxy));
    let mut snapshots = Block { rows: "snapshots", ..Block::default() };
    let mut findings = Vec::new();
    if !proxy.is_empty() {
        // One that cannot be read leaves the rest of the page as it is, and is told at its end.
        let first = proxy.snapshot(0);
        match first.as_ref().map_err(Clone::clone).and_then(|first| first_snapshot(proxy, first, full)) {
            Ok(first) => lines.extend(first),
            Err(error) => findings.push(format!("! {}", error.message())),
        }
        snapshots.table = sections(proxy, first.ok().as_ref(), full);
    }
    lines.push(unit(proxy));
    lines.push(format!("{:<11} not stored", "up axis"));
    let dialect = if proxy.dialect_is_found() { "found" } else { "as told" };
    lines.push(format!("{:<11} {}   ({dialect})", "dialect", proxy.dialect()));
    let blocks = vec![Block::lines(lines), snapshots];
    let subtitle = "Corona proxy, from the published description".to_owned();
    Ok(Page { subtitle, blocks, findings, ..Page::default() })
}

fn object(proxy: &Proxy) -> Option<String> {
    let name = |label: &str, name: Option<meshmap::Text>| {
        name.map(|name| format!("{label}\"{}\"", show::name(&name.to_string_lossy())))
    };
    let date = proxy
        .date_created()
        .map(|date| format!("saved {}", show::name(&date.to_string_lossy().replace('/', " "))));
    let parts = [name("", proxy.object_name()), name("material ", proxy.material_name()), date];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{:<11} {}", "object", parts.join("   ")))
}

fn time(proxy: &Proxy) -> Option<String> {
    let count = show::plural(proxy.len(), "snapshot");
    let Some(timing) = proxy.timing().filter(|timing| timing.step() != 0.0) else {
        return Some(format!("{:<11} {count}, no time stored", "time"));
    };
    let step = timing.step() * 1000.0;
    let rate = format!("{:.2}", 1000.0 / step);
    let rate = rate.trim_end_matches('0').trim_end_matches('.');
    let last = timing.time_of(proxy.len().saturating_sub(1));
    let (first, last) = (timing.time_of(0), last);
    Some(format!(
        "{:<11} {count}, one every {step:.3} ms ({rate} fps): first {first:.3} s, last {last:.3} s",
        "time"
    ))
}

/// What is known from the first snapshot: topology, counts, box and sizes.
fn first_snapshot(proxy: &Proxy, first: &Snapshot, full: bool) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let (topology, differs) = topology(proxy, full);
    lines.push(format!("{:<11} {topology}", "topology"));

    let counts = first.counts()?;
    lines.push(format!(
        "{:<11} {} positions   {} normals   {} triangles   {}",
        "mesh",
        show::count(counts.vertices),
        show::count(counts.normals),
        show::count(counts.triangles),
        show::plural(counts.map_channels as usize, "map channel"),
    ));
    let point = |[x, y, z]: [f32; 3]| format!("{x:.3} {y:.3} {z:.3}");
    match first.bounding_box()? {
        Some(bounds) => {
            lines.push(format!(
                "{:<11} {}  ..  {}   (snapshot 0)",
                "box",
                point(bounds.min),
                point(bounds.max)
            ));
        }
        None => lines.push(format!("{:<11} not stored", "box")),
    }

    let range = first.range();
    if !full && range.end - range.start > WORTH_READING {
        lines.push(format!("{:<11} not computed (--full)", "decoded"));
        return Ok(lines);
    }
    let mesh = first.mesh()?;
    let channels: usize = mesh.map_channels.iter().map(|channel| channel.as_bytes().len()).sum();
    let difference = (mesh.positions.as_bytes().len() + mesh.normals.as_bytes().len() + channels) as u64;
    let complete = difference + mesh.triangles.as_bytes().len() as u64;
    let others = if differs {
        format!(", {} for each difference from it", show::size(difference))
    } else {
        String::new()
    };
    lines.push(format!("{:<11} {} for snapshot 0{others}", "decoded", show::size(complete)));
    Ok(lines)
}

/// Which snapshots are complete, and which are differences; and whether there are any of those.
fn topology(proxy: &Proxy, full: bool) -> (String, bool) {
    if proxy.len() == 1 {
        return ("one snapshot".to_owned(), false);
    }
    let looked = if full { proxy.len() } else { proxy.len().min(WORTH_LOOKING) };
    let kind = |snapshot: &Snapshot| snapshot.is_complete();
    let complete: Vec<Option<bool>> =
        each(proxy, kind).take(looked).map(|complete| complete.map(|(_, kind)| kind).ok()).collect();
    let runs = runs(&complete);
    let name = |(range, kind): &(Range<usize>, Option<bool>)| {
        let what = match kind {
            Some(true) => "complete",
            Some(false) => "differences from snapshot 0",
            None => "unreadable",
        };
        format!("{} {what}", span(range))
    };
    let constant = complete.iter().skip(1).all(|kind| *kind == Some(false));
    let more = if looked < proxy.len() { ", the others not looked at (--full)" } else { "" };
    let differs = complete.contains(&Some(false));
    let text = match runs.len() {
        1 if complete[0] == Some(true) => format!("may change: all snapshots complete{more}"),
        1..=4 => {
            let names: Vec<String> = runs.iter().map(name).collect();
            format!("{}{}{more}", if constant { "constant: " } else { "" }, names.join(", "))
        }
        _ => {
            let count = complete.iter().filter(|kind| **kind == Some(true)).count();
            format!("{count} complete, {} differences from snapshot 0{more}", complete.len() - count)
        }
    };
    (text, differs)
}

/// What `look` finds in each snapshot. Entries of the table that name the same one are looked at once.
fn each<T: Clone>(
    proxy: &Proxy,
    look: impl Fn(&Snapshot) -> Result<T>,
) -> impl Iterator<Item = Result<(Snapshot, T)>> {
    let mut seen: HashMap<u64, Result<T>> = HashMap::new();
    (0..proxy.len()).map(move |index| {
        let snapshot = proxy.snapshot(index)?;
        let found = seen.entry(snapshot.range().start).or_insert_with(|| look(&snapshot)).clone()?;
        Ok((snapshot, found))
    })
}

fn span(range: &Range<usize>) -> String {
    if range.len() == 1 { range.start.to_string() } else { format!("{}..{}", range.start, range.end - 1) }
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

fn unit(proxy: &Proxy) -> String {
    let scale = proxy.properties().get("Scale").map(|scale| show::name(&scale.to_string_lossy()));
    let scale = scale.map_or_else(|| "no scale".to_owned(), |scale| format!("\"Scale: {scale}\""));
    let text = match proxy.unit_length() {
        None => format!("not known ({scale})"),
        Some(unit) => {
            let evidence = match unit.evidence {
                UnitEvidence::Scale => "from the scale, as the published text explains it".to_owned(),
                UnitEvidence::BoxSizesScaleIsReciprocal => {
                    format!("from the two box sizes of the header ({scale} is the reciprocal)")
                }
                UnitEvidence::BoxSizesScaleDiffers => {
                    format!("from the two box sizes of the header (which {scale} contradicts)")
                }
                _ => "from the two box sizes of the header".to_owned(),
            };
            format!("{} mm, {evidence}", (unit.millimeters * 1e6).round() / 1e6)
        }
    };
    format!("{:<11} {text}", "unit")
}

/// A row for each run of snapshots with the same sections.
fn sections(proxy: &Proxy, first: Option<&Snapshot>, full: bool) -> Vec<String> {
    let extents: Vec<_> = (0..proxy.len())
        .map(|index| proxy.snapshot(index).map(|snapshot| snapshot.range()).unwrap_or_default())
        .collect();
    let stored = |range: &Range<u64>| range.end - range.start;
    let mut rows = vec![["snapshot", "stored", "sections"].map(str::to_owned).to_vec()];
    let worth = full || extents.first().is_some_and(|range| stored(range) <= WORTH_READING);
    let first = match first {
        Some(snapshot) if worth => describe_sections(snapshot),
        _ => "not looked at (--full)".to_owned(),
    };
    rows.push(vec!["0".to_owned(), show::size(extents.first().map_or(0, stored)), first]);
    if let [_, others @ ..] = extents.as_slice()
        && !others.is_empty()
    {
        let sizes = others.iter().map(stored);
        let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        let size = if least == most {
            show::size(least)
        } else {
            format!("{} .. {}", show::size(least), show::size(most))
        };
        rows.push(vec![span(&(1..extents.len())), size, "(--snapshots)".to_owned()]);
    }
    show::table(&rows, &[true, false, true])
}

fn describe_sections(snapshot: &Snapshot) -> String {
    let sections = match snapshot.sections() {
        Ok(sections) => sections,
        Err(error) => return show::name(&error.message()),
    };
    // Of several clouds the first counts.
    let mut cloud = Some(());
    let name = |section: &meshmap::cgeo::Section| {
        let size = show::size(section.content.end - section.content.start);
        match section.tag {
            raw::TAG_BOUNDING_BOX => format!("box {size}"),
            raw::TAG_MESH_DATA => format!("mesh {size}"),
            raw::TAG_POINTCLOUD => {
                let points = cloud.take().and_then(|()| snapshot.point_cloud().ok().flatten());
                let points = points.map_or_else(String::new, |points| {
                    format!(" ({} points)", show::count(points.len() as u64))
                });
                format!("cloud {size}{points}")
            }
            tag => format!("{tag:#010x} {size}"),
        }
    };
    let names: Vec<String> = sections.iter().map(name).collect();
    names.join(", ")
}

/// A row for each snapshot.
pub(crate) fn list(proxy: &Proxy) -> Vec<String> {
    let mut rows = vec![["snapshot", "time", "stored", "mesh", "box"].map(str::to_owned).to_vec()];
    let point = |[x, y, z]: [f32; 3]| format!("{x:.3} {y:.3} {z:.3}");
    let look = |snapshot: &Snapshot| {
        let kind = if snapshot.is_complete()? { "complete" } else { "difference" };
        let bounds = snapshot.bounding_box()?;
        let bounds = bounds.map(|bounds| format!("{}  ..  {}", point(bounds.min), point(bounds.max)));
        Ok((kind, bounds.unwrap_or_else(|| "not stored".to_owned())))
    };
    for (index, found) in each(proxy, look).enumerate() {
        let row = found.map(|(snapshot, (kind, bounds))| {
            let range = snapshot.range();
            let time = snapshot.time().map_or_else(|| "-".to_owned(), |time| format!("{time:.3} s"));
            vec![index.to_string(), time, show::size(range.end - range.start), kind.to_owned(), bounds]
        });
        rows.push(row.unwrap_or_else(|error| {
            let text = show::line(&error.message());
            vec![index.to_string(), String::new(), String::new(), "x".to_owned(), text]
        }));
    }
    show::table(&rows, &[false, false, false, true, true])
}

/// A structural dump without geometry and names, for pasting into a bug report.
pub(crate) fn report(proxy: &Proxy, findings: &[Finding]) -> Vec<String> {
    const SNAPSHOTS: usize = 8;
    /// Names are what a user may not want to show; numbers and dates are not.
    const SHOWN: [&str; 13] = [
        "Version",
        "Date created",
        "Number of faces",
        "Number of vertices",
        "Number of normals",
        "Number of mapping channels",
        "Bounding box size (original units)",
        "Bounding box size (millimeters)",
        "Animation snapshot count",
        "Time per animation snapshot [microseconds]",
        "Animation time start",
        "Scale",
        "Compressed",
    ];
    let mut lines = vec![format!("meshmap {}", env!("CARGO_PKG_VERSION"))];
    for (name, value) in proxy.properties().iter() {
        let (name, value) = (show::line(&name.to_string_lossy()), value.to_string_lossy());
        let shown = SHOWN.iter().any(|known| known.eq_ignore_ascii_case(&name));
        let value = if shown { show::line(&value) } else { format!("({} bytes)", value.len()) };
        lines.push(format!("header      {name}: {value}"));
    }
    let text = proxy.properties().text();
    let (lf, crlf) = (count(text.as_bytes(), b"\n"), count(text.as_bytes(), b"\r\n"));
    lines.push(format!("header      {} bytes, {lf} line ends, {crlf} of them CR LF", text.as_bytes().len()));
    lines.push(format!("flags       {:#010x}", proxy.flags()));
    lines.push(format!("table       {} entries", proxy.len()));
    let found =
        if proxy.dialect_is_found() { "found by following the sections to the end tag" } else { "as told" };
    lines.push(format!("dialect     {}   ({found})", proxy.dialect()));
    for index in 0..proxy.len().min(SNAPSHOTS) {
        lines.extend(report_snapshot(proxy, index));
    }
    if proxy.len() > SNAPSHOTS {
        lines.push(format!("            .. {} snapshots more", proxy.len() - SNAPSHOTS));
    }
    // What findings say may quote names; which rule it is may not.
    lines.extend(findings.iter().map(|finding| format!("finding     {}", finding.rule.name)));
    lines
}

fn report_snapshot(proxy: &Proxy, index: usize) -> Vec<String> {
    let snapshot = match proxy.snapshot(index) {
        Ok(snapshot) => snapshot,
        Err(error) => return vec![format!("snapshot {index}: {}", error.message())],
    };
    let range = snapshot.range();
    let mut lines = vec![format!("snapshot {index}  {:#x}..{:#x}", range.start, range.end)];
    let sections = match snapshot.sections() {
        Ok(sections) => sections,
        Err(error) => {
            lines.push(format!("  x {}", error.message()));
            return lines;
        }
    };
    for section in sections {
        let beginning = section.content.start..section.content.end.min(section.content.start + 4);
        let bytes = proxy.source().get(beginning, "section").unwrap_or_default();
        let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let stored = section.content.end - section.content.start;
        lines.push(format!(
            "  tag {:#010x}  size {}  stored {stored}  begins {}",
            section.tag,
            section.size,
            bytes.join(" ")
        ));
    }
    match snapshot.counts() {
        Ok(counts) => lines.push(format!("  {counts:?}")),
        Err(error) => lines.push(format!("  x {}", error.message())),
    }
    if let Err(error) = snapshot.mesh() {
        lines.push(format!("  x {}", error.message()));
    }
    lines
}

fn count(text: &[u8], end: &[u8]) -> usize {
    text.windows(end.len()).filter(|window| *window == end).count()
}
