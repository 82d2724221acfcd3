//! Whatever the bytes, everything that a user can call on an OpenCTM file keeps its promises.
#![no_main]

#[path = "../../tests/support/exercise.rs"]
#[allow(dead_code, reason = "what is said of errors is shared")]
mod exercise;
#[path = "../../tests/support/exercise_openctm.rs"]
mod exercise_openctm;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    exercise_openctm::bytes(data);
});
