//! The parts of a URL, as all parsers of URLs find them.

/// A URL, or a text that begins like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split<'a> {
    /// Without the colon.
    pub(crate) scheme: &'a str,
    /// The host and the port. `None` if no parser accepts them, so that it is unknown where a password ends.
    pub(crate) host: Option<&'a str>,
    /// From the slash on.
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
}

/// The scheme of a text that begins like a URL, and the text after the colon.
///
/// One slash suffices: a path that was made of a URL has one in place of two. The scheme has at least two letters: `C:/` is a path.
pub(crate) fn scheme_of(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_web = is_of_web(scheme);
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_allowed);
    // Browsers take backslashes for slashes, which paths of Windows have after another letter: `s3:\bucket`.
    let is_url = rest.starts_with('/') || is_web && rest.starts_with('\\');
    (is_scheme && is_url).then_some((scheme, rest))
}

fn is_of_web(scheme: &str) -> bool {
    ["http", "https"]
        .iter()
        .any(|web| scheme.eq_ignore_ascii_case(web))
}

impl<'a> Split<'a> {
    /// The parts of a text that begins like a URL.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        const SLASHES: [char; 2] = ['/', '\\'];
        let (scheme, rest) = scheme_of(text)?;
        // Browsers accept any number of slashes and backslashes before the host.
        let rest = if is_of_web(scheme) {
            rest.trim_start_matches(SLASHES)
        } else {
            rest.strip_prefix("//")
                .or_else(|| rest.strip_prefix('/'))
                .unwrap_or(rest)
        };
        let authority_end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(authority_end);
        // Without the user and the password.
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        // Without the fragment.
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        Some(Self {
            scheme,
            host: Some(host).filter(|host| is_host(host)),
            path,
            query,
        })
    }
}

/// Returns `false` for what is not a host with a port, such as the user and the beginning of a password with a slash.
fn is_host(host: &str) -> bool {
    let port = match host.rsplit_once(']') {
        // An address of IPv6 has colons.
        Some((_, port)) => port.strip_prefix(':').unwrap_or(port),
        None => host.split_once(':').map_or("", |(_, port)| port),
    };
    port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_where_parsers_find_them() {
        let of = |text: &'static str| {
            let split = Split::of(text).unwrap();
            (split.host, split.path, split.query)
        };
        assert_eq!(
            of("https://u:p@host:80/a@b.iqm?q@#f"),
            (Some("host:80"), "/a@b.iqm", Some("q@"))
        );
        assert_eq!(of("http:\\\\/u@h\\a"), (Some("h"), "\\a", None));
        assert_eq!(of("https:///u@h/a"), (Some("h"), "/a", None));
        assert_eq!(of("https:/u@h/a"), (Some("h"), "/a", None));
        assert_eq!(of("https://u:sec/ret@h/a"), (None, "/ret@h/a", None));
        assert_eq!(of("http://[::1]:80/a"), (Some("[::1]:80"), "/a", None));
        assert_eq!(of("file:///a@b"), (Some(""), "/a@b", None));
        assert_eq!(of("s3://bucket"), (Some("bucket"), "", None));
        for path in ["C:/a", "c:a", "a/b:/c", "a b:/c?d", "/http://a", "http:a"] {
            assert_eq!(Split::of(path), None, "{path}");
        }
    }
}
