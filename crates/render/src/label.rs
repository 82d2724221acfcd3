//! Words in pictures, in Noto Sans.

use std::sync::LazyLock;

use ab_glyph_rasterizer::{Point, Rasterizer, point};
use ttf_parser::{GlyphId, OutlineBuilder, RawFace, Tag, cmap, glyf, head, hhea, hmtx, loca, maxp};

use crate::picture::Picture;

/// From one line to the next, and the height of a line, in pixels.
pub(crate) const LINE: u32 = 16;

static FONT: LazyLock<Face> = LazyLock::new(|| {
    const FILE: &[u8] = include_bytes!("../font/NotoSans-subset.ttf");
    #[expect(
        clippy::expect_used,
        reason = "the file is a part of this package, and tests read it"
    )]
    Face::parse(FILE).expect("a TrueType font")
});

/// The tables of a TrueType font that labels need. All others, and outlines of PostScript fonts, stay out of the program.
struct Face {
    letters: cmap::Subtable<'static>,
    widths: hmtx::Table<'static>,
    outlines: glyf::Table<'static>,
    /// Pixels per unit of the font.
    scale: f32,
    /// From the top of a line to the line on which letters stand, in pixels.
    ascent: f32,
}

impl Face {
    fn parse(file: &'static [u8]) -> Option<Self> {
        let face = RawFace::parse(file, 0).ok()?;
        let table = |name| face.table(Tag::from_bytes(name));
        let head = head::Table::parse(table(b"head")?)?;
        let lines = hhea::Table::parse(table(b"hhea")?)?;
        let count = maxp::Table::parse(table(b"maxp")?)?.number_of_glyphs;
        let places = loca::Table::parse(count, head.index_to_location_format, table(b"loca")?)?;
        let scale = LINE as f32 / (f32::from(lines.ascender) - f32::from(lines.descender));
        Some(Self {
            letters: cmap::Table::parse(table(b"cmap")?)?
                .subtables
                .into_iter()
                .find(|part| part.is_unicode())?,
            widths: hmtx::Table::parse(lines.number_of_metrics, count, table(b"hmtx")?)?,
            outlines: glyf::Table::parse(places, table(b"glyf")?)?,
            scale,
            ascent: (f32::from(lines.ascender) * scale).round(),
        })
    }

    /// The shape of a letter. That of a letter that the font does not have is a box.
    fn glyph(&self, letter: char) -> GlyphId {
        self.letters.glyph_index(letter.into()).unwrap_or_default()
    }

    fn advance(&self, letter: char) -> f32 {
        f32::from(self.widths.advance(self.glyph(letter)).unwrap_or(0)) * self.scale
    }
}

/// Writes a line, as far as it fits; a letter that the font does not have is a box.
pub(crate) fn write(picture: &mut Picture, text: &str, column: u32, row: u32, color: [u8; 3]) {
    let baseline = row as f32 + FONT.ascent;
    let mut start = column as f32;
    for letter in text.chars() {
        if start >= picture.width() as f32 {
            return;
        }
        let glyph = FONT.glyph(letter);
        if let Some(sides) = FONT.outlines.bbox(glyph) {
            let scaled = |number: i16| f32::from(number) * FONT.scale;
            let [left, top] =
                [start + scaled(sides.x_min), baseline - scaled(sides.y_max)].map(f32::floor);
            let [right, bottom] =
                [start + scaled(sides.x_max), baseline - scaled(sides.y_min)].map(f32::ceil);
            let mut outline = Outline {
                rasterizer: Rasterizer::new((right - left) as usize, (bottom - top) as usize),
                origin: point(start - left, baseline - top),
                first: Point::default(),
                last: Point::default(),
            };
            FONT.outlines.outline(glyph, &mut outline);
            outline.rasterizer.for_each_pixel_2d(|x, y, share| {
                let place = |corner: f32, step: u32| u32::try_from(corner as i64 + i64::from(step));
                if let (Ok(x), Ok(y)) = (place(left, x), place(top, y)) {
                    picture.blend(x, y, color, share);
                }
            });
        }
        start += FONT.advance(letter);
    }
}

/// The lines and curves around a letter.
struct Outline {
    rasterizer: Rasterizer,
    /// The place of the letter in the pixels of the rasterizer.
    origin: Point,
    /// The first point of the contour, and the last one so far.
    first: Point,
    last: Point,
}

impl Outline {
    fn place(&self, x: f32, y: f32) -> Point {
        point(
            self.origin.x + x * FONT.scale,
            self.origin.y - y * FONT.scale,
        )
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.first = self.place(x, y);
        self.last = self.first;
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let to = self.place(x, y);
        self.rasterizer.draw_line(self.last, to);
        self.last = to;
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let by = self.place(x1, y1);
        let to = self.place(x, y);
        self.rasterizer.draw_quad(self.last, by, to);
        self.last = to;
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let a = self.place(x1, y1);
        let b = self.place(x2, y2);
        let to = self.place(x, y);
        self.rasterizer.draw_cubic(self.last, a, b, to);
        self.last = to;
    }

    fn close(&mut self) {
        self.rasterizer.draw_line(self.last, self.first);
        self.last = self.first;
    }
}

/// The width of a text in pixels.
pub(crate) fn width(text: &str) -> f32 {
    text.chars().map(|letter| FONT.advance(letter)).sum()
}

/// The number of letters that fit into a width, and their own width.
fn fitting(letters: impl Iterator<Item = char>, most: f32) -> (usize, f32) {
    let mut count = 0;
    let mut width = 0.0;
    for letter in letters {
        let next = width + FONT.advance(letter);
        if next > most {
            break;
        }
        (count, width) = (count + 1, next);
    }
    (count, width)
}

/// A text that fits into a width in pixels. A longer one loses its middle, because names differ at their ends. Its beginning gets this
/// share of the width.
pub(crate) fn cut(text: &str, most: u32, share: f32) -> String {
    const GAP: char = '\u{2026}';
    let most = most as f32;
    // Only as much of a long name is looked at as fits.
    let (whole, _) = fitting(text.chars(), most);
    if text.chars().nth(whole).is_none() {
        return text.to_owned();
    }
    let room = most - FONT.advance(GAP);
    let (head, used) = fitting(text.chars(), room * share);
    let (tail, _) = fitting(text.chars().rev(), room - used);
    let start = text
        .char_indices()
        .nth(head)
        .map_or(text, |(end, _)| &text[..end]);
    let end = tail
        .checked_sub(1)
        .and_then(|last| text.char_indices().nth_back(last));
    let end = end.map_or("", |(begin, _)| &text[begin..]);
    format!("{start}{GAP}{end}")
}

/// A text on lines of a width in pixels, broken at blanks if there are any.
pub(crate) fn wrap(text: &str, most: u32) -> Vec<String> {
    let most = most as f32;
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            let joined = format!("{line} {word}");
            if width(&joined) <= most {
                line = joined;
                continue;
            }
            lines.push(std::mem::take(&mut line));
        }
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let (count, _) = fitting(word.iter().copied(), most);
            let rest = word.split_off(count.max(1).min(word.len()));
            line = word.into_iter().collect();
            if rest.is_empty() {
                break;
            }
            lines.push(std::mem::take(&mut line));
            word = rest;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::background::Background;
    use crate::camera::Frame;

    #[test]
    fn words_are_wrapped_and_cut_if_they_are_too_long() {
        let wide = |text: &str| width(text).ceil() as u32;
        assert_eq!(
            wrap("a bad file, cut off", wide("cut off")),
            ["a bad", "file,", "cut off"]
        );
        assert_eq!(wrap("aaaaaaaaaa k", wide("aaaa")), ["aaaa", "aaaa", "aa k"]);
        assert_eq!(wrap("", 40), [""; 0]);
        assert_eq!(
            cut("aaaaaaaaaa", wide("aaa\u{2026}aaa"), 0.5),
            "aaa\u{2026}aaa"
        );
        assert_eq!(
            cut("\u{e9}\u{e9}", wide("\u{e9}\u{e9}"), 0.5),
            "\u{e9}\u{e9}"
        );
        for most in 0..50 {
            let text = cut("abcdefghij", most, 0.5);
            assert!(
                width(&text) <= most as f32 || text == "\u{2026}",
                "{most} {text}"
            );
            assert_eq!(
                wrap("abcdefghij kl", most).concat().replace(' ', ""),
                "abcdefghijkl"
            );
        }
    }

    #[test]
    fn letters_that_are_unknown_or_do_not_print_are_boxes() {
        let drawn = |text: &str| {
            let mut picture = Picture::plain(
                Frame {
                    width: 20,
                    height: LINE,
                },
                Background::Color([255; 3]),
            );
            write(&mut picture, text, 2, 0, [0; 3]);
            picture
        };
        assert_eq!(drawn("\u{65e5}"), drawn("\n"));
        let blank = drawn(" ");
        for text in ["A", "\u{e9}", "\u{3b1}", "\u{416}", "\n"] {
            assert_ne!(drawn(text), blank, "{text:?}");
            assert!(text == "\n" || drawn(text) != drawn("\n"), "{text:?}");
        }
        assert_eq!(
            blank,
            Picture::plain(
                Frame {
                    width: 20,
                    height: LINE
                },
                Background::Color([255; 3])
            )
        );
    }

    #[test]
    fn all_of_a_line_is_within_its_height_and_what_does_not_fit_is_left_out() {
        let ground = Picture::plain(
            Frame {
                width: 60,
                height: 40,
            },
            Background::Color([255; 3]),
        );
        let mut picture = ground.clone();
        write(&mut picture, "\u{c5}gjpqy|WWWWWWWW", 0, 10, [0; 3]);
        for (row, line) in picture.bytes().chunks(60 * 3).enumerate() {
            let is_inked = line.iter().any(|byte| *byte < 128);
            assert!(
                !is_inked || (10..10 + LINE as usize).contains(&row),
                "{row}"
            );
        }
        assert_ne!(picture, ground);
        assert!(
            picture.bytes().iter().any(|byte| *byte < 40),
            "letters are dark"
        );
    }
}
