//! Decoding of each kind of segment, in the order of operations of the crate `tmf`.
//!
//! A run of elements is decoded from any element on. Numbers are unpacked into a small buffer and converted from there,
//! so that both loops are simple ones.

use super::angles::{AngleTables, Directions};
use super::coordinates::{BLOCK, Coordinates, vertex_header};
use super::raw;
use super::segment::Segment;
use crate::bytes::Source;
use crate::codec::bits::{Unpacker, field, steps, top};
use crate::num::{as_u64, size_u64};
use crate::report::Result;

/// An index that does not fit 32 bits: the element, and its value.
pub(crate) struct TooLarge {
    pub(crate) element: usize,
    pub(crate) value: u128,
}

/// The parts that decoders are made from.
pub(crate) struct Parts<'a> {
    pub(crate) segment: &'a Segment,
    pub(crate) source: &'a Source,
    pub(crate) angles: &'a AngleTables,
    /// The number of elements that will be decoded.
    pub(crate) count: usize,
}

/// An element of segments.
pub(crate) trait Decode: Copy {
    /// The distinction between arrays whose elements have this type, such as positions and normals;
    /// `()` if all of them are decoded alike.
    type Meaning: Copy + Send + Sync;
    /// The decoder for elements.
    type Decoder: Send + Sync;

    fn decoder(meaning: Self::Meaning, parts: &Parts<'_>) -> Result<Self::Decoder>;

    /// Decodes elements until `out` is full.
    ///
    /// The first is the segment's element `first`, at `bit` of `bytes`.
    fn decode(
        decoder: &Self::Decoder,
        bytes: &[u8],
        bit: u64,
        first: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge>;
}

/// Indices and integers.
pub(crate) enum Indices {
    /// Stored numbers; `base` is added to each.
    Stored { base: u64, width: u32 },
    /// Not stored: each is the number of its element.
    Counting,
}

impl Decode for u32 {
    type Meaning = ();
    type Decoder = Indices;

    fn decoder((): (), parts: &Parts<'_>) -> Result<Indices> {
        let Segment {
            base,
            precision: [bits, ..],
            ..
        } = *parts.segment;
        let is_omitted = parts.segment.is_omitted();
        Ok(if is_omitted {
            Indices::Counting
        } else {
            Indices::Stored {
                base,
                width: bits.into(),
            }
        })
    }

    fn decode(
        decoder: &Indices,
        bytes: &[u8],
        bit: u64,
        first: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        match *decoder {
            Indices::Stored { base, width } => indices(base, width, bytes, bit, out),
            Indices::Counting => {
                for (element, (number, out)) in (first..).zip(out).enumerate() {
                    let too_large = |_| TooLarge {
                        element,
                        value: u128::from(as_u64(number)),
                    };
                    *out = Self::try_from(number).map_err(too_large)?;
                }
                Ok(())
            }
        }
    }
}

fn indices(base: u64, width: u32, bytes: &[u8], bit: u64, out: &mut [u32]) -> Result<(), TooLarge> {
    if let Some(base) = narrow_base(base, width) {
        let unpacker = Unpacker::new([width; 3], out.len());
        let mut bit = bit;
        for block in out.chunks_mut(4 * BLOCK) {
            unpacker.unpack(bytes, bit, block);
            if base > 0 {
                for index in block.iter_mut() {
                    *index = index.wrapping_add(base);
                }
            }
            bit = bit.wrapping_add(as_u64(block.len()).wrapping_mul(width.into()));
        }
        return Ok(());
    }
    let mut bit = bit;
    for (element, out) in out.iter_mut().enumerate() {
        let value = u128::from(base).saturating_add(field(bytes, bit, width).into());
        *out = u32::try_from(value).map_err(|_| TooLarge { element, value })?;
        bit = bit.wrapping_add(width.into());
    }
    Ok(())
}

/// The base, if the sum of it and any number of `width` bits fits 32 bits.
fn narrow_base(base: u64, width: u32) -> Option<u32> {
    if width > 32 {
        return None;
    }
    let max = base.checked_add(top(u64::MAX, width))?;
    u32::try_from(max).ok()?;
    u32::try_from(base).ok()
}

/// The meaning of three floats.
#[derive(Clone, Copy)]
pub(crate) enum Vector {
    Vertex,
    Normal,
}

pub(crate) enum Vectors {
    Vertices(Coordinates),
    Normals(Directions),
}

impl Decode for [f32; 3] {
    type Meaning = Vector;
    type Decoder = Vectors;

    fn decoder(meaning: Vector, parts: &Parts<'_>) -> Result<Vectors> {
        let Parts {
            segment, source, ..
        } = parts;
        Ok(match meaning {
            Vector::Vertex => {
                Vectors::Vertices(Coordinates::new(segment, &vertex_header(source, segment)?))
            }
            Vector::Normal => Vectors::Normals(parts.directions()),
        })
    }

    fn decode(
        decoder: &Vectors,
        bytes: &[u8],
        bit: u64,
        _: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        match decoder {
            Vectors::Vertices(coordinates) => coordinates.decode(bytes, bit, out),
            Vectors::Normals(directions) => {
                directions.decode(0, bytes, bit, out, |_, direction| direction)
            }
        }
        Ok(())
    }
}

/// The meaning of four floats.
#[derive(Clone, Copy)]
pub(crate) enum Quad {
    Tangent,
    Color,
}

pub(crate) enum Quads {
    Tangents(Directions),
    Colors { bits: u8 },
}

impl Decode for [f32; 4] {
    type Meaning = Quad;
    type Decoder = Quads;

    fn decoder(meaning: Quad, parts: &Parts<'_>) -> Result<Quads> {
        Ok(match meaning {
            Quad::Tangent => Quads::Tangents(parts.directions()),
            Quad::Color => Quads::Colors {
                bits: parts.segment.precision[0],
            },
        })
    }

    fn decode(
        decoder: &Quads,
        bytes: &[u8],
        bit: u64,
        _: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        match decoder {
            Quads::Tangents(directions) => {
                let handed = |window: u64, [x, y, z]: [f32; 3]| {
                    [x, y, z, if window >> 63 == 1 { -1.0 } else { 1.0 }]
                };
                directions.decode(1, bytes, bit, out, handed);
            }
            Quads::Colors { bits } => {
                // Rounded twice, as the crate does.
                #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest")]
                let convert = |number: u64, steps: u64| (number as f64 / steps as f64) as f32;
                uniform(*bits, bytes, bit, out.as_flattened_mut(), convert);
            }
        }
        Ok(())
    }
}

/// Texture coordinates, decoded with their bits.
impl Decode for [f32; 2] {
    type Meaning = ();
    type Decoder = u8;

    fn decoder((): (), parts: &Parts<'_>) -> Result<u8> {
        Ok(parts.segment.precision[0])
    }

    fn decode(
        bits: &u8,
        bytes: &[u8],
        bit: u64,
        _: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        let convert = |number: u64, steps: u64| number as f32 / steps as f32;
        uniform(*bits, bytes, bit, out.as_flattened_mut(), convert);
        Ok(())
    }
}

/// Custom floats, decoded with their header.
impl Decode for f32 {
    type Meaning = ();
    type Decoder = raw::CustomFloat;

    fn decoder((): (), parts: &Parts<'_>) -> Result<raw::CustomFloat> {
        let start = parts
            .segment
            .bits_start
            .saturating_sub(size_u64::<raw::CustomFloat>());
        parts.source.read_struct(start, parts.segment.kind.what())
    }

    fn decode(
        header: &raw::CustomFloat,
        bytes: &[u8],
        bit: u64,
        _: usize,
        out: &mut [Self],
    ) -> Result<(), TooLarge> {
        let bits = header.precision;
        let min = header.min.get();
        let max = header.max.get();
        let size = if bits == 0 { 0.0 } else { max - min };
        #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest")]
        let convert = |number: u64, steps: u64| (number as f64 / steps as f64 * size + min) as f32;
        uniform(bits, bytes, bit, out, convert);
        Ok(())
    }
}

impl Parts<'_> {
    fn directions(&self) -> Directions {
        Directions::new(self.segment.precision[0], self.angles, self.count)
    }
}

/// Numbers of one width, each converted from itself and the maximum number of its width.
#[inline]
fn uniform(bits: u8, bytes: &[u8], bit: u64, out: &mut [f32], convert: impl Fn(u64, u64) -> f32) {
    let width = u32::from(bits);
    let steps = steps(bits);
    let mut bit = bit;
    if width > 31 {
        for out in out {
            *out = convert(field(bytes, bit, width), steps);
            bit = bit.wrapping_add(width.into());
        }
        return;
    }
    let unpacker = Unpacker::new([width; 3], out.len());
    let mut numbers = [0; BLOCK];
    for out in out.chunks_mut(BLOCK) {
        let numbers = numbers.get_mut(..out.len()).unwrap_or_default();
        unpacker.unpack(bytes, bit, numbers);
        for (out, number) in out.iter_mut().zip(numbers) {
            // With that few bits, the number is the same with a sign, and vector units convert that.
            *out = convert(u64::from(*number & 0x7fff_ffff), steps);
        }
        bit = bit.wrapping_add(as_u64(out.len()).wrapping_mul(width.into()));
    }
}
