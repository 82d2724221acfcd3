//! The names of the blocks.

use std::fmt;

/// A level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Lod {
    /// "lowest_lod"
    Lowest,
    /// "low_lod"
    Low,
    /// "medium_lod"
    Medium,
    /// "high_lod"
    High,
}

impl Lod {
    /// All of them, the highest first.
    pub const ALL: [Self; 4] = [Self::High, Self::Medium, Self::Low, Self::Lowest];

    /// The key in the header.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lowest => "lowest_lod",
            Self::Low => "low_lod",
            Self::Medium => "medium_lod",
            Self::High => "high_lod",
        }
    }
}

impl fmt::Display for Lod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The blocks that are meshes, as addresses name them.
pub(crate) const MESHES: [&str; 5] = ["high_lod", "medium_lod", "low_lod", "lowest_lod", "physics_mesh"];

/// The blocks that are decoded.
pub(crate) const NAMES: [&str; 7] =
    ["high_lod", "medium_lod", "low_lod", "lowest_lod", "physics_mesh", "physics_convex", "skin"];
