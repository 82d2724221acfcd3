//! Readers of what was written, which share nothing with the writers.

pub(crate) mod usdc;
