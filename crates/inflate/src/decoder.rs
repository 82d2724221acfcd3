//! The decoder of deflate: it stops where the output is full, and goes on later.

use super::bits::{Bits, Position};
use super::block::{Content, header};
use super::code::Code;
use super::copy::Unit;
use super::entry::{Distance, END_OF_BLOCK, Litlen};
use super::error::Problem;
use super::fast;
use super::history::History;
use super::table::Tables;

/// The decoder, and all of its memory.
pub(super) struct Deflate {
    processor: Processor,
    tables: Box<Tables>,
    lengths_code: Code,
    history: History,
    /// The position of the next bit.
    position: Position,
    phase: Phase,
    is_last: bool,
}

/// The next thing to decode.
#[derive(Clone, Copy)]
enum Phase {
    Header,
    /// So many bytes as they are.
    Stored(usize),
    Symbols,
    /// So many bytes of a match.
    Match {
        distance: usize,
        left: usize,
    },
    Ended,
}

/// A symbol, or a match as a whole.
enum Symbol {
    Literal(u8),
    Match { distance: usize, length: usize },
    EndOfBlock,
}

/// The optional instructions of the processor.
#[derive(Clone, Copy)]
struct Processor {
    /// Shifts that take their count from any register (BMI2), and what came with them.
    #[cfg(target_arch = "x86_64")]
    shifts: Option<fearless_simd::Avx2>,
}

impl Processor {
    fn new() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            shifts: fearless_simd::Level::new().as_avx2(),
        }
    }

    /// Runs `work`, compiled for this processor's instructions as far as it is inlined.
    #[inline(always)]
    fn run<R>(self, work: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        if let Some(shifts) = self.shifts {
            return fearless_simd::Simd::vectorize(shifts, work);
        }
        work()
    }
}

impl Deflate {
    /// The number of bytes by which a piece may exceed the requested length.
    pub(super) const MARGIN: usize = fast::MIN_OUTPUT;

    pub(super) fn new() -> Self {
        Self {
            processor: Processor::new(),
            tables: Tables::new(),
            lengths_code: Code::EMPTY,
            history: History::default(),
            position: Position::default(),
            phase: Phase::Header,
            is_last: false,
        }
    }

    /// Begins a stream at this place of an input.
    pub(super) fn reset(&mut self, position: Position) {
        self.history.clear();
        self.go_on(position, false);
    }

    /// Goes on with the block that begins here, or with the end of the stream.
    pub(super) fn go_on(&mut self, position: Position, has_ended: bool) {
        self.position = position;
        self.phase = if has_ended {
            Phase::Ended
        } else {
            Phase::Header
        };
        self.is_last = has_ended;
    }

    /// Returns the number of bytes of the input that are used up, or have been begun.
    pub(super) fn consumed(&self) -> usize {
        self.position
            .byte
            .saturating_add(usize::from(self.position.bit > 0))
    }

    /// The next bit, counted from the beginning of the input; of a stream with something wrong, where that begins.
    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// Returns `true` if a block has ended, and another one follows.
    pub(super) fn is_between_blocks(&self) -> bool {
        matches!(self.phase, Phase::Header)
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Returns the bytes before the slice that is being filled.
    #[cfg(feature = "rayon")]
    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// Keeps what has been written to a slice, because the next bytes are written to another one.
    pub(super) fn leave(&mut self, written: &[u8]) {
        if !self.has_ended() {
            self.history.append(written);
        }
    }

    /// Fills `out` from `at` up to `until`, or some bytes more if it is longer, or until the stream ends, or a block other than the
    /// first one begins at `stop` or after it. `at` becomes the end of the output, even if there is an error.
    pub(super) fn run<U: Unit>(
        &mut self,
        input: &[u8],
        out: &mut [U],
        at: &mut usize,
        until: usize,
        stop: Position,
    ) -> Result<(), Problem> {
        let mut bits = Bits::new(input, self.position);
        let until = until.min(out.len());
        let result = self.blocks(&mut bits, input, out, at, (until, stop));
        if *at == out.len() {
            self.end_here(&mut bits);
        }
        self.position = bits.position(input);
        result
    }

    fn blocks<'a, U: Unit>(
        &mut self,
        bits: &mut Bits<'a>,
        input: &'a [u8],
        out: &mut [U],
        at: &mut usize,
        (until, stop): (usize, Position),
    ) -> Result<(), Problem> {
        let mut is_first = self.is_between_blocks();
        // The end of the output before a match that reaches too far.
        let mut too_far = usize::MAX;
        while *at < until {
            match self.phase {
                Phase::Header if !is_first && bits.position(input) >= stop => break,
                Phase::Header => {
                    is_first = false;
                    let start = *bits;
                    let header = header(bits, input, &mut self.tables, &mut self.lengths_code);
                    // If there is an error, it occurs again the next time.
                    let (is_last, content) = header.inspect_err(|_| *bits = start)?;
                    self.is_last = is_last;
                    self.phase = match content {
                        Content::Stored(length) => Phase::Stored(length),
                        Content::Symbols => Phase::Symbols,
                    };
                }
                Phase::Stored(0) => self.end_block(),
                Phase::Stored(left) => {
                    let count = left.min(until.saturating_sub(*at)).min(bits.rest.len());
                    let (Some((from, rest)), Some(to)) = (
                        bits.rest.split_at_checked(count),
                        out.get_mut(*at..at.saturating_add(count)),
                    ) else {
                        return Err(Problem::Truncated);
                    };
                    if from.is_empty() {
                        return Err(Problem::Truncated);
                    }
                    to.iter_mut()
                        .zip(from)
                        .for_each(|(place, byte)| *place = U::from(*byte));
                    bits.rest = rest;
                    *at = at.saturating_add(count);
                    self.phase = Phase::Stored(left.saturating_sub(count));
                }
                Phase::Symbols => {
                    let soft = until
                        .saturating_add(Self::MARGIN)
                        .min(too_far)
                        .min(out.len());
                    let before = (*bits, *at);
                    let space = out.get_mut(..soft).unwrap_or_default();
                    let Self {
                        processor,
                        tables,
                        history,
                        ..
                    } = &*self;
                    // Inlined, so that it is made of the processor's instructions.
                    let result = if tables.have_matches() {
                        processor.run(
                            #[inline(always)]
                            || fast::run::<_, true>(bits, tables, history, space, at),
                        )
                    } else {
                        processor.run(
                            #[inline(always)]
                            || fast::run::<_, false>(bits, tables, history, space, at),
                        )
                    };
                    if let Err(fast::TooFar) = result {
                        // Once more, up to this match, and then bit by bit: so it is found where the match begins.
                        too_far = *at;
                        (*bits, *at) = before;
                    } else if *at < until {
                        self.literals(bits, out, at);
                        if *at < until {
                            self.symbol(bits, out, at)?;
                        }
                    }
                }
                Phase::Match { distance, left } => {
                    let length = left.min(out.len().saturating_sub(*at));
                    self.repeat(out, *at, distance, length).ok_or(TOO_FAR)?;
                    *at = at.saturating_add(length);
                    let left = left.saturating_sub(length);
                    self.phase = if left > 0 {
                        Phase::Match { distance, left }
                    } else {
                        Phase::Symbols
                    };
                }
                Phase::Ended => break,
            }
        }
        Ok(())
    }

    /// Takes up the end of the stream where that comes next. Anything else is for later, if it is ever asked for.
    fn end_here(&mut self, bits: &mut Bits<'_>) {
        let start = *bits;
        if !matches!(self.phase, Phase::Symbols) || !self.is_last {
            return;
        }
        match self.next(bits) {
            Ok(Symbol::EndOfBlock) => self.end_block(),
            _ => *bits = start,
        }
    }

    fn end_block(&mut self) {
        self.phase = if self.is_last {
            Phase::Ended
        } else {
            Phase::Header
        };
    }

    /// Decodes literals, as long as the table has them.
    fn literals<U: Unit>(&self, bits: &mut Bits<'_>, out: &mut [U], at: &mut usize) {
        loop {
            bits.fill(48);
            let entry = self.tables.litlen(bits.buffer);
            let end = at.saturating_add(entry.literals());
            let Some(space) = out.get_mut(*at..end).filter(|_| entry.is_literals()) else {
                return;
            };
            if entry.consumed() > bits.count {
                return;
            }
            bits.consume(entry.consumed());
            for (place, byte) in space.iter_mut().zip(entry.bytes()) {
                *place = U::from(byte);
            }
            *at = end;
        }
    }

    /// Decodes one symbol, bit by bit. Consumes nothing if there is an error.
    fn symbol<U: Unit>(
        &mut self,
        bits: &mut Bits<'_>,
        out: &mut [U],
        at: &mut usize,
    ) -> Result<(), Problem> {
        let start = *bits;
        match self.next(bits).inspect_err(|_| *bits = start)? {
            Symbol::Literal(byte) => {
                if let Some(place) = out.get_mut(*at) {
                    *place = U::from(byte);
                    *at = at.saturating_add(1);
                }
            }
            Symbol::Match { distance, length } => {
                if self.history.reaches(*at, distance) {
                    self.phase = Phase::Match {
                        distance,
                        left: length,
                    };
                } else {
                    *bits = start;
                    return Err(TOO_FAR);
                }
            }
            Symbol::EndOfBlock => self.end_block(),
        }
        Ok(())
    }

    fn next(&self, bits: &mut Bits<'_>) -> Result<Symbol, Problem> {
        const NO_LITLEN: &str = "bits that are neither a literal nor a length";
        const NO_DISTANCE: &str = "bits that are no distance";
        bits.fill(48);
        let symbol = self.tables.litlen_code.symbol(bits.peek(15), bits.count);
        let (symbol, length) = symbol.map_err(|no| no.problem(NO_LITLEN))?;
        let entry = Litlen::new(symbol, length);
        if entry.is_literals() {
            bits.consume(length);
            return Ok(Symbol::Literal(entry.bytes()[0]));
        }
        if symbol == END_OF_BLOCK {
            bits.consume(length);
            return Ok(Symbol::EndOfBlock);
        }
        if entry.is_other() {
            return Err(Problem::Corrupt(NO_LITLEN));
        }
        if entry.consumed() > bits.count {
            return Err(Problem::Truncated);
        }
        let length = entry.length(bits.buffer);
        bits.consume(entry.consumed());
        let symbol = self.tables.distance_code.symbol(bits.peek(15), bits.count);
        let (symbol, code) = symbol.map_err(|no| no.problem(NO_DISTANCE))?;
        let entry = Distance::new(symbol, code);
        if entry.is_other() {
            return Err(Problem::Corrupt(NO_DISTANCE));
        }
        if entry.consumed() > bits.count {
            return Err(Problem::Truncated);
        }
        let distance = entry.distance(bits.buffer);
        bits.consume(entry.consumed());
        Ok(Symbol::Match { distance, length })
    }

    /// Copies a match for which there is space.
    fn repeat<U: Unit>(
        &self,
        out: &mut [U],
        at: usize,
        distance: usize,
        length: usize,
    ) -> Option<()> {
        if distance > at {
            return U::repeat_history(out, at, distance, length, &self.history);
        }
        let from = at.checked_sub(distance)?;
        for offset in 0..length {
            let byte = *out.get(from.saturating_add(offset))?;
            *out.get_mut(at.saturating_add(offset))? = byte;
        }
        Some(())
    }
}

const TOO_FAR: Problem = Problem::Corrupt("a match before the start of the output");
