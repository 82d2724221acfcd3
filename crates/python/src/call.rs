//! Calls of Python code by threads that may outlive the interpreter.
//!
//! When the interpreter ends, a daemon thread that asks for the GIL is ended: up to CPython 3.13 by `pthread_exit`, which unwinds
//! the stack and aborts the process at frames of Rust. Such a thread waits here until the process ends, as in CPython 3.14.

use std::hint::black_box;
use std::{mem, ptr, thread};

use pyo3::exceptions::PyException;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// Runs `work` with the GIL. Does not return if the interpreter has ended.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    Python::try_attach(work).unwrap_or_else(|| wait_for_exit())
}

fn wait_for_exit() -> ! {
    loop {
        thread::park();
    }
}

/// Keeps a thread that is unwound by `pthread_exit` from unwinding any further.
struct StopUnwinding;

impl Drop for StopUnwinding {
    fn drop(&mut self) {
        wait_for_exit();
    }
}

/// Calls a Python object whose code may release the GIL, and so be running when the interpreter ends.
#[allow(
    unsafe_code,
    reason = "pyo3 declares that functions of CPython never unwind"
)]
pub(crate) fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    type Declared =
        unsafe extern "C" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
    type Unwinding =
        unsafe extern "C-unwind" fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject;
    // SAFETY: the two types differ only in that a call by the second one may unwind.
    let object_call: Unwinding =
        unsafe { mem::transmute::<Declared, Unwinding>(ffi::PyObject_Call as Declared) };
    let keywords = keywords.map_or(ptr::null_mut(), Bound::as_ptr);
    let stop = StopUnwinding;
    // The optimizer must not find the function, whose declaration says that it never unwinds.
    // SAFETY: live objects, of the types that the function needs, and the GIL is held.
    let result = unsafe { black_box(object_call)(function.as_ptr(), arguments.as_ptr(), keywords) };
    mem::forget(stop);
    // SAFETY: a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}

/// An attribute of a module, which is imported once.
pub(crate) fn imported<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    module: &str,
    attribute: &str,
) -> PyResult<&'py Bound<'py, PyAny>> {
    if let Some(found) = cell.get(py) {
        return Ok(found.bind(py));
    }
    let import = py.import("importlib")?.getattr("import_module")?;
    let module = call(&import, &PyTuple::new(py, [module])?, None)?;
    let found = module.getattr(attribute)?.unbind();
    Ok(cell.get_or_init(py, || found).bind(py))
}

/// `None` for an `Exception`; KeyboardInterrupt and its like are not swallowed.
pub(crate) fn unless_raised<T>(py: Python<'_>, result: PyResult<T>) -> PyResult<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_instance_of::<PyException>(py) => Ok(None),
        Err(error) => Err(error),
    }
}
