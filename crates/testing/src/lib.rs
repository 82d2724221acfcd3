//! Code that the tests, benchmarks and fuzzers of `meshmap` share. Not published.

pub mod again;
pub mod allocator;
pub mod bombs;
pub mod calls;
pub mod data;
mod drawn;
pub mod exercise;
pub mod faulty;
pub mod fixtures;
pub mod kinds;
pub mod measure;
mod recorder;
mod steps;
mod watchdog;

pub use drawn::{drawn, has_bind_shape, runs_against_normals};
pub use recorder::Recorder;
pub use steps::in_steps;
pub use watchdog::with_watchdog;
