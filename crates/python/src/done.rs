//! The versions of files that an earlier run is done with, for joins with millions of others.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::pool::detached;

/// A set of texts, of which it holds 16 bytes each: two hashes, whose keys nobody else knows. That two of ten million texts have the same
/// hashes has a probability below 10^-24, also if somebody chose the texts.
#[pyclass(module = "meshmap._meshmap")]
pub struct Done {
    hashers: [RandomState; 2],
    hashes: Vec<u128>,
    is_sorted: bool,
}

#[pymethods]
impl Done {
    /// An empty set with room for this many texts.
    #[new]
    fn new(count: usize) -> PyResult<Self> {
        let mut hashes = Vec::new();
        let reserved = hashes.try_reserve_exact(count);
        reserved.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self {
            hashers: [RandomState::new(), RandomState::new()],
            hashes,
            is_sorted: true,
        })
    }

    /// Adds the texts of an Arrow array: its offsets, of 32 bits, and its bytes.
    fn add(&mut self, py: Python<'_>, offsets: PyBuffer<i32>, bytes: PyBuffer<u8>) -> PyResult<()> {
        let hashes = self.hashes_of(py, offsets, bytes)?;
        self.hashes.extend(hashes);
        self.is_sorted = false;
        Ok(())
    }

    /// Returns a byte for each text of an Arrow array: 1 if it is in the set, otherwise 0.
    fn has(
        &mut self,
        py: Python<'_>,
        offsets: PyBuffer<i32>,
        bytes: PyBuffer<u8>,
    ) -> PyResult<Vec<u8>> {
        let wanted = self.hashes_of(py, offsets, bytes)?;
        if !self.is_sorted {
            let hashes = &mut self.hashes;
            detached(py, true, || hashes.par_sort_unstable())?;
            self.is_sorted = true;
        }
        let found = |hash: &u128| u8::from(self.hashes.binary_search(hash).is_ok());
        Ok(wanted.iter().map(found).collect())
    }

    /// The number of texts.
    fn __len__(&self) -> usize {
        self.hashes.len()
    }
}

impl Done {
    fn hashes_of(
        &self,
        py: Python<'_>,
        offsets: PyBuffer<i32>,
        bytes: PyBuffer<u8>,
    ) -> PyResult<Vec<u128>> {
        let offsets = offsets.to_vec(py)?;
        let bytes = bytes.to_vec(py)?;
        let hashes = detached(py, true, || {
            let texts = offsets.par_windows(2).map(|ends| {
                let [start, end] = ends else { return None };
                let range = usize::try_from(*start).ok()?..usize::try_from(*end).ok()?;
                Some(self.hash(bytes.get(range)?))
            });
            texts.collect::<Option<Vec<u128>>>()
        })?;
        hashes.ok_or_else(|| PyValueError::new_err("these are not the offsets of texts"))
    }

    fn hash(&self, text: &[u8]) -> u128 {
        let [high, low] = &self.hashers;
        (u128::from(high.hash_one(text)) << 64) | u128::from(low.hash_one(text))
    }
}
