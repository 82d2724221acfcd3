use std::fmt::{self, Write as _};

use super::vertex_format::VertexFormat;
use crate::report::Address;

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
