//! Shared bytes as objects with the buffer protocol, and NumPy arrays over them.

use std::ffi::{CStr, c_int, c_void};
use std::fmt::Display;
use std::ops::Range;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use meshmap::{Array, Element, Scalar};
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use crate::call::{call, imported, unless_raised};

/// Read-only bytes of a file, or decoded from it, which live as long as whatever views them.
///
/// Has the buffer protocol: `memoryview(buffer)`, `numpy.asarray(buffer)`.
#[pyclass(frozen, module = "meshmap")]
pub struct Buffer {
    bytes: Bytes,
    scalar: Scalar,
    shape: Box<[isize]>,
    strides: Box<[isize]>,
}

impl Buffer {
    /// `None` if the bytes are not as many as the shape says.
    fn new(bytes: Bytes, scalar: Scalar, shape: &[usize]) -> Option<Self> {
        let mut stride = scalar.size();
        let mut strides = Vec::with_capacity(shape.len());
        for count in shape.iter().rev() {
            strides.push(isize::try_from(stride).ok()?);
            stride = stride.checked_mul(*count)?;
        }
        strides.reverse();
        let shape = shape
            .iter()
            .map(|count| isize::try_from(*count).ok())
            .collect::<Option<Vec<_>>>()?;
        (stride == bytes.len()).then(|| Self {
            bytes,
            scalar,
            shape: shape.into(),
            strides: strides.into(),
        })
    }

    /// The address of the bytes. If there are none, it is aligned for everything.
    fn pointer(&self) -> *mut c_void {
        static NOTHING: u64 = 0;
        match self.bytes.is_empty() {
            true => ptr::from_ref(&NOTHING).cast_mut().cast(),
            false => self.bytes.as_ptr().cast_mut().cast(),
        }
    }

    /// The format of the elements in PEP 3118: native if they are aligned, else little-endian and packed.
    fn format(&self) -> &'static CStr {
        let packed = match self.scalar {
            Scalar::I8 => return c"b",
            Scalar::I16 => c"<h",
            Scalar::U16 => c"<H",
            Scalar::I32 => c"<i",
            Scalar::U32 => c"<I",
            Scalar::F16 => c"<e",
            Scalar::F32 => c"<f",
            Scalar::F64 => c"<d",
            _ => return c"B",
        };
        let is_aligned = (self.pointer() as usize).is_multiple_of(self.scalar.size());
        // A native number has no order of bytes.
        if is_aligned && cfg!(target_endian = "little") {
            &packed[1..]
        } else {
            packed
        }
    }
}

#[pymethods]
impl Buffer {
    /// The number of bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.bytes.len()
    }

    fn __len__(&self) -> usize {
        self.shape.first().map_or(0, |count| count.unsigned_abs())
    }

    fn __repr__(&self) -> String {
        format!("<meshmap.Buffer of {} {:?}>", self.scalar, self.shape)
    }

    /// # Safety
    ///
    /// `view` is what Python calls this with.
    #[allow(unsafe_code, reason = "the buffer protocol is a structure of C")]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view"));
        }
        let writable = flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE;
        let has = |flag: c_int| flags & flag == flag;
        let this = slf.get();
        let fortran = has(ffi::PyBUF_F_CONTIGUOUS) && !has(ffi::PyBUF_C_CONTIGUOUS);
        // SAFETY: `view` is not null, so Python made it. Everything that is put into it is owned by the object, which is
        // frozen and which the view keeps.
        unsafe {
            (*view).obj = ptr::null_mut();
            if writable {
                return Err(PyBufferError::new_err("the bytes of a file are read-only"));
            }
            if fortran && this.shape.len() > 1 {
                return Err(PyBufferError::new_err("the rows come one after the other"));
            }
            (*view).buf = this.pointer();
            (*view).len = isize::try_from(this.bytes.len()).unwrap_or(isize::MAX);
            (*view).readonly = 1;
            (*view).itemsize = isize::try_from(this.scalar.size()).unwrap_or(1);
            let format = this.format().as_ptr().cast_mut();
            (*view).format = if has(ffi::PyBUF_FORMAT) {
                format
            } else {
                ptr::null_mut()
            };
            let by_shape = has(ffi::PyBUF_ND);
            (*view).ndim = if by_shape {
                c_int::try_from(this.shape.len()).unwrap_or(1)
            } else {
                1
            };
            let shape = this.shape.as_ptr().cast_mut();
            (*view).shape = if by_shape { shape } else { ptr::null_mut() };
            let strides = this.strides.as_ptr().cast_mut();
            (*view).strides = if has(ffi::PyBUF_STRIDES) {
                strides
            } else {
                ptr::null_mut()
            };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = ptr::null_mut();
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }
}

/// A NumPy array over bytes, read-only.
pub(crate) fn of_bytes(
    py: Python<'_>,
    bytes: Bytes,
    scalar: Scalar,
    shape: &[usize],
) -> PyResult<Py<PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let buffer = Buffer::new(bytes, scalar, shape)
        .ok_or_else(|| PyValueError::new_err("the bytes are not as many as the shape says"))?;
    Ok(call(
        imported(py, &AS_ARRAY, "numpy", "asarray")?,
        &PyTuple::new(py, [Bound::new(py, buffer)?])?,
        None,
    )?
    .unbind())
}

/// A NumPy array over an array of the library, read-only: `[n]` of numbers, `[n, components]` of others.
pub(crate) fn of_array<T: Element>(py: Python<'_>, array: Array<T>) -> PyResult<Py<PyAny>> {
    let (scalar, components) = T::SHAPE.unwrap_or((Scalar::U8, 1));
    let bytes = array.into_bytes();
    let lanes = components as usize;
    let count = bytes
        .len()
        .checked_div(scalar.size().saturating_mul(lanes))
        .unwrap_or(0);
    // An array of arrays of one number keeps both dimensions.
    let is_plain = lanes == 1 && !is_array_of_one::<T>();
    if is_plain {
        of_bytes(py, bytes, scalar, &[count])
    } else {
        of_bytes(py, bytes, scalar, &[count, lanes])
    }
}

fn is_array_of_one<T: 'static>() -> bool {
    use std::any::TypeId;
    [TypeId::of::<[f32; 1]>(), TypeId::of::<[u32; 1]>()].contains(&TypeId::of::<T>())
}

/// Like [`of_array`], of what may be absent.
pub(crate) fn of_optional<T: Element>(
    py: Python<'_>,
    array: Option<Array<T>>,
) -> PyResult<Option<Py<PyAny>>> {
    array.map(|array| of_array(py, array)).transpose()
}

/// A NumPy array over a vector of `f32`, of this shape.
pub(crate) fn of_floats(py: Python<'_>, values: Vec<f32>, shape: &[usize]) -> PyResult<Py<PyAny>> {
    of_bytes(py, Array::from_vec(values).into_bytes(), Scalar::F32, shape)
}

/// The name of a type in NumPy.
pub(crate) fn dtype(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::U8 => "uint8",
        Scalar::I8 => "int8",
        Scalar::U16 => "uint16",
        Scalar::I16 => "int16",
        Scalar::U32 => "uint32",
        Scalar::I32 => "int32",
        Scalar::F16 => "float16",
        Scalar::F32 => "float32",
        Scalar::F64 => "float64",
        _ => "void",
    }
}

/// An array of `float32` from the caller: aligned, in native byte order, and not overlapping itself.
pub(crate) struct Floats<'py> {
    name: &'static str,
    object: Bound<'py, PyAny>,
    buffer: PyBuffer<f32>,
    _held: Option<Held>,
}

/// Memory that calls are filling: their process, and the first byte and the byte after the last one of each.
static HELD: Mutex<(u32, Vec<Range<usize>>)> = Mutex::new((0, Vec::new()));

/// The memory of a contiguous array, which is filled without the GIL. Other arrays are filled with it.
struct Held(Range<usize>);

impl Held {
    /// `None` if the memory of the array is held by another call.
    fn new(buffer: &PyUntypedBuffer) -> Option<Option<Self>> {
        let start = buffer.buf_ptr() as usize;
        let mut first = start;
        let mut end = start;
        for (stride, count) in buffer.strides().iter().zip(buffer.shape()) {
            let last = stride.unsigned_abs() * count.saturating_sub(1);
            if *stride < 0 {
                first -= last
            } else {
                end += last
            }
        }
        let extent = first..end + buffer.item_size();
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if held.0 != process {
            // The calls of the parent do not end in a forked child.
            *held = (process, Vec::new());
        }
        if held
            .1
            .iter()
            .any(|other| other.start < extent.end && extent.start < other.end)
        {
            return None;
        }
        Some(buffer.is_c_contiguous().then(|| {
            held.1.push(extent.clone());
            Self(extent)
        }))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = held.1.iter().position(|other| *other == self.0) {
            held.1.swap_remove(place);
        }
    }
}

impl<'py> Floats<'py> {
    /// `name` is the name of the parameter, for errors.
    pub(crate) fn new(name: &'static str, object: Bound<'py, PyAny>) -> PyResult<Self> {
        let found = |what: &str| {
            PyValueError::new_err(format!(
                "{name} {what}: expected an array of float32 in native byte order"
            ))
        };
        let Some(untyped) = unless_raised(object.py(), PyUntypedBuffer::get(&object))? else {
            let kind = object.get_type().name()?;
            let message = format!(
                "{name} has type {kind}: expected an array of float32 in native byte order"
            );
            return Err(PyTypeError::new_err(message));
        };
        // pyo3 takes `>f`, the format of big-endian arrays, for native.
        let format = untyped.format().to_bytes();
        let is_native = match format {
            b"f" | b"@f" | b"=f" => true,
            b"<f" => cfg!(target_endian = "little"),
            b">f" | b"!f" => cfg!(target_endian = "big"),
            _ => false,
        };
        if !is_native {
            let format = String::from_utf8_lossy(format);
            let kind = object
                .getattr("dtype")
                .and_then(|kind| kind.str()?.extract::<String>());
            let kind = unless_raised(object.py(), kind)?.unwrap_or_else(|| format.into_owned());
            return Err(found(&format!("has dtype {kind}")));
        }
        if overlaps_itself(untyped.shape(), untyped.strides()) {
            return Err(found("has elements that share memory"));
        }
        let buffer = untyped.into_typed().map_err(|_| found("is not aligned"))?;
        Ok(Self {
            name,
            object,
            buffer,
            _held: None,
        })
    }

    /// Anything that NumPy makes an array of: other types of numbers are converted, and lists are copied.
    pub(crate) fn of(name: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = object.py();
        let as_array = imported(py, &AS_ARRAY, "numpy", "asarray")?;
        let array = call(
            as_array,
            &PyTuple::new(py, [object, PyString::new(py, "=f4").as_any()])?,
            None,
        )?;
        Self::new(name, array)
    }

    /// For an array that is to be filled.
    pub(crate) fn to_fill(object: Bound<'py, PyAny>) -> PyResult<Self> {
        let this = Self::new("out", object)?;
        if this.buffer.readonly() {
            return Err(PyValueError::new_err(
                "out is read-only: expected a writable array",
            ));
        }
        let held = Held::new(&this.buffer);
        let held =
            held.ok_or_else(|| PyValueError::new_err("out is being filled by another call"))?;
        Ok(Self {
            _held: held,
            ..this
        })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.buffer.shape()
    }

    /// The error for an array that has another shape.
    pub(crate) fn expected_shape(&self, expected: &[impl Display]) -> PyErr {
        let list =
            |numbers: &mut dyn Iterator<Item = String>| numbers.collect::<Vec<_>>().join(", ");
        let found = list(&mut self.shape().iter().map(ToString::to_string));
        let expected = list(&mut expected.iter().map(ToString::to_string));
        PyValueError::new_err(format!(
            "{} has shape ({found}): expected ({expected})",
            self.name
        ))
    }

    pub(crate) fn check_shape(&self, expected: &[usize]) -> PyResult<()> {
        if self.shape() == expected {
            Ok(())
        } else {
            Err(self.expected_shape(expected))
        }
    }

    pub(crate) fn to_vec(&self) -> PyResult<Vec<f32>> {
        self.buffer.to_vec(self.object.py())
    }

    /// The memory of an array of triples that is C-contiguous.
    #[allow(unsafe_code, reason = "the memory is Python's")]
    pub(crate) fn triples(&mut self) -> Option<&mut [[f32; 3]]> {
        let mut memory = self
            .buffer
            .as_slice_ptr()
            .filter(|_| !self.buffer.readonly())?;
        // SAFETY: the buffer is checked to be writable, aligned, contiguous and of `f32`, and stays until `self` is dropped.
        // Calls that fill the same memory are refused; the documentation warns callers of Python that read or write it meanwhile.
        let (triples, rest) = unsafe { memory.as_mut() }.as_chunks_mut::<3>();
        rest.is_empty().then_some(triples)
    }

    /// Copies values into an array of this shape, and returns it.
    pub(crate) fn fill(self, values: &[f32], shape: &[usize]) -> PyResult<Py<PyAny>> {
        self.check_shape(shape)?;
        self.buffer.copy_from_slice(self.object.py(), values)?;
        Ok(self.object.unbind())
    }

    /// The array, after its memory was filled.
    pub(crate) fn filled(self) -> Py<PyAny> {
        self.object.unbind()
    }
}

/// `true` unless each step of a dimension passes all elements of the dimensions with smaller steps.
fn overlaps_itself(shape: &[usize], strides: &[isize]) -> bool {
    let mut steps: Vec<(usize, usize)> = strides
        .iter()
        .map(|stride| stride.unsigned_abs())
        .zip(shape.iter().copied())
        .collect();
    steps.retain(|(_, count)| *count != 1);
    steps.sort_unstable();
    let mut extent = size_of::<f32>();
    for (step, count) in steps {
        if count > 0 && step < extent {
            return true;
        }
        extent = step.saturating_mul(count);
    }
    false
}
