//! A pull reader of binary LLSD, the structured data of Second Life.
//!
//! All types are read; strings, keys and binaries are slices of the input, and nothing is allocated. Integers, reals and
//! lengths are big-endian, dates little-endian, as the viewer writes them (its documentation says otherwise of dates).
//!
//! * Maps and arrays must have as many entries as they declare, as in the viewer.
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
    container: Container,
}

/// The type of a container.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Container {
    #[default]
    Array,
    Map,
}

impl Container {
    /// The structure's name in errors.
    fn what(self) -> &'static str {
        match self {
            Self::Array => "LLSD array",
            Self::Map => "LLSD map",
        }
    }

    /// The minimum size of an entry in bytes: a value of one byte, in maps after an empty key in quotes.
    fn min_entry(self) -> u64 {
        match self {
            Self::Array => 1,
            Self::Map => 3,
        }
    }
}

/// Containers inside each other. Memory is allocated only for depths that no real file has.
#[derive(Clone, Default)]
struct Stack {
    depth: usize,
    outer: [Open; 16],
    /// Containers inside of `outer`.
    inner: Vec<Open>,
}

impl Stack {
    fn push(&mut self, open: Open) {
        match self.outer.get_mut(self.depth) {
            Some(free) => *free = open,
            None => self.inner.push(open),
        }
        self.depth = self.depth.saturating_add(1);
    }

    /// The innermost container.
    fn last(&mut self) -> Option<&mut Open> {
        let top = self.depth.checked_sub(1)?;
        match self.outer.get_mut(top) {
            Some(open) => Some(open),
            None => self.inner.last_mut(),
        }
    }

    fn pop(&mut self) {
        // Does nothing while it is empty: then the innermost container is in `outer`.
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
        Self {
            input,
            at: first_line_len(input),
            open: Stack::default(),
            max_depth: as_usize(limits.max_depth).min(MAX_DEPTH),
            remedy: limits.remedy(Limit::Depth),
            has_key: false,
            started: false,
        }
    }

    #[cold]
    fn too_deep(&self, start: usize) -> Error {
        let is_option = self.max_depth < MAX_DEPTH;
        let error = FILE
            .at(self.range_from(start))
            .error(ErrorKind::LimitExceeded, "LLSD nesting");
        error.because(Cause::Limit {
            limit: if is_option {
                Limit::Depth
            } else {
                Limit::Fixed("")
            },
            allowed: as_u64(self.max_depth),
            needed: None,
            count: None,
            remedy: if is_option { self.remedy } else { "" },
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
            Some(Open { left: 0, container }) => {
                let container = *container;
                return self.end(container).map(Some);
            }
            Some(open) => {
                open.left = open.left.saturating_sub(1);
                if open.container == Container::Map {
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

    /// Reads the end of the innermost container.
    fn end(&mut self, container: Container) -> Result<Event<'a>> {
        let what = container.what();
        let start = self.at;
        let tag = self.byte(what)?;
        let event = match (container, tag) {
            (Container::Array, b']') => Event::EndArray,
            (Container::Map, b'}') => Event::EndMap,
            _ => {
                let expected = match container {
                    Container::Array => "] after as many values as it declares",
                    Container::Map => "} after as many entries as it declares",
                };
                let error = self.malformed(what, start).expected(expected);
                return Err(error.found(shown(tag)));
            }
        };
        self.open.pop();
        Ok(event)
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
            b'[' => Event::BeginArray(self.begin(Container::Array)?),
            b'{' => Event::BeginMap(self.begin(Container::Map)?),
            found => {
                let error = self.malformed("LLSD value", start);
                return Err(error.expected("the tag of a type").found(shown(found)));
            }
        })
    }

    /// Begins a container, whose tag has been read. Returns the number of its entries.
    fn begin(&mut self, container: Container) -> Result<u32> {
        let what = container.what();
        let count_start = self.at;
        let count = self.length(what)?;
        // Checked before anything loops over the entries or allocates memory for them.
        let needed = u64::from(count).saturating_mul(container.min_entry());
        let rest = as_u64(self.input.len().saturating_sub(self.at));
        if needed > rest {
            let place = FILE.at(span(as_u64(self.at), needed));
            let error = place.error(ErrorKind::Truncated, what);
            let expected = format!("{} bytes for {} entries", decimal(needed), decimal(count));
            return Err(error.expected(expected).found(rest));
        }
        if self.open.depth >= self.max_depth {
            return Err(self.too_deep(count_start));
        }
        self.open.push(Open {
            left: count,
            container,
        });
        Ok(count)
    }

    /// Reads a count or a length. It is stored with a sign, and must not be negative.
    fn length(&mut self, what: &'static str) -> Result<u32> {
        let start = self.at;
        let stored = i32::from_be_bytes(self.array(what)?);
        match u32::try_from(stored) {
            Ok(length) => Ok(length),
            Err(_) => {
                let error = self.malformed(what, start);
                Err(error.expected("a length of 0 or more").found(stored))
            }
        }
    }

    /// Reads a length, and as many bytes.
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
                    self.check_escape(what)?;
                }
                byte if byte == quote => {
                    let end = self.at.saturating_sub(1);
                    let raw = self.input.get(start..end).unwrap_or_default();
                    return Ok(Str { raw, has_escapes });
                }
                _ => {}
            }
        }
    }

    /// Reads the rest of an escape, whose backslash has been read.
    fn check_escape(&mut self, what: &'static str) -> Result<()> {
        let backslash = self.at.saturating_sub(1);
        if self.byte(what)? != b'x' {
            return Ok(());
        }
        let digits: [u8; 2] = self.array(what)?;
        if digits.iter().all(u8::is_ascii_hexdigit) {
            return Ok(());
        }
        let error = self.malformed(what, backslash);
        let error = error.expected("\\x and two hexadecimal digits");
        Err(error.found(format_args!("\\x{}", digits.escape_ascii())))
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
        let place = FILE.at(span(as_u64(self.at), as_u64(count)));
        let rest = as_u64(self.input.len().saturating_sub(self.at));
        let error = place.error(ErrorKind::Truncated, what);
        error.truncated(as_u64(count), rest)
    }

    fn malformed(&self, what: &'static str, start: usize) -> Error {
        FILE.at(self.range_from(start)).malformed(what)
    }

    /// The bytes from `start` to the position.
    pub(crate) fn range_from(&self, start: usize) -> Range<u64> {
        as_u64(start)..as_u64(self.at)
    }
}

/// The length of the line that names the format, if the input begins with it; otherwise 0.
fn first_line_len(input: &[u8]) -> usize {
    let lines: [&[u8]; 2] = [b"<? llsd/binary ?>\n", b"<?llsd/binary?>\n"];
    for line in lines {
        if let Some(start) = input.get(..line.len())
            && start.eq_ignore_ascii_case(line)
        {
            return line.len();
        }
    }
    0
}

/// A byte as messages show it: `0x5d`.
fn shown(byte: u8) -> String {
    format!("{byte:#04x}")
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

    /// The text, with U+FFFD in place of invalid UTF-8.
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
                let ([high, low], rest) = self.rest.split_first_chunk()?;
                self.rest = rest;
                nibble(*high) << 4 | nibble(*low)
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
