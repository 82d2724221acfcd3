//! Files that are found in directories.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use glob::{MatchOptions, Pattern};

use crate::input::Input;
use crate::text;

/// A pattern for names or paths of files, which selects them or, with a leading `!`, leaves them out.
#[derive(Clone, Debug)]
pub struct Glob {
    pattern: Pattern,
    takes: bool,
    /// `true` if it matches the whole path below the named directory.
    is_path: bool,
}

impl FromStr for Glob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (takes, pattern) = text
            .strip_prefix('!')
            .map_or((true, text), |pattern| (false, pattern));
        let pattern = Pattern::new(pattern).map_err(|error| error.to_string())?;
        // Windows also has backslashes.
        let is_path = pattern.as_str().contains(std::path::is_separator);
        Ok(Self {
            takes,
            is_path,
            pattern,
        })
    }
}

/// The files below directories that are selected.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The names or paths to select; all, if no pattern selects any.
    pub globs: Vec<Glob>,
    /// `true` if files and directories are selected whose name begins with a dot.
    pub hidden: bool,
}

impl Selection {
    /// Returns `true` if the file at this path below a directory is selected.
    fn takes(&self, below: &Path) -> bool {
        let options = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        let matches = |glob: &Glob| match glob.is_path {
            true => glob.pattern.matches_path_with(below, options),
            false => below
                .file_name()
                .is_some_and(|name| glob.pattern.matches_with(&name.to_string_lossy(), options)),
        };
        let (mut takes, mut leaves) = (
            self.globs.iter().filter(|g| g.takes).peekable(),
            self.globs.iter().filter(|g| !g.takes),
        );
        (takes.peek().is_none() || takes.any(matches)) && !leaves.any(matches)
    }
}

/// Files found, in order, and the skipped files.
#[derive(Debug, Default)]
pub struct Found {
    /// The named files and the found ones, in order.
    pub files: Vec<Input>,
    /// The skipped files.
    pub skipped: Skipped,
    /// Directories that could not be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
    /// `true` if the command names only one file.
    pub single: bool,
}

/// The files that were skipped in directories.
#[derive(Clone, Copy, Debug, Default)]
pub struct Skipped {
    hidden: u64,
    /// Directories of version control.
    version_control: u64,
    /// Links to directories, which may lead in circles.
    links: u64,
    /// Files that a pattern leaves out.
    left_out: u64,
    /// Pipes, sockets and devices.
    special: u64,
    /// Files that hold no mesh, or none of the format that is asked for.
    pub others: u64,
    /// Files that have nothing to convert or to draw, such as only animations.
    pub nothing: u64,
}

impl fmt::Display for Skipped {
    /// Empty, or what follows the number of files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.nothing, "without vertices"),
            (self.others, "other"),
            (self.left_out, "left out by a pattern"),
            (self.hidden, "hidden"),
            (self.version_control, "of version control"),
            (self.links, "linked directories"),
            (self.special, "special"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{} {what}", text::count(*number)))
            .collect();
        if parts.is_empty() {
            Ok(())
        } else {
            write!(f, "; skipped: {}", parts.join(", "))
        }
    }
}

/// Finds the named files, and the files in the named directories.
#[must_use]
pub fn find(paths: impl IntoIterator<Item = PathBuf>, selection: &Selection) -> Found {
    let mut found = Found::default();
    let mut names = 0;
    let mut has_directory = false;
    for path in paths {
        names += 1;
        if path.is_dir() {
            has_directory = true;
            walk(&path, Path::new(""), selection, &mut found);
        } else {
            found.files.push(Input::named(&path));
        }
    }
    found.single = names == 1 && !has_directory;
    found
}

fn walk(directory: &Path, below: &Path, selection: &Selection, found: &mut Found) {
    const VERSION_CONTROL: [&str; 6] = [".git", ".hg", ".svn", ".bzr", ".jj", "CVS"];
    let entries =
        fs::read_dir(directory).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => {
            return found
                .unreadable
                .push((directory.to_owned(), error.to_string()));
        }
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => {
                found.unreadable.push((path, error.to_string()));
                continue;
            }
        };
        if kind.is_dir() && VERSION_CONTROL.iter().any(|known| name == *known) && !selection.hidden
        {
            found.skipped.version_control += 1;
        } else if name.as_encoded_bytes().starts_with(b".") && !selection.hidden {
            found.skipped.hidden += 1;
        } else if kind.is_dir() {
            walk(&path, &below.join(&name), selection, found);
        } else {
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => found.skipped.links += 1,
                Ok(metadata) if metadata.is_file() => {
                    if selection.takes(&below.join(&name)) {
                        let bytes = metadata.len();
                        found.files.push(Input {
                            path,
                            url: None,
                            is_named: false,
                            bytes,
                        });
                    } else {
                        found.skipped.left_out += 1;
                    }
                }
                Ok(_) => found.skipped.special += 1,
                Err(error) => found.unreadable.push((path, error.to_string())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_with_separators_are_for_paths() {
        let selection = |globs: &[&str]| Selection {
            globs: globs.iter().map(|glob| glob.parse().unwrap()).collect(),
            hidden: false,
        };
        let below = Path::new("men").join("a.iqm");
        assert!(selection(&["men/*.iqm"]).takes(&below));
        assert!(selection(&["*.iqm"]).takes(&below));
        assert!(!selection(&["!men/**"]).takes(&below));
        // Elsewhere a backslash is a character of a name.
        assert_eq!(selection(&[r"men\*.iqm"]).takes(&below), cfg!(windows));
        assert_eq!(selection(&[r"!men\*"]).takes(&below), !cfg!(windows));
    }
}
