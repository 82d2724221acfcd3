//! Arrays of a mesh: any element at the cost of that element, or all of them at once.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use zerocopy::{FromZeros, Immutable, IntoBytes};

use super::decode::{Decode, Decoder, TooLarge};
use super::layout::{self, Layout, SegmentEntry};
use super::rules::FILE;
use crate::bytes::{Array, Element, Source};
use crate::limits::Budget;
use crate::num::{as_u64, as_usize};
use crate::options::{Options, Parallelism};
use crate::report::{Address, Error, Result};

/// An array as a mesh stores it: numbers of some bits, in one or several segments. Nothing is decoded until asked for.
///
/// Any element is found without decoding others, and a range is read and decoded on its own. What is decoded together
/// is split over the caller's rayon pool where that pays (see [`Parallelism`]), within segments and across them.
///
/// # Examples
///
/// ```
/// use meshmap::{Source, tmf};
///
/// let document = tmf::Document::from_source(Source::open("tests/data/tmf/valid/v021_one_triangle.tmf")?)?;
/// let vertices = document.mesh(0).expect("one mesh").vertices().expect("with vertices");
/// assert_eq!(vertices.get(1)?, Some([1.0, 0.0, 0.0]));
/// assert_eq!(vertices.decode()?.to_vec(), [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
/// # Ok::<(), meshmap::Error>(())
/// ```
pub struct Packed<T> {
    layout: Arc<Layout>,
    source: Source,
    options: Options,
    address: Address,
    parts: Arc<[Part]>,
    len: u64,
    element: PhantomData<T>,
}

/// The elements of one segment among those of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    first: u64,
    segment: usize,
}

/// What a [`Packed`] array can hold.
pub trait PackedElement: Element + Default + IntoBytes + Immutable + FromZeros + sealed::Sealed {}

mod sealed {
    use super::Decode;

    #[expect(private_bounds, reason = "nobody else makes elements")]
    pub trait Sealed: Decode {}
    impl Sealed for u32 {}
    impl Sealed for f32 {}
    impl Sealed for [f32; 2] {}
    impl Sealed for [f32; 3] {}
    impl Sealed for [f32; 4] {}
}

impl PackedElement for u32 {}
impl PackedElement for f32 {}
impl PackedElement for [f32; 2] {}
impl PackedElement for [f32; 3] {}
impl PackedElement for [f32; 4] {}

impl<T: PackedElement> Packed<T> {
    /// The array in these segments, one after the other; `None` where there are none.
    pub(crate) fn new(
        layout: &Arc<Layout>,
        source: &Source,
        options: Options,
        address: Address,
        segments: impl Iterator<Item = usize>,
    ) -> Option<Self> {
        let mut len = 0_u64;
        let mut parts = Vec::new();
        for segment in segments {
            parts.push(Part { first: len, segment });
            let count = layout.segments.get(segment).map_or(0, |entry| entry.count);
            len = len.saturating_add(count);
        }
        let (layout, source, parts) = (Arc::clone(layout), source.clone(), parts.into());
        let this = Self { layout, source, options, address, parts, len, element: PhantomData };
        (!this.parts.is_empty()).then_some(this)
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        as_usize(self.len)
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the array stands in the file: `meshes[0].vertices`.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The bytes of its segments, from the beginning of the source.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<u64>> + '_ {
        self.parts.iter().map(|part| self.entry(part).map_or(0..0, |entry| entry.data.0..entry.data.1))
    }

    /// The width of the first field of each segment's elements, in bits.
    pub fn precisions(&self) -> impl ExactSizeIterator<Item = u8> + '_ {
        self.parts.iter().map(|part| self.entry(part).map_or(0, |entry| entry.widths[0]))
    }

    /// Whether both arrays are the same segments, so that decoding one is decoding both.
    #[must_use]
    pub fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.layout, &other.layout) && self.parts == other.parts
    }

    /// The element at an index; `Ok(None)` where there is none. Of a source that is read lazily, reads that element.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for an index of more than 32 bits, and the errors of reading.
    pub fn get(&self, index: usize) -> Result<Option<T>> {
        let Some(end) = index.checked_add(1).filter(|end| as_u64(*end) <= self.len) else { return Ok(None) };
        let mut element = [T::default()];
        self.range_into(index..end, &mut element)?;
        let [element] = element;
        Ok(Some(element))
    }

    /// The elements, decoded a thousand at a time.
    ///
    /// # Errors
    ///
    /// Each item is what [`get`](Self::get) would give; behind an error there are no more.
    pub fn iter(&self) -> impl Iterator<Item = Result<T>> + '_ {
        const BLOCK: usize = 1024;
        let mut failed = false;
        let blocks = (0..self.len()).step_by(BLOCK).map(move |first| {
            let end = first.saturating_add(BLOCK).min(self.len());
            let mut block = vec![T::default(); end.saturating_sub(first)];
            self.range_into(first..end, &mut block).map(|()| block)
        });
        let elements = blocks.flat_map(|block| {
            let (block, error) = match block {
                Ok(block) => (block, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            block.into_iter().map(Ok).chain(error)
        });
        elements.take_while(move |element| !std::mem::replace(&mut failed, element.is_err()))
    }

    /// All elements, decoded.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) where they take more than
    /// [`max_block_bytes`](crate::Limits::max_block_bytes), and those of [`get`](Self::get).
    pub fn decode(&self) -> Result<Array<T>> {
        let out = Budget::new(&self.options.limits).vec(self.len, "array of a mesh");
        let mut out = out.map_err(|error| FILE.of(self.address.clone()).locate(error))?;
        self.decode_into(&mut out)?;
        Ok(Array::from_vec(out))
    }

    /// All elements, decoded into `out`, which has room for them and no more.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) where `out` has another length, and those of [`get`](Self::get).
    pub fn decode_into(&self, out: &mut [T]) -> Result<()> {
        self.range_into(0..self.len(), out)
    }

    /// The elements of a range, decoded into `out`, which has room for them and no more. Of a source that is read
    /// lazily, reads those alone.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) where the range reaches beyond the end or `out` has another length, and
    /// those of [`get`](Self::get).
    pub fn range_into(&self, range: Range<usize>, out: &mut [T]) -> Result<()> {
        let wrong = |what, expected: String, found: String| {
            let error = FILE.out_of_range(what).of(self.address.clone());
            Err(error.expected(expected).found(found))
        };
        if range.start > range.end || as_u64(range.end) > self.len {
            let found = format!("{}..{}", range.start, range.end);
            return wrong("elements", format!("within 0..{}", self.len), found);
        }
        if out.len() != range.len() {
            let expected = format!("{} elements", range.len());
            return wrong("length of the output", expected, out.len().to_string());
        }
        /// Elements for which another thread is worth waking: some twenty microseconds of work.
        const PARALLEL: usize = 16 << 10;
        if out.len() > PARALLEL && self.options.parallelism == Parallelism::Rayon {
            self.in_parallel(as_u64(range.start), out)
        } else {
            self.runs(as_u64(range.start), out, |run| run.decode().map_err(|wrong| self.too_large(wrong)))
        }
    }

    /// Hands the elements from `first` on to `each`, a run of one segment at a time.
    fn runs<'a>(
        &'a self,
        first: u64,
        out: &'a mut [T],
        mut each: impl FnMut(Run<'a, T>) -> Result<()>,
    ) -> Result<()> {
        let mut first = first;
        let mut out = out;
        // Of segments without elements, which begin where the next one does, the last one is behind the others.
        let before = self.parts.partition_point(|part| part.first <= first).saturating_sub(1);
        for part in self.parts.iter().skip(before) {
            if out.is_empty() {
                break;
            }
            let Some(entry) = self.entry(part) else { continue };
            let inside = first.saturating_sub(part.first);
            let here = entry.count.saturating_sub(inside);
            let here = as_usize(here).min(out.len());
            let (run, rest) = std::mem::take(&mut out).split_at_mut(here);
            out = rest;
            if run.is_empty() {
                continue;
            }
            each(self.run(entry, inside, run)?)?;
            first = first.saturating_add(as_u64(here));
        }
        Ok(())
    }

    /// What is to be decoded of a segment, with its bytes.
    fn run<'a>(&'a self, entry: &SegmentEntry, first: u64, out: &'a mut [T]) -> Result<Run<'a, T>> {
        let decoder = layout::decoder(&self.layout, &self.source, entry, out.len())?;
        let record = entry.record_bits();
        let bit = first.saturating_mul(record);
        let end = bit.saturating_add(as_u64(out.len()).saturating_mul(record));
        let at = |byte: u64| entry.bits.saturating_add(byte).min(entry.data.1);
        let bytes = self.source.get(at(bit >> 3)..at(end.div_ceil(8)), "bit array")?;
        Ok(Run {
            decoder: Arc::new(decoder),
            bytes,
            bit: bit & 7,
            record,
            first: as_usize(first),
            start: entry.bits.saturating_add(bit >> 3),
            out,
        })
    }

    #[cfg(feature = "rayon")]
    fn in_parallel(&self, first: u64, out: &mut [T]) -> Result<()> {
        use rayon::prelude::*;
        /// A multiple of eight, so that every piece begins a byte.
        const PIECE: usize = 8 << 10;
        let mut pieces = Vec::new();
        self.runs(first, out, |run| {
            pieces.extend(run.split(PIECE));
            Ok(())
        })?;
        let wrong = pieces.into_par_iter().map(Run::decode).find_map_first(Result::err);
        wrong.map_or(Ok(()), |wrong| Err(self.too_large(wrong)))
    }

    #[cfg(not(feature = "rayon"))]
    fn in_parallel(&self, first: u64, out: &mut [T]) -> Result<()> {
        self.runs(first, out, |run| run.decode().map_err(|wrong| self.too_large(wrong)))
    }

    fn too_large(&self, wrong: WrongIndex) -> Error {
        let error = FILE.malformed("index").of(self.address.clone()).at(wrong.range);
        error.expected("at most 4,294,967,295").found(wrong.value)
    }

    fn entry(&self, part: &Part) -> Option<&SegmentEntry> {
        self.layout.segments.get(part.segment)
    }
}

/// Elements of one segment that lie one after the other.
struct Run<'a, T> {
    decoder: Arc<Decoder<'a>>,
    bytes: Bytes,
    /// Where in the bytes the first element begins.
    bit: u64,
    /// The bits of an element.
    record: u64,
    /// The first element, counted in its segment.
    first: usize,
    /// Where in the source the bytes begin.
    start: u64,
    out: &'a mut [T],
}

/// An index that does not fit, and the bytes that it is in.
struct WrongIndex {
    range: Range<u64>,
    value: u128,
}

impl<'a, T: PackedElement> Run<'a, T> {
    fn decode(self) -> Result<(), WrongIndex> {
        let Self { decoder, bytes, bit, record, first, start, out } = self;
        T::decode(&decoder, &bytes, bit, first, out).map_err(|TooLarge { place, value }| {
            let bit = bit.saturating_add(as_u64(place).saturating_mul(record));
            let at = |bit: u64| start.saturating_add(bit);
            WrongIndex { range: at(bit >> 3)..at(bit.saturating_add(record).div_ceil(8)), value }
        })
    }

    #[cfg(feature = "rayon")]
    fn split(self, piece: usize) -> impl Iterator<Item = Self> {
        let Self { decoder, bytes, bit, record, first, start, out } = self;
        out.chunks_mut(piece).enumerate().map(move |(index, out)| {
            let before = index.saturating_mul(piece);
            let bit = bit.saturating_add(as_u64(before).saturating_mul(record));
            Self {
                decoder: Arc::clone(&decoder),
                bytes: bytes.clone(),
                bit,
                record,
                first: first.saturating_add(before),
                start,
                out,
            }
        })
    }
}

impl<T> Clone for Packed<T> {
    fn clone(&self) -> Self {
        Self {
            layout: Arc::clone(&self.layout),
            source: self.source.clone(),
            options: self.options,
            address: self.address.clone(),
            parts: Arc::clone(&self.parts),
            len: self.len,
            element: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Packed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed({}, {} elements, {} segments)", self.address, self.len, self.parts.len())
    }
}
