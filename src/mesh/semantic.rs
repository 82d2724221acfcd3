use std::fmt::{self, Write as _};

use super::vertex_format::VertexFormat;

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
    /// Colours, set `n`.
    Color(u32),
    /// Joint indices, set `n`.
    Joints(u32),
    /// Joint weights, set `n`.
    Weights(u32),
    /// Anything else, by its name in the file.
    Custom(String),
}

/// Always one line: control characters of names are escaped as in Rust.
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
            Self::Custom(name) => {
                return name.chars().try_for_each(|c| match c.is_control() {
                    true => write!(f, "{}", c.escape_default()),
                    false => f.write_char(c),
                });
            }
        };
        match set {
            0 => write!(f, "{name}"),
            set => write!(f, "{name}[{set}]"),
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
