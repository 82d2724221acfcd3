//! Coordinates: integers within the box of a vertex segment.

use super::raw;
use super::segment::Segment;
use crate::bytes::Source;
use crate::codec::bits::{field, shift, top, top_few, unpack, window};
use crate::num::{as_u64, as_usize, size_u64};
use crate::report::Result;

/// Numbers unpacked at a time, on the stack, before they are converted.
pub(crate) const BLOCK: usize = 768;

/// The computation of the coordinates of a vertex segment from its numbers.
pub(crate) struct Coordinates {
    widths: [u8; 3],
    wrapped: bool,
    steps: [f32; 3],
    size: [f32; 3],
    min: [f32; 3],
}

impl Coordinates {
    pub(crate) fn new(segment: &Segment, header: &raw::Vertex) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounds to the nearest, as the crate does"
        )]
        let axes = stored_box(header).map(|(min, max)| (min as f32, max as f32));
        let mut this = Self {
            widths: segment.precision,
            wrapped: segment.wrapped,
            steps: [1.0; 3],
            size: axes.map(|(min, max)| max - min),
            min: axes.map(|(min, _)| min),
        };
        for ((steps, size), width) in this
            .steps
            .iter_mut()
            .zip(&mut this.size)
            .zip(segment.precision)
        {
            let greatest = match width {
                33.. if segment.wrapped => wrapped_steps(width),
                0..=64 => top(u64::MAX, width.into()),
                // Numbers are cut to 64 bits; as an f32, their scale equals the scale of the full width.
                65.. => u64::MAX,
            };
            if greatest == 0 {
                // The only number is 0, and is decoded as the minimum.
                *size = 0.0;
            } else {
                *steps = greatest as f32;
            }
        }
        this
    }

    /// Returns `true` if all numbers of more than 32 bits fit the scale of the crate `tmf`.
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

    pub(crate) fn decode(&self, bytes: &[u8], bit: u64, out: &mut [[f32; 3]]) {
        let mut bit = bit;
        let record = self
            .widths
            .iter()
            .fold(0_u64, |sum, width| sum.wrapping_add((*width).into()));
        if self.widths.iter().any(|width| *width > 31) {
            for out in out {
                for (((out, width), (steps, size)), min) in out
                    .iter_mut()
                    .zip(self.widths)
                    .zip(self.steps.iter().zip(&self.size))
                    .zip(&self.min)
                {
                    *out = self.number(bytes, bit, width) as f32 / steps * size + min;
                    bit = bit.wrapping_add(width.into());
                }
            }
            return;
        }
        let mut numbers = [0; BLOCK];
        for out in out.chunks_mut(BLOCK / 3) {
            let numbers = numbers
                .get_mut(..out.as_flattened().len())
                .unwrap_or_default();
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

    /// The bits after the number in the first 64 of a field.
    fn unused(&self, width: u8) -> u32 {
        if self.wrapped && width >= 64 {
            unused(width)
        } else {
            0
        }
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
                // With at most 31 bits, the number is the same with a sign, and vector units convert that.
                *out = number.cast_signed() as f32 / steps * size + min;
            }
        }
    }
}

/// Returns the scale of the crate `tmf` for `width` bits, whose shift wraps at 32.
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
    #[expect(
        clippy::cast_possible_truncation,
        reason = "no number has more than 31 bits"
    )]
    if record <= 57 {
        for out in records {
            let window = window(bytes, as_usize(bit >> 3)) << shift(bit);
            let numbers = [
                top_few(window, x),
                top_few(window << x, y),
                top_few(window << both, z),
            ];
            *out = numbers.map(|number| number as u32);
            bit = bit.wrapping_add(record.into());
        }
    } else {
        for out in records {
            let third = bit.wrapping_add(both.into());
            let ahead = window(bytes, as_usize(bit >> 3)) << shift(bit);
            let numbers = [
                top_few(ahead, x),
                field(bytes, bit.wrapping_add(x.into()), y),
                field(bytes, third, z),
            ];
            *out = numbers.map(|number| number as u32);
            bit = bit.wrapping_add(record.into());
        }
    }
}

/// The header of a vertex segment, which the layout has checked.
pub(crate) fn vertex_header(source: &Source, segment: &Segment) -> Result<raw::Vertex> {
    source.read_struct(
        segment.bits.saturating_sub(size_u64::<raw::Vertex>()),
        "VertexSegment",
    )
}

/// The box that a vertex segment stores, as minimum and maximum of each axis.
pub(crate) fn stored_box(header: &raw::Vertex) -> [(f64, f64); 3] {
    let raw::Vertex {
        min_x,
        max_x,
        min_y,
        max_y,
        min_z,
        max_z,
        ..
    } = header;
    [(min_x, max_x), (min_y, max_y), (min_z, max_z)].map(|(min, max)| (min.get(), max.get()))
}
