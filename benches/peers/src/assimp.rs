//! The two functions of assimp's C interface that loading takes.

use std::ffi::{CString, c_char, c_uint, c_void};
use std::io;
use std::path::Path;

#[link(name = "assimp")]
unsafe extern "C" {
    fn aiImportFile(path: *const c_char, flags: c_uint) -> *const c_void;
    fn aiReleaseImport(scene: *const c_void);
}

/// A file for assimp to load.
pub(crate) struct Importer {
    path: CString,
}

impl Importer {
    /// Fails where assimp does not load this file.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let path = CString::new(path.to_str().ok_or(io::ErrorKind::InvalidInput)?)?;
        let this = Self { path };
        if this.load() {
            Ok(this)
        } else {
            Err(io::Error::other("assimp does not load the file"))
        }
    }

    /// Loads the file as it is, without any post-processing, and drops it.
    pub(crate) fn import(&self) {
        self.load();
    }

    fn load(&self) -> bool {
        // SAFETY: the path ends with a 0 byte and outlives the call; the scene is released once and not used after.
        unsafe {
            let scene = aiImportFile(self.path.as_ptr(), 0);
            if !scene.is_null() {
                aiReleaseImport(scene);
            }
            !scene.is_null()
        }
    }
}
