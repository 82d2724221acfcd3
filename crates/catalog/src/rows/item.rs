//! The inputs of a catalogue: files, found in directories or named, and sources of other kinds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshmap::Source;

use crate::find::{Found, Selection};
use crate::input::{Input, Reading};

/// A file of a catalogue, before it is opened.
#[derive(Clone)]
pub struct Item(pub(super) Kind);

type Open = Arc<dyn Fn() -> meshmap::Result<Source> + Send + Sync>;

#[derive(Clone)]
pub(super) enum Kind {
    File(Input),
    Source {
        name: String,
        identity: Option<String>,
        open: Open,
    },
    /// A directory that cannot be read, and why.
    Unreadable(PathBuf, String),
}

impl Item {
    /// The file at a path. Whatever it is, it has a row.
    #[must_use]
    pub fn file(path: &Path) -> Self {
        Self(Kind::File(Input::named(path)))
    }

    /// Returns `false` for a file that was found in a directory and that holds no mesh, which has no row.
    #[must_use]
    pub fn is_mesh(&self) -> bool {
        if let Kind::File(input) = &self.0 {
            input.is_mesh(&Reading::default())
        } else {
            true
        }
    }

    /// The path or the name of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.0 {
            Kind::File(input) => &input.path,
            Kind::Source { name, .. } => Path::new(name),
            Kind::Unreadable(path, _) => path,
        }
    }

    /// The size of the file, if it is known without reading it; otherwise 0.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        if let Kind::File(input) = &self.0 {
            input.bytes
        } else {
            0
        }
    }

    /// A source, such as an object in a store. `identity` distinguishes its versions: an ETag.
    #[must_use]
    pub fn source(
        name: String,
        identity: Option<String>,
        open: impl Fn() -> meshmap::Result<Source> + Send + Sync + 'static,
    ) -> Self {
        Self(Kind::Source {
            name,
            identity,
            open: Arc::new(open),
        })
    }
}

/// The files named, and those below the directories named, in order. Found files that hold no mesh will have no row.
#[must_use]
pub fn find(paths: &[PathBuf]) -> Vec<Item> {
    crate::find::find(paths.iter().cloned(), &Selection::default()).into()
}

impl From<Found> for Vec<Item> {
    /// The files, and the directories that cannot be read.
    fn from(found: Found) -> Self {
        let files = found.files.into_iter().map(|input| Item(Kind::File(input)));
        let unreadable = found
            .unreadable
            .into_iter()
            .map(|(path, error)| Item(Kind::Unreadable(path, error)));
        files.chain(unreadable).collect()
    }
}
