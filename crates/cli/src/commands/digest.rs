//! `meshmap digest`: the digest of a file.

use std::io::{self, Write};
use std::path::Path;

use crate::digest::{self, FileDigest, Refused};
use crate::{files, show};

pub(crate) fn run(path: &Path, mmap: bool, out: &mut impl Write) -> io::Result<bool> {
    match digest(path, mmap) {
        Ok(object) => {
            serde_json::to_writer(&mut *out, &object)?;
            writeln!(out)?;
            Ok(true)
        }
        Err(error) => {
            show::error(format_args!("{}: {}", show::path(path), error.message()));
            Ok(false)
        }
    }
}

fn digest(path: &Path, mmap: bool) -> Result<FileDigest, Refused> {
    digest::of(&files::open(path, mmap)?)
}
