//! Texts of numbers, sizes, names and paths.

use std::path::Path;

use meshmap_url::without_secrets;

/// `1234567` as `1,234,567`.
#[must_use]
pub fn count(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let groups = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// `1 joint`, `2 joints`, `2 meshes`, `2 bodies`, `2 vertices`.
#[must_use]
pub fn plural(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let stem = one
        .strip_suffix('y')
        .filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    let many = match (stem, one.strip_suffix("ex")) {
        _ if number == 1 => one.to_owned(),
        (Some(stem), _) => format!("{stem}ies"),
        (_, Some(stem)) => format!("{stem}ices"),
        _ if one.ends_with('h') => format!("{one}es"),
        _ => format!("{one}s"),
    };
    format!("{} {many}", count(number))
}

/// A size in binary units.
#[must_use]
pub fn size(bytes: u64) -> String {
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

/// A coordinate: three decimals, or an exponent if it is huge.
#[must_use]
pub fn coordinate(number: f32) -> String {
    if number.abs() >= 1e7 {
        format!("{number:.1e}")
    } else {
        format!("{number:.3}")
    }
}

/// A time in seconds: milliseconds are shown, unless the number is so large that it is damage or a limit.
#[must_use]
pub fn seconds(time: f64) -> String {
    if time.abs() >= 1e9 {
        format!("{time:.3e} s")
    } else {
        format!("{time:.3} s")
    }
}

/// A text on one line, whole: what does not print, turns the direction of writing or ends a line is escaped.
#[must_use]
pub fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_graphic() || c == ' ' {
            line.push(c);
        } else {
            // After a letter, combining characters stay what they are.
            line.extend(String::from_iter(['a', c]).escape_debug().skip(1));
        }
    }
    line
}

/// Bytes in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path on one line, whole; or a URL without its secrets.
#[must_use]
pub fn path(path: &Path) -> String {
    line(&without_secrets(&path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_times_are_short() {
        assert_eq!(seconds(-0.04), "-0.040 s");
        assert_eq!(seconds(i64::MIN as f64 / 1e6), "-9.223e12 s");
    }

    #[test]
    fn sizes_have_one_decimal_and_the_right_unit() {
        let cases = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (257_808, "251.8 KiB"),
            (1 << 20, "1.0 MiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(size((1 << 20) - 1), "1.0 MiB");
        assert_eq!(size(u64::MAX), "16384.0 PiB");
    }

    #[test]
    fn counts_are_grouped_and_words_agree_with_them() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0_u64, 999, 1000, 1_234_567]
                .map(count)
                .each_ref()
                .map(|s| &**s)
        );
        assert_eq!(plural(1_u64, "mesh"), "1 mesh");
        assert_eq!(plural(2_u64, "mesh"), "2 meshes");
        assert_eq!(plural(1_u64, "byte"), "1 byte");
        assert_eq!(plural(3_u64, "body"), "3 bodies");
        assert_eq!(plural(3_u64, "vertex"), "3 vertices");
        assert_eq!(plural(3_u64, "array"), "3 arrays");
    }

    #[test]
    fn secrets_of_urls_that_nothing_reads_are_not_shown() {
        for (text, without) in [
            ("foo://user:secret@host/a.tmf?secret", "foo://host/a.tmf?.."),
            ("a/b?c.tmf", "a/b?c.tmf"),
        ] {
            assert_eq!(path(Path::new(text)), without);
        }
    }

    #[test]
    fn what_does_not_print_is_escaped() {
        assert_eq!(line("a\nb\u{1b}"), "a\\nb\\u{1b}");
        assert_eq!(
            line("a\u{202e}b\u{2028}c\u{200f}"),
            "a\\u{202e}b\\u{2028}c\\u{200f}"
        );
        assert_eq!(
            line("e\u{301} \u{65e5}\u{672c} \"x\" \\"),
            "e\u{301} \u{65e5}\u{672c} \"x\" \\"
        );
    }
}
