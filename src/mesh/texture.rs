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
/// Nothing is opened. A program that opens such a path decides about links, and checks the file that it finds.
///
/// # Examples
///
/// ```
/// let paths = meshmap::texture_paths(r"textures\crate.tga");
/// assert_eq!(paths[0], "textures/crate.tga");
/// assert!(paths.contains(&"crate.png".to_owned()));
/// assert_eq!(meshmap::texture_paths(r"C:\art\crate.png")[0], "crate.png");
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
        add_paths(&parts.join("/"), &mut paths);
    }
    add_paths(last, &mut paths);
    paths
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
}
