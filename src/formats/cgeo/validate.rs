//! Checks of every value.

use std::collections::HashSet;

use super::header::names;
use super::layout::snapshot_address;
use super::mesh::MeshBuffer;
use super::parts::Parts;
use super::proxy::Proxy;
use super::raw;
use super::read_policy::FAR;
use super::rules::{self, FILE};
use super::snapshot::Snapshot;
use super::stream::Identify;
use super::unit::UnitEvidence;
use crate::decode::Scratch;
use crate::mesh::{Bounds, scan};
use crate::num::{Span, as_u64, component, decimal, interval};
use crate::report::{Address, Error, Finding, Findings, Result};

impl Proxy {
    /// Checks every value: returns [`findings`](Self::findings), and the findings that need all snapshots decoded.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading, and [`Cancelled`](crate::ErrorKind::Cancelled). A snapshot that cannot be decoded is an
    /// unusable finding of the rule `snapshot`.
    pub fn validate(&self) -> Result<Vec<Finding>> {
        self.validate_reporting(|_| {})
    }

    /// Like [`validate`](Self::validate), calling `done` after each snapshot with the number of those checked.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`validate`](Self::validate).
    pub fn validate_reporting(&self, mut done: impl FnMut(usize)) -> Result<Vec<Finding>> {
        let mut check = Check::default();
        // Entries that point to the same snapshot are one snapshot.
        let mut seen = HashSet::new();
        for index in 0..self.snapshot_count() {
            self.ask_ahead(index)?;
            match self.check_once(index, &mut seen, &mut check) {
                Ok(()) => {}
                Err(error) if error.is_of_reading() => return Err(error),
                Err(error) => check.add_damaged(index, &error),
            }
            done(index.saturating_add(1));
        }
        let mut all = self.findings().to_vec();
        all.extend(check.findings.into_vec());
        all.append(&mut check.damaged);
        Ok(all)
    }

    /// Checks a snapshot, unless one with the same offset has been seen.
    fn check_once(&self, index: usize, seen: &mut HashSet<u64>, check: &mut Check) -> Result<()> {
        let snapshot = self.snapshot(index)?;
        if seen.insert(snapshot.range().start) {
            check.snapshot(self, &snapshot)?;
        }
        Ok(())
    }

    /// Asks for as many snapshots as have been checked, and some more, where a step on fragments begins again for what
    /// is missing: few steps go through all.
    fn ask_ahead(&self, index: usize) -> Result<()> {
        const FIRST: usize = 16;
        let is_first_step = index == 0;
        let is_doubled = index >= FIRST && index.is_power_of_two();
        if !is_first_step && !is_doubled {
            return Ok(());
        }
        let end = index
            .saturating_add(index.max(FIRST))
            .min(self.snapshot_count());
        let mut ranges = Vec::new();
        for index in index..end {
            if let Ok(extent) = self.layout().extent(index)
                && extent.length() <= FAR
            {
                ranges.push(extent.start.saturating_sub(4)..extent.end);
            }
        }
        self.layout().source.want(ranges.into_iter(), "snapshots")
    }
}

/// The maximum number of snapshots that cannot be read and have a separate finding each; the others share one.
const MAX_DAMAGED: usize = 1000;

/// The checks of a file, and what they have found.
#[derive(Default)]
struct Check {
    findings: Findings,
    /// One for each of the first snapshots that cannot be read: their errors differ.
    damaged: Vec<Finding>,
    buffer: MeshBuffer,
    scratch: Scratch,
}

impl Check {
    /// Adds a snapshot that cannot be read.
    fn add_damaged(&mut self, index: usize, error: &Error) {
        let address = snapshot_address(index);
        let detail = error.message_at(&address);
        let place = FILE.of_error(error).of(address);
        if self.damaged.len() < MAX_DAMAGED {
            let finding = Finding::new(rules::SNAPSHOT, place, detail);
            self.damaged.push(finding);
        } else {
            self.findings.add(rules::SNAPSHOT, || (place, detail));
        }
    }

    fn snapshot(&mut self, proxy: &Proxy, snapshot: &Snapshot) -> Result<()> {
        self.repeated_sections(snapshot)?;
        let stored_box = snapshot.bounding_box(&mut self.scratch)?;
        // Its points are given back before the mesh is read.
        snapshot.point_cloud_into(&mut Vec::new(), &mut self.scratch)?;
        let samples = snapshot.samples(&mut Scratch::default())?.max(1);
        for sample in 0..samples {
            let sample = snapshot.sample(sample);
            let unused = sample.mesh_into_within(
                Parts::ALL,
                &sample.meter(),
                &mut self.buffer,
                &mut self.scratch,
                Identify::No,
            )?;
            if unused > 0 {
                self.findings.add(rules::TRAILING_BYTES, || {
                    (FILE.of(snapshot.address()), format!("{unused} bytes"))
                });
            }
            if sample.is_complete(&mut Scratch::default())? {
                self.triangles(&sample);
            }
            self.numbers(&sample);
        }
        if samples == 1 {
            self.bounding_box(snapshot, stored_box);
        }
        if snapshot.index() == 0 {
            self.header(proxy, stored_box);
        }
        Ok(())
    }

    /// Finds repeated sections, of which the first counts. Repeated meshes are samples.
    fn repeated_sections(&mut self, snapshot: &Snapshot) -> Result<()> {
        let mut tags = Vec::new();
        for section in snapshot.sections()? {
            if section.tag == raw::TAG_MESH_DATA || !section.is_known() {
                continue;
            }
            if !tags.contains(&section.tag) {
                tags.push(section.tag);
                continue;
            }
            self.findings.add(rules::REPEATED_SECTION, || {
                let place = FILE.of(snapshot.address()).at(section.range.clone());
                (place, format!("tag {:#x}; the first counts", section.tag))
            });
        }
        Ok(())
    }

    fn triangles(&mut self, snapshot: &Snapshot) {
        /// Bytes after the indices of a record of version 7.
        const VERSION_7: usize = 3;
        let address = snapshot.address().then("triangles");
        let triangles = &self.buffer.triangles;
        let tail = triangles.tail_len();
        if tail != VERSION_7 && !triangles.is_empty() {
            let normals = if triangles.has_normals() {
                ""
            } else {
                ", and no indices of normals"
            };
            self.findings.add(rules::TRIANGLE_TAIL, || {
                let detail =
                    format!("expected {VERSION_7} bytes after the indices, found {tail}{normals}");
                (FILE.of(address.clone()), detail)
            });
        }
        let mut streams = vec![("positions", self.buffer.positions.len())];
        if triangles.has_normals() {
            streams.push(("normals", self.buffer.normals.len()));
        }
        for channel in &self.buffer.texcoords {
            streams.push(("map_channels", channel.len()));
        }
        for (stream, (name, count)) in streams.into_iter().enumerate() {
            self.indices(&address, stream, name, as_u64(count));
        }
    }

    /// Checks the indices of one kind, which name one of `count` elements.
    fn indices(&mut self, address: &Address, stream: usize, name: &str, count: u64) {
        let triangles = &self.buffer.triangles;
        if triangles.is_empty() {
            return;
        }
        let mut min = u32::MAX;
        let mut max = 0;
        for index in triangles.corners(stream) {
            min = min.min(index);
            max = max.max(index);
        }
        if u64::from(max) < count {
            return;
        }
        if min == 1 && u64::from(max) == count {
            self.findings.add(rules::COUNTED_FROM_ONE, || {
                (FILE.of(address.clone()), format!("{name}: 1..={max}"))
            });
        }
        let wrong = triangles
            .corners(stream)
            .filter(|index| u64::from(*index) >= count)
            .count();
        self.findings
            .add_many(rules::INDEX_OUT_OF_RANGE, as_u64(wrong), || {
                let expected = decimal(count);
                let found = decimal(max);
                let detail = format!("{name}: expected less than {expected}, found {found}");
                (FILE.of(address.clone()), detail)
            });
    }

    /// Checks that all positions, normals and texture coordinates are finite, and that all normals have a length.
    fn numbers(&mut self, snapshot: &Snapshot) {
        let Self {
            findings, buffer, ..
        } = self;
        let positions = || snapshot.address().then("positions");
        check_finite(findings, &buffer.positions, positions);
        let normals = || snapshot.address().then("normals");
        check_finite(findings, &buffer.normals, normals);
        if let Some(found) = scan::zero_vectors(buffer.normals.iter().copied()) {
            findings.add_many(rules::ZERO_NORMAL, found.count, || {
                let place = FILE.of(normals().index(found.first));
                (place, "expected a direction")
            });
        }
        for (channel, coordinates) in (0..).zip(&buffer.texcoords) {
            let channel = || snapshot.address().then("map_channels").index(channel);
            check_finite(findings, coordinates, channel);
        }
    }

    fn bounding_box(&mut self, snapshot: &Snapshot, stored: Option<Bounds>) {
        let computed = Bounds::around(self.buffer.positions.iter().copied());
        let (Some(stored), Some(computed)) = (stored, computed) else {
            return;
        };
        let mut size: f32 = 0.0;
        for (max, min) in computed.max.iter().zip(computed.min) {
            size = size.max(max - min);
        }
        // Boxes may be computed before differences are rounded.
        let tolerance = size.max(f32::MIN_POSITIVE) * 1e-3;
        let close =
            |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance);
        if !close(stored.min, computed.min) || !close(stored.max, computed.max) {
            self.findings.add(rules::BOUNDING_BOX, || {
                let stored = interval(&stored.min, &stored.max);
                let computed = interval(&computed.min, &computed.max);
                let detail = format!("{stored}; the positions are in {computed}");
                (FILE.of(snapshot.address()), detail)
            });
        }
    }

    /// The header's numbers against the first snapshot.
    fn header(&mut self, proxy: &Proxy, stored: Option<Bounds>) {
        let place = || FILE.of(Address::field("header"));
        let properties = proxy.properties();
        let counts = [
            (names::VERTICES, self.buffer.positions.len()),
            (names::FACES, self.buffer.triangles.len()),
            (names::NORMALS, self.buffer.normals.len()),
            (names::CHANNELS, self.buffer.texcoords.len()),
        ];
        for (name, found) in counts {
            if let Some(declared) = properties.integer(name)
                && u64::try_from(declared) != Ok(as_u64(found))
            {
                self.findings.add(rules::HEADER_COUNTS, || {
                    (
                        place(),
                        format!("{name}: {declared}; snapshot 0 has {found}"),
                    )
                });
            }
        }
        if let Some(declared) = properties.triple(names::BOX_UNITS)
            && let Some(Bounds { min, max }) = stored
        {
            let min = min.map(f64::from);
            let max = max.map(f64::from);
            let found = [max[0] - min[0], max[1] - min[1], max[2] - min[2]];
            let differs = |(declared, found): (&f64, &f64)| {
                (declared - found).abs() > declared.abs().max(found.abs()) * 0.01
            };
            if declared.iter().zip(&found).any(differs) {
                self.findings.add(rules::HEADER_BOX, || {
                    let size = |[x, y, z]: [f64; 3]| format!("{x} x {y} x {z}");
                    let declared = size(declared);
                    let found = size(found);
                    let detail = format!("{declared}; the stored box of snapshot 0 has {found}");
                    (place(), detail)
                });
            }
        }
        if let Some(unit) = proxy.unit_length()
            && unit.evidence == UnitEvidence::BoxSizesScaleDiffers
        {
            let scale = proxy.scale().unwrap_or_default();
            self.findings.add(rules::SCALE, || {
                let detail =
                    format!("{scale}, which neither is nor inverts the ratio of the box sizes");
                (place(), detail)
            });
        }
    }
}

/// Checks that all numbers of an array are finite.
fn check_finite(findings: &mut Findings, numbers: &[[f32; 3]], address: impl Fn() -> Address) {
    let numbers = numbers.as_flattened();
    // A first pass without a branch for each number is several times as fast as a search.
    let mut has_wrong = false;
    for number in numbers {
        has_wrong |= !number.is_finite();
    }
    if !has_wrong {
        return;
    }
    let count = numbers.iter().filter(|number| !number.is_finite()).count();
    findings.add_many(rules::NOT_FINITE, as_u64(count), || {
        let first = numbers.iter().position(|number| !number.is_finite());
        let first = first.unwrap_or_default();
        let number = numbers.get(first).copied().unwrap_or_default();
        (
            FILE.of(address().index(as_u64(first / 3))),
            format!("{} is {number}", component(first % 3)),
        )
    });
}
