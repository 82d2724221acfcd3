use std::str::FromStr;

use crate::format::Format;

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
        Self { what, expected: expected.into(), found: found.chars().take(40).collect() }
    }
}

/// The one of `all` that is called so.
pub(crate) fn parse_name<T: Copy>(
    text: &str,
    what: &'static str,
    all: impl IntoIterator<Item = T>,
    name: impl Fn(T) -> &'static str,
) -> Result<T, ParseError> {
    let mut names = Vec::new();
    for value in all {
        if name(value) == text {
            return Ok(value);
        }
        names.push(name(value));
    }
    Err(ParseError::new(what, format!("one of {}", names.join(", ")), text))
}

/// By its [`name`](Format::name).
impl FromStr for Format {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_name(text, "a format", Self::ALL, Self::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_they_are_displayed() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "IQM".parse::<Format>().unwrap_err();
        let text = "not a format: expected one of cgeo, openctm, slmesh, iqm, tmf, found \"IQM\"";
        assert_eq!(error.to_string(), text);
    }
}
