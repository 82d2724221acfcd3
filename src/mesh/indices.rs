use std::ops::Range;

use zerocopy::{FromZeros, little_endian as le};

use super::write_callback::{WriteResult, into_slice, written};
use crate::bytes::{Array, Element};
use crate::limits::{Meter, job, zeroed_vec};
use crate::num::as_u64;
use crate::report::{Error, ErrorKind, Result};

/// The triangle indices of a mesh, in place, of 16 or 32 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indices {
    stored: Stored,
    /// Subtracted from each stored index.
    base: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stored {
    Narrow(Array<u16>),
    Wide(Array<u32>),
}

/// The type of an index in a GPU's index buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IndexFormat {
    /// 16 bits.
    Uint16,
    /// 32 bits.
    Uint32,
}

impl IndexFormat {
    /// Size of an index in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Uint16 => 2,
            Self::Uint32 => 4,
        }
    }
}

impl Indices {
    /// Indices of 32 bits, none less than `base`, which is subtracted.
    pub(crate) fn new(stored: Array<u32>, base: u32) -> Self {
        Self {
            stored: Stored::Wide(stored),
            base,
        }
    }

    /// Indices of 16 bits.
    pub(crate) fn narrow(stored: Array<u16>) -> Self {
        Self {
            stored: Stored::Narrow(stored),
            base: 0,
        }
    }

    /// The indices as stored: one of the two slices is empty.
    fn slices(&self) -> (&[le::U16], &[le::U32]) {
        match &self.stored {
            Stored::Narrow(narrow) => (narrow.as_slice(), &[]),
            Stored::Wide(wide) => (&[], wide.as_slice()),
        }
    }

    /// The number of indices: three for each triangle.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.stored {
            Stored::Narrow(narrow) => narrow.len(),
            Stored::Wide(wide) => wide.len(),
        }
    }

    /// Returns `true` if there are no indices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stored format.
    #[must_use]
    pub fn format(&self) -> IndexFormat {
        match self.stored {
            Stored::Narrow(_) => IndexFormat::Uint16,
            Stored::Wide(_) => IndexFormat::Uint32,
        }
    }

    /// The indices, counted from the mesh's first vertex.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + DoubleEndedIterator + '_ {
        let (narrow, wide) = self.slices();
        let base = self.base;
        OneOf {
            narrow: narrow.iter().map(|index| index.get().into()),
            wide: wide.iter().map(move |index| index.get().wrapping_sub(base)),
        }
    }

    /// The triangles: three indices each.
    pub fn triangles(&self) -> impl ExactSizeIterator<Item = [u32; 3]> + '_ {
        let (narrow, wide) = self.slices();
        let base = self.base;
        let (narrow, _) = narrow.as_chunks::<3>();
        let (wide, _) = wide.as_chunks::<3>();
        OneOf {
            narrow: narrow
                .iter()
                .map(|corners| corners.map(|index| u32::from(index.get()))),
            wide: wide
                .iter()
                .map(move |corners| corners.map(|index| index.get().wrapping_sub(base))),
        }
    }

    /// A copy of the indices.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u32> {
        self.iter().collect()
    }

    /// The file's index of the mesh's first vertex, which every stored index includes.
    ///
    /// [`stored`](Self::stored) and this are what a draw call with a base vertex takes.
    #[must_use]
    pub fn base(&self) -> u32 {
        self.base
    }

    /// The indices as stored, [`base`](Self::base) included; `None` if they are not 32 bits wide.
    #[must_use]
    pub fn stored(&self) -> Option<&Array<u32>> {
        match &self.stored {
            Stored::Narrow(_) => None,
            Stored::Wide(wide) => Some(wide),
        }
    }

    /// The indices as stored; `None` if they are not 16 bits wide.
    #[must_use]
    pub fn stored_u16(&self) -> Option<&Array<u16>> {
        match &self.stored {
            Stored::Narrow(narrow) => Some(narrow),
            Stored::Wide(_) => None,
        }
    }

    /// The indices of a run of triangles, shared.
    pub(super) fn slice(&self, triangles: Range<usize>) -> Self {
        let corners = triangles.start.saturating_mul(3)..triangles.end.saturating_mul(3);
        let stored = match &self.stored {
            Stored::Narrow(narrow) => narrow.slice(corners).map(Stored::Narrow),
            Stored::Wide(wide) => wide.slice(corners).map(Stored::Wide),
        };
        Self {
            stored: stored.unwrap_or_else(|| self.stored.clone()),
            base: self.base,
        }
    }

    /// The triangles with their second and third corner exchanged, which reverses their winding.
    pub(super) fn reversed(&self, meter: &Meter) -> Result<Self> {
        let stored = match &self.stored {
            Stored::Narrow(narrow) => Stored::Narrow(reversed(narrow, meter)?),
            Stored::Wide(wide) => Stored::Wide(reversed(wide, meter)?),
        };
        Ok(Self {
            stored,
            base: self.base,
        })
    }

    /// The vertices of a run of triangles.
    pub(super) fn corners(
        &self,
        triangles: Range<usize>,
    ) -> impl Iterator<Item = u32> + Clone + '_ {
        let corners = triangles.start.saturating_mul(3)..triangles.end.saturating_mul(3);
        let (narrow, wide) = self.slices();
        let base = self.base;
        let narrow = narrow.get(corners.clone()).unwrap_or_default();
        let wide = wide.get(corners).unwrap_or_default();
        let narrow = narrow.iter().map(|index| u32::from(index.get()));
        narrow.chain(wide.iter().map(move |index| index.get().wrapping_sub(base)))
    }

    /// The narrowest format that holds every index. Scans all indices if they are stored wide.
    ///
    /// 65,535 does not count as an index of 16 bits: with primitive restart, which WebGL cannot switch off, it ends a
    /// primitive.
    #[must_use]
    pub fn narrowest(&self) -> IndexFormat {
        const RESTART: u32 = 0xffff;
        let (narrow, wide) = self.slices();
        // The union of all bits needs as many bits as the maximum, and vectors compute it faster.
        let mut all_bits = 0;
        let mut has_restart = false;
        for index in narrow {
            let index = u32::from(index.get());
            all_bits |= index;
            has_restart |= index == RESTART;
        }
        for index in wide {
            let index = index.get().wrapping_sub(self.base);
            all_bits |= index;
            has_restart |= index == RESTART;
        }
        if all_bits <= RESTART && !has_restart {
            IndexFormat::Uint16
        } else {
            IndexFormat::Uint32
        }
    }

    /// The bytes of a buffer for all indices in a format: a multiple of 4, as graphics APIs want it.
    #[must_use]
    pub fn byte_len(&self, format: IndexFormat) -> usize {
        self.len().saturating_mul(format.size()).next_multiple_of(4)
    }

    /// Writes the indices for a GPU in the [narrowest](Self::narrowest) format, which is returned.
    ///
    /// As [`write_chunks`](Self::write_chunks), and then 2 bytes of 0 where the indices do not end at a multiple of 4
    /// bytes, as graphics APIs want it of a copy.
    ///
    /// # Errors
    ///
    /// Returns the error of `write`, if it returns one.
    pub fn write_narrowest<R: WriteResult>(
        &self,
        mut write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<IndexFormat> {
        let format = self.narrowest();
        self.write_as(format, true, &mut write)?;
        let length = self.len().saturating_mul(format.size());
        if !length.is_multiple_of(4) {
            written(write(length, &[0; 2]))?;
        }
        Ok(format)
    }

    /// Writes the indices for a GPU, packed, in the byte order of the host.
    ///
    /// `write(offset, bytes)` is called with whole indices at ascending offsets, each byte once.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the format cannot hold an index, and the error of `write`.
    pub fn write_chunks<R: WriteResult>(
        &self,
        format: IndexFormat,
        write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<()> {
        self.write_as(format, false, write)
    }

    /// Like [`write_chunks`](Self::write_chunks), into `out`.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](ErrorKind::OutOfRange) if the format cannot hold an index or `out` is shorter than all indices.
    pub fn write_into(&self, format: IndexFormat, out: &mut [u8]) -> Result<()> {
        self.write_as(
            format,
            false,
            into_slice(out, self.len().saturating_mul(format.size()))?,
        )
    }

    /// Writes the indices in a format that is known to hold them, if they `are_held`.
    fn write_as<R: WriteResult>(
        &self,
        format: IndexFormat,
        are_held: bool,
        mut write: impl FnMut(usize, &[u8]) -> R,
    ) -> Result<()> {
        if format == self.format() && self.base == 0 && cfg!(target_endian = "little") {
            if !self.is_empty() {
                written(write(0, self.as_bytes()))?;
            }
            return Ok(());
        }
        const INDICES: usize = 4096;
        let (narrow, wide) = self.slices();
        let mut chunk = Vec::with_capacity(INDICES.min(self.len()).saturating_mul(format.size()));
        let mut offset = 0_usize;
        for start in (0..self.len()).step_by(INDICES) {
            let end = start.saturating_add(INDICES).min(self.len());
            // One of the two slices is empty.
            if let Some(indices) = narrow.get(start..end) {
                convert_narrow(indices, format, &mut chunk);
            } else if let Some(indices) = wide.get(start..end) {
                if format == IndexFormat::Uint16 && !are_held {
                    check_narrow(indices, self.base)?;
                }
                convert_wide(indices, self.base, format, &mut chunk);
            }
            job::check("indices")?;
            written(write(offset, &chunk))?;
            offset = offset.saturating_add(chunk.len());
        }
        Ok(())
    }

    /// The indices as stored.
    fn as_bytes(&self) -> &[u8] {
        match &self.stored {
            Stored::Narrow(narrow) => narrow.as_bytes(),
            Stored::Wide(wide) => wide.as_bytes(),
        }
    }
}

/// The range of the vertices that corners use; empty without corners.
pub(super) fn vertex_range(corners: impl Iterator<Item = u32>) -> Range<u32> {
    let mut start = u32::MAX;
    let mut end = 0;
    for corner in corners {
        start = start.min(corner);
        end = end.max(corner.saturating_add(1));
    }
    start.min(end)..end
}

/// Indices of triangles, with the second and third corner of each exchanged.
fn reversed<T: Element + FromZeros>(indices: &Array<T>, meter: &Meter) -> Result<Array<T>> {
    let mut out: Vec<T> = zeroed_vec(
        meter,
        as_u64(indices.as_bytes().len()),
        indices.len_u64(),
        "triangles",
    )?;
    for (copy, index) in out.iter_mut().zip(indices.iter()) {
        *copy = index;
    }
    let (triangles, _) = out.as_chunks_mut::<3>();
    for [_, second, third] in triangles {
        std::mem::swap(second, third);
    }
    Ok(Array::from_vec(out))
}

/// Returns `true` if two corners of a triangle are one vertex.
pub(crate) fn is_degenerate<T: PartialEq>([a, b, c]: [T; 3]) -> bool {
    a == b || b == c || c == a
}

/// Checks that indices of 32 bits, from which `base` is subtracted, fit 16 bits.
fn check_narrow(indices: &[le::U32], base: u32) -> Result<()> {
    let mut all_bits = 0;
    for index in indices {
        all_bits |= index.get().wrapping_sub(base);
    }
    if u16::try_from(all_bits).is_ok() {
        return Ok(());
    }
    let mut indices = indices.iter().map(|index| index.get().wrapping_sub(base));
    let found = indices.find(|index| *index > u16::MAX.into());
    let error = Error::new(ErrorKind::OutOfRange, "index").expected("at most 65,535");
    Err(error.found(found.unwrap_or(all_bits)))
}

/// Writes indices of 16 bits in a format.
fn convert_narrow(indices: &[le::U16], format: IndexFormat, out: &mut Vec<u8>) {
    match format {
        IndexFormat::Uint16 => convert(indices, out, |index| index.get().to_ne_bytes()),
        IndexFormat::Uint32 => convert(indices, out, |index| u32::from(index.get()).to_ne_bytes()),
    }
}

/// Writes indices of 32 bits, from which `base` is subtracted, in a format that holds them.
fn convert_wide(indices: &[le::U32], base: u32, format: IndexFormat, out: &mut Vec<u8>) {
    match format {
        IndexFormat::Uint16 => convert(indices, out, |index| {
            #[expect(clippy::cast_possible_truncation, reason = "checked, or known to fit")]
            let narrow = index.get().wrapping_sub(base) as u16;
            narrow.to_ne_bytes()
        }),
        IndexFormat::Uint32 => convert(indices, out, |index| {
            index.get().wrapping_sub(base).to_ne_bytes()
        }),
    }
}

fn convert<T, const N: usize>(indices: &[T], out: &mut Vec<u8>, to_bytes: impl Fn(&T) -> [u8; N]) {
    out.resize(indices.len().saturating_mul(N), 0);
    let (out, _) = out.as_chunks_mut::<N>();
    for (bytes, index) in out.iter_mut().zip(indices) {
        *bytes = to_bytes(index);
    }
}

/// One of two iterators: the other has no elements.
struct OneOf<A, B> {
    narrow: A,
    wide: B,
}

impl<T, A: ExactSizeIterator<Item = T>, B: ExactSizeIterator<Item = T>> Iterator for OneOf<A, B> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.narrow.next().or_else(|| self.wide.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.narrow.len().saturating_add(self.wide.len());
        (len, Some(len))
    }

    fn fold<R, F: FnMut(R, T) -> R>(self, init: R, mut f: F) -> R {
        let first = self.narrow.fold(init, &mut f);
        self.wide.fold(first, f)
    }
}

impl<T, A: ExactSizeIterator<Item = T>, B: ExactSizeIterator<Item = T>> ExactSizeIterator
    for OneOf<A, B>
{
}

impl<T, A, B> DoubleEndedIterator for OneOf<A, B>
where
    A: ExactSizeIterator<Item = T> + DoubleEndedIterator,
    B: ExactSizeIterator<Item = T> + DoubleEndedIterator,
{
    fn next_back(&mut self) -> Option<T> {
        self.wide.next_back().or_else(|| self.narrow.next_back())
    }
}
