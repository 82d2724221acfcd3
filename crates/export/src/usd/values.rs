//! Values of fields: 64 bits that hold a small value, or say where in the file a large one is.

/// The types of values, by the numbers that crate files have for them.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Bool = 1,
    Int = 3,
    UInt = 4,
    Float = 8,
    Double = 9,
    String = 10,
    Token = 11,
    AssetPath = 12,
    Matrix4d = 15,
    Quatf = 17,
    Vec2f = 20,
    Vec2i = 22,
    Vec3f = 24,
    Vec3h = 25,
    Vec3i = 26,
    Vec4f = 28,
    Vec4i = 30,
    TokenListOp = 32,
    StringListOp = 33,
    PathListOp = 34,
    TokenVector = 41,
    Specifier = 42,
    Variability = 44,
    VariantSelectionMap = 45,
    TimeSamples = 46,
    DoubleVector = 48,
}

impl Kind {
    fn bits(self) -> u64 {
        (self as u64) << 48
    }

    /// Vectors of this many floats.
    pub(super) fn floats(components: usize) -> Self {
        match components {
            1 => Self::Float,
            2 => Self::Vec2f,
            3 => Self::Vec3f,
            _ => Self::Vec4f,
        }
    }

    /// Vectors of this many integers.
    pub(super) fn ints(components: usize) -> Self {
        match components {
            1 => Self::Int,
            2 => Self::Vec2i,
            3 => Self::Vec3i,
            _ => Self::Vec4i,
        }
    }
}

/// A value, as tables have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rep(pub(super) u64);

impl Rep {
    const ARRAY: u64 = 1 << 63;
    const INLINED: u64 = 1 << 62;

    /// A value of at most 32 bits, or the number of a token or string.
    pub(super) fn inlined(kind: Kind, bits: u32) -> Self {
        Self(Self::INLINED | kind.bits() | u64::from(bits))
    }

    /// A value at this place of the file, which is of less than 2^48 bytes.
    pub(super) fn stored(kind: Kind, offset: u64) -> Self {
        Self(kind.bits() | offset)
    }

    /// An array at this place of the file.
    pub(super) fn array(kind: Kind, offset: u64) -> Self {
        Self(Self::ARRAY | kind.bits() | offset)
    }

    /// An array without elements, which takes no place.
    pub(super) fn empty(kind: Kind) -> Self {
        Self::array(kind, 0)
    }
}
