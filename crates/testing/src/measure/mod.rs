//! Code that measurements share: jobs in turns, the table of their ratios, and loops for comparison.

mod interleave;
pub mod iqm;

pub use cpu_time::ProcessTime;
pub use interleave::{Table, Times, interleave};
