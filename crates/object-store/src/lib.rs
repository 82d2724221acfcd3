//! Reads mesh files in object stores, of which it fetches no more than what is used: S3, Google Cloud, Azure, plain HTTP.
//!
//! [`Remote`] is a file in a store. [`Remote::open`] reads its headers, [`Remote::run`] any job over it, with the ranges
//! that it needs joined and fetched together. All bytes are of one version: where the file changes in between, what follows
//! is [`Error::Changed`]. [`Remote::play`] fetches the snapshots of a CGeo file ahead of time, in bounded memory.
//!
//! ```no_run
//! use meshmap_object_store::Remote;
//!
//! # async fn read() -> meshmap_object_store::Result<()> {
//! let remote = Remote::at("https://example.com/assets/tree.slmesh")?;
//! let file = remote.open().await?;
//! let mesh = remote.run(|_| file.mesh(&"lowest_lod.faces[0]".parse()?)).await?;
//! println!("{} triangles for {} bytes", mesh.triangle_count(), remote.stats().bytes);
//! # Ok(())
//! # }
//! ```
//!
//! Each kind of store is a feature: `fs`, the default, `http`, `aws`, `gcp` and `azure`. The example needs `http`.
//!
//! Programs without an asynchronous runtime read by [`Blocking`].

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     error cache charge: errors, bytes that several files share, and the memory that fetched bytes are charged for
//     shared: the runtime and the clients that all files of a process share
//     page: keys of a list that cannot be requested
//     address client fetch: stores and paths of addresses, the HTTP client below all stores, and requests for ranges
//     list: the files below an address
//     remote: a file in a store, and jobs over it
//     blocking play: reads that block, and snapshots fetched ahead of time
//     bucket: objects that are written

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod blocking;
mod bucket;
mod cache;
mod charge;
#[cfg(feature = "client")]
mod client;
mod error;
mod fetch;
mod list;
mod page;
mod play;
mod remote;
mod shared;

pub use blocking::{Blocking, BlockingList};
pub use bucket::{Bucket, Head};
pub use cache::RangeCache;
pub use error::{Error, Result};
pub use fetch::Settings;
pub use list::{List, Listed, url_of_key};
/// The URL of a file in a store, which prints without its secrets.
pub use meshmap_url::RemoteUrl;
pub use play::Play;
pub use remote::{Remote, Stats};

/// The examples of the README.
#[cfg(all(doctest, feature = "http"))]
#[doc = include_str!("../README.md")]
struct Readme;
