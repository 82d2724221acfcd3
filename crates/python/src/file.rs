//! `meshmap.File`: a file of any format.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use meshmap::{Address, Finding, Format, MeshFile, Options, Parallelism, Role, Scalar, Source};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};

use crate::buffer;
use crate::cgeo::CGeoFile;
use crate::error::{OrRaise, refuse};
use crate::iqm::IqmFile;
use crate::mesh::Mesh;
use crate::openctm::OpenCtmFile;
use crate::pool::detached;
use crate::slmesh::SlMeshFile;
use crate::source::{How, Opened};
use crate::tmf::TmfFile;

/// What opens a file once more, in a process that was forked.
#[derive(Clone)]
pub(crate) struct Handle {
    source: Source,
    options: Options,
    /// Whether work on it is worth several threads.
    pub(crate) is_large: bool,
}

impl Handle {
    fn new(source: Source, options: Options) -> meshmap::Result<Self> {
        const LARGE: u64 = 256 << 10;
        let is_large =
            options.parallelism != Parallelism::Off && source.len()?.is_none_or(|bytes| bytes > LARGE);
        let parallelism = if is_large { Parallelism::Rayon } else { Parallelism::Off };
        Ok(Self { source, options: options.with_parallelism(parallelism), is_large })
    }

    fn open(&self) -> meshmap::Result<MeshFile> {
        MeshFile::from_source_with(self.source.clone(), &self.options)
    }

    /// Runs `work` without the interpreter's lock, on as many threads as the file is worth.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> meshmap::Result<T> + Send,
    ) -> PyResult<T> {
        detached(py, self.is_large, work).or_raise(py)
    }
}

/// Something of a file that this process may use.
///
/// What a parent was decoding when it was forked stays as it was for ever, so a child makes its own. The lock is held only
/// with the interpreter's lock, and forks happen with it: no child finds it locked.
pub(crate) struct Living<T> {
    pub(crate) handle: Handle,
    state: Mutex<(u32, T)>,
}

impl<T: Clone + Send> Living<T> {
    pub(crate) fn new(handle: Handle, value: T) -> Self {
        Self { handle, state: Mutex::new((std::process::id(), value)) }
    }

    /// Something that does not depend on the process.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner).1)
    }

    pub(crate) fn get(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&MeshFile) -> meshmap::Result<Option<T>> + Send,
    ) -> PyResult<T> {
        let process = std::process::id();
        {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.0 == process {
                return Ok(state.1.clone());
            }
        }
        let handle = &self.handle;
        let made = handle.run(py, || make(&handle.open()?))?;
        let value =
            made.ok_or_else(|| PyValueError::new_err("the file has been changed since it was opened"))?;
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = (process, value.clone());
        Ok(value)
    }
}

/// A mesh file, read lazily.
///
/// A mapping from the addresses of its meshes to the meshes, in the order of the file. A context manager.
#[pyclass(subclass, frozen, module = "meshmap")]
pub struct File {
    opened: Opened,
    how: How,
    handle: Handle,
    format: Format,
    /// `None` once the file is closed.
    state: Mutex<Option<(u32, MeshFile)>>,
}

/// Opens what the arguments mean, as the class of its format.
pub(crate) fn open(py: Python<'_>, opened: Opened, how: How) -> PyResult<Py<PyAny>> {
    let source = opened.source.clone();
    let options = how.options;
    let make = move || {
        let handle = Handle::new(source, options)?;
        let file = handle.open()?;
        Ok::<_, meshmap::Error>((handle, file))
    };
    // Strict opening checks every value.
    let is_strict = how.options.strictness == meshmap::Strictness::Strict;
    let parallel = is_strict && options.parallelism != Parallelism::Off;
    let (handle, file) = detached(py, parallel, make).or_raise(py)?;
    let format = file.format();
    let state = Mutex::new(Some((std::process::id(), file)));
    let base = PyClassInitializer::from(File { opened, how, handle, format, state });
    Ok(match format {
        Format::CGeo => Py::new(py, base.add_subclass(CGeoFile))?.into_any(),
        Format::Iqm => Py::new(py, base.add_subclass(IqmFile))?.into_any(),
        Format::OpenCtm => Py::new(py, base.add_subclass(OpenCtmFile))?.into_any(),
        Format::SlMesh => Py::new(py, base.add_subclass(SlMeshFile))?.into_any(),
        Format::Tmf => Py::new(py, base.add_subclass(TmfFile))?.into_any(),
        _ => Py::new(py, base)?.into_any(),
    })
}

impl File {
    /// The file, as this process may use it.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<MeshFile> {
        let process = std::process::id();
        {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match &*state {
                None => return Err(PyValueError::new_err("the file is closed")),
                Some((of, file)) if *of == process => return Ok(file.clone()),
                Some(_) => {}
            }
        }
        let file = self.handle.run(py, || self.handle.open())?;
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some((process, file.clone()));
        Ok(file)
    }

    pub(crate) fn living<T: Clone + Send>(&self, value: T) -> Living<T> {
        Living::new(self.handle.clone(), value)
    }

    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> meshmap::Result<T> + Send,
    ) -> PyResult<T> {
        self.handle.run(py, work)
    }

    /// The path, as text for people.
    fn shown(&self) -> String {
        self.opened.path.as_ref().map_or_else(|| "memory".to_owned(), |path| format!("{path:?}"))
    }

    fn entries(&self, py: Python<'_>) -> PyResult<Vec<Entry>> {
        let file = self.get(py)?;
        self.run(py, || Ok(file.meshes()?.map(Entry::new).collect()))
    }

    /// The address that a key means: an index, an address, or the name of a mesh.
    fn address(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Address> {
        let file = self.get(py)?;
        if let Ok(text) = key.cast::<PyString>() {
            let text = text.to_str()?;
            let named = text.to_owned();
            let found = self.run(py, || {
                Ok(file
                    .meshes()?
                    .find(|entry| !entry.name.is_empty() && entry.name == named)
                    .map(|entry| entry.address))
            })?;
            return match found {
                Some(address) => Ok(address),
                None => text.parse::<Address>().map_err(|_| PyKeyError::new_err(text.to_owned())),
            };
        }
        if key.is_instance_of::<pyo3::types::PyInt>() {
            let index: isize = key.extract()?;
            let found = self.run(py, || {
                let mut entries = file.meshes()?;
                let index = place(index, entries.len());
                Ok(index.and_then(|index| entries.nth(index)).map(|entry| entry.address))
            })?;
            return found.ok_or_else(|| PyIndexError::new_err(format!("the file has no mesh {index}")));
        }
        Err(PyTypeError::new_err("a mesh is meant by its index, its address or its name"))
    }
}

/// What makes a file again: a function and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Py<PyAny>, bool, Bound<'py, PyDict>));

/// The place in a list of so many that an index means; negative ones count from the end.
pub(crate) fn place(index: isize, count: usize) -> Option<usize> {
    let index = if index < 0 { count.checked_sub(index.unsigned_abs())? } else { index.unsigned_abs() };
    (index < count).then_some(index)
}

/// An iterator over the elements of a sequence.
pub(crate) fn each<'py>(sequence: &Bound<'py, PyAny>, count: usize) -> PyResult<Bound<'py, PyAny>> {
    let builtins = sequence.py().import("builtins")?;
    let indices = builtins.call_method1("range", (count,))?;
    builtins.call_method1("map", (sequence.getattr("__getitem__")?, indices))
}

#[pymethods]
impl File {
    /// Opens a file of this class's format; see `meshmap.open`.
    #[classmethod]
    #[pyo3(signature = (source=None, /, **options))]
    fn open(
        cls: &Bound<'_, PyType>,
        source: Option<Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        static OPEN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = cls.py();
        let file = OPEN.import(py, "meshmap", "open")?.call((source,), options)?;
        if !file.is_instance(cls)? {
            let found = file.cast::<Self>()?.get().format;
            return Err(refuse(
                py,
                "mismatch",
                format!("expected a {}, found a file of {found}", cls.name()?),
            ));
        }
        Ok(file.unbind())
    }

    /// The name of the format: `cgeo`, `iqm`, `openctm`, `slmesh` or `tmf`.
    #[getter]
    fn format(&self) -> &'static str {
        self.format.name()
    }

    /// The path that the file was opened from; None for memory and readers.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.opened
            .path
            .as_ref()
            .map(|path| Ok(path.as_os_str().into_pyobject(py)?.into_any().unbind()))
            .transpose()
    }

    /// The length in bytes, where it is known.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let source = &self.opened.source;
        detached(py, false, || source.len()).or_raise(py)
    }

    /// Whether `close` was called.
    #[getter]
    fn closed(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// What the format says of axes, winding, texture origin and unit: a dict of `up`, `front_face`, `v_origin` and
    /// `unit`, each None where it says nothing.
    #[getter]
    fn conventions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        use meshmap::{Axis, LengthUnit, VOrigin, Winding};
        let conventions = self.format.conventions();
        let dict = PyDict::new(py);
        let up = conventions.up.map(|axis| match axis {
            Axis::X => "x",
            Axis::Y => "y",
            _ => "z",
        });
        dict.set_item("up", up)?;
        let front = conventions.front_face.map(|winding| match winding {
            Winding::Clockwise => "clockwise",
            _ => "counter-clockwise",
        });
        dict.set_item("front_face", front)?;
        let origin = conventions.v_origin.map(|origin| match origin {
            VOrigin::Top => "top",
            _ => "bottom",
        });
        dict.set_item("v_origin", origin)?;
        let unit = conventions.unit.map(|unit| match unit {
            LengthUnit::ObjectSize => "object size",
            _ => "in file",
        });
        dict.set_item("unit", unit)?;
        Ok(dict)
    }

    /// Rules of the format that the file breaks, as far as opening it tells.
    #[getter]
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<FindingInfo>> {
        Ok(self.get(py)?.findings().iter().map(FindingInfo::new).collect())
    }

    /// Checks every value of the file. Gives all findings; raises `Error` where something cannot be decoded.
    fn validate(&self, py: Python<'_>) -> PyResult<Vec<FindingInfo>> {
        let file = self.get(py)?;
        Ok(self.run(py, || file.validate())?.iter().map(FindingInfo::new).collect())
    }

    /// The object that `meshmap info --json` prints, as a dict. `full` reads whatever makes numbers exact.
    #[pyo3(signature = (*, full=false))]
    fn info(&self, py: Python<'_>, full: bool) -> PyResult<Py<PyAny>> {
        static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let file = self.get(py)?;
        let path = self.opened.path.clone().unwrap_or_default();
        let source = &self.opened.source;
        // Always in the pool: parts of it are looked at with options of their own.
        let text = detached(py, true, || {
            let bytes = source.len()?;
            Ok::<_, meshmap::Error>(meshmap_cli::info(&file, Path::new(&path), bytes, full))
        })
        .or_raise(py)?;
        let text = text.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(LOADS.import(py, "json", "loads")?.call1((text,))?.unbind())
    }

    /// What meshes there are: address, name and role of each, in the order of the file. Reads no geometry.
    fn meshes(&self, py: Python<'_>) -> PyResult<Vec<Entry>> {
        self.entries(py)
    }

    /// A mesh by its index in `meshes()`, its address (`"snapshots[12]"`, `"high_lod.faces[0]"`), or its name.
    #[pyo3(signature = (key=None))]
    fn mesh(&self, py: Python<'_>, key: Option<&Bound<'_, PyAny>>) -> PyResult<Mesh> {
        let file = self.get(py)?;
        let address = match key {
            Some(key) => self.address(py, key)?,
            None => {
                let first = self.run(py, || {
                    let drawn = file.meshes()?.find(|entry| entry.role.is_drawn_by_default());
                    Ok(drawn.or(file.meshes()?.next()).map(|entry| entry.address))
                })?;
                first.ok_or_else(|| PyIndexError::new_err("the file has no mesh"))?
            }
        };
        let view = self.run(py, || file.mesh(&address))?;
        Ok(Mesh::new(self.living(view)))
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Mesh> {
        self.mesh(py, Some(key))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let file = self.get(py)?;
        self.run(py, || Ok(file.meshes()?.len()))
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
        self.keys(py)?.into_pyobject(py)?.try_iter()
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(key) = key.cast::<PyString>() else { return Ok(false) };
        let key = key.to_str()?;
        Ok(self
            .entries(py)?
            .iter()
            .any(|entry| entry.address == key || (!key.is_empty() && entry.name == key)))
    }

    /// The addresses of the meshes.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.entries(py)?.into_iter().map(|entry| entry.address).collect())
    }

    /// The meshes, one after the other.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let keys = slf.get().keys(slf.py())?;
        slf.py().import("builtins")?.call_method1("map", (slf.getattr("mesh")?, keys))
    }

    /// Pairs of address and mesh, one after the other.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let keys = slf.get().keys(slf.py())?;
        let meshes = Self::values(slf)?;
        slf.py().import("builtins")?.call_method1("zip", (keys, meshes))
    }

    /// Bytes of the file, `uint8 [stop - start]`, read-only; of a map, the pages of the file themselves.
    #[pyo3(signature = (start=0, stop=None))]
    fn read(&self, py: Python<'_>, start: u64, stop: Option<u64>) -> PyResult<Py<PyAny>> {
        drop(self.get(py)?);
        let source = &self.opened.source;
        let bytes = self.run(py, || {
            let stop = match stop {
                Some(stop) => stop,
                None => source.len()?.unwrap_or(start),
            };
            source.get(start..stop, "file")
        })?;
        let count = bytes.len();
        buffer::of_bytes(py, bytes, Scalar::U8, &[count])
    }

    /// What was read so far: a tuple of the number of reads and of bytes. Maps and memory read nothing.
    #[getter]
    fn read_stats(&self) -> (u64, u64) {
        let stats = self.opened.source.read_stats();
        (stats.reads, stats.bytes)
    }

    /// Whether the file at the path has been changed or replaced since it was opened.
    fn is_stale(&self, py: Python<'_>) -> PyResult<bool> {
        let source = &self.opened.source;
        self.run(py, || source.is_stale())
    }

    /// Lets go of the file. Meshes and arrays that were taken out of it stay as they are.
    fn close(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close();
    }

    /// By path, memory or reader: the file is opened again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        use meshmap::{Checksums, Limits, Strictness};
        let options = PyDict::new(py);
        let own = &self.how.options;
        options.set_item("mmap", self.how.mmap)?;
        options.set_item("strict", own.strictness == Strictness::Strict)?;
        options.set_item("parallel", own.parallelism != Parallelism::Off)?;
        options.set_item("checksums", own.checksums == Checksums::Verify)?;
        let usual = Limits::default();
        let said = |set: u64, usual: u64| (set != usual).then_some(set);
        options.set_item("max_block_bytes", said(own.limits.max_block_bytes, usual.max_block_bytes))?;
        options.set_item("max_total_bytes", said(own.limits.max_total_bytes, usual.max_total_bytes))?;
        if self.opened.is_reader {
            options.set_item("size", self.opened.size)?;
        }
        let reopen = py.import("meshmap")?.getattr("_reopen")?;
        Ok((reopen, (self.opened.origin.clone_ref(py), self.opened.is_reader, options)))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (py, this) = (slf.py(), slf.get());
        let class = slf.get_type().name()?;
        let Ok(file) = this.get(py) else {
            return Ok(format!("<meshmap.{class} {}, closed>", this.shown()));
        };
        let holds = detached(py, false, || holds(&file))?;
        Ok(format!("<meshmap.{class} {}: {holds}>", this.shown()))
    }
}

/// What a file is, in a few words, from what opening read.
fn holds(file: &MeshFile) -> String {
    let many = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ if what.ends_with('h') => format!("{count} {what}es"),
        _ if what.ends_with('y') => format!("{count} {}ies", what.trim_end_matches('y')),
        _ => format!("{count} {what}s"),
    };
    match file {
        MeshFile::CGeo(proxy) => {
            let name =
                proxy.object_name().map(|name| format!("{:?}, ", name.to_string_lossy())).unwrap_or_default();
            let time = proxy
                .timing()
                .map(|timing| format!(", {} s", timing.step() * (proxy.len().saturating_sub(1)) as f64));
            format!(
                "Corona proxy, {name}{}{}",
                many(proxy.len(), "snapshot"),
                time.filter(|_| proxy.len() > 1).unwrap_or_default()
            )
        }
        MeshFile::Iqm(model) => format!(
            "IQM {}, {}, {} vertices, {} triangles, {}, {}",
            model.version(),
            many(model.len(), "mesh"),
            model.vertex_count(),
            model.triangle_count(),
            many(model.joint_count(), "joint"),
            many(model.anims().len(), "animation"),
        ),
        MeshFile::OpenCtm(bodies) => {
            let of = bodies.get(0).map(|mesh| {
                let method = format!("{:?}", mesh.method()).to_uppercase();
                format!(" {method}, {} vertices, {} triangles", mesh.vertex_count(), mesh.triangle_count())
            });
            let others =
                if bodies.len() > 1 { format!(", {}", many(bodies.len(), "body")) } else { String::new() };
            format!("OpenCTM{}{others}", of.unwrap_or_default())
        }
        MeshFile::SlMesh(asset) => {
            let blocks: Vec<String> = asset
                .entries()
                .filter(|entry| matches!(entry.range(), Ok(Some(_))))
                .take(16)
                .map(|entry| entry.name().to_string_lossy().into_owned())
                .collect();
            format!("Second Life mesh, {}", blocks.join(", "))
        }
        MeshFile::Tmf(document) => format!("TMF, {}", many(document.len(), "mesh")),
        other => other.format().to_string(),
    }
}

/// A mesh of a file, before it is read.
#[pyclass(frozen, get_all, module = "meshmap")]
pub struct Entry {
    /// Where it is in the file.
    address: String,
    /// Its name, empty where it has none.
    name: String,
    /// `geometry`, `lod`, `physics` or `snapshot`.
    role: &'static str,
    /// The level of detail, 0 the finest; None for other roles.
    level: Option<u32>,
    /// The index of the snapshot; None for other roles.
    snapshot: Option<u64>,
    /// The time of the snapshot in seconds, where the file has times.
    seconds: Option<f64>,
    /// Whether a viewer draws it unless told otherwise.
    is_drawn_by_default: bool,
}

impl Entry {
    fn new(entry: meshmap::MeshEntry) -> Self {
        let address = entry.address.to_string();
        Self { address, name: entry.name, ..Self::of_role(entry.role) }
    }

    /// What a role says.
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
            role: name,
            level,
            snapshot,
            seconds,
            is_drawn_by_default: role.is_drawn_by_default(),
        }
    }

    pub(crate) fn parts(self) -> (&'static str, Option<u32>, Option<u64>, Option<f64>) {
        (self.role, self.level, self.snapshot, self.seconds)
    }
}

#[pymethods]
impl Entry {
    fn __repr__(&self) -> String {
        let name = if self.name.is_empty() { String::new() } else { format!(" {:?}", self.name) };
        format!("<meshmap.Entry {}{name}, {}>", self.address, self.role)
    }
}

/// A rule of its format that a file breaks, and where.
#[pyclass(frozen, get_all, name = "Finding", module = "meshmap")]
pub struct FindingInfo {
    /// The identifier of the rule.
    rule: &'static str,
    /// `note`, `suspicious`, `forbidden` or `unusable`.
    severity: &'static str,
    /// Where in the file, as an address.
    address: Option<String>,
    /// First byte, and the byte after the last one.
    byte_range: Option<(u64, u64)>,
    /// How often.
    count: u64,
    /// What is wrong, on one line.
    message: String,
}

impl FindingInfo {
    pub(crate) fn new(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.id,
            severity: finding.severity().name(),
            address: finding.address.as_ref().map(ToString::to_string),
            byte_range: finding.byte_range.clone().map(|range| (range.start, range.end)),
            count: finding.count,
            message: format!("{}: {}", finding.rule.name, finding.detail),
        }
    }
}

#[pymethods]
impl FindingInfo {
    fn __repr__(&self) -> String {
        let at = self.address.as_ref().map(|address| format!(" at {address}")).unwrap_or_default();
        format!("<meshmap.Finding {} ({}){at}: {}>", self.rule, self.severity, self.message)
    }
}
