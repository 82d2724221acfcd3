//! An open file and the snapshots in it: what is below [`Proxy`](super::Proxy) and [`Snapshot`](super::Snapshot), which users see.
//! Holds what is known of a file; reads and decodes nothing.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::first_mesh::FirstMesh;
use super::header::names;
use super::layout::{Layout, snapshot_address};
#[cfg(feature = "cache")]
use super::mesh::FileKey;
use super::mesh::{FileId, SameTriangles, TopologyId};
use super::parts::{MeshArray, Parts};
use super::read_policy::{LearnedLengths, ReadPolicy};
use super::rules::FILE;
use super::sections::Section;
use super::time::Timing;
use super::triangle_hash::TriangleHash;
use super::unit::UnitLength;
use crate::bytes::{Source, Text};
use crate::dialect::Dialect;
use crate::limits::Meter;
use crate::options::Options;
use crate::report::{Address, Finding, Place, Result};

/// An open file: its layout, the options that it is read with, what has been learned of it, and the mesh of the first snapshot.
pub(super) struct File {
    pub(super) layout: Layout,
    pub(super) dialect: Dialect,
    pub(super) options: Options,
    /// Identifies the file object within the process.
    pub(super) id: u64,
    identity: FileId,
    /// The key of the file, for caches.
    #[cfg(feature = "cache")]
    pub(super) key: Arc<FileKey>,
    pub(super) lengths: LearnedLengths,
    pub(super) first_mesh: FirstMesh,
    /// Found in the header once: every snapshot requests them, and a header may be long.
    header_facts: OnceLock<HeaderFacts>,
    /// The findings of opening it.
    pub(super) findings: Vec<Finding>,
}

/// Properties of the header that are requested again and again.
pub(super) struct HeaderFacts {
    pub(super) object_name: Option<Text>,
    pub(super) timing: Option<Timing>,
    pub(super) unit: Option<UnitLength>,
}

impl File {
    pub(super) fn new(
        layout: Layout,
        dialect: Dialect,
        options: &Options,
        findings: Vec<Finding>,
    ) -> Result<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let identity = FileId::new(&layout.source, id);
        let length = layout.source.len()?.unwrap_or(0);
        Ok(Self {
            dialect,
            options: *options,
            id,
            identity,
            #[cfg(feature = "cache")]
            key: Arc::new(FileKey {
                file: identity,
                dialect,
                options: *options,
            }),
            lengths: LearnedLengths::default(),
            first_mesh: FirstMesh::new(&options.limits, length),
            header_facts: OnceLock::new(),
            findings,
            layout,
        })
    }

    pub(super) fn source(&self) -> &Source {
        &self.layout.source
    }

    /// The number of snapshots: entries of the offset table.
    pub(super) fn snapshot_count(&self) -> usize {
        self.layout.table.len()
    }

    pub(super) fn header_facts(&self) -> &HeaderFacts {
        self.header_facts.get_or_init(|| {
            let properties = &self.layout.properties;
            let start = properties.integer(names::TIME_START).unwrap_or(0);
            let step = properties.integer(names::TIME_PER_SNAPSHOT);
            HeaderFacts {
                object_name: properties.get(names::OBJECT_NAME),
                timing: step
                    .map(|step| Timing::of_microseconds(start, step, self.snapshot_count())),
                unit: UnitLength::of(properties),
            }
        })
    }

    /// The meter of a call on this file.
    pub(super) fn meter(&self) -> Meter<'static> {
        Meter::of_call(&self.options.limits)
    }

    pub(super) fn topology(&self, triangles: SameTriangles) -> TopologyId {
        TopologyId {
            file: self.identity,
            dialect: self.dialect,
            triangles,
        }
    }

    /// The topology of triangles that have been seen, by the hash of the first snapshot's triangles.
    pub(super) fn topology_beside(
        &self,
        hash: TriangleHash,
        first: Option<TriangleHash>,
    ) -> TopologyId {
        if first == Some(hash) {
            self.topology(SameTriangles::First)
        } else {
            self.topology(SameTriangles::Hashed(hash))
        }
    }

    /// The hash of the triangles of the complete mesh at this offset, if it has been seen.
    pub(super) fn known_hash(&self, offset: u64) -> Option<TriangleHash> {
        self.first_mesh.hashes.get(offset)
    }

    pub(super) fn remember_hash(&self, offset: u64, hash: TriangleHash) {
        self.first_mesh
            .hashes
            .insert(offset, hash, self.snapshot_count());
    }
}

/// A snapshot of a file: its bytes, and what has been read of them. Cloning is cheap; clones share the bytes.
#[derive(Clone)]
pub(super) struct StoredSnapshot {
    pub(super) file: Arc<File>,
    /// The index in the offset table.
    pub(super) index: usize,
    /// The index among its meshes.
    pub(super) sample: usize,
    /// Its bytes: from its offset to the next one, or to the end of the file.
    pub(super) extent: Range<u64>,
    /// Made when it is needed: the sections of most snapshots are few, and in memory.
    read: OnceLock<Arc<ReadSnapshot>>,
}

/// The data of a snapshot that has been read.
#[derive(Default)]
pub(super) struct ReadSnapshot {
    /// The source, with the bytes of the snapshot.
    pub(super) loaded: OnceLock<Source>,
    /// `true` if a part of it has been read separately. The next read is of the whole.
    pub(super) is_read_in_part: AtomicBool,
    /// Its sections, once they have been listed.
    pub(super) sections: OnceLock<Vec<Section>>,
}

impl StoredSnapshot {
    /// The snapshot of this index. Reads nothing.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Layout::extent`].
    pub(super) fn new(file: &Arc<File>, index: usize) -> Result<Self> {
        let extent = file.layout.extent(index)?;
        Ok(Self {
            file: Arc::clone(file),
            index,
            sample: 0,
            extent,
            read: OnceLock::new(),
        })
    }

    /// The snapshot with another of its meshes. Data that is read for one sample is read for all.
    pub(super) fn with_sample(&self, sample: usize) -> Self {
        self.read();
        Self {
            sample,
            ..self.clone()
        }
    }

    pub(super) fn read(&self) -> &ReadSnapshot {
        self.read.get_or_init(Arc::default)
    }

    /// The data that has been read, if any was.
    pub(super) fn read_already(&self) -> Option<&ReadSnapshot> {
        self.read.get().map(|read| &**read)
    }

    /// The policy of how much of it is read at a time.
    pub(super) fn policy(&self) -> ReadPolicy<'_> {
        ReadPolicy {
            source: self.file.source(),
            dialect: self.file.dialect,
            lengths: &self.file.lengths,
            index: self.index,
            extent: &self.extent,
        }
    }

    pub(super) fn meter(&self) -> Meter<'static> {
        self.file.meter()
    }

    pub(super) fn address(&self) -> Address {
        snapshot_address(self.index)
    }

    pub(super) fn place(&self) -> Place {
        FILE.of(self.address())
    }

    /// Returns `true` for the mesh that differences are added to.
    pub(super) fn is_first(&self) -> bool {
        if self.sample != 0 {
            return false;
        }
        if self.index == 0 {
            return true;
        }
        // Another entry of the table may name the first snapshot again.
        let first = self.file.layout.extent(0);
        first.is_ok_and(|first| first.start == self.extent.start)
    }

    /// The topology of a complete mesh at this offset, whose triangles have not been seen.
    pub(super) fn stored_topology(&self, offset: u64) -> TopologyId {
        if self.is_first() {
            self.file.topology(SameTriangles::First)
        } else {
            self.file.topology(SameTriangles::At(offset))
        }
    }

    /// The last array that is decoded for these parts.
    pub(super) fn last_of(&self, parts: Parts) -> MeshArray {
        // Triangles are stored in the first snapshot, and after everything else.
        if self.index == 0 && parts.contains(Parts::TRIANGLES) {
            MeshArray::Triangles
        } else {
            parts.last()
        }
    }
}

impl fmt::Debug for StoredSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSnapshot")
            .field("index", &self.index)
            .field("sample", &self.sample)
            .field("extent", &self.extent)
            .finish_non_exhaustive()
    }
}
