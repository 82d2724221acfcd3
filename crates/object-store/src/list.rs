use std::fmt;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use url::Url;

use crate::address::{Place, parse, without_secrets};
use crate::error::{Error, Result};
use crate::fetch::{Settings, brief, identity};

/// A file in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its address, as [`Remote::at`](crate::Remote::at) takes it.
    pub address: String,
    /// Its name in the store, by which lists are ordered.
    pub key: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// A text that no other version of the file has; see [`Blocking::version`](crate::Blocking::version).
    pub version: Option<String>,
}

/// The files below an address such as `s3://bucket/folder/`, in the order of their keys, a page at a time.
///
/// A part of a long list is read without the rest of it: it begins after a key.
pub struct List {
    address: String,
    url: Url,
    prefix: Path,
    files: BoxStream<'static, object_store::Result<ObjectMeta>>,
}

/// The files of a page: as many as stores return for a request.
const PAGE: usize = 1000;

impl List {
    /// The files below an address whose keys are greater than `after`, which is empty for all files.
    ///
    /// Servers of plain HTTP have no lists, unless they speak WebDAV.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Address`] for an address that names no store.
    pub fn new(address: &str, after: &str) -> Result<Self> {
        Self::of_place(address, parse(address, &Settings::default(), false)?, after)
    }

    /// The files below the address of a place.
    pub(crate) fn of_place(address: &str, place: Place, after: &str) -> Result<Self> {
        let Place { store, path: prefix, shown } = place;
        let refused = |what: String| Error::Address { address: shown.clone(), what };
        let url = Url::parse(address).map_err(|error| refused(error.to_string()))?;
        let after = Path::parse(after).map_err(|error| refused(error.to_string()))?;
        let files = match url.scheme() {
            "s3" | "s3a" | "gs" if after.as_ref().is_empty() => store.list(Some(&prefix)),
            "s3" | "s3a" | "gs" => store.list_with_offset(Some(&prefix), &after),
            _ => sorted(store, &prefix, after),
        };
        // The end may be asked for again.
        let files = files.fuse().boxed();
        Ok(Self { address: address.to_owned(), url, prefix, files })
    }

    /// The next files; none at the end.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the store returns no list.
    pub async fn next_page(&mut self) -> Result<Vec<Listed>> {
        let mut page = Vec::new();
        while page.len() < PAGE {
            let failed = |error| Error::Store {
                address: without_secrets(&self.address),
                error: Box::new(brief(error, &self.address)),
            };
            let Some(file) = self.files.try_next().await.map_err(failed)? else { break };
            page.extend(self.listed(&file));
        }
        Ok(page)
    }

    fn listed(&self, file: &ObjectMeta) -> Option<Listed> {
        let mut url = self.url.clone();
        let mut segments = url.path_segments_mut().ok()?;
        segments.pop_if_empty();
        segments.extend(file.location.prefix_match(&self.prefix)?.map(|part| part.as_ref().to_owned()));
        drop(segments);
        let (key, version) = (file.location.to_string(), identity(file));
        Some(Listed { address: url.into(), key, bytes: file.size, version })
    }
}

/// The whole list of a store that has no order.
fn sorted(
    store: Arc<dyn ObjectStore>,
    prefix: &Path,
    after: Path,
) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
    let files = store.list(Some(prefix)).try_collect::<Vec<_>>();
    let sorted = async move {
        let mut files = files.await?;
        files.retain(|file| file.location > after);
        files.sort_by(|a, b| a.location.cmp(&b.location));
        Ok::<_, object_store::Error>(stream::iter(files.into_iter().map(Ok)))
    };
    stream::once(sorted).try_flatten().boxed()
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List").field("address", &without_secrets(&self.address)).finish_non_exhaustive()
    }
}
