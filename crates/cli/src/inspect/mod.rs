//! What a file holds, and what of it is broken: one model, from which pages and JSON are made.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use meshmap::{Address, Finding, Item, MeshFile, ReadStats, Rule, Severity, Source};
use serde::Serialize;

use crate::inputs::{Input, Problem, Reading};
use crate::words;

pub(crate) mod cgeo;
pub(crate) mod iqm;
pub(crate) mod json;
pub(crate) mod openctm;
pub(crate) mod page;
pub(crate) mod slmesh;
pub(crate) mod tmf;

/// Stored bytes that may be read for an exact number without being asked to.
const WORTH_READING: u64 = 16 << 20;

/// How much of a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// What costs little.
    Look,
    /// Whatever makes numbers exact.
    Full,
    /// Every value.
    Check,
}

/// How a part of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum State {
    #[serde(rename = "intact")]
    Intact,
    #[serde(rename = "not checked")]
    NotChecked,
    #[serde(rename = "broken")]
    Broken,
    #[serde(rename = "incomplete")]
    Incomplete,
    #[serde(rename = "missing")]
    Missing,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
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
pub(crate) struct Damage {
    pub(crate) address: Address,
    pub(crate) state: State,
    pub(crate) range: Option<Range<u64>>,
    pub(crate) problem: Problem,
    /// The rule, where a value breaks one.
    pub(crate) rule: Option<Rule>,
}

impl Damage {
    /// What an error says of the part at an address, of a file of this length.
    fn of(address: Address, error: &meshmap::Error, bytes: Option<u64>) -> Self {
        let range = error.byte_range();
        let state = match (&range, bytes) {
            (Some(range), Some(bytes)) if range.start >= bytes && range.start < range.end => State::Missing,
            (Some(range), Some(bytes)) if range.end > bytes => State::Incomplete,
            _ => State::Broken,
        };
        Self { address, state, range, problem: error.clone().into(), rule: None }
    }

    /// How many of its bytes are there, where it is cut off.
    pub(crate) fn there(&self, bytes: Option<u64>) -> Option<(u64, u64)> {
        let (range, bytes) = (self.range.as_ref()?, bytes?);
        (range.end > bytes).then(|| (bytes.saturating_sub(range.start), range.end - range.start))
    }

    /// What is wrong, without where.
    pub(crate) fn reason(&self) -> String {
        match self.problem.library() {
            Some(error) => words::of_part(error, Some(&self.address)),
            None => self.problem.to_string(),
        }
    }
}

/// The parts of a file that cannot be used, each once.
#[derive(Debug, Default)]
pub(crate) struct Damages {
    list: Vec<Damage>,
    seen: HashSet<String>,
}

impl Damages {
    /// The first that is said of a part counts.
    fn add(&mut self, damage: Damage) {
        if self.seen.insert(damage.address.to_string()) {
            self.list.push(damage);
        }
    }

    /// Whether something at the address, or in it, is damaged.
    fn has(&self, address: &str) -> bool {
        self.seen.contains(address)
    }
}

/// A mesh, as JSON lists it.
#[derive(Debug, Serialize)]
pub(crate) struct MeshInfo {
    pub(crate) address: String,
    pub(crate) name: Option<String>,
    pub(crate) role: &'static str,
    pub(crate) material: Option<String>,
    pub(crate) vertices: Option<u64>,
    pub(crate) triangles: Option<u64>,
    pub(crate) attributes: Vec<AttributeInfo>,
    #[serde(rename = "box")]
    pub(crate) bounds: Option<[[f32; 3]; 2]>,
    pub(crate) groups: Option<Vec<Group>>,
}

/// A property of the vertices.
#[derive(Debug, Serialize)]
pub(crate) struct AttributeInfo {
    pub(crate) semantic: String,
    pub(crate) format: String,
}

impl AttributeInfo {
    fn new(semantic: impl ToString, format: impl ToString) -> Self {
        Self { semantic: semantic.to_string(), format: format.to_string() }
    }
}

/// Triangles of one material.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    pub(crate) material: u32,
    pub(crate) triangles: u64,
}

/// What a format has that others have not.
#[derive(Debug)]
pub(crate) enum Facts {
    CGeo(cgeo::Facts),
    Iqm(iqm::Facts),
    OpenCtm(openctm::Facts),
    SlMesh(slmesh::Facts),
    Tmf(tmf::Facts),
}

/// What is known of an item that the library does not list.
#[derive(Debug, Default)]
pub(crate) struct PartDetail {
    pub(crate) decoded: Option<u64>,
    pub(crate) counts: Vec<(&'static str, u64)>,
    pub(crate) is_intact: bool,
}

/// All that is known of a file.
pub(crate) struct Inspection {
    pub(crate) input: Input,
    pub(crate) bytes: Option<u64>,
    /// Why it could not be opened.
    pub(crate) problem: Option<Problem>,
    pub(crate) format: Option<meshmap::Format>,
    pub(crate) file: Option<MeshFile>,
    pub(crate) depth: Depth,
    pub(crate) variant: Option<String>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) damage: Vec<Damage>,
    pub(crate) meshes: Vec<MeshInfo>,
    pub(crate) facts: Option<Facts>,
    pub(crate) details: HashMap<String, PartDetail>,
    /// Sections of a file that could not be opened, as its header tells them.
    pub(crate) salvaged: Vec<Part>,
    pub(crate) reads: ReadStats,
}

/// What a format's module finds out.
struct Look {
    variant: String,
    facts: Facts,
    meshes: Vec<MeshInfo>,
    details: HashMap<String, PartDetail>,
}

/// Looks at a file; `None` for one that was found, and is no mesh, or none of the format that is asked for.
pub(crate) fn inspect(input: &Input, how: &Reading, depth: Depth, facts: bool) -> Option<Inspection> {
    let mut inspection = Inspection::new(input.clone(), depth);
    let result = open(input, how, &mut inspection);
    let opened = match result {
        Ok(None) => return None,
        Ok(Some((opened, file))) => {
            inspection.format = Some(file.format());
            look_at(&file, facts, &mut inspection);
            inspection.file = Some(file);
            Some(opened)
        }
        Err(problem) => {
            inspection.format = problem.library().and_then(meshmap::Error::format);
            inspection.problem = Some(problem);
            None
        }
    };
    if let Some(opened) = opened {
        inspection.reads = opened.read_stats();
    }
    Some(inspection)
}

/// The object of `meshmap info --json` for a file that is open, as a text; `full` reads whatever makes numbers exact.
///
/// `path` is what the object says of where the file is, `bytes` its length.
///
/// # Errors
///
/// Those of writing JSON, which numbers and text do not have.
pub fn info(file: &MeshFile, path: &Path, bytes: Option<u64>, full: bool) -> serde_json::Result<String> {
    let mut inspection = Inspection::new(Input::named(path), if full { Depth::Full } else { Depth::Look });
    inspection.bytes = bytes;
    inspection.format = Some(file.format());
    look_at(file, true, &mut inspection);
    inspection.file = Some(file.clone());
    serde_json::to_string(&inspection)
}

fn open(
    input: &Input,
    how: &Reading,
    inspection: &mut Inspection,
) -> Result<Option<(Source, MeshFile)>, Problem> {
    let opened = input.source(how.mmap)?;
    inspection.bytes = opened.len()?;
    let source = small_at_once(&opened, how.mmap)?;
    match input.open(&source, how) {
        Ok(file) => Ok(file.map(|file| (opened, file))),
        Err(problem) => {
            inspection.salvaged = iqm::salvage(&source, inspection.bytes);
            Err(problem)
        }
    }
}

/// A small file in memory, read at once: most of it would be read anyway.
fn small_at_once(source: &Source, mmap: bool) -> meshmap::Result<Source> {
    const SMALL: u64 = 1 << 20;
    match source.len()? {
        Some(len) if !mmap && len <= SMALL => Ok(Source::from_bytes(source.get(0..len, "file")?)),
        _ => Ok(source.clone()),
    }
}

/// A store answers so many requests in the time of one.
const REQUESTS: usize = 32;

fn look_at(file: &MeshFile, facts: bool, inspection: &mut Inspection) {
    let mut damages = Damages::default();
    let (depth, bytes) = (inspection.depth, inspection.bytes);
    beyond_the_end(file, bytes, &mut damages);
    if let MeshFile::CGeo(proxy) = file {
        cgeo::walk(proxy, bytes, depth, &mut damages);
    }
    inspection.findings = file.findings().to_vec();
    unusable(&inspection.findings, file, &mut damages);
    if depth == Depth::Check {
        inspection.findings = check(file, bytes, &mut damages);
    }
    if facts {
        let threads = if inspection.input.is_in_store() { REQUESTS } else { 1 };
        let look = match file {
            MeshFile::CGeo(proxy) => cgeo::look(proxy, depth, threads, bytes, &mut damages),
            MeshFile::Iqm(model) => iqm::look(model, depth, bytes, &mut damages),
            MeshFile::OpenCtm(bodies) => openctm::look(bodies, depth, bytes, &mut damages),
            MeshFile::SlMesh(asset) => slmesh::look(asset, depth, bytes, &mut damages),
            MeshFile::Tmf(document) => tmf::look(document, depth, bytes, &mut damages),
            _ => return,
        };
        inspection.variant = Some(look.variant);
        inspection.facts = Some(look.facts);
        inspection.meshes = look.meshes;
        inspection.details = look.details;
    } else {
        inspection.variant = Some(variant(file));
    }
    inspection.damage = damages.list;
}

/// Parts whose bytes are not there.
fn beyond_the_end(file: &MeshFile, bytes: Option<u64>, damages: &mut Damages) {
    let Some(bytes) = bytes else { return };
    if let MeshFile::SlMesh(asset) = file {
        slmesh::beyond_the_end(asset, bytes, damages);
        return;
    }
    for item in file.items() {
        if item.range.end > bytes && !item.range.is_empty() {
            let state = if item.range.start >= bytes { State::Missing } else { State::Incomplete };
            let problem = Problem::other("truncated", cut_off(&item.range, bytes));
            damages.add(Damage {
                address: item.address,
                state,
                range: Some(item.range),
                problem,
                rule: None,
            });
        }
    }
}

/// What is said of a part that ends beyond the end of the file.
fn cut_off(range: &Range<u64>, bytes: u64) -> String {
    let (there, all) = (bytes.saturating_sub(range.start), range.end - range.start);
    format!(
        "cut off: {} announced, there are {}",
        crate::text::plural(all, "byte"),
        crate::text::count(there)
    )
}

/// Checks every value: findings, and what cannot be used.
fn check(file: &MeshFile, bytes: Option<u64>, damages: &mut Damages) -> Vec<Finding> {
    let findings = match file {
        MeshFile::SlMesh(asset) => asset.validate().and_then(|mut findings| {
            findings.extend(asset.check_hashes()?);
            Ok(findings)
        }),
        file => file.validate(),
    };
    match findings {
        Ok(findings) => {
            unusable(&findings, file, damages);
            findings
        }
        Err(error) => {
            each_array(file, bytes, damages);
            if damages.list.is_empty() {
                let address = error.address().cloned().unwrap_or_else(|| Address::field("file"));
                damages.add(Damage::of(address, &error, bytes));
            }
            file.findings().to_vec()
        }
    }
}

/// What of a file breaks rules so that it cannot be used.
fn unusable(findings: &[Finding], file: &MeshFile, damages: &mut Damages) {
    for finding in findings.iter().filter(|finding| finding.severity() == Severity::Unusable) {
        let address = finding.address.clone().unwrap_or_else(|| Address::field("file"));
        let count = match finding.count {
            0 | 1 => String::new(),
            count => format!(" ({} occurrences)", crate::text::count(count)),
        };
        let detail = finding.detail.strip_prefix(&format!("{}: ", file.format())).unwrap_or(&finding.detail);
        let problem = match again(file, finding) {
            Some(error) => error.into(),
            None => {
                let words =
                    words::of_value(finding).unwrap_or_else(|| format!("{}: {detail}", finding.rule.name));
                Problem::other("malformed", format!("{words}{count}"))
            }
        };
        let range = finding.byte_range.clone();
        damages.add(Damage { address, state: State::Broken, range, problem, rule: Some(finding.rule) });
    }
}

/// The error that a finding about a part tells as a text.
fn again(file: &MeshFile, finding: &Finding) -> Option<meshmap::Error> {
    match file {
        MeshFile::CGeo(proxy) if finding.rule == meshmap::cgeo::rules::SNAPSHOT => {
            cgeo::error_of(proxy, finding.address.as_ref()?)
        }
        MeshFile::SlMesh(asset) if finding.rule == meshmap::slmesh::rules::BLOCK => {
            slmesh::error_of(asset, finding.address.as_ref()?)
        }
        _ => None,
    }
}

/// Decodes array after array of a file of which one cannot be decoded.
fn each_array(file: &MeshFile, bytes: Option<u64>, damages: &mut Damages) {
    match file {
        MeshFile::OpenCtm(bodies) => openctm::each_array(bodies, bytes, damages),
        MeshFile::Tmf(document) => tmf::each_array(document, bytes, damages),
        _ => {}
    }
}

/// Format and version: `IQM 2`.
pub(crate) fn variant(file: &MeshFile) -> String {
    match file {
        MeshFile::CGeo(proxy) => cgeo::variant(proxy),
        MeshFile::Iqm(model) => format!("IQM {}", model.version()),
        MeshFile::OpenCtm(bodies) => openctm::variant(bodies),
        MeshFile::SlMesh(_) => "Second Life mesh asset".to_owned(),
        MeshFile::Tmf(document) => tmf::variant(document),
        other => other.format().to_string(),
    }
}

impl Inspection {
    fn new(input: Input, depth: Depth) -> Self {
        Self {
            input,
            bytes: None,
            problem: None,
            format: None,
            file: None,
            depth,
            variant: None,
            findings: Vec::new(),
            damage: Vec::new(),
            meshes: Vec::new(),
            facts: None,
            details: HashMap::new(),
            salvaged: Vec::new(),
            reads: ReadStats::default(),
        }
    }

    /// Whether something cannot be used.
    pub(crate) fn is_broken(&self) -> bool {
        self.problem.is_some() || !self.damage.is_empty()
    }

    /// Where the file ends though parts of it lie beyond; and where it would end, as far as that is told.
    pub(crate) fn cut_at(&self) -> Option<(u64, Option<u64>)> {
        let bytes = self.bytes?;
        let salvaged = self.salvaged.iter().map(|part| part.range.end);
        let ends = self.damage.iter().filter_map(|damage| Some(damage.range.as_ref()?.end)).chain(salvaged);
        let whole = self.problem.as_ref().and_then(Problem::library).and_then(meshmap::Error::byte_range);
        let whole = whole.filter(|_| !self.salvaged.is_empty()).map(|range| range.end);
        let end = ends.chain(whole).max().filter(|end| *end > bytes);
        let is_cut = self.damage.iter().any(|damage| damage.state >= State::Incomplete);
        (end.is_some() || is_cut).then_some((bytes, end))
    }

    /// `file cut off at 4,000,000 of 7,073,072 bytes`.
    pub(crate) fn cut_words(&self) -> Option<String> {
        let (bytes, end) = self.cut_at()?;
        Some(match end {
            Some(end) => {
                format!(
                    "file cut off at {} of {}",
                    crate::text::count(bytes),
                    crate::text::plural(end, "byte")
                )
            }
            None => format!("file cut off at {}", crate::text::plural(bytes, "byte")),
        })
    }

    /// The parts with what is known of each.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        let states = self.states();
        let salvaged = self.salvaged.iter().cloned();
        let usual = if self.depth == Depth::Check { State::Intact } else { State::NotChecked };
        let items = self.file.iter().flat_map(MeshFile::items).map(move |item| {
            let address = item.address.to_string();
            let detail = self.details.get(&address);
            let state = match states.get(&address) {
                Some(state) => *state,
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

    /// What is damaged and is no part of an item, because nothing is known of it but that.
    fn damage_of_no_item(&self) -> impl Iterator<Item = Part> + '_ {
        let known: HashSet<String> = match self.damage.is_empty() {
            true => HashSet::new(),
            false => {
                self.file.iter().flat_map(MeshFile::items).map(|item| item.address.to_string()).collect()
            }
        };
        self.damage.iter().filter_map(move |damage| {
            let address = damage.address.to_string();
            if ancestors(&address).any(|ancestor| known.contains(ancestor)) {
                return None;
            }
            let range = damage.range.clone().unwrap_or_default();
            let stored = range.end.saturating_sub(range.start);
            Some(Part {
                address,
                range,
                codec: "none",
                stored,
                decoded: None,
                counts: Vec::new(),
                state: damage.state,
            })
        })
    }

    /// The states of what is damaged, and of whatever it is a part of.
    fn states(&self) -> HashMap<String, State> {
        let mut states: HashMap<String, State> = HashMap::new();
        for damage in &self.damage {
            let address = damage.address.to_string();
            for ancestor in ancestors(&address) {
                let state = if ancestor == address { damage.state } else { State::Broken };
                let known = states.entry(ancestor.to_owned()).or_insert(state);
                *known = (*known).max(state);
            }
        }
        states
    }
}

/// An address and what it is a part of: `snapshots`, `snapshots[3]` and `snapshots[3].positions`.
fn ancestors(address: &str) -> impl Iterator<Item = &str> {
    let ends = address.char_indices().filter(|(_, c)| matches!(c, '.' | '[')).map(|(at, _)| at);
    ends.chain([address.len()]).map(|end| &address[..end])
}

/// A part of a file, as JSON lists it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) address: String,
    pub(crate) range: Range<u64>,
    pub(crate) codec: &'static str,
    pub(crate) stored: u64,
    pub(crate) decoded: Option<u64>,
    pub(crate) counts: Vec<(&'static str, u64)>,
    pub(crate) state: State,
}

impl Part {
    fn new(item: Item, state: State, codec: &'static str) -> Self {
        let Item { address, counts, stored, decoded, range, .. } = item;
        Self { address: address.to_string(), range, codec, stored, decoded, counts, state }
    }
}

/// How an item is compressed.
fn codec(file: &MeshFile, item: &Item) -> &'static str {
    let first = match item.address.segments().first() {
        Some(meshmap::Segment::Field(name)) => name.as_ref(),
        _ => "",
    };
    match file {
        MeshFile::CGeo(proxy) if first == "snapshots" => codec_name(proxy.dialect().codec),
        MeshFile::OpenCtm(bodies) => openctm::codec(bodies, &item.address),
        MeshFile::SlMesh(_) if first != "header" => "zlib",
        MeshFile::Tmf(_) => "bits",
        _ => "none",
    }
}

fn codec_name(codec: meshmap::Codec) -> &'static str {
    match codec {
        meshmap::Codec::Stored => "none",
        meshmap::Codec::Zlib => "zlib",
        meshmap::Codec::Deflate => "deflate",
        meshmap::Codec::Gzip => "gzip",
        meshmap::Codec::Lzma { .. } => "lzma",
        _ => "other",
    }
}

/// A text of a file, with U+FFFD in place of what is not UTF-8.
fn lossy(text: &meshmap::Text) -> String {
    text.to_string_lossy().into_owned()
}
