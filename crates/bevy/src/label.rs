//! The labels of the assets in a file.

use std::fmt;

use bevy_asset::AssetPath;

/// The label of an asset in a file, as after `#` in an asset path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeshmapLabel {
    /// `Scene0`: all meshes as entities, a `WorldAsset`.
    Scene,
    /// `Mesh{}`: a [`MeshmapMesh`](crate::MeshmapMesh). Levels other than the finest that is loaded: `Lod{}/Mesh{}`.
    Mesh {
        /// The level of detail; `None` for the finest level that is loaded, and for files without levels.
        lod: Option<u32>,
        /// The index among the meshes of the level.
        mesh: usize,
    },
    /// `Mesh{}/Primitive{}` or `Lod{}/Mesh{}/Primitive{}`: the triangles of one material, a Bevy `Mesh`.
    Primitive {
        /// The level of detail, as in [`Mesh`](Self::Mesh).
        lod: Option<u32>,
        /// The index among the meshes of the level.
        mesh: usize,
        /// The index of the run of triangles.
        primitive: usize,
    },
    /// `Material{}`: a [`MeshmapMaterial`](crate::MeshmapMaterial).
    Material(usize),
    /// `Material{}/std`: a `StandardMaterial`, with the feature `pbr`.
    StandardMaterial(usize),
    /// `Skin{}`: a [`MeshmapSkin`](crate::MeshmapSkin).
    Skin(usize),
    /// `Skin{}/InverseBindMatrices`: the `SkinnedMeshInverseBindposes` of a skin.
    InverseBindMatrices(usize),
    /// `Animation/{}`: an `AnimationClip`, by its name.
    Animation(String),
    /// `AnimationGraph`: the graph of all clips.
    AnimationGraph,
}

impl fmt::Display for MeshmapLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scene => f.write_str("Scene0"),
            Self::Mesh { lod: None, mesh } => write!(f, "Mesh{mesh}"),
            Self::Mesh {
                lod: Some(lod),
                mesh,
            } => write!(f, "Lod{lod}/Mesh{mesh}"),
            Self::Primitive {
                lod,
                mesh,
                primitive,
            } => {
                write!(
                    f,
                    "{}/Primitive{primitive}",
                    Self::Mesh {
                        lod: *lod,
                        mesh: *mesh
                    }
                )
            }
            Self::Material(index) => write!(f, "Material{index}"),
            Self::StandardMaterial(index) => write!(f, "Material{index}/std"),
            Self::Skin(index) => write!(f, "Skin{index}"),
            Self::InverseBindMatrices(index) => write!(f, "Skin{index}/InverseBindMatrices"),
            Self::Animation(name) => write!(f, "Animation/{name}"),
            Self::AnimationGraph => f.write_str("AnimationGraph"),
        }
    }
}

impl MeshmapLabel {
    /// The path of this asset in a file.
    pub fn from_asset(&self, path: impl Into<AssetPath<'static>>) -> AssetPath<'static> {
        path.into().with_label(self.to_string())
    }
}
