//! Shared bytes as objects with the buffer protocol, and NumPy arrays over them.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use bytes::Bytes;
use meshmap::{Array, Element, Scalar};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

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
    /// `None` where the bytes are not as many as the shape says.
    fn new(bytes: Bytes, scalar: Scalar, shape: &[usize]) -> Option<Self> {
        let mut stride = scalar.size();
        let mut strides = Vec::with_capacity(shape.len());
        for count in shape.iter().rev() {
            strides.push(isize::try_from(stride).ok()?);
            stride = stride.checked_mul(*count)?;
        }
        strides.reverse();
        let shape = shape.iter().map(|count| isize::try_from(*count).ok()).collect::<Option<Vec<_>>>()?;
        (stride == bytes.len()).then(|| Self { bytes, scalar, shape: shape.into(), strides: strides.into() })
    }

    /// Where the bytes are. Those of nothing are aligned for everything.
    fn pointer(&self) -> *mut c_void {
        static NOTHING: u64 = 0;
        match self.bytes.is_empty() {
            true => ptr::from_ref(&NOTHING).cast_mut().cast(),
            false => self.bytes.as_ptr().cast_mut().cast(),
        }
    }

    /// What PEP 3118 calls the elements: native where they are aligned, else little-endian and packed.
    fn format(&self) -> &'static CStr {
        let aligned = (self.pointer() as usize).is_multiple_of(self.scalar.size());
        match (self.scalar, aligned && cfg!(target_endian = "little")) {
            (Scalar::I8, _) => c"b",
            (Scalar::I16, true) => c"h",
            (Scalar::I16, false) => c"<h",
            (Scalar::U16, true) => c"H",
            (Scalar::U16, false) => c"<H",
            (Scalar::I32, true) => c"i",
            (Scalar::I32, false) => c"<i",
            (Scalar::U32, true) => c"I",
            (Scalar::U32, false) => c"<I",
            (Scalar::F16, true) => c"e",
            (Scalar::F16, false) => c"<e",
            (Scalar::F32, true) => c"f",
            (Scalar::F32, false) => c"<f",
            (Scalar::F64, true) => c"d",
            (Scalar::F64, false) => c"<d",
            _ => c"B",
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
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
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
            (*view).format = if has(ffi::PyBUF_FORMAT) { format } else { ptr::null_mut() };
            let by_shape = has(ffi::PyBUF_ND);
            (*view).ndim = if by_shape { c_int::try_from(this.shape.len()).unwrap_or(1) } else { 1 };
            let shape = this.shape.as_ptr().cast_mut();
            (*view).shape = if by_shape { shape } else { ptr::null_mut() };
            let strides = this.strides.as_ptr().cast_mut();
            (*view).strides = if has(ffi::PyBUF_STRIDES) { strides } else { ptr::null_mut() };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = ptr::null_mut();
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }
}

/// A NumPy array over bytes, read-only.
pub(crate) fn of_bytes(py: Python<'_>, bytes: Bytes, scalar: Scalar, shape: &[usize]) -> PyResult<Py<PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let buffer = Buffer::new(bytes, scalar, shape)
        .ok_or_else(|| PyValueError::new_err("the bytes are not as many as the shape says"))?;
    Ok(AS_ARRAY.import(py, "numpy", "asarray")?.call1((Bound::new(py, buffer)?,))?.unbind())
}

/// A NumPy array over an array of the library, read-only: `[n]` of numbers, `[n, components]` of others.
pub(crate) fn of_array<T: Element>(py: Python<'_>, array: Array<T>) -> PyResult<Py<PyAny>> {
    let (scalar, components) = T::SHAPE.unwrap_or((Scalar::U8, 1));
    let bytes = array.into_bytes();
    let lanes = components as usize;
    let count = bytes.len().checked_div(scalar.size().saturating_mul(lanes)).unwrap_or(0);
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

/// Fills the caller's array with these values.
pub(crate) fn fill(py: Python<'_>, out: &Bound<'_, PyAny>, values: &[f32]) -> PyResult<()> {
    let place = PyBuffer::<f32>::get(out)?;
    if place.item_count() != values.len() {
        return Err(PyValueError::new_err(format!(
            "out has {} numbers, and {} are needed",
            place.item_count(),
            values.len()
        )));
    }
    place.copy_from_slice(py, values)
}
