//! The dialect of an open CGeo file, for `include/meshmap_cgeo.h`.

use crate::dialect::{dialect_numbers, mm_cgeo_dialect};
use crate::fail::{guard, mm_status};
use crate::file::{File, mm_file};
use crate::handle;
use crate::memory::put_sized;

/// The dialect with which a file is read: the one that was found in it, or given in mm_options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mm_cgeo_get_dialect(
    file: *const mm_file,
    out: *mut mm_cgeo_dialect,
) -> mm_status {
    guard(|| {
        let file = handle::get::<File>(file)?;
        // SAFETY: the caller's, as the header says.
        unsafe { put_sized(out, dialect_numbers(file.cgeo()?.dialect())) }
    })
}
