//! Prints what Bevy gets of a file, for programs that compare it with others: `crates/scene/checks/bevy.py` does.
//!
//!     dump ARRAYS [--level LEVEL] [--clip INDEX@SECONDS].. [--snapshot SECONDS].. FILE..
//!
//! Loads each file in an app without a renderer and spawns its scene. Prints a line of JSON for each file; the file ARRAYS has its
//! numbers in little-endian order, one array after another: `start` is the place in bytes, `count` the number of elements, `width` the
//! numbers of each, `type` their type in NumPy. A later file overwrites the arrays of an earlier one, so that a reader of several files
//! waits for each line.
//!
//! LEVEL is `all`, or the number of a level of detail. Joints are sampled by Bevy's own animation player; snapshots are streamed.

mod app;
mod json;
mod show;

use std::io::Write as _;
use std::path::PathBuf;

use bevy_meshmap::Levels;

/// The parts of files that are asked for.
#[derive(Default)]
struct Request {
    levels: Levels,
    /// Clips by their numbers, and seconds.
    clips: Vec<(usize, f32)>,
    /// Seconds after the first snapshot.
    snapshots: Vec<f64>,
    files: Vec<PathBuf>,
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let usage =
        "dump ARRAYS [--level LEVEL] [--clip INDEX@SECONDS].. [--snapshot SECONDS].. FILE..";
    let arrays = arguments.next().ok_or(usage)?;
    let mut request = Request::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--level" => {
                let level = arguments.next().ok_or(usage)?;
                request.levels = match level.as_str() {
                    "all" => Levels::All,
                    number => Levels::One(number.parse()?),
                };
            }
            "--clip" => {
                let clip = arguments.next().ok_or(usage)?;
                let (index, seconds) = clip.split_once('@').ok_or(usage)?;
                request.clips.push((index.parse()?, seconds.parse()?));
            }
            "--snapshot" => {
                let seconds = arguments.next().ok_or(usage)?;
                request.snapshots.push(seconds.parse()?);
            }
            file => request.files.push(file.into()),
        }
    }
    for file in &request.files {
        let mut sink = json::Sink::create(arrays.as_ref())?;
        let line = app::show(file, &request, &mut sink)?;
        sink.finish()?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()?;
    }
    Ok(())
}
