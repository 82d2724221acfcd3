use std::fmt;

/// What a mesh is for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Role {
    /// Geometry that is drawn.
    Geometry,
    /// A level of detail; 0 is the finest.
    Lod(u32),
    /// Geometry for physics, which is not drawn.
    Physics,
    /// A snapshot of an animation.
    Snapshot {
        /// Its index.
        index: u64,
        /// Its time in seconds, where the file has times.
        seconds: Option<f64>,
    },
}

impl Role {
    /// Whether a viewer draws the mesh unless told otherwise: all geometry, the finest level of detail, the first
    /// snapshot.
    #[must_use]
    pub fn is_drawn_by_default(self) -> bool {
        match self {
            Self::Geometry | Self::Lod(0) | Self::Snapshot { index: 0, .. } => true,
            Self::Lod(_) | Self::Physics | Self::Snapshot { .. } => false,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Geometry => f.write_str("geometry"),
            Self::Lod(level) => write!(f, "level of detail {level}"),
            Self::Physics => f.write_str("physics"),
            Self::Snapshot { index, .. } => write!(f, "snapshot {index}"),
        }
    }
}
