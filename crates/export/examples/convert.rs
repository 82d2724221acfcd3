//! Converts mesh files: `convert FOLDER EXTENSION [--raw] FILE...` writes `FOLDER/NAME.EXTENSION` of each, with `--raw` in the axes and
//! the unit of the file. `convert --targets` lists the extensions.

use std::path::Path;
use std::process::ExitCode;

use meshmap::MeshFile;
use meshmap_export::{Convert, Target};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|first| first == "--targets") {
        Target::ALL
            .into_iter()
            .for_each(|target| println!("{}", target.name()));
        return ExitCode::SUCCESS;
    }
    let (Some(folder), Some(extension)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: convert FOLDER EXTENSION [--raw] FILE...");
        return ExitCode::from(2);
    };
    let raw = arguments.next_if(|next| next == "--raw").is_some();
    let mut status = ExitCode::SUCCESS;
    for file in arguments {
        let path = Path::new(&file);
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
            + "."
            + &extension;
        let output = Path::new(&folder).join(name);
        let Some(target) = Target::of_path(&output) else {
            eprintln!("{extension} is no format that is written");
            return ExitCode::from(2);
        };
        let convert = Convert {
            raw,
            ..Convert::new(target)
        };
        let converted = MeshFile::open(path)
            .map_err(meshmap_export::Error::from)
            .and_then(|mesh| convert.write_file(&mesh, &output));
        match converted {
            Ok(outcome) => {
                println!("{}", output.display());
                let report = &outcome.report;
                for entry in &report.left_out {
                    println!("  - {entry}");
                }
                for entry in &report.changed {
                    println!("  ~ {} {entry}", entry.count);
                }
                for entry in &report.assumed {
                    println!("  ? {entry}");
                }
                for entry in &report.warnings {
                    println!("  ! {entry}");
                }
            }
            Err(error) => {
                eprintln!("{file}: {error}");
                status = ExitCode::FAILURE;
            }
        }
    }
    status
}
