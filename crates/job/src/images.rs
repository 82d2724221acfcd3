//! The images that a file names, for conversions and pictures.
//!
//! 1. `meshmap::texture_paths` makes paths of the name in the file, the best first. None of them leads out of a folder.
//! 2. [`Search::find`] asks [`Library::find`] for the first of them that is there: next to the file, then below the folders of
//!    `--textures`. A run has one library, whose clones in settings share it.
//! 3. [`Library::needed_bytes`] reads the head of an image. The caller charges this to its budget, and `Library::pixels`, `alpha` and
//!    `as_png` decode within it.
//! 4. `images` of `meshmap-export` refers to the image, copies it or puts it into the output, as a PNG if programs do not read its kind
//!    there. The alpha channel decides about `alphaMode` of glTF and the opacity of USD. `images` of `meshmap-render` makes a texture
//!    with smaller copies, which is sampled as glTF requires.
//! 5. `Textures` (`looked_for`) has each name and the file that was found. It is in the record of the output, and `find_up_to_date` looks
//!    for the same images again.

use std::path::{Path, PathBuf};

use meshmap::texture_paths;
use meshmap_images::{DecodeError, Found, Library, NotFound, Places, Unusable};
use meshmap_scene::{FactKind, is_image};

use crate::budget::Budget;
use crate::report::{ImageProblem, Report, Warning, Why};

/// The names of images of one file that are looked for. More cost a lot of time, and no file of an artist has them.
pub const MOST_NAMES: usize = 1024;

/// The places in which the images of a file are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The folders and images that the run knows.
    pub library: &'a Library,
    /// The folder of the file.
    pub folder: Option<&'a Path>,
    /// Further folders, which are searched at any depth.
    pub textures: &'a [PathBuf],
}

impl Search<'_> {
    /// Finds the image that a name means.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is none.
    pub fn find(&self, name: &str) -> Result<Found, ImageProblem> {
        let places = Places {
            beside: self.folder,
            below: self.textures,
        };
        self.library
            .find(&texture_paths(name), &places)
            .map_err(|error| self.problem(&error))
    }

    /// Finds the image that a name means, and warns of others that it means just as well.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is none.
    pub fn find_and_warn(&self, name: &str, report: &mut Report) -> Result<Found, ImageProblem> {
        let found = self.find(name)?;
        if let Some(line) = others_of(name, &found) {
            report.warn_of(Warning::SeveralImages, line);
        }
        Ok(found)
    }

    fn problem(&self, error: &NotFound) -> ImageProblem {
        match error {
            NotFound::NoFolder => ImageProblem::NotLookedFor,
            NotFound::Unusable { problem, .. } => match problem {
                Unusable::Outside => ImageProblem::Outside,
                Unusable::UnknownKind => ImageProblem::UnknownKind,
                Unusable::TooLarge => ImageProblem::TooLarge,
                _ => ImageProblem::NotReadable,
            },
            _ if self.textures.is_empty() && self.folder.is_none() => ImageProblem::NotLookedFor,
            _ if self.textures.is_empty() => ImageProblem::NotBeside,
            _ => ImageProblem::NotFound,
        }
    }
}

/// The image that a name in a mesh file means, in the first of these folders that has it, as `convert` finds it next to the file: a regular
/// file of at most 256 MiB that is a PNG, JPEG, WebP, DDS, TGA or BMP by its first bytes.
#[must_use]
pub fn find_texture(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let library = Library::default();
    folders.iter().find_map(|folder| {
        let search = Search {
            library: &library,
            folder: Some(folder),
            textures: &[],
        };
        search.find(name).ok().map(|found| found.path)
    })
}

/// The reason why an image that was found cannot be decoded.
impl From<DecodeError> for ImageProblem {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::TooLarge { .. } => Self::OverLimit,
            DecodeError::Read(_) | DecodeError::Changed => Self::NotReadable,
            _ => Self::Undecodable,
        }
    }
}

/// Decodes an image with the memory that it needs, which is charged meanwhile.
///
/// # Errors
///
/// Returns [`OverLimit`](ImageProblem::OverLimit) if there is less memory, and the errors of decoding.
pub fn decode_within<T>(
    budget: &Budget,
    needed: u64,
    decode: impl FnOnce(u64) -> Result<T, DecodeError>,
) -> Result<T, ImageProblem> {
    let _scope = budget.scope();
    let charged = budget.charge(needed, IMAGES);
    charged.map_err(|_| ImageProblem::OverLimit)?;
    Ok(decode(needed)?)
}

/// Charges the memory of a decoded image until the call ends.
///
/// # Errors
///
/// Returns [`OverLimit`](ImageProblem::OverLimit) if there is less memory.
pub fn keep_image(budget: &Budget, bytes: u64) -> Result<(), ImageProblem> {
    let kept = budget.keep(bytes, IMAGES);
    kept.map_err(|_| ImageProblem::OverLimit)
}

/// What is charged.
const IMAGES: &str = "images";

/// Reports an image that is not in the output. Most names of materials mean no image: nothing is said of these.
pub fn report_missing(name: &str, problem: ImageProblem, report: &mut Report) {
    if is_image(name) || problem.is_of_found() {
        report.leave_out(FactKind::Images, Why::Image(problem), name);
    }
}

/// The images that a name means just as well as the one that is used, in one line; `None` if there are none.
fn others_of(name: &str, found: &Found) -> Option<String> {
    if found.other_count == 0 {
        return None;
    }
    let mut line = format!("{name} is {}, not ", found.path.display());
    for (index, other) in found.others.iter().enumerate() {
        if index > 0 {
            line.push_str(", ");
        }
        line.push_str(&other.display().to_string());
    }
    let more = found.other_count.saturating_sub(found.others.len());
    if more > 0 {
        line.push_str(&format!(" and {more} more"));
    }
    Some(line)
}
