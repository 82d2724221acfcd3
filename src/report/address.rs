use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::report::{Error, ErrorKind};

/// Where something stands in a file: `snapshots[12].positions`, `meshes["Body"]`, `high_lod.faces[0].indices`.
///
/// One grammar for errors, findings, the command line, JSON and the digest: fields joined by `.`, each followed by
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
    segments: Arc<[Segment]>,
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
        Self { segments: Arc::new([Segment::Field(Cow::Borrowed(name))]) }
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
        Self { segments: self.segments.iter().cloned().chain([segment]).collect() }
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
                    f.write_str("[\"")?;
                    for c in name.chars() {
                        match c {
                            '"' | '\\' => write!(f, "\\{c}")?,
                            '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default())?,
                            c if c.is_control() => write!(f, "{}", c.escape_unicode())?,
                            c => write!(f, "{c}")?,
                        }
                    }
                    f.write_str("\"]")?;
                }
            }
        }
        Ok(())
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut rest = text;
        let mut segments = Vec::new();
        loop {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
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
                None if rest.is_empty() => return Ok(Self { segments: segments.into() }),
                None => return Err(unreadable("[index], [\"name\"], .field or the end", rest)),
            }
        }
    }
}

fn parse_index(inner: &str) -> Result<(Segment, &str), Error> {
    let Some((digits, after)) = inner.split_once(']') else {
        return Err(unreadable("a closing ]", inner));
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(unreadable("decimal digits or a quoted name", digits));
    }
    let index = digits.parse().map_err(|_| unreadable("an index of 64 bits", digits))?;
    Ok((Segment::Index(index), after))
}

fn parse_name(quoted: &str) -> Result<(Segment, &str), Error> {
    let mut name = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                let after = chars.as_str();
                return match after.strip_prefix(']') {
                    Some(after) => Ok((Segment::Name(name), after)),
                    None => Err(unreadable("a closing ]", after)),
                };
            }
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\')) => name.push(c),
                Some('n') => name.push('\n'),
                Some('r') => name.push('\r'),
                Some('t') => name.push('\t'),
                Some('u') => {
                    let hex = chars.as_str().strip_prefix('{').and_then(|hex| hex.split_once('}'));
                    let (digits, after) = hex.ok_or_else(|| unreadable("\\u{hex}", quoted))?;
                    let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                    name.push(code.ok_or_else(|| unreadable("a character's number in \\u{hex}", digits))?);
                    chars = after.chars();
                }
                _ => return Err(unreadable("an escape", quoted)),
            },
            c => name.push(c),
        }
    }
    Err(unreadable("a closing \"", quoted))
}

fn unreadable(expected: &'static str, found: &str) -> Error {
    let short: String = found.chars().take(40).collect();
    Error::new(ErrorKind::OutOfRange, "address").expected(expected).found(format_args!("{short:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_of_the_documentation_parse_and_print() {
        let texts =
            ["snapshots[12].positions", "high_lod.faces[0].indices", r#"meshes["Body"]"#, "triangles"];
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
            assert_eq!(text.parse::<Address>().unwrap_err().kind(), ErrorKind::OutOfRange, "{text}");
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
