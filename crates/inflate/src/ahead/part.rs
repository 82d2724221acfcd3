//! A part of a stream that is decoded before what comes before it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::bits::Position;
use crate::copy::{BEYOND, Unit, copy};
use crate::decoder::Deflate;
use crate::history::{FAR, History};

/// A byte of the output; or, from [`UNKNOWN`] on, a byte whose distance from the beginning of the [`FAR`] bytes before the part is
/// the value less [`UNKNOWN`].
pub(super) type Marked = u16;
pub(super) const UNKNOWN: Marked = 1 << 15;

/// The number of units of the output that fit into a piece of memory.
const PIECE: usize = if cfg!(any(test, fuzzing)) {
    2 << 10
} else {
    128 << 10
};
/// The units before them, for matches, and the units that may be written beyond.
const LENGTH: usize = FAR + PIECE + Deflate::MARGIN;

/// The state that the thread in front shares with the thread that decodes a part.
pub(super) struct Control {
    /// `true` if the part is not needed any more.
    pub(super) is_dropped: AtomicBool,
    /// `true` if the part is to end at the beginning of the next block.
    pub(super) is_awaited: AtomicBool,
    /// The part is to end at the first block that begins in this byte of the input or after it.
    pub(super) end: AtomicUsize,
    /// The time at which the part was begun.
    begun: Instant,
    /// The time that it may take.
    lent: Duration,
}

/// Memory for some of the output, with [`FAR`] units before it.
pub(super) struct Piece<U> {
    units: Vec<U>,
    filled: usize,
}

/// The source of pieces.
pub(super) trait Memory {
    /// Returns a piece for marked bytes, of any content; `None` if memory is used up.
    fn marked(&self) -> Option<Vec<Marked>>;
    /// The same for bytes that are known.
    fn known(&self) -> Option<Vec<u8>>;
}

/// The decoded data of a part.
pub(super) struct DecodedPart {
    /// The start of the first block.
    pub(super) start: Position,
    /// The start of the block after the last one.
    pub(super) end: Position,
    /// `true` if the stream ends there.
    pub(super) has_ended: bool,
    /// The time that it took to decode it.
    pub(super) time: Duration,
    /// Pieces that may refer to bytes before the part.
    marked: Vec<Piece<Marked>>,
    /// The rest.
    known: Vec<Piece<u8>>,
}

/// The end of a block.
#[derive(Clone, Copy)]
struct Boundary {
    position: Position,
    has_ended: bool,
    /// The number of pieces, and the fill level of the last one.
    pieces: usize,
    filled: usize,
}

/// A part that is being decoded.
struct Decoding<'a> {
    deflate: &'a mut Deflate,
    input: &'a [u8],
    control: &'a Control,
    /// The last place where the part can end.
    last: Option<Boundary>,
}

#[derive(PartialEq, Eq)]
enum State {
    IsFull,
    IsOver,
}

impl Control {
    /// Makes the control of a part that begins now and may take `lent`.
    pub(super) fn new(lent: Duration) -> Self {
        Self {
            is_dropped: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
            end: AtomicUsize::new(usize::MAX),
            begun: Instant::now(),
            lent,
        }
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed)
    }

    /// Returns `true` if the search for the part must not continue from this byte on.
    pub(super) fn is_passed(&self, byte: usize) -> bool {
        self.is_dropped() || byte >= self.end.load(Ordering::Relaxed) || self.is_late()
    }

    /// Returns `true` if the part has used up its time.
    fn is_late(&self) -> bool {
        self.begun.elapsed() >= self.lent
    }

    fn is_over(&self, position: Position) -> bool {
        let is_awaited = self.is_awaited.load(Ordering::Relaxed);
        is_awaited || position.byte >= self.end.load(Ordering::Relaxed) || self.is_late()
    }
}

impl<U: Unit> Piece<U> {
    /// The number of bytes of memory that one piece uses.
    pub(super) const SIZE: u64 = (LENGTH * size_of::<U>()) as u64;

    /// A piece that comes after these [`FAR`] units.
    fn after(before: impl Iterator<Item = U>, mut units: Vec<U>) -> Self {
        units.resize(LENGTH, U::from(0));
        for (unit, before) in units.iter_mut().zip(before) {
            *unit = before;
        }
        Self { units, filled: FAR }
    }

    fn content(&self) -> &[U] {
        self.units.get(FAR..self.filled).unwrap_or_default()
    }

    /// The last [`FAR`] units.
    fn last(&self) -> &[U] {
        self.units
            .get(self.filled.saturating_sub(FAR)..self.filled)
            .unwrap_or_default()
    }

    /// The memory, to be reused.
    fn into_units(self) -> Vec<U> {
        self.units
    }
}

impl DecodedPart {
    /// Decodes the part from `start`, until it is to end, something is wrong, or memory is used up. Returns `None` if not even one
    /// block was decoded, or the part is not wanted any more.
    pub(super) fn decode(
        input: &[u8],
        start: Position,
        deflate: &mut Deflate,
        control: &Control,
        memory: &impl Memory,
    ) -> Option<Self> {
        let begun = Instant::now();
        deflate.reset(start);
        let mut decoding = Decoding {
            deflate,
            input,
            control,
            last: None,
        };
        let mut marked = Vec::new();
        let mut known = Vec::new();
        decoding.pieces(&mut marked, &mut known, memory);
        let Boundary {
            position,
            has_ended,
            pieces,
            filled,
        } = decoding.last?;
        // Output after the last boundary is left out.
        known.truncate(pieces.saturating_sub(marked.len()));
        marked.truncate(pieces);
        match known.last_mut() {
            Some(last) => last.filled = filled,
            None => marked.last_mut()?.filled = filled,
        }
        if control.is_dropped() {
            return None;
        }
        Some(Self {
            start,
            end: position,
            has_ended,
            time: begun.elapsed(),
            marked,
            known,
        })
    }

    /// Returns the number of bytes before a position: a piece and an offset in it.
    pub(super) fn length_before(&self, (piece, offset): (usize, usize)) -> usize {
        let marked = self.marked.iter().map(|piece| piece.content().len());
        let known = self.known.iter().map(|piece| piece.content().len());
        let mut length = offset;
        for piece_length in marked.chain(known).take(piece) {
            length = length.saturating_add(piece_length);
        }
        length
    }

    /// Returns the number of pieces that it is made of.
    pub(super) fn pieces(&self) -> usize {
        self.marked.len().saturating_add(self.known.len())
    }

    /// Copies from the position `done` on, a piece and the part of it that has been copied; returns the number of bytes.
    pub(super) fn copy(&self, bytes: &Bytes, done: &mut (usize, usize), out: &mut [u8]) -> usize {
        let (piece, offset) = *done;
        let left;
        if let Some(marked) = self.marked.get(piece) {
            let from = marked.content().get(offset..).unwrap_or_default();
            bytes.write(from, out);
            left = from.len();
        } else {
            let index = piece.saturating_sub(self.marked.len());
            let content = self.known.get(index).map(Piece::content);
            let from = content
                .unwrap_or_default()
                .get(offset..)
                .unwrap_or_default();
            let length = out.len().min(from.len());
            if let (Some(to), Some(from)) = (out.get_mut(..length), from.get(..length)) {
                to.copy_from_slice(from);
            }
            left = from.len();
        }
        let length = out.len().min(left);
        *done = if length == left {
            (piece.saturating_add(1), 0)
        } else {
            (piece, offset.saturating_add(length))
        };
        length
    }

    /// The memory, to be reused.
    pub(super) fn into_memory(self) -> (Vec<Vec<Marked>>, Vec<Vec<u8>>) {
        let marked = self.marked.into_iter().map(Piece::into_units);
        let known = self.known.into_iter().map(Piece::into_units);
        (marked.collect(), known.collect())
    }
}

impl Decoding<'_> {
    fn pieces(
        &mut self,
        marked: &mut Vec<Piece<Marked>>,
        known: &mut Vec<Piece<u8>>,
        memory: &impl Memory,
    ) {
        let Some(units) = memory.marked() else { return };
        let mut piece = Piece::after(UNKNOWN..=Marked::MAX, units);
        // Marked pieces, until no byte that a match can refer to is unknown.
        let mut piece = loop {
            let state = self.fill(&mut piece, marked.len());
            marked.push(piece);
            let Some(filled) = marked.last() else { return };
            if state == State::IsOver {
                return;
            }
            let last = filled.last().iter();
            if last.clone().all(|unit| *unit < 1 << 8) {
                let Some(units) = memory.known() else { return };
                let bytes = last.map(|unit| u8::try_from(*unit).unwrap_or(0));
                break Piece::after(bytes, units);
            }
            let Some(units) = memory.marked() else { return };
            piece = Piece::after(last.copied(), units);
        };
        loop {
            let state = self.fill(&mut piece, marked.len().saturating_add(known.len()));
            known.push(piece);
            let Some(filled) = known.last() else { return };
            if state == State::IsOver {
                return;
            }
            let Some(units) = memory.known() else { return };
            piece = Piece::after(filled.last().iter().copied(), units);
        }
    }

    /// Fills a piece that comes after `before` others.
    fn fill<U: Unit>(&mut self, piece: &mut Piece<U>, before: usize) -> State {
        let until = FAR + PIECE;
        loop {
            let begin = Position::default();
            let result = self.deflate.run(
                self.input,
                &mut piece.units,
                &mut piece.filled,
                until,
                begin,
            );
            if result.is_err() || self.control.is_dropped() {
                return State::IsOver;
            }
            let has_ended = self.deflate.has_ended();
            if has_ended || self.deflate.is_between_blocks() {
                let position = self.deflate.position();
                self.last = Some(Boundary {
                    position,
                    has_ended,
                    pieces: before.saturating_add(1),
                    filled: piece.filled,
                });
                if has_ended || self.control.is_over(position) {
                    return State::IsOver;
                }
            }
            if piece.filled >= until {
                return if self.control.is_late() {
                    State::IsOver
                } else {
                    State::IsFull
                };
            }
        }
    }
}

/// The values of marked bytes, once the bytes before their part are known.
pub(super) struct Bytes(Box<[u8; 1 << 16]>);

impl Bytes {
    pub(super) fn new() -> Self {
        let mut bytes = vec![0; 1 << 16];
        for (value, byte) in bytes.iter_mut().zip(0..=u8::MAX) {
            *value = byte;
        }
        Self(bytes.try_into().unwrap_or_else(|_| Box::new([0; 1 << 16])))
    }

    /// Sets the last [`FAR`] bytes before a part, of which some may lie before `out`. Returns `false` if there are fewer.
    pub(super) fn set(&mut self, history: &History, out: &[u8]) -> bool {
        let Some(unknown) = self.0.last_chunk_mut::<FAR>() else {
            return false;
        };
        let near = out.get(out.len().saturating_sub(FAR)..).unwrap_or_default();
        let (before, rest) = unknown.split_at_mut(FAR.saturating_sub(near.len()));
        rest.copy_from_slice(near);
        let far = history.last(before.len());
        let is_there = far.len() == before.len();
        if is_there {
            before.copy_from_slice(far);
        }
        is_there
    }

    /// The bytes before the part.
    pub(super) fn before(&self) -> &[u8] {
        self.0.last_chunk::<FAR>().map_or(&[], |before| before)
    }

    /// Writes the values of marked bytes, as many as fit into `out`.
    fn write(&self, from: &[Marked], out: &mut [u8]) {
        /// The number of bytes that are written at once if all of them are known.
        const GROUP: usize = 32;
        let length = from.len().min(out.len());
        let (from, last) = from.get(..length).unwrap_or_default().as_chunks::<GROUP>();
        let (out, rest) = out
            .get_mut(..length)
            .unwrap_or_default()
            .as_chunks_mut::<GROUP>();
        for (from, out) in from.iter().zip(out) {
            if from.iter().fold(0, |all, unit| all | unit) < UNKNOWN {
                *out = from.map(|unit| unit.to_le_bytes()[0]);
            } else {
                *out = from.map(|unit| self.of(unit));
            }
        }
        for (to, unit) in rest.iter_mut().zip(last) {
            *to = self.of(*unit);
        }
    }

    #[inline]
    fn of(&self, marked: Marked) -> u8 {
        self.0.get(usize::from(marked)).copied().unwrap_or(0)
    }
}

const _: () = assert!(FAR == 1 << 15);

impl Unit for Marked {
    #[inline(always)]
    fn repeat(out: &mut [Self], at: usize, distance: usize, length: usize) {
        repeat(out, at, distance, length);
    }

    /// There is always enough before a place: [`FAR`] units.
    #[inline(always)]
    fn repeat_history(_: &mut [Self], _: usize, _: usize, _: usize, _: &History) -> Option<()> {
        None
    }
}

/// Copies a match that lies `distance` back to `at`. Most are short and do not overlap with themselves: one move.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "the caller has compared the distance with `at`"
)]
#[inline(always)]
fn repeat(out: &mut [Marked], at: usize, distance: usize, length: usize) {
    let Some(out) = out.get_mut(at - distance..) else {
        return;
    };
    if length <= 16 && distance >= length {
        copy::<_, 16>(out, 0, distance);
    } else {
        repeat_long(out, distance, length);
    }
}

/// The number of units that are copied at once.
const AT_ONCE: usize = 8;
const _: () = assert!(2 * AT_ONCE <= BEYOND);

/// Copies other matches: `out` begins at the source of the copy. Not inlined: the caller has no registers to spare.
#[expect(clippy::arithmetic_side_effects, reason = "lengths are at most 258")]
#[inline(never)]
fn repeat_long(out: &mut [Marked], distance: usize, length: usize) {
    let end = distance + length;
    let mut from = 0;
    let mut to = distance;
    if distance < AT_ONCE {
        // As many units one by one as make a distance that is long enough, and a multiple of this one.
        while to < AT_ONCE + distance {
            let Some(unit) = out.get(from).copied() else {
                return;
            };
            if let Some(place) = out.get_mut(to) {
                *place = unit;
            }
            (from, to) = (from + 1, to + 1);
        }
        from = to % distance;
    }
    while to < end {
        copy::<_, AT_ONCE>(out, from, to);
        (from, to) = (from + AT_ONCE, to + AT_ONCE);
    }
}
