//! The number in the bytes of one component, of any type.

use super::vertex_format::VertexFormat;
use crate::bytes::{F16, Scalar};

/// The number in the bytes of one component; integers are scaled if the format is normalized.
pub(super) fn component_to_f32(format: VertexFormat, component: &[u8]) -> f32 {
    let scalar = format.scalar;
    let number = match scalar {
        Scalar::F32 => return f32::from_le_bytes(leading(component)),
        Scalar::F16 => return F16(u16::from_le_bytes(leading(component))).to_f32(),
        _ if format.normalized && !scalar.is_float() => {
            (component_to_f64(scalar, component) / largest(scalar)).max(-1.0)
        }
        _ => component_to_f64(scalar, component),
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounds to the nearest, which is what is promised"
    )]
    let rounded = number as f32;
    rounded
}

/// The number in the bytes of one component, exactly.
pub(crate) fn component_to_f64(scalar: Scalar, component: &[u8]) -> f64 {
    match scalar {
        Scalar::F16 => F16(u16::from_le_bytes(leading(component))).to_f32().into(),
        Scalar::F32 => f32::from_le_bytes(leading(component)).into(),
        Scalar::F64 => f64::from_le_bytes(leading(component)),
        #[expect(
            clippy::cast_precision_loss,
            reason = "no integer of these formats has more than 32 bits"
        )]
        integer => component_to_i64(integer, component) as f64,
    }
}

/// The maximum integer of a type, which stands for 1; 1 for floats.
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
        // Only `component_to_f32` converts floats.
        Scalar::F16 | Scalar::F32 | Scalar::F64 => 0,
    }
}

fn leading<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}
