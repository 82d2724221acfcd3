//! Random deflate streams, of every kind of block, code, length, distance and overlap, and not only as encoders write them.

/// A stream of random numbers (xorshift64*), the same for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number less than `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns `true` in one of `times` calls on average.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// Bits, the lowest of a byte first.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    buffer: u64,
    count: usize,
}

impl Writer {
    fn bits(&mut self, bits: usize, count: usize) {
        self.buffer |= (bits as u64) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.buffer as u8);
            self.buffer >>= 8;
            self.count -= 8;
        }
    }

    fn align(&mut self) {
        self.bits(0, (8 - self.count % 8) % 8);
    }

    /// A symbol of a code, whose bits come highest first.
    fn symbol(&mut self, code: &Code, symbol: usize) {
        let (bits, length) = (code.codes[symbol], code.lengths[symbol]);
        assert!(length > 0, "a symbol without a code");
        self.bits(
            (bits as u16).reverse_bits() as usize >> (16 - length),
            length,
        );
    }
}

struct Code {
    lengths: Vec<usize>,
    codes: Vec<usize>,
}

impl Code {
    fn of_lengths(lengths: Vec<usize>) -> Self {
        let mut codes = vec![0; lengths.len()];
        let mut next = 0;
        for length in 1..16 {
            for (symbol, _) in lengths.iter().enumerate().filter(|(_, of)| **of == length) {
                codes[symbol] = next;
                next += 1;
            }
            next <<= 1;
        }
        Self { lengths, codes }
    }

    /// Makes a random complete code of these symbols; for a single symbol, a code of one bit.
    fn random(random: &mut Random, symbols: &[usize], count: usize, longest: usize) -> Self {
        let mut lengths = vec![0; count];
        let mut leaves = vec![0_usize];
        // Most codes are as even as a random one is; some are as deep as they can be.
        let is_deep = random.once_in(3);
        while leaves.len() < symbols.len() {
            let place = if is_deep {
                leaves.len() - 1
            } else {
                random.below(leaves.len())
            };
            let place = if leaves[place] < longest {
                place
            } else {
                leaves.iter().position(|leaf| *leaf < longest).unwrap()
            };
            leaves[place] += 1;
            leaves.push(leaves[place]);
        }
        for place in (1..leaves.len()).rev() {
            leaves.swap(place, random.below(place + 1));
        }
        for (symbol, leaf) in symbols.iter().zip(&leaves) {
            lengths[*symbol] = (*leaf).max(1);
        }
        Self::of_lengths(lengths)
    }

    fn symbols(&self) -> Vec<usize> {
        (0..self.lengths.len())
            .filter(|symbol| self.lengths[*symbol] > 0)
            .collect()
    }
}

const LENGTHS: [(usize, usize); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];
const DISTANCES: [(usize, usize); 30] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 1),
    (7, 1),
    (9, 2),
    (13, 2),
    (17, 3),
    (25, 3),
    (33, 4),
    (49, 4),
    (65, 5),
    (97, 5),
    (129, 6),
    (193, 6),
    (257, 7),
    (385, 7),
    (513, 8),
    (769, 8),
    (1025, 9),
    (1537, 9),
    (2049, 10),
    (3073, 10),
    (4097, 11),
    (6145, 11),
    (8193, 12),
    (12289, 12),
    (16385, 13),
    (24577, 13),
];

/// A stream, and what it inflates to.
pub(crate) fn stream(random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let blocks = 1 + random.below(4);
    stream_of(random, blocks)
}

/// Makes a stream of `blocks` blocks, and its inflated content.
pub(crate) fn stream_of(random: &mut Random, blocks: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut writer, mut out) = (Writer::default(), Vec::new());
    for block in 0..blocks {
        writer.bits(usize::from(block + 1 == blocks), 1);
        match random.below(5) {
            0 => stored(random, &mut writer, &mut out),
            1 => fixed(random, &mut writer, &mut out),
            _ => dynamic(random, &mut writer, &mut out),
        }
    }
    writer.align();
    (writer.bytes, out)
}

fn stored(random: &mut Random, writer: &mut Writer, out: &mut Vec<u8>) {
    let length = match random.below(16) {
        0 => 0,
        _ if cfg!(miri) => random.below(50),
        1 => 65_535,
        2 => 40_000,
        _ => random.below(500),
    };
    writer.bits(0, 2);
    writer.align();
    writer.bits(length, 16);
    writer.bits(!length & 0xffff, 16);
    let of = 1 << random.below(9);
    for _ in 0..length {
        let byte = random.below(of);
        writer.bits(byte, 8);
        out.push(byte as u8);
    }
}

fn fixed(random: &mut Random, writer: &mut Writer, out: &mut Vec<u8>) {
    writer.bits(1, 2);
    let lengths = (0..288).map(|symbol| match symbol {
        144..256 => 9,
        256..280 => 7,
        _ => 8,
    });
    let litlen = Code::of_lengths(lengths.collect());
    let distance = Code::of_lengths(vec![5; 32]);
    symbols(random, writer, out, &litlen, &distance);
}

fn dynamic(random: &mut Random, writer: &mut Writer, out: &mut Vec<u8>) {
    writer.bits(2, 2);
    let rarely = 1 + random.below(8);
    let mut litlens: Vec<_> = (0..256).filter(|_| random.once_in(rarely)).collect();
    litlens.truncate([1, 2, 3, 20, 256][random.below(5)]);
    litlens.push(256);
    let rarely = 1 + random.below(8);
    litlens.extend((257..286).filter(|_| random.once_in(rarely)));
    let rarely = 1 + random.below(30);
    let mut distances: Vec<_> = (0..30).filter(|_| random.once_in(rarely)).collect();
    distances.truncate(1 + random.below(30));
    let litlen = Code::random(random, &litlens, 286, 15);
    let distance = Code::random(random, &distances, 30, 15);

    let end = |code: &Code, least: usize, random: &mut Random| {
        let end = code
            .lengths
            .iter()
            .rposition(|length| *length > 0)
            .map_or(0, |last| last + 1)
            .max(least);
        end + random.below(code.lengths.len() - end + 1)
    };
    let (litlens, distances) = (end(&litlen, 257, random), end(&distance, 1, random));
    let lengths = [&litlen.lengths[..litlens], &distance.lengths[..distances]].concat();
    // Each length by itself, or some of them repeated: symbol, value and number of further bits.
    let (mut at, mut written) = (0, Vec::new());
    while at < lengths.len() {
        let length = lengths[at];
        let run = lengths[at..]
            .iter()
            .take_while(|next| **next == length)
            .count();
        let before = at > 0 && lengths[at - 1] == length;
        let (symbol, least, most, bits) = match random.below(4) {
            1 if length == 0 && run >= 3 => (17, 3, 10, 3),
            2 if length == 0 && run >= 11 => (18, 11, 138, 7),
            3 if before && run >= 3 => (16, 3, 6, 2),
            _ => (length, 1, 1, 0),
        };
        let count = least + random.below(run.min(most) - least + 1);
        written.push((symbol, count - least, bits));
        at += count;
    }
    let mut used: Vec<usize> = (0..19)
        .filter(|symbol| written.iter().any(|(of, ..)| of == symbol))
        .collect();
    if used.len() == 1 {
        used.push((used[0] + 1) % 19);
    }
    let code = Code::random(random, &used, 19, 7);
    let order = [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ];
    let count = order
        .iter()
        .rposition(|symbol| code.lengths[*symbol] > 0)
        .map_or(4, |last| last + 1)
        .max(4);
    writer.bits(litlens - 257, 5);
    writer.bits(distances - 1, 5);
    writer.bits(count - 4, 4);
    order[..count]
        .iter()
        .for_each(|symbol| writer.bits(code.lengths[*symbol], 3));
    for (symbol, value, bits) in written {
        writer.symbol(&code, symbol);
        writer.bits(value, bits);
    }
    symbols(random, writer, out, &litlen, &distance);
}

/// Symbols of a block, and its end.
fn symbols(
    random: &mut Random,
    writer: &mut Writer,
    out: &mut Vec<u8>,
    litlen: &Code,
    distance: &Code,
) {
    let known = litlen.symbols();
    let literals: Vec<_> = known
        .iter()
        .copied()
        .filter(|symbol| *symbol < 256)
        .collect();
    let lengths: Vec<_> = known
        .iter()
        .copied()
        .filter(|symbol| (257..286).contains(symbol))
        .collect();
    let distances: Vec<_> = distance
        .symbols()
        .into_iter()
        .filter(|symbol| *symbol < 30)
        .collect();
    let matches = 1 + random.below(9);
    // Miri takes long for each of them.
    let most = if cfg!(miri) {
        [20, 50, 100]
    } else {
        [20, 500, 3000]
    };
    let most = most[random.below(3)];
    for _ in 0..random.below(most) {
        let is_match = !lengths.is_empty() && random.below(10) < matches;
        let reached: Vec<_> = distances
            .iter()
            .copied()
            .filter(|symbol| DISTANCES[*symbol].0 <= out.len())
            .collect();
        if is_match && !reached.is_empty() {
            let symbol = lengths[random.below(lengths.len())];
            let (base, extra) = LENGTHS[symbol - 257];
            let more = random.below(1 << extra);
            let far = reached[random.below(reached.len())];
            let (nearest, further) = DISTANCES[far];
            let beyond = random.below((1 << further).min(out.len() - nearest + 1));
            writer.symbol(litlen, symbol);
            writer.bits(more, extra);
            writer.symbol(distance, far);
            writer.bits(beyond, further);
            let from = out.len() - nearest - beyond;
            for offset in 0..base + more {
                out.push(out[from + offset]);
            }
        } else if !literals.is_empty() {
            let literal = literals[random.below(literals.len())];
            writer.symbol(litlen, literal);
            out.push(literal as u8);
        }
    }
    writer.symbol(litlen, 256);
}

/// Changes some of the bytes, or cuts them.
pub(crate) fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(3) {
        if bytes.is_empty() {
            return;
        }
        // Headers of blocks are where most can go wrong.
        let near = if random.once_in(2) {
            bytes.len()
        } else {
            bytes.len().min(80)
        };
        let place = random.below(near);
        match random.below(6) {
            0 => bytes[place] = random.next() as u8,
            1 => bytes.truncate(place),
            2 => drop(bytes.remove(place)),
            3 => bytes.insert(place, random.next() as u8),
            _ => bytes[place] ^= 1 << random.below(8),
        }
    }
}
