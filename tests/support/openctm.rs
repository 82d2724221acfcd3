//! A writer of OpenCTM files of all methods, for tests: every field as it is told, right or wrong.

use std::io::Write;

use lzma_rust2::{LzmaOptions, LzmaWriter};

/// A body in the making.
///
/// Of MG2, positions are put into one cell, with steps of `precision`; normals are the integers that are stored of them.
#[derive(Clone)]
pub(crate) struct Body {
    pub(crate) method: [u8; 4],
    pub(crate) flags: u32,
    pub(crate) comment: Vec<u8>,
    pub(crate) precision: f32,
    pub(crate) positions: Vec<[f32; 3]>,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Magnitude, polar and azimuth steps of MG2; the other methods store them as numbers.
    pub(crate) normals: Vec<[u32; 3]>,
    /// Name, file and coordinates.
    pub(crate) uv_maps: Vec<(&'static str, &'static str, Vec<[f32; 2]>)>,
    pub(crate) attribute_maps: Vec<(&'static str, Vec<[f32; 4]>)>,
    /// What becomes of the bytes of an array.
    pub(crate) pack: fn(&[u8]) -> Packed,
}

/// The properties that a decoder needs, and the stream.
pub(crate) type Packed = ([u8; 5], Vec<u8>);

pub(crate) const RAW: [u8; 4] = *b"RAW\0";
pub(crate) const MG1: [u8; 4] = *b"MG1\0";
pub(crate) const MG2: [u8; 4] = *b"MG2\0";

impl Body {
    /// A bent sheet of `side` times `side` vertices with everything that a body can have.
    pub(crate) fn sheet(method: [u8; 4], side: u16) -> Self {
        let places = || (0..side).flat_map(|y| (0..side).map(move |x| (f32::from(x), f32::from(y))));
        let corner = |x: u16, y: u16| u32::from(y) * u32::from(side) + u32::from(x);
        let squares = (1..side).flat_map(|y| (1..side).map(move |x| (x, y)));
        let triangles = squares.flat_map(|(x, y)| {
            let [a, b, c, d] = [corner(x - 1, y - 1), corner(x, y - 1), corner(x, y), corner(x - 1, y)];
            [[a, b, c], [a, c, d]]
        });
        let normals = (0_u32..).zip(places()).map(|(i, _)| [256 - i % 3, i % 7, i % 5]);
        Self {
            method,
            flags: 1,
            comment: "bent sheet".into(),
            precision: 1.0 / 64.0,
            positions: places().map(|(x, y)| [x, y, (x * 0.5).sin() + (y * 0.25).cos()]).collect(),
            triangles: triangles.collect(),
            normals: normals.collect(),
            uv_maps: vec![
                ("first", "a.png", places().map(|(x, y)| [x / 64.0, y / 64.0]).collect()),
                ("second", "", places().map(|(x, y)| [y, -x]).collect()),
            ],
            attribute_maps: vec![
                ("Color", places().map(|(x, y)| [x, y, 0.5, 1.0]).collect()),
                ("weight", places().map(|(x, _)| [x; 4]).collect()),
            ],
            pack: lzma,
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(b"OCTM");
        word(&mut out, 5);
        out.extend(self.method);
        word(&mut out, self.positions.len());
        word(&mut out, self.triangles.len());
        word(&mut out, self.uv_maps.len());
        word(&mut out, self.attribute_maps.len());
        word(&mut out, self.flags as usize);
        text(&mut out, &self.comment);
        let (indices, positions) = (self.indices(), self.positions.iter().map(|p| p.map(f32::to_bits)));
        if self.method == MG2 {
            self.grid(&mut out);
            self.array(&mut out, b"INDX", &indices);
        } else {
            self.array(&mut out, b"INDX", &indices);
            out.extend(b"VERT");
            // Of MG1, coordinates of positions are not kept apart.
            let bits: Vec<[u32; 1]> = positions.flatten().map(|bits| [bits]).collect();
            self.data(&mut out, &bits);
        }
        if self.flags & 1 != 0 {
            self.array(&mut out, b"NORM", &self.normals);
        }
        for (name, file, coords) in &self.uv_maps {
            out.extend(b"TEXC");
            text(&mut out, name.as_bytes());
            text(&mut out, file.as_bytes());
            self.numbers(&mut out, coords);
        }
        for (name, values) in &self.attribute_maps {
            out.extend(b"ATTR");
            text(&mut out, name.as_bytes());
            self.numbers(&mut out, values);
        }
        out
    }

    /// The MG2 header with one cell, positions as steps from its corner, and grid indices of 0.
    fn grid(&self, out: &mut Vec<u8>) {
        let all = |pick: fn(f32, f32) -> f32, start| {
            self.positions.iter().fold([start; 3], |found: [f32; 3], position| {
                [0, 1, 2].map(|axis| pick(found[axis], position[axis]))
            })
        };
        let (low, high) = (all(f32::min, f32::INFINITY), all(f32::max, f32::NEG_INFINITY));
        out.extend(b"MG2H");
        for number in [self.precision, 1.0 / 256.0].into_iter().chain(low).chain(high) {
            out.extend(number.to_le_bytes());
        }
        (0..3).for_each(|_| word(out, 1));
        let steps = |position: &[f32; 3]| {
            [0, 1, 2].map(|axis| ((position[axis] - low[axis]) / self.precision).round() as u32)
        };
        let mut before = 0_u32;
        let differences = self.positions.iter().map(|position| {
            let [x, y, z] = steps(position);
            let difference = x.wrapping_sub(before);
            before = x;
            [difference, y, z]
        });
        self.array(out, b"VERT", &differences.collect::<Vec<_>>());
        self.array(out, b"GIDX", &vec![[0]; self.positions.len()]);
    }

    fn indices(&self) -> Vec<[u32; 3]> {
        if self.method == RAW {
            return self.triangles.clone();
        }
        let mut before: Option<[u32; 3]> = None;
        let stored = self.triangles.iter().map(|triangle| {
            let [a, b, c] = *triangle;
            let of_b = before.filter(|before| before[0] == a).map_or(a, |before| before[1]);
            let of_a = before.map_or(0, |before| before[0]);
            before = Some(*triangle);
            [a.wrapping_sub(of_a), b.wrapping_sub(of_b), c.wrapping_sub(a)]
        });
        stored.collect()
    }

    /// Numbers of a map; of MG2, in steps of the precision.
    fn numbers<const N: usize>(&self, out: &mut Vec<u8>, numbers: &[[f32; N]]) {
        if self.method != MG2 {
            return self.data(out, &numbers.iter().map(|group| group.map(f32::to_bits)).collect::<Vec<_>>());
        }
        out.extend(self.precision.to_le_bytes());
        let mut before = [0_i32; N];
        let differences = numbers.iter().map(|group| {
            let steps = group.map(|number| (number / self.precision).round() as i32);
            let stored: [u32; N] = std::array::from_fn(|lane| {
                let difference = steps[lane] - before[lane];
                if difference < 0 { difference.unsigned_abs() * 2 - 1 } else { difference as u32 * 2 }
            });
            before = steps;
            stored
        });
        self.data(out, &differences.collect::<Vec<_>>());
    }

    fn array<const N: usize>(&self, out: &mut Vec<u8>, tag: &[u8; 4], words: &[[u32; N]]) {
        out.extend(tag);
        self.data(out, words);
    }

    fn data<const N: usize>(&self, out: &mut Vec<u8>, words: &[[u32; N]]) {
        if self.method == RAW {
            return out.extend(words.as_flattened().iter().flat_map(|word| word.to_le_bytes()));
        }
        let mut planes = Vec::new();
        for significance in 0..4 {
            for lane in 0..N {
                planes.extend(words.iter().map(|group| group[lane].to_be_bytes()[significance]));
            }
        }
        let (properties, stream) = (self.pack)(&planes);
        word(out, stream.len());
        out.extend(properties);
        out.extend(stream);
    }
}

fn word(out: &mut Vec<u8>, number: usize) {
    out.extend(u32::try_from(number).unwrap().to_le_bytes());
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    word(out, text.len());
    out.extend(text);
}

/// A stream of a real encoder, as OpenCTM stores it.
pub(crate) fn lzma(bytes: &[u8]) -> Packed {
    let mut options = LzmaOptions::with_preset(1);
    options.dict_size = 1 << 16;
    let mut stream = Vec::new();
    let mut writer = LzmaWriter::new_no_header(&mut stream, &options, false).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap();
    ([options.get_props(), 0, 0, 1, 0], stream)
}
