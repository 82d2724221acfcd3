//! Every public call of every format, each by name, for whoever measures, counts or disturbs it.
//!
//! [`every`] makes the calls. A [`Caller`] decides what becomes of each: it takes its time, counts its memory, or looks
//! at its value.

mod bounds;
mod caller;
mod cgeo;
mod digests;
mod errors;
mod every;
mod iqm;
mod look;
mod meter;
mod openctm;
mod slmesh;
mod tmf;

pub use bounds::{assert_bounded, most_memory};
pub use caller::Caller;
pub use digests::{Digest, assert_same, digests, digests_on, needs_length};
pub use errors::errors;
pub use every::{every, in_steps, on};
pub use look::{Look, Looked, Seen};
pub use meter::{Measured, Meter};
