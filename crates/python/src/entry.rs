//! The lists of a file: its meshes, its arrays, and the rules that it breaks.

use meshmap::{Finding, Role};
use pyo3::prelude::*;

use crate::again::{self, Reduced};

/// A mesh of a file, before it is read.
#[pyclass(frozen, get_all, module = "meshmap")]
pub struct Entry {
    /// Its address in the file.
    pub(crate) address: String,
    /// Its name, empty if it has none.
    pub(crate) name: String,
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

impl Entry {
    pub(crate) fn new(entry: meshmap::MeshEntry) -> Self {
        let address = entry.address.to_string();
        let is_drawn_by_default = entry.is_drawn_by_default();
        let (vertices, triangles) = entry.counts.map(|counts| (counts.vertices, counts.triangles)).unzip();
        Self {
            address,
            name: entry.name,
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
            name: String::new(),
            role: name.to_owned(),
            level,
            snapshot,
            seconds,
            is_drawn_by_default: role.is_drawn_by_default(),
            vertices: None,
            triangles: None,
        }
    }

    pub(crate) fn parts(self) -> (String, Option<u32>, Option<u64>, Option<f64>) {
        (self.role, self.level, self.snapshot, self.seconds)
    }
}

#[pymethods]
impl Entry {
    /// The value with these fields: for pickle.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "each is a field")]
    fn restore(
        address: String,
        name: String,
        role: String,
        level: Option<u32>,
        snapshot: Option<u64>,
        seconds: Option<f64>,
        is_drawn_by_default: bool,
        vertices: Option<u64>,
        triangles: Option<u64>,
    ) -> Self {
        Self { address, name, role, level, snapshot, seconds, is_drawn_by_default, vertices, triangles }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let this = slf.get();
        again::value(
            slf,
            (
                this.address.clone(),
                this.name.clone(),
                this.role.clone(),
                this.level,
                this.snapshot,
                this.seconds,
                this.is_drawn_by_default,
                this.vertices,
                this.triangles,
            ),
        )
    }

    fn __repr__(&self) -> String {
        let name = if self.name.is_empty() { String::new() } else { format!(" {:?}", self.name) };
        format!("<meshmap.Entry {}{name}, {}>", self.address, self.role)
    }
}

/// An array of a file, before it is read.
#[pyclass(frozen, get_all, name = "ArrayEntry", module = "meshmap")]
pub struct ArrayInfo {
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

#[pymethods]
impl ArrayInfo {
    /// The value with these fields: for pickle.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "each is a field")]
    fn restore(
        address: String,
        name: String,
        dtype: String,
        shape: Option<Vec<u64>>,
        encoding: String,
        is_view: bool,
        byte_range: (u64, u64),
        same_as: Option<String>,
    ) -> Self {
        Self { address, name, dtype, shape, encoding, is_view, byte_range, same_as }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let this = slf.get();
        again::value(
            slf,
            (
                this.address.clone(),
                this.name.clone(),
                this.dtype.clone(),
                this.shape.clone(),
                this.encoding.clone(),
                this.is_view,
                this.byte_range,
                this.same_as.clone(),
            ),
        )
    }

    fn __repr__(&self) -> String {
        let shape = self.shape.as_ref().map(|shape| format!(" {shape:?}")).unwrap_or_default();
        format!("<meshmap.ArrayEntry {} {}{shape}>", self.address, self.dtype)
    }
}

/// A rule of its format that a file breaks, and where.
#[pyclass(frozen, get_all, name = "Finding", module = "meshmap")]
pub struct FindingInfo {
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

impl FindingInfo {
    pub(crate) fn new(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.id.to_owned(),
            severity: finding.severity().name().to_owned(),
            address: finding.address.as_ref().map(ToString::to_string),
            byte_range: finding.byte_range.clone().map(|range| (range.start, range.end)),
            count: finding.count,
            message: format!("{}: {}", finding.rule.name, finding.detail),
        }
    }
}

#[pymethods]
impl FindingInfo {
    /// The value with these fields: for pickle.
    #[new]
    fn restore(
        rule: String,
        severity: String,
        address: Option<String>,
        byte_range: Option<(u64, u64)>,
        count: u64,
        message: String,
    ) -> Self {
        Self { rule, severity, address, byte_range, count, message }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let this = slf.get();
        again::value(
            slf,
            (
                this.rule.clone(),
                this.severity.clone(),
                this.address.clone(),
                this.byte_range,
                this.count,
                this.message.clone(),
            ),
        )
    }

    fn __repr__(&self) -> String {
        let at = self.address.as_ref().map(|address| format!(" at {address}")).unwrap_or_default();
        format!("<meshmap.Finding {} ({}){at}: {}>", self.rule, self.severity, self.message)
    }
}
