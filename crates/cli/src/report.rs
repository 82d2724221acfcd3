//! A structural dump without geometry and names, for pasting into a bug report: above all about files that are not read.

use std::ops::Range;

use meshmap::cgeo::{Parts, Proxy, raw};
use meshmap::{Format, MeshFile, Scratch, Segment, Source};

use crate::inputs::{Input, Reading};
use crate::text;

/// Bytes of a file that is not read that are shown.
const SHOWN_BYTES: u64 = 64;

/// The report on a file, and whether it could be opened. `hex` adds bytes of a file that could not, which can hold names.
pub(crate) fn of(input: &Input, how: &Reading, hex: bool) -> (Vec<String>, bool) {
    let mut lines = vec![
        format!("meshmap     {}", env!("CARGO_PKG_VERSION")),
        format!(
            "system      {} {}",
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
    ];
    let source = match input.source(how) {
        Ok(source) => source,
        Err(problem) => {
            lines.push(format!("x           {problem}"));
            return (lines, false);
        }
    };
    let bytes = source.len().ok().flatten();
    lines.push(format!(
        "file        {}",
        bytes.map_or_else(
            || "of unknown length".to_owned(),
            |b| text::plural(b, "byte")
        )
    ));
    let format = Format::detect(&source).ok();
    lines.push(format!(
        "format      {}",
        format.map_or("not known", Format::name)
    ));
    match input.open(&source, how) {
        Ok(Some(file)) => {
            opened(&file, &mut lines);
            (lines, true)
        }
        Ok(None) => (lines, false),
        Err(problem) => {
            lines.push(format!("x           {problem}"));
            match format {
                Some(Format::CGeo) => unread_cgeo(&source, bytes.unwrap_or(0), hex, &mut lines),
                _ if hex => lines.extend(dump("begins", &source, 0, bytes.unwrap_or(0))),
                _ => {}
            }
            if !hex {
                lines.push(
                    "bytes       none, because they can hold names; --hex adds them".to_owned(),
                );
            }
            (lines, false)
        }
    }
}

fn opened(file: &MeshFile, lines: &mut Vec<String>) {
    if let Some(proxy) = file.as_cgeo() {
        cgeo(proxy, lines);
    } else {
        lines.extend(text::listed(file.items(), "part", |item| {
            let counts: Vec<String> = item
                .counts
                .iter()
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            let address = without_names(&item.address);
            let start = item.range.start;
            let end = item.range.end;
            vec![format!(
                "part        {address}  {start:#x}..{end:#x}  {}",
                counts.join(" ")
            )]
        }));
    }
    // Texts of findings may quote names; identifiers of rules may not.
    let (findings, error) = match file.validate() {
        Ok(findings) => (findings, None),
        Err(error) => (file.findings().to_vec(), Some(error)),
    };
    lines.extend(text::listed(&findings, "finding", |finding| {
        vec![format!(
            "finding     {} ({})",
            finding.rule.id,
            text::plural(finding.count, "occurrence")
        )]
    }));
    lines.extend(error.map(|error| format!("x           {}", error.message())));
}

/// Removes names, because the names in an address come from the file.
fn without_names(address: &meshmap::Address) -> String {
    let mut shown = String::new();
    for segment in address.segments() {
        match segment {
            Segment::Field(name) if shown.is_empty() => shown.push_str(name),
            Segment::Field(name) => shown.push_str(&format!(".{name}")),
            Segment::Index(index) => shown.push_str(&format!("[{index}]")),
            _ => shown.push_str("[name]"),
        }
    }
    shown
}

fn cgeo(proxy: &Proxy, lines: &mut Vec<String>) {
    const SNAPSHOTS: usize = 8;
    lines.extend(text::listed(
        proxy.properties().iter(),
        "line of the header",
        |(name, value)| vec![property(&name.to_string_lossy(), &value.to_string_lossy())],
    ));
    lines.push(line_ends(proxy.properties().text().as_bytes()));
    lines.push(format!("flags       {:#010x}", proxy.flags()));
    lines.push(format!(
        "table       {}",
        text::plural(proxy.snapshot_count(), "snapshot")
    ));
    let found = if proxy.dialect_is_found() {
        "found by following the sections to the end tag"
    } else {
        "forced"
    };
    lines.push(format!("dialect     {}   ({found})", proxy.dialect()));
    for index in 0..proxy.snapshot_count().min(SNAPSHOTS) {
        snapshot(proxy, index, lines);
    }
    if proxy.snapshot_count() > SNAPSHOTS {
        lines.push(format!(
            "            .. {} more",
            text::plural(proxy.snapshot_count() - SNAPSHOTS, "snapshot")
        ));
    }
}

/// A property of the header; names are what a user may not want to show, numbers and dates are not.
fn property(name: &str, value: &str) -> String {
    const LONGEST: usize = 400;
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
    let shown = SHOWN.iter().any(|known| known.eq_ignore_ascii_case(name));
    let line = |text: &str| text::cut(&text::line(text), LONGEST);
    let value = if shown {
        line(value)
    } else {
        format!("({})", text::plural(value.len(), "byte"))
    };
    format!("header      {}: {value}", line(name))
}

fn line_ends(header: &[u8]) -> String {
    let lf = count(header, b"\n");
    let crlf = count(header, b"\r\n");
    format!(
        "header      {}, {lf} line ends, {crlf} of them CR LF",
        text::plural(header.len(), "byte")
    )
}

fn count(text: &[u8], end: &[u8]) -> usize {
    text.windows(end.len())
        .filter(|window| *window == end)
        .count()
}

fn snapshot(proxy: &Proxy, index: usize, lines: &mut Vec<String>) {
    let snapshot = match proxy.snapshot(index) {
        Ok(snapshot) => snapshot,
        Err(error) => return lines.push(format!("snapshot {index}: {}", error.message())),
    };
    let range = snapshot.range();
    lines.push(format!(
        "snapshot {index}  {:#x}..{:#x}",
        range.start, range.end
    ));
    let sections = match snapshot.sections() {
        Ok(sections) => sections,
        Err(error) => return lines.push(format!("  x {}", error.message())),
    };
    lines.extend(text::listed(sections, "section", |section| {
        let beginning = section.content.start..section.content.end.min(section.content.start + 4);
        let bytes = proxy.source().read(beginning).unwrap_or_default();
        let stored = section.content.end - section.content.start;
        let tag = section.tag;
        let size = section.size;
        vec![format!(
            "  tag {tag:#010x}  size {size}  stored {stored}  begins {}",
            text::spaced_hex(&bytes)
        )]
    }));
    match snapshot.counts(&mut Scratch::default()) {
        Ok(counts) => lines.push(format!(
            "  {} vertices, {} normals, {} map channels, {} triangles",
            counts.vertices, counts.normals, counts.texcoord_sets, counts.triangles
        )),
        Err(error) => lines.push(format!("  x {}", error.message())),
    }
    if let Err(error) = snapshot.mesh(Parts::ALL) {
        lines.push(format!("  x {}", error.message()));
    }
}

/// Describes a proxy that cannot be read in any way: its header, its table, and how its first snapshots
/// begin and end.
fn unread_cgeo(source: &Source, bytes: u64, hex: bool, lines: &mut Vec<String>) {
    const ENTRIES: u64 = 4;
    let add = |lines: &mut Vec<String>, label, range: Range<u64>| {
        if hex {
            lines.extend(dump(label, source, range.start, range.end));
        }
    };
    let Some(size) = number(source, 1, 4) else {
        return add(lines, "begins", 0..bytes);
    };
    let header = 5..(5 + size).min(bytes);
    if let Ok(head) = source.read(header).map(|head| head.to_vec()) {
        lines.extend(text::listed(
            String::from_utf8_lossy(&head).lines(),
            "line of the header",
            |line| {
                vec![match line.split_once(':') {
                    Some((name, value)) => property(name.trim(), value.trim()),
                    None => format!("header      ({})", text::plural(line.len(), "byte")),
                }]
            },
        ));
        lines.push(line_ends(&head));
    }
    let flags = 5 + size;
    if let Some(value) = number(source, flags, 4) {
        lines.push(format!("flags       {value:#010x}"));
    }
    let table = flags + 8;
    let mut offsets = Vec::new();
    while let (Some(tag), Some(offset)) = (
        number(source, table + offsets.len() as u64 * 8, 4),
        number(source, table + offsets.len() as u64 * 8, 8),
    ) {
        if tag == u64::from(raw::TAG_ANIM_TABLE_END) || offsets.len() as u64 == ENTRIES {
            break;
        }
        offsets.push(offset);
    }
    for (index, offset) in offsets.iter().enumerate() {
        lines.push(format!("offset {index}    {offset:#x}"));
        if *offset < bytes {
            add(lines, "  before", offset.saturating_sub(8)..*offset);
            add(lines, "  begins", *offset..bytes);
        }
    }
    add(
        lines,
        "file ends",
        bytes.saturating_sub(SHOWN_BYTES / 2)..bytes,
    );
}

/// A little-endian number, where its bytes are there.
fn number(source: &Source, at: u64, size: u64) -> Option<u64> {
    let bytes = source.read(at..at.checked_add(size)?).ok()?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}

/// Bytes from here on, as numbers, sixteen a line.
fn dump(label: &str, source: &Source, from: u64, end: u64) -> Vec<String> {
    let end = end.min(from.saturating_add(SHOWN_BYTES));
    let Ok(bytes) = source.read(from..end) else {
        return Vec::new();
    };
    let line = |(index, bytes): (usize, &[u8])| {
        let label = if index == 0 { label } else { "" };
        format!(
            "{label:<11} {:#08x}  {}",
            from + index as u64 * 16,
            text::spaced_hex(bytes)
        )
    };
    bytes.chunks(16).enumerate().map(line).collect()
}
