//! Text of JSON, and the file of arrays.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use crate::Outcome;

/// A text in quotation marks.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Values in brackets.
pub(crate) fn list(values: &[String]) -> String {
    format!("[{}]", values.join(","))
}

/// Names with their values, in braces.
pub(crate) fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// The file of arrays.
pub(crate) struct Sink {
    file: BufWriter<File>,
    place: usize,
}

impl Sink {
    pub(crate) fn create(path: &Path) -> Outcome<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Self { file, place: 0 })
    }

    /// Adds floats; returns their place.
    pub(crate) fn floats(&mut self, numbers: &[f32], width: usize) -> Outcome<String> {
        let bytes: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        self.add(&bytes, numbers.len() / width.max(1), width, "<f4")
    }

    /// Adds integers; returns their place.
    pub(crate) fn integers(&mut self, numbers: &[u32], width: usize) -> Outcome<String> {
        let bytes: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        self.add(&bytes, numbers.len() / width.max(1), width, "<u4")
    }

    fn add(&mut self, bytes: &[u8], count: usize, width: usize, kind: &str) -> Outcome<String> {
        self.file.write_all(bytes)?;
        let start = self.place;
        self.place += bytes.len();
        Ok(object(&[
            ("start", start.to_string()),
            ("count", count.to_string()),
            ("width", width.to_string()),
            ("type", text(kind)),
        ]))
    }

    pub(crate) fn finish(mut self) -> Outcome<()> {
        Ok(self.file.flush()?)
    }
}
