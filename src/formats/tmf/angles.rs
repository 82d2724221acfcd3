//! Unit vectors, for normals and tangents, from an angle, a height and three signs.

use std::sync::Arc;

use super::coordinates::BLOCK;
use crate::codec::bits::{Unpacker, field, steps, top};
use crate::decode::Slot;
use crate::num::{as_u64, as_usize};

/// Tables for a number of bits: sine and cosine of angles, radius at heights.
#[derive(Debug)]
struct Angles {
    sin_cos: Vec<[f32; 2]>,
    radius_height: Vec<[f32; 2]>,
}

impl Angles {
    /// Tables for more bits would not fit any cache.
    const MAX_BITS: usize = 17;

    /// Returns `true` if making a table costs less than decoding `count` elements without one.
    fn is_worth(bits: u8, count: usize) -> bool {
        // Without bits, vectors consist of their signs only.
        (1..=Self::MAX_BITS).contains(&bits.into())
            && 1_usize << bits.min(31) <= count.saturating_add(64)
    }

    fn new(bits: u8) -> Self {
        let divisor = steps(bits) as f32;
        let numbers = 0..=top(u64::MAX, bits.into());
        Self {
            sin_cos: numbers
                .clone()
                .map(|number| sin_cos(number, divisor))
                .collect(),
            radius_height: numbers
                .map(|number| radius_height(number, divisor))
                .collect(),
        }
    }
}

/// Sine and cosine of an angle: `number` of `divisor` steps from 0 to a right angle.
fn sin_cos(number: u64, divisor: f32) -> [f32; 2] {
    let angle = number as f32 / divisor * std::f32::consts::FRAC_PI_2;
    let (sin, cos) = angle.sin_cos();
    [sin, cos]
}

/// The radius of the unit sphere at a height, and the height: `number` of `divisor` steps from 0 to
/// 1.
fn radius_height(number: u64, divisor: f32) -> [f32; 2] {
    let height = number as f32 / divisor;
    [(1.0 - height * height).sqrt(), height]
}

/// The tables of a file, each made once, when it is first worth while.
pub(crate) struct AngleTables([Slot<Arc<Angles>>; Angles::MAX_BITS + 1]);

impl AngleTables {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Slot::default()))
    }

    /// Returns the table for `bits` bits; `None` if making it does not pay.
    fn get(&self, bits: u8, count: usize) -> Option<Arc<Angles>> {
        let table = self.0.get(usize::from(bits))?;
        if table.get().is_none() && !Angles::is_worth(bits, count) {
            return None;
        }
        table
            .get_or_try_make(|| Ok(Arc::new(Angles::new(bits))), |_| true)
            .ok()
    }
}

/// The computation of unit vectors from their numbers.
pub(crate) struct Directions {
    bits: u8,
    angles: Option<Arc<Angles>>,
}

impl Directions {
    /// For angles and heights of `bits` bits; `count` of them will be decoded.
    pub(crate) fn new(bits: u8, tables: &AngleTables, count: usize) -> Self {
        Self {
            bits,
            angles: tables.get(bits, count),
        }
    }

    /// Decodes records of `before` bits, three signs, an angle around Z, and a height.
    ///
    /// `finish` makes an element of the bits, the first one uppermost, and the vector.
    #[inline]
    pub(crate) fn decode<const N: usize>(
        &self,
        before: u32,
        bytes: &[u8],
        bit: u64,
        out: &mut [[f32; N]],
        finish: impl Fn(u64, [f32; 3]) -> [f32; N],
    ) {
        let width = u32::from(self.bits);
        let signs = before.wrapping_add(3);
        let record = width.wrapping_mul(2).wrapping_add(signs);
        let mut bit = bit;
        if let Some(tables) = self.angles.as_deref() {
            let unpacker = Unpacker::new([signs, width, width], out.len().saturating_mul(3));
            let mut numbers = [0; BLOCK];
            for out in out.chunks_mut(BLOCK / 3) {
                let count = out.len().saturating_mul(3);
                let numbers = numbers.get_mut(..count).unwrap_or_default();
                unpacker.unpack(bytes, bit, numbers);
                let (records, _) = numbers.as_chunks::<3>();
                for (out, [head, angle, height]) in out.iter_mut().zip(records) {
                    let head = u64::from(*head) << 64_u32.wrapping_sub(signs);
                    let sin_cos = entry(&tables.sin_cos, *angle);
                    let radius_height = entry(&tables.radius_height, *height);
                    *out = finish(head, vector(head << before, sin_cos, radius_height));
                }
                bit = bit.wrapping_add(as_u64(out.len()).wrapping_mul(record.into()));
            }
            return;
        }
        let divisor = steps(self.bits) as f32;
        for out in out {
            let head = field(bytes, bit, signs) << 64_u32.wrapping_sub(signs);
            let angle_bit = bit.wrapping_add(signs.into());
            let height_bit = angle_bit.wrapping_add(width.into());
            let direction = if width == 0 {
                // Without bits for an angle and a height, the crate returns the signs.
                vector(head << before, [1.0; 2], [1.0; 2])
            } else {
                let angle = field(bytes, angle_bit, width);
                let height = field(bytes, height_bit, width);
                let sin_cos = sin_cos(angle, divisor);
                let radius_height = radius_height(height, divisor);
                vector(head << before, sin_cos, radius_height)
            };
            *out = finish(head, direction);
            bit = bit.wrapping_add(record.into());
        }
    }
}

/// The entry of a table; every number of its bits has one.
#[inline]
fn entry(table: &[[f32; 2]], number: u32) -> [f32; 2] {
    table.get(as_usize(number)).copied().unwrap_or_default()
}

/// A unit vector. The upper three bits of `signs` are set for negative x, y and z.
#[inline]
fn vector(signs: u64, [sin, cos]: [f32; 2], [radius, height]: [f32; 2]) -> [f32; 3] {
    [
        negate(sin * radius, signs),
        negate(cos * radius, signs << 1),
        negate(height, signs << 2),
    ]
}

/// The negative number if the uppermost bit of `sign` is set: it is also the sign bit of a float.
#[inline]
fn negate(number: f32, sign: u64) -> f32 {
    let sign = (sign >> 32) as u32 & 0x8000_0000;
    f32::from_bits(number.to_bits() ^ sign)
}
