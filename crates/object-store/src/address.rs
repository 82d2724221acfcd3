use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;
use url::Url;

use crate::error::{Error, Result};

/// The store and the path of an address.
pub(crate) fn parse(address: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let refused = |what: String| Error::Address { address: address.to_owned(), what };
    let url = Url::parse(address).map_err(|error| refused(error.to_string()))?;
    // Names of settings that a store does not know are passed over.
    let settings = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?.to_ascii_lowercase();
        let is_of_store = ["aws_", "google_", "azure_"].iter().any(|prefix| name.starts_with(prefix));
        Some((name, value.into_string().ok()?)).filter(|_| is_of_store)
    });
    // Servers of a test have no certificates.
    let plain = (url.scheme() == "http").then(|| ("allow_http".to_owned(), "true".to_owned()));
    let (store, path) = object_store::parse_url_opts(&url, settings.chain(plain))
        .map_err(|error| refused(error.to_string()))?;
    Ok((Arc::from(store), path))
}
