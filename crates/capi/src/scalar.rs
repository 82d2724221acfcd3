//! The types of numbers.

use meshmap::Scalar;

use crate::fail::Result;
use crate::format::value;

/// The type of a number.
pub type mm_scalar = u32;
/// A type that this version of the library does not know.
pub const MM_SCALAR_UNKNOWN: mm_scalar = 0;
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

const SCALARS: [(mm_scalar, Scalar); 9] = [
    (MM_SCALAR_U8, Scalar::U8),
    (MM_SCALAR_I8, Scalar::I8),
    (MM_SCALAR_U16, Scalar::U16),
    (MM_SCALAR_I16, Scalar::I16),
    (MM_SCALAR_U32, Scalar::U32),
    (MM_SCALAR_I32, Scalar::I32),
    (MM_SCALAR_F16, Scalar::F16),
    (MM_SCALAR_F32, Scalar::F32),
    (MM_SCALAR_F64, Scalar::F64),
];

pub(crate) fn scalar_number(scalar: Scalar) -> mm_scalar {
    SCALARS
        .iter()
        .find(|(_, own)| *own == scalar)
        .map_or(MM_SCALAR_UNKNOWN, |(number, _)| *number)
}

pub(crate) fn scalar(number: mm_scalar) -> Result<Scalar> {
    value("mm_scalar", &SCALARS, number)
}

/// The bytes of a number. Returns 0 for a value that is not an MM_SCALAR_*.
#[unsafe(no_mangle)]
pub extern "C" fn mm_scalar_size(scalar: mm_scalar) -> usize {
    self::scalar(scalar).map_or(0, Scalar::size)
}
