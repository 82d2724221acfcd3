//! JSON as text, without characters that control terminals.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::Formatter;

/// Writes a value.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn write(out: impl Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Escaping))
}

/// Writes a value on a line.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn write_line(mut out: impl Write, value: &impl Serialize) -> io::Result<()> {
    write(&mut out, value)?;
    writeln!(out)
}

/// An object with the properties of another one after its own.
#[must_use]
pub fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// Escapes DEL, the C1 controls, and the characters that change the direction of writing: all are allowed in JSON, and
/// control the terminal that shows them.
struct Escaping;

fn is_escaped(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((start, c)) = rest.char_indices().find(|(_, c)| is_escaped(*c)) {
            let (plain, escaped) = rest.split_at(start);
            write!(out, "{plain}\\u{:04x}", u32::from(c))?;
            rest = escaped.get(c.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn characters_that_control_terminals_are_escaped() {
        let mut text = Vec::new();
        super::write(&mut text, &"a\u{7f}\u{9b}31m\u{202e}b\u{e9}\u{2066}").unwrap();
        assert_eq!(
            std::str::from_utf8(&text).unwrap(),
            "\"a\\u007f\\u009b31m\\u202eb\u{e9}\\u2066\""
        );
    }
}
