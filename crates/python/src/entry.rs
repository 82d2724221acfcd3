//! The lists of a file: its meshes, its arrays, and the rules that it breaks.

use std::convert::Infallible;
use std::sync::Arc;

use meshmap::{Finding, MeshEntry, Role, Text};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::again::value;

/// A name that many entries share: the name of an object may be as long as its file, and be the name of each of thousands of snapshots.
#[derive(Clone, Default)]
pub(crate) struct Name(Arc<str>);

impl Name {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'py> IntoPyObject<'py> for Name {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Infallible> {
        Ok(PyString::new(py, &self.0))
    }
}

impl<'py> FromPyObject<'_, 'py> for Name {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text: String = object.extract()?;
        Ok(Self(text.into()))
    }
}

value! {
    /// A mesh of a file, before it is read.
    pub struct Entry as "Entry" {
        /// Its address in the file.
        address: String,
        /// Its name, empty if it has none.
        name: Name,
        /// `geometry`, `lod`, `physics` or `snapshot`.
        role: String,
        /// The level of detail, 0 the finest; None for other roles.
        level: Option<u32>,
        /// The index of the snapshot; None for other roles.
        snapshot: Option<u64>,
        /// The time of the snapshot in seconds, if the file has times.
        seconds: Option<f64>,
        /// True if a viewer draws it by default; False if it is known to have no triangles or no positions.
        is_drawn_by_default: bool,
        /// The number of stored positions; None if another read is needed, see `File.counts`.
        vertices: Option<u64>,
        /// The number of triangles; None if another read is needed.
        triangles: Option<u64>,
    }
    fn repr(this) {{
        let name = if this.name.as_str().is_empty() { String::new() } else { format!(" {:?}", this.name.as_str()) };
        format!("<meshmap.Entry {}{name}, {}>", this.address, this.role)
    }}
}

impl Entry {
    /// The entries of a list.
    pub(crate) fn all(listed: impl Iterator<Item = MeshEntry>) -> Vec<Self> {
        let mut entries = Vec::new();
        let mut last: Option<(Text, Name)> = None;
        for entry in listed {
            // Snapshots have one name, in the same bytes.
            let known = last.as_ref().filter(|(text, _)| {
                text.as_bytes().as_ptr_range() == entry.name.as_bytes().as_ptr_range()
            });
            let name = match known {
                Some((_, name)) => name.clone(),
                None => Name(entry.name.to_string_lossy().into()),
            };
            last = Some((entry.name.clone(), name.clone()));
            entries.push(Self::new(entry, name));
        }
        entries
    }

    fn new(entry: MeshEntry, name: Name) -> Self {
        let address = entry.address.to_string();
        let is_drawn_by_default = entry.is_drawn_by_default();
        let (vertices, triangles) = entry
            .counts
            .map(|counts| (counts.vertices, counts.triangles))
            .unzip();
        Self {
            address,
            name,
            is_drawn_by_default,
            vertices,
            triangles,
            ..Self::of_role(entry.role)
        }
    }

    /// An entry with the facts of a role.
    pub(crate) fn of_role(role: Role) -> Self {
        let (name, level, snapshot, seconds) = match role {
            Role::Lod(level) => ("lod", Some(level), None, None),
            Role::Physics => ("physics", None, None, None),
            Role::Snapshot { index, seconds } => ("snapshot", None, Some(index), seconds),
            _ => ("geometry", None, None, None),
        };
        Self {
            address: String::new(),
            name: Name::default(),
            role: name.to_owned(),
            level,
            snapshot,
            seconds,
            is_drawn_by_default: role.is_drawn_by_default(),
            vertices: None,
            triangles: None,
        }
    }
}

value! {
    /// An array of a file, before it is read.
    pub struct ArrayInfo as "ArrayEntry" {
        /// The address, as accepted by `File.array`.
        address: String,
        /// The name that the file gives it, or the meaning of a vertex array; empty if it has neither.
        name: String,
        /// The name of the NumPy type: `float32`.
        dtype: String,
        /// The number of elements, then the numbers per element; None if only decoding reveals it.
        shape: Option<Vec<u64>>,
        /// The encoding of the numbers, once the bytes are decompressed: `plain`, `quantized` and others.
        encoding: String,
        /// True if the values are the file's own bytes.
        is_view: bool,
        /// First byte in the file, and the byte after the last one, of the block that holds it.
        byte_range: (u64, u64),
        /// The address of an earlier array that is stored in the same bytes.
        same_as: Option<String>,
    }
    fn repr(this) {{
        let shape = this.shape.as_ref().map(|shape| format!(" {shape:?}")).unwrap_or_default();
        format!("<meshmap.ArrayEntry {} {}{shape}>", this.address, this.dtype)
    }}
}

impl ArrayInfo {
    pub(crate) fn new(array: &meshmap::ArrayEntry) -> Self {
        Self {
            address: array.address.to_string(),
            name: array.name.clone(),
            dtype: crate::buffer::dtype(array.scalar).to_owned(),
            shape: array.shape.clone(),
            encoding: array.encoding.name().to_owned(),
            is_view: array.is_view(),
            byte_range: (array.range.start, array.range.end),
            same_as: array.same_as.as_ref().map(ToString::to_string),
        }
    }
}

value! {
    /// A rule of its format that a file breaks, and where.
    pub struct FindingInfo as "Finding" {
        /// The identifier of the rule.
        rule: String,
        /// `note`, `suspicious`, `forbidden` or `unusable`.
        severity: String,
        /// The address in the file.
        address: Option<String>,
        /// First byte, and the byte after the last one.
        byte_range: Option<(u64, u64)>,
        /// The number of places that it applies to.
        count: u64,
        /// The problem, on one line.
        message: String,
    }
    fn repr(this) {{
        let at = this.address.as_ref().map(|address| format!(" at {address}")).unwrap_or_default();
        format!("<meshmap.Finding {} ({}){at}: {}>", this.rule, this.severity, this.message)
    }}
}

impl FindingInfo {
    pub(crate) fn new(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.id.to_owned(),
            severity: finding.severity().name().to_owned(),
            address: finding.address.as_ref().map(ToString::to_string),
            byte_range: finding
                .byte_range
                .clone()
                .map(|range| (range.start, range.end)),
            count: finding.count,
            message: format!("{}: {}", finding.rule.name, finding.detail),
        }
    }
}
