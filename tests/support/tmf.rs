//! A writer of TMF files of both layouts, for tests: every field as it is told, right or wrong.

/// Numbers packed without padding, the most significant bit first.
#[derive(Default)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    bits: usize,
}

impl Packer {
    pub(crate) fn push(&mut self, value: u64, width: u32) {
        for bit in (0..width).rev() {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            // Of fields wider than 64 bits, the value is in the last ones.
            let set = bit < 64 && value >> bit & 1 != 0;
            *self.bytes.last_mut().unwrap() |= u8::from(set) << (7 - self.bits % 8);
            self.bits += 1;
        }
    }

    pub(crate) fn all(fields: impl IntoIterator<Item = (u64, u32)>) -> Vec<u8> {
        let mut packer = Self::default();
        fields.into_iter().for_each(|(value, width)| packer.push(value, width));
        packer.bytes
    }
}

/// A file in the making.
pub(crate) struct Writer {
    /// Whether it has layout B.
    b: bool,
    meshes: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
}

impl Writer {
    pub(crate) fn a() -> Self {
        Self { b: false, meshes: Vec::new() }
    }

    pub(crate) fn b() -> Self {
        Self { b: true, meshes: Vec::new() }
    }

    pub(crate) fn mesh(mut self, name: impl AsRef<[u8]>) -> Self {
        self.meshes.push((name.as_ref().to_vec(), Vec::new()));
        self
    }

    /// A segment of the last mesh.
    pub(crate) fn segment(mut self, kind: u8, compression: u8, data: &[u8]) -> Self {
        let mut segment = vec![kind];
        if self.b {
            segment.extend_from_slice(&(data.len() as u32).to_le_bytes());
        } else {
            segment.push(0);
            segment.extend_from_slice(&(data.len() as u64).to_le_bytes());
        }
        segment.push(compression);
        segment.extend_from_slice(data);
        self.meshes.last_mut().unwrap().1.push(segment);
        self
    }

    /// Vertices as the integers that are stored.
    pub(crate) fn vertices(self, bounds: [f64; 6], widths: [u8; 3], points: &[[u64; 3]]) -> Self {
        let mut data = (points.len() as u64).to_le_bytes().to_vec();
        data.extend(bounds.iter().flat_map(|number| number.to_le_bytes()));
        data.extend(widths);
        let fields = points.iter().flat_map(|point| point.iter().copied().zip(widths.map(u32::from)));
        data.extend(Packer::all(fields));
        self.segment(1, 0, &data)
    }

    /// Normals (kind 3) or tangents (kind 9): signs, with the handedness first, an angle and a height.
    pub(crate) fn directions(self, kind: u8, bits: u8, directions: &[(u64, u64, u64)]) -> Self {
        let mut data = (directions.len() as u64).to_le_bytes().to_vec();
        data.push(bits);
        let signs = if kind == 9 { 4 } else { 3 };
        let fields = directions.iter().flat_map(|(sign, angle, height)| {
            [(*sign, signs), (*angle, u32::from(bits)), (*height, u32::from(bits))]
        });
        data.extend(Packer::all(fields));
        self.segment(kind, 0, &data)
    }

    pub(crate) fn uvs(self, bits: u8, uvs: &[[u64; 2]]) -> Self {
        let mut data = vec![bits];
        data.extend((uvs.len() as u64).to_le_bytes());
        data.extend(Packer::all(uvs.iter().flatten().map(|number| (*number, u32::from(bits)))));
        self.segment(5, 0, &data)
    }

    /// Indices (kinds 2, 4, 6 and 10), of which each is the base and a number.
    pub(crate) fn indices(self, kind: u8, bits: u8, base: u64, numbers: &[u64]) -> Self {
        let data = self.index_data(bits, base, numbers);
        self.segment(kind, 0, &data)
    }

    pub(crate) fn shared(self, mask: u8, bits: u8, base: u64, numbers: &[u64]) -> Self {
        let mut data = vec![mask];
        data.extend(self.index_data(bits, base, numbers));
        self.segment(25, 0, &data)
    }

    /// Custom indices (15) or integers (24).
    pub(crate) fn custom(self, kind: u8, name: &str, bits: u8, base: u64, numbers: &[u64]) -> Self {
        let mut data = vec![name.len() as u8];
        data.extend(name.as_bytes());
        data.extend(self.index_data(bits, base, numbers));
        self.segment(kind, 0, &data)
    }

    pub(crate) fn colors(self, name: &str, bits: u8, colors: &[[u64; 4]]) -> Self {
        let mut data = vec![name.len() as u8];
        data.extend(name.as_bytes());
        data.extend((colors.len() as u64).to_le_bytes());
        data.push(bits);
        data.extend(Packer::all(colors.iter().flatten().map(|number| (*number, u32::from(bits)))));
        self.segment(23, 0, &data)
    }

    fn index_data(&self, bits: u8, base: u64, numbers: &[u64]) -> Vec<u8> {
        let mut data = vec![bits];
        data.extend((numbers.len() as u64).to_le_bytes());
        if self.b {
            data.extend(base.to_le_bytes());
        }
        data.extend(Packer::all(numbers.iter().map(|number| (*number, u32::from(bits)))));
        data
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut file = b"TMF".to_vec();
        let minor: u16 = if self.b { 2 } else { 1 };
        file.extend([0, minor, 0, minor].iter().flat_map(|number| number.to_le_bytes()));
        file.extend((self.meshes.len() as u32).to_le_bytes());
        for (name, segments) in &self.meshes {
            file.extend((name.len() as u16).to_le_bytes());
            file.extend(name);
            file.extend((segments.len() as u16).to_le_bytes());
            segments.iter().for_each(|segment| file.extend(segment));
        }
        file
    }
}

/// A mesh of everything that a layout has: for tests that damage it.
pub(crate) fn everything(b: bool) -> Vec<u8> {
    let writer = if b { Writer::b() } else { Writer::a() };
    let writer = writer
        .mesh("m\u{e9}sh")
        .vertices([0., 1., -2., 2., 0.5, 0.75], [5, 3, 7], &[[0, 0, 0], [31, 0, 127], [3, 7, 1], [9, 5, 64]])
        .directions(3, 4, &[(0, 0, 15), (5, 3, 7), (7, 15, 0)])
        .uvs(6, &[[0, 63], [20, 1]])
        .indices(2, 2, 0, &[0, 1, 2, 2, 1, 3])
        .indices(6, 1, 0, &[0, 1, 0, 1, 1, 0]);
    if !b {
        return writer.segment(4, 1, &[]).mesh("").to_bytes();
    }
    writer
        .indices(4, 1, 1, &[0, 1, 1, 0, 0, 1])
        .directions(9, 3, &[(9, 7, 0), (2, 1, 6)])
        .indices(10, 1, 0, &[0, 0, 1, 1, 1, 0])
        .custom(24, "ids", 9, 100, &[1, 2, 400, 3])
        .custom(15, "more", 0, 7, &[0, 0])
        .colors("paint", 5, &[[31, 0, 4, 9], [1, 2, 3, 4], [0; 4], [31; 4]])
        .segment(16, 0, &floats("heat", 4, &[0, 15, 7]))
        .mesh("shared")
        .vertices([0., 1., 0., 1., 0., 1.], [3, 3, 3], &[[0, 1, 2], [3, 4, 5], [6, 7, 0]])
        .uvs(3, &[[0, 1], [2, 3], [4, 5]])
        .shared(5, 2, 0, &[0, 1, 2])
        .to_bytes()
}

/// The data of a segment of custom floats, from -1 to 1.
pub(crate) fn floats(name: &str, bits: u8, numbers: &[u64]) -> Vec<u8> {
    let mut data = vec![name.len() as u8];
    data.extend(name.as_bytes());
    data.extend((numbers.len() as u64).to_le_bytes());
    data.extend([-1_f64, 1.].iter().flat_map(|number| number.to_le_bytes()));
    data.push(bits);
    data.extend(Packer::all(numbers.iter().map(|number| (*number, u32::from(bits)))));
    data
}

/// A grid of `side` times `side` points with normals and texture coordinates, indexed by one shared array, in two
/// segments of each.
pub(crate) fn grid(side: u64) -> Vec<u8> {
    let points: Vec<(u64, u64)> = (0..side).flat_map(|x| (0..side).map(move |y| (x, y))).collect();
    let (first, second) = points.split_at(points.len() / 3 + 5);
    let corners: Vec<u64> = (0..side - 1)
        .flat_map(|x| (0..side - 1).map(move |y| x * side + y))
        .flat_map(|at| [at, at + 1, at + side, at + side, at + 1, at + side + 1])
        .collect();
    let (low, high) = corners.split_at(corners.len() / 2 + 1);
    let mut writer = Writer::b().mesh("grid").shared(7, 18, 0, low).shared(7, 20, 0, high);
    for (part, widths) in [(first, [13, 13, 13]), (second, [11, 12, 14])] {
        let height = |x: u64, y: u64| (x * 7919 + y * 104_729) & 0x7ff;
        let vertices: Vec<_> = part.iter().map(|(x, y)| [*x, *y, height(*x, *y)]).collect();
        let normals: Vec<_> = part.iter().map(|(x, y)| (x & 7, height(*x, *y) & 127, y & 127)).collect();
        let uvs: Vec<_> = part.iter().map(|(x, y)| [*x, height(*x, *y)]).collect();
        let range = side as f64;
        writer = writer
            .vertices([0., range, 0., range, -1., 1.], widths, &vertices)
            .directions(3, 7, &normals)
            .uvs(14, &uvs);
    }
    writer.to_bytes()
}
