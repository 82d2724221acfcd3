//! Whatever the bytes, everything that a user can call on an IQM model keeps its promises.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshmap_testing::exercise;

fuzz_target!(|data: &[u8]| {
    exercise::iqm::bytes(data);
    exercise::calls(data);
});
