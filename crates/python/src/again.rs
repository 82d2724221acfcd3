//! The arguments of `open`, by which pickled files and their parts are opened again in another process.

use std::path::Path;
use std::sync::Arc;

use meshmap::{Checksums, Limits, Options, Parallelism, Strictness};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A function and its arguments.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// The settings for reading a file.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) mmap: bool,
    pub(crate) options: Options,
}

impl How {
    pub(crate) fn new(
        mmap: bool,
        strict: bool,
        parallel: bool,
        checksums: bool,
        max_block_bytes: Option<u64>,
        max_total_bytes: Option<u64>,
    ) -> Self {
        let mut limits = Limits::default().with_remedies([
            "open(.., max_block_bytes=)",
            "open(.., max_total_bytes=)",
            "",
        ]);
        if let Some(bytes) = max_block_bytes {
            limits = limits.with_max_block_bytes(bytes).with_free_ratio(0);
        }
        if let Some(bytes) = max_total_bytes {
            limits = limits.with_max_total_bytes(bytes).with_free_ratio(0);
        }
        let options = Options::default()
            .with_limits(limits)
            .with_strictness(if strict {
                Strictness::Strict
            } else {
                Strictness::Tolerant
            })
            .with_parallelism(if parallel {
                Parallelism::Rayon
            } else {
                Parallelism::Off
            })
            .with_checksums(if checksums {
                Checksums::Verify
            } else {
                Checksums::Ignore
            });
        Self { mmap, options }
    }
}

/// The arguments of `open`.
pub(crate) struct Origin {
    /// The path, the bytes, the file object or the reader.
    object: Py<PyAny>,
    is_reader: bool,
    size: Option<u64>,
    pub(crate) how: How,
}

impl Origin {
    /// `path` is the path of a file object, if it has one.
    pub(crate) fn new(
        object: &Bound<'_, PyAny>,
        path: Option<&Path>,
        is_reader: bool,
        size: Option<u64>,
        how: How,
    ) -> PyResult<Arc<Self>> {
        // A file object cannot be sent to another process, but the path of a file on disk can.
        let named = path.filter(|path| object.hasattr("seek").unwrap_or(false) && path.is_file());
        let object = match named.and_then(|path| std::path::absolute(path).ok()) {
            Some(path) => path
                .into_os_string()
                .into_pyobject(object.py())?
                .into_any()
                .unbind(),
            None => object.clone().unbind(),
        };
        Ok(Arc::new(Self {
            object,
            is_reader,
            size,
            how,
        }))
    }

    /// Opens the file again.
    pub(crate) fn reduced<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let reopen = py.import("meshmap")?.getattr("_reopen")?;
        Ok((reopen, self.arguments(py)?))
    }

    /// Opens the file again, and then takes these steps: the names of attributes, each with the arguments of a call, or with None if it is
    /// only read.
    pub(crate) fn part<'py>(
        &self,
        py: Python<'py>,
        steps: &[(&str, Option<Bound<'py, PyTuple>>)],
    ) -> PyResult<Reduced<'py>> {
        let again = py.import("meshmap")?.getattr("_part")?;
        Ok((
            again,
            (self.arguments(py)?, steps.to_vec()).into_pyobject(py)?,
        ))
    }

    /// Opens the file again, and decodes these parts of a snapshot.
    pub(crate) fn decoded<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        parts: &[&str],
    ) -> PyResult<Reduced<'py>> {
        let decoded = py.import("meshmap")?.getattr("_decoded")?;
        Ok((
            decoded,
            (self.arguments(py)?, index, parts.to_vec()).into_pyobject(py)?,
        ))
    }

    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let options = PyDict::new(py);
        let own = &self.how.options;
        options.set_item("mmap", self.how.mmap)?;
        options.set_item("strict", own.strictness == Strictness::Strict)?;
        options.set_item("parallel", own.parallelism != Parallelism::Off)?;
        options.set_item("checksums", own.checksums == Checksums::Verify)?;
        let usual = Limits::default();
        let said = |set: u64, usual: u64| (set != usual).then_some(set);
        options.set_item(
            "max_block_bytes",
            said(own.limits.max_block_bytes, usual.max_block_bytes),
        )?;
        options.set_item(
            "max_total_bytes",
            said(own.limits.max_total_bytes, usual.max_total_bytes),
        )?;
        if self.is_reader {
            options.set_item("size", self.size)?;
        }
        (self.object.clone_ref(py), self.is_reader, options).into_pyobject(py)
    }
}

/// A class of values: fields that are read, and from which pickle makes the value again.
macro_rules! value {
    (
        $(#[$about:meta])*
        pub struct $name:ident as $class:literal { $($(#[$doc:meta])* $field:ident: $kind:ty,)* }
        fn repr($this:ident) { $repr:expr }
    ) => {
        $(#[$about])*
        #[pyclass(frozen, get_all, name = $class, module = "meshmap")]
        pub struct $name { $($(#[$doc])* pub(crate) $field: $kind,)* }

        #[pymethods]
        impl $name {
            /// The value with these fields: for pickle.
            #[new]
            #[allow(clippy::too_many_arguments, reason = "each is a field")]
            fn restore($($field: $kind),*) -> Self {
                Self { $($field),* }
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<$crate::again::Reduced<'py>> {
                let this = slf.get();
                let fields = [$(pyo3::IntoPyObjectExt::into_bound_py_any(this.$field.clone(), slf.py())?),*];
                Ok((slf.get_type().into_any(), pyo3::types::PyTuple::new(slf.py(), fields)?))
            }

            fn __repr__(&self) -> String {
                let $this = self;
                $repr
            }
        }
    };
}
pub(crate) use value;
