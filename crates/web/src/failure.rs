//! Errors as JavaScript gets them.

use std::ops::Range;

use meshmap::Error;

use crate::json::Object;

/// The kind of the failure.
#[derive(Clone, Debug)]
pub struct Failure(Box<Parts>);

/// The problem, its address, the expected and the found value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parts {
    /// `unknown_format`, `truncated`, `malformed`, `unsupported`, `limit_exceeded`, `out_of_range`, `mismatch`,
    /// `cancelled` or `io`.
    pub kind: &'static str,
    /// One line with all of it.
    pub message: String,
    /// The format that was being read.
    pub format: Option<String>,
    /// The structure, as the format's specification names it.
    pub what: String,
    /// The part of the file.
    pub address: Option<String>,
    /// The wrong bytes.
    pub byte_range: Option<Range<u64>>,
    /// The wrong bytes of a decoded block.
    pub decoded_range: Option<Range<u64>>,
    /// The expected value.
    pub expected: String,
    /// The found value.
    pub found: String,
}

impl Failure {
    /// A failure of the caller's request.
    pub(crate) fn new(kind: &'static str, what: &str, expected: &str, found: &str) -> Self {
        let words = kind.replace('_', " ");
        let message = format!("{words} {what}: expected {expected}, found {found}");
        let mut failure = Self::with_message(kind, message);
        failure.0.what = what.to_owned();
        failure.0.expected = expected.to_owned();
        failure.0.found = found.to_owned();
        failure
    }

    /// A failure without any parts.
    fn with_message(kind: &'static str, message: String) -> Self {
        Self(Box::new(Parts {
            kind,
            message,
            format: None,
            what: String::new(),
            address: None,
            byte_range: None,
            decoded_range: None,
            expected: String::new(),
            found: String::new(),
        }))
    }

    /// Its parts.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// The failure as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let Parts {
            kind,
            message,
            format,
            what,
            address,
            byte_range,
            decoded_range,
            expected,
            found,
        } = &*self.0;
        Object::new()
            .text("kind", kind)
            .text("message", message)
            .text_or_null("format", format.as_deref())
            .text("what", what)
            .text_or_null("address", address.as_deref())
            .range("byteRange", byte_range.clone())
            .range("decodedRange", decoded_range.clone())
            .text("expected", expected)
            .text("found", found)
            .end()
    }
}

impl From<meshmap_scene::Error> for Failure {
    fn from(error: meshmap_scene::Error) -> Self {
        match error {
            meshmap_scene::Error::Read(error) => Self::from(error),
            other => Self::with_message("unsupported", other.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(Box::new(Parts {
            kind: error.kind().name(),
            message: error.message(),
            format: error.format().map(|format| format.to_string()),
            what: error.what().to_owned(),
            address: error.address().map(ToString::to_string),
            byte_range: error.byte_range(),
            decoded_range: error.decoded_range(),
            expected: error.cause().expected().into_owned(),
            found: error.cause().found().into_owned(),
        }))
    }
}
