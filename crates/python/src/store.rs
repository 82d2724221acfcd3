//! Files at URLs of stores and servers, of which ranges are fetched.

use std::io;
use std::ops::Range;
use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use meshmap::{Limits, Options, ReadRange, Source};
use meshmap_catalog::Network;
use meshmap_object_store::{Blocking, BlockingList, Error, RemoteUrl};
use pyo3::prelude::*;

use crate::error::{raise, refuse};
use crate::pool::detached;

/// The file at a URL such as `https://..` or `s3://..`. What is fetched of it is within the limits of these options.
pub(crate) fn at(url: &RemoteUrl, options: Options) -> io::Result<Source> {
    let mut settings = network()?.settings();
    settings.options = options;
    let stored = Stored {
        file: Blocking::at_with(url, settings)?,
        process: process::id(),
    };
    // A file that is not there is said at once, and not as an error of its headers.
    stored.len()?;
    Ok(Source::ranged(stored))
}

/// The size and the version of the file at a URL, of which no part is fetched.
pub(crate) fn head(url: &RemoteUrl) -> io::Result<(u64, Option<String>)> {
    Ok(Blocking::at_with(url, network()?.settings())?.fetch_version()?)
}

/// The files below a URL whose keys are greater than `after`.
pub(crate) fn list(url: &RemoteUrl, after: &str) -> io::Result<List> {
    let mut settings = network()?.settings();
    // No option of this package raises the limit of a list.
    settings.options.limits = Limits::default().with_remedies([""; 3]);
    let list = Blocking::list(url, after, &settings)?;
    Ok(List {
        list: Mutex::new(list),
    })
}

/// The exception for an error of a store: `meshmap.Error` for a limit, and `OSError` for anything else.
pub(crate) fn raised(py: Python<'_>, error: io::Error) -> PyErr {
    if let Some(inner) = error.get_ref() {
        if let Some(limit) = inner.downcast_ref::<meshmap::Error>() {
            return raise(py, limit);
        }
        if let Some(too_long @ Error::TooLong { .. }) = inner.downcast_ref() {
            let message = format!("{too_long}; raise it with open(.., max_total_bytes=)");
            return refuse(py, "limit_exceeded", message);
        }
    }
    error.into()
}

/// The URL, the key, the size and the version of a file.
type Listed = (crate::url::RemoteUrl, String, u64, Option<String>);

/// An iterator of the pages of a list.
#[pyclass(frozen, module = "meshmap._meshmap")]
pub(crate) struct List {
    list: Mutex<BlockingList>,
}

#[pymethods]
impl List {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Vec<Listed>>> {
        let next = || {
            self.list
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next_page()
        };
        let page = detached(py, false, next)?.map_err(|error| raised(py, error.into()))?;
        let page: Vec<Listed> = page
            .into_iter()
            .map(|file| {
                let url = crate::url::RemoteUrl(file.address);
                (url, file.key, file.bytes, file.version)
            })
            .collect();
        Ok(Some(page).filter(|page| !page.is_empty()))
    }
}

/// Keys greater than `after` that divide the list of a URL into parts.
pub(crate) fn boundaries(url: &RemoteUrl, after: &str) -> io::Result<Vec<String>> {
    Ok(Blocking::list(url, after, &network()?.settings())?.boundaries(after))
}

/// The URL of the object with a key in a bucket.
pub(crate) fn url_of_key(bucket: &RemoteUrl, key: &str) -> io::Result<RemoteUrl> {
    Ok(meshmap_object_store::url_of_key(bucket, key)?)
}

/// The settings of requests. They come from the environment, as keys do, and so reach the workers of engines.
pub(crate) fn network() -> io::Result<Network> {
    fn set<T>(
        name: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let parsed = value.to_str().and_then(parse).map(Some);
        let wrong = || format!("{name} is {}: expected {expected}", value.display());
        parsed.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, wrong()))
    }
    let seconds = |text: &str| {
        let time = text
            .parse()
            .ok()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.filter(|time| !time.is_zero())
    };
    let rate = |text: &str| {
        text.parse()
            .ok()
            .filter(|rate: &f64| rate.is_normal() && *rate > 0.0)
    };
    Ok(Network {
        timeout: set("MESHMAP_TIMEOUT", "seconds, such as 30", seconds)?,
        deadline: set("MESHMAP_DEADLINE", "seconds, such as 1800", seconds)?,
        requests_per_second: set(
            "MESHMAP_REQUESTS_PER_SECOND",
            "a number above 0, such as 500",
            rate,
        )?,
        retries: set("MESHMAP_RETRIES", "a number, such as 10", |text| {
            text.parse().ok()
        })?,
        ..Network::default()
    })
}

/// A file in a store, for the process that opened it.
struct Stored {
    file: Blocking,
    process: u32,
}

impl Stored {
    /// A forked child has not the thread that makes requests: who waits for it waits for ever.
    fn here(&self) -> io::Result<&Blocking> {
        if self.process == process::id() {
            return Ok(&self.file);
        }
        let url = self.file.remote().address();
        Err(io::Error::other(format!(
            "{url}: was opened before this process was forked: open it again here"
        )))
    }
}

impl ReadRange for Stored {
    fn len(&self) -> io::Result<Option<u64>> {
        self.here()?.len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.here()?.read(range)
    }
}
