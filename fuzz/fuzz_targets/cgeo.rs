//! Whatever the bytes, everything that a user can call on a CGeo file keeps its promises.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshmap_testing::exercise;

fuzz_target!(|data: &[u8]| {
    exercise::cgeo::bytes(data);
    exercise::calls(data);
});
