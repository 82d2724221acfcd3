//! CGeo files: facts, and the page about them.

mod facts;
mod page;

pub(crate) use facts::{Facts, parse_dialect};
pub(super) use facts::{error_of, look, variant, walk};
pub(super) use page::page;
pub(crate) use page::{List, list, summary};
