//! The length of the first request for a file in a store, of which only headers are read.
//!
//! A request costs more than the bytes that it transfers, and stores limit requests. So one request should have all that is read of a file; and
//! most files of a library are alike.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use meshmap::ReadRange;

/// The lengths of first requests: 16 KiB to 1 MiB. A shorter response would take about as long.
const SHORTEST: u64 = 16 << 10;
const LENGTHS: usize = 7;

/// The length until enough files are known.
const USUAL: u64 = 64 << 10;

/// Files before which nothing is learned, and after which older files count half.
const FEW: u32 = 16;
const MANY: u32 = 1024;

/// The number of files of a thousand that have their headers in the first request.
const ENOUGH: u32 = 990;

/// The numbers of files, by the shortest first request that has their headers.
type Counts = [u32; LENGTHS];

/// The counts of this process, by the endings of names.
static KNOWN: Mutex<Option<HashMap<String, Counts>>> = Mutex::new(None);

/// The length of the first request for a file with a name of this ending.
pub(crate) fn first_request(ending: &str) -> u64 {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let counts = known.as_ref().and_then(|known| known.get(ending));
    counts.map_or(USUAL, length)
}

fn length(counts: &Counts) -> u64 {
    let all: u32 = counts.iter().sum();
    if all < FEW {
        return USUAL;
    }
    let mut sum = 0;
    let is_enough = |count: &u32| {
        sum += count;
        u64::from(sum) * 1000 >= u64::from(all) * u64::from(ENOUGH)
    };
    let place = counts.iter().position(is_enough).unwrap_or(LENGTHS - 1);
    SHORTEST << place
}

/// Counts a file whose headers are in its first `end` bytes.
fn learn(ending: &str, end: u64) {
    let place = (0..LENGTHS).find(|place| end <= SHORTEST << place);
    let Some(place) = place else { return };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let counts = known
        .get_or_insert_default()
        .entry(ending.to_owned())
        .or_default();
    if let Some(count) = counts.get_mut(place) {
        *count += 1;
    }
    if counts.iter().sum::<u32>() >= MANY {
        counts.iter_mut().for_each(|count| *count /= 2);
    }
}

/// A file of which headers are read. When it is dropped, it is known how long its first request should have been.
pub(crate) struct Headers<T> {
    file: T,
    ending: String,
    /// The end of what was read near the beginning.
    end: AtomicU64,
}

impl<T> Headers<T> {
    pub(crate) fn new(file: T, ending: String) -> Self {
        Self {
            file,
            ending,
            end: AtomicU64::new(0),
        }
    }
}

impl<T> Drop for Headers<T> {
    fn drop(&mut self) {
        let end = *self.end.get_mut();
        if end > 0 {
            learn(&self.ending, end);
        }
    }
}

impl<T: ReadRange> ReadRange for Headers<T> {
    fn len(&self) -> io::Result<Option<u64>> {
        self.file.len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        // Bytes far from the beginning take another request in any case.
        if range.end <= SHORTEST << (LENGTHS - 1) {
            self.end.fetch_max(range.end, Ordering::Relaxed);
        }
        self.file.read(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_has_the_headers_of_nearly_all_files() {
        let ending = "learned-test";
        assert_eq!(first_request(ending), USUAL);
        for _ in 0..FEW {
            learn(ending, 2700);
        }
        assert_eq!(first_request(ending), SHORTEST);
        // One of two hundred takes a second request; three of a hundred do not.
        for number in 0..400 {
            learn(ending, if number % 200 == 0 { 90_000 } else { 25_000 });
        }
        assert_eq!(first_request(ending), 32 << 10);
        for number in 0..2000 {
            learn(ending, if number % 30 == 0 { 90_000 } else { 25_000 });
        }
        assert_eq!(first_request(ending), 128 << 10);
        // No file is far longer than all requests.
        learn(ending, 3 << 20);
        assert_eq!(first_request(ending), 128 << 10);
        // The lengths of another library are learned as well.
        for _ in 0..4 * MANY {
            learn(ending, 5000);
        }
        assert_eq!(first_request(ending), SHORTEST);
    }

    struct Zeros;

    impl ReadRange for Zeros {
        fn len(&self) -> io::Result<Option<u64>> {
            Ok(Some(40_000))
        }

        fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
            Ok(vec![0; (range.end - range.start) as usize].into())
        }
    }

    #[test]
    fn a_file_is_learned_when_it_is_dropped() {
        let ending = "learned-drop";
        for _ in 0..FEW {
            let file = Headers::new(Zeros, ending.to_owned());
            file.read(0..16).unwrap();
            file.read(30_000..39_999).unwrap();
        }
        assert_eq!(first_request(ending), 64 << 10);
    }
}
