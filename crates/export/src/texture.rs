//! Images that files name, on disk.
//!
//! Names come from strangers. What is opened is a regular file below a folder that the user named, and no link is followed.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use meshmap::texture_paths;
use meshmap_job::ImageProblem;
use meshmap_outputs::{Known, Place, Record, RecordedPath, Stamp, check_names, open_regular};

use crate::looked_for::{Found, Textures};
use crate::settings::Target;

/// The largest image that is used, in bytes.
const LARGEST: u64 = 256 << 20;

/// A kind of image, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Png,
    Jpeg,
    Webp,
    Dds,
    Tga,
    Bmp,
}

impl Kind {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Self::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Self::Jpeg),
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => Some(Self::Webp),
            [b'D', b'D', b'S', b' ', ..] => Some(Self::Dds),
            [b'B', b'M', ..] => Some(Self::Bmp),
            // It has no signature: the kind of its colour map, its own kind, and bits per pixel.
            [_, 0 | 1, 1..=3 | 9..=11, .., 8 | 15 | 16 | 24 | 32, _] if head.len() == HEAD => {
                Some(Self::Tga)
            }
            _ => None,
        }
    }

    pub(crate) fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Dds => "image/vnd-ms.dds",
            Self::Tga => "image/x-tga",
            Self::Bmp => "image/bmp",
        }
    }

    /// Returns `true` if programs read such images in files of the target.
    fn is_held_by(self, target: Target) -> bool {
        match target {
            // As the extension MSFT_texture_dds is required, many programs would refuse the whole file.
            Target::Glb | Target::Gltf => matches!(self, Self::Png | Self::Jpeg | Self::Webp),
            Target::Usdc => matches!(self, Self::Png | Self::Jpeg | Self::Tga | Self::Bmp),
            _ => true,
        }
    }
}

/// The length of the head of a TGA, which is the longest that is looked at.
const HEAD: usize = 18;

/// An image, at a path without links.
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) stamp: Stamp,
}

/// The image below the folders that a name in a file means: the best path that is in one of them. `Err` says why what was found cannot be
/// used; without a reason, nothing was found.
pub(crate) fn find(
    name: &str,
    folders: &[impl AsRef<Path>],
    target: Target,
) -> Result<Image, Option<ImageProblem>> {
    let mut problem = None;
    let roots: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| fs::canonicalize(or_current(folder.as_ref())).ok())
        .collect();
    for path in texture_paths(name) {
        for root in &roots {
            let found = match image(root, &path) {
                Ok(Some(image)) if image.kind.is_held_by(target) => return Ok(image),
                Ok(Some(_)) => ImageProblem::NotRead,
                Ok(None) => continue,
                Err(problem) => problem,
            };
            problem = problem.or(Some(found));
        }
    }
    Err(problem)
}

/// The image that a name in a mesh file means, below the first of these folders that has it, as `convert` finds it: a regular
/// file of at most 256 MiB that is a PNG, JPEG, WebP, DDS, TGA or BMP by its first bytes. No link is followed.
#[must_use]
pub fn find_texture(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    // A target that names images of each kind.
    find(name, folders, Target::Obj)
        .ok()
        .map(|image| image.path)
}

/// The image at a relative path; `None` if the file does not exist.
fn image(root: &Path, path: &str) -> Result<Option<Image>, ImageProblem> {
    let Some((folder, path)) = locate(root, path) else {
        return Ok(None);
    };
    if !folder.starts_with(root) {
        return Err(ImageProblem::Outside);
    }
    let file = open_regular(&path).map_err(|_| ImageProblem::NotReadable)?;
    let mut head = Vec::new();
    file.take(HEAD as u64)
        .read_to_end(&mut head)
        .map_err(|_| ImageProblem::NotReadable)?;
    let kind = Kind::of(&head).ok_or(ImageProblem::UnknownKind)?;
    let stamp = Stamp::of_path(&path).ok_or(ImageProblem::NotReadable)?;
    if stamp.bytes > LARGEST {
        return Err(ImageProblem::TooLarge);
    }
    Ok(Some(Image { path, kind, stamp }))
}

/// The folder of a file at a relative path, without links on the way, and the file in it; `None` if it does not exist.
fn locate(root: &Path, path: &str) -> Option<(PathBuf, PathBuf)> {
    let parts = path.split('/');
    let path = parts.fold(root.to_owned(), |path, part| path.join(part));
    check_names(&path).ok()?;
    let folder = fs::canonicalize(path.parent()?).ok()?;
    let path = folder.join(path.file_name()?);
    fs::symlink_metadata(&path).ok()?;
    Some((folder, path))
}

/// The record of an output that was made with this fingerprint, if it has not changed since then, nor have the images that it refers to.
#[must_use]
pub fn find_up_to_date<'a>(
    record: &'a Record,
    output: &Place,
    fingerprint: &str,
) -> Option<Known<'a>> {
    let known = record.find(output, fingerprint)?;
    let is_unchanged = Textures::of_record(known.looked_for)?.are_unchanged(output);
    is_unchanged.then_some(known)
}

impl Textures {
    /// Returns `true` if the same images would be found again for this output, at the same place from there.
    fn are_unchanged(&self, output: &Place) -> bool {
        let Ok(target) = self.target.parse() else {
            return self.is_empty();
        };
        let is_moved = self.output.is_some() && self.output != resolved(&output.folder_path());
        !is_moved
            && self.images.iter().all(|(name, seen)| {
                let image = find(name, &self.folders, target).ok();
                let seen = seen
                    .as_ref()
                    .map(|Found { file, stamp, .. }| (file.clone(), *stamp));
                image.map(|image| (RecordedPath::of(&image.path), image.stamp)) == seen
            })
    }
}

/// A folder without links on the way.
pub(crate) fn resolved(folder: &Path) -> Option<RecordedPath> {
    fs::canonicalize(or_current(folder))
        .ok()
        .map(|folder| RecordedPath::of(&folder))
}

/// A folder. An empty path, such as the parent of a name, is the current one.
pub(crate) fn or_current(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}
