//! The plugin.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bevy_animation::graph::{AnimationGraph, AnimationGraphHandle};
use bevy_animation::{AnimatedBy, AnimationClip, AnimationPlayer, AnimationTargetId};
use bevy_app::{App, Plugin, Update};
use bevy_asset::{Asset, AssetApp, AssetServer, Assets};
use bevy_camera::primitives::Aabb;
use bevy_camera::visibility::{
    InheritedVisibility, NoFrustumCulling, ViewVisibility, Visibility, VisibilityClass,
    VisibilityRange,
};
use bevy_ecs::hierarchy::{ChildOf, Children};
use bevy_ecs::name::Name;
use bevy_ecs::schedule::IntoScheduleConfigs;
use bevy_mesh::skinning::{SkinnedMesh, SkinnedMeshInverseBindposes};
use bevy_mesh::{Mesh, Mesh3d};
use bevy_time::{Timer, TimerMode};
use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};
use bevy_world_serialization::WorldAsset;
use meshmap::cgeo::SnapshotCache;
use meshmap::{Format, Options};

use crate::assets::{MeshmapFile, MeshmapMaterial, MeshmapMesh, MeshmapSkin};
use crate::image::Sources;
use crate::loader::MeshmapLoader;
use crate::read::Access;
use crate::reload::{StaleCheck, reload_stale};
use crate::stream::{StreamCache, advance, restart};

/// Adds the loader, the assets and [`StreamedProxy`](crate::StreamedProxy). Add it after Bevy's own plugins.
#[derive(Clone, Debug)]
pub struct MeshmapPlugin {
    /// The most bytes that are read whole through an asset source: 512 MiB. A larger file is opened by path, if the folder of the
    /// assets is known, or else refused.
    pub max_whole: usize,
    /// Limits and other options of the library.
    pub options: Options,
    /// The bytes of decoded snapshots that all streams hold together: 256 MiB.
    pub stream_bytes: u64,
    /// The time between two checks for replaced files; only files that were opened by path are checked.
    pub stale_check: Duration,
    folder: Option<PathBuf>,
    maps: bool,
}

impl Default for MeshmapPlugin {
    fn default() -> Self {
        Self {
            max_whole: 512 << 20,
            options: Options::default(),
            stream_bytes: 256 << 20,
            stale_check: Duration::from_secs(1),
            folder: None,
            maps: false,
        }
    }
}

impl MeshmapPlugin {
    /// Opens files above [`max_whole`](Self::max_whole) by path. `folder` is the folder of the default asset source.
    #[must_use]
    pub fn with_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
            ..self
        }
    }

    /// Maps the files of the default asset source into memory. `folder` is its folder.
    ///
    /// # Safety
    ///
    /// While a [`MeshmapFile`], a clone of its proxy, or a load is alive, no process may truncate or write the file: replace
    /// files by renaming. See [`Source::map`](meshmap::Source::map).
    #[cfg(not(target_arch = "wasm32"))]
    #[must_use]
    #[allow(unsafe_code, reason = "the caller promises what maps need")]
    pub unsafe fn with_maps(self, folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
            maps: true,
            ..self
        }
    }
}

impl Plugin for MeshmapPlugin {
    fn build(&self, app: &mut App) {
        app.init_asset::<MeshmapFile>()
            .init_asset::<MeshmapMesh>()
            .init_asset::<MeshmapMaterial>()
            .init_asset::<MeshmapSkin>();
        init_foreign::<Mesh>(app);
        init_foreign::<SkinnedMeshInverseBindposes>(app);
        init_foreign::<AnimationClip>(app);
        init_foreign::<AnimationGraph>(app);
        init_foreign::<WorldAsset>(app);
        #[cfg(feature = "pbr")]
        init_foreign::<bevy_image::Image>(app);
        #[cfg(feature = "pbr")]
        init_foreign::<bevy_pbr::StandardMaterial>(app);
        // The components of scenes, which Bevy's plugins also register.
        app.register_type::<Transform>()
            .register_type::<GlobalTransform>()
            .register_type::<TransformTreeChanged>()
            .register_type::<Visibility>()
            .register_type::<InheritedVisibility>()
            .register_type::<ViewVisibility>()
            .register_type::<VisibilityClass>()
            .register_type::<Name>()
            .register_type::<ChildOf>()
            .register_type::<Children>()
            .register_type::<Mesh3d>()
            .register_type::<SkinnedMesh>()
            .register_type::<Aabb>()
            .register_type::<NoFrustumCulling>()
            .register_type::<VisibilityRange>()
            .register_type::<AnimationPlayer>()
            .register_type::<AnimationGraphHandle>()
            .register_type::<AnimationTargetId>()
            .register_type::<AnimatedBy>();
        #[cfg(feature = "pbr")]
        app.register_type::<bevy_pbr::MeshMaterial3d<bevy_pbr::StandardMaterial>>();
        let extensions = Format::ALL
            .iter()
            .flat_map(|format| format.extensions())
            .copied()
            .collect();
        let sources = Sources::of(app.world().resource::<AssetServer>());
        app.register_asset_loader(MeshmapLoader {
            sources: sources.weak(),
            access: Access {
                max_whole: self.max_whole,
                folder: self.folder.clone(),
                maps: self.maps,
            },
            options: self.options,
            extensions,
        });
        app.insert_resource(sources)
            .insert_resource(StreamCache(Arc::new(SnapshotCache::new(self.stream_bytes))))
            .insert_resource(StaleCheck(Timer::new(
                self.stale_check,
                TimerMode::Repeating,
            )))
            .add_systems(Update, (restart, advance, reload_stale).chain());
    }
}

/// Initializes an asset of Bevy, unless its own plugin has done it.
fn init_foreign<A: Asset>(app: &mut App) {
    if !app.world().contains_resource::<Assets<A>>() {
        app.init_asset::<A>();
    }
}
