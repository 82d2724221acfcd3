//! The command line of `meshmap` as a library: it shows the contents of mesh files, and verifies them.
//!
//! [`run`] is the whole command; [`digest`] is the part that tests of the library also use, and [`info`], [`catalog`]
//! and [`is_address`] are for bindings to other languages.

mod args;
mod blocks;
pub mod catalog;
mod commands;
mod cross_check;
pub mod digest;
mod inputs;
mod inspect;
mod interrupt;
mod json_text;
mod pool;
mod progress;
mod report;
mod rows;
mod rules;
mod screen;
mod table;
mod text;
mod topology;
#[cfg(feature = "view")]
mod view;
mod windows;
mod words;

pub use args::{definition as command, run, run_to_status};
pub use commands::Index;
pub use inputs::is_address;
pub use inspect::info;
