//! The arrays of a mesh, as its stream has them. Knows lengths and names; reads nothing.

use super::first_mesh::BaseArray;
use super::mesh::Mesh;
use super::parts::MeshArray;
use super::triangles::Counts;
use crate::bytes::Array;
use crate::num::as_usize;

/// An array of the stream, and its number of elements.
#[derive(Clone, Copy)]
pub(super) struct StoredArray {
    pub(super) part: MeshArray,
    pub(super) count: u64,
}

/// The origin of the lengths of the arrays.
#[derive(Clone, Copy)]
pub(crate) enum MeshForm<'a> {
    /// The counts of a complete mesh.
    Complete(&'a Counts),
    /// The mesh that a difference is added to: its counts, and as many of its parts as are wanted.
    Difference(&'a Counts, &'a Mesh),
    /// One array of a mesh that begins like this, to which the array of a difference is added.
    DifferenceOf(&'a Counts, MeshArray, &'a BaseArray),
}

impl MeshArray {
    /// The name that errors give the array.
    pub(super) fn name(self, form: MeshForm<'_>) -> &'static str {
        match (self, form) {
            (Self::Positions, MeshForm::Complete(_)) => "Vertex Count",
            (Self::Positions, _) => "Vertex Differences",
            (Self::Normals, MeshForm::Complete(_)) => "Normal Count",
            (Self::Normals, _) => "Normal Differences",
            (Self::MapChannel(_), MeshForm::Complete(_)) => "Map Coord Count",
            (Self::MapChannel(_), _) => "Texture Coordinate Differences",
            (Self::Triangles, _) => "Triangle Count",
        }
    }
}

impl<'a> MeshForm<'a> {
    fn counts(self) -> &'a Counts {
        match self {
            Self::Complete(counts)
            | Self::Difference(counts, _)
            | Self::DifferenceOf(counts, ..) => counts,
        }
    }

    pub(super) fn positions(self) -> u64 {
        self.counts().vertices.into()
    }

    pub(super) fn normals(self) -> u64 {
        self.counts().normals.into()
    }

    pub(super) fn map_channels(self) -> usize {
        as_usize(self.counts().texcoord_sets)
    }

    /// The length of a map channel; `None` for a complete mesh, whose stream has it.
    pub(super) fn map_channel(self, channel: usize) -> Option<u64> {
        match self {
            Self::Complete(_) => None,
            Self::Difference(_, base) => {
                Some(base.texcoords.get(channel).map_or(0, Array::len_u64))
            }
            // The channels before the one that is wanted count as one, because nothing lies between them: their lengths are
            // known only in sum, if none of them has been decoded.
            Self::DifferenceOf(_, wanted, base) => {
                if wanted == MeshArray::MapChannel(channel) {
                    Some(base.array.len_u64())
                } else if channel == 0 {
                    Some(base.before)
                } else {
                    Some(0)
                }
            }
        }
    }

    /// The array of the base that a difference is added to.
    pub(super) fn base(self, part: MeshArray) -> Option<&'a Array<[f32; 3]>> {
        match self {
            Self::Complete(_) => None,
            Self::Difference(_, base) => match part {
                MeshArray::Positions => Some(&base.positions),
                MeshArray::Normals => Some(&base.normals),
                MeshArray::MapChannel(channel) => base.texcoords.get(channel),
                MeshArray::Triangles => None,
            },
            Self::DifferenceOf(_, wanted, base) if part == wanted => Some(&base.array),
            Self::DifferenceOf(..) => None,
        }
    }
}
