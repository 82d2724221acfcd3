//! `meshmap info`: what files are.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use meshmap::{Error, Finding, Item, MeshFile, ReadStats, Result, Source};
use serde_json::{Value, json};

use crate::formats::{self, cgeo};
use crate::{files, show};

/// What is to be shown, and how it may be read.
pub(crate) struct Wish {
    pub(crate) json: bool,
    pub(crate) full: bool,
    pub(crate) snapshots: bool,
    pub(crate) report: bool,
    pub(crate) mmap: bool,
}

pub(crate) fn run(paths: &[PathBuf], wish: &Wish, out: &mut impl Write) -> io::Result<bool> {
    let found = files::find(paths);
    if wish.json {
        return json_lines(&found, wish, out);
    }
    match found.files.as_slice() {
        [path] if found.single => page(path, wish, out),
        _ => rows(&found, wish, out),
    }
}

/// One file on a page of its own.
fn page(path: &Path, wish: &Wish, out: &mut impl Write) -> io::Result<bool> {
    match describe(path, wish) {
        Ok(lines) => {
            lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            Ok(true)
        }
        Err(error) => {
            show::error(format_args!("{}: {}", show::path(path), error.message()));
            Ok(false)
        }
    }
}

fn describe(path: &Path, wish: &Wish) -> Result<Vec<String>> {
    let opened = files::source(path, wish.mmap)?;
    let source = small_at_once(&opened, wish)?;
    let bytes = source.len()?.unwrap_or(0);
    let file = MeshFile::from_source(source.clone())?;
    let title = format!("{}   {}   {}", show::file_name(path), formats::variant(&file), show::size(bytes));
    if let MeshFile::CGeo(proxy) = &file {
        if wish.report {
            return Ok(cgeo::report(proxy, file.findings()));
        }
        if wish.snapshots {
            return Ok(cgeo::list(proxy));
        }
    }
    let mut page = formats::page(&file, wish.full)?;
    page.findings.extend(findings_lines(file.findings()));
    page.cost = cost(opened.read_stats(), wish.mmap);
    Ok(page.lines(&title))
}

/// The bytes of a small file, which are read at once; anything else as it is.
fn small_at_once(source: &Source, wish: &Wish) -> Result<Source> {
    const SMALL: u64 = 1 << 20;
    match source.len()? {
        Some(len) if !wish.mmap && len <= SMALL => source.get(0..len, "file").map(Source::from_bytes),
        _ => Ok(source.clone()),
    }
}

fn findings_lines(findings: &[Finding]) -> Vec<String> {
    const MOST: usize = 5;
    let mut lines: Vec<String> =
        findings.iter().map(|finding| format!("! {}", show::finding(finding))).collect();
    if lines.len() > MOST {
        let more = lines.len() - (MOST - 1);
        lines.truncate(MOST - 1);
        lines.push(format!("! {more} findings more (meshmap verify lists all)"));
    }
    lines
}

fn cost(stats: ReadStats, mmap: bool) -> String {
    if mmap {
        return "mapped".to_owned();
    }
    format!("{}, {}", show::plural(stats.reads as usize, "read"), show::size(stats.bytes))
}

/// Many files, a line each, and a sum.
fn rows(found: &files::Found, wish: &Wish, out: &mut impl Write) -> io::Result<bool> {
    let start = Instant::now();
    let bar = files::progress(found.files.len());
    let mut rows = Vec::new();
    let (mut good, mut bad, mut bytes) = (0, 0, 0);
    for path in &found.files {
        bar.set_message(show::path(path));
        match summary(path, wish.mmap) {
            Ok((size, cells)) => {
                good += 1;
                bytes += size;
                let variant = [format!("  {}", show::path(path))];
                rows.push(variant.into_iter().chain(cells).collect());
            }
            Err(error) => {
                bad += 1;
                rows.push(vec![format!("x {}", show::path(path)), error.message()]);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    for (path, error) in &found.unreadable {
        bad += 1;
        rows.push(vec![format!("x {}", show::path(path)), error.to_string()]);
    }
    // Errors are sentences; they must not widen the columns.
    let columns: Vec<Vec<String>> =
        rows.iter().map(|row| if row.len() == 2 { row[..1].to_vec() } else { row.clone() }).collect();
    for (line, row) in show::table(&columns, &[true, true, false, true]).iter().zip(&rows) {
        match row.as_slice() {
            [path, error] => {
                let width = columns.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
                writeln!(out, "{path:<width$}   {error}")?;
            }
            _ => writeln!(out, "{line}")?,
        }
    }
    let files = show::plural(good + bad, "file");
    let others =
        if found.others > 0 { format!(", {}", show::plural(found.others, "other")) } else { String::new() };
    let seconds = start.elapsed().as_secs_f64();
    writeln!(out, "{files}, {good} read, {bad} bad{others}    {}   {seconds:.2} s", show::size(bytes))?;
    Ok(bad == 0)
}

fn summary(path: &Path, mmap: bool) -> Result<(u64, Vec<String>)> {
    let source = files::source(path, mmap)?;
    let size = source.len()?.unwrap_or(0);
    let file = MeshFile::from_source(source)?;
    Ok((size, vec![formats::variant(&file), show::size(size), formats::summary(&file)]))
}

fn json_lines(found: &files::Found, wish: &Wish, out: &mut impl Write) -> io::Result<bool> {
    let mut good = true;
    for path in &found.files {
        let source = files::source(path, wish.mmap);
        let bytes = source.as_ref().ok().and_then(|source| source.len().ok().flatten());
        let file = source.and_then(MeshFile::from_source);
        let error = file.as_ref().err();
        if let (true, Some(error)) = (found.single, error) {
            show::error(format_args!("{}: {}", show::path(path), error.message()));
            return Ok(false);
        }
        good &= error.is_none();
        object(path, bytes, &file, out)?;
    }
    for (path, error) in &found.unreadable {
        good = false;
        let error = json!({"kind": "io", "message": error.to_string()});
        let object = json!({"schema": 1, "path": path.to_string_lossy(), "format": null, "bytes": null,
            "items": [], "findings": [], "error": error});
        writeln!(out, "{object}")?;
    }
    Ok(good)
}

/// One line about a file, written part by part: a file may have millions of items.
fn object(path: &Path, bytes: Option<u64>, file: &Result<MeshFile>, out: &mut impl Write) -> io::Result<()> {
    let format = match file {
        Ok(file) => Some(file.format()),
        Err(error) => error.format(),
    };
    let path = Value::from(path.to_string_lossy());
    let format = Value::from(show::format_name(format));
    write!(out, r#"{{"schema":1,"path":{path},"format":{format},"bytes":{},"items":["#, Value::from(bytes))?;
    let file_ok = file.as_ref().ok();
    list(file_ok.into_iter().flat_map(MeshFile::items).map(|part| item(&part)), out)?;
    out.write_all(br#"],"findings":["#)?;
    list(file_ok.into_iter().flat_map(MeshFile::findings).map(finding), out)?;
    writeln!(out, r#"],"error":{}}}"#, Value::from(file.as_ref().err().map(error)))
}

fn list(values: impl Iterator<Item = Value>, out: &mut impl Write) -> io::Result<()> {
    for (index, value) in values.enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(out, "{comma}{value}")?;
    }
    Ok(())
}

fn item(item: &Item) -> Value {
    let counts: serde_json::Map<_, _> =
        item.counts.iter().map(|(name, count)| ((*name).to_owned(), Value::from(*count))).collect();
    json!({
        "address": item.address.to_string(),
        "counts": counts,
        "stored": item.stored,
        "decoded": item.decoded,
        "range": [item.range.start, item.range.end],
    })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule.name,
        "severity": finding.severity().name(),
        "address": finding.address.as_ref().map(ToString::to_string),
        "range": finding.byte_range.as_ref().map(|range| [range.start, range.end]),
        "detail": finding.detail,
    })
}

fn error(error: &Error) -> Value {
    json!({
        "kind": error.kind().to_string(),
        "what": error.what(),
        "address": error.address().map(ToString::to_string),
        "range": error.byte_range().map(|range| [range.start, range.end]),
        "expected": error.expected_text(),
        "found": error.found_text(),
        "message": error.message(),
    })
}
