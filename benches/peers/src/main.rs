//! meshmap compared with other libraries, in one run; see README.md.

mod assimp;
mod igzip;
mod inflate;
mod libopenctm;
mod loaded;
mod lzma;
mod openctm;
mod slmesh;
mod threads;
mod tmf;
mod usd;

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use meshmap::iqm::{Model, Pose, Trs};
use meshmap::{Options, Parallelism, Severity, Source};
use meshmap_testing::measure::iqm::{files, plain_loop};
use meshmap_testing::measure::{Table, interleave};

fn main() -> Result<(), Box<dyn Error>> {
    let wanted = std::env::args().nth(1);
    if wanted.as_deref() == Some(loaded::SPIN) {
        loop {
            std::hint::spin_loop();
        }
    }
    let folder = tempfile::tempdir()?;
    let (mesh, animation) = files(folder.path());
    let mut table = Table::default();
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    if is_wanted("load") {
        load(&mesh, &mut table)?;
    }
    if is_wanted("indices") {
        indices(&mesh, &mut table)?;
    }
    if is_wanted("poses") {
        poses(&animation, &mut table)?;
    }
    if is_wanted("tmf") {
        tmf::whole_file(&mut table)?;
    }
    if is_wanted("slmesh") {
        slmesh::whole_file(&mut table)?;
    }
    if is_wanted("floats") {
        slmesh::floats(&mut table)?;
    }
    if is_wanted("openctm") {
        openctm::whole_file(&mut table)?;
    }
    if is_wanted("lzma") {
        lzma::blocks(&mut table)?;
    }
    if wanted.as_deref() == Some("cold") {
        return loaded::cold();
    }
    if is_wanted("loaded") {
        loaded::rows()?;
    }
    if is_wanted("inflate") {
        inflate::streams()?;
    }
    if is_wanted("threads") {
        threads::streams()?;
    }
    if is_wanted("usd") {
        usd::frames(&mut table)?;
    }
    print!("{table}");
    Ok(())
}

/// The file, mapped.
fn map(path: &Path) -> Source {
    // SAFETY: nothing writes to the corpus, nor to the generated files once they are complete.
    unsafe { Source::map(path) }.expect("a file that can be mapped")
}

fn model(path: &Path) -> Model {
    Model::from_source(map(path), &Options::default()).expect("a file without errors")
}

/// Loading a mesh with assimp, and the checks that make a mapped file as trustworthy.
fn load(mesh: &Path, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let importer = assimp::Importer::new(mesh)?;
    let findings = model(mesh).validate()?;
    assert!(
        findings
            .iter()
            .all(|finding| finding.severity() < Severity::Unusable),
        "{findings:?}"
    );
    let [assimp, indices, all] = interleave(
        300,
        [
            &mut || importer.import(),
            &mut || {
                drop(black_box(
                    model(mesh).triangles().expect("indices in range"),
                ))
            },
            &mut || {
                drop(black_box(
                    model(mesh).validate().expect("a file that can be read"),
                ))
            },
        ],
    );
    table.faster("map + triangles", "assimp: load", [indices, assimp], 18.0);
    table.faster("map + validate", "assimp: load", [all, assimp], 6.0);
    Ok(())
}

/// Checking every index, and no more than looking at each.
fn indices(mesh: &Path, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let header = *model(mesh).header();
    let start = usize::try_from(header.ofs_triangles.get())?;
    let range = start..start + usize::try_from(header.num_triangles.get())? * 12;
    let [checked, passed] = interleave(
        1000,
        [
            &mut || {
                drop(black_box(
                    model(mesh).triangles().expect("indices in range"),
                ))
            },
            &mut || {
                let file = std::fs::File::open(mesh).expect("the file was there a moment ago");
                // SAFETY: nothing writes to the file while it is measured.
                let map = unsafe { memmap2::Mmap::map(&file) }.expect("a file that can be mapped");
                let indices = map[range.clone()].chunks_exact(4);
                let greatest = indices
                    .map(|index| u32::from_le_bytes([index[0], index[1], index[2], index[3]]));
                black_box(greatest.max());
            },
        ],
    );
    table.slower(
        "map + triangles",
        "map + maximum of the indices",
        [checked, passed],
        1.3,
    );
    Ok(())
}

/// The moment between two frames at which poses are interpolated.
const FRACTION: f32 = 0.3;

/// Interpolates between two poses, with the functions of the standard library.
fn plain_slerp(a: Trs, b: Trs, fraction: f32) -> Trs {
    let lerp = |a: f32, b: f32| a * (1.0 - fraction) + b * fraction;
    let (from, to) = (a.normalized().rotate, b.normalized().rotate);
    let cosine: f32 = from.iter().zip(to).map(|(a, b)| a * b).sum();
    let to = if cosine < 0.0 { to.map(|c| -c) } else { to };
    let cosine = cosine.abs();
    let rotate = if cosine > 0.9995 {
        std::array::from_fn(|i| lerp(from[i], to[i]))
    } else {
        let angle = cosine.acos();
        let (before, after) = (((1.0 - fraction) * angle).sin(), (fraction * angle).sin());
        std::array::from_fn(|i| (from[i] * before + to[i] * after) / angle.sin())
    };
    let translate = std::array::from_fn(|i| lerp(a.translate[i], b.translate[i]));
    let scale = std::array::from_fn(|i| lerp(a.scale[i], b.scale[i]));
    Trs::new(translate, rotate, scale).normalized()
}

/// All poses of all frames into one buffer.
fn poses(animation: &Path, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let frames = |parallelism| {
        let options = Options::default().with_parallelism(parallelism);
        Model::from_source(map(animation), &options).map(|model| model.frames())
    };
    let (alone, parallel) = (frames(Parallelism::Off)?, frames(Parallelism::Rayon)?);
    let all = 0..alone.len();
    let mut out = alone.read()?;

    let model = model(animation);
    let poses: Vec<Pose> = model.poses().collect();
    let start = u64::from(model.header().ofs_frames.get());
    let channels = u64::from(model.header().num_frames.get())
        * u64::from(model.header().num_framechannels.get());
    let stored = model.source().read(start..start + channels * 2)?;
    let expected = out.clone();
    plain_loop(&poses, &stored, &mut out);
    assert_eq!(expected, out);

    let [
        mut plain_out,
        mut alone_out,
        mut parallel_out,
        mut stored_out,
    ] = [(); 4].map(|()| out.clone());
    let first = out[..poses.len()].to_vec();
    let [
        mut plain_frame,
        mut frame_out,
        mut plain_pose,
        mut plain_next,
        mut pose_out,
    ] = [(); 5].map(|()| first.clone());
    let frame_bytes = stored.len() / all.len();
    let frames_and_next = stored.windows(2 * frame_bytes).step_by(frame_bytes);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    // All of it runs in the pool, as the work of a program that uses rayon does.
    let [
        plain,
        alone_times,
        parallel,
        store,
        plain_one,
        one,
        plain_between,
        between,
    ] = pool.install(|| {
        interleave(
            500,
            [
                &mut || plain_loop(&poses, &stored, black_box(&mut plain_out)),
                &mut || {
                    alone
                        .read_range_into(all.clone(), black_box(&mut alone_out))
                        .expect("room for all")
                },
                &mut || {
                    parallel
                        .read_range_into(all.clone(), black_box(&mut parallel_out))
                        .expect("room for all")
                },
                &mut || stored_out.fill(black_box(first[0])),
                &mut || {
                    for frame in stored.chunks_exact(stored.len() / all.len()) {
                        plain_loop(&poses, frame, black_box(&mut plain_frame));
                    }
                },
                &mut || {
                    for frame in all.clone() {
                        alone
                            .read_frame_into(frame, black_box(&mut frame_out))
                            .expect("room for a frame");
                    }
                },
                &mut || {
                    for two in frames_and_next.clone() {
                        let (frame, next) = two.split_at(two.len() / 2);
                        plain_loop(&poses, frame, black_box(&mut plain_pose));
                        plain_loop(&poses, next, black_box(&mut plain_next));
                        for (pose, next) in plain_pose.iter_mut().zip(&plain_next) {
                            *pose = plain_slerp(*pose, *next, FRACTION);
                        }
                        black_box(&plain_pose);
                    }
                },
                &mut || {
                    for frame in 1..all.end {
                        alone
                            .interpolate_into(frame - 1, frame, FRACTION, black_box(&mut pose_out))
                            .expect("room for a frame");
                    }
                },
            ],
        )
    });
    assert!(alone_out == expected && frame_out == plain_frame);
    for (pose, plain) in pose_out.iter().zip(&plain_pose) {
        let pairs = pose.to_array().into_iter().zip(plain.to_array());
        assert!(pairs.map(|(a, b)| (a - b).abs()).all(|error| error <= 3e-7));
    }
    table.faster(
        "read_range_into, 1 thread",
        "a plain loop",
        [alone_times, plain],
        1.5,
    );
    table.faster(
        "read_range_into, 1 thread",
        "a plain store of as many bytes",
        [alone_times, store],
        0.8,
    );
    table.faster(
        "read_frame_into, frame after frame",
        "a plain loop into one frame",
        [one, plain_one],
        3.0,
    );
    table.faster(
        "interpolate_into, frame after frame",
        "a plain loop with acos and sin",
        [between, plain_between],
        3.0,
    );
    table.faster(
        "read_range_into, 2 threads",
        "read_range_into, 1 thread",
        [parallel, alone_times],
        1.7,
    );
    Ok(())
}
