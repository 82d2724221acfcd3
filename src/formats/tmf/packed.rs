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
use crate::limits::{Meter, job, zeroed_vec};
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
    meaning: T::Meaning,
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

    #[expect(private_bounds, reason = "nobody else makes elements")]
    pub trait Sealed: super::Decode + FromZeros {}
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
        meaning: T::Meaning,
        segments: impl Iterator<Item = usize>,
    ) -> Option<Self> {
        let mut len = 0_u64;
        let mut parts = Vec::new();
        for segment in segments {
            parts.push(SegmentStart {
                first: len,
                segment,
            });
            if let Some(segment) = file.layout.segments.get(segment) {
                len = len.saturating_add(segment.count);
            }
        }
        if parts.is_empty() {
            return None;
        }
        Some(Self {
            file: Arc::clone(file),
            address,
            meaning,
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
        if as_u64(index) >= self.len {
            return Ok(None);
        }
        let mut element = [T::default()];
        self.read_range_into(index..index.saturating_add(1), &mut element)?;
        let [element] = element;
        Ok(Some(element))
    }

    /// The elements, decoded a thousand at a time.
    ///
    /// # Errors
    ///
    /// Each item has the errors of [`get`](Self::get); the first error ends the iterator.
    pub fn iter(&self) -> impl Iterator<Item = Result<T>> + '_ {
        Elements {
            array: self,
            rest: 0..self.len(),
            block: Vec::new().into_iter(),
        }
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
        let mut out = zeroed_vec(meter, stored, self.len, "array of a mesh")
            .map_err(|error| self.place().locate(error))?;
        self.read_into(&mut out)?;
        Ok(Array::from_vec(out))
    }

    /// Counts the bytes of all elements as read, and returns their number.
    fn count_read(&self, meter: &Meter) -> Result<u64> {
        let ranges: Vec<Range<u64>> = self.ranges().collect();
        self.file
            .source
            .require(&ranges, "array of a mesh")
            .map_err(|error| self.place().locate(error))?;
        let mut stored = 0_u64;
        for range in &ranges {
            meter.count_read(range);
            stored = stored.saturating_add(range.length());
        }
        Ok(stored)
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
            let error = self.place().out_of_range("elements");
            let expected = format!("within 0..{}", decimal(self.len));
            let found = format!("{}..{}", decimal(range.start), decimal(range.end));
            return Err(error.expected(expected).found(found).into());
        }
        if out.len() != range.len() {
            let error = self.place().out_of_range("length of the output");
            let expected = format!("{} elements", decimal(range.len()));
            return Err(error.expected(expected).found(out.len()).into());
        }
        // A lazy source would have one request for each segment.
        if self.parts.len() > 1 && !self.file.source.is_in_memory() {
            let first = range.start;
            return self.with_bytes_read(range)?.decode_range_into(first, out);
        }
        self.decode_range_into(range.start, out)
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

    /// Decodes on this thread.
    fn one_by_one(&self, first: u64, out: &mut [T]) -> Result<(), Failure> {
        let mut out = out;
        for span in self.spans(first, out.len()) {
            let (elements, rest) = out.split_at_mut(span.count);
            out = rest;
            for piece in self.run(&span, elements)?.split(DECODED) {
                job::check("bit array")?;
                self.decode_run(piece)?;
            }
        }
        Ok(())
    }

    /// This array, with the bytes of these elements read in few requests.
    pub(crate) fn with_bytes_read(&self, elements: Range<usize>) -> Result<Self> {
        let mut ranges = Vec::new();
        for span in self.spans(as_u64(elements.start), elements.len()) {
            // The headers before the bit array, which decoders are made from.
            ranges.push(span.segment.data.start..span.segment.bits_start);
            ranges.push(span.bits().bytes);
        }
        let source = self.file.source.with_ranges(&ranges, "bit array")?;
        Ok(self.clone().in_file(Arc::new(File {
            source,
            ..(*self.file).clone()
        })))
    }

    /// The spans of `count` elements from `first` on, one for each segment that has some of them.
    fn spans(&self, first: u64, count: usize) -> Spans<'_, T> {
        Spans {
            array: self,
            part: self.part_of(first),
            first,
            left: count,
        }
    }

    /// The index of the last part that begins at or before an element; parts without elements may
    /// precede it.
    fn part_of(&self, element: u64) -> usize {
        self.parts
            .partition_point(|part| part.first <= element)
            .saturating_sub(1)
    }

    /// Elements of one segment, with their bytes and their decoder.
    fn run<'a>(&self, span: &SegmentSpan<'_>, out: &'a mut [T]) -> Result<Run<'a, T>> {
        let parts = Parts {
            segment: span.segment,
            source: &self.file.source,
            angles: &self.file.angles,
            count: out.len(),
        };
        let decoder = T::decoder(self.meaning, &parts)?;
        let bits = span.bits();
        let start = bits.bytes.start;
        let bytes = self.file.source.get(bits.bytes, "bit array")?;
        Ok(Run {
            decoder: Arc::new(decoder),
            bytes,
            bit: bits.first_bit,
            record: span.segment.record_bits(),
            first: as_usize(span.first),
            start,
            out,
        })
    }

    #[cfg(feature = "rayon")]
    fn in_parallel(&self, first: u64, out: &mut [T]) -> Result<(), Failure> {
        use rayon::prelude::*;
        let mut pieces = Vec::new();
        let mut out = out;
        for span in self.spans(first, out.len()) {
            let (elements, rest) = out.split_at_mut(span.count);
            out = rest;
            pieces.extend(self.run(&span, elements)?.split(DECODED));
        }
        let failure = job::in_pool(|job| {
            let decode = |piece| {
                job.task(|| {
                    job::check("bit array")?;
                    self.decode_run(piece)
                })
            };
            // The first failure in the order of elements, as on one thread.
            pieces
                .into_par_iter()
                .map(decode)
                .find_map_first(Result::err)
        });
        match failure {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    #[cfg(not(feature = "rayon"))]
    fn in_parallel(&self, first: u64, out: &mut [T]) -> Result<(), Failure> {
        self.one_by_one(first, out)
    }

    fn decode_run(&self, run: Run<'_, T>) -> Result<(), Failure> {
        let decoded = T::decode(&run.decoder, &run.bytes, run.bit, run.first, run.out);
        let Err(TooLarge { element, value }) = decoded else {
            return Ok(());
        };
        let bit = as_u64(element)
            .saturating_mul(run.record)
            .saturating_add(run.bit);
        let end = bit.saturating_add(run.record);
        let bytes = run.start.saturating_add(bit >> 3)..run.start.saturating_add(end.div_ceil(8));
        Err(Failure::Index {
            place: self.place().at(bytes),
            value,
        })
    }

    /// Returns the bytes that contain the bits of an element; the whole file if the element is not stored.
    pub(crate) fn place_of(&self, index: u64) -> Place {
        let place = FILE.of(self.address.clone().index(index));
        let Some(part) = self.parts.get(self.part_of(index)) else {
            return place;
        };
        let Some(segment) = self.segment(part) else {
            return place;
        };
        let span = SegmentSpan {
            segment,
            first: index.saturating_sub(part.first),
            count: 1,
        };
        place.at(span.bits().bytes)
    }

    fn segment(&self, part: &SegmentStart) -> Option<&Segment> {
        self.file.layout.segments.get(part.segment)
    }
}

/// The iterator of [`Packed::iter`].
struct Elements<'a, T: PackedElement> {
    array: &'a Packed<T>,
    /// The elements that are not decoded yet.
    rest: Range<usize>,
    /// The decoded elements that are not returned yet.
    block: std::vec::IntoIter<T>,
}

impl<T: PackedElement> Elements<'_, T> {
    const BLOCK: usize = 1024;

    fn decode_block(&mut self) -> Result<Vec<T>> {
        let first = self.rest.start;
        let end = first.saturating_add(Self::BLOCK).min(self.rest.end);
        let mut block = vec![T::default(); end.saturating_sub(first)];
        self.array.read_range_into(first..end, &mut block)?;
        self.rest.start = end;
        Ok(block)
    }
}

impl<T: PackedElement> Iterator for Elements<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if let Some(element) = self.block.next() {
            return Some(Ok(element));
        }
        if self.rest.is_empty() {
            return None;
        }
        match self.decode_block() {
            Ok(block) => {
                self.block = block.into_iter();
                self.block.next().map(Ok)
            }
            Err(error) => {
                // An error is the last item.
                self.rest = 0..0;
                Some(Err(error))
            }
        }
    }
}

/// Consecutive elements of one segment.
struct SegmentSpan<'a> {
    segment: &'a Segment,
    /// The index of the first element in the segment.
    first: u64,
    count: usize,
}

/// The location of a span in the file.
struct BitRange {
    /// The bytes from the start of the source.
    bytes: Range<u64>,
    /// The bit of the first byte at which the first element begins: 0 to 7.
    first_bit: u64,
}

impl SegmentSpan<'_> {
    fn bits(&self) -> BitRange {
        let segment = self.segment;
        let record = segment.record_bits();
        let start = self.first.saturating_mul(record);
        let end = start.saturating_add(as_u64(self.count).saturating_mul(record));
        let first_byte = segment.bits_start.saturating_add(start >> 3);
        let end_byte = segment.bits_start.saturating_add(end.div_ceil(8));
        BitRange {
            bytes: first_byte.min(segment.data.end)..end_byte.min(segment.data.end),
            first_bit: start & 7,
        }
    }
}

/// The spans of consecutive elements of an array, which may lie in several segments.
struct Spans<'a, T: PackedElement> {
    array: &'a Packed<T>,
    /// The index of the part that the next span is in, or of a part before it.
    part: usize,
    /// The index of the next element in the array.
    first: u64,
    /// The number of elements that are left.
    left: usize,
}

impl<'a, T: PackedElement> Iterator for Spans<'a, T> {
    type Item = SegmentSpan<'a>;

    fn next(&mut self) -> Option<SegmentSpan<'a>> {
        while self.left > 0 {
            let part = self.array.parts.get(self.part)?;
            self.part = self.part.saturating_add(1);
            let Some(segment) = self.array.segment(part) else {
                continue;
            };
            let first = self.first.saturating_sub(part.first);
            let count = as_usize(segment.count.saturating_sub(first)).min(self.left);
            if count > 0 {
                self.first = self.first.saturating_add(as_u64(count));
                self.left = self.left.saturating_sub(count);
                return Some(SegmentSpan {
                    segment,
                    first,
                    count,
                });
            }
        }
        None
    }
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
    /// Splits the run into runs of `piece` elements each, of which the last may have fewer.
    fn split(self, piece: usize) -> impl Iterator<Item = Self> {
        let pieces = self.out.chunks_mut(piece);
        pieces.enumerate().map(move |(index, out)| {
            let before = index.saturating_mul(piece);
            let bits_before = as_u64(before).saturating_mul(self.record);
            Self {
                decoder: Arc::clone(&self.decoder),
                bytes: self.bytes.clone(),
                bit: self.bit.saturating_add(bits_before),
                record: self.record,
                first: self.first.saturating_add(before),
                start: self.start,
                out,
            }
        })
    }
}

// By hand: a derived implementation would demand `T: Clone`.
impl<T: PackedElement> Clone for Packed<T> {
    fn clone(&self) -> Self {
        Self {
            file: Arc::clone(&self.file),
            address: self.address.clone(),
            meaning: self.meaning,
            parts: Arc::clone(&self.parts),
            len: self.len,
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

/// The positions that are decoded at once: less than a mebibyte, and enough for several threads.
const PIECE: usize = 64 << 10;

impl Packed<[f32; 3]> {
    /// The box around the elements, or around the elements that `used` names; `Ok(None)` if an axis has no finite number.
    pub(crate) fn bounds(&self, used: Option<&[u32]>, meter: &Meter) -> Result<Option<Bounds>> {
        let stored = self.count_read(meter)?;
        let used = match used {
            Some(used) => {
                let words = as_u64(self.len().div_ceil(64));
                let words = zeroed_vec(meter, stored, words, "set of vertices")
                    .map_err(|error| self.place().locate(error))?;
                Some(VertexSet::new(words, used))
            }
            None => None,
        };
        let piece = as_u64(self.len().min(PIECE));
        let mut piece = zeroed_vec::<[f32; 3]>(meter, stored, piece, "array of a mesh")
            .map_err(|error| self.place().locate(error))?;

        let read = self.with_bytes_read(0..self.len())?;
        let mut bounds = Bounds::default();
        for first in (0..self.len()).step_by(PIECE) {
            let end = first.saturating_add(PIECE).min(self.len());
            let positions = piece
                .get_mut(..end.saturating_sub(first))
                .unwrap_or_default();
            read.read_range_into(first..end, positions)?;
            match &used {
                None => bounds.add(positions.iter().copied()),
                Some(used) => {
                    for (vertex, position) in (first..).zip(&*positions) {
                        if used.contains(vertex) {
                            bounds.add([*position]);
                        }
                    }
                }
            }
        }
        Ok((!bounds.is_empty()).then_some(bounds))
    }
}

/// A set of vertices, as a bit for each.
struct VertexSet {
    words: Vec<u64>,
}

impl VertexSet {
    /// The set of these vertices, in `words` of zeros. Vertices beyond the last bit are left out.
    fn new(mut words: Vec<u64>, vertices: &[u32]) -> Self {
        for vertex in vertices {
            let vertex = as_usize(*vertex);
            if let Some(word) = words.get_mut(vertex >> 6) {
                *word |= 1 << (vertex & 63);
            }
        }
        Self { words }
    }

    fn contains(&self, vertex: usize) -> bool {
        let word = self.words.get(vertex >> 6).copied().unwrap_or(0);
        word >> (vertex & 63) & 1 == 1
    }
}
