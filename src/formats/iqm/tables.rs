//! The tables of joints and poses, of either version, and the formats of components.

use std::ops::Range;

use super::raw;
use super::rules::FILE;
use crate::bytes::{Array, Scalar};
use crate::num::{Span, as_u64, span};
use crate::report::{Address, Error, Place};

/// `iqmjoint[]` of either version.
#[derive(Debug)]
pub(crate) enum Joints {
    V1(Array<raw::JointV1>),
    V2(Array<raw::Joint>),
}

/// `iqmpose[]` of either version.
#[derive(Debug)]
pub(crate) enum Poses {
    V1(Array<raw::PoseV1>),
    V2(Array<raw::Pose>),
}

impl Joints {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::V1(joints) => joints.len(),
            Self::V2(joints) => joints.len(),
        }
    }

    pub(crate) fn element_size(&self) -> usize {
        match self {
            Self::V1(_) => size_of::<raw::JointV1>(),
            Self::V2(_) => size_of::<raw::Joint>(),
        }
    }

    /// The joint at an index, as version 2 stores it.
    pub(crate) fn get(&self, index: usize) -> Option<raw::Joint> {
        match self {
            Self::V2(joints) => joints.get(index),
            Self::V1(joints) => joints.get(index).map(|joint| {
                let [x, y, z] = joint.rotate;
                let w = super::pose::synthesised_w([x.get(), y.get(), z.get()]);
                raw::Joint {
                    name: joint.name,
                    parent: joint.parent,
                    translate: joint.translate,
                    rotate: [x, y, z, w.into()],
                    scale: joint.scale,
                }
            }),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = raw::Joint> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl Poses {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::V1(poses) => poses.len(),
            Self::V2(poses) => poses.len(),
        }
    }

    pub(crate) fn element_size(&self) -> usize {
        match self {
            Self::V1(_) => size_of::<raw::PoseV1>(),
            Self::V2(_) => size_of::<raw::Pose>(),
        }
    }

    /// The bits of a mask that stand for channels.
    pub(crate) fn channel_bits(&self) -> u32 {
        match self {
            Self::V1(_) => 0x1ff,
            Self::V2(_) => 0x3ff,
        }
    }

    /// The parent and the channel mask of each pose.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, u32)> + '_ {
        (0..self.len()).filter_map(|index| match self {
            Self::V1(poses) => poses.get(index).map(|pose| (pose.parent.get(), pose.channelmask.get())),
            Self::V2(poses) => poses.get(index).map(|pose| (pose.parent.get(), pose.channelmask.get())),
        })
    }
}

/// The index of a parent; `None` for a root.
pub(crate) fn parent(stored: i32) -> Option<u32> {
    u32::try_from(stored).ok()
}

/// The component format with this number.
pub(crate) fn scalar(format: u32) -> Option<Scalar> {
    Some(match format {
        0 => Scalar::I8,
        1 => Scalar::U8,
        2 => Scalar::I16,
        3 => Scalar::U16,
        4 => Scalar::I32,
        5 => Scalar::U32,
        6 => Scalar::F16,
        7 => Scalar::F32,
        8 => Scalar::F64,
        _ => return None,
    })
}

/// The format and size that the specification recommends for a type of vertex array.
pub(crate) fn recommended(kind: u32) -> Option<(Scalar, u32)> {
    Some(match kind {
        0 | 2 => (Scalar::F32, 3),
        1 => (Scalar::F32, 2),
        3 => (Scalar::F32, 4),
        4..=6 => (Scalar::U8, 4),
        _ => return None,
    })
}

/// An element of a table, for saying where one of its fields lies.
pub(crate) struct Fields {
    pub(crate) range: Range<u64>,
    pub(crate) address: Address,
    pub(crate) index: u64,
}

impl Fields {
    pub(crate) fn of(table: &Range<u64>, index: u64, size: usize, name: &'static str) -> Self {
        let start = table.start.saturating_add(index.saturating_mul(as_u64(size)));
        Self { range: span(start, as_u64(size)), address: Address::field(name), index }
    }

    pub(crate) fn address(&self) -> Address {
        self.address.clone().index(self.index)
    }

    pub(crate) fn malformed(&self, what: &'static str, offset: u64, size: u64) -> Error {
        self.place(offset, size).malformed(what)
    }

    /// The field at an offset.
    pub(crate) fn place(&self, offset: u64, size: u64) -> Place {
        FILE.of(self.address()).at(self.range.part(offset, size))
    }
}
