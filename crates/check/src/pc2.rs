//! Reads point caches, a sample at a time.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

pub(crate) struct PointCache {
    file: BufReader<File>,
    points: usize,
    pub(crate) samples: usize,
}

impl PointCache {
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let told = |error: std::io::Error| error.to_string();
        let file = File::open(path).map_err(told)?;
        let length = file.metadata().map_err(told)?.len();
        let mut file = BufReader::with_capacity(256 << 10, file);
        let mut head = [0; 32];
        file.read_exact(&mut head).map_err(told)?;
        let word = |word: usize| {
            head.as_chunks::<4>()
                .0
                .get(word)
                .copied()
                .unwrap_or_default()
        };
        let count = |at: usize| {
            usize::try_from(i32::from_le_bytes(word(at))).map_err(|error| error.to_string())
        };
        let points = count(4)?;
        let samples = count(7)?;
        if !head.starts_with(b"POINTCACHE2\0") || i32::from_le_bytes(word(3)) != 1 {
            return Err("no point cache of version 1".to_owned());
        }
        let expected = 32 + 12 * points as u128 * samples as u128;
        if u128::from(length) != expected {
            return Err(format!(
                "{length} bytes, where {points} points x {samples} samples take {expected}"
            ));
        }
        Ok(Self {
            file,
            points,
            samples,
        })
    }

    /// The memory that one sample takes, with what it is compared with.
    pub(crate) fn memory(&self) -> u64 {
        48 * self.points as u64
    }

    pub(crate) fn sample(&mut self) -> Result<Vec<[f32; 3]>, String> {
        let mut bytes = vec![0; self.points * 12];
        self.file
            .read_exact(&mut bytes)
            .map_err(|error| error.to_string())?;
        let numbers: Vec<f32> = bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        Ok(numbers.as_chunks::<3>().0.to_vec())
    }
}
