//! The C interface of meshmap. Users of C and C++ read `include/meshmap.h`, which the test `header` makes from this, in reading
//! order.
//!
//! Every function of the header is here, as `pub unsafe extern "C" fn`. What they have in common:
//!
//! * A *handle* is a number in a table (`handle`), in the shape of a pointer that is never followed: one that was closed,
//!   or is of another kind, or was never there, is an error code.
//! * `fail`: errors as codes, and what else there is to say of the last one on each thread. Panics end as codes.
//! * `memory`: what a caller's pointers point to is read and written there.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     fail/status flag: codes, why a call fails, and the flag that cancels the calls of a thread
//     memory format: a caller's pointers, and the numbers of formats
//     fail: the last failure of each thread
//     pin: the library stays loaded
//     scalar dialect: the types of numbers, and the dialects of CGeo files
//     handle reader view options: handles, callbacks, arrays in memory, and how files are read
//     cancel scratch file: flags, memory that is used again, and files
//     snapshot_array list findings: one array of a snapshot, and lists
//     arrays mesh iqm slmesh: stored arrays, meshes of any format, and what single formats add
//     vertices scene: the attributes of meshes; files as they are drawn
//     shape pose: the shapes of scenes; joints and clips
//     cgeo_dialect cgeo: snapshots
//     snapshot: places for snapshots
//     cache: the cache of snapshots
//     motion: times, and what moves between snapshots
//     writer: vertices of snapshots in the caller's buffers

#![allow(
    unsafe_code,
    non_camel_case_types,
    reason = "a boundary to C: memory of the caller's, and names as C has them"
)]
#![allow(
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    reason = "what pointers must be is said once, at the head of the header, and functions have what C wants"
)]
#![warn(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arrays;
mod cache;
mod cancel;
mod cgeo;
mod cgeo_dialect;
mod dialect;
mod fail;
mod file;
mod findings;
mod flag;
mod format;
mod handle;
mod iqm;
mod list;
mod memory;
mod mesh;
mod motion;
mod options;
mod pin;
mod pose;
mod reader;
mod scalar;
mod scene;
mod scratch;
mod shape;
mod slmesh;
mod snapshot;
mod snapshot_array;
mod vertices;
mod view;
mod writer;

pub use arrays::*;
pub use cache::*;
pub use cancel::*;
pub use cgeo::*;
pub use cgeo_dialect::*;
pub use dialect::*;
pub use fail::{mm_error, mm_last_error, mm_status, mm_status_name, status::*};
pub use file::*;
pub use findings::*;
pub use format::*;
pub use handle::mm_handle_count;
pub use iqm::*;
pub use list::*;
pub use mesh::*;
pub use motion::*;
pub use options::*;
pub use pose::*;
pub use reader::*;
pub use scalar::*;
pub use scene::*;
pub use scratch::*;
pub use shape::*;
pub use slmesh::*;
pub use snapshot::*;
pub use vertices::*;
pub use view::mm_array_info;
pub use writer::*;
