//! The numbers that stand for enums.

use std::ffi::{CStr, c_char};

use meshmap::cgeo::Wrap;
use meshmap::{Format, IndexFormat, Scalar, Severity};

use crate::fail::{Fail, Result};

/// A format of files: MM_FORMAT_*.
pub type mm_format = u32;
/// Corona Renderer proxy.
pub const MM_FORMAT_CGEO: mm_format = 1;
/// OpenCTM.
pub const MM_FORMAT_OPENCTM: mm_format = 2;
/// Second Life mesh asset.
pub const MM_FORMAT_SLMESH: mm_format = 3;
/// Inter-Quake Model.
pub const MM_FORMAT_IQM: mm_format = 4;
/// Tight Model Format.
pub const MM_FORMAT_TMF: mm_format = 5;

/// The type of a number: MM_SCALAR_*.
pub type mm_scalar = u32;
/// uint8_t.
pub const MM_SCALAR_U8: mm_scalar = 1;
/// int8_t.
pub const MM_SCALAR_I8: mm_scalar = 2;
/// uint16_t.
pub const MM_SCALAR_U16: mm_scalar = 3;
/// int16_t.
pub const MM_SCALAR_I16: mm_scalar = 4;
/// uint32_t.
pub const MM_SCALAR_U32: mm_scalar = 5;
/// int32_t.
pub const MM_SCALAR_I32: mm_scalar = 6;
/// Half precision, IEEE 754 binary16.
pub const MM_SCALAR_F16: mm_scalar = 7;
/// float.
pub const MM_SCALAR_F32: mm_scalar = 8;
/// double.
pub const MM_SCALAR_F64: mm_scalar = 9;

/// The type of an index: MM_INDEX_*.
pub type mm_index_format = u32;
/// The narrowest one that holds every index; 65,535 does not count as one of 16 bits.
pub const MM_INDEX_NARROWEST: mm_index_format = 0;
/// uint16_t.
pub const MM_INDEX_U16: mm_index_format = 2;
/// uint32_t.
pub const MM_INDEX_U32: mm_index_format = 4;

/// The behaviour before the first snapshot and after the last: MM_WRAP_*.
pub type mm_wrap = u32;
/// The first and the last snapshot stay.
pub const MM_WRAP_CLAMP: mm_wrap = 0;
/// The first snapshot follows the last, one step later.
pub const MM_WRAP_LOOP: mm_wrap = 1;
/// Snapshots run back to the first, then forth again.
pub const MM_WRAP_PING_PONG: mm_wrap = 2;

/// The severity of a finding: MM_SEVERITY_*, least serious first.
pub type mm_severity = u32;
/// Legal and harmless.
pub const MM_SEVERITY_NOTE: mm_severity = 1;
/// Legal, or what ordinary writers do.
pub const MM_SEVERITY_SUSPICIOUS: mm_severity = 2;
/// Against the specification, and read all the same.
pub const MM_SEVERITY_FORBIDDEN: mm_severity = 3;
/// The data cannot be used.
pub const MM_SEVERITY_UNUSABLE: mm_severity = 4;

pub(crate) fn unknown(what: &str, number: u32) -> Fail {
    Fail::argument(format!("expected one of the values of {what}, found {number}"))
}

pub(crate) fn format_number(format: Format) -> mm_format {
    match format {
        Format::CGeo => MM_FORMAT_CGEO,
        Format::OpenCtm => MM_FORMAT_OPENCTM,
        Format::SlMesh => MM_FORMAT_SLMESH,
        Format::Iqm => MM_FORMAT_IQM,
        Format::Tmf => MM_FORMAT_TMF,
        _ => 0,
    }
}

/// The name of a format: "cgeo", "openctm", "slmesh", "iqm" or "tmf".
///
/// Ownership: the text is static. Threads: any. Errors: "unknown" for a number that is none.
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

pub(crate) fn scalar_number(scalar: Scalar) -> mm_scalar {
    match scalar {
        Scalar::U8 => MM_SCALAR_U8,
        Scalar::I8 => MM_SCALAR_I8,
        Scalar::U16 => MM_SCALAR_U16,
        Scalar::I16 => MM_SCALAR_I16,
        Scalar::U32 => MM_SCALAR_U32,
        Scalar::I32 => MM_SCALAR_I32,
        Scalar::F16 => MM_SCALAR_F16,
        Scalar::F32 => MM_SCALAR_F32,
        Scalar::F64 => MM_SCALAR_F64,
        _ => 0,
    }
}

pub(crate) fn scalar(number: mm_scalar) -> Result<Scalar> {
    Ok(match number {
        MM_SCALAR_U8 => Scalar::U8,
        MM_SCALAR_I8 => Scalar::I8,
        MM_SCALAR_U16 => Scalar::U16,
        MM_SCALAR_I16 => Scalar::I16,
        MM_SCALAR_U32 => Scalar::U32,
        MM_SCALAR_I32 => Scalar::I32,
        MM_SCALAR_F16 => Scalar::F16,
        MM_SCALAR_F32 => Scalar::F32,
        MM_SCALAR_F64 => Scalar::F64,
        other => return Err(unknown("mm_scalar", other)),
    })
}

pub(crate) fn index_number(format: IndexFormat) -> mm_index_format {
    if format == IndexFormat::Uint16 { MM_INDEX_U16 } else { MM_INDEX_U32 }
}

pub(crate) fn wrap(number: mm_wrap) -> Result<Wrap> {
    Ok(match number {
        MM_WRAP_CLAMP => Wrap::Clamp,
        MM_WRAP_LOOP => Wrap::Loop,
        MM_WRAP_PING_PONG => Wrap::PingPong,
        other => return Err(unknown("mm_wrap", other)),
    })
}

pub(crate) fn severity_number(severity: Severity) -> mm_severity {
    match severity {
        Severity::Note => MM_SEVERITY_NOTE,
        Severity::Suspicious => MM_SEVERITY_SUSPICIOUS,
        Severity::Forbidden => MM_SEVERITY_FORBIDDEN,
        _ => MM_SEVERITY_UNUSABLE,
    }
}
