//! Requests for ranges: joined, several at a time, of one version of the file, and again where that may help.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use meshmap::{Fragments, Options};
use meshmap_url::RemoteUrl;
use object_store::path::Path;
use object_store::{
    Attribute, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore,
};
use url::Url;

use crate::cache::RangeCache;
use crate::charge::{Call, Fetched, FileMeter};
use crate::error::{Error, Result};
use crate::shared;

/// Settings for fetching parts of files.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Ranges that are nearer to each other than this are one request. Default: 64 KiB.
    pub gap: u64,
    /// The least that the first request asks for: what follows a header is often needed next. Default: 64 KiB.
    pub first: u64,
    /// The most requests of one job at a time. Default: 8.
    pub parallel: usize,
    /// The number of times that a request is sent again, if it is not answered, if the server reports that it is
    /// busy or broken, or if the response was truncated. Default: 10. Stores that the caller makes have their own settings for requests
    /// that are not answered.
    pub retries: u32,
    /// The delay before a range whose response was truncated is requested again; it doubles before each further request, up to a quarter of
    /// the timeout. Default: 100 ms.
    pub backoff: Duration,
    /// The longest wait for the head of a response, and then for each further 64 KiB of it or for its end. Default: 30 s. Requests
    /// that the store sends again meanwhile are included.
    pub timeout: Duration,
    /// The longest time for a range and its repetitions, however steadily its bytes come, and for all requests of a list together.
    /// Default: 30 minutes.
    pub deadline: Duration,
    /// The most requests that this process begins in a second, of all files together: stores refuse more than their limit, which for S3 is 5,500
    /// for a prefix. Requests that are sent again are not counted. Default: no limit.
    pub requests_per_second: Option<f64>,
    /// `true` if redirections to other hosts are followed, whatever the store is. Keys, tokens and [`headers`](Self::headers) are not sent to
    /// them. Default: `false`, because a file that names hosts of a private network would be read from there.
    pub redirects: bool,
    /// The most bytes that [`Blocking`](crate::Blocking) retains, so that they are not fetched again. Default: 4 MiB.
    pub retain: u64,
    /// Headers of all requests to addresses of plain HTTP, such as `("Authorization", "Bearer ..")`. Used by
    /// [`Remote::at_with`](crate::Remote::at_with) and [`Blocking::at_with`](crate::Blocking::at_with). Default: none.
    pub headers: Vec<(String, String)>,
    /// Options for reading files.
    ///
    /// [`max_total_bytes`](meshmap::Limits::max_total_bytes) is also the most that is held of the bytes of a file at a time: what is being
    /// received, what is retained, and what [`Blocking`](crate::Blocking) has returned and is still used. A range, or a whole file
    /// on a server without ranges, that is longer is refused before any of its memory is taken. `free_ratio` allows no more, because a
    /// server may declare any length. A list that a store does not sort is held whole, and is within the same limit.
    pub options: Options,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gap: 64 << 10,
            first: 64 << 10,
            parallel: 8,
            retries: 10,
            backoff: Duration::from_millis(100),
            timeout: Duration::from_secs(30),
            deadline: Duration::from_secs(30 * 60),
            requests_per_second: None,
            redirects: false,
            retain: 4 << 20,
            headers: Vec::new(),
            options: Options::default(),
        }
    }
}

impl Settings {
    /// Waits until the next request may begin.
    pub(crate) async fn wait_for_turn(&self) {
        if let Some(rate) = self.requests_per_second {
            tokio::time::sleep_until(shared::next_turn(rate).into()).await;
        }
    }
}

#[cfg(feature = "client")]
impl Settings {
    /// The rules by which stores send requests again. Their last error comes before the timeout, and has more information.
    pub(crate) fn retry(&self) -> object_store::RetryConfig {
        let mut retry = object_store::RetryConfig {
            max_retries: usize::try_from(self.retries).unwrap_or(usize::MAX),
            retry_timeout: self.timeout / 2,
            ..object_store::RetryConfig::default()
        };
        retry.backoff.max_backoff = retry.backoff.max_backoff.min(self.timeout / 4);
        retry
    }
}

/// Without the values of headers, which are often secrets.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            gap,
            first,
            parallel,
            retries,
            backoff,
            timeout,
            deadline,
            requests_per_second,
            redirects,
            retain,
            headers,
            options,
        } = self;
        let headers: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Settings")
            .field("gap", gap)
            .field("first", first)
            .field("parallel", parallel)
            .field("retries", retries)
            .field("backoff", backoff)
            .field("timeout", timeout)
            .field("deadline", deadline)
            .field("requests_per_second", requests_per_second)
            .field("redirects", redirects)
            .field("retain", retain)
            .field("headers", &headers)
            .field("options", options)
            .finish()
    }
}

/// Marks requests for a file, or for a part of it, among the requests that a store sends: this module limits how long their bodies are, and how
/// long they take. The client limits everything else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfObject;

/// The options of a request for a file.
fn of_object(range: Option<Range<u64>>) -> GetOptions {
    let mut options = GetOptions {
        range: range.map(GetRange::Bounded),
        ..GetOptions::default()
    };
    options.extensions.insert(OfObject);
    options
}

/// The version of a file that a response belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) length: u64,
    pub(crate) tag: Option<String>,
    /// See [`identity`].
    pub(crate) identity: Option<String>,
    /// In milliseconds. A server without a clock sends another time in each response, so it counts only without a tag.
    pub(crate) modified: i64,
}

impl Version {
    fn of(meta: &ObjectMeta) -> Self {
        Self {
            length: meta.size,
            tag: meta.e_tag.clone(),
            identity: identity(meta),
            modified: meta.last_modified.timestamp_millis(),
        }
    }

    /// Returns the difference from another response, if that is of another version.
    fn difference(&self, other: &Self) -> Option<String> {
        let differs = |what: &str, a: &dyn std::fmt::Display, b: &dyn std::fmt::Display| {
            Some(format!("{what} was {a}, now {b}"))
        };
        if self.length != other.length {
            return differs("its length", &self.length, &other.length);
        }
        match (&self.tag, &other.tag) {
            (Some(a), Some(b)) if a != b => differs("its tag", a, b),
            (Some(a), None) => differs("its tag", a, &"none"),
            (None, Some(b)) => differs("its tag", &"none", b),
            (None, None) if self.modified != other.modified => {
                differs("its time", &self.modified, &other.modified)
            }
            _ => None,
        }
    }

    /// The tag, if the server can compare it: weak ones never match.
    fn strong_tag(&self) -> Option<String> {
        self.tag.clone().filter(|tag| !tag.starts_with("W/"))
    }
}

/// A text that no other version of the file has: its strong tag (ETag), or what its store calls the version. Some stores have quotes
/// around tags in responses and none in lists.
pub(crate) fn identity(meta: &ObjectMeta) -> Option<String> {
    let strong = meta.e_tag.as_deref().filter(|tag| !tag.starts_with("W/"));
    strong
        .map(|tag| tag.trim_matches('"'))
        .or(meta.version.as_deref())
        .map(str::to_owned)
}

/// The state of a body after a piece of it.
enum Read {
    Piece,
    End,
    /// It has more bytes than the range.
    TooLong,
    /// The machine has no memory for it.
    NoMemory,
}

/// Makes room for the bytes of a body that have come, which doubles up to `length`. Returns `false` if the memory does not suffice.
fn reserve(body: &mut Vec<u8>, needed: u64, length: u64) -> bool {
    /// The room that is made before any byte has come.
    const FIRST: u64 = 1 << 20;
    let capacity = body.capacity() as u64;
    if needed <= capacity {
        return true;
    }
    let wanted = capacity.saturating_mul(2).max(FIRST).clamp(needed, length);
    let more = usize::try_from(wanted).map(|wanted| wanted - body.len());
    more.is_ok_and(|more| body.try_reserve_exact(more).is_ok())
}

/// A file in a store, and what was fetched of it.
pub(crate) struct Stored {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    pub(crate) address: RemoteUrl,
    pub(crate) settings: Settings,
    pub(crate) cache: Option<RangeCache>,
    pub(crate) fragments: Fragments,
    /// The memory of the fragments, and of all other bytes of the file.
    pub(crate) meter: FileMeter,
    /// The version of the file in the first response.
    pub(crate) version: Mutex<Option<Version>>,
    /// `true` if the server sends no ranges, and the whole file has been fetched.
    pub(crate) is_whole: AtomicBool,
    pub(crate) requests: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

impl Stored {
    /// Fetches these ranges. Afterwards there are more bytes than before.
    pub(crate) async fn fetch(&self, ranges: &[Range<u64>], call: &Call) -> Result<()> {
        let requests = self
            .fragments
            .requests(ranges, self.settings.gap, self.settings.first);
        if self.version().is_none() {
            // The first response has the length of the file, and the version of all others. The job asks for the rest again.
            let Some(first) = requests.into_iter().next() else {
                return Ok(());
            };
            return self.fetch_first(first, call).await;
        }
        let within = requests.iter().map(|range| self.within(range));
        let wanted: Vec<_> = within.filter(|range| range.start < range.end).collect();
        let parts = stream::iter(wanted)
            .map(|range| async move {
                let start = range.start;
                Ok::<_, Error>((start, self.part(range, call).await?))
            })
            .buffer_unordered(self.settings.parallel.max(1));
        parts
            .try_for_each(|(start, fetched)| async move { self.supply(start, fetched, call) })
            .await
    }

    pub(crate) fn version(&self) -> Option<Version> {
        self.version
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Retains fetched bytes.
    fn supply(&self, start: u64, fetched: Fetched, call: &Call) -> Result<()> {
        let Fetched { bytes, held } = fetched;
        let mut retained = self.meter.retained();
        held.retain(&mut retained, call)
            .map_err(|error| self.mesh_error(error))?;
        let supplied = self.fragments.supply(start, bytes);
        // Some of the bytes may have been there already.
        retained.shrink_to(self.fragments.held());
        supplied.map_err(|error| self.mesh_error(error))
    }

    /// Drops the bytes of a range.
    pub(crate) fn forget(&self, range: Range<u64>) {
        let mut retained = self.meter.retained();
        self.fragments.remove(range);
        retained.shrink_to(self.fragments.held());
    }

    /// The part of a range that is in the file, as far as its length is known.
    pub(crate) fn within(&self, range: &Range<u64>) -> Range<u64> {
        let length = self.version().map_or(u64::MAX, |version| version.length);
        let end = range.end.min(length);
        range.start.min(end)..end
    }

    /// The first request. A file that is shorter than the range ends its response early; one of no bytes has no ranges.
    async fn fetch_first(&self, range: Range<u64>, call: &Call) -> Result<()> {
        let (start, fetched, version) = match self.get(range.clone(), None, call).await {
            Ok(response) => response,
            Err(Error::Store { error, .. }) if has_no_ranges(&error) => {
                self.before_deadline(&range, self.whole(call)).await?
            }
            Err(Error::Store { error, address }) => {
                self.settings.wait_for_turn().await;
                match self.in_time(&range, self.head()).await? {
                    Ok(meta) if meta.size <= range.start => {
                        (range.start, self.nothing(call), Version::of(&meta))
                    }
                    _ => return Err(Error::Store { error, address }),
                }
            }
            Err(error) => return Err(error),
        };
        let length = version.length;
        {
            let mut known = self.version.lock().unwrap_or_else(PoisonError::into_inner);
            match &*known {
                // Another job was faster.
                Some(known) => {
                    if let Some(what) = known.difference(&version) {
                        return Err(self.changed(what));
                    }
                }
                None => *known = Some(version),
            }
        }
        self.fragments
            .set_len(length)
            .map_err(|error| self.mesh_error(error))?;
        self.supply(start, fetched, call)
    }

    fn nothing(&self, call: &Call) -> Fetched {
        Fetched {
            bytes: Bytes::new(),
            held: self.meter.charge(call),
        }
    }

    /// The whole file, of a server without ranges.
    async fn whole(&self, call: &Call) -> Result<(u64, Fetched, Version)> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let most = self.settings.options.limits.max_total_bytes;
        self.settings.wait_for_turn().await;
        let response = self.store.get_opts(&self.path, of_object(None));
        let response = self
            .in_time(&(0..most), response)
            .await?
            .map_err(|error| self.store_error(error))?;
        let version = Version::of(&response.meta);
        let range = 0..version.length;
        if version.length > most {
            return Err(Error::TooLong {
                address: self.address.clone(),
                length: version.length,
                limit: most,
            });
        }
        self.refuse_encoding(&response, &range)?;
        let fetched = self
            .body(response, &range, version.length, call)
            .await?
            .map_err(|error| self.store_error(error))?;
        let found = fetched.bytes.len();
        if found as u64 != version.length {
            return Err(self.refused(&range, format!("the response has {found} bytes")));
        }
        self.is_whole.store(true, Ordering::Relaxed);
        Ok((0, fetched, version))
    }

    /// The version of the file, without a part of it unless the server refuses requests that ask for none, as it does for addresses that are
    /// signed for reading.
    pub(crate) async fn fetch_version(&self) -> Result<Version> {
        if let Some(version) = self.version() {
            return Ok(version);
        }
        self.settings.wait_for_turn().await;
        match self.in_time(&(0..0), self.head()).await? {
            Ok(meta) => Ok(Version::of(&meta)),
            Err(error @ object_store::Error::NotFound { .. }) => Err(self.store_error(error)),
            Err(_) => Ok(self.get(0..1, None, &Call::default()).await?.2),
        }
    }

    pub(crate) fn mesh_error(&self, error: meshmap::Error) -> Error {
        Error::Mesh {
            address: self.address.clone(),
            error,
        }
    }

    async fn head(&self) -> Result<ObjectMeta, object_store::Error> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let options = of_object(None).with_head(true);
        Ok(self.store.get_opts(&self.path, options).await?.meta)
    }

    /// Returns a range of the known version, from the cache if it has it.
    pub(crate) async fn part(&self, range: Range<u64>, call: &Call) -> Result<Fetched> {
        let version = self.version();
        let tag = version.as_ref().and_then(|version| version.tag.clone());
        let cache = self.cache.as_ref().zip(tag);
        if let Some((cache, tag)) = &cache
            && let Some(bytes) = cache.get(self.address.with_secrets(), tag, &range)
        {
            let mut held = self.meter.charge(call);
            held.grow(bytes.len() as u64)
                .map_err(|error| self.mesh_error(error))?;
            return Ok(Fetched { bytes, held });
        }
        let (_, fetched, _) = self.get(range.clone(), version.as_ref(), call).await?;
        if let Some((cache, tag)) = &cache {
            // Without the charge: the cache has another limit.
            let address = self.address.with_secrets();
            cache.put(address, tag, range.start, &fetched.bytes);
        }
        Ok(fetched)
    }

    /// A range, before the deadline.
    async fn get(
        &self,
        range: Range<u64>,
        pinned: Option<&Version>,
        call: &Call,
    ) -> Result<(u64, Fetched, Version)> {
        let response = self.get_at_last(range.clone(), pinned, call);
        self.before_deadline(&range, response).await
    }

    async fn before_deadline<T>(
        &self,
        range: &Range<u64>,
        response: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let deadline = self.settings.deadline;
        let late = |_| Error::Deadline {
            address: self.address.clone(),
            range: range.clone(),
            deadline,
        };
        tokio::time::timeout(deadline, response)
            .await
            .map_err(late)?
    }

    /// A range. A response that is cut off is asked for again; a request that the server refuses, or does not answer,
    /// the store has sent again already.
    async fn get_at_last(
        &self,
        range: Range<u64>,
        pinned: Option<&Version>,
        call: &Call,
    ) -> Result<(u64, Fetched, Version)> {
        let mut wait = self.settings.backoff;
        let mut retries = self.settings.retries;
        loop {
            self.settings.wait_for_turn().await;
            let (response, version) = self
                .in_time(&range, self.response(range.clone(), pinned))
                .await??;
            let length = range.end.min(version.length).saturating_sub(range.start);
            let error = match self.body(response, &range, length, call).await? {
                Ok(fetched) if fetched.bytes.len() as u64 == length => {
                    return Ok((range.start, fetched, version));
                }
                Ok(fetched) => {
                    let found = fetched.bytes.len();
                    self.refused(&range, format!("the response has {found} bytes"))
                }
                // For a file with a tag, the store has already requested the rest.
                Err(error) if version.tag.is_some() => return Err(self.store_error(error)),
                Err(error) => self.store_error(error),
            };
            if retries == 0 {
                return Err(error);
            }
            retries -= 1;
            tokio::time::sleep(wait).await;
            wait = wait.saturating_mul(2).min(self.settings.timeout / 4);
        }
    }

    /// Fails if a response, or a part of it, does not come in time.
    async fn in_time<T>(&self, range: &Range<u64>, response: impl Future<Output = T>) -> Result<T> {
        let timeout = self.settings.timeout;
        let late = |_| Error::Timeout {
            address: self.address.clone(),
            range: range.clone(),
            timeout,
        };
        tokio::time::timeout(timeout, response).await.map_err(late)
    }

    /// The body of a response, of which no more than `length` bytes are held. They are charged at once, so that a length that is not allowed
    /// is refused; their memory grows with the bytes that come.
    async fn body(
        &self,
        response: GetResult,
        range: &Range<u64>,
        length: u64,
        call: &Call,
    ) -> Result<Result<Fetched, object_store::Error>> {
        let mut held = self.meter.charge(call);
        held.grow(length).map_err(|error| self.mesh_error(error))?;
        let bytes = match &response.payload {
            GetResultPayload::Stream(_) => self.received(response, range, length).await?,
            // A file on the disk, of which one read gives the range.
            _ => {
                let bytes = response.bytes().await;
                self.count(bytes.as_ref().map_or(0, Bytes::len));
                bytes
            }
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error)),
        };
        held.shrink_to(bytes.len() as u64);
        Ok(Ok(Fetched { bytes, held }))
    }

    /// The bytes of a body as they come, which may be `length` at most.
    async fn received(
        &self,
        response: GetResult,
        range: &Range<u64>,
        length: u64,
    ) -> Result<Result<Bytes, object_store::Error>> {
        /// The bytes that have to come in time.
        const PIECE: usize = 64 << 10;
        let mut stream = response.into_stream();
        let mut body = Vec::new();
        loop {
            let enough = body.len().saturating_add(PIECE);
            let piece = async {
                while body.len() < enough {
                    let Some(bytes) = stream.try_next().await? else {
                        return Ok(Read::End);
                    };
                    self.count(bytes.len());
                    let needed = (body.len() as u64).saturating_add(bytes.len() as u64);
                    if needed > length {
                        return Ok(Read::TooLong);
                    }
                    if !reserve(&mut body, needed, length) {
                        return Ok(Read::NoMemory);
                    }
                    body.extend_from_slice(&bytes);
                }
                Ok(Read::Piece)
            };
            match self.in_time(range, piece).await? {
                Ok(Read::Piece) => {}
                Ok(Read::End) => return Ok(Ok(body.into())),
                Ok(Read::TooLong) => {
                    return Err(
                        self.refused(range, format!("the response has more than {length} bytes"))
                    );
                }
                Ok(Read::NoMemory) => {
                    return Err(Error::OutOfMemory {
                        address: self.address.clone(),
                        range: range.clone(),
                    });
                }
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    fn count(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The head of a response, which is of the version and the range that are wanted.
    async fn response(
        &self,
        range: Range<u64>,
        pinned: Option<&Version>,
    ) -> Result<(GetResult, Version)> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let tag = pinned.and_then(Version::strong_tag);
        let options = of_object(Some(range.clone())).with_if_match(tag);
        let response = match self.store.get_opts(&self.path, options).await {
            Ok(response) => response,
            Err(object_store::Error::Precondition { .. }) => {
                return Err(self.changed("the server has another version now".to_owned()));
            }
            Err(error) => return Err(self.store_error(error)),
        };
        let version = Version::of(&response.meta);
        if let Some(what) = pinned.and_then(|pinned| pinned.difference(&version)) {
            return Err(self.changed(what));
        }
        self.refuse_encoding(&response, &range)?;
        if response.range != (range.start..range.end.min(version.length)) {
            let Range { start, end } = response.range;
            return Err(self.refused(&range, format!("the response is bytes {start}..{end}")));
        }
        Ok((response, version))
    }

    /// Returns an error for a response that the server has compressed.
    fn refuse_encoding(&self, response: &GetResult, range: &Range<u64>) -> Result<()> {
        let Some(encoding) = encoding(response) else {
            return Ok(());
        };
        let what =
            format!("compressed by the server ({encoding}), so that its bytes are not the file's");
        Err(self.refused(range, what))
    }

    fn refused(&self, range: &Range<u64>, what: String) -> Error {
        Error::Response {
            address: self.address.clone(),
            range: range.clone(),
            what,
        }
    }

    fn store_error(&self, error: object_store::Error) -> Error {
        Error::Store {
            address: self.address.clone(),
            error: Box::new(brief(error, &self.address)),
        }
    }

    fn changed(&self, what: String) -> Error {
        Error::Changed {
            address: self.address.clone(),
            what,
        }
    }
}

/// An error of a store in a few words, without secrets: stores name the address with its query string, and add the body of the
/// response, which may repeat the request.
pub(crate) fn brief(error: object_store::Error, address: &RemoteUrl) -> object_store::Error {
    use object_store::Error as Store;
    // As it is in requests.
    let url = Url::parse(address.with_secrets()).ok();
    let query = url.as_ref().and_then(Url::query).unwrap_or_default();
    let clean = |source: Box<dyn std::error::Error + Send + Sync>| {
        let text = source.to_string();
        let text = match text.split_once(" - ") {
            Some((request, rest)) if request.contains("Error performing ") => rest,
            _ => &text,
        };
        let status = text.strip_prefix("Server returned non-2xx status code: ");
        let is_body = text.starts_with("Server returned error response: ");
        let text = if is_body {
            "the server reports an error"
        } else {
            text
        };
        let mut text = status
            .map_or(text, |status| status.split(": ").next().unwrap_or(status))
            .to_owned();
        let causes = std::iter::successors(source.source(), |error| error.source());
        let is_known = status.is_some() || is_body;
        if let Some(cause) = causes
            .last()
            .map(ToString::to_string)
            .filter(|cause| !is_known && !text.contains(cause))
        {
            text = format!("{text}: {cause}");
        }
        // Whatever part of the address is left out, its query string is what is secret.
        let text = if query.is_empty() {
            text
        } else {
            text.replace(query, "..")
        };
        text.replace(address.with_secrets(), address.as_shown())
            .into()
    };
    match error {
        Store::NotFound { path, source } => Store::NotFound {
            path,
            source: clean(source),
        },
        Store::PermissionDenied { path, source } => Store::PermissionDenied {
            path,
            source: clean(source),
        },
        Store::Unauthenticated { path, source } => Store::Unauthenticated {
            path,
            source: clean(source),
        },
        Store::NotModified { path, source } => Store::NotModified {
            path,
            source: clean(source),
        },
        Store::NotSupported { source } => Store::NotSupported {
            source: clean(source),
        },
        Store::Generic { store, source } => {
            let source = clean(source);
            // The bucket of a list does not exist.
            match source.to_string().starts_with("404 ") {
                true => Store::NotFound {
                    path: String::new(),
                    source,
                },
                false => Store::Generic { store, source },
            }
        }
        other => Store::Generic {
            store: "HTTP",
            source: clean(other.to_string().into()),
        },
    }
}

/// Returns `true` for a response with the whole file in place of a range.
fn has_no_ranges(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotSupported { .. })
}

/// Returns the compression that the server has applied to a response.
fn encoding(response: &GetResult) -> Option<String> {
    let encoding = response
        .attributes
        .get(&Attribute::ContentEncoding)?
        .to_string();
    Some(encoding).filter(|encoding| !encoding.is_empty() && encoding != "identity")
}
