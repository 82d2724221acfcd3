use super::kind::{Kind, words};
use crate::fixtures::iqm::{Writer, shared_vertices};

pub(super) const KINDS: &[Kind] = &[
    Kind::new("iqm", "empty meshes", |n| meshes(n, 0, &["a"])),
    Kind::new("iqm", "meshes of all vertices", |n| meshes(n, 3, &["a"])).shared(),
    Kind::new("iqm", "vertex arrays of one type", |n| {
        colors(Iqm::of_triangle(), n).finish()
    }),
    Kind::new("iqm", "custom vertex arrays of one name", |n| {
        arrays(Iqm::of_triangle(), n, false).finish()
    }),
    Kind::new("iqm", "custom vertex arrays of different names", |n| {
        arrays(Iqm::of_triangle(), n, true).finish()
    }),
    Kind::new("iqm", "meshes x vertex arrays of different names", |n| {
        let mut file = Iqm::of_triangle();
        file.meshes(n, 0, |_| 0);
        arrays(file, n, true).finish()
    }),
    Kind::new("iqm", "meshes x vertex arrays of one type", |n| {
        let mut file = Iqm::of_triangle();
        file.meshes(n, 0, |_| 0);
        colors(file, n).finish()
    }),
    Kind::new("iqm", "names into one long text", long_text).shared(),
    Kind::new("iqm", "names of joints into one long text", |n| {
        let mut file = Iqm::default();
        file.long_text(n * 8);
        file.joints(n, |joint| joint as u32);
        file.finish()
    }),
    Kind::new("iqm", "comment", |n| {
        Iqm::default().with(NUM_COMMENT, &vec![b'x'; n], n).finish()
    }),
    Kind::new("iqm", "anims", |n| anims(n, 1).finish()),
    Kind::new("iqm", "anims x frames", |n| anims(n, n).finish()),
    Kind::new(
        "iqm",
        "frames x bytes of the name of the animation and a joint",
        |n| {
            Writer::sheets(1, 2, 2)
                .frozen_as(&"x".repeat(n), 1, 1, (n / 4) as u32)
                .to_bytes()
        },
    ),
    Kind::new("iqm", "anims x frames x poses", |n| {
        let mut file = anims(n, n);
        file.poses(n);
        file.finish()
    }),
    Kind::new("iqm", "anims x frames x joints", |n| {
        let n = n as u32;
        Writer::sheets(1, 2, 2).frozen(n, n, n).to_bytes()
    }),
    Kind::new("iqm", "meshes x shared vertices", |n| {
        shared_vertices(n as u32, n as u32)
    })
    .shared(),
    Kind::new("iqm", "frames x poses without channels", |n| {
        let mut file = anims(1, n);
        file.poses(n);
        file.finish()
    }),
    Kind::new("iqm", "joints", |n| {
        let mut file = Iqm::default();
        file.joints(n, |_| 0);
        file.finish()
    }),
    Kind::new("iqm", "chain of joints that move a triangle", |n| {
        let mut file = Iqm::drawn();
        file.meshes(1, 1, |_| 0);
        file.joints(n, |_| 0);
        file.finish()
    }),
    Kind::new(
        "iqm",
        "meshes that are drawn, of different materials",
        |n| {
            let mut file = Iqm::drawn();
            let names = file.names(n);
            file.meshes(n, 1, |mesh| names[mesh]);
            file.finish()
        },
    ),
    Kind::new("iqm", "meshes that are drawn, of one name", |n| {
        let mut file = Iqm::drawn();
        let name = file.names(1)[0];
        file.meshes(n, 1, |_| name);
        file.finish()
    }),
    Kind::new(
        "iqm",
        "meshes that are drawn x bytes of their materials",
        |n| {
            let mut file = Iqm::drawn();
            file.long_text(n * 8);
            file.meshes(n, 1, |mesh| mesh as u32);
            file.finish()
        },
    )
    .shared(),
    Kind::new("iqm", "joints of one name", |n| {
        let mut file = Iqm::drawn();
        let name = file.names(1)[0];
        file.meshes(1, 1, |_| name);
        file.joints(n, |_| name);
        file.poses(n);
        file.finish()
    }),
    Kind::new("iqm", "anims of one name", |n| {
        let mut file = Iqm::drawn();
        let name = file.names(1)[0];
        file.meshes(1, 1, |_| name);
        file.joints(1, |_| name);
        file.poses(1);
        file.anims(n, 1, name);
        file.finish()
    }),
    Kind::new("iqm", "joints of different names", |n| {
        let mut file = Iqm::default();
        let names = file.names(n);
        file.joints(n, |joint| names[joint]);
        file.finish()
    }),
    Kind::new("iqm", "joints x poses", |n| {
        let mut file = Iqm::default();
        file.joints(n, |_| 0);
        file.poses(n);
        file.finish()
    }),
    Kind::new("iqm", "extensions of one name", |n| {
        extensions(n.min(64), false)
    })
    .at_most(64),
    Kind::new("iqm", "extensions of different names", |n| {
        extensions(n.min(64), true)
    })
    .at_most(64),
    Kind::new("iqm", "triangles out of range", |n| {
        let mut file = Iqm::of_triangle();
        file.section(NUM_TRIANGLES, &vec![9; n * 12], n as u32);
        file.meshes(1, n as u32, |_| 0);
        file.finish()
    }),
    Kind::new("iqm", "meshes of all triangles", |n| {
        let mut file = Iqm::of_triangle();
        file.section(NUM_TRIANGLES, &vec![0; n * 12], n as u32);
        file.meshes(n, n as u32, |_| 0);
        file.finish()
    })
    .shared(),
    Kind::new("iqm", "texts that fill the file", |n| {
        let mut file = Iqm::of_triangle();
        let text = [[b'x'; 63].as_slice(), &[0]].concat().repeat(n);
        file.section(NUM_TEXT, &text, text.len() as u32);
        file.meshes(4, 0, |_| 0);
        file.finish()
    })
    .with_headers(|n| 1024 + n * 64),
    Kind::new("iqm", "a name that fills the file", |n| {
        let mut file = Iqm::of_triangle();
        file.long_text(n * 64);
        file.meshes(4, 0, |_| 0);
        file.finish()
    }),
];

/// Fields of the header that say how many; the next one but `num_vertexarrays` says where.
const NUM_TEXT: usize = 3;
const NUM_MESHES: usize = 5;
const NUM_VERTEXARRAYS: usize = 7;
const NUM_VERTEXES: usize = 8;
const NUM_TRIANGLES: usize = 10;
const NUM_JOINTS: usize = 13;
const NUM_POSES: usize = 15;
const NUM_ANIMS: usize = 17;
const NUM_FRAMES: usize = 19;
const OFS_FRAMES: usize = 21;
const NUM_COMMENT: usize = 23;
const NUM_EXTENSIONS: usize = 25;

const HEADER: usize = 124;

/// A file of sections at multiples of four.
#[derive(Default)]
struct Iqm {
    fields: [u32; 27],
    body: Vec<u8>,
}

impl Iqm {
    fn of_triangle() -> Self {
        let mut this = Self::default();
        this.fields[NUM_VERTEXES] = 3;
        this
    }

    /// Three vertices with positions that are moved by the first joint, and a triangle of them.
    fn drawn() -> Self {
        let mut file = Self::of_triangle();
        let corners: Vec<u8> = [0.0_f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
            .into_iter()
            .flat_map(f32::to_le_bytes)
            .collect();
        let weights = [[255, 0, 0, 0]; 3].concat();
        let [position, indices, weights] =
            [&corners[..], &[0; 12], &weights].map(|bytes| file.append(bytes));
        let mut arrays = Vec::new();
        words(&mut arrays, [0, 0, 7, 3, position]);
        words(&mut arrays, [4, 0, 1, 4, indices]);
        words(&mut arrays, [5, 0, 1, 4, weights]);
        file.section(NUM_VERTEXARRAYS, &arrays, 3);
        let triangle: Vec<u8> = [0_u32, 1, 2]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        file.section(NUM_TRIANGLES, &triangle, 1);
        file
    }

    fn at(&self) -> u32 {
        (HEADER + self.body.len()) as u32
    }

    fn append(&mut self, bytes: &[u8]) -> u32 {
        let offset = self.at();
        self.body.extend(bytes);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        offset
    }

    fn section(&mut self, num: usize, bytes: &[u8], count: u32) {
        let offset = self.append(bytes);
        self.fields[num] = count;
        self.fields[if num == NUM_VERTEXARRAYS {
            num + 2
        } else {
            num + 1
        }] = offset;
    }

    fn with(mut self, num: usize, bytes: &[u8], count: usize) -> Self {
        self.section(num, bytes, count as u32);
        self
    }

    /// A text of `n` bytes, and the 0 byte that ends it.
    fn long_text(&mut self, n: usize) {
        let mut text = vec![b'x'; n];
        text.push(0);
        self.section(NUM_TEXT, &text, text.len() as u32);
    }

    /// Many texts, and their offsets in the text section.
    fn names(&mut self, n: usize) -> Vec<u32> {
        let mut text = vec![0];
        let mut offsets = Vec::new();
        for number in 0..n {
            offsets.push(text.len() as u32);
            text.extend(format!("n{number}\0").bytes());
        }
        self.section(NUM_TEXT, &text, text.len() as u32);
        offsets
    }

    fn meshes(&mut self, n: usize, triangles: u32, name: impl Fn(usize) -> u32) {
        let mut bytes = Vec::new();
        let vertices = self.fields[NUM_VERTEXES];
        for mesh in 0..n {
            words(
                &mut bytes,
                [name(mesh), name(mesh), 0, vertices, 0, triangles],
            );
        }
        self.section(NUM_MESHES, &bytes, n as u32);
    }

    fn joints(&mut self, n: usize, name: impl Fn(usize) -> u32) {
        let mut bytes = Vec::new();
        for joint in 0..n {
            words(
                &mut bytes,
                [
                    name(joint),
                    (joint as u32).wrapping_sub(1),
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                ],
            );
            words(&mut bytes, [1.0_f32.to_bits(); 4]);
        }
        self.section(NUM_JOINTS, &bytes, n as u32);
    }

    /// Animations of the same frames.
    fn anims(&mut self, n: usize, frames: u32, name: u32) {
        let mut bytes = Vec::new();
        for _ in 0..n {
            words(&mut bytes, [name, 0, frames, 30.0_f32.to_bits(), 0]);
        }
        self.section(NUM_ANIMS, &bytes, n as u32);
        self.fields[NUM_FRAMES] = frames;
        self.fields[OFS_FRAMES] = self.append(&[0; 4]);
    }

    fn poses(&mut self, n: usize) {
        let mut bytes = Vec::new();
        for pose in 0..n {
            words(&mut bytes, [(pose as u32).wrapping_sub(1), 0]);
            words(&mut bytes, [0; 20]);
        }
        self.section(NUM_POSES, &bytes, n as u32);
    }

    fn finish(mut self) -> Vec<u8> {
        if self.fields[NUM_TEXT] == 0 {
            self.section(NUM_TEXT, &[0], 1);
        }
        let mut out = b"INTERQUAKEMODEL\0".to_vec();
        let mut fields = self.fields;
        fields[0] = 2;
        fields[1] = self.at();
        words(&mut out, fields);
        out.extend(&self.body);
        out
    }
}

fn meshes(n: usize, triangles: u32, names: &[&str]) -> Vec<u8> {
    let mut file = Iqm::of_triangle();
    let text = format!("\0{}\0", names.join("\0"));
    file.section(NUM_TEXT, text.as_bytes(), text.len() as u32);
    file.section(NUM_TRIANGLES, &vec![0; triangles as usize * 12], triangles);
    file.meshes(n, triangles, |_| 1);
    file.finish()
}

/// Arrays of four bytes a vertex, which all are the same ones.
fn arrays(mut file: Iqm, n: usize, different: bool) -> Iqm {
    const CUSTOM: u32 = 0x10;
    const UBYTE: u32 = 1;
    let names = file.names(n);
    let data = file.append(&[0; 36]);
    let mut bytes = Vec::new();
    for name in names
        .iter()
        .map(|name| if different { *name } else { names[0] })
    {
        words(&mut bytes, [CUSTOM + name, 0, UBYTE, 4, data]);
    }
    file.section(NUM_VERTEXARRAYS, &bytes, n as u32);
    file
}

/// Arrays of the type of colours.
fn colors(mut file: Iqm, n: usize) -> Iqm {
    let data = file.append(&[0; 36]);
    let mut bytes = Vec::new();
    (0..n).for_each(|_| words(&mut bytes, [6, 0, 1, 4, data]));
    file.section(NUM_VERTEXARRAYS, &bytes, n as u32);
    file
}

/// Names that begin anywhere in one text.
fn long_text(n: usize) -> Vec<u8> {
    let mut file = Iqm::of_triangle();
    file.long_text(n * 8);
    file.meshes(n, 0, |mesh| mesh as u32);
    file.finish()
}

fn anims(n: usize, frames: usize) -> Iqm {
    let mut file = Iqm::default();
    file.anims(n, frames as u32, 0);
    file
}

fn extensions(n: usize, different: bool) -> Vec<u8> {
    let mut file = Iqm::default();
    let names = file.names(n);
    let first = file.at();
    let mut bytes = Vec::new();
    for index in 0..n {
        let next = if index + 1 < n {
            first + (index as u32 + 1) * 16
        } else {
            0
        };
        words(
            &mut bytes,
            [names[if different { index } else { 0 }], 0, 0, next],
        );
    }
    file.section(NUM_EXTENSIONS, &bytes, n as u32);
    file.finish()
}
