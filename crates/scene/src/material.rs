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

/// Returns `true` for names with the ending of an image, whether programs read it or not.
#[must_use]
pub fn is_image(name: &str) -> bool {
    const IMAGES: [&str; 10] = [
        "png", "jpg", "jpeg", "tga", "bmp", "webp", "dds", "tif", "tiff", "gif",
    ];
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| {
        IMAGES
            .iter()
            .any(|image| image.eq_ignore_ascii_case(ending))
    })
}
