//! Names that Windows reserves for devices.

use std::io;
use std::path::{Component, Path};

/// Checks the names in a path.
///
/// # Errors
///
/// On Windows, returns an error if a name is reserved for a device, such as `aux.glb`.
pub fn check_names(path: &Path) -> io::Result<()> {
    if !cfg!(windows) {
        return Ok(());
    }
    for component in path.components() {
        let Component::Normal(name) = component else {
            continue;
        };
        let name = name.to_string_lossy();
        if is_reserved(&name) {
            let message =
                format!("Windows reserves the name {name} for a device; choose another name");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
    }
    Ok(())
}

/// Returns `true` if Windows opens a device in place of a file of this name. The extension makes no difference.
fn is_reserved(name: &str) -> bool {
    let stem = name
        .split(['.', ':'])
        .next()
        .unwrap_or_default()
        .trim_end_matches(' ')
        .to_ascii_uppercase();
    if matches!(
        stem.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"
    ) {
        return true;
    }
    let number = stem
        .strip_prefix("COM")
        .or_else(|| stem.strip_prefix("LPT"));
    number.is_some_and(|number| {
        let mut characters = number.chars();
        matches!(
            (characters.next(), characters.next()),
            (Some('1'..='9' | '¹' | '²' | '³'), None)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_reserved_with_any_extension_and_case() {
        for name in [
            "CON",
            "con",
            "aux.glb",
            "Nul.tar.gz",
            "COM1",
            "lpt9.obj",
            "com¹.png",
            "prn .stl",
            "CONOUT$",
            "nul:x",
        ] {
            assert!(is_reserved(name), "{name}");
        }
        for name in [
            "",
            "console",
            "auxiliary.glb",
            "COM",
            "COM0",
            "COM10",
            "x.con",
            ".aux",
            "lpt.obj",
            "comé",
        ] {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn names_are_refused_on_windows_only() {
        for path in ["aux.glb", "nul/a.glb", "out/COM1.obj"] {
            let checked = check_names(Path::new(path));
            assert_eq!(checked.is_err(), cfg!(windows), "{path}");
            let Err(error) = checked else { continue };
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains("choose another name"), "{error}");
        }
        assert!(check_names(Path::new("out/auxiliary.glb")).is_ok());
    }
}
