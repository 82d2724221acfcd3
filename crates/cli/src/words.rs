//! Errors of the library, in the words of a person.

use std::borrow::Cow;
use std::io;

use meshmap::{Address, Error, ErrorKind, Finding};

use crate::text;

/// An error without the path of the file: what is wrong, where, what was expected and what was found.
pub(crate) fn error(error: &Error) -> String {
    match error.format().filter(|_| error.kind() != ErrorKind::UnknownFormat) {
        Some(format) => format!("{format}: {}", about(error)),
        None => about(error),
    }
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
    let (expected, found) = (limit(&grouped(error.expected_text())), grouped(error.found_text()));
    let (expected, found) = (expected.as_str(), found.as_str());
    match error.kind() {
        ErrorKind::UnknownFormat => unknown(found),
        ErrorKind::Malformed if is_checksum(expected) => {
            let (name, computed) = expected.trim_start_matches("the ").split_once(' ').unwrap_or_default();
            format!("{what} is corrupt: {name} {found} stored, {computed} computed")
        }
        ErrorKind::Malformed | ErrorKind::LimitExceeded if found.contains(", which needs ") => {
            let (number, needed) = found.split_once(", which needs ").unwrap_or_default();
            let what = place(error, told, &format!(" {number}"));
            match expected.strip_prefix("what ").and_then(|rest| rest.split_once(" can inflate")) {
                Some((stored, _)) => format!("{what} needs {needed}; {stored} cannot inflate to that"),
                None => above_limit(&what, needed, expected),
            }
        }
        ErrorKind::LimitExceeded if !found.is_empty() => above_limit(&what, found, expected),
        ErrorKind::Malformed | ErrorKind::Truncated if stream(expected, found).is_some() => {
            format!("{what}: {}", stream(expected, found).unwrap_or_default())
        }
        ErrorKind::Truncated if !found.is_empty() && !expected.is_empty() => {
            format!("{what} is cut off: expected {expected}, found {found}")
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
            let supported =
                if expected.is_empty() { String::new() } else { format!("; supported: {expected}") };
            format!("{what} is {found}, which is not supported{supported}")
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

/// The message for a file of no format that is read: its first bytes, and the format that they are known for.
fn unknown(found: &str) -> String {
    match found {
        "an empty file" => "the file is empty".to_owned(),
        known if known.contains("\": ") => format!("unknown format: starts with {known}"),
        bytes => format!("not a CGeo, IQM, OpenCTM, Second Life mesh or TMF file: starts with {bytes}"),
    }
}

/// More is needed than a limit allows.
fn above_limit(what: &str, needed: &str, expected: &str) -> String {
    let limit = expected.strip_prefix("at most ").unwrap_or(expected);
    match needed {
        "more" => format!("{what} exceeds the limit of {limit}"),
        _ if limit.is_empty() => format!("{what} needs {}", units(needed)),
        _ => format!("{what} needs {}, above the limit of {limit}", units(needed)),
    }
}

/// The fault of a compressed stream: `the zlib stream is cut off after 6,621 decoded bytes`. `None` for other errors.
fn stream(expected: &str, found: &str) -> Option<String> {
    let (kind, name) =
        ["the rest of the ", "more content of the ", "the end of the ", "an intact "]
            .iter()
            .find_map(|kind| Some((*kind, expected.strip_prefix(*kind)?.strip_suffix(" stream")?)))?;
    let (fault, decoded) = found.strip_suffix(" of its content")?.rsplit_once("at byte ")?;
    let after = format!("after {decoded} decoded bytes");
    Some(match kind {
        "the rest of the " => format!("the {name} stream is cut off {after}"),
        "more content of the " => format!("the {name} stream ends too early, {after}"),
        "the end of the " => format!("the {name} stream goes on {after}, where it should end"),
        _ => format!("damaged {name} stream: {} {after}", fault.trim_end()),
    })
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

/// A limit of the library, in units, with the option of the command that raises it.
fn limit(expected: &str) -> String {
    match expected.split_once(" (").filter(|(_, rest)| rest.contains("raised by Limits::with_max_")) {
        Some((limit, rest)) if rest.contains("_bytes") => {
            format!("{}; raise it with --max-memory", units(limit.trim_start_matches("at most ")))
        }
        _ => expected.to_owned(),
    }
}

/// A number of bytes as a size, from 1 MiB on: `512 MiB`. Other texts stay.
fn units(text: &str) -> String {
    let bytes = text.strip_suffix(" bytes").and_then(|number| number.replace(',', "").parse().ok());
    match bytes.filter(|bytes| *bytes >= 1 << 20) {
        Some(bytes) => text::size(bytes).replace(".0 ", " "),
        None => text.to_owned(),
    }
}

/// The text with its whole numbers in groups of three digits, unless it quotes the file.
fn grouped(text: &str) -> String {
    if text.contains('"') {
        return text.to_owned();
    }
    let mut before = ' ';
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).map(|word| {
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let number = digits.parse::<u64>().ok().filter(|_| digits.len() > 3 && !matches!(before, '.' | ','));
        before = word.chars().next_back().unwrap_or(' ');
        match number {
            Some(number) => {
                format!("{}{}", text::count(number), word.strip_prefix(digits).unwrap_or_default())
            }
            None => word.to_owned(),
        }
    });
    words.collect()
}

/// The detail of a finding. For unusable parts it is an error of the library, whose hint is for programmers.
pub(crate) fn detail(finding: &Finding) -> Cow<'_, str> {
    let detail = &finding.detail;
    let hint = detail.find("raised by Limits::").and_then(|at| {
        let (start, end) = (detail.get(..at)?.rfind('(')?, at + detail.get(at..)?.find(')')?);
        Some((detail.get(..start)?, detail.get(end..)?))
    });
    match hint {
        Some((before, after)) => format!("{before}(raise it with --max-memory{after}").into(),
        None => detail.into(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_except_in_quotes_hexadecimal_and_fractions() {
        let cases = [
            ("4294967280", "4,294,967,280"),
            ("-2147483648", "-2,147,483,648"),
            ("at most 8 of 4096", "at most 8 of 4,096"),
            ("0x00001234, 1,152 and 0.12345", "0x00001234, 1,152 and 0.12345"),
            ("\"12345\"", "\"12345\""),
        ];
        for (text, wanted) in cases {
            assert_eq!(grouped(text), wanted);
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(units("536,870,912 bytes"), "512 MiB");
        assert_eq!(units("8589934592 bytes"), "8 GiB");
        assert_eq!(units("1,000 bytes"), "1,000 bytes");
        assert_eq!(units("96 (max_depth)"), "96 (max_depth)");
    }

    #[test]
    fn faults_of_streams_say_how_much_was_decoded() {
        let of = |expected: &str, found: &str| stream(expected, found).unwrap_or_default();
        assert_eq!(
            of("the rest of the zlib stream", "its end at byte 6,621 of its content"),
            "the zlib stream is cut off after 6,621 decoded bytes"
        );
        assert_eq!(
            of(
                "an intact LZMA stream",
                "a match before the start of the output, at byte 1 of 12 of its content"
            ),
            "damaged LZMA stream: a match before the start of the output, after 1 of 12 decoded bytes"
        );
        assert_eq!(stream("a zlib stream", "zeros: not downloaded"), None);
    }
}
