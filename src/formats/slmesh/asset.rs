//! The asset: its header, and what that says of its blocks.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::keys::MeshKey;
use super::layout::{Entry, Layout};
use super::llsd::Event;
use super::mesh::Mesh;
use crate::bytes::{Source, Text};
use crate::decode::Slot;
use crate::format::Format;
use crate::limits::FileMemory;
use crate::num::{Span, as_u64};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, Finding, Item, Result};

/// A Second Life mesh asset.
///
/// Cloning is cheap. Opening reads the header; each block is read from its own bytes and inflated when it is needed.
#[derive(Clone)]
pub struct Asset {
    pub(crate) inner: Arc<Inner>,
    /// Nothing: a build that leaves the format out has no values of this type.
    #[cfg(meshmap_without = "slmesh")]
    _absent: std::convert::Infallible,
}

pub(crate) struct Inner {
    layout: Layout,
    options: Options,
    /// The meshes of views, in the order of [`MeshKey::ALL`]; also why one cannot be decoded.
    pub(crate) meshes: [Slot<Result<Mesh>>; MeshKey::ALL.len()],
    /// The amount of decoded blocks that is cached.
    pub(crate) kept: FileMemory,
}

impl Asset {
    /// Opens a file lazily.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?, &Options::default())
    }

    /// Reads the header of a file.
    ///
    /// From a lazy source it reads the first 4,096 bytes, and more if the header is longer.
    ///
    /// [`Strictness::Strict`](crate::Strictness::Strict) also runs [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](crate::ErrorKind::Malformed) if the header is not a map of binary LLSD,
    /// [`Truncated`](crate::ErrorKind::Truncated) if the file ends inside it, [`Unsupported`](crate::ErrorKind::Unsupported) for a
    /// version above 999, [`LimitExceeded`](crate::ErrorKind::LimitExceeded) for more than 4,096 keys or too deep a nesting, and
    /// the errors of reading. Blocks are not checked: each fails independently, when it is read. In strict reading, returns
    /// [`Malformed`](crate::ErrorKind::Malformed) for any finding that the specification forbids, and the errors of decoding.
    pub fn from_source(source: Source, options: &Options) -> Result<Self> {
        Self::at(&source, 0..u64::MAX, options)
    }

    /// Reads the header of an asset in a range of a larger source, such as a container.
    ///
    /// Ranges count from the beginning of the source. The range may end after the asset.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`from_source`](Self::from_source).
    pub fn at(source: &Source, range: Range<u64>, options: &Options) -> Result<Self> {
        let layout = Layout::read(source, range, &options.limits, options.slmesh_max_version)
            .map_err(|error| source.locate(error))?;
        let kept = FileMemory::new(&options.limits, source.len()?.unwrap_or(0));
        let inner = Inner {
            layout,
            options: *options,
            meshes: Default::default(),
            kept,
        };
        let asset = Self {
            inner: Arc::new(inner),
            #[cfg(meshmap_without = "slmesh")]
            _absent: return Err(crate::options::left_out(Format::SlMesh)),
        };
        refuse_forbidden(options, Format::SlMesh, || asset.validate())
            .map_err(|error| source.locate(error))?;
        Ok(asset)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// The source, to read other bytes of the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.layout().source
    }

    /// The bytes of the header.
    #[must_use]
    pub fn header_range(&self) -> Range<u64> {
        self.layout().header.clone()
    }

    /// Every key of the header, and its value as LLSD, for [`llsd::Reader`](super::llsd::Reader).
    ///
    /// If keys are equal, all are listed; the first counts.
    pub fn header(&self) -> impl ExactSizeIterator<Item = (&Text, Bytes)> {
        self.layout().keys()
    }

    /// "version", which the simulator fills in: thousands are versions of the format.
    #[must_use]
    pub fn version(&self) -> Option<i32> {
        self.layout().version
    }

    /// "creator": the id of the account that uploaded the asset.
    #[must_use]
    pub fn creator(&self) -> Option<[u8; 16]> {
        match self.scalar("creator")? {
            Event::Uuid(creator) => Some(creator),
            _ => None,
        }
    }

    /// "date" of the upload: seconds since the beginning of 1970, UTC.
    #[must_use]
    pub fn date(&self) -> Option<f64> {
        match self.scalar("date")? {
            Event::Date(seconds) => Some(seconds),
            _ => None,
        }
    }

    /// "submodel_id": the part of a model that has more than eight materials.
    #[must_use]
    pub fn submodel_id(&self) -> Option<i64> {
        self.layout()
            .value("submodel_id", "submodel_id")?
            .integer()
            .ok()
    }

    /// Returns `true` if a service put the key "404" into the header: the asset does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.layout().is_not_found()
    }

    fn scalar(&self, name: &'static str) -> Option<Event<'_>> {
        self.layout().value(name, name)?.event().ok()
    }

    /// Every block of the header, in its order, known or not, also absent ones.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.layout().entries.iter()
    }

    /// The header's entry for a block; `None` if the header has no such entry.
    #[must_use]
    pub fn entry(&self, name: impl AsRef<[u8]>) -> Option<&Entry> {
        self.layout().entry(name.as_ref())
    }

    /// The findings that opening tolerated.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.layout().findings
    }

    /// The header, and the blocks that are there, in the order of the header.
    ///
    /// Reads nothing.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let header = self.header_range();
        let keys = as_u64(self.layout().keys().len());
        let header = Item {
            address: Address::field("header"),
            counts: vec![("keys", keys)],
            stored: header.length(),
            decoded: None,
            range: header,
        };
        let blocks = self.entries().filter_map(|entry| {
            let range = entry.range().ok()??;
            Some(Item {
                address: entry.address.clone(),
                counts: entry
                    .mesh_triangles
                    .map(|count| ("mesh_triangles", count))
                    .into_iter()
                    .collect(),
                stored: range.length(),
                decoded: None,
                range,
            })
        });
        std::iter::once(header).chain(blocks)
    }
}

impl fmt::Debug for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No names: a header may have thousands of long ones.
        f.debug_struct("Asset")
            .field("version", &self.version())
            .field("entries", &self.entries().len())
            .finish_non_exhaustive()
    }
}
