//! The range coder.

use std::hint::select_unpredictable;

use super::model::{Length, Literal, Model, Probability, Stored, Tree};
use crate::codec::FaultKind;

/// The range coder. It takes up a byte when the next bit is asked for, not before.
#[derive(Clone, Copy)]
pub(super) struct Coder<'a> {
    pub(super) input: &'a [u8],
    /// The position of the next byte; past the end of the input if bytes were missing, in place of which 0 was read.
    pub(super) at: usize,
    pub(super) range: u32,
    pub(super) code: u32,
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "indices are masked; a tree gives no more bits than it has; probabilities stay between 31 and 2017, so that the bound is less than the range"
)]
impl<'a> Coder<'a> {
    /// Begins after the first byte of the input, which has five at least.
    pub(super) fn new(input: &'a [u8]) -> Self {
        let mut coder = Self {
            input,
            at: 1,
            range: u32::MAX,
            code: 0,
        };
        for _ in 0..4 {
            coder.take();
        }
        coder
    }

    /// Returns `true` if more bytes were read than the input has.
    #[inline(always)]
    pub(super) fn is_short(&self) -> bool {
        self.at > self.input.len()
    }

    #[inline(always)]
    pub(super) fn take(&mut self) {
        let byte = self.input.get(self.at).copied().unwrap_or(0);
        self.code = self.code << 8 | u32::from(byte);
        self.at += 1;
    }

    #[inline(always)]
    pub(super) fn normalize(&mut self) {
        if self.range < 1 << 24 {
            self.range <<= 8;
            self.take();
        }
    }

    /// A bit that is mostly what it was before: a branch, which the processor predicts.
    #[inline(always)]
    pub(super) fn likely(&mut self, probability: &mut Probability) -> bool {
        self.normalize();
        let bound = (self.range >> 11) * *probability;
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
    pub(super) fn unlikely(&mut self, probability: Probability) -> (bool, Probability) {
        self.normalize();
        let bound = (self.range >> 11) * probability;
        let is_one = self.code >= bound;
        self.range = select_unpredictable(is_one, self.range - bound, bound);
        self.code = select_unpredictable(is_one, self.code.wrapping_sub(bound), self.code);
        // 31, because a shift to the right rounds down what is negative: it is as if the positive were rounded.
        let goal = select_unpredictable(is_one, 31, 2048_i32);
        let change = (goal - probability.cast_signed()) >> 5;
        (is_one, probability.wrapping_add_signed(change))
    }

    /// A number whose highest bit comes first.
    #[inline(always)]
    pub(super) fn tree<const PAIRS: usize>(&mut self, tree: &mut Tree<PAIRS>) -> usize {
        let (node, probability) = self.all_but_last(tree);
        self.last(tree, node, probability) & (2 * PAIRS - 1)
    }

    /// The node of the last bit, and its probability.
    #[inline(always)]
    pub(super) fn all_but_last<const PAIRS: usize, P: Stored>(
        &mut self,
        tree: &mut Tree<PAIRS, P>,
    ) -> (usize, Probability) {
        const { assert!(PAIRS.is_power_of_two()) };
        let mut node = 1;
        let mut probability = tree[0][1].get();
        for _ in 0..PAIRS.ilog2() {
            let children = tree[node & (PAIRS - 1)].map(P::get);
            let (is_one, updated) = self.unlikely(probability);
            tree.as_flattened_mut()[node & (2 * PAIRS - 1)] = P::new(updated);
            node = node << 1 | usize::from(is_one);
            probability = select_unpredictable(is_one, children[1], children[0]);
        }
        (node, probability)
    }

    #[inline(always)]
    pub(super) fn last<const PAIRS: usize, P: Stored>(
        &mut self,
        tree: &mut Tree<PAIRS, P>,
        node: usize,
        probability: Probability,
    ) -> usize {
        let (is_one, updated) = self.unlikely(probability);
        tree.as_flattened_mut()[node & (2 * PAIRS - 1)] = P::new(updated);
        node << 1 | usize::from(is_one)
    }

    /// A number of `count` bits whose lowest bit comes first.
    #[inline(always)]
    pub(super) fn reverse_tree<const PAIRS: usize>(
        &mut self,
        tree: &mut Tree<PAIRS>,
        count: u32,
    ) -> u32 {
        const { assert!(PAIRS.is_power_of_two()) };
        let mut node = 1;
        let mut number = 0;
        for index in 0..count {
            let place = &mut tree[(node / 2) & (PAIRS - 1)][node & 1];
            let (is_one, updated) = self.unlikely(*place);
            *place = updated;
            node = 2 * node + usize::from(is_one);
            number |= u32::from(is_one) << index;
        }
        number
    }

    /// A byte, and the same with its last bit 0. After a match, `unlike` is the byte that would have gone on with it.
    #[inline(always)]
    pub(super) fn literal<P: Stored>(
        &mut self,
        literal: &mut Literal<P>,
        unlike: Option<u8>,
    ) -> (u8, u8) {
        if let Some(other) = unlike {
            return self.literal_unlike(literal, other);
        }
        let Some(tree) = literal.first_chunk_mut::<128>() else {
            return (0, 0);
        };
        let (node, probability) = self.all_but_last(tree);
        (self.last(tree, node, probability) as u8, (node << 1) as u8)
    }

    /// The literal after a match, not likely to be the byte that would have gone on with the match: its bits are decoded
    /// in the context of the bits of `other`, up to the first difference.
    #[inline(always)]
    pub(super) fn literal_unlike<P: Stored>(
        &mut self,
        literal: &mut Literal<P>,
        other: u8,
    ) -> (u8, u8) {
        const MASK: usize = 0x3ff;
        let probabilities = literal.as_flattened_mut();
        let mut other = usize::from(other) << 1;
        // The start of the tree: the second or third, and from the first difference on the first.
        let mut tree = 0x100;
        let mut node = 1;
        let mut parent = 1;
        let mut place = tree + (other & tree) + node;
        let mut probability = probabilities[place & MASK].get();
        while node < 0x100 {
            // Here too the next two are read before it is known which one comes next. They lie in two trees.
            let expected = other & tree;
            other <<= 1;
            let trees = [tree & !expected, expected];
            let places = [0, 1].map(|bit| trees[bit] + (other & trees[bit]) + (node << 1) + bit);
            let children = places.map(|place| probabilities[place & MASK].get());
            let (is_one, updated) = self.unlikely(probability);
            probabilities[place & MASK] = P::new(updated);
            parent = node;
            node = node << 1 | usize::from(is_one);
            tree = select_unpredictable(is_one, trees[1], trees[0]);
            place = select_unpredictable(is_one, places[1], places[0]);
            probability = select_unpredictable(is_one, children[1], children[0]);
        }
        (node as u8, (parent << 1) as u8)
    }

    #[inline(always)]
    pub(super) fn length(&mut self, length: &mut Length, position: usize) -> usize {
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
    pub(super) fn distance(&mut self, model: &mut Model, length: usize) -> u32 {
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

/// Numbers of context bits: `lc`, `lp`, `pb`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) of_previous: u32,
    pub(super) of_literal_position: u32,
    pub(super) of_position: u32,
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "lc is at most 8, lp and pb are at most 4"
)]
impl Bits {
    /// The numbers of bits that every encoder of OpenCTM writes.
    pub(super) const USUAL: Self = Self {
        of_previous: 3,
        of_literal_position: 0,
        of_position: 2,
    };

    pub(super) fn new(properties: u8) -> Result<Self, FaultKind> {
        if properties >= 9 * 5 * 5 {
            return Err(FaultKind::Corrupt("properties of 225 or more"));
        }
        let properties = u32::from(properties);
        Ok(Self {
            of_previous: properties % 9,
            of_literal_position: properties / 9 % 5,
            of_position: properties / 45,
        })
    }

    /// Returns the number of sets of probabilities for literals.
    pub(super) fn contexts(self) -> usize {
        1 << (self.of_previous + self.of_literal_position)
    }

    /// Returns the index of a literal's set of probabilities: the low bits of its position, the high bits of the byte before.
    #[inline(always)]
    pub(super) fn context(self, at: usize, previous: u8) -> usize {
        let of_position = at & ((1 << self.of_literal_position) - 1);
        (of_position << self.of_previous) + (usize::from(previous) << self.of_previous >> 8)
    }
}
