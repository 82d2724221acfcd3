//! The skeleton in its bind pose, and skinning matrices of other poses.

use zerocopy::little_endian::F32;

use super::layout::Layout;
use super::model::Model;
use super::pose::{IDENTITY, Matrix, Trs, invert, multiply};
use super::raw;
use super::rules::FILE;
use super::tables::parent;
use crate::bytes::Text;
use crate::num::{as_u64, as_usize, decimal, less_than};
use crate::report::{Address, ErrorKind, Result};

impl Model {
    /// The joints in the bind pose; parents come before their children.
    pub fn joints(&self) -> impl ExactSizeIterator<Item = Joint> + '_ {
        self.layout
            .joints
            .iter()
            .map(|joint| Joint::new(&self.layout, &joint))
    }

    /// The number of joints.
    #[must_use]
    pub(crate) fn joint_count(&self) -> usize {
        self.layout.joints.len()
    }

    /// The bind pose as matrices; `None` if the file has no joints.
    ///
    /// The skinning matrices that it makes are for frames of this model: see [`Skeleton::skinning_matrices`].
    #[must_use]
    pub fn skeleton(&self) -> Option<Skeleton> {
        if self.joint_count() == 0 {
            return None;
        }
        let mut skeleton = Skeleton::new(self.layout.joints.iter().map(|joint| Rest::of(&joint)));
        // Poses that were joined by the names of joints have the parents of the joints. If there are more poses than joints, or fewer,
        // no frame is a pose of this skeleton.
        let has_stored_parents =
            self.order.is_none() && self.animation.poses.len() == skeleton.len();
        if has_stored_parents
            && !self
                .stored_pose_parents()
                .eq(skeleton.parents.iter().copied())
        {
            skeleton.pose_parents = Some(self.stored_pose_parents().collect());
        }
        Some(skeleton)
    }

    /// The parents of the poses, in the order of the file that they come from.
    fn stored_pose_parents(&self) -> impl ExactSizeIterator<Item = Option<u32>> + '_ {
        self.animation
            .poses
            .iter()
            .map(|pose| parent(pose.parent.get()))
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
    pub(super) fn new(layout: &Layout, raw: &raw::Joint) -> Self {
        let Rest { parent, trs } = Rest::of(raw);
        Self {
            name: layout.text_at(raw.name.get()),
            parent,
            trs,
        }
    }
}

/// A joint without its name, whose end has to be searched for: renderers make a skeleton for each frame.
struct Rest {
    parent: Option<u32>,
    trs: Trs,
}

impl Rest {
    fn of(raw: &raw::Joint) -> Self {
        let trs = Trs {
            translate: raw.translate.map(F32::get),
            rotate: raw.rotate.map(F32::get),
            scale: raw.scale.map(F32::get),
        };
        Self {
            parent: parent(raw.parent.get()),
            trs,
        }
    }
}

/// The joints of a model in the bind pose, as matrices.
///
/// As in the SDK, rotations are scaled to length 1 first, and a joint's inverse matrix is the inverse of its transformation times
/// its parent's inverse matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Skeleton {
    parents: Vec<Option<u32>>,
    /// The parents of the poses, if they are not `parents`. Nearly all files have equal ones, and then need no second list.
    pose_parents: Option<Vec<Option<u32>>>,
    bind: Vec<Matrix>,
    inverse_bind: Vec<Matrix>,
}

impl Skeleton {
    fn new(joints: impl Iterator<Item = Rest>) -> Self {
        let mut this = Self {
            parents: Vec::new(),
            pose_parents: None,
            bind: Vec::new(),
            inverse_bind: Vec::new(),
        };
        for joint in joints {
            let local = joint.trs.normalized().to_matrix();
            let parent = joint.parent.map(as_usize);
            let bind = match parent.and_then(|parent| this.bind.get(parent)) {
                Some(parent) => multiply(parent, &local),
                None => local,
            };
            let inverse = invert(&local);
            let inverse = match parent.and_then(|parent| this.inverse_bind.get(parent)) {
                Some(parent) => multiply(&inverse, parent),
                None => inverse,
            };
            this.parents.push(joint.parent);
            this.bind.push(bind);
            this.inverse_bind.push(inverse);
        }
        this
    }

    /// The number of joints.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    /// The index of each joint's parent, less than the joint's; `None` for roots.
    ///
    /// The bind pose is relative to these parents. Frames are relative to the parents of the [poses](Model::poses), which differ in a few
    /// files.
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
    /// `pose` is a frame of the [`Frames`](super::Frames) of the model that the skeleton comes from. Its rotations are scaled to length 1
    /// first. Its transformations are relative to the parents of the model's [poses](Model::poses) (`iqmpose.parent`), also if the
    /// joints have other [`parents`](Self::parents) (`iqmjoint.parent`). For frames of another file, take the skeleton of the
    /// [joined](Model::attach) model.
    ///
    /// # Errors
    ///
    /// Returns [`Mismatch`](crate::ErrorKind::Mismatch) if `pose` does not have an element for each joint.
    pub fn skinning_matrices(&self, pose: &[Trs]) -> Result<Vec<Matrix>> {
        let mut out = vec![IDENTITY; self.len()];
        self.skinning_matrices_into(pose, &mut out)?;
        Ok(out)
    }

    /// Like `skinning_matrices`, into `out` with an element for each joint.
    ///
    /// # Errors
    ///
    /// Returns [`Mismatch`](crate::ErrorKind::Mismatch) if `pose` or `out` does not have an element for each joint.
    pub fn skinning_matrices_into(&self, pose: &[Trs], out: &mut [Matrix]) -> Result<()> {
        let parents = self.pose_parents.as_ref().unwrap_or(&self.parents);
        world_matrices(parents, pose, out)?;
        for (matrix, inverse) in out.iter_mut().zip(&self.inverse_bind) {
            *matrix = multiply(matrix, inverse);
        }
        Ok(())
    }

    /// The skinning matrices of many poses, one pose after the other: the matrix palettes of a range of frames.
    ///
    /// `poses` has an element per joint for each pose, as [`Frames::read_range_into`](super::Frames::read_range_into)
    /// writes them, and `out` has as many elements as `poses`. Each palette equals the result of
    /// [`skinning_matrices`](Self::skinning_matrices).
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if the length of `poses` is not a multiple of the number of joints, or `out`
    /// has another length.
    pub fn palettes_into(&self, poses: &[Trs], out: &mut [Matrix]) -> Result<()> {
        let joints = self.check_palettes(poses.len(), out.len())?;
        for (pose, out) in poses.chunks(joints).zip(out.chunks_mut(joints)) {
            self.skinning_matrices_into(pose, out)?;
        }
        Ok(())
    }

    /// Returns the number of joints, which every piece of `poses` elements has.
    fn check_palettes(&self, poses: usize, out: usize) -> Result<usize> {
        let joints = self.len().max(1);
        if !poses.is_multiple_of(joints) {
            let error = FILE.error(ErrorKind::Mismatch, "number of poses");
            let expected = format!("a multiple of {}, one for each joint", decimal(self.len()));
            return Err(error.expected(expected).found(poses));
        }
        if out != poses {
            let error = FILE.error(ErrorKind::Mismatch, "length of the output");
            let expected = format!("{}, one for each pose of a joint", decimal(poses));
            return Err(error.expected(expected).found(out));
        }
        Ok(joints)
    }
}

/// The matrix of each joint from its space to the model's in `pose`, into `out`.
///
/// `parents` has the parents of the [poses](Model::poses), which are not always the parents of the joints. Needs no bind pose, so it is
/// also for files that contain only animations. Rotations are scaled to length 1 first.
///
/// # Errors
///
/// Returns [`Mismatch`](crate::ErrorKind::Mismatch) if the three differ in length, or a parent does not come before its child.
pub fn world_matrices(parents: &[Option<u32>], pose: &[Trs], out: &mut [Matrix]) -> Result<()> {
    check_length("number of poses", pose.len(), parents.len())?;
    check_length("length of the output", out.len(), parents.len())?;
    for (index, (parent, trs)) in parents.iter().zip(pose).enumerate() {
        let local = trs.normalized().to_matrix();
        let (before, rest) = out.split_at_mut(index);
        let world = match *parent {
            None => local,
            Some(parent) => match before.get(as_usize(parent)) {
                Some(matrix) => multiply(matrix, &local),
                None => {
                    let address = Address::field("joints").index(as_u64(index));
                    let error = FILE.error(ErrorKind::Mismatch, "parent").of(address);
                    return Err(error.expected(less_than(index)).found(parent));
                }
            },
        };
        if let Some(out) = rest.first_mut() {
            *out = world;
        }
    }
    Ok(())
}

fn check_length(what: &'static str, found: usize, joints: usize) -> Result<()> {
    if found == joints {
        return Ok(());
    }
    let error = FILE.error(ErrorKind::Mismatch, what);
    let expected = format!("{}, one for each joint", decimal(joints));
    Err(error.expected(expected).found(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn palettes_are_the_skinning_matrices_of_each_pose() {
        let joint = |parent, x| {
            let trs = Trs::new([x, 1.0, 2.0], [0.0, 0.6, 0.0, 0.8], [1.0, 2.0, 0.5]);
            Rest { parent, trs }
        };
        let skeleton = Skeleton::new([joint(None, 1.0), joint(Some(0), -3.0)].into_iter());
        let poses: Vec<Trs> = (0..6_u8)
            .map(|i| Trs::new([f32::from(i), 0.0, 1.0], [0.1, 0.0, 0.2, 0.9], [1.0; 3]))
            .collect();
        let expected: Vec<Matrix> = poses
            .chunks(2)
            .flat_map(|pose| skeleton.skinning_matrices(pose).unwrap())
            .collect();

        let mut palettes = vec![IDENTITY; 6];
        skeleton.palettes_into(&poses, &mut palettes).unwrap();
        assert_eq!(palettes, expected);
        for matrix in &expected {
            for (index, column) in super::super::to_columns(matrix).iter().enumerate() {
                let last = if index == 3 { 1.0 } else { 0.0 };
                assert_eq!(
                    *column,
                    [matrix[0][index], matrix[1][index], matrix[2][index], last]
                );
            }
        }

        for (poses, out) in [(5, 5), (4, 6), (6, 4)] {
            let poses = &vec![Trs::default(); poses];
            let error = skeleton
                .palettes_into(poses, &mut vec![IDENTITY; out])
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
        }
    }
}
