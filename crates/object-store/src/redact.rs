//! Addresses without their secrets.

use url::Url;

/// An address without its user, its password, its fragment and the values of its query string, which may be a signature: for
/// messages. The version of an object stays, because it distinguishes files.
#[must_use]
pub fn without_secrets(address: &str) -> String {
    const VERSIONS: [&str; 3] = ["versionid", "generation", "snapshot"];
    let Ok(mut url) = Url::parse(address) else {
        // Whatever it is, it is cut at the first character that may begin a secret, and at the last that may end one.
        let shown = address.split_inclusive('?').next().unwrap_or_default();
        return match (shown.split_once("://"), shown.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => shown.to_owned(),
        };
    };
    let had_user = !url.username().is_empty() || url.password().is_some();
    if url.query().is_none() && url.fragment().is_none() && !had_user {
        return address.to_owned();
    }
    url.set_fragment(None);
    let _ = (url.set_username(""), url.set_password(None));
    if let Some(query) = url.query() {
        let is_version = |pair: &&str| {
            let name = pair.split_once('=').map(|(name, _)| name);
            name.is_some_and(|name| {
                VERSIONS
                    .iter()
                    .any(|version| name.eq_ignore_ascii_case(version))
            })
        };
        let mut kept: Vec<&str> = query.split('&').filter(is_version).collect();
        if kept.len() < query.split('&').count() {
            kept.push("..");
        }
        let kept = kept.join("&");
        url.set_query(Some(&kept));
    }
    url.to_string()
}

/// An address without its user, its password, its fragment and its signature: two addresses of one file that were signed at different times
/// are equal. Not for messages: what remains of the query string may be a secret.
#[must_use]
pub fn without_signature(address: &str) -> String {
    /// The beginnings of names of parameters that only signatures have.
    const BEGINNINGS: [&str; 2] = ["x-amz-", "x-goog-"];
    /// Names of parameters that are signatures, and of parameters that belong to a signature.
    const SIGNATURES: [(&str, &[&str]); 2] = [
        (
            "signature",
            &[
                "awsaccesskeyid",
                "googleaccessid",
                "expires",
                "policy",
                "key-pair-id",
            ],
        ),
        (
            "sig",
            &[
                "sv", "ss", "srt", "sp", "se", "st", "spr", "sr", "sip", "skoid", "sktid", "skt",
                "ske", "sks", "skv",
            ],
        ),
    ];
    let Ok(mut url) = Url::parse(address) else {
        return address.to_owned();
    };
    url.set_fragment(None);
    let _ = (url.set_username(""), url.set_password(None));
    let Some(query) = url.query() else {
        return url.into();
    };
    let name = |pair: &str| {
        pair.split('=')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
    };
    let names: Vec<String> = query.split('&').map(name).collect();
    let is_signature = |pair: &&str| {
        let name = name(pair);
        BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning))
            || SIGNATURES.iter().any(|(signature, others)| {
                names.iter().any(|name| name == signature)
                    && (name == *signature || others.contains(&name.as_str()))
            })
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !is_signature(pair))
        .collect();
    let kept = kept.join("&");
    url.set_query(Some(kept.as_str()).filter(|query| !query.is_empty()));
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_addresses_are_not_shown() {
        for (address, shown) in [
            ("https://host/a.iqm", "https://host/a.iqm"),
            ("https://host/a b.iqm", "https://host/a b.iqm"),
            ("https://host/a.iqm?sig=secret", "https://host/a.iqm?.."),
            ("https://u:secret@host/a.iqm", "https://host/a.iqm"),
            (
                "https://secret@host/a.iqm?sv=1&sig=secret",
                "https://host/a.iqm?..",
            ),
            (
                "https://host/a.iqm?versionId=7&sig=secret",
                "https://host/a.iqm?versionId=7&..",
            ),
            (
                "https://host/a.iqm?generation=7",
                "https://host/a.iqm?generation=7",
            ),
            ("https://u:sec#ret@host/a.iqm?secret", "https://host/a.iqm?"),
            ("https://host/a.iqm#secret", "https://host/a.iqm"),
            ("nothing?secret", "nothing?"),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
    }

    #[test]
    fn addresses_of_one_file_differ_in_nothing_but_their_signatures() {
        for (address, key) in [
            ("s3://bucket/a%20b.iqm", "s3://bucket/a%20b.iqm"),
            ("https://u:p@host/a.iqm#f", "https://host/a.iqm"),
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
            assert_eq!(without_signature(address), key);
        }
    }
}
