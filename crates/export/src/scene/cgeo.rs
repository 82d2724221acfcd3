//! CGeo: one object through time.

use meshmap::Scratch;
use meshmap::cgeo::{Parts, Proxy, Snapshot};

use super::Unit;
use crate::error::Result;
use crate::outcome::Report;
use crate::vector::is_degenerate;

pub(super) fn unit(proxy: &Proxy) -> Unit {
    proxy
        .unit_length()
        .map_or(Unit::Unknown, |unit| Unit::Millimeters(unit.millimeters))
}

/// The snapshots that are written.
pub(crate) struct Snapshots {
    proxy: Proxy,
    /// Their numbers in the file, ascending; never none.
    pub(crate) indices: Vec<usize>,
}

impl Snapshots {
    pub(super) fn new(proxy: &Proxy, indices: Vec<usize>) -> Self {
        Self {
            proxy: proxy.clone(),
            indices,
        }
    }

    /// The name of the object; empty if it has none.
    pub(crate) fn name(&self) -> String {
        self.proxy
            .object_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// `true` if no snapshot has triangles that are written, and one has vertices. Only triangles have indices for anything but
    /// positions.
    pub(super) fn are_points(
        &self,
        drops_degenerate: bool,
        report: &mut impl Report,
    ) -> Result<bool> {
        /// Meshes of nothing but degenerate triangles are small: others are not decoded to find out.
        const FEW: u32 = 1024;
        let (mut has_vertices, mut has_others) = (false, false);
        for index in &self.indices {
            let snapshot = self.at(*index)?;
            let counts = snapshot.counts(&mut Scratch::default())?;
            if counts.triangles > 0 {
                if !drops_degenerate || counts.triangles > FEW {
                    return Ok(false);
                }
                let triangles = snapshot.mesh(Parts::TRIANGLES)?.triangles;
                if !triangles.positions().into_iter().all(is_degenerate) {
                    return Ok(false);
                }
            }
            has_vertices |= counts.vertices > 0;
            has_others |= counts.normals > 0 || counts.texcoord_sets > 0;
        }
        if has_vertices && has_others {
            report
                .skips("normals and texture coordinates, which only triangles refer to".to_owned());
        }
        Ok(has_vertices)
    }

    /// The number of snapshots in the file.
    pub(crate) fn stored_count(&self) -> usize {
        self.proxy.snapshot_count()
    }

    /// A snapshot by its number in the file.
    pub(crate) fn at(&self, index: usize) -> Result<Snapshot> {
        Ok(self.proxy.snapshot(index)?)
    }

    /// The first one that is written, of which targets without time have all.
    pub(crate) fn first(&self) -> Result<Snapshot> {
        self.at(self.indices.first().copied().unwrap_or_default())
    }

    /// Reports that a target without time has only one.
    pub(crate) fn report_others(&self, report: &mut impl Report) {
        if self.stored_count() > 1 {
            report.skips("all snapshots but one".to_owned());
        }
    }

    /// The seconds from one snapshot of the file to the next, if it stores them.
    pub(crate) fn stored_step(&self) -> Option<f64> {
        self.proxy
            .timing()
            .map(|timing| timing.step())
            .filter(|step| *step > 0.0)
    }
}
