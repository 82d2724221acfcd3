//! CGeo: one object through time.

use std::sync::Arc;

use meshmap::Scratch;
use meshmap::cgeo::{Parts, Proxy, Snapshot};

use crate::error::{Error, Result};
use crate::remark::Remark;
use crate::unit::Unit;
use crate::vector::is_degenerate;

pub(crate) fn unit(proxy: &Proxy) -> Unit {
    proxy
        .unit_length()
        .map_or(Unit::Unknown, |unit| Unit::Millimeters(unit.millimeters))
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
    pub(crate) fn are_points(
        &self,
        drops_degenerate: bool,
        remarks: &mut Vec<Remark>,
    ) -> Result<bool> {
        /// Meshes of nothing but degenerate triangles are small: others are not decoded to find out.
        const FEW: u32 = 1024;
        let mut has_vertices = false;
        let mut has_others = false;
        let mut scratch = Scratch::default();
        for key in 0..self.numbers.len() {
            let snapshot = self.at(key)?;
            let counts = snapshot.counts(&mut scratch)?;
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
            remarks.push(Remark::UnreferencedStreams);
        }
        Ok(has_vertices)
    }

    /// The seconds from one snapshot of the file to the next, if it stores them.
    pub(crate) fn stored_step(&self) -> Option<f64> {
        let step = self.proxy.timing()?.step();
        (step > 0.0).then_some(step)
    }
}
