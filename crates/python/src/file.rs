//! `meshmap.File`: a file of any format.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use meshmap::{Address, MeshFile, Scalar};
use meshmap_catalog::Input;
use pyo3::BoundObject as _;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PySlice, PyString, PyTuple, PyType};

use crate::again::Reduced;
use crate::buffer;
use crate::call::{call, imported};
use crate::entry::{ArrayInfo, Entry, FindingInfo};
use crate::error::{OrRaise, refuse};
use crate::living::Handle;
use crate::mesh::Mesh;
use crate::picture::picture;
use crate::pool::detached;
use crate::source::Opened;
use crate::url::{of_path, shown_path};

/// A mesh file, read lazily.
///
/// A mapping from the addresses of its meshes to the meshes, in the order of the file. A context manager.
#[pyclass(subclass, frozen, module = "meshmap")]
pub struct File {
    opened: Opened,
    pub(crate) handle: Handle,
    /// `None` once the file is closed.
    state: Mutex<Option<(u32, MeshFile)>>,
}

impl File {
    pub(crate) fn new(opened: Opened, handle: Handle, file: MeshFile) -> Self {
        Self {
            opened,
            handle,
            state: Mutex::new(Some((std::process::id(), file))),
        }
    }

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

    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> meshmap::Result<T> + Send,
    ) -> PyResult<T> {
        self.handle.run(py, work)
    }

    /// The file's name without its extension, which outputs have; empty for memory and readers. The name of a file at a URL is the last part
    /// of the path of the URL: a query string may be a signature.
    pub(crate) fn stem(&self) -> String {
        let Some(path) = &self.opened.path else {
            return String::new();
        };
        Input::named(path).stem()
    }

    /// The folder that has the file.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        let path = self
            .opened
            .path
            .as_deref()
            .map(Path::new)
            .filter(|path| path.is_file())?;
        path.parent().map(Path::to_owned)
    }

    /// The path, or the URL without its secrets, as text for people.
    fn shown(&self) -> String {
        self.opened.path.as_ref().map_or_else(
            || "memory".to_owned(),
            |path| format!("{:?}", shown_path(path)),
        )
    }

    fn entries(&self, py: Python<'_>) -> PyResult<Vec<Entry>> {
        let file = self.get(py)?;
        self.run(py, || Ok(Entry::all(file.meshes()?)))
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
                    .find(|entry| !entry.name.is_empty() && *entry.name.to_string_lossy() == *named)
                    .map(|entry| entry.address))
            })?;
            return match found {
                Some(address) => Ok(address),
                None => text
                    .parse::<Address>()
                    .map_err(|_| PyKeyError::new_err(text.to_owned())),
            };
        }
        if key.is_instance_of::<pyo3::types::PyInt>() {
            let index: isize = key.extract()?;
            let found = self.run(py, || {
                let mut entries = file.meshes()?;
                let index = place(index, entries.len());
                Ok(index
                    .and_then(|index| entries.nth(index))
                    .map(|entry| entry.address))
            })?;
            return found
                .ok_or_else(|| PyIndexError::new_err(format!("the file has no mesh {index}")));
        }
        Err(PyTypeError::new_err(
            "a mesh is meant by its index, its address or its name",
        ))
    }
}

impl File {
    /// The mesh that a key means; `None` if no mesh has this address or name.
    fn lookup(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<Mesh>> {
        let file = self.get(py)?;
        let address = match self.address(py, key) {
            Err(error) if error.is_instance_of::<PyKeyError>(py) => return Ok(None),
            address => address?,
        };
        let view = self.run(py, || match file.mesh(&address) {
            Err(error) if error.kind() == meshmap::ErrorKind::OutOfRange => Ok(None),
            view => view.map(Some),
        })?;
        Ok(view.map(|view| Mesh::new(self.handle.clone(), view)))
    }
}

/// The result of a sequence for a key: an element for an index, a list of elements for a slice.
pub(crate) fn items<'py, T: IntoPyObject<'py, Error: Into<PyErr>>>(
    key: &Bound<'py, PyAny>,
    count: usize,
    what: impl FnOnce() -> String,
    item: impl Fn(usize) -> PyResult<T>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = key.py();
    if let Ok(slice) = key.cast::<PySlice>() {
        let range = slice.indices(isize::try_from(count).unwrap_or(isize::MAX))?;
        let indices = (0..range.slicelength)
            .map(|step| range.start + isize::try_from(step).unwrap_or(0) * range.step);
        let found = indices
            .map(|index| item(index.unsigned_abs()))
            .collect::<PyResult<Vec<T>>>()?;
        return Ok(PyList::new(py, found)?.into_any());
    }
    let index = key.extract::<isize>()?;
    let index = place(index, count).ok_or_else(|| PyIndexError::new_err(what()))?;
    Ok(item(index)?
        .into_pyobject(py)
        .map_err(Into::into)?
        .into_any()
        .into_bound())
}

/// The place in a list of `count` elements that an index means; negative ones count from the end.
pub(crate) fn place(index: isize, count: usize) -> Option<usize> {
    let index = if index < 0 {
        count.checked_sub(index.unsigned_abs())?
    } else {
        index.unsigned_abs()
    };
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
        let file = call(
            imported(py, &OPEN, "meshmap", "open")?,
            &PyTuple::new(py, [source])?,
            options,
        )?;
        if !file.is_instance(cls)? {
            let found = file.cast::<Self>()?.get().handle.format;
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
        self.handle.format.name()
    }

    /// The path that the file was opened from, or its URL, a `RemoteUrl`; None for memory and readers.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let path = self.opened.path.as_ref();
        path.map(|path| of_path(py, path)).transpose()
    }

    /// The length in bytes, if it is known.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let source = &self.opened.source;
        detached(py, false, || source.len()).or_raise(py)
    }

    /// True if `close` was called.
    #[getter]
    fn closed(&self) -> bool {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
    }

    /// The conventions of the format: axes, winding, texture origin and unit, as a dict of `up`, `front_face`, `v_origin` and
    /// `unit`, each None if it says nothing; `usual_up` is the up axis of most files.
    #[getter]
    fn conventions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.handle.conventions(py)
    }

    /// Rules of the format that the file breaks, as far as they are found by opening it.
    #[getter]
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<FindingInfo>> {
        Ok(self
            .get(py)?
            .findings()
            .iter()
            .map(FindingInfo::new)
            .collect())
    }

    /// Checks every value of the file. Gives all findings; one that is `unusable` stands for a part that cannot be decoded.
    fn validate(&self, py: Python<'_>) -> PyResult<Vec<FindingInfo>> {
        let file = self.get(py)?;
        Ok(self
            .run(py, || file.validate())?
            .iter()
            .map(FindingInfo::new)
            .collect())
    }

    /// The object that `meshmap info --json` prints, as a dict. `full` decodes and checks everything.
    #[pyo3(signature = (*, full=false))]
    fn info(&self, py: Python<'_>, full: bool) -> PyResult<Py<PyAny>> {
        static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let file = self.get(py)?;
        let path = self
            .opened
            .path
            .as_deref()
            .map(shown_path)
            .unwrap_or_default();
        let source = &self.opened.source;
        // Always in the pool: parts of it are looked at with options of their own.
        let text = self
            .handle
            .detached(py, true, || {
                let bytes = source.len()?;
                Ok::<_, meshmap::Error>(meshmap_catalog::info(&file, &path, bytes, full))
            })
            .or_raise(py)?;
        let text = text.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(call(
            imported(py, &LOADS, "json", "loads")?,
            &PyTuple::new(py, [text])?,
            None,
        )?
        .unbind())
    }

    /// Every array of the file, in its order: address, type, shape and encoding. Raises `Error` if a part of the file is damaged
    /// so that its arrays are unknown.
    fn arrays(&self, py: Python<'_>) -> PyResult<Vec<ArrayInfo>> {
        let file = self.get(py)?;
        self.run(py, || {
            file.arrays()
                .map(|array| Ok(ArrayInfo::new(&array?)))
                .collect()
        })
    }

    /// The array at an address such as `snapshots[3].positions`: a NumPy array of the type and shape that `arrays` lists.
    fn array(&self, py: Python<'_>, address: &str) -> PyResult<Py<PyAny>> {
        let file = self.get(py)?;
        let parsed = address
            .parse::<Address>()
            .map_err(|_| PyKeyError::new_err(address.to_owned()))?;
        let data = match self.run(py, || match file.array(&parsed) {
            Err(error) if error.kind() == meshmap::ErrorKind::OutOfRange => Ok(None),
            data => data.map(Some),
        })? {
            Some(data) => data,
            None => return Err(PyKeyError::new_err(address.to_owned())),
        };
        let shape = data.shape().iter().map(|number| usize::try_from(*number));
        let shape = shape
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let scalar = data.scalar();
        buffer::of_bytes(py, data.into_bytes(), scalar, &shape)
    }

    /// Every text of the file, by its address: names, materials, comments.
    fn texts(&self, py: Python<'_>) -> PyResult<std::collections::BTreeMap<String, String>> {
        let file = self.get(py)?;
        self.run(py, || {
            file.texts()
                .map(|text| text.map(|(address, text)| (address.to_string(), text.to_string())))
                .collect()
        })
    }

    /// The numbers of stored positions and of triangles of the mesh at an address.
    fn counts(&self, py: Python<'_>, address: &str) -> PyResult<(u64, u64)> {
        let file = self.get(py)?;
        let address = address
            .parse::<Address>()
            .map_err(|_| PyKeyError::new_err(address.to_owned()))?;
        let counts = self.run(py, || file.counts(&address))?;
        Ok((counts.vertices, counts.triangles))
    }

    /// The meshes: address, name and role of each, in the order of the file. Reads no geometry.
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
                    let drawn = file.meshes()?.find(|entry| entry.is_drawn_by_default());
                    Ok(drawn.or(file.meshes()?.next()).map(|entry| entry.address))
                })?;
                first.ok_or_else(|| PyIndexError::new_err("the file has no mesh"))?
            }
        };
        let view = self.run(py, || file.mesh(&address))?;
        Ok(Mesh::new(self.handle.clone(), view))
    }

    /// Like `mesh`. Raises KeyError if no mesh has this address or name.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Mesh> {
        self.lookup(py, key)?
            .ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    /// Like `file[key]`; `default` if no mesh has this address or name.
    #[pyo3(name = "get", signature = (key, default=None, /))]
    fn get_item<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.lookup(py, key)? {
            Some(mesh) => Ok(Some(Bound::new(py, mesh)?.into_any())),
            None => Ok(default),
        }
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
        let Ok(key) = key.cast::<PyString>() else {
            return Ok(false);
        };
        let key = key.to_str()?;
        Ok(self
            .entries(py)?
            .iter()
            .any(|entry| entry.address == key || (!key.is_empty() && entry.name.as_str() == key)))
    }

    /// The addresses of the meshes.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self
            .entries(py)?
            .into_iter()
            .map(|entry| entry.address)
            .collect())
    }

    /// The meshes, one after the other.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let keys = slf.get().keys(slf.py())?;
        slf.py()
            .import("builtins")?
            .call_method1("map", (slf.getattr("mesh")?, keys))
    }

    /// Pairs of address and mesh, one after the other.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let keys = slf.get().keys(slf.py())?;
        let meshes = Self::values(slf)?;
        slf.py()
            .import("builtins")?
            .call_method1("zip", (keys, meshes))
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
            source.read(start..stop)
        })?;
        let count = bytes.len();
        buffer::of_bytes(py, bytes, Scalar::U8, &[count])
    }

    /// The reads so far: a tuple of the number of reads and of bytes. Maps and memory read nothing.
    #[getter]
    fn read_stats(&self) -> (u64, u64) {
        let stats = self.opened.source.read_stats();
        (stats.reads, stats.bytes)
    }

    /// A picture of the file, as PNG, for notebooks; None if it cannot be drawn.
    fn _repr_png_<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        picture(py, &self.handle, None)
    }

    /// True if the file at the path has been changed or replaced since it was opened.
    fn is_stale(&self, py: Python<'_>) -> PyResult<bool> {
        let source = &self.opened.source;
        self.run(py, || source.is_stale())
    }

    /// Closes the file. Meshes and arrays that were taken out of it stay as they are.
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
        self.handle.origin.reduced(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let py = slf.py();
        let this = slf.get();
        let class = slf.get_type().name()?;
        if this.closed() {
            return Ok(format!("<meshmap.{class} {}, closed>", this.shown()));
        }
        let file = this.get(py)?;
        let holds = detached(py, false, || holds(&file))?;
        Ok(format!("<meshmap.{class} {}: {holds}>", this.shown()))
    }
}

/// A file in a few words, from what opening read.
fn holds(file: &MeshFile) -> String {
    let many = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ if what.ends_with('h') => format!("{count} {what}es"),
        _ if what.ends_with('y') => format!("{count} {}ies", what.trim_end_matches('y')),
        _ => format!("{count} {what}s"),
    };
    if let Some(proxy) = file.as_cgeo() {
        let count = proxy.snapshot_count();
        let name = proxy
            .object_name()
            .map(|name| format!("{:?}, ", name.to_string_lossy()))
            .unwrap_or_default();
        let seconds = |timing: meshmap::cgeo::Timing| {
            format!(", {} s", timing.step() * (count.saturating_sub(1)) as f64)
        };
        let time = proxy
            .timing()
            .map(seconds)
            .filter(|_| count > 1)
            .unwrap_or_default();
        return format!("Corona proxy, {name}{}{time}", many(count, "snapshot"));
    }
    if let Some(model) = file.as_iqm() {
        return format!(
            "IQM {}, {}, {} vertices, {} triangles, {}, {}",
            model.version(),
            many(model.meshes().len(), "mesh"),
            model.vertex_count(),
            model.triangle_count(),
            many(model.joints().len(), "joint"),
            many(model.anims().len(), "animation"),
        );
    }
    if let Some(bodies) = file.as_openctm() {
        let count = bodies.meshes().len();
        let of = bodies.mesh(0).map(|mesh| {
            let method = format!("{:?}", mesh.method()).to_uppercase();
            format!(
                " {method}, {} vertices, {} triangles",
                mesh.vertex_count(),
                mesh.triangle_count()
            )
        });
        let others = if count > 1 {
            format!(", {}", many(count, "body"))
        } else {
            String::new()
        };
        return format!("OpenCTM{}{others}", of.unwrap_or_default());
    }
    if let Some(asset) = file.as_slmesh() {
        let blocks: Vec<String> = asset
            .entries()
            .filter(|entry| matches!(entry.range(), Ok(Some(_))))
            .take(16)
            .map(|entry| entry.name().to_string_lossy().into_owned())
            .collect();
        return format!("Second Life mesh, {}", blocks.join(", "));
    }
    match file.as_tmf() {
        Some(document) => format!("TMF, {}", many(document.meshes().len(), "mesh")),
        None => file.format().to_string(),
    }
}
