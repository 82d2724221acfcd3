#![doc = include_str!("../README.md")]

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     depth: the amount of a file that is read
//     text json: texts without characters that control terminals, and JSON
//     learned: the length of the first request for a file
//     input: a file, how it is read, and why it cannot be
//     find: files that are found in directories
//     windows: files of many small structures, read in windows
//     inspect/lists inspect/serialize inspect/model inspect/json: what is known of a file of any format, and its JSON object
//     inspect/cgeo | inspect/iqm | inspect/openctm | inspect/slmesh | inspect/tmf: the facts of one format each, as named values
//     inspect: the parts that cannot be used
//     digest | topology: hashes of any file; the order of triangles and vertices
//     rows: rows of any file, and tables of many

mod depth;
pub mod digest;
mod find;
mod input;
pub mod inspect;
pub mod json;
#[cfg(feature = "stores")]
mod learned;
pub mod rows;
pub mod text;
pub mod topology;
mod windows;

pub use depth::Depth;
pub use find::{Found, Glob, Selection, Skipped, find};
pub use input::{
    Input, Network, PASSING_KINDS, Problem, Reading, SHARES, STANDARD_INPUT, memory_for, meter_of,
    share_of,
};
pub use inspect::info;
