//! The proxy: its header, and its snapshots by index and by time.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::dialect::{self, Dialect};
use super::header::{Properties, names};
use super::layout::{Layout, snapshot_address};
use super::mesh::{Mesh, TopologyId};
use super::rules::FILE;
use super::snapshot::Snapshot;
use super::time::{Key, Timing, Wrap};
use crate::bytes::{Source, Text};
use crate::decode::Scratch;
use crate::format::Format;
use crate::num::{Span, as_u64};
use crate::options::{Options, refuse_forbidden};
use crate::report::{Address, ErrorKind, Finding, Item, Result};

/// A CGeo file: an object as a series of snapshots.
///
/// Cloning is cheap. Opening reads the header, the offset table, and of the first snapshot what tells the dialect; a
/// snapshot is read when asked for. The first snapshot's mesh, which differences are added to, is decoded once, for
/// all clones and threads.
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
    base: OnceLock<Result<Arc<Mesh>>>,
    findings: Vec<Finding>,
}

/// What reading a CGeo file needs to be told beside [`Options`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The dialect, where it is not to be found out.
    pub dialect: Option<Dialect>,
}

impl ReadOptions {
    /// These options, with a dialect that is not to be found out.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }
}

/// How long a unit of the file is, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnitLength {
    /// Millimetres in a unit.
    pub millimeters: f64,
    /// How that is known.
    pub evidence: UnitEvidence,
}

/// How the length of a unit is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnitEvidence {
    /// From the two box sizes of the header, with which its scale agrees.
    BoxSizes,
    /// From the two box sizes of the header, of which its scale is the reciprocal, as in the published sample.
    BoxSizesScaleIsReciprocal,
    /// From the two box sizes of the header, which its scale contradicts.
    BoxSizesScaleDiffers,
    /// From the scale alone, as the published text explains it.
    Scale,
}

impl Proxy {
    /// Opens a file lazily.
    ///
    /// # Errors
    ///
    /// Those of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?)
    }

    /// Reads header and offset table, and finds the dialect.
    ///
    /// # Errors
    ///
    /// [`UnknownFormat`](ErrorKind::UnknownFormat) for another first byte, [`Malformed`](ErrorKind::Malformed) where
    /// the table is not between its tags or no reading leads through one of the first snapshots,
    /// [`Unsupported`](ErrorKind::Unsupported) for a compression that is known but not read,
    /// [`Truncated`](ErrorKind::Truncated), and the errors of reading.
    pub fn from_source(source: Source) -> Result<Self> {
        Self::from_source_with(source, &Options::default(), &ReadOptions::default())
    }

    /// The same with options; [`Strictness::Strict`](crate::Strictness::Strict) also runs [`validate`](Self::validate).
    ///
    /// # Errors
    ///
    /// Those of [`from_source`](Self::from_source); strictly, [`Malformed`](ErrorKind::Malformed) for any finding
    /// that contradicts the published text.
    pub fn from_source_with(source: Source, options: &Options, read: &ReadOptions) -> Result<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let layout = Layout::read(&source)?;
        let dialect = match read.dialect {
            Some(dialect) => dialect,
            None => dialect::find(&layout, options.decoder)?,
        };
        let mut findings = layout.findings.clone();
        findings.extend(dialect::contradiction(&layout, dialect));
        let inner = Inner {
            layout,
            dialect,
            is_found: read.dialect.is_none(),
            options: *options,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            base: OnceLock::new(),
            findings,
        };
        let proxy = Self { inner: Arc::new(inner) };
        refuse_forbidden(options, Format::CGeo, || proxy.validate())?;
        Ok(proxy)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// A number of this proxy in this process: clones have the same.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.inner.id
    }

    /// How the file is read where the published text is silent.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }

    /// Whether the dialect was found out; otherwise the caller told it.
    #[must_use]
    pub fn dialect_is_found(&self) -> bool {
        self.inner.is_found
    }

    /// The source, for reading what else lies in the file.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.inner.layout.source
    }

    /// The properties of the header.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        &self.inner.layout.properties
    }

    /// "Version"; 7 is the newest that is described. `None` where it is not a whole number.
    #[must_use]
    pub fn version(&self) -> Option<i64> {
        self.properties().integer(names::VERSION)
    }

    /// "Original object name".
    #[must_use]
    pub fn object_name(&self) -> Option<Text> {
        self.properties().get(names::OBJECT_NAME)
    }

    /// "Original material name".
    #[must_use]
    pub fn material_name(&self) -> Option<Text> {
        self.properties().get(names::MATERIAL_NAME)
    }

    /// "Date created", as stored: `2016-01-05/14:10:17`.
    #[must_use]
    pub fn date_created(&self) -> Option<Text> {
        self.properties().get(names::DATE)
    }

    /// "Scale" as stored. What it means, the published text and its sample say in opposite ways; see
    /// [`unit_length`](Self::unit_length).
    #[must_use]
    pub fn scale(&self) -> Option<f64> {
        self.properties().number(names::SCALE)
    }

    /// "Compressed": `true` where absent or anything but "False". What is done goes by the sections themselves.
    #[must_use]
    pub fn compressed(&self) -> bool {
        let value = self.properties().get(names::COMPRESSED);
        !value.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"false"))
    }

    /// The flags before the offset table. Nothing is decided by them: whether they count bits from 0 or 1 is not told,
    /// and each mesh says itself whether it is complete.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.inner.layout.flags
    }

    /// Millimetres in a unit, and how that is known; `None` where the header does not tell (a scale of 0).
    ///
    /// The ratio of the header's two box sizes counts first. The published text explains the scale as millimetres in a
    /// unit, and its own sample stores the reciprocal.
    #[must_use]
    pub fn unit_length(&self) -> Option<UnitLength> {
        const CLOSE: f64 = 0.01;
        let scale = self.scale().filter(|scale| *scale > 0.0);
        let boxes =
            self.properties().triple(names::BOX_UNITS).zip(self.properties().triple(names::BOX_MILLIMETERS));
        let ratio = boxes.and_then(|(units, millimeters)| {
            let axes = units.into_iter().zip(millimeters);
            let longest =
                axes.filter(|(unit, mm)| *unit > 0.0 && *mm > 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
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
                Some(UnitLength { millimeters: ratio, evidence })
            }
            (None, Some(millimeters)) => Some(UnitLength { millimeters, evidence: UnitEvidence::Scale }),
            (None, None) => None,
        }
    }

    /// Millimetres in a unit; see [`unit_length`](Self::unit_length).
    #[must_use]
    pub fn mm_per_unit(&self) -> Option<f64> {
        self.unit_length().map(|unit| unit.millimeters)
    }

    /// The number of snapshots: entries of the offset table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.layout.table.len()
    }

    /// Whether there are no snapshots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A snapshot by its index. Reads nothing yet.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) where there is no such snapshot, [`Malformed`](ErrorKind::Malformed)
    /// where its offset is not behind the table and inside the file.
    pub fn snapshot(&self, index: usize) -> Result<Snapshot> {
        Snapshot::new(self, index)
    }

    /// The times of the snapshots; `None` where the header does not tell. [`Timing::with_rate`] sets another rate.
    #[must_use]
    pub fn timing(&self) -> Option<Timing> {
        let step = self.properties().integer(names::TIME_PER_SNAPSHOT)?;
        let start = self.properties().integer(names::TIME_START).unwrap_or(0);
        Some(Timing { start, step, count: self.len() })
    }

    /// The mesh of the first snapshot, which differences are added to: decoded once, whoever asks.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::mesh`], and [`Malformed`](ErrorKind::Malformed) where it is a difference itself.
    pub fn base(&self) -> Result<Arc<Mesh>> {
        if let Some(base) = self.inner.base.get() {
            return base.clone();
        }
        let first = self.snapshot(0)?;
        // I/O may fail now and succeed later, so it is done before the decode, which always gives the same.
        first.preload()?;
        self.inner.base.get_or_init(|| first.complete_mesh().map(Arc::new)).clone()
    }

    pub(crate) fn topology_at(&self, offset: u64) -> TopologyId {
        TopologyId { proxy: self.inner.id, offset }
    }

    /// The positions at motion keys: for each of these times in seconds, one after the other, those of every vertex,
    /// on the straight line between the snapshots around it.
    ///
    /// `out` becomes as long as that takes; see [`Timing::keys`] for the keys of a shutter.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) where the header has no times,
    /// [`OutOfRange`](ErrorKind::OutOfRange) for a time that is not a number,
    /// [`Mismatch`](ErrorKind::Mismatch) where the snapshots have different triangles, and the errors of decoding.
    pub fn positions_at(
        &self,
        seconds: &[f64],
        wrap: Wrap,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let timing = self.timing().ok_or_else(|| {
            let error = FILE.error(ErrorKind::Unsupported, "time of a snapshot");
            error.expected(format!("the property {:?}", names::TIME_PER_SNAPSHOT)).found("none")
        })?;
        out.clear();
        let (mut from, mut to) = (Vec::new(), Vec::new());
        let mut topology = None;
        for time in seconds {
            let key = timing
                .index_at(*time, wrap)
                .ok_or_else(|| FILE.out_of_range("time").expected("a time, and snapshots").found(time))?;
            self.positions_of(&key, &mut topology, &mut from, &mut to, scratch)?;
            out.extend_from_slice(&from);
        }
        Ok(())
    }

    /// The positions at one key, in `from`.
    fn positions_of(
        &self,
        key: &Key,
        topology: &mut Option<TopologyId>,
        from: &mut Vec<[f32; 3]>,
        to: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let first = self.snapshot(key.from)?;
        self.same_topology(&first, topology, scratch)?;
        first.positions_into(from, scratch)?;
        if key.fraction > 0.0 && key.to != key.from {
            let second = self.snapshot(key.to)?;
            self.same_topology(&second, topology, scratch)?;
            second.positions_into(to, scratch)?;
            let fraction = key.fraction;
            for (a, b) in from.as_flattened_mut().iter_mut().zip(to.as_flattened()) {
                *a += (b - *a) * fraction;
            }
        }
        Ok(())
    }

    fn same_topology(
        &self,
        snapshot: &Snapshot,
        seen: &mut Option<TopologyId>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let found = snapshot.topology_with(scratch)?;
        if *seen.get_or_insert(found) == found {
            return Ok(());
        }
        let error = FILE.error(ErrorKind::Mismatch, "triangles of snapshots");
        let error = error.of(snapshot.address());
        Err(error.expected("those of the snapshot before").found("others; vertices cannot be matched"))
    }

    /// The velocity of every vertex at a snapshot, in units a second: from the snapshot before to the one behind, or
    /// one-sided at the ends.
    ///
    /// # Errors
    ///
    /// Those of [`positions_at`](Self::positions_at), and [`Unsupported`](ErrorKind::Unsupported) where no time
    /// passes between snapshots.
    pub fn velocities(&self, index: usize, out: &mut Vec<[f32; 3]>, scratch: &mut Scratch) -> Result<()> {
        let last = self.snapshot(index).map(|_| self.len().saturating_sub(1))?;
        let (before, behind) = (index.saturating_sub(1), index.saturating_add(1).min(last));
        let timing = self.timing().filter(|timing| timing.step != 0);
        let Some(timing) = timing.filter(|_| before < behind) else {
            let error =
                FILE.error(ErrorKind::Unsupported, "time between snapshots").of(snapshot_address(index));
            return Err(error.expected("snapshots with time between them").found("none"));
        };
        #[expect(clippy::cast_possible_truncation, reason = "seconds, as far as an f32 goes")]
        let per_second = (1.0 / (timing.time_of(behind) - timing.time_of(before))) as f32;
        let (mut topology, mut earlier) = (None, Vec::new());
        for (index, positions) in [(before, &mut earlier), (behind, &mut *out)] {
            let snapshot = self.snapshot(index)?;
            self.same_topology(&snapshot, &mut topology, scratch)?;
            snapshot.positions_into(positions, scratch)?;
        }
        for (later, earlier) in out.as_flattened_mut().iter_mut().zip(earlier.as_flattened()) {
            *later = (*later - earlier) * per_second;
        }
        Ok(())
    }

    /// What was tolerated when opening; see [`finding`](super::finding).
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.inner.findings
    }

    /// The parts of the file: header, offset table, and the snapshots by their extents. Reads nothing.
    #[must_use]
    pub fn items(&self) -> Vec<Item> {
        let layout = &self.inner.layout;
        let item = |address: Address, range: &std::ops::Range<u64>, counts: Vec<(&'static str, u64)>| {
            let stored = range.length();
            Item { address, counts, stored, decoded: None, range: range.clone() }
        };
        let properties = as_u64(self.properties().iter().count());
        let mut items = vec![
            item(Address::field("header"), &layout.header, vec![("properties", properties)]),
            item(
                Address::field("offset_table"),
                &layout.table_range,
                vec![("snapshots", layout.table.len_u64())],
            ),
        ];
        let extents = (0..self.len()).filter_map(|index| Some((index, layout.extent(index).ok()?)));
        items.extend(extents.map(|(index, extent)| item(snapshot_address(index), &extent, Vec::new())));
        items
    }

    /// The addresses of the snapshots.
    pub(crate) fn mesh_addresses(&self) -> Vec<Address> {
        (0..self.len()).map(snapshot_address).collect()
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("version", &self.version())
            .field("snapshots", &self.len())
            .field("dialect", &format_args!("{}", self.dialect()))
            .finish_non_exhaustive()
    }
}
