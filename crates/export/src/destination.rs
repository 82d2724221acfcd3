//! Paths of outputs: files that may be links or pipes, reserved names and long paths on Windows, and files that another program
//! has open.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Component, Path};

/// Returns an error if a part of the path is a name that this system reserves.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    if !cfg!(windows) {
        return Ok(());
    }
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    match names.into_iter().find(|name| is_reserved(name)) {
        Some(name) => {
            let message = format!("Windows reserves the name {name} for a device; choose another name");
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
        None => Ok(()),
    }
}

/// Returns `true` if Windows opens a device in place of a file of this name. The extension makes no difference.
fn is_reserved(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end_matches(' ').to_ascii_uppercase();
    if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    number.is_some_and(|number| {
        let mut characters = number.chars();
        matches!((characters.next(), characters.next()), (Some('1'..='9' | '¹' | '²' | '³'), None))
    })
}

/// Opens a regular file: no link is followed, and no pipe or device is waited for.
pub(crate) fn open_regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let refused = |metadata: &fs::Metadata| {
        let kind = metadata.file_type();
        let found = match () {
            () if kind.is_file() => return Ok(()),
            () if kind.is_symlink() => "a symbolic link",
            () if kind.is_dir() => "a directory",
            () => "a pipe, socket or device",
        };
        let message = format!("expected a regular file, found {found}; remove it");
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    };
    // Opening a device may have effects.
    if let Ok(metadata) = fs::symlink_metadata(path) {
        refused(&metadata)?;
    }
    let file = without_following(options).open(path)?;
    // Another process may have replaced it.
    refused(&file.metadata()?)?;
    Ok(file)
}

#[cfg(unix)]
fn without_following(options: &OpenOptions) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = options.clone();
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

#[cfg(windows)]
fn without_following(options: &OpenOptions) -> OpenOptions {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    let mut options = options.clone();
    options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    options
}

#[cfg(not(any(unix, windows)))]
fn without_following(options: &OpenOptions) -> OpenOptions {
    options.clone()
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    or_current(path.parent().unwrap_or(path))
}

/// A folder. An empty path, such as the parent of a name, is the current one.
pub(crate) fn or_current(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// The path in the form that Windows does not limit to 260 characters, if it needs that form.
///
/// The standard library does this for its own calls, and `tempfile` moves files by other ones.
#[cfg(windows)]
pub(crate) fn unlimited(path: &Path) -> io::Result<Cow<'_, Path>> {
    use std::ffi::OsString;
    use std::path::{PathBuf, Prefix};

    /// Leaves space for the name of a part file, which is longer than the name of its file may be.
    const MOST: usize = 220;
    let whole = std::path::absolute(path)?;
    let Some(Component::Prefix(prefix)) = whole.components().next() else { return Ok(Cow::Borrowed(path)) };
    let mut long = OsString::from(r"\\?\");
    match prefix.kind() {
        _ if whole.as_os_str().len() <= MOST => return Ok(Cow::Borrowed(path)),
        Prefix::Disk(_) => long.push(prefix.as_os_str()),
        Prefix::UNC(server, share) => {
            for part in [r"UNC\".as_ref(), server, r"\".as_ref(), share] {
                long.push(part);
            }
        }
        _ => return Ok(Cow::Borrowed(path)),
    }
    let mut long = PathBuf::from(long);
    long.extend(whole.components().skip(1));
    Ok(Cow::Owned(long))
}

/// Other systems have one form of paths.
#[cfg(not(windows))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Windows")]
pub(crate) fn unlimited(path: &Path) -> io::Result<Cow<'_, Path>> {
    Ok(Cow::Borrowed(path))
}

/// The error of a file that could not be replaced, with the reason if it is one that Windows does not name.
pub(crate) fn not_replaced(error: io::Error, path: &Path) -> io::Error {
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    const USER_MAPPED_FILE: i32 = 1224;
    let is_refused =
        matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION | USER_MAPPED_FILE));
    let Some(metadata) = fs::metadata(path).ok().filter(|_| cfg!(windows) && is_refused) else {
        return error;
    };
    let why =
        if metadata.permissions().readonly() { "it is read-only" } else { "another program has it open" };
    io::Error::new(error.kind(), format!("the existing file cannot be replaced, because {why} ({error})"))
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
        for name in
            ["", "console", "auxiliary.glb", "COM", "COM0", "COM10", "x.con", ".aux", "lpt.obj", "comé"]
        {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn names_are_refused_on_windows_only() {
        for path in ["aux.glb", "nul/a.glb", "out/COM1.obj"] {
            let checked = check(Path::new(path));
            assert_eq!(checked.is_err(), cfg!(windows), "{path}");
            let Err(error) = checked else { continue };
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains("choose another name"), "{error}");
        }
        assert!(check(Path::new("out/auxiliary.glb")).is_ok());
    }

    #[cfg(windows)]
    #[test]
    fn only_long_paths_take_the_form_without_a_limit() {
        let long = "a".repeat(200) + r"\" + &"b".repeat(100);
        let cases = [
            (r"C:\short.glb".to_owned(), r"C:\short.glb".to_owned()),
            (format!(r"C:\{long}"), format!(r"\\?\C:\{long}")),
            (format!(r"C:/x/../{}", long.replace('\\', "/")), format!(r"\\?\C:\{long}")),
            (format!(r"\\server\share\{long}"), format!(r"\\?\UNC\server\share\{long}")),
            (format!(r"\\?\C:\{long}"), format!(r"\\?\C:\{long}")),
        ];
        for (path, expected) in cases {
            assert_eq!(unlimited(Path::new(&path)).unwrap().as_os_str(), expected.as_str());
        }
    }

    /// Wine replaces files that are read-only, so this is about the message.
    #[test]
    fn files_that_cannot_be_replaced_have_a_reason_on_windows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let message = |code| not_replaced(io::Error::from_raw_os_error(code), &path).to_string();
        let plain = |code| io::Error::from_raw_os_error(code).to_string();
        assert_eq!(message(5), plain(5), "there is no file");
        fs::write(&path, "").unwrap();
        assert_eq!(message(3), plain(3), "another reason");
        if !cfg!(windows) {
            assert_eq!(message(5), plain(5));
            return;
        }
        assert!(message(32).contains("because another program has it open"), "{}", message(32));
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions.clone()).unwrap();
        assert!(message(5).contains("because it is read-only"), "{}", message(5));
        #[expect(clippy::permissions_set_readonly_false, reason = "so that Windows can remove the file")]
        permissions.set_readonly(false);
        fs::set_permissions(&path, permissions).unwrap();
    }
}
