//! An image that was found, and the reasons why none was.

use std::fmt;
use std::path::PathBuf;

use meshmap_outputs::Stamp;

use crate::kind::Kind;

/// An image that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The path of the image, without links on the way.
    pub path: PathBuf,
    /// The kind of the image, by its first bytes.
    pub kind: Kind,
    /// Size and time of the file.
    pub stamp: Stamp,
    /// The number of further images that the name means just as well: only their depth and the order of their paths put them
    /// after this one. They were not opened.
    pub other_count: usize,
    /// The paths of the first of them, at most three.
    pub others: Vec<PathBuf>,
}

impl Found {
    /// The maximum number of other images that are named.
    const MOST_OTHERS: usize = 3;

    pub(crate) fn with_others(mut self, others: impl Iterator<Item = PathBuf>) -> Self {
        for other in others {
            self.other_count += 1;
            if self.others.len() < Self::MOST_OTHERS {
                self.others.push(other);
            }
        }
        self
    }
}

/// The reason why a name means no image that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotFound {
    /// The name has no part that can be the name of a file: there are no paths to look at.
    #[error("not a name of a file")]
    NoName,
    /// The caller has given no folder to look in.
    #[error("no folder was given to look in")]
    NoFolder,
    /// No image has that name.
    #[error("not found {0}")]
    Nothing(Searched),
    /// There is an image of that name, which cannot be used, and no other one.
    #[error("{} {problem}", path.display())]
    Unusable {
        /// The path of the first one that was found.
        path: PathBuf,
        /// The reason why it cannot be used.
        problem: Unusable,
    },
}

/// The reason why a file is not used as an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// A link leads out of the folder.
    #[error("leads out of the folder by a link")]
    Outside,
    /// The file itself is a link.
    #[error("is a link, which is not followed")]
    Link,
    /// It is a folder, a pipe or a device.
    #[error("is not a file")]
    NotAFile,
    /// The file cannot be read.
    #[error("cannot be read")]
    NotReadable,
    /// The file does not begin like an image.
    #[error("is not a PNG, JPEG, WebP, DDS, TGA or BMP")]
    UnknownKind,
    /// The file is larger than 256 MiB.
    #[error("is larger than 256 MiB")]
    TooLarge,
}

/// The places where an image was looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// The folder of the file.
    pub beside: Option<PathBuf>,
    /// The folders below which it was looked for, at any depth.
    pub below: Vec<SearchedFolder>,
}

/// A folder below which an image was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedFolder {
    /// The folder, as the caller named it.
    pub path: PathBuf,
    /// The part of the folder that was searched.
    pub extent: Extent,
}

/// The part of a folder that was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// The whole folder. Links were not followed.
    Whole,
    /// The folder without those below it that cannot be listed.
    Readable,
    /// The folder is too large or too deep: only a part of it was searched.
    Part,
    /// Nothing: the folder does not exist, or cannot be listed.
    Nothing,
}

impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        if self.beside.is_some() {
            f.write_str("beside the file")?;
            before = ", nor ";
        }
        for folder in &self.below {
            write!(f, "{before}below {}", folder.path.display())?;
            f.write_str(match folder.extent {
                Extent::Whole => "",
                Extent::Readable => " (a part of it cannot be read)",
                Extent::Part => " (a part of it was searched, as it is too large or too deep)",
                Extent::Nothing => " (which cannot be read)",
            })?;
            before = ", nor ";
        }
        Ok(())
    }
}
