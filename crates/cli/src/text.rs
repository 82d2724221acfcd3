//! Texts that fit a width.

pub(crate) use meshmap_catalog::text::{coordinate, count, line, path, plural, seconds, size};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Names and titles longer than this are cut in the middle.
const LONGEST_NAME: usize = 26;

/// A box or a point: `0.000 1.000 2.000`.
pub(crate) fn point<const N: usize>(numbers: [f32; N]) -> String {
    numbers.map(coordinate).join(" ")
}

/// `min  ..  max`.
pub(crate) fn corners<const N: usize>([min, max]: [[f32; N]; 2]) -> String {
    format!("{}  ..  {}", point(min), point(max))
}

/// A name on one line: what does not print escaped, long ones cut.
pub(crate) fn name(text: &str) -> String {
    cut(&line(text), LONGEST_NAME)
}

/// Columns of a terminal that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text of at most `most` columns: its middle is left out if it is longer.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(2);
    let head = room - room / 2;
    let tail = room / 2;
    let start = taken(text.chars(), head);
    let end: String = taken(text.chars().rev(), tail).chars().rev().collect();
    format!("{start}..{end}")
}

/// The first characters that fit into `columns` columns.
fn taken(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut left = columns;
    let fits = |c: &char| match left.checked_sub(c.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    characters.take_while(fits).collect()
}

/// A text on as many lines as it takes, broken at blanks; later lines are indented. Words that are too long for a line
/// are broken anywhere.
pub(crate) fn wrap(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let columns = columns.max(indent + 8);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        // Blanks before a word belong to it: they stay where it does not begin a line.
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let end = rest[blanks..]
            .find(' ')
            .map_or(rest.len(), |end| blanks + end);
        let (word, after) = rest.split_at(end);
        rest = after;
        if width(&line) + width(word) <= columns {
            line.push_str(word);
            continue;
        }
        if !line.trim().is_empty() {
            lines.push(std::mem::take(&mut line));
            line = " ".repeat(indent);
        }
        let mut word = word.trim_start_matches(' ').to_owned();
        while width(&line) + width(&word) > columns {
            let part = taken(word.chars(), (columns - width(&line)).max(1));
            if part.is_empty() {
                break;
            }
            word = word[part.len()..].to_owned();
            lines.push(std::mem::take(&mut line) + &part);
            line = " ".repeat(indent);
        }
        line.push_str(&word);
    }
    if !line.trim().is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
        .into_iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// The lines of the first items of a list, and one line that counts the others: no file makes a page long.
pub(crate) fn listed<T>(
    items: impl IntoIterator<Item = T>,
    one: &str,
    lines: impl FnMut(T) -> Vec<String>,
) -> Vec<String> {
    const MOST: usize = 500;
    let mut items = items.into_iter();
    let mut listed: Vec<String> = items.by_ref().take(MOST).flat_map(lines).collect();
    let more = items.count();
    if more > 0 {
        listed.push(format!("  .. {} more", plural(more, one)));
    }
    listed
}

/// Lines as one text, each with its end.
pub(crate) fn joined(lines: Vec<String>) -> Vec<u8> {
    lines
        .into_iter()
        .map(|line| line + "\n")
        .collect::<String>()
        .into_bytes()
}

/// A text padded with blanks to `columns` columns.
pub(crate) fn pad(text: &str, columns: usize, left: bool) -> String {
    let blanks = " ".repeat(columns.saturating_sub(width(text)));
    if left {
        format!("{text}{blanks}")
    } else {
        format!("{blanks}{text}")
    }
}

/// Bytes in hexadecimal, with a blank between two of them.
pub(crate) fn spaced_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_coordinates_have_exponents() {
        assert_eq!(
            point([1.0, -6.1e31, 9_999_999.0]),
            "1.000 -6.1e31 9999999.000"
        );
    }

    #[test]
    fn names_are_cut_in_the_middle_by_columns() {
        assert_eq!(cut("abcdefghij", 8), "abc..hij");
        assert_eq!(
            cut("\u{65e5}\u{672c}\u{65e5}\u{672c}\u{65e5}", 8),
            "\u{65e5}..\u{65e5}"
        );
        assert!(width(&name(&"\u{65e5}".repeat(100))) <= LONGEST_NAME);
    }

    #[test]
    fn lines_are_broken_at_blanks_and_words_only_where_they_must_be() {
        assert_eq!(wrap("abcd efgh ijkl", 10, 0), ["abcd efgh", "ijkl"]);
        assert_eq!(wrap("ab cd ef", 80, 0), ["ab cd ef"]);
        assert_eq!(
            wrap(&"x".repeat(20), 10, 2),
            [
                "x".repeat(10),
                format!("  {}", "x".repeat(8)),
                "  xx".to_owned()
            ]
        );
        assert!(wrap("  a   b", 80, 4).concat().starts_with("  a   b"));
        for columns in 1..30 {
            wrap(
                "\u{65e5}\u{672c} abc \u{65e5}\u{672c}\u{65e5}\u{672c}",
                columns,
                3,
            );
        }
    }

    #[test]
    fn a_long_list_ends_with_the_number_of_the_others() {
        let lines = |count: u32| {
            listed(0..count, "mesh", |number| {
                vec![number.to_string(), String::new()]
            })
        };
        assert_eq!(lines(2), ["0", "", "1", ""]);
        assert_eq!(lines(500).len(), 1000);
        let long = lines(1502);
        assert_eq!(
            (long.len(), long[998].as_str(), long[1000].as_str()),
            (1001, "499", "  .. 1,002 meshes more")
        );
    }
}
