use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, little_endian as le};

/// The type of one component of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[non_exhaustive]
pub enum Scalar {
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Scalar {
    /// Size in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Returns `true` if this is one of the floating-point types.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// An element of an [`Array`](super::Array): a number, a short array of numbers, or a raw structure of a format.
///
/// Implemented for `u8`, `i8`, `u16`, `i16`, `u32`, `i32`, [`F16`], `f32`, `f64`, and arrays of them. It is sealed: other crates
/// cannot implement it.
pub trait Element: Copy + Send + Sync + 'static + sealed::Stored {}

pub(crate) mod sealed {
    use std::fmt;

    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

    use super::Scalar;

    /// The storage of an element in files.
    pub trait Stored: Sized + IntoBytes + Immutable {
        /// The element as stored: little-endian, without alignment.
        type Stored: FromBytes
            + IntoBytes
            + KnownLayout
            + Immutable
            + Unaligned
            + Copy
            + Send
            + Sync
            + fmt::Debug;
        /// The type and number of components; `None` for structures.
        const SHAPE: Option<(Scalar, u32)>;
        fn from_stored(stored: Self::Stored) -> Self;
        /// The bytes as native elements, if alignment and byte order allow it.
        fn native(bytes: &[u8]) -> Option<&[Self]>;
        /// The elements as triples of floats, if that is their type.
        fn triples(elements: &mut [Self]) -> Option<&mut [[f32; 3]]> {
            let _ = elements;
            None
        }
    }

    /// An element that is one number.
    pub trait Number: Stored + FromBytes + KnownLayout {}
}

/// An IEEE 754 binary16 number, as its bits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
#[repr(transparent)]
pub struct F16(pub u16);

impl F16 {
    /// Converts to `f32`, exactly. NaN keeps its payload.
    #[must_use]
    pub fn to_f32(self) -> f32 {
        let sign = u32::from(self.0 & 0x8000) << 16;
        let exponent = u32::from(self.0 >> 10) & 0x1f;
        let mantissa = u32::from(self.0 & 0x3ff);
        let magnitude = match exponent {
            // Subnormals are multiples of 2^-24.
            0 => {
                return f32::from_bits(
                    (f32::from(self.0 & 0x3ff) * f32::from_bits(0x3380_0000)).to_bits() | sign,
                );
            }
            0x1f => 0x7f80_0000 | (mantissa << 13),
            // The exponents' biases are 15 and 127.
            _ => (exponent.wrapping_add(127 - 15) << 23) | (mantissa << 13),
        };
        f32::from_bits(sign | magnitude)
    }

    /// The nearest half, the even one of two; infinite from 65,520 on. NaN keeps the upper bits of its payload.
    #[must_use]
    pub fn from_f32(number: f32) -> Self {
        /// 65,520, half a step beyond the largest half.
        const OVERFLOW: u32 = 0x477f_f000;
        /// 2^-14, the smallest half with an exponent.
        const NORMAL: u32 = 0x3880_0000;
        let bits = number.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let half = if number.is_nan() {
            let payload = (magnitude >> 13) & 0x3ff;
            0x7c00 | if payload == 0 { 0x200 } else { payload }
        } else if magnitude >= OVERFLOW {
            0x7c00
        } else if magnitude < NORMAL {
            // The last bit of 0.5 counts what the last bit of such a half does: adding rounds.
            (f32::from_bits(magnitude) + 0.5)
                .to_bits()
                .wrapping_sub(0.5_f32.to_bits())
        } else {
            let is_odd = (magnitude >> 13) & 1;
            let rounded = magnitude.wrapping_add(0xfff).wrapping_add(is_odd) >> 13;
            rounded.wrapping_sub((127 - 15) << 10)
        };
        let [a, b, _, _] = (half | (bits >> 16) & 0x8000).to_le_bytes();
        Self(u16::from_le_bytes([a, b]))
    }
}

macro_rules! scalar {
    ($native:ty, $stored:ty, $scalar:ident, $from:expr) => {
        impl sealed::Stored for $native {
            type Stored = $stored;
            const SHAPE: Option<(Scalar, u32)> = Some((Scalar::$scalar, 1));
            fn from_stored(stored: Self::Stored) -> Self {
                $from(stored)
            }
            fn native(bytes: &[u8]) -> Option<&[Self]> {
                let native = <[Self]>::ref_from_bytes(bytes).ok();
                native.filter(|_| cfg!(target_endian = "little") || size_of::<Self>() == 1)
            }
        }
        impl sealed::Number for $native {}
    };
}

impl<T: sealed::Stored + Copy + Send + Sync + 'static> Element for T {}

impl<T: sealed::Number, const N: usize> sealed::Stored for [T; N] {
    type Stored = [T::Stored; N];
    const SHAPE: Option<(Scalar, u32)> = match T::SHAPE {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the widths that are used are single digits"
        )]
        Some((scalar, _)) => Some((scalar, N as u32)),
        None => None,
    };
    fn from_stored(stored: Self::Stored) -> Self {
        stored.map(T::from_stored)
    }
    fn native(bytes: &[u8]) -> Option<&[Self]> {
        let native = <[Self]>::ref_from_bytes(bytes).ok();
        native.filter(|_| cfg!(target_endian = "little") || size_of::<T>() == 1)
    }
    fn triples(elements: &mut [Self]) -> Option<&mut [[f32; 3]]> {
        let is_same = Self::SHAPE == Some((Scalar::F32, 3));
        <[[f32; 3]]>::mut_from_bytes(elements.as_mut_bytes())
            .ok()
            .filter(|_| is_same)
    }
}

scalar!(u8, u8, U8, |stored| stored);

scalar!(i8, i8, I8, |stored| stored);

scalar!(u16, le::U16, U16, le::U16::get);

scalar!(i16, le::I16, I16, le::I16::get);

scalar!(u32, le::U32, U32, le::U32::get);

scalar!(i32, le::I32, I32, le::I32::get);

scalar!(F16, le::U16, F16, |stored: le::U16| F16(stored.get()));

scalar!(f32, le::F32, F32, le::F32::get);

scalar!(f64, le::F64, F64, le::F64::get);

/// Makes raw structures elements of arrays. They are their own stored form.
macro_rules! raw_elements {
    ($($raw:ty),+ $(,)?) => {$(
        impl crate::bytes::sealed::Stored for $raw {
            type Stored = Self;
            const SHAPE: Option<(crate::bytes::Scalar, u32)> = None;
            fn from_stored(stored: Self) -> Self {
                stored
            }
            fn native(bytes: &[u8]) -> Option<&[Self]> {
                <[Self] as zerocopy::FromBytes>::ref_from_bytes(bytes).ok()
            }
        }
    )+};
}

pub(crate) use raw_elements;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_widen_exactly() {
        // Exact, as `powi` need not be.
        let power = |exponent: i32| f64::from_bits(u64::try_from(1023 + exponent).unwrap() << 52);
        for bits in (0..=u16::MAX).step_by(if cfg!(miri) { 31 } else { 1 }) {
            let wide = F16(bits).to_f32();
            let exponent = i32::from(bits >> 10 & 0x1f);
            let mantissa = f64::from(bits & 0x3ff);
            let magnitude = match exponent {
                0 => mantissa * power(-24),
                0x1f if mantissa == 0. => f64::INFINITY,
                0x1f => {
                    assert!(wide.is_nan(), "{bits:#x}");
                    continue;
                }
                _ => (1. + mantissa / 1024.) * power(exponent - 15),
            };
            assert_eq!(f64::from(wide.abs()), magnitude, "{bits:#x}");
            assert_eq!(wide.is_sign_negative(), bits >= 0x8000, "{bits:#x}");
        }
    }

    #[test]
    fn halves_are_the_nearest() {
        // Every half comes back, and so does what lies a little to its sides; half-way the even one is taken.
        for bits in (0..0x7c00_u16).step_by(if cfg!(miri) { 61 } else { 1 }) {
            let half = F16(bits).to_f32();
            let next = F16(bits + 1).to_f32();
            let next = if next.is_infinite() { 65_536. } else { next };
            let middle = (half + next) / 2.;
            for (number, expected) in [
                (half, bits),
                (f32::from_bits(middle.to_bits() - 1), bits),
                (middle, bits + (bits & 1)),
                (f32::from_bits(middle.to_bits() + 1), bits + 1),
            ] {
                assert_eq!(F16::from_f32(number).0, expected, "{number}");
                assert_eq!(F16::from_f32(-number).0, expected | 0x8000, "{number}");
            }
        }
        for (number, expected) in [
            (f32::INFINITY, 0x7c00),
            (1e30, 0x7c00),
            (-1e30, 0xfc00),
            (1e-30, 0),
        ] {
            assert_eq!(F16::from_f32(number).0, expected, "{number}");
        }
        for bits in 0x7c01..=0x7fff_u16 {
            assert_eq!(F16::from_f32(F16(bits).to_f32()).0, bits, "{bits:#x}");
        }
        assert!(F16::from_f32(f32::from_bits(0x7f80_0001)).to_f32().is_nan());
    }
}
