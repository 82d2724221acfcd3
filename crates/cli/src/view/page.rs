//! The files of the page, compressed with gzip.

/// Addresses and contents.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.in"));

/// `true` if this program was built after the page was.
pub(crate) fn is_there() -> bool {
    !FILES.is_empty()
}

/// The content of a file of the page, compressed with gzip, and its media type.
pub(super) fn file(address: &str) -> Option<(&'static [u8], &'static str)> {
    let address = if address.is_empty() {
        "index.html"
    } else {
        address
    };
    let (_, content) = FILES.iter().find(|(name, _)| *name == address)?;
    let kind = match address.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    };
    Some((content, kind))
}
