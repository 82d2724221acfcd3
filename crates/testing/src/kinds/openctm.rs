use super::kind::Kind;
use crate::fixtures::openctm::{Body, MG1, MG2, RAW};

pub(super) const KINDS: &[Kind] = &[
    Kind::new("openctm", "bodies, RAW", |n| {
        body(RAW, 0, 0, true).repeat(n)
    }),
    Kind::new("openctm", "bodies, MG1", |n| {
        body(MG1, 0, 0, true).repeat(n)
    }),
    Kind::new("openctm", "bodies, MG2", |n| {
        body(MG2, 0, 0, true).repeat(n)
    }),
    Kind::new("openctm", "uv maps of different names", |n| {
        body(RAW, n, 0, true)
    }),
    Kind::new("openctm", "uv maps of different images", |n| {
        maps(RAW, n, 0, |number| number.to_string(), image)
    }),
    Kind::new("openctm", "bodies of different images", |n| {
        let body = |number| maps(RAW, 1, 0, |_| "m".to_owned(), |_| image(number));
        (0..n).flat_map(body).collect()
    }),
    Kind::new("openctm", "uv maps of one name", |n| body(RAW, n, 0, false)),
    Kind::new("openctm", "attribute maps of different names", |n| {
        body(RAW, 0, n, true)
    }),
    Kind::new("openctm", "attribute maps of one name", |n| {
        body(RAW, 0, n, false)
    }),
    Kind::new("openctm", "uv maps x attribute maps", |n| {
        body(RAW, n, n, true)
    }),
    Kind::new("openctm", "uv maps x attribute maps of one name", |n| {
        body(RAW, n, n, false)
    }),
    Kind::new("openctm", "uv maps, MG1", |n| packed(MG1, n)),
    Kind::new("openctm", "uv maps, MG2", |n| packed(MG2, n)),
    Kind::new("openctm", "bodies x maps", |n| {
        body(RAW, n.isqrt(), n.isqrt(), true).repeat(n.isqrt().max(1))
    }),
    Kind::new("openctm", "comment", |n| {
        let mut body = Body::sheet(RAW, 2);
        body.comment = vec![b'x'; n];
        body.to_bytes()
    }),
    // As many as are kept when they have been decoded. More of them are decoded by each call.
    Kind::new("openctm", "bodies that make 200 times their size", |n| {
        bomb(16_000).repeat(n)
    })
    .at_most(1024),
    Kind::new(
        "openctm",
        "bodies that make 200 times their size, not kept",
        |n| bomb(16_000).repeat(n),
    )
    .with_max_total_bytes(16 << 20),
    Kind::new("openctm", "comments that fill the file", |n| {
        let mut body = Body::sheet(RAW, 2);
        body.comment = vec![b'x'; n * 16];
        body.to_bytes().repeat(4)
    })
    .with_headers(|_| 4096),
];

/// A triangle with `uv` UV maps and `attributes` attribute maps, each of a few bytes, whose names are all equal or all different.
fn body(method: [u8; 4], uv: usize, attributes: usize, different: bool) -> Vec<u8> {
    let name = |number: usize| {
        if different {
            format!("{number}")
        } else {
            "m".to_owned()
        }
    };
    maps(method, uv, attributes, name, |_| String::new())
}

/// The name of one of many images.
fn image(number: usize) -> String {
    format!("{number}.png")
}

/// A triangle with maps of these names and images.
fn maps(
    method: [u8; 4],
    uv: usize,
    attributes: usize,
    name: impl Fn(usize) -> String,
    image: impl Fn(usize) -> String,
) -> Vec<u8> {
    let mut body = Body::sheet(method, 2);
    body.positions.truncate(3);
    body.triangles.truncate(1);
    body.normals.clear();
    (body.flags, body.triangles[0]) = (0, [0, 1, 2]);
    body.uv_maps.clear();
    body.attribute_maps.clear();
    body.comment.clear();
    let mut out = body.to_bytes();
    out[20..24].copy_from_slice(&(uv as u32).to_le_bytes());
    out[24..28].copy_from_slice(&(attributes as u32).to_le_bytes());
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text.bytes());
    };
    for number in 0..uv {
        out.extend(b"TEXC");
        text(&mut out, &name(number));
        text(&mut out, &image(number));
        out.extend([0; 3 * 8]);
    }
    for number in 0..attributes {
        out.extend(b"ATTR");
        text(&mut out, &name(number));
        out.extend([0; 3 * 16]);
    }
    out
}

/// The same compressed, with one map that is there many times.
fn packed(method: [u8; 4], uv: usize) -> Vec<u8> {
    let mut body = Body::sheet(method, 2);
    (body.flags, body.uv_maps[0].0, body.uv_maps[0].1) = (0, "m", "");
    body.attribute_maps.clear();
    body.uv_maps.truncate(1);
    let one = body.to_bytes();
    body.uv_maps.clear();
    let none = body.to_bytes();
    let mut out = none.clone();
    out[20..24].copy_from_slice(&(uv as u32).to_le_bytes());
    (0..uv).for_each(|_| out.extend(&one[none.len()..]));
    out
}

/// Positions that are all zero.
pub fn bomb(vertices: usize) -> Vec<u8> {
    let mut body = Body::sheet(MG1, 2);
    (body.flags, body.positions) = (0, vec![[0.0; 3]; vertices]);
    body.uv_maps.clear();
    body.attribute_maps.clear();
    body.to_bytes()
}
