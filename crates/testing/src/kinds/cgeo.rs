use meshmap::Codec;
use meshmap::cgeo::{Dialect, OffsetTarget, SizeMeaning, raw};

use super::kind::Kind;
use crate::fixtures::cgeo::{
    Mesh, Snapshot, compress, file, header, header_with_names, long_names,
    naming_one as one_snapshot, snapshot, snapshot_bytes,
};

/// Nearly as many sections and map channels of a snapshot as are read.
const SECTIONS: usize = 250;
const CHANNELS: usize = 4000;

pub(super) const KINDS: &[Kind] = &[
    Kind::new("cgeo", "snapshots, stored", |n| snapshots(n, Codec::Stored)),
    Kind::new("cgeo", "snapshots, zlib", |n| snapshots(n, Codec::Zlib)),
    Kind::new(
        "cgeo",
        "snapshots of changing triangles",
        changing_triangles,
    ),
    Kind::new("cgeo", "boxes in a snapshot", |n| {
        sections(n, raw::TAG_BOUNDING_BOX, SizeMeaning::Stored)
    })
    .at_most(SECTIONS),
    Kind::new("cgeo", "clouds in a snapshot", |n| {
        sections(n, raw::TAG_POINTCLOUD, SizeMeaning::Stored)
    })
    .at_most(SECTIONS),
    Kind::new("cgeo", "meshes in a snapshot, stored size", |n| {
        sections(n, raw::TAG_MESH_DATA, SizeMeaning::Stored)
    })
    .at_most(SECTIONS),
    Kind::new(
        "cgeo",
        "meshes in a snapshot, stored size with header",
        |n| sections(n, raw::TAG_MESH_DATA, SizeMeaning::StoredWithHeader),
    )
    .at_most(SECTIONS),
    Kind::new("cgeo", "meshes in a snapshot, inflated size", |n| {
        sections(n, raw::TAG_MESH_DATA, SizeMeaning::Inflated)
    })
    .at_most(SECTIONS),
    Kind::new("cgeo", "unknown sections in a snapshot", |n| {
        sections(n, 7, SizeMeaning::Stored)
    })
    .at_most(SECTIONS),
    Kind::new(
        "cgeo",
        "unknown sections in a snapshot, inflated size",
        |n| sections(n, 7, SizeMeaning::Inflated),
    )
    .at_most(SECTIONS),
    Kind::new("cgeo", "sections x bytes behind them, stored size", |n| {
        sections_and_bytes(n, SizeMeaning::Stored)
    })
    .at_most(SECTIONS),
    Kind::new("cgeo", "sections x bytes behind them, inflated size", |n| {
        sections_and_bytes(n, SizeMeaning::Inflated)
    })
    .at_most(SECTIONS),
    Kind::new("cgeo", "snapshots x sections of each", |n| {
        snapshots_and_sections(n.isqrt().max(1))
    }),
    Kind::new("cgeo", "snapshots x sections of each, inflated size", |n| {
        let few = vec![section(7); n.isqrt().clamp(1, SECTIONS)];
        file(
            &vec![[few, whole()].concat(); n.isqrt().max(1)],
            zlib(SizeMeaning::Inflated),
        )
    }),
    Kind::new("cgeo", "entries of the table that name one snapshot", |n| {
        naming_one(n, 1)
    })
    .shared(),
    Kind::new(
        "cgeo",
        "entries that name one snapshot x its sections",
        |n| naming_one(n, n.min(SECTIONS)),
    )
    .shared(),
    // As many arrays, triangles or bytes of names together as items.
    Kind::new(
        "cgeo",
        "entries that name one snapshot x its map channels",
        |n| {
            let side = n.isqrt();
            naming(
                side,
                &Mesh {
                    texcoords: vec![Vec::new(); side.min(CHANNELS)],
                    ..Mesh::sheet(2, 0, 0.0)
                },
            )
        },
    )
    .shared(),
    Kind::new(
        "cgeo",
        "entries that name one snapshot x its triangles",
        |n| {
            naming(
                n.isqrt(),
                &Mesh::sheet((n.isqrt().isqrt() + 2) as u32, 1, 0.0),
            )
        },
    )
    .shared(),
    Kind::new("cgeo", "snapshots x names of the header", |n| {
        long_names(10 * n.isqrt(), n.isqrt().max(1))
    }),
    Kind::new(
        "cgeo",
        "entries that name one snapshot x bytes of names",
        |n| long_names(n, n / 8 + 1),
    )
    .shared(),
    Kind::new("cgeo", "snapshots x materials", |n| {
        let side = (1..)
            .take_while(|side| side * side * side <= n)
            .last()
            .unwrap_or(1);
        let triangles = 2 * side * side;
        let snapshots: Vec<Snapshot> = (0..side)
            .map(|first| {
                let materials = (first..first + triangles)
                    .map(|id| (id % 60_000) as u16)
                    .collect();
                let mesh = Mesh {
                    materials,
                    ..Mesh::sheet(side as u32 + 1, 0, 0.0)
                };
                snapshot(&mesh, mesh.complete())
            })
            .collect();
        file(&snapshots, zlib(SizeMeaning::Stored))
    }),
    Kind::new(
        "cgeo",
        "snapshots of changing triangles and materials",
        changing_materials,
    ),
    Kind::new("cgeo", "materials x bytes of their name", |n| {
        materials_with_a_long_name(n)
    }),
    // As many bytes as a MiB, which are inflated to find the section after them.
    Kind::new(
        "cgeo",
        "entries that name one snapshot x zeros to be skipped",
        |n| {
            let skipped = (7, vec![0; 1 << 20]);
            let sections = [vec![skipped], whole()].concat();
            one_snapshot(&sections, n, zlib(SizeMeaning::Inflated))
        },
    )
    .shared(),
    Kind::new("cgeo", "empty map channels", |n| channels(n, 1)),
    Kind::new("cgeo", "empty map channels x differences", |n| {
        channels(n.min(64), n)
    })
    .shared(),
    Kind::new("cgeo", "properties of the header", |n| {
        properties(n, "Some property: 7\n")
    }),
    Kind::new("cgeo", "lines of the header without a colon", |n| {
        properties(n, "text\n")
    }),
    Kind::new("cgeo", "equal bad properties", |n| {
        properties(n, "Scale: what\n")
    }),
];

fn stored() -> Dialect {
    Dialect::default().with_codec(Codec::Stored)
}

fn zlib(size: SizeMeaning) -> Dialect {
    Dialect::default().with_codec(Codec::Zlib).with_size(size)
}

fn whole() -> Snapshot {
    let mesh = Mesh::sheet(2, 0, 0.0);
    snapshot(&mesh, mesh.complete())
}

/// A file of these snapshots, as they are stored.
fn raw_file(
    mut out: Vec<u8>,
    snapshots: impl ExactSizeIterator<Item = Vec<u8>>,
    dialect: Dialect,
) -> Vec<u8> {
    let mut at = out.len();
    out.resize(at + snapshots.len() * 8, 0);
    out.extend(raw::TAG_ANIM_TABLE_END.to_le_bytes());
    for bytes in snapshots {
        let tag = if dialect.offset == OffsetTarget::StartTag {
            0
        } else {
            4
        };
        let offset = out.len() as u64 + tag;
        out[at..at + 8].copy_from_slice(&offset.to_le_bytes());
        at += 8;
        out.extend(bytes);
    }
    out
}

/// The first one whole, the others differences.
fn snapshots(n: usize, codec: Codec) -> Vec<u8> {
    let dialect = Dialect::default().with_codec(codec);
    let mesh = Mesh::sheet(2, 0, 0.0);
    let first = snapshot_bytes(&whole(), dialect);
    let second = snapshot_bytes(&snapshot(&mesh, mesh.difference(&mesh)), dialect);
    let all = (0..n).map(|index| {
        if index == 0 {
            first.clone()
        } else {
            second.clone()
        }
    });
    raw_file(header(n, dialect), all, dialect)
}

/// No snapshot has the triangles of the one before.
fn changing_triangles(n: usize) -> Vec<u8> {
    let bytes = |size| {
        let mesh = Mesh::sheet(size, 0, 0.0);
        snapshot_bytes(&snapshot(&mesh, mesh.complete()), stored())
    };
    let [small, large] = [bytes(2), bytes(3)];
    let all = (0..n).map(|index| {
        if index % 2 == 0 {
            small.clone()
        } else {
            large.clone()
        }
    });
    raw_file(header(n, stored()), all, stored())
}

/// No snapshot has the triangles of the one before, or a material of another one.
fn changing_materials(n: usize) -> Vec<u8> {
    let bytes = |index: usize| {
        let mut mesh = Mesh::sheet(2 + index as u32 % 2, 0, 0.0);
        let material = (index % 60_000) as u16;
        mesh.materials = vec![material; mesh.triangles.len()];
        snapshot_bytes(&snapshot(&mesh, mesh.complete()), stored())
    };
    raw_file(header(n, stored()), (0..n).map(bytes), stored())
}

/// A mesh of `n` materials, and a name of as many bytes for all of them.
fn materials_with_a_long_name(n: usize) -> Vec<u8> {
    let side = (n / 2).isqrt() as u32 + 2;
    let mut mesh = Mesh::sheet(side, 0, 0.0);
    let ids = 0..mesh.triangles.len();
    mesh.materials = ids.map(|id| (id % 60_000) as u16).collect();
    let bytes = snapshot_bytes(&snapshot(&mesh, mesh.complete()), stored());
    let header = header_with_names(&"m".repeat(n), "Sheet", 1, stored());
    raw_file(header, std::iter::once(bytes), stored())
}

fn section(tag: u32) -> (u32, Vec<u8>) {
    let mesh = Mesh::sheet(2, 0, 0.0);
    let content = match tag {
        raw::TAG_BOUNDING_BOX => mesh.bounding_box(),
        raw::TAG_POINTCLOUD => mesh.point_cloud(7),
        raw::TAG_MESH_DATA => mesh.complete(),
        _ => vec![1, 2, 3],
    };
    (tag, content)
}

fn sections(n: usize, tag: u32, size: SizeMeaning) -> Vec<u8> {
    let dialect = if size == SizeMeaning::Inflated {
        zlib(size)
    } else {
        stored().with_size(size)
    };
    file(&[[whole(), vec![section(tag); n]].concat()], dialect)
}

/// Sections before a large one, which somebody could read again for each of them.
fn sections_and_bytes(n: usize, size: SizeMeaning) -> Vec<u8> {
    let dialect = zlib(size);
    // It does not compress.
    let mut state = 1_u32;
    let content = (0..n * 200).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let mut sections = vec![section(7); n];
    sections.push((8, content.collect()));
    file(&[[whole(), sections].concat()], dialect)
}

fn snapshots_and_sections(n: usize) -> Vec<u8> {
    let bytes = snapshot_bytes(
        &[vec![section(7); n.min(SECTIONS)], whole()].concat(),
        stored(),
    );
    raw_file(header(n, stored()), (0..n).map(|_| bytes.clone()), stored())
}

fn naming_one(n: usize, sections: usize) -> Vec<u8> {
    one_snapshot(&[vec![section(7); sections], whole()].concat(), n, stored())
}

fn naming(n: usize, mesh: &Mesh) -> Vec<u8> {
    one_snapshot(&snapshot(mesh, mesh.complete()), n, stored())
}

/// `count` snapshots with `n` empty map channels; all except the first are differences.
pub fn channels(n: usize, count: usize) -> Vec<u8> {
    let mesh = Mesh {
        triangles: Vec::new(),
        texcoords: vec![Vec::new(); n],
        ..Mesh::sheet(2, 0, 0.0)
    };
    let whole = snapshot_bytes(&snapshot(&mesh, mesh.complete()), stored());
    let difference = snapshot_bytes(&snapshot(&mesh, mesh.difference(&mesh)), stored());
    let all = (0..count).map(|index| {
        if index == 0 {
            whole.clone()
        } else {
            difference.clone()
        }
    });
    raw_file(header(count, stored()), all, stored())
}

fn properties(n: usize, line: &str) -> Vec<u8> {
    let mut head = header(1, stored());
    let lines = line.repeat(n);
    // Before the number that ends the header and the tag of the table.
    let end = head.len() - 8;
    head.splice(end..end, lines.bytes());
    let size = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) + lines.len() as u32;
    head[1..5].copy_from_slice(&size.to_le_bytes());
    let bytes = snapshot_bytes(&whole(), stored());
    debug_assert_eq!(compress(b"x", stored()), b"x");
    raw_file(head, std::iter::once(bytes), stored())
}

/// A small mesh, and `count` others of `vertices` vertices, all of them zero.
pub fn small_before_large(count: usize, vertices: usize) -> Vec<u8> {
    let dialect = zlib(SizeMeaning::Stored);
    let large = Mesh {
        positions: vec![[0.0; 3]; vertices],
        ..Mesh::default()
    };
    let [first, others] = [whole(), snapshot(&large, large.complete())];
    let [first, others] = [first, others].map(|sections| snapshot_bytes(&sections, dialect));
    let all = (0..=count).map(|index| {
        if index == 0 {
            first.clone()
        } else {
            others.clone()
        }
    });
    raw_file(
        header(count + 1, dialect),
        all.collect::<Vec<_>>().into_iter(),
        dialect,
    )
}
