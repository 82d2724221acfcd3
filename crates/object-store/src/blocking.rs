use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use meshmap::{ReadRange, Source};
use tokio::runtime::Runtime;

use crate::error::{Error, Result};
use crate::fetch::Settings;
use crate::list::{Listed, list};
use crate::remote::Remote;

/// A file in an object store, for programs without an asynchronous runtime: reads block until the bytes are there.
///
/// Not for use within a runtime of tokio, whose threads must not block.
#[derive(Clone, Debug)]
pub struct Blocking {
    remote: Remote,
    runtime: Arc<Runtime>,
}

impl Blocking {
    /// Opens a file in a store, with a separate thread for requests.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Runtime`] if no thread can be started for it.
    pub fn new(remote: Remote) -> Result<Self> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().map_err(Error::Runtime)?;
        Ok(Self { remote, runtime: Arc::new(runtime) })
    }

    /// The files below an address; see [`list`](crate::list).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`list`](crate::list), and [`Error::Runtime`].
    pub fn list(address: &str) -> Result<Vec<Listed>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Error::Runtime)?.block_on(list(address))
    }

    /// The file at an address; see [`Remote::at`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Remote::at`] and of [`new`](Self::new).
    pub fn at(address: &str) -> Result<Self> {
        Self::new(Remote::at(address)?)
    }

    /// The file at an address, with settings; see [`Remote::at_with`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Remote::at_with`] and of [`new`](Self::new).
    pub fn at_with(address: &str, settings: Settings) -> Result<Self> {
        Self::new(Remote::at_with(address, settings)?)
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

    /// The file itself, with what was fetched of it.
    #[must_use]
    pub fn remote(&self) -> &Remote {
        &self.remote
    }
}

impl ReadRange for Blocking {
    fn len(&self) -> io::Result<Option<u64>> {
        if self.remote.inner.version().is_none() {
            // The first response says it.
            let first = self.remote.inner.fetch(std::slice::from_ref(&(0..1)));
            self.runtime.block_on(first)?;
        }
        Ok(self.remote.inner.version().map(|version| version.length))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let wanted = async {
            let bytes = self.remote.run(|source| {
                let end = source.len()?.map_or(range.end, |length| length.min(range.end));
                source.read(range.start.min(end)..end)
            });
            let bytes = bytes.await?;
            self.remote.forget(range.clone());
            Ok::<_, Error>(bytes)
        };
        Ok(self.runtime.block_on(wanted)?)
    }
}
