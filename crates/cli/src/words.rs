//! Texts about failed outputs.

use std::io;

/// The error of an output on a disk that is full.
pub(crate) const DISK_FULL: &str = "the disk is full";

/// The reason why an output cannot be written, without the names of temporary files.
pub(crate) fn writing(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::StorageFull {
        return DISK_FULL.to_owned();
    }
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if let Some(code) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(code).to_string();
        }
        source = error.source();
    }
    error.to_string()
}
