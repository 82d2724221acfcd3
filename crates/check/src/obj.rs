//! Reads OBJ, as far as triangles go.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::rc::Rc;

use crate::mesh::{Materials, Mesh, Stream};

/// The memory that the numbers of a file take. A missing file is reported by [`read`].
pub(crate) fn memory(path: &Path) -> u64 {
    /// Vectors grow to twice of what they hold.
    const GROWTH: u64 = 2;
    let Ok(file) = File::open(path) else { return 0 };
    let mut file = BufReader::with_capacity(256 << 10, file);
    let mut bytes = 0_u64;
    let mut before = [0, b'\n'];
    while let Ok(piece) = file.fill_buf()
        && !piece.is_empty()
    {
        for byte in piece {
            bytes += match (before, byte) {
                // Three floats, and a colour for each position.
                ([_, b'\n'], b'v') => 12,
                ([b'\n', b'v'], b' ') => 16,
                // The corners in three streams, and the material.
                ([_, b'\n'], _) => 40,
                _ => 0,
            };
            before = [before[1], *byte];
        }
        let length = piece.len();
        file.consume(length);
    }
    bytes.saturating_mul(GROWTH)
}

/// The objects of a file, in their order. Materials are from the MTL next to it.
pub(crate) fn read(path: &Path) -> Result<Vec<Mesh>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut positions = Vec::new();
    let mut coords = Vec::new();
    let mut normals = Vec::new();
    let mut colors = Vec::new();
    let library = File::open(path.with_extension("mtl")).map_err(|error| error.to_string())?;
    let mut known: BTreeSet<String> = BTreeSet::new();
    for line in lines(BufReader::new(library)) {
        let (_, line) = line.map_err(|error| error.to_string())?;
        known.extend(line.strip_prefix("newmtl ").map(str::to_owned));
    }
    let mut materials: Vec<String> = vec![String::new()];
    let mut known_as: BTreeMap<String, u32> = BTreeMap::from([(String::new(), 0)]);
    let mut material = 0;
    let mut objects: Vec<Corners> = Vec::new();
    for line in lines(BufReader::new(file)) {
        let (number, line) = line.map_err(|error| error.to_string())?;
        let (kind, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let wrong = || format!("line {number} is {line:?}");
        match kind {
            "v" => {
                positions.push(numbers::<3>(rest).ok_or_else(wrong)?);
                let color = numbers::<6>(rest);
                let of_object = objects.last_mut().ok_or_else(wrong)?;
                of_object.vertices += 1;
                of_object.colored += usize::from(color.is_some());
                let [.., r, g, b] = color.unwrap_or_default();
                colors.push([r, g, b, 1.0]);
            }
            "vt" => coords.push(numbers::<2>(rest).ok_or_else(wrong)?),
            "vn" => normals.push(numbers::<3>(rest).ok_or_else(wrong)?),
            "o" => objects.push(Corners::default()),
            "usemtl" if !known.contains(rest) => {
                return Err(format!(
                    "line {number} uses the material {rest:?}, which the MTL has not"
                ));
            }
            "usemtl" => {
                material = *known_as.entry(rest.to_owned()).or_insert_with(|| {
                    materials.push(rest.to_owned());
                    u32::try_from(materials.len() - 1).unwrap_or(u32::MAX)
                });
            }
            "p" => {
                let point = rest
                    .parse()
                    .ok()
                    .and_then(|point: u32| point.checked_sub(1))
                    .ok_or_else(wrong)?;
                let object = objects.last_mut().ok_or_else(wrong)?;
                object.positions.push([point; 3]);
                object.materials.push(material);
            }
            "f" => objects
                .last_mut()
                .and_then(|object| object.add(rest, material))
                .ok_or_else(wrong)?,
            _ => {}
        }
    }
    let positions = Rc::new(positions);
    let coords = Rc::new(coords);
    let normals = Rc::new(normals);
    let colors = Rc::new(colors);
    let materials = Rc::new(materials);
    let shape = |object: Corners| Mesh {
        positions: Rc::clone(&positions),
        normals: object.stream(&object.normals, &normals),
        coords: object.stream(&object.coords, &coords).into_iter().collect(),
        materials: Materials {
            names: Rc::clone(&materials),
            of: object.materials,
        },
        // All vertices of an object have colours, or none has.
        colors: (object.colored == object.vertices && object.vertices > 0)
            .then(|| (0, Rc::clone(&colors)))
            .into_iter()
            .collect(),
        corners: object.positions,
        ..Mesh::default()
    };
    Ok(objects.into_iter().map(shape).collect())
}

/// The statements of a file, with the numbers of their first lines: a backslash at the end of a line continues it.
fn lines(mut file: impl BufRead) -> impl Iterator<Item = io::Result<(u64, String)>> {
    let mut next = 1;
    std::iter::from_fn(move || {
        let number = next;
        let mut line = String::new();
        loop {
            match file.read_line(&mut line) {
                Ok(0) if next == number => return None,
                Ok(0) => return Some(Ok((number, line))),
                Ok(_) => next += 1,
                Err(error) => return Some(Err(error)),
            }
            let text = line.strip_suffix('\n').unwrap_or(&line);
            let text = text.strip_suffix('\r').unwrap_or(text);
            match text.strip_suffix('\\').map(str::len) {
                Some(end) => line.replace_range(end.., " "),
                None => {
                    line.truncate(text.len());
                    return Some(Ok((number, line)));
                }
            }
        }
    })
}

#[derive(Default)]
struct Corners {
    vertices: usize,
    /// The number of its vertices with colours.
    colored: usize,
    positions: Vec<[u32; 3]>,
    coords: Vec<[u32; 3]>,
    normals: Vec<[u32; 3]>,
    /// The material of each triangle.
    materials: Vec<u32>,
}

impl Corners {
    fn add(&mut self, text: &str, material: u32) -> Option<()> {
        let mut triangle = [[None; 3]; 3];
        let mut words = text.split(' ');
        for corner in &mut triangle {
            for (index, text) in corner.iter_mut().zip(words.next()?.split('/')) {
                // Numbers count from 1.
                *index = if text.is_empty() {
                    None
                } else {
                    Some(text.parse::<u32>().ok()?.checked_sub(1)?)
                };
            }
        }
        let stream = |which: usize| {
            Some([
                triangle[0][which]?,
                triangle[1][which]?,
                triangle[2][which]?,
            ])
        };
        self.materials.push(material);
        self.positions.push(stream(0)?);
        self.coords.extend(stream(1));
        self.normals.extend(stream(2));
        words.next().is_none().then_some(())
    }

    fn stream<const N: usize>(
        &self,
        corners: &[[u32; 3]],
        values: &Rc<Vec<[f32; N]>>,
    ) -> Option<Stream<N>> {
        let is_whole = !corners.is_empty() && corners.len() == self.positions.len();
        is_whole.then(|| Stream {
            values: Rc::clone(values),
            corners: Some(corners.to_vec()),
        })
    }
}

fn numbers<const N: usize>(text: &str) -> Option<[f32; N]> {
    let mut numbers = [0.0; N];
    let mut words = text.split(' ');
    for number in &mut numbers {
        *number = words.next()?.parse().ok()?;
    }
    Some(numbers)
}
