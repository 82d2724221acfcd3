//! The skeleton in its bind pose, and skinning matrices of other poses.

use zerocopy::little_endian::F32;

use super::layout::Layout;
use super::model::Model;
use super::pose::{IDENTITY, Matrix, Trs, invert, multiply};
use super::raw;
use super::rules::FILE;
use super::tables::parent;
use crate::bytes::Text;
use crate::num::{as_u64, as_usize};
use crate::report::{Address, ErrorKind, Result};

impl Model {
    /// The joints in the bind pose; parents come before their children.
    pub fn joints(&self) -> impl ExactSizeIterator<Item = Joint> + '_ {
        self.layout.joints.iter().map(|joint| Joint::new(&self.layout, &joint))
    }

    /// The number of joints.
    #[must_use]
    pub fn joint_count(&self) -> usize {
        self.layout.joints.len()
    }

    /// The index of the first joint with this name.
    #[must_use]
    pub fn joint_index(&self, name: impl AsRef<[u8]>) -> Option<usize> {
        self.layout.joints.iter().position(|joint| self.layout.text.is_at(joint.name.get(), name.as_ref()))
    }

    /// The bind pose as matrices; `None` where the file has no joints.
    #[must_use]
    pub fn skeleton(&self) -> Option<Skeleton> {
        (self.joint_count() > 0).then(|| Skeleton::new(self.joints()))
    }
}

/// A joint of the skeleton, in its bind pose.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Joint {
    /// The name.
    pub name: Text,
    /// The parent, whose index is less than this joint's; `None` for a root.
    pub parent: Option<u32>,
    /// The transformation relative to the parent, as stored.
    ///
    /// In version 1, w is computed.
    pub trs: Trs,
}

impl Joint {
    fn new(layout: &Layout, raw: &raw::Joint) -> Self {
        let trs = Trs {
            translate: raw.translate.map(F32::get),
            rotate: raw.rotate.map(F32::get),
            scale: raw.scale.map(F32::get),
        };
        Self { name: layout.text_at(raw.name.get()), parent: parent(raw.parent.get()), trs }
    }
}

/// The joints of a model in the bind pose, as matrices.
///
/// As in the SDK, rotations are scaled to length 1 first, and a joint's inverse matrix is the inverse of its own
/// transformation times its parent's inverse matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Skeleton {
    parents: Vec<Option<u32>>,
    bind: Vec<Matrix>,
    inverse_bind: Vec<Matrix>,
}

impl Skeleton {
    pub(crate) fn new(joints: impl Iterator<Item = Joint>) -> Self {
        let mut this = Self { parents: Vec::new(), bind: Vec::new(), inverse_bind: Vec::new() };
        for joint in joints {
            let local = joint.trs.normalized().to_matrix();
            let of_parent = |matrices: &[Matrix]| parent_matrix(joint.parent?, matrices);
            let bind = of_parent(&this.bind).map_or(local, |parent| multiply(&parent, &local));
            let inverse = invert(&local);
            let inverse = of_parent(&this.inverse_bind).map_or(inverse, |parent| multiply(&inverse, &parent));
            this.parents.push(joint.parent);
            this.bind.push(bind);
            this.inverse_bind.push(inverse);
        }
        this
    }

    /// The number of joints.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there are no joints; `false` for every skeleton of a model.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// The index of each joint's parent, less than the joint's; `None` for roots.
    #[must_use]
    pub fn parents(&self) -> &[Option<u32>] {
        &self.parents
    }

    /// The matrix of each joint from its space to the model's, in the bind pose.
    #[must_use]
    pub fn bind_matrices(&self) -> &[Matrix] {
        &self.bind
    }

    /// The matrix of each joint from the model's space to its own, in the bind pose.
    #[must_use]
    pub fn inverse_bind_matrices(&self) -> &[Matrix] {
        &self.inverse_bind
    }

    /// The matrix of each joint that moves vertices from the bind pose to `pose`.
    ///
    /// `pose` is a frame of [`Frames`](super::Frames); its rotations are scaled to length 1 first.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where `pose` does not have an element for each joint.
    pub fn skinning_matrices(&self, pose: &[Trs]) -> Result<Vec<Matrix>> {
        let mut out = vec![IDENTITY; self.len()];
        self.skinning_matrices_into(pose, &mut out)?;
        Ok(out)
    }

    /// Like `skinning_matrices`, into `out` with an element for each joint.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where `pose` or `out` does not have an element for each joint.
    pub fn skinning_matrices_into(&self, pose: &[Trs], out: &mut [Matrix]) -> Result<()> {
        world_matrices(&self.parents, pose, out)?;
        for (matrix, inverse) in out.iter_mut().zip(&self.inverse_bind) {
            *matrix = multiply(matrix, inverse);
        }
        Ok(())
    }
}

/// The matrix of each joint from its space to the model's in `pose`, into `out`.
///
/// Needs no bind pose: for files of animations alone, `parents` are those of their poses. Rotations are scaled to
/// length 1 first.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) where the three differ in length, or a parent does not come before its
/// child.
pub fn world_matrices(parents: &[Option<u32>], pose: &[Trs], out: &mut [Matrix]) -> Result<()> {
    let mismatch = |what| FILE.error(ErrorKind::Mismatch, what);
    for (what, len) in [("number of poses", pose.len()), ("length of the output", out.len())] {
        if len != parents.len() {
            return Err(mismatch(what).expected(format!("{}, one for each joint", parents.len())).found(len));
        }
    }
    for (index, (parent, trs)) in parents.iter().zip(pose).enumerate() {
        let local = trs.normalized().to_matrix();
        let (done, rest) = out.split_at_mut(index);
        let world = match *parent {
            None => local,
            Some(parent) => {
                let matrix = parent_matrix(parent, done).ok_or_else(|| {
                    let error = mismatch("parent").of(Address::field("joints").index(as_u64(index)));
                    error.expected(format!("less than {index}")).found(parent)
                })?;
                multiply(&matrix, &local)
            }
        };
        if let Some(slot) = rest.first_mut() {
            *slot = world;
        }
    }
    Ok(())
}

fn parent_matrix(parent: u32, matrices: &[Matrix]) -> Option<Matrix> {
    matrices.get(as_usize(parent)).copied()
}
