//! `meshmap digest`: the digest of a file.

use std::io::{self, Write};
use std::path::Path;

use super::{Outcome, tell};
use crate::digest::{self, FileDigest, Refused};
use crate::inputs::{Input, Problem, Reading};
use crate::text;

pub(crate) fn run(path: &Path, mmap: bool, out: &mut impl Write) -> io::Result<Outcome> {
    let input = Input::named(path);
    match digest(&input, &Reading { mmap, ..Reading::default() }) {
        Ok(object) => {
            serde_json::to_writer(&mut *out, &object)?;
            writeln!(out)?;
            Ok(Outcome::Good)
        }
        Err(problem) => {
            tell(format_args!("{}: {problem}", input.shown()));
            Ok(Outcome::Bad)
        }
    }
}

fn digest(input: &Input, how: &Reading) -> Result<FileDigest, Problem> {
    let Some(file) = input.open(&input.source(how.mmap)?, how)? else {
        return Err(Problem::other("unknown_format", "no mesh".to_owned()));
    };
    digest::of(&file).map_err(|refused| match refused {
        Refused::Library(error) => error.into(),
        other => Problem::other("malformed", text::line(&other.message())),
    })
}
