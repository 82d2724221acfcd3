//! Bits to numbers: the arithmetic of each kind of segment, in the order of operations of the crate `tmf`.
//!
//! A run of elements is decoded from any element on. Numbers are unpacked into a small buffer and converted from there,
//! so that both loops are plain ones.

use zerocopy::FromBytes;
use zerocopy::little_endian::U64;

use super::angles::{Angles, directions};
use super::coordinates::{BLOCK, Coordinates};
use super::layout::Layout;
use super::raw;
use super::rules::FILE;
use super::segment::{FileLayout, SegmentEntry, SegmentType};
use crate::codec::bits::{field, steps, top, unpack};
use crate::num::as_u64;
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
