//! Reports of problems: errors, findings, and their locations in a file.

mod address;
mod cause;
mod error;
mod finding;
mod kind;
mod parse_name;
mod place;
mod rule;

pub use address::{Address, ParseError, Segment};
pub use cause::{Cause, Limit};
pub use error::{Error, Result};
pub use finding::{Finding, Item};
pub use kind::ErrorKind;
pub use rule::{Rule, Severity};

pub(crate) use address::{parse_quoted, quoted, write_quoted};
pub(crate) use finding::Findings;
pub(crate) use parse_name::parse_name;
pub(crate) use place::Place;
pub(crate) use rule::rules;
