use std::ops::Range;

use crate::format::Format;
use crate::report::{Address, Error, ErrorKind};

/// Something in a file that deviates from its specification, or that is suspicious.
///
/// Where a file deviates in the same way in several places, there is one finding, which shows the first place and
/// counts the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Which rule: one of the constants of the format's module, whose documentation says who writes such files.
    pub what: &'static str,
    /// The part of the file.
    pub address: Option<Address>,
    /// The bytes, from the beginning of the source.
    pub byte_range: Option<Range<u64>>,
    /// What was expected, what was found, and in how many places more.
    pub detail: String,
    /// Whether reading goes on: `false` where the data cannot be used as it is, such as an index out of range.
    pub tolerated: bool,
    /// Whether the text of the specification forbids it, and [`Strictness::Strict`](crate::Strictness::Strict)
    /// therefore refuses the file.
    pub forbidden: bool,
}

impl Finding {
    /// A suspicious thing, which the specification does not forbid.
    pub(crate) fn suspicious(what: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { what, address: None, byte_range: None, detail, tolerated: true, forbidden: false }
    }

    /// A deviation that does not stand in the way of reading.
    pub(crate) fn forbidden(what: &'static str, detail: impl Into<String>) -> Self {
        Self { forbidden: true, ..Self::suspicious(what, detail) }
    }

    /// Data that cannot be used.
    pub(crate) fn wrong(what: &'static str, detail: impl Into<String>) -> Self {
        Self { tolerated: false, ..Self::forbidden(what, detail) }
    }

    pub(crate) fn of(self, address: Address) -> Self {
        Self { address: Some(address), ..self }
    }

    pub(crate) fn at(self, range: Range<u64>) -> Self {
        Self { byte_range: Some(range), ..self }
    }

    /// The error that strict reading makes of a forbidden finding.
    pub(crate) fn to_error(&self, format: Format) -> Error {
        let mut error =
            Error::new(ErrorKind::Malformed, self.what).format_is(Some(format)).found(&self.detail);
        if let Some(address) = &self.address {
            error = error.of(address.clone());
        }
        if let Some(range) = &self.byte_range {
            error = error.at(range.clone());
        }
        error
    }
}

/// Findings while they are made: one for each rule, with a count of the places.
#[derive(Default)]
pub(crate) struct Findings(Vec<(Finding, u64)>);

impl Findings {
    /// Adds a finding that has one place, or one more place to a finding that is there; what it says is made only
    /// where it is shown.
    pub(crate) fn add(&mut self, what: &'static str, make: impl FnOnce(&'static str) -> Finding) {
        self.add_many(what, 1, make);
    }

    /// Adds a finding of `places` alike, or that many places to one that is there; nothing where there are none.
    pub(crate) fn add_many(
        &mut self,
        what: &'static str,
        places: u64,
        make: impl FnOnce(&'static str) -> Finding,
    ) {
        if places == 0 {
            return;
        }
        match self.0.iter_mut().find(|(finding, _)| finding.what == what) {
            Some((_, count)) => *count = count.saturating_add(places),
            None => self.0.push((make(what), places)),
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Finding> {
        let with_count = |(mut finding, count): (Finding, u64)| {
            match count {
                0 | 1 => {}
                2 => finding.detail.push_str(", and one place more"),
                _ => {
                    let more = crate::num::decimal(count.saturating_sub(1));
                    finding.detail.push_str(&format!(", and {more} places more"));
                }
            }
            finding
        };
        self.0.into_iter().map(with_count).collect()
    }
}
