//! Mesh files in the browser: sessions that read a file of which JavaScript fetches the ranges.
//!
//! A [`Session`] does no I/O. Its jobs return `None` if bytes are missing; [`Session::needed`] then has their ranges, and
//! the job is run again once they are [supplied](Session::supply). A [`Reply`] is JSON and arrays of bytes; a [`Failure`] has
//! the parts of a `meshmap::Error`.
//!
// The module does no I/O (`crates/web`):
//
// * `session.rs`: a `Session` is a `Fragments` and a file over it. Its jobs return nothing if bytes are missing; `needed` lists
//   their ranges. `file.rs` has headers and lists, `scene.rs` hands out the scene of the file, `vertices.rs` makes arrays of a mesh,
//   `playback.rs` positions of a snapshot for existing vertices, `skin.rs` what the scene has not of the skin of a Second Life
//   mesh. Replies (`reply.rs`) are JSON, by `json.rs`, and arrays. No rule about the meaning of a file is here or in `js`.
// * `bindings.rs` exports the session. A failure is thrown as JSON. A panic ends the module without a message; tests run natively,
//   so that a panic has one.
// * `js/source.js` fetches ranges of a URL, and ensures that they are of one version, or slices of a `Blob`. `js/core.js` runs a
//   job until it is done. `js/worker.js` does so in a thread. `js/workers.js` has a few of them, makes another one if one has ended, and
//   knows the addresses of script and module. `js/index.js` describes files to programs. `js/three.js` makes objects of three.js:
//   `geometry.js` of shapes, `rig.js` of joints and clips. `playback.js` reads snapshots ahead, and keeps the two between which
//   positions are interpolated. `site` is the demonstration, a page over the loader.
// * `build` optimizes modules for size: no unwinding, no locations of panics, no derived `Debug`, `--cfg meshmap_small`, and
//   `--cfg meshmap_without="FORMAT"` in modules of one format.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     json: the text of replies
//     describe failure: what replies and errors say
//     reply: the outcome of a job
//     file playback skin vertices: jobs of each kind
//     scene: the meaning of a file
//     session: a file that is being read, and its jobs
//     bindings: what the module exports

#[cfg(target_arch = "wasm32")]
mod bindings;
mod describe;
mod failure;
mod file;
mod json;
mod playback;
mod reply;
mod scene;
mod session;
mod skin;
mod vertices;

pub use failure::{Failure, Parts};
pub use reply::Reply;
pub use scene::Selection;
pub use session::{Pieces, Session, Settings};
pub use vertices::Wanted;
