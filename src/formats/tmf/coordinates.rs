//! Coordinates: integers within the box of a vertex segment.

use super::raw;
use super::segment::Segment;
use crate::bytes::Source;
use crate::codec::bits::{Unpacker, field, top};
use crate::num::{as_u64, size_u64};
use crate::processor::Processor;
use crate::report::Result;

/// Numbers unpacked at a time, on the stack, before they are converted.
pub(crate) const BLOCK: usize = 768;

/// The computation of the coordinates of a vertex segment from its numbers.
pub(crate) struct Coordinates {
    axes: [Axis; 3],
    wrapped: bool,
}

/// The dequantization of one axis: `number / steps * size + min`.
#[derive(Clone, Copy)]
struct Axis {
    /// The bits of a number.
    width: u8,
    /// The maximum number, which is decoded as the maximum of the box.
    steps: f32,
    size: f32,
    min: f32,
}

impl Axis {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounds to the nearest, as the crate does"
    )]
    fn new(range: AxisRange, width: u8, wrapped: bool) -> Self {
        let min = range.min as f32;
        let max = range.max as f32;
        let steps = match width {
            33.. if wrapped => wrapped_steps(width),
            0..=64 => top(u64::MAX, width.into()),
            // Numbers are cut to 64 bits; as an f32, their scale equals the scale of the full
            // width.
            65.. => u64::MAX,
        };
        if steps == 0 {
            // The only number is 0, and is decoded as the minimum.
            return Self {
                width,
                steps: 1.0,
                size: 0.0,
                min,
            };
        }
        Self {
            width,
            steps: steps as f32,
            size: max - min,
            min,
        }
    }
}

impl Coordinates {
    pub(crate) fn new(segment: &Segment, header: &raw::Vertex) -> Self {
        let [x, y, z] = stored_box(header);
        let [x_width, y_width, z_width] = segment.precision;
        let wrapped = segment.wrapped;
        Self {
            axes: [
                Axis::new(x, x_width, wrapped),
                Axis::new(y, y_width, wrapped),
                Axis::new(z, z_width, wrapped),
            ],
            wrapped,
        }
    }

    /// Returns `true` if all numbers of more than 32 bits fit the scale of the crate `tmf`.
    pub(crate) fn are_wrapped(bytes: &[u8], widths: [u8; 3], count: u64) -> bool {
        let mut bit = 0_u64;
        for _ in 0..count {
            for width in widths {
                if width > 32 && !is_wrapped(bytes, bit, width) {
                    return false;
                }
                bit = bit.wrapping_add(width.into());
            }
        }
        true
    }

    pub(crate) fn decode(&self, bytes: &[u8], bit: u64, out: &mut [[f32; 3]]) {
        /// Fewer points are decoded in the time that a block takes to be cleared.
        const FEW: usize = 4;
        let [x, y, z] = self.axes.map(|axis| u32::from(axis.width));
        if x > 31 || y > 31 || z > 31 || out.len() < FEW {
            return self.decode_one_by_one(bytes, bit, out);
        }
        let unpacker = Unpacker::new([x, y, z], out.as_flattened().len());
        let mut bit = bit;
        let processor = Processor::new();
        let mut numbers = [0; BLOCK];
        for out in out.chunks_mut(BLOCK / 3) {
            let numbers = numbers
                .get_mut(..out.as_flattened().len())
                .unwrap_or_default();
            unpacker.unpack(bytes, bit, numbers);
            processor.run(
                #[inline(always)]
                || self.convert(numbers, out.as_flattened_mut()),
            );
            bit = bit.wrapping_add(as_u64(out.len()).wrapping_mul(unpacker.record()));
        }
    }

    /// Decodes numbers of any width.
    fn decode_one_by_one(&self, bytes: &[u8], bit: u64, out: &mut [[f32; 3]]) {
        let mut bit = bit;
        for point in out {
            for (coordinate, axis) in point.iter_mut().zip(&self.axes) {
                let number = self.number(bytes, bit, axis.width) as f32;
                *coordinate = number / axis.steps * axis.size + axis.min;
                bit = bit.wrapping_add(axis.width.into());
            }
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
    #[inline(always)]
    fn convert(&self, numbers: &[u32], out: &mut [f32]) {
        let steps = four_times(self.axes.map(|axis| axis.steps));
        let size = four_times(self.axes.map(|axis| axis.size));
        let min = four_times(self.axes.map(|axis| axis.min));
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

fn four_times([x, y, z]: [f32; 3]) -> [f32; 12] {
    [x, y, z, x, y, z, x, y, z, x, y, z]
}

/// Returns the scale of the crate `tmf` for `width` bits, whose shift wraps at 32.
fn wrapped_steps(width: u8) -> u64 {
    match width & 31 {
        31 => 1 << 31,
        shift => (1_u64 << shift).wrapping_sub(1),
    }
}

/// The bits after a number of `width` bits, from 64 on, in whole words of 64.
fn unused(width: u8) -> u32 {
    u32::from(width.wrapping_neg() & 63)
}

/// Returns `true` if a number of more than 32 bits fits the scale of the crate `tmf`.
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

/// The header of a vertex segment, which the layout has checked.
pub(crate) fn vertex_header(source: &Source, segment: &Segment) -> Result<raw::Vertex> {
    source.read_struct(
        segment.bits_start.saturating_sub(size_u64::<raw::Vertex>()),
        "VertexSegment",
    )
}

/// The range of one axis of a stored box.
#[derive(Clone, Copy)]
pub(crate) struct AxisRange {
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// The box that a vertex segment stores: the ranges of x, y and z.
pub(crate) fn stored_box(header: &raw::Vertex) -> [AxisRange; 3] {
    [
        AxisRange {
            min: header.min_x.get(),
            max: header.max_x.get(),
        },
        AxisRange {
            min: header.min_y.get(),
            max: header.max_y.get(),
        },
        AxisRange {
            min: header.min_z.get(),
            max: header.max_z.get(),
        },
    ]
}
