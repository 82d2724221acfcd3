//! Files that were opened by path and replaced afterwards.

use bevy_asset::{AssetServer, Assets};
use bevy_ecs::prelude::*;
use bevy_time::{Time, Timer};

use crate::assets::MeshmapFile;

/// The time between two checks.
#[derive(Resource)]
pub(crate) struct StaleCheck(pub(crate) Timer);

/// Loads files again that were replaced on disk after they were opened.
pub(crate) fn reload_stale(
    time: Res<Time>,
    mut check: ResMut<StaleCheck>,
    server: Res<AssetServer>,
    files: Res<Assets<MeshmapFile>>,
) {
    if !check.0.tick(time.delta()).just_finished() {
        return;
    }
    for (id, file) in files.iter() {
        // A file that cannot be inspected, such as one that is being replaced, is inspected again next time.
        let is_stale = file
            .opened
            .as_ref()
            .is_some_and(|source| source.is_stale().unwrap_or(false));
        if is_stale && let Some(path) = server.get_path(id) {
            server.reload(path.into_owned());
        }
    }
}
