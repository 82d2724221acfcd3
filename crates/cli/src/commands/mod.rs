//! The commands: each takes paths and wishes, writes to `out`, and returns whether all is well.

pub(crate) mod digest;
pub(crate) mod info;
pub(crate) mod verify;
