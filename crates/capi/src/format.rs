//! The formats, as numbers.

use std::ffi::{CStr, c_char};

use meshmap::Format;

use crate::fail::{Fail, Result};

/// A format of files.
pub type mm_format = u32;
/// None of these (mm_error.format).
pub const MM_FORMAT_UNKNOWN: mm_format = 0;
/// Corona Renderer proxy.
pub const MM_FORMAT_CGEO: mm_format = 1;
/// Inter-Quake Model.
pub const MM_FORMAT_IQM: mm_format = 2;
/// OpenCTM.
pub const MM_FORMAT_OPENCTM: mm_format = 3;
/// Second Life mesh asset.
pub const MM_FORMAT_SLMESH: mm_format = 4;
/// Tight Model Format.
pub const MM_FORMAT_TMF: mm_format = 5;

pub(crate) fn unknown(what: &str, number: u32) -> Fail {
    Fail::argument(format!(
        "expected one of the values of {what}, found {number}"
    ))
}

/// The number that stands for a value in C, or the first number of the table if none does.
pub(crate) fn number<T: PartialEq>(table: &[(u32, T)], value: T) -> u32 {
    let found = table
        .iter()
        .find(|(_, own)| *own == value)
        .or_else(|| table.first());
    found.map_or(0, |(number, _)| *number)
}

/// The value of a number that a caller passes.
pub(crate) fn value<T: Copy>(what: &str, table: &[(u32, T)], number: u32) -> Result<T> {
    let found = table.iter().find(|(own, _)| *own == number);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| unknown(what, number))
}

pub(crate) fn format_number(format: Format) -> mm_format {
    match format {
        Format::CGeo => MM_FORMAT_CGEO,
        Format::OpenCtm => MM_FORMAT_OPENCTM,
        Format::SlMesh => MM_FORMAT_SLMESH,
        Format::Iqm => MM_FORMAT_IQM,
        Format::Tmf => MM_FORMAT_TMF,
        _ => MM_FORMAT_UNKNOWN,
    }
}

/// The name of a format: "cgeo", "openctm", "slmesh", "iqm" or "tmf". Returns "unknown" for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn mm_format_name(format: mm_format) -> *const c_char {
    let name: &CStr = match format {
        MM_FORMAT_CGEO => c"cgeo",
        MM_FORMAT_OPENCTM => c"openctm",
        MM_FORMAT_SLMESH => c"slmesh",
        MM_FORMAT_IQM => c"iqm",
        MM_FORMAT_TMF => c"tmf",
        _ => c"unknown",
    };
    name.as_ptr()
}
