use super::vertex_format::VertexFormat;
use crate::bytes::{F16, Scalar};
use crate::report::{Error, ErrorKind, Result};

/// Dequantization: `value * scale + offset` for each component.
///
/// `value` is the normalized integer, in 0..1 or -1..1. Both operations are rounded to single precision, as in a
/// shader.
///
/// Equal where all bits are, but for those of numbers that are none: a file may have domains without a number.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Dequant {
    /// The scale of each component; 1 for components that are not stored.
    pub scale: [f32; 4],
    /// The offset of each component; 0 for components that are not stored.
    pub offset: [f32; 4],
}

impl PartialEq for Dequant {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |this: &Self| this.scale.into_iter().chain(this.offset);
        numbers(self).zip(numbers(other)).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
    }
}

impl Eq for Dequant {}

impl Dequant {
    /// Of components between `min` and `max`.
    pub(crate) fn of_domain<const N: usize>(min: [f32; N], max: [f32; N]) -> Self {
        let mut dequant = Self { scale: [1.0; 4], offset: [0.0; 4] };
        let components = dequant.scale.iter_mut().zip(&mut dequant.offset);
        for ((scale, offset), (min, max)) in components.zip(min.into_iter().zip(max)) {
            (*scale, *offset) = (max - min, min);
        }
        dequant
    }

    fn apply(&self, component: usize, number: f32) -> f32 {
        match (self.scale.get(component), self.offset.get(component)) {
            (Some(scale), Some(offset)) => number * scale + offset,
            _ => number,
        }
    }
}

/// How the elements of an attribute are stored.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    pub(super) format: VertexFormat,
    pub(super) dequant: Option<Dequant>,
}

impl Stored {
    /// The value of the component at `index`, whose bytes these are.
    pub(super) fn to_f32(self, index: usize, component: &[u8]) -> f32 {
        let number = component_to_f32(self.format, component);
        self.dequant.map_or(number, |dequant| dequant.apply(index, number))
    }
}

/// How one stored component becomes one of the target.
#[derive(Clone, Copy)]
pub(super) enum Conversion {
    Copy,
    ToF32,
    ToInteger { from: Scalar, to: Scalar },
}

impl Conversion {
    /// Appends a component in the byte order of the host.
    pub(super) fn append(
        self,
        stored: Stored,
        index: usize,
        component: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self {
            Self::ToF32 => out.extend_from_slice(&stored.to_f32(index, component).to_ne_bytes()),
            Self::Copy if cfg!(target_endian = "little") => out.extend_from_slice(component),
            Self::Copy => out.extend(component.iter().rev()),
            Self::ToInteger { from, to } => {
                let value = component_to_i64(from, component);
                let too_large = |_| {
                    let error = Error::new(ErrorKind::OutOfRange, "integer of a vertex attribute");
                    error.expected(format!("one that {to} can hold")).found(value)
                };
                match to {
                    Scalar::U8 => {
                        out.extend_from_slice(&u8::try_from(value).map_err(too_large)?.to_ne_bytes())
                    }
                    Scalar::I8 => {
                        out.extend_from_slice(&i8::try_from(value).map_err(too_large)?.to_ne_bytes())
                    }
                    Scalar::U16 => {
                        out.extend_from_slice(&u16::try_from(value).map_err(too_large)?.to_ne_bytes())
                    }
                    Scalar::I16 => {
                        out.extend_from_slice(&i16::try_from(value).map_err(too_large)?.to_ne_bytes())
                    }
                    Scalar::U32 => {
                        out.extend_from_slice(&u32::try_from(value).map_err(too_large)?.to_ne_bytes())
                    }
                    _ => out.extend_from_slice(&i32::try_from(value).map_err(too_large)?.to_ne_bytes()),
                }
            }
        }
        Ok(())
    }
}

/// The number in the bytes of one component; integers scaled where the format is normalized.
fn component_to_f32(format: VertexFormat, component: &[u8]) -> f32 {
    let scalar = format.scalar;
    let number = match scalar {
        Scalar::F32 => return f32::from_le_bytes(leading(component)),
        _ if format.normalized && !scalar.is_float() => {
            (component_to_f64(scalar, component) / largest(scalar)).max(-1.0)
        }
        _ => component_to_f64(scalar, component),
    };
    #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest, which is what is promised")]
    let rounded = number as f32;
    rounded
}

/// The number in the bytes of one component, exactly.
pub(super) fn component_to_f64(scalar: Scalar, component: &[u8]) -> f64 {
    match scalar {
        Scalar::F16 => F16(u16::from_le_bytes(leading(component))).to_f32().into(),
        Scalar::F32 => f32::from_le_bytes(leading(component)).into(),
        Scalar::F64 => f64::from_le_bytes(leading(component)),
        #[expect(clippy::cast_precision_loss, reason = "no integer of these formats has more than 32 bits")]
        integer => component_to_i64(integer, component) as f64,
    }
}

/// The greatest integer of a type; 1 of floats.
fn largest(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::U8 => u8::MAX.into(),
        Scalar::I8 => i8::MAX.into(),
        Scalar::U16 => u16::MAX.into(),
        Scalar::I16 => i16::MAX.into(),
        Scalar::U32 => u32::MAX.into(),
        Scalar::I32 => i32::MAX.into(),
        Scalar::F16 | Scalar::F32 | Scalar::F64 => 1.0,
    }
}

/// The integer in the bytes of one component.
fn component_to_i64(scalar: Scalar, component: &[u8]) -> i64 {
    match scalar {
        Scalar::U8 => u8::from_le_bytes(leading(component)).into(),
        Scalar::I8 => i8::from_le_bytes(leading(component)).into(),
        Scalar::U16 => u16::from_le_bytes(leading(component)).into(),
        Scalar::I16 => i16::from_le_bytes(leading(component)).into(),
        Scalar::U32 => u32::from_le_bytes(leading(component)).into(),
        Scalar::I32 => i32::from_le_bytes(leading(component)).into(),
        // Floats are converted by `component_to_f32` alone.
        Scalar::F16 | Scalar::F32 | Scalar::F64 => 0,
    }
}

fn leading<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}
