//! Texts for people, of names that come from files.

use meshmap::Text;

/// A name without its end, if it is long.
pub fn beginning_of(mut name: String) -> String {
    const LONGEST: usize = 256;
    let mut places = name.char_indices().map(|(place, _)| place);
    if let Some(end) = places.find(|place| *place >= LONGEST) {
        name.truncate(end);
        name.push_str("..");
    }
    name
}

/// An option as Rust and Python name it.
pub fn in_code(option: &str) -> String {
    format!("`{option}`")
}

/// Escapes a text with control characters, which names may contain.
pub fn one_line(text: String) -> String {
    if text.contains(char::is_control) {
        text.escape_debug().to_string()
    } else {
        text
    }
}

/// A name of a file for people to read: on one line, and without its end if it is long.
pub fn shown(name: &Text) -> String {
    const LONGEST: usize = 1024;
    let bytes = name.as_bytes();
    let begin = bytes.get(..LONGEST).unwrap_or(bytes);
    let text = one_line(String::from_utf8_lossy(begin).into_owned());
    if begin.len() == bytes.len() {
        return text;
    }
    // The cut may be within a character.
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
    format!("{text}.. ({} bytes)", bytes.len())
}
