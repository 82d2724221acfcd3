//! Conversion of elements from one vertex format to another, a block at a time.
//!
//! Components are read as floats or integers, and written as components of the target or into packed words. Each step is
//! a loop over a whole block, which the compiler can vectorize. `component` has the plain conversion of a single
//! component, which these loops are tested against.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian as le};

use super::component::component_to_f32;
use super::dequant::Dequant;
use super::interleave::{Strided, interleave};
use super::semantic::Semantic;
use super::vertex_format::VertexFormat;
use crate::bytes::{F16, Scalar};
use crate::codec::dequant;
use crate::num::{as_usize, decimal};
use crate::report::Error;

/// The maximum size of a block in bytes, so that it stays in the cache of the processor.
pub(super) const BLOCK: usize = 16 << 10;

/// A conversion of the elements of an attribute to another format.
#[derive(Clone, Debug)]
pub(super) struct Converter {
    from: VertexFormat,
    to: VertexFormat,
    dequant: Option<Dequant>,
    method: Method,
    /// Components that are not stored, as bytes of the target.
    fill: Vec<u8>,
    /// The fourth component, if it is not stored.
    fourth: Fourth,
}

/// The method by which components are converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// Components keep their bits.
    Copy,
    /// Through single precision: numbers become floats or normalized integers.
    Float,
    /// Through 64-bit integers: an integer becomes one of the same value, or is refused.
    Integer,
}

impl Method {
    fn of(from: VertexFormat, to: VertexFormat) -> Self {
        let are_integers = !from.scalar.is_float() && !to.scalar.is_float();
        if from.scalar == to.scalar && !to.packed {
            // A float that is marked as normalized is a plain float.
            if from.normalized == to.normalized || !are_integers {
                return Self::Copy;
            }
        }
        let are_both_normalized = from.normalized && to.normalized;
        if are_integers && !are_both_normalized {
            Self::Integer
        } else {
            Self::Float
        }
    }
}

/// Memory for the intermediate values of a conversion, reused for each block.
#[derive(Clone, Default)]
pub(super) struct Buffers {
    /// Elements without the components that are left out.
    shortened: Vec<u8>,
    floats: Vec<f32>,
    integers: Vec<i64>,
    /// Elements in the format of the target.
    bytes: Vec<u8>,
}

/// A number that the target cannot hold.
pub(super) struct NotHeld {
    /// The index of the number among the components of the block.
    component: usize,
    pub(super) value: String,
}

impl NotHeld {
    /// Adds the number to an error about a block that begins at the vertex `first`.
    pub(super) fn add_to(self, error: Error, converter: &Converter, first: usize) -> Error {
        let in_block = self
            .component
            .checked_div(converter.components())
            .unwrap_or(0);
        let vertex = decimal(in_block.saturating_add(first));
        error
            .expected(format!("one that {} can hold", converter.target()))
            .found(format_args!("{} at vertex {vertex}", self.value))
    }
}

/// The value of a fourth component that is not stored; other components that are not stored are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fourth {
    Zero,
    One,
}

impl Fourth {
    pub(super) fn of(semantic: &Semantic) -> Self {
        match semantic {
            Semantic::Position | Semantic::Color(_) => Self::One,
            _ => Self::Zero,
        }
    }
}

impl Converter {
    pub(super) fn new(
        from: VertexFormat,
        to: VertexFormat,
        dequant: Option<Dequant>,
        fourth: Fourth,
    ) -> Self {
        Self {
            from,
            to,
            dequant,
            method: Method::of(from, to),
            fill: missing_components(from, to, fourth),
            fourth,
        }
    }

    /// The format that elements are converted to.
    pub(super) fn target(&self) -> VertexFormat {
        self.to
    }

    /// Returns the number of components of an element that are converted.
    pub(super) fn components(&self) -> usize {
        components(self.from).min(components(self.to))
    }

    /// Returns `true` if the elements stay as they are.
    pub(super) fn is_copy(&self) -> bool {
        self.keeps_bytes() && self.from.components == self.to.components
    }

    /// Returns `true` if components keep their bytes. Stored numbers are little-endian, converted ones have the byte
    /// order of the host.
    fn keeps_bytes(&self) -> bool {
        let is_host_order = cfg!(target_endian = "little") || self.from.scalar.size() == 1;
        self.method == Method::Copy && is_host_order
    }

    /// Converts packed elements and writes them to the vertices of a buffer.
    pub(super) fn convert(
        &self,
        elements: &[u8],
        out: Strided<'_>,
        buffers: &mut Buffers,
    ) -> Result<(), NotHeld> {
        let Buffers {
            shortened,
            floats,
            integers,
            bytes,
        } = buffers;
        let from = self.from;
        let to = self.to;
        // The stored components that the target also has.
        let kept = VertexFormat {
            components: from.components.min(to.components),
            ..from
        };
        if self.keeps_bytes() {
            interleave(elements, from.size(), kept.size(), &self.fill, out);
            return Ok(());
        }

        // Components that are left out need not be numbers that the target can hold: they go first.
        let mut elements = elements;
        if kept.components < from.components {
            let count = elements.len().checked_div(from.size()).unwrap_or(0);
            shortened.resize(count.saturating_mul(kept.size()), 0);
            let packed = Strided::new(shortened, kept.size());
            interleave(elements, from.size(), kept.size(), &[], packed);
            elements = shortened.as_slice();
        }

        let converted = match self.method {
            Method::Copy => {
                reverse_bytes(from.scalar, elements, bytes);
                bytes.as_slice()
            }
            Method::Integer => {
                read_integers(from.scalar, elements, integers);
                if to.packed {
                    write_packed_integers(integers, self.packing(), bytes)?;
                } else {
                    write_integers(integers, to.scalar, bytes)?;
                }
                bytes.as_slice()
            }
            Method::Float => {
                read_floats(kept, self.dequant.as_ref(), elements, floats);
                if to.packed {
                    write_packed_floats(floats, self.packing(), bytes);
                    bytes.as_slice()
                } else if to.scalar == Scalar::F32 {
                    floats.as_bytes()
                } else {
                    write_floats(floats, to, bytes)?;
                    bytes.as_slice()
                }
            }
        };
        let size = if to.packed {
            to.size()
        } else {
            components(kept).saturating_mul(to.scalar.size())
        };
        interleave(converted, size, size, &self.fill, out);
        Ok(())
    }

    /// The packing of components into words.
    fn packing(&self) -> Packing {
        Packing {
            components: self.components(),
            is_signed: self.to.scalar == Scalar::I32,
            has_one: self.fourth == Fourth::One,
        }
    }
}

/// The components that `to` has and `from` lacks, as bytes of the target.
fn missing_components(from: VertexFormat, to: VertexFormat, fourth: Fourth) -> Vec<u8> {
    let mut fill = Vec::new();
    if to.packed {
        // Components of a packed word share its bytes: `Packing` adds the missing ones.
        return fill;
    }
    let one = to.one();
    for component in from.components..to.components {
        let is_one = component == 3 && fourth == Fourth::One;
        fill.extend_from_slice(if is_one { &one } else { to.zero() });
    }
    fill
}

fn components(format: VertexFormat) -> usize {
    as_usize(format.components)
}

/// Writes components in the opposite byte order.
fn reverse_bytes(scalar: Scalar, elements: &[u8], out: &mut Vec<u8>) {
    out.clear();
    for component in elements.chunks_exact(scalar.size()) {
        out.extend(component.iter().rev());
    }
}

// Reading components.

/// Reads components as floats, scaled if they are normalized, and dequantized.
fn read_floats(
    format: VertexFormat,
    dequant: Option<&Dequant>,
    elements: &[u8],
    out: &mut Vec<f32>,
) {
    match (format.scalar, format.normalized) {
        (Scalar::U8, false) => read(elements, out, |stored: u8| f32::from(stored)),
        (Scalar::U8, true) => read(elements, out, |stored: u8| f32::from(stored) / 255.0),
        (Scalar::I8, false) => read(elements, out, |stored: i8| f32::from(stored)),
        (Scalar::I8, true) => read(elements, out, |stored: i8| {
            (f32::from(stored) / 127.0).max(-1.0)
        }),
        (Scalar::U16, false) => read(elements, out, |stored: le::U16| f32::from(stored.get())),
        (Scalar::U16, true) => return read_unorm16(format, dequant, elements, out),
        (Scalar::I16, false) => read(elements, out, |stored: le::I16| f32::from(stored.get())),
        (Scalar::I16, true) => {
            read(elements, out, |stored: le::I16| {
                (f32::from(stored.get()) / 32_767.0).max(-1.0)
            });
        }
        (Scalar::F16, _) => read(elements, out, |stored: le::U16| F16(stored.get()).to_f32()),
        (Scalar::F32, _) => read(elements, out, |stored: le::F32| stored.get()),
        // Integers of 32 bits and doubles do not fit an f32: they are scaled in double precision, and rounded once.
        (Scalar::U32 | Scalar::I32 | Scalar::F64, _) => {
            out.clear();
            let components = elements.chunks_exact(format.scalar.size());
            out.extend(components.map(|component| component_to_f32(format, component)));
        }
    }
    let Some(dequant) = dequant else { return };
    for element in out.chunks_mut(components(format).max(1)) {
        for (index, value) in element.iter_mut().enumerate() {
            *value = dequant.apply(index, *value);
        }
    }
}

/// Reads normalized integers of 16 bits, the most common type of quantized components, and dequantizes them in the same
/// pass.
fn read_unorm16(
    format: VertexFormat,
    dequant: Option<&Dequant>,
    elements: &[u8],
    out: &mut Vec<f32>,
) {
    let Ok(stored) = <[le::U16]>::ref_from_bytes(elements) else {
        return out.clear();
    };
    let Some(Dequant { scale, offset }) = dequant else {
        return read(elements, out, |stored: le::U16| dequant::unit(stored.get()));
    };
    out.resize(stored.len(), 0.0);
    let [sx, sy, sz, _] = *scale;
    let [x, y, z, _] = *offset;
    match format.components {
        1 => dequant::scale_and_offset(stored, [sx], [x], out),
        2 => dequant::scale_and_offset(stored, [sx, sy], [x, y], out),
        3 => dequant::scale_and_offset(stored, [sx, sy, sz], [x, y, z], out),
        _ => dequant::scale_and_offset(stored, *scale, *offset, out),
    }
}

/// Reads components as integers.
fn read_integers(scalar: Scalar, elements: &[u8], out: &mut Vec<i64>) {
    match scalar {
        Scalar::U8 => read(elements, out, |stored: u8| stored.into()),
        Scalar::I8 => read(elements, out, |stored: i8| stored.into()),
        Scalar::U16 => read(elements, out, |stored: le::U16| stored.get().into()),
        Scalar::I16 => read(elements, out, |stored: le::I16| stored.get().into()),
        Scalar::U32 => read(elements, out, |stored: le::U32| stored.get().into()),
        Scalar::I32 => read(elements, out, |stored: le::I32| stored.get().into()),
        // `Method::Integer` is only for integers.
        Scalar::F16 | Scalar::F32 | Scalar::F64 => out.clear(),
    }
}

fn read<T, S>(elements: &[u8], out: &mut Vec<T>, convert: impl Fn(S) -> T)
where
    S: FromBytes + Immutable + KnownLayout + Unaligned + Copy,
{
    out.clear();
    if let Ok(stored) = <[S]>::ref_from_bytes(elements) {
        out.extend(stored.iter().map(|stored| convert(*stored)));
    }
}

// Writing components.

/// Writes numbers as components of a format.
fn write_floats(floats: &[f32], to: VertexFormat, out: &mut Vec<u8>) -> Result<(), NotHeld> {
    match (to.scalar, to.normalized) {
        (Scalar::F16, _) => write(floats, out, |float| F16::from_f32(*float).0.to_ne_bytes()),
        (Scalar::F64, _) => write(floats, out, |float| f64::from(*float).to_ne_bytes()),
        (Scalar::F32, _) => write(floats, out, |float| float.to_ne_bytes()),
        (Scalar::U8, true) => write_normalized(floats, 0.0, 255.0, out, low_bytes::<1>),
        (Scalar::I8, true) => write_normalized(floats, -1.0, 127.0, out, low_bytes::<1>),
        (Scalar::U16, true) => write_normalized(floats, 0.0, 65_535.0, out, low_16_bits),
        (Scalar::I16, true) => write_normalized(floats, -1.0, 32_767.0, out, low_16_bits),
        // Single precision has too few bits for the products.
        (Scalar::U32, true) => {
            write(floats, out, |float| {
                normalized(*float, 0.0, u32::MAX.into()).to_ne_bytes()
            });
        }
        (Scalar::I32, true) => {
            write(floats, out, |float| {
                normalized(*float, -1.0, i32::MAX.into()).to_ne_bytes()
            });
        }
        (integer, false) => {
            let integers = round_all(floats)?;
            return write_integers(&integers, integer, out);
        }
    }
    Ok(())
}

/// Writes integers as components of the same value.
fn write_integers(integers: &[i64], scalar: Scalar, out: &mut Vec<u8>) -> Result<(), NotHeld> {
    let range = match scalar {
        Scalar::U8 => 0..=u8::MAX.into(),
        Scalar::I8 => i8::MIN.into()..=i8::MAX.into(),
        Scalar::U16 => 0..=u16::MAX.into(),
        Scalar::I16 => i16::MIN.into()..=i16::MAX.into(),
        Scalar::U32 => 0..=u32::MAX.into(),
        _ => i32::MIN.into()..=i32::MAX.into(),
    };
    let outside = integers.iter().position(|integer| !range.contains(integer));
    if let Some(component) = outside {
        return Err(integer_not_held(integers, component));
    }
    match scalar.size() {
        1 => write(integers, out, |integer| {
            low_bytes::<1>(integer.cast_unsigned())
        }),
        2 => write(integers, out, |integer| {
            u16::from_le_bytes(low_bytes(integer.cast_unsigned())).to_ne_bytes()
        }),
        _ => write(integers, out, |integer| {
            u32::from_le_bytes(low_bytes(integer.cast_unsigned())).to_ne_bytes()
        }),
    }
    Ok(())
}

fn integer_not_held(integers: &[i64], component: usize) -> NotHeld {
    let value = integers.get(component).copied().unwrap_or(0).to_string();
    NotHeld { component, value }
}

fn write<T, const N: usize>(values: &[T], out: &mut Vec<u8>, convert: impl Fn(&T) -> [u8; N]) {
    out.resize(values.len().saturating_mul(N), 0);
    for (bytes, value) in out.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *bytes = convert(value);
    }
}

// Rounding. All of it rounds to the nearest integer, and halves to the even one, which is the rounding mode of the
// processor. `f32::round_ties_even` is the same function, but SSE2, which is all that every x86-64 processor has, lacks
// the instruction: it is then a call for each number, and no loop with a call becomes vector instructions.

/// 1.5 x 2^23. A float near this number has no bits below the ones: adding it to a number of a magnitude below 2^22
/// rounds that number to the nearest integer, which is then in the lowest bits of the sum, negative integers as two's
/// complement. The factor 1.5 keeps sums with negative numbers between 2^23 and 2^24, where this holds.
const ROUND_F32: f32 = 12_582_912.0;

/// 1.5 x 2^52: the same number for double precision, for magnitudes below 2^51.
const ROUND_F64: f64 = 6_755_399_441_055_744.0;

/// Returns the nearest integer to a number of at most 32 bits, a negative one as its two's complement.
fn round_to_nearest_even(number: f64) -> u32 {
    u32::from_le_bytes(low_bytes((number + ROUND_F64).to_bits()))
}

/// Returns a float as a normalized integer: `minimum` is -1 or 0, and `maximum` the integer that stands for 1.
fn normalized(float: f32, minimum: f32, maximum: f64) -> u32 {
    round_to_nearest_even(f64::from(clamp_or_zero(float, minimum)) * maximum)
}

/// The float in `minimum..=1`; 0 for NaN.
#[inline(always)]
fn clamp_or_zero(float: f32, minimum: f32) -> f32 {
    let number = if float.is_nan() { 0.0 } else { float };
    number.max(minimum).min(1.0)
}

/// Writes numbers from `minimum` to 1 as normalized integers of at most 16 bits; `maximum` is the integer that stands
/// for 1.
///
/// The product with `maximum` is rounded twice: to single precision, and to an integer. The result is the integer nearest
/// to the exact product unless the first rounding gives a half. A block with a half is written again by exact products.
fn write_normalized<const N: usize>(
    floats: &[f32],
    minimum: f32,
    maximum: f32,
    out: &mut Vec<u8>,
    to_bytes: impl Fn(u32) -> [u8; N],
) {
    const BLOCK_LENGTH: usize = 64;
    out.resize(floats.len().saturating_mul(N), 0);
    let (out, _) = out.as_chunks_mut::<N>();
    let blocks = out
        .chunks_mut(BLOCK_LENGTH)
        .zip(floats.chunks(BLOCK_LENGTH));
    for (integers, floats) in blocks {
        let mut has_half = 0;
        for (integer, float) in integers.iter_mut().zip(floats) {
            let product = clamp_or_zero(*float, minimum) * maximum;
            let sum = product + ROUND_F32;
            has_half |= u32::from((product - (sum - ROUND_F32)).abs() == 0.5);
            *integer = to_bytes(sum.to_bits());
        }
        if has_half != 0 {
            for (integer, float) in integers.iter_mut().zip(floats) {
                *integer = to_bytes(normalized(*float, minimum, maximum.into()));
            }
        }
    }
}

/// Rounds numbers to integers; NaN and values outside the range of `i64` are refused.
fn round_all(floats: &[f32]) -> Result<Vec<i64>, NotHeld> {
    let mut integers = Vec::with_capacity(floats.len());
    for (component, float) in floats.iter().enumerate() {
        let rounded = float.round_ties_even();
        if !rounded.is_finite() {
            let value = float.to_string();
            return Err(NotHeld { component, value });
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, and no component has as many bits"
        )]
        integers.push(rounded as i64);
    }
    Ok(integers)
}

/// The lowest bytes of an integer, in little-endian order.
fn low_bytes<const N: usize>(integer: impl Into<u64>) -> [u8; N] {
    let bytes = integer.into().to_le_bytes();
    bytes.first_chunk().copied().unwrap_or([0; N])
}

/// The lowest 16 bits, in the byte order of the host.
fn low_16_bits(bits: u32) -> [u8; 2] {
    u16::from_le_bytes(low_bytes(bits)).to_ne_bytes()
}

// Packed words: four components in 32 bits, of 10, 10, 10 and 2 bits, from the lowest bit on.

/// The packing of components into words.
#[derive(Clone, Copy, Debug)]
struct Packing {
    /// The number of components of an element, 1 to 4. Further components are 0.
    components: usize,
    is_signed: bool,
    /// `true` if a fourth component that is not stored is 1.
    has_one: bool,
}

/// The bits of one component of a packed word.
#[derive(Clone, Copy)]
struct Field {
    width: u32,
    /// The lowest bit of the component.
    shift: u32,
}

const FIELDS: [Field; 4] = [
    Field {
        width: 10,
        shift: 0,
    },
    Field {
        width: 10,
        shift: 10,
    },
    Field {
        width: 10,
        shift: 20,
    },
    Field {
        width: 2,
        shift: 30,
    },
];

impl Packing {
    /// Returns the maximum integer of a component of `width` bits, which stands for 1.
    fn maximum(self, width: u32) -> u32 {
        if self.is_signed {
            mask(width.saturating_sub(1))
        } else {
            mask(width)
        }
    }

    /// Returns the number of a component that is not stored.
    fn missing(self, component: usize, width: u32) -> u32 {
        if component == 3 && self.has_one {
            self.maximum(width)
        } else {
            0
        }
    }
}

/// The lowest `width` bits.
fn mask(width: u32) -> u32 {
    (1_u32 << width).wrapping_sub(1)
}

/// Writes floats as the nearest normalized integers. NaN becomes 0.
fn write_packed_floats(floats: &[f32], packing: Packing, out: &mut Vec<u8>) {
    let minimum = if packing.is_signed { -1.0 } else { 0.0 };
    out.clear();
    for element in floats.chunks_exact(packing.components.max(1)) {
        let mut word = 0;
        for (component, Field { width, shift }) in FIELDS.into_iter().enumerate() {
            let number = match element.get(component) {
                Some(float) => normalized(*float, minimum, packing.maximum(width).into()),
                None => packing.missing(component, width),
            };
            word |= (number & mask(width)) << shift;
        }
        out.extend(word.to_ne_bytes());
    }
}

/// Writes integers of the same value.
fn write_packed_integers(
    integers: &[i64],
    packing: Packing,
    out: &mut Vec<u8>,
) -> Result<(), NotHeld> {
    out.clear();
    let stored = packing.components.max(1);
    for (index, element) in integers.chunks_exact(stored).enumerate() {
        let mut word = 0;
        for (component, Field { width, shift }) in FIELDS.into_iter().enumerate() {
            let number = match element.get(component) {
                Some(integer) => {
                    let maximum = i64::from(packing.maximum(width));
                    let minimum = if packing.is_signed {
                        (-1_i64).saturating_sub(maximum)
                    } else {
                        0
                    };
                    if !(minimum..=maximum).contains(integer) {
                        let component = index.saturating_mul(stored).saturating_add(component);
                        return Err(integer_not_held(integers, component));
                    }
                    u32::from_le_bytes(low_bytes(integer.cast_unsigned()))
                }
                None => packing.missing(component, width),
            };
            word |= (number & mask(width)) << shift;
        }
        out.extend(word.to_ne_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALARS: [Scalar; 9] = [
        Scalar::U8,
        Scalar::I8,
        Scalar::U16,
        Scalar::I16,
        Scalar::U32,
        Scalar::I32,
        Scalar::F16,
        Scalar::F32,
        Scalar::F64,
    ];

    /// All formats of up to five components.
    fn formats() -> impl Iterator<Item = VertexFormat> {
        let counts = SCALARS
            .into_iter()
            .flat_map(|scalar| (1..=5).map(move |count| (scalar, count)));
        counts.flat_map(|(scalar, count)| {
            let all = [false, true].map(|normalized| VertexFormat::new(scalar, count, normalized));
            all.into_iter()
                .filter(|format| !(format.normalized && format.scalar.is_float()))
        })
    }

    fn convert(
        from: VertexFormat,
        to: VertexFormat,
        fourth: Fourth,
        elements: &[u8],
        stride: usize,
    ) -> Result<Vec<u8>, NotHeld> {
        let count = elements.len() / from.size();
        let mut out = vec![0xEE; count * stride];
        let converter = Converter::new(from, to, None, fourth);
        converter
            .convert(
                elements,
                Strided::new(&mut out, stride),
                &mut Buffers::default(),
            )
            .map(|()| out)
    }

    /// Bytes of every kind, none of which is a number that is none.
    fn bytes(count: usize) -> Vec<u8> {
        (0..count)
            .map(|at| (at.wrapping_mul(97) ^ (at >> 3)) as u8 & 0x3b)
            .collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn floats_of_all_formats_are_those_of_single_components() {
        for from in formats() {
            let elements = bytes(from.size() * 70);
            for count in 1..=5 {
                let to = VertexFormat::new(Scalar::F32, count, false);
                let out = convert(from, to, Fourth::One, &elements, to.size() + 4)
                    .ok()
                    .unwrap();
                for (element, place) in elements.chunks(from.size()).zip(out.chunks(to.size() + 4))
                {
                    let stored = element.chunks(from.scalar.size());
                    let mut expected: Vec<f32> = stored
                        .map(|stored| component_to_f32(from, stored))
                        .collect();
                    while expected.len() < count as usize {
                        expected.push(f32::from(u8::from(expected.len() == 3)));
                    }
                    expected.truncate(count as usize);
                    let expected: Vec<u8> =
                        expected.into_iter().flat_map(f32::to_ne_bytes).collect();
                    assert_eq!(place[..to.size()], expected, "{from} to {to}");
                    assert_eq!(place[to.size()..], [0xEE; 4]);
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn formats_convert_to_all_others_or_name_what_is_not_held() {
        for (from, to) in formats().flat_map(|from| formats().map(move |to| (from, to))) {
            // Two elements of ones, which every format holds.
            let one: Vec<u8> = match from.scalar {
                Scalar::F16 => 0x3c00_u16.to_le_bytes().into(),
                Scalar::F32 => 1_f32.to_le_bytes().into(),
                Scalar::F64 => 1_f64.to_le_bytes().into(),
                integer => (0..integer.size()).map(|at| u8::from(at == 0)).collect(),
            };
            let elements = one.repeat(2 * from.components as usize);
            let out = convert(from, to, Fourth::Zero, &elements, to.size()).ok();
            assert_eq!(
                out.unwrap_or_else(|| panic!("{from} to {to}")).len(),
                2 * to.size()
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn divisions_in_single_precision_are_those_in_double() {
        for normalized in [false, true] {
            for scalar in [
                Scalar::U8,
                Scalar::I8,
                Scalar::U16,
                Scalar::I16,
                Scalar::F16,
            ] {
                let from = VertexFormat::new(scalar, 1, normalized && scalar != Scalar::F16);
                let elements: Vec<u8> = match scalar.size() {
                    1 => (0..=u8::MAX).collect(),
                    _ => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
                };
                let out = convert(from, VertexFormat::FLOAT32, Fourth::Zero, &elements, 4)
                    .ok()
                    .unwrap();
                for (stored, found) in elements.chunks(scalar.size()).zip(out.chunks(4)) {
                    assert_eq!(
                        found,
                        component_to_f32(from, stored).to_ne_bytes(),
                        "{from} {stored:?}"
                    );
                }
            }
        }
    }

    fn packed(to: VertexFormat, float: f32) -> Vec<u8> {
        convert(
            VertexFormat::FLOAT32,
            to,
            Fourth::Zero,
            &float.to_le_bytes(),
            to.size(),
        )
        .ok()
        .unwrap()
    }

    #[test]
    fn floats_become_the_nearest_normalized_integer() {
        let unorm = |float| packed(VertexFormat::UNORM8, float)[0];
        let cases = [
            (-1., 0),
            (0., 0),
            (0.5, 128),
            (1., 255),
            (7., 255),
            (f32::NAN, 0),
            (f32::INFINITY, 255),
        ];
        cases
            .into_iter()
            .for_each(|(float, expected)| assert_eq!(unorm(float), expected, "{float}"));
        // Half-way between two, 127.5 above and 63.5 below: the even one.
        let snorm = |float| i8::from_ne_bytes([packed(VertexFormat::SNORM8, float)[0]]);
        let cases = [
            (-9., -127),
            (-1., -127),
            (-0.004, -1),
            (0., 0),
            (0.5, 64),
            (1., 127),
            (f32::NAN, 0),
        ];
        cases
            .into_iter()
            .for_each(|(float, expected)| assert_eq!(snorm(float), expected, "{float}"));
        assert_eq!(
            packed(VertexFormat::new(Scalar::I32, 1, true), -1.),
            (-i32::MAX).to_ne_bytes()
        );
        assert_eq!(
            packed(VertexFormat::new(Scalar::U32, 1, true), 1.),
            u32::MAX.to_ne_bytes()
        );
        // Miri is slow: it looks at a few.
        for all in (0..=u16::MAX).step_by(if cfg!(miri) { 1009 } else { 1 }) {
            let float = f32::from(all) / 65_535.;
            assert_eq!(packed(VertexFormat::UNORM16, float), all.to_ne_bytes());
        }
    }

    /// Around the halves, a product in single precision is not always on the same side as the exact one.
    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn rounding_in_single_precision_is_that_of_the_exact_product() {
        let formats = [
            VertexFormat::UNORM8,
            VertexFormat::SNORM8,
            VertexFormat::UNORM16,
            VertexFormat::new(Scalar::I16, 1, true),
        ];
        for (to, greatest) in formats.into_iter().zip([255_u16, 127, 65_535, 32_767]) {
            let count = u32::from(greatest);
            let greatest = f64::from(greatest);
            let halves = (0..count).map(|below| ((f64::from(below) + 0.5) / greatest) as f32);
            let around = halves.flat_map(|half| {
                [-1, 0, 1].map(|by| f32::from_bits(half.to_bits().wrapping_add_signed(by)))
            });
            let floats: Vec<f32> = around.flat_map(|float| [float, -float]).collect();
            let stored: Vec<u8> = floats
                .iter()
                .flat_map(|float| float.to_le_bytes())
                .collect();
            let found = convert(VertexFormat::FLOAT32, to, Fourth::Zero, &stored, to.size())
                .ok()
                .unwrap();
            let least = if matches!(to.scalar, Scalar::I8 | Scalar::I16) {
                -1.0
            } else {
                0.0
            };
            for (float, found) in floats.iter().zip(found.chunks(to.size())) {
                let exact =
                    (f64::from(*float).clamp(least, 1.0) * greatest).round_ties_even() as i32;
                let exact = exact.cast_unsigned();
                let exact = if to.size() == 1 {
                    vec![exact.to_le_bytes()[0]]
                } else {
                    (exact as u16).to_ne_bytes().into()
                };
                assert_eq!(found, exact, "{float} to {to}");
            }
        }
    }

    #[test]
    fn integers_keep_their_value_or_are_refused() {
        let cases = [
            (
                VertexFormat::UINT32,
                VertexFormat::UINT8,
                255,
                Some(vec![255]),
            ),
            (VertexFormat::UINT32, VertexFormat::UINT8, 256, None),
            (VertexFormat::SINT32, VertexFormat::UINT16, -1, None),
            (
                VertexFormat::SINT32,
                VertexFormat::SINT8,
                -128,
                Some(vec![128]),
            ),
            (
                VertexFormat::SINT32,
                VertexFormat::UNORM8,
                200,
                Some(vec![200]),
            ),
            (
                VertexFormat::new(Scalar::U32, 1, true),
                VertexFormat::UINT16,
                7,
                Some(7_u16.to_ne_bytes().into()),
            ),
            (
                VertexFormat::SINT32,
                VertexFormat::FLOAT32,
                -7,
                Some((-7_f32).to_ne_bytes().into()),
            ),
        ];
        for (from, to, value, expected) in cases {
            let found = convert(from, to, Fourth::Zero, &i32::to_le_bytes(value), to.size());
            assert_eq!(found.ok(), expected, "{from} to {to}: {value}");
        }
        assert_eq!(packed(VertexFormat::SINT16, -2.5), (-2_i16).to_ne_bytes());
        for float in [f32::NAN, f32::INFINITY, 65_536., -1.] {
            let found = convert(
                VertexFormat::FLOAT32,
                VertexFormat::UINT16,
                Fourth::Zero,
                &float.to_le_bytes(),
                2,
            );
            assert!(found.is_err(), "{float}");
        }
    }

    #[test]
    fn components_that_are_left_out_need_not_be_held() {
        let stored = [3_u32, 4, 70_000].map(u32::to_le_bytes);
        let out = convert(
            VertexFormat::UINT32X3,
            VertexFormat::UINT8X2,
            Fourth::Zero,
            stored.as_flattened(),
            2,
        );
        assert_eq!(out.ok(), Some(vec![3, 4]));
    }

    fn packed_word(element: &[f32], is_signed: bool, has_one: bool) -> u32 {
        let mut out = Vec::new();
        write_packed_floats(
            element,
            Packing {
                components: element.len(),
                is_signed,
                has_one,
            },
            &mut out,
        );
        u32::from_ne_bytes(out.try_into().unwrap())
    }

    /// The components of a word as Vulkan reads A2B10G10R10, with R first.
    fn fields(word: u32) -> [u32; 4] {
        [
            word & 0x3ff,
            word >> 10 & 0x3ff,
            word >> 20 & 0x3ff,
            word >> 30,
        ]
    }

    #[test]
    fn packed_floats_become_the_nearest_integers_with_x_in_the_lowest_bits() {
        assert_eq!(
            fields(packed_word(&[0.0, 0.5, 1.0, 1.0], false, false)),
            [0, 512, 1023, 3]
        );
        assert_eq!(
            fields(packed_word(&[-1.0, 2.0, f32::NAN, 0.4], false, false)),
            [0, 1023, 0, 1]
        );
        assert_eq!(
            fields(packed_word(&[-1.0, 0.0, 1.0, -1.0], true, false)),
            [513, 0, 511, 3]
        );
        assert_eq!(
            fields(packed_word(&[-9.0, 0.5, -0.5, 9.0], true, false)),
            [513, 256, 768, 1]
        );
    }

    #[test]
    fn components_that_are_not_stored_are_0_and_a_fourth_may_be_1() {
        assert_eq!(fields(packed_word(&[1.0], false, false)), [1023, 0, 0, 0]);
        assert_eq!(
            fields(packed_word(&[1.0, 1.0, 1.0], false, true)),
            [1023, 1023, 1023, 3]
        );
        assert_eq!(
            fields(packed_word(&[1.0, 1.0, 1.0], true, true)),
            [511, 511, 511, 1]
        );
    }

    #[test]
    fn packed_integers_keep_their_value_or_are_refused() {
        let write = |integers: &[i64], is_signed| {
            let mut out = Vec::new();
            write_packed_integers(
                integers,
                Packing {
                    components: 4,
                    is_signed,
                    has_one: false,
                },
                &mut out,
            )
            .map_err(|not_held| not_held.component)?;
            Ok(out
                .as_chunks::<4>()
                .0
                .iter()
                .map(|word| fields(u32::from_ne_bytes(*word)))
                .collect::<Vec<_>>())
        };
        assert_eq!(write(&[1023, 0, 7, 3], false), Ok(vec![[1023, 0, 7, 3]]));
        assert_eq!(
            write(&[-512, 511, -1, -2], true),
            Ok(vec![[512, 511, 1023, 2]])
        );
        assert_eq!(write(&[0, 0, 0, 0, 0, 1024, 0, 0], false), Err(5));
        assert_eq!(write(&[0, 0, 0, 4], false), Err(3));
        assert_eq!(write(&[-1, 0, 0, 0], false), Err(0));
        assert_eq!(write(&[0, 0, 512, 0], true), Err(2));
    }
}
