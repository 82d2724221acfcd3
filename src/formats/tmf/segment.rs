//! Segments: types, byte ranges and counts.

use std::ops::Range;

/// The layout of a file: A or B, by its minimum version.
///
/// The published specification describes layout A, which no writer has used since June 2023.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileLayout {
    /// Minimum version 0.1 or less: written by the crate `tmf` 0.1.
    A,
    /// Minimum version 0.2: written by the crate `tmf` 0.2.
    ///
    /// Segment headers have 6 bytes, and indices have a base.
    B,
}

/// The content of a segment: `seg_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SegmentType {
    /// 0: ignored by readers.
    Invalid,
    /// 1: vertices.
    Vertex,
    /// 2: indices into the vertices.
    VertexTriangle,
    /// 3: normals.
    Normal,
    /// 4: indices into the normals.
    NormalTriangle,
    /// 5: texture coordinates.
    Uv,
    /// 6: indices into the texture coordinates.
    UvTriangle,
    /// 9: tangents.
    Tangent,
    /// 10: indices into the tangents.
    TangentTriangle,
    /// 15: indices with a name.
    CustomIndex,
    /// 16: floats with a name.
    CustomFloat,
    /// 23: colours red, green, blue, alpha with a name.
    CustomColorRgba,
    /// 24: integers with a name.
    CustomInteger,
    /// 25: indices into several arrays.
    SharedTriangle,
    /// A number that no writer uses: materials, groups, colours.
    Reserved(u16),
    /// Any other number.
    Unknown(u16),
}

impl SegmentType {
    pub(crate) fn of(number: u16) -> Self {
        match number {
            0 => Self::Invalid,
            1 => Self::Vertex,
            2 => Self::VertexTriangle,
            3 => Self::Normal,
            4 => Self::NormalTriangle,
            5 => Self::Uv,
            6 => Self::UvTriangle,
            9 => Self::Tangent,
            10 => Self::TangentTriangle,
            15 => Self::CustomIndex,
            16 => Self::CustomFloat,
            23 => Self::CustomColorRgba,
            24 => Self::CustomInteger,
            25 => Self::SharedTriangle,
            7 | 8 | 11..=14 | 17..=21 => Self::Reserved(number),
            _ => Self::Unknown(number),
        }
    }

    /// Returns `true` if this is custom data, which has a name.
    pub(crate) fn is_custom(self) -> bool {
        matches!(
            self,
            Self::CustomIndex | Self::CustomFloat | Self::CustomColorRgba | Self::CustomInteger
        )
    }

    /// Returns `true` if only layout B has this type.
    pub(crate) fn is_of_layout_b(self) -> bool {
        self.is_custom()
            || matches!(
                self,
                Self::Tangent | Self::TangentTriangle | Self::SharedTriangle
            )
    }

    /// The bit in the mask of shared triangles that stands for indices of this type; 0 for types
    /// that are never shared, among them tangents.
    fn shared_bit(self) -> u8 {
        match self {
            Self::VertexTriangle => 1,
            Self::NormalTriangle => 2,
            Self::UvTriangle => 4,
            _ => 0,
        }
    }

    /// The structure's name in errors.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Invalid => "invalid segment",
            Self::Vertex => "VertexSegment",
            Self::VertexTriangle => "VertexTriangleSegment",
            Self::Normal => "NormalSegment",
            Self::NormalTriangle => "NormalTriangleSegment",
            Self::Uv => "UvSegment",
            Self::UvTriangle => "UvTriangleSegment",
            Self::Tangent => "TangentSegment",
            Self::TangentTriangle => "TangentTriangleSegment",
            Self::CustomIndex => "CustomIndexSegment",
            Self::CustomFloat => "CustomFloatSegment",
            Self::CustomColorRgba => "CustomColorRGBA",
            Self::CustomInteger => "CustomIntegerSegment",
            Self::SharedTriangle => "SharedTriangleSegment",
            Self::Reserved(_) | Self::Unknown(_) => "segment",
        }
    }
}

/// A segment of a mesh: its type, byte range and count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment {
    /// The content of the segment.
    pub(crate) kind: SegmentType,
    /// `seg_type`: 1 vertices, 2 their indices, 3 normals, 5 texture coordinates, 9 tangents and so on, as in the specification.
    pub seg_type: u16,
    /// `compresion_type`: 0, or 1 if it is omitted.
    ///
    /// Any number in segments that are not read.
    pub compression: u8,
    /// Its bytes, from the start of the source, including the segment header.
    pub range: Range<u64>,
    /// The bytes of its data, after the segment header.
    pub data: Range<u64>,
    /// The number of its elements; 0 for segments that are not read.
    pub count: u64,
    /// The bits of each field of an element: three for vertices, else the first.
    pub precision: [u8; 3],
    /// The arrays of shared triangles: 1 vertices, 2 normals, 4 texture coordinates.
    pub mask: u8,
    /// The offset of its packed elements, which follow the headers and names in `data`.
    pub(crate) bits_start: u64,
    /// The number that is added to each of its indices.
    pub(crate) base: u64,
    /// `true` if its coordinates of more than 32 bits have the scale of the crate `tmf`.
    pub(crate) wrapped: bool,
}

impl Segment {
    /// The number of bits of a packed element.
    pub(crate) fn record_bits(&self) -> u64 {
        /// The signs of x, y and z.
        const SIGN_BITS: u64 = 3;
        const HANDEDNESS_BITS: u64 = 1;
        let [x, y, z] = self.precision.map(u64::from);
        // All types but vertices have one width for all fields of an element.
        let width = x;
        // A direction is stored as signs, an angle and a height.
        let direction = width.saturating_mul(2).saturating_add(SIGN_BITS);
        match self.kind {
            SegmentType::Vertex => x.saturating_add(y).saturating_add(z),
            SegmentType::Normal => direction,
            SegmentType::Tangent => direction.saturating_add(HANDEDNESS_BITS),
            SegmentType::Uv => width.saturating_mul(2),
            SegmentType::CustomColorRgba => width.saturating_mul(4),
            _ => width,
        }
    }

    /// The bytes of a decoded element.
    pub(crate) fn element_size(&self) -> u64 {
        match self.kind {
            SegmentType::Vertex | SegmentType::Normal => 12,
            SegmentType::Tangent | SegmentType::CustomColorRgba => 16,
            SegmentType::Uv => 8,
            // An index of each array that the mask names.
            SegmentType::SharedTriangle => {
                u64::from((self.mask & 7).count_ones()).saturating_mul(4)
            }
            _ => 4,
        }
    }

    /// The bytes of all its elements, decoded; `None` for a segment that is not read.
    pub(crate) fn decoded_bytes(&self) -> Option<u64> {
        match self.kind {
            SegmentType::Invalid | SegmentType::Reserved(_) | SegmentType::Unknown(_) => None,
            _ => Some(self.count.saturating_mul(self.element_size())),
        }
    }

    /// Returns `true` if it stores data of a type: as a segment of the type, or as shared triangles
    /// whose mask names the type.
    pub(crate) fn stores(&self, kind: SegmentType) -> bool {
        match self.kind {
            SegmentType::SharedTriangle => self.mask & kind.shared_bit() != 0,
            own => own == kind,
        }
    }

    /// Returns `true` if its indices are not stored: they count up from 0.
    pub(crate) fn is_omitted(&self) -> bool {
        self.compression == OMITTED && self.kind == SegmentType::NormalTriangle
    }
}

/// `compresion_type` of a segment that is derived from others.
const OMITTED: u8 = 1;
