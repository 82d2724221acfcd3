//! The model of a file: its parts, their states, its meshes and its damage, whatever its format.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use meshmap::openctm::{Container, Mesh, Method};
use meshmap::{Address, Bounds, Finding, Format, Item, Limits, MeshFile, Rule, Segment};
use serde::Serialize;
use serde_json::Value;

use super::lists::Lists;
use super::serialize::{as_map, as_pair};
use crate::depth::Depth;
use crate::input::{Input, Problem, memory_for, remedy_for_memory};
use crate::text;

/// Reading a file of this size costs no more than reading parts of it.
pub(super) const SMALL: u64 = 1 << 20;

/// Stored bytes that may be read for an exact number without being asked to.
pub(super) const WORTH_READING: u64 = 16 << 20;

/// Format and version of a file, and what else decides how it is stored.
#[derive(Clone, Debug)]
pub struct Variant {
    /// All of it: `CGeo version 7 (Corona proxy)`.
    pub long: String,
    /// The least that distinguishes files, for a column of a table: `CGeo 7`.
    pub short: String,
}

impl Variant {
    pub(super) fn new(long: impl Into<String>, short: impl Into<String>) -> Self {
        Self {
            long: long.into(),
            short: short.into(),
        }
    }

    /// A variant that has one form.
    pub(super) fn of_one_form(text: String) -> Self {
        Self::new(text.clone(), text)
    }
}

/// The state of a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum State {
    /// All values were checked, and can be used.
    #[serde(rename = "intact")]
    Intact,
    /// Nothing is known to be wrong, but not every value was checked.
    #[serde(rename = "not checked")]
    NotChecked,
    /// It cannot be used.
    #[serde(rename = "broken")]
    Broken,
    /// The file ends inside of it.
    #[serde(rename = "incomplete")]
    Incomplete,
    /// The file ends before it.
    #[serde(rename = "missing")]
    Missing,
}

impl State {
    /// The name, as JSON has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::NotChecked => "not checked",
            Self::Broken => "broken",
            Self::Incomplete => "incomplete",
            Self::Missing => "missing",
        }
    }
}

/// A part that cannot be used.
#[derive(Clone, Debug)]
pub struct Damage {
    /// The address of the part.
    pub address: Address,
    /// The state of the part.
    pub state: State,
    /// The bytes of the part, or the bytes that the problem is about.
    pub range: Option<Range<u64>>,
    /// The reason.
    pub problem: Problem,
    /// The rule, where a value breaks one.
    pub rule: Option<Rule>,
}

impl Damage {
    /// The damage that an error reports for the part at an address, in a file of this length.
    pub(super) fn of(address: Address, error: &meshmap::Error, bytes: Option<u64>) -> Self {
        let range = error.byte_range();
        let state = match (&range, bytes) {
            (Some(range), Some(bytes)) if range.start >= bytes && range.start < range.end => {
                State::Missing
            }
            (Some(range), Some(bytes)) if range.end > bytes => State::Incomplete,
            _ => State::Broken,
        };
        Self {
            address,
            state,
            range,
            problem: error.clone().into(),
            rule: None,
        }
    }

    /// The number of its bytes that exist, if it is truncated.
    #[must_use]
    pub fn there(&self, bytes: Option<u64>) -> Option<(u64, u64)> {
        let range = self.range.as_ref()?;
        let bytes = bytes?;
        (range.end > bytes).then(|| (bytes.saturating_sub(range.start), range.end - range.start))
    }

    /// The problem and its location, on one line: `tmf: meshes[0].vertex_triangles[4] (0x88..0x8d): index out of range: ..`.
    #[must_use]
    pub fn line(&self, format: Format) -> String {
        if self.problem.library().is_some() {
            return self.problem.to_string();
        }
        let at = self
            .range
            .as_ref()
            .map(|range| format!(" ({:#x}..{:#x})", range.start, range.end));
        text::line(&format!(
            "{format}: {}{}: {}",
            self.address,
            at.unwrap_or_default(),
            self.problem
        ))
    }

    /// The problem, without its location.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.problem.library() {
            Some(error) => error.message_at(&self.address),
            None => self.problem.to_string(),
        }
    }
}

/// The number of parts of a file of this length that the limits of memory allow to list.
pub(super) fn most_parts(file: &MeshFile, bytes: Option<u64>) -> usize {
    /// The memory for a part, with its facts and words.
    const OF_PART: u64 = 768;
    let most = memory_for(file.limits(), bytes.unwrap_or(0)) / OF_PART;
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// The parts of a file that cannot be used, each once: as many as there is memory for.
#[derive(Debug)]
pub(super) struct Damages {
    pub(super) list: Vec<Damage>,
    seen: HashSet<String>,
    most: usize,
    limits: Limits,
    /// There are more, which the last of the list says.
    pub(super) has_more: bool,
}

impl Damages {
    /// No parts of a file of this length yet.
    pub(super) fn of(file: &MeshFile, bytes: Option<u64>) -> Self {
        Self {
            list: Vec::new(),
            seen: HashSet::new(),
            most: most_parts(file, bytes),
            limits: *file.limits(),
            has_more: false,
        }
    }

    /// The first that is said of a part counts.
    pub(super) fn add(&mut self, damage: Damage) {
        if self.has_more || self.seen.contains(&damage.address.to_string()) {
            return;
        }
        if self.list.len() == self.most {
            self.has_more = true;
            let most = text::count(self.most);
            let remedy = remedy_for_memory(&self.limits);
            let why = format!(
                "more than {most} parts cannot be used, for which the limit of memory is not enough{remedy}"
            );
            self.list.push(Damage {
                address: Address::field("file"),
                state: State::Broken,
                range: None,
                problem: Problem::other("limit_exceeded", why),
                rule: None,
            });
            return;
        }
        self.seen.insert(damage.address.to_string());
        self.list.push(damage);
    }

    /// Returns `true` if something at the address, or in it, is damaged.
    pub(super) fn has(&self, address: &str) -> bool {
        self.seen.contains(address)
    }
}

/// The depth of a search for the facts of a file, and the damage that is found on the way.
pub(super) struct Look<'a> {
    pub(super) depth: Depth,
    /// The length of the file, if it is known.
    pub(super) bytes: Option<u64>,
    pub(super) damages: &'a mut Damages,
    pub(super) lists: &'a mut Lists,
}

impl Look<'_> {
    /// Records the damage that an error reports for the part at an address.
    pub(super) fn failed(&mut self, address: Address, error: &meshmap::Error) {
        self.damages.add(Damage::of(address, error, self.bytes));
    }

    /// Returns the value, or `None` if reading it failed: then the part is damaged that the error names, or else the one at the address.
    pub(super) fn read<T>(
        &mut self,
        read: meshmap::Result<Option<T>>,
        address: Address,
    ) -> Option<T> {
        read.unwrap_or_else(|error| {
            self.failed(error.address().cloned().unwrap_or(address), &error);
            None
        })
    }
}

/// The parts that cannot be used, by their addresses.
#[derive(Default)]
pub struct ByAddress<'a> {
    own: HashMap<String, &'a Damage>,
    /// The first of the parts that each part contains.
    within: HashMap<String, &'a Damage>,
}

impl<'a> ByAddress<'a> {
    /// The parts of a list, of which the first one counts at each address.
    #[must_use]
    pub fn new(damage: &'a [Damage]) -> Self {
        let mut known = Self::default();
        for part in damage {
            let address = part.address.to_string();
            for ancestor in ancestors(&address) {
                known.within.entry(ancestor.to_owned()).or_insert(part);
            }
            known.own.entry(address).or_insert(part);
        }
        known
    }

    /// The state of a part that is damaged, or that contains a damaged part.
    fn state(&self, address: &str) -> Option<State> {
        let own = self.own.get(address).map(|damage| damage.state);
        own.or_else(|| self.within.get(address).map(|_| State::Broken))
    }

    /// The unusable part at an address: the part itself, a part of it, or the part that it belongs to.
    #[must_use]
    pub fn at(&self, address: &str) -> Option<&'a Damage> {
        let around = || ancestors(address).find_map(|ancestor| self.own.get(ancestor));
        self.within.get(address).or_else(around).copied()
    }
}

/// A mesh, as JSON lists it.
#[derive(Debug, Default, Serialize)]
pub struct MeshInfo {
    /// The address of the mesh, snapshot, body or face.
    pub address: String,
    /// The name in the file, if the format has names.
    pub name: Option<String>,
    /// `geometry`, `lod0` to `lod3`, `physics` or `snapshot`.
    pub role: &'static str,
    /// The name of the material, if the format has one.
    pub material: Option<String>,
    /// The number of stored positions, if it is known.
    pub vertices: Option<u64>,
    /// The number of triangles, if it is known.
    pub triangles: Option<u64>,
    /// The properties of the vertices.
    pub attributes: Arc<[AttributeInfo]>,
    /// The box around the finite positions: minimum and maximum; `None` if it is not known without decoding.
    #[serde(rename = "box")]
    pub bounds: Option<[[f32; 3]; 2]>,
    /// The triangles of each material, if the file has material IDs and they were decoded.
    pub groups: Option<Vec<Group>>,
    /// `true` for a snapshot that is complete, and not a difference from snapshot 0.
    #[serde(skip)]
    pub is_complete: bool,
}

impl MeshInfo {
    pub(super) fn new(address: String, role: &'static str) -> Self {
        Self {
            address,
            role,
            ..Self::default()
        }
    }
}

pub(super) fn corners(bounds: Bounds) -> [[f32; 3]; 2] {
    [bounds.min, bounds.max]
}

/// A number of single precision with the digits that distinguish it, and no more.
pub(super) fn single(number: f32) -> Value {
    serde_json::to_string(&number)
        .ok()
        .and_then(|digits| digits.parse::<f64>().ok())
        .map_or(Value::Null, Value::from)
}

/// A property of the vertices.
#[derive(Debug, Serialize)]
pub struct AttributeInfo {
    /// The meaning, such as `position`.
    pub semantic: String,
    /// The type and the number of components, such as `f32x3`.
    pub format: String,
}

impl AttributeInfo {
    pub(super) fn new(semantic: impl ToString, format: impl ToString) -> Self {
        Self {
            semantic: semantic.to_string(),
            format: format.to_string(),
        }
    }
}

/// Triangles of one material.
#[derive(Debug, Serialize)]
pub struct Group {
    /// The material ID.
    pub material: u32,
    /// The number of its triangles.
    pub triangles: u64,
}

/// The facts about an item that the library does not list.
#[derive(Debug, Default)]
pub(super) struct PartDetail {
    pub decoded: Option<u64>,
    pub counts: Vec<(&'static str, u64)>,
    pub is_intact: bool,
}

/// All that is known of a file, whatever its format.
pub struct Inspection {
    /// The file.
    pub input: Input,
    /// The length of the file, if it is known.
    pub bytes: Option<u64>,
    /// The reason why it could not be opened.
    pub problem: Option<Problem>,
    /// The format, if it is known.
    pub format: Option<meshmap::Format>,
    /// The open file; `None` if it could not be opened.
    pub file: Option<MeshFile>,
    pub(super) depth: Depth,
    /// Format and version, for people. `None` if the file could not be opened.
    pub variant: Option<Variant>,
    /// `None` if they were not asked for, or the file could not be opened.
    pub facts: Option<Facts>,
    /// The lists of the facts, and the numbers of elements that they lack.
    pub(super) lists: Lists,
    /// The rules that the file breaks.
    pub findings: Vec<Finding>,
    /// The parts that cannot be used.
    pub damage: Vec<Damage>,
    /// There was no memory for all of them.
    pub(super) has_more_damage: bool,
    /// Sections of a file that could not be opened, as its header declares them.
    pub salvaged: Vec<Part>,
    /// The number of reads, and of bytes.
    pub reads: [u64; 2],
}

/// The facts of a file that depend on its format.
#[derive(Debug, Default)]
pub struct Facts {
    /// Named values, an object of JSON.
    pub values: Value,
    /// The words that a page has in place of values, by the names of these; no words for values that it leaves out.
    pub words: Vec<(&'static str, String)>,
    /// The file in a few words.
    pub summary: Summary,
    pub(super) meshes: Vec<MeshInfo>,
    pub(super) details: HashMap<String, PartDetail>,
}

/// A file in a few words, for one row of many.
#[derive(Debug, Default)]
pub struct Summary {
    /// The vertices of the meshes that are drawn, if the number is known.
    pub vertices: Option<u64>,
    /// Their triangles, if the number is known.
    pub triangles: Option<u64>,
    /// `true` if the number of triangles is an estimate.
    pub is_estimate: bool,
    /// Numbers of other parts, such as `5 joints, 31 frames`.
    pub words: String,
}

impl Summary {
    /// The sums of meshes whose numbers are all known.
    pub(super) fn of(meshes: &[MeshInfo], words: String) -> Self {
        let vertices = meshes.iter().filter_map(|mesh| mesh.vertices).sum();
        let triangles = meshes.iter().filter_map(|mesh| mesh.triangles).sum();
        Self {
            vertices: Some(vertices),
            triangles: Some(triangles),
            is_estimate: false,
            words,
        }
    }

    /// The numbers of vertices and triangles, as far as they are known, each with the word for it and its plural.
    #[must_use]
    pub fn counts(&self, [vertex, triangle]: [&str; 2]) -> [Option<String>; 2] {
        let mark = if self.is_estimate { "~" } else { "" };
        [
            self.vertices.map(|count| text::plural(count, vertex)),
            self.triangles
                .map(|count| format!("{mark}{}", text::plural(count, triangle))),
        ]
    }
}

/// The damage of a part that ends beyond the end of the file.
pub(super) fn cut_off(address: Address, range: Range<u64>, bytes: u64) -> Damage {
    let there = bytes.saturating_sub(range.start);
    let all = range.end - range.start;
    let message = format!(
        "cut off: expected {}, found {}",
        text::plural(all, "byte"),
        text::count(there)
    );
    let state = if range.start >= bytes {
        State::Missing
    } else {
        State::Incomplete
    };
    Damage {
        address,
        state,
        range: Some(range),
        problem: Problem::summarized("truncated", message, "cut off"),
        rule: None,
    }
}

impl Inspection {
    pub(super) fn new(input: Input, depth: Depth) -> Self {
        Self {
            input,
            bytes: None,
            problem: None,
            format: None,
            file: None,
            depth,
            variant: None,
            facts: None,
            lists: Lists::default(),
            findings: Vec::new(),
            damage: Vec::new(),
            has_more_damage: false,
            salvaged: Vec::new(),
            reads: [0; 2],
        }
    }

    /// The meshes; none if facts were not requested.
    #[must_use]
    pub fn meshes(&self) -> &[MeshInfo] {
        self.facts.as_ref().map_or(&[], |facts| &facts.meshes)
    }

    /// Returns `true` if something cannot be used.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.problem.is_some() || !self.damage.is_empty()
    }

    /// `true` if every value was checked. Otherwise a value that is out of range or not finite may have been missed.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        self.file.is_some() && self.depth == Depth::Everything
    }

    /// The end of a file whose parts extend beyond it, and the expected end, if it is declared.
    fn cut_at(&self) -> Option<(u64, Option<u64>)> {
        let bytes = self.bytes?;
        let salvaged = self.salvaged.iter().map(|part| part.range.end);
        let ends = self
            .damage
            .iter()
            .filter_map(|damage| Some(damage.range.as_ref()?.end))
            .chain(salvaged);
        let whole = self
            .problem
            .as_ref()
            .and_then(Problem::library)
            .and_then(meshmap::Error::byte_range);
        let whole = whole
            .filter(|_| !self.salvaged.is_empty())
            .map(|range| range.end);
        let end = ends.chain(whole).max().filter(|end| *end > bytes);
        let is_cut = self
            .damage
            .iter()
            .any(|damage| damage.state >= State::Incomplete);
        (end.is_some() || is_cut).then_some((bytes, end))
    }

    /// `file cut off at 4,000,000 of 7,073,072 bytes`.
    #[must_use]
    pub fn cut_words(&self) -> Option<String> {
        let (bytes, end) = self.cut_at()?;
        Some(match end {
            Some(end) => {
                format!(
                    "file cut off at {} of {}",
                    text::count(bytes),
                    text::plural(end, "byte")
                )
            }
            None => format!("file cut off at {}", text::plural(bytes, "byte")),
        })
    }

    /// The parts with what is known of each.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let known = ByAddress::new(&self.damage);
        let salvaged = self.salvaged.iter().cloned();
        let usual = if self.depth == Depth::Everything && !self.has_more_damage {
            State::Intact
        } else {
            State::NotChecked
        };
        let items = self.file.iter().flat_map(MeshFile::items).map(move |item| {
            let address = item.address.to_string();
            let detail = self
                .facts
                .as_ref()
                .and_then(|facts| facts.details.get(&address));
            let state = match known.state(&address) {
                Some(state) => state,
                None if detail.is_some_and(|detail| detail.is_intact) => State::Intact,
                None => usual,
            };
            let codec = self.file.as_ref().map_or("none", |file| codec(file, &item));
            let mut part = Part::new(item, state, codec);
            if let Some(detail) = detail {
                part.decoded = part.decoded.or(detail.decoded);
                part.counts.extend(detail.counts.iter().copied());
            }
            part
        });
        items.chain(salvaged).chain(self.damage_of_no_item())
    }

    /// Damage that is not part of an item, because nothing else is known about it.
    fn damage_of_no_item(&self) -> impl Iterator<Item = Part> + '_ {
        let known: HashSet<String> = match self.damage.is_empty() {
            true => HashSet::new(),
            false => self
                .file
                .iter()
                .flat_map(MeshFile::items)
                .map(|item| item.address.to_string())
                .collect(),
        };
        self.damage.iter().filter_map(move |damage| {
            let address = damage.address.to_string();
            if ancestors(&address).any(|ancestor| known.contains(ancestor)) {
                return None;
            }
            let range = damage.range.clone().unwrap_or_default();
            Some(Part::without_counts(address, range, damage.state))
        })
    }
}

/// An address and what it is a part of: `snapshots`, `snapshots[3]` and `snapshots[3].positions`.
fn ancestors(address: &str) -> impl Iterator<Item = &str> {
    let ends = address
        .char_indices()
        .filter(|(_, c)| matches!(c, '.' | '['))
        .map(|(at, _)| at);
    ends.chain([address.len()]).map(|end| &address[..end])
}

/// A part of a file, as JSON lists it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The address of the part.
    pub address: String,
    /// Its bytes in the file.
    #[serde(serialize_with = "as_pair")]
    pub range: Range<u64>,
    /// The compression: `none`, `zlib`, `deflate`, `gzip`, `lzma`, `bits` or `other`.
    pub codec: &'static str,
    /// Its size in the file.
    pub stored: u64,
    /// Its decoded size, if it is known.
    pub decoded: Option<u64>,
    /// Its counts, named as in the specification.
    #[serde(serialize_with = "as_map")]
    pub counts: Vec<(&'static str, u64)>,
    /// Its state.
    pub state: State,
}

impl Part {
    pub(super) fn new(item: Item, state: State, codec: &'static str) -> Self {
        let Item {
            address,
            counts,
            stored,
            decoded,
            range,
            ..
        } = item;
        Self {
            address: address.to_string(),
            range,
            codec,
            stored,
            decoded,
            counts,
            state,
        }
    }

    pub(super) fn without_counts(address: String, range: Range<u64>, state: State) -> Self {
        let stored = range.end.saturating_sub(range.start);
        Self {
            address,
            range,
            codec: "none",
            stored,
            decoded: None,
            counts: Vec::new(),
            state,
        }
    }
}

/// The compression of an item.
fn codec(file: &MeshFile, item: &Item) -> &'static str {
    let first = match item.address.segments().first() {
        Some(meshmap::Segment::Field(name)) => name.as_ref(),
        _ => "",
    };
    if let Some(proxy) = file.as_cgeo().filter(|_| first == "snapshots") {
        return codec_name(proxy.dialect().codec);
    }
    if let Some(bodies) = file.as_openctm() {
        return body_codec(bodies, &item.address);
    }
    match file.format() {
        Format::SlMesh if first != "header" => "zlib",
        Format::Tmf => "bits",
        _ => "none",
    }
}

/// The compression of an array.
fn body_codec(bodies: &Container, address: &Address) -> &'static str {
    let index = match address.segments() {
        [_, Segment::Index(index), ..] => usize::try_from(*index).unwrap_or(usize::MAX),
        _ => 0,
    };
    match bodies.mesh(index).map(Mesh::method) {
        Ok(Method::Raw) | Err(_) => "none",
        Ok(_) => "lzma",
    }
}

pub(super) fn codec_name(codec: meshmap::Codec) -> &'static str {
    match codec {
        meshmap::Codec::Stored => "none",
        meshmap::Codec::Zlib => "zlib",
        meshmap::Codec::Deflate => "deflate",
        meshmap::Codec::Gzip => "gzip",
        meshmap::Codec::Lzma { .. } => "lzma",
        _ => "other",
    }
}

/// A text of a file, with U+FFFD in place of what is not UTF-8. Long texts are cut: thousands of names can be parts of one.
pub(super) fn lossy(text: &meshmap::Text) -> String {
    const LONGEST: usize = 1024;
    let bytes = text.as_bytes();
    match bytes.get(..LONGEST) {
        Some(begin) if bytes.len() > LONGEST => {
            let begin = String::from_utf8_lossy(begin);
            format!(
                "{}.. ({} bytes)",
                begin.trim_end_matches('\u{fffd}'),
                bytes.len()
            )
        }
        _ => text.to_string_lossy().into_owned(),
    }
}
