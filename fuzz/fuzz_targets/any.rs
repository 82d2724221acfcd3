//! Whatever the bytes and whatever their format, every way to open them shows the same, and every call is within its limits
//! of memory and of time.
#![no_main]

use std::io;
use std::ops::Range;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use meshmap::{Fragments, MeshFile, ReadRange, Result, Source};
use meshmap_testing::allocator::Counting;
use meshmap_testing::calls::{self, Digest, assert_same, needs_length};
use meshmap_testing::exercise;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|data: &[u8]| {
    let body = Bytes::copy_from_slice(data);
    agree(&body);
    calls::assert_bounded(&body);
    // The first read of a file is so long that it shows the length of a short one, which then is known. What follows
    // behind `filesize` keeps it unknown. Half of the files will do, for these runs take longer.
    if data.last().is_some_and(|last| last & 1 == 1) {
        let mut padded = data.to_vec();
        padded.resize(data.len() + (96 << 10), 0);
        agree(&padded.into());
    }
});

fn agree(body: &Bytes) {
    let memory = Source::from_bytes(body.clone());
    let expected = all(&memory).expect("memory has all bytes");
    let file = MeshFile::from_source(memory, &exercise::options()).map_err(exercise::seen);
    for tells_length in if needs_length(&file) {
        &[true][..]
    } else {
        &[true, false]
    } {
        let tells_length = *tells_length;
        let reader = Source::ranged(Store {
            body: body.clone(),
            tells_length,
        });
        let found = all(&reader).expect("the reader has all bytes");
        assert_same("by ranges", &found, &expected, tells_length);
        let fragments = Fragments::new(tells_length.then_some(body.len() as u64));
        assert_same(
            "in steps",
            &stepped(&fragments, body),
            &expected,
            tells_length,
        );
    }
}

/// The values and errors of all calls, for a few items of each kind.
fn all(source: &Source) -> Result<Vec<Digest>> {
    calls::digests(source, &exercise::options(), 16)
}

/// A store of ranges.
struct Store {
    body: Bytes,
    tells_length: bool,
}

impl ReadRange for Store {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(self.tells_length.then_some(self.body.len() as u64))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        assert!(
            range.start <= range.end && range.end - range.start <= 16 << 20,
            "{range:?}"
        );
        assert!(
            !self.tells_length || range.end <= self.body.len() as u64,
            "{range:?}"
        );
        Ok(part(&self.body, &range))
    }
}

/// The bytes of a range, as far as there are any.
fn part(body: &Bytes, range: &Range<u64>) -> Bytes {
    let at = |offset: u64| {
        usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(body.len())
    };
    body.slice(at(range.start)..at(range.end))
}

/// Makes all calls, fetching what they ask for.
fn stepped(fragments: &Fragments, body: &Bytes) -> Vec<Digest> {
    // Windows double, so that even a chain of headers through all of the file takes no more than 64; blocks follow.
    const MOST_TRIPS: usize = 256;
    for _ in 0..MOST_TRIPS {
        let known = fragments.source().len().expect("fragments");
        match fragments.step(all).expect("errors are values") {
            Ok(found) => return found,
            Err(ranges) => {
                assert!(!ranges.is_empty() && ranges.iter().all(|range| range.start < range.end));
                assert!(
                    ranges.windows(2).all(|pair| pair[0].end < pair[1].start),
                    "{ranges:?}"
                );
                let end = ranges.last().map_or(0, |range| range.end);
                assert!(
                    known.is_none_or(|known| end <= known),
                    "{ranges:?} of {known:?}"
                );
                ranges
                    .iter()
                    .for_each(|range| supply(fragments, body, range));
            }
        }
    }
    panic!("not done after {MOST_TRIPS} trips");
}

/// The responses of a server of ranges: in two pieces, the second one first, and with a few bytes that are there already.
fn supply(fragments: &Fragments, body: &Bytes, range: &Range<u64>) {
    let len = body.len() as u64;
    if range.end > len && fragments.source().len().unwrap().is_none() {
        fragments.set_len(len).unwrap();
    }
    let middle = range.start + (range.end - range.start) / 2;
    for piece in [middle..range.end, range.start.saturating_sub(3)..middle] {
        let start = piece.start.min(len);
        fragments.supply(start, part(body, &piece)).unwrap();
    }
}
