//! The symbols of a stream: literals and matches.

use std::sync::atomic::{AtomicBool, Ordering};

use super::coder::Bits;
use super::coder::Coder;
use super::end::{End, fault};
use super::model::{Model, OtherLiterals};
use crate::codec::{Fault, FaultKind};

/// A stream that is being decoded.
pub(super) struct Stream<'a> {
    coder: Coder<'a>,
    model: &'a mut Model,
    others: &'a mut OtherLiterals,
    bits: Bits,
    /// Bytes that have come out.
    at: usize,
    /// The kinds of the last symbols, 0 to 11; from 7 on, the last one was not a literal.
    state: usize,
    /// `true` if the last match reached beyond the output.
    is_cut: bool,
    /// The distances of the last four matches, less 1.
    reps: [u32; 4],
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "indices are masked, or compared with a length first; sums are at most the length of the output and 288"
)]
impl<'a> Stream<'a> {
    /// The flag is looked at each time as much has come out.
    pub(super) const CANCELLABLE_PIECE: usize = 64 << 10;
    /// The distance of an end marker, less 1.
    pub(super) const END: u32 = u32::MAX;

    pub(super) fn new(
        input: &'a [u8],
        bits: Bits,
        model: &'a mut Model,
        others: &'a mut OtherLiterals,
    ) -> Self {
        Self {
            coder: Coder::new(input),
            model,
            others,
            bits,
            at: 0,
            state: 0,
            reps: [0; 4],
            is_cut: false,
        }
    }

    pub(super) fn decode(
        &mut self,
        out: &mut [u8],
        cancel: Option<&AtomicBool>,
    ) -> Result<End, Fault> {
        while self.at < out.len() {
            if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                return Err(fault(FaultKind::Cancelled, self.at));
            }
            let end = out.len().min(self.at + Self::CANCELLABLE_PIECE);
            // Bit counts that the compiler knows save 5 % of the time.
            let piece = if self.bits == Bits::USUAL {
                self.piece::<true>(out, end)
            } else {
                self.piece::<false>(out, end)
            };
            piece.map_err(|kind| fault(kind, self.at))?;
        }
        self.coder.normalize();
        if self.coder.is_short() {
            return Err(fault(FaultKind::Truncated, self.at));
        }
        let is_all = self.coder.at == self.coder.input.len();
        Ok(End {
            consumed: self.coder.at,
            is_clean: is_all && self.coder.code == 0 && !self.is_cut,
        })
    }

    /// Decodes until as many bytes have come out, or some more.
    pub(super) fn piece<const IS_USUAL: bool>(
        &mut self,
        out: &mut [u8],
        end: usize,
    ) -> Result<(), FaultKind> {
        let bits = if IS_USUAL { Bits::USUAL } else { self.bits };
        let Self { model, others, .. } = self;
        // Values that every symbol changes stay in registers as long as nothing else can see them.
        let mut coder = self.coder;
        let mut at = self.at;
        let mut state = self.state;
        let mut reps = self.reps;
        let mut reach = 0;
        let mut previous = if at > 0 { out[at - 1] } else { 0 };
        let result = loop {
            if at >= end {
                break Ok(());
            }
            if coder.is_short() {
                break Err(FaultKind::Truncated);
            }
            let position = at & ((1 << bits.of_position) - 1) & 15;

            if !coder.likely(&mut model.is_match[state & 15][position]) {
                let context = bits.context(at, previous);
                let unlike = (state >= 7).then(|| out[at - 1 - reps[0] as usize]);
                let (byte, high) = if IS_USUAL {
                    coder.literal(&mut model.literals[context & 7], unlike)
                } else {
                    coder.literal(others.of(context), unlike)
                };
                out[at] = byte;
                // All bits but the last, where the last does not matter: with these the next literal's probabilities
                // are on their way from memory while the last bit is decoded.
                previous = if bits.of_previous < 8 { high } else { byte };
                at += 1;
                state = match state {
                    0..=3 => 0,
                    4..=9 => state - 3,
                    _ => state - 6,
                };
                continue;
            }

            let is_after_literal = state < 7;
            let length = if !coder.likely(&mut model.is_rep[state & 15]) {
                let length = coder.length(&mut model.match_length, position);
                reps = [coder.distance(model, length), reps[0], reps[1], reps[2]];
                state = if is_after_literal { 7 } else { 10 };
                length
            } else {
                let [a, b, c, d] = reps;
                let mut is_byte = false;
                if !coder.likely(&mut model.is_rep_g0[state & 15]) {
                    is_byte = !coder.likely(&mut model.is_rep0_long[state & 15][position]);
                } else if !coder.likely(&mut model.is_rep_g1[state & 15]) {
                    reps = [b, a, c, d];
                } else if !coder.likely(&mut model.is_rep_g2[state & 15]) {
                    reps = [c, a, b, d];
                } else {
                    reps = [d, a, b, c];
                }
                if is_byte {
                    state = if is_after_literal { 9 } else { 11 };
                    1
                } else {
                    state = if is_after_literal { 8 } else { 11 };
                    coder.length(&mut model.rep_length, position)
                }
            };
            let distance = reps[0] as usize;
            if distance >= at {
                break Err(match reps[0] {
                    _ if coder.is_short() => FaultKind::Truncated,
                    Self::END => FaultKind::TooShort,
                    _ => FaultKind::Corrupt("a match before the start of the output"),
                });
            }
            repeat(out, at, distance + 1, length);
            reach = at + length;
            at = out.len().min(reach);
            previous = out[at - 1];
        };
        (self.coder, self.at, self.state, self.reps) = (coder, at, state, reps);
        self.is_cut |= reach > out.len();
        result
    }
}

const CHUNK: usize = 16;

/// For each distance below the length of a chunk, the source of each byte of a chunk, and the length of all whole repetitions in it.
/// Divisions would take longer than the copy.
#[expect(
    clippy::indexing_slicing,
    reason = "in a constant, where it fails when it is compiled"
)]
static REPEATED: [([usize; CHUNK], usize); CHUNK] = {
    let mut repeated = [([0; CHUNK], 0); CHUNK];
    let mut distance = 1;
    while distance < CHUNK {
        let mut index = 0;
        while index < CHUNK {
            repeated[distance].0[index] = index % distance;
            index += 1;
        }
        repeated[distance].1 = CHUNK - CHUNK % distance;
        distance += 1;
    }
    repeated
};

/// Copies a match that lies `distance` back to `at`, as much of it as there is space for.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "the caller has compared the distance with `at` and `at` with the length of the output"
)]
#[inline(always)]
pub(super) fn repeat(out: &mut [u8], at: usize, distance: usize, length: usize) {
    let from = at - distance;
    let end = at + length;
    if end + CHUNK > out.len() {
        // Near the end nothing may be written after the match.
        for to in at..end.min(out.len()) {
            out[to] = out[to - distance];
        }
        return;
    }
    // Everywhere else, whole chunks: what they write too much is overwritten by what comes next.
    if distance >= CHUNK {
        let mut done = 0;
        while done < length {
            out.copy_within(from + done..from + done + CHUNK, at + done);
            done += CHUNK;
        }
    } else {
        // The match overlaps with itself: a pattern that is repeated.
        let (sources, step) = &REPEATED[distance];
        let pattern = sources.map(|source| out[from + source]);
        let mut to = at;
        while to < end {
            out[to..to + CHUNK].copy_from_slice(&pattern);
            to += step;
        }
    }
}
