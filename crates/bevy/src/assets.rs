//! The assets that a file becomes.

use bevy_animation::AnimationClip;
use bevy_animation::graph::{AnimationGraph, AnimationNodeIndex};
use bevy_asset::{Asset, AssetPath, Handle};
use bevy_color::Color;
use bevy_mesh::Mesh;
use bevy_mesh::skinning::SkinnedMeshInverseBindposes;
use bevy_reflect::TypePath;
use bevy_transform::components::Transform;
use bevy_world_serialization::WorldAsset;
use meshmap::{Bounds, Format, cgeo};

/// A loaded file.
#[derive(Asset, TypePath, Debug)]
pub struct MeshmapFile {
    /// The format, detected by content.
    pub format: Format,
    /// All meshes as entities, below a root that turns and scales them.
    pub scene: Handle<WorldAsset>,
    /// The transform of the scene's root: converts the axes and the unit of the file as the settings ask.
    pub root: Transform,
    /// The meshes: of the finest loaded level first.
    pub meshes: Vec<Handle<MeshmapMesh>>,
    /// The materials, in the order of their first use.
    pub materials: Vec<Handle<MeshmapMaterial>>,
    /// The skins.
    pub skins: Vec<Handle<MeshmapSkin>>,
    /// The animations, in the order of the file.
    pub animations: Vec<MeshmapAnimation>,
    /// The graph of all animations; `None` if there are none.
    pub graph: Option<Handle<AnimationGraph>>,
    /// The file of a CGeo proxy, from which [`StreamedProxy`](crate::StreamedProxy) reads snapshots.
    pub proxy: Option<cgeo::Proxy>,
    /// The source of the file if it was opened by path: [`is_stale`](meshmap::Source::is_stale) reports a replaced file.
    pub opened: Option<meshmap::Source>,
    /// The errors of parts that were left out, and a sentence for each kind of data that Bevy does not show.
    pub warnings: Vec<String>,
    /// `true` if corners of triangles have another order than in the file.
    pub(crate) turns_triangles: bool,
}

/// A mesh, with one primitive per run of triangles of one material.
#[derive(Asset, TypePath, Clone, Debug)]
pub struct MeshmapMesh {
    /// The name; empty if the file has none. Faces of Second Life meshes have the names `face_0`, `face_0_lod1` and so on.
    pub name: String,
    /// The address in the file, as the library and the command `meshmap` use it.
    pub address: String,
    /// The level of detail; `None` if the mesh is not one.
    pub lod: Option<u32>,
    /// The primitives; none of a mesh without triangles, unless all meshes are points.
    pub primitives: Vec<MeshmapPrimitive>,
}

/// The triangles of one material.
#[derive(Clone, Debug)]
pub struct MeshmapPrimitive {
    /// The mesh.
    pub mesh: Handle<Mesh>,
    /// The index of the material in [`MeshmapFile::materials`].
    pub material: usize,
    /// The bounding box in the axes of the file, in the bind pose; `None` without finite positions.
    pub bounds: Option<Bounds>,
}

/// A material: a name, an image and an ID, which are all that these formats store.
#[derive(Asset, TypePath, Clone, Debug, PartialEq)]
pub struct MeshmapMaterial {
    /// The name, often the path of an image; empty if the file has none.
    pub name: String,
    /// The material ID.
    pub id: u32,
    /// The base colour: white, which colours of vertices and an image are multiplied by, or else the colour that all programs of
    /// meshmap give the material ([`Tints`](meshmap_scene::Tints)).
    pub color: Color,
    /// The image as the file names it.
    pub image: Option<String>,
    /// The path of the image, if it is in the folder of the file or in one below.
    pub image_path: Option<AssetPath<'static>>,
    /// `true` for points, which have no surface that light falls on.
    pub unlit: bool,
}

/// The joints of skinned meshes.
#[derive(Asset, TypePath, Clone, Debug)]
pub struct MeshmapSkin {
    /// The names of the joints.
    pub names: Vec<String>,
    /// The parent of each joint, which comes before it.
    pub parents: Vec<Option<usize>>,
    /// The bind pose of each joint, relative to its parent.
    pub bind_pose: Vec<Transform>,
    /// The inverse bind matrices.
    pub inverse_bindposes: Handle<SkinnedMeshInverseBindposes>,
}

/// An animation of a file.
#[derive(Clone, Debug)]
pub struct MeshmapAnimation {
    /// The name.
    pub name: String,
    /// The clip.
    pub clip: Handle<AnimationClip>,
    /// The node of the clip in [`MeshmapFile::graph`].
    pub node: AnimationNodeIndex,
    /// `true` if the file asks to repeat the animation. The clip then ends with its first frame.
    pub repeats: bool,
}
