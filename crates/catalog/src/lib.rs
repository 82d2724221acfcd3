#![doc = include_str!("../README.md")]

pub mod digest;
mod find;
mod input;
pub mod inspect;
pub mod json;
pub mod rows;
pub mod text;
pub mod topology;
mod windows;

pub use find::{Found, Glob, Selection, Skipped, find};
pub use input::{
    Input, Network, Problem, Reading, SHARES, STANDARD_INPUT, memory_for, meter_of, read_to_end,
};
pub use inspect::info;
pub use text::is_address;
