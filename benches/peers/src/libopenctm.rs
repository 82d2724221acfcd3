//! The functions of libopenctm's C interface that loading and saving take.

use std::ffi::{CStr, CString, c_char, c_uint};
use std::io;
use std::path::Path;
use std::ptr::NonNull;

/// The target of a `CTMcontext`.
enum Opaque {}

#[link(name = "openctm")]
unsafe extern "C" {
    fn ctmNewContext(mode: c_uint) -> *mut Opaque;
    fn ctmFreeContext(context: *mut Opaque);
    fn ctmGetError(context: *mut Opaque) -> c_uint;
    fn ctmGetInteger(context: *mut Opaque, property: c_uint) -> c_uint;
    fn ctmGetIntegerArray(context: *mut Opaque, property: c_uint) -> *const u32;
    fn ctmGetFloatArray(context: *mut Opaque, property: c_uint) -> *const f32;
    fn ctmCompressionMethod(context: *mut Opaque, method: c_uint);
    fn ctmDefineMesh(
        context: *mut Opaque,
        vertices: *const f32,
        vertex_count: c_uint,
        indices: *const u32,
        triangle_count: c_uint,
        normals: *const f32,
    );
    fn ctmAddUVMap(
        context: *mut Opaque,
        coords: *const f32,
        name: *const c_char,
        file: *const c_char,
    ) -> c_uint;
    fn ctmLoad(context: *mut Opaque, path: *const c_char);
    fn ctmSave(context: *mut Opaque, path: *const c_char);
}

const NONE: c_uint = 0;
const IMPORT: c_uint = 0x0101;
const EXPORT: c_uint = 0x0102;
const VERTEX_COUNT: c_uint = 0x0301;
const TRIANGLE_COUNT: c_uint = 0x0302;
const INDICES: c_uint = 0x0601;
const VERTICES: c_uint = 0x0602;
const NORMALS: c_uint = 0x0603;
const UV_MAP_1: c_uint = 0x0700;

/// `CTM_METHOD_RAW`, `_MG1` and `_MG2`.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    Raw = 0x0201,
    Mg1 = 0x0202,
    Mg2 = 0x0203,
}

/// A context, freed when dropped.
pub(crate) struct Context(NonNull<Opaque>);

/// A mesh with normals and one UV map.
pub(crate) struct Mesh {
    pub(crate) positions: Vec<[f32; 3]>,
    pub(crate) normals: Vec<[f32; 3]>,
    pub(crate) coords: Vec<[f32; 2]>,
    pub(crate) indices: Vec<[u32; 3]>,
}

impl Context {
    fn new(mode: c_uint) -> io::Result<Self> {
        // SAFETY: any mode may be asked for.
        let context = unsafe { ctmNewContext(mode) };
        NonNull::new(context)
            .map(Self)
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn check(self) -> io::Result<Self> {
        // SAFETY: the context is alive.
        match unsafe { ctmGetError(self.0.as_ptr()) } {
            NONE => Ok(self),
            error => Err(io::Error::other(format!("libopenctm: error {error:#x}"))),
        }
    }

    /// Loads a file with all its arrays.
    pub(crate) fn load(path: &CStr) -> io::Result<Self> {
        let context = Self::new(IMPORT)?;
        // SAFETY: the context is alive, and the path ends with a 0 byte.
        unsafe { ctmLoad(context.0.as_ptr(), path.as_ptr()) };
        context.check()
    }

    fn integer(&self, property: c_uint) -> usize {
        // SAFETY: the context is alive.
        unsafe { ctmGetInteger(self.0.as_ptr(), property) as usize }
    }

    pub(crate) fn indices(&self) -> &[u32] {
        let len = self.integer(TRIANGLE_COUNT) * 3;
        // SAFETY: the library has loaded `len` indices, and keeps them until the context is freed.
        unsafe { std::slice::from_raw_parts(ctmGetIntegerArray(self.0.as_ptr(), INDICES), len) }
    }

    fn floats(&self, property: c_uint, lanes: usize) -> Option<&[f32]> {
        let len = self.integer(VERTEX_COUNT) * lanes;
        // SAFETY: as above; an array that the file does not have is null.
        unsafe {
            let array = ctmGetFloatArray(self.0.as_ptr(), property);
            (!array.is_null()).then(|| std::slice::from_raw_parts(array, len))
        }
    }

    pub(crate) fn positions(&self) -> Option<&[f32]> {
        self.floats(VERTICES, 3)
    }

    pub(crate) fn normals(&self) -> Option<&[f32]> {
        self.floats(NORMALS, 3)
    }

    pub(crate) fn coords(&self) -> Option<&[f32]> {
        self.floats(UV_MAP_1, 2)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is alive, and nothing uses it after this.
        unsafe { ctmFreeContext(self.0.as_ptr()) };
    }
}

impl Mesh {
    /// Writes the mesh with the library's own level of compression.
    pub(crate) fn save(&self, path: &Path, method: Method) -> io::Result<()> {
        let path = c_path(path)?;
        let context = Context::new(EXPORT)?;
        let raw = context.0.as_ptr();
        // SAFETY: the arrays outlive the context, which reads them when saving, and have the lengths that are stated.
        unsafe {
            ctmDefineMesh(
                raw,
                self.positions.as_ptr().cast(),
                self.positions.len().try_into().map_err(io::Error::other)?,
                self.indices.as_ptr().cast(),
                self.indices.len().try_into().map_err(io::Error::other)?,
                self.normals.as_ptr().cast(),
            );
            ctmAddUVMap(
                raw,
                self.coords.as_ptr().cast(),
                c"uv".as_ptr(),
                std::ptr::null(),
            );
            ctmCompressionMethod(raw, method as c_uint);
            ctmSave(raw, path.as_ptr());
        }
        context.check().map(drop)
    }
}

pub(crate) fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(
        path.to_str().ok_or(io::ErrorKind::InvalidInput)?,
    )?)
}
