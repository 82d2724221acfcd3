//! Whatever the bytes, reading them as LLSD ends, and skipping comes to the same end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshmap_testing::exercise;

fuzz_target!(|data: &[u8]| exercise::slmesh::llsd(data));
