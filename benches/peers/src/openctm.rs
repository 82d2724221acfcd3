//! OpenCTM: whole loads compared with libopenctm and the crate `openctm`, on one thread and on two.

use std::error::Error;
use std::ffi::CString;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use meshmap::openctm::{Mesh, MeshArrays, MeshBuffer};
use meshmap::{Options, Parallelism, Scratch, Severity};
use meshmap_testing::measure::{Table, interleave};

use crate::libopenctm::{self, Context, Method, c_path};
use crate::map;

/// Rounds of files that take the reference library a quarter of a second and more.
const ROUNDS: usize = 15;

type Outcome = Result<(), Box<dyn Error>>;

/// Files of the three methods with the same million triangles: of the corpus where `MESHMAP_CORPUS` names its folder and
/// has them, else generated and written by libopenctm.
struct Files {
    raw: PathBuf,
    mg1: PathBuf,
    mg2: PathBuf,
    /// Only in the corpus.
    irregular_mg1: Option<PathBuf>,
}

impl Files {
    fn new(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mesh = sphere();
        let generated = |name: &str, method| {
            let path = folder.join(name);
            mesh.save(&path, method).map(|()| path)
        };
        let raw = generated("raw.ctm", Method::Raw)?;
        if let Some(corpus) = std::env::var_os("MESHMAP_CORPUS") {
            let file = |name| Path::new(&corpus).join("openctm").join("large").join(name);
            let irregular_mg1 = Some(file("irr1M_MG1.ctm"));
            return Ok(Self {
                raw,
                mg1: file("big1M_MG1.ctm"),
                mg2: file("big1M_MG2.ctm"),
                irregular_mg1,
            });
        }
        let mg1 = generated("mg1.ctm", Method::Mg1)?;
        Ok(Self {
            raw,
            mg1,
            mg2: generated("mg2.ctm", Method::Mg2)?,
            irregular_mg1: None,
        })
    }
}

/// A sphere with bumps: 501,264 vertices, 999,698 triangles.
fn sphere() -> libopenctm::Mesh {
    const SIDE: u16 = 708;
    let place = |i: u16, j: u16| {
        let (u, v) = (
            f32::from(j) / f32::from(SIDE - 1),
            f32::from(i) / f32::from(SIDE - 1),
        );
        let (theta, phi) = (u * std::f32::consts::TAU, v * std::f32::consts::PI);
        let noise =
            (f32::from(i.wrapping_mul(40503) ^ j.wrapping_mul(30011)) / 65535.0 - 0.5) * 0.02;
        let radius = 100.0 + 3.0 * (7.0 * theta).sin() * (11.0 * phi).cos() + noise;
        let normal = [phi.sin() * theta.cos(), phi.sin() * theta.sin(), phi.cos()];
        (normal.map(|lane| lane * radius), normal, [u, v])
    };
    let mut mesh = libopenctm::Mesh {
        positions: Vec::new(),
        normals: Vec::new(),
        coords: Vec::new(),
        indices: Vec::new(),
    };
    for (i, j) in (0..SIDE).flat_map(|i| (0..SIDE).map(move |j| (i, j))) {
        let (position, normal, coord) = place(i, j);
        mesh.positions.push(position);
        mesh.normals.push(normal);
        mesh.coords.push(coord);
        if i + 1 < SIDE && j + 1 < SIDE {
            let [a, b] = [i, i + 1].map(|i| u32::from(i) * u32::from(SIDE) + u32::from(j));
            mesh.indices.extend([[a, b, a + 1], [a + 1, b, b + 1]]);
        }
    }
    mesh
}

/// One file with one library and the other.
struct Pair {
    path: PathBuf,
    c_path: CString,
}

impl Pair {
    /// Fails where the two do not read the same, bit for bit.
    fn new(path: &Path) -> Result<Self, Box<dyn Error>> {
        let this = Self {
            path: path.to_owned(),
            c_path: c_path(path)?,
        };
        let (ours, theirs) = (this.ours(Parallelism::Off), Context::load(&this.c_path)?);
        let bits = |floats: &[f32]| {
            floats
                .iter()
                .map(|float| float.to_bits())
                .collect::<Vec<_>>()
        };
        let same = |ours: Vec<f32>, theirs: Option<&[f32]>| {
            theirs.is_some_and(|theirs| bits(&ours) == bits(theirs))
        };
        assert_eq!(ours.triangles.to_vec().as_flattened(), theirs.indices());
        assert!(
            same(ours.positions.to_vec().into_flattened(), theirs.positions()),
            "positions"
        );
        let normals = ours.normals.ok_or("the file has normals")?;
        assert!(
            same(normals.to_vec().into_flattened(), theirs.normals()),
            "normals"
        );
        assert!(
            same(ours.texcoords[0].to_vec().into_flattened(), theirs.coords()),
            "coordinates"
        );
        Ok(this)
    }

    fn mesh(&self, parallelism: Parallelism) -> Mesh {
        let options = Options::default().with_parallelism(parallelism);
        Mesh::at(&map(&self.path), 0, &options).expect("a file that was read before")
    }

    fn ours(&self, parallelism: Parallelism) -> MeshArrays {
        self.mesh(parallelism)
            .arrays()
            .expect("a file that was read before")
    }

    fn theirs(&self) {
        drop(black_box(Context::load(&self.c_path)));
    }
}

/// Rows for one compressed file: what they are called, and the bars.
struct Rows {
    /// One thread, two threads, one thread with buffers that are reused.
    ours: [&'static str; 3],
    theirs: &'static str,
    bars: [f64; 3],
}

const MG1: Rows = Rows {
    ours: [
        "MG1, 1 thread",
        "MG1, 2 threads",
        "MG1, 1 thread, reused buffers",
    ],
    theirs: "libopenctm: MG1",
    bars: [2.0, 3.6, 2.2],
};
const IRREGULAR_MG1: Rows = Rows {
    ours: [
        "irregular MG1, 1 thread",
        "irregular MG1, 2 threads",
        "irregular MG1, 1 thread, reused buffers",
    ],
    theirs: "libopenctm: irregular MG1",
    bars: [2.0, 3.6, 2.2],
};
const MG2: Rows = Rows {
    ours: [
        "MG2, 1 thread",
        "MG2, 2 threads",
        "MG2, 1 thread, reused buffers",
    ],
    theirs: "libopenctm: MG2",
    bars: [1.9, 3.2, 2.2],
};

pub(crate) fn whole_file(table: &mut Table) -> Outcome {
    let folder = tempfile::tempdir()?;
    let files = Files::new(folder.path())?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    // All of it runs in the pool, as the work of a program that uses rayon does.
    pool.install(|| -> Result<(), String> {
        let mut all = vec![(&files.mg1, MG1), (&files.mg2, MG2)];
        all.extend(
            files
                .irregular_mg1
                .as_ref()
                .map(|path| (path, IRREGULAR_MG1)),
        );
        for (path, rows) in all {
            compressed(path, &rows, table).map_err(|error| error.to_string())?;
        }
        raw(&files.raw, table).map_err(|error| error.to_string())
    })?;
    crate_openctm(&files.mg1, table)
}

fn compressed(path: &Path, rows: &Rows, table: &mut Table) -> Outcome {
    let pair = Pair::new(path)?;
    let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
    let [one, two, reused, theirs] = interleave(
        ROUNDS,
        [
            &mut || drop(black_box(pair.ours(Parallelism::Off))),
            &mut || drop(black_box(pair.ours(Parallelism::Rayon))),
            &mut || {
                let mesh = pair.mesh(Parallelism::Off);
                mesh.arrays_into(black_box(&mut buffer), &mut scratch)
                    .expect("a file that was read before");
            },
            &mut || pair.theirs(),
        ],
    );
    for ((ours, times), bar) in rows.ours.into_iter().zip([one, two, reused]).zip(rows.bars) {
        table.faster(ours, rows.theirs, [times, theirs], bar);
    }
    Ok(())
}

fn raw(path: &Path, table: &mut Table) -> Outcome {
    let pair = Pair::new(path)?;
    let [views, checked, theirs] = interleave(
        ROUNDS,
        [
            &mut || drop(black_box(pair.ours(Parallelism::Off))),
            &mut || {
                let findings = pair
                    .mesh(Parallelism::Off)
                    .validate()
                    .expect("a file that was read before");
                assert!(
                    findings
                        .iter()
                        .all(|finding| finding.severity() < Severity::Unusable)
                );
            },
            &mut || pair.theirs(),
        ],
    );
    table.faster(
        "RAW, map + every array as a view",
        "libopenctm: RAW",
        [views, theirs],
        1000.0,
    );
    table.faster(
        "RAW, map + validate",
        "libopenctm: RAW",
        [checked, theirs],
        20.0,
    );
    Ok(())
}

/// The crate of that name reads MG1 from memory: indices, positions, normals, and the first UV map.
fn crate_openctm(path: &Path, table: &mut Table) -> Outcome {
    let pair = Pair::new(path)?;
    let bytes = fs::read(path)?;
    let [ours, theirs] = interleave(
        ROUNDS / 2,
        [
            &mut || drop(black_box(pair.ours(Parallelism::Off))),
            &mut || drop(black_box(::openctm::decode(&bytes).expect("an MG1 file"))),
        ],
    );
    table.faster(
        "MG1, 1 thread",
        "crate openctm 0.1: MG1",
        [ours, theirs],
        2.0,
    );
    Ok(())
}
