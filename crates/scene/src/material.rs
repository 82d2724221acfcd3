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
