//! JSON as text: without characters that control terminals, and with lists that are cut when they become long.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter};

/// The bytes of a list, by its name in the object of a file, for files of up to 10 MB. Together they are less than 1 MB.
const LONGEST: [(&str, u64); 3] = [("parts", 320 << 10), ("meshes", 256 << 10), ("findings", 96 << 10)];
const LONGEST_OTHER: u64 = 24 << 10;

/// Files of this size have lists of that length; larger files have longer lists.
const FILE: u64 = 10 << 20;

/// Writes an object whose lists are cut when they become longer than reports on a file of this size are. A property
/// `omitted` of the object has the number of elements that each cut list lacks.
pub(crate) fn write_cut(out: impl Write, value: &impl Serialize, file: u64) -> serde_json::Result<()> {
    let state = Rc::new(State::default());
    let formatter = Cut { state: Rc::clone(&state), scale: file.div_ceil(FILE).max(1), ..Cut::default() };
    let out = Counted { out, state };
    value.serialize(&mut serde_json::Serializer::with_formatter(out, formatter))
}

/// An object with the properties of another one after its own.
pub(crate) fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// Like [`write_cut`], with the end of the line.
pub(crate) fn write_line(mut out: impl Write, value: &impl Serialize, file: u64) -> io::Result<()> {
    write_cut(&mut out, value, file)?;
    writeln!(out)
}

/// Writes a whole object.
pub(crate) fn write(out: impl Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Escaping))
}

/// The state that the formatter and the writer below it share.
#[derive(Default)]
struct State {
    written: Cell<u64>,
    /// `true` while elements that are left out are formatted.
    is_muted: Cell<bool>,
}

struct Counted<W> {
    out: W,
    state: Rc<State>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.state.is_muted.get() {
            return Ok(bytes.len());
        }
        let count = self.out.write(bytes)?;
        self.state.written.set(self.state.written.get() + count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Escapes DEL, the C1 controls, and the characters that change the direction of writing: all are allowed in JSON, and
/// control the terminal that shows them.
struct Escaping;

fn is_escaped(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((start, c)) = rest.char_indices().find(|(_, c)| is_escaped(*c)) {
            let (plain, escaped) = rest.split_at(start);
            write!(out, "{plain}\\u{:04x}", u32::from(c))?;
            rest = escaped.get(c.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }
}

/// Leaves out the elements of lists that have become too long.
#[derive(Default)]
struct Cut {
    state: Rc<State>,
    scale: u64,
    /// The lists and objects around what is written.
    around: Vec<Around>,
    /// The key that is being written.
    key: Option<String>,
    omitted: BTreeMap<String, u64>,
}

enum Around {
    /// With the key of the value that is written.
    Object {
        key: String,
    },
    List {
        begin: u64,
        longest: u64,
        omitted: u64,
    },
}

impl Cut {
    /// The keys that lead to the list that is written, such as `iqm.joints`.
    fn name(&self) -> String {
        let keys = self.around.iter().filter_map(|around| match around {
            Around::Object { key } => Some(key.as_str()),
            Around::List { .. } => None,
        });
        keys.collect::<Vec<_>>().join(".")
    }
}

impl Formatter for Cut {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let name = self.name();
        let known = LONGEST.iter().find(|(known, _)| *known == name).map(|(_, longest)| *longest);
        let longest = known.unwrap_or(LONGEST_OTHER).saturating_mul(self.scale);
        self.around.push(Around::List { begin: self.state.written.get(), longest, omitted: 0 });
        CompactFormatter.begin_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if let Some(Around::List { begin, longest, omitted }) = self.around.last_mut() {
            let is_long = self.state.written.get().saturating_sub(*begin) > *longest;
            if *omitted > 0 || is_long && !self.state.is_muted.get() {
                *omitted += 1;
                self.state.is_muted.set(true);
                return Ok(());
            }
        }
        CompactFormatter.begin_array_value(out, first)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let name = self.name();
        if let Some(Around::List { omitted: omitted @ 1.., .. }) = self.around.pop() {
            self.state.is_muted.set(false);
            *self.omitted.entry(name).or_default() += omitted;
        }
        CompactFormatter.end_array(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.around.push(Around::Object { key: String::new() });
        CompactFormatter.begin_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        CompactFormatter.begin_object_key(out, first)?;
        self.key = Some(String::new());
        Ok(())
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        if let (Some(Around::Object { key }), Some(written)) = (self.around.last_mut(), self.key.take()) {
            *key = written;
        }
        Ok(())
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.around.pop();
        if self.around.is_empty() {
            out.write_all(b",\"omitted\":")?;
            serde_json::to_writer(&mut *out, &std::mem::take(&mut self.omitted))?;
        }
        CompactFormatter.end_object(out)
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if let Some(key) = &mut self.key {
            key.push_str(fragment);
        }
        Escaping.write_string_fragment(out, fragment)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cut(value: &Value, file: u64) -> Value {
        let mut text = Vec::new();
        write_cut(&mut text, value, file).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn short_lists_are_whole() {
        let value = json!({"parts": [1, [2, {"a": []}]], "iqm": {"joints": ["x"]}});
        let mut expected = value.clone();
        expected["omitted"] = json!({});
        assert_eq!(cut(&value, 1), expected);
    }

    #[test]
    fn long_lists_are_cut_and_the_rest_is_counted() {
        let joints: Vec<Value> = (0..10_000).map(|index| json!({"name": "joint", "of": [index]})).collect();
        let value = json!({"iqm": {"joints": joints, "frames": 7}, "parts": [0], "text": "after"});
        let found = cut(&value, 0);
        let left = found["iqm"]["joints"].as_array().unwrap();
        assert_eq!(left[..], joints[..left.len()]);
        assert_eq!(found["omitted"], json!({"iqm.joints": 10_000 - left.len()}));
        assert!(left.len() > 500 && found.to_string().len() < 64 << 10);
        assert_eq!((&found["iqm"]["frames"], &found["text"]), (&json!(7), &json!("after")));
        // A file of 200 MB has reports that are twenty times as long.
        assert_eq!(cut(&value, 200 << 20)["omitted"], json!({}));
    }

    #[test]
    fn lists_in_lists_are_cut_by_themselves() {
        let value = json!({"meshes": [{"groups": vec![123_456; 20_000]}, {"groups": [1]}]});
        let found = cut(&value, 0);
        let left = found["meshes"][0]["groups"].as_array().unwrap().len();
        assert_eq!(found["omitted"], json!({"meshes.groups": 20_000 - left}));
        assert_eq!(found["meshes"][1]["groups"], json!([1]));
    }

    #[test]
    fn characters_that_control_terminals_are_escaped() {
        let mut text = Vec::new();
        write(&mut text, &"a\u{7f}\u{9b}31m\u{202e}b\u{e9}\u{2066}").unwrap();
        assert_eq!(std::str::from_utf8(&text).unwrap(), "\"a\\u007f\\u009b31m\\u202eb\u{e9}\\u2066\"");
    }
}
