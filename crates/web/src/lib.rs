//! Mesh files in the browser: sessions that read a file of which JavaScript fetches the ranges.
//!
//! A [`Session`] does no I/O. Its jobs return `None` if bytes are missing; [`Session::needed`] then has their ranges, and
//! the job is run again once they are [supplied](Session::supply). A [`Reply`] is JSON and arrays of bytes; a [`Failure`] has
//! the parts of a `meshmap::Error`.
//!
//! Features are the formats that the module reads.

#[cfg(target_arch = "wasm32")]
mod bindings;
mod describe;
mod failure;
mod file;
mod json;
#[cfg(feature = "cgeo")]
mod playback;
mod reply;
#[cfg(feature = "iqm")]
mod rig;
mod session;
#[cfg(feature = "slmesh")]
mod skin;
mod vertices;

pub use failure::{Failure, Parts};
pub use reply::Reply;
pub use session::{Session, Settings};
pub use vertices::Wanted;
