//! Errors of the library, in the words of a person.

use std::borrow::Cow;
use std::io;

use meshmap::{Address, Error, ErrorKind, Finding};

/// An error without the path of the file: what is wrong, where, what was expected and what was found.
pub(crate) fn error(error: &Error) -> String {
    let format = error.format().map(|format| format!("{format}: ")).unwrap_or_default();
    format + &about(error)
}

/// The text of a finding about one value: `positions[3].x is inf`. `None` for findings about something else.
pub(crate) fn of_value(finding: &Finding) -> Option<String> {
    let address = finding.address.as_ref().filter(|_| finding.rule.id == "not_finite")?;
    Some(format!("{address}.{}", finding.detail))
}

/// Like [`error`], without the format.
pub(crate) fn about(error: &Error) -> String {
    of_part(error, None)
}

/// Like [`about`], for an error about a part whose address is already printed.
pub(crate) fn of_part(error: &Error, told: Option<&Address>) -> String {
    let what = place(error, told, "");
    let (expected, found) = (limit(error.expected_text()), error.found_text());
    let expected = expected.as_ref();
    match error.kind() {
        ErrorKind::UnknownFormat => {
            let is_hint = found.contains("\": ");
            let none = if is_hint {
                ""
            } else {
                ", which is how no CGeo, OpenCTM, Second Life mesh, IQM or TMF file begins"
            };
            format!("unknown format: {found}{none}")
        }
        ErrorKind::Malformed if is_checksum(expected) => {
            let (name, computed) = expected.trim_start_matches("the ").split_once(' ').unwrap_or_default();
            format!("{what} is corrupt: {name} {found} stored, {computed} computed")
        }
        ErrorKind::Malformed | ErrorKind::LimitExceeded if found.contains(", which needs ") => {
            let (number, needed) = found.split_once(", which needs ").unwrap_or_default();
            let what = place(error, told, &format!(" {number}"));
            match expected.strip_prefix("what ").and_then(|rest| rest.split_once(" can inflate")) {
                Some((stored, _)) => format!("{what} needs {needed}; {stored} cannot inflate to that"),
                None => format!("{what} needs {needed}: the limit is {expected}"),
            }
        }
        ErrorKind::Truncated if !found.is_empty() && !expected.is_empty() => {
            let is_all = error.byte_range().is_some_and(|range| range.start == 0);
            let has = if is_all { "the file has" } else { "there are" };
            format!("{what} cut off: {expected} announced, {has} {found}")
        }
        ErrorKind::Malformed | ErrorKind::OutOfRange | ErrorKind::Mismatch if !found.is_empty() => {
            if error.what() == "sections of a snapshot" && expected.contains("lead to") {
                let end = error.byte_range().map_or(0, |range| range.end);
                return format!(
                    "{}: no end tag before the end of the file ({end:#x}): cut off, or an unknown dialect; please send \
                     `meshmap info --report`",
                    error.address().map_or_else(|| "snapshot".to_owned(), ToString::to_string)
                );
            }
            let is_value = found.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '"'));
            match (is_value, expected.is_empty()) {
                (true, true) => format!("{what} is {found}"),
                (true, false) => format!("{what} is {found}, expected {expected}"),
                (false, true) => format!("{what}: {found}"),
                (false, false) => format!("{what}: expected {expected}, found {found}"),
            }
        }
        ErrorKind::Unsupported if !found.is_empty() => {
            let expected =
                if expected.is_empty() { String::new() } else { format!(": {expected} can be read") };
            format!("{what} is {found}, which is not supported{expected}")
        }
        ErrorKind::LimitExceeded if !found.is_empty() => {
            let expected =
                if expected.is_empty() { String::new() } else { format!(": the limit is {expected}") };
            format!("{what} needs {found}{expected}")
        }
        _ => match error.format() {
            Some(format) => {
                let message = error.message();
                message.strip_prefix(&format!("{format}: ")).unwrap_or(&message).to_owned()
            }
            None => error.message(),
        },
    }
}

/// The error of an output on a disk that is full.
pub(crate) const DISK_FULL: &str = "the disk is full";

/// The reason why an output cannot be written, without the names of temporary files.
pub(crate) fn writing(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::StorageFull {
        return DISK_FULL.to_owned();
    }
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if let Some(code) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(code).to_string();
        }
        source = error.source();
    }
    error.to_string()
}

/// A limit of the library, with the option of the command that raises it.
fn limit(expected: &str) -> Cow<'_, str> {
    match expected.split_once(" (").filter(|(_, rest)| rest.contains("raised by Limits::with_max_")) {
        Some((limit, rest)) if rest.contains("_bytes") => {
            format!("{limit}; raise it with --max-memory").into()
        }
        _ => expected.into(),
    }
}

/// Returns `true` if a checksum is expected: `the Adler-32 0x199b7a0c`.
fn is_checksum(expected: &str) -> bool {
    ["the Adler-32 0x", "the CRC 0x"].iter().any(|name| expected.starts_with(name))
}

/// The structure and its location: `iqmheader.ofs_joints (0x48..0x4c)`, with a number after the name.
fn place(error: &Error, told: Option<&Address>, number: &str) -> String {
    let of = error
        .address()
        .filter(|address| Some(*address) != told)
        .map(|address| format!(" of {address}"))
        .unwrap_or_default();
    let stored = error.byte_range().map(|range| format!("{:#x}..{:#x}", range.start, range.end));
    let inflated =
        error.decoded_range().map(|range| format!("inflated {:#x}..{:#x}", range.start, range.end));
    let ranges: Vec<String> = stored.into_iter().chain(inflated).collect();
    let at = if ranges.is_empty() { String::new() } else { format!(" ({})", ranges.join(", ")) };
    format!("{}{number}{of}{at}", error.what())
}
