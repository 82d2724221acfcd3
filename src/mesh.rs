use std::fmt::{self, Write as _};

use bytes::Bytes;
use zerocopy::little_endian as le;

use crate::array::{Array, Element, F16};
use crate::{Error, ErrorKind, Finding, Result};

/// One mesh as a renderer sees it, whatever the format: one draw with a vertex buffer and an index buffer.
///
/// Nothing is merged, reordered, flipped or scaled: order and number of vertices and triangles are the file's, and
/// axes, winding and units are those of the format (see its module).
///
/// # Examples
///
/// ```
/// use meshmap::{IndexFormat, MeshFile, Semantic, VertexFormat};
///
/// let file = MeshFile::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// let mesh = file.mesh(&file.meshes()[0])?;
///
/// // An interleaved vertex buffer: position (12 bytes) and texture coordinate (8 bytes).
/// let stride = 20;
/// let mut vertices = vec![0; mesh.vertex_count() * stride];
/// for (semantic, format, at) in [
///     (Semantic::Position, VertexFormat::FLOAT32X3, 0),
///     (Semantic::TexCoord(0), VertexFormat::FLOAT32X2, 12),
/// ] {
///     let attribute = mesh.attribute(&semantic)?.expect("this model has both");
///     attribute.write_chunks(format, stride, |offset, bytes| {
///         vertices[at + offset..][..bytes.len()].copy_from_slice(bytes);
///     })?;
/// }
/// let mut indices = Vec::new();
/// mesh.indices()?.write_chunks(IndexFormat::Uint32, |_, bytes| indices.extend_from_slice(bytes))?;
/// # assert_eq!(indices.len(), mesh.indices()?.len() * 4);
/// # Ok::<(), meshmap::Error>(())
/// ```
pub trait MeshView: fmt::Debug + Send + Sync + sealed::Sealed {
    /// The mesh's name, with U+FFFD in place of what is not UTF-8; empty where it has none.
    fn name(&self) -> String;

    /// The number of vertices: elements of every attribute.
    fn vertex_count(&self) -> usize;

    /// What the mesh stores of each vertex, in the order of the file.
    fn attributes(&self) -> Vec<AttributeInfo>;

    /// One attribute of all vertices; `Ok(None)` where the mesh does not have it.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding the attribute.
    fn attribute(&self, semantic: &Semantic) -> Result<Option<Attribute>>;

    /// The corners of the triangles, three after three; every index is less than
    /// [`vertex_count`](Self::vertex_count).
    ///
    /// # Errors
    ///
    /// Those of reading and decoding the indices, and [`Malformed`](ErrorKind::Malformed) for one that is too large.
    fn indices(&self) -> Result<Indices>;

    /// The smallest box around the positions, computed from them; `Ok(None)` where there is no position that is
    /// finite.
    ///
    /// # Errors
    ///
    /// Those of reading and decoding the positions.
    fn bounds(&self) -> Result<Option<Bounds>> {
        Ok(self.attribute(&Semantic::Position)?.and_then(|positions| positions.bounds()))
    }

    /// What this mesh deviates in from its format's specification.
    fn findings(&self) -> &[Finding];
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// What an attribute means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Semantic {
    /// Position.
    Position,
    /// Normal.
    Normal,
    /// Tangent, and in a fourth lane the sign of the bitangent.
    Tangent,
    /// Texture coordinates; the number tells several sets apart.
    TexCoord(u32),
    /// Colour; the number tells several sets apart.
    Color(u32),
    /// Indices of the joints that move the vertex; the number tells several sets apart.
    Joints(u32),
    /// The weights of those joints.
    Weights(u32),
    /// Anything else, by the name that the file gives it.
    Custom(String),
}

/// One line, whatever the file calls its attribute: control characters are escaped as in Rust.
impl fmt::Display for Semantic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, set) = match self {
            Self::Position => ("position", 0),
            Self::Normal => ("normal", 0),
            Self::Tangent => ("tangent", 0),
            Self::TexCoord(set) => ("texcoord", *set),
            Self::Color(set) => ("color", *set),
            Self::Joints(set) => ("joints", *set),
            Self::Weights(set) => ("weights", *set),
            Self::Custom(name) => {
                return name.chars().try_for_each(|c| match c.is_control() {
                    true => write!(f, "{}", c.escape_default()),
                    false => f.write_char(c),
                });
            }
        };
        match set {
            0 => write!(f, "{name}"),
            set => write!(f, "{name}[{set}]"),
        }
    }
}

/// The type of one number of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

    /// Whether this is one of the floating-point types.
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

/// How one element of an attribute is stored: packed little-endian numbers.
///
/// The constants have the names of WebGPU's vertex formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct VertexFormat {
    /// The type of each number.
    pub scalar: Scalar,
    /// Numbers in an element; at least 1.
    pub lanes: u32,
    /// Whether integers stand for 0..1 (unsigned: `c / (2^bits - 1)`) or -1..1 (signed: `max(c / (2^(bits-1) - 1), -1)`).
    pub normalized: bool,
}

macro_rules! vertex_formats {
    ($($name:ident = $scalar:ident $lanes:literal $normalized:literal),+ $(,)?) => {
        impl VertexFormat {
            $(
                #[doc = concat!("`", stringify!($name), "` of WebGPU.")]
                pub const $name: Self = Self::new(Scalar::$scalar, $lanes, $normalized);
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
    pub(crate) const fn new(scalar: Scalar, lanes: u32, normalized: bool) -> Self {
        Self { scalar, lanes, normalized }
    }

    /// Size of one element in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        usize::try_from(self.lanes).unwrap_or(usize::MAX).saturating_mul(self.scalar.size())
    }

    /// The bytes of a lane that is 0, in any byte order.
    fn zero(self) -> &'static [u8] {
        [0; 8].get(..self.scalar.size()).unwrap_or_default()
    }

    /// The bytes of a lane that is 1, in the byte order of the host.
    fn one(self) -> Vec<u8> {
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
        write!(f, "{}x{}{}", self.scalar, self.lanes, if self.normalized { " normalized" } else { "" })
    }
}

/// An attribute of a mesh, before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeInfo {
    /// What it means.
    pub semantic: Semantic,
    /// How it is stored.
    pub format: VertexFormat,
}

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

    fn apply(&self, lane: usize, number: f32) -> f32 {
        match (self.scale.get(lane), self.offset.get(lane)) {
            (Some(scale), Some(offset)) => number * scale + offset,
            _ => number,
        }
    }
}

/// One attribute of all vertices of a mesh, in place or decoded; tightly packed.
#[derive(Clone, PartialEq)]
pub struct Attribute {
    semantic: Semantic,
    format: VertexFormat,
    bytes: Bytes,
    dequant: Option<Dequant>,
}

impl Attribute {
    pub(crate) fn new(semantic: Semantic, format: VertexFormat, bytes: Bytes) -> Self {
        Self { semantic, format, bytes, dequant: None }
    }

    /// Of normalized integers that lie in a domain.
    pub(crate) fn with_dequant(self, dequant: Dequant) -> Self {
        Self { dequant: Some(dequant), ..self }
    }

    /// What the attribute means.
    #[must_use]
    pub fn semantic(&self) -> &Semantic {
        &self.semantic
    }

    /// How it is stored.
    #[must_use]
    pub fn format(&self) -> VertexFormat {
        self.format
    }

    /// The domain of the stored integers, where they have one: every conversion to floats applies it, and what is
    /// written as stored leaves it to the shader.
    #[must_use]
    pub fn dequant(&self) -> Option<Dequant> {
        self.dequant
    }

    /// The number of elements, one for each vertex.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(self.format.size()).unwrap_or(0)
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as stored: packed, little-endian, at any address.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements as stored, shared.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The elements as a typed array, shared; `None` where `T` is not what is stored.
    ///
    /// `Array<[f32; 3]>` for a format of three `f32`, `Array<[u8; 4]>` for four `u8`, normalized or not.
    #[must_use]
    pub fn array<T: Element>(&self) -> Option<Array<T>> {
        (T::SHAPE == Some((self.format.scalar, self.format.lanes))).then(|| Array::new(self.bytes.clone()))
    }

    /// The elements of a range of vertices, shared; `None` where the range reaches beyond the end.
    #[must_use]
    pub fn slice(&self, vertices: std::ops::Range<usize>) -> Option<Self> {
        if vertices.start > vertices.end || vertices.end > self.len() {
            return None;
        }
        let size = self.format.size();
        let bytes = self.bytes.slice(vertices.start.checked_mul(size)?..vertices.end.checked_mul(size)?);
        Some(Self { bytes, ..self.clone() })
    }

    /// A copy as `[f32; N]`: integers converted, or scaled where the format is normalized, and
    /// [moved into their domain](Self::dequant) where they have one.
    ///
    /// Lanes that are not stored are 0; those beyond `N` are left out.
    #[must_use]
    pub fn to_f32<const N: usize>(&self) -> Vec<[f32; N]> {
        self.iter_f32().collect()
    }

    /// The elements as `[f32; N]`, as in [`to_f32`](Self::to_f32), without a copy of all.
    pub fn iter_f32<const N: usize>(&self) -> impl ExactSizeIterator<Item = [f32; N]> + '_ {
        let convert = |element: &[u8]| {
            let mut lanes = [0.0; N];
            let stored = element.chunks_exact(self.format.scalar.size());
            for (index, (value, lane)) in lanes.iter_mut().zip(stored).enumerate() {
                *value = self.lane_to_f32(index, lane);
            }
            lanes
        };
        self.bytes.chunks_exact(self.format.size().max(1)).map(convert)
    }

    fn lane_to_f32(&self, index: usize, lane: &[u8]) -> f32 {
        let number = lane_to_f32(self.format, lane);
        self.dequant.map_or(number, |dequant| dequant.apply(index, number))
    }

    /// Every lane of every element, exactly, without regard to normalization.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let scalar = self.format.scalar;
        self.bytes.chunks_exact(scalar.size()).map(move |lane| lane_to_f64(scalar, lane))
    }

    /// A copy as `[f32; 3]`: what a position or a normal becomes.
    #[must_use]
    pub fn to_f32x3(&self) -> Vec<[f32; 3]> {
        self.array::<[f32; 3]>().map_or_else(|| self.to_f32(), |array| array.to_vec())
    }

    /// The smallest box around the first three lanes; `None` where no element is finite.
    #[must_use]
    pub fn bounds(&self) -> Option<Bounds> {
        match self.array::<[f32; 3]>() {
            Some(array) => Bounds::around(array.iter()),
            None => Bounds::around(self.iter_f32()),
        }
    }

    /// Writes the attribute as a GPU wants it, piece by piece, into any kind of memory.
    ///
    /// `write(offset, bytes)` is called with whole elements at ascending offsets, each byte once, and nothing is read
    /// back: fit for mapped GPU memory. Elements lie `stride` bytes apart, from offset 0; what lies between them is
    /// not written. Numbers are in the byte order of the host.
    ///
    /// Any number becomes a float (scaled where the format stored is normalized, and in its
    /// [domain](Self::dequant) where it has one); integers become other integers that can hold them; and any format
    /// becomes itself with more lanes. New lanes are 0, a new fourth one is 1.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) for other conversions, [`OutOfRange`](ErrorKind::OutOfRange) for a
    /// stride less than an element, or an integer that the target cannot hold.
    pub fn write_chunks(
        &self,
        target: VertexFormat,
        stride: usize,
        mut write: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        if stride < target.size() {
            let error = Error::new(ErrorKind::OutOfRange, "stride");
            return Err(error.expected(format!("at least {} bytes", target.size())).found(stride));
        }
        let conversion = self.conversion(target)?;
        let scalar_size = self.format.scalar.size();
        let elements = self.bytes.chunks_exact(self.format.size().max(1));
        if self.format == target && cfg!(target_endian = "little") {
            if stride == target.size() {
                write(0, &self.bytes);
            } else {
                elements.enumerate().for_each(|(i, element)| write(i.saturating_mul(stride), element));
            }
            return Ok(());
        }
        if self.is_empty() {
            // A file may announce elements of any size where it has none of them.
            return Ok(());
        }
        let one = target.one();
        let mut out = Vec::with_capacity(target.size());
        for (index, element) in elements.enumerate() {
            for (index, lane) in element.chunks_exact(scalar_size).enumerate() {
                conversion.append(self, index, lane, &mut out)?;
            }
            for lane in self.format.lanes..target.lanes {
                out.extend_from_slice(if lane == 3 { &one } else { target.zero() });
            }
            write(index.saturating_mul(stride), &out);
            out.clear();
        }
        Ok(())
    }

    fn conversion(&self, target: VertexFormat) -> Result<Conversion> {
        let VertexFormat { scalar, lanes, normalized } = self.format;
        let integers = |format: VertexFormat| !format.scalar.is_float() && !format.normalized;
        if target.lanes < lanes {
            Err(())
        } else if scalar == target.scalar && normalized == target.normalized {
            Ok(Conversion::Copy)
        } else if target.scalar == Scalar::F32 {
            Ok(Conversion::ToF32)
        } else if integers(self.format) && integers(target) {
            Ok(Conversion::ToInteger { from: scalar, to: target.scalar })
        } else {
            Err(())
        }
        .map_err(|()| {
            let error = Error::new(ErrorKind::Unsupported, "conversion of a vertex attribute");
            error.expected(format!("{} or one that holds it", self.format)).found(target)
        })
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attribute({} {}, {} elements)", self.semantic, self.format, self.len())
    }
}

/// How one stored lane becomes one of the target.
#[derive(Clone, Copy)]
enum Conversion {
    Copy,
    ToF32,
    ToInteger { from: Scalar, to: Scalar },
}

impl Conversion {
    /// Appends a lane in the byte order of the host.
    fn append(self, attribute: &Attribute, index: usize, lane: &[u8], out: &mut Vec<u8>) -> Result<()> {
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
fn lane_to_f32(format: VertexFormat, lane: &[u8]) -> f32 {
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
fn lane_to_f64(scalar: Scalar, lane: &[u8]) -> f64 {
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

/// The corners of the triangles of a mesh: in place, whatever their width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indices {
    stored: Stored,
    /// What is taken from each stored index.
    base: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stored {
    Narrow(Array<u16>),
    Wide(Array<u32>),
}

/// The type of an index in a GPU's index buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexFormat {
    /// 16 bits.
    Uint16,
    /// 32 bits.
    Uint32,
}

impl Indices {
    /// Indices of which `base` is taken, none of which is less than that.
    pub(crate) fn new(stored: Array<u32>, base: u32) -> Self {
        Self { stored: Stored::Wide(stored), base }
    }

    /// Indices of 16 bits.
    pub(crate) fn narrow(stored: Array<u16>) -> Self {
        Self { stored: Stored::Narrow(stored), base: 0 }
    }

    /// The indices as stored, of which one of the two has none.
    fn slices(&self) -> (&[le::U16], &[le::U32]) {
        match &self.stored {
            Stored::Narrow(narrow) => (narrow.as_slice(), &[]),
            Stored::Wide(wide) => (&[], wide.as_slice()),
        }
    }

    /// The number of indices: three for each triangle.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.stored {
            Stored::Narrow(narrow) => narrow.len(),
            Stored::Wide(wide) => wide.len(),
        }
    }

    /// Whether there are no indices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the indices are stored.
    #[must_use]
    pub fn format(&self) -> IndexFormat {
        match self.stored {
            Stored::Narrow(_) => IndexFormat::Uint16,
            Stored::Wide(_) => IndexFormat::Uint32,
        }
    }

    /// The indices, counted from the mesh's first vertex.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + DoubleEndedIterator + '_ {
        let (narrow, wide) = self.slices();
        let base = self.base;
        OneOf(narrow.iter().map(|i| i.get().into()), wide.iter().map(move |i| i.get().wrapping_sub(base)))
    }

    /// The triangles: three indices each.
    pub fn triangles(&self) -> impl ExactSizeIterator<Item = [u32; 3]> + '_ {
        let (narrow, wide) = self.slices();
        let base = self.base;
        let narrow = narrow.as_chunks::<3>().0.iter().map(|c| c.map(|i| u32::from(i.get())));
        let wide = wide.as_chunks::<3>().0.iter().map(move |c| c.map(|i| i.get().wrapping_sub(base)));
        OneOf(narrow, wide)
    }

    /// A copy of the indices.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u32> {
        self.iter().collect()
    }

    /// What the file adds to every index: the file's number of the mesh's first vertex.
    ///
    /// [`stored`](Self::stored) and this are what a draw call with a base vertex takes.
    #[must_use]
    pub fn base(&self) -> u32 {
        self.base
    }

    /// The indices as stored, [`base`](Self::base) included; `None` where they are not 32 bits wide.
    #[must_use]
    pub fn stored(&self) -> Option<&Array<u32>> {
        match &self.stored {
            Stored::Narrow(_) => None,
            Stored::Wide(wide) => Some(wide),
        }
    }

    /// The indices as stored; `None` where they are not 16 bits wide.
    #[must_use]
    pub fn stored_u16(&self) -> Option<&Array<u16>> {
        match &self.stored {
            Stored::Narrow(narrow) => Some(narrow),
            Stored::Wide(_) => None,
        }
    }

    /// Writes the indices as a GPU wants them: packed, in the byte order of the host.
    ///
    /// `write(offset, bytes)` is called with whole indices at ascending offsets, each byte once.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) for an index that the format cannot hold.
    pub fn write_chunks(&self, format: IndexFormat, mut write: impl FnMut(usize, &[u8])) -> Result<()> {
        const INDICES: usize = 1024;
        if format == self.format() && self.base == 0 && cfg!(target_endian = "little") {
            match &self.stored {
                Stored::Narrow(narrow) => write(0, narrow.as_bytes()),
                Stored::Wide(wide) => write(0, wide.as_bytes()),
            }
            return Ok(());
        }
        let mut chunk = Vec::with_capacity(INDICES.saturating_mul(4));
        let mut offset = 0_usize;
        let mut indices = self.iter();
        while indices.len() > 0 {
            for index in indices.by_ref().take(INDICES) {
                match format {
                    IndexFormat::Uint32 => chunk.extend_from_slice(&index.to_ne_bytes()),
                    IndexFormat::Uint16 => {
                        let narrow = u16::try_from(index).map_err(|_| {
                            let error = Error::new(ErrorKind::OutOfRange, "index");
                            error.expected("at most 65,535").found(index)
                        })?;
                        chunk.extend_from_slice(&narrow.to_ne_bytes());
                    }
                }
            }
            write(offset, &chunk);
            offset = offset.saturating_add(chunk.len());
            chunk.clear();
        }
        Ok(())
    }
}

/// One of two iterators: the other has no elements.
struct OneOf<A, B>(A, B);

impl<T, A: ExactSizeIterator<Item = T>, B: ExactSizeIterator<Item = T>> Iterator for OneOf<A, B> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next().or_else(|| self.1.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.0.len().saturating_add(self.1.len());
        (len, Some(len))
    }

    fn fold<R, F: FnMut(R, T) -> R>(self, init: R, mut f: F) -> R {
        let first = self.0.fold(init, &mut f);
        self.1.fold(first, f)
    }
}

impl<T, A: ExactSizeIterator<Item = T>, B: ExactSizeIterator<Item = T>> ExactSizeIterator for OneOf<A, B> {}

impl<T, A, B> DoubleEndedIterator for OneOf<A, B>
where
    A: ExactSizeIterator<Item = T> + DoubleEndedIterator,
    B: ExactSizeIterator<Item = T> + DoubleEndedIterator,
{
    fn next_back(&mut self) -> Option<T> {
        self.1.next_back().or_else(|| self.0.next_back())
    }
}

/// An axis-aligned box, in the units of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bounds {
    /// The least x, y and z.
    pub min: [f32; 3],
    /// The greatest x, y and z.
    pub max: [f32; 3],
}

impl Bounds {
    /// The box around these points; numbers that are not finite are left out.
    pub(crate) fn around(points: impl Iterator<Item = [f32; 3]>) -> Option<Self> {
        let mut bounds = Self { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };
        for point in points {
            for ((value, min), max) in point.into_iter().zip(&mut bounds.min).zip(&mut bounds.max) {
                if value.is_finite() {
                    *min = min.min(value);
                    *max = max.max(value);
                }
            }
        }
        bounds.min.iter().chain(&bounds.max).all(|value| value.is_finite()).then_some(bounds)
    }
}
