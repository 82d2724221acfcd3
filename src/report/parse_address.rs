use std::borrow::Cow;
use std::str::FromStr;

use super::address::{Address, Segment};
use super::quoted::parse_quoted;

/// A text that is not an [`Address`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an address: expected {expected}, found {found:?}")]
pub struct ParseAddressError {
    pub(super) expected: &'static str,
    /// The text from there on, or its beginning.
    pub(super) found: String,
}

impl FromStr for Address {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, ParseAddressError> {
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

fn parse_index(inner: &str) -> Result<(Segment, &str), ParseAddressError> {
    let Some((digits, after)) = inner.split_once(']') else {
        return Err(unreadable("a closing ]", inner));
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(unreadable("decimal digits or a quoted name", digits));
    }
    let index = digits.parse().map_err(|_| unreadable("an index of 64 bits", digits))?;
    Ok((Segment::Index(index), after))
}

fn parse_name(quoted: &str) -> Result<(Segment, &str), ParseAddressError> {
    let (name, after) = parse_quoted(quoted).map_err(|(expected, found)| unreadable(expected, found))?;
    match after.strip_prefix(']') {
        Some(after) => Ok((Segment::Name(name), after)),
        None => Err(unreadable("a closing ]", after)),
    }
}

fn unreadable(expected: &'static str, found: &str) -> ParseAddressError {
    ParseAddressError { expected, found: found.chars().take(40).collect() }
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
