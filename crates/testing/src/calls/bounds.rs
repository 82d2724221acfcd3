//! The rules of memory and of time, for any bytes.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use meshmap::{Limits, Options, Source};

use super::every::every;
use super::meter::{Measured, Meter};

const MIB: u64 = 1 << 20;

/// The most bytes that a call may have live under these limits, for a file of `stored` bytes: what the limits allow or 16
/// times what is stored, what is read, what opening keeps, and 1 MiB for each thread.
pub fn most_memory(limits: &Limits, stored: u64) -> u64 {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64 + 1;
    limits.max_total_bytes.max(16 * stored) + 2 * stored + threads * MIB
}

/// Makes every public call on the bytes, a few for each kind of item, and asserts that each is within the limits, and ends
/// in a time that a few bytes may take.
///
/// # Panics
///
/// Panics if a call takes more memory, in a program whose global allocator is [`Counting`](crate::allocator::Counting), or more
/// time, three times in a row.
pub fn assert_bounded(body: &Bytes) {
    let limits = Limits::default()
        .with_max_block_bytes(MIB)
        .with_max_total_bytes(4 * MIB);
    let most = most_memory(&limits, body.len() as u64);
    // Many times what the slowest call takes under a sanitizer; without bounds it would be minutes.
    let longest = Duration::from_secs(1)
        + Duration::from_micros(20) * u32::try_from(body.len()).unwrap_or(u32::MAX);
    let slow_calls = || {
        let mut slow = BTreeMap::new();
        let done = |Measured { name, time, peak }| {
            let peak = u64::try_from(peak).unwrap_or(0);
            assert!(
                peak <= most,
                "{name} takes {peak} bytes for {} stored ones, of {most}",
                body.len()
            );
            if time > longest {
                slow.insert(name, time);
            }
        };
        let mut meter = Meter::new(|_: &str| {}, done);
        meter.most = 16;
        let options = Options::default().with_limits(limits);
        meter.begin("");
        every(&Source::from_bytes(body.clone()), &options, &mut meter);
        drop(meter);
        slow
    };
    let mut slow = slow_calls();
    for _ in 0..2 {
        if slow.is_empty() {
            return;
        }
        let again = slow_calls();
        slow.retain(|name, _| again.contains_key(name));
    }
    assert!(
        slow.is_empty(),
        "more than {longest:?} for {} bytes: {slow:?}",
        body.len()
    );
}
