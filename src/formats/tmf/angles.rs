//! Unit vectors, for normals and tangents, from an angle, a height and three signs.

use std::sync::Arc;

use crate::codec::bits::{field, shift, steps, top, top_few, window};
use crate::decode::Slot;
use crate::num::as_usize;

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
        let (bits, width) = (self.bits, u32::from(self.bits));
        let signs = before.wrapping_add(3);
        let record = width.wrapping_mul(2).wrapping_add(signs);
        let mut bit = bit;
        let vector = |window: u64, [sin, cos]: [f32; 2], [radius, height]: [f32; 2]| {
            let negate = |number: f32, place: u32| {
                let sign = (window << before.wrapping_add(place) >> 32) as u32 & 0x8000_0000;
                f32::from_bits(number.to_bits() ^ sign)
            };
            [
                negate(sin * radius, 0),
                negate(cos * radius, 1),
                negate(height, 2),
            ]
        };
        match self.angles.as_deref() {
            Some(Angles {
                sin_cos,
                radius_height,
            }) => {
                let entry = |table: &[[f32; 2]], index: u64| {
                    // Every number of `bits` bits has its entry.
                    table.get(as_usize(index)).copied().unwrap_or_default()
                };
                for out in out {
                    let window = window(bytes, as_usize(bit >> 3)) << shift(bit);
                    let angle = top_few(window << signs, width);
                    let height = top_few(window << signs.wrapping_add(width), width);
                    *out = finish(
                        window,
                        vector(window, entry(sin_cos, angle), entry(radius_height, height)),
                    );
                    bit = bit.wrapping_add(record.into());
                }
            }
            None => {
                let divisor = steps(bits) as f32;
                for out in out {
                    let head = field(bytes, bit, signs) << 64_u32.wrapping_sub(signs);
                    let angle = field(bytes, bit.wrapping_add(signs.into()), width);
                    let height = field(
                        bytes,
                        bit.wrapping_add(signs.into()).wrapping_add(width.into()),
                        width,
                    );
                    let direction = match bits {
                        // Without bits for an angle and a height, the crate returns the signs.
                        0 => vector(head, [1.0; 2], [1.0; 2]),
                        _ => vector(
                            head,
                            sin_cos(angle, divisor),
                            radius_height(height, divisor),
                        ),
                    };
                    *out = finish(head, direction);
                    bit = bit.wrapping_add(record.into());
                }
            }
        }
    }
}
