//! Code that the tests, benchmarks and fuzzers of `meshmap` share. Not published.
//!
//! Writers of small files and of decompression bombs, files of any number of tiny items, every public call by name, the exercise of each
//! format (all calls on any bytes, with their guarantees), faulty readers, and an allocator that counts.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     again allocator data recorder open steps watchdog measure/interleave: tools that know no format
//     fixtures exercise/check: writers of small files, and the checks of values
//     bombs kinds measure: files that are made to be hard to read, and what is measured on them
//     calls/look calls/caller: what becomes of the value of a call, and of the call
//     calls/cgeo | calls/iqm | calls/openctm | calls/slmesh | calls/tmf | calls/meter: the calls of each format, and their cost
//     calls drawn faulty: every call on any file, its meshes as they are drawn, and readers that do something wrong
//     exercise: the check of any bytes

pub mod again;
pub mod allocator;
pub mod bombs;
pub mod calls;
pub mod data;
mod drawn;
pub mod exercise;
pub mod faulty;
pub mod fixtures;
pub mod kinds;
pub mod measure;
pub mod open;
mod recorder;
mod steps;
mod watchdog;

pub use drawn::{drawn, has_bind_shape, runs_against_normals};
pub use recorder::{Recorder, hooked};
pub use steps::{in_pieces, in_steps};
pub use watchdog::with_watchdog;
