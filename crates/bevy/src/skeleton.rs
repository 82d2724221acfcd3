//! The joints of a file: their hierarchy, bind pose and inverse bind matrices.

use bevy_animation::AnimationTargetId;
use bevy_ecs::name::Name;
use bevy_math::{BVec3, Mat4, Quat, Vec3, Vec4};
use bevy_transform::components::Transform;
use meshmap::{Bounds, MeshFile, iqm, slmesh};

use crate::error::MeshmapError;

/// The joints of a file. A parent comes before its children.
#[derive(Default)]
pub(crate) struct Joints {
    pub(crate) names: Vec<String>,
    pub(crate) parents: Vec<Option<usize>>,
    pub(crate) bind_pose: Vec<Transform>,
    pub(crate) inverse: Vec<Mat4>,
    /// Takes positions of a mesh into the bind pose.
    shape: Mat4,
    /// `true` if the skin lacks names or matrices, so that no joint is used.
    pub(crate) drops_all: bool,
    /// The number of joints whose matrices a transform cannot express.
    pub(crate) replaced: usize,
}

impl Joints {
    /// The joints of a file; empty if it has none.
    pub(crate) fn of(file: &MeshFile) -> Result<Self, MeshmapError> {
        match file {
            MeshFile::Iqm(model) => Ok(Self::of_iqm(model)),
            MeshFile::SlMesh(asset) => Ok(asset
                .skin()?
                .map(|skin| Self::of_slmesh(&skin))
                .unwrap_or_default()),
            _ => Ok(Self::default()),
        }
    }

    fn of_iqm(model: &iqm::Model) -> Self {
        let Some(skeleton) = model.skeleton() else {
            return Self::default();
        };
        let mut joints = Self::default();
        for (joint, inverse) in model.joints().zip(skeleton.inverse_bind_matrices()) {
            joints.names.push(joint.name.to_string());
            joints
                .parents
                .push(joint.parent.map(|parent| parent as usize));
            joints.bind_pose.push(transform(joint.trs.normalized()));
            joints
                .inverse
                .push(Mat4::from_cols_array_2d(&iqm::to_columns(inverse)));
        }
        joints
    }

    /// The file does not store the hierarchy of the viewer's avatar, so that every joint is a root.
    fn of_slmesh(skin: &slmesh::Skin) -> Self {
        let mut joints = Self::default();
        if let Some(shape) = skin.bind_shape() {
            let [x, y, z] = shape
                .rows()
                .map(|row| Vec4::from_array(row.map(|number| number as f32)));
            joints.shape = Mat4::from_cols(x, y, z, Vec4::W).transpose();
        }
        let (Some(names), Some(pose)) = (&skin.joint_names, skin.bind_pose()) else {
            joints.drops_all = true;
            return joints;
        };
        joints.replaced = pose.replaced.len();
        for (name, joint) in names.iter().zip(&pose.joints) {
            joints.names.push(name.to_string());
            joints.parents.push(None);
            joints
                .bind_pose
                .push(Transform::from_matrix(Mat4::from_cols_array(&joint.place)));
            joints
                .inverse
                .push(Mat4::from_cols_array(&joint.inverse) * joints.shape);
        }
        joints
    }

    /// Adds a joint that nothing moves, for vertices without weights.
    pub(crate) fn add_rest(&mut self) {
        self.names.push("meshmap_rest".to_owned());
        self.parents.push(None);
        self.bind_pose.push(Transform::IDENTITY);
        self.inverse.push(self.shape);
    }

    /// The bounding box of vertices that follow joints, in the bind pose.
    pub(crate) fn in_bind_pose(&self, bounds: Bounds) -> Bounds {
        let [min, max] = [bounds.min, bounds.max].map(Vec3::from_array);
        let corner = |number: u32| {
            let is_max = BVec3::new(number & 1 > 0, number & 2 > 0, number & 4 > 0);
            self.shape.transform_point3(Vec3::select(is_max, max, min))
        };
        let (min, max) = (1..8)
            .map(corner)
            .fold((corner(0), corner(0)), |(min, max), corner| {
                (min.min(corner), max.max(corner))
            });
        Bounds::new(min.to_array(), max.to_array())
    }

    /// `true` if vertices with weights follow a joint. Without joints, they rest in the bind shape.
    pub(crate) fn are_followed(&self) -> bool {
        self.len() > 0 || self.shape != Mat4::IDENTITY
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
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

/// A transform of a file in Bevy's type.
pub(crate) fn transform(trs: iqm::Trs) -> Transform {
    Transform {
        translation: Vec3::from_array(trs.translate),
        rotation: Quat::from_array(trs.rotate),
        scale: Vec3::from_array(trs.scale),
    }
}
