//! The kinds of images.

/// A kind of image, which its first bytes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Portable Network Graphics.
    Png,
    /// JPEG, as JFIF or with Exif.
    Jpeg,
    /// WebP, lossy or lossless.
    Webp,
    /// DirectDraw Surface.
    Dds,
    /// Truevision TGA.
    Tga,
    /// A bitmap of Windows.
    Bmp,
}

/// The endings of files that are images, without regard to case.
const ENDINGS: [&str; 7] = ["png", "jpg", "jpeg", "tga", "webp", "dds", "bmp"];

impl Kind {
    /// The number of bytes that [`of_head`](Self::of_head) needs: the head of a TGA.
    pub const HEAD: usize = 18;

    /// The kind of an image that begins with these bytes. `None` if they begin no image that is known, or are fewer than
    /// [`HEAD`](Self::HEAD) and may be a TGA.
    #[must_use]
    pub fn of_head(head: &[u8]) -> Option<Self> {
        if head.starts_with(b"\x89PNG\r\n\x1A\n") {
            return Some(Self::Png);
        }
        if head.starts_with(b"\xFF\xD8\xFF") {
            return Some(Self::Jpeg);
        }
        if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
            return Some(Self::Webp);
        }
        if head.starts_with(b"DDS ") {
            return Some(Self::Dds);
        }
        if head.starts_with(b"BM") {
            return Some(Self::Bmp);
        }
        is_tga(head).then_some(Self::Tga)
    }

    /// The media type, as glTF and servers name it.
    #[must_use]
    pub fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Dds => "image/vnd-ms.dds",
            Self::Tga => "image/x-tga",
            Self::Bmp => "image/bmp",
        }
    }
}

/// Returns `true` for the head of a TGA, which has no signature: the kind of its colour map, its own kind, and bits per pixel.
fn is_tga(head: &[u8]) -> bool {
    matches!(
        head.get(..Kind::HEAD),
        Some([_, 0 | 1, 1..=3 | 9..=11, .., 8 | 15 | 16 | 24 | 32, _])
    )
}

/// Returns `true` for the name of a file with the ending of an image.
pub(crate) fn has_ending_of_image(name: &str) -> bool {
    let Some((_, ending)) = name.rsplit_once('.') else {
        return false;
    };
    ENDINGS
        .iter()
        .any(|image| image.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_show_the_kind() {
        let tga = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0];
        let cases: [(&[u8], Option<Kind>); 9] = [
            (b"\x89PNG\r\n\x1A\n", Some(Kind::Png)),
            (b"\xFF\xD8\xFF\xE0", Some(Kind::Jpeg)),
            (b"RIFF\0\0\0\0WEBP", Some(Kind::Webp)),
            (b"DDS |", Some(Kind::Dds)),
            (b"BM", Some(Kind::Bmp)),
            (&tga, Some(Kind::Tga)),
            (&tga[..17], None),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"", None),
        ];
        for (head, kind) in cases {
            assert_eq!(Kind::of_head(head), kind, "{head:?}");
        }
    }

    #[test]
    fn endings_have_any_case() {
        for name in ["a.png", "a.b.JPeG", "A.TGA", ".bmp"] {
            assert!(has_ending_of_image(name), "{name}");
        }
        for name in ["png", "a.tif", "a.png.txt", "a."] {
            assert!(!has_ending_of_image(name), "{name}");
        }
    }
}
