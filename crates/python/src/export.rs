//! Writing other formats, and pictures.

use std::io::Read as _;
use std::path::PathBuf;

use meshmap::{Address, Axis, MeshFile};
use meshmap_export::{Convert, Lods, Mode, NonFinite, Render, Samples, Target};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySlice, PyTuple};

use crate::buffer;
use crate::call::call;
use crate::error::raise_export;
use crate::file::File;
use crate::living::Handle;

/// The file that an argument is: an open one, or whatever `open` takes. With its name without extension.
fn file_of(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<(MeshFile, Handle, String)> {
    let parts = |file: &File| Ok((file.get(py)?, file.handle.clone(), file.stem()));
    if let Ok(file) = source.cast::<File>() {
        return parts(file.get());
    }
    let opened = crate::source::open(py, Some(source), None, None, false)?;
    let how = crate::source::How::new(false, false, true, true, None, None);
    let file = crate::opening::open(py, opened, how)?;
    parts(file.bind(py).cast::<File>()?.get())
}

/// Writes a file to a file object, a part at a time.
fn send(files: &[PathBuf], write: &Bound<'_, PyAny>) -> PyResult<()> {
    const PART: usize = 1 << 20;
    let [path] = files else {
        let message =
            "this conversion writes several files: expected a path, or a target of one file such as 'glb'";
        return Err(PyValueError::new_err(message));
    };
    let mut file = std::fs::File::open(path)?;
    let mut part = vec![0; PART];
    loop {
        let count = file.read(&mut part)?;
        let Some(bytes) = part.get(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        let mut left = PyBytes::new(write.py(), bytes).into_any();
        // A raw file object may take fewer bytes than it is given.
        while left.len()? > 0 {
            let taken = call(write, &PyTuple::new(write.py(), [&left])?, None)?.extract::<Option<usize>>()?;
            left = left.get_item(PySlice::new(
                write.py(),
                isize::try_from(taken.unwrap_or(count)).unwrap_or(0),
                isize::MAX,
                1,
            ))?;
        }
    }
}

fn axis(name: &str) -> PyResult<Axis> {
    match name {
        "x" => Ok(Axis::X),
        "y" => Ok(Axis::Y),
        "z" => Ok(Axis::Z),
        _ => Err(PyValueError::new_err(format!("up is {name:?}: expected 'x', 'y' or 'z'"))),
    }
}

/// A level of detail, with or without the `_lod` of its name.
fn lods(name: &str) -> PyResult<Lods> {
    match name.strip_suffix("_lod").unwrap_or(name) {
        "finest" => Ok(Lods::Finest),
        "all" => Ok(Lods::All),
        "high" => Ok(Lods::Only(0)),
        "medium" => Ok(Lods::Only(1)),
        "low" => Ok(Lods::Only(2)),
        "lowest" => Ok(Lods::Only(3)),
        _ => {
            let expected = "'finest', 'all', 'high', 'medium', 'low' or 'lowest'";
            Err(PyValueError::new_err(format!("lod is {name:?}: expected {expected}")))
        }
    }
}

fn addresses(meshes: Option<Vec<String>>) -> PyResult<Vec<Address>> {
    let parse = |text: String| {
        text.parse::<Address>()
            .map_err(|_| PyValueError::new_err(format!("{text:?} is no address of a mesh")))
    };
    meshes.unwrap_or_default().into_iter().map(parse).collect()
}

fn non_finite(zero: bool) -> NonFinite {
    if zero { NonFinite::Zero } else { NonFinite::Refuse }
}

/// Converts a mesh file to `glb`, `gltf`, `usdc`, `obj`, `ply`, `stl` or `pc2`: the extension of `output`, or `to`. The output appears
/// when it is complete.
///
/// Args:
///     source: A file, or what `open` takes.
///     output: The path to write, or a binary file object with `write`.
///     to: The format, if `output` does not have its extension.
///     meshes: Addresses of the meshes to write; by default what viewers show.
///     up: The axis that points up, instead of the axis of the format. For glTF and USD, as `fps` and `unit_millimeters`: a
///         `ValueError` for other formats.
///     flip: Reverses the winding of all triangles.
///     snapshots: First snapshot of a CGeo file, and the one after the last; by default all.
///     every: Takes each n-th of them.
///     frame, seconds: One moment of an animation: a frame of an IQM file, or the frame or snapshot nearest to a time.
///     anim: The name of the IQM animation.
///     lod: The level of detail of a Second Life asset: `finest`, `all`, `high`, `medium`, `low` or `lowest`.
///     fps: Snapshots or frames per second, instead of the rate of the file.
///     unit_millimeters: Millimetres per unit, instead of the unit of the file.
///     quantized: Writes the integers of a Second Life asset as they are (KHR_mesh_quantization).
///     dense: Writes all values of morph targets, for programs that cannot read sparse ones.
///     morph_normals: Also writes the normals of snapshots.
///     drop_degenerate: Leaves out triangles with two equal corners; `changed` has their number.
///     merge_materials: Writes one material for all material IDs of a CGeo file, and the IDs as an attribute.
///     zero_non_finite: Writes 0 for NaN and infinite values. Otherwise such positions are an error, and other attributes with
///         such values are left out.
///     max_output_bytes: Limits the output. By default it is 64 MiB, or 256 times the file if that is more. Memory is limited
///         by the `max_total_bytes` of `open`.
///
/// Returns:
///     A dict. `files` lists the outputs. `vertices`, `triangles`, `degenerate` (triangles with two equal corners), `snapshots` and
///     `animations` are counts. `left_out` lists data that was not written, `changed` counts changed numbers by reason, and
///     `notes` lists assumptions.
#[pyfunction]
#[pyo3(signature = (
    source, output, *, to=None, meshes=None, up=None, flip=false, snapshots=None, every=1, frame=None, seconds=None, anim=None,
    lod="finest", fps=None, unit_millimeters=None, quantized=false, dense=false, morph_normals=false,
    drop_degenerate=false, merge_materials=false, zero_non_finite=false, max_output_bytes=None
))]
#[expect(clippy::too_many_arguments, reason = "each has a name and a default in Python")]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    output: &Bound<'py, PyAny>,
    to: Option<&str>,
    meshes: Option<Vec<String>>,
    up: Option<&str>,
    flip: bool,
    snapshots: Option<(usize, usize)>,
    every: usize,
    frame: Option<u32>,
    seconds: Option<f64>,
    anim: Option<String>,
    lod: &str,
    fps: Option<f64>,
    unit_millimeters: Option<f64>,
    quantized: bool,
    dense: bool,
    morph_normals: bool,
    drop_degenerate: bool,
    merge_materials: bool,
    zero_non_finite: bool,
    max_output_bytes: Option<u64>,
) -> PyResult<Bound<'py, PyDict>> {
    let write = output.getattr_opt("write")?;
    let path: PathBuf = if write.is_some() { PathBuf::new() } else { output.extract()? };
    let target = match to {
        Some(name) => Target::ALL.into_iter().find(|target| target.name() == name),
        None => Target::of_path(&path),
    };
    let target = target.ok_or_else(|| {
        let names: Vec<&str> = Target::ALL.into_iter().map(Target::name).collect();
        PyValueError::new_err(format!(
            "cannot tell the format of {output}: expected to= or an ending of {}",
            names.join(", ")
        ))
    })?;
    let mut convert = Convert::new(target)
        .with_flip(flip)
        .with_every(every)
        .with_lods(lods(lod)?)
        .with_quantized(quantized)
        .with_dense(dense)
        .with_morph_normals(morph_normals)
        .with_drop_degenerate(drop_degenerate)
        .with_merge_materials(merge_materials)
        .with_non_finite(non_finite(zero_non_finite));
    if let Some(up) = up {
        convert = convert.with_up(axis(up)?);
    }
    if let Some((start, stop)) = snapshots {
        let last = stop.checked_sub(1).filter(|last| *last >= start);
        let last =
            last.ok_or_else(|| PyValueError::new_err("snapshots is (start, stop), with stop after start"))?;
        convert = convert.with_snapshots(start..=last);
    }
    if let Some(frame) = frame {
        convert = convert.with_frame(frame);
    }
    if let Some(seconds) = seconds {
        convert = convert.with_time(seconds);
    }
    if let Some(anim) = anim {
        convert = convert.with_anim(anim);
    }
    if let Some(rate) = fps {
        convert = convert.with_rate(rate);
    }
    if let Some(millimeters) = unit_millimeters {
        convert = convert.with_unit(millimeters);
    }
    if let Some(bytes) = max_output_bytes {
        convert = convert.with_max_output_bytes(bytes);
    }
    convert = addresses(meshes)?.into_iter().fold(convert, Convert::with_mesh);
    let (file, handle, stem) = file_of(py, source)?;
    convert = convert.with_name(stem);
    let outcome = match &write {
        None => handle.detached(py, true, || convert.write_file(&file, &path))?,
        Some(write) => {
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("mesh").with_extension(target.name());
            let outcome = handle.detached(py, true, || convert.write_file(&file, &path))?;
            if let Ok(outcome) = &outcome {
                send(&outcome.files, write)?;
            }
            outcome
        }
    };
    let outcome = outcome.map_err(|error| raise_export(py, &error))?;
    let dict = PyDict::new(py);
    dict.set_item("files", if write.is_some() { Vec::new() } else { outcome.files })?;
    dict.set_item("vertices", outcome.vertices)?;
    dict.set_item("triangles", outcome.triangles)?;
    dict.set_item("degenerate", outcome.degenerate)?;
    dict.set_item("snapshots", outcome.snapshots)?;
    dict.set_item("animations", outcome.animations)?;
    dict.set_item("left_out", outcome.left_out)?;
    dict.set_item("changed", outcome.changed)?;
    dict.set_item("notes", outcome.notes)?;
    Ok(dict)
}

/// Draws a mesh file without a GPU. Writes a PNG if `output` is given; otherwise returns `uint8 [height, width, 3]`, sRGB.
///
/// Args:
///     source: A file, or what `open` takes.
///     output: The path of a PNG to write.
///     size: Width and height in pixels, 1 to 8192; of a contact sheet, the size of each tile.
///     samples: Samples of each pixel: 1, 4 or 9.
///     mode: `shaded`, `clay` (one colour for all materials), `wireframe` or `normals`.
///     up: The axis that points up, instead of the axis of the format.
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
///     The picture; or, with `output`, a dict of `file`, `size`, `pictures`, `triangles`, `moment` and `notes`.
#[pyfunction]
#[pyo3(signature = (
    source, output=None, *, size=(1024, 1024), samples=4, mode="shaded", up=None, meshes=None, lod=None, snapshot=None,
    frame=None, seconds=None, anim=None, turntable=None, animation=false, sheet=false, every=1, zero_non_finite=false
))]
#[expect(clippy::too_many_arguments, reason = "each has a name and a default in Python")]
pub(crate) fn render<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    output: Option<PathBuf>,
    size: (u32, u32),
    samples: u32,
    mode: &str,
    up: Option<&str>,
    meshes: Option<Vec<String>>,
    lod: Option<&str>,
    snapshot: Option<usize>,
    frame: Option<u32>,
    seconds: Option<f64>,
    anim: Option<String>,
    turntable: Option<u32>,
    animation: bool,
    sheet: bool,
    every: usize,
    zero_non_finite: bool,
) -> PyResult<Py<PyAny>> {
    let samples = match samples {
        1 => Samples::One,
        4 => Samples::Four,
        9 => Samples::Nine,
        _ => return Err(PyValueError::new_err("samples is 1, 4 or 9")),
    };
    let mode = match mode {
        "shaded" => Mode::Shaded,
        "clay" => Mode::Clay,
        "wireframe" => Mode::Wireframe,
        "normals" => Mode::Normals,
        _ => {
            let message = format!("mode is {mode:?}: expected 'shaded', 'clay', 'wireframe' or 'normals'");
            return Err(PyValueError::new_err(message));
        }
    };
    let mut render = Render::new()
        .with_size(size.0, size.1)
        .with_samples(samples)
        .with_mode(mode)
        .with_every(every)
        .with_non_finite(non_finite(zero_non_finite));
    if let Some(up) = up {
        render = render.with_up(axis(up)?);
    }
    if let Some(lod) = lod {
        render = render.with_lods(lods(lod)?);
    }
    if let Some(snapshot) = snapshot {
        render = render.with_snapshot(snapshot);
    }
    if let Some(frame) = frame {
        render = render.with_frame(frame);
    }
    if let Some(seconds) = seconds {
        render = render.with_time(seconds);
    }
    if let Some(anim) = anim {
        render = render.with_anim(anim);
    }
    if let Some(pictures) = turntable {
        render = render.with_turntable(pictures);
    }
    if animation {
        render = render.with_animation();
    }
    if sheet {
        render = render.with_sheet();
    }
    render = addresses(meshes)?.into_iter().fold(render, Render::with_mesh);
    let (file, handle, _) = file_of(py, source)?;
    if let Some(output) = output {
        let rendered = handle
            .detached(py, true, || render.write_file(&file, &output))?
            .map_err(|error| raise_export(py, &error))?;
        let dict = PyDict::new(py);
        dict.set_item("file", output)?;
        dict.set_item("size", rendered.size)?;
        dict.set_item("pictures", rendered.pictures)?;
        dict.set_item("triangles", rendered.triangles)?;
        dict.set_item("moment", rendered.moment)?;
        dict.set_item("notes", rendered.notes)?;
        return Ok(dict.into_any().unbind());
    }
    let (picture, _) =
        handle.detached(py, true, || render.picture(&file))?.map_err(|error| raise_export(py, &error))?;
    let shape = [picture.height() as usize, picture.width() as usize, 3];
    let bytes = bytes::Bytes::copy_from_slice(picture.bytes());
    buffer::of_bytes(py, bytes, meshmap::Scalar::U8, &shape)
}
