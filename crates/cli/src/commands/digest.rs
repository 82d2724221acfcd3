//! `meshmap digest`: the digest of a file.

use std::io::{self, Write};
use std::path::Path;

use meshmap_catalog::SHARES;
use meshmap_catalog::digest::{self, FileDigest, Refused};
use meshmap_catalog::json;

use super::{Outcome, print_stderr};
use crate::inputs::{Input, Memory, Problem, Reading};
use crate::text;

pub(crate) fn run(
    path: &Path,
    all: bool,
    (mmap, memory): (bool, Memory),
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let input = Input::named(path);
    match digest(&input, all, &Reading { mmap, ..memory.reading(SHARES) }) {
        Ok(object) => {
            json::write(&mut *out, &object)?;
            writeln!(out)?;
            Ok(Outcome::Good)
        }
        Err(problem) => {
            print_stderr(format_args!("{}: {problem}", input.shown()));
            Ok(Outcome::Bad)
        }
    }
}

fn digest(input: &Input, all: bool, how: &Reading) -> Result<FileDigest, Problem> {
    let Some(file) = input.open(&input.source(how)?, how)? else {
        return Err(Problem::other("unknown_format", "no mesh".to_owned()));
    };
    let digest = if all { digest::of_all(&file) } else { digest::of(&file) };
    digest.map_err(|refused| match refused {
        Refused::Library(error) => error.into(),
        other => Problem::other("malformed", text::line(&other.message())),
    })
}
