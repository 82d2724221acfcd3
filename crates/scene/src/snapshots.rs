//! CGeo: one object through time.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use meshmap::cgeo::{Parts, Proxy, Snapshot};
use meshmap::{Meter, Scratch, Text};

use crate::error::{Error, Result};
use crate::fact::{FactKind, Facts, beginning_of_text};
use crate::unit::Unit;
use crate::vector::is_degenerate;

pub(crate) fn unit(proxy: &Proxy) -> Unit {
    match proxy.unit_length() {
        // Lengths of 0 or without end are mistakes.
        Some(unit) if unit.millimeters.is_normal() => Unit::Millimeters(unit.millimeters),
        _ => Unit::Unknown,
    }
}

/// The name of the object; empty if it has none. Its text is made when it is asked for: pictures of thousands of snapshots do without.
pub(crate) struct ObjectName {
    stored: Text,
    text: OnceLock<String>,
}

impl ObjectName {
    pub(crate) fn of(proxy: &Proxy) -> Self {
        Self {
            stored: proxy.object_name().unwrap_or_default(),
            text: OnceLock::new(),
        }
    }

    fn text(&self) -> &str {
        self.text
            .get_or_init(|| self.stored.to_string_lossy().into_owned())
    }
}

/// The snapshots of a shape.
#[derive(Clone)]
pub(crate) struct Snapshots {
    proxy: Proxy,
    /// All shapes of a file share it.
    name: Arc<ObjectName>,
    /// Ascending in time; never none.
    keys: Vec<Key>,
    /// The snapshot whose samples were read last, by its number: all of them share what has been read to find one.
    recent: Arc<Mutex<Option<(usize, Snapshot)>>>,
}

/// A snapshot, or one of its samples.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    /// The number of the snapshot in the file.
    pub(crate) number: usize,
    /// The number of the sample in the snapshot.
    sample: u32,
    /// The number of samples that the snapshot has as keys.
    samples: u32,
}

impl Key {
    fn of_snapshot(number: usize) -> Self {
        Self {
            number,
            sample: 0,
            samples: 1,
        }
    }

    /// The time, in steps from one snapshot to the next.
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are fewer snapshots than that"
    )]
    pub(crate) fn steps(self) -> f64 {
        self.number as f64 + f64::from(self.sample) / f64::from(self.samples)
    }
}

impl Snapshots {
    /// `None` without a snapshot.
    pub(crate) fn new(proxy: &Proxy, name: &Arc<ObjectName>, numbers: &[usize]) -> Option<Self> {
        if numbers.is_empty() {
            return None;
        }
        Some(Self {
            proxy: proxy.clone(),
            name: Arc::clone(name),
            keys: numbers.iter().copied().map(Key::of_snapshot).collect(),
            recent: Arc::default(),
        })
    }

    /// Makes a key of each sample: the samples of a snapshot divide the time to the next one into equal parts.
    pub(crate) fn add_samples(&mut self, meter: &Meter<'_>) -> Result<()> {
        /// The work of passing a section, in bytes that are decoded in the same time.
        const OF_SECTION: u64 = 64;
        let mut scratch = Scratch::default();
        let mut keys = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            let found = self.proxy.snapshot(key.number)?.samples(&mut scratch)?;
            let samples = u32::try_from(found).unwrap_or(u32::MAX).max(1);
            // Reading a sample passes all that are before it.
            let passed = u64::from(samples).saturating_mul(samples.into());
            meter.work(passed.saturating_mul(OF_SECTION), "samples of a snapshot")?;
            keys.extend((0..samples).map(|sample| Key {
                sample,
                samples,
                ..*key
            }));
        }
        self.keys = keys;
        Ok(())
    }

    pub(crate) fn name(&self) -> &str {
        self.name.text()
    }

    pub(crate) fn is_named(&self) -> bool {
        !self.name.stored.is_empty()
    }

    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The number of the first snapshot.
    fn first_number(&self) -> usize {
        self.keys.first().map_or(0, |key| key.number)
    }

    /// The number of snapshots in the file.
    pub(crate) fn stored_count(&self) -> usize {
        self.proxy.snapshot_count()
    }

    /// A snapshot, or a sample of one, by its place in the shape.
    pub(crate) fn at(&self, key: usize) -> Result<Snapshot> {
        let count = self.keys.len();
        let found = self.keys.get(key).ok_or(Error::NoKey { key, count })?;
        if found.samples == 1 || cfg!(meshmap_small) {
            return Ok(self.proxy.snapshot(found.number)?);
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = match &*recent {
            Some((number, snapshot)) if *number == found.number => snapshot,
            _ => {
                let snapshot = self.proxy.snapshot(found.number)?;
                &recent.insert((found.number, snapshot)).1
            }
        };
        Ok(snapshot.sample(found.sample as usize))
    }

    /// The first snapshot of the file, of which others may store the differences.
    pub(crate) fn base(&self) -> Result<Snapshot> {
        Ok(self.proxy.snapshot(0)?)
    }

    /// `true` if no snapshot has triangles that are drawn, and one has vertices. Only triangles have indices for anything but
    /// positions.
    pub(crate) fn are_points(&self, drops_degenerate: bool) -> Result<bool> {
        /// Meshes of nothing but degenerate triangles are small: others are not decoded to find out.
        const FEW: u32 = 1024;
        let mut degenerate = HashSet::new();
        let mut has_vertices = false;
        let mut scratch = Scratch::default();
        for key in 0..self.keys.len() {
            let snapshot = self.at(key)?;
            let counts = snapshot.counts(&mut scratch)?;
            if counts.triangles > 0 {
                if !drops_degenerate || counts.triangles > FEW {
                    return Ok(false);
                }
                // Thousands of snapshots may have the same triangles, which are decoded once.
                if degenerate.insert(snapshot.topology(&mut scratch)?) {
                    let triangles = snapshot.mesh(Parts::TRIANGLES)?.triangles;
                    if !triangles.positions().into_iter().all(is_degenerate) {
                        return Ok(false);
                    }
                }
            }
            has_vertices |= counts.vertices > 0;
        }
        Ok(has_vertices)
    }

    /// Counts what the snapshots have that somebody could miss.
    pub(crate) fn add_facts(&self, facts: &mut Facts) {
        let mut scratch = Scratch::default();
        for key in self.keys.iter().filter(|key| key.sample == 0) {
            let number = key.number;
            let Ok(snapshot) = self.proxy.snapshot(number) else {
                continue;
            };
            let address = || format!("snapshots[{number}]");
            facts.add(FactKind::Snapshots, address);
            if let Ok(samples) = snapshot.samples(&mut scratch)
                && samples > 1
            {
                facts.add(FactKind::Samples, address);
                facts.count(FactKind::Samples, samples - 2);
            }
            let Ok(counts) = snapshot.counts(&mut scratch) else {
                continue;
            };
            if counts.normals > 0 {
                facts.add(FactKind::Normals, || address() + ".normals");
            }
            let sets = counts.texcoord_sets as usize;
            if sets > 0 {
                facts.add(FactKind::TexCoords, || address() + ".map_channels[0]");
                facts.add(FactKind::ThirdTexCoords, || address() + ".map_channels[0]");
            }
            if sets > 1 {
                facts.add(FactKind::FurtherTexCoords, || {
                    address() + ".map_channels[1]"
                });
                facts.count(FactKind::FurtherTexCoords, sets - 2);
                facts.count(FactKind::ThirdTexCoords, sets - 1);
            }
        }
    }

    /// Counts what the triangles of the snapshots have that somebody could miss.
    pub(crate) fn add_facts_of_triangles(&self, facts: &mut Facts) {
        // All snapshots of a file have triangles of one form.
        let first = self.at(0).and_then(|first| Ok(first.triangles()?));
        if let Ok(triangles) = first
            && !triangles.is_empty()
        {
            let address = || format!("snapshots[{}]", self.first_number());
            if triangles.material_scalar().is_some() {
                facts.add(FactKind::MaterialIds, address);
            }
            if triangles.edge_visibility().is_some() {
                facts.add(FactKind::EdgeVisibility, address);
            }
        }
    }

    /// The seconds from one snapshot of the file to the next, if it stores them.
    pub(crate) fn stored_step(&self) -> Option<f64> {
        stored_step(&self.proxy)
    }

    /// The number of snapshots a second, if the file stores it.
    pub(crate) fn rate(&self) -> Option<f64> {
        rate_of_snapshots(&self.proxy)
    }
}

fn stored_step(proxy: &Proxy) -> Option<f64> {
    let step = proxy.timing()?.step();
    (step > 0.0).then_some(step)
}

/// The number of snapshots a second of a CGeo file, if it stores the time between them: the rate of its [`Shape`](crate::Shape::rate), for programs
/// that play snapshots without a scene.
#[must_use]
pub fn rate_of_snapshots(proxy: &Proxy) -> Option<f64> {
    Some(rate_of_microseconds(stored_step(proxy)? * 1e6))
}

/// The number of snapshots a second that are this many microseconds apart. Files have whole numbers of microseconds: of the usual rates, the
/// nearest whose step is rounded to the stored one, up or down.
fn rate_of_microseconds(step: f64) -> f64 {
    const SECOND: f64 = 1e6;
    /// The greatest rate that is taken for a whole number: beyond it, the steps of two rates are a few microseconds apart.
    const MOST: f64 = 240.0;
    /// Colour television has rates such as 29.97.
    const TELEVISION: f64 = 1000.0 / 1001.0;
    let exact = SECOND / step;
    let whole = exact.round();
    let of_television = (exact / TELEVISION).round() * TELEVISION;
    for rate in [whole, of_television] {
        let is_near = (SECOND / rate - step).abs() < 1.0;
        if is_near && (1.0..=MOST).contains(&rate.round()) {
            return rate;
        }
    }
    exact
}

/// Counts what the file has as a whole that somebody could miss. `drawn` is the number of snapshots that are drawn.
pub(crate) fn add_facts(proxy: &Proxy, drawn: usize, facts: &mut Facts) {
    /// The properties that a scene has, that follow from others, or that only readers need, without regard to case.
    const KNOWN: [&str; 13] = [
        "version",
        "original object name",
        "animation snapshot count",
        "time per animation snapshot [microseconds]",
        "animation time start",
        "compressed",
        "scale",
        "number of faces",
        "number of vertices",
        "number of normals",
        "number of mapping channels",
        "bounding box size (original units)",
        "bounding box size (millimeters)",
    ];
    let others = proxy.snapshot_count().saturating_sub(drawn);
    facts.count(FactKind::OtherSnapshots, others);
    /// Files without a start have the least number of microseconds.
    const UNSET: f64 = 1e9;
    let start = proxy.timing().map_or(0.0, |timing| timing.start());
    if start != 0.0 && start.abs() < UNSET {
        facts.add(FactKind::StartTime, || format!("{start} s"));
    }
    if let Unit::Millimeters(unit) = unit(proxy) {
        facts.add(FactKind::Unit, || format!("{unit} mm"));
    }
    for (name, value) in proxy.properties().iter() {
        let is_known = |known: &&str| name.as_bytes().eq_ignore_ascii_case(known.as_bytes());
        let is_empty = value.as_bytes().is_empty() || value.as_bytes() == b"[none]";
        if !is_empty && !KNOWN.iter().any(is_known) {
            facts.add(FactKind::Metadata, || beginning_of_text(&name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_whole_microseconds_have_usual_rates() {
        for (step, rate) in [
            (33_333.0, 30.0),
            (33_334.0, 30.0),
            (41_666.0, 24.0),
            (41_667.0, 24.0),
            (40_000.0, 25.0),
            (16_667.0, 60.0),
            (8_333.0, 120.0),
            (41_708.0, 24_000.0 / 1001.0),
            (33_367.0, 30_000.0 / 1001.0),
            (16_683.0, 60_000.0 / 1001.0),
            // No rate rounds to these.
            (80_000.0, 12.5),
            (33_400.0, 1e6 / 33_400.0),
            (3.0, 1e6 / 3.0),
            (7e6, 1.0 / 7.0),
        ] {
            assert_eq!(rate_of_microseconds(step), rate, "{step}");
        }
    }
}
