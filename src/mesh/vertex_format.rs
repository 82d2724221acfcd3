use std::fmt;

use crate::bytes::Scalar;

/// The format of one element of an attribute: little-endian components, one after the other.
///
/// The constants have the names of WebGPU's vertex formats. Files store no [packed](Self::packed) formats; they are formats of vertex
/// buffers that attributes are converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct VertexFormat {
    /// The type of each component; of a [packed](Self::packed) format, of the whole word.
    pub scalar: Scalar,
    /// The number of components; at least 1.
    pub components: u32,
    /// `true` if integers are normalized: unsigned ones to 0..1 (`c / (2^bits - 1)`), signed ones to -1..1 (`max(c / (2^(bits-1) -
    /// 1), -1)`).
    pub normalized: bool,
    /// `true` if four components share one word of 32 bits: x, y and z have 10 bits each, w has 2, from the lowest bit on.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "std::ops::Not::not")
    )]
    pub packed: bool,
}

macro_rules! vertex_formats {
    ($($name:ident = $scalar:ident $components:literal $normalized:literal),+ $(,)?) => {
        impl VertexFormat {
            $(
                #[doc = concat!("`", stringify!($name), "` of WebGPU.")]
                pub const $name: Self = Self::new(Scalar::$scalar, $components, $normalized);
            )+
        }
    };
}

vertex_formats! {
    UINT8 = U8 1 false, UINT8X2 = U8 2 false, UINT8X4 = U8 4 false,
    SINT8 = I8 1 false, SINT8X2 = I8 2 false, SINT8X4 = I8 4 false,
    UNORM8 = U8 1 true, UNORM8X2 = U8 2 true, UNORM8X4 = U8 4 true,
    SNORM8 = I8 1 true, SNORM8X2 = I8 2 true, SNORM8X4 = I8 4 true,
    UINT16 = U16 1 false, UINT16X2 = U16 2 false, UINT16X4 = U16 4 false,
    SINT16 = I16 1 false, SINT16X2 = I16 2 false, SINT16X4 = I16 4 false,
    UNORM16 = U16 1 true, UNORM16X2 = U16 2 true, UNORM16X4 = U16 4 true,
    SNORM16 = I16 1 true, SNORM16X2 = I16 2 true, SNORM16X4 = I16 4 true,
    FLOAT16 = F16 1 false, FLOAT16X2 = F16 2 false, FLOAT16X4 = F16 4 false,
    FLOAT32 = F32 1 false, FLOAT32X2 = F32 2 false, FLOAT32X3 = F32 3 false, FLOAT32X4 = F32 4 false,
    UINT32 = U32 1 false, UINT32X2 = U32 2 false, UINT32X3 = U32 3 false, UINT32X4 = U32 4 false,
    SINT32 = I32 1 false, SINT32X2 = I32 2 false, SINT32X3 = I32 3 false, SINT32X4 = I32 4 false,
}

impl VertexFormat {
    /// Four unsigned normalized integers in one word, x in the lowest 10 bits and w in the highest 2: `unorm10-10-10-2` of
    /// WebGPU, `A2B10G10R10_UNORM_PACK32` of Vulkan, `R10G10B10A2_UNORM` of Direct3D.
    pub const UNORM10_10_10_2: Self = Self::new(Scalar::U32, 4, true).into_packed();

    /// Four signed normalized integers in one word, x in the lowest 10 bits and w in the highest 2:
    /// `A2B10G10R10_SNORM_PACK32` of Vulkan, `int1010102Normalized` of Metal. For normals and tangents, whose fourth
    /// component is 1 or -1; WebGPU does not have it.
    pub const SNORM10_10_10_2: Self = Self::new(Scalar::I32, 4, true).into_packed();

    pub(crate) const fn new(scalar: Scalar, components: u32, normalized: bool) -> Self {
        Self {
            scalar,
            components,
            normalized,
            packed: false,
        }
    }

    const fn into_packed(self) -> Self {
        Self {
            packed: true,
            ..self
        }
    }

    /// Size of one element in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        if self.packed {
            return 4;
        }
        usize::try_from(self.components)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.scalar.size())
    }

    /// The bytes of a component that is 0, in any byte order.
    pub(super) fn zero(self) -> &'static [u8] {
        [0; 8].get(..self.scalar.size()).unwrap_or_default()
    }

    /// The bytes of a component that is 1, in the byte order of the host.
    pub(super) fn one(self) -> Vec<u8> {
        match (self.scalar, self.normalized) {
            (Scalar::U8, true) => u8::MAX.to_ne_bytes().into(),
            (Scalar::I8, true) => i8::MAX.to_ne_bytes().into(),
            (Scalar::U16, true) => u16::MAX.to_ne_bytes().into(),
            (Scalar::I16, true) => i16::MAX.to_ne_bytes().into(),
            (Scalar::U32, true) => u32::MAX.to_ne_bytes().into(),
            (Scalar::I32, true) => i32::MAX.to_ne_bytes().into(),
            (Scalar::U8 | Scalar::I8, false) => 1_u8.to_ne_bytes().into(),
            (Scalar::U16 | Scalar::I16, false) => 1_u16.to_ne_bytes().into(),
            (Scalar::U32 | Scalar::I32, false) => 1_u32.to_ne_bytes().into(),
            (Scalar::F16, _) => 0x3c00_u16.to_ne_bytes().into(),
            (Scalar::F32, _) => 1_f32.to_ne_bytes().into(),
            (Scalar::F64, _) => 1_f64.to_ne_bytes().into(),
        }
    }
}

impl fmt::Display for VertexFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.packed {
            return f.write_str(if self.scalar == Scalar::I32 {
                "snorm10-10-10-2"
            } else {
                "unorm10-10-10-2"
            });
        }
        write!(
            f,
            "{}x{}{}",
            self.scalar,
            self.components,
            if self.normalized { " normalized" } else { "" }
        )
    }
}
