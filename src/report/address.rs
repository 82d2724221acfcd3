use std::borrow::Cow;
use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

/// The location of something in a file: `snapshots[12].positions`, `meshes["Body"]`, `high_lod.faces[0].indices`.
///
/// Errors, findings, the command line and its JSON share this grammar: fields joined by `.`, each followed by
/// any number of `[index]` (decimal, counted from 0) or `["name"]` (with `\"`, `\\`, `\n`, `\r`, `\t` and
/// `\u{hex}` as in Rust).
///
/// # Examples
///
/// ```
/// use meshmap::Address;
///
/// let address: Address = r#"meshes["Body"]"#.parse()?;
/// assert_eq!(address, Address::field("meshes").name("Body"));
/// assert_eq!(Address::field("joints").index(7).to_string(), "joints[7]");
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Shared: addresses are copied far more often than they are made.
    pub(super) segments: Arc<[Segment]>,
}

/// One step of an [`Address`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Segment {
    /// A field: letters, digits and `_`.
    Field(Cow<'static, str>),
    /// The element at an index, counted from 0.
    Index(u64),
    /// The first element of a name.
    Name(String),
}

impl Address {
    /// The field of this name at the top of the file.
    #[must_use]
    pub fn field(name: &'static str) -> Self {
        Self {
            segments: Arc::new([Segment::Field(Cow::Borrowed(name))]),
        }
    }

    /// The field of this name inside.
    #[must_use]
    pub fn then(self, name: &'static str) -> Self {
        self.push(Segment::Field(Cow::Borrowed(name)))
    }

    /// The element at this index.
    #[must_use]
    pub fn index(self, index: u64) -> Self {
        self.push(Segment::Index(index))
    }

    /// The first element of this name.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.push(Segment::Name(name.into()))
    }

    fn push(&self, segment: Segment) -> Self {
        Self {
            segments: self.segments.iter().cloned().chain([segment]).collect(),
        }
    }

    /// This address with `to` in place of its beginning `from`; the address itself if it begins otherwise.
    pub(crate) fn moved(&self, from: &Self, to: &Self) -> Self {
        match self.segments.strip_prefix(&*from.segments) {
            Some(rest) => Self {
                segments: to.segments.iter().chain(rest).cloned().collect(),
            },
            None => self.clone(),
        }
    }

    /// The address of this part inside `outer`.
    pub(crate) fn inside(&self, outer: &Self) -> Self {
        Self {
            segments: outer
                .segments
                .iter()
                .chain(&*self.segments)
                .cloned()
                .collect(),
        }
    }

    /// The first `count` steps; the address itself if it has fewer.
    pub(crate) fn first(&self, count: usize) -> Self {
        match self.segments.get(..count) {
            Some(segments) => Self {
                segments: segments.into(),
            },
            None => self.clone(),
        }
    }

    /// The index in an address `field[index]` or `field["name"]`, if `find` knows the index of a name.
    pub(crate) fn index_in(
        &self,
        field: &str,
        find: impl FnOnce(&str) -> Option<usize>,
    ) -> Option<usize> {
        match self.segments() {
            [Segment::Field(own), Segment::Index(index)] if own == field => {
                usize::try_from(*index).ok()
            }
            [Segment::Field(own), Segment::Name(name)] if own == field => find(name),
            _ => None,
        }
    }

    /// The steps, outermost first.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.segments.iter().enumerate() {
            match segment {
                Segment::Field(name) if position == 0 => f.write_str(name)?,
                Segment::Field(name) => write!(f, ".{name}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Name(name) => {
                    f.write_str("[")?;
                    write_quoted(f, name)?;
                    f.write_str("]")?;
                }
            }
        }
        Ok(())
    }
}

/// A text between quotes, on one line.
pub(crate) fn quoted(text: &str) -> String {
    struct Quoted<'a>(&'a str);
    impl fmt::Display for Quoted<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_quoted(f, self.0)
        }
    }
    Quoted(text).to_string()
}

/// Writes a name between quotes, with `\"`, `\\`, `\n`, `\r`, `\t` and `\u{hex}` as in Rust.
pub(crate) fn write_quoted(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in name.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default())?,
            c if c.is_control() => write!(f, "{}", c.escape_unicode())?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// The name that begins behind an opening quote, and the text behind the closing one.
///
/// # Errors
///
/// Returns what was expected, and the text at which it is missing.
pub(crate) fn parse_quoted(quoted: &str) -> Result<(String, &str), (&'static str, &str)> {
    let mut name = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok((name, chars.as_str())),
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\')) => name.push(c),
                Some('n') => name.push('\n'),
                Some('r') => name.push('\r'),
                Some('t') => name.push('\t'),
                Some('u') => {
                    let hex = chars
                        .as_str()
                        .strip_prefix('{')
                        .and_then(|hex| hex.split_once('}'));
                    let (digits, after) = hex.ok_or(("\\u{hex}", quoted))?;
                    let code = u32::from_str_radix(digits, 16)
                        .ok()
                        .and_then(char::from_u32);
                    name.push(code.ok_or(("a character's number in \\u{hex}", digits))?);
                    chars = after.chars();
                }
                _ => return Err(("an escape", quoted)),
            },
            c => name.push(c),
        }
    }
    Err(("a closing \"", quoted))
}

/// The error of reading an [`Address`](crate::Address), or the name of a format, a semantic or a level of detail, from a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {what}: expected {expected}, found {found:?}")]
pub struct ParseError {
    /// "an address", "a format"
    pub(super) what: &'static str,
    pub(super) expected: String,
    /// The text from there on, or its beginning.
    pub(super) found: String,
}

impl ParseError {
    pub(super) const ADDRESS: &'static str = "an address";

    pub(crate) fn new(what: &'static str, expected: impl Into<String>, found: &str) -> Self {
        Self {
            what,
            expected: expected.into(),
            found: found.chars().take(40).collect(),
        }
    }
}

impl FromStr for Address {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut rest = text;
        let mut segments = Vec::new();
        loop {
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            let (field, after) = rest.split_at(end);
            if field.is_empty() {
                return Err(unreadable("a field of letters, digits and _", rest));
            }
            segments.push(Segment::Field(Cow::Owned(field.to_owned())));
            rest = after;
            while let Some(inner) = rest.strip_prefix('[') {
                let (segment, after) = match inner.strip_prefix('"') {
                    Some(quoted) => parse_name(quoted)?,
                    None => parse_index(inner)?,
                };
                segments.push(segment);
                rest = after;
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() => {
                    return Ok(Self {
                        segments: segments.into(),
                    });
                }
                None => return Err(unreadable("[index], [\"name\"], .field or the end", rest)),
            }
        }
    }
}

fn parse_index(inner: &str) -> Result<(Segment, &str), ParseError> {
    let Some((digits, after)) = inner.split_once(']') else {
        return Err(unreadable("a closing ]", inner));
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(unreadable("decimal digits or a quoted name", digits));
    }
    let index = digits
        .parse()
        .map_err(|_| unreadable("an index of 64 bits", digits))?;
    Ok((Segment::Index(index), after))
}

fn parse_name(quoted: &str) -> Result<(Segment, &str), ParseError> {
    let (name, after) =
        parse_quoted(quoted).map_err(|(expected, found)| unreadable(expected, found))?;
    match after.strip_prefix(']') {
        Some(after) => Ok((Segment::Name(name), after)),
        None => Err(unreadable("a closing ]", after)),
    }
}

fn unreadable(expected: &'static str, found: &str) -> ParseError {
    ParseError::new(ParseError::ADDRESS, expected, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_of_the_documentation_parse_and_print() {
        let texts = [
            "snapshots[12].positions",
            "high_lod.faces[0].indices",
            r#"meshes["Body"]"#,
            "triangles",
        ];
        for text in texts {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn unreadable_addresses_are_errors() {
        for text in [
            "",
            ".",
            "a.",
            "a[",
            "a[]x",
            "a[-1]",
            "a[\"",
            "a[\"x\"",
            "a[\"\\q\"]",
            "a b",
            "a[99999999999999999999]",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_name_survives_printing_and_parsing(name in ".*", index: u64) {
            let address = Address::field("meshes").name(name).then("faces").index(index);
            prop_assert_eq!(address.to_string().parse::<Address>().unwrap(), address);
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = text.parse::<Address>();
        }
    }
}
