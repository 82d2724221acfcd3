//! The proxy: its header, and its snapshots by index and by time.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::base;
use super::dialect_search;
use super::file::{File, StoredSnapshot};
use super::header::{Properties, names};
use super::layout::{Layout, snapshot_address};
#[cfg(feature = "cache")]
use super::mesh::FileKey;
use super::mesh::{Mesh, SameTriangles, TopologyId};
use super::snapshot::Snapshot;
use super::time::Timing;
use super::unit::UnitLength;
use crate::bytes::{Source, Text};
use crate::dialect::Dialect;
use crate::format::Format;
use crate::mesh::{Entries, MeshEntry, Role};
use crate::num::{Span, as_u64};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, Finding, Item, Result};

/// A CGeo file: an object as a series of snapshots.
///
/// Opening reads the header, the offset table, and as much of the first snapshot as determines the dialect. Snapshots are read on
/// demand. The first snapshot's mesh, which differences are added to, is decoded once for all clones and threads, and no further
/// than requested: positions need only positions. Cloning is cheap.
#[derive(Clone)]
pub struct Proxy {
    file: Arc<File>,
    /// Nothing: a build that leaves the format out has no values of this type.
    #[cfg(meshmap_without = "cgeo")]
    _absent: std::convert::Infallible,
}

impl Proxy {
    /// Opens a file lazily.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?, &Options::default())
    }

    /// Reads the header and the offset table, and finds the dialect.
    ///
    /// [`Strictness::Strict`](crate::Strictness::Strict) also runs [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// Returns [`UnknownFormat`](crate::ErrorKind::UnknownFormat) for another first byte,
    /// [`Malformed`](crate::ErrorKind::Malformed) if the table is not between its tags or no dialect leads through one of the first
    /// snapshots, [`Unsupported`](crate::ErrorKind::Unsupported) for a compression that is known but not supported,
    /// [`Truncated`](crate::ErrorKind::Truncated), and the errors of reading. In strict reading, returns
    /// [`Malformed`](crate::ErrorKind::Malformed) for the first finding that contradicts the published text.
    pub fn from_source(source: Source, options: &Options) -> Result<Self> {
        let layout = Layout::read(&source)?;
        let dialect = match options.dialect {
            Some(dialect) => dialect,
            None => dialect_search::find(&layout, options.decoder)?,
        };
        let mut findings = layout.findings.clone();
        findings.extend(dialect_search::contradiction(&layout, dialect));
        let proxy = Self {
            file: Arc::new(File::new(layout, dialect, options, findings)?),
            #[cfg(meshmap_without = "cgeo")]
            _absent: return Err(crate::options::left_out(Format::CGeo)),
        };
        // Snapshots are far from each other: each call asks for what it needs.
        proxy.source().reads_at_random();
        refuse_forbidden(options, Format::CGeo, || proxy.validate())?;
        Ok(proxy)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.file.layout
    }

    pub(crate) fn options(&self) -> &Options {
        &self.file.options
    }

    /// Identifies this proxy and its clones within the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.file.id
    }

    /// The choices for reading the file that the published text leaves open.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.file.dialect
    }

    /// Returns `true` if the dialect was found in the file, rather than given by the caller.
    #[must_use]
    pub fn dialect_is_found(&self) -> bool {
        self.file.options.dialect.is_none()
    }

    /// The source, to read other bytes of the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        self.file.source()
    }

    /// The properties of the header.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        &self.file.layout.properties
    }

    /// "Version"; 7 is the newest that is described. `None` if it is not a whole number.
    #[must_use]
    pub fn version(&self) -> Option<i64> {
        self.properties().integer(names::VERSION)
    }

    /// "Original object name".
    #[must_use]
    pub fn object_name(&self) -> Option<Text> {
        self.file.header_facts().object_name.clone()
    }

    /// "Original material name".
    #[must_use]
    pub(crate) fn material_name(&self) -> Option<Text> {
        self.properties().get(names::MATERIAL_NAME)
    }

    /// "Scale" as stored. The published text and its sample contradict each other about its meaning; see
    /// [`unit_length`](Self::unit_length).
    #[must_use]
    pub fn scale(&self) -> Option<f64> {
        self.properties().number(names::SCALE)
    }

    /// The flags before the offset table.
    ///
    /// They are not used: the published text does not say whether bits count from 0 or 1, and each mesh says itself
    /// whether it is complete.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.file.layout.flags
    }

    /// The number of snapshots: entries of the offset table.
    #[must_use]
    pub fn snapshot_count(&self) -> usize {
        self.file.snapshot_count()
    }

    /// A snapshot by its index. Reads nothing yet.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the file has no such snapshot, and
    /// [`Malformed`](crate::ErrorKind::Malformed) if its offset is not after the table and inside the file.
    pub fn snapshot(&self, index: usize) -> Result<Snapshot> {
        Ok(Snapshot::new(StoredSnapshot::new(&self.file, index)?))
    }

    /// The times of the snapshots, in whole microseconds; `None` if the header has no times.
    ///
    /// Proxies are often played at a rate that microseconds do not hold: see [`Timing::with_rate`], and [`Timing::new`] for
    /// files without times.
    #[must_use]
    pub fn timing(&self) -> Option<Timing> {
        self.file.header_facts().timing
    }

    /// The mesh of the first snapshot, which differences are added to. Decoded once.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Snapshot::mesh`], and [`Malformed`](crate::ErrorKind::Malformed) if the mesh is a difference.
    pub fn base(&self) -> Result<Arc<Mesh>> {
        base::whole(&self.file)
    }

    /// The open file, below this.
    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// The topology of the first snapshot's triangles.
    pub(super) fn first_topology(&self) -> TopologyId {
        self.file.topology(SameTriangles::First)
    }

    /// The file and all that decoding depends on.
    #[cfg(feature = "cache")]
    pub(super) fn key(&self) -> &Arc<FileKey> {
        &self.file.key
    }

    /// The [rules](crate::Rule) that the file breaks, as far as opening detects them.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.file.findings
    }

    /// The parts of the file: header, offset table, and the snapshots by their extents. Reads nothing.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let layout = &self.file.layout;
        let properties = as_u64(self.properties().iter().count());
        let first = [
            Item {
                address: Address::field("header"),
                counts: vec![("properties", properties)],
                stored: layout.header.length(),
                decoded: None,
                range: layout.header.clone(),
            },
            Item {
                address: Address::field("offset_table"),
                counts: vec![("snapshots", layout.table.len_u64())],
                stored: layout.table_range.length(),
                decoded: None,
                range: layout.table_range.clone(),
            },
        ];
        let snapshots = (0..self.snapshot_count()).filter_map(move |index| {
            let range = layout.extent(index).ok()?;
            Some(Item {
                address: snapshot_address(index),
                counts: Vec::new(),
                stored: range.length(),
                decoded: None,
                range,
            })
        });
        first.into_iter().chain(snapshots)
    }

    /// The snapshots.
    pub(crate) fn mesh_entries(&self) -> Entries<'_> {
        let name = self.object_name().unwrap_or_default();
        let timing = self.timing();
        Box::new((0..self.snapshot_count()).map(move |index| {
            let seconds = timing.map(|timing| timing.time_of(index));
            let role = Role::Snapshot {
                index: as_u64(index),
                seconds,
            };
            MeshEntry::new(snapshot_address(index), name.clone(), role)
        }))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("version", &self.version())
            .field("snapshots", &self.snapshot_count())
            .field("dialect", &format_args!("{}", self.dialect()))
            .finish_non_exhaustive()
    }
}

impl Proxy {
    /// Millimetres per unit, and the evidence for it; `None` if the header does not define it (a scale of 0).
    ///
    /// The ratio of the header's two box sizes comes first. The published text explains the scale as millimetres in a
    /// unit, but its own sample stores the reciprocal.
    #[must_use]
    pub fn unit_length(&self) -> Option<UnitLength> {
        self.file.header_facts().unit
    }
}
