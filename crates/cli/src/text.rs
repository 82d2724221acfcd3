//! How numbers, sizes and names are shown.

use std::io::{self, Write};
use std::path::Path;

use meshmap::{Finding, Format};

/// Names and titles longer than this are cut.
const LONGEST_NAME: usize = 26;

/// `1234567` as `1,234,567`.
pub(crate) fn count(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// `1 joint`, `2 joints`.
pub(crate) fn plural(number: usize, one: &str) -> String {
    let ending = if number == 1 {
        ""
    } else if one.ends_with('h') {
        "es"
    } else {
        "s"
    };
    format!("{} {one}{ending}", count(number as u64))
}

/// `1 body`, `2 bodies`.
pub(crate) fn plural_of(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number as u64), if number == 1 { one } else { many })
}

/// A size in binary units.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A name on one line: control characters escaped, long ones cut.
pub(crate) fn name(text: &str) -> String {
    let escaped = line(text);
    match escaped.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}..", &escaped[..end]),
        None => escaped,
    }
}

/// A text on one line, whole: control characters escaped.
pub(crate) fn line(text: &str) -> String {
    text.chars().flat_map(escape).collect()
}

fn escape(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

/// A path on one line, whole.
pub(crate) fn path(path: &Path) -> String {
    line(&path.to_string_lossy())
}

/// The last part of a path: what a page about one file begins with.
pub(crate) fn file_name(file: &Path) -> String {
    path(file.file_name().map_or(file, Path::new))
}

/// Tells an error on standard error. Where that is full or closed, the exit status has to do.
pub(crate) fn error(line: impl std::fmt::Display) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// Where and what a finding is, on one line.
pub(crate) fn finding(finding: &Finding) -> String {
    let place = finding.address.as_ref().map(|address| format!("{address}: ")).unwrap_or_default();
    line(&format!("{place}{}: {}", finding.rule.name, finding.detail))
}

/// The lower-case name of a format, for JSON.
pub(crate) fn format_name(format: Option<Format>) -> Option<&'static str> {
    format.map(Format::name)
}

/// Columns of text: the first `left` ones to the left, the others to the right, two blanks between.
pub(crate) fn table(rows: &[Vec<String>], left: &[bool]) -> Vec<String> {
    /// No screen is wider, and blanks cannot be more than 65,535.
    const WIDEST: usize = 4096;
    let width = |column: usize| rows.iter().map(|row| row.get(column).map_or(0, |c| c.chars().count())).max();
    let widths: Vec<usize> = (0..left.len()).map(|column| width(column).unwrap_or(0).min(WIDEST)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).zip(left).map(|((cell, width), left)| {
            if *left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("   ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal_and_the_right_unit() {
        let cases =
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (257_808, "251.8 KiB"), (1 << 20, "1.0 MiB")];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(size((1 << 20) - 1), "1.0 MiB");
        assert_eq!(size(u64::MAX), "16384.0 PiB");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0_u64, 999, 1000, 1_234_567].map(count).each_ref().map(|s| &**s)
        );
        assert_eq!(["1 mesh", "2 meshes"], [1, 2].map(|n| plural(n, "mesh")).each_ref().map(|s| &**s));
    }

    #[test]
    fn cells_of_any_length_stand_in_tables() {
        let rows = vec![vec!["x".repeat(70_000), "y".to_owned()], vec!["z".to_owned(), String::new()]];
        assert_eq!(table(&rows, &[true, false]).iter().map(String::len).collect::<Vec<_>>(), [70_004, 1]);
    }

    #[test]
    fn names_stay_on_one_line() {
        assert_eq!(name("a\nb\u{1b}"), "a\\nb\\u{1b}");
        assert_eq!(name(&"x".repeat(100)).len(), LONGEST_NAME + 2);
    }
}
