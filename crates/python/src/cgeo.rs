//! CGeo: snapshots, motion, and the cache of decoded snapshots.

use std::cell::Cell;
use std::sync::Arc;

use meshmap::cgeo::{self, Proxy, SnapshotCache};
use meshmap::{Address, Array, Cause, MeshFile, Scalar, Scratch};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::again::Reduced;
use crate::buffer::{self, Floats};
use crate::decoded::{Decoded, PartNames, Stored, Triangles};
use crate::file::{File, each, items, place};
use crate::living::Living;
use crate::mesh::Mesh;
use crate::picture::picture;
use crate::pool::detached;
use crate::timing::{TimingInfo, timing_of};

/// A Corona proxy: snapshots of one object over time.
#[pyclass(extends = File, frozen, module = "meshmap")]
pub struct CGeoFile;

fn proxy(file: &Bound<'_, CGeoFile>) -> PyResult<Proxy> {
    let py = file.py();
    let file = file.as_super().get().get(py)?;
    file.as_cgeo()
        .cloned()
        .ok_or_else(|| PyValueError::new_err("the file is no CGeo file"))
}

/// Working memory of this thread.
#[derive(Default)]
struct Work {
    values: Vec<[f32; 3]>,
    scratch: Scratch,
}

impl Work {
    /// Runs `work` with the memory of this thread, and releases it if it has become large.
    fn with<R>(run: impl FnOnce(&mut Self) -> R) -> R {
        const KEPT: usize = 16 << 20;
        thread_local!(static WORK: Cell<Work> = Cell::default());
        let mut work = WORK.take();
        let result = run(&mut work);
        if work.values.capacity() > KEPT {
            work.values = Vec::new();
        }
        work.values.clear();
        WORK.set(work);
        result
    }
}

/// Decodes triples into the caller's array, or a new one.
fn triples(
    py: Python<'_>,
    out: Option<Bound<'_, PyAny>>,
    shape: impl FnOnce(usize) -> Vec<usize>,
    decode: impl FnOnce(&mut Vec<[f32; 3]>, &mut Scratch) -> PyResult<()>,
) -> PyResult<Py<PyAny>> {
    let Some(out) = out.map(Floats::to_fill).transpose()? else {
        let mut values = Vec::new();
        Work::with(|work| decode(&mut values, &mut work.scratch))?;
        let count = values.len();
        return buffer::of_bytes(
            py,
            Array::from_vec(values).into_bytes(),
            Scalar::F32,
            &shape(count),
        );
    };
    Work::with(|work| {
        decode(&mut work.values, &mut work.scratch)?;
        out.fill(work.values.as_flattened(), &shape(work.values.len()))
    })
}

/// The positions, or the normals, at several times.
fn motion(
    file: &Bound<'_, CGeoFile>,
    times: &[f64],
    wrap: &str,
    timing: Option<&Bound<'_, TimingInfo>>,
    cache: Option<&Bound<'_, Cache>>,
    out: Option<Bound<'_, PyAny>>,
    are_normals: bool,
) -> PyResult<Py<PyAny>> {
    let py = file.py();
    let proxy = proxy(file)?;
    let (timing, wrap) = (timing_of(py, &proxy, timing)?, crate::timing::wrap(wrap)?);
    let cache = cache.map(|cache| cache.get().get()).transpose()?;
    let file = file.as_super().get();
    let shape = |count: usize| vec![times.len(), count.checked_div(times.len()).unwrap_or(0), 3];
    triples(py, out, shape, |values, scratch| {
        file.run(py, || match (cache, are_normals) {
            (Some(cache), false) => cache.positions_at(&proxy, &timing, times, wrap, values),
            (Some(cache), true) => cache.normals_at(&proxy, &timing, times, wrap, values),
            (None, false) => proxy.positions_at(&timing, times, wrap, values, scratch),
            (None, true) => proxy.normals_at(&timing, times, wrap, values, scratch),
        })
    })
}

#[pymethods]
impl CGeoFile {
    /// The snapshots, a sequence.
    #[getter]
    fn snapshots(slf: Bound<'_, Self>) -> PyResult<Snapshots> {
        let count = proxy(&slf)?.snapshot_count();
        Ok(Snapshots {
            file: slf.unbind(),
            count,
        })
    }

    /// The times of the snapshots; None if the file does not store them.
    #[getter]
    fn timing(slf: &Bound<'_, Self>) -> PyResult<Option<TimingInfo>> {
        Ok(proxy(slf)?.timing().map(TimingInfo))
    }

    /// The name of the object, if the file has one.
    #[getter]
    fn object_name(slf: &Bound<'_, Self>) -> PyResult<Option<String>> {
        Ok(proxy(slf)?
            .object_name()
            .map(|name| name.to_string_lossy().into_owned()))
    }

    /// The name of the material, if the file has one.
    #[getter]
    fn material_name(slf: &Bound<'_, Self>) -> PyResult<Option<String>> {
        Ok(proxy(slf)?
            .properties()
            .get("Original material name")
            .map(|name| name.to_string_lossy().into_owned()))
    }

    /// The version that the header says.
    #[getter]
    fn version(slf: &Bound<'_, Self>) -> PyResult<Option<i64>> {
        Ok(proxy(slf)?.version())
    }

    /// The number that names the proxy.
    #[getter]
    fn id(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Ok(proxy(slf)?.id())
    }

    /// The property `scale` of the header.
    #[getter]
    fn scale(slf: &Bound<'_, Self>) -> PyResult<Option<f64>> {
        Ok(proxy(slf)?.scale())
    }

    /// Millimetres per unit; None if the file does not store a unit.
    #[getter]
    fn unit_millimeters(slf: &Bound<'_, Self>) -> PyResult<Option<f64>> {
        Ok(proxy(slf)?.unit_length().map(|unit| unit.millimeters))
    }

    /// The properties of the header, in the order of the file.
    #[getter]
    fn properties<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(slf.py());
        for (name, value) in proxy(slf)?.properties().iter() {
            dict.set_item(name.to_string_lossy(), value.to_string_lossy())?;
        }
        Ok(dict)
    }

    /// The positions at several times: `float32 [times, vertices, 3]`, interpolated between snapshots.
    ///
    /// `times` are seconds. `wrap` selects the positions before the first and after the last snapshot: `clamp`, `loop` or
    /// `ping-pong`. `timing` replaces the times of the file, or adds them if the file has none. Each snapshot is decoded once for the call; with a
    /// `cache`, once for all calls. `out`, a writable float32 array of exactly that shape in native byte order, is filled and
    /// returned if it is given.
    #[pyo3(signature = (times, *, wrap="clamp", timing=None, cache=None, out=None))]
    fn positions_at(
        slf: &Bound<'_, Self>,
        times: Vec<f64>,
        wrap: &str,
        timing: Option<&Bound<'_, TimingInfo>>,
        cache: Option<&Bound<'_, Cache>>,
        out: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        motion(slf, &times, wrap, timing, cache, out, false)
    }

    /// The normals at several times, of length 1: as `positions_at`. Triangles have separate indices of normals.
    #[pyo3(signature = (times, *, wrap="clamp", timing=None, cache=None, out=None))]
    fn normals_at(
        slf: &Bound<'_, Self>,
        times: Vec<f64>,
        wrap: &str,
        timing: Option<&Bound<'_, TimingInfo>>,
        cache: Option<&Bound<'_, Cache>>,
        out: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        motion(slf, &times, wrap, timing, cache, out, true)
    }

    /// The velocity of each vertex at a snapshot, in units per second: `float32 [vertices, 3]`, by central differences. `out` is
    /// filled as in `positions_at`.
    #[pyo3(signature = (snapshot, *, timing=None, cache=None, out=None))]
    fn velocities(
        slf: &Bound<'_, Self>,
        snapshot: isize,
        timing: Option<&Bound<'_, TimingInfo>>,
        cache: Option<&Bound<'_, Cache>>,
        out: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let proxy = proxy(slf)?;
        let count = proxy.snapshot_count();
        let snapshot = place(snapshot, count)
            .ok_or_else(|| PyIndexError::new_err(format!("the file has {count} snapshots")))?;
        let timing = timing_of(py, &proxy, timing)?;
        let cache = cache.map(|cache| cache.get().get()).transpose()?;
        let file = slf.as_super().get();
        triples(
            py,
            out,
            |count| vec![count, 3],
            |values, scratch| {
                file.run(py, || match cache {
                    Some(cache) => cache.velocities(&proxy, &timing, snapshot, values),
                    None => proxy.velocities(&timing, snapshot, values, scratch),
                })
            },
        )
    }
}

/// The snapshots of a CGeo file: a sequence.
#[pyclass(frozen, sequence, module = "meshmap")]
pub struct Snapshots {
    file: Py<CGeoFile>,
    count: usize,
}

#[pymethods]
impl Snapshots {
    fn __len__(&self) -> usize {
        self.count
    }

    /// A snapshot by its index, or a list of snapshots by a slice. Negative indices count from the end.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let file = self.file.bind(py);
        let proxy = proxy(file)?;
        let file = file.as_super().get();
        items(
            index,
            self.count,
            || format!("the file has {} snapshots", self.count),
            |index| {
                let snapshot = file.run(py, || proxy.snapshot(index))?;
                let again = move |file: &MeshFile| {
                    file.as_cgeo()
                        .map(|proxy| proxy.snapshot(index))
                        .transpose()
                };
                Ok(Snapshot {
                    snapshot: Living::new(file.handle.clone(), snapshot, again),
                    index,
                })
            },
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        self.file
            .bind(py)
            .as_super()
            .get()
            .handle
            .origin
            .part(py, &[("snapshots", None)])
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        each(slf.as_any(), slf.get().count)
    }

    fn __repr__(&self) -> String {
        format!("<meshmap.Snapshots: {}>", self.count)
    }
}

/// A snapshot of a CGeo file. Nothing is decoded before it is asked for.
#[pyclass(frozen, module = "meshmap")]
pub struct Snapshot {
    snapshot: Living<cgeo::Snapshot>,
    index: usize,
}

impl Snapshot {
    fn stored(&self) -> Stored {
        Stored {
            origin: Arc::clone(&self.snapshot.handle.origin),
            index: self.index,
        }
    }

    fn triples(
        &self,
        py: Python<'_>,
        out: Option<Bound<'_, PyAny>>,
        view: impl FnOnce(&cgeo::Snapshot) -> meshmap::Result<Array<[f32; 3]>> + Send,
        into: impl FnOnce(&cgeo::Snapshot, &mut [[f32; 3]], &mut Scratch) -> meshmap::Result<()> + Send,
    ) -> PyResult<Py<PyAny>> {
        let Some(mut out) = out.map(Floats::to_fill).transpose()? else {
            return buffer::of_array(py, self.snapshot.run(py, view)?);
        };
        if !matches!(out.shape(), [_, 3]) {
            return Err(out.expected_shape(&["n", "3"]));
        }
        let Some(memory) = out.triples() else {
            let decoded = self.snapshot.run(py, view)?.to_vec();
            return out.fill(decoded.as_flattened(), &[decoded.len(), 3]);
        };
        let decoded = Work::with(|work| {
            self.snapshot.run(py, |snapshot| {
                match into(snapshot, memory, &mut work.scratch) {
                    // A wrong length is a mistake of the caller, not an error of the file.
                    Err(error) => match error.cause() {
                        Cause::Length { expected, .. } => Ok(Some(*expected)),
                        _ => Err(error),
                    },
                    Ok(()) => Ok(None),
                }
            })
        })?;
        match decoded {
            None => Ok(out.filled()),
            Some(expected) => Err(out.expected_shape(&[&expected.to_string(), "3"])),
        }
    }
}

#[pymethods]
impl Snapshot {
    /// Its index in the file.
    #[getter]
    fn index(&self) -> usize {
        self.index
    }

    /// Its time in seconds, if the file has times.
    #[getter]
    fn seconds(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.snapshot.run(py, |snapshot| Ok(snapshot.time()))
    }

    /// True if it holds positions; False if it holds differences to the first snapshot.
    #[getter]
    fn is_complete(&self, py: Python<'_>) -> PyResult<bool> {
        self.snapshot
            .run(py, |snapshot| snapshot.is_complete(&mut Scratch::default()))
    }

    /// The numbers of `vertices`, `normals`, `triangles` and `texcoord_sets`: a dict.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self
            .snapshot
            .run(py, |snapshot| snapshot.counts(&mut Scratch::default()))?;
        let dict = PyDict::new(py);
        dict.set_item("vertices", counts.vertices)?;
        dict.set_item("normals", counts.normals)?;
        dict.set_item("triangles", counts.triangles)?;
        dict.set_item("texcoord_sets", counts.texcoord_sets)?;
        Ok(dict)
    }

    /// The bounding box that the file stores, `float32 [2, 3]`: minimum and maximum; None if the file has none.
    #[getter]
    fn bounding_box(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let bounds = self.snapshot.run(py, |snapshot| {
            snapshot.bounding_box(&mut Scratch::default())
        })?;
        bounds
            .map(|bounds| buffer::of_floats(py, [bounds.min, bounds.max].concat(), &[2, 3]))
            .transpose()
    }

    /// The points that viewports show, `float32 [points, 3]`; None if there are none.
    #[getter]
    fn point_cloud(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        buffer::of_optional(py, self.snapshot.run(py, cgeo::Snapshot::point_cloud)?)
    }

    /// The positions, `float32 [vertices, 3]`, in lengths of the file.
    ///
    /// `out`, if given, is filled and returned: a writable float32 array of exactly that shape, in native byte order. A C-contiguous
    /// array is decoded into directly. After an error its content is unspecified. Nothing may read or write it meanwhile; other calls with
    /// this `out` raise ValueError.
    #[pyo3(signature = (out=None))]
    fn positions(&self, py: Python<'_>, out: Option<Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        self.triples(
            py,
            out,
            cgeo::Snapshot::positions,
            |snapshot, values, scratch| snapshot.positions_into(values, scratch),
        )
    }

    /// The normals, `float32 [normals, 3]`. `out` is filled as in `positions`.
    #[pyo3(signature = (out=None))]
    fn normals(&self, py: Python<'_>, out: Option<Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        self.triples(
            py,
            out,
            cgeo::Snapshot::normals,
            |snapshot, values, scratch| snapshot.normals_into(values, scratch),
        )
    }

    /// The texture coordinates u, v, w of a set (a map channel), `float32 [coordinates, 3]`. `out` is filled as in
    /// `positions`.
    #[pyo3(signature = (set, out=None))]
    fn texcoords(
        &self,
        py: Python<'_>,
        set: usize,
        out: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.triples(
            py,
            out,
            |snapshot| snapshot.texcoords(set),
            |snapshot, values, scratch| snapshot.texcoords_into(set, values, scratch),
        )
    }

    /// The triangles. A snapshot of differences has the triangles of the first one.
    fn triangles(&self, py: Python<'_>) -> PyResult<Triangles> {
        let triangles = self.snapshot.run(py, cgeo::Snapshot::triangles)?;
        Ok(Triangles {
            triangles,
            stored: self.stored(),
        })
    }

    /// Everything of the snapshot, decoded at once; or, with `parts`, some of `positions`, `normals`, `texcoords` and `triangles`. The
    /// stream is decoded no further than the last of them.
    #[pyo3(signature = (*, parts=None))]
    fn decode(&self, py: Python<'_>, parts: Option<PartNames>) -> PyResult<Decoded> {
        let parts = PartNames::parts(parts)?;
        self.snapshot
            .run(py, |snapshot| snapshot.mesh(parts))
            .map(|mesh| Decoded::new(&mesh, self.stored()))
    }

    /// The snapshot as renderers see a mesh: one vertex for each combination of position, normal and map coordinates.
    fn mesh(&self, py: Python<'_>) -> PyResult<Mesh> {
        let view = self.snapshot.run(py, cgeo::Snapshot::view)?;
        Ok(Mesh::new(self.snapshot.handle.clone(), view))
    }

    /// The sections of the snapshot, up to its end tag: tag, first byte of the content, and the byte after the last one.
    fn sections(&self, py: Python<'_>) -> PyResult<Vec<(u32, u64, u64)>> {
        let sections = self.snapshot.run(py, cgeo::Snapshot::sections)?;
        Ok(sections
            .into_iter()
            .map(|section| (section.tag, section.content.start, section.content.end))
            .collect())
    }

    /// First byte in the file, and the byte after the last one.
    #[getter]
    fn byte_range(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.snapshot.run(py, |snapshot| {
            Ok((snapshot.range().start, snapshot.range().end))
        })
    }

    /// A picture of the snapshot, as PNG, for notebooks; None if it cannot be drawn.
    fn _repr_png_<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let address = Address::field("snapshots").index(self.index as u64);
        picture(py, &self.snapshot.handle, Some(address))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let index = PyTuple::new(py, [self.index])?;
        self.snapshot
            .handle
            .origin
            .part(py, &[("snapshots", None), ("__getitem__", Some(index))])
    }

    fn __repr__(&self) -> String {
        let time = self
            .snapshot
            .peek(cgeo::Snapshot::time)
            .map(|time| format!(" at {time} s"))
            .unwrap_or_default();
        format!("<meshmap.Snapshot {}{time}>", self.index)
    }
}

/// A cache of decoded snapshots: each is decoded once for all threads. Beyond `max_bytes`, snapshots are evicted; most of a loop stays.
#[pyclass(frozen, name = "SnapshotCache", module = "meshmap")]
pub struct Cache {
    max_bytes: u64,
    state: std::sync::Mutex<(u32, Arc<SnapshotCache>)>,
}

impl Cache {
    /// The cache of this process: what a parent was decoding when it was forked never ends here.
    fn get(&self) -> PyResult<Arc<SnapshotCache>> {
        let process = std::process::id();
        let mut state = self
            .state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if state.0 != process {
            // That of the parent is kept for ever, as letting go of it could wait for its threads.
            let fresh = Arc::new(SnapshotCache::new(self.max_bytes));
            std::mem::forget(std::mem::replace(&mut *state, (process, fresh)));
        }
        Ok(Arc::clone(&state.1))
    }
}

#[pymethods]
impl Cache {
    #[new]
    fn new(max_bytes: u64) -> Self {
        let cache = Arc::new(SnapshotCache::new(max_bytes));
        Self {
            max_bytes,
            state: std::sync::Mutex::new((std::process::id(), cache)),
        }
    }

    /// A snapshot of a file, decoded if the cache does not have it. With `parts` (some of `positions`, `normals`, `texcoords` and
    /// `triangles`), at least these parts: missing parts are decoded and added.
    #[pyo3(name = "get", signature = (file, index, *, parts=None))]
    fn snapshot(
        &self,
        file: &Bound<'_, CGeoFile>,
        index: usize,
        parts: Option<PartNames>,
    ) -> PyResult<Decoded> {
        let cache = self.get()?;
        let proxy = proxy(file)?;
        let parts = PartNames::parts(parts)?;
        let opened = file.as_super().get();
        let mesh = opened.run(file.py(), || cache.get(&proxy, index, parts))?;
        Ok(Decoded::new(
            &mesh,
            Stored {
                origin: Arc::clone(&opened.handle.origin),
                index,
            },
        ))
    }

    /// Begins to decode snapshots that will be asked for, and does not wait for them. `parts` are as in `get`.
    #[pyo3(signature = (file, snapshots, *, parts=None))]
    fn prefetch(
        &self,
        file: &Bound<'_, CGeoFile>,
        snapshots: Vec<usize>,
        parts: Option<PartNames>,
    ) -> PyResult<()> {
        let cache = self.get()?;
        let proxy = proxy(file)?;
        let parts = PartNames::parts(parts)?;
        // Always in the pool of this process: what is decoded later needs one.
        detached(file.py(), true, || cache.prefetch(&proxy, snapshots, parts))
    }

    /// Releases all snapshots of a file.
    fn remove(&self, file: &Bound<'_, CGeoFile>) -> PyResult<()> {
        let cache = self.get()?;
        let proxy = proxy(file)?;
        file.py().detach(|| cache.remove(&proxy));
        Ok(())
    }

    /// Releases everything.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let cache = self.get()?;
        py.detach(|| cache.clear());
        Ok(())
    }

    /// An empty cache of the same size.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (u64,)) {
        (slf.get_type().into_any(), (slf.get().max_bytes,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let cache = self.get()?;
        let stats = py.detach(|| cache.stats());
        Ok(format!(
            "<meshmap.SnapshotCache: {} of {} bytes>",
            stats.bytes_held, self.max_bytes
        ))
    }

    /// `hits`, `misses`, `decodes`, `repeated_decodes`, `bytes_held` and `peak_bytes`: a dict.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let cache = self.get()?;
        let stats = py.detach(|| cache.stats());
        let dict = PyDict::new(py);
        dict.set_item("hits", stats.hits)?;
        dict.set_item("misses", stats.misses)?;
        dict.set_item("decodes", stats.decodes)?;
        dict.set_item("repeated_decodes", stats.repeated_decodes)?;
        dict.set_item("bytes_held", stats.bytes_held)?;
        dict.set_item("peak_bytes", stats.peak_bytes)?;
        Ok(dict)
    }
}
