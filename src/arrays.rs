//! The table of arrays: every array of a file, whatever its format, with its address, type and shape.
//!
//! Each format lists its own arrays (`formats/*/array_list.rs`). Digests, dumps and bindings read this table, so that they
//! agree on addresses, types and shapes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::bytes::{Array, Element, Scalar, Source, Text};
use crate::codec::Codec;
use crate::limits::{Limits, Meter, job};
use crate::mesh::component_to_f64;
use crate::num::{as_u64, as_usize};
use crate::report::{Address, Place, Result};

/// An array of a file, before it is read.
///
/// Cloning is cheap. An entry keeps the file open, and is independent of the [`MeshFile`](crate::MeshFile) that listed it.
#[derive(Clone)]
#[non_exhaustive]
pub struct ArrayEntry {
    /// The address, such as `snapshots[3].positions`, as accepted by [`MeshFile::array`](crate::MeshFile::array).
    pub address: Address,
    /// The name that the file gives the array, or the meaning of a vertex array, with U+FFFD in place of bytes that are not
    /// UTF-8; empty if it has neither.
    pub name: String,
    /// The type of each number.
    pub scalar: Scalar,
    /// The number of elements, then the numbers per element: `[5028, 3]`. `None` if only decoding reveals it.
    pub shape: Option<Vec<u64>>,
    /// The compression of the bytes.
    pub codec: Codec,
    /// The encoding of the numbers, once the bytes are decompressed.
    pub encoding: Encoding,
    /// The bytes that store the array, from the start of the source: the compressed block, if there is one. Several arrays
    /// may lie in one block.
    pub range: Range<u64>,
    /// The address of an earlier array of the file that is stored in the same bytes, and so has equal values.
    pub same_as: Option<Address>,
    /// The numbers per element.
    pub(crate) components: Vec<u64>,
    pub(crate) reader: Arc<dyn ReadArray>,
}

/// The encoding of the numbers of an array, once its bytes are decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// The numbers themselves, one after the other, little-endian.
    Plain,
    /// Parts of larger records: CGeo triangle records, bounding boxes and point clouds, IQM joints, LLSD arrays, Second Life
    /// weights.
    Fields,
    /// CGeo: differences from the same array of snapshot 0.
    Difference,
    /// Integers that an offset and a scale turn into floats: Second Life domains, the grid of OpenCTM MG2.
    Quantized,
    /// OpenCTM MG1 and MG2: differences between elements, or floats, in four planes of bytes.
    Planes,
    /// IQM frames: 16-bit channels; channels that never change are not stored at all.
    Channels,
    /// TMF: integers of any number of bits.
    BitPacked,
}

impl Encoding {
    /// The name in lower case, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Fields => "fields",
            Self::Difference => "difference",
            Self::Quantized => "quantized",
            Self::Planes => "planes",
            Self::Channels => "channels",
            Self::BitPacked => "bit_packed",
        }
    }
}

/// Reads the values of an array.
pub(crate) trait ReadArray: Send + Sync {
    /// All values: packed little-endian numbers.
    fn bytes(&self) -> Result<Bytes>;

    /// All values, in pieces. Only arrays that are larger than a call may hold come in several.
    fn pieces(&self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        each(&self.bytes()?);
        Ok(())
    }
}

impl<F: Fn() -> Result<Bytes> + Send + Sync> ReadArray for F {
    fn bytes(&self) -> Result<Bytes> {
        self()
    }
}

impl ArrayEntry {
    /// An array of `T` that is stored plainly in `range`; `read` decodes it.
    pub(crate) fn new<T: Element>(
        address: Address,
        range: Range<u64>,
        read: impl Fn() -> Result<Array<T>> + Send + Sync + 'static,
    ) -> Self {
        let read = move || read().map(Array::into_bytes);
        Self::of_bytes(address, range, element::<T>(), Arc::new(read))
    }

    /// An array of elements with these numbers per element.
    pub(crate) fn of_bytes(
        address: Address,
        range: Range<u64>,
        (scalar, components): (Scalar, Vec<u64>),
        reader: Arc<dyn ReadArray>,
    ) -> Self {
        Self {
            address,
            name: String::new(),
            scalar,
            shape: None,
            codec: Codec::Stored,
            encoding: Encoding::Plain,
            range,
            same_as: None,
            components,
            reader,
        }
    }

    /// This entry with a known number of elements.
    pub(crate) fn with_count(mut self, count: impl Into<Option<u64>>) -> Self {
        self.shape = count.into().map(|count| self.shape_of(count));
        self
    }

    pub(crate) fn with_name(self, name: &Text) -> Self {
        Self {
            name: name.to_string_lossy().into_owned(),
            ..self
        }
    }

    pub(crate) fn with_components(self, components: Vec<u64>) -> Self {
        Self { components, ..self }
    }

    pub(crate) fn stored_as(self, codec: Codec, encoding: Encoding) -> Self {
        Self {
            codec,
            encoding,
            ..self
        }
    }

    fn shape_of(&self, count: u64) -> Vec<u64> {
        std::iter::once(count)
            .chain(self.components.iter().copied())
            .collect()
    }

    /// Bytes per element; at least 1.
    fn element_size(&self) -> u64 {
        product(&self.components)
            .saturating_mul(as_u64(self.scalar.size()))
            .max(1)
    }

    /// `true` if the values are the file's own bytes: reading decodes nothing, and copies nothing if the source is mapped or in
    /// memory.
    #[must_use]
    pub fn is_view(&self) -> bool {
        self.codec == Codec::Stored && self.encoding == Encoding::Plain
    }

    /// The size of the values in bytes; `None` if only decoding reveals it.
    #[must_use]
    pub fn byte_len(&self) -> Option<u64> {
        let count = self.shape.as_ref()?.first()?;
        Some(count.saturating_mul(self.element_size()))
    }

    /// Reads and decodes the values.
    ///
    /// # Errors
    ///
    /// Returns an error if the array cannot be read or decoded, if an index in it is out of range, or if it is larger than the
    /// [`Limits`](crate::Limits) allow.
    pub fn read(&self) -> Result<ArrayData> {
        let bytes = self.reader.bytes()?;
        let count = as_u64(bytes.len())
            .checked_div(self.element_size())
            .unwrap_or(0);
        Ok(ArrayData {
            scalar: self.scalar,
            shape: self.shape_of(count),
            bytes,
        })
    }

    /// Reads and decodes the values, piece by piece, and returns the shape.
    ///
    /// `each` gets consecutive bytes of [`ArrayData::as_bytes`]. IQM frames may be larger than a call may hold; they come in
    /// many pieces. All other arrays come in one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read`](Self::read), except that frames have no limit.
    pub fn read_pieces(&self, mut each: impl FnMut(&[u8])) -> Result<Vec<u64>> {
        let mut len = 0_u64;
        self.reader.pieces(&mut |piece| {
            len = len.saturating_add(as_u64(piece.len()));
            each(piece);
        })?;
        Ok(self.shape_of(len.checked_div(self.element_size()).unwrap_or(0)))
    }
}

impl fmt::Debug for ArrayEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrayEntry")
            .field("address", &format_args!("{}", self.address))
            .field("scalar", &self.scalar)
            .field("shape", &self.shape)
            .field("codec", &self.codec)
            .field("encoding", &self.encoding)
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

/// The values of an array of any type, shared: packed little-endian numbers in row-major order.
///
/// # Examples
///
/// ```
/// use meshmap::MeshFile;
///
/// let file = MeshFile::open("tests/data/tmf/valid/v021_one_triangle.tmf")?;
/// let values = file.array(&"meshes[0].vertices".parse()?)?;
/// assert_eq!((values.scalar().to_string(), values.shape()), ("f32".to_owned(), &[3, 3][..]));
/// let vertices = values.array::<[f32; 3]>().expect("three floats per vertex");
/// assert_eq!(vertices.get(1), Some([1.0, 0.0, 0.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ArrayData {
    scalar: Scalar,
    shape: Vec<u64>,
    bytes: Bytes,
}

impl ArrayData {
    /// The values of a typed array, shared.
    #[must_use]
    pub fn new<T: Element>(array: Array<T>) -> Self {
        let (scalar, components) = element::<T>();
        let shape = std::iter::once(array.len_u64()).chain(components).collect();
        Self {
            scalar,
            shape,
            bytes: array.into_bytes(),
        }
    }

    /// The type of each number.
    #[must_use]
    pub fn scalar(&self) -> Scalar {
        self.scalar
    }

    /// The number of elements, then the numbers per element.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.shape.first().copied().unwrap_or(0)
    }

    /// `true` if there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of numbers in each element: the product of the shape without its first number.
    #[must_use]
    pub fn components(&self) -> usize {
        as_usize(product(self.shape.get(1..).unwrap_or_default()))
    }

    /// The values, little-endian.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The values, little-endian, shared.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// The values as a typed array, shared; `None` if `T` is not the type of an element.
    ///
    /// `T` is `[f32; 3]` for three floats per element, and `u16` for plain integers.
    #[must_use]
    pub fn array<T: Element>(&self) -> Option<Array<T>> {
        let (scalar, components) = T::SHAPE?;
        let is_same = scalar == self.scalar && u64::from(components) == as_u64(self.components());
        is_same.then(|| Array::new(self.bytes.clone()))
    }

    /// The number at an index in row-major order; `None` if there is none.
    #[must_use]
    pub fn number(&self, index: usize) -> Option<f64> {
        let start = index.checked_mul(self.scalar.size())?;
        let bytes = self
            .bytes
            .get(start..start.checked_add(self.scalar.size())?)?;
        Some(component_to_f64(self.scalar, bytes))
    }

    /// The elements before `count`, shared.
    #[must_use]
    pub fn head(&self, count: u64) -> Self {
        let Some((own, components)) = self.shape.split_first() else {
            return self.clone();
        };
        let count = count.min(*own);
        let element = self.components().saturating_mul(self.scalar.size());
        let end = as_usize(count)
            .saturating_mul(element)
            .min(self.bytes.len());
        let shape = std::iter::once(count)
            .chain(components.iter().copied())
            .collect();
        Self {
            scalar: self.scalar,
            shape,
            bytes: self.bytes.slice(..end),
        }
    }

    /// All numbers, exactly.
    pub fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let scalar = self.scalar;
        self.bytes
            .chunks_exact(scalar.size())
            .map(move |number| component_to_f64(scalar, number))
    }
}

impl fmt::Debug for ArrayData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayData({} {:?})", self.scalar, self.shape)
    }
}

/// The type of the numbers in a `T`, and how many it has; none for a plain number.
fn element<T: Element>() -> (Scalar, Vec<u64>) {
    let (scalar, components) = T::SHAPE.unwrap_or((Scalar::U8, 1));
    (
        scalar,
        if components == 1 {
            Vec::new()
        } else {
            vec![components.into()]
        },
    )
}

fn product(numbers: &[u64]) -> u64 {
    numbers
        .iter()
        .fold(1, |all: u64, number| all.saturating_mul(*number))
}

/// The arrays of a file, listed one after the other.
pub(crate) type ArrayList = Box<dyn Iterator<Item = Result<ArrayEntry>> + Send>;

/// The texts of a file with their addresses, one after the other.
pub(crate) type TextList<'a> = Box<dyn Iterator<Item = Result<(Address, Text)>> + Send + 'a>;

/// The arrays of a file as one job, which ends after as much work as a [`Meter`] allows.
///
/// Each array keeps to the limits by itself. A table of a small file may still refer to the same large mesh thousands of times, and the
/// list decodes it for each.
pub(crate) struct BoundedList {
    list: ArrayList,
    source: Source,
    /// The meter of the list, for callers that run no job.
    meter: Arc<Meter<'static>>,
    /// The stored bytes that the meter knows of.
    stored: u64,
    is_over: bool,
}

impl BoundedList {
    pub(crate) fn new(list: ArrayList, source: &Source, limits: &Limits) -> Self {
        let stored = stored_bytes(source);
        let meter = Arc::new(Meter::new(limits, stored));
        Self {
            list,
            source: source.clone(),
            meter,
            stored,
            is_over: false,
        }
    }

    fn next_of_job(&mut self) -> Option<Result<ArrayEntry>> {
        if let Err(error) = job::visit("list of arrays") {
            // The job ends here, rather than to fail for each array that is left.
            self.is_over = true;
            return Some(Err(error));
        }
        self.list.next()
    }
}

impl Iterator for BoundedList {
    type Item = Result<ArrayEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        if job::meter().is_some() {
            return self.next_of_job();
        }
        let stored = stored_bytes(&self.source);
        self.meter.count_file(stored.saturating_sub(self.stored));
        self.stored = self.stored.max(stored);
        let meter = Arc::clone(&self.meter);
        meter.run(|| self.next_of_job())
    }
}

/// The length of a source. If nobody knows it, the bytes that have been read so far.
fn stored_bytes(source: &Source) -> u64 {
    let length = source.len().ok().flatten();
    length.unwrap_or_else(|| source.read_stats().bytes)
}

/// A list of one error.
pub(crate) fn failed(error: crate::report::Error) -> ArrayList {
    Box::new(std::iter::once(Err(error)))
}

/// The error of an address that names no array of the file.
pub(crate) fn no_array(file: Place, address: &Address) -> crate::report::Error {
    let error = file.of(address.clone()).out_of_range("array");
    error
        .expected("the address of an array of the file")
        .found(address)
}
