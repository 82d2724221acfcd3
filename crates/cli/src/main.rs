//! The command `meshmap`: what a mesh file holds, and whether it is sound.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Shells of Windows leave patterns such as *.iqm to programs.
    meshmap_cli::run(wild::args_os())
}
