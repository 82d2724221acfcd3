use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::signature::without_signature;
use crate::split::{Split, scheme_of};

/// The URL of a file or a folder in a store or on a server.
///
/// [`Display`](fmt::Display) and [`Debug`](fmt::Debug) print it without its user, its password, its query and its fragment. `?..` is in place
/// of a query. Only the version of an object in it is printed, which is not a secret and distinguishes files: `versionId` of S3, `generation`
/// of Google Cloud, `snapshot` of Azure.
///
/// URLs are equal, and ordered, by their whole texts: two URLs that print the same may be two files. Clones share the text.
#[derive(Clone)]
pub struct RemoteUrl(Arc<Texts>);

struct Texts {
    whole: Box<str>,
    /// The printed text, if it is not the whole text. Programs hold millions of URLs without secrets.
    shown: Option<Box<str>>,
}

impl RemoteUrl {
    /// The URL of a text, which may also be none: a request for it is an error then.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let whole = text.into().into_boxed_str();
        let shown = shown_of(&whole);
        let shown = (*shown != *whole).then(|| shown.into_boxed_str());
        Self(Arc::new(Texts { whole, shown }))
    }

    /// The URL of a text, if [`is_remote`] returns `true` for it; `None` for a path.
    #[must_use]
    pub fn of_remote(text: &str) -> Option<Self> {
        is_remote(text).then(|| Self::new(text))
    }

    /// The whole text, which may have a password or a signature: for requests, and never for messages, names, logs or records.
    #[must_use]
    pub fn with_secrets(&self) -> &str {
        &self.0.whole
    }

    /// Returns the printed text.
    #[must_use]
    pub fn as_shown(&self) -> &str {
        self.0.shown.as_ref().unwrap_or(&self.0.whole)
    }

    /// Returns `true` for an object or a folder of a store: S3, Google Cloud or Azure, where outputs can be put.
    #[must_use]
    pub fn is_of_store(&self) -> bool {
        has_scheme_of(&STORES, &self.0.whole)
    }

    /// The name of the file: the last part of the path, as it is encoded. Empty for a folder, whose path ends with a slash.
    #[must_use]
    pub fn name(&self) -> &str {
        let path = match Split::of(&self.0.whole) {
            Some(Split { host: None, .. }) => return "",
            Some(split) => split.path,
            None => self.as_shown(),
        };
        path.rsplit(['/', '\\']).next().unwrap_or_default()
    }

    /// Returns the printed text without the mark for a query: the place of the file for people, also for records that are kept.
    #[must_use]
    pub fn place(&self) -> &str {
        let shown = self.as_shown();
        shown.split_once('?').map_or(shown, |(place, _)| place)
    }

    /// A text that is equal for URLs of one file that were signed at different times or for different users: without user, password,
    /// fragment and signature. It is for comparisons only, because a query can be a secret although it is not a signature.
    #[must_use]
    pub fn identity_with_secrets(&self) -> String {
        let Some(split) = Split::of(&self.0.whole) else {
            return self.with_secrets().to_owned();
        };
        let Split {
            scheme, path, host, ..
        } = split;
        let Some(host) = host else {
            return self.with_secrets().to_owned();
        };
        let query = split.query.map(without_signature).unwrap_or_default();
        let mark = if query.is_empty() { "" } else { "?" };
        format!(
            "{}://{}{path}{mark}{query}",
            scheme.to_ascii_lowercase(),
            host.to_ascii_lowercase()
        )
    }
}

fn shown_of(text: &str) -> String {
    let Some(split) = Split::of(text) else {
        // Not a URL, whatever it is.
        let (shown, is_cut) = match text.split_once(['?', '#']) {
            Some((shown, _)) => (shown, true),
            None => (text, false),
        };
        let shown = shown.rsplit_once('@').map_or(shown, |(_, host)| host);
        return format!("{shown}{}", if is_cut { "?.." } else { "" });
    };
    let Split {
        scheme,
        host,
        path,
        query,
    } = split;
    let Some(host) = host else {
        return format!("{scheme}://..");
    };
    let marked = query.map(shown_query).unwrap_or_default();
    format!("{scheme}://{host}{path}{marked}")
}

/// The versions of a query, and a mark for what else it has.
fn shown_query(query: &str) -> String {
    let mut kept: Vec<&str> = query.split('&').filter(|pair| is_version(pair)).collect();
    if kept.len() < query.split('&').count() {
        kept.push("..");
    }
    format!("?{}", kept.join("&"))
}

fn is_version(pair: &str) -> bool {
    const VERSIONS: [&str; 3] = ["versionid", "generation", "snapshot"];
    let Some((name, _)) = pair.split_once('=') else {
        return false;
    };
    VERSIONS
        .iter()
        .any(|version| name.eq_ignore_ascii_case(version))
}

/// Returns `true` if a text is the URL of a file in a store or on a server, and not a path.
#[must_use]
pub fn is_remote(text: &str) -> bool {
    has_scheme_of(&STORES, text) || has_scheme_of(&["https", "http", "file"], text)
}

/// The schemes of S3, Google Cloud and Azure.
const STORES: [&str; 4] = ["s3", "gs", "az", "abfss"];

fn has_scheme_of(schemes: &[&str], text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else {
        return false;
    };
    schemes
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Returns `true` if a text begins like a URL of any scheme, which may have a password even if nothing reads such URLs. A path that was made of a
/// URL has one slash in place of two. The scheme has at least two letters: `C:/` is a path.
#[must_use]
pub fn has_scheme(text: &str) -> bool {
    scheme_of(text).is_some()
}

/// A path as it is, or a text that begins like a URL as [`RemoteUrl`] prints it: for messages about what a user named.
#[must_use]
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if has_scheme(text) {
        shown_of(text).into()
    } else {
        text.into()
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_shown())
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteUrl").field(&self.as_shown()).finish()
    }
}

impl From<&str> for RemoteUrl {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<&String> for RemoteUrl {
    fn from(text: &String) -> Self {
        Self::new(text.as_str())
    }
}

impl From<String> for RemoteUrl {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&Self> for RemoteUrl {
    fn from(url: &Self) -> Self {
        url.clone()
    }
}

impl PartialEq for RemoteUrl {
    fn eq(&self, other: &Self) -> bool {
        self.with_secrets() == other.with_secrets()
    }
}

impl Eq for RemoteUrl {}

impl PartialOrd for RemoteUrl {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RemoteUrl {
    fn cmp(&self, other: &Self) -> Ordering {
        self.with_secrets().cmp(other.with_secrets())
    }
}

impl Hash for RemoteUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.with_secrets().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python and JavaScript print the same: their tests read the same table.
    #[test]
    fn secrets_are_not_printed() {
        #[derive(serde::Deserialize)]
        struct Row {
            text: String,
            shown: String,
            name: String,
        }
        let table = include_str!("../../../tests/data/urls/shown.json");
        let rows: Vec<Row> = serde_json::from_str(table).unwrap();
        assert!(rows.len() > 20);
        for Row { text, shown, name } in rows {
            let url = RemoteUrl::new(text.as_str());
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), format!("RemoteUrl({shown:?})"));
            assert_eq!(url.name(), name, "{text}");
            assert_eq!(url.with_secrets(), text);
        }
    }

    #[test]
    fn texts_that_are_not_urls_have_secrets_as_well() {
        for (text, shown) in [
            ("nothing?secret", "nothing?.."),
            ("secret@host/a?secret", "host/a?.."),
            ("", ""),
        ] {
            assert_eq!(RemoteUrl::new(text).to_string(), shown);
        }
        for path in ["a/b?c.tmf", "C:/scans/a?b.tmf", "a b:/c?d", "a@b"] {
            assert_eq!(without_secrets(path), path);
        }
        assert_eq!(without_secrets("foo:/u:secret@h/a"), "foo://h/a");
    }

    #[test]
    fn urls_that_print_the_same_are_two() {
        let [a, b] = ["https://host/a?id=1", "https://host/a?id=2"].map(RemoteUrl::new);
        assert_eq!(a.to_string(), b.to_string());
        assert_ne!(a, b);
        assert!(a < b);
        assert_eq!(a.place(), "https://host/a");
    }

    #[test]
    fn urls_of_one_file_differ_in_nothing_but_their_signatures() {
        for (text, identity) in [
            ("s3://bucket/a%20b.iqm", "s3://bucket/a%20b.iqm"),
            ("HTTPS://u:p@Host/A.iqm#f", "https://host/A.iqm"),
            (
                "https://host/a.iqm?X-Amz-Date=1&X-Amz-Signature=2",
                "https://host/a.iqm",
            ),
            (
                "https://host/a.iqm?versionId=7&X-Amz-Signature=2",
                "https://host/a.iqm?versionId=7",
            ),
            (
                "https://host/a.iqm?AWSAccessKeyId=1&Expires=2&Signature=3",
                "https://host/a.iqm",
            ),
            (
                "https://host/a.iqm?sv=1&se=2&sig=3&snapshot=4",
                "https://host/a.iqm?snapshot=4",
            ),
            // These are not signed.
            (
                "https://host/a.iqm?id=5&sp=6",
                "https://host/a.iqm?id=5&sp=6",
            ),
            (
                "https://host/a.iqm?expires=never",
                "https://host/a.iqm?expires=never",
            ),
            ("nothing", "nothing"),
        ] {
            assert_eq!(RemoteUrl::new(text).identity_with_secrets(), identity);
        }
    }

    #[test]
    fn paths_of_windows_are_not_remote() {
        for path in [
            r"C:\scans\a.iqm",
            "C:/scans/a.iqm",
            "C://scans/a.iqm",
            "c:a.iqm",
            r"\\server\share\a.iqm",
            "//server/share/a.iqm",
            r"\\?\C:\scans\a.iqm",
            r"s3:\bucket\a.iqm",
        ] {
            assert!(!is_remote(path), "{path}");
            assert_eq!(RemoteUrl::of_remote(path), None);
        }
        assert!(is_remote("https://host/a.iqm") && is_remote("s3://bucket/a.iqm"));
    }
}
