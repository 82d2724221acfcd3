//! The bytes of an asset: read whole through Bevy's asset source, or opened by path.

use std::path::PathBuf;

use bevy_asset::io::{AssetSourceId, Reader};
use bevy_asset::{AssetPath, AsyncReadExt};
use meshmap::Source;

use crate::error::MeshmapError;
use crate::loader::MeshmapLoader;
use crate::settings::MeshmapSettings;

const PIECE: usize = 1 << 20;

/// The source of a file. It has an identity, for [`Source::is_stale`], if the file is opened by path.
pub(crate) async fn source(
    loader: &MeshmapLoader,
    reader: &mut dyn Reader,
    settings: &MeshmapSettings,
    path: &AssetPath<'_>,
) -> Result<Source, MeshmapError> {
    let on_disk = on_disk(loader, path);
    #[cfg(not(target_arch = "wasm32"))]
    if loader.maps
        && settings.map
        && let Some(file) = &on_disk
    {
        return map(file);
    }
    #[cfg(target_arch = "wasm32")]
    let _ = settings;
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        // One more byte than may be read tells a file that ends there from a longer one.
        let piece = PIECE.min(loader.max_whole.saturating_sub(start).saturating_add(1));
        bytes.resize(start + piece, 0);
        let read = reader.read(bytes.get_mut(start..).unwrap_or_default()).await?;
        bytes.truncate(start + read);
        if read == 0 {
            return Ok(Source::from_bytes(bytes));
        }
        if bytes.len() > loader.max_whole {
            let too_large =
                MeshmapError::TooLarge { path: path.path().to_owned(), max_whole: loader.max_whole };
            return Ok(Source::open(on_disk.ok_or(too_large)?)?);
        }
    }
}

/// The path of an asset of the default source on disk, if the plugin knows the folder.
fn on_disk(loader: &MeshmapLoader, path: &AssetPath<'_>) -> Option<PathBuf> {
    let is_default = matches!(path.source(), AssetSourceId::Default);
    let file = loader.folder.as_ref()?.join(path.path());
    (is_default && file.is_file()).then_some(file)
}

#[cfg(not(target_arch = "wasm32"))]
#[allow(unsafe_code, reason = "the library's maps are unsafe to make")]
fn map(file: &std::path::Path) -> Result<Source, MeshmapError> {
    // SAFETY: `loader.maps` is only set by `MeshmapPlugin::with_maps`, whose caller promises that no file in the folder is
    // truncated or written while an asset or a clone of its source lives.
    Ok(unsafe { Source::map(file) }?)
}
