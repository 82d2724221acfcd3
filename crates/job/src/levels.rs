//! The levels of detail that are written or drawn.

use meshmap_scene::Levels;

use crate::options::texts;

/// The levels of detail that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lods {
    /// The finest that there is.
    #[default]
    Finest,
    /// This one, where 0 is the finest that the format has.
    Only(u32),
    /// All: in glTF as `MSFT_lod`, where coarser ones are outside of the scene; in USD as variants, of which the finest is shown; in OBJ, PLY and STL as
    /// separate files next to the finest one, such as `avatar_low.obj`.
    All,
}

impl Lods {
    /// The levels of detail of a [`Scene`](meshmap_scene::Scene).
    #[must_use]
    pub fn levels(self) -> Levels {
        match self {
            Self::Finest => Levels::Finest,
            Self::Only(level) => Levels::Only(level),
            Self::All => Levels::All,
        }
    }
}

texts!(Lods, [
    ("finest", Lods::Finest),
    ("high", Lods::Only(0)),
    ("medium", Lods::Only(1)),
    ("low", Lods::Only(2)),
    ("lowest", Lods::Only(3)),
    ("all", Lods::All),
], except "_lod");
