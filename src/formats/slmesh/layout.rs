//! Where everything is: the header, which has the range of every block.

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;

use super::fields::{Fields, Value};
use super::llsd::{Event, Reader, Str};
use super::rules::{self, FILE};
use crate::bytes::{Source, Text};
use crate::format::Format;
use crate::limits::Limits;
use crate::num::{as_u64, decimal, span};
use crate::report::{Address, Error, ErrorKind, Finding, Findings, Result};

/// What is read first, in bytes: the header and, of small assets, some blocks. As much as the viewer reads.
const HEAD: u64 = 4096;

/// As many keys, faces and joints are read; the viewer has not a tenth of that.
pub(crate) const MOST: u32 = 4096;

/// What errors call a block; which one it is, the address says.
pub(crate) const BLOCK: &str = "block";

/// What errors call an array that there is no room for.
pub(crate) const ARRAY: &str = "array of a face";

/// Version numbers above this are a format that is not compatible.
pub(crate) const MAX_VERSION: i32 = 999;

/// The layout of an asset.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The source, with the header at hand.
    pub(crate) source: Source,
    /// The header's bytes, from its line, if it has one, to the end of its map.
    pub(crate) header: Range<u64>,
    bytes: Bytes,
    keys: Vec<Key>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) version: Option<i32>,
    pub(crate) findings: Vec<Finding>,
}

/// A key of the header, and where its value is in the header.
#[derive(Debug)]
struct Key {
    name: Text,
    value: Range<usize>,
}

/// A block, as the header has it.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(crate) name: Text,
    pub(crate) address: Address,
    pub(crate) range: Result<Option<Range<u64>>>,
    pub(crate) hash: Option<[u8; 16]>,
    pub(crate) mesh_triangles: Option<u64>,
}

impl Entry {
    /// The key in the header.
    #[must_use]
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// The bytes of the block, from the beginning of the source; `Ok(None)` where the header says that there is none
    /// (a size of 0, or an offset of -1).
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) where offset and size are not whole numbers, or lead before the end of the
    /// header. That a range is inside the file is told by reading it.
    pub fn range(&self) -> Result<Option<Range<u64>>> {
        self.range.clone()
    }

    /// The MD5 of the stored block, which the simulator fills in for physics; 16 bytes.
    #[must_use]
    pub fn hash(&self) -> Option<[u8; 16]> {
        self.hash
    }

    /// "mesh_triangles", which the simulator fills in for the lowest LOD.
    #[must_use]
    pub fn mesh_triangles(&self) -> Option<u64> {
        self.mesh_triangles
    }
}

/// The blocks that are known, by the names that addresses have.
const KNOWN: [&str; 9] = [
    "high_lod",
    "medium_lod",
    "low_lod",
    "lowest_lod",
    "physics_mesh",
    "physics_shape",
    "physics_convex",
    "physics_havok",
    "skin",
];

impl Layout {
    /// Reads the header of the asset that lies in this region of the source.
    pub(crate) fn read(
        source: &Source,
        region: Range<u64>,
        limits: &Limits,
        max_version: i32,
    ) -> Result<Self> {
        let source = source.for_format(Format::SlMesh);
        let (source, bytes, keys) = read_header(&source, &region, limits)?;
        let header = span(region.start, as_u64(bytes.len()));
        let mut layout =
            Self { source, header, bytes, keys, entries: Vec::new(), version: None, findings: Vec::new() };
        let mut findings = Findings::default();
        layout.read_version(max_version, &mut findings)?;
        layout.refuse_upload_cache()?;
        // Of equal keys the first counts.
        let mut seen = HashSet::new();
        let first = layout.keys.iter().filter(|key| seen.insert(&key.name));
        layout.entries = first.filter_map(|key| layout.entry_of(key, region.end)).collect();
        layout.note_missing(&mut findings);
        layout.findings = findings.into_vec();
        Ok(layout)
    }

    /// The value of a key: the first, as the viewer reads it.
    pub(crate) fn value(&self, name: &str, what: &'static str) -> Option<Value<'_>> {
        let key = self.keys.iter().find(|key| key.name == name)?;
        Some(Value::new(&self.bytes, &key.value, what))
    }

    /// Every key, and its value as it is stored.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = (&Text, Bytes)> {
        self.keys.iter().map(|key| (&key.name, self.bytes.slice(key.value.clone())))
    }

    pub(crate) fn entry(&self, name: &[u8]) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    fn read_version(&mut self, most: i32, findings: &mut Findings) -> Result<()> {
        let Some(value) = self.value("version", "version") else { return Ok(()) };
        let span = value.span();
        let at = absolute(&span, self.header.start);
        let Some(version) = value.integer().ok().and_then(|version| i32::try_from(version).ok()) else {
            findings.add(rules::VERSION, || (FILE.at(at), "not a whole number"));
            return Ok(());
        };
        if version > most {
            let error = FILE.error(ErrorKind::Unsupported, "version").at(at);
            return Err(error.expected(format!("at most {most}")).found(version));
        }
        if version > MAX_VERSION {
            let detail =
                format!("{version}: a format that is not compatible with versions up to {MAX_VERSION}");
            findings.add(rules::VERSION, || (FILE.at(at), detail));
        }
        self.version = Some(version);
        Ok(())
    }

    /// The viewer's upload cache is a map, too, with whole assets inside.
    fn refuse_upload_cache(&self) -> Result<()> {
        let is_array = |name| {
            self.value(name, "header").is_some_and(|value| matches!(value.event(), Ok(Event::BeginArray(_))))
        };
        let has_block = self.keys.iter().any(|key| KNOWN.iter().any(|name| key.name == name));
        if has_block || !is_array("mesh") || !is_array("instance") {
            return Ok(());
        }
        let error = FILE.error(ErrorKind::Unsupported, "header").at(self.header.clone());
        let error = error.expected("an asset");
        Err(error.found("a viewer's upload cache (.slm), whose assets slmesh::UploadCache reads"))
    }

    /// What the header says of a block, if the key is one of a block: a known one, or a map with offset and size.
    fn entry_of(&self, Key { name, value }: &Key, region_end: u64) -> Option<Entry> {
        let known = KNOWN.into_iter().find(|known| *name == known);
        let value = Value::new(&self.bytes, value, "header");
        let address = match known {
            Some(known) => Address::field(known),
            None => Address::field("header").name(name.to_string_lossy()),
        };
        let (range, hash, mesh_triangles) = match value.fields(&["offset", "size", "hash", "mesh_triangles"])
        {
            Ok(fields) if known.is_none() && (fields.get(0).is_none() || fields.get(1).is_none()) => {
                return None;
            }
            Err(_) if known.is_none() => return None,
            Ok(fields) => {
                let hash = fields.get(2).and_then(|value| match value.event() {
                    Ok(Event::Binary(bytes)) => bytes.try_into().ok(),
                    Ok(Event::Uuid(bytes)) => Some(bytes),
                    _ => None,
                });
                let triangles = fields.get(3).and_then(|value| u64::try_from(value.integer().ok()?).ok());
                (self.block_range(value, &fields, region_end), hash, triangles)
            }
            Err(error) => (Err(error), None, None),
        };
        let range = range.map_err(|error| self.place(error).of(address.clone()));
        Some(Entry { name: name.clone(), address, range, hash, mesh_triangles })
    }

    fn block_range(
        &self,
        value: Value<'_>,
        fields: &Fields<'_, 4>,
        region_end: u64,
    ) -> Result<Option<Range<u64>>> {
        let number = |field: usize, expected: &'static str| match fields.get(field) {
            Some(value) => Ok((value, value.integer()?)),
            None => Err(value.error().expected(expected).found("none")),
        };
        let (offset, size) = (number(0, "an \"offset\"")?, number(1, "a \"size\"")?);
        if size.1 == 0 || offset.1 == -1 {
            return Ok(None);
        }
        let unsigned = |(value, number): (Value<'_>, i64)| {
            u64::try_from(number).map_err(|_| value.error().expected("0 or more").found(number))
        };
        let (offset, size) = (unsigned(offset)?, unsigned(size)?);
        // Neither has more than 53 bits.
        let start = self.header.end.saturating_add(offset);
        let end = start.saturating_add(size);
        if end > region_end {
            let error = FILE.error(ErrorKind::Truncated, BLOCK).at(start..end);
            let there = region_end.saturating_sub(start);
            return Err(error.expected(format!("{} bytes", decimal(size))).found(decimal(there)));
        }
        Ok(Some(start..end))
    }

    /// An error whose range is counted from the beginning of the header, unless it is about the file.
    pub(crate) fn place(&self, error: Error) -> Error {
        match error.byte_range() {
            Some(range) if error.kind() != ErrorKind::Truncated => {
                error.at(shifted(&range, self.header.start))
            }
            _ => error,
        }
    }

    fn note_missing(&self, findings: &mut Findings) {
        let has =
            |name: &str| self.entry(name.as_bytes()).is_some_and(|entry| !matches!(entry.range, Ok(None)));
        if self.is_not_found() {
            let detail = "the asset was not found by the service that answered";
            findings.add(rules::NOT_FOUND, || (FILE, detail));
            return;
        }
        let at = || self.header.clone();
        if !has("high_lod") {
            findings.add(rules::HIGH_LOD_MISSING, || {
                (FILE.at(at()), "expected the highest level of detail, found none")
            });
        }
        for (lower, higher) in [("low_lod", "medium_lod"), ("lowest_lod", "low_lod")] {
            if has(lower) && !has(higher) {
                findings.add(rules::LOD_GAP, || (FILE.at(at()), format!("{lower} without {higher}")));
            }
        }
        if !has("physics_convex") {
            findings.add(rules::CONVEX_MISSING, || (FILE.at(at()), "expected a convex hull, found none"));
        }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.keys.iter().any(|key| key.name == "404")
    }
}

/// Reads as much as the map at the beginning of the region takes up; returns its bytes and its keys.
fn read_header(source: &Source, region: &Range<u64>, limits: &Limits) -> Result<(Source, Bytes, Vec<Key>)> {
    let mut walk = source.walk();
    let mut window = HEAD;
    loop {
        let most = limits.max_block_bytes.max(HEAD);
        let end = region.start.saturating_add(window.min(most)).min(region.end);
        let len = source.len()?;
        let end = len.map_or(end, |len| end.min(len)).max(region.start);
        let bytes = match walk.get(region.start..end, "header") {
            // What the length is, this read has told.
            Err(error)
                if error.kind() == ErrorKind::Truncated && len.is_none() && source.len()?.is_some() =>
            {
                continue;
            }
            bytes => bytes?,
        };
        match header_keys(&bytes, limits) {
            Ok((length, keys)) => return Ok((walk.into_source(), bytes.slice(..length), keys)),
            Err(error) => {
                let range = error.byte_range().unwrap_or(0..0);
                let is_all = source.len()?.is_some_and(|len| end >= len) || end >= region.end;
                let needed = region.start.saturating_add(range.end);
                let is_short = source.len()?.is_some_and(|len| needed > len) || needed > region.end;
                if error.kind() != ErrorKind::Truncated || is_all || is_short {
                    let range = shifted(&range, region.start);
                    let error = error.at(range.clone());
                    // What is there is more than the window showed.
                    return Err(match error.kind() {
                        ErrorKind::Truncated => {
                            let there = source.len()?.unwrap_or(end).min(region.end);
                            error.found(decimal(there.saturating_sub(range.start)))
                        }
                        _ => error,
                    });
                }
                if window >= most {
                    let error = FILE.error(ErrorKind::LimitExceeded, "header").at(region.start..needed);
                    let error = error.found("more");
                    return Err(error.expected(format!("at most {} bytes (max_block_bytes)", decimal(most))));
                }
                window = window.saturating_mul(2).max(range.end);
            }
        }
    }
}

/// The length of the map at the beginning of these bytes, and its keys.
fn header_keys(bytes: &Bytes, limits: &Limits) -> Result<(usize, Vec<Key>)> {
    let mut reader = Reader::with_limits(bytes, limits);
    let start = reader.position();
    match reader.next_event()? {
        Some(Event::BeginMap(count)) if count > MOST => {
            let error =
                FILE.error(ErrorKind::LimitExceeded, "header").at(as_u64(start)..as_u64(reader.position()));
            return Err(error.expected(format!("at most {} keys", decimal(MOST.into()))).found(count));
        }
        Some(Event::BeginMap(_)) => {}
        _ => {
            let error = FILE.malformed("header").at(as_u64(start)..as_u64(reader.position()));
            return Err(error.expected("a map of binary LLSD").found("another value"));
        }
    }
    let mut keys = Vec::new();
    while let Some(Event::Key(key)) = reader.next_event()? {
        let start = reader.position();
        reader.skip_value()?;
        keys.push(Key { name: text(bytes, &key), value: start..reader.position() });
    }
    Ok((reader.position(), keys))
}

/// A string of these bytes: shared, unless it has escapes.
pub(crate) fn text(bytes: &Bytes, string: &Str<'_>) -> Text {
    Text::new(match string.has_escapes() {
        true => string.bytes().collect(),
        false => bytes.slice_ref(string.raw()),
    })
}

pub(crate) fn shifted(range: &Range<u64>, by: u64) -> Range<u64> {
    range.start.saturating_add(by)..range.end.saturating_add(by)
}

fn absolute(span: &Range<usize>, base: u64) -> Range<u64> {
    shifted(&(as_u64(span.start)..as_u64(span.end)), base)
}
