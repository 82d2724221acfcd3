/// The surface of a shape. Vertex colours multiply the base colour and the image, as in glTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Material<'a> {
    /// The name of the image, or of a face, such as `face_0`.
    pub name: &'a str,
    /// The name of the image of the first texture coordinates, as it is stored: [`meshmap::texture_paths`] returns the paths that it may
    /// mean. Many names mean no image.
    pub image: Option<&'a str>,
}

/// The extensions of images, whether programs read them or not.
const EXTENSIONS: [&str; 10] = [
    "png", "jpg", "jpeg", "tga", "bmp", "webp", "dds", "tif", "tiff", "gif",
];

/// Returns `true` for the names of images, whether programs read them or not: names with the extension of an image, and names in which
/// further text follows it, such as `crate.pngMaterial.001`.
#[must_use]
pub fn is_image(name: &str) -> bool {
    let last = name.rsplit_once(['/', '\\']).map_or(name, |(_, last)| last);
    last.match_indices('.').any(|(dot, _)| {
        let text = last.get(dot.saturating_add(1)..).unwrap_or_default();
        begins_with_extension(text)
    })
}

fn begins_with_extension(text: &str) -> bool {
    EXTENSIONS.iter().any(|extension| {
        let beginning = text.get(..extension.len());
        beginning.is_some_and(|beginning| extension.eq_ignore_ascii_case(beginning))
    })
}

/// Returns `true` for the names of files with the extension of an image, whether programs read it or not.
#[must_use]
pub fn is_image_file(name: &str) -> bool {
    let Some((_, last)) = name.rsplit_once('.') else {
        return false;
    };
    EXTENSIONS
        .iter()
        .any(|extension| extension.eq_ignore_ascii_case(last))
}

#[cfg(test)]
mod tests {
    use super::{is_image, is_image_file};

    #[test]
    fn names_of_images_may_go_on_after_the_extension() {
        for name in [
            "crate.png",
            r"art\Crate.TGA",
            "crate.pngMaterial.001",
            "a/b.c.jpeg skin",
            "scan.tiff",
        ] {
            assert!(is_image(name), "{name}");
        }
        for name in ["", "skin", "skin.001", "png", "art.png/skin", "é.pn", "a."] {
            assert!(!is_image(name), "{name}");
        }
        assert!(is_image_file("crate.GIF"));
        for name in ["crate.pngMaterial.001", "crate.png.iqm", "png"] {
            assert!(!is_image_file(name), "{name}");
        }
    }
}
