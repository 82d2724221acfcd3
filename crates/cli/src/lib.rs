//! The command line of `meshmap` as a library: it shows the contents of mesh files, and verifies them.
//!
//! [`run`] is the whole command. What it knows of files comes from `meshmap-catalog`.

mod args;
mod blocks;
mod commands;
mod cross_check;
mod damage;
mod inputs;
mod interrupt;
mod page;
mod pool;
mod progress;
mod report;
mod rows;
mod rules;
mod screen;
mod table;
mod text;
#[cfg(feature = "view")]
mod view;
mod words;

pub use args::{definition as command, run, run_to_status};
