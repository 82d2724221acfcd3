//! A pull reader of binary LLSD, the structured data of Second Life.
//!
//! All types are read; strings, keys and binaries are slices of the input, and nothing is allocated. Integers, reals and
//! lengths are big-endian, dates little-endian, as the viewer writes them (its documentation says otherwise of dates).
//!
//! * Maps and arrays must have as many entries as they announce, as in the viewer.
//! * Negative counts and lengths are refused, where the viewer takes some of them for empty.
//! * Containers may be nested [`Limits::max_depth`] deep, as in the viewer; never deeper than 256.
//! * Of equal keys the viewer takes the first; the reader shows all of them.
//! * A first line `<? LLSD/Binary ?>` or `<?llsd/binary?>`, in upper or lower case, is skipped.
//! * Bytes after the value are not read.
//!
//! # Examples
//!
//! ```
//! use meshmap::Limits;
//! use meshmap::slmesh::llsd::{Event, Reader};
//!
//! let mut reader = Reader::new(b"{\x00\x00\x00\x01k\x00\x00\x00\x04sizei\x00\x00\x05\x19}", &Limits::default());
//! assert_eq!(reader.next_event()?, Some(Event::BeginMap(1)));
//! let Some(Event::Key(key)) = reader.next_event()? else { panic!("a key") };
//! assert!(key == *"size");
//! assert_eq!(reader.next_event()?, Some(Event::Integer(1305)));
//! assert_eq!(reader.next_event()?, Some(Event::EndMap));
//! assert_eq!(reader.next_event()?, None);
//! # Ok::<(), meshmap::Error>(())
//! ```

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::rules::FILE;
use crate::limits::Limits;
use crate::num::{as_u64, as_usize, decimal, span};
use crate::report::{Cause, Error, ErrorKind, Limit, Result};

/// The maximum depth of nested containers, whatever [`Limits::max_depth`] allows.
pub(crate) const MAX_DEPTH: usize = 256;

/// Reads one value, event by event.
#[derive(Clone)]
pub struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    /// The containers that have not ended, from the outermost to the innermost.
    open: Stack,
    max_depth: usize,
    /// The option that raises the limit.
    remedy: &'static str,
    /// A key has been read, whose value comes next.
    has_key: bool,
    started: bool,
}

/// A container that has not ended.
#[derive(Clone, Copy, Default)]
struct Open {
    /// Entries that are still to come.
    left: u32,
    is_map: bool,
}

/// Containers inside each other. Memory is allocated only for depths that no real file has.
#[derive(Clone, Default)]
struct Stack {
    depth: usize,
    outer: [Open; 16],
    inner: Vec<Open>,
}

impl Stack {
    fn push(&mut self, open: Open) {
        match self.outer.get_mut(self.depth) {
            Some(place) => *place = open,
            None => self.inner.push(open),
        }
        self.depth = self.depth.saturating_add(1);
    }

    /// The innermost container.
    fn last(&mut self) -> Option<&mut Open> {
        let top = self.depth.checked_sub(1)?;
        self.outer.get_mut(top).or_else(|| self.inner.last_mut())
    }

    fn pop(&mut self) {
        self.inner.pop();
        self.depth = self.depth.saturating_sub(1);
    }
}

/// An event that a [`Reader`] returns.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// `!`
    Undefined,
    /// `1` or `0`
    Boolean(bool),
    /// `i`
    Integer(i32),
    /// `r`; may be infinite or no number.
    Real(f64),
    /// `u`, in the order in which it is written.
    Uuid([u8; 16]),
    /// `s`, or quoted.
    String(Str<'a>),
    /// `l`
    Uri(Str<'a>),
    /// `d`: seconds since the beginning of 1970, UTC.
    Date(f64),
    /// `b`
    Binary(&'a [u8]),
    /// `[`, with as many values.
    BeginArray(u32),
    /// `]`
    EndArray,
    /// `{`, with as many pairs of key and value.
    BeginMap(u32),
    /// The key of the value that comes next.
    Key(Str<'a>),
    /// `}`
    EndMap,
}

/// A string or a key: a slice of the input. Quoted ones may have escapes.
#[derive(Clone, Copy)]
pub struct Str<'a> {
    raw: &'a [u8],
    has_escapes: bool,
}

impl<'a> Reader<'a> {
    /// A reader of the value at the beginning of the input, nested as deep as [`max_depth`](Limits::max_depth) of the limits.
    #[must_use]
    pub fn new(input: &'a [u8], limits: &Limits) -> Self {
        let lines: [&[u8]; 2] = [b"<? llsd/binary ?>\n", b"<?llsd/binary?>\n"];
        let is_there = |line: &&[u8]| {
            input
                .get(..line.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(line))
        };
        Self {
            input,
            at: lines.into_iter().find(is_there).map_or(0, <[u8]>::len),
            open: Stack::default(),
            max_depth: as_usize(limits.max_depth).min(MAX_DEPTH),
            remedy: limits.remedy(Limit::Depth),
            has_key: false,
            started: false,
        }
    }

    #[cold]
    fn too_deep(&self, start: usize) -> Error {
        let (limit, remedy) = if self.max_depth < MAX_DEPTH {
            (Limit::Depth, self.remedy)
        } else {
            (Limit::Fixed(""), "")
        };
        let error = FILE
            .at(self.range_from(start))
            .error(ErrorKind::LimitExceeded, "LLSD nesting");
        let allowed = as_u64(self.max_depth);
        error.because(Cause::Limit {
            limit,
            allowed,
            needed: None,
            count: None,
            remedy,
        })
    }

    /// The offset of the next event, in bytes from the beginning of the input.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next event; `Ok(None)` after the end of the value.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](ErrorKind::Truncated) if the input ends inside the value, or a count or a length is greater than what
    /// is left, [`Malformed`](ErrorKind::Malformed), and [`LimitExceeded`](ErrorKind::LimitExceeded) for
    /// containers that are nested too deep. [`byte_range`](Error::byte_range) is counted from the beginning of the
    /// input. After an error the reader must not be used.
    pub fn next_event(&mut self) -> Result<Option<Event<'a>>> {
        match self.open.last() {
            None if self.started => return Ok(None),
            None => self.started = true,
            Some(_) if self.has_key => self.has_key = false,
            Some(Open { left: 0, is_map }) => {
                let is_map = *is_map;
                return self.end(is_map).map(Some);
            }
            Some(open) => {
                open.left = open.left.saturating_sub(1);
                if open.is_map {
                    self.has_key = true;
                    return self.key().map(|key| Some(Event::Key(key)));
                }
            }
        }
        self.value().map(Some)
    }

    /// The next event of a value that has not ended.
    pub(crate) fn expect_event(&mut self) -> Result<Event<'a>> {
        self.next_event()?
            .ok_or_else(|| self.truncated(1, "LLSD value"))
    }

    /// Skips the next value, with all that it contains.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`next_event`](Self::next_event).
    pub fn skip_value(&mut self) -> Result<()> {
        let depth = self.open.depth;
        while self.next_event()?.is_some() && self.open.depth > depth {}
        Ok(())
    }

    fn end(&mut self, is_map: bool) -> Result<Event<'a>> {
        let (tag, what, expected) = match is_map {
            true => (b'}', "LLSD map", "} after as many entries as it declares"),
            false => (b']', "LLSD array", "] after as many values as it declares"),
        };
        let start = self.at;
        let found = self.byte(what)?;
        if found != tag {
            return Err(self
                .malformed(what, start)
                .expected(expected)
                .found(shown(found)));
        }
        self.open.pop();
        Ok(if is_map {
            Event::EndMap
        } else {
            Event::EndArray
        })
    }

    fn key(&mut self) -> Result<Str<'a>> {
        let start = self.at;
        match self.byte("LLSD key")? {
            b'k' => self.sized("LLSD key").map(Str::plain),
            quote @ (b'"' | b'\'') => self.quoted(quote, "LLSD key"),
            found => {
                let error = self.malformed("LLSD key", start);
                Err(error
                    .expected("k or a quote, as the map declares more entries")
                    .found(shown(found)))
            }
        }
    }

    fn value(&mut self) -> Result<Event<'a>> {
        let start = self.at;
        Ok(match self.byte("LLSD value")? {
            b'!' => Event::Undefined,
            b'1' => Event::Boolean(true),
            b'0' => Event::Boolean(false),
            b'i' => Event::Integer(i32::from_be_bytes(self.array("LLSD integer")?)),
            b'r' => Event::Real(f64::from_be_bytes(self.array("LLSD real")?)),
            b'u' => Event::Uuid(self.array("LLSD uuid")?),
            b's' => Event::String(Str::plain(self.sized("LLSD string")?)),
            quote @ (b'"' | b'\'') => Event::String(self.quoted(quote, "LLSD string")?),
            b'l' => Event::Uri(Str::plain(self.sized("LLSD uri")?)),
            b'd' => Event::Date(f64::from_le_bytes(self.array("LLSD date")?)),
            b'b' => Event::Binary(self.sized("LLSD binary")?),
            b'[' => Event::BeginArray(self.begin(false)?),
            b'{' => Event::BeginMap(self.begin(true)?),
            found => {
                let error = self.malformed("LLSD value", start);
                return Err(error.expected("the tag of a type").found(shown(found)));
            }
        })
    }

    fn begin(&mut self, is_map: bool) -> Result<u32> {
        let what = if is_map { "LLSD map" } else { "LLSD array" };
        let start = self.at;
        let left = self.length(what)?;
        // An entry takes up a byte at least, with its key three.
        let bytes = u64::from(left).saturating_mul(if is_map { 3 } else { 1 });
        let rest = as_u64(self.input.len().saturating_sub(self.at));
        if bytes > rest {
            let start = as_u64(self.at);
            let error = FILE
                .at(span(start, bytes))
                .error(ErrorKind::Truncated, what);
            let expected = format!("{} bytes for {} entries", decimal(bytes), decimal(left));
            return Err(error.expected(expected).found(rest));
        }
        if self.open.depth >= self.max_depth {
            return Err(self.too_deep(start));
        }
        self.open.push(Open { left, is_map });
        Ok(left)
    }

    /// A count or a length, which has a sign.
    fn length(&mut self, what: &'static str) -> Result<u32> {
        let start = self.at;
        let length = i32::from_be_bytes(self.array(what)?);
        u32::try_from(length).map_err(|_| {
            self.malformed(what, start)
                .expected("a length of 0 or more")
                .found(length)
        })
    }

    fn sized(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let length = self.length(what)?;
        self.take(as_usize(length), what)
    }

    /// The text up to a quote; escapes are checked here and undone by [`Str::bytes`].
    fn quoted(&mut self, quote: u8, what: &'static str) -> Result<Str<'a>> {
        let start = self.at;
        let mut has_escapes = false;
        loop {
            match self.byte(what)? {
                b'\\' => {
                    has_escapes = true;
                    let escape = self.at.saturating_sub(1);
                    if self.byte(what)? == b'x' {
                        let digits: [u8; 2] = self.array(what)?;
                        if !digits.iter().all(u8::is_ascii_hexdigit) {
                            let error = self
                                .malformed(what, escape)
                                .expected("\\x and two hexadecimal digits");
                            return Err(error.found(format_args!("\\x{}", digits.escape_ascii())));
                        }
                    }
                }
                byte if byte == quote => {
                    let raw = self
                        .input
                        .get(start..self.at.saturating_sub(1))
                        .unwrap_or_default();
                    return Ok(Str { raw, has_escapes });
                }
                _ => {}
            }
        }
    }

    fn byte(&mut self, what: &'static str) -> Result<u8> {
        self.array(what).map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        match self.input.get(self.at..).unwrap_or_default().first_chunk() {
            Some(bytes) => {
                self.at = self.at.saturating_add(N);
                Ok(*bytes)
            }
            None => Err(self.truncated(N, what)),
        }
    }

    fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8]> {
        match self.input.get(self.at..self.at.saturating_add(count)) {
            Some(bytes) => {
                self.at = self.at.saturating_add(count);
                Ok(bytes)
            }
            None => Err(self.truncated(count, what)),
        }
    }

    fn truncated(&self, count: usize, what: &'static str) -> Error {
        let start = as_u64(self.at);
        let error = FILE
            .at(span(start, as_u64(count)))
            .error(ErrorKind::Truncated, what);
        error.truncated(
            as_u64(count),
            as_u64(self.input.len().saturating_sub(self.at)),
        )
    }

    fn malformed(&self, what: &'static str, start: usize) -> Error {
        FILE.at(self.range_from(start)).malformed(what)
    }

    /// The bytes from `start` to the position.
    pub(crate) fn range_from(&self, start: usize) -> Range<u64> {
        as_u64(start)..as_u64(self.at)
    }
}

fn shown(byte: u8) -> String {
    format!("{:#04x}", byte)
}

impl<'a> Str<'a> {
    fn plain(raw: &'a [u8]) -> Self {
        Self {
            raw,
            has_escapes: false,
        }
    }

    /// The bytes in the input, without quotes and with escapes.
    #[must_use]
    pub(crate) fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Returns `true` if there are escapes, so that [`raw`](Self::raw) is not the text.
    #[must_use]
    pub(crate) fn has_escapes(&self) -> bool {
        self.has_escapes
    }

    /// The bytes of the text, escapes undone; in most files UTF-8.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + use<'a> {
        Unescaped {
            rest: self.raw,
            has_escapes: self.has_escapes,
        }
    }

    /// The text, with U+FFFD in place of what is not UTF-8.
    ///
    /// Borrowed if there are no escapes.
    #[must_use]
    pub fn to_string_lossy(&self) -> Cow<'a, str> {
        if !self.has_escapes {
            return String::from_utf8_lossy(self.raw);
        }
        let bytes: Vec<u8> = self.bytes().collect();
        Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Compares the text, escapes undone.
impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        if !self.has_escapes && !other.has_escapes {
            self.raw == other.raw
        } else {
            self.bytes().eq(other.bytes())
        }
    }
}

impl PartialEq<str> for Str<'_> {
    fn eq(&self, other: &str) -> bool {
        if self.has_escapes {
            self.bytes().eq(other.bytes())
        } else {
            self.raw == other.as_bytes()
        }
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string_lossy())
    }
}

/// The bytes of a [`Str`], escapes undone.
#[derive(Clone, Debug)]
struct Unescaped<'a> {
    rest: &'a [u8],
    has_escapes: bool,
}

impl Iterator for Unescaped<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        if *byte != b'\\' || !self.has_escapes {
            return Some(*byte);
        }
        let (escape, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(match escape {
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'x' => {
                let (digits, rest) = self.rest.split_at_checked(2)?;
                self.rest = rest;
                digits
                    .iter()
                    .fold(0, |value: u8, digit| value << 4 | nibble(*digit))
            }
            // Quotes, the backslash, and whatever else is there stand for themselves, as in the viewer.
            other => *other,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let min = if self.has_escapes {
            self.rest.len().div_ceil(4)
        } else {
            self.rest.len()
        };
        (min, Some(self.rest.len()))
    }
}

/// The value of a hexadecimal digit.
fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit.wrapping_sub(b'0'),
        b'a'..=b'f' => digit.wrapping_sub(b'a').wrapping_add(10),
        _ => digit.wrapping_sub(b'A').wrapping_add(10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds(input: &[u8]) -> ErrorKind {
        let mut reader = Reader::new(input, &Limits::default());
        loop {
            match reader.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{input:?} was read"),
                Err(error) => return error.kind(),
            }
        }
    }

    #[test]
    fn dates_are_little_endian_and_reals_are_not() {
        let mut date = vec![b'd'];
        date.extend(1.5_f64.to_le_bytes());
        assert_eq!(
            Reader::new(&date, &Limits::default()).next_event().unwrap(),
            Some(Event::Date(1.5))
        );
        let mut real = vec![b'r'];
        real.extend(1.5_f64.to_be_bytes());
        assert_eq!(
            Reader::new(&real, &Limits::default()).next_event().unwrap(),
            Some(Event::Real(1.5))
        );
    }

    #[test]
    fn escapes_are_undone_and_compared() {
        let mut reader = Reader::new(br#""a\n\x41\q\"'""#, &Limits::default());
        let Some(Event::String(text)) = reader.next_event().unwrap() else {
            panic!()
        };
        assert!(text == *"a\nAq\"'" && text.has_escapes());
        assert_eq!(text.bytes().collect::<Vec<_>>(), b"a\nAq\"'");
        let mut plain = Reader::new(b"s\0\0\0\x06a\nAq\"'", &Limits::default());
        let Some(Event::String(same)) = plain.next_event().unwrap() else {
            panic!()
        };
        assert_eq!(text, same);
        assert_eq!(kinds(br#""\xg0""#), ErrorKind::Malformed);
        assert_eq!(kinds(br#""\"#), ErrorKind::Truncated);
    }

    #[test]
    fn counts_must_be_true() {
        for (input, kind) in [
            (&b"[\0\0\0\x01]"[..], ErrorKind::Malformed),
            (b"[\0\0\0\x01!!]", ErrorKind::Malformed),
            (b"[\0\0\0\x01!}", ErrorKind::Malformed),
            (b"{\0\0\0\x01!!}", ErrorKind::Malformed),
            (b"[\x7f\xff\xff\xff!", ErrorKind::Truncated),
            (b"[\xff\xff\xff\xff]", ErrorKind::Malformed),
            (b"b\xff\xff\xff\xff", ErrorKind::Malformed),
            (b"[\0\0\0\x01!", ErrorKind::Truncated),
        ] {
            assert_eq!(kinds(input), kind, "{input:?}");
        }
    }

    #[test]
    fn depth_is_bounded_by_the_limit_and_never_more_than_fits() {
        let nested = |depth: usize| {
            [
                b"[\0\0\0\x01".repeat(depth - 1),
                b"[\0\0\0\0".to_vec(),
                b"]".repeat(depth),
            ]
            .concat()
        };
        let read = |input: &[u8], limits: &Limits| {
            let mut reader = Reader::new(input, limits);
            reader
                .skip_value()
                .map(|()| reader.position())
                .map_err(|error| error.kind())
        };
        let standard = Limits::default();
        assert_eq!(read(&nested(96), &standard), Ok(96 * 6));
        assert_eq!(read(&nested(97), &standard), Err(ErrorKind::LimitExceeded));
        let deep = standard.with_max_depth(u32::MAX);
        assert_eq!(read(&nested(MAX_DEPTH), &deep), Ok(MAX_DEPTH * 6));
        assert_eq!(
            read(&nested(MAX_DEPTH + 1), &deep),
            Err(ErrorKind::LimitExceeded)
        );
    }

    #[test]
    fn values_are_skipped_whole() {
        let mut reader = Reader::new(
            b"[\0\0\0\x02{\0\0\0\x01k\0\0\0\x01a[\0\0\0\x01!]}i\0\0\0\x07]",
            &Limits::default(),
        );
        assert_eq!(reader.next_event().unwrap(), Some(Event::BeginArray(2)));
        reader.skip_value().unwrap();
        assert_eq!(reader.next_event().unwrap(), Some(Event::Integer(7)));
        assert_eq!(reader.next_event().unwrap(), Some(Event::EndArray));
        assert_eq!((reader.next_event().unwrap(), reader.open.depth), (None, 0));
    }

    proptest! {
        #[test]
        fn any_bytes_end(input in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut reader = Reader::new(&input, &Limits::default());
            let mut events = 0;
            while let Ok(Some(_)) = reader.next_event() {
                events += 1;
                prop_assert!(reader.position() <= input.len() && events <= input.len());
            }
        }
    }
}
