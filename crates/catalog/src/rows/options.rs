use meshmap::Format;

use crate::depth::Depth;
use crate::input::Reading;

/// The contents of a catalogue.
#[derive(Clone, Debug)]
pub struct Options {
    /// The parts of a file that are decoded. They change values of rows, never which rows there are.
    pub depth: Depth,
    /// `true` if the bytes of each file are read for their SHA-256.
    pub hash: bool,
    /// The formats that have rows; all of them if there are none.
    pub formats: Vec<Format>,
    /// The bytes of rows that a file may have, in place of the usual limit.
    pub max_output: Option<u64>,
    /// The option of the program that sets `max_output`, for messages; empty if it has none.
    pub output_remedy: &'static str,
    /// The settings for reading each file. Files are worked on side by side, each by one thread.
    pub reading: Reading,
}

impl Default for Options {
    fn default() -> Self {
        let reading = Reading {
            is_one_of_many: true,
            ..Reading::default()
        };
        Self {
            depth: Depth::Headers,
            hash: false,
            formats: Vec::new(),
            max_output: None,
            output_remedy: "",
            reading,
        }
    }
}

impl Options {
    /// Returns `true` if files of this format have rows. A file of no known format has rows if all formats have.
    pub(crate) fn takes(&self, format: Option<Format>) -> bool {
        self.formats.is_empty() || format.is_some_and(|format| self.formats.contains(&format))
    }
}
