//! Words in pictures, in letters of 8 by 8 pixels.

use font8x8::{BASIC_FONTS, GREEK_FONTS, LATIN_FONTS, UnicodeFonts};

use super::picture::Picture;

/// The width and the height of a letter.
pub(super) const LETTER: u32 = 8;
/// From one line to the next.
pub(super) const LINE: u32 = 11;

/// Writes a line, as far as it fits; a letter that the font does not have is a box.
pub(super) fn write(picture: &mut Picture, text: &str, column: u32, row: u32, color: [u8; 3]) {
    for (place, letter) in (0..).zip(text.chars()) {
        let left = column.saturating_add(LETTER.saturating_mul(place));
        if left >= picture.width() {
            return;
        }
        for (y, line) in (0..).zip(shape(letter)) {
            for x in (0..LETTER).filter(|x| line >> x & 1 == 1) {
                picture.set(left + x, row + y, color);
            }
        }
    }
}

/// The rows of a letter, whose least bits are on the left.
fn shape(letter: char) -> [u8; 8] {
    const UNKNOWN: [u8; 8] = [0x7f, 0x41, 0x41, 0x41, 0x41, 0x41, 0x7f, 0];
    BASIC_FONTS
        .get(letter)
        .or_else(|| LATIN_FONTS.get(letter))
        .or_else(|| GREEK_FONTS.get(letter))
        .filter(|_| !letter.is_control())
        .unwrap_or(UNKNOWN)
}

/// The letters that fit into so many pixels.
pub(super) fn fitting(width: u32) -> usize {
    (width / LETTER) as usize
}

/// A text of at most so many letters: its middle left out where it is longer, as names differ at their ends.
pub(super) fn cut(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(2);
    let (head, tail) = (room - room / 2, room / 2);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}..{end}")
}

/// A text on lines of at most so many letters, broken at blanks where there are any.
pub(super) fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let Some(line) = lines.last_mut() else { return lines };
            let length = line.chars().count();
            let blank = usize::from(length > 0);
            if length + blank + word.len() <= most {
                if blank == 1 {
                    line.push(' ');
                }
                line.extend(&word);
                break;
            }
            if length > 0 {
                lines.push(String::new());
            } else {
                let rest = word.split_off(most);
                line.extend(&word);
                lines.push(String::new());
                word = rest;
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_and_cut_where_they_are_too_long() {
        assert_eq!(wrap("a bad file, cut off", 8), ["a bad", "file,", "cut off"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("", 4), [""; 0]);
        assert_eq!(cut("abcdefghij", 8), "abc..hij");
        assert_eq!(cut("\u{e9}\u{e9}", 2), "\u{e9}\u{e9}");
        for most in 0..5 {
            assert!(cut("abcdefghij", most).chars().count() <= most.max(2));
            wrap("abcdefghij kl", most);
        }
    }

    #[test]
    fn letters_that_are_unknown_or_do_not_print_are_boxes() {
        assert_eq!(shape('\u{65e5}'), shape('\n'));
        assert_ne!(shape('A'), shape('\n'));
        assert_eq!(shape(' '), [0; 8]);
        assert_ne!(shape('\u{e9}'), shape('\n'));
    }
}
