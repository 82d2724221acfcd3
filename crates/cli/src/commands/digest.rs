//! `meshmap digest`: the digest of a file.

use std::io::{self, Write};
use std::path::Path;

use meshmap_catalog::SHARES;
use meshmap_catalog::digest::{self, FileDigest};
use meshmap_catalog::json;

use super::{Outcome, bad};
use crate::inputs::{Input, Memory, Problem, Reading};

pub(crate) fn run(
    path: &Path,
    all: bool,
    (mmap, memory): (bool, Memory),
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let input = Input::named(path);
    match digest(
        &input,
        all,
        &Reading {
            mmap,
            ..memory.reading(SHARES)
        },
    ) {
        Ok(object) => {
            json::write(&mut *out, &object)?;
            writeln!(out)?;
            Ok(Outcome::Good)
        }
        Err(problem) => bad(format_args!("{}: {problem}", input.shown())),
    }
}

fn digest(input: &Input, all: bool, how: &Reading) -> Result<FileDigest, Problem> {
    let no_mesh = || Problem::other("unknown_format", "no mesh".to_owned());
    let file = input.read(how)?.ok_or_else(no_mesh)?;
    if all {
        digest::of_all(&file)
    } else {
        digest::of(&file)
    }
}
