//! Reads binary PLY of floats, bytes and triangles.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use crate::mesh::{Materials, Mesh, Stream, Weights, points};

/// The memory that the numbers of a file take. A missing file is reported by [`read`].
pub(crate) fn memory(path: &Path) -> u64 {
    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    length.saturating_mul(3)
}

pub(crate) fn read(path: &Path) -> Result<Mesh, String> {
    let told = |error: std::io::Error| error.to_string();
    let mut file = BufReader::new(File::open(path).map_err(told)?);
    let (mut properties, mut counts) = (HashMap::<String, Property>::new(), [0_usize; 2]);
    let mut size = 0;
    let mut has_material = false;
    loop {
        let mut line = String::new();
        if file.read_line(&mut line).map_err(told)? == 0 {
            return Err("a header without an end".to_owned());
        }
        let count = |text: &str| text.parse().map_err(|_| format!("the count {text:?}"));
        match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["end_header"] => break,
            ["element", "vertex", text] => counts[0] = count(text)?,
            ["element", "face", text] => counts[1] = count(text)?,
            ["property", kind @ ("float" | "uchar"), name] => {
                let property = Property {
                    at: size,
                    is_byte: *kind == "uchar",
                };
                size += if property.is_byte { 1 } else { 4 };
                properties.insert((*name).to_owned(), property);
            }
            ["property", "int", "material_index"] => has_material = true,
            _ => {}
        }
    }
    let columns = |names: &[&str]| {
        names
            .iter()
            .map(|name| properties.get(*name).copied())
            .collect::<Option<Vec<_>>>()
    };
    let columns4 = |name: &str| {
        columns(
            &[0, 1, 2, 3]
                .map(|at| format!("{name}_{at}"))
                .each_ref()
                .map(String::as_str),
        )
    };
    let (joints, weights) = (columns4("joints"), columns4("weights"));
    let color =
        columns(&["red", "green", "blue", "alpha"]).or_else(|| columns(&["red", "green", "blue"]));
    let [x, normal, coord] = [
        columns(&["x", "y", "z"]),
        columns(&["nx", "ny", "nz"]),
        columns(&["s", "t"]),
    ];
    let x = x.ok_or("no positions")?;
    let (mut positions, mut normals, mut coords) = (Vec::new(), Vec::new(), Vec::new());
    let (mut colors, mut influences) = (Vec::new(), [Vec::new(), Vec::new()]);
    let mut row = vec![0; size];
    for _ in 0..counts[0] {
        file.read_exact(&mut row).map_err(told)?;
        positions.push(element::<3>(&row, &x));
        normals.extend(normal.as_ref().map(|columns| element::<3>(&row, columns)));
        coords.extend(coord.as_ref().map(|columns| element::<2>(&row, columns)));
        colors.extend(
            color
                .as_ref()
                .map(|columns| match element::<4>(&row, columns) {
                    [r, g, b, _] if columns.len() == 3 => [r, g, b, 1.0],
                    color => color,
                }),
        );
        for (values, columns) in influences.iter_mut().zip([&joints, &weights]) {
            values.extend(columns.as_ref().map(|columns| element::<4>(&row, columns)));
        }
    }
    let mut shape = Mesh {
        positions: Rc::new(positions),
        ..Mesh::default()
    };
    shape.normals = normal.map(|_| Stream {
        values: Rc::new(normals),
        corners: None,
    });
    shape.coords.extend(coord.map(|_| Stream {
        values: Rc::new(coords),
        corners: None,
    }));
    if color.is_some() {
        shape.colors.insert(0, Rc::new(colors));
    }
    if joints.is_some() && weights.is_some() {
        let [joints, weights] = influences.map(Rc::new);
        shape.weights = Some(Weights {
            joints,
            weights,
            rest: None,
        });
    }
    if counts[1] == 0 {
        shape.corners = points(counts[0]);
    }
    let mut ids = Vec::new();
    let mut face = vec![0; if has_material { 17 } else { 13 }];
    for index in 0..counts[1] {
        file.read_exact(&mut face).map_err(told)?;
        let corners = face.get(1..13).unwrap_or_default().as_chunks::<4>().0;
        match (face.first(), corners) {
            (Some(3), [a, b, c]) => shape
                .corners
                .push([a, b, c].map(|corner| u32::from_le_bytes(*corner))),
            _ => return Err(format!("face {index} is no triangle")),
        }
        ids.extend(
            face.last_chunk()
                .filter(|_| has_material)
                .map(|id| u32::from_le_bytes(*id)),
        );
    }
    match file.read(&mut [0]).map_err(told)? {
        0 => {
            shape.materials = Materials::by_id(ids.into_iter(), |id| id.to_string());
            Ok(shape)
        }
        _ => Err("bytes after the last face".to_owned()),
    }
}

/// A property of vertices: its first byte, and whether it is a share of 255 or a float.
#[derive(Clone, Copy)]
struct Property {
    at: usize,
    is_byte: bool,
}

fn element<const N: usize>(row: &[u8], columns: &[Property]) -> [f32; N] {
    let mut element = [0.0; N];
    for (number, Property { at, is_byte }) in element.iter_mut().zip(columns) {
        let bytes = row.get(*at..).unwrap_or_default();
        *number = match (is_byte, bytes.first(), bytes.first_chunk()) {
            (true, Some(byte), _) => f32::from(*byte) / 255.0,
            (false, _, Some(bytes)) => f32::from_le_bytes(*bytes),
            _ => 0.0,
        };
    }
    element
}
