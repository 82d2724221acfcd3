use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use meshmap::{ReadRange, Source};
use meshmap_url::RemoteUrl;
use tokio::runtime::Runtime;

use crate::address::parse;
use crate::charge::{Call, Fetched};
use crate::error::Result;
use crate::fetch::Settings;
use crate::list::{List, Listed};
use crate::remote::Remote;
use crate::shared;

/// A file in an object store, for programs without an asynchronous runtime: reads block until the bytes are there.
///
/// The bytes that were fetched last are retained, up to [`Settings::retain`] and a quarter of `max_total_bytes`, so that reading them again
/// is not another request.
///
/// All bytes of the file that are in memory are within `max_total_bytes` of [`Settings::options`]: bytes that are being received, retained
/// bytes, and returned bytes until the last view of them is dropped. What a read fetches and returns is also charged, for as long, to the
/// [`Meter`](meshmap::Meter) of the job that the calling thread runs. More is an error of the kind
/// [`LimitExceeded`](meshmap::ErrorKind::LimitExceeded), before the memory is taken.
///
/// Not for use within a runtime of tokio, whose threads must not block.
#[derive(Clone, Debug)]
pub struct Blocking {
    remote: Remote,
    runtime: Arc<Runtime>,
    recent: Arc<Mutex<Recent>>,
}

/// The ranges that were fetched and are retained, the latest last.
#[derive(Debug, Default)]
struct Recent {
    ranges: VecDeque<Range<u64>>,
    bytes: u64,
}

/// The least that a request asks for: a few bytes cost as much as a few thousand.
const LEAST: u64 = 4 << 10;

impl Blocking {
    /// Opens a file in a store. One thread makes the requests of all files of a process.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Runtime`](crate::Error::Runtime) if no thread can be started for it.
    pub fn new(remote: Remote) -> Result<Self> {
        Ok(Self {
            remote,
            runtime: shared::runtime()?,
            recent: Arc::default(),
        })
    }

    /// The files below an address whose keys are greater than `after`; see [`List`](crate::List).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`List::new`](crate::List::new), and [`Error::Runtime`](crate::Error::Runtime).
    pub fn list(
        address: impl Into<RemoteUrl>,
        after: &str,
        settings: &Settings,
    ) -> Result<BlockingList> {
        let address = address.into();
        let place = parse(&address, settings, true)?;
        let list = List::of_place(address, place, after, settings)?;
        Ok(BlockingList {
            list,
            runtime: shared::runtime()?,
        })
    }

    /// The file at an address; see [`Remote::at`]. Files of one store share its connections and keys.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Remote::at`] and of [`new`](Self::new).
    pub fn at(address: impl Into<RemoteUrl>) -> Result<Self> {
        Self::at_with(address, Settings::default())
    }

    /// The file at an address, with settings; see [`Remote::at_with`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Remote::at_with`] and of [`new`](Self::new).
    pub fn at_with(address: impl Into<RemoteUrl>, settings: Settings) -> Result<Self> {
        Self::new(Remote::shared(address.into(), settings)?)
    }

    /// The bytes of the file, for any reader of this library.
    #[must_use]
    pub fn source(&self) -> Source {
        Source::ranged(self.clone())
    }

    /// A text that no other version of the file has, once something of it was fetched: its strong tag (ETag) without quotes, or what the
    /// store calls its version. `None` if the server sends neither.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        self.remote.inner.version()?.identity
    }

    /// The length of the file and its [`version`](Self::version), by a request that transfers no part of it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Remote::run`].
    pub fn fetch_version(&self) -> Result<(u64, Option<String>)> {
        let inner = Arc::clone(&self.remote.inner);
        let version = self.wait(async move { inner.fetch_version().await })?;
        Ok((version.length, version.identity))
    }

    /// Waits for a request. It runs on the thread of all requests, which has then put its connection back for the next one.
    fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.runtime.block_on(self.runtime.spawn(request))?
    }

    fn fetch(&self, ranges: Vec<Range<u64>>, call: &Arc<Call>) -> Result<()> {
        let inner = Arc::clone(&self.remote.inner);
        let call = Arc::clone(call);
        self.wait(async move { inner.fetch(&ranges, &call).await })
    }

    /// Returns the bytes of a range if all of them are there. They may have to be joined, so they are charged before.
    fn read_retained(&self, range: &Range<u64>, call: &Call) -> Result<Option<Bytes>> {
        let inner = &self.remote.inner;
        let mut held = inner.meter.charge(call);
        if self.remote.is_whole() {
            held = held.without_file();
        }
        let mesh_error = |error| inner.mesh_error(error);
        held.grow(range.end - range.start).map_err(mesh_error)?;
        let step = inner.fragments.step(|source| source.read(range.clone()));
        let Ok(bytes) = step.map_err(mesh_error)? else {
            return Ok(None);
        };
        Ok(Some(Fetched { bytes, held }.into_bytes()))
    }

    /// Fetches a range that is too long to be retained. Joining it with retained bytes would take its memory twice.
    fn fetch_alone(&self, range: Range<u64>, call: &Arc<Call>) -> Result<Bytes> {
        let inner = Arc::clone(&self.remote.inner);
        let call = Arc::clone(call);
        let fetched = self.wait(async move { inner.part(range, &call).await })?;
        Ok(fetched.into_bytes())
    }

    /// The length of the file, which the first response has.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Remote::run`].
    pub fn fetch_length(&self) -> Result<u64> {
        if self.remote.inner.version().is_none() {
            self.fetch(Vec::from([0..1]), &Arc::new(Call::of_thread()))?;
        }
        Ok(self.remote.stats().length)
    }

    /// The file itself, with what was fetched of it.
    #[must_use]
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// The most bytes that are retained.
    fn most_retained(&self) -> u64 {
        /// The share of the limit that retained bytes may take from others.
        const SHARE: u64 = 4;
        let settings = &self.remote.inner.settings;
        settings
            .retain
            .min(settings.options.limits.max_total_bytes / SHARE)
    }

    /// Retains a range that was fetched, and forgets the oldest ones.
    fn retain(&self, range: Range<u64>) {
        let length = |range: &Range<u64>| range.end - range.start;
        let most = self.most_retained();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if length(&range) > most {
            return self.remote.forget(range);
        }
        recent.bytes += length(&range);
        recent.ranges.push_back(range);
        while recent.bytes > most
            && let Some(oldest) = recent.ranges.pop_front()
        {
            recent.bytes -= length(&oldest);
            self.remote.forget(oldest);
        }
    }
}

/// A [`List`] for programs without an asynchronous runtime.
#[derive(Debug)]
pub struct BlockingList {
    list: List,
    runtime: Arc<Runtime>,
}

impl BlockingList {
    /// The next files; see [`List::next_page`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`List::next_page`].
    pub fn next_page(&mut self) -> Result<Vec<Listed>> {
        self.runtime.block_on(self.list.next_page())
    }

    /// Keys that divide the list into parts; see [`List::boundaries`].
    #[must_use]
    pub fn boundaries(&self, after: &str) -> Vec<String> {
        self.runtime.block_on(self.list.boundaries(after))
    }
}

impl ReadRange for Blocking {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.fetch_length()?))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let inner = &self.remote.inner;
        // A request asks for more than a few bytes.
        let longest = range.start..range.end.max(range.start.saturating_add(LEAST));
        let mut is_fetched = false;
        loop {
            // In the next round, the bytes that this one fetches are charged as retained or returned bytes.
            let call = Arc::new(Call::of_thread());
            let wanted = inner.within(&range);
            if let Some(bytes) = self.read_retained(&wanted, &call)? {
                if is_fetched {
                    self.retain(longest);
                }
                return Ok(bytes);
            }
            if inner.version().is_some() && wanted.end - wanted.start > self.most_retained() {
                return Ok(self.fetch_alone(wanted, &call)?);
            }
            let requested = inner.within(&longest);
            let step = inner.fragments.step(|source| source.read(requested));
            if let Err(ranges) = step.map_err(|error| inner.mesh_error(error))? {
                self.fetch(ranges, &call)?;
            }
            is_fetched = true;
        }
    }
}
