//! The files of an output: their names, and what decides about their content.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use meshmap_job::{Error, Lods, Result, identity};
use meshmap_outputs::{Names, Numbered};

use crate::settings::{Convert, Target};

impl Convert {
    /// The names that the output at a path may take: its files, those next to it, further buffers of a glTF, and the folder of copied
    /// images.
    #[must_use]
    pub fn names(&self, output: &Path) -> Names {
        let beside = self
            .target
            .extensions_beside()
            .iter()
            .map(|extension| output.with_extension(extension));
        let mut files: Vec<PathBuf> = std::iter::once(output.to_owned()).chain(beside).collect();
        if self.has_level_files() {
            for level in COARSER {
                let Ok(output) = level_name(output, level) else {
                    continue;
                };
                for extension in self.target.extensions_beside() {
                    files.push(output.with_extension(extension));
                }
                files.push(output);
            }
        }
        let numbered = (self.target == Target::Gltf).then(|| further_buffers(output));
        let folder = self.copy_textures.then(|| folder_of_textures(output));
        Names {
            files,
            numbered,
            folder,
        }
    }

    /// `true` if each level of detail has a file: the target would draw all of them in one place.
    pub(crate) fn has_level_files(&self) -> bool {
        let is_flat = matches!(self.target, Target::Obj | Target::Ply | Target::Stl);
        is_flat && self.lod == Lods::All && self.meshes.is_empty()
    }

    /// All that decides about the content of an output except for the file: the version of this package, the revision of the target's
    /// writer, and the settings. For [`Record::read`](meshmap_outputs::Record::read).
    #[must_use]
    pub fn identity(&self) -> String {
        // These are of one file, and come with its path.
        let shared = Self {
            name: String::new(),
            folder: None,
            animations: Vec::new(),
            refuses_without_effect: false,
            ..self.clone()
        };
        identity(
            "meshmap-export",
            self.target.name(),
            self.target.revision(),
            &format!("{shared:?}"),
        )
    }
}

/// The levels of detail that have files next to the finest one.
const COARSER: [Lods; 3] = [Lods::Only(1), Lods::Only(2), Lods::Only(3)];

/// The name of the file with a coarser level of detail, such as `avatar_low.obj`.
pub(crate) fn level_name(output: &Path, level: Lods) -> Result<PathBuf> {
    let not_named = || Error::NotHeld {
        target: "files of levels of detail",
        what: format!("{} is not a name in Unicode", output.display()),
    };
    let stem = output.file_stem().and_then(|stem| stem.to_str());
    let ending = output.extension().and_then(|ending| ending.to_str());
    let (Some(stem), Some(ending)) = (stem, ending) else {
        return Err(not_named());
    };
    Ok(output.with_file_name(format!("{stem}_{level}.{ending}")))
}

/// The name of a file with numbers of a glTF. `None` if it is not UTF-8.
pub(crate) fn buffer_name(output: &Path, number: usize) -> Option<String> {
    match number {
        0 => Some(format!("{}.bin", output.file_stem()?.to_str()?)),
        _ => further_buffers(output).name(number),
    }
}

/// The names of all buffers of a glTF but the first. No other output has them, unless it is named after this one: `scan_1.bin` would be
/// the buffer of `scan_1.gltf`.
fn further_buffers(output: &Path) -> Numbered {
    let mut before = output.as_os_str().to_owned();
    before.push(".");
    Numbered {
        before: before.into(),
        after: ".bin".to_owned(),
    }
}

/// The folder of the copied images of an output, next to it.
pub(crate) fn folder_of_textures(output: &Path) -> PathBuf {
    let mut name: OsString = output.file_name().unwrap_or_default().to_owned();
    name.push(".textures");
    output.with_file_name(name)
}
