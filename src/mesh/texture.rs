//! The images that files name.

/// The extensions of images, in the order in which programs look for them.
const EXTENSIONS: [&str; 7] = ["png", "jpg", "jpeg", "tga", "webp", "dds", "bmp"];

/// The maximum length of a name in bytes. Paths of most systems are not longer.
const MAX_LENGTH: usize = 1024;

/// The paths at which a program should look for an image that a file names, relative to a folder, the best first.
///
/// Names such as `textures\crate.tga` are written on other computers, and by strangers. The paths have slashes, and stay
/// below the folder: for absolute names, drives, servers, URLs and `..`, only the last part counts, and a name without a
/// usable last part gives nothing. The name itself comes first, then the same name with the other extensions that game
/// engines try (png, jpg, jpeg, tga, webp, dds, bmp), then both for the last part. A name that has none of these
/// extensions gets one.
///
/// Some exporters of IQM files write the image and the material as one name, such as `crate.pngMaterial.001`. If an extension
/// is followed by further text, the name up to the extension is also tried, with all extensions, after the name itself. A
/// material before the image is not removed, because nothing marks its end.
///
/// Nothing is opened. A program that opens such a path decides about links, and checks the file that it finds.
///
/// # Examples
///
/// ```
/// let paths = meshmap::texture_paths(r"textures\crate.tga");
/// assert_eq!(paths[0], "textures/crate.tga");
/// assert!(paths.contains(&"crate.png".to_owned()));
/// assert_eq!(meshmap::texture_paths(r"C:\art\crate.png")[0], "crate.png");
/// assert!(meshmap::texture_paths("crate.pngMaterial.001").contains(&"crate.png".to_owned()));
/// assert!(meshmap::texture_paths("..").is_empty());
/// ```
#[must_use]
pub fn texture_paths(name: &str) -> Vec<String> {
    if name.len() > MAX_LENGTH || name.contains(char::is_control) {
        return Vec::new();
    }
    let parts: Vec<&str> = name.trim().split(['/', '\\']).collect();
    let Some(last) = parts.last().copied() else {
        return Vec::new();
    };
    if !is_file_name(last) {
        return Vec::new();
    }

    let mut paths = Vec::new();
    // Some programs begin relative paths with `./`.
    let parts = parts.strip_prefix(&["."]).unwrap_or(&parts);
    if parts.iter().all(|part| is_file_name(part)) {
        add_paths_of_name(&parts.join("/"), last, &mut paths);
    }
    add_paths_of_name(last, last, &mut paths);
    paths
}

/// Adds the paths of a name, and the paths of the image that its last part begins with.
fn add_paths_of_name(name: &str, last: &str, paths: &mut Vec<String>) {
    add_paths(name, paths);
    if let Some(rest) = text_after_image(last)
        && let Some(image) = name.strip_suffix(rest)
    {
        add_paths(image, paths);
    }
}

/// The text after the first extension of an image in the name of a file: `Material.001` of `crate.pngMaterial.001`. `None` if
/// there is none, or if nothing follows it.
fn text_after_image(file_name: &str) -> Option<&str> {
    for (dot, _) in file_name.match_indices('.') {
        let (stem, text) = file_name.split_at_checked(dot)?;
        let text = text.strip_prefix('.')?;
        if stem.is_empty() {
            continue;
        }
        let Some(length) = extension_length(text) else {
            continue;
        };
        let rest = text.get(length..)?;
        return (!rest.is_empty()).then_some(rest);
    }
    None
}

/// The length of the extension of an image that a text begins with. `jpeg` is longer than `jpg`, but none begins with another.
fn extension_length(text: &str) -> Option<usize> {
    EXTENSIONS
        .iter()
        .map(|extension| extension.len())
        .find(|length| text.get(..*length).is_some_and(is_image_extension))
}

/// Returns `true` for the name of a file or folder: not an empty part, which an absolute path begins with, not a step up,
/// and nothing with the colon of a drive or URL.
fn is_file_name(part: &str) -> bool {
    !part.is_empty() && !matches!(part, "." | "..") && !part.contains([':', '\0'])
}

/// Adds a path and its variants with the other extensions, unless they are listed already.
fn add_paths(path: &str, paths: &mut Vec<String>) {
    let mut variants = Vec::with_capacity(EXTENSIONS.len().saturating_add(1));
    let mut stem = path;
    if let Some((before, extension)) = path.rsplit_once('.')
        && is_image_extension(extension)
    {
        variants.push(path.to_owned());
        stem = before;
    }
    for extension in EXTENSIONS {
        variants.push(format!("{stem}.{extension}"));
    }
    for variant in variants {
        if !paths.contains(&variant) {
            paths.push(variant);
        }
    }
}

fn is_image_extension(text: &str) -> bool {
    EXTENSIONS
        .iter()
        .any(|extension| extension.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::texture_paths;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for name in [
            "",
            " ",
            ".",
            "..",
            "a/",
            r"a\..",
            "C:",
            "a/b:c",
            "\0",
            "a\nb",
            "/",
            r"\\",
            &"a".repeat(1025),
        ] {
            assert_eq!(texture_paths(name), Vec::<String>::new(), "{name:?}");
        }
        for name in [
            "/etc/crate.png",
            "../crate.png",
            "a/../crate.png",
            "a//crate.png",
            r"..\crate.png",
            r"C:\art\crate.png",
            r"C:art/crate.png",
            r"\\server\share\crate.png",
            "https://example.org/crate.png",
            "file:///crate.png",
            "./././crate.png",
        ] {
            let paths = texture_paths(name);
            assert_eq!(
                paths.first().map(String::as_str),
                Some("crate.png"),
                "{name}"
            );
            assert!(
                paths.iter().all(|path| !path.contains(['/', '\\', ':'])),
                "{name}: {paths:?}"
            );
        }
    }

    #[test]
    fn other_endings_and_the_last_part_are_tried_as_well() {
        let paths = texture_paths(r".\art\Crate.TGA");
        assert_eq!(
            paths[..3],
            ["art/Crate.TGA", "art/Crate.png", "art/Crate.jpg"]
        );
        assert_eq!(paths[8..10], ["Crate.TGA", "Crate.png"]);
        let paths = texture_paths("crate.001");
        assert_eq!((paths[0].as_str(), paths.len()), ("crate.001.png", 7));
    }

    #[test]
    fn an_image_is_found_in_a_name_that_continues() {
        let paths = texture_paths("crate.pngMaterial.001");
        assert_eq!(paths[0], "crate.pngMaterial.001.png");
        assert_eq!(paths[7..9], ["crate.png", "crate.jpg"]);
        assert_eq!(paths.len(), 14);

        // The image in the folder is better than any in no folder.
        let paths = texture_paths(r"art\Crate.TGA_skin");
        assert_eq!(paths[7..9], ["art/Crate.TGA", "art/Crate.png"]);
        assert_eq!(paths[15], "Crate.TGA_skin.png");
        assert_eq!(paths[22], "Crate.TGA");

        // The first image counts, and a name that ends with an extension is tried as it is before.
        let paths = texture_paths("a.jpegb.png");
        assert_eq!(paths[0], "a.jpegb.png");
        assert_eq!(paths[7], "a.jpeg");

        for name in [
            "crate.png",
            ".pngMaterial",
            "crate.pn",
            "cratepng.001",
            "ä.ü.ö",
        ] {
            let stem = name.trim_end_matches(".png");
            let paths = texture_paths(name);
            assert_eq!(paths.len(), 7, "{name}");
            assert!(paths.iter().all(|path| path.starts_with(stem)), "{name}");
        }
    }

    #[test]
    fn no_image_in_a_name_leads_out_of_the_folder() {
        assert!(
            texture_paths("../..pngx")
                .iter()
                .all(|path| !path.contains('/'))
        );
        assert!(texture_paths("a:.pngx").is_empty());
        let paths = texture_paths("/etc/crate.pngx");
        assert!(paths.contains(&"crate.png".to_owned()));
        assert!(paths.iter().all(|path| !path.contains('/')));
    }
}
