//! Conversions of elements, block by block: into components of another type, then to their places in vertices.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, little_endian as le};

use super::component::component_to_f32;
use super::dequant::Dequant;
use super::packed;
use super::place::{Places, place};
use super::round::{limited, low, nearest};
use super::semantic::Semantic;
use super::vertex_format::VertexFormat;
use crate::bytes::{F16, Scalar};
use crate::codec::dequant;

/// The most bytes of a block, which stays in the cache of the processor.
pub(super) const BLOCK: usize = 16 << 10;

/// A conversion of the elements of an attribute to another format.
#[derive(Clone, Debug)]
pub(super) struct Converter {
    from: VertexFormat,
    to: VertexFormat,
    dequant: Option<Dequant>,
    step: Step,
    /// Components that are not stored, as bytes of the target.
    fill: Vec<u8>,
    /// A fourth component that is not stored.
    fourth: Fourth,
}

/// The conversion of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// It keeps its bits.
    Keep,
    /// A number becomes a float or a normalized integer.
    Number,
    /// An integer becomes another one of the same value, or none.
    Integer,
}

/// Memory for the steps of a conversion, used again for each block.
#[derive(Clone, Default)]
pub(super) struct Work {
    few: Vec<u8>,
    floats: Vec<f32>,
    integers: Vec<i64>,
    bytes: Vec<u8>,
}

impl Converter {
    /// From elements of one format to elements of another; `fourth` is what a fourth component is that is not stored.
    pub(super) fn new(
        from: VertexFormat,
        to: VertexFormat,
        dequant: Option<Dequant>,
        fourth: Fourth,
    ) -> Self {
        let are_integers = !from.scalar.is_float() && !to.scalar.is_float();
        let step = match from.scalar == to.scalar && !to.packed {
            true if from.normalized == to.normalized || !are_integers => Step::Keep,
            _ if are_integers && !(from.normalized && to.normalized) => Step::Integer,
            _ => Step::Number,
        };
        let (mut fill, one) = (Vec::new(), to.one());
        // Components of a packed word have no bytes of their own.
        let missing = if to.packed {
            0..0
        } else {
            from.components..to.components
        };
        for component in missing {
            let is_one = component == 3 && fourth == Fourth::One;
            fill.extend_from_slice(if is_one { &one } else { to.zero() });
        }
        Self {
            from,
            to,
            dequant,
            step,
            fill,
            fourth,
        }
    }

    /// The format that elements become.
    pub(super) fn target(&self) -> VertexFormat {
        self.to
    }

    /// Returns the number of components of an element that are converted.
    pub(super) fn components(&self) -> usize {
        components(self.from).min(components(self.to))
    }

    /// Returns `true` if the elements stay as they are.
    pub(super) fn is_copy(&self) -> bool {
        self.step == Step::Keep
            && self.from.components == self.to.components
            && (cfg!(target_endian = "little") || self.from.scalar.size() == 1)
    }

    /// Converts elements, which are packed, to their places.
    pub(super) fn convert(
        &self,
        elements: &[u8],
        places: Places<'_>,
        work: &mut Work,
    ) -> Result<(), NotHeld> {
        let Self { from, to, .. } = self;
        let Work {
            few,
            floats,
            integers,
            bytes,
        } = work;
        let kept = VertexFormat {
            components: from.components.min(to.components),
            ..*from
        };
        if self.step == Step::Keep && (cfg!(target_endian = "little") || from.scalar.size() == 1) {
            place(elements, from.size(), kept.size(), &self.fill, places);
            return Ok(());
        }
        // The target may be unable to hold components that are left out.
        let elements = if kept.components < from.components {
            let count = elements.len().checked_div(from.size()).unwrap_or(0);
            few.resize(count.saturating_mul(kept.size()), 0);
            place(
                elements,
                from.size(),
                kept.size(),
                &[],
                Places::packed(few, kept.size()),
            );
            few.as_slice()
        } else {
            elements
        };
        let converted = match self.step {
            Step::Keep => {
                bytes.clear();
                let components = elements.chunks_exact(from.scalar.size());
                components.for_each(|component| bytes.extend(component.iter().rev()));
                bytes.as_slice()
            }
            Step::Integer => {
                read_integers(from.scalar, elements, integers);
                if to.packed {
                    packed::write_integers(integers, self.packing(), bytes).map_err(
                        |component| {
                            let value = integers.get(component).copied().unwrap_or(0).to_string();
                            NotHeld { component, value }
                        },
                    )?;
                } else {
                    write_integers(integers, to.scalar, bytes)?;
                }
                bytes.as_slice()
            }
            Step::Number => {
                read_floats(kept, self.dequant.as_ref(), elements, floats);
                if to.packed {
                    packed::write_floats(floats, self.packing(), bytes);
                    bytes.as_slice()
                } else if to.scalar == Scalar::F32 {
                    floats.as_bytes()
                } else {
                    write_floats(floats, *to, bytes)?;
                    bytes.as_slice()
                }
            }
        };
        let size = if to.packed {
            to.size()
        } else {
            components(kept).saturating_mul(to.scalar.size())
        };
        place(converted, size, size, &self.fill, places);
        Ok(())
    }

    /// The packing of components into words.
    fn packing(&self) -> packed::Packing {
        packed::Packing {
            components: self.components(),
            is_signed: self.to.scalar == Scalar::I32,
            has_one: self.fourth == Fourth::One,
        }
    }
}

/// A number that the target cannot hold.
pub(super) struct NotHeld {
    /// Its place among the components of the block.
    pub(super) component: usize,
    pub(super) value: String,
}

/// The value of a fourth component that is not stored; others are 0.
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

fn components(format: VertexFormat) -> usize {
    usize::try_from(format.components).unwrap_or(usize::MAX)
}

/// Reads components as floats, scaled if they are normalized, and dequantized.
fn read_floats(
    format: VertexFormat,
    dequant: Option<&Dequant>,
    elements: &[u8],
    out: &mut Vec<f32>,
) {
    let VertexFormat {
        scalar, normalized, ..
    } = format;
    match (scalar, normalized) {
        (Scalar::U8, false) => read(elements, out, |stored: u8| f32::from(stored)),
        (Scalar::U8, true) => read(elements, out, |stored: u8| f32::from(stored) / 255.0),
        (Scalar::I8, false) => read(elements, out, |stored: i8| f32::from(stored)),
        (Scalar::I8, true) => read(elements, out, |stored: i8| {
            (f32::from(stored) / 127.0).max(-1.0)
        }),
        (Scalar::U16, false) => read(elements, out, |stored: le::U16| f32::from(stored.get())),
        (Scalar::U16, true) => return read_units(format, dequant, elements, out),
        (Scalar::I16, false) => read(elements, out, |stored: le::I16| f32::from(stored.get())),
        (Scalar::I16, true) => {
            read(elements, out, |stored: le::I16| {
                (f32::from(stored.get()) / 32_767.0).max(-1.0)
            });
        }
        (Scalar::F16, _) => read(elements, out, |stored: le::U16| F16(stored.get()).to_f32()),
        (Scalar::F32, _) => read(elements, out, |stored: le::F32| stored.get()),
        // Wide integers need more than an f32 on the way.
        _ => {
            out.clear();
            let components = elements.chunks_exact(scalar.size());
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

/// Reads normalized integers of 16 bits, the most common type of dequantized integers.
fn read_units(
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
    let ([sx, sy, sz, _], [x, y, z, _]) = (*scale, *offset);
    match format.components {
        1 => dequant::scale_and_offset(stored, [sx], [x], out),
        2 => dequant::scale_and_offset(stored, [sx, sy], [x, y], out),
        3 => dequant::scale_and_offset(stored, [sx, sy, sz], [x, y, z], out),
        _ => dequant::scale_and_offset(stored, *scale, *offset, out),
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

/// Writes numbers as components of a format other than `f32`.
fn write_floats(floats: &[f32], to: VertexFormat, out: &mut Vec<u8>) -> Result<(), NotHeld> {
    let wide = |float: &f32| f64::from(*float);
    match (to.scalar, to.normalized) {
        (Scalar::F16, _) => write(floats, out, |float| F16::from_f32(*float).0.to_ne_bytes()),
        (Scalar::F64, _) => write(floats, out, |float| wide(float).to_ne_bytes()),
        (Scalar::F32, _) => write(floats, out, |float| float.to_ne_bytes()),
        (Scalar::U8, true) => write_small(floats, 0.0, 255.0, out, low::<1>),
        (Scalar::I8, true) => write_small(floats, -1.0, 127.0, out, low::<1>),
        (Scalar::U16, true) => write_small(floats, 0.0, 65_535.0, out, host_order),
        (Scalar::I16, true) => write_small(floats, -1.0, 32_767.0, out, host_order),
        (Scalar::U32, true) => {
            write(floats, out, |float| {
                nearest(f64::from(limited(*float, 0.0)) * f64::from(u32::MAX)).to_ne_bytes()
            });
        }
        (Scalar::I32, true) => {
            write(floats, out, |float| {
                nearest(f64::from(limited(*float, -1.0)) * f64::from(i32::MAX)).to_ne_bytes()
            });
        }
        (integer, false) => {
            let integers: Vec<Option<i64>> = floats.iter().map(integer_of).collect();
            if let Some(component) = integers.iter().position(Option::is_none) {
                let value = floats.get(component).copied().unwrap_or(f32::NAN);
                return Err(NotHeld {
                    component,
                    value: value.to_string(),
                });
            }
            let integers: Vec<i64> = integers.into_iter().flatten().collect();
            return write_integers(&integers, integer, out);
        }
    }
    Ok(())
}

fn write<T, const N: usize>(values: &[T], out: &mut Vec<u8>, convert: impl Fn(&T) -> [u8; N]) {
    out.resize(values.len().saturating_mul(N), 0);
    for (place, value) in out.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *place = convert(value);
    }
}

/// Writes numbers from `least` to 1 as normalized integers of at most 16 bits, of which `greatest` stands for 1.
///
/// Their products with `greatest` are rounded twice: to single precision, and to an integer. That is the integer nearest to
/// the exact product, but where the first rounding gives a half; those blocks are done again with exact products.
fn write_small<const N: usize>(
    floats: &[f32],
    least: f32,
    greatest: f32,
    out: &mut Vec<u8>,
    bytes: impl Fn(u32) -> [u8; N],
) {
    /// So large that the last bit of a sum counts ones: adding rounds.
    const ONES: f32 = 12_582_912.0;
    const NUMBERS: usize = 64;
    out.resize(floats.len().saturating_mul(N), 0);
    let blocks = out
        .as_chunks_mut::<N>()
        .0
        .chunks_mut(NUMBERS)
        .zip(floats.chunks(NUMBERS));
    for (places, floats) in blocks {
        let mut halves = 0;
        for (place, float) in places.iter_mut().zip(floats) {
            let product = limited(*float, least) * greatest;
            let sum = product + ONES;
            halves |= u32::from((product - (sum - ONES)).abs() == 0.5);
            *place = bytes(sum.to_bits());
        }
        if halves != 0 {
            for (place, float) in places.iter_mut().zip(floats) {
                *place = bytes(nearest(
                    f64::from(limited(*float, least)) * f64::from(greatest),
                ));
            }
        }
    }
}

/// The lowest 16 bits, in the byte order of the host.
fn host_order(bits: u32) -> [u8; 2] {
    u16::from_le_bytes(low(bits)).to_ne_bytes()
}

/// Returns the integer nearest to a float, the even one of two; `None` for NaN and values outside the range of `i64`.
fn integer_of(float: &f32) -> Option<i64> {
    let rounded = float.round_ties_even();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates, and no component has as many bits"
    )]
    rounded.is_finite().then_some(rounded as i64)
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
        // Floats are never integers on their way.
        Scalar::F16 | Scalar::F32 | Scalar::F64 => out.clear(),
    }
}

/// Writes integers as components.
fn write_integers(integers: &[i64], scalar: Scalar, out: &mut Vec<u8>) -> Result<(), NotHeld> {
    let held = |low: i64, high: i64| {
        let not_held = |value: &i64| *value < low || *value > high;
        match integers.iter().position(not_held) {
            None => Ok(()),
            Some(component) => {
                let value = integers.get(component).copied().unwrap_or(0).to_string();
                Err(NotHeld { component, value })
            }
        }
    };
    match scalar {
        Scalar::U8 => held(0, u8::MAX.into())?,
        Scalar::I8 => held(i8::MIN.into(), i8::MAX.into())?,
        Scalar::U16 => held(0, u16::MAX.into())?,
        Scalar::I16 => held(i16::MIN.into(), i16::MAX.into())?,
        Scalar::U32 => held(0, u32::MAX.into())?,
        _ => held(i32::MIN.into(), i32::MAX.into())?,
    }
    let bits = |integer: &i64| integer.cast_unsigned();
    match scalar.size() {
        1 => write(integers, out, |integer| low::<1>(bits(integer))),
        2 => write(integers, out, |integer| {
            u16::from_le_bytes(low(bits(integer))).to_ne_bytes()
        }),
        _ => write(integers, out, |integer| {
            u32::from_le_bytes(low(bits(integer))).to_ne_bytes()
        }),
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
                Places::packed(&mut out, stride),
                &mut Work::default(),
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
            let (count, greatest) = (u32::from(greatest), f64::from(greatest));
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
}
