//! The command line of `meshmap` as a library: what mesh files hold, and whether they are sound.
//!
//! [`run`] is the whole command; [`digest`] is the part that tests of the library use, too.

mod args;
mod commands;
pub mod digest;
mod files;
mod formats;
mod page;
mod show;

pub use args::run;
