//! JSON v1: one object for each file.

use std::ops::Range;
use std::path::Path;

use meshmap::Finding;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::model::{Damage, Inspection, Part};
use super::{Facts, Inspected};
use crate::inputs::Problem;

impl Serialize for Inspected {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inspection = &self.inspection;
        let path = &inspection.input.path;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("meshmap", &1)?;
        map.serialize_entry("path", &path.to_string_lossy())?;
        map.serialize_entry("path_bytes", &path_bytes(path))?;
        map.serialize_entry("format", &inspection.format.map(meshmap::Format::name))?;
        map.serialize_entry("variant", &inspection.variant)?;
        map.serialize_entry("bytes", &inspection.bytes)?;
        map.serialize_entry("error", &inspection.error())?;
        map.serialize_entry("checked", &inspection.is_checked())?;
        map.serialize_entry("findings", &Sequence(|| inspection.findings.iter().map(FindingInfo::new)))?;
        map.serialize_entry("parts", &Sequence(|| inspection.parts()))?;
        map.serialize_entry("meshes", &inspection.meshes)?;
        match &self.facts {
            Some(Facts::CGeo(facts)) => map.serialize_entry("cgeo", facts)?,
            Some(Facts::Iqm(facts)) => map.serialize_entry("iqm", facts)?,
            Some(Facts::OpenCtm(facts)) => map.serialize_entry("openctm", facts)?,
            Some(Facts::SlMesh(facts)) => map.serialize_entry("slmesh", facts)?,
            Some(Facts::Tmf(facts)) => map.serialize_entry("tmf", facts)?,
            None => {}
        }
        map.end()
    }
}

impl Inspection {
    /// The reason why the file is invalid: the error of opening it, or the error of the first damaged part.
    fn error(&self) -> Option<ErrorInfo> {
        if let Some(problem) = &self.problem {
            return Some(ErrorInfo::new(problem, None, None));
        }
        self.damage.first().map(ErrorInfo::of_part)
    }
}

/// An object about something that is not a file, such as a directory that cannot be read.
pub(crate) fn of_no_file(path: &Path, message: &str) -> impl Serialize {
    #[derive(Serialize)]
    struct Object {
        meshmap: u32,
        path: String,
        path_bytes: Option<String>,
        format: Option<String>,
        variant: Option<String>,
        bytes: Option<u64>,
        error: ErrorInfo,
        checked: bool,
        findings: [u32; 0],
        parts: [u32; 0],
        meshes: [u32; 0],
    }
    Object {
        meshmap: 1,
        path: path.to_string_lossy().into_owned(),
        path_bytes: path_bytes(path),
        format: None,
        variant: None,
        bytes: None,
        error: ErrorInfo::new(&Problem::other("io", message.to_owned()), None, None),
        checked: false,
        findings: [],
        parts: [],
        meshes: [],
    }
}

/// A problem, as JSON has it.
#[derive(Serialize)]
pub(crate) struct ErrorInfo {
    kind: &'static str,
    address: Option<String>,
    range: Option<[u64; 2]>,
    decoded_range: Option<[u64; 2]>,
    message: String,
}

fn pair(range: Range<u64>) -> [u64; 2] {
    [range.start, range.end]
}

impl ErrorInfo {
    /// The problem of a part that cannot be used.
    pub(crate) fn of_part(damage: &Damage) -> Self {
        Self::new(&damage.problem, Some(damage.address.to_string()), damage.range.clone())
    }

    pub(crate) fn new(problem: &Problem, address: Option<String>, range: Option<Range<u64>>) -> Self {
        match problem {
            Problem::Library(error) => Self {
                kind: error.kind().name(),
                address: error.address().map(ToString::to_string).or(address),
                range: error.byte_range().or(range).map(pair),
                decoded_range: error.decoded_range().map(pair),
                message: error.message(),
            },
            Problem::Other(kind, message) => {
                Self { kind, address, range: range.map(pair), decoded_range: None, message: message.clone() }
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
    message: FindingMessage<'a>,
}

/// `name: detail`.
struct FindingMessage<'a>(&'a Finding);

impl Serialize for FindingMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}: {}", self.0.rule.name, self.0.detail))
    }
}

impl<'a> FindingInfo<'a> {
    fn new(finding: &'a Finding) -> Self {
        Self {
            rule: finding.rule.id,
            severity: finding.severity().name(),
            address: finding.address.as_ref().map(ToString::to_string),
            range: finding.byte_range.clone().map(pair),
            count: finding.count,
            message: FindingMessage(finding),
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Counts<'a>(&'a [(&'static str, u64)]);
        impl Serialize for Counts<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().copied())
            }
        }
        let mut map = serializer.serialize_map(Some(7))?;
        map.serialize_entry("address", &self.address)?;
        map.serialize_entry("range", &pair(self.range.clone()))?;
        map.serialize_entry("codec", self.codec)?;
        map.serialize_entry("stored", &self.stored)?;
        map.serialize_entry("decoded", &self.decoded)?;
        map.serialize_entry("counts", &Counts(&self.counts))?;
        map.serialize_entry("state", &self.state)?;
        map.end()
    }
}

/// A list that is written element by element: there may be millions.
struct Sequence<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Sequence<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for element in (self.0)() {
            list.serialize_element(&element)?;
        }
        list.end()
    }
}

/// The bytes of a path as base64, if it is not UTF-8.
pub(crate) fn path_bytes(path: &Path) -> Option<String> {
    path.to_str().is_none().then(|| base64(path.as_os_str().as_encoded_bytes()))
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
            text.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_has_padding() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob\u{ff}", "Zm9vYsO/")]
        {
            assert_eq!(super::base64(bytes.as_bytes()), text);
        }
    }
}
