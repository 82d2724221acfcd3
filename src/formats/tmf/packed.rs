//! Packed arrays: any element decoded on its own, or all of them together.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::angles::AngleTables;
use super::decode::{Decode, Parts, TooLarge};
use super::layout::Layout;
use super::rules::FILE;
use super::segment::Segment;
use crate::bytes::{Array, Element, Source};
use crate::limits::{Meter, job};
use crate::mesh::Bounds;
use crate::num::{Span, as_u64, as_usize, decimal};
use crate::options::{Options, Parallelism};
use crate::report::{Address, Error, Place, Result};

/// An array of a mesh, decoded on demand.
///
/// Stored as numbers of few bits, in one or several segments. Any element or range is read and decoded without the
/// others. Large ranges are decoded in parallel, within segments and across them; see [`Parallelism`].
///
/// # Examples
///
/// ```
/// use meshmap::tmf;
///
/// let document = tmf::Document::open("tests/data/tmf/valid/v021_one_triangle.tmf")?;
/// let vertices = document.mesh(0)?.positions().expect("with vertices");
/// assert_eq!(vertices.get(1)?, Some([1.0, 0.0, 0.0]));
/// assert_eq!(vertices.read()?.to_vec(), [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
/// # Ok::<(), meshmap::Error>(())
/// ```
pub struct Packed<T: PackedElement> {
    file: Arc<File>,
    address: Address,
    kind: T::Kind,
    parts: Arc<[SegmentStart]>,
    len: u64,
}

/// The data that all handles of one file share.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) layout: Arc<Layout>,
    /// The source; a loaded mesh has one that holds its bytes in memory.
    pub(crate) source: Source,
    pub(crate) options: Options,
    pub(crate) angles: Arc<AngleTables>,
}

/// A segment of an array, and the index of its first element there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SegmentStart {
    first: u64,
    segment: usize,
}

/// The elements that are decoded by one thread, or before the flag of the job is checked: a multiple of eight, so that
/// every piece begins a byte.
const DECODED: usize = 8 << 10;

/// An element of a [`Packed`] array.
pub trait PackedElement: Element + Default + sealed::Sealed {}

mod sealed {
    use zerocopy::FromZeros;

    use super::Decode;

    #[expect(private_bounds, reason = "nobody else makes elements")]
    pub trait Sealed: Decode + FromZeros {}
    impl Sealed for u32 {}
    impl Sealed for f32 {}
    impl Sealed for [f32; 2] {}
    impl Sealed for [f32; 3] {}
    impl Sealed for [f32; 4] {}
}

impl<T: Element + Default + sealed::Sealed> PackedElement for T {}

impl<T: PackedElement> Packed<T> {
    /// Returns the array in these segments; `None` if there are no segments.
    pub(crate) fn new(
        file: &Arc<File>,
        address: Address,
        kind: T::Kind,
        segments: impl Iterator<Item = usize>,
    ) -> Option<Self> {
        let mut len = 0_u64;
        let mut parts = Vec::new();
        for segment in segments {
            parts.push(SegmentStart {
                first: len,
                segment,
            });
            let count = file
                .layout
                .segments
                .get(segment)
                .map_or(0, |segment| segment.count);
            len = len.saturating_add(count);
        }
        let file = file.clone();
        (!parts.is_empty()).then(|| Self {
            file,
            address,
            kind,
            parts: parts.into(),
            len,
        })
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        as_usize(self.len)
    }

    /// Returns `true` if there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the array: `meshes[0].vertices`.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The bytes of its segments, from the start of the source.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<u64>> + '_ {
        self.parts.iter().map(|part| {
            self.segment(part)
                .map_or(0..0, |segment| segment.data.clone())
        })
    }

    /// The bits of the first field of an element, for each segment.
    pub fn precisions(&self) -> impl ExactSizeIterator<Item = u8> + '_ {
        self.parts
            .iter()
            .map(|part| self.segment(part).map_or(0, |segment| segment.precision[0]))
    }

    /// Returns `true` if both arrays have the same segments, and so the same elements.
    #[must_use]
    pub fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file.layout, &other.file.layout) && self.parts == other.parts
    }

    /// The element at an index; `Ok(None)` if the array has no such element.
    ///
    /// From a lazy source, reads that element only.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for an index of more than 32 bits, and the errors of reading.
    pub fn get(&self, index: usize) -> Result<Option<T>> {
        let Some(end) = index.checked_add(1).filter(|end| as_u64(*end) <= self.len) else {
            return Ok(None);
        };
        let mut element = [T::default()];
        self.read_range_into(index..end, &mut element)?;
        let [element] = element;
        Ok(Some(element))
    }

    /// The elements, decoded a thousand at a time.
    ///
    /// # Errors
    ///
    /// Each item has the errors of [`get`](Self::get); the first error ends the iterator.
    pub fn iter(&self) -> impl Iterator<Item = Result<T>> + '_ {
        const BLOCK: usize = 1024;
        let mut failed = false;
        let blocks = (0..self.len()).step_by(BLOCK).map(move |first| {
            let end = first.saturating_add(BLOCK).min(self.len());
            let mut block = vec![T::default(); end.saturating_sub(first)];
            self.read_range_into(first..end, &mut block).map(|()| block)
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
    /// Returns [`LimitExceeded`](crate::ErrorKind::LimitExceeded) if they need more than
    /// [`max_block_bytes`](crate::Limits::max_block_bytes), and the errors of [`get`](Self::get).
    pub fn read(&self) -> Result<Array<T>> {
        self.read_within(&self.meter())
    }

    /// The same array of the same file, whose bytes come from elsewhere.
    pub(crate) fn in_file(self, file: Arc<File>) -> Self {
        Self { file, ..self }
    }

    /// The meter of a call on this array.
    pub(crate) fn meter(&self) -> Meter<'static> {
        Meter::of_call(&self.file.options.limits)
    }

    pub(crate) fn read_within(&self, meter: &Meter) -> Result<Array<T>> {
        let stored = self.count_read(meter)?;
        let out = meter.vec(stored, self.len, "array of a mesh");
        let mut out = out.map_err(|error| self.place().locate(error))?;
        self.read_into(&mut out)?;
        Ok(Array::from_vec(out))
    }

    /// Counts the bytes of all elements as read, and returns their number.
    fn count_read(&self, meter: &Meter) -> Result<u64> {
        let ranges: Vec<_> = self.ranges().collect();
        let required = self.file.source.require(&ranges, "array of a mesh");
        required.map_err(|error| self.place().locate(error))?;
        ranges.iter().for_each(|range| meter.count_read(range));
        Ok(ranges
            .iter()
            .fold(0, |sum: u64, range| sum.saturating_add(range.length())))
    }

    pub(crate) fn place(&self) -> Place {
        FILE.of(self.address.clone())
    }

    /// Decodes all elements into `out` of [`len`](Self::len) elements.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if `out` has another length, and the errors of [`get`](Self::get).
    pub fn read_into(&self, out: &mut [T]) -> Result<()> {
        self.read_range_into(0..self.len(), out)
    }

    /// Decodes a range of elements into `out` of the range's length.
    ///
    /// From a lazy source, reads the range only.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the range reaches beyond the end or `out` has another length, and
    /// the errors of [`get`](Self::get).
    pub fn read_range_into(&self, range: Range<usize>, out: &mut [T]) -> Result<()> {
        self.try_read_range_into(range, out)
            .map_err(|failure| self.file.source.locate(failure.into()))
    }

    /// Like `read_range_into`, with a separate outcome for an index beyond 32 bits.
    pub(crate) fn try_read_range_into(
        &self,
        range: Range<usize>,
        out: &mut [T],
    ) -> Result<(), Failure> {
        if range.start > range.end || as_u64(range.end) > self.len {
            let error = self
                .place()
                .out_of_range("elements")
                .expected(format!("within 0..{}", decimal(self.len)));
            return Err(error
                .found(format_args!(
                    "{}..{}",
                    decimal(range.start),
                    decimal(range.end)
                ))
                .into());
        }
        if out.len() != range.len() {
            let error = self.place().out_of_range("length of the output");
            return Err(error
                .expected(format!("{} elements", decimal(range.len())))
                .found(out.len())
                .into());
        }
        let is_in_one_read = self.file.source.is_in_memory() || self.parts.len() <= 1;
        let read = (!is_in_one_read)
            .then(|| self.with_bytes_read(range.clone()))
            .transpose()?;
        read.as_ref()
            .unwrap_or(self)
            .decode_range_into(range.start, out)
    }

    fn decode_range_into(&self, first: usize, out: &mut [T]) -> Result<(), Failure> {
        /// Fewer elements are faster on one thread: they take some twenty microseconds. Miri would take long for many.
        const PARALLEL: usize = if cfg!(miri) { 256 } else { 16 << 10 };
        if out.len() > PARALLEL && self.file.options.parallelism == Parallelism::Rayon {
            self.in_parallel(as_u64(first), out)
        } else {
            self.one_by_one(as_u64(first), out)
        }
    }

    fn one_by_one(&self, first: u64, out: &mut [T]) -> Result<(), Failure> {
        self.each_run(first, out, |run| {
            run.split(DECODED).try_for_each(|piece| {
                job::check("bit array")?;
                self.decode_run(piece)
            })
        })
    }

    /// This array, with the bytes of these elements read in few requests.
    pub(crate) fn with_bytes_read(&self, elements: Range<usize>) -> Result<Self> {
        let runs = self.runs(as_u64(elements.start), elements.len());
        let ranges: Vec<_> = runs
            .flat_map(|(segment, inside, count)| {
                let (bytes, _) = bytes_of(segment, inside, count);
                [segment.data.start..segment.bits, bytes]
            })
            .collect();
        let source = self.file.source.with_ranges(&ranges, "bit array")?;
        Ok(self.clone().in_file(Arc::new(File {
            source,
            ..(*self.file).clone()
        })))
    }

    /// Runs of `count` elements from `first` on: segments, where in them, and how many.
    fn runs(&self, first: u64, count: usize) -> impl Iterator<Item = (&Segment, u64, usize)> {
        let (mut first, mut left) = (first, count);
        // The last part that begins at or before the first element; parts without elements may precede it.
        let before = self
            .parts
            .partition_point(|part| part.first <= first)
            .saturating_sub(1);
        let mut parts = self
            .parts
            .iter()
            .skip(before)
            .filter_map(|part| Some((part, self.segment(part)?)));
        std::iter::from_fn(move || {
            while left > 0 {
                let (part, segment) = parts.next()?;
                let inside = first.saturating_sub(part.first);
                let here = as_usize(segment.count.saturating_sub(inside)).min(left);
                if here > 0 {
                    first = first.saturating_add(as_u64(here));
                    left = left.saturating_sub(here);
                    return Some((segment, inside, here));
                }
            }
            None
        })
    }

    /// Calls `each` for the elements from `first` on, a run of one segment at a time.
    fn each_run<'a>(
        &'a self,
        first: u64,
        out: &'a mut [T],
        mut each: impl FnMut(Run<'a, T>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut out = out;
        for (segment, inside, count) in self.runs(first, out.len()) {
            let (run, rest) = std::mem::take(&mut out).split_at_mut(count);
            out = rest;
            each(self.run(segment, inside, run)?)?;
        }
        Ok(())
    }

    /// Elements of one segment, with their bytes.
    fn run<'a>(&'a self, segment: &'a Segment, first: u64, out: &'a mut [T]) -> Result<Run<'a, T>> {
        let File { source, angles, .. } = &*self.file;
        let decoder = T::decoder(
            self.kind,
            &Parts {
                segment,
                source,
                angles,
                count: out.len(),
            },
        )?;
        let (range, bit) = bytes_of(segment, first, out.len());
        let (start, bytes) = (range.start, source.get(range, "bit array")?);
        let (decoder, first, record) = (Arc::new(decoder), as_usize(first), segment.record_bits());
        Ok(Run {
            decoder,
            bytes,
            bit,
            record,
            first,
            start,
            out,
        })
    }

    #[cfg(feature = "rayon")]
    fn in_parallel(&self, first: u64, out: &mut [T]) -> Result<(), Failure> {
        use rayon::prelude::*;
        let mut pieces = Vec::new();
        self.each_run(first, out, |run| {
            pieces.extend(run.split(DECODED));
            Ok(())
        })?;
        let failed = job::in_pool(|job| {
            let decode = |run| {
                job.task(|| {
                    job::check("bit array")?;
                    self.decode_run(run)
                })
            };
            pieces
                .into_par_iter()
                .map(decode)
                .find_map_first(Result::err)
        });
        failed.map_or(Ok(()), Err)
    }

    #[cfg(not(feature = "rayon"))]
    fn in_parallel(&self, first: u64, out: &mut [T]) -> Result<(), Failure> {
        self.one_by_one(first, out)
    }

    fn decode_run(&self, run: Run<'_, T>) -> Result<(), Failure> {
        let Run {
            decoder,
            bytes,
            bit,
            record,
            first,
            start,
            out,
        } = run;
        T::decode(&decoder, &bytes, bit, first, out).map_err(|TooLarge { element, value }| {
            let bit = bit.saturating_add(as_u64(element).saturating_mul(record));
            let at = |bit: u64| start.saturating_add(bit);
            let range = at(bit >> 3)..at(bit.saturating_add(record).div_ceil(8));
            Failure::Index {
                place: self.place().at(range),
                value,
            }
        })
    }

    /// Returns the bytes that contain the bits of an element; the whole file if the element is not stored.
    pub(crate) fn place_of(&self, index: u64) -> Place {
        let place = FILE.of(self.address.clone().index(index));
        let before = self
            .parts
            .partition_point(|part| part.first <= index)
            .saturating_sub(1);
        let stored = self
            .parts
            .get(before)
            .and_then(|part| Some((part, self.segment(part)?)));
        let Some((part, segment)) = stored else {
            return place;
        };
        let record = segment.record_bits();
        let bit = index.saturating_sub(part.first).saturating_mul(record);
        let at = |bit: u64| segment.bits.saturating_add(bit).min(segment.data.end);
        place.at(at(bit >> 3)..at(bit.saturating_add(record).div_ceil(8)))
    }

    fn segment(&self, part: &SegmentStart) -> Option<&Segment> {
        self.file.layout.segments.get(part.segment)
    }
}

/// The bytes of elements of a segment, and the bit in them at which the first one begins.
fn bytes_of(segment: &Segment, first: u64, count: usize) -> (Range<u64>, u64) {
    let record = segment.record_bits();
    let bit = first.saturating_mul(record);
    let end = bit.saturating_add(as_u64(count).saturating_mul(record));
    let at = |byte: u64| segment.bits.saturating_add(byte).min(segment.data.end);
    (at(bit >> 3)..at(end.div_ceil(8)), bit & 7)
}

/// The reason why elements are not decoded.
pub(crate) enum Failure {
    /// An index does not fit 32 bits.
    Index {
        place: Place,
        value: u128,
    },
    Error(Error),
}

/// The expected range of an index.
pub(crate) const MAX_INDEX: &str = "at most 4,294,967,295";

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Index { place, value } => {
                place.malformed("index").expected(MAX_INDEX).found(value)
            }
            Failure::Error(error) => error,
        }
    }
}

/// Consecutive elements of one segment, to be decoded.
struct Run<'a, T: PackedElement> {
    decoder: Arc<T::Decoder>,
    bytes: Bytes,
    /// The bit at which the first element begins.
    bit: u64,
    /// The bits of an element.
    record: u64,
    /// The first element, counted in its segment.
    first: usize,
    /// The offset of the bytes in the source.
    start: u64,
    out: &'a mut [T],
}

impl<'a, T: PackedElement> Run<'a, T> {
    fn split(self, piece: usize) -> impl Iterator<Item = Self> {
        let Self {
            decoder,
            bytes,
            bit,
            record,
            first,
            start,
            out,
        } = self;
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

impl<T: PackedElement> Clone for Packed<T> {
    fn clone(&self) -> Self {
        let Self {
            file,
            address,
            kind,
            parts,
            len,
        } = self;
        let (file, address, parts) = (file.clone(), address.clone(), Arc::clone(parts));
        Self {
            file,
            address,
            kind: *kind,
            parts,
            len: *len,
        }
    }
}

impl<T: PackedElement> fmt::Debug for Packed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Packed({}, {} elements, {} segments)",
            self.address,
            self.len,
            self.parts.len()
        )
    }
}

/// So many positions are decoded at once: less than a mebibyte, and enough for several threads.
const PIECE: usize = 64 << 10;

impl Packed<[f32; 3]> {
    /// The box around the elements, or around the elements that `used` names; `Ok(None)` if an axis has no finite number.
    pub(crate) fn bounds(&self, used: Option<&[u32]>, meter: &Meter) -> Result<Option<Bounds>> {
        let stored = self.count_read(meter)?;
        let spend = |error| self.place().locate(error);
        let used = used.map(|used| {
            let mut words =
                meter.vec::<u64>(stored, as_u64(self.len().div_ceil(64)), "set of vertices")?;
            for element in used
                .iter()
                .filter_map(|element| usize::try_from(*element).ok())
            {
                if let Some(word) = words.get_mut(element >> 6) {
                    *word |= 1 << (element & 63);
                }
            }
            Ok(words)
        });
        let used = used.transpose().map_err(spend)?;
        let is_used = |element: usize| {
            let word = |words: &Vec<u64>| words.get(element >> 6).copied().unwrap_or(0);
            used.as_ref()
                .is_none_or(|words| word(words) >> (element & 63) & 1 == 1)
        };
        let piece = as_u64(self.len().min(PIECE));
        let mut piece = meter
            .vec::<[f32; 3]>(stored, piece, "array of a mesh")
            .map_err(spend)?;

        let read = self.with_bytes_read(0..self.len())?;
        let mut bounds = Bounds::default();
        for first in (0..self.len()).step_by(PIECE) {
            let end = first.saturating_add(PIECE).min(self.len());
            let elements = piece
                .get_mut(..end.saturating_sub(first))
                .unwrap_or_default();
            read.read_range_into(first..end, elements)?;
            let elements = (first..)
                .zip(&*elements)
                .filter(|(element, _)| is_used(*element));
            bounds.add(elements.map(|(_, position)| *position));
        }
        Ok((!bounds.is_empty()).then_some(bounds))
    }
}
