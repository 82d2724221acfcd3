//! LZMA1 streams as OpenCTM stores them: without a header, of a length that is known beforehand.
//!
//! A stream is decoded from one slice into another, and what has come out is the dictionary: nothing is copied twice,
//! and the only memory is the table of probabilities. Written after the description of the format in the LZMA
//! specification (`lzma-specification.txt` of the LZMA SDK), whose words are used here.
//!
//! What is accepted is what libopenctm accepts, which calls the LZMA SDK: any of the 225 combinations of lc, lp and pb;
//! any distance that does not reach before the first byte, whatever the size of the dictionary; a match that goes on
//! behind the end, which is cut; anything behind the stream, end markers too. Not accepted are a stream whose first byte
//! is not 0, one that ends before the output is full, and one that lacks a byte, be it the very last that the range
//! coder takes up when everything has come out.

use std::hint::select_unpredictable;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Fault;
use crate::codec::Decoder;
use crate::num::as_u64;

/// Refuses a length that no stream of so many bytes can have, before anything is allocated for it.
///
/// The longest match is of 273 bytes, and of 14 bits that take 0.022 of a bit each at least: LZMA makes at most 7,088
/// bytes of one.
pub(crate) fn check_length(decoded: u64, stored: u64) -> Result<(), Fault> {
    const RATIO: u64 = 8192;
    if decoded > stored.saturating_mul(RATIO) {
        return Err(Fault::Malformed("a length that LZMA can make of so few bytes"));
    }
    Ok(())
}

/// The probabilities, kept from one stream to the next: their memory is allocated once.
#[derive(Default)]
pub(crate) struct Lzma {
    model: Option<Box<Model>>,
    others: OtherLiterals,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Bytes of the input that were used.
    pub(crate) consumed: usize,
    /// Whether all of the input was used and the range coder is left with nothing, as every encoder leaves it that
    /// writes no end marker. lzma-rs does not tell about its range coder.
    pub(crate) is_clean: bool,
}

/// Numbers of context bits: `lc`, `lp`, `pb`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bits {
    of_previous: u32,
    of_literal_position: u32,
    of_position: u32,
}

impl Lzma {
    /// Decodes until `out` is full.
    ///
    /// `properties` are the first byte of the header of an `.lzma` file and its dictionary size, which is not looked at.
    pub(crate) fn decode(
        &mut self,
        properties: [u8; 5],
        input: &[u8],
        out: &mut [u8],
        decoder: Decoder,
        cancel: Option<&AtomicBool>,
    ) -> Result<End, Fault> {
        let bits = Bits::new(properties[0])?;
        match input {
            [0, _, _, _, _, ..] => {}
            [0, ..] | [] => return Err(Fault::Truncated),
            _ => return Err(Fault::Malformed("an LZMA stream, which begins with 0")),
        }
        match decoder {
            Decoder::Fast => self.fast(bits, input, out, cancel),
            Decoder::SecondOpinion => lzma_rs(bits, input, out, cancel),
        }
    }

    fn fast(
        &mut self,
        bits: Bits,
        input: &[u8],
        out: &mut [u8],
        cancel: Option<&AtomicBool>,
    ) -> Result<End, Fault> {
        let model = self.model.get_or_insert_with(|| Box::new(Model::NEW));
        **model = Model::NEW;
        self.others.forget(if bits == Bits::USUAL { 0 } else { bits.contexts() });
        Stream::new(input, bits, model, &mut self.others).decode(out, cancel)
    }
}

#[expect(clippy::arithmetic_side_effects, reason = "lc is at most 8, lp and pb are at most 4")]
impl Bits {
    /// What every encoder of OpenCTM writes.
    const USUAL: Self = Self { of_previous: 3, of_literal_position: 0, of_position: 2 };

    fn new(properties: u8) -> Result<Self, Fault> {
        if properties >= 9 * 5 * 5 {
            return Err(Fault::Malformed("properties of LZMA below 225"));
        }
        let properties = u32::from(properties);
        Ok(Self {
            of_previous: properties % 9,
            of_literal_position: properties / 9 % 5,
            of_position: properties / 45,
        })
    }

    /// How many sets of probabilities literals have.
    fn contexts(self) -> usize {
        1 << (self.of_previous + self.of_literal_position)
    }

    /// Which probabilities a literal has: the low bits of its position, the high bits of the byte before.
    #[inline(always)]
    fn context(self, at: usize, previous: u8) -> usize {
        let of_position = at & ((1 << self.of_literal_position) - 1);
        (of_position << self.of_previous) + (usize::from(previous) << self.of_previous >> 8)
    }
}

/// The probability that a bit is 0, of 2048.
type Probability = u16;

const EVEN: Probability = 1024;

/// The probabilities of a number of which each bit depends on those before: node `n` has the children `2 n` and
/// `2 n + 1`, the root is 1. The two children are a pair, which is read before it is known which one comes next.
type Tree<const PAIRS: usize> = [[Probability; 2]; PAIRS];

/// Three trees of 8 bits: of a byte, and of a byte as long as it is like another one, by the next bit of that; and a
/// quarter that is not used, for a mask and for an address that is found by shifting alone.
type Literal = Tree<512>;

const LITERAL: Literal = [[EVEN; 2]; 512];

/// The probabilities of literals in streams of unusual numbers of context bits.
///
/// There can be 4,096 sets, of 1.5 KiB each; what is taken are those that come up, of which a stream of a few bytes has
/// few.
#[derive(Default)]
struct OtherLiterals {
    /// By context, the place of its set, or [`NONE`](Self::NONE).
    places: Vec<u16>,
    sets: Vec<Literal>,
}

impl OtherLiterals {
    const NONE: u16 = u16::MAX;

    /// Begins anew, with so many contexts.
    fn forget(&mut self, contexts: usize) {
        self.places.clear();
        self.places.resize(contexts, Self::NONE);
        self.sets.clear();
    }

    #[expect(clippy::indexing_slicing, reason = "contexts are fewer than places, which are those of sets")]
    #[inline(always)]
    fn of(&mut self, context: usize) -> &mut Literal {
        let mut place = usize::from(self.places[context]);
        if place >= self.sets.len() {
            place = self.sets.len();
            self.places[context] = u16::try_from(place).unwrap_or(Self::NONE);
            self.sets.push(LITERAL);
        }
        &mut self.sets[place]
    }
}

/// All probabilities but those of unusual literals. Where 12 states need 16 places it is for a mask, which spares a check.
struct Model {
    /// Of the [usual](Bits::USUAL) contexts.
    literals: [Literal; 8],
    is_match: [[Probability; 16]; 16],
    is_rep: [Probability; 16],
    is_rep_g0: [Probability; 16],
    is_rep_g1: [Probability; 16],
    is_rep_g2: [Probability; 16],
    is_rep0_long: [[Probability; 16]; 16],
    match_length: Length,
    rep_length: Length,
    slot: [Tree<32>; 4],
    /// Of the low bits of a distance, by its slot, 4 to 13.
    low: [Tree<16>; 16],
    align: Tree<8>,
}

struct Length {
    is_over_7: Probability,
    is_over_15: Probability,
    short: [Tree<4>; 16],
    medium: [Tree<4>; 16],
    long: Tree<128>,
}

impl Model {
    const NEW: Self = Self {
        literals: [LITERAL; 8],
        is_match: [[EVEN; 16]; 16],
        is_rep: [EVEN; 16],
        is_rep_g0: [EVEN; 16],
        is_rep_g1: [EVEN; 16],
        is_rep_g2: [EVEN; 16],
        is_rep0_long: [[EVEN; 16]; 16],
        match_length: Length::NEW,
        rep_length: Length::NEW,
        slot: [[[EVEN; 2]; 32]; 4],
        low: [[[EVEN; 2]; 16]; 16],
        align: [[EVEN; 2]; 8],
    };
}

impl Length {
    const NEW: Self = Self {
        is_over_7: EVEN,
        is_over_15: EVEN,
        short: [[[EVEN; 2]; 4]; 16],
        medium: [[[EVEN; 2]; 4]; 16],
        long: [[EVEN; 2]; 128],
    };
}

/// A stream that is being decoded.
struct Stream<'a> {
    coder: Coder<'a>,
    model: &'a mut Model,
    others: &'a mut OtherLiterals,
    bits: Bits,
    /// Bytes that have come out.
    at: usize,
    /// What the last symbols were, 0 to 11; from 7 on, the last one was no literal.
    state: usize,
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
    const CANCELLABLE_PIECE: usize = 64 << 10;
    /// The distance of an end marker, less 1.
    const END: u32 = u32::MAX;

    fn new(input: &'a [u8], bits: Bits, model: &'a mut Model, others: &'a mut OtherLiterals) -> Self {
        Self { coder: Coder::new(input), model, others, bits, at: 0, state: 0, reps: [0; 4] }
    }

    fn decode(&mut self, out: &mut [u8], cancel: Option<&AtomicBool>) -> Result<End, Fault> {
        while self.at < out.len() {
            if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                return Err(Fault::Cancelled);
            }
            let end = out.len().min(self.at + Self::CANCELLABLE_PIECE);
            // Bit counts that the compiler knows save 5 % of the time.
            if self.bits == Bits::USUAL {
                self.piece::<true>(out, end)?;
            } else {
                self.piece::<false>(out, end)?;
            }
        }
        self.coder.normalize();
        if self.coder.is_short() {
            return Err(Fault::Truncated);
        }
        let is_all = self.coder.at == self.coder.input.len();
        Ok(End { consumed: self.coder.at, is_clean: is_all && self.coder.code == 0 })
    }

    /// Decodes until as many bytes have come out, or some more.
    fn piece<const IS_USUAL: bool>(&mut self, out: &mut [u8], end: usize) -> Result<(), Fault> {
        let bits = if IS_USUAL { Bits::USUAL } else { self.bits };
        let Self { model, others, .. } = self;
        // What every symbol changes stays in registers as long as nobody else can see it.
        let (mut coder, mut at, mut state, mut reps) = (self.coder, self.at, self.state, self.reps);
        let mut previous = if at > 0 { out[at - 1] } else { 0 };
        let result = loop {
            if at >= end {
                break Ok(());
            }
            if coder.is_short() {
                break Err(Fault::Truncated);
            }
            let position = at & ((1 << bits.of_position) - 1) & 15;

            if !coder.likely(&mut model.is_match[state & 15][position]) {
                let context = bits.context(at, previous);
                let literal = if IS_USUAL { &mut model.literals[context & 7] } else { others.of(context) };
                let (byte, high) = if state < 7 {
                    coder.literal(literal)
                } else {
                    coder.literal_unlike(literal, out[at - 1 - reps[0] as usize])
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
                    _ if coder.is_short() => Fault::Truncated,
                    Self::END => Fault::EndsEarly(as_u64(at)),
                    _ => Fault::Malformed("a distance within what has come out"),
                });
            }
            repeat(out, at, distance + 1, length);
            at = out.len().min(at + length);
            previous = out[at - 1];
        };
        (self.coder, self.at, self.state, self.reps) = (coder, at, state, reps);
        result
    }
}

/// The range coder. It takes up a byte when the next bit is asked for, not before.
#[derive(Clone, Copy)]
struct Coder<'a> {
    input: &'a [u8],
    /// Where the next byte is; behind the end of the input where bytes were missing, for which 0 was taken.
    at: usize,
    range: u32,
    code: u32,
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "indices are masked; a tree gives no more bits than it has; probabilities stay between 31 and 2017, so that the bound is less than the range"
)]
impl<'a> Coder<'a> {
    /// Begins behind the first byte of the input, which has five at least.
    fn new(input: &'a [u8]) -> Self {
        let mut coder = Self { input, at: 1, range: u32::MAX, code: 0 };
        for _ in 0..4 {
            coder.take();
        }
        coder
    }

    /// Whether more was taken than there is.
    #[inline(always)]
    fn is_short(&self) -> bool {
        self.at > self.input.len()
    }

    #[inline(always)]
    fn take(&mut self) {
        let byte = self.input.get(self.at).copied().unwrap_or(0);
        self.code = self.code << 8 | u32::from(byte);
        self.at += 1;
    }

    #[inline(always)]
    fn normalize(&mut self) {
        if self.range < 1 << 24 {
            self.range <<= 8;
            self.take();
        }
    }

    /// A bit that is mostly what it was before: a branch, which the processor predicts.
    #[inline(always)]
    fn likely(&mut self, probability: &mut Probability) -> bool {
        self.normalize();
        let bound = (self.range >> 11) * u32::from(*probability);
        if self.code < bound {
            self.range = bound;
            *probability += (2048 - *probability) >> 5;
            false
        } else {
            self.range -= bound;
            self.code -= bound;
            *probability -= *probability >> 5;
            true
        }
    }

    /// A bit that nobody can predict, and the probability from then on: both outcomes are computed, and one is chosen.
    #[inline(always)]
    fn unlikely(&mut self, probability: u32) -> (bool, Probability) {
        self.normalize();
        let bound = (self.range >> 11) * probability;
        let is_one = self.code >= bound;
        self.range = select_unpredictable(is_one, self.range - bound, bound);
        self.code = select_unpredictable(is_one, self.code.wrapping_sub(bound), self.code);
        // 31, because a shift to the right rounds down what is negative: it is as if the positive were rounded.
        let goal = select_unpredictable(is_one, 31, 2048_i32);
        let change = (goal - probability.cast_signed()) >> 5;
        (is_one, probability.wrapping_add_signed(change) as Probability)
    }

    /// A number whose highest bit comes first.
    #[inline(always)]
    fn tree<const PAIRS: usize>(&mut self, tree: &mut Tree<PAIRS>) -> usize {
        let (node, probability) = self.all_but_last(tree);
        self.last(tree, node, probability) & (2 * PAIRS - 1)
    }

    /// The node of the last bit, and its probability.
    #[inline(always)]
    fn all_but_last<const PAIRS: usize>(&mut self, tree: &mut Tree<PAIRS>) -> (usize, u32) {
        const { assert!(PAIRS.is_power_of_two()) };
        let mut node = 1;
        let mut probability = u32::from(tree[0][1]);
        for _ in 0..PAIRS.ilog2() {
            let children = tree[node & (PAIRS - 1)].map(u32::from);
            let (is_one, updated) = self.unlikely(probability);
            tree.as_flattened_mut()[node & (2 * PAIRS - 1)] = updated;
            node = node << 1 | usize::from(is_one);
            probability = select_unpredictable(is_one, children[1], children[0]);
        }
        (node, probability)
    }

    #[inline(always)]
    fn last<const PAIRS: usize>(&mut self, tree: &mut Tree<PAIRS>, node: usize, probability: u32) -> usize {
        let (is_one, updated) = self.unlikely(probability);
        tree.as_flattened_mut()[node & (2 * PAIRS - 1)] = updated;
        node << 1 | usize::from(is_one)
    }

    /// A number of `count` bits whose lowest bit comes first.
    #[inline(always)]
    fn reverse_tree<const PAIRS: usize>(&mut self, tree: &mut Tree<PAIRS>, count: u32) -> u32 {
        const { assert!(PAIRS.is_power_of_two()) };
        let mut node = 1;
        let mut number = 0;
        for index in 0..count {
            let place = &mut tree[(node / 2) & (PAIRS - 1)][node & 1];
            let (is_one, updated) = self.unlikely(u32::from(*place));
            *place = updated;
            node = 2 * node + usize::from(is_one);
            number |= u32::from(is_one) << index;
        }
        number
    }

    /// A byte, and the same with its last bit 0.
    #[inline(always)]
    fn literal(&mut self, literal: &mut Literal) -> (u8, u8) {
        let Some(tree) = literal.first_chunk_mut::<128>() else { return (0, 0) };
        let (node, probability) = self.all_but_last(tree);
        (self.last(tree, node, probability) as u8, (node << 1) as u8)
    }

    /// The literal behind a match, not likely to be the byte that would have gone on with the match: its bits are decoded
    /// with those of that byte in view, up to the first difference.
    #[inline(always)]
    fn literal_unlike(&mut self, literal: &mut Literal, other: u8) -> (u8, u8) {
        const MASK: usize = 0x3ff;
        let probabilities = literal.as_flattened_mut();
        let mut other = usize::from(other) << 1;
        // Where the tree begins: the second or third, and from the first difference on the first.
        let mut tree = 0x100;
        let (mut node, mut parent) = (1, 1);
        let mut place = tree + (other & tree) + node;
        let mut probability = u32::from(probabilities[place & MASK]);
        while node < 0x100 {
            // Here too the next two are read before it is known which one comes next. They lie in two trees.
            let expected = other & tree;
            other <<= 1;
            let trees = [tree & !expected, expected];
            let places = [0, 1].map(|bit| trees[bit] + (other & trees[bit]) + (node << 1) + bit);
            let children = places.map(|place| u32::from(probabilities[place & MASK]));
            let (is_one, updated) = self.unlikely(probability);
            probabilities[place & MASK] = updated;
            parent = node;
            node = node << 1 | usize::from(is_one);
            tree = select_unpredictable(is_one, trees[1], trees[0]);
            place = select_unpredictable(is_one, places[1], places[0]);
            probability = select_unpredictable(is_one, children[1], children[0]);
        }
        (node as u8, (parent << 1) as u8)
    }

    #[inline(always)]
    fn length(&mut self, length: &mut Length, position: usize) -> usize {
        if !self.likely(&mut length.is_over_7) {
            2 + self.tree(&mut length.short[position])
        } else if !self.likely(&mut length.is_over_15) {
            10 + self.tree(&mut length.medium[position])
        } else {
            18 + self.tree(&mut length.long)
        }
    }

    /// A distance, less 1.
    #[inline(always)]
    fn distance(&mut self, model: &mut Model, length: usize) -> u32 {
        let slot = self.tree(&mut model.slot[length.min(5) - 2]) as u32;
        if slot < 4 {
            return slot;
        }
        let low_bits = slot / 2 - 1;
        let high = (2 | slot & 1) << low_bits;
        if slot < 14 {
            return high + self.reverse_tree(&mut model.low[slot as usize & 15], low_bits);
        }
        let mut middle = 0;
        for _ in 4..low_bits {
            self.normalize();
            self.range >>= 1;
            let is_one = self.code >= self.range;
            self.code = select_unpredictable(is_one, self.code.wrapping_sub(self.range), self.code);
            middle = middle << 1 | u32::from(is_one);
        }
        high + (middle << 4) + self.reverse_tree(&mut model.align, 4)
    }
}

/// Copies a match that lies `distance` back to `at`, as much of it as there is room for.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "the caller has compared the distance with `at` and `at` with the length of the output"
)]
#[inline(always)]
fn repeat(out: &mut [u8], at: usize, distance: usize, length: usize) {
    const CHUNK: usize = 16;
    let from = at - distance;
    let end = at + length;
    if end + CHUNK > out.len() {
        // Near the end nothing may be written behind the match.
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
        let mut pattern = [0; CHUNK];
        for (index, byte) in pattern.iter_mut().enumerate() {
            *byte = out[from + index % distance];
        }
        let step = CHUNK - CHUNK % distance;
        let mut to = at;
        while to < end {
            out[to..to + CHUNK].copy_from_slice(&pattern);
            to += step;
        }
    }
}

/// The second opinion, fed with the input and emptied into the output.
///
/// Its dictionary is as long as the output, so that it is handed over, and nothing more, when the output is full: what
/// it says after that, of bytes behind the stream or of a match over the end, does not matter.
fn lzma_rs(bits: Bits, input: &[u8], out: &mut [u8], cancel: Option<&AtomicBool>) -> Result<End, Fault> {
    use lzma_rs::decompress::raw::{LzmaDecoder, LzmaParams, LzmaProperties};

    let length = out.len();
    if length == 0 {
        return Ok(End { consumed: 5, is_clean: input == [0; 5] });
    }
    let properties =
        LzmaProperties { lc: bits.of_previous, lp: bits.of_literal_position, pb: bits.of_position };
    let dictionary = u32::try_from(length).unwrap_or(u32::MAX);
    let params = LzmaParams::new(properties, dictionary, Some(as_u64(length)));
    let mut decoder =
        LzmaDecoder::new(params, Some(length)).map_err(|_| Fault::Malformed("properties of LZMA"))?;
    let mut reader = Reader { rest: input, is_short: false, cancel };
    let mut writer = Writer { rest: out };
    let result = decoder.decompress(&mut reader, &mut writer);
    let left = writer.rest.len();
    if left == 0 {
        let consumed = input.len().saturating_sub(reader.rest.len());
        return Ok(End { consumed, is_clean: reader.rest.is_empty() });
    }
    Err(match result {
        _ if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) => Fault::Cancelled,
        _ if reader.is_short => Fault::Truncated,
        Ok(()) => Fault::EndsEarly(as_u64(length.saturating_sub(left))),
        Err(_) => Fault::Malformed("an LZMA stream that is not damaged"),
    })
}

/// The input of lzma-rs.
struct Reader<'a> {
    rest: &'a [u8],
    /// Whether more was asked for than there is.
    is_short: bool,
    cancel: Option<&'a AtomicBool>,
}

impl io::Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A byte is asked for at a time; it makes 7 KiB at most.
        if self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.is_short |= buffer.len() > self.rest.len();
        self.rest.read(buffer)
    }
}

impl io::BufRead for Reader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.rest)
    }

    fn consume(&mut self, count: usize) {
        self.rest.consume(count);
    }
}

/// The output of lzma-rs: what there is no room for is dropped.
struct Writer<'a> {
    rest: &'a mut [u8],
}

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.rest.len());
        let (to, rest) = std::mem::take(&mut self.rest).split_at_mut(count);
        to.copy_from_slice(bytes.get(..count).unwrap_or_default());
        self.rest = rest;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use lzma_rust2::{LzmaOptions, LzmaReader, LzmaWriter};
    use proptest::prelude::*;

    use super::*;

    const DECODERS: [Decoder; 2] = [Decoder::Fast, Decoder::SecondOpinion];
    /// lc = 3, lp = 0, pb = 2, as everybody writes; 64 KiB.
    const USUAL: [u8; 5] = [0x5d, 0, 0, 1, 0];

    fn encode_with(data: &[u8], properties: u8, has_end_marker: bool) -> Vec<u8> {
        let properties = u32::from(properties);
        let mut options = LzmaOptions::with_preset(1);
        options.dict_size = 1 << 16;
        (options.lc, options.lp, options.pb) = (properties % 9, properties / 9 % 5, properties / 45);
        let mut writer = LzmaWriter::new_no_header(Vec::new(), &options, has_end_marker).unwrap();
        writer.write_all(data).unwrap();
        writer.finish().unwrap()
    }

    fn encode(data: &[u8]) -> Vec<u8> {
        encode_with(data, USUAL[0], false)
    }

    fn decode_with(
        lzma: &mut Lzma,
        properties: u8,
        input: &[u8],
        length: usize,
        decoder: Decoder,
    ) -> Result<(Vec<u8>, End), Fault> {
        let mut out = vec![0xaa; length];
        let end = lzma.decode([properties, 0, 0, 0, 0], input, &mut out, decoder, None)?;
        Ok((out, end))
    }

    fn decode(input: &[u8], length: usize, decoder: Decoder) -> Result<(Vec<u8>, End), Fault> {
        decode_with(&mut Lzma::default(), USUAL[0], input, length, decoder)
    }

    /// A decoder of another family.
    fn lzma_rust2(properties: u8, input: &[u8], length: usize) -> Option<Vec<u8>> {
        let dictionary = length.max(4096) as u32;
        let mut reader =
            LzmaReader::new_with_props(input, length as u64, properties, dictionary, None).ok()?;
        let mut out = vec![0; length];
        reader.read_exact(&mut out).ok()?;
        Some(out)
    }

    /// Literals, runs of one byte and of more, and matches near and far.
    fn sample(length: usize) -> Vec<u8> {
        let mut noise = 1_u32;
        let mut data = Vec::new();
        while data.len() < length {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let count = noise as usize >> 8 & 31;
            match noise >> 28 {
                0..=3 => data.extend((noise >> 8).to_le_bytes()),
                4..=7 => data.extend((data.len() as f32).sin().to_le_bytes()),
                8 => data.extend(vec![(noise >> 16) as u8; count * 20]),
                9 => data.extend([1, 2, 3, 4, 5, 6, 7].iter().cycle().take(count * 10)),
                kind => {
                    let from = (data.len() * kind as usize / 17).saturating_sub(count);
                    let end = data.len().min(from + count);
                    data.extend_from_within(from..end);
                }
            }
        }
        data.truncate(length);
        data
    }

    #[test]
    fn known_stream_is_decoded() {
        // Of the documentation of lzma-rust2, without header; it has an end marker.
        let stream = [
            0, 36, 25, 73, 152, 111, 22, 2, 140, 232, 230, 91, 177, 71, 198, 206, 183, 99, 255, 255, 60, 172,
            0, 0,
        ];
        assert_eq!(decode(&stream, 14, Decoder::Fast), Err(Fault::EndsEarly(13)));
        for decoder in DECODERS {
            let (out, end) = decode(&stream, 13, decoder).unwrap();
            assert_eq!(out, b"Hello, world!");
            assert!(!end.is_clean);
            assert_eq!(decode(&stream, 12, decoder).unwrap().0, b"Hello, world");
            assert!(decode(&stream, 14, decoder).is_err());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn every_combination_of_context_bits_is_decoded() {
        let data = sample(6000);
        let mut kept = Lzma::default();
        for properties in 0..225 {
            let stream = encode_with(&data, properties, false);
            for decoder in DECODERS {
                let (out, end) = decode_with(&mut kept, properties, &stream, data.len(), decoder).unwrap();
                assert!(out == data, "{properties} {decoder:?}");
                assert_eq!(end, End { consumed: stream.len(), is_clean: true });
            }
        }
        for properties in 225..=255 {
            for decoder in DECODERS {
                let found = decode_with(&mut kept, properties, &[0; 100], 10, decoder);
                assert!(matches!(found, Err(Fault::Malformed(_))));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn every_truncation_is_a_fault() {
        let data = sample(3000);
        let stream = encode(&data);
        for decoder in DECODERS {
            for length in 0..stream.len() {
                assert_eq!(decode(&stream[..length], data.len(), decoder), Err(Fault::Truncated), "{length}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn every_shorter_output_is_the_beginning_of_the_whole() {
        let data = sample(3000);
        let stream = encode(&data);
        for decoder in DECODERS {
            for length in 0..data.len() {
                let (out, end) = decode(&stream, length, decoder).unwrap();
                assert!(out == data[..length] && end.consumed <= stream.len(), "{length}");
            }
            assert!(!decode(&stream, 1000, decoder).unwrap().1.is_clean);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn what_lies_behind_the_stream_is_ignored_and_not_clean() {
        let data = sample(3000);
        let marked = encode_with(&data, USUAL[0], true);
        let mut padded = encode(&data);
        let used = padded.len();
        padded.extend([1, 2, 3]);
        for decoder in DECODERS {
            let (out, end) = decode(&marked, data.len(), decoder).unwrap();
            assert!(out == data && !end.is_clean);
            let (out, end) = decode(&padded, data.len(), decoder).unwrap();
            assert!(out == data && end == End { consumed: used, is_clean: false });
            assert!(decode(&marked, data.len() + 1, decoder).is_err());
        }
    }

    #[test]
    fn streams_begin_with_zero_and_have_five_bytes() {
        for decoder in DECODERS {
            for length in 0..5 {
                assert_eq!(decode(&[0; 5][..length], 0, decoder), Err(Fault::Truncated));
            }
            let clean = End { consumed: 5, is_clean: true };
            assert_eq!(decode(&[0; 5], 0, decoder), Ok((Vec::new(), clean)));
            assert!(matches!(decode(&[1, 0, 0, 0, 0, 0], 1, decoder), Err(Fault::Malformed(_))));
            // Bits that are all 0: literals of value 0, until the range is used up.
            assert_eq!(decode(&[0; 9], 3, decoder).unwrap().0, [0; 3]);
            assert_eq!(decode(&[0; 9], 1000, decoder), Err(Fault::Truncated));
        }
    }

    #[test]
    fn distances_before_the_beginning_are_faults() {
        for decoder in DECODERS {
            let found = decode(&[0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0], 10, decoder);
            assert!(matches!(found, Err(Fault::Malformed(_))), "{decoder:?}: {found:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn nothing_expands_more_than_the_bound() {
        let zeros = vec![0; 4 << 20];
        let stream = encode(&zeros);
        assert!(check_length(zeros.len() as u64, stream.len() as u64).is_ok());
        assert!(check_length(8193, 1).is_err() && check_length(u64::MAX, u64::MAX).is_ok());
        for decoder in DECODERS {
            assert!(decode(&stream, zeros.len(), decoder).unwrap().0 == zeros);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn streams_leave_no_trace_in_what_is_kept() {
        let (short, long) = (sample(100), sample(20_000));
        let mut kept = Lzma::default();
        for round in 0..60_usize {
            // Of 4096, 8, 16, 2 and 512 contexts.
            let properties = [8 + 4 * 9, 0x5d, 4, 1, 5 + 4 * 9][round % 5];
            let data = if round % 3 == 0 { &long } else { &short };
            let mut stream = encode_with(data, properties, false);
            assert!(
                decode_with(&mut kept, properties, &stream, data.len(), Decoder::Fast).unwrap().0 == *data
            );
            let place = stream.len() * (round % 7) / 8 + 1;
            stream[place] ^= 0x55;
            let damaged = [&mut kept, &mut Lzma::default()]
                .map(|lzma| decode_with(lzma, properties, &stream, data.len(), Decoder::Fast));
            assert_eq!(damaged[0], damaged[1]);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn decoders_agree_on_every_changed_byte() {
        let data = sample(600);
        let stream = encode(&data);
        for place in 0..stream.len() {
            for change in 1..=255 {
                let mut damaged = stream.clone();
                damaged[place] ^= change;
                agree(USUAL[0], &damaged, data.len()).unwrap();
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
    fn cancelled_streams_stop() {
        let data = sample(200_000);
        let stream = encode(&data);
        for decoder in DECODERS {
            let cancel = AtomicBool::new(false);
            let mut out = vec![0; data.len()];
            let mut decode = || Lzma::default().decode(USUAL, &stream, &mut out, decoder, Some(&cancel));
            decode().unwrap();
            cancel.store(true, Ordering::Relaxed);
            assert_eq!(decode(), Err(Fault::Cancelled));
        }
    }

    /// The three decoders make the same of a stream; lzma-rust2, which refuses more, wherever it makes anything.
    fn agree(properties: u8, stream: &[u8], length: usize) -> Result<(), TestCaseError> {
        let [fast, second] =
            DECODERS.map(|decoder| decode_with(&mut Lzma::default(), properties, stream, length, decoder));
        match (&fast, &second) {
            (Ok((fast, end)), Ok((second, other_end))) => {
                prop_assert!(fast == second);
                prop_assert_eq!(end.consumed, other_end.consumed);
                prop_assert!(other_end.is_clean || !end.is_clean);
            }
            (fast, second) => prop_assert!(fast.is_err() && second.is_err(), "{:?} {:?}", fast, second),
        }
        let third = lzma_rust2(properties, stream, length);
        match (&fast, &third) {
            (Ok((fast, _)), Some(third)) => prop_assert!(fast == third),
            (Ok((_, end)), None) => prop_assert!(!end.is_clean),
            (fast, third) => prop_assert!(third.is_none(), "{:?}", fast),
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn decoders_agree_on_anything(
            rest in proptest::collection::vec(any::<u8>(), 0..200),
            properties in 0_u8..225,
            length in 0_usize..2000,
        ) {
            agree(properties, &[&[0], &rest[..]].concat(), length)?;
        }

        #[test]
        #[cfg_attr(miri, ignore = "compressing what is decoded takes Miri minutes")]
        fn decoders_agree_on_encoded_data(
            pieces in proptest::collection::vec((0_usize..4000, 1_usize..300), 0..20),
            properties in 0_u8..225,
            has_end_marker: bool,
            change in any::<Option<(prop::sample::Index, u8)>>(),
        ) {
            let samples = sample(4400);
            let data: Vec<u8> =
                pieces.iter().flat_map(|(start, length)| samples[*start..start + length].to_vec()).collect();
            let mut stream = encode_with(&data, properties, has_end_marker);
            match change {
                Some((place, change)) => {
                    let place = place.index(stream.len());
                    stream[place] ^= change;
                }
                None => {
                    let found = decode_with(&mut Lzma::default(), properties, &stream, data.len(), Decoder::Fast);
                    prop_assert!(found.unwrap().0 == data);
                }
            }
            agree(properties, &stream, data.len())?;
        }
    }
}
