//! The crates `serde-llsd` and `flate2`, with what is then left to be written by hand: how a Second Life mesh is read in
//! Rust without meshmap.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use bytes::Bytes;
use flate2::read::ZlibDecoder;
use meshmap::slmesh::{Asset, Face, Lod, Mesh, MeshBuffer, WeightScale};
use meshmap::{Options, Parallelism, Scratch, Source};
use meshmap_testing::fixtures;
use meshmap_testing::measure::{Table, interleave};
use rayon::prelude::*;
use serde_llsd::LLSDValue;

/// Assets of eight faces of 20,000 vertices each: with skin and weights, and (in the corpus) without.
fn large() -> Result<Vec<Bytes>, Box<dyn Error>> {
    let Some(corpus) = std::env::var_os("MESHMAP_CORPUS") else {
        return Ok(vec![fixtures::slmesh::large(142).into()]);
    };
    let folder = PathBuf::from(corpus).join("slmesh/large");
    let files = ["11_large_skinned_8x20k.slmesh", "10_large_8x20k.slmesh"];
    Ok(files
        .iter()
        .map(|name| fs::read(folder.join(name)).map(Bytes::from))
        .collect::<Result<_, _>>()?)
}

/// The names of the rows of each file: a level of detail in new and in reused memory, all blocks in both.
const ROWS: [[&str; 4]; 2] = [
    [
        "slmesh, skinned: high_lod to floats, 1 thread",
        "slmesh, skinned: high_lod into reused memory, 1 thread",
        "slmesh, skinned: all blocks, 2 threads",
        "slmesh, skinned: all blocks into reused memory, 2 threads",
    ],
    [
        "slmesh, plain: high_lod to floats, 1 thread",
        "slmesh, plain: high_lod into reused memory, 1 thread",
        "slmesh, plain: all blocks, 2 threads",
        "slmesh, plain: all blocks into reused memory, 2 threads",
    ],
];

/// The bars of each file: a level of detail in used memory, and all blocks.
const BARS: [[f64; 2]; 2] = [[1.5, 2.2], [1.6, 2.3]];

/// A face as floats.
#[derive(Default, PartialEq)]
struct Arrays {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    texcoords: Vec<[f32; 2]>,
    indices: Vec<u16>,
    joints: Vec<[u8; 4]>,
    weights: Vec<[f32; 4]>,
}

/// The asset's header, and where its blocks begin.
fn header(file: &[u8]) -> (HashMap<String, LLSDValue>, usize) {
    let mut cursor = Cursor::new(file);
    let header = serde_llsd::binary_from_reader(&mut cursor).expect("a header");
    (
        header.into_map().expect("a map"),
        cursor.position() as usize,
    )
}

/// The content of a block.
fn block(
    file: &[u8],
    header: &HashMap<String, LLSDValue>,
    base: usize,
    name: &str,
) -> Option<LLSDValue> {
    let entry = header.get(name)?.as_map()?;
    let number = |key: &str| *entry[key].as_integer().expect("a number") as usize;
    let stored = &file[base + number("offset")..][..number("size")];
    let mut content = Vec::with_capacity(stored.len() * 2);
    ZlibDecoder::new(stored)
        .read_to_end(&mut content)
        .expect("a zlib stream");
    Some(serde_llsd::binary_from_bytes(&content).expect("LLSD"))
}

fn corner<const N: usize>(face: &HashMap<String, LLSDValue>, domain: &str, key: &str) -> [f32; N] {
    let numbers = face[domain].as_map().expect("a map")[key]
        .as_array()
        .expect("an array");
    std::array::from_fn(|lane| *numbers[lane].as_real().expect("a real") as f32)
}

/// An element at a time, as one writes it.
fn dequantize<const N: usize>(
    stored: &[u8],
    min: [f32; N],
    max: [f32; N],
    out: &mut Vec<[f32; N]>,
) {
    out.clear();
    for element in stored.chunks_exact(2 * N) {
        out.push(std::array::from_fn(|lane| {
            let stored = u16::from_le_bytes([element[lane * 2], element[lane * 2 + 1]]);
            f32::from(stored) / 65_535.0 * (max[lane] - min[lane]) + min[lane]
        }));
    }
}

fn arrays(face: &HashMap<String, LLSDValue>) -> Arrays {
    let binary = |key: &str| face.get(key).and_then(|value| value.as_binary());
    let mut out = Arrays::default();
    let positions = binary("Position").expect("positions");
    let count = positions.len() / 6;
    out.positions.reserve(count);
    let corners = (
        corner(face, "PositionDomain", "Min"),
        corner(face, "PositionDomain", "Max"),
    );
    dequantize(positions, corners.0, corners.1, &mut out.positions);
    if let Some(normals) = binary("Normal") {
        out.normals.reserve(count);
        dequantize(normals, [-1.0; 3], [1.0; 3], &mut out.normals);
    }
    if let Some(tex_coords) = binary("TexCoord0") {
        out.texcoords.reserve(count);
        let corners = (
            corner(face, "TexCoord0Domain", "Min"),
            corner(face, "TexCoord0Domain", "Max"),
        );
        dequantize(tex_coords, corners.0, corners.1, &mut out.texcoords);
    }
    let indices = binary("TriangleList").expect("triangles").chunks_exact(2);
    out.indices = indices
        .map(|index| u16::from_le_bytes([index[0], index[1]]))
        .collect();
    if let Some(bytes) = binary("Weights") {
        let mut at = 0;
        for _ in 0..count {
            let (mut joints, mut weights) = ([255; 4], [0.0; 4]);
            for (joint, weight) in joints.iter_mut().zip(&mut weights) {
                if bytes[at] == 0xff {
                    at += 1;
                    break;
                }
                *joint = bytes[at];
                *weight = f32::from(u16::from_le_bytes([bytes[at + 1], bytes[at + 2]])) / 65_535.0;
                at += 3;
            }
            out.joints.push(joints);
            out.weights.push(weights);
        }
    }
    out
}

fn faces(content: &LLSDValue) -> Vec<Arrays> {
    let faces = content.as_array().expect("faces");
    faces
        .iter()
        .map(|face| arrays(face.as_map().expect("a face")))
        .collect()
}

/// One level of detail.
fn their_lod(file: &[u8]) -> Vec<Arrays> {
    let (header, base) = header(file);
    faces(&block(file, &header, base, "high_lod").expect("a level of detail"))
}

/// All levels of detail as floats, and the other blocks as trees.
fn their_all(file: &[u8]) -> (Vec<Vec<Arrays>>, Vec<LLSDValue>) {
    let (header, base) = header(file);
    let lods = Lod::ALL
        .iter()
        .filter_map(|lod| block(file, &header, base, lod.name()));
    let others = ["physics_convex", "skin"]
        .iter()
        .filter_map(|name| block(file, &header, base, name));
    (
        lods.map(|content| faces(&content)).collect(),
        others.collect(),
    )
}

fn our_face(face: &Face) -> Arrays {
    let mut out = Arrays::default();
    let expect = "within the limits";
    out.positions = face.positions().expect(expect).to_vec();
    out.normals = face
        .normals()
        .expect(expect)
        .map(|normals| normals.to_vec())
        .unwrap_or_default();
    out.texcoords = face
        .texcoords(0)
        .expect(expect)
        .map(|coords| coords.to_vec())
        .unwrap_or_default();
    out.indices = face.raw_indices().to_vec();
    if let Some(weights) = face.weights() {
        let arrays = weights.arrays(WeightScale::Stored).expect(expect);
        (out.joints, out.weights) = (arrays.joints.to_vec(), arrays.weights.to_vec());
    }
    out
}

fn open(file: &Bytes, parallelism: Parallelism) -> Asset {
    let options = Options::default().with_parallelism(parallelism);
    Asset::from_source(Source::from_bytes(file.clone()), &options).expect("a file without errors")
}

fn our_lod(file: &Bytes) -> Vec<Arrays> {
    let asset = open(file, Parallelism::Off);
    let mesh = asset
        .lod(Lod::High)
        .expect("a block without errors")
        .expect("a level of detail");
    mesh.faces().map(|face| our_face(&face)).collect()
}

fn our_all(file: &Bytes) -> (Vec<Vec<Arrays>>, impl Sized + use<>) {
    let decoded = open(file, Parallelism::Rayon)
        .decode_all()
        .expect("all bytes are there");
    let meshes: Vec<&Mesh> = decoded.lods.iter().flatten().flatten().collect();
    let lods = meshes.par_iter().map(|mesh| {
        let faces: Vec<Face> = mesh.faces().collect();
        faces.par_iter().map(our_face).collect()
    });
    let lods = lods.collect();
    (lods, (decoded.physics_convex, decoded.skin))
}

/// The same into memory that is used again: a level of detail at a time on each thread.
fn our_all_into(file: &Bytes, buffers: &mut [(Lod, MeshBuffer, Scratch)]) -> impl Sized + use<> {
    let asset = open(file, Parallelism::Off);
    let lods = || {
        buffers.par_iter_mut().for_each(|(lod, buffer, scratch)| {
            asset
                .lod_into(*lod, buffer, scratch)
                .expect("a block without errors");
        });
    };
    rayon::join(lods, || (asset.physics_convex(), asset.skin())).1
}

/// One level of detail to floats on one thread, and the whole asset on two.
pub(crate) fn whole_file(table: &mut Table) -> Result<(), Box<dyn Error>> {
    for (file, (rows, bars)) in large()?.iter().zip(ROWS.into_iter().zip(BARS)) {
        one_file(file, rows, bars, table)?;
    }
    Ok(())
}

fn one_file(
    file: &Bytes,
    rows: [&'static str; 4],
    bars: [f64; 2],
    table: &mut Table,
) -> Result<(), Box<dyn Error>> {
    const ROUNDS: usize = 40;
    assert!(their_lod(file) == our_lod(file), "the same floats");
    assert!(their_all(file).0 == our_all(file).0, "the same floats");
    let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
    let mut buffers = Lod::ALL.map(|lod| (lod, MeshBuffer::default(), Scratch::default()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    let [their_lod, fresh, reused, their_all, our_all, all_reused] = interleave(
        ROUNDS,
        [
            &mut || drop(black_box(their_lod(file))),
            &mut || drop(black_box(our_lod(file))),
            &mut || {
                let asset = open(file, Parallelism::Off);
                asset
                    .lod_into(Lod::High, black_box(&mut buffer), &mut scratch)
                    .expect("no errors");
            },
            &mut || drop(black_box(their_all(file))),
            &mut || pool.install(|| drop(black_box(our_all(file)))),
            &mut || pool.install(|| drop(black_box(our_all_into(file, black_box(&mut buffers))))),
        ],
    );
    let theirs = "serde-llsd 0.3.6 + flate2 + a loop";
    let [bar_lod, bar_all] = bars;
    table.faster(rows[0], theirs, [fresh, their_lod], 1.4);
    table.faster(rows[1], theirs, [reused, their_lod], bar_lod);
    table.faster(rows[2], theirs, [our_all, their_all], bar_all);
    table.faster(rows[3], theirs, [all_reused, their_all], bar_all);
    Ok(())
}

/// Integers in a domain to floats.
pub(crate) fn floats(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let files = large()?;
    let asset = open(files.first().ok_or("a file")?, Parallelism::Off);
    let face = asset
        .lod(Lod::High)?
        .and_then(|mesh| mesh.face(0).ok())
        .ok_or("a face")?;
    let (stored, domain) = (face.raw_positions(), face.position_domain());
    let (mut plain, mut ours) = (Vec::with_capacity(stored.len()), None);
    let [slow, fast] = interleave(
        2000,
        [
            &mut || {
                dequantize(
                    black_box(stored.as_bytes()),
                    domain.min,
                    domain.max,
                    black_box(&mut plain),
                )
            },
            &mut || {
                ours = Some(black_box(&face).positions().expect("within the limits"));
            },
        ],
    );
    assert_eq!(Some(plain), ours.map(|positions| positions.to_vec()));
    table.faster(
        "slmesh: positions",
        "an element at a time",
        [fast, slow],
        4.0,
    );
    Ok(())
}
