use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use meshmap::{ReadRange, Source};
use tokio::runtime::Runtime;

use crate::address::parse;
use crate::error::Result;
use crate::fetch::Settings;
use crate::list::{Listed, of_place};
use crate::remote::Remote;
use crate::shared;

/// A file in an object store, for programs without an asynchronous runtime: reads block until the bytes are there.
///
/// The bytes that were fetched last are retained, up to [`Settings::retain`], so that reading them again is not another request.
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
        Ok(Self { remote, runtime: shared::runtime()?, recent: Arc::default() })
    }

    /// The files below an address; see [`list`](crate::list).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`list`](crate::list), and [`Error::Runtime`](crate::Error::Runtime).
    pub fn list(address: &str) -> Result<Vec<Listed>> {
        let place = parse(address, &Settings::default(), true)?;
        shared::runtime()?.block_on(of_place(address, place))
    }

    /// The file at an address; see [`Remote::at`]. Files of one store share its connections and keys.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Remote::at`] and of [`new`](Self::new).
    pub fn at(address: &str) -> Result<Self> {
        Self::at_with(address, Settings::default())
    }

    /// The file at an address, with settings; see [`Remote::at_with`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Remote::at_with`] and of [`new`](Self::new).
    pub fn at_with(address: &str, settings: Settings) -> Result<Self> {
        Self::new(Remote::shared(address, settings)?)
    }

    /// The bytes of the file, for any reader of this library.
    #[must_use]
    pub fn source(&self) -> Source {
        Source::ranged(self.clone())
    }

    /// A text that identifies the version of the file, once something of it was fetched: its tag (ETag), or else its length and its
    /// time of modification.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let version = self.remote.inner.version()?;
        Some(version.tag.unwrap_or_else(|| format!("{}-{}", version.length, version.modified)))
    }

    /// The length of the file, which the first response has.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Remote::run`].
    pub fn fetch_length(&self) -> Result<u64> {
        if self.remote.inner.version().is_none() {
            self.runtime.block_on(self.remote.inner.fetch(std::slice::from_ref(&(0..1))))?;
        }
        Ok(self.remote.stats().length)
    }

    /// The file itself, with what was fetched of it.
    #[must_use]
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Retains a range that was fetched, and forgets the oldest ones.
    fn retain(&self, range: Range<u64>) {
        let length = |range: &Range<u64>| range.end - range.start;
        let most = self.remote.inner.settings.retain;
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

impl ReadRange for Blocking {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.fetch_length()?))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let is_missing = Cell::new(false);
        let longest = range.start..range.end.max(range.start.saturating_add(LEAST));
        let read = self.remote.run(|source| {
            let within =
                |end: u64| Ok::<_, meshmap::Error>(source.len()?.map_or(end, |length| length.min(end)));
            let (end, longest) = (within(range.end)?, within(longest.end)?);
            let start = range.start.min(end);
            source.read(start..end).or_else(|_| {
                is_missing.set(true);
                let bytes = source.read(start..longest)?;
                Ok(bytes.slice(..usize::try_from(end - start).unwrap_or(bytes.len())))
            })
        });
        let bytes = self.runtime.block_on(read)?;
        if is_missing.get() {
            self.retain(longest.clone());
        }
        Ok(bytes)
    }
}
