use std::fmt;
use std::ops::Range;

use meshmap_url::RemoteUrl;

/// The reason why a file in a store cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is damaged, or is none.
    Mesh {
        /// The address of the file.
        address: RemoteUrl,
        /// The error of the file.
        error: meshmap::Error,
    },
    /// The store does not return the bytes, after several tries if these could help.
    Store {
        /// The address of the file.
        address: RemoteUrl,
        /// The error that the store reports.
        #[source]
        error: Box<object_store::Error>,
    },
    /// The file is another one than at the first request. Open it again.
    Changed {
        /// The address of the file.
        address: RemoteUrl,
        /// The difference: in its tag, its length or its time.
        what: String,
    },
    /// A response that is not what was asked for.
    Response {
        /// The address of the file.
        address: RemoteUrl,
        /// The range that was asked for.
        range: Range<u64>,
        /// The response that came instead.
        what: String,
    },
    /// A server without ranges, which would have to send the whole file.
    TooLong {
        /// The address of the file.
        address: RemoteUrl,
        /// The length of the file.
        length: u64,
        /// The limit: `max_total_bytes` of `Settings::options`.
        limit: u64,
    },
    /// A response, or 64 KiB of it, that did not come in time.
    Timeout {
        /// The address of the file.
        address: RemoteUrl,
        /// The range that was asked for.
        range: Range<u64>,
        /// The time that was waited for.
        timeout: std::time::Duration,
    },
    /// A range whose bytes did not all come in time.
    Deadline {
        /// The address of the file.
        address: RemoteUrl,
        /// The range that was asked for.
        range: Range<u64>,
        /// The time for all of it.
        deadline: std::time::Duration,
    },
    /// A range for which the machine has no memory, although the limits allow it.
    OutOfMemory {
        /// The address of the file.
        address: RemoteUrl,
        /// The range that was asked for.
        range: Range<u64>,
    },
    /// An address that names no store.
    Address {
        /// The address.
        address: RemoteUrl,
        /// The problem with the address.
        what: String,
    },
    /// The task that decodes did not end.
    Task(#[from] tokio::task::JoinError),
    /// No thread or no timer for requests can be had.
    Runtime(#[source] std::io::Error),
}

impl Error {
    /// The address of the file, if the error is about a file.
    #[must_use]
    pub fn address(&self) -> Option<&RemoteUrl> {
        match self {
            Self::Mesh { address, .. }
            | Self::Store { address, .. }
            | Self::Changed { address, .. }
            | Self::Response { address, .. }
            | Self::TooLong { address, .. }
            | Self::Timeout { address, .. }
            | Self::Deadline { address, .. }
            | Self::OutOfMemory { address, .. }
            | Self::Address { address, .. } => Some(address),
            Self::Task(_) | Self::Runtime(_) => None,
        }
    }

    /// The error without the address: for text that stands next to the address.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Mesh { error, .. } => error.to_string(),
            Self::Store { error, .. } => reason(error),
            Self::Changed { what, .. } => format!("changed while it was read: {what}"),
            Self::Response { range, what, .. } => format!("{}: {what}", bytes(range)),
            Self::TooLong { length, limit, .. } => format!(
                "the server sends no ranges, and the whole file of {length} bytes is longer than the limit of {limit}"
            ),
            Self::Timeout { range, timeout, .. } => {
                let bytes = bytes(range);
                format!("{bytes}: nothing came within {timeout:?}, the timeout")
            }
            Self::Deadline {
                range, deadline, ..
            } => {
                let bytes = bytes(range);
                format!("{bytes}: not all came within {deadline:?}, the deadline")
            }
            Self::OutOfMemory { range, .. } => {
                format!("{}: out of memory", bytes(range))
            }
            Self::Address { what, .. } => what.clone(),
            Self::Task(error) => format!("decoding ended early: {error}"),
            Self::Runtime(error) => format!("no runtime for requests: {error}"),
        }
    }

    /// Returns `true` if the store has no such file.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Store { error, .. } if matches!(**error, object_store::Error::NotFound { .. }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(address) = self.address() {
            write!(f, "{address}: ")?;
        }
        f.write_str(&self.message())
    }
}

/// The words for a range of bytes.
fn bytes(range: &Range<u64>) -> String {
    format!("bytes {}..{}", range.start, range.end)
}

/// The reason that a store reports, without the words around it.
fn reason(error: &object_store::Error) -> String {
    use object_store::Error as Store;
    match error {
        Store::NotFound { source, .. }
        | Store::PermissionDenied { source, .. }
        | Store::Unauthenticated { source, .. }
        | Store::NotSupported { source }
        | Store::Generic { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// For readers that report errors of the system: a missing file is [`NotFound`](std::io::ErrorKind::NotFound). A limit that is
/// exceeded is the error of the library, by which a reader of the library reports it.
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind;
        if let Error::Mesh { error, .. } = &error
            && error.kind() == meshmap::ErrorKind::LimitExceeded
        {
            return Self::other(error.clone());
        }
        let kind = match &error {
            error if error.is_not_found() => ErrorKind::NotFound,
            Error::Store { error, .. } => match **error {
                object_store::Error::PermissionDenied { .. }
                | object_store::Error::Unauthenticated { .. } => ErrorKind::PermissionDenied,
                _ => ErrorKind::Other,
            },
            Error::Timeout { .. } | Error::Deadline { .. } => ErrorKind::TimedOut,
            Error::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Error::Address { .. } => ErrorKind::InvalidInput,
            _ => ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
