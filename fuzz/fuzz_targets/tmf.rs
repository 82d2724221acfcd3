//! Whatever the bytes, everything that a user can call on a TMF file keeps its promises.
#![no_main]

#[path = "../../tests/support/exercise.rs"]
#[allow(dead_code, reason = "what is said of errors is shared")]
mod exercise;
#[path = "../../tests/support/exercise_tmf.rs"]
mod exercise_tmf;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    exercise_tmf::bytes(data);
});
