//! Words of 32 bits that hold four components: 10, 10, 10 and 2 bits, from the lowest bit on.

use super::round::{limited, low, nearest};

/// The packing of components into words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    /// The number of components of an element, 1 to 4. Others are 0.
    pub(super) components: usize,
    pub(super) is_signed: bool,
    /// `true` if a fourth component that is not stored is 1.
    pub(super) has_one: bool,
}

/// The bits of a component, and the lowest of them.
const FIELDS: [(u32, u32); 4] = [(10, 0), (10, 10), (10, 20), (2, 30)];

impl Packing {
    /// Returns the maximum integer of a component of `bits` bits, which stands for 1.
    fn greatest(self, bits: u32) -> u32 {
        let bits = if self.is_signed {
            bits.saturating_sub(1)
        } else {
            bits
        };
        mask(bits)
    }

    /// The word of an element, whose components become integers; the index of a component that `integer` refuses.
    fn word<T: Copy>(
        self,
        element: &[T],
        integer: impl Fn(T, u32) -> Option<u32>,
    ) -> Result<u32, usize> {
        let mut word = 0;
        for (component, (bits, shift)) in FIELDS.into_iter().enumerate() {
            let number = match element.get(component) {
                Some(stored) => integer(*stored, bits).ok_or(component)?,
                None if component == 3 && self.has_one => self.greatest(bits),
                None => 0,
            };
            word |= (number & mask(bits)) << shift;
        }
        Ok(word)
    }
}

fn mask(bits: u32) -> u32 {
    (1_u32 << bits).wrapping_sub(1)
}

/// Writes floats as the nearest normalized integers, the even one of two. NaN becomes 0.
pub(super) fn write_floats(floats: &[f32], packing: Packing, out: &mut Vec<u8>) {
    let least = if packing.is_signed { -1.0 } else { 0.0 };
    let integer = |float: f32, bits| {
        Some(nearest(
            f64::from(limited(float, least)) * f64::from(packing.greatest(bits)),
        ))
    };
    out.clear();
    for element in floats.chunks_exact(packing.components.max(1)) {
        // Every float has a nearest integer.
        let word = packing.word(element, integer).unwrap_or(0);
        out.extend(word.to_ne_bytes());
    }
}

/// Writes integers of the same value; the index of the first component that a word cannot hold.
pub(super) fn write_integers(
    integers: &[i64],
    packing: Packing,
    out: &mut Vec<u8>,
) -> Result<(), usize> {
    let integer = |integer: i64, bits| {
        let greatest = i64::from(packing.greatest(bits));
        let least = if packing.is_signed {
            (-1_i64).saturating_sub(greatest)
        } else {
            0
        };
        let is_held = (least..=greatest).contains(&integer);
        is_held.then(|| u32::from_le_bytes(low(integer.cast_unsigned())))
    };
    out.clear();
    let elements = integers.chunks_exact(packing.components.max(1));
    for (element, first) in elements.zip((0_usize..).step_by(packing.components.max(1))) {
        let word = packing
            .word(element, integer)
            .map_err(|component| first.saturating_add(component))?;
        out.extend(word.to_ne_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(element: &[f32], is_signed: bool, has_one: bool) -> u32 {
        let mut out = Vec::new();
        write_floats(
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
    fn floats_become_the_nearest_integers_with_x_in_the_lowest_bits() {
        assert_eq!(
            fields(floats(&[0.0, 0.5, 1.0, 1.0], false, false)),
            [0, 512, 1023, 3]
        );
        assert_eq!(
            fields(floats(&[-1.0, 2.0, f32::NAN, 0.4], false, false)),
            [0, 1023, 0, 1]
        );
        assert_eq!(
            fields(floats(&[-1.0, 0.0, 1.0, -1.0], true, false)),
            [513, 0, 511, 3]
        );
        assert_eq!(
            fields(floats(&[-9.0, 0.5, -0.5, 9.0], true, false)),
            [513, 256, 768, 1]
        );
    }

    #[test]
    fn components_that_are_not_stored_are_0_and_a_fourth_may_be_1() {
        assert_eq!(fields(floats(&[1.0], false, false)), [1023, 0, 0, 0]);
        assert_eq!(
            fields(floats(&[1.0, 1.0, 1.0], false, true)),
            [1023, 1023, 1023, 3]
        );
        assert_eq!(
            fields(floats(&[1.0, 1.0, 1.0], true, true)),
            [511, 511, 511, 1]
        );
    }

    #[test]
    fn integers_keep_their_value_or_are_refused() {
        let write = |integers: &[i64], is_signed| {
            let mut out = Vec::new();
            write_integers(
                integers,
                Packing {
                    components: 4,
                    is_signed,
                    has_one: false,
                },
                &mut out,
            )?;
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
