//! The text of all that decides about the content of an output.

/// A text that differs if the writer or the settings do: for [`Record::read`](meshmap_outputs::Record::read).
#[must_use]
pub fn identity(package: &str, target: &str, revision: u32, settings: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{package} {version}, {target} {revision}: {settings}")
}
