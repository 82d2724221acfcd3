//! Draws a file of any format that meshmap reads to a PNG, without a window.
//!
//!     cargo run --release --manifest-path examples/viewer/Cargo.toml -- FILE OUT.png [--size WIDTHxHEIGHT]
//!
//! Exit status 0; 1: wrong usage, or a file that cannot be read, drawn or written; 2: nothing here draws.

mod camera;
mod draw;
mod formats;
mod load;

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meshmap::{Axis, Format, MeshFile, Semantic, VertexFormat, VertexLayout};

use crate::camera::Camera;
use crate::draw::Gpu;

fn main() -> ExitCode {
    let done = arguments(std::env::args_os().skip(1)).and_then(|arguments| run(&arguments));
    match done {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("meshmap-viewer: {error:#}"); // with what caused it
            if error.is::<wgpu::RequestAdapterError>() {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

struct Arguments {
    file: PathBuf,
    picture: PathBuf,
    size: [u32; 2],
}

fn arguments(mut rest: impl Iterator<Item = OsString>) -> Result<Arguments, Box<dyn Error>> {
    const USAGE: &str = "usage: meshmap-viewer FILE OUT.png [--size WIDTHxHEIGHT]";
    let (mut paths, mut size) = (Vec::new(), [640, 480]);
    while let Some(argument) = rest.next() {
        if argument == "--size" {
            let text = rest.next().ok_or(USAGE)?.into_string().map_err(|_| USAGE)?;
            let (width, height) = text.split_once('x').ok_or(USAGE)?;
            size = [
                width.parse().map_err(|_| USAGE)?,
                height.parse().map_err(|_| USAGE)?,
            ];
        } else {
            paths.push(PathBuf::from(argument));
        }
    }
    let [file, picture] = <[PathBuf; 2]>::try_from(paths).map_err(|_| USAGE)?;
    Ok(Arguments {
        file,
        picture,
        size,
    })
}

fn run(
    Arguments {
        file: path,
        picture,
        size,
    }: &Arguments,
) -> Result<String, Box<dyn Error>> {
    let file = MeshFile::open(path)?;
    let gpu = Gpu::open()?;
    // The inputs of the shader at its locations 0 and 1. A normal of 0 counts as absent.
    let layout = VertexLayout::new()
        .with(Semantic::Position, VertexFormat::FLOAT32X3)
        .with_default(Semantic::Normal, VertexFormat::SNORM8X4, [0.0; 4]);
    let (meshes, bounds) = load::load(&gpu.device, &file, &layout)?;
    if bounds.is_empty() {
        // Parts that are damaged or missing are no meshes: a look at everything says why.
        let why = file
            .validate()?
            .first()
            .map_or(String::new(), |finding| format!(": {finding}"));
        return Err(format!("{}: has no triangles to draw{why}", path.display()).into());
    }
    let (up, known) = up(file.format());
    let pixels = gpu.draw(&meshes, &layout, &Camera::framing(bounds, up, *size), *size)?;
    write_png(picture, *size, &pixels)?;

    let draws = meshes.iter().flat_map(|mesh| &mesh.draws);
    let (draws, indices) = draws.fold((0, 0), |(count, sum), (run, _)| {
        (count + 1, sum + run.len())
    });
    Ok(format!(
        "{}: {} meshes, {} triangles, {draws} draws, {up:?} up ({known}), drawn by {}",
        path.display(),
        meshes.len(),
        indices / 3,
        gpu.name
    ))
}

/// The axis that points up, and how that is known.
fn up(format: Format) -> (Axis, &'static str) {
    match (format.conventions().up, format) {
        (Some(axis), _) => (axis, "as the format has it"),
        (None, Format::CGeo) => (Axis::Z, "a guess: as 3ds Max has it"),
        (None, _) => (Axis::Y, "a guess: as most files of OBJ have it"),
    }
}

fn write_png(path: &Path, [width, height]: [u32; 2], pixels: &[u8]) -> Result<(), Box<dyn Error>> {
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}
