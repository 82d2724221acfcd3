//! A crate file while it is written: values on their way out, and their locations.

use meshmap_job::{Budget, Result};

use std::io::{Seek, SeekFrom, Write};

use super::values::{Kind, Rep};

/// Files of this version are read by every USD since 2019.
const VERSION: [u8; 3] = [0, 8, 0];

/// Magic, version, the place of the table of contents, and what is kept for later versions.
const HEADER: usize = 88;

/// The position of the table of contents' offset in the header.
const CONTENTS: u64 = 16;

pub(super) struct CrateFile<'a, W> {
    out: &'a mut W,
    position: u64,
    block: Vec<u8>,
    pub(super) budget: Budget,
}

/// Memory that a prim takes with its usual properties, in the tree and in the tables.
const OF_PRIM: u64 = 8 << 10;

/// Memory that a name takes for each of its bytes: in the tree, in paths, in tables of names and of tokens.
const OF_NAME_BYTE: u64 = 12;

impl<'a, W: Write + Seek> CrateFile<'a, W> {
    pub(super) fn begin(out: &'a mut W, budget: &Budget) -> Result<Self> {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(b"PXR-USDC");
        header[8..][..VERSION.len()].copy_from_slice(&VERSION);
        out.write_all(&header)?;
        Ok(Self {
            out,
            position: HEADER as u64,
            block: vec![0; 16 << 10],
            budget: budget.clone(),
        })
    }

    /// Charges a prim, with names of this many bytes.
    pub(super) fn charge_prim(&self, names: usize) -> Result<()> {
        self.budget.keep(
            OF_PRIM.saturating_add((names as u64).saturating_mul(OF_NAME_BYTE)),
            "prims",
        )
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Continues at a position where readers can map numbers in place; returns that position.
    pub(super) fn align(&mut self) -> Result<u64> {
        let padding = self.position.next_multiple_of(8) - self.position;
        self.write(&[0; 8][..usize::try_from(padding).unwrap_or_default()])?;
        Ok(self.position)
    }

    /// An array, of elements of `N` numbers of `S` bytes.
    fn array<const N: usize, const S: usize>(
        &mut self,
        kind: Kind,
        count: usize,
        mut elements: impl Iterator<Item = [[u8; S]; N]>,
    ) -> Result<Rep> {
        if count == 0 {
            return Ok(Rep::empty(kind));
        }
        let offset = self.align()?;
        self.write(&(count as u64).to_le_bytes())?;
        let mut block = std::mem::take(&mut self.block);
        loop {
            let mut filled = 0;
            for (place, element) in block.chunks_exact_mut(S * N).zip(&mut elements) {
                place.copy_from_slice(element.as_flattened());
                filled += place.len();
            }
            if filled == 0 {
                break;
            }
            self.write(block.get(..filled).unwrap_or_default())?;
        }
        self.block = block;
        Ok(Rep::array(kind, offset))
    }

    pub(super) fn floats<const N: usize>(
        &mut self,
        elements: impl ExactSizeIterator<Item = [f32; N]>,
    ) -> Result<Rep> {
        let count = elements.len();
        self.array(
            Kind::floats(N),
            count,
            elements.map(|element| element.map(f32::to_le_bytes)),
        )
    }

    /// Rotations, of which the last component is the real one.
    pub(super) fn quaternions(
        &mut self,
        elements: impl ExactSizeIterator<Item = [f32; 4]>,
    ) -> Result<Rep> {
        let count = elements.len();
        self.array(
            Kind::Quatf,
            count,
            elements.map(|element| element.map(f32::to_le_bytes)),
        )
    }

    /// Vectors of three floats of 16 bits.
    pub(super) fn halves(
        &mut self,
        elements: impl ExactSizeIterator<Item = [u16; 3]>,
    ) -> Result<Rep> {
        let count = elements.len();
        self.array(
            Kind::Vec3h,
            count,
            elements.map(|element| element.map(u16::to_le_bytes)),
        )
    }

    /// Matrices of 4 x 4 numbers.
    pub(super) fn matrices(&mut self, elements: &[[f64; 16]]) -> Result<Rep> {
        let numbers = elements.iter().map(|element| element.map(f64::to_le_bytes));
        self.array(Kind::Matrix4d, elements.len(), numbers)
    }

    /// One matrix of 4 x 4 numbers.
    pub(super) fn matrix(&mut self, matrix: &[f64; 16]) -> Result<Rep> {
        let offset = self.align()?;
        self.write(matrix.map(f64::to_le_bytes).as_flattened())?;
        Ok(Rep::stored(Kind::Matrix4d, offset))
    }

    /// One vector of floats.
    pub(super) fn vector<const N: usize>(&mut self, vector: [f32; N]) -> Result<Rep> {
        let offset = self.align()?;
        self.write(vector.map(f32::to_le_bytes).as_flattened())?;
        Ok(Rep::stored(Kind::floats(N), offset))
    }

    pub(super) fn ints<const N: usize>(
        &mut self,
        elements: impl ExactSizeIterator<Item = [i32; N]>,
    ) -> Result<Rep> {
        let count = elements.len();
        self.array(
            Kind::ints(N),
            count,
            elements.map(|element| element.map(i32::to_le_bytes)),
        )
    }

    pub(super) fn unsigned(&mut self, elements: impl ExactSizeIterator<Item = u32>) -> Result<Rep> {
        let count = elements.len();
        self.array(
            Kind::UInt,
            count,
            elements.map(|element| [element.to_le_bytes()]),
        )
    }

    /// The numbers of elements, one after another.
    fn flat<const N: usize>(
        &mut self,
        kind: Kind,
        elements: impl ExactSizeIterator<Item = [[u8; 4]; N]>,
    ) -> Result<Rep> {
        let count = elements.len().saturating_mul(N);
        self.array(kind, count, elements)
    }

    /// The numbers of elements, one float after another.
    pub(super) fn flat_floats<const N: usize>(
        &mut self,
        elements: impl ExactSizeIterator<Item = [f32; N]>,
    ) -> Result<Rep> {
        self.flat(Kind::Float, elements.map(|it| it.map(f32::to_le_bytes)))
    }

    /// The numbers of elements, one integer after another.
    pub(super) fn flat_ints<const N: usize>(
        &mut self,
        elements: impl ExactSizeIterator<Item = [i32; N]>,
    ) -> Result<Rep> {
        self.flat(Kind::Int, elements.map(|it| it.map(i32::to_le_bytes)))
    }

    /// The corners of triangles, one integer after another.
    pub(super) fn corners(
        &mut self,
        triangles: impl ExactSizeIterator<Item = [u32; 3]>,
    ) -> Result<Rep> {
        self.flat(Kind::Int, triangles.map(|it| it.map(u32::to_le_bytes)))
    }

    /// Times, which several attributes can have.
    pub(super) fn times(&mut self, times: impl ExactSizeIterator<Item = f64>) -> Result<Rep> {
        let offset = self.align()?;
        self.write(&(times.len() as u64).to_le_bytes())?;
        for time in times {
            self.write(&time.to_le_bytes())?;
        }
        Ok(Rep::stored(Kind::DoubleVector, offset))
    }

    /// A value for each of these times.
    pub(super) fn samples(
        &mut self,
        times: Rep,
        values: impl ExactSizeIterator<Item = Rep>,
    ) -> Result<Rep> {
        /// From here to what follows: nothing is between.
        const NEXT: [u8; 8] = 8_u64.to_le_bytes();
        let offset = self.align()?;
        self.write(&NEXT)?;
        self.write(&times.0.to_le_bytes())?;
        self.write(&NEXT)?;
        self.write(&(values.len() as u64).to_le_bytes())?;
        for value in values {
            self.write(&value.0.to_le_bytes())?;
        }
        Ok(Rep::stored(Kind::TimeSamples, offset))
    }

    /// Writes the sections, and the table of contents, and ends the file.
    pub(super) fn finish(
        mut self,
        sections: impl IntoIterator<Item = (&'static str, Vec<u8>)>,
    ) -> Result<()> {
        let mut contents = Vec::new();
        for (name, bytes) in sections {
            let start = self.align()?;
            self.write(&bytes)?;
            let mut entry = [0; 32];
            entry[..name.len()].copy_from_slice(name.as_bytes());
            entry[16..24].copy_from_slice(&start.to_le_bytes());
            entry[24..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            contents.push(entry);
        }
        let place = self.align()?;
        self.write(&(contents.len() as u64).to_le_bytes())?;
        self.write(contents.as_flattened())?;
        self.out.seek(SeekFrom::Start(CONTENTS))?;
        self.out.write_all(&place.to_le_bytes())?;
        self.out.seek(SeekFrom::Start(self.position))?;
        Ok(())
    }
}
