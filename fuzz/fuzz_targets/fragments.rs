//! Whatever a server answers, a job over fragments asks for bytes that it does not have yet, or ends: with what all calls return
//! for these bytes in memory.
#![no_main]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::task::{Context, Poll, Waker};

use libfuzzer_sys::fuzz_target;
use meshmap::{Bytes, Error, ErrorKind, Fragments, Result, Source};
use meshmap_fuzz::{Choices, assert_line, options, split};
use meshmap_testing::calls::{Digest, assert_same, digests};

/// Bytes of an input that decide what the server does.
const CHOICES: usize = 32;
/// Items of each kind that a job reads.
const MOST: usize = 8;
/// Windows double, so that even a chain of headers through the whole file takes no more than 64 steps with honest answers; the calls
/// of a job need blocks after them.
const MOST_STEPS: usize = 256;
/// The most bytes that a server sends, and the length of the longest file that is compared.
const LONGEST: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let (body, mut choices) = split(data, CHOICES);
    let [is_known, drives, ..] = choices.flags();
    if drives {
        drive(body, is_known, choices);
    } else {
        step(body, is_known, choices);
    }
});

/// The values and errors of all calls. Only missing bytes are an error of the job.
fn job(source: &Source) -> Result<Vec<Digest>> {
    digests(source, &options(), MOST)
}

/// The expected contents of the fragments of a file: the first byte that was supplied at each offset.
#[derive(Default)]
struct Model {
    len: Option<u64>,
    bytes: BTreeMap<u64, u8>,
}

impl Model {
    fn end(&self) -> u64 {
        self.bytes
            .last_key_value()
            .map_or(0, |(offset, _)| offset + 1)
    }

    /// Supplies bytes to both.
    fn supply(&mut self, fragments: &Fragments, offset: u64, bytes: &[u8]) {
        let end = offset
            .checked_add(bytes.len() as u64)
            .filter(|end| self.len.is_none_or(|len| *end <= len));
        let result = fragments.supply(offset, bytes.to_vec());
        assert_eq!(
            result.is_ok(),
            end.is_some(),
            "{result:?} for {} bytes at {offset}",
            bytes.len()
        );
        match result {
            Ok(()) => (offset..).zip(bytes).for_each(|(offset, byte)| {
                self.bytes.entry(offset).or_insert(*byte);
            }),
            Err(error) => assert_mismatch(&error),
        }
    }

    fn set_len(&mut self, fragments: &Fragments, len: u64) {
        let fits = self.len.is_none_or(|known| known == len) && self.end() <= len;
        match fragments.set_len(len) {
            Ok(()) => self.len = Some(len),
            Err(error) => assert_mismatch(&error),
        }
        assert_eq!(self.len == Some(len), fits || self.len == Some(len));
        assert!(
            !fits || self.len == Some(len),
            "{len} is the length of {} bytes",
            self.end()
        );
    }

    fn remove(&mut self, fragments: &Fragments, range: Range<u64>) {
        fragments.remove(range.clone());
        self.bytes.retain(|offset, _| !range.contains(offset));
    }

    /// The fragments have the bytes of the model and no others.
    fn assert_holds(&self, fragments: &Fragments, range: Range<u64>) {
        assert_eq!(fragments.held(), self.bytes.len() as u64);
        if self.len.is_some_and(|len| range.end > len) || range.start > range.end {
            return;
        }
        let expected: Option<Vec<u8>> = range
            .clone()
            .map(|offset| self.bytes.get(&offset).copied())
            .collect();
        match (fragments.source().read(range.clone()), expected) {
            (Ok(found), Some(expected)) => assert!(found == expected, "other bytes in {range:?}"),
            (Err(error), None) => {
                assert!(matches!(error.kind(), ErrorKind::NeedBytes(_)), "{error}")
            }
            (found, expected) => panic!("{range:?}: {:?}, {}", found.map(drop), expected.is_some()),
        }
    }

    /// Ascending, apart, within the length, and nothing that was supplied before.
    fn assert_missing(&self, ranges: &[Range<u64>]) {
        assert!(
            !ranges.is_empty() && ranges.iter().all(|range| range.start < range.end),
            "{ranges:?}"
        );
        assert!(
            ranges.windows(2).all(|pair| pair[0].end < pair[1].start),
            "{ranges:?}"
        );
        for range in ranges {
            assert!(
                self.bytes.range(range.clone()).next().is_none(),
                "{range:?} was supplied in part"
            );
            assert!(
                self.len.is_none_or(|len| range.end <= len),
                "{range:?} of {:?}",
                self.len
            );
        }
    }
}

fn assert_mismatch(error: &Error) {
    assert_line(&error.to_string());
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
}

/// The bytes of a range, as far as there are any.
fn part(body: &[u8], range: &Range<u64>) -> Vec<u8> {
    let at = |offset: u64| {
        usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(body.len())
    };
    body[at(range.start)..at(range.end)].to_vec()
}

/// Steps, between which a server answers as the choices say, and then honestly.
fn step(body: &[u8], is_known: bool, mut choices: Choices<'_>) {
    let len = body.len() as u64;
    let fragments = Fragments::new(is_known.then_some(len));
    let mut model = Model {
        len: is_known.then_some(len),
        ..Model::default()
    };
    let mut honest = 0;
    let mut was_removed = false;
    let done = loop {
        let known = model.len;
        match fragments.step(job).expect("errors are values") {
            Ok(seen) => break (known, seen),
            Err(ranges) => {
                model.assert_missing(&ranges);
                // The server has claimed a length that it cannot answer for.
                if ranges.iter().any(|range| range.end - range.start > LONGEST)
                    && model.len.is_some_and(|len| len > LONGEST)
                {
                    return;
                }
                if choices.is_empty() {
                    honest += 1;
                    assert!(
                        honest <= MOST_STEPS,
                        "not done after {MOST_STEPS} honest answers: {ranges:?}"
                    );
                    ranges
                        .iter()
                        .for_each(|range| answer(&fragments, &mut model, body, range));
                }
                for range in &ranges {
                    if choices.is_empty() {
                        break;
                    }
                    was_removed |= hostile(&fragments, &mut model, body, range, &mut choices);
                    let middle = range.start + (range.end - range.start) / 2;
                    model.assert_holds(
                        &fragments,
                        range.start.saturating_sub(9)..middle.min(range.start.saturating_add(99)),
                    );
                }
            }
        }
    };
    let (Some(known), found) = done else { return };
    // Views that are older than a removal may hold other bytes than the fragments.
    if was_removed {
        return;
    }
    let whole: Vec<u8> = match usize::try_from(known) {
        Ok(known) if known as u64 <= LONGEST => {
            let own = |offset: usize| body.get(offset).copied().unwrap_or(0);
            (0..known)
                .map(|offset| {
                    model
                        .bytes
                        .get(&(offset as u64))
                        .copied()
                        .unwrap_or_else(|| own(offset))
                })
                .collect()
        }
        _ => return,
    };
    let expected = job(&Source::from_bytes(whole)).expect("memory has all bytes");
    assert_same("in steps", &found, &expected, true);
}

/// Answers a range as a server that keeps to its protocol.
fn answer(fragments: &Fragments, model: &mut Model, body: &[u8], range: &Range<u64>) {
    let len = body.len() as u64;
    if range.end > len && model.len.is_none() {
        model.set_len(fragments, len.max(model.end()));
    }
    let end = model.len.map_or(range.end, |len| range.end.min(len));
    let mut bytes = part(body, range);
    // Behind the end of the file, where somebody has said that it goes on.
    bytes.resize(end.saturating_sub(range.start) as usize, 0);
    model.supply(fragments, range.start, &bytes);
}

/// Does something with the answer to a range. Returns `true` if bytes were removed.
fn hostile(
    fragments: &Fragments,
    model: &mut Model,
    body: &[u8],
    range: &Range<u64>,
    choices: &mut Choices<'_>,
) -> bool {
    let len = body.len() as u64;
    let bytes = part(body, range);
    let some = choices.byte();
    let at = |share: u8| bytes.len() * usize::from(share) / 255;
    match choices.byte() % 16 {
        0..3 => answer(fragments, model, body, range),
        // The second half first, then the first one with bytes before and after it.
        3 => {
            let middle = range.start + at(some) as u64;
            for piece in [
                middle..range.end,
                range.start.saturating_sub(some.into())..middle.saturating_add(7),
            ] {
                model.supply(fragments, piece.start, &part(body, &piece));
            }
        }
        4 => model.supply(fragments, range.start, &bytes[..at(some)]),
        5 => model.supply(fragments, range.start, &[]),
        6 => model.supply(fragments, range.start + at(some) as u64, &bytes[at(some)..]),
        // More than was asked for, beyond the end of the file.
        7 => model.supply(
            fragments,
            range.start,
            &[&bytes[..], &vec![some; 1 + usize::from(some)]].concat(),
        ),
        // Bytes that contradict others.
        8 => {
            let wrong: Vec<u8> = bytes.iter().map(|byte| byte ^ some).collect();
            model.supply(fragments, range.start, &wrong);
        }
        9 => {
            let start = range.start.saturating_sub(some.into());
            model.supply(
                fragments,
                start,
                &vec![some; bytes.len().min(256) + usize::from(some)],
            );
        }
        10 => model.set_len(
            fragments,
            len.wrapping_add(u64::from(some)).wrapping_sub(128),
        ),
        11 => model.set_len(
            fragments,
            [0, 1, len, len / 2, len * 2, len + 4096, 1 << 40, u64::MAX][usize::from(some) % 8],
        ),
        12 => {
            for offset in [u64::MAX, u64::MAX - u64::from(some), 1 << 63] {
                // Only to a file of a known length: one without an end goes on to there.
                if model.len.is_some() {
                    model.supply(fragments, offset, &[some; 3]);
                }
            }
        }
        13 => {
            let start = len * u64::from(some) / 255;
            model.remove(fragments, start..start + u64::from(some) * 8);
            return true;
        }
        // A byte in each place, from the last one to the first.
        14 => (range.start..)
            .zip(bytes)
            .take(64)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .for_each(|(offset, byte)| {
                model.supply(fragments, offset, &[byte]);
            }),
        // Nothing at all.
        _ => {}
    }
    false
}

/// A job that is driven to its end, by answers of any number and any length.
fn drive(body: &[u8], is_known: bool, choices: Choices<'_>) {
    let fragments = Fragments::new(is_known.then_some(body.len() as u64));
    let state = RefCell::new((choices, 0, true));
    let fetch = |ranges: Vec<Range<u64>>| {
        let (choices, calls, is_honest) = &mut *state.borrow_mut();
        *calls += 1;
        assert!(
            *calls <= MOST_STEPS,
            "not done after {MOST_STEPS} answers: {ranges:?}"
        );
        let mut parts: Vec<Bytes> = ranges
            .iter()
            .map(|range| part(body, range).into())
            .collect();
        let some = choices.byte();
        let hit = usize::from(choices.byte()) % parts.len();
        *is_honest &= some % 8 == 0;
        match some % 8 {
            1 => parts.truncate(hit),
            2 => parts.push(Bytes::new()),
            3 => parts[hit].truncate(usize::from(some)),
            4 => parts[hit] = [&parts[hit][..], &[some; 9]].concat().into(),
            5 => parts.reverse(),
            6 => parts[hit] = Bytes::new(),
            7 => return std::future::ready(Err(None)),
            _ => {}
        }
        std::future::ready(Ok(parts))
    };
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(found) = std::pin::pin!(fragments.drive(job, fetch)).poll(&mut context) else {
        panic!("nothing waits here")
    };
    let is_honest = state.borrow().2 && is_known;
    match found {
        Ok(found) if is_honest => {
            let expected = job(&Source::from_bytes(body.to_vec())).expect("memory has all bytes");
            assert_same("driven", &found, &expected, true);
        }
        Err(Some(error)) => {
            assert_line(&error.to_string());
            assert!(!is_honest, "{error}");
        }
        // The server's own errors, and values of bytes that are none of the file's.
        _ => {}
    }
}
