//! Filling vertex and index buffers, compared with loops that know the layout and the stored types.
//!
//! Prints a table of ratios, with the bar that each is held against. The files are generated.

use std::hint::black_box;

use meshmap::slmesh::Lod;
use meshmap::{
    Attribute, Dequant, IndexFormat, Limits, MeshFile, MeshView, Options, Semantic, Source,
    VertexFormat, VertexLayout, slmesh,
};
use meshmap_testing::fixtures;
use meshmap_testing::measure::{Table, interleave};

const ROUNDS: usize = 300;

fn main() {
    // `cargo test --benches` runs this too, and has no time for it.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let mut table = Table::default();
    floats(&mut table);
    integers(&mut table);
    indices(&mut table);
    print!("{table}");
}

/// Positions, normals and texture coordinates as floats: 32 bytes.
fn layout() -> VertexLayout {
    VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with(Semantic::Normal, VertexFormat::FLOAT32X3)
        .with(Semantic::TexCoord(0), VertexFormat::FLOAT32X2)
}

fn attribute(mesh: &MeshView, semantic: &Semantic) -> Attribute {
    mesh.attribute(semantic)
        .expect("a file without errors")
        .expect("an attribute that the mesh has")
}

/// A model of `width` by `height` vertices.
fn model(width: u32, height: u32) -> MeshView {
    let bytes = fixtures::iqm::Writer::sheets(1, width, height).to_bytes();
    let file = MeshFile::from_source(Source::from_bytes(bytes), &Options::default())
        .expect("a file without errors");
    let entry = file.meshes().expect("a list").next().expect("a mesh");
    file.mesh(&entry.address).expect("a mesh without errors")
}

/// Interleaved floats: into a slice, and through a callback that copies; compared with a plain loop and a copy of as many bytes.
fn interleaved(table: &mut Table, mesh: &MeshView, names: [&'static str; 3], rounds: usize) {
    let [positions, normals, uvs] = [Semantic::Position, Semantic::Normal, Semantic::TexCoord(0)]
        .map(|what| attribute(mesh, &what));
    let layout = layout();
    let size = mesh.vertex_count() * layout.stride();
    let [mut direct, mut called, mut theirs, mut copied] = [(); 4].map(|()| vec![0; size]);
    let mut into = || {
        mesh.interleave_into(black_box(&layout), &mut direct)
            .expect("attributes that convert")
    };
    let mut write = || {
        let write =
            |offset: usize, bytes: &[u8]| called[offset..][..bytes.len()].copy_from_slice(bytes);
        mesh.write_interleaved(black_box(&layout), write)
            .expect("attributes that convert");
    };
    let mut plain = || {
        let positions = black_box(positions.as_bytes()).as_chunks::<12>().0;
        let (normals, uvs) = (
            normals.as_bytes().as_chunks::<12>().0,
            uvs.as_bytes().as_chunks::<8>().0,
        );
        let stored = positions.iter().zip(normals).zip(uvs);
        for (vertex, ((position, normal), uv)) in
            theirs.as_chunks_mut::<32>().0.iter_mut().zip(stored)
        {
            vertex[..12].copy_from_slice(position);
            vertex[12..24].copy_from_slice(normal);
            vertex[24..].copy_from_slice(uv);
        }
    };
    let source = vec![1; size];
    let mut copy = || copied.copy_from_slice(black_box(&source));
    let [into, write, plain, copy] =
        interleave(rounds, [&mut into, &mut write, &mut plain, &mut copy]);
    assert!(direct == theirs && called == theirs);
    let [of_into, of_write, of_copy] = names;
    table.slower(of_into, "a loop that knows the layout", [into, plain], 1.2);
    table.slower(
        of_write,
        "a loop that knows the layout",
        [write, plain],
        1.5,
    );
    table.beside(of_copy, "a loop that knows the layout", [copy, plain]);
}

fn floats(table: &mut Table) {
    let mesh = model(300, 200);
    let names = [
        "interleave_into, 1.9 MB",
        "write_interleaved, 1.9 MB",
        "a copy, 1.9 MB",
    ];
    interleaved(table, &mesh, names, ROUNDS);
    let names = [
        "interleave_into, 32 MB",
        "write_interleaved, 32 MB",
        "a copy, 32 MB",
    ];
    interleaved(table, &model(1000, 1000), names, ROUNDS / 10);

    let [positions, normals] =
        [Semantic::Position, Semantic::Normal].map(|what| attribute(&mesh, &what));
    let packed = layout_packed();
    let mut ours = vec![0; mesh.vertex_count() * packed.stride()];
    let mut theirs = ours.clone();
    let mut write = || {
        let write =
            |offset: usize, bytes: &[u8]| ours[offset..][..bytes.len()].copy_from_slice(bytes);
        mesh.write_interleaved(black_box(&packed), write)
            .expect("attributes that convert");
    };
    let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().expect("4 bytes"));
    let snorm =
        |bytes| (f64::from(number(bytes).clamp(-1., 1.)) * 127.).round_ties_even() as i8 as u8;
    let mut plain = || {
        let positions = black_box(positions.as_bytes()).as_chunks::<12>().0;
        let stored = positions.iter().zip(normals.as_bytes().as_chunks::<12>().0);
        for (vertex, (position, normal)) in theirs.as_chunks_mut::<16>().0.iter_mut().zip(stored) {
            vertex[..12].copy_from_slice(position);
            for (out, stored) in vertex[12..15].iter_mut().zip(normal.chunks(4)) {
                *out = snorm(stored);
            }
        }
    };
    let times = interleave(ROUNDS, [&mut write, &mut plain]);
    assert_eq!(ours, theirs);
    table.slower(
        "floats, normals to bytes",
        "a loop that knows the layout",
        times,
        1.3,
    );
}

/// Positions as floats and normals as bytes: 16 bytes.
fn layout_packed() -> VertexLayout {
    VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with(Semantic::Normal, VertexFormat::SNORM8X4)
}

/// A face of a Second Life mesh, whose integers become floats.
fn integers(table: &mut Table) {
    let source = Source::from_bytes(fixtures::slmesh::large(240));
    // Content that compresses a thousand times is more than a small file may decode to.
    let options = Options::default().with_limits(Limits::default());
    let asset = slmesh::Asset::from_source(source, &options);
    let mesh = asset
        .expect("a file without errors")
        .lod(Lod::High)
        .expect("a block without errors");
    let view = mesh
        .expect("the finest level")
        .face(0)
        .expect("a face")
        .view()
        .expect("indices in range");
    let stored = [Semantic::Position, Semantic::Normal, Semantic::TexCoord(0)]
        .map(|what| attribute(&view, &what));
    let layout = layout();
    let size = view.vertex_count() * layout.stride();
    let (mut ours, mut theirs) = (vec![0; size], vec![0; size]);
    let mut write = || {
        let write =
            |offset: usize, bytes: &[u8]| ours[offset..][..bytes.len()].copy_from_slice(bytes);
        view.write_interleaved(black_box(&layout), write)
            .expect("attributes that convert");
    };
    let [positions, normals, uvs] = &stored;
    let dequant = |attribute: &Attribute| attribute.dequant().expect("integers of a domain");
    let domains = [positions, normals, uvs].map(dequant);
    let mut plain = || {
        let positions = black_box(positions.as_bytes()).as_chunks::<6>().0;
        let (normals, uvs) = (
            normals.as_bytes().as_chunks::<6>().0,
            uvs.as_bytes().as_chunks::<4>().0,
        );
        let stored = positions.iter().zip(normals).zip(uvs);
        for (vertex, ((position, normal), uv)) in
            theirs.as_chunks_mut::<32>().0.iter_mut().zip(stored)
        {
            place(&mut vertex[..12], position, &domains[0]);
            place(&mut vertex[12..24], normal, &domains[1]);
            place(&mut vertex[24..], uv, &domains[2]);
        }
    };
    let times = interleave(ROUNDS, [&mut write, &mut plain]);
    assert_eq!(ours, theirs);
    table.slower(
        "interleaved, 16 bits to floats",
        "a loop that knows the layout",
        times,
        1.3,
    );
}

/// One attribute of one vertex, as one would write it.
#[inline(always)]
fn place(out: &mut [u8], stored: &[u8], domain: &Dequant) {
    let numbers = stored
        .as_chunks::<2>()
        .0
        .iter()
        .map(|stored| f32::from(u16::from_le_bytes(*stored)) / 65_535.);
    for (index, (out, number)) in out
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .zip(numbers)
        .enumerate()
    {
        *out = (number * domain.scale[index] + domain.offset[index]).to_ne_bytes();
    }
}

fn indices(table: &mut Table) {
    let mesh = model(300, 200);
    let indices = mesh.indices();
    assert_eq!(indices.narrowest(), IndexFormat::Uint16);
    let mut ours = vec![0; indices.len() * 2];
    let mut theirs = ours.clone();
    let mut write = || {
        let write =
            |offset: usize, bytes: &[u8]| ours[offset..][..bytes.len()].copy_from_slice(bytes);
        black_box(indices)
            .write_narrowest(write)
            .expect("indices that fit");
    };
    let stored = indices.stored().expect("indices of 32 bits");
    let mut plain = || {
        for (out, index) in theirs
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .zip(black_box(stored).iter())
        {
            *out = (index as u16).to_ne_bytes();
        }
    };
    let times = interleave(ROUNDS, [&mut write, &mut plain]);
    assert_eq!(ours, theirs);
    table.slower(
        "indices of 32 bits to 16",
        "a loop that checks nothing",
        times,
        2.0,
    );
}
