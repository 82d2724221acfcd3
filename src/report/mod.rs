//! Reports of problems: errors, findings, and their locations in a file.
//!
//! An [`Error`] ends a call. A [`Finding`] reports that the file breaks a [`Rule`] and is read anyway: by default, data that can be read
//! is read. Strict reading makes an error of a finding whose rule is forbidden. Accessors return `Ok(None)` for absent data, and `Err` for
//! invalid data.
//!
//! Both are made from a [`Place`]: the format, the structure by the name that the specification has for it, the address and the bytes.
//! The [`Cause`] of an error has the expected and the found value, and makes the one sentence that every program prints. `{}` does not
//! repeat the text of `source()`. A finding that is made of an error has its text without path and format (`Error::message_at`).

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
