//! The images that files name.

/// The endings of images, in the order in which programs look for them.
const ENDINGS: [&str; 7] = ["png", "jpg", "jpeg", "tga", "webp", "dds", "bmp"];

/// The longest name that is looked for, in bytes: paths of most systems are no longer.
const LONGEST: usize = 1024;

/// The paths at which a program should look for an image that a file names, relative to a folder, the best first.
///
/// Names such as `textures\crate.tga` are written on other computers, and by strangers. The paths have slashes, and lead to no
/// other place than below the folder: absolute names, drives, servers, URLs and `..` count by their last part only, and a
/// name without a usable last part gives nothing. The name itself comes first, then the same name with the other endings that
/// game engines try (png, jpg, jpeg, tga, webp, dds, bmp), then both for the last part. A name that has none of these endings gets one.
///
/// Nothing is opened. Whoever opens such a path decides about links, and checks what it finds.
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
    let is_usable = |part: &str| !matches!(part, "." | "..") && !part.contains([':', '\0']);
    if name.len() > LONGEST || name.contains(char::is_control) {
        return Vec::new();
    }
    let parts: Vec<&str> = name.trim().split(['/', '\\']).collect();
    let Some(last) = parts
        .last()
        .copied()
        .filter(|last| !last.is_empty() && is_usable(last))
    else {
        return Vec::new();
    };
    let parts = parts.strip_prefix(&["."]).unwrap_or(&parts);
    let is_below = parts.iter().all(|part| !part.is_empty() && is_usable(part));
    let whole = is_below.then(|| parts.join("/"));
    let mut paths: Vec<String> = Vec::new();
    for path in whole.as_deref().into_iter().chain([last]) {
        let ending = path
            .rsplit_once('.')
            .filter(|(_, ending)| is_ending(ending));
        let stem = ending.map_or(path, |(stem, _)| stem);
        let others = ENDINGS.iter().map(|ending| format!("{stem}.{ending}"));
        let own = ending.map(|_| path.to_owned());
        for path in own.into_iter().chain(others) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

fn is_ending(text: &str) -> bool {
    ENDINGS
        .iter()
        .any(|ending| ending.eq_ignore_ascii_case(text))
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
