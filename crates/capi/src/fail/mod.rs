//! Errors as codes, and what is known of the last one on each thread.

mod last;
pub(crate) mod status;

pub(crate) use last::guard;
pub use last::{mm_error, mm_last_error};
pub(crate) use status::{Fail, Result, free};
pub use status::{mm_status, mm_status_name};
