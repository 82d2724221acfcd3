use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;
use url::Url;

use crate::error::{Error, Result};

/// The store and the path of an address.
pub(crate) fn parse(address: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let refused = |what: String| Error::Address { address: address.to_owned(), what };
    let url = Url::parse(address).map_err(|error| refused(error.to_string()))?;
    if let Some(feature) = missing_feature(url.scheme()) {
        return Err(refused(format!(
            "built without the feature `{feature}`, which reads {}:// addresses",
            url.scheme()
        )));
    }
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

/// The feature that an address needs and that this build does not have.
fn missing_feature(scheme: &str) -> Option<&'static str> {
    let features = [
        ("fs", cfg!(feature = "fs"), &["file"][..]),
        ("http", cfg!(feature = "http"), &["http", "https"]),
        ("aws", cfg!(feature = "aws"), &["s3", "s3a"]),
        ("gcp", cfg!(feature = "gcp"), &["gs"]),
        ("azure", cfg!(feature = "azure"), &["az", "adl", "azure", "abfs", "abfss"]),
    ];
    let missing = features.iter().find(|(_, is_on, schemes)| !is_on && schemes.contains(&scheme));
    missing.map(|(feature, ..)| *feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_its_feature_names_it() {
        for (address, feature, is_on) in [
            ("file:///tmp/a.iqm", "fs", cfg!(feature = "fs")),
            ("https://host/a.iqm", "http", cfg!(feature = "http")),
            ("gs://bucket/a.iqm", "gcp", cfg!(feature = "gcp")),
        ] {
            let message = parse(address).err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(message.contains(&format!("the feature `{feature}`")), !is_on, "{message}");
        }
    }
}
