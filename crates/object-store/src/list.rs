use std::fmt;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use meshmap_url::RemoteUrl;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use url::{Position, Url};

use crate::address::{Place, parse};
use crate::error::{Error, Result};
use crate::fetch::{Settings, brief, identity};
use crate::page::{Refused, RefusedKeys};

/// A file in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its address, as [`Remote::at`](crate::Remote::at) takes it.
    pub address: RemoteUrl,
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
    address: RemoteUrl,
    url: Url,
    prefix: Path,
    files: Files,
}

enum Files {
    /// For a store that returns a list by pages, and begins after a key.
    Pages(Pages),
    /// For any other store, in the order of the keys.
    Sorted(BoxStream<'static, object_store::Result<ObjectMeta>>),
}

/// The pages of a list that are still to be requested.
struct Pages {
    store: Arc<dyn PaginatedListStore>,
    after: Option<String>,
    /// The token of the next page. `None` for the first.
    token: Option<String>,
    is_at_end: bool,
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
    pub fn new(address: impl Into<RemoteUrl>, after: &str) -> Result<Self> {
        let address = address.into();
        let place = parse(&address, &Settings::default(), false)?;
        Self::of_place(address, place, after)
    }

    /// The files below the address of a place.
    pub(crate) fn of_place(address: RemoteUrl, place: Place, after: &str) -> Result<Self> {
        let Place {
            store,
            pages,
            path: prefix,
        } = place;
        let refused = |what: String| Error::Address {
            address: address.clone(),
            what,
        };
        let url = Url::parse(address.with_secrets()).map_err(|error| refused(error.to_string()))?;
        let files = match pages {
            Some(store) => {
                let after = Some(after.to_owned()).filter(|after| !after.is_empty());
                Files::Pages(Pages {
                    store,
                    after,
                    token: None,
                    is_at_end: false,
                })
            }
            None => {
                let after = Path::parse(after).map_err(|error| refused(error.to_string()))?;
                // The end may be asked for again.
                Files::Sorted(sorted(store, &prefix, after).fuse().boxed())
            }
        };
        Ok(Self {
            address,
            url,
            prefix,
            files,
        })
    }

    /// The next files; none at the end. An object whose key cannot be requested, such as `a/../b`, has an address that is refused when it
    /// is read.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the store returns no list.
    pub async fn next_page(&mut self) -> Result<Vec<Listed>> {
        match self.fetch_page().await {
            Ok(page) => Ok(page),
            Err(error) => Err(Error::Store {
                address: self.address.clone(),
                error: Box::new(brief(error, &self.address)),
            }),
        }
    }

    async fn fetch_page(&mut self) -> object_store::Result<Vec<Listed>> {
        let mut page = Vec::new();
        match &mut self.files {
            Files::Pages(pages) => {
                // A page may have no objects, and others after it.
                while page.is_empty() && !pages.is_at_end {
                    let (objects, refused) = pages.next(&self.prefix).await?;
                    page.extend(
                        objects
                            .iter()
                            .filter_map(|file| listed(&self.url, &self.prefix, file)),
                    );
                    if !refused.is_empty() {
                        page.extend(
                            refused
                                .iter()
                                .map(|object| unusable(&self.url, &self.prefix, object)),
                        );
                        page.sort_by(|a, b| a.key.cmp(&b.key));
                    }
                }
            }
            Files::Sorted(files) => {
                while page.len() < PAGE {
                    let Some(file) = files.try_next().await? else {
                        break;
                    };
                    page.extend(listed(&self.url, &self.prefix, &file));
                }
            }
        }
        Ok(page)
    }
}

impl Pages {
    /// The objects of the next page, and those whose keys cannot be requested.
    async fn next(
        &mut self,
        prefix: &Path,
    ) -> object_store::Result<(Vec<ObjectMeta>, Vec<Refused>)> {
        let prefix = Some(format!("{prefix}/")).filter(|prefix| prefix != "/");
        let refused = RefusedKeys::default();
        let mut options = PaginatedListOptions {
            offset: self.after.clone(),
            page_token: self.token.clone(),
            ..PaginatedListOptions::default()
        };
        options.extensions.insert(refused.clone());
        let page = self
            .store
            .list_paginated(prefix.as_deref(), options)
            .await?;
        let token = page.page_token.filter(|token| !token.is_empty());
        if token.is_some() && token == self.token {
            return Err(object_store::Error::Generic {
                store: "list",
                source: "the store repeats a page of the list, which would not end".into(),
            });
        }
        self.is_at_end = token.is_none();
        self.token = token;
        Ok((page.result.objects, refused.take()))
    }
}

fn listed(url: &Url, prefix: &Path, file: &ObjectMeta) -> Option<Listed> {
    let mut url = url.clone();
    let mut segments = url.path_segments_mut().ok()?;
    segments.pop_if_empty();
    segments.extend(
        file.location
            .prefix_match(prefix)?
            .map(|part| part.as_ref().to_owned()),
    );
    drop(segments);
    let (key, version) = (file.location.to_string(), identity(file));
    Some(Listed {
        address: String::from(url).into(),
        key,
        bytes: file.size,
        version,
    })
}

/// An object whose key cannot be requested. Its address has the key as it is, which `Url` would resolve to another one.
fn unusable(url: &Url, prefix: &Path, object: &Refused) -> Listed {
    let folder = url[..Position::AfterPath].trim_end_matches('/');
    let below = object
        .key
        .strip_prefix(prefix.as_ref())
        .unwrap_or(&object.key);
    // The key of an object in the root may begin with a slash, which belongs to it.
    let below = if prefix.as_ref().is_empty() {
        below
    } else {
        below.strip_prefix('/').unwrap_or(below)
    };
    let mut address = format!("{folder}/");
    for c in below.chars() {
        if c.is_ascii_control()
            || matches!(c, ' ' | '"' | '#' | '%' | '<' | '>' | '?' | '`' | '{' | '}')
        {
            address.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            address.push(c);
        }
    }
    Listed {
        address: address.into(),
        key: object.key.clone(),
        bytes: object.bytes,
        version: None,
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
        f.debug_struct("List")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "aws"))]
mod tests {
    use super::*;
    use crate::address::tests::{quick, s3};

    /// Keys that anybody who can write to a store may choose, and that no request can have, are objects like the others, except that
    /// they cannot be read.
    #[tokio::test]
    async fn one_hostile_key_does_not_end_a_list() {
        const KEYS: [(&str, bool); 9] = [
            ("../b.iqm", false),
            ("./c.iqm", false),
            ("/abs.iqm", false),
            ("a/../../d.iqm", false),
            ("b.iqm", true),
            ("c &amp; d.iqm", true),
            ("e//f.iqm", false),
            ("g/%2e%2e/h.iqm", true),
            ("new&#10;line.iqm", false),
        ];
        let mut page =
            "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
        for (key, _) in KEYS {
            page += &format!(
                "<Contents><Key>{key}</Key><LastModified>2020-01-01T00:00:00Z</LastModified>\
                 <ETag>&quot;x&quot;</ETag><Size>7</Size></Contents>"
            );
        }
        page += "</ListBucketResult>";
        let answer = format!(
            "HTTP/1.1 200 x\r\nContent-Length: {}\r\n\r\n{page}",
            page.len()
        );
        let (store, requests) = s3(answer.into_bytes(), &quick());
        let place = Place {
            store: store.objects,
            pages: store.pages,
            path: Path::default(),
        };
        let mut list = List::of_place("s3://bucket/".into(), place, "a/../after.iqm").unwrap();
        let page = list.next_page().await.unwrap();
        assert!(
            requests
                .lock()
                .unwrap()
                .contains("start-after=a%2f..%2fafter.iqm")
        );
        assert_eq!(list.next_page().await.unwrap(), []);

        let keys: Vec<String> = KEYS
            .iter()
            .map(|(key, _)| key.replace("&amp;", "&").replace("&#10;", "\n"))
            .collect();
        assert_eq!(
            page.iter().map(|file| file.key.clone()).collect::<Vec<_>>(),
            keys
        );
        for (file, (_, is_usable)) in page.iter().zip(KEYS) {
            assert_eq!(
                (file.bytes, file.version.is_some()),
                (7, is_usable),
                "{file:?}"
            );
            let place = parse(&file.address, &quick(), false);
            assert_eq!(place.is_ok(), is_usable, "{file:?}");
            if let Ok(place) = place {
                assert_eq!(place.path.as_ref(), file.key);
            }
        }
    }

    /// A store that returns the same page again and again has no end.
    #[tokio::test]
    async fn a_list_that_repeats_a_page_ends() {
        let page = "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>true</IsTruncated>\
            <NextContinuationToken>token</NextContinuationToken></ListBucketResult>";
        let answer = format!(
            "HTTP/1.1 200 x\r\nContent-Length: {}\r\n\r\n{page}",
            page.len()
        );
        let (store, _) = s3(answer.into_bytes(), &quick());
        let place = Place {
            store: store.objects,
            pages: store.pages,
            path: Path::default(),
        };
        let mut list = List::of_place("s3://bucket/".into(), place, "").unwrap();
        let error = list.next_page().await.unwrap_err().to_string();
        assert_eq!(
            error,
            "s3://bucket/: the store repeats a page of the list, which would not end"
        );
    }
}
