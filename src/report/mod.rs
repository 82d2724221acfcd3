//! How trouble is told: errors, findings, and where in a file they are.

mod address;
mod error;
mod finding;
mod item;

pub use address::{Address, Segment};
pub use error::{Error, ErrorKind, Result};
pub use finding::Finding;
pub use item::Item;

pub(crate) use finding::Findings;
