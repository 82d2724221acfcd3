//! The rows of a file.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use meshmap::{Finding, Format, Identity, MeshFile, Severity, Source};
use sha2::{Digest, Sha256};

use super::item::{Item, Kind};
use super::limited::Limited;
use super::look;
use super::options::Options;
use super::row::Row;
use crate::depth::Depth;
use crate::input::{Problem, Reading, meter_of};
use crate::inspect::{self, ByAddress, Checked, Damage, path_bytes};
use crate::text;

/// The rows of a file: at least one, except for a file that was found and holds no mesh at all.
///
/// Never fails, whatever the file is.
#[must_use]
pub fn of(item: &Item, how: &Options) -> Vec<Row> {
    let read = |how: &Options| catch_unwind(AssertUnwindSafe(|| read(item, how)));
    // A defect of a decoder does not take the rows of the headers.
    let headers = || {
        read(&Options {
            depth: Depth::Headers,
            ..how.clone()
        })
    };
    let panicked = |rows: Vec<Row>| rows.into_iter().map(Row::panicked).collect();
    read(how)
        .or_else(|_| headers().map(panicked))
        .unwrap_or_else(|_| vec![of_item(item).panicked()])
}

/// A row that names the file.
#[must_use]
pub fn of_item(item: &Item) -> Row {
    let of_path = |path: &Path| Row {
        path: path.to_string_lossy().into_owned(),
        path_bytes: path_bytes(path),
        ..Row::default()
    };
    match &item.0 {
        Kind::File(input) => of_path(&input.path),
        Kind::Source { name, .. } => Row {
            path: name.clone(),
            ..Row::default()
        },
        Kind::Unreadable(path, _) => of_path(path),
    }
}

fn read(item: &Item, how: &Options) -> Vec<Row> {
    match open(item, how) {
        Ok(None) => Vec::new(),
        Ok(Some((row, file))) => listed(&file, row, how),
        Err(row) => vec![*row],
    }
}

fn listed(file: &MeshFile, file_row: Row, how: &Options) -> Vec<Row> {
    let depth = how.depth;
    // Each has its own meter: what one job costs does not change the values of the other.
    let job = || Arc::new(meter_of(file));
    let checked = (depth == Depth::Everything).then(|| job().run(|| inspect::check(file)));
    let (findings, damage) = match &checked {
        Some(Checked { findings, damage }) => (&findings[..], &damage[..]),
        None => (file.findings(), &[][..]),
    };
    let file_row = Row {
        findings: counts(findings),
        ..file_row
    };
    let mut rows = Limited::new(file, &file_row, how);
    let known = ByAddress::new(damage);
    let known = (depth >= Depth::Meshes).then_some(&known);
    job().run(|| look::meshes(file, &file_row, known, &mut rows));
    let mut rows = rows.finish(&file_row);
    add_other_parts(&mut rows, damage, file.format());
    rows
}

/// Opens a file. `None` if it has no rows; its only row if it cannot be opened.
pub(super) fn open(item: &Item, how: &Options) -> Result<Option<(Row, MeshFile)>, Box<Row>> {
    let mut row = of_item(item);
    let opened = match &item.0 {
        Kind::Unreadable(_, error) => Err(Problem::other("io", error.clone())),
        Kind::File(input) => {
            let reading = Reading {
                reads_headers: how.depth == Depth::Headers && !how.hash,
                ..how.reading
            };
            input
                .source_and_version(&reading)
                .and_then(|(source, version)| {
                    describe(&mut row, &source, version, how)?;
                    input.open(&source, &how.reading)
                })
        }
        Kind::Source { identity, open, .. } => open().map_err(Problem::from).and_then(|source| {
            describe(&mut row, &source, || identity.clone(), how)?;
            Ok(Some(MeshFile::from_source(source, &how.reading.options())?))
        }),
    };
    let format = match &opened {
        Ok(file) => file.as_ref().map(MeshFile::format),
        Err(problem) => problem.library().and_then(meshmap::Error::format),
    };
    if !how.takes(format) {
        return Ok(None);
    }
    row.format = format.map(Format::name);
    opened
        .map(|file| Some((row.clone(), file?)))
        .map_err(|problem| Box::new(row.problem(&problem)))
}

/// Adds the facts that are known before a file is opened.
fn describe(
    row: &mut Row,
    source: &Source,
    version: impl FnOnce() -> Option<String>,
    how: &Options,
) -> Result<(), Problem> {
    row.file_bytes = source.len()?.and_then(|bytes| i64::try_from(bytes).ok());
    row.identity = version().or_else(|| of_file(source));
    if how.hash {
        match hash(source) {
            Ok(hash) => row.hash = Some(hash),
            // The headers still have rows.
            Err(problem) => *row = std::mem::take(row).problem(&problem),
        }
    }
    Ok(())
}

/// A row that has no more than the file and the version of it, as in `identity`. No part of a file in a store is fetched, and nothing is
/// decoded.
#[must_use]
pub fn identify(item: &Item, how: &Options) -> Row {
    let mut row = of_item(item);
    if let Kind::File(input) = &item.0 {
        row.identity = if input.is_in_store() {
            input
                .fetch_version(&how.reading)
                .ok()
                .flatten()
                .map(|(_, version)| version)
        } else {
            input.on_disk().and_then(|source| of_file(&source))
        };
    }
    row
}

fn of_file(source: &Source) -> Option<String> {
    text_of(source.identity()?)
}

/// The identity of a file as a text that stays the same while the file does. The number of its device does not: a file system may have another
/// one each time that it is mounted, and on each machine. Within a process, where it counts, the library compares it.
fn text_of(identity: &Identity) -> Option<String> {
    let (_device, inode) = identity.file_id.unwrap_or_default();
    let modified = identity
        .modified?
        .duration_since(UNIX_EPOCH)
        .ok()?
        .as_nanos();
    Some(format!("{inode:x}-{modified:x}-{:x}", identity.len))
}

/// Computes the hash of the bytes, a part at a time.
fn hash(source: &Source) -> Result<String, Problem> {
    const PART: u64 = 1 << 20;
    let mut hash = Sha256::new();
    let Some(len) = source.len()? else {
        return Err(Problem::other(
            "unsupported",
            "a hash of a source of unknown length".to_owned(),
        ));
    };
    let mut start = 0;
    while start < len {
        let end = start.saturating_add(PART).min(len);
        hash.update(source.read(start..end)?);
        start = end;
    }
    Ok(text::hex(&hash.finalize()))
}

/// The numbers of findings, by severity.
fn counts(findings: &[Finding]) -> [i64; 4] {
    let mut counts = [0_i64; 4];
    for finding in findings {
        let place = match finding.severity() {
            Severity::Note => 0,
            Severity::Suspicious => 1,
            Severity::Forbidden => 2,
            _ => 3,
        };
        let count = i64::try_from(finding.count.max(1)).unwrap_or(i64::MAX);
        counts[place] = counts[place].saturating_add(count);
    }
    counts
}

/// Adds the parts that cannot be used and that no row has as its error, such as a skin.
fn add_other_parts(rows: &mut [Row], damage: &[Damage], format: Format) {
    let reported: HashSet<&str> = rows.iter().filter_map(|row| row.error.as_deref()).collect();
    let lines = damage.iter().map(|part| (part, part.line(format)));
    let others: Vec<_> = lines
        .filter(|(_, line)| !reported.contains(line.as_str()))
        .collect();
    let Some((first, line)) = others.first() else {
        return;
    };
    for row in rows {
        row.damaged_parts = others.len().try_into().unwrap_or(i64::MAX);
        row.part_error_kind = Some(first.problem.kind());
        row.part_error = Some(line.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system that is mounted again has another number of the device.
    #[test]
    fn the_identity_of_a_file_stays_when_its_file_system_is_mounted_again() {
        let source =
            Source::open(meshmap_testing::data::valid("iqm", "skin_multi_anim.iqm")).unwrap();
        let identity = *source.identity().unwrap();
        let text = text_of(&identity).unwrap();
        let Some((device, inode)) = identity.file_id else {
            return;
        };
        let mut other = identity;
        other.file_id = Some((device + 1, inode));
        assert!(other != identity, "caches compare the device");
        assert_eq!(text_of(&other).unwrap(), text);
        other.file_id = Some((device, inode + 1));
        assert_ne!(text_of(&other).unwrap(), text);
    }
}
