//! The extension module of the Python package `meshmap`.
//!
//! One wheel for CPython 3.11 and later (`crates/python`):
//!
//! * `buffer.rs`: `Buffer` owns shared bytes and has the buffer protocol; arrays are `numpy.asarray` of one, so NumPy is imported
//!   with the first array and not with the package. Unaligned bytes have a format with a byte order, which NumPy accepts for
//!   unaligned numbers in place.
//! * `call.rs`: Python code that Rust runs for longer is called through here, and the GIL is taken through here. When the
//!   interpreter ends, CPython up to 3.13 ends other threads by unwinding their stacks, which would abort the process at frames of
//!   Rust. Such a thread stops here until the process ends.
//! * `source.rs`: the arguments of `open`; `opening.rs` makes the class of the file's format. Python's `bytes` objects are read in
//!   place. Other buffers are copied, because they can change, unless `mmap=True` promises that they do not.
//! * `readers.rs`: a reader's exception travels in the `io::Error` through the library, and `error.rs` raises that very object
//!   again. KeyboardInterrupt and others that are not an `Exception` are also kept next to the reader, and `living.rs` raises them
//!   after the call, whatever the library made of the error. A reader that is running on a thread is recorded there: a call for its
//!   own file is an error, not a deadlock.
//! * `pool.rs`: the threads of a process, identified by its process ID: a forked child detects its parent's threads by a process ID
//!   that differs from its own, and makes new threads. No lock is involved. `living.rs` does the same for file objects, whose locks
//!   a thread may have held when the process was forked; its own lock is held only together with the GIL. Small files are decoded
//!   by the calling thread.
//! * `again.rs`: a file is pickled by what `open` was called with, and a part of it by the steps that lead there: attributes and
//!   calls. `_again.py` opens the file again and takes them.
//! * `_tables.py`: the options of catalogues and geometry that all engines share; `_sources.py` finds files for them, and `_inventory.py`
//!   reads tables of files. `_plan.py` divides files into tasks by bytes; later files of a long list are held as ranges of keys, which
//!   tasks list again, and files of a table as its rows. `_done.py` (by `done.rs`) leaves out files that earlier runs are done with.
//!   `_isolated.py` works on each file in a separate process. `spark.py`, `ray.py`, `_polars.py` are the engines, `jobs.py` the work that
//!   they run. `pyspark_meshmap` is the module in which Spark looks for a data source.
//! * `scene.rs`: `meshmap_scene` for NumPy; `_drawn.py` and Blender's extension make objects of other packages of it.
//! * `crates/python/stubs` copies the doc strings of the module to `_meshmap.pyi`.
//! * `catalog.rs`: rows of `meshmap_catalog::rows` as an Arrow stream, with facts only or with arrays. The consumer of the stream
//!   may hold the GIL or not; the GIL is released while files are read, because their readers may be Python code.
//! * Unsafe code: the structure of the buffer protocol and the memory of an array that a call fills (`buffer.rs`), calls that may be
//!   unwound (`call.rs`), the pointer to the pool of a process and a function of glibc that returns freed memory (`pool.rs`), buffers
//!   that are read in place and maps (`source.rs`).

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     call: calls of Python code, by threads that may outlive the interpreter
//     url: URLs, and what arguments name
//     buffer error pool store: bytes as arrays, exceptions, threads, and files in stores
//     readers: file objects and readers of ranges in Python
//     again: what `open` was called with, and what pickled files and parts are made from
//     source timing: what `open` takes, and times
//     entry living: lists, and files across a fork
//     picture: pictures for notebooks
//     mesh decoded: a mesh of any format, and a decoded snapshot
//     catalog file: rows of many files, and a file of any format
//     done: versions of files that an earlier run is done with
//     cgeo | iqm | openctm | slmesh | tmf: one class of file each
//     opening: the class of a file
//     keywords: keyword arguments as options of Rust
//     export: conversion and pictures
//     whole: a scene that objects share
//     arrays rig: a shape as arrays; joints and animations
//     shape: something that is drawn
//     scene: what a file looks like
//     outputs: the outputs of jobs

mod again;
mod arrays;
mod buffer;
mod call;
mod catalog;
mod cgeo;
mod decoded;
mod done;
mod entry;
mod error;
mod export;
mod file;
mod iqm;
mod keywords;
mod living;
mod mesh;
mod openctm;
mod opening;
mod outputs;
mod picture;
mod pool;
mod readers;
mod rig;
mod scene;
mod shape;
mod slmesh;
mod source;
#[cfg(feature = "stores")]
mod store;
mod timing;
mod tmf;
mod url;
mod whole;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Opens a mesh file of any format. Headers and tables are read, and everything else when it is asked for.
///
/// Args:
///     source: A path; `bytes`, which are read in place, or another buffer, which is copied unless `mmap` is true; or a binary file object
///         with `seek` and `read`. Where the package was built with its feature `stores`, also an address: `https://..`,
///         `s3://..` or `file://..`, of which ranges are fetched.
///     reader: In place of a source: `reader(start, stop)` gives the bytes of a range, fewer where they end inside it. It may
///         be called by several threads. A reader or file object must not use the file that it reads.
///     size: The length of what `reader` reads, in bytes, if it is known.
///     mmap: Maps a path into memory, and reads a buffer such as `mmap.mmap` without a copy: arrays that are not compressed are
///         its pages. Nobody may truncate the file or write into it while arrays of it live, or into the buffer; the
///         process could crash. Files may be replaced by renaming.
///     strict: Checks every value, and refuses what the specification of the format forbids.
///     parallel: Decodes large parts by all processors. Otherwise all work is done by the thread that asks for it.
///     checksums: Refuses compressed parts whose checksum is wrong or missing.
///     max_block_bytes: The size of the largest decoded array. By default 512 MiB, or 16 times its stored bytes, which is
///         not allowed for where a limit is given.
///     max_total_bytes: The most that one call holds of what it decodes. By default 1 GiB, or 16 times the bytes that it reads.
///
/// Returns:
///     A `CGeoFile`, `IqmFile`, `OpenCtmFile`, `SlMeshFile` or `TmfFile`.
///
/// Raises:
///     Error: The file cannot be read: its `kind`, `format`, `address` and `byte_range` say why.
///     OSError: The system cannot open or read it. What `reader` raises comes through as it is.
#[pyfunction]
#[pyo3(signature = (
    source=None, /, *, reader=None, size=None, mmap=false, strict=false, parallel=true, checksums=true,
    max_block_bytes=None, max_total_bytes=None
))]
#[expect(
    clippy::too_many_arguments,
    reason = "each has a name and a default in Python"
)]
fn open(
    py: Python<'_>,
    source: Option<&Bound<'_, PyAny>>,
    reader: Option<&Bound<'_, PyAny>>,
    size: Option<u64>,
    mmap: bool,
    strict: bool,
    parallel: bool,
    checksums: bool,
    max_block_bytes: Option<u64>,
    max_total_bytes: Option<u64>,
) -> PyResult<Py<PyAny>> {
    let how = again::How::new(
        mmap,
        strict,
        parallel,
        checksums,
        max_block_bytes,
        max_total_bytes,
    );
    opening::open(py, source::open(py, source, reader, size, how)?)
}

/// Runs the command `meshmap` with these arguments, the first of which is the program's name. Gives its exit status.
#[pyfunction]
#[cfg(feature = "command")]
fn run(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> PyResult<u8> {
    Ok(py.detach(|| meshmap_cli::run_to_status(arguments)))
}

#[pyfunction]
#[cfg(not(feature = "command"))]
fn run(arguments: Vec<std::ffi::OsString>) -> PyResult<u8> {
    drop(arguments);
    Err(pyo3::exceptions::PyNotImplementedError::new_err(
        "this build of the package has no command",
    ))
}

#[pymodule(gil_used = false)]
fn _meshmap(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SCHEMA_VERSION", meshmap_catalog::rows::SCHEMA_VERSION)?;
    module.add("PASSING_KINDS", meshmap_catalog::PASSING_KINDS)?;
    module.add_function(wrap_pyfunction!(open, module)?)?;
    let formats = PyDict::new(module.py());
    for format in meshmap::Format::ALL {
        formats.set_item(
            format.name(),
            PyTuple::new(module.py(), format.extensions())?,
        )?;
    }
    module.add("FORMATS", formats)?;
    module.add_function(wrap_pyfunction!(url::named, module)?)?;
    module.add_function(wrap_pyfunction!(url::without_secrets, module)?)?;
    module.add_function(wrap_pyfunction!(url::is_of_store, module)?)?;
    module.add_function(wrap_pyfunction!(source::list_url, module)?)?;
    module.add_function(wrap_pyfunction!(source::head_of_url, module)?)?;
    module.add_function(wrap_pyfunction!(source::boundaries_of_url, module)?)?;
    module.add_function(wrap_pyfunction!(source::url_of_key, module)?)?;
    module.add_class::<url::RemoteUrl>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(pool::use_threads, module)?)?;
    module.add_function(wrap_pyfunction!(export::convert, module)?)?;
    module.add_function(wrap_pyfunction!(export::render, module)?)?;
    module.add_function(wrap_pyfunction!(export::find_texture, module)?)?;
    module.add_function(wrap_pyfunction!(scene::scene, module)?)?;
    module.add_function(wrap_pyfunction!(scene::scene_of_mesh, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::make, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::make_geometry, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::find_files, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::versions, module)?)?;
    module.add_class::<catalog::Catalog>()?;
    module.add_class::<outputs::Outputs>()?;
    module.add_class::<done::Done>()?;
    module.add_class::<buffer::Buffer>()?;
    module.add_class::<file::File>()?;
    module.add_class::<entry::Entry>()?;
    module.add_class::<entry::ArrayInfo>()?;
    module.add_class::<entry::FindingInfo>()?;
    module.add_class::<mesh::Mesh>()?;
    module.add_class::<mesh::Group>()?;
    module.add_class::<cgeo::CGeoFile>()?;
    module.add_class::<cgeo::Snapshots>()?;
    module.add_class::<cgeo::Snapshot>()?;
    module.add_class::<decoded::Decoded>()?;
    module.add_class::<decoded::Triangles>()?;
    module.add_class::<timing::TimingInfo>()?;
    module.add_class::<cgeo::Cache>()?;
    module.add_class::<iqm::IqmFile>()?;
    module.add_class::<iqm::Submesh>()?;
    module.add_class::<iqm::Joint>()?;
    module.add_class::<iqm::Anim>()?;
    module.add_class::<iqm::VertexArray>()?;
    module.add_class::<iqm::Skeleton>()?;
    module.add_class::<openctm::OpenCtmFile>()?;
    module.add_class::<openctm::Body>()?;
    module.add_class::<openctm::Map>()?;
    module.add_class::<slmesh::SlMeshFile>()?;
    module.add_class::<slmesh::Block>()?;
    module.add_class::<slmesh::Face>()?;
    module.add_class::<slmesh::Hulls>()?;
    module.add_class::<slmesh::Skin>()?;
    module.add_class::<tmf::TmfFile>()?;
    module.add_class::<tmf::Stored>()?;
    module.add_class::<scene::PyScene>()?;
    module.add_class::<scene::Fact>()?;
    module.add_class::<shape::PyShape>()?;
    module.add_class::<arrays::Arrays>()?;
    module.add_class::<shape::Material>()?;
    module.add_class::<rig::SceneSkeleton>()?;
    module.add_class::<rig::PyClip>()?;
    module.add_class::<rig::Event>()?;
    Ok(())
}
