//! The memory of callers: what their pointers point to is read and written here, and nowhere else.

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;

use zerocopy::{Immutable, IntoBytes};

use crate::fail::{Fail, Result, status};

/// A struct of the header that begins with its size.
///
/// # Safety
///
/// It is `repr(C)`, its first field is a `usize`, and every bit pattern is one of its values if it is read
/// ([`take_sized`]).
pub(crate) unsafe trait First: Copy {
    /// The size that it had in the first release that had it: no caller has a smaller one.
    const SIZE: usize = size_of::<Self>();
}

/// Text for C: what C would take for its end is shown as U+FFFD.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_else(|_| {
        let text = text.replace('\0', "\u{fffd}");
        CString::new(text).unwrap_or_default()
    })
}

/// Writes to a place that must be there.
///
/// # Safety
///
/// `out` is NULL, or may be written as `T`.
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Result<()> {
    if out.is_null() {
        return Err(Fail::argument(
            "expected a place for the result, found NULL",
        ));
    }
    // SAFETY: as the caller promised; alignment is not asked for.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

/// Writes to a place that may be NULL.
///
/// # Safety
///
/// As of [`put`].
pub(crate) unsafe fn put_if_any<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: as the caller promised.
        unsafe { out.write_unaligned(value) };
    }
}

/// Writes a struct that begins with its size, as far as the caller's reaches; its size stays.
///
/// # Safety
///
/// `out` is NULL, or may be written for as many bytes as its first field says.
pub(crate) unsafe fn put_sized<T: First>(out: *mut T, value: T) -> Result<()> {
    // SAFETY: as the caller promised.
    let size = unsafe { size_at(out.cast_const()) }?;
    let own = size_of::<T>();
    let header = size_of::<usize>();
    let from = (&raw const value).cast::<u8>().wrapping_add(header);
    let to = out.cast::<u8>().wrapping_add(header);
    // SAFETY: both are at least as long as is copied; fields are copied with what lies between them.
    unsafe { from.copy_to_nonoverlapping(to, size.min(own).saturating_sub(header)) };
    if size > own {
        // SAFETY: the caller's struct is so long.
        unsafe {
            out.cast::<u8>()
                .wrapping_add(own)
                .write_bytes(0, size.saturating_sub(own))
        };
    }
    Ok(())
}

/// Reads a struct that begins with its size over `default`; returns `default` if `from` is NULL.
///
/// # Safety
///
/// `from` is NULL, or may be read for as many bytes as its first field says.
pub(crate) unsafe fn take_sized<T: First>(from: *const T, default: T) -> Result<T> {
    if from.is_null() {
        return Ok(default);
    }
    // SAFETY: as the caller promised.
    let size = unsafe { size_at(from) }?;
    let mut value = default;
    let own = size_of::<T>();
    // SAFETY: both are as long as is copied, and every bit pattern is a value of `T`.
    unsafe {
        from.cast::<u8>()
            .copy_to_nonoverlapping((&raw mut value).cast(), size.min(own))
    };
    for place in own..size {
        // SAFETY: within the caller's struct.
        if unsafe { from.cast::<u8>().wrapping_add(place).read() } != 0 {
            return Err(Fail::argument(
                "a field is set that this version of the library does not have",
            ));
        }
    }
    Ok(value)
}

/// The size that a struct begins with.
///
/// # Safety
///
/// `from` is NULL, or begins with a size.
unsafe fn size_at<T: First>(from: *const T) -> Result<usize> {
    /// No struct of any release is as large.
    const MOST: usize = 4096;
    if from.is_null() {
        return Err(Fail::argument("expected a struct, found NULL"));
    }
    // SAFETY: as the caller promised.
    let size = unsafe { from.cast::<usize>().read_unaligned() };
    if !(T::SIZE..=MOST).contains(&size) {
        let text = format!(
            "expected the size of a struct in its first field, {}, found {size}",
            T::SIZE
        );
        return Err(Fail::argument(text));
    }
    Ok(size)
}

/// Returns a text that the caller passes, which must be UTF-8.
///
/// # Safety
///
/// `text` is NULL, or ends with a byte 0, and is not changed meanwhile.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(Fail::argument("expected text, found NULL"));
    }
    // SAFETY: as the caller promised.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Fail::argument("expected text in UTF-8"))
}

/// Returns elements that the caller passes, one after the other.
///
/// # Safety
///
/// `start` is NULL, or `count` elements may be read there, at an address that is aligned for them, and stay as they are.
pub(crate) unsafe fn elements<'a, T>(start: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    let fits = count
        .checked_mul(size_of::<T>())
        .is_some_and(|size| isize::try_from(size).is_ok());
    if start.is_null() || !start.is_aligned() || !fits {
        return Err(Fail::argument(
            "expected elements, aligned, as many as the count says",
        ));
    }
    // SAFETY: as the caller promised, and checked as far as it can be.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

/// A caller's array that is filled: elements of `size` bytes, `stride` bytes apart. NULL requests the number of elements.
pub(crate) struct Places<'a> {
    start: *mut u8,
    size: usize,
    stride: usize,
    capacity: usize,
    count: *mut usize,
    life: PhantomData<&'a mut u8>,
}

impl Places<'_> {
    /// Returns the array at `out`, and the place for the number of elements. A stride of 0 means packed elements.
    ///
    /// # Safety
    ///
    /// `out` is NULL, or may be written for `capacity` elements that are `stride` bytes apart; `count` is NULL, or may be
    /// written.
    pub(crate) unsafe fn new(
        size: usize,
        out: *mut c_void,
        stride: usize,
        capacity: usize,
        count: *mut usize,
    ) -> Result<Self> {
        let stride = if stride == 0 { size } else { stride };
        // SAFETY: as the caller promised.
        unsafe { put_if_any(count, 0) };
        let capacity = if out.is_null() { 0 } else { capacity };
        // Checked without memory as well: a wrong stride must not wait for the call that writes.
        if stride < size {
            let text = format!("expected a stride of at least {size} bytes, found {stride}");
            return Err(Fail::argument(text));
        }
        if out.is_null() {
            if count.is_null() {
                return Err(Fail::argument(
                    "expected memory, or a place for the count, found NULL",
                ));
            }
        } else {
            let length = capacity.saturating_sub(1).checked_mul(stride);
            let length = length.and_then(|start| start.checked_add(size));
            if length.is_none_or(|length| isize::try_from(length).is_err()) {
                return Err(Fail::argument("expected memory of a size that there is"));
            }
        }
        Ok(Self {
            start: out.cast(),
            size,
            stride,
            capacity,
            count,
            life: PhantomData,
        })
    }

    /// Returns the array of elements of type `T` at `out`.
    ///
    /// # Safety
    ///
    /// As of [`new`](Self::new).
    pub(crate) unsafe fn of<T>(
        out: *mut T,
        stride: usize,
        capacity: usize,
        count: *mut usize,
    ) -> Result<Self> {
        // SAFETY: as the caller promised.
        unsafe { Self::new(size_of::<T>(), out.cast(), stride, capacity, count) }
    }

    /// Returns `true` if the caller requests only the count.
    pub(crate) fn is_count_alone(&self) -> bool {
        self.start.is_null()
    }

    /// Stores the number of elements; fails if `count` elements do not fit.
    pub(crate) fn begin(&mut self, count: usize) -> Result<()> {
        // SAFETY: `new` was promised that it may be written.
        unsafe { put_if_any(self.count, count) };
        if self.is_count_alone() || count <= self.capacity {
            return Ok(());
        }
        let text = format!(
            "there is room for {} elements, expected {count}",
            self.capacity
        );
        Err(Fail::new(status::MM_ERROR_BUFFER, text))
    }

    /// Writes packed elements, if they are requested and fit.
    pub(crate) fn write<T: IntoBytes + Immutable>(&mut self, elements: &[T]) -> Result<()> {
        let elements = elements.as_bytes();
        self.begin(elements.len().checked_div(self.size).unwrap_or(0))?;
        if self.is_count_alone() {
            return Ok(());
        }
        if self.stride == self.size {
            // SAFETY: `begin` compared with the capacity, and the caller's memory is not the library's.
            unsafe {
                elements
                    .as_ptr()
                    .copy_to_nonoverlapping(self.start, elements.len())
            };
            return Ok(());
        }
        if let (12, (triples, [])) = (self.size, elements.as_chunks::<12>()) {
            // Elements of a constant size take a few instructions each.
            for (index, triple) in triples.iter().enumerate() {
                let place = self.start.wrapping_add(index.wrapping_mul(self.stride));
                // SAFETY: as of `put`.
                unsafe { place.cast::<[u8; 12]>().write_unaligned(*triple) };
            }
            return Ok(());
        }
        for (index, element) in elements.chunks_exact(self.size).enumerate() {
            self.put(index, element);
        }
        Ok(())
    }

    /// Writes as many elements as `count` from an iterator.
    pub(crate) fn write_each<T: IntoBytes + Immutable>(
        &mut self,
        count: usize,
        elements: impl Iterator<Item = T>,
    ) -> Result<()> {
        self.begin(count)?;
        if !self.is_count_alone() {
            let elements = elements.take(count).enumerate();
            elements.for_each(|(index, element)| self.put(index, element.as_bytes()));
        }
        Ok(())
    }

    /// The bytes from one element to the next.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Writes bytes at an offset, as far as `begin` found memory for the elements; what does not fit is left out.
    pub(crate) fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        let length = self
            .capacity
            .saturating_sub(1)
            .saturating_mul(self.stride)
            .saturating_add(self.size);
        let length = if self.capacity == 0 { 0 } else { length };
        if offset
            .checked_add(bytes.len())
            .is_some_and(|end| end <= length)
        {
            // SAFETY: within the caller's memory, which is not the library's.
            unsafe {
                bytes
                    .as_ptr()
                    .copy_to_nonoverlapping(self.start.wrapping_add(offset), bytes.len())
            };
        }
    }

    /// Writes an element of `size` bytes at an index below the count that was passed to `begin`.
    fn put(&mut self, index: usize, element: &[u8]) {
        let place = self.start.wrapping_add(index.wrapping_mul(self.stride));
        // SAFETY: `begin` compared the count with the capacity; neither needs alignment.
        unsafe {
            element
                .as_ptr()
                .copy_to_nonoverlapping(place, element.len().min(self.size))
        };
    }
}

/// A caller's bytes that are filled piece by piece.
pub(crate) struct ByteTarget<'a> {
    start: *mut u8,
    capacity: usize,
    life: PhantomData<&'a mut u8>,
}

impl ByteTarget<'_> {
    /// Stores `length` as the number of bytes needed, and returns them if they are requested (`out` is not NULL) and fit.
    ///
    /// # Safety
    ///
    /// `out` is NULL, or may be written for `capacity` bytes; `needed` is NULL, or may be written.
    pub(crate) unsafe fn new(
        out: *mut c_void,
        capacity: usize,
        length: usize,
        needed: *mut usize,
    ) -> Result<Option<Self>> {
        // SAFETY: as the caller promised.
        unsafe { put_if_any(needed, length) };
        if out.is_null() {
            let told = (!needed.is_null()).then_some(None);
            return told.ok_or_else(|| {
                Fail::argument("expected memory, or a place for the count, found NULL")
            });
        }
        if length > capacity {
            let text = format!("there is room for {capacity} bytes, expected {length}");
            return Err(Fail::new(status::MM_ERROR_BUFFER, text));
        }
        Ok(Some(Self {
            start: out.cast(),
            capacity,
            life: PhantomData,
        }))
    }

    /// The first bytes of the memory, which are only to be written.
    pub(crate) fn first(&mut self, length: usize) -> &mut [u8] {
        let length = length.min(self.capacity).min(isize::MAX.unsigned_abs());
        // SAFETY: it may be written, is not the library's, and bytes are valid whatever they are.
        unsafe { std::slice::from_raw_parts_mut(self.start, length) }
    }

    /// Writes bytes at an offset; what does not fit is left out.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        if offset
            .checked_add(bytes.len())
            .is_some_and(|end| end <= self.capacity)
        {
            let place = self.start.wrapping_add(offset);
            // SAFETY: within the caller's memory, which is not the library's.
            unsafe { bytes.as_ptr().copy_to_nonoverlapping(place, bytes.len()) };
        }
    }
}

/// Text into the caller's memory, with a byte 0 after it that `length` does not count.
///
/// # Safety
///
/// `out` is NULL, or may be written for `capacity` bytes; `length` is NULL, or may be written.
pub(crate) unsafe fn put_text(
    value: &str,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Result<()> {
    let mut needed = 0;
    let with_end = value.len().saturating_add(1);
    // SAFETY: as the caller promised.
    let target = unsafe { ByteTarget::new(out.cast(), capacity, with_end, &raw mut needed) };
    // SAFETY: as the caller promised.
    unsafe { put_if_any(length, value.len()) };
    if out.is_null() && length.is_null() {
        return Err(Fail::argument(
            "expected memory, or a place for the length, found NULL",
        ));
    }
    if let Some(mut target) = target? {
        target.write(0, value.as_bytes());
        target.write(value.len(), &[0]);
    }
    Ok(())
}
