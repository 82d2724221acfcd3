//! The arguments of the command line, and what becomes of them.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::{digest, info, verify};
use crate::show;

/// Inspects and verifies 3D mesh files: CGeo, IQM, OpenCTM, Second Life and TMF.
#[derive(Parser)]
#[command(name = "meshmap", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show what files are: their parts, counts, sizes and findings.
    Info {
        /// Files, and directories to walk.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// Print one JSON object a line for each file.
        #[arg(long)]
        json: bool,
        /// Compute exact numbers whatever they cost to read.
        #[arg(long)]
        full: bool,
        /// List every snapshot: time, size, kind and box (CGeo).
        #[arg(long, conflicts_with = "json")]
        snapshots: bool,
        /// Print a structural dump without geometry and names, for bug reports (CGeo).
        #[arg(long, conflicts_with = "json")]
        report: bool,
        /// Map files instead of reading them; they must not change meanwhile.
        #[arg(long)]
        mmap: bool,
    },
    /// Decode and check everything, and end in a verdict.
    Verify {
        /// Files, and directories to walk.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// What makes the verdict a failure beside files that cannot be used.
        #[arg(long, value_enum)]
        fail_on: Option<FailOn>,
        /// Decode everything with both decoders of each codec, and demand the same bytes.
        #[arg(long)]
        cross_check: bool,
        /// Map files instead of reading them; they must not change meanwhile.
        #[arg(long)]
        mmap: bool,
    },
    /// Print a sha256 of every decoded array as JSON; for development.
    Digest {
        /// The file.
        path: PathBuf,
        /// Map the file instead of reading it; it must not change meanwhile.
        #[arg(long)]
        mmap: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Anything that deviates from the specification or is suspicious.
    Finding,
}

/// Runs the command line with these arguments, the first of which is the program's name.
///
/// Pages go to standard output, errors to standard error. The status is 0; 1 where at least one file cannot be read or
/// used; 2 where the arguments are wrong.
pub fn run<T: Into<OsString> + Clone>(args: impl IntoIterator<Item = T>) -> ExitCode {
    let command = match Cli::try_parse_from(args) {
        Ok(cli) => cli.command,
        Err(error) => {
            // Nobody can be told that nobody can be told.
            let _ = error.print();
            return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    let out = &mut io::BufWriter::new(io::stdout().lock());
    let outcome = match command {
        Command::Info { paths, json, full, snapshots, report, mmap } => {
            info::run(&paths, &info::Wish { json, full, snapshots, report, mmap }, out)
        }
        Command::Verify { paths, fail_on, cross_check, mmap } => {
            let wish = verify::Wish { fail_on_finding: fail_on.is_some(), cross_check, mmap };
            verify::run(&paths, &wish, out)
        }
        Command::Digest { path, mmap } => digest::run(&path, mmap, out),
    };
    match outcome.and_then(|good| out.flush().map(|()| good)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // Whoever reads the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            show::error(format_args!("standard output: {error}"));
            ExitCode::FAILURE
        }
    }
}
