use std::ops::Range;

use zerocopy::{FromZeros, little_endian as le};

use super::write_callback::{WriteResult, into_slice, written};
use crate::bytes::{Array, Element};
use crate::limits::{Meter, job};
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
        OneOf(
            narrow.iter().map(|i| i.get().into()),
            wide.iter().map(move |i| i.get().wrapping_sub(base)),
        )
    }

    /// The triangles: three indices each.
    pub fn triangles(&self) -> impl ExactSizeIterator<Item = [u32; 3]> + '_ {
        let (narrow, wide) = self.slices();
        let base = self.base;
        let narrow = narrow
            .as_chunks::<3>()
            .0
            .iter()
            .map(|c| c.map(|i| u32::from(i.get())));
        let wide = wide
            .as_chunks::<3>()
            .0
            .iter()
            .map(move |c| c.map(|i| i.get().wrapping_sub(base)));
        OneOf(narrow, wide)
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
        let narrow = narrow
            .get(corners.clone())
            .unwrap_or_default()
            .iter()
            .map(|i| u32::from(i.get()));
        narrow.chain(
            wide.get(corners)
                .unwrap_or_default()
                .iter()
                .map(move |i| i.get().wrapping_sub(base)),
        )
    }

    /// The narrowest format that holds every index. Scans all indices if they are stored wide.
    ///
    /// 65,535 does not count as one of 16 bits: where primitive restart is on, which WebGL cannot switch off, it ends a
    /// primitive.
    #[must_use]
    pub fn narrowest(&self) -> IndexFormat {
        const RESTART: u32 = 0xffff;
        let (narrow, wide) = self.slices();
        let base = self.base;
        // All bits together are no less than the greatest, and vectors find them faster.
        let look = |(all, ends): (u32, bool), index: u32| (all | index, ends | (index == RESTART));
        let seen = narrow
            .iter()
            .fold((0, false), |seen, index| look(seen, index.get().into()));
        let (all, ends) = wide.iter().fold(seen, |seen, index| {
            look(seen, index.get().wrapping_sub(base))
        });
        let is_narrow = all <= RESTART && !ends;
        if is_narrow {
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
        let base = self.base;
        let mut chunk = Vec::with_capacity(INDICES.min(self.len()).saturating_mul(format.size()));
        let mut offset = 0_usize;
        let mut flush = |chunk: &mut Vec<u8>| {
            job::check("indices")?;
            written(write(offset, chunk))?;
            offset = offset.saturating_add(chunk.len());
            Ok::<(), Error>(())
        };
        for indices in narrow.chunks(INDICES) {
            match format {
                IndexFormat::Uint16 => {
                    append(indices, &mut chunk, |index| index.get().to_ne_bytes())
                }
                IndexFormat::Uint32 => append(indices, &mut chunk, |index| {
                    u32::from(index.get()).to_ne_bytes()
                }),
            }
            flush(&mut chunk)?;
        }
        for indices in wide.chunks(INDICES) {
            let number = |index: &le::U32| index.get().wrapping_sub(base);
            match format {
                IndexFormat::Uint16 => {
                    if !are_held {
                        check_narrow(indices, number)?;
                    }
                    append(indices, &mut chunk, |index| {
                        #[expect(
                            clippy::cast_possible_truncation,
                            reason = "checked, or known to fit"
                        )]
                        let narrow = number(index) as u16;
                        narrow.to_ne_bytes()
                    });
                }
                IndexFormat::Uint32 => {
                    append(indices, &mut chunk, |index| number(index).to_ne_bytes())
                }
            }
            flush(&mut chunk)?;
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

/// Indices of triangles, with the second and third corner of each exchanged.
fn reversed<T: Element + FromZeros>(indices: &Array<T>, meter: &Meter) -> Result<Array<T>> {
    let mut out: Vec<T> = meter.vec(
        as_u64(indices.as_bytes().len()),
        indices.len_u64(),
        "triangles",
    )?;
    out.iter_mut()
        .zip(indices.iter())
        .for_each(|(place, index)| *place = index);
    out.as_chunks_mut::<3>()
        .0
        .iter_mut()
        .for_each(|[_, second, third]| std::mem::swap(second, third));
    Ok(Array::from_vec(out))
}

/// Returns `true` if two corners of a triangle are one vertex.
pub(crate) fn is_degenerate<T: PartialEq>([a, b, c]: [T; 3]) -> bool {
    a == b || b == c || c == a
}

/// Checks that indices fit 16 bits.
fn check_narrow(indices: &[le::U32], number: impl Fn(&le::U32) -> u32) -> Result<()> {
    let all = indices.iter().fold(0, |all, index| all | number(index));
    if u16::try_from(all).is_ok() {
        return Ok(());
    }
    let found = indices
        .iter()
        .map(number)
        .find(|index| *index > u16::MAX.into());
    let error = Error::new(ErrorKind::OutOfRange, "index").expected("at most 65,535");
    Err(error.found(found.unwrap_or(all)))
}

fn append<T, const N: usize>(indices: &[T], out: &mut Vec<u8>, bytes: impl Fn(&T) -> [u8; N]) {
    out.resize(indices.len().saturating_mul(N), 0);
    out.as_chunks_mut::<N>()
        .0
        .iter_mut()
        .zip(indices)
        .for_each(|(out, index)| *out = bytes(index));
}

/// One of two iterators: the other has no elements.
struct OneOf<A, B>(A, B);

impl<T, A: ExactSizeIterator<Item = T>, B: ExactSizeIterator<Item = T>> Iterator for OneOf<A, B> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next().or_else(|| self.1.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.0.len().saturating_add(self.1.len());
        (len, Some(len))
    }

    fn fold<R, F: FnMut(R, T) -> R>(self, init: R, mut f: F) -> R {
        let first = self.0.fold(init, &mut f);
        self.1.fold(first, f)
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
        self.1.next_back().or_else(|| self.0.next_back())
    }
}
