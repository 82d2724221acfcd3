//! `meshmap digest`: a sha256 of everything that a file decodes to, for comparing readers.

use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;

use crate::listing::{self, Refused};
use crate::{files, show};

pub(crate) fn run(path: &Path, mmap: bool, out: &mut impl Write) -> io::Result<bool> {
    match digest(path, mmap) {
        Ok(object) => {
            writeln!(out, "{object}")?;
            Ok(true)
        }
        Err(error) => {
            eprintln!("{}: {error}", show::path(path));
            Ok(false)
        }
    }
}

fn digest(path: &Path, mmap: bool) -> Result<Value, Refused> {
    listing::of(&files::open(path, mmap)?)
}
