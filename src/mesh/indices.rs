use zerocopy::little_endian as le;

use crate::bytes::Array;
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

impl Indices {
    /// Indices of 32 bits, none less than `base`, which is subtracted.
    pub(crate) fn new(stored: Array<u32>, base: u32) -> Self {
        Self { stored: Stored::Wide(stored), base }
    }

    /// Indices of 16 bits.
    pub(crate) fn narrow(stored: Array<u16>) -> Self {
        Self { stored: Stored::Narrow(stored), base: 0 }
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

    /// Whether there are no indices.
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
        OneOf(narrow.iter().map(|i| i.get().into()), wide.iter().map(move |i| i.get().wrapping_sub(base)))
    }

    /// The triangles: three indices each.
    pub fn triangles(&self) -> impl ExactSizeIterator<Item = [u32; 3]> + '_ {
        let (narrow, wide) = self.slices();
        let base = self.base;
        let narrow = narrow.as_chunks::<3>().0.iter().map(|c| c.map(|i| u32::from(i.get())));
        let wide = wide.as_chunks::<3>().0.iter().map(move |c| c.map(|i| i.get().wrapping_sub(base)));
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

    /// The indices as stored, [`base`](Self::base) included; `None` where they are not 32 bits wide.
    #[must_use]
    pub fn stored(&self) -> Option<&Array<u32>> {
        match &self.stored {
            Stored::Narrow(_) => None,
            Stored::Wide(wide) => Some(wide),
        }
    }

    /// The indices as stored; `None` where they are not 16 bits wide.
    #[must_use]
    pub fn stored_u16(&self) -> Option<&Array<u16>> {
        match &self.stored {
            Stored::Narrow(narrow) => Some(narrow),
            Stored::Wide(_) => None,
        }
    }

    /// Writes the indices for a GPU, packed, in the byte order of the host.
    ///
    /// `write(offset, bytes)` is called with whole indices at ascending offsets, each byte once.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) for an index that the format cannot hold.
    pub fn write_chunks(&self, format: IndexFormat, mut write: impl FnMut(usize, &[u8])) -> Result<()> {
        const INDICES: usize = 1024;
        if format == self.format() && self.base == 0 && cfg!(target_endian = "little") {
            match &self.stored {
                Stored::Narrow(narrow) => write(0, narrow.as_bytes()),
                Stored::Wide(wide) => write(0, wide.as_bytes()),
            }
            return Ok(());
        }
        let mut chunk = Vec::with_capacity(INDICES.saturating_mul(4));
        let mut offset = 0_usize;
        let mut indices = self.iter();
        while indices.len() > 0 {
            for index in indices.by_ref().take(INDICES) {
                match format {
                    IndexFormat::Uint32 => chunk.extend_from_slice(&index.to_ne_bytes()),
                    IndexFormat::Uint16 => {
                        let narrow = u16::try_from(index).map_err(|_| {
                            let error = Error::new(ErrorKind::OutOfRange, "index");
                            error.expected("at most 65,535").found(index)
                        })?;
                        chunk.extend_from_slice(&narrow.to_ne_bytes());
                    }
                }
            }
            write(offset, &chunk);
            offset = offset.saturating_add(chunk.len());
            chunk.clear();
        }
        Ok(())
    }
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

impl<T, A: ExactSizeIterator<Item = T>, B: ExactSizeIterator<Item = T>> ExactSizeIterator for OneOf<A, B> {}

impl<T, A, B> DoubleEndedIterator for OneOf<A, B>
where
    A: ExactSizeIterator<Item = T> + DoubleEndedIterator,
    B: ExactSizeIterator<Item = T> + DoubleEndedIterator,
{
    fn next_back(&mut self) -> Option<T> {
        self.1.next_back().or_else(|| self.0.next_back())
    }
}
