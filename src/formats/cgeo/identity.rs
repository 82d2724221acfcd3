//! Which file it is: the same for all proxies that read it in the same way.

use super::dialect::Dialect;
use crate::bytes::{Identity, Source};
#[cfg(feature = "cache")]
use crate::options::Options;

/// A file as the system knows it, or else a proxy of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileId {
    /// Device and inode are known, and the time of the last change: no two files have all of them.
    File(Identity),
    /// [`Proxy::id`](super::Proxy::id).
    Proxy(u64),
}

impl FileId {
    pub(super) fn new(source: &Source, proxy: u64) -> Self {
        let identity = source.identity().filter(|id| id.file_id.is_some() && id.modified.is_some());
        identity.map_or(Self::Proxy(proxy), |identity| Self::File(*identity))
    }
}

/// A file and all that its decoded snapshots depend on.
#[cfg(feature = "cache")]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileKey {
    pub(super) file: FileId,
    pub(super) dialect: Dialect,
    pub(super) options: Options,
}

/// Files that are read in several ways are few.
#[cfg(feature = "cache")]
impl std::hash::Hash for FileKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.file.hash(state);
    }
}

/// Where the triangles of a mesh are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoredMesh {
    pub(super) file: FileId,
    pub(super) dialect: Dialect,
    pub(super) offset: u64,
}
