use std::fmt::{self, Write as _};

use super::vertex_format::VertexFormat;

/// What an attribute means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Semantic {
    /// Position.
    Position,
    /// Normal.
    Normal,
    /// Tangent, and in a fourth component the sign of the bitangent.
    Tangent,
    /// Texture coordinates; the number tells several sets apart.
    TexCoord(u32),
    /// Colour; the number tells several sets apart.
    Color(u32),
    /// Indices of the joints that move the vertex; the number tells several sets apart.
    Joints(u32),
    /// The weights of those joints.
    Weights(u32),
    /// Anything else, by the name that the file gives it.
    Custom(String),
}

/// One line, whatever the file calls its attribute: control characters are escaped as in Rust.
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

/// An attribute of a mesh, before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeInfo {
    /// What it means.
    pub semantic: Semantic,
    /// How it is stored.
    pub format: VertexFormat,
}
