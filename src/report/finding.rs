use std::fmt;
use std::ops::Range;

use super::address::Address;
use super::error::Error;
use super::kind::ErrorKind;
use super::place::Place;
use super::rule::{Rule, Severity};
use crate::format::Format;
use crate::num::decimal;

/// A rule that a file breaks, and the location.
///
/// If a file breaks a rule in several places, there is one finding: it has the first place, and the detail counts
/// the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Finding {
    /// The rule: one of the constants in `rules` of the format's module.
    pub rule: Rule,
    /// The part of the file.
    pub address: Option<Address>,
    /// The bytes, from the start of the source.
    pub byte_range: Option<Range<u64>>,
    /// In how many places the rule is broken: at the address and the bytes the first time.
    pub count: u64,
    /// The expected value, and the value found at the first place.
    pub detail: String,
}

impl Finding {
    /// A rule is broken here.
    pub(crate) fn new(rule: Rule, place: Place, detail: impl Into<String>) -> Self {
        Self {
            rule,
            address: place.address,
            byte_range: place.range,
            count: 1,
            detail: detail.into(),
        }
    }

    /// The severity of the broken rule.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.rule.severity
    }

    /// The error that strict reading makes of a finding.
    pub(crate) fn to_error(&self, format: Format) -> Error {
        Error::new(ErrorKind::Malformed, self.rule.name)
            .or_place(
                format,
                self.address.as_ref(),
                self.byte_range.as_ref(),
                None,
            )
            .found(&self.detail)
    }
}

/// One line: rule, address, bytes, detail.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rule.name)?;
        if let Some(address) = &self.address {
            write!(f, " of {address}")?;
        }
        if let Some(range) = &self.byte_range {
            write!(f, " at {:#x}..{:#x}", range.start, range.end)?;
        }
        write!(f, ": {}", self.detail)?;
        match self.count {
            0 | 1 => Ok(()),
            count => write!(f, " ({} occurrences)", decimal(count)),
        }
    }
}

/// Findings while a file is checked: one for each rule, with a count of the places.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<(Finding, u64)>);

impl Findings {
    /// Notes that a rule is broken in one place, which is described only if it is the first.
    pub(crate) fn add<D: Into<String>>(
        &mut self,
        rule: Rule,
        describe: impl FnOnce() -> (Place, D),
    ) {
        self.add_many(rule, 1, describe);
    }

    /// Notes that a rule is broken in `places` places, and describes the first. Nothing is noted for 0 places.
    pub(crate) fn add_many<D: Into<String>>(
        &mut self,
        rule: Rule,
        places: u64,
        describe: impl FnOnce() -> (Place, D),
    ) {
        if places == 0 {
            return;
        }
        match self.0.iter_mut().find(|(finding, _)| finding.rule == rule) {
            Some((_, count)) => *count = count.saturating_add(places),
            None => {
                let (place, detail) = describe();
                self.0.push((Finding::new(rule, place, detail), places));
            }
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Finding> {
        self.0
            .into_iter()
            .map(|(finding, count)| Finding { count, ..finding })
            .collect()
    }
}

/// A part of a file, for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Item {
    /// The address of the item in the file.
    pub address: Address,
    /// The counts of the item, named as in the format's specification.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_map"))]
    pub counts: Vec<(&'static str, u64)>,
    /// Its size in the file, in bytes.
    pub stored: u64,
    /// The decoded size of the item in bytes, if it is known without decoding.
    pub decoded: Option<u64>,
    /// Its bytes, counted from the start of the source.
    pub range: Range<u64>,
}

/// The counts by their names.
#[cfg(feature = "serde")]
fn as_map<S: serde::Serializer>(
    counts: &[(&'static str, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().copied())
}
