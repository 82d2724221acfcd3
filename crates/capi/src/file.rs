//! Opening files, and what is known of them.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::sync::Arc;

use meshmap::cgeo::Proxy;
use meshmap::slmesh::Asset;
use meshmap::{Format, MeshFile, Source, iqm};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::format::{format_number, mm_format};
use crate::handle::{self, Kind};
use crate::memory::put;
#[cfg(not(unix))]
use crate::memory::text;
use crate::options::{mm_options, options};
use crate::reader::{Reader, memory, mm_reader, mm_release_fn};

/// A file of any format.
pub struct mm_file {
    _opaque: [u8; 0],
}

/// The object behind an `mm_file`.
pub(crate) struct File {
    pub(crate) file: MeshFile,
    /// `true` if its bytes are in memory, so that uncompressed data can be exposed as a view.
    pub(crate) is_in_memory: bool,
}

impl Kind for File {
    type Opaque = mm_file;
    const NAME: &'static str = "mm_file";
}

fn wrong_format(expected: Format, found: Format) -> Fail {
    Fail::new(
        status::MM_ERROR_FORMAT,
        format!("expected a file of format {expected}, found one of format {found}"),
    )
}

impl File {
    pub(crate) fn cgeo(&self) -> Result<&Proxy> {
        self.file
            .as_cgeo()
            .ok_or_else(|| wrong_format(Format::CGeo, self.file.format()))
    }

    pub(crate) fn iqm(&self) -> Result<&iqm::Model> {
        self.file
            .as_iqm()
            .ok_or_else(|| wrong_format(Format::Iqm, self.file.format()))
    }

    pub(crate) fn slmesh(&self) -> Result<&Asset> {
        self.file
            .as_slmesh()
            .ok_or_else(|| wrong_format(Format::SlMesh, self.file.format()))
    }
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn mm_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// Opens a source.
unsafe fn open(
    source: impl FnOnce() -> Result<Source>,
    is_in_memory: bool,
    how: *const mm_options,
    out: *mut *mut mm_file,
) -> mm_status {
    let open = || {
        let source = source()?;
        // SAFETY: the caller's, as the header says.
        let options = unsafe { options(how) }?;
        Ok(Arc::new(File {
            file: MeshFile::from_source(source, &options)?,
            is_in_memory,
        }))
    };
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, open) }
}

/// A path as the system has it.
unsafe fn path<'a>(from: *const c_char) -> Result<&'a Path> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        if from.is_null() {
            return Err(Fail::argument("expected a path, found NULL"));
        }
        // SAFETY: the caller's, as the header says.
        let bytes = unsafe { CStr::from_ptr(from) }.to_bytes();
        Ok(Path::new(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    // SAFETY: the caller's, as the header says.
    unsafe {
        text(from).map(Path::new)
    }
}

/// Opens a file of any format. What is asked for is read then, by positioned reads; the file may be changed meanwhile, which at
/// worst is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_open(
    path: *const c_char,
    options: *const mm_options,
    out: *mut *mut mm_file,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { open(|| Ok(Source::open(self::path(path)?)?), false, options, out) }
}

/// Opens a file of any format and maps it into memory: what is not compressed is shown where it lies. Until the file and
/// everything that was read of it is closed, no process may truncate the file or write into it; replacing it by renaming is
/// fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_open_map(
    path: *const c_char,
    options: *const mm_options,
    out: *mut *mut mm_file,
) -> mm_status {
    // SAFETY: the caller's, as the header says; it promises that the file is not changed.
    unsafe { open(|| Ok(Source::map(self::path(path)?)?), true, options, out) }
}

/// Opens a file of any format that is in memory. The memory is lent: `release`, which may be NULL, is called with `user` once
/// nothing shows it any more, also if opening fails; until then it must not change. MM_ERROR_ARGUMENT if `data` is NULL and
/// `length` is not 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_open_memory(
    data: *const c_void,
    length: usize,
    release: mm_release_fn,
    user: *mut c_void,
    options: *const mm_options,
    out: *mut *mut mm_file,
) -> mm_status {
    // Lent memory is given back even if nothing is read.
    // SAFETY: the caller's, as the header says.
    let source = unsafe { memory(data, length, release, user) };
    // SAFETY: the caller's, as the header says.
    unsafe { open(|| source, true, options, out) }
}

/// Opens a file of any format that callbacks read: an archive, a store. `reader` is copied; its `release` is called with its
/// `user` once nothing is read any more, also if opening fails for any reason, such as a wrong `size`. Callbacks are called on any
/// thread. MM_ERROR_IO if a callback returns another number than 0, or claims to have stored more than there is room for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_open_reader(
    reader: *const mm_reader,
    options: *const mm_options,
    out: *mut *mut mm_file,
) -> mm_status {
    // SAFETY: the caller's, as the header says.
    let source = unsafe { Reader::new(reader) }.map(Source::ranged);
    // SAFETY: the caller's, as the header says.
    unsafe { open(|| source, false, options, out) }
}

/// Makes another handle of a file, to be closed on its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_file_ref(file: *const mm_file, out: *mut *mut mm_file) -> mm_status {
    // SAFETY: the caller's, as the header says.
    unsafe { handle::make(out, || handle::get::<File>(file)) }
}

/// Closes a file. Objects that were read from it (meshes, lists, arrays, snapshots) stay valid. Calls on it that have begun on
/// other threads end as usual. MM_ERROR_HANDLE if it was closed before, or is not a file.
#[unsafe(no_mangle)]
pub extern "C" fn mm_close(file: *mut mm_file) -> mm_status {
    guard(|| handle::close::<File>(file))
}

/// The format of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_file_format(file: *const mm_file, out: *mut mm_format) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put(out, format_number(file.file.format())) }
    })
}
