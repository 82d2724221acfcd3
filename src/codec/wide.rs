//! Records of packed numbers, unpacked with AVX2: eight numbers at a time.

use fearless_simd::prelude::*;
use fearless_simd::x86::Avx2;
use fearless_simd::{u8x16, u8x32, u32x8};

/// The numbers of eight records, whose bits are whole bytes.
const GROUP: usize = 24;

/// Unpacks records of three numbers, eight records at a time.
pub(super) struct Wide {
    avx2: Avx2,
    /// The numbers of eight records.
    eights: [Eight; 3],
    /// The bytes of eight records.
    stride: usize,
    /// The bytes that are loaded for eight records: more than they have.
    loaded: usize,
}

/// Eight consecutive numbers of a group. Each half of a vector has four of them.
struct Eight {
    /// The byte of the group at which the first number of each half begins.
    starts: [usize; 2],
    /// For each byte of the vector, its position in the 16 bytes that are loaded for its half.
    positions: u8x32<Avx2>,
    /// The bits before each number in its first byte.
    before: u32x8<Avx2>,
    /// The bits by which each number is shorter than 32 bits.
    unused: u32x8<Avx2>,
}

impl Wide {
    /// The maximum bits of a number: with the up to 7 bits before it, it fits into 32 bits, and four numbers fit into 16 bytes.
    const MAX_WIDTH: u32 = 25;

    /// For records of these widths; `None` if a number is too wide.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "no width is more than MAX_WIDTH"
    )]
    pub(super) fn new(avx2: Avx2, widths: [u32; 3]) -> Option<Self> {
        let [x, y, z] = widths;
        if x.max(y).max(z) > Self::MAX_WIDTH {
            return None;
        }
        let eights = [0, 8, 16].map(|first| Eight::new(avx2, widths, first));
        let [.., last] = &eights;
        let [_, second_half] = last.starts;
        Some(Self {
            avx2,
            stride: (x + y + z) as usize,
            loaded: second_half + 16,
            eights,
        })
    }

    /// Unpacks records from the start of `bytes` on. Returns the number of unpacked numbers: fewer than eight records, and records
    /// near the end of the bytes, are left.
    pub(super) fn unpack(&self, bytes: &[u8], out: &mut [u32]) -> usize {
        self.avx2.vectorize(
            #[inline(always)]
            || {
                let (groups, _) = out.as_chunks_mut::<GROUP>();
                let mut rest = bytes;
                let mut done = 0_usize;
                for group in groups {
                    let Some(here) = rest.get(..self.loaded) else {
                        break;
                    };
                    let (numbers, _) = group.as_chunks_mut::<8>();
                    for (eight, numbers) in self.eights.iter().zip(numbers) {
                        eight.unpack(self.avx2, here, numbers);
                    }
                    rest = rest.get(self.stride..).unwrap_or_default();
                    done = done.saturating_add(GROUP);
                }
                done
            },
        )
    }
}

impl Eight {
    /// The numbers of a group from `first` on.
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::indexing_slicing,
        reason = "a group has 75 bytes at most, and half a vector at most 14 of them"
    )]
    fn new(avx2: Avx2, widths: [u32; 3], first: usize) -> Self {
        let [x, y, z] = widths;
        let mut starts = [0; 2];
        let mut positions = [0; 32];
        let mut before = [0; 8];
        let mut unused = [0; 8];
        for lane in 0..8 {
            let number = first + lane;
            let record = (number / 3) as u32 * (x + y + z);
            let bit = record + [0, x, x + y][number % 3];
            let byte = (bit / 8) as usize;
            let half = lane / 4;
            if lane % 4 == 0 {
                starts[half] = byte;
            }
            // The first of four bytes is the uppermost, which this processor has last.
            for place in 0..4 {
                positions[lane * 4 + place] = (byte - starts[half] + 3 - place) as u8;
            }
            before[lane] = bit % 8;
            unused[lane] = 32 - widths[number % 3];
        }
        Self {
            starts,
            positions: avx2.load_array_u8x32(positions),
            before: avx2.load_array_u32x8(before),
            unused: avx2.load_array_u32x8(unused),
        }
    }

    #[inline(always)]
    fn unpack(&self, avx2: Avx2, group: &[u8], out: &mut [u32; 8]) {
        let [first, second] = self
            .starts
            .map(|start| group.get(start..).and_then(<[u8]>::first_chunk::<16>));
        // The caller has as many bytes as are loaded.
        let (Some(first), Some(second)) = (first, second) else {
            return;
        };
        let first: u8x16<Avx2> = avx2.load_array_ref_u8x16(first);
        let second: u8x16<Avx2> = avx2.load_array_ref_u8x16(second);
        let loaded = avx2.combine_u8x16(first, second);
        let shuffled = avx2
            .avx2
            ._mm256_shuffle_epi8(loaded.into(), self.positions.into());
        let windows: u32x8<Avx2> = shuffled.simd_into(avx2);
        // A shift by 32, for numbers without bits, makes 0.
        let numbers = avx2.shrv_u32x8(avx2.shlv_u32x8(windows, self.before), self.unused);
        avx2.store_array_u32x8(numbers, out);
    }
}
