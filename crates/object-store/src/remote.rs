use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use meshmap::{Fragments, MeshFile, Source};
use meshmap_url::RemoteUrl;
use object_store::ObjectStore;
use object_store::path::Path;

use crate::address::{self, Place};
use crate::cache::RangeCache;
use crate::charge::{Call, FileMeter};
use crate::error::Result;
use crate::fetch::{Settings, Stored};

/// The amount of data that was fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of requests, including failed ones that were sent again.
    pub requests: u64,
    /// Bytes of their responses.
    pub bytes: u64,
    /// The length of the file; 0 before the first response.
    pub length: u64,
}

/// A file in an object store, of which parts are fetched as they are needed.
///
/// Clones share what was fetched. What files and meshes share with it stays in memory until [`forget`](Self::forget).
#[derive(Clone)]
pub struct Remote {
    pub(crate) inner: Arc<Stored>,
}

impl Remote {
    /// The file at a path in a store.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>, path: Path) -> Self {
        let address = RemoteUrl::new(format!("{store}/{path}"));
        Self::called(store, path, address, Settings::default(), None)
    }

    /// The file at an address: `https://`, `s3://`, `gs://`, `az://` or `file://`, as far as the features of this crate go.
    /// Keys and regions come from the environment: `AWS_ACCESS_KEY_ID` and so on.
    ///
    /// `https://` addresses are requested as they are, with their query string (presigned and SAS addresses) and with their user and
    /// password, which errors do not show. Addresses of S3 and Azure hosts use the store instead if there are keys for it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Address`](crate::Error::Address) if no store has such addresses.
    pub fn at(address: impl Into<RemoteUrl>) -> Result<Self> {
        Self::at_with(address, Settings::default())
    }

    /// Like [`at`](Self::at), with settings, which have headers and a timeout for plain HTTP.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Address`](crate::Error::Address) also for a header that HTTP cannot send.
    pub fn at_with(address: impl Into<RemoteUrl>, settings: Settings) -> Result<Self> {
        let address = address.into();
        let place = address::parse(&address, &settings, false)?;
        Ok(Self::of_place(address, place, settings))
    }

    /// Like [`at_with`](Self::at_with), by a client that the files of a process share.
    pub(crate) fn shared(address: RemoteUrl, settings: Settings) -> Result<Self> {
        let place = address::parse(&address, &settings, true)?;
        Ok(Self::of_place(address, place, settings))
    }

    fn of_place(address: RemoteUrl, place: Place, settings: Settings) -> Self {
        let Place { store, path, .. } = place;
        Self::called(store, path, address, settings, None)
    }

    fn called(
        store: Arc<dyn ObjectStore>,
        path: Path,
        address: RemoteUrl,
        settings: Settings,
        cache: Option<RangeCache>,
    ) -> Self {
        let meter = FileMeter::new(&settings.options.limits);
        let inner = Stored {
            store,
            path,
            address,
            settings,
            cache,
            fragments: Fragments::new(None),
            meter,
            version: Mutex::new(None),
            is_whole: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The same file, of which nothing has been fetched yet, with other settings. Headers, and how often the client of the store
    /// sends a request again, stay as they were in [`at_with`](Self::at_with).
    #[must_use]
    pub fn with_settings(&self, settings: Settings) -> Self {
        self.renewed(settings, self.inner.cache.clone())
    }

    /// The same file, of which nothing has been fetched yet, with a cache that several files share.
    #[must_use]
    pub fn with_cache(&self, cache: &RangeCache) -> Self {
        self.renewed(self.inner.settings.clone(), Some(cache.clone()))
    }

    fn renewed(&self, settings: Settings, cache: Option<RangeCache>) -> Self {
        let Stored {
            store,
            path,
            address,
            ..
        } = &*self.inner;
        Self::called(
            Arc::clone(store),
            path.clone(),
            address.clone(),
            settings,
            cache,
        )
    }

    /// The address of the file.
    #[must_use]
    pub fn address(&self) -> &RemoteUrl {
        &self.inner.address
    }

    /// Reads the headers of the file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`run`](Self::run).
    pub async fn open(&self) -> Result<MeshFile> {
        let options = self.inner.settings.options;
        self.run(|source| MeshFile::from_source(source.clone(), &options))
            .await
    }

    /// Runs a job, and fetches what it misses until it is done: the job runs once more after each time.
    ///
    /// It runs on the calling task: a long one belongs into [`run_blocking`](Self::run_blocking). Dropping the future
    /// ends its requests.
    ///
    /// Fetched bytes stay in memory until [`forget`](Self::forget), within `max_total_bytes` of
    /// [`Settings::options`]. Until this call ends they are also charged to the [`Meter`](meshmap::Meter) of the job that
    /// polls it first.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Mesh`](crate::Error::Mesh) for errors of the job, and [`Error::Store`](crate::Error::Store),
    /// [`Error::Changed`](crate::Error::Changed) and [`Error::Response`](crate::Error::Response) for errors of requests. Bytes that
    /// exceed a limit are an [`Error::Mesh`](crate::Error::Mesh) of the kind [`LimitExceeded`](meshmap::ErrorKind::LimitExceeded).
    pub async fn run<T>(&self, job: impl Fn(&Source) -> meshmap::Result<T>) -> Result<T> {
        let call = Call::of_thread();
        loop {
            match self
                .inner
                .fragments
                .step(&job)
                .map_err(|error| self.inner.mesh_error(error))?
            {
                Ok(done) => return Ok(done),
                Err(ranges) => self.inner.fetch(&ranges, &call).await?,
            }
        }
    }

    /// Like [`run`](Self::run); the job runs on a thread where it delays no other task of the runtime.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`run`](Self::run), and [`Error::Task`](crate::Error::Task) for a job that panics.
    pub async fn run_blocking<T, F>(&self, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(&Source) -> meshmap::Result<T> + Send + Sync + 'static,
    {
        let job = Arc::new(job);
        let call = Arc::new(Call::of_thread());
        loop {
            let own_job = Arc::clone(&job);
            let own_call = Arc::clone(&call);
            let fragments = self.inner.fragments.clone();
            let step = move || own_call.run(|| fragments.step(|source| own_job(source)));
            let step = tokio::task::spawn_blocking(step).await?;
            match step.map_err(|error| self.inner.mesh_error(error))? {
                Ok(done) => return Ok(done),
                Err(ranges) => self.inner.fetch(&ranges, &call).await?,
            }
        }
    }

    /// The amount of data that was fetched so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            requests: self.inner.requests.load(Ordering::Relaxed),
            bytes: self.inner.bytes.load(Ordering::Relaxed),
            length: self.inner.version().map_or(0, |version| version.length),
        }
    }

    /// `true` if the server sends no ranges, and the whole file was fetched with the first bytes.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.inner.is_whole.load(Ordering::Relaxed)
    }

    /// Drops the bytes of a range: they are fetched again when they are needed. Bytes of a server without ranges stay.
    pub fn forget(&self, range: std::ops::Range<u64>) {
        if !self.is_whole() {
            self.inner.forget(range);
        }
    }

    /// The number of bytes of the file that are in memory.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.inner.fragments.held()
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("address", &self.inner.address)
            .field("stats", &self.stats())
            .finish()
    }
}
