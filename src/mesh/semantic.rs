use std::fmt;
use std::str::FromStr;

use super::vertex_format::VertexFormat;
use crate::report::{Address, ParseError, parse_quoted, write_quoted};

/// The meaning of an attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Semantic {
    /// Positions.
    Position,
    /// Normals.
    Normal,
    /// Tangents; a fourth component is the sign of the bitangent.
    Tangent,
    /// Texture coordinates, set `n`.
    TexCoord(u32),
    /// Colours, set `n`, in sRGB: see [`colors_to_linear`](crate::colors_to_linear).
    Color(u32),
    /// Joint indices, set `n`.
    Joints(u32),
    /// Joint weights, set `n`.
    Weights(u32),
    /// Anything else, by its name in the file.
    Custom(String),
}

impl Semantic {
    /// The address of the attribute in a mesh at an address.
    pub(super) fn address_in(&self, mesh: Address) -> Address {
        let (name, set) = match self {
            Self::Custom(name) => return mesh.then("attributes").name(name),
            Self::Position => ("position", None),
            Self::Normal => ("normal", None),
            Self::Tangent => ("tangent", None),
            Self::TexCoord(set) => ("texcoord", Some(*set)),
            Self::Color(set) => ("color", Some(*set)),
            Self::Joints(set) => ("joints", Some(*set)),
            Self::Weights(set) => ("weights", Some(*set)),
        };
        let field = mesh.then(name);
        match set {
            Some(set) if set > 0 => field.index(set.into()),
            _ => field,
        }
    }

    /// Returns the meaning of this name; `None` for names that only the file defines.
    fn known(text: &str) -> Option<Self> {
        match text {
            "position" => return Some(Self::Position),
            "normal" => return Some(Self::Normal),
            "tangent" => return Some(Self::Tangent),
            _ => {}
        }
        let (name, set) = match text.split_once('[') {
            Some((name, set)) => {
                let digits = set.strip_suffix(']')?;
                let set = digits
                    .bytes()
                    .all(|digit| digit.is_ascii_digit())
                    .then(|| digits.parse().ok())??;
                (name, set)
            }
            None => (text, 0),
        };
        match name {
            "texcoord" => Some(Self::TexCoord(set)),
            "color" => Some(Self::Color(set)),
            "joints" => Some(Self::Joints(set)),
            "weights" => Some(Self::Weights(set)),
            _ => None,
        }
    }
}

/// Always one line, which [`FromStr`] reads back.
///
/// `texcoord` is set 0, `texcoord[1]` the next one. A name of the file's own is shown as it is. Where that would be the
/// name of something else, or no line, it is quoted as in an [`Address`](crate::Address).
impl fmt::Display for Semantic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, set) = match self {
            Self::Position => ("position", 0),
            Self::Normal => ("normal", 0),
            Self::Tangent => ("tangent", 0),
            Self::TexCoord(set) => ("texcoord", *set),
            Self::Color(set) => ("color", *set),
            Self::Joints(set) => ("joints", *set),
            Self::Weights(set) => ("weights", *set),
            Self::Custom(name) if is_plain(name) => return f.write_str(name),
            Self::Custom(name) => return write_quoted(f, name),
        };
        match set {
            0 => write!(f, "{name}"),
            set => write!(f, "{name}[{set}]"),
        }
    }
}

/// Returns `true` if a name that only the file defines is parsed back as the same name.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('"')
        && !name.contains(char::is_control)
        && Semantic::known(name).is_none()
}

impl FromStr for Semantic {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let fail = |expected: &str, found: &str| ParseError::new("a semantic", expected, found);
        if let Some(quoted) = text.strip_prefix('"') {
            return match parse_quoted(quoted) {
                Ok((name, "")) => Ok(Self::Custom(name)),
                Ok((_, after)) => Err(fail("the end", after)),
                Err((expected, found)) => Err(fail(expected, found)),
            };
        }
        match Self::known(text) {
            Some(known) => Ok(known),
            None if is_plain(text) => Ok(Self::Custom(text.to_owned())),
            None => Err(fail("a name on one line", text)),
        }
    }
}

/// Describes an attribute of a mesh, before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeInfo {
    /// Its meaning.
    pub semantic: Semantic,
    /// Its stored format.
    pub format: VertexFormat,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn meanings_are_read_as_they_are_displayed() {
        let known = [
            (Semantic::Position, "position"),
            (Semantic::Tangent, "tangent"),
            (Semantic::TexCoord(0), "texcoord"),
            (Semantic::Color(1), "color[1]"),
            (Semantic::Weights(u32::MAX), "weights[4294967295]"),
        ];
        for (semantic, text) in known {
            assert_eq!(semantic.to_string(), text);
            assert_eq!(text.parse(), Ok(semantic));
        }
        assert_eq!("texcoord[0]".parse(), Ok(Semantic::TexCoord(0)));
    }

    #[test]
    fn names_that_look_like_something_else_are_quoted_and_read_back() {
        let names = [
            ("mask", "mask"),
            ("a \\ b", "a \\ b"),
            ("texcoord[x]", "texcoord[x]"),
            ("color[4294967296]", "color[4294967296]"),
            ("position", r#""position""#),
            ("texcoord[007]", r#""texcoord[007]""#),
            ("", r#""""#),
            (r#""mask""#, r#""\"mask\"""#),
            ("two\nlines\u{7f}", r#""two\nlines\u{7f}""#),
        ];
        for (name, text) in names {
            let custom = Semantic::Custom(name.to_owned());
            assert_eq!(custom.to_string(), text);
            assert_eq!(text.parse(), Ok(custom));
        }
        for text in ["", "\"", "\"a\"b", "\"\\q\"", "a\nb"] {
            assert!(text.parse::<Semantic>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_name_survives_displaying_and_reading(name in any::<String>()) {
            let custom = Semantic::Custom(name);
            prop_assert_eq!(custom.to_string().parse(), Ok(custom));
        }
    }
}
