//! Names in quotes: on one line, and read back as they were.

use std::fmt::{self, Write};

/// A text between quotes, on one line.
pub(crate) fn quoted(text: &str) -> String {
    struct Quoted<'a>(&'a str);
    impl fmt::Display for Quoted<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_quoted(f, self.0)
        }
    }
    Quoted(text).to_string()
}

/// Writes a name between quotes, with `\"`, `\\`, `\n`, `\r`, `\t` and `\u{hex}` as in Rust.
pub(crate) fn write_quoted(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in name.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default())?,
            c if c.is_control() => write!(f, "{}", c.escape_unicode())?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// The name that begins behind an opening quote, and the text behind the closing one.
///
/// # Errors
///
/// What was expected, and the text where it is not.
pub(crate) fn parse_quoted(quoted: &str) -> Result<(String, &str), (&'static str, &str)> {
    let mut name = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok((name, chars.as_str())),
            '\\' => match chars.next() {
                Some(c @ ('"' | '\\')) => name.push(c),
                Some('n') => name.push('\n'),
                Some('r') => name.push('\r'),
                Some('t') => name.push('\t'),
                Some('u') => {
                    let hex = chars.as_str().strip_prefix('{').and_then(|hex| hex.split_once('}'));
                    let (digits, after) = hex.ok_or(("\\u{hex}", quoted))?;
                    let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                    name.push(code.ok_or(("a character's number in \\u{hex}", digits))?);
                    chars = after.chars();
                }
                _ => return Err(("an escape", quoted)),
            },
            c => name.push(c),
        }
    }
    Err(("a closing \"", quoted))
}
