//! The crate `tmf`, which writes and reads TMF.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::PathBuf;

use bytes::Bytes;
use meshmap::tmf::{Document, Mesh};
use meshmap::{Options, Parallelism, Source};
use meshmap_testing::measure::{Table, interleave};
use tmf::{TMFMesh, TMFPrecisionInfo};

/// A file of a million vertices and two million triangles.
fn large() -> Result<Vec<u8>, Box<dyn Error>> {
    if let Some(corpus) = std::env::var_os("MESHMAP_CORPUS") {
        return Ok(fs::read(
            PathBuf::from(corpus).join("tmf/large/large_torus_2M.tmf"),
        )?);
    }
    const ROUND: u32 = 1024;
    let angle = |step: u32| step as f32 / ROUND as f32 * std::f32::consts::TAU;
    let (mut vertices, mut normals, mut uvs, mut indices) = (vec![], vec![], vec![], vec![]);
    for (i, j) in (0..ROUND).flat_map(|i| (0..ROUND).map(move |j| (i, j))) {
        let ((sin, cos), (height, out)) = (angle(i).sin_cos(), angle(j).sin_cos());
        vertices.push(((3.0 + out) * cos, (3.0 + out) * sin, height));
        normals.push((out * cos, out * sin, height));
        uvs.push((i as f32 / ROUND as f32, j as f32 / ROUND as f32));
        let at = |i: u32, j: u32| i % ROUND * ROUND + j % ROUND;
        let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1));
        indices.extend([a, b, c, c, b, d]);
    }
    let mut mesh = TMFMesh::empty();
    mesh.set_vertices(vertices);
    mesh.set_normals(normals);
    mesh.set_uvs(uvs);
    mesh.set_vertex_triangles(indices.clone());
    mesh.set_normal_triangles(indices.clone());
    mesh.set_uv_triangles(indices);
    let mut file = Vec::new();
    mesh.write_tmf_one(&mut file, &TMFPrecisionInfo::default(), "torus")?;
    Ok(file)
}

/// Everything that a mesh holds.
#[derive(Default)]
struct Buffers {
    vertices: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    indices: Vec<u32>,
}

impl Buffers {
    fn for_mesh(mesh: &Mesh) -> Self {
        Self {
            vertices: vec![[0.0; 3]; mesh.positions().map_or(0, |array| array.len())],
            normals: vec![[0.0; 3]; mesh.normals().map_or(0, |array| array.len())],
            uvs: vec![[0.0; 2]; mesh.texcoords(0).map_or(0, |array| array.len())],
            indices: vec![0; mesh.position_indices().map_or(0, |array| array.len())],
        }
    }

    fn fill(&mut self, file: &Bytes, options: &Options) -> meshmap::Result<()> {
        let document = Document::from_source(Source::from_bytes(file.clone()), options)?;
        let mesh = document.mesh(0).expect("one mesh");
        let expect = "the mesh has everything";
        mesh.positions()
            .expect(expect)
            .read_into(&mut self.vertices)?;
        mesh.normals().expect(expect).read_into(&mut self.normals)?;
        mesh.texcoords(0).expect(expect).read_into(&mut self.uvs)?;
        // The three index arrays are the same segments.
        mesh.position_indices()
            .expect(expect)
            .read_into(&mut self.indices)
    }
}

/// The code of a user who just wants the mesh.
fn just_call(file: &Bytes, options: &Options) -> meshmap::Result<impl Sized + use<>> {
    let document = Document::from_source(Source::from_bytes(file.clone()), options)?;
    let mesh = document.mesh(0).expect("one mesh");
    let expect = "the mesh has everything";
    let vertices = mesh.positions().expect(expect).read()?;
    let normals = mesh.normals().expect(expect).read()?;
    let uvs = mesh.texcoords(0).expect(expect).read()?;
    Ok((vertices, normals, uvs, mesh.indices()?))
}

/// A whole file: the crate as its users call it, and with an allocator that keeps its pages.
pub(crate) fn whole_file(table: &mut Table) -> Result<(), Box<dyn Error>> {
    const ROUNDS: usize = 40;
    let file = Bytes::from(large()?);
    let one = Options::default().with_parallelism(Parallelism::Off);
    let two = Options::default();
    let document = Document::from_source(Source::from_bytes(file.clone()), &Options::default())?;
    let mesh = document.mesh(0).expect("one mesh");
    assert!(
        mesh.texcoord_indices()
            .is_some_and(|uv| uv.shares(&mesh.position_indices().expect("triangles")))
    );
    let mut buffers = [(); 2].map(|()| Buffers::for_mesh(&mesh));
    assert_same(&mut buffers[0], &file)?;
    let [alone, both] = &mut buffers;

    let theirs = || TMFMesh::read_tmf(&mut &file[..]).expect("a file of its own");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    // The crate runs in the first thread, whose memory the C library can keep.
    let [called, ours_one, ours_two] = interleave(
        ROUNDS,
        [
            &mut || drop(black_box(theirs())),
            &mut || {
                drop(black_box(
                    just_call(&file, &one).expect("a file without errors"),
                ))
            },
            &mut || {
                pool.install(|| {
                    drop(black_box(
                        just_call(&file, &two).expect("a file without errors"),
                    ))
                });
            },
        ],
    );
    table.faster(
        "tmf: just called, default options",
        "tmf 0.2.1: just called",
        [ours_two, called],
        6.0,
    );
    table.faster(
        "tmf: just called, 1 thread",
        "tmf 0.2.1: just called",
        [ours_one, called],
        6.0,
    );

    keep_pages();
    let [reused, ours_one, ours_two] = interleave(
        ROUNDS,
        [
            &mut || drop(black_box(theirs())),
            &mut || {
                black_box(&mut *alone)
                    .fill(&file, &one)
                    .expect("a file without errors")
            },
            &mut || {
                let both = black_box(&mut *both);
                pool.install(|| both.fill(&file, &two).expect("a file without errors"));
            },
        ],
    );
    table.faster(
        "tmf: reused buffers, 1 thread",
        "tmf 0.2.1: reused pages",
        [ours_one, reused],
        3.0,
    );
    table.faster(
        "tmf: reused buffers, 2 threads",
        "tmf 0.2.1: reused pages",
        [ours_two, reused],
        4.5,
    );
    table.faster(
        "tmf: reused buffers, 1 thread",
        "tmf 0.2.1: just called",
        [ours_one, called],
        6.0,
    );
    Ok(())
}

/// Both read the same numbers.
fn assert_same(ours: &mut Buffers, file: &Bytes) -> Result<(), Box<dyn Error>> {
    ours.fill(file, &Options::default())?;
    let meshes = TMFMesh::read_tmf(&mut &file[..]).map_err(|error| format!("{error:?}"))?;
    let (theirs, _) = &meshes[0];
    let vertices = theirs
        .get_vertices()
        .unwrap_or_default()
        .iter()
        .map(|v| [v.0, v.1, v.2]);
    let normals = theirs
        .get_normals()
        .unwrap_or_default()
        .iter()
        .map(|v| [v.0, v.1, v.2]);
    let uvs = theirs
        .get_uvs()
        .unwrap_or_default()
        .iter()
        .map(|v| [v.0, v.1]);
    assert!(ours.vertices.iter().copied().eq(vertices));
    assert!(ours.normals.iter().copied().eq(normals));
    assert!(ours.uvs.iter().copied().eq(uvs));
    assert!(ours.indices == theirs.get_vertex_triangles().unwrap_or_default());
    Ok(())
}

/// From here on, memory that is freed stays with the program, and its pages are not faulted in again.
pub(crate) fn keep_pages() {
    #[allow(unsafe_code, reason = "the C library's settings")]
    // SAFETY: mallopt may be called at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, 64 << 20);
        // The threshold is at most 32 MiB, and so are blocks of other arenas than the first one.
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
