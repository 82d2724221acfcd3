use super::attribute::Attribute;
use super::vertex_format::VertexFormat;
use crate::bytes::{F16, Scalar};
use crate::report::{Error, ErrorKind, Result};

/// How the numbers of an attribute lie in a domain of their own: `number * scale + offset` for each lane, where
/// `number` is in 0..1 or -1..1 as the format's normalization says.
///
/// Two operations in single precision, each rounded. What a shader does with the stored integers to get the values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Dequant {
    /// The extent of the domain; 1 for lanes that are not stored.
    pub scale: [f32; 4],
    /// Where it begins; 0 for lanes that are not stored.
    pub offset: [f32; 4],
}

impl Dequant {
    /// Of lanes from `min` to `max`.
    pub(crate) fn of_domain<const N: usize>(min: [f32; N], max: [f32; N]) -> Self {
        let mut dequant = Self { scale: [1.0; 4], offset: [0.0; 4] };
        let lanes = dequant.scale.iter_mut().zip(&mut dequant.offset);
        for ((scale, offset), (min, max)) in lanes.zip(min.into_iter().zip(max)) {
            (*scale, *offset) = (max - min, min);
        }
        dequant
    }

    pub(super) fn apply(&self, lane: usize, number: f32) -> f32 {
        match (self.scale.get(lane), self.offset.get(lane)) {
            (Some(scale), Some(offset)) => number * scale + offset,
            _ => number,
        }
    }
}

/// How one stored lane becomes one of the target.
#[derive(Clone, Copy)]
pub(super) enum Conversion {
    Copy,
    ToF32,
    ToInteger { from: Scalar, to: Scalar },
}

impl Conversion {
    /// Appends a lane in the byte order of the host.
    pub(super) fn append(
        self,
        attribute: &Attribute,
        index: usize,
        lane: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self {
            Self::ToF32 => out.extend_from_slice(&attribute.lane_to_f32(index, lane).to_ne_bytes()),
            Self::Copy if cfg!(target_endian = "little") => out.extend_from_slice(lane),
            Self::Copy => out.extend(lane.iter().rev()),
            Self::ToInteger { from, to } => {
                let value = lane_to_i64(from, lane);
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

/// The number in the bytes of one lane; integers scaled where the format is normalized.
pub(super) fn lane_to_f32(format: VertexFormat, lane: &[u8]) -> f32 {
    let scalar = format.scalar;
    let number = match scalar {
        Scalar::F32 => return f32::from_le_bytes(leading(lane)),
        _ if format.normalized && !scalar.is_float() => {
            (lane_to_f64(scalar, lane) / largest(scalar)).max(-1.0)
        }
        _ => lane_to_f64(scalar, lane),
    };
    #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest, which is what is promised")]
    let rounded = number as f32;
    rounded
}

/// The number in the bytes of one lane, exactly.
pub(super) fn lane_to_f64(scalar: Scalar, lane: &[u8]) -> f64 {
    match scalar {
        Scalar::F16 => F16(u16::from_le_bytes(leading(lane))).to_f32().into(),
        Scalar::F32 => f32::from_le_bytes(leading(lane)).into(),
        Scalar::F64 => f64::from_le_bytes(leading(lane)),
        #[expect(clippy::cast_precision_loss, reason = "no integer of these formats has more than 32 bits")]
        integer => lane_to_i64(integer, lane) as f64,
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

/// The integer in the bytes of one lane.
fn lane_to_i64(scalar: Scalar, lane: &[u8]) -> i64 {
    match scalar {
        Scalar::U8 => u8::from_le_bytes(leading(lane)).into(),
        Scalar::I8 => i8::from_le_bytes(leading(lane)).into(),
        Scalar::U16 => u16::from_le_bytes(leading(lane)).into(),
        Scalar::I16 => i16::from_le_bytes(leading(lane)).into(),
        Scalar::U32 => u32::from_le_bytes(leading(lane)).into(),
        Scalar::I32 => i32::from_le_bytes(leading(lane)).into(),
        // Floats are converted by `lane_to_f32` alone.
        Scalar::F16 | Scalar::F32 | Scalar::F64 => 0,
    }
}

fn leading<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}
