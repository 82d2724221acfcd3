//! Positions between snapshots, and velocities.

use super::header::names;
use super::layout::snapshot_address;
use super::mesh::TopologyId;
use super::proxy::Proxy;
use super::rules::FILE;
use super::snapshot::Snapshot;
use super::time::{Key, Wrap};
use crate::decode::Scratch;
use crate::limits::Budget;
use crate::num::as_u64;
use crate::report::{ErrorKind, Result};

impl Proxy {
    /// The positions of every vertex at these times in seconds, by linear interpolation between snapshots.
    ///
    /// `out` has all vertices of the first time, then those of the next, and so on. See
    /// [`Timing::keys`](super::Timing::keys) for the keys of a shutter.
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
        let budget = Budget::new(&self.options().limits);
        for (number, time) in seconds.iter().enumerate() {
            let key = timing
                .index_at(*time, wrap)
                .ok_or_else(|| FILE.out_of_range("time").expected("a time, and snapshots").found(time))?;
            let held = budget.held();
            self.positions_of(&key, &mut topology, (&mut from, &mut to), &budget, scratch)?;
            if number == 0 {
                let all = as_u64(from.len()).saturating_mul(as_u64(seconds.len()));
                budget.resize(out, budget.read(), all, "positions at all times")?;
                out.clear();
            } else {
                budget.give_back_to(held);
            }
            out.extend_from_slice(&from);
        }
        Ok(())
    }

    /// The positions at one key, in `from`.
    fn positions_of(
        &self,
        key: &Key,
        topology: &mut Option<TopologyId>,
        (from, to): (&mut Vec<[f32; 3]>, &mut Vec<[f32; 3]>),
        budget: &Budget,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let first = self.snapshot(key.from)?;
        self.same_topology(&first, topology, scratch)?;
        first.positions_within(budget, from, scratch)?;
        if key.fraction > 0.0 && key.to != key.from {
            let second = self.snapshot(key.to)?;
            self.same_topology(&second, topology, scratch)?;
            second.positions_within(budget, to, scratch)?;
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
        let found = snapshot.topology_reusing(scratch)?;
        if *seen.get_or_insert(found) == found {
            return Ok(());
        }
        let error = FILE.error(ErrorKind::Mismatch, "triangles of snapshots");
        let error = error.of(snapshot.address());
        Err(error.expected("those of the snapshot before").found("others; vertices cannot be matched"))
    }

    /// Per-vertex velocity at a snapshot by central differences, in units per second; one-sided at the ends.
    ///
    /// # Errors
    ///
    /// Those of [`positions_at`](Self::positions_at), and [`Unsupported`](ErrorKind::Unsupported) where no time
    /// passes between snapshots.
    pub fn velocities(&self, index: usize, out: &mut Vec<[f32; 3]>, scratch: &mut Scratch) -> Result<()> {
        let last = self.snapshot(index).map(|_| self.len().saturating_sub(1))?;
        let (before, after) = (index.saturating_sub(1), index.saturating_add(1).min(last));
        let timing = self.timing().filter(|timing| timing.step != 0);
        let Some(timing) = timing.filter(|_| before < after) else {
            let error =
                FILE.error(ErrorKind::Unsupported, "time between snapshots").of(snapshot_address(index));
            return Err(error.expected("snapshots with time between them").found("none"));
        };
        #[expect(clippy::cast_possible_truncation, reason = "seconds, as far as an f32 goes")]
        let per_second = (1.0 / (timing.time_of(after) - timing.time_of(before))) as f32;
        let (mut topology, mut earlier) = (None, Vec::new());
        let budget = Budget::new(&self.options().limits);
        for (index, positions) in [(before, &mut earlier), (after, &mut *out)] {
            let snapshot = self.snapshot(index)?;
            self.same_topology(&snapshot, &mut topology, scratch)?;
            snapshot.positions_within(&budget, positions, scratch)?;
        }
        for (later, earlier) in out.as_flattened_mut().iter_mut().zip(earlier.as_flattened()) {
            *later = (*later - earlier) * per_second;
        }
        Ok(())
    }
}
