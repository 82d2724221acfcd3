//! The HTTP client under all stores. It limits what a server can do to a process: how long an answer is, and which host it leads to.
//!
//! The crate `object_store` reads the bodies of errors, lists and keys to their end, allocates the length that a server declares, and follows
//! redirects to any host with all headers but a few. So this client reads these bodies itself, within limits, and follows
//! redirects itself. Bodies of objects pass through: `fetch` reads no more of them than it asked for, and not for longer than allowed.

use std::time::Duration;

use async_trait::async_trait;
use bytes::BytesMut;
use futures_util::StreamExt as _;
use http_types::header::{
    ACCEPT, HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE,
    LOCATION, RANGE,
};
use http_types::{Method, StatusCode, Uri};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::redirect::Policy;
use url::Url;

use crate::fetch::{OfObject, Settings};
use crate::page::{RefusedKeys, without_refused};
use crate::shared;

/// The most bytes of a body that explains an error. What follows is not read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// The longest wait for the body of an error, which comes with its head.
const MAX_ERROR_WAIT: Duration = Duration::from_secs(2);

/// The most bytes of a page of a list, or of an answer with keys. A page of 1,000 objects with the longest names is 2 MB.
const MAX_PAGE: usize = 16 << 20;

/// The most redirects of a request.
const MAX_REDIRECTS: usize = 10;

/// Makes the clients of a store.
#[derive(Debug)]
pub(crate) struct Connector {
    /// Headers of all requests to the host of the address.
    headers: HeaderMap,
    timeout: Duration,
    deadline: Duration,
    redirects: bool,
    /// Clients with the same key are one client. `None` for a store that is shared itself.
    key: Option<Vec<u8>>,
}

impl Connector {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            headers: HeaderMap::new(),
            timeout: settings.timeout,
            deadline: settings.deadline,
            redirects: settings.redirects,
            key: None,
        }
    }

    /// Adds headers to all requests to the host of the address.
    #[cfg(feature = "http")]
    pub(crate) fn with_headers(self, headers: HeaderMap) -> Self {
        Self { headers, ..self }
    }

    /// Uses one client for all files of this process whose settings are the same.
    #[cfg(feature = "http")]
    pub(crate) fn shared(mut self, allows_http: bool) -> Self {
        let Self {
            headers,
            timeout,
            deadline,
            redirects,
            key: _,
        } = &self;
        let mut key = format!("{timeout:?} {deadline:?} {redirects} {allows_http}").into_bytes();
        for (name, value) in headers {
            key.extend([b"\n", name.as_str().as_bytes(), b": ", value.as_bytes()].concat());
        }
        self.key = Some(key);
        self
    }

    fn client(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = reqwest_client(options).map_err(|error| object_store::Error::Generic {
            store: "HTTP",
            source: Box::new(error),
        })?;
        let client = Client {
            inner: HttpClient::new(client),
            headers: self.headers.clone(),
            timeout: self.timeout,
            deadline: self.deadline,
            redirects: self.redirects,
        };
        Ok(HttpClient::new(client))
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        match &self.key {
            Some(key) => shared::client(key.clone(), || self.client(options)),
            None => self.client(options),
        }
    }
}

/// A client with the options of a store, which come from the environment. It follows no redirect. `object_store` makes its own clients from the
/// same options, but they follow redirects to every host.
fn reqwest_client(options: &ClientOptions) -> Result<reqwest::Client, reqwest::Error> {
    let text = |key| options.get_config_value(&key);
    let is_on = |key| text(key).is_some_and(|value| value == "true");
    let duration = |key| text(key).and_then(|value| humantime::parse_duration(&value).ok());

    let own_name = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")).to_owned();
    // Ranges are of the bytes as they are stored, so nothing is decompressed.
    let mut builder = reqwest::Client::builder()
        .user_agent(text(ClientConfigKey::UserAgent).unwrap_or(own_name))
        .redirect(Policy::none())
        .referer(false)
        .https_only(!is_on(ClientConfigKey::AllowHttp))
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate();

    if let Some(address) = text(ClientConfigKey::ProxyUrl) {
        let mut proxy = reqwest::Proxy::all(address)?;
        if let Some(excluded) = text(ClientConfigKey::ProxyExcludes) {
            proxy = proxy.no_proxy(reqwest::NoProxy::from_string(&excluded));
        }
        if let Some(certificate) = text(ClientConfigKey::ProxyCaCertificate) {
            let certificate = reqwest::Certificate::from_pem(certificate.as_bytes())?;
            builder = builder.tls_certs_merge([certificate]);
        }
        builder = builder.proxy(proxy);
    }
    if is_on(ClientConfigKey::NoSystemCertificates) {
        builder = builder.tls_certs_only([]);
    }
    if is_on(ClientConfigKey::AllowInvalidCertificates) {
        builder = builder.tls_danger_accept_invalid_certs(true);
    }
    if let Some(time) = duration(ClientConfigKey::Timeout) {
        builder = builder.timeout(time);
    }
    if let Some(time) = duration(ClientConfigKey::ConnectTimeout) {
        builder = builder.connect_timeout(time);
    }
    if let Some(time) = duration(ClientConfigKey::ReadTimeout) {
        builder = builder.read_timeout(time);
    }
    if let Some(time) = duration(ClientConfigKey::PoolIdleTimeout) {
        builder = builder.pool_idle_timeout(time);
    }
    if let Some(count) =
        text(ClientConfigKey::PoolMaxIdlePerHost).and_then(|value| value.parse().ok())
    {
        builder = builder.pool_max_idle_per_host(count);
    }
    if is_on(ClientConfigKey::Http1Only) {
        builder = builder.http1_only();
    }
    if is_on(ClientConfigKey::Http2Only) {
        builder = builder.http2_prior_knowledge();
    }
    if let Some(time) = duration(ClientConfigKey::Http2KeepAliveInterval) {
        builder = builder.http2_keep_alive_interval(time);
    }
    if let Some(time) = duration(ClientConfigKey::Http2KeepAliveTimeout) {
        builder = builder.http2_keep_alive_timeout(time);
    }
    if is_on(ClientConfigKey::Http2KeepAliveWhileIdle) {
        builder = builder.http2_keep_alive_while_idle(true);
    }
    if let Some(bytes) =
        text(ClientConfigKey::Http2MaxFrameSize).and_then(|value| value.parse::<u32>().ok())
    {
        builder = builder.http2_max_frame_size(bytes);
    }
    builder.build()
}

/// The reason why an answer is not used.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(
        "the server redirects to another host, {0}, which is followed if redirects are allowed"
    )]
    OtherHost(String),
    #[error("the server redirects more than {MAX_REDIRECTS} times")]
    ManyRedirects,
    #[error("the list is longer than {} MiB, the limit for one answer", MAX_PAGE >> 20)]
    LongPage,
    #[error("nothing came within {0:?}, the timeout")]
    Silent(Duration),
    #[error("not all came within {0:?}, the deadline")]
    Late(Duration),
    #[error("no address for requests: {0}")]
    Address(String),
}

impl From<Refused> for HttpError {
    fn from(refused: Refused) -> Self {
        // Stores send a request again after a timeout, and not for an unknown reason.
        let kind = match refused {
            Refused::Silent(_) | Refused::Late(_) => HttpErrorKind::Timeout,
            _ => HttpErrorKind::Unknown,
        };
        Self::new(kind, refused)
    }
}

#[derive(Debug)]
struct Client {
    inner: HttpClient,
    headers: HeaderMap,
    timeout: Duration,
    deadline: Duration,
    redirects: bool,
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if request.extensions().get::<OfObject>().is_some() {
            let response = self.follow(request).await?;
            if response.status().is_success() {
                return Ok(response);
            }
            return Ok(self.shortened(response).await);
        }
        // A list, keys, or a part that is written: nothing above this client limits their time.
        let whole = tokio::time::timeout(self.deadline, self.whole(request)).await;
        whole.map_err(|_| Refused::Late(self.deadline))?
    }
}

impl Client {
    /// Sends a request, and follows redirects: on the same host with all headers, and to others, if that is allowed, only with headers that
    /// contain no secret. `Referer` is never sent.
    async fn follow(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let first = url_of(&request)?;
        request.headers_mut().extend(self.headers.clone());
        let mut url = first.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.inner.execute(request.clone()).await?;
            let Some(next) = redirect_of(&request, &response, &url) else {
                return Ok(response);
            };
            if !is_same_host(&next, &first) {
                if !self.redirects {
                    let host = next.host_str().unwrap_or_default().to_owned();
                    return Err(Refused::OtherHost(host).into());
                }
                remove_secrets(request.headers_mut());
            }
            *request.uri_mut() = uri_of(&next)?;
            url = next;
        }
        Err(Refused::ManyRedirects.into())
    }

    /// An answer with an error status, with the beginning of its body. A body that does not come, or is not UTF-8, must not hide the status.
    async fn shortened(&self, response: HttpResponse) -> HttpResponse {
        let (parts, body) = response.into_parts();
        let mut pieces = body.bytes_stream();
        let mut bytes = BytesMut::new();
        let read = async {
            while let Some(Ok(mut piece)) = pieces.next().await {
                piece.truncate(MAX_ERROR_BODY - bytes.len());
                bytes.extend_from_slice(&piece);
                if bytes.len() == MAX_ERROR_BODY {
                    break;
                }
            }
        };
        // Less than the timeout, so that the request ends with the status.
        let _ = tokio::time::timeout(MAX_ERROR_WAIT.min(self.timeout / 2), read).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        HttpResponse::from_parts(parts, text.into())
    }

    /// A whole answer, whose length may be as long as a page of a list. Memory grows with the bytes that came: the declared length may be a lie.
    async fn whole(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let refused = request.extensions().get::<RefusedKeys>().cloned();
        // The server is silent while it receives.
        let wait = match *request.method() {
            Method::PUT | Method::POST => self.deadline,
            _ => self.timeout,
        };
        let response = tokio::time::timeout(wait, self.follow(request)).await;
        let response = response.map_err(|_| Refused::Silent(wait))??;
        if !response.status().is_success() {
            return Ok(self.shortened(response).await);
        }
        let (parts, body) = response.into_parts();
        let mut pieces = body.bytes_stream();
        let mut bytes = BytesMut::new();
        loop {
            let piece = tokio::time::timeout(self.timeout, pieces.next()).await;
            let piece = piece.map_err(|_| Refused::Silent(self.timeout))?;
            let Some(piece) = piece else { break };
            let piece = piece?;
            if piece.len() > MAX_PAGE - bytes.len() {
                return Err(Refused::LongPage.into());
            }
            bytes.extend_from_slice(&piece);
        }
        let mut bytes = bytes.freeze();
        if let Some(refused) = refused {
            bytes = without_refused(bytes, &refused);
        }
        Ok(HttpResponse::from_parts(parts, bytes.into()))
    }
}

/// Returns the URL that an answer leads to, for requests that change nothing. An answer whose `Location` is not a URL is an error of its status.
fn redirect_of(request: &HttpRequest, response: &HttpResponse, url: &Url) -> Option<Url> {
    let is_redirect = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let method = request.method();
    let is_reading =
        *method == Method::GET || *method == Method::HEAD || method.as_str() == "PROPFIND";
    if !is_redirect || !is_reading {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let mut next = url.join(location).ok()?;
    next.set_fragment(None);
    // The user and the password of a redirect are not the caller's.
    let _ = (next.set_username(""), next.set_password(None));
    Some(next)
}

fn is_same_host(a: &Url, b: &Url) -> bool {
    a.host() == b.host() && a.port_or_known_default() == b.port_or_known_default()
}

/// Keeps the headers that say what is read. The others may be keys: `Authorization`, `x-amz-security-token`, or a header of the caller.
fn remove_secrets(headers: &mut HeaderMap) {
    let depth = HeaderName::from_static("depth");
    let kept = [
        ACCEPT,
        RANGE,
        IF_MATCH,
        IF_NONE_MATCH,
        IF_MODIFIED_SINCE,
        IF_UNMODIFIED_SINCE,
        depth,
    ];
    let mut remaining = HeaderMap::new();
    for name in kept {
        if let Some(value) = headers.remove(&name) {
            remaining.insert(name, value);
        }
    }
    *headers = remaining;
}

fn url_of(request: &HttpRequest) -> Result<Url, HttpError> {
    let url = Url::parse(&request.uri().to_string());
    Ok(url.map_err(|error| Refused::Address(error.to_string()))?)
}

fn uri_of(url: &Url) -> Result<Uri, HttpError> {
    let uri = url.as_str().parse::<Uri>();
    Ok(uri.map_err(|error| Refused::Address(error.to_string()))?)
}
