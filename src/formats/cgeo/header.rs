//! The text of the header: properties, one a line.

use bytes::Bytes;

use crate::bytes::Text;

/// The properties of the header.
///
/// Lines of `name: value`, split at the first colon and trimmed. Names are compared without regard to case; of lines with
/// the same name, the first counts. Other lines are free text.
#[derive(Clone, Debug)]
pub struct Properties {
    text: Bytes,
}

impl Properties {
    pub(crate) fn new(text: Bytes) -> Self {
        Self { text }
    }

    /// The whole text of the header, as stored.
    #[must_use]
    pub fn text(&self) -> Text {
        Text::new(self.text.clone())
    }

    /// All properties, in the order of the file; names may repeat.
    pub fn iter(&self) -> impl Iterator<Item = (Text, Text)> + '_ {
        self.text
            .split(|byte| *byte == b'\n')
            .filter_map(|line| self.property(line))
    }

    /// The name and the value of a line, if it has a colon.
    fn property(&self, line: &[u8]) -> Option<(Text, Text)> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = line.get(..colon)?.trim_ascii();
        let value = line.get(colon.saturating_add(1)..)?.trim_ascii();
        Some((self.share(name), self.share(value)))
    }

    /// A part of the text, without a copy.
    fn share(&self, part: &[u8]) -> Text {
        Text::new(self.text.slice_ref(part))
    }

    /// The value of the first property with this name, without regard to case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Text> {
        for (found, value) in self.iter() {
            if found.as_bytes().eq_ignore_ascii_case(name.as_bytes()) {
                return Some(value);
            }
        }
        None
    }

    /// A whole number.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)?.to_str()?.parse().ok()
    }

    /// A number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        number(self.get(name)?.to_str()?)
    }

    /// Three numbers with blanks between.
    pub(crate) fn triple(&self, name: &str) -> Option<[f64; 3]> {
        let value = self.get(name)?;
        let mut numbers = value.to_str()?.split_ascii_whitespace().map(number);
        Some([numbers.next()??, numbers.next()??, numbers.next()??])
    }
}

/// A finite number, with a point or, as some systems write it, a comma.
fn number(text: &str) -> Option<f64> {
    let number: f64 = if cfg!(meshmap_small) {
        decimal(text)?
    } else {
        text.replace(',', ".").parse().ok()?
    };
    number.is_finite().then_some(number)
}

/// A number of at most 15 digits as the standard library parses it, whose code takes 30 KB; others may differ in the last digit.
fn decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut value = 0.0;
    // The power of ten that the digits are multiplied by.
    let mut power: i64 = 0;
    let mut has_digits = false;
    let mut has_point = false;
    for (at, byte) in unsigned.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => {
                value = value * 10.0 + f64::from(byte.saturating_sub(b'0'));
                if has_point {
                    power = power.saturating_sub(1);
                }
                has_digits = true;
            }
            b'.' | b',' if !has_point => has_point = true,
            b'e' | b'E' => {
                let exponent: i64 = unsigned.get(at.saturating_add(1)..)?.parse().ok()?;
                power = power.saturating_add(exponent);
                break;
            }
            _ => return None,
        }
    }
    if !has_digits {
        return None;
    }
    // More than 400 powers of ten are infinite, or 0.
    let mut scale = 1.0;
    for _ in 0..power.unsigned_abs().min(400) {
        scale *= 10.0;
    }
    if power < 0 {
        value /= scale;
    } else {
        value *= scale;
    }
    if text.starts_with('-') {
        value = -value;
    }
    Some(value)
}

/// The names of the properties that the published text lists.
pub(crate) mod names {
    pub(crate) const VERSION: &str = "Version";
    pub(crate) const SNAPSHOT_COUNT: &str = "Animation snapshot count";
    pub(crate) const TIME_PER_SNAPSHOT: &str = "Time per animation snapshot [microseconds]";
    pub(crate) const TIME_START: &str = "Animation time start";
    pub(crate) const SCALE: &str = "Scale";
    pub(crate) const MATERIAL_NAME: &str = "Original material name";
    pub(crate) const OBJECT_NAME: &str = "Original object name";
    pub(crate) const COMPRESSED: &str = "Compressed";
    pub(crate) const FACES: &str = "Number of faces";
    pub(crate) const VERTICES: &str = "Number of vertices";
    pub(crate) const NORMALS: &str = "Number of normals";
    pub(crate) const CHANNELS: &str = "Number of mapping channels";
    pub(crate) const BOX_UNITS: &str = "Bounding box size (original units)";
    pub(crate) const BOX_MILLIMETERS: &str = "Bounding box size (millimeters)";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(text: &'static str) -> Properties {
        Properties::new(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn properties_are_lines_with_a_colon() {
        let header = properties(
            "Free text.\r\nVersion: 7\r\n Scale :0,1\nversion: 8\nDate created: 2016-01-05/14:10:17\nX:",
        );
        assert_eq!(header.integer("VERSION"), Some(7));
        assert_eq!(header.number("scale"), Some(0.1));
        assert_eq!(header.get("date created").unwrap(), "2016-01-05/14:10:17");
        assert_eq!(header.get("X").unwrap(), "");
        assert_eq!(header.get("Free text."), None);
        assert_eq!(header.iter().count(), 5);
    }

    #[test]
    fn numbers_that_are_none_are_absent() {
        let header = properties("A: seven\nB: inf\nC: 1 2\nD: 1 2 3\nE: 9223372036854775808");
        assert_eq!(
            (header.integer("A"), header.number("B"), header.triple("C")),
            (None, None, None)
        );
        assert_eq!(
            (header.triple("D"), header.integer("E")),
            (Some([1., 2., 3.]), None)
        );
    }

    #[test]
    fn small_builds_parse_the_same_numbers() {
        let texts = [
            "0",
            "1",
            "-1",
            "+0.5",
            "10.",
            ".25",
            "25.4",
            "0.01",
            "123456.789",
            "1e3",
            "1.5E-7",
            "304.8",
            "-0",
        ];
        for text in texts {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(
                decimal(text).map(f64::to_bits),
                Some(expected.to_bits()),
                "{text}"
            );
        }
        for text in [
            "", ".", "-", "--1", "1.2.3", "1e", "0x1", "inf", "NaN", "1 2",
        ] {
            assert_eq!(number(text), None, "{text}");
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(
            [number("1,5"), decimal("1e999"), number("1e999")],
            [Some(1.5), Some(f64::INFINITY), None]
        );
    }
}
