//! Writing other formats, and pictures.

use std::fmt::Display;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use meshmap::MeshFile;
use meshmap_export::{Convert, Entry, Outcome, Report, Say, Target, Textures};
use meshmap_render::Render;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySequence, PySlice, PyTuple};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::buffer;
use crate::call::call;
use crate::error::{argument, raise_export};
use crate::file::File;
use crate::keywords::{self, Refused};
use crate::living::Handle;

/// The file that an argument is: an open one, or whatever `open` takes. With its name without extension, and its folder.
pub(crate) fn file_of(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
) -> PyResult<(MeshFile, Handle, String, Option<PathBuf>)> {
    file_within(py, source, None)
}

/// As [`file_of`], within a limit of memory if the file is not open.
pub(crate) fn file_within(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    max_total_bytes: Option<u64>,
) -> PyResult<(MeshFile, Handle, String, Option<PathBuf>)> {
    let parts = |file: &File| {
        Ok((
            file.get(py)?,
            file.handle.clone(),
            file.stem(),
            file.folder(),
        ))
    };
    if let Ok(file) = source.cast::<File>() {
        return parts(file.get());
    }
    let how = crate::again::How::new(false, false, true, true, None, max_total_bytes);
    let opened = crate::source::open(py, Some(source), None, None, how)?;
    let file = crate::opening::open(py, opened)?;
    parts(file.bind(py).cast::<File>()?.get())
}

/// Writes a file to a file object, a part at a time.
fn send(files: &[PathBuf], write: &Bound<'_, PyAny>) -> PyResult<()> {
    const PART: usize = 1 << 20;
    let [path] = files else {
        let message = "this conversion writes several files: expected a path, or a target of one file such as 'glb'";
        return Err(PyValueError::new_err(message));
    };
    let mut file = std::fs::File::open(path)?;
    let mut part = vec![0; PART];
    loop {
        let count = file.read(&mut part)?;
        let Some(bytes) = part.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        let mut left = PyBytes::new(write.py(), bytes).into_any();
        // A raw file object may take fewer bytes than it is given.
        while left.len()? > 0 {
            let taken = call(write, &PyTuple::new(write.py(), [&left])?, None)?
                .extract::<Option<usize>>()?;
            left = left.get_item(PySlice::new(
                write.py(),
                isize::try_from(taken.unwrap_or(count)).unwrap_or(0),
                isize::MAX,
                1,
            ))?;
        }
    }
}

/// A value of Python as JSON: a number, a text, or a sequence of these.
fn value_of(value: &Bound<'_, PyAny>, is_element: bool) -> PyResult<Value> {
    if let Ok(value) = value.extract::<bool>() {
        return Ok(value.into());
    }
    if let Ok(value) = value.extract::<u64>() {
        return Ok(value.into());
    }
    if let Ok(value) = value.extract::<i64>() {
        return Ok(value.into());
    }
    if let Ok(value) = value.extract::<String>() {
        return Ok(value.into());
    }
    if value.hasattr("__fspath__")? {
        return Ok(value
            .call_method0("__fspath__")?
            .extract::<String>()?
            .into());
    }
    if let Ok(value) = value.extract::<f64>() {
        let number = serde_json::Number::from_f64(value).map(Value::Number);
        return number.ok_or_else(|| PyValueError::new_err("expected a finite number"));
    }
    match value.cast::<PySequence>() {
        Ok(elements) if !is_element => elements
            .try_iter()?
            .map(|value| value_of(&value?, true))
            .collect(),
        _ => Err(PyTypeError::new_err(
            "expected a number, a text or a sequence of these",
        )),
    }
}

/// The options of a conversion.
pub(crate) fn options_of(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Convert> {
    read_options("convert", arguments)
}

/// The target of this name or, without one, of the ending of a path.
pub(crate) fn target_of(name: Option<&str>, path: &Path) -> PyResult<Target> {
    let target = match name {
        Some(name) => name.parse().ok(),
        None => Target::of_path(path),
    };
    target.ok_or_else(|| {
        let names: Vec<&str> = Target::ALL.into_iter().map(Target::name).collect();
        let found = meshmap_url::without_secrets(&path.to_string_lossy()).into_owned();
        PyValueError::new_err(format!(
            "cannot tell the format of {found}: expected to= or an ending of {}",
            names.join(", ")
        ))
    })
}

/// The options of these keyword arguments. An argument that is None counts as not given.
fn read_options<T: DeserializeOwned>(
    function: &str,
    arguments: Option<&Bound<'_, PyDict>>,
) -> PyResult<T> {
    let mut options = serde_json::Map::new();
    for (name, argument) in arguments
        .into_iter()
        .flatten()
        .filter(|(_, argument)| !argument.is_none())
    {
        let name: String = name.extract()?;
        let py = argument.py();
        let shown = shown_argument(&argument)?;
        let wrong = |why: &dyn Display| format!("{name} is {shown}: {why}");
        let named = |why: PyErr| PyErr::from_type(why.get_type(py), wrong(&why.value(py)));
        let value = value_of(&argument, false).map_err(named)?;
        // One at a time, so that an error is of this argument.
        match keywords::option::<T>(&name, value.clone()) {
            Ok(_) => drop(options.insert(name, value)),
            Err(Refused::Name(names)) => {
                let message =
                    format!("{function}() got an unexpected keyword argument '{name}': {names}");
                return Err(PyTypeError::new_err(message));
            }
            Err(why @ Refused::Type(_)) => return Err(PyTypeError::new_err(wrong(&why))),
            Err(why @ Refused::Value(_)) => return Err(PyValueError::new_err(wrong(&why))),
        }
    }
    serde_json::from_value(options.into()).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// An argument as messages show it: a text that begins like a URL without its secrets.
fn shown_argument(argument: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = argument.extract::<String>() {
        let shown = meshmap_url::without_secrets(&text);
        return Ok(shown.into_pyobject(argument.py())?.repr()?.to_string());
    }
    Ok(argument.repr()?.to_string())
}

/// Converts a mesh file with these options, which are the arguments of `meshmap.convert`.
#[pyfunction]
#[pyo3(signature = (source, output, to, options))]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    output: &Bound<'py, PyAny>,
    to: Option<&str>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let write = output.getattr_opt("write")?;
    let path: PathBuf = if write.is_some() {
        PathBuf::new()
    } else {
        output.extract()?
    };
    crate::source::check_output(&path)?;
    let shown = if write.is_some() {
        PathBuf::from(output.to_string())
    } else {
        path.clone()
    };
    let target = target_of(to, &shown)?;
    let convert = Convert {
        target,
        refuses_without_effect: true,
        ..options_of(Some(options))?
    };
    let (file, handle, name, folder) = file_of(py, source)?;
    if write.is_some() {
        convert
            .check_stream()
            .map_err(|error| PyValueError::new_err(error.words(&argument)))?;
    }
    // A file object has no place from which paths could lead to images.
    let folder = folder.filter(|_| write.is_none() || convert.embed_textures);
    let convert = Convert {
        name,
        folder,
        ..convert
    };
    let outcome = match &write {
        None => handle.detached(py, true, || convert.write_file(&file, &path))?,
        Some(write) => {
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("mesh").with_extension(target.name());
            let outcome = handle.detached(py, true, || convert.write_file(&file, &path))?;
            if let Ok(outcome) = &outcome {
                send(&outcome.paths(), write)?;
            }
            outcome.map(|mut outcome| {
                outcome.files.clear();
                outcome
            })
        }
    };
    dict_of(py, outcome.map_err(|error| raise_export(py, &error))?)
}

/// The report about a conversion, as `convert` returns it.
pub(crate) fn dict_of(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("files", outcome.paths())?;
    dict.set_item("vertices", outcome.vertices)?;
    dict.set_item("points", outcome.points)?;
    dict.set_item("joints", outcome.joints)?;
    dict.set_item("triangles", outcome.triangles)?;
    dict.set_item("degenerate", outcome.degenerate)?;
    dict.set_item("snapshots", outcome.snapshots)?;
    dict.set_item("animations", outcome.animations)?;
    dict.set_item("textures", textures_of(py, &outcome.textures)?)?;
    dict.set_item("moment", outcome.moment)?;
    add_report(&dict, &outcome.report)?;
    Ok(dict)
}

/// The paths of images by the names in the file.
fn textures_of<'py>(py: Python<'py>, textures: &Textures) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, file) in textures.found() {
        dict.set_item(name, file)?;
    }
    Ok(dict)
}

/// Adds what differs from the file: a list of dicts for each group.
fn add_report(dict: &Bound<'_, PyDict>, report: &Report) -> PyResult<()> {
    let py = dict.py();
    let left_out = entries_of(py, &report.left_out)?;
    for (item, entry) in left_out.iter().zip(&report.left_out) {
        item.set_item("why", entry.what.why.name())?;
    }
    dict.set_item("left_out", left_out)?;
    dict.set_item("changed", entries_of(py, &report.changed)?)?;
    dict.set_item("assumed", entries_of(py, &report.assumed)?)?;
    let warnings = entries_of(py, &report.warnings)?;
    for (item, entry) in warnings.iter().zip(&report.warnings) {
        item.set_item("option", entry.what.option())?;
    }
    dict.set_item("warnings", warnings)
}

fn entries_of<'py, T: Say>(
    py: Python<'py>,
    entries: &[Entry<T>],
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let mut dicts = Vec::with_capacity(entries.len());
    for entry in entries {
        let dict = PyDict::new(py);
        dict.set_item("kind", entry.what.name())?;
        dict.set_item("count", entry.count)?;
        dict.set_item("first", &entry.first)?;
        dict.set_item("text", entry.line(&argument))?;
        dicts.push(dict);
    }
    Ok(dicts)
}

/// The path of the image that a name in a mesh file means, such as `Mesh.texture`; None if there is none.
///
/// Names are written by strangers. Only a regular file below the folders is found: a PNG, JPEG, WebP, DDS, TGA or BMP by its first bytes,
/// of at most 256 MiB. No link is followed. Other endings than the name's are tried, and its last part.
///
/// Args:
///     name: The name.
///     folders: Where to look, such as the folder of the mesh file.
#[pyfunction]
pub(crate) fn find_texture(py: Python<'_>, name: &str, folders: Vec<PathBuf>) -> Option<PathBuf> {
    py.detach(|| meshmap_export::find_texture(name, &folders))
}

/// Draws a mesh file without a GPU. Writes a PNG if `output` is given; otherwise returns `uint8 [height, width, 3]`, sRGB;
/// `[height, width, 4]` with a transparent background. Surfaces show the images that the file names, if they are found.
///
/// Args:
///     source: A file, or what `open` takes.
///     output: The path of a PNG to write.
///     size: Width and height in pixels, 1 to 8192; of a contact sheet, the size of each tile.
///     samples: Samples of each pixel: 1, 4 or 9.
///     mode: `shaded`, `clay` (one colour for all materials), `wireframe` or `normals`.
///     no_occlusion: Leaves out ambient occlusion, which darkens folds and corners.
///     no_shadow: Leaves out the shadow on the ground below the mesh.
///     background: `white`, `black`, `transparent`, or a colour such as `#f2f3f5`.
///     view: The side from which everything is seen: `three-quarter`, `front`, `side` (from the right) or `top`.
///     points: The width of points in pixels; by default from 3 to 20 of 1024, by their number. For clouds of points.
///     textures: Folders below which the images that the file names are looked for, besides the folder of the file.
///     up: The axis that points up, instead of the axis of the format.
///     turn: Turns everything about the up axis by 90, 180 or 270 degrees, counter-clockwise as seen from above.
///     meshes: Addresses of the meshes to draw; by default what viewers show.
///     lod: The level of detail of a Second Life asset.
///     snapshot, frame, seconds: The moment: a snapshot of a CGeo file, a frame of an IQM animation, or the one nearest to a
///         time.
///     anim: The name of the IQM animation.
///     turntable: Writes an APNG of this number of pictures, in which the mesh turns around once.
///     animation: Writes an APNG of all snapshots or frames.
///     sheet: Writes a contact sheet of all snapshots or frames.
///     every: Takes each n-th of them.
///     zero_non_finite: Draws 0 for NaN and infinite values, which are an error otherwise.
///
/// Returns:
///     The picture; or, with `output`, a dict of `file`, `size`, `pictures`, `triangles`, `points` (of clouds), `joints` (of files without
///     meshes), `moment`, and `textures`, `left_out`, `changed`, `assumed` and `warnings` as `convert` has them.
#[pyfunction]
#[pyo3(
    signature = (source, output=None, **options),
    text_signature = "(source, output=None, *, size=(1024, 1024), samples=4, mode='shaded', no_occlusion=False, \
        no_shadow=False, background='#f2f3f5', view='three-quarter', points=None, textures=None, up=None, turn=0, meshes=None, \
        lod='finest', snapshot=None, frame=None, seconds=None, anim=None, turntable=None, animation=False, sheet=False, \
        every=1, zero_non_finite=False)"
)]
pub(crate) fn render<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    output: Option<PathBuf>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let render: Render = read_options("render", options)?;
    let render = Render {
        size: render.size.or(Some([1024, 1024])),
        refuses_without_effect: true,
        ..render
    };
    let (file, handle, _, folder) = file_of(py, source)?;
    let render = Render { folder, ..render };
    if let Some(output) = output {
        crate::source::check_output(&output)?;
        let rendered = handle
            .detached(py, true, || render.write_file(&file, &output))?
            .map_err(|error| raise_export(py, &error))?;
        let dict = PyDict::new(py);
        dict.set_item("file", output)?;
        dict.set_item("size", rendered.size)?;
        dict.set_item("pictures", rendered.pictures)?;
        dict.set_item("triangles", rendered.triangles)?;
        dict.set_item("points", rendered.points)?;
        dict.set_item("joints", rendered.joints)?;
        dict.set_item("textures", textures_of(py, &rendered.textures)?)?;
        dict.set_item("moment", rendered.moment)?;
        add_report(&dict, &rendered.report)?;
        return Ok(dict.into_any().unbind());
    }
    let (picture, _) = handle
        .detached(py, true, || render.picture(&file))?
        .map_err(|error| raise_export(py, &error))?;
    let shape = [
        picture.height() as usize,
        picture.width() as usize,
        picture.channels(),
    ];
    let bytes = bytes::Bytes::copy_from_slice(picture.bytes());
    buffer::of_bytes(py, bytes, meshmap::Scalar::U8, &shape)
}
