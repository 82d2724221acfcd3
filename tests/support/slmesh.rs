//! A writer of mesh assets, and of the LLSD in them.

use std::iter;

/// A value of LLSD.
#[derive(Clone)]
pub(crate) enum Llsd {
    Undefined,
    Boolean(bool),
    Integer(i32),
    Real(f64),
    Uuid([u8; 16]),
    Date(f64),
    String(Vec<u8>),
    Binary(Vec<u8>),
    Array(Vec<Llsd>),
    Map(Vec<(&'static str, Llsd)>),
    /// As it is.
    Raw(Vec<u8>),
}

impl Llsd {
    pub(crate) fn reals(numbers: impl IntoIterator<Item = f64>) -> Self {
        Self::Array(numbers.into_iter().map(Self::Real).collect())
    }

    pub(crate) fn u16s(numbers: impl IntoIterator<Item = u16>) -> Self {
        Self::Binary(numbers.into_iter().flat_map(u16::to_le_bytes).collect())
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        let sized = |tag: u8, bytes: &[u8], out: &mut Vec<u8>| {
            out.push(tag);
            out.extend((bytes.len() as u32).to_be_bytes());
            out.extend(bytes);
        };
        match self {
            Self::Undefined => out.push(b'!'),
            Self::Boolean(value) => out.push(if *value { b'1' } else { b'0' }),
            Self::Integer(value) => out.extend(iter::once(b'i').chain(value.to_be_bytes())),
            Self::Real(value) => out.extend(iter::once(b'r').chain(value.to_be_bytes())),
            Self::Uuid(value) => out.extend(iter::once(b'u').chain(*value)),
            Self::Date(value) => out.extend(iter::once(b'd').chain(value.to_le_bytes())),
            Self::String(bytes) => sized(b's', bytes, out),
            Self::Binary(bytes) => sized(b'b', bytes, out),
            Self::Array(values) => {
                out.push(b'[');
                out.extend((values.len() as u32).to_be_bytes());
                values.iter().for_each(|value| value.write(out));
                out.push(b']');
            }
            Self::Map(entries) => {
                out.push(b'{');
                out.extend((entries.len() as u32).to_be_bytes());
                for (key, value) in entries {
                    sized(b'k', key.as_bytes(), out);
                    value.write(out);
                }
                out.push(b'}');
            }
            Self::Raw(bytes) => out.extend(bytes),
        }
    }
}

/// An asset while it is written: keys of the header, and blocks as they are stored.
#[derive(Default)]
pub(crate) struct Writer {
    header: Vec<(&'static str, Llsd)>,
    blocks: Vec<u8>,
}

impl Writer {
    pub(crate) fn key(mut self, key: &'static str, value: Llsd) -> Self {
        self.header.push((key, value));
        self
    }

    /// A block of this content, compressed.
    pub(crate) fn block(self, name: &'static str, content: &Llsd) -> Self {
        self.stored(name, &miniz_oxide::deflate::compress_to_vec_zlib(&content.to_bytes(), 9))
    }

    /// A block of these bytes.
    pub(crate) fn stored(mut self, name: &'static str, bytes: &[u8]) -> Self {
        let entry = entry(self.blocks.len(), bytes.len());
        self.blocks.extend(bytes);
        self.key(name, entry)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Llsd::Map(self.header.clone()).to_bytes();
        out.extend(&self.blocks);
        out
    }
}

/// What a header says of a block.
pub(crate) fn entry(offset: usize, size: usize) -> Llsd {
    let number = |number: usize| Llsd::Integer(number as i32);
    Llsd::Map(vec![("offset", number(offset)), ("size", number(size))])
}

/// The face of a sheet of `side` by `side` vertices, with weights if asked.
pub(crate) fn sheet(side: u16, joints: u8) -> Llsd {
    let vertices = || (0..side).flat_map(move |y| (0..side).map(move |x| (x, y)));
    // Not smooth: inflating is to be as much work as it is with real meshes.
    let noise =
        |x: u16, y: u16| ((u32::from(x) * 7919) ^ (u32::from(y) * 104_729)).wrapping_mul(0x9e37_79b1) >> 20;
    let step = 65_535 / side.max(2);
    let positions = vertices().flat_map(|(x, y)| [x * step, y * step, 30_000 + noise(x, y) as u16]);
    let normals = vertices().flat_map(|(x, y)| [32_767 + noise(y, x) as u16, 32_000, 65_000]);
    let tex_coords = vertices().flat_map(|(x, y)| [x * step, 65_535 - y * step]);
    let mut indices = Vec::new();
    for (x, y) in vertices().filter(|(x, y)| x + 1 < side && y + 1 < side) {
        let at = y * side + x;
        indices.extend([at, at + 1, at + side, at + side, at + 1, at + side + 1]);
    }
    let domain = |lanes: usize, least: f64, most: f64| {
        let corner = |number: f64| Llsd::reals(iter::repeat_n(number, lanes));
        Llsd::Map(vec![("Max", corner(most)), ("Min", corner(least))])
    };
    let mut fields = vec![
        ("Normal", Llsd::u16s(normals)),
        ("NormalizedScale", Llsd::reals([1.0, 2.0, 3.0])),
        ("Position", Llsd::u16s(positions)),
        ("PositionDomain", domain(3, -0.5, 0.4375)),
        ("TexCoord0", Llsd::u16s(tex_coords)),
        ("TexCoord0Domain", domain(2, -0.25, 1.25)),
        ("TriangleList", Llsd::u16s(indices)),
    ];
    if joints > 0 {
        let weights = vertices().flat_map(|(x, y)| {
            // One to four influences.
            let count = 1 + (x + y) % 4;
            let influence = |number: u16| {
                let [low, high] = (65_535 / count).to_le_bytes();
                [((x + number) % u16::from(joints)) as u8, low, high]
            };
            let end = (count < 4).then_some(0xff);
            (0..count).flat_map(influence).chain(end).collect::<Vec<_>>()
        });
        fields.push(("Weights", Llsd::Binary(weights.collect())));
    }
    Llsd::Map(fields)
}

/// A face without geometry.
pub(crate) fn no_geometry() -> Llsd {
    Llsd::Map(vec![("NoGeometry", Llsd::Boolean(true))])
}

/// A skin of so many joints.
pub(crate) fn skin(joints: u8) -> Llsd {
    let matrix = |joint: u8| Llsd::reals((0..16).map(|place| f64::from(place == joint % 16)));
    let name = |joint: u8| Llsd::String(format!("mJoint{joint}").into_bytes());
    Llsd::Map(vec![
        ("alt_inverse_bind_matrix", Llsd::Array((0..joints).map(matrix).collect())),
        ("bind_shape_matrix", matrix(0)),
        ("inverse_bind_matrix", Llsd::Array((0..joints).map(matrix).collect())),
        ("joint_names", Llsd::Array((0..joints).map(name).collect())),
        ("lock_scale_if_joint_position", Llsd::Boolean(true)),
        ("pelvis_offset", Llsd::Real(0.0625)),
    ])
}

/// Hulls of these sizes, and one around everything.
pub(crate) fn hulls(sizes: &[u16]) -> Llsd {
    let points = |count: u16| Llsd::u16s((0..count * 3).map(|number| number * 21));
    Llsd::Map(vec![
        ("BoundingVerts", points(8)),
        ("HullList", Llsd::Binary(sizes.iter().map(|size| *size as u8).collect())),
        ("Max", Llsd::reals([0.5, 0.25, 1.0])),
        ("Min", Llsd::reals([-0.5, -0.25, 0.0])),
        ("Positions", points(sizes.iter().sum())),
    ])
}

/// A small asset with everything.
pub(crate) fn everything() -> Vec<u8> {
    let lod = |side| Llsd::Array(vec![sheet(side, 3), no_geometry(), sheet(2, 3)]);
    Writer::default()
        .key("version", Llsd::Integer(1))
        .key("creator", Llsd::Uuid([7; 16]))
        .key("date", Llsd::Date(1.5e9))
        .key("submodel_id", Llsd::Integer(2))
        .key("physics_cost_data", Llsd::Map(vec![("hull", Llsd::Real(1.5)), ("mesh", Llsd::reals([0.5; 9]))]))
        .block("skin", &skin(3))
        .block("physics_convex", &hulls(&[4, 5]))
        .block("lowest_lod", &lod(2))
        .block("low_lod", &lod(3))
        .block("medium_lod", &lod(4))
        .block("high_lod", &lod(5))
        .block("physics_mesh", &Llsd::Array(vec![sheet(3, 0)]))
        .block("some_block", &Llsd::Integer(7))
        .to_bytes()
}

/// A large asset: four levels of detail of eight faces each, with weights and a skin.
pub(crate) fn large(side: u16) -> Vec<u8> {
    let lod = |side: u16| Llsd::Array(vec![sheet(side, 110); 8]);
    Writer::default()
        .block("lowest_lod", &lod(side / 8))
        .block("low_lod", &lod(side / 4))
        .block("medium_lod", &lod(side / 2))
        .block("high_lod", &lod(side))
        .block("physics_convex", &hulls(&[16, 256, 8]))
        .block("skin", &skin(110))
        .to_bytes()
}
