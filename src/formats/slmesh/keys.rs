//! The blocks, by their keys in the header.

use std::fmt;
use std::str::FromStr;

use crate::mesh::Role;
use crate::report::{ParseError, parse_name};

/// The mesh for physics.
pub(crate) const PHYSICS_MESH: &str = "physics_mesh";
/// The mesh for physics, as it was called first.
pub(crate) const PHYSICS_SHAPE: &str = "physics_shape";
/// The hulls for physics.
pub(crate) const PHYSICS_CONVEX: &str = "physics_convex";
/// The skin.
pub(crate) const SKIN: &str = "skin";

/// The blocks that are decoded.
pub(crate) const DECODED: [&str; 7] = [
    Lod::High.name(),
    Lod::Medium.name(),
    Lod::Low.name(),
    Lod::Lowest.name(),
    PHYSICS_MESH,
    PHYSICS_CONVEX,
    SKIN,
];

/// All blocks that the specification or the viewer know.
pub(crate) const KNOWN: [&str; 9] = [
    Lod::High.name(),
    Lod::Medium.name(),
    Lod::Low.name(),
    Lod::Lowest.name(),
    PHYSICS_MESH,
    PHYSICS_SHAPE,
    PHYSICS_CONVEX,
    "physics_havok",
    SKIN,
];

/// A level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Lod {
    /// "lowest_lod"
    #[cfg_attr(feature = "serde", serde(rename = "lowest_lod"))]
    Lowest,
    /// "low_lod"
    #[cfg_attr(feature = "serde", serde(rename = "low_lod"))]
    Low,
    /// "medium_lod"
    #[cfg_attr(feature = "serde", serde(rename = "medium_lod"))]
    Medium,
    /// "high_lod"
    #[cfg_attr(feature = "serde", serde(rename = "high_lod"))]
    High,
}

impl Lod {
    /// All levels, the highest first.
    pub const ALL: [Self; 4] = [Self::High, Self::Medium, Self::Low, Self::Lowest];

    /// The key in the header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.key_and_level().0
    }

    /// The level as renderers count: 0 is the finest.
    const fn key_and_level(self) -> (&'static str, u32) {
        match self {
            Self::High => ("high_lod", 0),
            Self::Medium => ("medium_lod", 1),
            Self::Low => ("low_lod", 2),
            Self::Lowest => ("lowest_lod", 3),
        }
    }
}

impl fmt::Display for Lod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// By its [`name`](Lod::name).
impl FromStr for Lod {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_name(text, "a level of detail", Self::ALL, Self::name)
    }
}

/// A block that holds a mesh.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MeshKey {
    Lod(Lod),
    Physics,
}

impl MeshKey {
    /// All of them, in the order of addresses.
    pub(crate) const ALL: [Self; 5] = [
        Self::Lod(Lod::High),
        Self::Lod(Lod::Medium),
        Self::Lod(Lod::Low),
        Self::Lod(Lod::Lowest),
        Self::Physics,
    ];

    /// The key in the header, and in addresses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lod(lod) => lod.name(),
            Self::Physics => PHYSICS_MESH,
        }
    }

    /// Returns the block of this name; the mesh for physics also has an older name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = if name == PHYSICS_SHAPE {
            PHYSICS_MESH
        } else {
            name
        };
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// Returns the purpose of the block's faces.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Lod(lod) => Role::Lod(lod.key_and_level().1),
            Self::Physics => Role::Physics,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_detail_are_read_as_they_are_displayed() {
        for lod in Lod::ALL {
            assert_eq!(lod.to_string().parse(), Ok(lod));
        }
        assert!("high".parse::<Lod>().is_err() && "physics_mesh".parse::<Lod>().is_err());
    }
}
