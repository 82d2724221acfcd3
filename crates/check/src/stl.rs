//! Reads binary STL.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use crate::mesh::Mesh;

/// The memory that the numbers of a file take. A missing file is reported by [`read`].
pub(crate) fn memory(path: &Path) -> u64 {
    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    // Three corners and their indices, of 50 bytes.
    length.saturating_mul(2)
}

pub(crate) fn read(path: &Path) -> Result<Mesh, String> {
    let told = |error: std::io::Error| error.to_string();
    let mut file = BufReader::new(File::open(path).map_err(told)?);
    let (mut header, mut count) = ([0; 80], [0; 4]);
    file.read_exact(&mut header)
        .and_then(|()| file.read_exact(&mut count))
        .map_err(told)?;
    if header.starts_with(b"solid") {
        return Err("a header of the other kind of STL, which is text".to_owned());
    }
    let (mut positions, mut corners) = (Vec::new(), Vec::new());
    for triangle in 0..u32::from_le_bytes(count) {
        let mut bytes = [0; 50];
        file.read_exact(&mut bytes).map_err(told)?;
        let numbers = bytes
            .as_chunks::<4>()
            .0
            .iter()
            .skip(3)
            .map(|bytes| f32::from_le_bytes(*bytes));
        let numbers: Vec<f32> = numbers.collect();
        positions.extend(numbers.as_chunks::<3>().0);
        corners.push([0, 1, 2].map(|corner| triangle.saturating_mul(3).saturating_add(corner)));
    }
    match file.read(&mut [0]).map_err(told)? {
        0 => Ok(Mesh {
            positions: Rc::new(positions),
            corners,
            ..Mesh::default()
        }),
        _ => Err("bytes after the last triangle".to_owned()),
    }
}
