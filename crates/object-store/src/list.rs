use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use meshmap_url::RemoteUrl;
use object_store::list::PaginatedListOptions;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use url::{Position, Url};

use crate::address::{Place, parse};
use crate::charge::{Call, FileMeter, Held};
use crate::error::{Error, Result};
use crate::fetch::{Settings, brief, identity};
use crate::page::{Refused, RefusedKeys};
use crate::shared::Lists;

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
    /// `true` if the key is greater than the keys of all entries before this one. `false` for an entry that the store repeats or does not
    /// sort: a list that begins after its key also has other entries than follow it here.
    pub in_order: bool,
}

/// The files below an address such as `s3://bucket/folder/`, in the order of their keys, a page at a time.
///
/// A part of a long list is read without the rest of it: it begins after a key.
///
/// The requests of a list end after [`Settings::deadline`](crate::Settings::deadline), all of them together: a server may return new pages
/// for ever. A page is at most 16 MiB. The list of a store that does not sort it, which is every store but S3 and Google Cloud, is held whole,
/// within `max_total_bytes` of [`Settings::options`](crate::Settings::options).
pub struct List {
    address: RemoteUrl,
    url: Url,
    prefix: Path,
    /// Keys up to this one are left out.
    after: String,
    /// The greatest key so far.
    last: String,
    /// The time for all requests, and the time that they have taken.
    deadline: Duration,
    spent: Duration,
    files: Files,
}

enum Files {
    /// For a store that returns a list by pages in the order of the keys, and begins after a key.
    Pages(Pages),
    /// For any other store, of which nothing has been requested yet.
    Unsorted(Unsorted, FileMeter),
    /// The rest of a list that is held whole, in the order of the keys, and the charge of its memory.
    Sorted(std::vec::IntoIter<Listed>, Held),
}

/// The URL of the object with a key, below the URL of its bucket or of a folder that has it.
///
/// # Errors
///
/// Returns [`Error::Address`] if the folder cannot be parsed as a URL.
pub fn url_of_key(folder: &RemoteUrl, key: &str) -> Result<RemoteUrl> {
    let url = Url::parse(folder.with_secrets()).map_err(|error| Error::Address {
        address: folder.clone(),
        what: error.to_string(),
    })?;
    let prefix = Path::from_url_path(url.path()).map_err(|error| Error::Address {
        address: folder.clone(),
        what: error.to_string(),
    })?;
    let usable = Path::parse(key).ok().filter(|path| path.as_ref() == key);
    let address = usable.and_then(|path| address_below(&url, &prefix, &path));
    Ok(address.unwrap_or_else(|| unusable_address(&url, &prefix, key)))
}

/// A store whose lists are sorted here.
enum Unsorted {
    Pages(Pages),
    Objects(Arc<dyn ObjectStore>),
}

/// The pages of a list that are still to be requested.
struct Pages {
    lists: Lists,
    settings: Arc<Settings>,
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
        let settings = Settings::default();
        let place = parse(&address, &settings, false)?;
        Self::of_place(address, place, after, &settings)
    }

    /// The files below the address of a place.
    pub(crate) fn of_place(
        address: RemoteUrl,
        place: Place,
        after: &str,
        settings: &Settings,
    ) -> Result<Self> {
        let Place {
            store,
            pages,
            path: prefix,
        } = place;
        let url = Url::parse(address.with_secrets()).map_err(|error| Error::Address {
            address: address.clone(),
            what: error.to_string(),
        })?;
        let meter = FileMeter::new(&settings.options.limits);
        let files = match pages {
            Some(lists) if lists.is_sorted => Files::Pages(Pages::new(lists, after, settings)),
            Some(lists) => Files::Unsorted(Unsorted::Pages(Pages::new(lists, "", settings)), meter),
            None => Files::Unsorted(Unsorted::Objects(store), meter),
        };
        Ok(Self {
            address,
            url,
            prefix,
            after: after.to_owned(),
            last: after.to_owned(),
            deadline: settings.deadline,
            spent: Duration::ZERO,
            files,
        })
    }

    /// The next files; none at the end.
    ///
    /// Every entry of the store is one here. An object whose key cannot be requested, such as `a/../b`, or is not below the address, has an
    /// address that is refused when it is read. An entry that is repeated or not sorted is not [`in_order`](Listed::in_order).
    ///
    /// # Errors
    ///
    /// Returns [`Error::Store`] if the store returns no list, or not the whole list before the deadline, and [`Error::Mesh`] if a list that
    /// is held whole exceeds the limit.
    pub async fn next_page(&mut self) -> Result<Vec<Listed>> {
        let left = self.deadline.saturating_sub(self.spent);
        let start = Instant::now();
        let page = tokio::time::timeout(left, self.fetch_page()).await;
        self.spent = self.spent.saturating_add(start.elapsed());
        page.unwrap_or_else(|_| {
            let what = format!(
                "not all of the list came within {:?}, the deadline",
                self.deadline
            );
            Err(self.store_error(list_error(what)))
        })
    }

    async fn fetch_page(&mut self) -> Result<Vec<Listed>> {
        // A page may have no objects, and others after it.
        loop {
            let Some(mut page) = self.fetch_entries().await? else {
                return Ok(Vec::new());
            };
            page.retain(|file| file.key > self.after);
            for file in &mut page {
                file.in_order = file.key > self.last;
                if file.in_order {
                    self.last.clone_from(&file.key);
                }
            }
            if !page.is_empty() {
                return Ok(page);
            }
        }
    }

    /// The entries of the next page, in the order of their keys. `None` at the end.
    async fn fetch_entries(&mut self) -> Result<Option<Vec<Listed>>> {
        if let Files::Unsorted(store, meter) = &mut self.files {
            let mut held = meter.charge(&Call::of_thread());
            let collected = match store {
                Unsorted::Pages(pages) => {
                    collect_pages(pages, &self.url, &self.prefix, &mut held).await
                }
                Unsorted::Objects(store) => {
                    collect_objects(store, &self.url, &self.prefix, &mut held).await
                }
            };
            let mut files = collected.map_err(|error| self.list_error(error))?;
            files.sort_by(|a, b| a.key.cmp(&b.key));
            self.files = Files::Sorted(files.into_iter(), held);
        }
        match &mut self.files {
            Files::Pages(pages) if pages.is_at_end => Ok(None),
            Files::Pages(pages) => {
                let page = pages.next(&self.url, &self.prefix).await;
                Ok(Some(page.map_err(|error| self.store_error(error))?))
            }
            Files::Sorted(files, held) => {
                let page: Vec<Listed> = files.by_ref().take(PAGE).collect();
                if page.is_empty() {
                    held.shrink_to(0);
                    return Ok(None);
                }
                Ok(Some(page))
            }
            Files::Unsorted(..) => Ok(None),
        }
    }

    /// Keys greater than `after` that divide the list into parts, in order: names of folders, so that each part begins with a folder. None if
    /// the store does not sort its lists or if there are no folders.
    ///
    /// The parts can be listed side by side, each as a list that begins after its key. No more than 64 requests are made for them.
    pub async fn boundaries(&self, after: &str) -> Vec<String> {
        /// The number of parts from which on no smaller folders are looked for, and the most parts.
        const ENOUGH: usize = 32;
        const MOST: usize = 128;
        const MOST_REQUESTS: usize = 64;
        let Files::Pages(Pages {
            lists, settings, ..
        }) = &self.files
        else {
            return Vec::new();
        };
        // Directory buckets of S3 do not sort their lists.
        if self
            .url
            .host_str()
            .is_some_and(|host| host.contains("--x-s3"))
        {
            return Vec::new();
        }
        let mut found = BTreeSet::new();
        let mut level = Vec::from([below(&self.prefix)]);
        let mut requests = 0;
        while !level.is_empty() && found.len() < ENOUGH {
            let mut next = Vec::new();
            for folder in std::mem::take(&mut level) {
                let mut token = None;
                while requests < MOST_REQUESTS {
                    requests += 1;
                    let mut options = PaginatedListOptions {
                        // A folder that begins before the key may have keys after it.
                        offset: Some(after.to_owned()).filter(|after| !after.is_empty()),
                        delimiter: Some("/".into()),
                        page_token: token.take(),
                        ..PaginatedListOptions::default()
                    };
                    options.extensions.insert(RefusedKeys::default());
                    settings.wait_for_turn().await;
                    let page = lists.store.list_paginated(folder.as_deref(), options).await;
                    // Folders that no request can name are listed, but divide nothing.
                    let Ok(page) = page else { break };
                    next.extend(
                        page.result
                            .common_prefixes
                            .iter()
                            .map(|path| format!("{path}/")),
                    );
                    token = page.page_token.filter(|token| !token.is_empty());
                    if token.is_none() {
                        break;
                    }
                }
            }
            found.extend(
                next.iter()
                    .filter(|folder| folder.as_str() > after)
                    .cloned(),
            );
            level.extend(next.into_iter().map(Some));
        }
        let step = found.len().div_ceil(MOST).max(1);
        found.into_iter().step_by(step).collect()
    }

    fn list_error(&self, error: ListError) -> Error {
        match error {
            ListError::Store(error) => self.store_error(error),
            ListError::Limit(error) => Error::Mesh {
                address: self.address.clone(),
                error,
            },
        }
    }

    fn store_error(&self, error: object_store::Error) -> Error {
        Error::Store {
            address: self.address.clone(),
            error: Box::new(brief(error, &self.address)),
        }
    }
}

/// The reason why a list cannot be held.
enum ListError {
    Store(object_store::Error),
    Limit(meshmap::Error),
}

impl From<object_store::Error> for ListError {
    fn from(error: object_store::Error) -> Self {
        Self::Store(error)
    }
}

impl From<meshmap::Error> for ListError {
    fn from(error: meshmap::Error) -> Self {
        Self::Limit(error)
    }
}

fn list_error(what: String) -> object_store::Error {
    object_store::Error::Generic {
        store: "list",
        source: what.into(),
    }
}

/// The memory of an entry. A vector that grows has room for twice as many.
fn weight(file: &Listed) -> u64 {
    let texts = file.address.with_secrets().len()
        + file.key.len()
        + file.version.as_ref().map_or(0, String::len);
    (2 * size_of::<Listed>() + texts) as u64
}

/// All entries of a store that returns them by pages.
async fn collect_pages(
    pages: &mut Pages,
    url: &Url,
    prefix: &Path,
    held: &mut Held,
) -> Result<Vec<Listed>, ListError> {
    let mut files = Vec::new();
    while !pages.is_at_end {
        let page = pages.next(url, prefix).await?;
        held.grow(page.iter().map(weight).sum())?;
        files.extend(page);
    }
    Ok(files)
}

/// All entries of a store that has no pages.
async fn collect_objects(
    store: &Arc<dyn ObjectStore>,
    url: &Url,
    prefix: &Path,
    held: &mut Held,
) -> Result<Vec<Listed>, ListError> {
    let mut files = Vec::new();
    let mut objects = store.list(Some(prefix));
    while let Some(object) = objects.try_next().await? {
        let file = listed(url, prefix, &object);
        held.grow(weight(&file))?;
        files.push(file);
    }
    Ok(files)
}

impl Pages {
    fn new(lists: Lists, after: &str, settings: &Settings) -> Self {
        Self {
            lists,
            settings: Arc::new(settings.clone()),
            after: Some(after.to_owned()).filter(|after| !after.is_empty()),
            token: None,
            is_at_end: false,
        }
    }

    /// The entries of the next page, in the order of their keys.
    async fn next(&mut self, url: &Url, prefix: &Path) -> object_store::Result<Vec<Listed>> {
        let below = below(prefix);
        let refused = RefusedKeys::default();
        let mut options = PaginatedListOptions {
            offset: self.after.clone(),
            page_token: self.token.clone(),
            ..PaginatedListOptions::default()
        };
        options.extensions.insert(refused.clone());
        self.settings.wait_for_turn().await;
        let page = self
            .lists
            .store
            .list_paginated(below.as_deref(), options)
            .await?;
        let token = page.page_token.filter(|token| !token.is_empty());
        if token.is_some() && token == self.token {
            let what = "the store repeats a page of the list, which would not end";
            return Err(list_error(what.to_owned()));
        }
        self.is_at_end = token.is_none();
        self.token = token;
        let mut files = Vec::new();
        for object in &page.result.objects {
            files.push(listed(url, prefix, object));
        }
        for object in refused.take() {
            files.push(unusable(url, prefix, &object));
        }
        files.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(files)
    }
}

/// The beginning of all keys below a prefix. `None` if there is none.
fn below(prefix: &Path) -> Option<String> {
    Some(format!("{prefix}/")).filter(|below| below != "/")
}

fn listed(url: &Url, prefix: &Path, file: &ObjectMeta) -> Listed {
    let Some(address) = address_below(url, prefix, &file.location) else {
        let object = Refused {
            key: file.location.to_string(),
            bytes: file.size,
        };
        return unusable(url, prefix, &object);
    };
    Listed {
        address,
        key: file.location.to_string(),
        bytes: file.size,
        version: identity(file),
        in_order: true,
    }
}

/// The address of an object below the prefix. `None` if it is elsewhere.
fn address_below(url: &Url, prefix: &Path, location: &Path) -> Option<RemoteUrl> {
    let mut address = url.clone();
    let below = location.prefix_match(prefix)?;
    let mut segments = address.path_segments_mut().ok()?;
    segments.pop_if_empty();
    segments.extend(below.map(|part| part.as_ref().to_owned()));
    drop(segments);
    Some(String::from(address).into())
}

fn unusable(url: &Url, prefix: &Path, object: &Refused) -> Listed {
    Listed {
        address: unusable_address(url, prefix, &object.key),
        key: object.key.clone(),
        bytes: object.bytes,
        version: None,
        in_order: true,
    }
}

/// The address of an object that cannot be requested. It has the key as it is, which `Url` would resolve to another one. If the object is not below
/// the prefix, its address leads out of the folder by `..`, which is refused.
fn unusable_address(url: &Url, prefix: &Path, key: &str) -> RemoteUrl {
    let mut address = url[..Position::AfterPath].trim_end_matches('/').to_owned();
    address.push('/');
    let mut below = key;
    // The key of an object in the root may begin with a slash, which belongs to it.
    if !prefix.as_ref().is_empty() {
        let inner = below.strip_prefix(prefix.as_ref());
        match inner.and_then(|inner| inner.strip_prefix('/')) {
            Some(inner) => below = inner,
            None => address.push_str(&"../".repeat(prefix.parts().count())),
        }
    }
    for c in below.chars() {
        if c.is_ascii_control()
            || matches!(c, ' ' | '"' | '#' | '%' | '<' | '>' | '?' | '`' | '{' | '}')
        {
            address.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            address.push(c);
        }
    }
    address.into()
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "aws", feature = "azure", feature = "gcp"))]
mod tests {
    use super::*;
    use crate::address::tests::{quick, s3, stores};
    use crate::shared::Store;

    fn listed_in(store: Store, address: &str, after: &str, settings: &Settings) -> List {
        let folder = Url::parse(address).unwrap();
        let place = Place {
            store: store.objects,
            pages: store.pages,
            path: Path::from_url_path(folder.path()).unwrap(),
        };
        List::of_place(address.into(), place, after, settings).unwrap()
    }

    /// A page of the store of an address.
    fn page(url: &str, keys: &[String], token: Option<&str>) -> Vec<u8> {
        let token = token.unwrap_or_default();
        let mut objects = String::new();
        let body = if url.starts_with("az:") {
            for key in keys {
                objects += &format!(
                    "<Blob><Name>{key}</Name><Properties><Etag>x</Etag>\
                     <Last-Modified>Wed, 01 Jan 2020 00:00:00 GMT</Last-Modified>\
                     <Content-Length>7</Content-Length><Content-Type>x</Content-Type>\
                     </Properties></Blob>"
                );
            }
            format!("<List><Blobs>{objects}</Blobs><NextMarker>{token}</NextMarker></List>")
        } else {
            for key in keys {
                objects += &format!(
                    "<Contents><Key>{key}</Key><LastModified>2020-01-01T00:00:00Z</LastModified>\
                     <ETag>&quot;x&quot;</ETag><Size>7</Size></Contents>"
                );
            }
            format!("<List>{objects}<NextContinuationToken>{token}</NextContinuationToken></List>")
        };
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        (head + &body).into_bytes()
    }

    fn keys(page: &[Listed]) -> Vec<&str> {
        page.iter().map(|file| file.key.as_str()).collect()
    }

    /// Entries that a store repeats, does not sort, or lists although they are elsewhere, are all in the list, and the others are in order.
    #[tokio::test]
    async fn entries_that_are_repeated_or_unsorted_or_elsewhere_are_listed() {
        const PAGES: [&[&str]; 3] = [
            &["f/b.iqm", "f/a.iqm", "f/b.iqm"],
            &["f/0.iqm", "f/c.iqm"],
            &["elsewhere.iqm", "f/../c.iqm", "f/c.iqm", "f/d.iqm"],
        ];
        let answer = |url: &str, number: usize| {
            let keys = PAGES[number].iter().map(|&key| key.to_owned());
            let token = ["1", "2"].get(number).copied();
            page(url, &keys.collect::<Vec<_>>(), token)
        };
        for (url, store) in stores(answer, &quick()) {
            let is_sorted = store.pages.as_ref().unwrap().is_sorted;
            let folder = Url::parse(url).unwrap().join("f/").unwrap();
            let mut list = listed_in(store, folder.as_str(), "", &quick());
            let mut all = Vec::new();
            loop {
                let page = list.next_page().await.unwrap();
                if page.is_empty() {
                    break;
                }
                all.extend(page);
            }
            let mut expected: Vec<&str> = PAGES.into_iter().flatten().copied().collect();
            expected.sort_unstable();
            let mut found = keys(&all);
            found.sort_unstable();
            assert_eq!(found, expected, "{url}");

            let (in_order, others): (Vec<_>, Vec<_>) =
                all.iter().cloned().partition(|file| file.in_order);
            assert!(
                in_order.is_sorted_by(|a, b| a.key < b.key),
                "{url}: {in_order:?}"
            );
            let expected: &[&str] = if is_sorted {
                // In a page, the order is restored.
                &[
                    "f/b.iqm",
                    "f/0.iqm",
                    "elsewhere.iqm",
                    "f/../c.iqm",
                    "f/c.iqm",
                ]
            } else {
                &["f/b.iqm", "f/c.iqm"]
            };
            assert_eq!(keys(&others), expected, "{url}");
            for file in all {
                let is_readable = !["elsewhere.iqm", "f/../c.iqm"].contains(&&*file.key);
                // There are no keys for these stores here.
                let error = parse(&file.address, &quick(), false).err();
                let is_refused =
                    error.is_some_and(|error| error.to_string().contains("cannot be requested"));
                assert_eq!(is_refused, !is_readable, "{file:?}");
            }
        }
    }

    /// A list whose pages have new tokens has no other end than the deadline, whether its pages have objects or not.
    #[tokio::test]
    async fn a_list_without_an_end_ends_at_the_deadline() {
        for per_page in [0, 3] {
            let answer = move |url: &str, number: usize| {
                let keys = (0..per_page).map(|index| format!("{number:09}_{index}.iqm"));
                page(url, &keys.collect::<Vec<_>>(), Some(&number.to_string()))
            };
            let mut settings = quick();
            settings.deadline = Duration::from_millis(400);
            for (url, store) in stores(answer, &settings) {
                let start = Instant::now();
                let folder = Url::parse(url).unwrap().join("/").unwrap();
                let mut list = listed_in(store, folder.as_str(), "", &settings);
                let error = loop {
                    match list.next_page().await {
                        Ok(page) => assert_eq!(page.len(), per_page, "{url}"),
                        Err(error) => break error.to_string(),
                    }
                };
                assert!(error.contains("came within 400ms, the deadline"), "{error}");
                assert!(start.elapsed() < Duration::from_secs(4), "{url}");
            }
        }
    }

    /// A list that is held whole is charged for what it holds.
    #[tokio::test]
    async fn a_list_that_is_held_whole_is_within_the_limit() {
        let answer = move |url: &str, number: usize| {
            let keys = (0..1000).map(|index| format!("{number:09}_{index}.iqm"));
            page(url, &keys.collect::<Vec<_>>(), Some(&number.to_string()))
        };
        let mut settings = quick();
        settings.options.limits = settings.options.limits.with_max_total_bytes(2 << 20);
        for (url, store) in stores(answer, &settings) {
            if store.pages.as_ref().unwrap().is_sorted {
                continue;
            }
            let folder = Url::parse(url).unwrap().join("/").unwrap();
            let mut list = listed_in(store, folder.as_str(), "", &settings);
            let error = list.next_page().await.unwrap_err().to_string();
            assert!(error.contains("above the limit of 2 MiB"), "{error}");
            assert!(
                error.contains("raise it with Limits::with_max_total_bytes"),
                "{error}"
            );
        }
    }

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
        let mut list = listed_in(store, "s3://bucket/", "-/../after.iqm", &quick());
        let page = list.next_page().await.unwrap();
        assert!(
            requests
                .lock()
                .unwrap()
                .contains("start-after=-%2f..%2fafter.iqm")
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
        let mut list = listed_in(store, "s3://bucket/", "", &quick());
        let error = list.next_page().await.unwrap_err().to_string();
        assert_eq!(
            error,
            "s3://bucket/: the store repeats a page of the list, which would not end"
        );
    }
}
