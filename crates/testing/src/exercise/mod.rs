//! Asserts what the documentation promises of any bytes. Every public call is named once, in [`calls`](crate::calls); the
//! modules here call only what they compare.
//!
//! Shared by tests and fuzzers. What is done is bounded, so that a file that shares bytes between thousands of parts
//! does not take longer than one that does not.

pub mod cgeo;
mod check;
pub mod iqm;
pub mod openctm;
pub mod slmesh;
pub mod tmf;

use meshmap::{Format, Source};

pub use check::{options, seen};

use crate::calls::errors;

/// Opens the bytes as a file of a format, tolerantly and strictly, and calls everything on what opens.
///
/// Returns `true` if the bytes are a file that opens.
pub fn bytes(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::CGeo => cgeo::bytes(bytes),
        Format::Iqm => iqm::bytes(bytes),
        Format::OpenCtm => openctm::bytes(bytes),
        Format::SlMesh => slmesh::bytes(bytes),
        Format::Tmf => tmf::bytes(bytes),
        _ => unreachable!("a format without a list of calls"),
    }
}

/// Makes every public call of [`calls`](crate::calls) on the bytes, a few for each kind of item, and asserts that every
/// error has a message of one line that names the format.
pub fn calls(bytes: &[u8]) {
    for error in errors(&Source::from_bytes(bytes.to_vec()), &options()) {
        seen(error);
    }
}
