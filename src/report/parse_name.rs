use std::str::FromStr;

use super::address::ParseError;
use crate::conventions::Axis;
use crate::format::Format;

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
    Err(ParseError::new(
        what,
        format!("one of {}", names.join(", ")),
        text,
    ))
}

/// By its [`name`](Format::name).
impl FromStr for Format {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_name(text, "a format", Self::ALL, Self::name)
    }
}

/// By its [`name`](Axis::name).
impl FromStr for Axis {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_name(text, "an axis", Self::ALL, Self::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_displayed() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "IQM".parse::<Format>().unwrap_err();
        let text = "not a format: expected one of cgeo, openctm, slmesh, iqm, tmf, found \"IQM\"";
        assert_eq!(error.to_string(), text);
        for axis in Axis::ALL {
            assert_eq!(axis.to_string().parse(), Ok(axis));
        }
        let error = "X".parse::<Axis>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "not an axis: expected one of x, y, z, -x, -y, -z, found \"X\""
        );
    }
}
