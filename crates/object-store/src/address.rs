use std::sync::Arc;

use meshmap_url::RemoteUrl;
#[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
use object_store::ClientOptions;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreScheme};
use url::{Position, Url};

#[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
use crate::client::Connector;
use crate::error::{Error, Result};
use crate::fetch::Settings;
use crate::shared::{self, Lists, Store};

/// A file of an address.
pub(crate) struct Place {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The pages of lists of the store, if it has them.
    pub(crate) pages: Option<Lists>,
    pub(crate) path: Path,
}

/// The store and the path of an address. A store that is shared is the one of other files of this process: for requests by the
/// runtime that is shared as well.
pub(crate) fn parse(address: &RemoteUrl, settings: &Settings, is_shared: bool) -> Result<Place> {
    let refused = |what: String| Error::Address {
        address: address.clone(),
        what,
    };
    let url = Url::parse(address.with_secrets()).map_err(|error| refused(error.to_string()))?;
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    if is_plain_http(&url, &environment) {
        let (store, path) = http::store(&url, settings, is_shared).map_err(refused)?;
        return Ok(Place {
            store,
            pages: None,
            path,
        });
    }
    if let Some(feature) = missing_feature(url.scheme()) {
        return Err(refused(without_feature(feature, url.scheme())));
    }
    // `Url` resolves these segments, so that the address would be of another object.
    if url.scheme() != "file"
        && let Some(segment) = refused_segment(address.with_secrets())
    {
        return Err(refused(format!(
            "a key with the part {segment:?} cannot be requested; give the object another key"
        )));
    }
    let of_stores = environment.into_iter().filter_map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let is_of_store = ["aws_", "google_", "azure_"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        is_of_store.then_some((name, value))
    });
    let of_stores: Vec<(String, String)> = of_stores.collect();
    let failed = |error: object_store::Error| refused(error.to_string());
    let (scheme, path) = ObjectStoreScheme::parse(&url).map_err(|error| failed(error.into()))?;
    let new = || store(scheme, &url, &of_stores, settings).map_err(failed);
    // The bucket is a part of the host, or the first part of the path.
    let bucket = url
        .path_segments()
        .and_then(|mut parts| parts.next())
        .unwrap_or_default();
    let bucket = if url.scheme() == "file" { "" } else { bucket };
    let Settings {
        retries,
        timeout,
        deadline,
        redirects,
        ..
    } = settings;
    let how = format!("{retries} {timeout:?} {deadline:?} {redirects}");
    let key = || {
        format!(
            "{}/{bucket} {how} {of_stores:?}",
            &url[..Position::BeforePath]
        )
    };
    let store = if is_shared {
        shared::store(key(), new)
    } else {
        new()
    }?;
    let Store { objects, pages } = store;
    Ok(Place {
        store: objects,
        pages,
        path,
    })
}

/// Returns the first part of a path that no key of a request can have: a dot, two dots, or nothing between two slashes.
fn refused_segment(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let path = rest.split(['?', '#']).next()?;
    let (_, path) = path.split_once('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    let is_refused = |segment: &&str| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        matches!(plain.as_str(), "." | "..") || segment.is_empty() && !path.is_empty()
    };
    path.split('/').find(is_refused)
}

/// The store of an address, with the settings of the environment.
#[allow(
    unused_variables,
    reason = "without the features of stores there are no settings"
)]
fn store(
    scheme: ObjectStoreScheme,
    url: &Url,
    environment: &[(String, String)],
    settings: &Settings,
) -> object_store::Result<Store> {
    /// The store that a builder makes, which skips names of settings that it does not know, and the order of its lists.
    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    macro_rules! built {
        ($builder:ty, $is_sorted:literal) => {{
            // Files check how long a server is silent.
            let client = ClientOptions::new()
                .with_connect_timeout(settings.timeout)
                .with_timeout(settings.deadline);
            let builder = <$builder>::new()
                .with_url(url.as_str())
                .with_client_options(client);
            let builder = builder.with_retry(settings.retry());
            let builder = builder.with_http_connector(Connector::new(settings));
            let set =
                environment
                    .iter()
                    .fold(builder, |builder, (name, value)| match name.parse() {
                        Ok(name) => builder.with_config(name, value),
                        Err(_) => builder,
                    });
            let store = Arc::new(set.build()?);
            Ok(Store {
                objects: store.clone(),
                pages: Some(Lists {
                    store,
                    is_sorted: $is_sorted,
                }),
            })
        }};
    }
    match scheme {
        #[cfg(feature = "aws")]
        ObjectStoreScheme::AmazonS3 => built!(object_store::aws::AmazonS3Builder, true),
        #[cfg(feature = "gcp")]
        ObjectStoreScheme::GoogleCloudStorage => {
            built!(object_store::gcp::GoogleCloudStorageBuilder, true)
        }
        // Accounts with folders sort a slash before all other characters, and old versions do not begin after a key.
        #[cfg(feature = "azure")]
        ObjectStoreScheme::MicrosoftAzure => {
            built!(object_store::azure::MicrosoftAzureBuilder, false)
        }
        _ => Ok(Store {
            objects: Arc::from(object_store::parse_url(url)?.0),
            pages: None,
        }),
    }
}

/// Returns `true` if an address is requested as it is: every `http` and `https` address, except the addresses of S3 and Azure if
/// there are keys for them, and if the address does not contain a signature.
fn is_plain_http(url: &Url, environment: &[(String, String)]) -> bool {
    if !matches!(url.scheme(), "http" | "https") {
        return false;
    }
    let has = |names: &[&str]| {
        environment.iter().any(|(name, value)| {
            !value.is_empty() && names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted))
        })
    };
    let has_keys = match ObjectStoreScheme::parse(url) {
        Ok((ObjectStoreScheme::AmazonS3, _)) => cfg!(feature = "aws") && has(&AWS_KEYS),
        Ok((ObjectStoreScheme::MicrosoftAzure, _)) => cfg!(feature = "azure") && has(&AZURE_KEYS),
        _ => false,
    };
    !has_keys || url.query().is_some() || !url.username().is_empty()
}

/// Variables of the environment with keys for S3, or with the source of such keys.
const AWS_KEYS: [&str; 4] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// Variables of the environment with keys for Azure.
const AZURE_KEYS: [&str; 8] = [
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_TOKEN",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
];

/// Plain HTTP: the address is requested as it is, with its query string, its credentials and the caller's headers.
#[cfg(feature = "http")]
mod http {
    use std::sync::Arc;

    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use http_types::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
    use object_store::http::HttpBuilder;
    use object_store::path::Path;
    use object_store::{ClientOptions, ObjectStore};
    use percent_encoding::percent_decode_str;
    use url::Url;

    use crate::client::Connector;
    use crate::fetch::Settings;

    pub(super) fn store(
        url: &Url,
        settings: &Settings,
        is_shared: bool,
    ) -> Result<(Arc<dyn ObjectStore>, Path), String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let name = HeaderName::try_from(name.as_str())
                .map_err(|_| format!("expected the name of an HTTP header, found {name:?}"))?;
            let mut value = HeaderValue::try_from(value.as_str())
                .map_err(|_| format!("the value of the header {name} cannot be sent"))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        let mut url = url.clone();
        if let Some(credentials) = credentials(&url)
            && !headers.contains_key(AUTHORIZATION)
        {
            headers.insert(AUTHORIZATION, credentials);
        }
        // The credentials are in the header. Errors of the store name the rest.
        let _ = (url.set_username(""), url.set_password(None));
        url.set_fragment(None);
        let allows_http = url.scheme() == "http";
        // Files check how long a server is silent, and how long a range takes.
        let client = ClientOptions::new()
            .with_allow_http(allows_http)
            .with_connect_timeout(settings.timeout)
            .with_timeout_disabled()
            .with_http1_only();
        let mut connector = Connector::new(settings).with_headers(headers);
        if is_shared {
            connector = connector.shared(allows_http);
        }
        let (base, path) = base_and_path(&url);
        let builder = HttpBuilder::new()
            .with_url(base)
            .with_client_options(client);
        let builder = builder.with_retry(settings.retry());
        let builder = builder.with_http_connector(connector);
        Ok((
            Arc::new(builder.build().map_err(|error| error.to_string())?),
            path,
        ))
    }

    /// The address of a store and a path in it, of which the store makes the same address again.
    fn base_and_path(url: &Url) -> (Url, Path) {
        let mut base = url.clone();
        base.set_path("");
        let path = Path::from_url_path(url.path()).unwrap_or_default();
        let mut again = base.clone();
        if let Ok(mut parts) = again.path_segments_mut() {
            parts.extend(path.parts());
        }
        // Paths of stores have no empty parts and one way to encode characters.
        if again == *url {
            (base, path)
        } else {
            (url.clone(), Path::default())
        }
    }

    /// The header for the user and the password of an address.
    fn credentials(url: &Url) -> Option<HeaderValue> {
        if url.username().is_empty() && url.password().is_none() {
            return None;
        }
        let mut pair: Vec<u8> = percent_decode_str(url.username()).collect();
        pair.push(b':');
        pair.extend(percent_decode_str(url.password().unwrap_or_default()));
        let mut value =
            HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(pair))).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

#[cfg(not(feature = "http"))]
mod http {
    use std::sync::Arc;

    use object_store::ObjectStore;
    use object_store::path::Path;
    use url::Url;

    use crate::fetch::Settings;

    pub(super) fn store(
        url: &Url,
        _: &Settings,
        _: bool,
    ) -> Result<(Arc<dyn ObjectStore>, Path), String> {
        Err(super::without_feature("http", url.scheme()))
    }
}

fn without_feature(feature: &str, scheme: &str) -> String {
    format!("built without the feature `{feature}`, which reads {scheme}:// addresses")
}

/// The feature that an address needs and that this build does not have.
fn missing_feature(scheme: &str) -> Option<&'static str> {
    let features = [
        ("fs", cfg!(feature = "fs"), &["file"][..]),
        ("aws", cfg!(feature = "aws"), &["s3", "s3a"]),
        ("gcp", cfg!(feature = "gcp"), &["gs"]),
        (
            "azure",
            cfg!(feature = "azure"),
            &["az", "adl", "azure", "abfs", "abfss"],
        ),
    ];
    let missing = features
        .iter()
        .find(|(_, is_on, schemes)| !is_on && schemes.contains(&scheme));
    missing.map(|(feature, ..)| *feature)
}

#[cfg(test)]
pub(crate) mod tests {
    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn an_address_without_its_feature_names_it() {
        for (address, feature, is_on) in [
            ("file:///tmp/a.iqm", "fs", cfg!(feature = "fs")),
            ("https://host/a.iqm", "http", cfg!(feature = "http")),
            ("gs://bucket/a.iqm", "gcp", cfg!(feature = "gcp")),
        ] {
            let place = parse(&address.into(), &Settings::default(), false);
            let message = place
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert_eq!(
                message.contains(&format!("the feature `{feature}`")),
                !is_on,
                "{message}"
            );
        }
    }

    #[test]
    fn addresses_of_s3_and_azure_are_plain_http_unless_there_are_keys() {
        let aws = [("AWS_ACCESS_KEY_ID".to_owned(), "x".to_owned())];
        let azure = [("azure_storage_account_key".to_owned(), "x".to_owned())];
        let empty = [("AWS_ACCESS_KEY_ID".to_owned(), String::new())];
        let s3 = "https://bucket.s3.us-east-1.amazonaws.com/a.iqm";
        let blob = "https://account.blob.core.windows.net/container/a.iqm";
        for (address, environment, is_plain) in [
            (s3, &[][..], true),
            (blob, &[], true),
            (s3, &empty, true),
            (s3, &azure, true),
            (blob, &aws, true),
            (s3, &aws, !cfg!(feature = "aws")),
            (blob, &azure, !cfg!(feature = "azure")),
            ("https://example.com/a.iqm", &aws, true),
            ("http://127.0.0.1:80/a.iqm", &azure, true),
            ("s3://bucket/a.iqm", &[], false),
            ("file:///a.iqm", &[], false),
        ] {
            assert_eq!(
                is_plain_http(&Url::parse(address).unwrap(), environment),
                is_plain,
                "{address}"
            );
        }
        // A presigned address is used as it is, whatever the keys are.
        let signed = Url::parse(&format!("{s3}?X-Amz-Signature=0")).unwrap();
        assert!(is_plain_http(&signed, &aws));
    }

    /// A kind of store, and the settings of an environment for it.
    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    struct Kind {
        scheme: ObjectStoreScheme,
        url: &'static str,
        environment: Vec<(&'static str, String)>,
    }

    /// The kinds of stores of this build, behind a server at this port.
    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    fn kinds(port: u16) -> Vec<Kind> {
        let server = format!("http://127.0.0.1:{port}");
        vec![
            #[cfg(feature = "aws")]
            Kind {
                scheme: ObjectStoreScheme::AmazonS3,
                url: "s3://bucket/b.iqm",
                environment: vec![
                    ("aws_endpoint", server.clone()),
                    ("aws_allow_http", "true".to_owned()),
                    ("aws_access_key_id", "key".to_owned()),
                    ("aws_secret_access_key", "keysecret".to_owned()),
                    ("aws_session_token", "tokensecret".to_owned()),
                    ("aws_region", "us-east-1".to_owned()),
                ],
            },
            #[cfg(feature = "gcp")]
            Kind {
                scheme: ObjectStoreScheme::GoogleCloudStorage,
                url: "gs://bucket/b.iqm",
                environment: vec![
                    ("google_base_url", server.clone()),
                    ("google_allow_http", "true".to_owned()),
                    ("google_skip_signature", "true".to_owned()),
                ],
            },
            #[cfg(feature = "azure")]
            Kind {
                scheme: ObjectStoreScheme::MicrosoftAzure,
                url: "az://container/b.iqm",
                environment: vec![
                    ("azure_endpoint", server.clone()),
                    ("azure_allow_http", "true".to_owned()),
                    ("azure_storage_account_name", "account".to_owned()),
                    ("azure_storage_token", "tokensecret".to_owned()),
                ],
            },
        ]
    }

    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    fn built(kind: Kind, settings: &Settings) -> Store {
        let set = kind
            .environment
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let environment: Vec<(String, String)> = set.collect();
        store(
            kind.scheme,
            &Url::parse(kind.url).unwrap(),
            &environment,
            settings,
        )
        .unwrap()
    }

    /// A store of S3's protocol behind a server that answers each request with these bytes, and the requests that it got.
    #[cfg(feature = "aws")]
    pub(crate) fn s3(answer: Vec<u8>, settings: &Settings) -> (Store, Arc<Mutex<String>>) {
        let (port, requests) = served(answer);
        (built(kinds(port).remove(0), settings), requests)
    }

    /// The port of a server that answers each request with these bytes, and the heads of the requests that it got.
    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    fn served(answer: Vec<u8>) -> (u16, Arc<Mutex<String>>) {
        served_by(move |_| answer.clone())
    }

    /// The stores of this build, each behind a server that answers its requests, by the address of the store and their numbers.
    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    pub(crate) fn stores(
        answer: impl Fn(&str, usize) -> Vec<u8> + Clone + Send + 'static,
        settings: &Settings,
    ) -> Vec<(&'static str, Store)> {
        let numbers = 0..kinds(0).len();
        let store = |number| {
            let url = kinds(0).remove(number).url;
            let answer = answer.clone();
            let (port, _) = served_by(move |request| answer(url, request));
            (url, built(kinds(port).remove(number), settings))
        };
        numbers.map(store).collect()
    }

    /// Like [`served`], with an answer for each request by its number.
    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    fn served_by(answer: impl Fn(usize) -> Vec<u8> + Send + 'static) -> (u16, Arc<Mutex<String>>) {
        use std::io::{Read as _, Write as _};

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(String::new()));
        let log = Arc::clone(&requests);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                let mut part = [0; 4096];
                while !head.ends_with(b"\r\n\r\n") {
                    let count = stream.read(&mut part).unwrap();
                    if count == 0 {
                        break;
                    }
                    head.extend_from_slice(&part[..count]);
                }
                log.lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&head).to_ascii_lowercase());
                // The client may have read enough.
                let _ = stream.write_all(&answer(number));
            }
        });
        (port, requests)
    }

    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    pub(crate) fn quick() -> Settings {
        let timeout = std::time::Duration::from_secs(2);
        Settings {
            retries: 0,
            timeout,
            ..Settings::default()
        }
    }

    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    const OBJECT: &[u8] =
        b"HTTP/1.1 206 x\r\nContent-Range: bytes 0-3/4\r\nContent-Length: 4\r\nETag: \"x\"\r\n\
        Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\nConnection: close\r\n\r\nabcd";

    /// The rule for redirects is the same for all stores, and a token is for the store only.
    #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
    #[tokio::test]
    async fn redirects_of_stores_to_other_hosts_are_refused_or_get_no_token() {
        for (number, redirects) in
            (0..kinds(0).len()).flat_map(|number| [(number, false), (number, true)])
        {
            let (other_port, others) = served(OBJECT.to_vec());
            let answer = format!(
                "HTTP/1.1 307 x\r\nLocation: http://localhost:{other_port}/b.iqm\r\nContent-Length: 0\r\n\
                 Connection: close\r\n\r\n"
            );
            let mut settings = quick();
            settings.redirects = redirects;
            let (port, requests) = served(answer.into_bytes());
            let kind = kinds(port).remove(number);
            let url = kind.url;
            let has_token = kind
                .environment
                .iter()
                .any(|(_, value)| value == "tokensecret");
            let store = built(kind, &settings);
            let remote =
                crate::Remote::new(store.objects, Path::from("b.iqm")).with_settings(settings);
            let bytes = remote.run(|source| source.read(0..4)).await;
            assert_eq!(
                requests.lock().unwrap().contains("tokensecret"),
                has_token,
                "{url}"
            );
            let others = others.lock().unwrap();
            match bytes {
                Ok(bytes) => assert!(redirects && *bytes == *b"abcd", "{url}"),
                Err(error) => {
                    let text = error.to_string();
                    assert!(
                        !redirects && text.contains("redirects to another host"),
                        "{url}: {text}"
                    );
                    assert_eq!(*others, "", "{url}");
                }
            }
            assert!(
                !others.contains("secret") && !others.contains("x-amz"),
                "{url}: {others}"
            );
            assert!(
                !others.contains("authorization") && !others.contains("referer"),
                "{url}: {others}"
            );
        }
    }

    /// Memory is for bytes that came, and for no more than a page.
    #[cfg(feature = "aws")]
    #[tokio::test]
    async fn lists_and_errors_of_s3_are_limited() {
        use futures_util::TryStreamExt as _;

        const MIB: usize = 1 << 20;
        let answer = |status: u16, length: u64, sent: usize| {
            let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {length}\r\n\r\n");
            [head.as_bytes(), &vec![b'x'; sent]].concat()
        };
        for (answer, expected) in [
            (
                answer(200, 1 << 40, 100),
                "end of file before message length reached",
            ),
            (answer(200, 1 << 40, 17 * MIB), "longer than 16 MiB"),
            (answer(200, 17 << 20, 17 * MIB), "longer than 16 MiB"),
            (answer(403, 1 << 40, 100), "403"),
            (answer(503, 100 << 20, MIB), "503"),
        ] {
            let (store, _) = s3(answer, &quick());
            let listed = store.objects.list(None).try_collect::<Vec<_>>().await;
            let error = crate::fetch::brief(listed.unwrap_err(), &"s3://bucket/".into());
            assert!(
                error.to_string().contains(expected),
                "expected {expected}: {error}"
            );
        }
    }

    /// `Url` makes other addresses of them.
    #[test]
    fn keys_that_cannot_be_requested_are_refused() {
        for (address, segment) in [
            ("s3://bucket/a/../b.iqm", Some("..")),
            ("s3://bucket/../b.iqm", Some("..")),
            ("s3://bucket/a/%2E%2e/b.iqm", Some("%2E%2e")),
            ("gs://bucket/./b.iqm", Some(".")),
            ("s3://bucket//b.iqm", Some("")),
            ("s3://bucket/a//b.iqm", Some("")),
            ("s3://bucket/a/b.iqm", None),
            ("s3://bucket/a../..b/...iqm", None),
            ("s3://bucket/a/", None),
            ("s3://bucket/", None),
            ("s3://bucket", None),
            ("s3://bucket/a.iqm?x=/../", None),
        ] {
            assert_eq!(refused_segment(address), segment, "{address}");
        }
        let error = parse(
            &"s3://bucket/a/../b.iqm".into(),
            &Settings::default(),
            false,
        )
        .err()
        .unwrap();
        if cfg!(feature = "aws") {
            assert!(
                error
                    .to_string()
                    .starts_with("s3://bucket/a/../b.iqm: a key with the part"),
                "{error}"
            );
        }
    }
}
