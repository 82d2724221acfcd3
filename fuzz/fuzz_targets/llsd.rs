//! Whatever the bytes, reading them as LLSD ends, and skipping comes to the same end.
#![no_main]

#[path = "../../tests/support/exercise.rs"]
#[allow(dead_code, reason = "what is said of errors is shared")]
mod exercise;
#[path = "../../tests/support/exercise_slmesh.rs"]
#[allow(dead_code, reason = "the target `slmesh` uses the rest")]
mod exercise_slmesh;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| exercise_slmesh::llsd(data));
