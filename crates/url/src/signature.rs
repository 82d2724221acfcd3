//! The parameters of a query that are a signature, or belong to one.

/// The parts of a query that are not of a signature.
pub(crate) fn without_signature(query: &str) -> String {
    let names: Vec<String> = query.split('&').map(name_of).collect();
    let mut kept = Vec::new();
    for (pair, name) in query.split('&').zip(&names) {
        if !is_of_signature(name, &names) {
            kept.push(pair);
        }
    }
    kept.join("&")
}

fn name_of(pair: &str) -> String {
    let name = pair.split('=').next().unwrap_or_default();
    name.to_ascii_lowercase()
}

/// Returns `true` for the name of a parameter that is a signature, or belongs to one of these `names`.
fn is_of_signature(name: &str, names: &[String]) -> bool {
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
    if BEGINNINGS
        .iter()
        .any(|beginning| name.starts_with(beginning))
    {
        return true;
    }
    SIGNATURES.iter().any(|(signature, others)| {
        let is_signed = names.iter().any(|name| name == signature);
        is_signed && (name == *signature || others.contains(&name))
    })
}
