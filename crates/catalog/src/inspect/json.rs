//! The JSON object of a file: version 1 of `crates/cli/schema/info-1.json`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use meshmap::Finding;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::model::{Damage, Inspection, MeshInfo, Part};
use super::serialize::pair;
use crate::input::{Problem, kind_of};

/// The object of a file, or of a directory that cannot be read.
#[derive(Default, Serialize)]
pub struct Object<'a> {
    meshmap: u32,
    path: String,
    path_bytes: Option<String>,
    format: Option<&'static str>,
    variant: Option<&'a str>,
    bytes: Option<u64>,
    error: Option<ErrorInfo>,
    checked: bool,
    findings: Vec<FindingInfo<'a>>,
    parts: Vec<Part>,
    meshes: Vec<&'a MeshInfo>,
    /// The values of the format, under its name.
    #[serde(flatten)]
    facts: BTreeMap<&'static str, &'a Value>,
    /// The number of elements that each cut list lacks.
    omitted: BTreeMap<String, u64>,
}

/// The object of a file. Its lists are cut if they are long.
#[must_use]
pub fn object(inspection: &Inspection) -> Object<'_> {
    let mut lists = inspection.lists.clone();
    let facts = inspection.format.zip(inspection.facts.as_ref());
    let error = match &inspection.problem {
        Some(problem) => Some(ErrorInfo::new(problem, None, None)),
        None => inspection.damage.first().map(ErrorInfo::of_part),
    };
    Object {
        format: inspection.format.map(meshmap::Format::name),
        variant: inspection
            .variant
            .as_ref()
            .map(|variant| variant.long.as_str()),
        bytes: inspection.bytes,
        error,
        checked: inspection.is_checked(),
        findings: lists.cut("findings", inspection.findings.iter().map(FindingInfo::new)),
        parts: lists.cut("parts", inspection.parts()),
        meshes: lists.cut("meshes", inspection.meshes()),
        facts: facts
            .map(|(format, facts)| (format.name(), &facts.values))
            .into_iter()
            .collect(),
        omitted: lists.omitted,
        ..empty(&inspection.input.path)
    }
}

/// The object of something that is not a file, such as a directory that cannot be read.
#[must_use]
pub fn object_of_no_file(path: &Path, message: &str) -> Object<'static> {
    let problem = Problem::other("io", message.to_owned());
    Object {
        error: Some(ErrorInfo::new(&problem, None, None)),
        ..empty(path)
    }
}

fn empty(path: &Path) -> Object<'static> {
    let (path, path_bytes) = (path.to_string_lossy().into_owned(), path_bytes(path));
    Object {
        meshmap: 1,
        path,
        path_bytes,
        ..Object::default()
    }
}

/// A problem, as JSON has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorInfo {
    /// The kind of the problem.
    pub kind: Cow<'static, str>,
    /// The part that has the problem.
    pub address: Option<String>,
    range: Option<[u64; 2]>,
    decoded_range: Option<[u64; 2]>,
    /// The problem, for people.
    pub message: String,
}

impl ErrorInfo {
    /// The problem of a part that cannot be used.
    #[must_use]
    pub fn of_part(damage: &Damage) -> Self {
        Self::new(
            &damage.problem,
            Some(damage.address.to_string()),
            damage.range.clone(),
        )
    }

    /// A problem; `address` and `range` are used if the problem has none.
    #[must_use]
    pub fn new(problem: &Problem, address: Option<String>, range: Option<Range<u64>>) -> Self {
        match problem {
            Problem::Library(error) => Self {
                kind: kind_of(error).into(),
                address: error.address().map(ToString::to_string).or(address),
                range: error.byte_range().or(range).map(pair),
                decoded_range: error.decoded_range().map(pair),
                message: error.message(),
            },
            Problem::Other { kind, message, .. } => {
                let kind = Cow::Borrowed(*kind);
                let range = range.map(pair);
                Self {
                    kind,
                    address,
                    range,
                    decoded_range: None,
                    message: message.clone(),
                }
            }
        }
    }
}

#[derive(Serialize)]
struct FindingInfo<'a> {
    rule: &'static str,
    severity: &'static str,
    address: Option<String>,
    range: Option<[u64; 2]>,
    count: u64,
    #[serde(serialize_with = "name_and_detail")]
    message: &'a Finding,
}

fn name_and_detail<S: Serializer>(finding: &Finding, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}: {}", finding.rule.name, finding.detail))
}

impl<'a> FindingInfo<'a> {
    fn new(finding: &'a Finding) -> Self {
        Self {
            rule: finding.rule.id,
            severity: finding.severity().name(),
            address: finding.address.as_ref().map(ToString::to_string),
            range: finding.byte_range.clone().map(pair),
            count: finding.count,
            message: finding,
        }
    }
}

/// The bytes of a path as base64, if it is not UTF-8.
#[must_use]
pub fn path_bytes(path: &Path) -> Option<String> {
    path.to_str()
        .is_none()
        .then(|| base64(path.as_os_str().as_encoded_bytes()))
}

/// Bytes as base64, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_has_padding() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob\u{ff}", "Zm9vYsO/"),
        ] {
            assert_eq!(super::base64(bytes.as_bytes()), text);
        }
    }
}
