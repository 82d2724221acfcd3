//! The positions of everything in a file: the header, the offset table, and the extent of each snapshot.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use zerocopy::little_endian::U32;

use super::header::{Properties, names};
use super::raw;
use super::raw::{MAGIC, TAG_ANIM_TABLE_START};
use super::rules::{self, FILE};
use crate::bytes::{Array, Source};
use crate::format::Format;
use crate::limits::caps;
use crate::num::{as_u64, decimal, less_than, size_u64, span};
use crate::report::{Address, Cause, ErrorKind, Finding, Findings, Result, quoted};

/// Bytes that are read first from a lazy source: the header and, in most files, the offset table.
pub(crate) const HEAD: u64 = 64 << 10;

/// The layout of a file.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The source, with the header and the table read.
    pub(crate) source: Source,
    pub(crate) properties: Properties,
    pub(crate) header: Range<u64>,
    pub(crate) flags: u32,
    pub(crate) table: Array<raw::Offset>,
    pub(crate) table_range: Range<u64>,
    pub(crate) findings: Vec<Finding>,
    /// The offsets of the table, ascending.
    sorted: OnceLock<Vec<u64>>,
}

impl Layout {
    pub(crate) fn read(source: &Source) -> Result<Self> {
        Self::try_read(source).map_err(|error| source.locate(error))
    }

    fn try_read(source: &Source) -> Result<Self> {
        let prologue_size = size_u64::<raw::Prologue>();
        let source = source
            .for_format(Format::CGeo)
            .with_head(prologue_size, HEAD, "header")?;
        let prologue: raw::Prologue = source.read_struct(0, "header")?;
        if prologue.magic != raw::MAGIC {
            let error = FILE
                .error(ErrorKind::UnknownFormat, "magic number")
                .at(0..1);
            return Err(error
                .expected("0x43")
                .found(format_args!("{:#04x}", prologue.magic)));
        }
        let size = prologue.header_size.get();
        if size > caps::CGEO_HEADER {
            let error = FILE.malformed("size of the header").at(1..5);
            let expected = format!("at most {} bytes", decimal(caps::CGEO_HEADER));
            return Err(error.expected(expected).found(size));
        }
        let header = span(prologue_size, size.into());
        let data = header.end;
        if let Some(len) = source.len()?
            && header.end > len
        {
            let error = FILE.error(ErrorKind::Truncated, "header").at(header);
            let there = decimal(len.saturating_sub(prologue_size));
            return Err(error
                .expected(format!("{} bytes (size of the header)", decimal(size)))
                .found(there));
        }
        let source = source.with_ranges(&[0..data.saturating_add(8)], "header")?;
        let properties = Properties::new(source.get(header.clone(), "header")?);
        let flags = tag(&source, data, "flags")?;
        expect_tag(
            &source,
            data.saturating_add(4),
            raw::TAG_ANIM_TABLE_START,
            "TAG_ANIM_TABLE_START",
        )?;

        let mut findings = Findings::default();
        let (source, table_range) =
            find_table(source, data.saturating_add(8), &properties, &mut findings)?;
        let table = Array::new(source.get(table_range.clone(), "offset table")?);
        note_header(&properties, &header, &mut findings);
        Ok(Self {
            source,
            properties,
            header,
            flags,
            table,
            table_range,
            findings: findings.into_vec(),
            sorted: OnceLock::new(),
        })
    }

    /// The offsets of the table, ascending.
    fn sorted(&self) -> &[u64] {
        self.sorted.get_or_init(|| {
            let offsets = self.table.iter().map(|entry| entry.offset.get());
            let mut offsets: Vec<u64> = offsets.collect();
            offsets.sort_unstable();
            offsets
        })
    }

    /// The offsets that several entries of the table name.
    pub(crate) fn repeated(&self) -> HashSet<u64> {
        let mut repeated = HashSet::new();
        for run in self.sorted().chunk_by(|a, b| a == b) {
            if let [offset, _, ..] = run {
                repeated.insert(*offset);
            }
        }
        repeated
    }

    /// The bytes of a snapshot: from its offset in the table to the next greater one, or to the end of the source.
    pub(crate) fn extent(&self, index: usize) -> Result<Range<u64>> {
        let offset = self.table.get(index).ok_or_else(|| {
            let error = FILE.out_of_range("snapshot");
            error.expected(less_than(self.table.len())).found(index)
        })?;
        let offset = offset.offset.get();
        let sorted = self.sorted();
        let next = sorted.partition_point(|other| *other <= offset);
        let len = self.source.len()?.unwrap_or(u64::MAX);
        let first = self.table_range.end.saturating_add(4);
        if offset < first || offset >= len {
            let place = self
                .table_range
                .start
                .saturating_add(as_u64(index).saturating_mul(8));
            let error = FILE.malformed("offset table").of(snapshot_address(index));
            return Err(error.at(span(place, 8)).because(Cause::Offset {
                expected: first..len,
                found: offset,
            }));
        }
        let end = match sorted.get(next) {
            Some(next) => *next,
            None => len,
        };
        Ok(offset..end.min(len))
    }
}

/// The offset table: as long as the header says, if its end tag is there; else up to the end tag.
fn find_table(
    source: Source,
    start: u64,
    properties: &Properties,
    findings: &mut Findings,
) -> Result<(Source, Range<u64>)> {
    let len = source.len()?.unwrap_or(u64::MAX);
    if let Some(count) = properties.integer(names::SNAPSHOT_COUNT)
        && let Ok(count) = u64::try_from(count)
    {
        let end = start.saturating_add(count.saturating_mul(8));
        let tag_end = end.saturating_add(4);
        if tag_end <= len && tag_end > end {
            let with_table = source.with_ranges(&[start..tag_end], "offset table")?;
            if tag(&with_table, end, "offset table")? == raw::TAG_ANIM_TABLE_END {
                return Ok((with_table, start..end));
            }
        }
    }

    // A table ends before the first snapshot begins: its entries limit how far to search.
    let mut at = start;
    let mut bound = len;
    let mut walk = source.walk();
    for count in 0..caps::CGEO_TABLE {
        if at.saturating_add(4) > bound {
            break;
        }
        let found: U32 = walk.read_struct(at, "offset table")?;
        if found.get() == raw::TAG_ANIM_TABLE_END {
            findings.add(rules::SNAPSHOT_COUNT, || {
                let stored = match properties.get(names::SNAPSHOT_COUNT) {
                    Some(stored) => quoted(&stored.to_string_lossy()),
                    None => "none".to_owned(),
                };
                let detail = format!("{stored} in the header, {count} in the table");
                (FILE.of(Address::field("header")), detail)
            });
            let source = walk
                .source()
                .with_ranges(&[start..at.saturating_add(4)], "offset table")?;
            return Ok((source, start..at));
        }
        if at.saturating_add(8) > bound {
            break;
        }
        let entry: raw::Offset = walk.read_struct(at, "offset table")?;
        if entry.offset.get() > at {
            bound = bound.min(entry.offset.get());
        }
        at = at.saturating_add(8);
    }
    let error = FILE
        .malformed("TAG_ANIM_TABLE_END")
        .at(start..at.saturating_add(4).min(len));
    Err(error
        .expected(format!(
            "{:#x} after the offset table",
            raw::TAG_ANIM_TABLE_END
        ))
        .found("none"))
}

fn note_header(properties: &Properties, header: &Range<u64>, findings: &mut Findings) {
    let place = || FILE.of(Address::field("header"));
    let mut note = |detail: String| {
        findings.add(rules::PROPERTY, || (place().at(header.clone()), detail));
    };
    let mandatory = [
        names::VERSION,
        names::SNAPSHOT_COUNT,
        names::TIME_PER_SNAPSHOT,
        names::TIME_START,
        names::SCALE,
        names::MATERIAL_NAME,
        names::OBJECT_NAME,
    ];
    for name in mandatory {
        let count = properties
            .iter()
            .filter(|(found, _)| found.as_bytes().eq_ignore_ascii_case(name.as_bytes()))
            .count();
        match count {
            0 => note(format!("{name}: absent")),
            1 => {}
            _ => note(format!("{name}: {count} times; the first counts")),
        }
    }
    for name in [names::VERSION, names::TIME_PER_SNAPSHOT, names::TIME_START] {
        if properties.get(name).is_some() && properties.integer(name).is_none() {
            note(format!("{name}: not a whole number"));
        }
    }
    if let Some(version) = properties.integer(names::VERSION)
        && !(4..=7).contains(&version)
    {
        findings.add(rules::VERSION, || {
            let remedy = "\"Batch convert\" in Corona's proxy dialog rewrites the proxies below a folder in its latest version";
            (place(), format!("{version}; 4 to 7 are known; {remedy}"))
        });
    }
}

pub(crate) fn snapshot_address(index: usize) -> Address {
    Address::field("snapshots").index(as_u64(index))
}

/// The tag at an offset.
pub(crate) fn tag(source: &Source, offset: u64, what: &'static str) -> Result<u32> {
    let tag: U32 = source.read_struct(offset, what)?;
    Ok(tag.get())
}

pub(crate) fn expect_tag(
    source: &Source,
    offset: u64,
    expected: u32,
    what: &'static str,
) -> Result<()> {
    let found = tag(source, offset, what)?;
    if found == expected {
        return Ok(());
    }
    let error = FILE.malformed(what).at(span(offset, 4));
    Err(error
        .expected(format!("{expected:#x}"))
        .found(format_args!("{found:#x}")))
}

/// Returns `true` if a source that begins with `head` is a CGeo file.
///
/// Other files share the first byte, so the start tag of the offset table, after the text header, decides. A file that
/// ends before that tag is a CGeo file if the existing part of the header is text: opening it reports that it is truncated.
pub(crate) fn detect(source: &Source, head: &[u8]) -> Result<bool> {
    let Some((&[MAGIC, a, b, c, d], text)) = head.split_first_chunk() else {
        return Ok(false);
    };
    let header_size = u32::from_le_bytes([a, b, c, d]);
    let tag = span(9_u64.saturating_add(header_size.into()), 4);
    if header_size > caps::CGEO_HEADER {
        return Ok(false);
    }
    match source.get(tag, "signature") {
        Ok(bytes) => Ok(bytes[..] == TAG_ANIM_TABLE_START.to_le_bytes()),
        // The file ends before the tag of a CGeo file.
        Err(error) if error.kind() == ErrorKind::Truncated => Ok(is_text(text)),
        Err(error) => Err(error),
    }
}

/// Returns `true` if a header may begin like this: with lines of text, and the name of a property.
fn is_text(head: &[u8]) -> bool {
    let name = head.split(|byte| *byte == b':').next().unwrap_or_default();
    !head.is_empty()
        && name
            .iter()
            .all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\n' | b'\t'))
}
