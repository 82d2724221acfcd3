//! The command line: its commands, and how each begins. The arguments of a command are with it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use meshmap::{Format, Rule};
use meshmap_url::{has_scheme, without_secrets};

use crate::commands::catalog::{self, CatalogArgs};
use crate::commands::convert::{self, ConvertArgs};
use crate::commands::diff::{self, DiffArgs};
use crate::commands::dump::{self, DumpArgs};
use crate::commands::info::{self, InfoArgs};
use crate::commands::render::{self, RenderArgs};
use crate::commands::verify::{self, VerifyArgs};
use crate::commands::view::{self, ViewArgs};
use crate::commands::{Outcome, digest, print_stderr};
use crate::inputs::{Choice, FileList, Memory, OUTPUTS_ARE_FILES};
use crate::screen::{Color, Screen};
use crate::{help, interrupt};

/// The schemas of the objects that `--json` prints.
const SCHEMA: &str = include_str!("../schema/info-1.json");
const SCHEMA_OF_OUTPUTS: &str = include_str!("../schema/outputs-2.json");
const SCHEMA_OF_DIFF: &str = include_str!("../schema/diff-1.json");
const SCHEMA_OF_CATALOG: &str = include_str!("../schema/catalog-1.json");

const STATUS: &str = "Exit status, of all commands:\n  0    no problem\n  1    a file cannot be read, used or written, files \
    differ, or no file was found\n  2    the arguments are wrong\n  130  interrupted";

const MARKS: &str = "Marks:\n  x    the file, or a part of it, cannot be used\n  !!   the specification forbids it; all parts \
    can be used\n  !    allowed, but probably a mistake\n       without a mark: a note, which is harmless";

const EXAMPLES: &str = "Examples:
  meshmap info proxy.cgeo                   a page about one file
  meshmap info scans/                       a row for each file below a directory
  meshmap info --json scans/ | jq .format   one JSON object for each file
  meshmap verify scans/ --fail-on forbidden PASS or FAIL, and what is wrong
  meshmap dump mesh.ctm bodies[0].positions --stats
  meshmap diff before.iqm after.iqm
  meshmap render proxy.cgeo -o proxy.png    a picture; without -o, on the terminal
  curl -s URL | meshmap info -              standard input";

/// Show, check, draw and convert CGeo, IQM, OpenCTM, Second Life and TMF meshes.
#[derive(Parser)]
#[command(name = "meshmap", version, max_term_width = 100, after_long_help = concat_help(EXAMPLES))]
struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value = "auto")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

fn concat_help(examples: &str) -> String {
    format!("{examples}\n\n{STATUS}")
}

#[derive(Subcommand)]
enum Command {
    /// Show what files are: sizes, counts, parts and problems.
    #[command(after_long_help = concat_help("Examples:\n  meshmap info proxy.cgeo\n  meshmap info --json . -g '*.iqm' | \
        jq -r 'select(.error) | .path'\n  meshmap info --report broken.cgeo > report.txt"))]
    Info {
        #[command(flatten)]
        args: InfoArgs,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Decode and check everything: PASS, FAIL or STOPPED.
    #[command(after_long_help = concat_help("Examples:\n  meshmap verify assets/ --fail-on forbidden\n  meshmap verify \
        assets/ --fail-on suspicious --allow slmesh.degenerate\n  meshmap verify --json assets/ | jq -c .findings[]\n  \
        find . -name '*.iqm' -print0 | meshmap verify -q -0 --files-from -") + "\n\n" + MARKS)]
    Verify {
        #[command(flatten)]
        args: VerifyArgs,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Print the values of one array, or list all arrays.
    #[command(after_long_help = concat_help("Examples:\n  meshmap dump proxy.cgeo\n  meshmap dump proxy.cgeo \
        snapshots[3].positions --head 10\n  meshmap dump body.slmesh high_lod.faces[0].positions --stats\n  meshmap dump \
        mesh.ctm bodies[0].positions --as npy -o positions.npy"))]
    Dump {
        #[command(flatten)]
        args: DumpArgs,
    },
    /// Compare two files, or the files of two directories.
    #[command(after_long_help = concat_help("Examples:\n  meshmap diff before.iqm after.iqm\n  meshmap diff mesh.raw.ctm \
        mesh.mg2.ctm --tolerance 0.001\n  meshmap diff exported/ reference/\n  meshmap diff mesh.raw.ctm mesh.mg2.ctm \
        --picture distances.png"))]
    Diff {
        #[command(flatten)]
        args: DiffArgs,
        #[command(flatten)]
        choice: Choice,
    },
    /// Convert files to glTF, USD, OBJ, PLY, STL or PC2.
    ///
    /// One file, or whole directories. Parts that cannot be used are reported as in `verify`, and the rest is written; the exit
    /// status is then 1. Only the converted parts are read.
    #[command(after_long_help = concat_help("Examples:\n  meshmap convert proxy.cgeo -o proxy.glb\n  meshmap convert \
        proxy.cgeo --snapshot 0..99:10 -o proxy.glb\n  meshmap convert man.iqm --with walk.iqm run.iqm -o man.glb\n  \
        meshmap convert man.iqm --frame 12 -o man.obj\n  meshmap convert assets/ --to glb -o converted/"))]
    Convert {
        #[command(flatten)]
        args: ConvertArgs,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Draw files as PNG or on the terminal.
    ///
    /// A PNG is one picture, an animation or a contact sheet.
    #[command(after_long_help = concat_help("Examples:\n  meshmap render mesh.ctm                         on the terminal\n  \
        meshmap render proxy.cgeo --time 0.49 -o wave.png\n  meshmap render man.iqm --anim idle --animate -o idle.png\n  \
        meshmap render mesh.tmf --turntable 48 -o mesh.png\n  meshmap render assets/ -o pictures/             one for \
        each file\n  meshmap render assets/ --sheet -o sheet.png     one with a tile for each file\n  meshmap render \
        proxy.cgeo --sheet --every 4 -o sheet.png"))]
    Render {
        #[command(flatten)]
        args: RenderArgs,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Show files in the browser, where animations play.
    ///
    /// The files come from a server that only this machine can reach. The page shows the contents of the files, plays snapshots
    /// and animations, and reads only the parts that it shows. The command ends when the last tab is closed. Builds need the
    /// feature `view`.
    #[command(after_long_help = concat_help("Examples:\n  meshmap view proxy.cgeo\n  meshmap view assets/ -g '*.iqm'\n  meshmap \
        view --no-open assets/                 only print the address"))]
    View {
        #[command(flatten)]
        args: ViewArgs,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Write a table with a row for each mesh of many files.
    ///
    /// A row has the facts of the headers, or the reason why the file cannot be read.
    #[command(after_long_help = concat_help("Examples:\n  meshmap catalog assets/ -o assets.parquet\n  meshmap catalog assets/ \
        --full --hash -o assets.arrow\n  meshmap catalog assets/ -g '*.iqm' > models.csv"))]
    Catalog {
        #[command(flatten)]
        args: CatalogArgs,
        #[command(flatten)]
        list: FileList,
        #[command(flatten)]
        choice: Choice,
    },
    /// Print a SHA-256 of every decoded array as JSON.
    ///
    /// To compare readers. Fails for files that `verify` reports as broken.
    Digest {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// Include all bodies of an OpenCTM file, with full addresses; by default only the first one, without `bodies[0].`.
        #[arg(long)]
        all: bool,
        /// Map the file instead of reading it; it must not change meanwhile.
        #[arg(long)]
        mmap: bool,
        #[command(flatten)]
        memory: Memory,
    },
    /// Print a script that completes arguments in a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

/// The commands and their arguments, for checks that cover all of them.
#[must_use]
pub fn definition() -> clap::Command {
    help::grouped(Cli::command())
}

/// Runs the command line with these arguments, the first of which is the program's name.
///
/// Pages go to standard output, errors to standard error. The status is 0; 1 if at least one file cannot be read or
/// used, or files differ; 2 if the arguments are wrong; 130 if the command was interrupted.
pub fn run<T: Into<OsString> + Clone>(args: impl IntoIterator<Item = T>) -> ExitCode {
    ExitCode::from(run_to_status(args))
}

/// Like [`run`], but returns the status as a number, for programs that set the exit status themselves.
pub fn run_to_status<T: Into<OsString> + Clone>(args: impl IntoIterator<Item = T>) -> u8 {
    const FAILURE: u8 = 1;
    /// The status that a shell shows for a program that SIGPIPE ends.
    const NO_READER: u8 = 141;
    let parsed = definition()
        .try_get_matches_from(args)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed.map_err(with_tip).map_err(with_shown_urls) {
        Ok(cli) => cli,
        Err(error) => {
            // If the error stream is closed, the message is lost.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(FAILURE);
        }
    };
    let screen = Screen::of_output(cli.color);
    let out = &mut io::BufWriter::new(io::stdout());
    let outcome = command(cli.command, screen, out);
    if matches!(outcome, Ok(Outcome::Interrupted)) {
        // Other threads may still be writing.
        meshmap_outputs::remove_part_files();
    }
    let status = match &outcome {
        Ok(Outcome::Good) => 0,
        Ok(Outcome::Usage) => 2,
        Ok(Outcome::Interrupted) => interrupt::STATUS,
        Ok(Outcome::Bad) => FAILURE,
        // Whoever reads the output has seen enough, before all files were read.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return NO_READER,
        Err(_) => FAILURE,
    };
    match outcome.map(drop).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            print_stderr(format_args!("standard output: {error}"));
            FAILURE
        }
        _ => status,
    }
}

/// An error about an unknown option names the commands that have it, and does not advise to pass it as a path.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let name = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) if error.kind() == ErrorKind::UnknownArgument => {
            name.clone()
        }
        _ => return error,
    };
    let Some(long) = name.strip_prefix("--") else {
        return error;
    };
    let definition = definition();
    let has_option = |command: &&clap::Command| {
        command
            .get_arguments()
            .any(|argument| argument.get_long() == Some(long))
    };
    let commands = definition
        .get_subcommands()
        .filter(has_option)
        .map(|command| format!("'{}'", command.get_name()));
    let commands = commands.collect::<Vec<_>>().join(", ");
    error.remove(ContextKind::Suggested);
    if !commands.is_empty() {
        let tip = format!("'{name}' is an option of {commands}").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// An error that shows URLs without their secrets.
fn with_shown_urls(mut error: clap::Error) -> clap::Error {
    let addresses = error.context().filter_map(|(kind, value)| {
        let ContextValue::String(argument) = value else {
            return None;
        };
        let shown = argument.trim_start_matches('-');
        has_scheme(shown).then(|| (kind, without_secrets(shown).into_owned()))
    });
    for (kind, shown) in addresses.collect::<Vec<_>>() {
        if error.kind() == ErrorKind::ValueValidation {
            // Other reasons may quote the value, or a part of it.
            let reason = std::error::Error::source(&error)
                .map(ToString::to_string)
                .filter(|reason| reason.starts_with(OUTPUTS_ARE_FILES))
                .unwrap_or_else(|| "an address".to_owned());
            let option = error
                .get(ContextKind::InvalidArg)
                .map(ToString::to_string)
                .unwrap_or_default();
            let message = format!("invalid value '{shown}' for '{option}': {reason}\n");
            return clap::Error::raw(ErrorKind::ValueValidation, message);
        }
        error.insert(kind, ContextValue::String(shown));
        // The tips have the argument as well.
        error.remove(ContextKind::Suggested);
    }
    error
}

fn print(text: &str, out: &mut impl Write) -> io::Result<Outcome> {
    out.write_all(text.as_bytes())?;
    Ok(Outcome::Good)
}

fn command(command: Command, screen: Screen, out: &mut (impl Write + Send)) -> io::Result<Outcome> {
    match command {
        Command::Info {
            args: InfoArgs { schema: true, .. },
            ..
        } => print(SCHEMA, out),
        Command::Convert {
            args: ConvertArgs { schema: true, .. },
            ..
        }
        | Command::Render {
            args: RenderArgs { schema: true, .. },
            ..
        } => print(SCHEMA_OF_OUTPUTS, out),
        Command::Diff {
            args: DiffArgs { schema: true, .. },
            ..
        } => print(SCHEMA_OF_DIFF, out),
        Command::Catalog {
            args: CatalogArgs { schema: true, .. },
            ..
        } => print(SCHEMA_OF_CATALOG, out),
        Command::Info { args, list, choice } => {
            info::run(&args, &with_list(choice, list), screen, out)
        }
        Command::Verify {
            args: VerifyArgs { rules: true, .. },
            ..
        } => {
            for format in Format::ALL {
                for Rule {
                    id, severity, name, ..
                } in format.rules()
                {
                    writeln!(
                        out,
                        "{:<36} {:<11} {name}",
                        format!("{format}.{id}"),
                        severity.name()
                    )?;
                }
            }
            Ok(Outcome::Good)
        }
        Command::Verify { args, list, choice } => {
            verify::run(&args, &with_list(choice, list), screen, out)
        }
        Command::Dump { args } => {
            args.durable.begin();
            watch_maps(args.mmap);
            args.memory.job(|| dump::run(&args, screen, out))
        }
        Command::Diff { args, choice } => {
            args.durable.begin();
            begin(&choice);
            diff::run(&args, &choice, screen, out)
        }
        Command::Convert { args, list, choice } => {
            args.durable.begin();
            convert::run(&args, &with_list(choice, list), screen, out)
        }
        Command::Render { args, list, choice } => {
            args.durable.begin();
            render::run(&args, &with_list(choice, list), screen, out)
        }
        Command::Catalog { args, list, choice } => {
            args.durable.begin();
            catalog::run(&args, &with_list(choice, list), screen, out)
        }
        Command::View { args, list, choice } => view::run(&args, &with_list(choice, list), out),
        Command::Digest {
            path,
            all,
            mmap,
            memory,
        } => {
            watch_maps(mmap);
            memory.job(|| digest::run(&path, all, (mmap, memory), out))
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut definition(), "meshmap", &mut script);
            out.write_all(&script)?;
            Ok(Outcome::Good)
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(definition()).render(&mut page)?;
            out.write_all(&page)?;
            Ok(Outcome::Good)
        }
    }
}

/// Adds a list of files to the choice, and begins with it.
fn with_list(choice: Choice, list: FileList) -> Choice {
    begin(&choice);
    Choice { list, ..choice }
}

/// Watches what is mapped, and sets the number of threads, which also decode a single file.
fn begin(choice: &Choice) {
    watch_maps(choice.mmap);
    if let Some(threads) = choice.threads {
        // A pool that the calling program has already made stays in use.
        drop(
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads.get())
                .build_global(),
        );
    }
}

fn watch_maps(is_mapped: bool) {
    if is_mapped {
        interrupt::watch_maps();
    }
}
