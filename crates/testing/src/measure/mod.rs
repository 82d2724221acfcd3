//! Code that measurements share: jobs in turns, the table of their ratios, and loops for comparison.

mod interleave;
pub mod iqm;

pub use cpu_time::ProcessTime;
/// The time of a thread, which other programs on the machine do not lengthen. Windows counts it in steps of 16 ms, which are too coarse.
#[cfg(unix)]
pub use cpu_time::ThreadTime;
pub use interleave::{Table, Times, interleave};
#[cfg(not(unix))]
pub use std::time::Instant as ThreadTime;
