//! Files at addresses of stores and servers, of which ranges are fetched.

use std::io;
use std::ops::Range;
use std::process;

use bytes::Bytes;
use meshmap::{ReadRange, Source};
use meshmap_object_store::Blocking;

/// The file at an address such as `https://..` or `s3://..`.
pub(crate) fn at(address: &str) -> io::Result<Source> {
    let stored = Stored { file: Blocking::at(address)?, process: process::id() };
    // A file that is not there is said at once, and not as an error of its headers.
    stored.len()?;
    Ok(Source::ranged(stored))
}

/// The size of the file at an address.
pub(crate) fn size(address: &str) -> io::Result<u64> {
    Ok(Blocking::at(address)?.fetch_length()?)
}

/// The files below an address, and their sizes.
pub(crate) fn list(address: &str) -> io::Result<Vec<(String, u64)>> {
    let listed = Blocking::list(address)?;
    Ok(listed.into_iter().map(|file| (file.address, file.bytes)).collect())
}

/// A file in a store, for the process that opened it.
struct Stored {
    file: Blocking,
    process: u32,
}

impl Stored {
    /// A forked child has not the thread that makes requests: who waits for it waits for ever.
    fn here(&self) -> io::Result<&Blocking> {
        if self.process == process::id() {
            return Ok(&self.file);
        }
        let address = self.file.remote().address();
        Err(io::Error::other(format!(
            "{address}: was opened before this process was forked: open it again here"
        )))
    }
}

impl ReadRange for Stored {
    fn len(&self) -> io::Result<Option<u64>> {
        self.here()?.len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.here()?.read(range)
    }
}
