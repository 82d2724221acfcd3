//! The command line of `meshmap` as a library: it shows the contents of mesh files, and verifies them.
//!
//! [`run`] is the whole command. What it knows of files comes from `meshmap-catalog`.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     text table screen words: text on a terminal
//     inputs pool interrupt: files that are named or found, and threads
//     progress: work on many files, and its progress bar
//     blocks cross_check rules report: what commands ask of one file
//     damage: the parts that cannot be used, in words
//     headline: the first lines about a file
//     page: the page of any file
//     rows: a line for each of many files
//     view: the page of `meshmap view`, and its server
//     commands: one file for each command
//     help: the options of commands in groups
//     args: the command line

mod args;
mod blocks;
mod commands;
mod cross_check;
mod damage;
mod headline;
mod help;
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
