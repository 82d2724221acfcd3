//! Bits to numbers: the arithmetic of each kind of segment, in the order of operations of the crate `tmf`.
//!
//! A run of elements is decoded from any element on. Numbers are unpacked into a small buffer and converted from there,
//! so that both loops are plain ones.

use zerocopy::FromBytes;
use zerocopy::little_endian::{F64, U64};

use super::layout::{FileLayout, Layout, SegmentEntry, SegmentType};
use super::raw;
use super::rules::FILE;
use crate::codec::bits::{field, shift, top, top_few, unpack, window};
use crate::num::{as_u64, as_usize};
use crate::report::Result;

/// What elements of a segment are made with.
pub(crate) enum Decoder<'a> {
    /// `base + number`.
    Indices {
        base: u64,
        width: u32,
    },
    /// The place itself.
    Counting,
    Vertices(Coordinates),
    /// A unit vector, and of a tangent one more bit before it.
    Directions {
        bits: u8,
        angles: Option<&'a Angles>,
    },
    Uvs {
        bits: u8,
    },
    Floats {
        bits: u8,
        min: f64,
        max: f64,
    },
    Colors {
        bits: u8,
    },
}

/// Where an index stands that does not fit 32 bits.
pub(crate) struct TooLarge {
    pub(crate) place: usize,
    pub(crate) value: u128,
}

/// An element that segments of some kinds hold.
pub(crate) trait Decode: Copy {
    /// Decodes as many elements as `out` has, of which the first is the segment's element `first` and begins at `bit`
    /// of `bytes`.
    fn decode(
        decoder: &Decoder<'_>,
        bytes: &[u8],
        bit: u64,
        first: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge>;
}

impl<'a> Decoder<'a> {
    /// `head` is what precedes the segment's bit array; `count` is how many elements will be decoded.
    pub(crate) fn new(layout: &'a Layout, entry: &SegmentEntry, head: &[u8], count: usize) -> Result<Self> {
        let [bits, _, _] = entry.widths;
        Ok(match entry.kind {
            _ if entry.is_omitted() => Self::Counting,
            SegmentType::Vertex => {
                let head = struct_before::<raw::Vertex>(head, entry)?;
                let axes = [(head.min_x, head.max_x), (head.min_y, head.max_y), (head.min_z, head.max_z)];
                Self::Vertices(Coordinates::new(entry, axes.map(|(min, max)| (min.get(), max.get()))))
            }
            SegmentType::Normal | SegmentType::Tangent => {
                Self::Directions { bits, angles: layout.angles(bits, count) }
            }
            SegmentType::Uv => Self::Uvs { bits },
            SegmentType::CustomColorRgba => Self::Colors { bits },
            SegmentType::CustomFloat => {
                let head = struct_before::<raw::CustomFloat>(head, entry)?;
                Self::Floats { bits, min: head.min.get(), max: head.max.get() }
            }
            _ => {
                let base = match layout.file_layout {
                    FileLayout::A => 0,
                    FileLayout::B => struct_before::<U64>(head, entry)?.get(),
                };
                Self::Indices { base, width: bits.into() }
            }
        })
    }
}

/// The structure in the last bytes before the bit array.
fn struct_before<T: FromBytes>(head: &[u8], entry: &SegmentEntry) -> Result<T> {
    let found = T::read_from_suffix(head).ok();
    // The layout has read the same structure.
    let (_, found) = found.ok_or_else(|| FILE.malformed("segment").at(entry.range()))?;
    Ok(found)
}

/// Numbers that are unpacked before they are converted: a few kilobytes of the stack.
const BLOCK: usize = 768;

impl Decode for u32 {
    fn decode(
        decoder: &Decoder<'_>,
        bytes: &[u8],
        bit: u64,
        first: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        match decoder {
            Decoder::Indices { base, width } => indices(*base, *width, bytes, bit, out),
            Decoder::Counting => {
                for (place, out) in (first..).zip(out) {
                    *out = Self::try_from(place)
                        .map_err(|_| TooLarge { place, value: u128::from(as_u64(place)) })?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn indices(base: u64, width: u32, bytes: &[u8], bit: u64, out: &mut [u32]) -> Result<(), TooLarge> {
    let greatest = base.checked_add(top(u64::MAX, width));
    if let (0..=32, Some(_), Ok(base)) =
        (width, greatest.filter(|greatest| u32::try_from(*greatest).is_ok()), u32::try_from(base))
    {
        let mut bit = bit;
        for block in out.chunks_mut(4096) {
            unpack(bytes, bit, width, block);
            if base > 0 {
                block.iter_mut().for_each(|index| *index = index.wrapping_add(base));
            }
            bit = bit.wrapping_add(as_u64(block.len()).wrapping_mul(width.into()));
        }
        return Ok(());
    }
    let mut bit = bit;
    for (place, out) in out.iter_mut().enumerate() {
        let value = u128::from(base).saturating_add(field(bytes, bit, width).into());
        *out = u32::try_from(value).map_err(|_| TooLarge { place, value })?;
        bit = bit.wrapping_add(width.into());
    }
    Ok(())
}

impl Decode for [f32; 3] {
    fn decode(
        decoder: &Decoder<'_>,
        bytes: &[u8],
        bit: u64,
        _: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        match decoder {
            Decoder::Vertices(coordinates) => coordinates.decode(bytes, bit, out),
            Decoder::Directions { bits, angles } => {
                directions(*bits, *angles, 0, bytes, bit, out, |_, direction| direction);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Decode for [f32; 4] {
    fn decode(
        decoder: &Decoder<'_>,
        bytes: &[u8],
        bit: u64,
        _: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        match decoder {
            Decoder::Directions { bits, angles } => {
                let handed =
                    |window: u64, [x, y, z]: [f32; 3]| [x, y, z, if window >> 63 == 1 { -1.0 } else { 1.0 }];
                directions(*bits, *angles, 1, bytes, bit, out, handed);
            }
            Decoder::Colors { bits } => {
                // Twice rounded, as the crate does.
                #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest")]
                let convert = |number: u64, steps: u64| (number as f64 / steps as f64) as f32;
                uniform(*bits, bytes, bit, out.as_flattened_mut(), convert);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Decode for [f32; 2] {
    fn decode(
        decoder: &Decoder<'_>,
        bytes: &[u8],
        bit: u64,
        _: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        if let Decoder::Uvs { bits } = decoder {
            let convert = |number: u64, steps: u64| number as f32 / steps as f32;
            uniform(*bits, bytes, bit, out.as_flattened_mut(), convert);
        }
        Ok(())
    }
}

impl Decode for f32 {
    fn decode(
        decoder: &Decoder<'_>,
        bytes: &[u8],
        bit: u64,
        _: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        if let Decoder::Floats { bits, min, max } = decoder {
            let (min, size) = (*min, if *bits == 0 { 0.0 } else { max - min });
            #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest")]
            let convert = |number: u64, steps: u64| (number as f64 / steps as f64 * size + min) as f32;
            uniform(*bits, bytes, bit, out, convert);
        }
        Ok(())
    }
}

/// The greatest number of so many bits, at most 64; 1 for none, so that it can be divided by.
fn steps(bits: u8) -> u64 {
    top(u64::MAX, bits.into()).max(1)
}

/// Numbers of one width, each converted from itself and the greatest of its width.
#[inline]
fn uniform(bits: u8, bytes: &[u8], bit: u64, out: &mut [f32], convert: impl Fn(u64, u64) -> f32) {
    let (width, steps) = (u32::from(bits), steps(bits));
    let mut bit = bit;
    if width > 31 {
        for out in out {
            *out = convert(field(bytes, bit, width), steps);
            bit = bit.wrapping_add(width.into());
        }
        return;
    }
    let mut numbers = [0; BLOCK];
    for out in out.chunks_mut(BLOCK) {
        let numbers = numbers.get_mut(..out.len()).unwrap_or_default();
        unpack(bytes, bit, width, numbers);
        for (out, number) in out.iter_mut().zip(numbers) {
            // Of so few bits, the number is the same with a sign, and vector units convert that.
            *out = convert(u64::from(*number & 0x7fff_ffff), steps);
        }
        bit = bit.wrapping_add(as_u64(out.len()).wrapping_mul(width.into()));
    }
}

/// How coordinates of a vertex segment are made of numbers.
pub(crate) struct Coordinates {
    widths: [u8; 3],
    wrapped: bool,
    steps: [f32; 3],
    size: [f32; 3],
    min: [f32; 3],
}

impl Coordinates {
    fn new(entry: &SegmentEntry, axes: [(f64, f64); 3]) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest, as the crate does")]
        let axes = axes.map(|(min, max)| (min as f32, max as f32));
        let mut this = Self {
            widths: entry.widths,
            wrapped: entry.wrapped,
            steps: [1.0; 3],
            size: axes.map(|(min, max)| max - min),
            min: axes.map(|(min, _)| min),
        };
        for ((steps, size), width) in this.steps.iter_mut().zip(&mut this.size).zip(entry.widths) {
            let greatest = match width {
                33.. if entry.wrapped => wrapped_steps(width),
                0..=64 => top(u64::MAX, width.into()),
                // In the precision of an f32, the same as the true one once numbers are cut to 64 bits.
                65.. => u64::MAX,
            };
            if greatest == 0 {
                // The only number is 0, and stands for the least value.
                *size = 0.0;
            } else {
                *steps = greatest as f32;
            }
        }
        this
    }

    /// Whether all numbers of more than 32 bits fit the scale that the crate `tmf` writes them with.
    pub(crate) fn are_wrapped(bytes: &[u8], widths: [u8; 3], count: u64) -> bool {
        let mut bit = 0_u64;
        (0..count).all(|_| {
            widths.into_iter().fold(true, |fits, width| {
                let here = bit;
                bit = bit.wrapping_add(width.into());
                fits && (width <= 32 || is_wrapped(bytes, here, width))
            })
        })
    }

    fn decode(&self, bytes: &[u8], bit: u64, out: &mut [[f32; 3]]) {
        let mut bit = bit;
        let record = self.widths.iter().fold(0_u64, |sum, width| sum.wrapping_add((*width).into()));
        if self.widths.iter().any(|width| *width > 31) {
            for out in out {
                for (((out, width), (steps, size)), min) in
                    out.iter_mut().zip(self.widths).zip(self.steps.iter().zip(&self.size)).zip(&self.min)
                {
                    *out = self.number(bytes, bit, width) as f32 / steps * size + min;
                    bit = bit.wrapping_add(width.into());
                }
            }
            return;
        }
        let mut numbers = [0; BLOCK];
        for out in out.chunks_mut(BLOCK / 3) {
            let numbers = numbers.get_mut(..out.as_flattened().len()).unwrap_or_default();
            match self.widths {
                [x, y, z] if x == y && y == z => unpack(bytes, bit, x.into(), numbers),
                widths => unpack_records(bytes, bit, widths.map(u32::from), numbers),
            }
            self.convert(numbers, out.as_flattened_mut());
            bit = bit.wrapping_add(as_u64(out.len()).wrapping_mul(record));
        }
    }

    fn number(&self, bytes: &[u8], bit: u64, width: u8) -> u64 {
        match width {
            0..=64 => field(bytes, bit, width.into()) >> self.unused(width),
            65.. => field(bytes, bit, 64) >> self.unused(width),
        }
    }

    /// The bits behind the number in the first 64 of a field.
    fn unused(&self, width: u8) -> u32 {
        if self.wrapped && width >= 64 { unused(width) } else { 0 }
    }

    /// Four elements at a time, so that the axes come round in whole vectors.
    #[inline]
    fn convert(&self, numbers: &[u32], out: &mut [f32]) {
        let four = |[x, y, z]: [f32; 3]| [x, y, z, x, y, z, x, y, z, x, y, z];
        let (steps, size, min) = (four(self.steps), four(self.size), four(self.min));
        for (out, numbers) in out.chunks_mut(12).zip(numbers.chunks(12)) {
            for ((((out, number), steps), size), min) in
                out.iter_mut().zip(numbers).zip(&steps).zip(&size).zip(&min)
            {
                // Of at most 31 bits, the number is the same with a sign, and vector units convert that.
                *out = number.cast_signed() as f32 / steps * size + min;
            }
        }
    }
}

/// What the crate `tmf` computes as the greatest number of so many bits, with a shift of 32 bits that wraps.
fn wrapped_steps(width: u8) -> u64 {
    match width & 31 {
        31 => 1 << 31,
        shift => (1_u64 << shift).wrapping_sub(1),
    }
}

fn unused(width: u8) -> u32 {
    u32::from(width.wrapping_neg() & 63)
}

fn is_wrapped(bytes: &[u8], bit: u64, width: u8) -> bool {
    if width < 64 {
        return field(bytes, bit, width.into()) <= wrapped_steps(width);
    }
    let first = field(bytes, bit, 64);
    let unused = unused(width);
    let mut rest = u32::from(width).saturating_sub(64);
    let mut at = bit.wrapping_add(64);
    while rest > 0 {
        let width = rest.min(64);
        if field(bytes, at, width) != 0 {
            return false;
        }
        at = at.wrapping_add(width.into());
        rest = rest.saturating_sub(width);
    }
    first >> unused << unused == first && first >> unused <= wrapped_steps(width)
}

/// Records of three numbers of at most 31 bits each.
fn unpack_records(bytes: &[u8], bit: u64, widths: [u32; 3], out: &mut [u32]) {
    let [x, y, z] = widths;
    let mut bit = bit;
    let (records, _) = out.as_chunks_mut::<3>();
    let both = x.wrapping_add(y);
    let record = both.wrapping_add(z);
    #[expect(clippy::cast_possible_truncation, reason = "no number has more than 31 bits")]
    if record <= 57 {
        for out in records {
            let window = window(bytes, as_usize(bit >> 3)) << shift(bit);
            let numbers = [top_few(window, x), top_few(window << x, y), top_few(window << both, z)];
            *out = numbers.map(|number| number as u32);
            bit = bit.wrapping_add(record.into());
        }
    } else {
        for out in records {
            let third = bit.wrapping_add(both.into());
            let ahead = window(bytes, as_usize(bit >> 3)) << shift(bit);
            let numbers =
                [top_few(ahead, x), field(bytes, bit.wrapping_add(x.into()), y), field(bytes, third, z)];
            *out = numbers.map(|number| number as u32);
            bit = bit.wrapping_add(record.into());
        }
    }
}

/// Sine and cosine of every angle, and for every height the radius that is left at it: of so many bits.
#[derive(Debug)]
pub(crate) struct Angles {
    sin_cos: Vec<[f32; 2]>,
    radius_height: Vec<[f32; 2]>,
}

impl Angles {
    /// Tables for more bits would not stay in any cache.
    pub(crate) const MOST_BITS: usize = 17;

    /// Whether a table costs less than `count` elements on their own.
    pub(crate) fn is_worth(bits: u8, count: usize) -> bool {
        // Of no bits, vectors are made of their signs alone.
        (1..=Self::MOST_BITS).contains(&bits.into()) && 1_usize << bits.min(31) <= count.saturating_add(64)
    }

    pub(crate) fn new(bits: u8) -> Self {
        let divisor = steps(bits) as f32;
        let all = 0..=top(u64::MAX, bits.into());
        Self {
            sin_cos: all.clone().map(|angle| sin_cos(angle, divisor)).collect(),
            radius_height: all.map(|height| radius_height(height, divisor)).collect(),
        }
    }
}

fn sin_cos(angle: u64, divisor: f32) -> [f32; 2] {
    let (sin, cos) = (angle as f32 / divisor * std::f32::consts::FRAC_PI_2).sin_cos();
    [sin, cos]
}

fn radius_height(height: u64, divisor: f32) -> [f32; 2] {
    let height = height as f32 / divisor;
    [(1.0 - height * height).sqrt(), height]
}

/// Unit vectors: `before` bits, a sign for each axis, an angle around Z, a height.
///
/// `finish` makes an element of the bits, the first one uppermost, and the vector.
#[inline]
fn directions<const N: usize>(
    bits: u8,
    angles: Option<&Angles>,
    before: u32,
    bytes: &[u8],
    bit: u64,
    out: &mut [[f32; N]],
    finish: impl Fn(u64, [f32; 3]) -> [f32; N],
) {
    let width = u32::from(bits);
    let signs = before.wrapping_add(3);
    let record = width.wrapping_mul(2).wrapping_add(signs);
    let mut bit = bit;
    let vector = |window: u64, [sin, cos]: [f32; 2], [radius, height]: [f32; 2]| {
        let negate = |number: f32, place: u32| {
            let sign = (window << before.wrapping_add(place) >> 32) as u32 & 0x8000_0000;
            f32::from_bits(number.to_bits() ^ sign)
        };
        [negate(sin * radius, 0), negate(cos * radius, 1), negate(height, 2)]
    };
    match angles {
        Some(Angles { sin_cos, radius_height }) => {
            let entry = |table: &[[f32; 2]], index: u64| {
                // Every number of so many bits has its entry.
                usize::try_from(index).ok().and_then(|index| table.get(index)).copied().unwrap_or_default()
            };
            for out in out {
                let window = window(bytes, as_usize(bit >> 3)) << shift(bit);
                let angle = top_few(window << signs, width);
                let height = top_few(window << signs.wrapping_add(width), width);
                *out = finish(window, vector(window, entry(sin_cos, angle), entry(radius_height, height)));
                bit = bit.wrapping_add(record.into());
            }
        }
        None => {
            let divisor = steps(bits) as f32;
            for out in out {
                let head = field(bytes, bit, signs) << 64_u32.wrapping_sub(signs);
                let angle = field(bytes, bit.wrapping_add(signs.into()), width);
                let height = field(bytes, bit.wrapping_add(signs.into()).wrapping_add(width.into()), width);
                let direction = match bits {
                    // Without bits for an angle and a height, the crate leaves the signs.
                    0 => vector(head, [1.0; 2], [1.0; 2]),
                    _ => vector(head, sin_cos(angle, divisor), radius_height(height, divisor)),
                };
                *out = finish(head, direction);
                bit = bit.wrapping_add(record.into());
            }
        }
    }
}

/// The box that a vertex segment stores, as least and greatest of each axis.
pub(crate) fn stored_box(head: &[u8]) -> Option<[(f64, f64); 3]> {
    let (_, head) = raw::Vertex::read_from_suffix(head).ok()?;
    let axis = |min: F64, max: F64| (min.get(), max.get());
    Some([axis(head.min_x, head.max_x), axis(head.min_y, head.max_y), axis(head.min_z, head.max_z)])
}
