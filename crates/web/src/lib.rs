//! Mesh files in the browser: sessions that read a file of which JavaScript fetches the ranges.
//!
//! A [`Session`] does no I/O. Its jobs return `None` if bytes are missing; [`Session::needed`] then has their ranges, and
//! the job is run again once they are [supplied](Session::supply). A [`Reply`] is JSON and arrays of bytes; a [`Failure`] has
//! the parts of a `meshmap::Error`.
//!
//! Features are the formats that the module reads.

// The module does no I/O (`crates/web`):
//
// * `session.rs`: a `Session` is a `Fragments` and a file over it. Its jobs return nothing if bytes are missing; `needed` lists
//   their ranges. `file.rs` opens a file of one of the formats that the module supports, by features, so that unused formats are
//   not linked. It uses the formats' own types, because `MeshFile` names all formats. `vertices.rs` makes arrays of a mesh,
//   `playback.rs` positions of a snapshot for existing vertices, `rig.rs` joints and frames, `skin.rs` the skin of a Second Life
//   mesh. Replies (`reply.rs`) are JSON, by `json.rs`, and arrays.
// * `bindings.rs` exports the session. A failure is thrown as JSON. A panic ends the module without a message; tests run natively,
//   so that a panic has one.
// * `js/source.js` fetches ranges of a URL, and ensures that they are of one version, or slices of a `Blob`. `js/core.js` runs a
//   job until it is done. `js/worker.js` does so in a thread, `js/index.js` talks to the worker, and starts another one if it has
//   ended. `js/three.js` makes objects of three.js: `geometry.js` of meshes, `rig.js` of joints and clips. `playback.js` reads
//   snapshots ahead, and keeps the two between which positions are interpolated. `site` is the demonstration, a page over the
//   loader.
// * `build` optimizes modules for size: no unwinding, no locations of panics, no derived `Debug`, `--cfg meshmap_small`.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     json: the text of replies
//     describe failure: what replies and errors say
//     reply: the outcome of a job
//     file playback rig skin vertices: jobs of each kind
//     session: a file that is being read, and its jobs
//     bindings: what the module exports

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
