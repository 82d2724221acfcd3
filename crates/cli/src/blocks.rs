//! Pictures on a terminal: half blocks, whose letter is the upper pixel and whose ground the lower one.

use std::fmt::Write;

use meshmap_render::Picture;

/// The colours that a terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colors {
    /// 24 bits.
    All,
    /// A cube of 216, and grays.
    Few,
}

impl Colors {
    /// The properties of the terminal, from the environment.
    pub(crate) fn of_terminal() -> Self {
        let says_all = |value: &std::ffi::OsStr| value == "truecolor" || value == "24bit";
        if std::env::var_os("COLORTERM").is_some_and(|value| says_all(&value)) {
            Self::All
        } else {
            Self::Few
        }
    }

    fn code(self, [red, green, blue]: [u8; 3]) -> String {
        match self {
            Self::All => format!("2;{red};{green};{blue}"),
            Self::Few => format!("5;{}", nearest([red, green, blue])),
        }
    }
}

/// The number of a colour among 256.
fn nearest(color: [u8; 3]) -> u8 {
    const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |channel: u8| {
        (0..6)
            .min_by_key(|step| CUBE[usize::from(*step)].abs_diff(channel))
            .unwrap_or(0)
    };
    let distance = |other: [u8; 3]| -> u32 {
        color
            .iter()
            .zip(other)
            .map(|(a, b)| u32::from(a.abs_diff(b)) * u32::from(a.abs_diff(b)))
            .sum()
    };
    let steps: [u8; 3] = color.map(step);
    let of_cube = (
        16 + 36 * steps[0] + 6 * steps[1] + steps[2],
        steps.map(|step| CUBE[usize::from(step)]),
    );
    let of_grays = (0..24).map(|gray| (232 + gray, [8 + 10 * gray; 3]));
    std::iter::once(of_cube)
        .chain(of_grays)
        .min_by_key(|(_, other)| distance(*other))
        .map_or(0, |(code, _)| code)
}

/// The lines of a picture.
pub(crate) fn lines(picture: &Picture, colors: Colors) -> String {
    let mut text = String::new();
    for row in (0..picture.height()).step_by(2) {
        let mut last = None;
        for column in 0..picture.width() {
            let upper = picture.pixel(column, row).unwrap_or_default();
            let lower = picture.pixel(column, row + 1);
            if last != Some((upper, lower)) {
                last = Some((upper, lower));
                let ground = lower.map_or_else(
                    || "49".to_owned(),
                    |lower| format!("48;{}", colors.code(lower)),
                );
                // A string takes all that is written to it.
                let _ = write!(text, "\u{1b}[38;{};{ground}m", colors.code(upper));
            }
            text.push('\u{2580}');
        }
        text.push_str("\u{1b}[0m\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rows_of_pixels_are_a_line_whose_colours_are_told_where_they_change() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
        let file = meshmap::MeshFile::open(root.join("tmf/valid/v021_unified_cube.tmf")).unwrap();
        let render = meshmap_render::Render {
            size: Some([20, 9]),
            ..Default::default()
        };
        let (picture, _) = render.picture(&file).unwrap();
        for (colors, kind) in [(Colors::All, "38;2;"), (Colors::Few, "38;5;")] {
            let text = lines(&picture, colors);
            assert_eq!(text.matches('\u{2580}').count(), 20 * 5);
            assert!(
                text.lines()
                    .all(|line| line.contains(kind) && line.ends_with("\u{1b}[0m"))
            );
            assert!(text.matches(kind).count() < 90);
            // Below the last row of an odd number there is nothing.
            assert!(text.lines().last().unwrap().contains(";49m"));
        }
    }

    #[test]
    fn the_nearest_of_256_colours_is_taken() {
        assert_eq!(nearest([0, 0, 0]), 16);
        assert_eq!(nearest([255, 255, 255]), 231);
        assert_eq!(nearest([255, 0, 0]), 196);
        assert_eq!(nearest([129, 127, 128]), 244);
    }
}
