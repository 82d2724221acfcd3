use std::ops::Range;

use super::address::Address;
use super::error::Error;
use super::kind::ErrorKind;
use crate::format::Format;

/// A location in a file, from which errors and findings are made.
///
/// Each format has a constant `FILE`, the file as a whole, from which places in it are made.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) format: Format,
    pub(super) address: Option<Address>,
    pub(super) range: Option<Range<u64>>,
    decoded: Option<Range<u64>>,
}

impl Place {
    /// The file as a whole.
    pub(crate) const fn file(format: Format) -> Self {
        Self {
            format,
            address: None,
            range: None,
            decoded: None,
        }
    }

    /// The part of the file at an address.
    pub(crate) fn of(self, address: Address) -> Self {
        Self {
            address: Some(address),
            ..self
        }
    }

    /// These bytes, from the start of the source.
    pub(crate) fn at(self, range: Range<u64>) -> Self {
        Self {
            range: Some(range),
            ..self
        }
    }

    /// These bytes of the decoded block.
    pub(crate) fn decoded_at(self, range: Range<u64>) -> Self {
        Self {
            decoded: Some(range),
            ..self
        }
    }

    /// The part of the file, if the place is a part.
    pub(crate) fn address(&self) -> Option<&Address> {
        self.address.as_ref()
    }

    /// An error about `what` here.
    pub(crate) fn error(&self, kind: ErrorKind, what: &'static str) -> Error {
        self.locate(Error::new(kind, what))
    }

    /// A [`Malformed`](ErrorKind::Malformed) error about `what` here.
    pub(crate) fn malformed(&self, what: &'static str) -> Error {
        self.error(ErrorKind::Malformed, what)
    }

    /// An [`OutOfRange`](ErrorKind::OutOfRange) error: `what` the caller asked for is not here.
    pub(crate) fn out_of_range(&self, what: &'static str) -> Error {
        self.error(ErrorKind::OutOfRange, what)
    }

    /// The place that an error names, in this file.
    pub(crate) fn of_error(mut self, error: &Error) -> Self {
        self.address = error.address().cloned().or(self.address);
        self.range = error.byte_range().or(self.range);
        self
    }

    /// This error, with the place that it does not know itself.
    pub(crate) fn locate(&self, error: Error) -> Error {
        error.or_place(
            self.format,
            self.address.as_ref(),
            self.range.as_ref(),
            self.decoded.as_ref(),
        )
    }
}
