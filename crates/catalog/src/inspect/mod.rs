//! The contents of a file, and its damaged parts: one model, from which pages and JSON are made.

use std::path::Path;
use std::sync::Arc;

use meshmap::{Address, Finding, Format, MeshFile, Severity, Source};

pub use self::cgeo::parse_dialect;
pub use self::json::{ErrorInfo, Object, object, object_of_no_file, path_bytes};
use self::lists::Lists;
pub use self::lists::cut;
pub use self::model::{
    AttributeInfo, ByAddress, Damage, Facts, Group, Inspection, MeshInfo, Part, State, Summary,
    Variant,
};
use self::model::{Damages, Look, SMALL, cut_off, most_parts};
use crate::depth::Depth;
use crate::input::{Input, Problem, Reading, remedy_for_memory};
use crate::{json as json_text, windows};

mod cgeo;
mod iqm;
mod json;
mod lists;
mod model;
mod openctm;
mod serialize;
mod slmesh;
mod tmf;

/// Inspects a file; `None` for a found file that is not a mesh, or does not have the requested format.
#[must_use]
pub fn inspect(input: &Input, how: &Reading, depth: Depth, facts: bool) -> Option<Inspection> {
    let mut inspection = Inspection::new(input.clone(), depth);
    match open(input, how, &mut inspection) {
        Ok(None) => return None,
        Ok(Some((reads, file))) => {
            look_at(file, facts, &mut inspection);
            inspection.reads = reads.totals();
        }
        Err(problem) => {
            inspection.format = problem.library().and_then(meshmap::Error::format);
            inspection.problem = Some(problem);
        }
    }
    Some(inspection)
}

/// The object of `meshmap info --json` for a file that is open, as a text; `full` decodes and checks everything.
///
/// `path` is what the object says of where the file is, `bytes` its length.
///
/// # Errors
///
/// Returns an error if JSON cannot be written, which does not happen with numbers and text.
pub fn info(
    file: &MeshFile,
    path: &Path,
    bytes: Option<u64>,
    full: bool,
) -> serde_json::Result<String> {
    let mut inspection = Inspection::new(
        Input::named(path),
        if full {
            Depth::Everything
        } else {
            Depth::Headers
        },
    );
    inspection.bytes = bytes;
    look_at(file.clone(), true, &mut inspection);
    let mut text = Vec::new();
    json_text::write(&mut text, &object(&inspection))?;
    String::from_utf8(text).map_err(serde::ser::Error::custom)
}

fn open(
    input: &Input,
    how: &Reading,
    inspection: &mut Inspection,
) -> Result<Option<(Reads, MeshFile)>, Problem> {
    let opened = input.source(how)?;
    inspection.bytes = opened.len()?;
    let mut reads = Reads {
        opened,
        windows: None,
    };
    let source = reads.source(input, how.mmap)?;
    match input.open(&source, how) {
        Ok(Some(file)) => {
            let len = inspection.bytes.unwrap_or(u64::MAX);
            if input.is_in_store() && len <= SMALL && file.as_cgeo().is_some() {
                // All snapshots are inspected: one request fetches what thousands would.
                source.read(0..len)?;
            }
            Ok(Some((reads, file)))
        }
        Ok(None) => Ok(None),
        Err(problem) => {
            inspection.salvaged = iqm::salvage(&source, inspection.bytes);
            Err(problem)
        }
    }
}

/// The reads of a file, directly and in windows.
struct Reads {
    opened: Source,
    windows: Option<Arc<windows::Reads>>,
}

impl Reads {
    /// A source that needs few reads: a small file in memory, because most of it would be read anyway, or a file in windows.
    fn source(&mut self, input: &Input, mmap: bool) -> Result<Source, Problem> {
        match self.opened.len()? {
            Some(len) if !mmap && len <= SMALL && !input.is_in_store() => {
                Ok(Source::from_bytes(self.opened.read(0..len)?))
            }
            // Only files of the system have an identity, not those in stores or in memory.
            Some(len) if !mmap && self.opened.identity().is_some() => {
                let (source, reads) = windows::open(&input.path, len)?;
                self.windows = Some(reads);
                Ok(source)
            }
            _ => Ok(self.opened.clone()),
        }
    }

    /// The number of reads, and of bytes.
    fn totals(&self) -> [u64; 2] {
        let stats = self.opened.read_stats();
        let [reads, bytes] = self.windows.as_ref().map_or([0; 2], |reads| reads.totals());
        [stats.reads + reads, stats.bytes + bytes]
    }
}

/// The number of requests that a store answers in the time of one.
const REQUESTS: usize = 32;

/// The result of a check of every value of a file.
pub struct Checked {
    /// The findings.
    pub findings: Vec<Finding>,
    /// The parts that cannot be used.
    pub damage: Vec<Damage>,
}

/// Checks every value of a file, as `meshmap verify` does. All commands learn from this which parts cannot be used.
#[must_use]
pub fn check(file: &MeshFile) -> Checked {
    let (findings, damages) = problems(file, file.source().len().ok().flatten(), Depth::Everything);
    Checked {
        findings,
        damage: damages.list,
    }
}

/// The findings about a file, and the parts that cannot be used.
fn problems(file: &MeshFile, bytes: Option<u64>, depth: Depth) -> (Vec<Finding>, Damages) {
    let mut damages = Damages::of(file, bytes);
    beyond_the_end(file, bytes, &mut damages);
    if let Some(proxy) = file.as_cgeo() {
        cgeo::walk(proxy, bytes, depth, &mut damages);
    }
    unusable(file.findings(), file, &mut damages);
    let findings = match depth {
        Depth::Headers | Depth::Snapshots | Depth::Meshes => file.findings().to_vec(),
        Depth::Everything => validate(file, bytes, &mut damages),
    };
    (findings, damages)
}

fn look_at(file: MeshFile, with_facts: bool, inspection: &mut Inspection) {
    let depth = inspection.depth;
    let bytes = inspection.bytes;
    let (findings, mut damages) = problems(&file, bytes, depth);
    inspection.format = Some(file.format());
    inspection.findings = findings;
    inspection.lists = Lists::new(bytes.unwrap_or_default());
    let problem = if with_facts {
        too_many_parts(&file, bytes)
    } else {
        None
    };
    if problem.is_none() {
        inspection.variant = Some(variant(&file));
    }
    if with_facts && problem.is_none() {
        let threads = if inspection.input.is_in_store() {
            REQUESTS
        } else {
            1
        };
        let mut look = Look {
            depth,
            bytes,
            damages: &mut damages,
            lists: &mut inspection.lists,
        };
        inspection.facts = Some(facts(&file, threads, &mut look));
    }
    inspection.problem = problem;
    inspection.has_more_damage = damages.has_more;
    inspection.damage = damages.list;
    inspection.file = Some(file);
}

fn facts(file: &MeshFile, threads: usize, look: &mut Look<'_>) -> Facts {
    if let Some(proxy) = file.as_cgeo() {
        cgeo::facts(proxy, threads, look)
    } else if let Some(model) = file.as_iqm() {
        iqm::facts(model, look)
    } else if let Some(bodies) = file.as_openctm() {
        openctm::facts(bodies, look)
    } else if let Some(asset) = file.as_slmesh() {
        slmesh::facts(asset, look)
    } else if let Some(document) = file.as_tmf() {
        tmf::facts(document, look)
    } else {
        Facts::default()
    }
}

/// Returns an error if the lists of parts, meshes and facts take more memory than the limits allow.
fn too_many_parts(file: &MeshFile, bytes: Option<u64>) -> Option<Problem> {
    let most = most_parts(file, bytes);
    file.items().nth(most).map(|_| {
        let remedy = remedy_for_memory(file.limits());
        let why =
            format!("more than {most} parts, for which the limit of memory is not enough{remedy}");
        Problem::other("limit_exceeded", why)
    })
}

/// Parts whose bytes are not there.
fn beyond_the_end(file: &MeshFile, bytes: Option<u64>, damages: &mut Damages) {
    let Some(bytes) = bytes else { return };
    if let Some(asset) = file.as_slmesh() {
        slmesh::beyond_the_end(asset, bytes, damages);
        return;
    }
    for item in file.items() {
        if item.range.end > bytes && !item.range.is_empty() {
            damages.add(cut_off(item.address, item.range, bytes));
        }
    }
}

/// Checks every value: findings, and what cannot be used.
fn validate(file: &MeshFile, bytes: Option<u64>, damages: &mut Damages) -> Vec<Finding> {
    let findings = file.validate().and_then(|mut findings| {
        if let Some(asset) = file.as_slmesh() {
            findings.extend(asset.check_hashes()?);
        }
        Ok(findings)
    });
    match findings {
        Ok(findings) => {
            unusable(&findings, file, damages);
            findings
        }
        Err(error) => {
            each_array(file, bytes, damages);
            if damages.list.is_empty() {
                let address = error
                    .address()
                    .cloned()
                    .unwrap_or_else(|| Address::field("file"));
                damages.add(Damage::of(address, &error, bytes));
            }
            file.findings().to_vec()
        }
    }
}

/// The text of a finding about one value: `positions[3].x is inf`. `None` for findings about something else.
#[must_use]
pub fn value_words(finding: &Finding) -> Option<String> {
    let address = finding
        .address
        .as_ref()
        .filter(|_| finding.rule.id == "not_finite")?;
    Some(format!("{address}.{}", finding.detail))
}

/// The parts of a file that break rules so that they cannot be used.
fn unusable(findings: &[Finding], file: &MeshFile, damages: &mut Damages) {
    for finding in findings
        .iter()
        .filter(|finding| finding.severity() == Severity::Unusable)
    {
        let address = finding
            .address
            .clone()
            .unwrap_or_else(|| Address::field("file"));
        let count = match finding.count {
            0 | 1 => String::new(),
            count => format!(" ({} occurrences)", crate::text::count(count)),
        };
        let problem = match again(file, finding) {
            Some(error) => error.into(),
            None => {
                let words = value_words(finding)
                    .unwrap_or_else(|| format!("{}: {}", finding.rule.name, finding.detail));
                Problem::summarized("malformed", format!("{words}{count}"), finding.rule.name)
            }
        };
        let range = finding.byte_range.clone();
        damages.add(Damage {
            address,
            state: State::Broken,
            range,
            problem,
            rule: Some(finding.rule),
        });
    }
}

/// The error that a finding about a part contains as a text.
fn again(file: &MeshFile, finding: &Finding) -> Option<meshmap::Error> {
    let address = finding.address.as_ref()?;
    let snapshot = file.as_cgeo().filter(|_| finding.rule.id == "snapshot");
    let block = file.as_slmesh().filter(|_| finding.rule.id == "block");
    let snapshot = snapshot.and_then(|proxy| cgeo::error_of(proxy, address));
    snapshot.or_else(|| block.and_then(|asset| slmesh::error_of(asset, address)))
}

/// Decodes array after array of a file of which one cannot be decoded.
fn each_array(file: &MeshFile, bytes: Option<u64>, damages: &mut Damages) {
    // The meshes of other formats share their arrays, or are checked one by one.
    if !matches!(file.format(), Format::OpenCtm | Format::Tmf) {
        return;
    }
    for array in file.arrays() {
        let (address, read) = match array {
            Ok(array) => (array.address.clone(), array.read_pieces(|_| ()).map(drop)),
            Err(error) => (Address::field("file"), Err(error)),
        };
        // If an array lacks data of another array, the damage is the other array's.
        if let Err(error) = read {
            damages.add(Damage::of(
                error.address().cloned().unwrap_or(address),
                &error,
                bytes,
            ));
        }
    }
}

/// Format and version.
fn variant(file: &MeshFile) -> Variant {
    if let Some(proxy) = file.as_cgeo() {
        cgeo::variant(proxy)
    } else if let Some(model) = file.as_iqm() {
        Variant::of_one_form(format!("IQM {}", model.version()))
    } else if let Some(bodies) = file.as_openctm() {
        openctm::variant(bodies)
    } else if file.as_slmesh().is_some() {
        slmesh::variant()
    } else if let Some(document) = file.as_tmf() {
        tmf::variant(document)
    } else {
        Variant::of_one_form(file.format().to_string())
    }
}
