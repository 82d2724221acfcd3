use super::kind::Kind;
use crate::fixtures::slmesh::{Llsd, Writer, entry, hulls, no_geometry, sheet, skin};

/// The most keys, faces and joints that are read.
const MOST: usize = 4090;

pub(super) const KINDS: &[Kind] = &[
    Kind::new("slmesh", "keys of the header", |n| {
        keys(n, |_| Llsd::Undefined)
    })
    .at_most(MOST),
    Kind::new("slmesh", "keys of the header that are blocks", |n| {
        keys(n, |_| entry(0, 0))
    })
    .at_most(MOST),
    Kind::new("slmesh", "keys that name one block", |n| {
        let content = Llsd::Array(vec![sheet(3, 0)]).to_bytes();
        one_block(n, miniz_oxide::deflate::compress_to_vec_zlib(&content, 6))
    })
    .at_most(MOST)
    .shared(),
    Kind::new("slmesh", "keys that name one block x its bytes", |n| {
        // 100 bytes for each key, and a tenth of that stored.
        one_block(
            n,
            miniz_oxide::deflate::compress_to_vec_zlib(
                &Llsd::Binary(vec![7; n * 100]).to_bytes(),
                6,
            ),
        )
    })
    .at_most(MOST)
    .shared(),
    Kind::new(
        "slmesh",
        "keys that name one stored block x its bytes",
        |n| one_block(n, vec![7; n * 1000]),
    )
    .at_most(MOST)
    .shared(),
    Kind::new("slmesh", "keys x long names", |n| {
        let mut out = vec![b'{'];
        out.extend((n as u32).to_be_bytes());
        for number in 0..n {
            let name = format!("{}{number}", "k".repeat(200));
            out.push(b'k');
            out.extend((name.len() as u32).to_be_bytes());
            out.extend(name.bytes());
            out.extend(entry(0, 0).to_bytes());
        }
        out.push(b'}');
        out
    })
    .at_most(MOST),
    Kind::new("slmesh", "values in the header", |n| {
        with_block(
            vec![("extra", Llsd::Array(vec![Llsd::Undefined; n]))],
            &block_of(sheet(2, 0)),
        )
    }),
    Kind::new("slmesh", "map in the header", |n| {
        with_block(
            vec![("extra", Llsd::Map(vec![("k", Llsd::Undefined); n]))],
            &block_of(sheet(2, 0)),
        )
    }),
    Kind::new("slmesh", "nested arrays in the header", |n| {
        let nested = nested(40);
        with_block(
            vec![("extra", Llsd::Array(vec![nested; n]))],
            &block_of(sheet(2, 0)),
        )
    }),
    Kind::new("slmesh", "nested arrays in a block", |n| {
        block(
            "high_lod",
            &Llsd::Array(vec![
                sheet(2, 0),
                Llsd::Map(vec![("k", Llsd::Array(vec![nested(40); n]))]),
            ]),
        )
    }),
    Kind::new("slmesh", "values in an unknown block", |n| {
        block("some_block", &Llsd::Array(vec![Llsd::Undefined; n]))
    }),
    Kind::new("slmesh", "empty faces", |n| {
        block("high_lod", &Llsd::Array(vec![no_geometry(); n]))
    })
    .at_most(MOST),
    Kind::new("slmesh", "faces", |n| {
        block("high_lod", &Llsd::Array(vec![sheet(2, 2); n]))
    })
    .at_most(MOST),
    Kind::new("slmesh", "undefined keys of a face", |n| {
        let mut fields = vec![("k", Llsd::Undefined); n];
        fields.push(("NoGeometry", Llsd::Boolean(true)));
        block("high_lod", &Llsd::Array(vec![Llsd::Map(fields)]))
    }),
    Kind::new("slmesh", "faces x undefined keys", |n| {
        let mut fields = vec![("k", Llsd::Undefined); n.isqrt()];
        fields.push(("NoGeometry", Llsd::Boolean(true)));
        block("high_lod", &Llsd::Array(vec![Llsd::Map(fields); n.isqrt()]))
    })
    .at_most(MOST * MOST),
    Kind::new("slmesh", "equal keys of a face", |n| {
        let Llsd::Map(fields) = sheet(2, 2) else {
            unreachable!()
        };
        block(
            "high_lod",
            &Llsd::Array(vec![Llsd::Map(vec![fields; n].concat())]),
        )
    }),
    Kind::new("slmesh", "weights", |n| {
        let side = n.isqrt().clamp(2, 255) as u16;
        block("high_lod", &Llsd::Array(vec![sheet(side, 3)]))
    })
    .at_most(65_000),
    Kind::new("slmesh", "indices out of range", |n| {
        let Llsd::Map(mut fields) = sheet(2, 0) else {
            unreachable!()
        };
        fields.retain(|(key, _)| *key != "TriangleList");
        fields.push(("TriangleList", Llsd::u16s((0..n * 3).map(|_| 9))));
        block("high_lod", &Llsd::Array(vec![Llsd::Map(fields)]))
    }),
    Kind::new("slmesh", "joints", |n| block("skin", &joints(n))).at_most(MOST),
    Kind::new("slmesh", "faces x joints", |n| {
        let faces = Llsd::Array(vec![sheet(2, 2); n]);
        let writer = Writer::default().stored("high_lod", &zlib(&faces.to_bytes()));
        writer
            .stored("skin", &zlib(&joints(n).to_bytes()))
            .to_bytes()
    })
    .at_most(MOST),
    Kind::new("slmesh", "hulls", |n| {
        let Llsd::Map(mut fields) = hulls(&[]) else {
            unreachable!()
        };
        fields.retain(|(key, _)| *key != "HullList" && *key != "Positions");
        fields.push(("HullList", Llsd::Binary(vec![4; n])));
        fields.push((
            "Positions",
            Llsd::u16s((0..n * 12).map(|number| number as u16)),
        ));
        block("physics_convex", &Llsd::Map(fields))
    }),
    Kind::new("slmesh", "hulls that claim what is not there", |n| {
        let Llsd::Map(mut fields) = hulls(&[]) else {
            unreachable!()
        };
        fields.retain(|(key, _)| *key != "HullList");
        fields.push(("HullList", Llsd::Binary(vec![255; n])));
        block("physics_convex", &Llsd::Map(fields))
    }),
    Kind::new("slmesh", "assets of an upload cache", |n| {
        let asset = Llsd::String(block_of_bytes());
        let map = vec![
            ("instance", Llsd::Array(Vec::new())),
            ("mesh", Llsd::Array(vec![asset; n])),
        ];
        Llsd::Map(map).to_bytes()
    })
    .at_most(MOST),
];

/// A skin of many joints.
fn joints(n: usize) -> Llsd {
    let Llsd::Map(mut fields) = skin(1) else {
        unreachable!()
    };
    fields.retain(|(key, _)| !key.contains("inverse") && *key != "joint_names");
    let matrix = Llsd::reals((0..16).map(|place| f64::from(place % 5 == 0)));
    fields.push(("inverse_bind_matrix", Llsd::Array(vec![matrix; n])));
    fields.push((
        "joint_names",
        Llsd::Array((0..n).map(|n| Llsd::String(n.to_string().into())).collect()),
    ));
    Llsd::Map(fields)
}

fn nested(depth: usize) -> Llsd {
    (0..depth).fold(Llsd::Undefined, |inner, _| Llsd::Array(vec![inner]))
}

fn block_of(face: Llsd) -> Llsd {
    Llsd::Array(vec![face])
}

fn block_of_bytes() -> Vec<u8> {
    block("high_lod", &block_of(no_geometry()))
}

/// Content that compresses well is stored as it is, so that the file grows with its content.
fn zlib(content: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(content, 0)
}

fn block(name: &'static str, content: &Llsd) -> Vec<u8> {
    Writer::default()
        .stored(name, &zlib(&content.to_bytes()))
        .to_bytes()
}

fn with_block(keys: Vec<(&'static str, Llsd)>, content: &Llsd) -> Vec<u8> {
    let writer = keys
        .into_iter()
        .fold(Writer::default(), |writer, (key, value)| {
            writer.key(key, value)
        });
    writer
        .stored("high_lod", &zlib(&content.to_bytes()))
        .to_bytes()
}

fn keys(n: usize, value: impl Fn(usize) -> Llsd) -> Vec<u8> {
    let mut out = vec![b'{'];
    out.extend((n as u32).to_be_bytes());
    let known = [
        "high_lod",
        "medium_lod",
        "low_lod",
        "lowest_lod",
        "physics_mesh",
        "skin",
        "physics_convex",
    ];
    for number in 0..n {
        let name = known
            .get(number)
            .map_or_else(|| format!("k{number}"), |name| name.to_string());
        out.push(b'k');
        out.extend((name.len() as u32).to_be_bytes());
        out.extend(name.bytes());
        out.extend(value(number).to_bytes());
    }
    out.push(b'}');
    out
}

/// Keys of which each says that it is the same block.
fn one_block(n: usize, stored: Vec<u8>) -> Vec<u8> {
    let mut out = keys(n, |_| entry(0, stored.len()));
    out.extend(stored);
    out
}

/// An asset with `n` keys, each of which names the same block of `bytes` zeros.
pub fn one_block_of_zeros(n: usize, bytes: usize) -> Vec<u8> {
    one_block(
        n,
        miniz_oxide::deflate::compress_to_vec_zlib(&Llsd::Binary(vec![0; bytes]).to_bytes(), 6),
    )
}
