//! Selection of the parts of a mesh that are decoded.

use std::fmt;
use std::ops::BitOr;

/// An array of a mesh, or what comes after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeshArray {
    Positions,
    Normals,
    MapChannel(usize),
    Triangles,
}

/// Parts of a mesh: what a call decodes, and what a [`Mesh`](super::Mesh) holds.
///
/// A mesh is one compressed stream, with the positions first, then the normals, the map channels and the triangles. It is
/// decoded no further than the last part that is asked for, so positions cost the least. A difference stores no triangles; it
/// uses the triangles of the first snapshot.
///
/// # Examples
///
/// ```
/// use meshmap::cgeo::{MeshBuffer, Parts, Proxy};
///
/// let proxy = Proxy::open("tests/data/cgeo/valid/anim_a.cgeo")?;
/// let mut mesh = MeshBuffer::default();
/// let parts = Parts::POSITIONS | Parts::TRIANGLES;
/// proxy.snapshot(3)?.mesh_into(parts, &mut mesh, &mut meshmap::Scratch::default())?;
/// assert!(!mesh.positions.is_empty() && !mesh.triangles.is_empty() && mesh.normals.is_empty());
/// assert_eq!(mesh.parts, parts);
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Parts(u8);

impl Parts {
    /// No part.
    pub const NONE: Self = Self(0);
    /// The positions.
    pub const POSITIONS: Self = Self(1);
    /// The normals.
    pub const NORMALS: Self = Self(1 << 1);
    /// The texture coordinates of all map channels.
    #[doc(alias = "MAP_CHANNELS")]
    pub const TEXCOORDS: Self = Self(1 << 2);
    /// The triangles: indices of all arrays, material IDs and visible edges, which are stored in one record for each triangle.
    #[doc(alias = "MATERIAL_IDS")]
    pub const TRIANGLES: Self = Self(1 << 3);
    /// All of them.
    pub const ALL: Self = Self(0b1111);

    /// Each single part, in the order of the stream, with its name.
    const NAMES: [(Self, &'static str); 4] = [
        (Self::POSITIONS, "POSITIONS"),
        (Self::NORMALS, "NORMALS"),
        (Self::TEXCOORDS, "TEXCOORDS"),
        (Self::TRIANGLES, "TRIANGLES"),
    ];

    /// Returns `true` if these are all of the `others`, or more.
    #[must_use]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns `true` if no part is selected.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// These without the `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Returns the part up to which the stream of a difference is decoded: its end for map channels, which are the last.
    pub(super) fn last(self) -> MeshArray {
        if self.contains(Self::TEXCOORDS) {
            MeshArray::Triangles
        } else if self.contains(Self::NORMALS) {
            MeshArray::Normals
        } else {
            MeshArray::Positions
        }
    }

    /// The parts with these bits: 1 for positions, 2 for normals, 4 for map channels, 8 for triangles. `None` if another bit is
    /// set.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits & !Self::ALL.0 == 0 {
            Some(Self(bits))
        } else {
            None
        }
    }

    /// The bits, as in [`from_bits`](Self::from_bits).
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl BitOr for Parts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// `POSITIONS | TRIANGLES`.
impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("NONE");
        }
        let there = Self::NAMES.iter().filter(|(part, _)| self.contains(*part));
        for (number, (_, name)) in there.enumerate() {
            f.write_str(if number == 0 { "" } else { " | " })?;
            f.write_str(name)?;
        }
        Ok(())
    }
}
