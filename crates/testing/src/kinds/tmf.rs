use super::kind::Kind;
use crate::fixtures::tmf::{Writer, floats};

/// The most segments of a mesh.
const SEGMENTS: usize = 65_000;

const BOX: [f64; 6] = [0., 1., 0., 1., 0., 1.];
const POINTS: [[u64; 3]; 3] = [[0, 1, 2], [3, 4, 5], [6, 7, 0]];

pub(super) const KINDS: &[Kind] = &[
    Kind::new("tmf", "empty meshes", |n| {
        let mut out = Writer::b().to_bytes();
        out[11..15].copy_from_slice(&(n as u32).to_le_bytes());
        out.extend(vec![0; n * 4]);
        out
    }),
    Kind::new("tmf", "meshes of one name", |n| {
        meshes(n, |_| "mesh".to_owned())
    }),
    Kind::new("tmf", "meshes of different names", |n| {
        meshes(n, |number| format!("m{number}"))
    }),
    Kind::new("tmf", "meshes whose names are no text", |n| {
        (0..n)
            .fold(Writer::b(), |writer, _| writer.mesh([0xff]))
            .to_bytes()
    }),
    Kind::new("tmf", "vertex segments", |n| {
        many(n, |writer| writer.vertices(BOX, [3, 3, 3], &POINTS))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "empty vertex segments", |n| {
        many(n, |writer| writer.vertices(BOX, [0, 0, 0], &[]))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "normal segments", |n| {
        many(n, |writer| writer.directions(3, 4, &[(0, 1, 2)]))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "tangent segments", |n| {
        many(n, |writer| writer.directions(9, 4, &[(0, 1, 2)]))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "uv segments", |n| {
        many(n, |writer| writer.uvs(3, &[[1, 2]]))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "index segments", |n| {
        many(n, |writer| writer.indices(2, 2, 0, &[0, 1, 2]))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "empty index segments", |n| {
        many(n, |writer| writer.indices(2, 0, 0, &[]))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "shared segments", |n| {
        many(n, |writer| writer.shared(15, 2, 0, &[0, 1, 2]))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "unknown segments", |n| {
        many(n, |writer| writer.segment(200, 0, &[]))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "custom segments of one name", |n| {
        custom(n, |_| "c".to_owned())
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "custom segments of different names", |n| {
        custom(n, |number| format!("c{number}"))
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "custom floats of different names", |n| {
        let add = |writer: Writer, number: usize| {
            writer.segment(16, 0, &floats(&number.to_string(), 4, &[1, 2, 3]))
        };
        (0..n).fold(whole(Writer::b()), add).to_bytes()
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "custom colours of different names", |n| {
        let add =
            |writer: Writer, number: usize| writer.colors(&number.to_string(), 4, &[[1, 2, 3, 4]]);
        (0..n).fold(whole(Writer::b()), add).to_bytes()
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "custom segments of every kind", |n| {
        let add = |writer: Writer, number: usize| {
            let name = number.to_string();
            match number % 4 {
                0 => writer.custom(15, &name, 2, 0, &[1, 2, 3]),
                1 => writer.custom(24, &name, 2, 0, &[1, 2, 3]),
                2 => writer.colors(&name, 4, &[[1, 2, 3, 4]]),
                _ => writer.segment(16, 0, &floats(&name, 4, &[1, 2, 3])),
            }
        };
        (0..n).fold(whole(Writer::b()), add).to_bytes()
    })
    .at_most(SEGMENTS),
    Kind::new("tmf", "meshes x custom segments", |n| {
        let side = n.isqrt();
        let mesh = |writer: Writer, _| {
            let writer = whole(writer);
            (0..side).fold(writer, |writer, number| {
                writer.custom(24, &number.to_string(), 2, 0, &[1, 2, 3])
            })
        };
        (0..side).fold(Writer::b(), mesh).to_bytes()
    }),
    Kind::new("tmf", "segments of all arrays", |n| {
        let all = |writer: Writer| {
            let writer = writer
                .vertices(BOX, [3, 3, 3], &POINTS)
                .directions(3, 4, &[(0, 1, 2)]);
            writer.uvs(3, &[[1, 2]]).shared(7, 2, 0, &[0, 1, 2])
        };
        many(n, all)
    })
    .at_most(SEGMENTS / 4),
    Kind::new("tmf", "shared triangles without bits", |n| {
        let data = [&[15, 0][..], &(n as u64 * 3).to_le_bytes(), &[0; 8]].concat();
        let mut file = whole(Writer::b())
            .uvs(3, &[[0, 1]])
            .segment(25, 0, &data)
            .to_bytes();
        // So that more numbers are allowed.
        file.extend(vec![0; n]);
        file
    }),
    Kind::new("tmf", "triangles of layout A", |n| {
        let numbers: Vec<u64> = (0..n as u64 * 3).map(|number| number % 3).collect();
        Writer::a()
            .mesh("")
            .vertices(BOX, [3, 3, 3], &POINTS)
            .indices(2, 2, 0, &numbers)
            .to_bytes()
    }),
    Kind::new("tmf", "segments that fill the file", |n| {
        let add = |writer: Writer, _| writer.mesh("big").segment(200, 0, &vec![7; n * 8]);
        (0..8).fold(Writer::b(), add).to_bytes()
    })
    .with_headers(|_| 256),
    Kind::new("tmf", "vertices that fill the file", |n| {
        let mut data = (n as u64 / 2).to_le_bytes().to_vec();
        data.extend(BOX.iter().flat_map(|number| number.to_le_bytes()));
        data.extend([64, 32, 32]);
        data.extend(vec![7; n * 8]);
        let add = |writer: Writer, _| writer.mesh("big").segment(1, 0, &data);
        (0..8).fold(Writer::b(), add).to_bytes()
    })
    .with_headers(|_| 1024),
];

fn whole(writer: Writer) -> Writer {
    writer
        .mesh("")
        .vertices(BOX, [3, 3, 3], &POINTS)
        .indices(2, 2, 0, &[0, 1, 2])
}

fn many(n: usize, add: impl Fn(Writer) -> Writer) -> Vec<u8> {
    (0..n)
        .fold(whole(Writer::b()), |writer, _| add(writer))
        .to_bytes()
}

fn meshes(n: usize, name: impl Fn(usize) -> String) -> Vec<u8> {
    let add = |writer: Writer, number| writer.mesh(name(number)).vertices(BOX, [3, 3, 3], &POINTS);
    (0..n).fold(Writer::b(), add).to_bytes()
}

fn custom(n: usize, name: impl Fn(usize) -> String) -> Vec<u8> {
    let add = |writer: Writer, number| writer.custom(24, &name(number), 2, 0, &[1, 2, 3]);
    (0..n).fold(whole(Writer::b()), add).to_bytes()
}
