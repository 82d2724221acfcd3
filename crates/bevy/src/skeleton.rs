//! The joints of a scene as Bevy has them.

use bevy_animation::AnimationTargetId;
use bevy_ecs::name::Name;
use bevy_math::{Mat4, Quat, Vec3};
use bevy_transform::components::Transform;
use meshmap::iqm::Trs;
use meshmap_scene::{Rest, Skeleton, matrix};

/// The joints of a file. A parent comes before its children.
#[derive(Default)]
pub(crate) struct Joints {
    pub(crate) names: Vec<String>,
    pub(crate) parents: Vec<Option<usize>>,
    pub(crate) bind_pose: Vec<Transform>,
    pub(crate) inverse: Vec<Mat4>,
}

impl Joints {
    pub(crate) fn of(skeleton: Skeleton) -> Self {
        // Relative to a parent with unequal scales, a joint of a skin may be sheared, which no transform of Bevy expresses.
        let skeleton = match skeleton.stands_alone {
            true => skeleton,
            false => skeleton.flattened(),
        };
        let mut joints = Self::default();
        for joint in &skeleton.joints {
            joints.names.push(joint.name().into_owned());
            joints.parents.push(joint.parent);
            joints.bind_pose.push(at_rest(&joint.rest));
        }
        for inverse in &skeleton.inverse_bind {
            let inverse = matrix::rounded(inverse);
            joints.inverse.push(Mat4::from_cols_array(&inverse));
        }
        joints
    }

    /// Adds a joint that nothing moves, for vertices without weights.
    pub(crate) fn add_rest(&mut self) {
        self.names.push("meshmap_rest".to_owned());
        self.parents.push(None);
        self.bind_pose.push(Transform::IDENTITY);
        self.inverse.push(Mat4::IDENTITY);
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The number of joints that vertices may follow; `None` if there are none, or more than a vertex can name besides the one that
    /// rests.
    pub(crate) fn count(&self) -> Option<u16> {
        let count = u16::try_from(self.len()).ok()?;
        (count > 0 && count < u16::MAX).then_some(count)
    }

    /// The name of a joint's entity.
    pub(crate) fn name(&self, index: usize) -> Name {
        match self.names.get(index) {
            Some(name) if !name.is_empty() => Name::new(name.clone()),
            _ => Name::new(format!("Joint{index}")),
        }
    }

    /// The target of a joint's curves. Names need not be unique in a file, so that the index is a part of it.
    pub(crate) fn target(&self, index: usize) -> AnimationTargetId {
        AnimationTargetId::from_names([self.name(index), Name::new(index.to_string())].iter())
    }
}

fn at_rest(rest: &Rest) -> Transform {
    match rest.trs() {
        Some(trs) => transform(&trs),
        None => {
            let place = matrix::rounded(&rest.to_matrix());
            Transform::from_matrix(Mat4::from_cols_array(&place))
        }
    }
}

/// A transform of a file in Bevy's type.
pub(crate) fn transform(trs: &Trs) -> Transform {
    Transform {
        translation: Vec3::from_array(trs.translate),
        rotation: Quat::from_array(trs.rotate),
        scale: Vec3::from_array(trs.scale),
    }
}
