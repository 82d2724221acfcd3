use futures_util::TryStreamExt as _;
use url::Url;

use crate::address::{Place, parse};
use crate::error::{Error, Result};
use crate::fetch::{Settings, brief};

/// A file in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its address, as [`Remote::at`](crate::Remote::at) takes it.
    pub address: String,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Lists the files below an address, in the order of their addresses: `s3://bucket/folder/`.
///
/// Servers of plain HTTP have no lists, unless they speak WebDAV.
///
/// # Errors
///
/// Returns [`Error::Address`] for an address that names no store, and [`Error::Store`] if the store gives no list.
pub async fn list(address: &str) -> Result<Vec<Listed>> {
    of_place(address, parse(address, &Settings::default(), false)?).await
}

/// The files below the address of a place.
pub(crate) async fn of_place(address: &str, place: Place) -> Result<Vec<Listed>> {
    let Place { store, path: prefix, shown } = place;
    let refused = |what: &str| Error::Address { address: shown.clone(), what: what.to_owned() };
    let url = Url::parse(address).map_err(|error| refused(&error.to_string()))?;
    let mut files = Vec::new();
    let mut stream = store.list(Some(&prefix));
    let failed = |error| Error::Store { address: shown.clone(), error: Box::new(brief(error, address)) };
    while let Some(file) = stream.try_next().await.map_err(failed)? {
        let Some(below) = file.location.prefix_match(&prefix) else { continue };
        let mut file_url = url.clone();
        let mut segments = file_url.path_segments_mut().map_err(|()| refused("an address without a path"))?;
        segments.pop_if_empty();
        for part in below {
            segments.push(part.as_ref());
        }
        drop(segments);
        files.push(Listed { address: file_url.into(), bytes: file.size });
    }
    files.sort_by(|a, b| a.address.cmp(&b.address));
    Ok(files)
}
