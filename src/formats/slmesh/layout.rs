//! The header: every key, and the range of every block.

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;

use super::fields::{Value, name};
use super::keys::{KNOWN, Lod, PHYSICS_CONVEX};
use super::llsd::{Event, Reader, Str};
use super::rules::{self, FILE};
use crate::bytes::{Source, Text};
use crate::format::Format;
use crate::limits::{Limits, Meter, caps};
use crate::num::{Span, as_u64, at_most, span};
use crate::options::Options;
use crate::report::{Address, Error, ErrorKind, Finding, Findings, Result};

/// The number of bytes that are read first: the header and, for small assets, some blocks. The viewer reads the same number.
const HEAD: u64 = 4096;

/// The name of a block in errors; the address distinguishes blocks.
pub(crate) const BLOCK: &str = "block";

/// The name of a decoded array in errors.
pub(crate) const ARRAY: &str = "array of a face";

/// Fails for more than [`caps::SLMESH_PARTS`] `parts` of `what`, whose bytes these are.
pub(crate) fn check_count(
    count: u32,
    what: &'static str,
    parts: &'static str,
    range: Range<u64>,
) -> Result<()> {
    if count <= caps::SLMESH_PARTS {
        return Ok(());
    }
    let error = FILE.at(range).error(ErrorKind::LimitExceeded, what);
    Err(error.above(caps::SLMESH_PARTS.into(), parts, Some(count.into())))
}

/// Versions above this are an incompatible format.
const MAX_VERSION: i32 = Options::SLMESH_MAX_VERSION;

/// The layout of an asset.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The source, with the header loaded.
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

/// The entry of a block in the header.
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

    /// The bytes of the block, from the beginning of the source.
    ///
    /// `Ok(None)` if the asset does not have the block.
    ///
    /// There is none if the size is 0 or the offset -1. A range may reach past the end of the file, which is an error of reading.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](ErrorKind::Malformed) if offset and size are not whole numbers, or lead before the end of the header.
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

impl Layout {
    /// Reads the header of the asset that lies in a region of the source.
    pub(crate) fn read(
        source: &Source,
        region: Range<u64>,
        limits: &Limits,
        max_version: i32,
    ) -> Result<Self> {
        let source = source.for_format(Format::SlMesh);
        let (source, bytes, keys) = read_header(&source, &region, limits)?;
        let header = span(region.start, as_u64(bytes.len()));
        let mut layout = Self {
            source,
            header,
            bytes,
            keys,
            entries: Vec::new(),
            version: None,
            findings: Vec::new(),
        };
        let mut findings = Findings::default();
        layout.read_version(max_version, &mut findings)?;
        layout.refuse_upload_cache()?;
        // If keys are equal, the first counts.
        let mut seen = HashSet::new();
        let first = layout.keys.iter().filter(|key| seen.insert(&key.name));
        layout.entries = first
            .filter_map(|key| layout.entry_of(key, region.end))
            .collect();
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
        self.keys
            .iter()
            .map(|key| (&key.name, self.bytes.slice(key.value.clone())))
    }

    pub(crate) fn entry(&self, name: &[u8]) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    fn read_version(&mut self, most: i32, findings: &mut Findings) -> Result<()> {
        let Some(value) = self.value("version", "version") else {
            return Ok(());
        };
        let place = FILE.at(self.absolute(&value.range()));
        let Some(version) = value
            .integer()
            .ok()
            .and_then(|version| i32::try_from(version).ok())
        else {
            findings.add(rules::VERSION, || (place, "not a whole number"));
            return Ok(());
        };
        if version > most {
            let error = place.error(ErrorKind::Unsupported, "version");
            return Err(error.expected(at_most(most)).found(version));
        }
        if version > MAX_VERSION {
            let detail = format!(
                "{version}: a format that is incompatible with versions up to {MAX_VERSION}"
            );
            findings.add(rules::VERSION, || (place, detail));
        }
        self.version = Some(version);
        Ok(())
    }

    /// The viewer's upload cache is also a map, with whole assets inside.
    fn refuse_upload_cache(&self) -> Result<()> {
        let is_array = |name| {
            self.value(name, "header")
                .is_some_and(|value| matches!(value.event(), Ok(Event::BeginArray(_))))
        };
        let has_block = self
            .keys
            .iter()
            .any(|key| KNOWN.iter().any(|name| key.name == name));
        if has_block || !is_array("mesh") || !is_array("instance") {
            return Ok(());
        }
        let error = FILE
            .at(self.header.clone())
            .error(ErrorKind::Unsupported, "header")
            .expected("an asset");
        Err(error.found("a viewer's upload cache (.slm), which slmesh::UploadCache reads"))
    }

    /// The entry of a key that is a block: a known one, or a map with offset and size.
    fn entry_of(&self, Key { name, value }: &Key, region_end: u64) -> Option<Entry> {
        const FIELDS: [&str; 4] = ["offset", "size", "hash", "mesh_triangles"];
        let known = KNOWN.into_iter().find(|known| *name == known);
        let value = Value::new(&self.bytes, value, "header");
        let fields = value.fields(&FIELDS).map(|fields| fields.values);
        if known.is_none() && !matches!(fields, Ok([Some(_), Some(_), ..])) {
            return None;
        }
        let address = match known {
            Some(known) => Address::field(known),
            None => Address::field("header").name(name.to_string_lossy()),
        };
        let (range, hash, mesh_triangles) = match fields {
            Ok([offset, size, hash, triangles]) => (
                self.block_range(value, offset, size, region_end),
                hash,
                triangles,
            ),
            Err(error) => (Err(self.in_header(error)), None, None),
        };
        let hash = hash.and_then(|value| match value.event() {
            Ok(Event::Binary(bytes)) => bytes.try_into().ok(),
            Ok(Event::Uuid(bytes)) => Some(bytes),
            _ => None,
        });
        let mesh_triangles =
            mesh_triangles.and_then(|value| u64::try_from(value.integer().ok()?).ok());
        let range = range.map_err(|error| FILE.of(address.clone()).locate(error));
        Some(Entry {
            name: name.clone(),
            address,
            range,
            hash,
            mesh_triangles,
        })
    }

    fn block_range<'a>(
        &self,
        value: Value<'a>,
        offset: Option<Value<'a>>,
        size: Option<Value<'a>>,
        region_end: u64,
    ) -> Result<Option<Range<u64>>> {
        let numbers = || {
            let number = |field: Option<Value<'a>>, expected: &'static str| match field {
                Some(value) => Ok((value, value.integer()?)),
                None => Err(value.error().expected(expected).found("none")),
            };
            let (offset, size) = (
                number(offset, "an \"offset\"")?,
                number(size, "a \"size\"")?,
            );
            if size.1 == 0 || offset.1 == -1 {
                return Ok(None);
            }
            let unsigned = |(value, number): (Value<'a>, i64)| {
                u64::try_from(number).map_err(|_| value.error().expected("0 or more").found(number))
            };
            Ok(Some((unsigned(offset)?, unsigned(size)?)))
        };
        let Some((offset, size)) = numbers().map_err(|error| self.in_header(error))? else {
            return Ok(None);
        };
        // Neither has more than 53 bits.
        let range = span(self.header.end.saturating_add(offset), size);
        if range.end > region_end {
            let there = region_end.saturating_sub(range.start);
            let error = FILE.at(range).error(ErrorKind::Truncated, BLOCK);
            return Err(error.truncated(size, there));
        }
        Ok(Some(range))
    }

    /// An error whose range counts from the beginning of the header.
    fn in_header(&self, error: Error) -> Error {
        match error.byte_range() {
            Some(range) => error.at(self.absolute(&range)),
            None => error,
        }
    }

    /// A range that counts from the beginning of the header.
    fn absolute(&self, range: &Range<u64>) -> Range<u64> {
        self.header.part(range.start, range.length())
    }

    fn note_missing(&self, findings: &mut Findings) {
        if self.is_not_found() {
            let detail = "the asset was not found by the service that answered";
            findings.add(rules::NOT_FOUND, || (FILE.at(self.header.clone()), detail));
            return;
        }
        let has = |name: &str| {
            self.entry(name.as_bytes())
                .is_some_and(|entry| !matches!(entry.range, Ok(None)))
        };
        let place = || FILE.at(self.header.clone());
        if !has(Lod::High.name()) {
            let detail = "expected the highest level of detail, found none";
            findings.add(rules::HIGH_LOD_MISSING, || (place(), detail));
        }
        for (lower, higher) in [(Lod::Low, Lod::Medium), (Lod::Lowest, Lod::Low)] {
            if has(lower.name()) && !has(higher.name()) {
                findings.add(rules::LOD_GAP, || {
                    (place(), format!("{lower} without {higher}"))
                });
            }
        }
        if !has(PHYSICS_CONVEX) {
            findings.add(rules::CONVEX_MISSING, || {
                (place(), "expected a convex hull, found none")
            });
        }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.keys.iter().any(|key| key.name == "404")
    }
}

/// Reads as much as the map at the beginning of the region takes up; returns its bytes and its keys.
fn read_header(
    source: &Source,
    region: &Range<u64>,
    limits: &Limits,
) -> Result<(Source, Bytes, Vec<Key>)> {
    let mut walk = source.walk();
    let mut window = HEAD;
    loop {
        let most = limits.max_block_bytes.max(HEAD);
        let end = region
            .start
            .saturating_add(window.min(most))
            .min(region.end);
        let len = source.len()?;
        let end = len.map_or(end, |len| end.min(len)).max(region.start);
        let bytes = match walk.get(region.start..end, "header") {
            // This read has revealed the length.
            Err(error)
                if error.kind() == ErrorKind::Truncated
                    && len.is_none()
                    && source.len()?.is_some() =>
            {
                continue;
            }
            bytes => bytes?,
        };
        match header_keys(&bytes, limits) {
            Ok((length, keys)) => return Ok((walk.source(), bytes.slice(..length), keys)),
            Err(error) => {
                let range = error.byte_range().unwrap_or(0..0);
                // The end of the region, or of the source if that is shorter, as far as it is known.
                let bound = source.len()?.unwrap_or(u64::MAX).min(region.end);
                let needed = region.start.saturating_add(range.end);
                if error.kind() != ErrorKind::Truncated || end >= bound || needed > bound {
                    let range = region.part(range.start, range.length());
                    let error = error.at(range.clone());
                    // The file has more than the window showed.
                    return Err(match error.kind() {
                        ErrorKind::Truncated => {
                            let there = source.len()?.unwrap_or(end).min(region.end);
                            error.found(there.saturating_sub(range.start))
                        }
                        _ => error,
                    });
                }
                if window >= most {
                    let error = Meter::of_call(limits).exceeded(0, u64::MAX, "header");
                    return Err(FILE.at(region.start..needed).locate(error));
                }
                window = window.saturating_mul(2).max(range.end);
            }
        }
    }
}

/// The length of the map at the beginning of these bytes, and its keys.
fn header_keys(bytes: &Bytes, limits: &Limits) -> Result<(usize, Vec<Key>)> {
    let mut reader = Reader::new(bytes, limits);
    let start = reader.position();
    match reader.expect_event()? {
        Event::BeginMap(count) => check_count(count, "header", "keys", reader.range_from(start))?,
        other => {
            let error = FILE.at(reader.range_from(start)).malformed("header");
            return Err(error.expected("a map of binary LLSD").found(name(&other)));
        }
    }
    let mut keys = Vec::new();
    while let Some(Event::Key(key)) = reader.next_event()? {
        let start = reader.position();
        reader.skip_value()?;
        keys.push(Key {
            name: text(bytes, &key),
            value: start..reader.position(),
        });
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

/// Returns `true` if a source that begins with `head` is a Second Life mesh asset: a map of binary LLSD with at least one key, with
/// or without LLSD's line before it.
pub(crate) fn detect(_: &Source, head: &[u8]) -> Result<bool> {
    let line = head
        .get(..18)
        .is_some_and(|line| line.eq_ignore_ascii_case(b"<? llsd/binary ?>\n"))
        || head
            .get(..16)
            .is_some_and(|line| line.eq_ignore_ascii_case(b"<?llsd/binary?>\n"));
    Ok(line || matches!(head, [b'{', _, _, _, _, b'k' | b'"' | b'\'', ..]))
}
