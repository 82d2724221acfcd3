//! The settings of one load, which `.meta` files and `LoadBuilder::with_settings` change.

use bevy_asset::RenderAssetUsages;
use serde::{Deserialize, Serialize};

/// The settings of [`MeshmapLoader`](crate::MeshmapLoader).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct MeshmapSettings {
    /// The worlds that hold the meshes.
    pub usages: RenderAssetUsages,
    /// The axes of the scene.
    pub axes: Axes,
    /// A factor of the scene's scale, after the units of the file.
    pub scale: f32,
    /// The levels of detail that are loaded.
    pub levels: Levels,
    /// With [`Levels::All`]: the distance at which each level gives way to the next coarser one.
    pub level_distances: Vec<f32>,
    /// The vertex attributes that are loaded.
    pub parts: MeshParts,
    /// The treatment of damaged parts.
    pub damaged: DamagedParts,
    /// If `true`, animations are loaded as clips.
    pub animations: bool,
    /// If `true`, a file on disk is mapped instead of read. Only a plugin made by
    /// [`MeshmapPlugin::with_maps`](crate::MeshmapPlugin::with_maps) allows maps; other plugins read the file.
    pub map: bool,
}

impl Default for MeshmapSettings {
    fn default() -> Self {
        Self {
            usages: RenderAssetUsages::default(),
            axes: Axes::default(),
            scale: 1.0,
            levels: Levels::default(),
            level_distances: vec![10.0, 25.0, 60.0],
            parts: MeshParts::default(),
            damaged: DamagedParts::default(),
            animations: true,
            map: true,
        }
    }
}

/// The axes and the unit of a scene.
///
/// Vertices always stay in the axes of the file, so that skins and animations fit: the root entity of the scene turns them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Axes {
    /// Bevy's axes: Y up, metres. Files whose format does not define an up axis have the
    /// [usual one](meshmap::Format::usual_up).
    #[default]
    Bevy,
    /// Bevy's axes, from a file with Y up.
    FromYUp,
    /// Bevy's axes, from a file with Z up.
    FromZUp,
    /// As in the file, without a change of the unit.
    AsStored,
}

/// The levels of detail that are loaded from a file that stores several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Levels {
    /// The finest level.
    #[default]
    Finest,
    /// All levels, with a `VisibilityRange` on each entity.
    All,
    /// The level with this index; 0 is the finest.
    One(u32),
}

/// The vertex attributes that are loaded besides positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MeshParts {
    /// Normals. If a file has none, they are computed from the triangles.
    pub normals: bool,
    /// Tangents.
    pub tangents: bool,
    /// The first two sets of texture coordinates.
    pub texcoords: bool,
    /// Colours.
    pub colors: bool,
    /// Joint indices and weights.
    pub skin: bool,
}

impl Default for MeshParts {
    fn default() -> Self {
        Self {
            normals: true,
            tangents: true,
            texcoords: true,
            colors: true,
            skin: true,
        }
    }
}

/// The treatment of parts of a file that cannot be decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DamagedParts {
    /// The load fails with the error of the library.
    #[default]
    Fail,
    /// The part is left out, with a warning in the log and in [`MeshmapFile::warnings`](crate::MeshmapFile::warnings).
    Skip,
}
