//! `meshmap view`: files in the browser of the user.

use std::io::{self, Write};
use std::path::PathBuf;

use super::{Outcome, print_stderr};
use crate::inputs::Choice;

#[cfg(not(feature = "view"))]
pub(crate) fn run(_: &[PathBuf], _: bool, _: &Choice, _: &mut impl Write) -> io::Result<Outcome> {
    print_stderr("view: this program was built without the feature `view`");
    Ok(Outcome::Usage)
}

#[cfg(feature = "view")]
pub(crate) use with_page::run;

#[cfg(feature = "view")]
mod with_page {
    use std::process::{Command, Stdio};

    use super::super::outputs;
    use super::*;
    use crate::inputs::{self, Input, Problem};
    use crate::interrupt;
    use crate::text;
    use crate::view::{self, Content, End, Served, Server};

    pub(crate) fn run(
        paths: &[PathBuf],
        opens: bool,
        choice: &Choice,
        out: &mut impl Write,
    ) -> io::Result<Outcome> {
        if !view::is_there() {
            print_stderr(
                "view: this program was built without the page; unpack meshmap-page-VERSION.tar.gz of a release and build it again with \
                MESHMAP_PAGE=FOLDER, or run crates/web/build --install --page first",
            );
            return Ok(Outcome::Usage);
        }
        let found = inputs::find(paths, choice);
        for (path, why) in &found.unreadable {
            print_stderr(format_args!("{}: {why}", text::path(path)));
        }
        let how = outputs::reading(choice, true);
        let mut files = Vec::new();
        for input in found.files.iter().filter(|input| input.is_mesh(&how)) {
            match content(input, choice) {
                Ok(content) => files.push(Served { name: name(input, paths), content }),
                Err(why) => print_stderr(format_args!("{}: {why}", input.shown())),
            }
        }
        if files.is_empty() {
            print_stderr("view: no mesh file");
            return Ok(Outcome::Bad);
        }
        let interrupted = interrupt::watch();
        let count = text::plural(files.len() as u64, "file");
        let server = match Server::bind(files) {
            Ok(server) => server,
            Err(error) => {
                print_stderr(format_args!("view: no port of 127.0.0.1 can be used: {error}"));
                return Ok(Outcome::Bad);
            }
        };
        let address = server.address();
        writeln!(out, "{address}")?;
        out.flush()?;
        if opens && let Err(error) = open(&server.launch_address()) {
            print_stderr(format_args!(
                "view: the browser cannot be started ({error}); open the address above"
            ));
        }
        if !choice.quiet {
            print_stderr(format_args!("{count}; ends with the last tab of the page, or with Ctrl-C"));
        }
        Ok(match server.run(interrupted) {
            End::LastTabClosed => Outcome::Good,
            End::Interrupted => Outcome::Interrupted,
        })
    }

    /// The bytes of a file. A file that cannot be opened is an error here, rather than in the page.
    fn content(input: &Input, choice: &Choice) -> Result<Content, Problem> {
        let source = input.source(&choice.memory.reading(1))?;
        let is_file = std::fs::metadata(&input.path).is_ok_and(|metadata| metadata.is_file());
        Ok(if is_file { Content::File(input.path.clone()) } else { Content::Source(source) })
    }

    /// The path below the directory that was named, with slashes.
    fn name(input: &Input, paths: &[PathBuf]) -> String {
        match input.is_named {
            true => input.name(),
            false => text::path(&outputs::below(paths, input)).replace('\\', "/"),
        }
    }

    /// Opens an address in the browser of the user.
    fn open(address: &str) -> io::Result<()> {
        let mut command = if cfg!(windows) {
            let mut command = Command::new("rundll32");
            command.arg("url.dll,FileProtocolHandler");
            command
        } else {
            Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" })
        };
        let command = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        // The program may stay as long as the browser does.
        std::thread::Builder::new().spawn(move || child.wait()).map(drop)
    }
}
