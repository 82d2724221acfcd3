//! The bytes of an asset: read whole through Bevy's asset source, or opened by path.

use std::path::PathBuf;

use bevy_asset::io::{AssetSourceId, Reader};
use bevy_asset::{AssetPath, AsyncReadExt};
use meshmap::Source;

use crate::error::MeshmapError;
use crate::settings::MeshmapSettings;

const PIECE: usize = 1 << 20;

/// The ways in which files may be read.
pub(crate) struct Access {
    /// The most bytes that are read whole.
    pub(crate) max_whole: usize,
    /// The folder of the default asset source.
    pub(crate) folder: Option<PathBuf>,
    /// `true` if the caller of `MeshmapPlugin::with_maps` has promised what maps need.
    pub(crate) maps: bool,
}

/// The source of a file. It has an identity, for [`Source::is_stale`], if the file is opened by path.
pub(crate) async fn source(
    access: &Access,
    reader: &mut dyn Reader,
    settings: &MeshmapSettings,
    path: &AssetPath<'_>,
) -> Result<Source, MeshmapError> {
    let on_disk = on_disk(access, path);
    if access.maps
        && settings.map
        && let Some(file) = &on_disk
    {
        return map(file);
    }
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        // One more byte than allowed shows that the file is too long.
        let piece = PIECE.min(access.max_whole.saturating_sub(start).saturating_add(1));
        bytes.resize(start + piece, 0);
        let read = reader
            .read(bytes.get_mut(start..).unwrap_or_default())
            .await?;
        bytes.truncate(start + read);
        if read == 0 {
            return Ok(Source::from_bytes(bytes));
        }
        if bytes.len() > access.max_whole {
            let too_large = MeshmapError::TooLarge {
                path: path.path().to_owned(),
                max_whole: access.max_whole,
            };
            return Ok(Source::open(on_disk.ok_or(too_large)?)?);
        }
    }
}

/// The path of an asset of the default source on disk, if the plugin knows the folder.
fn on_disk(access: &Access, path: &AssetPath<'_>) -> Option<PathBuf> {
    let is_default = matches!(path.source(), AssetSourceId::Default);
    let file = access.folder.as_ref()?.join(path.path());
    (is_default && file.is_file()).then_some(file)
}

#[cfg(not(target_arch = "wasm32"))]
#[allow(unsafe_code, reason = "the library's maps are unsafe to make")]
fn map(file: &std::path::Path) -> Result<Source, MeshmapError> {
    // SAFETY: `access.maps` is only set by `MeshmapPlugin::with_maps`, whose caller promises that no file in the folder is
    // truncated or written while an asset or a clone of its source lives.
    Ok(unsafe { Source::map(file) }?)
}

/// The web has no maps, and [`MeshmapPlugin`](crate::MeshmapPlugin) cannot ask for them there.
#[cfg(target_arch = "wasm32")]
fn map(file: &std::path::Path) -> Result<Source, MeshmapError> {
    Ok(Source::open(file)?)
}
