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
use crate::report::{Address, Error, ErrorKind, Finding, Findings, Place, Result};

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
        let header = read_header(&source, &region, limits)?;
        let mut layout = Self {
            source: header.source,
            header: span(region.start, as_u64(header.bytes.len())),
            bytes: header.bytes,
            keys: header.keys,
            entries: Vec::new(),
            version: None,
            findings: Vec::new(),
        };
        let mut findings = Findings::default();
        layout.read_version(max_version, &mut findings)?;
        layout.refuse_upload_cache()?;
        // If keys are equal, the first counts.
        let mut names = HashSet::new();
        let mut entries = Vec::new();
        for key in &layout.keys {
            if names.insert(&key.name) {
                entries.extend(layout.entry_of(key, region.end));
            }
        }
        layout.entries = entries;
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

    fn read_version(&mut self, max: i32, findings: &mut Findings) -> Result<()> {
        let Some(value) = self.value("version", "version") else {
            return Ok(());
        };
        let place = FILE.at(self.absolute(&value.range()));
        let Some(version) = whole_number(value) else {
            findings.add(rules::VERSION, || (place, "not a whole number"));
            return Ok(());
        };
        if version > max {
            let error = place.error(ErrorKind::Unsupported, "version");
            return Err(error.expected(at_most(max)).found(version));
        }
        if version > MAX_VERSION {
            findings.add(rules::VERSION, || {
                let detail = format!(
                    "{version}: a format that is incompatible with versions up to {MAX_VERSION}"
                );
                (place, detail)
            });
        }
        self.version = Some(version);
        Ok(())
    }

    /// The viewer's upload cache is also a map, with whole assets inside.
    fn refuse_upload_cache(&self) -> Result<()> {
        for key in &self.keys {
            if KNOWN.iter().any(|name| key.name == name) {
                return Ok(());
            }
        }
        if !self.is_array("mesh") || !self.is_array("instance") {
            return Ok(());
        }
        let error = FILE
            .at(self.header.clone())
            .error(ErrorKind::Unsupported, "header")
            .expected("an asset");
        Err(error.found("a viewer's upload cache (.slm), which slmesh::UploadCache reads"))
    }

    /// Returns `true` if the value of a key is an array.
    fn is_array(&self, name: &str) -> bool {
        match self.value(name, "header") {
            Some(value) => matches!(value.event(), Ok(Event::BeginArray(_))),
            None => false,
        }
    }

    /// The entry of a key that is a block: a known one, or a map with offset and size.
    fn entry_of(&self, key: &Key, region_end: u64) -> Option<Entry> {
        const FIELDS: [&str; 4] = ["offset", "size", "hash", "mesh_triangles"];
        let known = KNOWN.into_iter().find(|known| key.name == known);
        let value = Value::new(&self.bytes, &key.value, "header");
        let fields = value.fields(&FIELDS).map(|fields| fields.values);
        let address = match known {
            Some(known) => Address::field(known),
            None if matches!(fields, Ok([Some(_), Some(_), ..])) => {
                Address::field("header").name(key.name.to_string_lossy())
            }
            None => return None,
        };
        let mut entry = Entry {
            name: key.name.clone(),
            address,
            range: Ok(None),
            hash: None,
            mesh_triangles: None,
        };
        let range = match fields {
            Ok([offset, size, hash, mesh_triangles]) => {
                entry.hash = hash.and_then(md5);
                entry.mesh_triangles = mesh_triangles.and_then(whole_number);
                self.block_range(value, offset, size, region_end)
            }
            Err(error) => Err(self.in_header(error)),
        };
        entry.range = match range {
            Ok(range) => Ok(range),
            Err(error) => Err(FILE.of(entry.address.clone()).locate(error)),
        };
        Some(entry)
    }

    /// The bytes of a block, from the values of its offset and its size.
    fn block_range(
        &self,
        value: Value<'_>,
        offset: Option<Value<'_>>,
        size: Option<Value<'_>>,
        region_end: u64,
    ) -> Result<Option<Range<u64>>> {
        let stored = offset_and_size(value, offset, size).map_err(|error| self.in_header(error))?;
        let Some(OffsetAndSize { offset, size }) = stored else {
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

    fn header_place(&self) -> Place {
        FILE.at(self.header.clone())
    }

    /// Notes blocks that an asset should have.
    fn note_missing(&self, findings: &mut Findings) {
        if self.is_not_found() {
            findings.add(rules::NOT_FOUND, || {
                let detail = "the asset was not found by the service that answered";
                (self.header_place(), detail)
            });
            return;
        }
        if !self.has_block(Lod::High.name()) {
            findings.add(rules::HIGH_LOD_MISSING, || {
                let detail = "expected the highest level of detail, found none";
                (self.header_place(), detail)
            });
        }
        for (lower, higher) in [(Lod::Low, Lod::Medium), (Lod::Lowest, Lod::Low)] {
            if self.has_block(lower.name()) && !self.has_block(higher.name()) {
                findings.add(rules::LOD_GAP, || {
                    (self.header_place(), format!("{lower} without {higher}"))
                });
            }
        }
        if !self.has_block(PHYSICS_CONVEX) {
            findings.add(rules::CONVEX_MISSING, || {
                (self.header_place(), "expected a convex hull, found none")
            });
        }
    }

    /// Returns `true` if the header has a block, also one whose entry is invalid.
    fn has_block(&self, name: &str) -> bool {
        match self.entry(name.as_bytes()) {
            Some(entry) => !matches!(entry.range, Ok(None)),
            None => false,
        }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.keys.iter().any(|key| key.name == "404")
    }
}

/// The offset of a block from the end of the header, and its size.
struct OffsetAndSize {
    offset: u64,
    size: u64,
}

/// The numbers of an entry; `Ok(None)` if the asset does not have the block: its size is 0 or its
/// offset -1.
fn offset_and_size(
    entry: Value<'_>,
    offset: Option<Value<'_>>,
    size: Option<Value<'_>>,
) -> Result<Option<OffsetAndSize>> {
    let Some(offset_value) = offset else {
        let error = entry.error().expected("an \"offset\"");
        return Err(error.found("none"));
    };
    let offset = offset_value.integer()?;
    let Some(size_value) = size else {
        let error = entry.error().expected("a \"size\"");
        return Err(error.found("none"));
    };
    let size = size_value.integer()?;
    if size == 0 || offset == -1 {
        return Ok(None);
    }
    Ok(Some(OffsetAndSize {
        offset: unsigned(offset_value, offset)?,
        size: unsigned(size_value, size)?,
    }))
}

fn unsigned(value: Value<'_>, number: i64) -> Result<u64> {
    match u64::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) => Err(value.error().expected("0 or more").found(number)),
    }
}

/// A whole number that fits; `None` for any other value.
fn whole_number<T: TryFrom<i64>>(value: Value<'_>) -> Option<T> {
    let number = value.integer().ok()?;
    T::try_from(number).ok()
}

/// The 16 bytes of an MD5, which is stored as a binary or a UUID.
fn md5(value: Value<'_>) -> Option<[u8; 16]> {
    match value.event() {
        Ok(Event::Binary(bytes)) => bytes.try_into().ok(),
        Ok(Event::Uuid(bytes)) => Some(bytes),
        _ => None,
    }
}

/// A header, as it was read.
struct Header {
    source: Source,
    /// The bytes of its map.
    bytes: Bytes,
    keys: Vec<Key>,
}

/// The map at the beginning of some bytes.
struct HeaderMap {
    length: usize,
    keys: Vec<Key>,
}

/// Reads as much as the map at the beginning of the region takes up: a window that doubles until
/// the map ends inside.
fn read_header(source: &Source, region: &Range<u64>, limits: &Limits) -> Result<Header> {
    let max_window = limits.max_block_bytes.max(HEAD);
    let mut walk = source.walk();
    let mut window = HEAD;
    loop {
        let len = source.len()?;
        let mut end = region.start.saturating_add(window.min(max_window));
        end = end.min(region.end);
        if let Some(len) = len {
            end = end.min(len);
        }
        end = end.max(region.start);
        let bytes = match walk.get(region.start..end, "header") {
            Ok(bytes) => bytes,
            Err(error) => {
                let is_truncated = error.kind() == ErrorKind::Truncated;
                if is_truncated && len.is_none() && source.len()?.is_some() {
                    // This read has revealed the length.
                    continue;
                }
                return Err(error);
            }
        };
        let error = match header_map(&bytes, limits) {
            Ok(map) => {
                return Ok(Header {
                    source: walk.source(),
                    bytes: bytes.slice(..map.length),
                    keys: map.keys,
                });
            }
            Err(error) => error,
        };
        let range = error.byte_range().unwrap_or(0..0);
        // The end of the region, or of the source if that is shorter, as far as it is known.
        let bound = source.len()?.unwrap_or(u64::MAX).min(region.end);
        let needed = region.start.saturating_add(range.end);
        if error.kind() != ErrorKind::Truncated {
            return Err(error.at(region.part(range.start, range.length())));
        }
        if end >= bound || needed > bound {
            let range = region.part(range.start, range.length());
            // The file has more than the window showed.
            let there = source.len()?.unwrap_or(end).min(region.end);
            let found = there.saturating_sub(range.start);
            return Err(error.at(range).found(found));
        }
        if window >= max_window {
            let error = Meter::of_call(limits).exceeded(0, u64::MAX, "header");
            return Err(FILE.at(region.start..needed).locate(error));
        }
        window = window.saturating_mul(2).max(range.end);
    }
}

/// Reads the map at the beginning of these bytes.
fn header_map(bytes: &Bytes, limits: &Limits) -> Result<HeaderMap> {
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
    Ok(HeaderMap {
        length: reader.position(),
        keys,
    })
}

/// A string of these bytes: shared, unless it has escapes.
pub(crate) fn text(bytes: &Bytes, string: &Str<'_>) -> Text {
    Text::new(if string.has_escapes() {
        string.bytes().collect()
    } else {
        bytes.slice_ref(string.raw())
    })
}

/// Returns `true` if a source that begins with `head` is a Second Life mesh asset: a map of binary LLSD with at least one key, with
/// or without LLSD's line before it.
pub(crate) fn detect(_: &Source, head: &[u8]) -> Result<bool> {
    let has_line =
        begins_with(head, b"<? llsd/binary ?>\n") || begins_with(head, b"<?llsd/binary?>\n");
    let is_map = matches!(head, [b'{', _, _, _, _, b'k' | b'"' | b'\'', ..]);
    Ok(has_line || is_map)
}

/// Compares letters in any case.
fn begins_with(head: &[u8], line: &[u8]) -> bool {
    match head.get(..line.len()) {
        Some(head) => head.eq_ignore_ascii_case(line),
        None => false,
    }
}
