//! Maps of LLSD whose keys are known: where the values are, and what they must be.

use std::borrow::Cow;
use std::ops::Range;

use super::llsd::{Event, Reader};
use super::rules::FILE;
use crate::limits::Limits;
use crate::num::{as_u64, counted, span};
use crate::report::{Error, Result};

/// A value of a map, by its bytes in the input. The syntax of all that it holds has been checked.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    input: &'a [u8],
    start: usize,
    end: usize,
    what: &'static str,
}

/// The first value of each of the keys that are known.
pub(crate) struct Fields<'a, const N: usize> {
    /// In the order of the keys.
    pub(crate) values: [Option<Value<'a>>; N],
    /// The number of all keys, known or not.
    pub(crate) count: u32,
}

impl<'a, const N: usize> Fields<'a, N> {
    /// Reads the entries of a map that has begun, to its end. If a key repeats, its first value counts.
    ///
    /// The reader began at the offset `base` of `input`.
    pub(crate) fn read(
        input: &'a [u8],
        base: usize,
        reader: &mut Reader<'a>,
        count: u32,
        keys: &[&'static str; N],
    ) -> Result<Self> {
        let mut values: [Option<Value<'a>>; N] = [None; N];
        while let Some(Event::Key(key)) = reader.next_event()? {
            let start = reader.position().saturating_add(base);
            reader.skip_value()?;
            let end = reader.position().saturating_add(base);
            for (value, name) in values.iter_mut().zip(keys) {
                if value.is_none() && key == **name {
                    *value = Some(Value {
                        input,
                        start,
                        end,
                        what: name,
                    });
                }
            }
        }
        Ok(Self { values, count })
    }
}

impl<'a> Value<'a> {
    pub(crate) fn new(input: &'a [u8], span: &Range<usize>, what: &'static str) -> Self {
        Self {
            input,
            start: span.start,
            end: span.end,
            what,
        }
    }

    fn bytes(&self) -> &'a [u8] {
        self.input.get(self.start..self.end).unwrap_or_default()
    }

    fn reader(&self) -> Reader<'a> {
        // The depth of the value has been checked.
        Reader::new(self.bytes(), &Limits::default().with_max_depth(u32::MAX))
    }

    /// The offset in the input at which the value ends.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// The range of the value's bytes in the input, for errors.
    pub(crate) fn range(&self) -> Range<u64> {
        as_u64(self.start)..as_u64(self.end)
    }

    /// Returns the range of the stored length of a binary, or of the stored number of elements of
    /// an array or a map: four bytes after the byte of the type.
    pub(crate) fn count_range(&self) -> Range<u64> {
        span(as_u64(self.start).saturating_add(1), 4)
    }

    /// The error for a value of another length.
    pub(crate) fn wrong_count(&self) -> Error {
        FILE.at(self.count_range()).malformed(self.what)
    }

    /// The first event of the value: the whole value if it is a scalar, or else the beginning of
    /// the array or map.
    pub(crate) fn event(&self) -> Result<Event<'a>> {
        self.reader().expect_event()
    }

    /// Returns the range of the bytes of a binary in the input.
    pub(crate) fn binary(&self) -> Result<Range<usize>> {
        match self.event()? {
            Event::Binary(bytes) => Ok(self.end.saturating_sub(bytes.len())..self.end),
            other => Err(self.wrong("a binary", other)),
        }
    }

    /// Returns the range of the bytes of a binary of whole elements in the input.
    pub(crate) fn binary_of(&self, size: usize) -> Result<Range<usize>> {
        let span = self.binary()?;
        if span.len().is_multiple_of(size) {
            return Ok(span);
        }
        let found = counted(as_u64(span.len()), "byte");
        Err(self
            .wrong_count()
            .expected(format!("elements of {size} bytes"))
            .found(found))
    }

    /// Returns `true` if it is a string in quotes.
    pub(crate) fn is_quoted(&self) -> bool {
        matches!(self.bytes().first(), Some(b'"' | b'\''))
    }

    /// A whole number, stored as an integer or a real.
    pub(crate) fn integer(&self) -> Result<i64> {
        match self.event()? {
            Event::Integer(integer) => Ok(integer.into()),
            Event::Real(real) => match whole(real) {
                Some(integer) => Ok(integer),
                None => Err(self.wrong("a whole number", Event::Real(real))),
            },
            other => Err(self.wrong("a whole number", other)),
        }
    }

    /// A number, stored as an integer or a real.
    pub(crate) fn number(&self) -> Result<f32> {
        let event = self.event()?;
        match number(event) {
            Some(number) => Ok(number),
            None => Err(self.wrong("a number", event)),
        }
    }

    /// An array of exactly `N` numbers, integers or reals.
    pub(crate) fn numbers<const N: usize>(&self) -> Result<[f32; N]> {
        let mut reader = self.reader();
        let mut numbers = [0.0; N];
        match reader.expect_event()? {
            Event::BeginArray(count) if usize::try_from(count) == Ok(N) => {}
            Event::BeginArray(count) => {
                return Err(self
                    .wrong_count()
                    .expected(format!("{N} numbers"))
                    .found(count));
            }
            other => return Err(self.wrong(format!("{N} numbers"), other)),
        }
        for element in &mut numbers {
            let event = reader.expect_event()?;
            let Some(number) = number(event) else {
                return Err(self.wrong(format!("{N} numbers"), event));
            };
            *element = number;
        }
        Ok(numbers)
    }

    /// The values of a map.
    pub(crate) fn fields<const N: usize>(&self, keys: &[&'static str; N]) -> Result<Fields<'a, N>> {
        let mut reader = self.reader();
        match reader.expect_event()? {
            Event::BeginMap(count) => {
                Fields::read(self.input, self.start, &mut reader, count, keys)
            }
            other => Err(self.wrong("a map", other)),
        }
    }

    /// The values of an array, one after the other.
    pub(crate) fn elements(&self, expected: &'static str) -> Result<Elements<'a>> {
        let mut reader = self.reader();
        match reader.expect_event()? {
            Event::BeginArray(count) => Ok(Elements {
                array: *self,
                reader,
                left: count,
            }),
            other => Err(self.wrong(expected, other)),
        }
    }

    /// The error for a value of another type.
    pub(crate) fn wrong(&self, expected: impl Into<Cow<'static, str>>, found: Event<'_>) -> Error {
        self.error().expected(expected).found(name(&found))
    }

    pub(crate) fn error(&self) -> Error {
        FILE.at(self.range()).malformed(self.what)
    }
}

/// The values of an array while they are read.
pub(crate) struct Elements<'a> {
    array: Value<'a>,
    reader: Reader<'a>,
    left: u32,
}

impl<'a> Elements<'a> {
    /// The number of values that are not read yet.
    pub(crate) fn left(&self) -> u32 {
        self.left
    }

    pub(crate) fn next(&mut self) -> Result<Option<Value<'a>>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left = self.left.saturating_sub(1);
        // The reader counts from the beginning of the array.
        let base = self.array.start;
        let start = self.reader.position().saturating_add(base);
        self.reader.skip_value()?;
        let end = self.reader.position().saturating_add(base);
        Ok(Some(Value {
            start,
            end,
            ..self.array
        }))
    }
}

/// A number in single precision; `None` for values of other types.
fn number(event: Event<'_>) -> Option<f32> {
    let number = match event {
        Event::Integer(integer) => integer.into(),
        Event::Real(real) => real,
        _ => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounds to the nearest, as the viewer does"
    )]
    let rounded = number as f32;
    Some(rounded)
}

/// A double as an integer; `None` unless it is a whole number of at most 53 bits.
fn whole(number: f64) -> Option<i64> {
    /// 2^53: up to it, a double represents every whole number.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() != 0.0 || number.abs() > MAX_EXACT {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole numbers of up to 53 bits are exact in both types"
    )]
    let integer = number as i64;
    Some(integer)
}

/// Returns the name of an event, for messages.
pub(crate) fn name(event: &Event<'_>) -> &'static str {
    match event {
        Event::Undefined => "undefined",
        Event::Boolean(_) => "a boolean",
        Event::Integer(_) => "an integer",
        Event::Real(_) => "a real",
        Event::Uuid(_) => "a uuid",
        Event::String(_) => "a string",
        Event::Uri(_) => "a uri",
        Event::Date(_) => "a date",
        Event::Binary(_) => "a binary",
        Event::BeginArray(_) | Event::EndArray => "an array",
        Event::BeginMap(_) | Event::EndMap => "a map",
        Event::Key(_) => "a key",
    }
}
