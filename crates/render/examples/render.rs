//! Pictures of mesh files, and what they cost: `render FOLDER SAMPLES TIMES FILE...` writes `FOLDER/NAME.png` of each, on
//! one thread, and prints the processor's time for reading and drawing, for drawing again, and for writing.

use std::path::Path;
use std::process::ExitCode;

use cpu_time::ProcessTime;
use meshmap::{MeshFile, Parallelism};
use meshmap_render::Render;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, samples, times, files @ ..] = arguments.as_slice() else {
        eprintln!("usage: render FOLDER SAMPLES TIMES FILE...");
        return Ok(ExitCode::from(2));
    };
    let samples = samples.parse()?;
    let render = Render {
        samples,
        parallelism: Parallelism::Off,
        ..Render::default()
    };
    let mut status = ExitCode::SUCCESS;
    for path in files {
        let name = Path::new(path)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
            + ".png";
        for _ in 0..times.parse()? {
            let start = ProcessTime::now();
            let made = MeshFile::open(path)
                .map_err(Into::into)
                .and_then(|file| render.picture(&file));
            let drawn = start.elapsed();
            // Reading and all that grows with the mesh, with next to no pixels.
            let start = ProcessTime::now();
            let tiny = Render {
                size: Some([1, 1]),
                ..render.clone()
            };
            drop(
                MeshFile::open(path)
                    .map_err(meshmap_render::Error::from)
                    .and_then(|file| tiny.picture(&file)),
            );
            let read = start.elapsed();
            match made {
                Ok((picture, rendered)) => {
                    let start = ProcessTime::now();
                    picture.write_png(std::fs::File::create(Path::new(folder).join(&name))?)?;
                    let [drawn, read, written] =
                        [drawn, read, start.elapsed()].map(|time| time.as_secs_f64() * 1000.0);
                    let triangles = rendered.triangles;
                    println!(
                        "{name}: {triangles} triangles, {drawn:.0} ms, of which {read:.0} ms for one pixel; written in {written:.0} ms"
                    );
                }
                Err(error) => {
                    eprintln!("{path}: {error}");
                    status = ExitCode::FAILURE;
                }
            }
        }
    }
    Ok(status)
}
