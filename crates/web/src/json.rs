//! JSON, written. What libraries have for it takes ten kilobytes more in a module.

use std::fmt::{Display, Write};

/// An object that is being written.
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// A member whose value is JSON already: an object, a list, a number.
    pub(crate) fn with(mut self, key: &str, value: &dyn Display) -> Self {
        let comma = if self.0.len() > 1 { "," } else { "" };
        // Writing into a string does not fail.
        let _ = write!(self.0, "{comma}\"{key}\":{value}");
        self
    }

    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        self.with(key, &text(value))
    }

    /// A text, or null.
    pub(crate) fn text_or_null(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self.with(key, &"null"),
        }
    }

    /// A number, or null for NaN and infinities.
    pub(crate) fn float(self, key: &str, value: Option<f64>) -> Self {
        self.with(key, &float(value))
    }

    /// The first byte of a range and its end, or null.
    pub(crate) fn range(self, key: &str, value: Option<std::ops::Range<u64>>) -> Self {
        match value {
            Some(range) => self.with(key, &format_args!("[{},{}]", range.start, range.end)),
            None => self.with(key, &"null"),
        }
    }

    pub(crate) fn floats(self, key: &str, values: &[f32]) -> Self {
        let mut list = List::new();
        for value in values {
            list.push(&float(Some((*value).into())));
        }
        self.with(key, &list.end())
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A list that is being written.
pub(crate) struct List(String);

impl List {
    pub(crate) fn new() -> Self {
        Self("[".to_owned())
    }

    /// Adds a value that is JSON already.
    pub(crate) fn push(&mut self, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(value);
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push(']');
        self.0
    }
}

pub(crate) fn float(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        Some(value) => value.to_string(),
        None => "null".to_owned(),
    }
}

/// A string in quotes.
pub(crate) fn text(value: &str) -> String {
    let mut out = "\"".to_owned();
    for character in value.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            '\0'..='\x1f' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let odd = "a \"quoted\" \\ line\nand\0 more \u{7f}\u{2028} ä 😀";
        let object = Object::new()
            .text("odd", odd)
            .text_or_null("none", None)
            .float("small", Some(1.5e-7))
            .float("large", Some(-1e20))
            .float("nan", Some(f64::NAN))
            .range("range", Some(1..u64::MAX))
            .floats("floats", &[0.1, f32::INFINITY, -0.0, f32::MAX])
            .with("empty", &List::new().end())
            .with("object", &Object::new().end())
            .end();
        let value: serde_json::Value = serde_json::from_str(&object).unwrap();
        assert_eq!(value["odd"], odd);
        assert!(value["none"].is_null() && value["nan"].is_null() && value["floats"][1].is_null());
        assert_eq!(
            (value["small"].as_f64(), value["large"].as_f64()),
            (Some(1.5e-7), Some(-1e20))
        );
        assert_eq!(value["range"][1].as_u64(), Some(u64::MAX));
        let back: Vec<f32> = [0, 2, 3]
            .map(|i: usize| value["floats"][i].as_f64().unwrap() as f32)
            .to_vec();
        assert_eq!(back, [0.1, -0.0, f32::MAX]);
        assert_eq!(
            (&value["empty"], &value["object"]),
            (&serde_json::json!([]), &serde_json::json!({}))
        );
    }
}
