//! `meshmap digest`: the digest of a file.

use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;

use crate::digest::{self, Refused};
use crate::{files, show};

pub(crate) fn run(path: &Path, mmap: bool, out: &mut impl Write) -> io::Result<bool> {
    match digest(path, mmap) {
        Ok(object) => {
            writeln!(out, "{object}")?;
            Ok(true)
        }
        Err(error) => {
            show::error(format_args!("{}: {}", show::path(path), error.message()));
            Ok(false)
        }
    }
}

fn digest(path: &Path, mmap: bool) -> Result<Value, Refused> {
    digest::of(&files::open(path, mmap)?)
}
