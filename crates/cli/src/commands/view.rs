//! `meshmap view`: files in the browser of the user.

use std::io::{self, Write};
use std::path::PathBuf;

use super::{Outcome, usage};
use crate::inputs::{Choice, folder_parser};

/// The arguments of `meshmap view`.
#[derive(clap::Args)]
pub(crate) struct ViewArgs {
    /// Files, directories to search, or `-` for standard input.
    #[arg(required_unless_present = "files_from")]
    paths: Vec<PathBuf>,
    /// Also look for images anywhere below this directory. It may be the root of a game. Can be given several times.
    #[arg(long, value_name = "DIR", value_parser = folder_parser())]
    textures: Vec<PathBuf>,
    /// Print the URL of the page, and do not open it.
    #[arg(long)]
    no_open: bool,
}

/// The message of a program without the page.
fn without_page() -> io::Result<Outcome> {
    usage(
        "view: this program was built without the page, which the programs and wheels of a release have. To build it with the page, \
        unpack meshmap-page-VERSION.tar.gz of a release, or make it in a clone by crates/web/build --install --page; then run \
        MESHMAP_PAGE=FOLDER cargo install --locked --path crates/cli --features view (without MESHMAP_PAGE if it was made in the clone)",
    )
}

#[cfg(not(feature = "view"))]
pub(crate) fn run(_: &ViewArgs, _: &Choice, _: &mut impl Write) -> io::Result<Outcome> {
    without_page()
}

#[cfg(feature = "view")]
pub(crate) use with_page::run;

#[cfg(feature = "view")]
mod with_page {
    use std::ffi::OsStr;
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::sync::Mutex;

    use meshmap_images::Library;
    use tempfile::NamedTempFile;

    use super::super::{bad, outputs, print_stderr};
    use super::*;
    use crate::inputs::{self, Input, Problem};
    use crate::interrupt;
    use crate::text;
    use crate::view::{self, Content, End, Files, Served, Server};

    pub(crate) fn run(
        args: &ViewArgs,
        choice: &Choice,
        out: &mut impl Write,
    ) -> io::Result<Outcome> {
        if !view::is_there() {
            return without_page();
        }
        let found = inputs::find(&args.paths, choice);
        for (path, why) in &found.unreadable {
            print_stderr(format_args!("{}: {why}", text::path(path)));
        }
        let how = choice.reading(outputs::SHARES, true);
        let mut files = Vec::new();
        for input in found.files.iter().filter(|input| input.is_mesh(&how)) {
            match served(input, &args.paths, choice) {
                Ok(served) => files.push(served),
                Err(why) => print_stderr(format_args!("{}: {why}", input.shown())),
            }
        }
        if files.is_empty() {
            return bad("view: no mesh file");
        }
        let interrupted = interrupt::watch();
        let count = text::plural(files.len() as u64, "file");
        let mut folders = Vec::new();
        for folder in &args.textures {
            folders.push(fs::canonicalize(folder)?);
        }
        let files = Files {
            list: files,
            textures: folders,
            library: Library::default(),
            limits: choice.memory.limits_of(outputs::SHARES),
            memory: choice.memory.whole(),
            decoding: Mutex::default(),
        };
        let server = match Server::bind(files) {
            Ok(server) => server,
            Err(error) => {
                return bad(format_args!(
                    "view: no port of 127.0.0.1 can be used: {error}"
                ));
            }
        };
        let address = server.address();
        writeln!(out, "{address}")?;
        out.flush()?;
        if !args.no_open {
            match launch_file(&address)
                .and_then(|file| open(file.path().as_os_str()).map(|()| file))
            {
                Ok(file) => server.keep(file),
                Err(error) => print_stderr(format_args!(
                    "view: the browser cannot be started ({error}); open the address above"
                )),
            }
        }
        if !choice.quiet {
            print_stderr(format_args!(
                "{count}; ends with the last tab of the page, or with Ctrl-C"
            ));
        }
        Ok(match server.run(interrupted) {
            End::LastTabClosed => Outcome::Good,
            End::Interrupted => Outcome::Interrupted,
        })
    }

    /// A file for the page. A file that cannot be opened is an error here, rather than in the page.
    fn served(input: &Input, paths: &[PathBuf], choice: &Choice) -> Result<Served, Problem> {
        let source = input.source(&choice.memory.reading(1))?;
        let below = outputs::below(paths, input);
        let name = match input.is_named {
            true => input.name(),
            false => name_of(&below),
        };
        if !fs::metadata(&input.path).is_ok_and(|metadata| metadata.is_file()) {
            return Ok(Served {
                name,
                content: Content::Source(source),
            });
        }
        let path = fs::canonicalize(&input.path)?;
        if !input.is_named {
            let folder = input
                .path
                .ancestors()
                .nth(below.components().count())
                .unwrap_or(&path);
            // Who shows a folder does not show the rest of the disk.
            if !path.starts_with(fs::canonicalize(folder)?) {
                let why = format!("a link that leads out of {}", text::path(folder));
                return Err(Problem::other("io", why));
            }
        }
        Ok(Served {
            name,
            content: Content::File(path),
        })
    }

    /// A path with slashes, whose parts have no characters that do not print.
    fn name_of(path: &Path) -> String {
        let mut parts = Vec::new();
        for part in path.components() {
            parts.push(text::path(Path::new(part.as_os_str())));
        }
        parts.join("/")
    }

    /// A file that leads a browser to the page: only this user can read it, while all users of the machine see command lines.
    fn launch_file(address: &str) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("meshmap-view-").suffix(".html");
        // A browser in a sandbox, such as Ubuntu's, sees neither temporary nor hidden files.
        let home = std::env::home_dir().filter(|_| cfg!(target_os = "linux"));
        let file = home.and_then(|home| builder.tempfile_in(home).ok());
        let mut file = file.map_or_else(|| builder.tempfile(), Ok)?;
        let page = "<!DOCTYPE html><meta charset=utf-8><title>meshmap</title>";
        writeln!(
            file,
            "{page}<meta http-equiv=refresh content=\"0; url={address}\">"
        )?;
        file.flush()?;
        Ok(file)
    }

    /// Opens a file in the browser of the user.
    fn open(page: &OsStr) -> io::Result<()> {
        let mut command = if cfg!(windows) {
            let mut command = Command::new("rundll32");
            command.arg("url.dll,FileProtocolHandler");
            command
        } else {
            Command::new(if cfg!(target_os = "macos") {
                "open"
            } else {
                "xdg-open"
            })
        };
        let command = command
            .arg(page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        // The program may stay as long as the browser does.
        std::thread::Builder::new()
            .spawn(move || child.wait())
            .map(drop)
    }
}
