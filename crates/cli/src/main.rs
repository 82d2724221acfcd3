//! The command `meshmap`: what a mesh file holds, and whether it is sound.

use std::process::ExitCode;

fn main() -> ExitCode {
    meshmap_cli::run(std::env::args_os())
}
