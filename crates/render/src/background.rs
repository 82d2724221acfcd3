//! The background of pictures.

use std::fmt;
use std::str::FromStr;

use meshmap_job::{ParseError, as_text};

use crate::color::{GROUND, INK, light};

/// The background of a picture: a colour, or nothing.
///
/// As a text: `white`, `black`, `transparent`, or red, green and blue as hexadecimal digits, such as `#f2f3f5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Background {
    /// Red, green and blue in sRGB.
    Color([u8; 3]),
    /// None: the picture has a channel of opacity.
    Transparent,
}

impl Default for Background {
    /// A very light grey.
    fn default() -> Self {
        Self::Color(GROUND)
    }
}

impl Background {
    /// The colour; of a background without one, the default.
    pub(crate) fn color(self) -> [u8; 3] {
        match self {
            Self::Color(color) => color,
            Self::Transparent => GROUND,
        }
    }

    /// The number of bytes of a pixel: of red, green and blue, and of the opacity if it is transparent.
    pub(crate) fn channels(self) -> usize {
        match self {
            Self::Color(_) => 3,
            Self::Transparent => 4,
        }
    }

    /// The colour of text that can be read on it.
    pub(crate) fn ink(self) -> [u8; 3] {
        /// As light, half of what people see as white.
        const MIDDLE: f32 = 0.18;
        let [red, green, blue] = light(self.color());
        // The luminance of sRGB.
        if 0.2126 * red + 0.7152 * green + 0.0722 * blue > MIDDLE {
            INK
        } else {
            GROUND
        }
    }
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Color([0, 0, 0]) => f.write_str("black"),
            Self::Color([255, 255, 255]) => f.write_str("white"),
            Self::Color([red, green, blue]) => write!(f, "#{red:02x}{green:02x}{blue:02x}"),
            Self::Transparent => f.write_str("transparent"),
        }
    }
}

impl FromStr for Background {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "transparent" => return Ok(Self::Transparent),
            "white" => return Ok(Self::Color([255; 3])),
            "black" => return Ok(Self::Color([0; 3])),
            _ => {}
        }
        let digits = text.strip_prefix('#').unwrap_or(text);
        let is_color = digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(number) if is_color => {
                let [_, red, green, blue] = number.to_be_bytes();
                Ok(Self::Color([red, green, blue]))
            }
            _ => Err(ParseError::new(&[
                "white, black, transparent",
                "a colour such as #f2f3f5",
            ])),
        }
    }
}

as_text!(Background);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backgrounds_are_read_as_they_are_displayed() {
        for background in [
            Background::default(),
            Background::Transparent,
            Background::Color([0; 3]),
            Background::Color([255; 3]),
            Background::Color([1, 0x20, 0xff]),
        ] {
            assert_eq!(background.to_string().parse(), Ok(background));
        }
        assert_eq!("0120Ff".parse(), Ok(Background::Color([1, 0x20, 0xff])));
        for text in ["", "#", "#12", "#1234567", "#+12345", "red", "#ääaa"] {
            assert!(text.parse::<Background>().is_err(), "{text}");
        }
    }

    #[test]
    fn text_differs_from_its_background() {
        assert_eq!(Background::default().ink(), INK);
        assert_eq!(Background::Transparent.ink(), INK);
        assert_eq!(Background::Color([0; 3]).ink(), GROUND);
    }
}
