//! Calls take no more memory than they charge.
//!
//! Each kind of file has very many of one thing, so that memory for it that is not charged shows.

use std::num::NonZero;
use std::path::Path;

use meshmap::cgeo::Dialect;
use meshmap::{MeshFile, Options, Parallelism, Source};
use meshmap_export::{Convert, Lods, Result, Target};
use meshmap_job::most_charged;
use meshmap_render::Render;
use meshmap_scene::{Levels, Scene, SceneOptions};
use meshmap_testing::allocator::{Counting, counted};
use meshmap_testing::fixtures::{cgeo, iqm, openctm, slmesh, tmf};
use meshmap_testing::kinds;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Items of a file. A hundred bytes for each of them are more than [`FREE`].
const ITEMS: usize = 16_000;

/// Memory that does not depend on the file, such as buffers.
const FREE: i64 = 1 << 20;

/// The files that the calls read: many tiny items of a kind, and a large mesh of each format.
fn files() -> Vec<(String, Vec<u8>)> {
    const SIDE: u16 = 250;
    let side = u32::from(SIDE);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for kind in kinds::all() {
        files.push((
            format!("{}/{}", kind.format, kind.name),
            (kind.build)(ITEMS.min(kind.most)),
        ));
    }
    let large = [
        (
            "cgeo",
            cgeo::file(&cgeo::animation(side, 3).1, Dialect::default()),
        ),
        (
            "iqm",
            iqm::Writer::sheets(1, side, side)
                .animated(40, 50)
                .to_bytes(),
        ),
        ("openctm", openctm::Body::sheet(*b"RAW\0", SIDE).to_bytes()),
        ("slmesh", slmesh::large(SIDE)),
        ("tmf", tmf::grid(side.into())),
    ];
    files.extend(large.map(|(format, body)| (format!("{format}/a large mesh"), body)));
    files
}

type Call = Box<dyn Fn(&MeshFile, &Path) -> Result<()>>;

fn calls() -> Vec<(String, Call)> {
    let mut calls: Vec<(String, Call)> = Vec::new();
    let mut add_conversion = |name: &str, convert: Convert| {
        calls.push((
            format!("writing {name}"),
            Box::new(move |file, path| convert.write_file(file, path).map(drop)),
        ));
    };
    for target in Target::ALL {
        add_conversion(
            target.name(),
            Convert {
                zero_non_finite: true,
                ..Convert::new(target)
            },
        );
    }
    let all = Convert {
        zero_non_finite: true,
        lod: Lods::All,
        ..Convert::new(Target::Glb)
    };
    let all = Convert {
        quantized: true,
        nest: true,
        morph_normals: true,
        ..all
    };
    add_conversion("glb with everything", all);
    let render = Render {
        size: Some([24, 24]),
        zero_non_finite: true,
        parallelism: Parallelism::Off,
        ..Render::default()
    };
    for (name, render) in [
        ("a picture", render.clone()),
        (
            "a sheet",
            Render {
                sheet: true,
                every: NonZero::new(16),
                ..render.clone()
            },
        ),
        (
            "an animation",
            Render {
                animation: true,
                every: NonZero::new(16),
                ..render
            },
        ),
    ] {
        let write = move |file: &MeshFile, path: &Path| {
            render
                .write_file(file, path.with_extension("png"))
                .map(drop)
        };
        calls.push((name.to_owned(), Box::new(write)));
    }
    calls
}

/// Makes the views of all shapes.
fn views(file: &MeshFile) -> Result<()> {
    let mut options = SceneOptions::default();
    options.levels = Levels::All;
    options.snapshots = Some(vec![0]);
    let scene = Scene::new(file, &options)?;
    for shape in scene.shapes() {
        shape.view(0)?;
    }
    Ok(())
}

#[test]
#[ignore = "takes minutes: .ci/slow memory runs it"]
fn calls_take_no_more_than_they_charge() {
    let folder = std::env::temp_dir().join(format!("meshmap-charged-{}", std::process::id()));
    let options = Options::default().with_parallelism(Parallelism::Off);
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (of, body) in files() {
        std::fs::create_dir_all(&folder).unwrap();
        for (name, call) in calls() {
            let Ok(file) = MeshFile::from_source(Source::from_bytes(body.clone()), &options) else {
                continue;
            };
            let extension = name.split(' ').nth(1).unwrap_or_default();
            let path = folder.join("out").with_extension(extension);
            // The first call fills the caches of the file object, which do not count.
            if call(&file, &path).is_err() {
                continue;
            }
            // The library has another budget, to which it charges the views.
            let (_, views) = counted(|| views(&file));
            let _ = most_charged::take();
            let (result, taken) = counted(|| call(&file, &path));
            result.unwrap();
            let charged = i64::try_from(most_charged::take()).unwrap();
            let excess = taken.peak - views.peak - charged;
            compared += 1;
            if excess > FREE {
                wrong.push(format!(
                    "{of}: {name} takes {} bytes, and charges {charged}",
                    taken.peak
                ));
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
    println!("{compared} calls");
    assert!(compared > 100, "{compared}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
