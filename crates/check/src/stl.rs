//! Reads binary STL with `stl_io`.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
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
    let mut start = [0; 5];
    file.read_exact(&mut start).map_err(told)?;
    if start == *b"solid" {
        return Err("a header of the other kind of STL, which is text".to_owned());
    }
    file.rewind().map_err(told)?;
    let mut positions = Vec::new();
    let mut corners = Vec::new();
    for triangle in stl_io::create_stl_reader(&mut file).map_err(told)? {
        let first = u32::try_from(positions.len()).unwrap_or(u32::MAX);
        corners.push([0, 1, 2].map(|corner| first.saturating_add(corner)));
        positions.extend(triangle.map_err(told)?.vertices.map(|vertex| vertex.0));
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
