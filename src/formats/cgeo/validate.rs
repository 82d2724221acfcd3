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
use crate::mesh::Bounds;
use crate::num::{Span, as_u64, component, decimal, interval};
use crate::report::{Address, Finding, Findings, Result};

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
            let result = self.snapshot(index).and_then(|snapshot| {
                if seen.insert(snapshot.range().start) {
                    check.snapshot(self, &snapshot)
                } else {
                    Ok(())
                }
            });
            match result {
                Err(error) if error.is_of_reading() => return Err(error),
                Err(error) => {
                    let detail = error.message_at(&snapshot_address(index));
                    let place = FILE.of_error(&error).of(snapshot_address(index));
                    if check.broken.len() < MOST_BROKEN {
                        check
                            .broken
                            .push(Finding::new(rules::SNAPSHOT, place, detail));
                    } else {
                        check.findings.add(rules::SNAPSHOT, || (place, detail));
                    }
                }
                Ok(()) => {}
            }
            done(index.saturating_add(1));
        }
        let mut all = self.findings().to_vec();
        all.extend(check.findings.into_vec());
        all.append(&mut check.broken);
        Ok(all)
    }

    /// Asks for as many snapshots as have been checked, and some more, where a step on fragments begins again for what
    /// is missing: few steps go through all.
    fn ask_ahead(&self, index: usize) -> Result<()> {
        const FIRST: usize = 16;
        let ahead = index.max(FIRST);
        if index > 0 && !(index.is_power_of_two() && index >= FIRST) {
            return Ok(());
        }
        let extents = (index..index.saturating_add(ahead).min(self.snapshot_count()))
            .filter_map(|index| {
                self.layout()
                    .extent(index)
                    .ok()
                    .filter(|extent| extent.length() <= FAR)
            })
            .map(|extent| extent.start.saturating_sub(4)..extent.end);
        self.layout().source.want(extents, "snapshots")
    }
}

/// Snapshots that cannot be read, each of which has a separate finding; the others share one.
const MOST_BROKEN: usize = 1000;

#[derive(Default)]
struct Check {
    findings: Findings,
    /// One for each of the first snapshots that cannot be read: their errors differ.
    broken: Vec<Finding>,
    buffer: MeshBuffer,
    scratch: Scratch,
}

impl Check {
    fn snapshot(&mut self, proxy: &Proxy, snapshot: &Snapshot) -> Result<()> {
        let mut tags = Vec::new();
        for section in snapshot.sections()? {
            if section.tag != raw::TAG_MESH_DATA && tags.contains(&section.tag) {
                self.findings.add(rules::REPEATED_SECTION, || {
                    let detail = format!("tag {:#x}; the first counts", section.tag);
                    (
                        FILE.of(snapshot.address()).at(section.range.clone()),
                        detail,
                    )
                });
            } else if section.is_known() && !tags.contains(&section.tag) {
                tags.push(section.tag);
            }
        }
        let stored_box = snapshot.bounding_box(&mut self.scratch)?;
        // Its points are given back before the mesh is read.
        snapshot.point_cloud_into(&mut Vec::new(), &mut self.scratch)?;
        let samples = snapshot.samples(&mut Scratch::default())?.max(1);
        for sample in 0..samples {
            let sample = snapshot.sample(sample);
            let (mesh, scratch) = (&mut self.buffer, &mut self.scratch);
            let meter = sample.meter();
            let unused =
                sample.mesh_into_within(Parts::ALL, &meter, mesh, scratch, Identify::No)?;
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

    fn triangles(&mut self, snapshot: &Snapshot) {
        const VERSION_7: usize = 3;
        let triangles = &self.buffer.triangles;
        let address = || snapshot.address().then("triangles");
        if triangles.tail_len() != VERSION_7 && !triangles.is_empty() {
            let (tail, has_normals) = (triangles.tail_len(), triangles.has_normals());
            self.findings.add(rules::TRIANGLE_TAIL, || {
                let normals = if has_normals {
                    ""
                } else {
                    ", and no indices of normals"
                };
                let detail =
                    format!("expected {VERSION_7} bytes after the indices, found {tail}{normals}");
                (FILE.of(address()), detail)
            });
        }
        let mut streams = vec![("positions", self.buffer.positions.len())];
        if triangles.has_normals() {
            streams.push(("normals", self.buffer.normals.len()));
        }
        streams.extend(
            self.buffer
                .texcoords
                .iter()
                .map(|channel| ("map_channels", channel.len())),
        );
        for (stream, (name, count)) in streams.into_iter().enumerate() {
            let (least, greatest) = triangles
                .corners(stream)
                .fold((u32::MAX, 0), |(a, b), index| (a.min(index), b.max(index)));
            let count = as_u64(count);
            if triangles.is_empty() || u64::from(greatest) < count {
                continue;
            }
            if least == 1 && u64::from(greatest) == count {
                self.findings.add(rules::COUNTED_FROM_ONE, || {
                    (FILE.of(address()), format!("{name}: 1..={greatest}"))
                });
            }
            let wrong = triangles
                .corners(stream)
                .filter(|index| u64::from(*index) >= count);
            let places = as_u64(wrong.count());
            self.findings
                .add_many(rules::INDEX_OUT_OF_RANGE, places, || {
                    let [most, found] = [count, greatest.into()].map(decimal);
                    let detail = format!("{name}: expected less than {most}, found {found}");
                    (FILE.of(address()), detail)
                });
        }
    }

    fn numbers(&mut self, snapshot: &Snapshot) {
        let arrays = [
            ("positions", &self.buffer.positions),
            ("normals", &self.buffer.normals),
        ];
        let arrays = arrays.map(|(name, numbers)| (snapshot.address().then(name), numbers));
        let channels = (0..).zip(&self.buffer.texcoords);
        let channels = channels.map(|(index, channel)| {
            (
                snapshot.address().then("map_channels").index(index),
                channel,
            )
        });
        for (address, numbers) in arrays.into_iter().chain(channels) {
            let numbers = numbers.as_flattened();
            // A first look without a place in mind is several times as fast.
            if !numbers
                .iter()
                .fold(false, |wrong, number| wrong | !number.is_finite())
            {
                continue;
            }
            let count = as_u64(numbers.iter().filter(|number| !number.is_finite()).count());
            self.findings.add_many(rules::NOT_FINITE, count, || {
                let wrong = numbers
                    .iter()
                    .copied()
                    .enumerate()
                    .find(|(_, number)| !number.is_finite());
                let (first, number) = wrong.unwrap_or_default();
                (
                    FILE.of(address.index(as_u64(first / 3))),
                    format!("{} is {number}", component(first % 3)),
                )
            });
        }
    }

    fn bounding_box(&mut self, snapshot: &Snapshot, stored: Option<Bounds>) {
        let computed = Bounds::around(self.buffer.positions.iter().copied());
        let (Some(stored), Some(computed)) = (stored, computed) else {
            return;
        };
        let size = (0..3)
            .filter_map(|axis| Some(computed.max.get(axis)? - computed.min.get(axis)?))
            .fold(0.0, f32::max);
        // Boxes may be computed before differences are rounded.
        let tolerance = size.max(f32::MIN_POSITIVE) * 1e-3;
        let close =
            |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance);
        if !close(stored.min, computed.min) || !close(stored.max, computed.max) {
            self.findings.add(rules::BOUNDING_BOX, || {
                let [stored, computed] =
                    [stored, computed].map(|bounds| interval(&bounds.min, &bounds.max));
                let detail = format!("{stored}; the positions are in {computed}");
                (FILE.of(snapshot.address()), detail)
            });
        }
    }

    /// The header's numbers against the first snapshot.
    fn header(&mut self, proxy: &Proxy, stored: Option<Bounds>) {
        let header = || Address::field("header");
        let properties = proxy.properties();
        let counts = [
            (names::VERTICES, self.buffer.positions.len()),
            (names::FACES, self.buffer.triangles.len()),
            (names::NORMALS, self.buffer.normals.len()),
            (names::CHANNELS, self.buffer.texcoords.len()),
        ];
        for (name, found) in counts {
            let said = properties.integer(name);
            if said.is_some_and(|said| u64::try_from(said) != Ok(as_u64(found))) {
                self.findings.add(rules::HEADER_COUNTS, || {
                    let detail = format!(
                        "{name}: {}; snapshot 0 has {found}",
                        said.unwrap_or_default()
                    );
                    (FILE.of(header()), detail)
                });
            }
        }
        if let (Some(said), Some(stored)) = (properties.triple(names::BOX_UNITS), stored) {
            let found = [0, 1, 2].map(|axis: usize| {
                let edge =
                    |corner: [f32; 3]| f64::from(corner.get(axis).copied().unwrap_or_default());
                edge(stored.max) - edge(stored.min)
            });
            if said
                .iter()
                .zip(found)
                .any(|(said, found)| (said - found).abs() > said.abs().max(found.abs()) * 0.01)
            {
                self.findings.add(rules::HEADER_BOX, || {
                    let size = |[x, y, z]: [f64; 3]| format!("{x} x {y} x {z}");
                    let (said, found) = (size(said), size(found));
                    let detail = format!("{said}; the stored box of snapshot 0 has {found}");
                    (FILE.of(header()), detail)
                });
            }
        }
        if proxy
            .unit_length()
            .is_some_and(|unit| unit.evidence == UnitEvidence::BoxSizesScaleDiffers)
        {
            let scale = proxy.scale().unwrap_or_default();
            self.findings.add(rules::SCALE, || {
                (
                    FILE.of(header()),
                    format!("{scale}, which neither is nor inverts the ratio of the box sizes"),
                )
            });
        }
    }
}
