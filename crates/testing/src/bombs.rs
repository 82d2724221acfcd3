//! Small files that become huge, made of any file: streams that inflate to as much as is wanted, and counts of billions.

use bytes::Bytes;
use meshmap::cgeo::{Dialect, Proxy, raw};
use meshmap::openctm::Container;
use meshmap::slmesh::Asset;
use meshmap::{Codec, MeshFile, Options, Source};

use crate::fixtures;
use crate::fixtures::slmesh::{Llsd, Writer};

/// A file and what was done to it.
pub type Bomb = (String, Vec<u8>);

/// The file with each of its compressed blocks in turn replaced by one that inflates to `size` bytes. None for files
/// without such blocks.
pub fn of_blocks(body: &Bytes, size: usize) -> Vec<Bomb> {
    match MeshFile::from_source(Source::from_bytes(body.clone()), &Options::default()) {
        Ok(MeshFile::CGeo(proxy)) => of_sections(&proxy, size),
        Ok(MeshFile::OpenCtm(bodies)) => of_streams(body, &bodies, size),
        Ok(MeshFile::SlMesh(asset)) => of_asset(&asset, size),
        _ => Vec::new(),
    }
}

fn filled(mut content: Vec<u8>, size: usize) -> Vec<u8> {
    content.resize(size.max(content.len()), 0);
    content
}

fn of_sections(proxy: &Proxy, size: usize) -> Vec<Bomb> {
    const SNAPSHOTS: usize = 3;
    let tags = [
        raw::TAG_BOUNDING_BOX,
        raw::TAG_POINTCLOUD,
        raw::TAG_MESH_DATA,
    ];
    let sections = |index: usize| {
        let snapshot = proxy.snapshot(index).ok()?;
        let stored = snapshot.sections().ok()?;
        let content = |tag| {
            let section = stored.iter().find(|section| section.tag == tag)?;
            Some((
                tag,
                proxy.source().read(section.content.clone()).ok()?.to_vec(),
            ))
        };
        Some(
            tags.into_iter()
                .filter_map(content)
                .collect::<fixtures::cgeo::Snapshot>(),
        )
    };
    let snapshots: Vec<_> = (0..proxy.snapshot_count().min(SNAPSHOTS))
        .filter_map(sections)
        .collect();
    let counted = |counts: [usize; 4]| {
        let counts = counts
            .iter()
            .flat_map(|count| (*count as u32).to_le_bytes());
        filled(std::iter::once(1).chain(counts).collect(), size)
    };
    let items = size / 12;
    let mut bombs = Vec::new();
    for index in 0..snapshots.len() {
        for section in 0..snapshots[index].len() {
            let own = snapshots[index][section].1.clone();
            let mut contents = vec![("filled", filled(own, size))];
            match snapshots[index][section].0 {
                raw::TAG_MESH_DATA => contents.extend([
                    ("of many vertices", counted([items, 0, 0, 0])),
                    ("of many normals", counted([1, items, 0, 0])),
                    ("of many map channels", counted([1, 1, size / 4 - 16, 0])),
                    ("of many triangles", counted([1, 1, 0, items])),
                ]),
                raw::TAG_POINTCLOUD => {
                    contents.push((
                        "of many points",
                        filled((items as u64 - 1).to_le_bytes().to_vec(), size),
                    ));
                }
                _ => {}
            }
            for (how, content) in contents {
                let mut changed = snapshots.clone();
                changed[index][section].1 = content;
                let dialect = Dialect::default().with_codec(Codec::Zlib);
                let name = format!("section {section} of snapshot {index} {how}");
                bombs.push((name, fixtures::cgeo::file(&changed, dialect)));
            }
        }
    }
    bombs
}

/// All streams at once, and as many vertices or triangles as fit them.
fn of_streams(body: &Bytes, bodies: &Container, size: usize) -> Vec<Bomb> {
    let Ok(mesh) = bodies.mesh(0) else {
        return Vec::new();
    };
    let (properties, stream) = fixtures::openctm::lzma(&vec![0; size]);
    let mut file = body[..body
        .len()
        .min(usize::try_from(mesh.range().end).unwrap_or(0))]
        .to_vec();
    let mut blocks = mesh.blocks();
    blocks.sort_by_key(|block| std::cmp::Reverse(block.range.start));
    for block in &blocks {
        let [start, end] =
            [block.range.start, block.range.end].map(|at| usize::try_from(at).unwrap_or(0));
        // The properties are before the stream, or the first of it.
        let start = if file.get(start.wrapping_sub(4)..start)
            == Some(&((end - start) as u32 - 5).to_le_bytes())
        {
            start
        } else {
            start.saturating_sub(5)
        };
        if start < 4 || end > file.len() {
            return Vec::new();
        }
        file.splice(start..end, [&properties[..], &stream].concat());
        file[start - 4..start].copy_from_slice(&(stream.len() as u32).to_le_bytes());
    }
    let with = |what: &str, vertices: usize, triangles: usize| {
        let mut file = file.clone();
        file[12..16].copy_from_slice(&(vertices as u32).to_le_bytes());
        file[16..20].copy_from_slice(&(triangles as u32).to_le_bytes());
        (format!("streams {what}"), file)
    };
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![
        with("of many vertices", size / 12, 1),
        with("of many triangles", 3, size / 12),
        with("of both", size / 16, size / 12),
    ]
}

fn of_asset(asset: &Asset, size: usize) -> Vec<Bomb> {
    let known = [
        "high_lod",
        "medium_lod",
        "low_lod",
        "lowest_lod",
        "physics_mesh",
        "physics_convex",
        "skin",
    ];
    let block = |name: &&'static str| Some((*name, asset.raw_block(name).ok()??));
    let blocks: Vec<_> = known.iter().filter_map(block).collect();
    let faces = |face: Llsd| {
        let count = (size / face.to_bytes().len()).min(4090);
        Llsd::Array(vec![face; count]).to_bytes()
    };
    let mut bombs = Vec::new();
    for (index, (name, bytes)) in blocks.iter().enumerate() {
        let Llsd::Map(fields) = fixtures::slmesh::sheet(2, 2) else {
            continue;
        };
        let with = |field: &str, binary: usize| {
            let mut fields = fields.clone();
            fields
                .iter_mut()
                .filter(|(key, _)| *key == field)
                .for_each(|(_, value)| {
                    *value = Llsd::Binary(vec![0; binary]);
                });
            filled(Llsd::Array(vec![Llsd::Map(fields)]).to_bytes(), 0)
        };
        let contents = [
            ("filled", filled(bytes.to_vec(), size)),
            ("of many bytes", Llsd::Binary(vec![0; size - 64]).to_bytes()),
            (
                "of many values",
                Llsd::Array(vec![Llsd::Undefined; size - 64]).to_bytes(),
            ),
            ("of many faces", faces(fixtures::slmesh::no_geometry())),
            ("of many real faces", faces(fixtures::slmesh::sheet(2, 2))),
            (
                "of many indices",
                with("TriangleList", (size - 2048) / 6 * 6),
            ),
            ("of many positions", with("Position", (size - 2048) / 6 * 6)),
        ];
        for (how, content) in contents {
            let mut writer = Writer::default();
            for (other, (name, bytes)) in blocks.iter().enumerate() {
                let content = if other == index { &content[..] } else { bytes };
                writer = writer.stored(
                    name,
                    &miniz_oxide::deflate::compress_to_vec_zlib(content, 6),
                );
            }
            bombs.push((format!("{name} {how}"), writer.to_bytes()));
        }
    }
    bombs
}

/// The first bytes of the file, with each four and each eight of them in turn set to large numbers, in both byte orders.
pub fn of_counts(body: &[u8], first: usize, step: usize) -> impl Iterator<Item = Bomb> + '_ {
    let values = [
        u64::MAX,
        1 << 40,
        0xffff_ffff,
        0x7fff_ffff,
        0x0fff_ffff,
        0x00ff_ffff,
        0x000f_ffff,
        0xffff,
    ];
    (0..first.min(body.len()))
        .step_by(step)
        .flat_map(move |at| {
            values.into_iter().flat_map(move |value| {
                [
                    value.to_le_bytes().to_vec(),
                    value.to_le_bytes()[..4].to_vec(),
                    (value as u32).to_be_bytes().to_vec(),
                ]
                .into_iter()
                .filter(move |bytes| at + bytes.len() <= body.len())
                .map(move |bytes| {
                    let mut bomb = body.to_vec();
                    bomb[at..at + bytes.len()].copy_from_slice(&bytes);
                    (format!("{bytes:02x?} at {at:#x}"), bomb)
                })
            })
        })
}
