//! The probabilities that a stream adapts.

/// The probability that a bit is 0, of 2048.
///
/// 11 bits would do. With 32, each of the two children of a node is loaded on its own, never across a store of half as many
/// bytes, for which an AMD core waits 26 cycles; the whole decoder is 1.05 times as fast there.
pub(super) type Probability = u32;

pub(super) const EVEN: Probability = 1024;

/// The stored form of a probability: 16 bits in large tables.
pub(super) trait Stored: Copy {
    fn get(self) -> Probability;
    fn new(probability: Probability) -> Self;
}

impl Stored for u32 {
    #[inline(always)]
    fn get(self) -> Probability {
        self
    }

    #[inline(always)]
    fn new(probability: Probability) -> Self {
        probability
    }
}

impl Stored for u16 {
    #[inline(always)]
    fn get(self) -> Probability {
        self.into()
    }

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "probabilities are less than 2048"
    )]
    fn new(probability: Probability) -> Self {
        probability as Self
    }
}

/// The probabilities of a number of which each bit depends on those before: node `n` has the children `2 n` and
/// `2 n + 1`, the root is 1. The two children are a pair, which is read before it is known which one comes next.
pub(super) type Tree<const PAIRS: usize, P = Probability> = [[P; 2]; PAIRS];

/// Three trees of 8 bits: of a byte, and of a byte as long as it is like another one, by the next bit of that; and a
/// quarter that is not used, for a mask and for an address that needs only a shift.
pub(super) type Literal<P = Probability> = Tree<512, P>;

/// The probabilities of literals in streams of unusual numbers of context bits.
///
/// There can be 4,096 sets of 2 KiB each. Memory is allocated only for the sets that the stream uses: a short stream uses few.
#[derive(Default)]
pub(super) struct OtherLiterals {
    /// By context, the place of its set, or [`NONE`](Self::NONE).
    pub(super) places: Vec<u16>,
    pub(super) sets: Vec<Literal<u16>>,
}

impl OtherLiterals {
    pub(super) const NONE: u16 = u16::MAX;

    /// Starts again, with `contexts` contexts.
    pub(super) fn forget(&mut self, contexts: usize) {
        self.places.clear();
        self.places.resize(contexts, Self::NONE);
        self.sets.clear();
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "contexts are fewer than places, which are those of sets"
    )]
    #[inline(always)]
    pub(super) fn of(&mut self, context: usize) -> &mut Literal<u16> {
        let mut place = usize::from(self.places[context]);
        if place >= self.sets.len() {
            place = self.sets.len();
            self.places[context] = u16::try_from(place).unwrap_or(Self::NONE);
            self.sets.push([[1024; 2]; 512]);
        }
        &mut self.sets[place]
    }
}

/// All probabilities except for unusual literals. 12 states have 16 places for a mask, which saves a check.
pub(super) struct Model {
    /// For the [usual](Bits::USUAL) contexts.
    pub(super) literals: [Literal; 8],
    pub(super) is_match: [[Probability; 16]; 16],
    pub(super) is_rep: [Probability; 16],
    pub(super) is_rep_g0: [Probability; 16],
    pub(super) is_rep_g1: [Probability; 16],
    pub(super) is_rep_g2: [Probability; 16],
    pub(super) is_rep0_long: [[Probability; 16]; 16],
    pub(super) match_length: Length,
    pub(super) rep_length: Length,
    pub(super) slot: [Tree<32>; 4],
    /// For the low bits of a distance, by its slot, 4 to 13.
    pub(super) low: [Tree<16>; 16],
    pub(super) align: Tree<8>,
}

pub(super) struct Length {
    pub(super) is_over_7: Probability,
    pub(super) is_over_15: Probability,
    pub(super) short: [Tree<4>; 16],
    pub(super) medium: [Tree<4>; 16],
    pub(super) long: Tree<128>,
}

impl Model {
    pub(super) const NEW: Self = Self {
        literals: [[[EVEN; 2]; 512]; 8],
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
    pub(super) const NEW: Self = Self {
        is_over_7: EVEN,
        is_over_15: EVEN,
        short: [[[EVEN; 2]; 4]; 16],
        medium: [[[EVEN; 2]; 4]; 16],
        long: [[EVEN; 2]; 128],
    };
}
