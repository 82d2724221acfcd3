//! CGeo: one object through time.

use std::collections::HashSet;
use std::sync::Arc;

use meshmap::Scratch;
use meshmap::cgeo::{Parts, Proxy, Snapshot};

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

/// The name of the object; empty if it has none.
pub(crate) fn object_name(proxy: &Proxy) -> Arc<str> {
    let name = proxy.object_name();
    name.map_or_else(|| "".into(), |name| name.to_string_lossy().into())
}

/// The snapshots of a shape.
#[derive(Clone)]
pub(crate) struct Snapshots {
    proxy: Proxy,
    /// The name of the object, which all shapes of a file share; empty if it has none.
    name: Arc<str>,
    /// Their numbers in the file, ascending; never none.
    numbers: Vec<usize>,
}

impl Snapshots {
    /// `None` without a snapshot.
    pub(crate) fn new(proxy: &Proxy, name: &Arc<str>, numbers: Vec<usize>) -> Option<Self> {
        if numbers.is_empty() {
            return None;
        }
        Some(Self {
            proxy: proxy.clone(),
            name: Arc::clone(name),
            numbers,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// The number of snapshots in the file.
    pub(crate) fn stored_count(&self) -> usize {
        self.proxy.snapshot_count()
    }

    /// A snapshot by its place in the shape.
    pub(crate) fn at(&self, key: usize) -> Result<Snapshot> {
        let number = self.numbers.get(key);
        let count = self.numbers.len();
        let number = number.ok_or(Error::NoKey { key, count })?;
        Ok(self.proxy.snapshot(*number)?)
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
        for key in 0..self.numbers.len() {
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
        for (key, number) in self.numbers.iter().enumerate() {
            let Ok(snapshot) = self.at(key) else { continue };
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
            let address = || format!("snapshots[{}]", self.numbers.first().copied().unwrap_or(0));
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
        let step = self.proxy.timing()?.step();
        (step > 0.0).then_some(step)
    }
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
