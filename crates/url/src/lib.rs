//! URLs of files in stores and on servers, which print without their secrets.
//!
//! A presigned URL is a key: whoever reads it in a log can read the file. So a program holds a [`RemoteUrl`] in place of a text. What it prints is
//! for people; what requests need is [`RemoteUrl::with_secrets`].
//!
//! ```
//! use meshmap_url::RemoteUrl;
//!
//! let url = RemoteUrl::new("https://user:password@host/trees/oak.ctm?sig=secret#part");
//! assert_eq!(url.to_string(), "https://host/trees/oak.ctm?..");
//! assert_eq!(url.name(), "oak.ctm");
//! ```

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     split: the parts of a URL
//     signature: URLs of one object that were signed at different times
//     remote_url: the type

mod remote_url;
mod signature;
mod split;

pub use remote_url::{RemoteUrl, has_scheme, is_remote, without_secrets};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
