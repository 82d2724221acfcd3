//! Whatever the bytes, everything that a user can call on an IQM model keeps its promises.
#![no_main]

#[path = "../../tests/support/exercise.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    exercise::bytes(data);
});
