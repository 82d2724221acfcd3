//! The proxy: its header, and its snapshots by index and by time.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::base::FirstMesh;
use super::dialect_search;
use super::header::{Properties, names};
use super::layout::{Layout, snapshot_address};
#[cfg(feature = "cache")]
use super::mesh::FileKey;
use super::mesh::{FileId, SameTriangles, TopologyId};
use super::read::Prefixes;
use super::snapshot::Snapshot;
use super::time::Timing;
use super::triangle_hash::TriangleHash;
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
    inner: Arc<Inner>,
}

struct Inner {
    layout: Layout,
    dialect: Dialect,
    is_found: bool,
    options: Options,
    id: u64,
    file: FileId,
    /// The key of the file, for caches.
    #[cfg(feature = "cache")]
    key: Arc<FileKey>,
    base: FirstMesh,
    prefixes: Prefixes,
    findings: Vec<Finding>,
    /// Found in the header once: every snapshot asks for them, and a header may be long.
    known: OnceLock<Known>,
}

/// Properties of the header that are needed again and again.
struct Known {
    object_name: Option<Text>,
    timing: Option<Timing>,
    unit: Option<UnitLength>,
}

impl Known {
    fn of(properties: &Properties, snapshots: usize) -> Self {
        let timing = properties.integer(names::TIME_PER_SNAPSHOT).map(|step| {
            let start = properties.integer(names::TIME_START).unwrap_or(0);
            Timing::of_microseconds(start, step, snapshots)
        });
        Self {
            object_name: properties.get(names::OBJECT_NAME),
            timing,
            unit: unit_length(properties),
        }
    }
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
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let layout = Layout::read(&source)?;
        let dialect = match options.dialect {
            Some(dialect) => dialect,
            None => dialect_search::find(&layout, options.decoder)?,
        };
        let mut findings = layout.findings.clone();
        findings.extend(dialect_search::contradiction(&layout, dialect));
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let file = FileId::new(&layout.source, id);
        let base = FirstMesh::new(&options.limits, layout.source.len()?.unwrap_or(0));
        let inner = Inner {
            layout,
            dialect,
            is_found: options.dialect.is_none(),
            options: *options,
            id,
            file,
            #[cfg(feature = "cache")]
            key: Arc::new(FileKey {
                file,
                dialect,
                options: *options,
            }),
            base,
            prefixes: Prefixes::default(),
            findings,
            known: OnceLock::new(),
        };
        let proxy = Self {
            inner: Arc::new(inner),
        };
        // Snapshots are far from each other: each call asks for what it needs.
        proxy.source().reads_at_random();
        refuse_forbidden(options, Format::CGeo, || proxy.validate())?;
        Ok(proxy)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Identifies this proxy and its clones within the process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.inner.id
    }

    /// The choices for reading the file that the published text leaves open.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }

    /// Returns `true` if the dialect was found in the file, rather than given by the caller.
    #[must_use]
    pub fn dialect_is_found(&self) -> bool {
        self.inner.is_found
    }

    /// The source, to read other bytes of the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.inner.layout.source
    }

    /// The properties of the header.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        &self.inner.layout.properties
    }

    fn known(&self) -> &Known {
        self.inner
            .known
            .get_or_init(|| Known::of(self.properties(), self.snapshot_count()))
    }

    /// "Version"; 7 is the newest that is described. `None` if it is not a whole number.
    #[must_use]
    pub fn version(&self) -> Option<i64> {
        self.properties().integer(names::VERSION)
    }

    /// "Original object name".
    #[must_use]
    pub fn object_name(&self) -> Option<Text> {
        self.known().object_name.clone()
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
        self.inner.layout.flags
    }

    /// The number of snapshots: entries of the offset table.
    #[must_use]
    pub fn snapshot_count(&self) -> usize {
        self.inner.layout.table.len()
    }

    /// A snapshot by its index. Reads nothing yet.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if the file has no such snapshot, and
    /// [`Malformed`](crate::ErrorKind::Malformed) if its offset is not after the table and inside the file.
    pub fn snapshot(&self, index: usize) -> Result<Snapshot> {
        Snapshot::new(self, index)
    }

    /// The times of the snapshots, in whole microseconds; `None` if the header has no times.
    ///
    /// Proxies are often played at a rate that microseconds do not hold: see [`Timing::with_rate`], and [`Timing::new`] for
    /// files without times.
    #[must_use]
    pub fn timing(&self) -> Option<Timing> {
        self.known().timing
    }

    /// The decoded parts of the first snapshot's mesh.
    pub(super) fn base_slots(&self) -> &FirstMesh {
        &self.inner.base
    }

    /// The lengths of differences that are read for their first arrays.
    pub(super) fn prefixes(&self) -> &Prefixes {
        &self.inner.prefixes
    }

    pub(crate) fn topology(&self, triangles: SameTriangles) -> TopologyId {
        TopologyId {
            file: self.inner.file,
            dialect: self.inner.dialect,
            triangles,
        }
    }

    /// The topology of triangles that have been seen.
    pub(super) fn topology_of(&self, hash: TriangleHash) -> Result<TopologyId> {
        Ok(self.topology_beside(hash, self.first_hash()?))
    }

    /// The topology of triangles that have been seen, by the hash of the first snapshot's triangles.
    pub(super) fn topology_beside(
        &self,
        hash: TriangleHash,
        first: Option<TriangleHash>,
    ) -> TopologyId {
        let is_first = first == Some(hash);
        self.topology(if is_first {
            SameTriangles::First
        } else {
            SameTriangles::Hashed(hash)
        })
    }

    /// The file and all that decoding depends on.
    #[cfg(feature = "cache")]
    pub(super) fn key(&self) -> &Arc<FileKey> {
        &self.inner.key
    }

    /// The [rules](crate::Rule) that the file breaks, as far as opening detects them.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.inner.findings
    }

    /// The parts of the file: header, offset table, and the snapshots by their extents. Reads nothing.
    pub(crate) fn items(&self) -> impl Iterator<Item = Item> + '_ {
        let layout = &self.inner.layout;
        let item =
            |address: Address, range: &std::ops::Range<u64>, counts: Vec<(&'static str, u64)>| {
                let stored = range.length();
                Item {
                    address,
                    counts,
                    stored,
                    decoded: None,
                    range: range.clone(),
                }
            };
        let properties = as_u64(self.properties().iter().count());
        let table = vec![("snapshots", layout.table.len_u64())];
        let first = [
            item(
                Address::field("header"),
                &layout.header,
                vec![("properties", properties)],
            ),
            item(Address::field("offset_table"), &layout.table_range, table),
        ];
        let extents = (0..self.snapshot_count())
            .filter_map(|index| Some((index, layout.extent(index).ok()?)));
        let snapshots =
            extents.map(move |(index, extent)| item(snapshot_address(index), &extent, Vec::new()));
        first.into_iter().chain(snapshots)
    }

    /// The snapshots.
    pub(crate) fn mesh_entries(&self) -> Entries<'_> {
        let name = self
            .object_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
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

/// The length of a unit of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnitLength {
    /// Millimetres in a unit.
    pub millimeters: f64,
    /// The evidence for the length.
    pub evidence: UnitEvidence,
}

/// The evidence for the length of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnitEvidence {
    /// From the two box sizes of the header, with which its scale agrees.
    BoxSizes,
    /// From the two box sizes of the header. Its scale is the reciprocal of their ratio, as in the published sample.
    BoxSizesScaleIsReciprocal,
    /// From the two box sizes of the header, which its scale contradicts.
    BoxSizesScaleDiffers,
    /// From only the scale, as the published text explains it.
    Scale,
}

impl Proxy {
    /// Millimetres per unit, and the evidence for it; `None` if the header does not define it (a scale of 0).
    ///
    /// The ratio of the header's two box sizes comes first. The published text explains the scale as millimetres in a
    /// unit, but its own sample stores the reciprocal.
    #[must_use]
    pub fn unit_length(&self) -> Option<UnitLength> {
        self.known().unit
    }
}

fn unit_length(properties: &Properties) -> Option<UnitLength> {
    const CLOSE: f64 = 0.01;
    let scale = properties.number(names::SCALE).filter(|scale| *scale > 0.0);
    let boxes = properties
        .triple(names::BOX_UNITS)
        .zip(properties.triple(names::BOX_MILLIMETERS));
    let ratio = boxes.and_then(|(units, millimeters)| {
        let axes = units.into_iter().zip(millimeters);
        let longest = axes
            .filter(|(unit, mm)| *unit > 0.0 && *mm > 0.0)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        longest.map(|(unit, millimeters)| millimeters / unit)
    });
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < CLOSE;
    match (ratio, scale) {
        (Some(ratio), scale) => {
            let evidence = match scale {
                None => UnitEvidence::BoxSizes,
                Some(scale) if close(scale, ratio) => UnitEvidence::BoxSizes,
                Some(scale) if close(1.0 / scale, ratio) => UnitEvidence::BoxSizesScaleIsReciprocal,
                Some(_) => UnitEvidence::BoxSizesScaleDiffers,
            };
            Some(UnitLength {
                millimeters: ratio,
                evidence,
            })
        }
        (None, Some(millimeters)) => Some(UnitLength {
            millimeters,
            evidence: UnitEvidence::Scale,
        }),
        (None, None) => None,
    }
}
