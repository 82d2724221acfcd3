//! Positions between snapshots, and velocities.

use std::borrow::Cow;

use super::layout::snapshot_address;
use super::mesh::TopologyId;
use super::parts::MeshArray;
use super::proxy::Proxy;
use super::rules::FILE;
use super::snapshot::Snapshot;
use super::time::{Timing, Wrap};
use crate::decode::Scratch;
use crate::limits::{Meter, resize_vec};
use crate::num::as_u64;
use crate::report::{Error, ErrorKind, Result};

impl Proxy {
    /// The positions of every vertex at these times in seconds, by linear interpolation between snapshots.
    ///
    /// `out` has all vertices of the first time, then all vertices of the next, and so on. `timing` is the timing of the file
    /// ([`timing`](Self::timing)) or another. See [`Timing::keys`] for the keys of a shutter.
    ///
    /// The times may have any order, such as the times of many instances: each snapshot that they lie between is decoded once, and
    /// at most three are in memory at the same time. [`SnapshotCache::positions_at`](super::SnapshotCache::positions_at) caches what
    /// it decodes.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](ErrorKind::OutOfRange) for a time that is not a number, or a timing of more snapshots than there are;
    /// [`Mismatch`](ErrorKind::Mismatch) if the snapshots have different triangles, and the errors of decoding.
    pub fn positions_at(
        &self,
        timing: &Timing,
        seconds: &[f64],
        wrap: Wrap,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let meter = Meter::of_call(&self.options().limits);
        let times = Times {
            timing,
            seconds,
            wrap,
        };
        let mut frames = Decoded {
            meter: &meter,
            scratch,
            part: MeshArray::Positions,
        };
        positions_at(self, &mut frames, &meter, times, out)
    }

    /// The normals at these times in seconds, like [`positions_at`](Self::positions_at): interpolated between snapshots, of length 1.
    ///
    /// Two normals that cancel each other give 0.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`positions_at`](Self::positions_at).
    pub fn normals_at(
        &self,
        timing: &Timing,
        seconds: &[f64],
        wrap: Wrap,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let meter = Meter::of_call(&self.options().limits);
        let times = Times {
            timing,
            seconds,
            wrap,
        };
        let mut frames = Decoded {
            meter: &meter,
            scratch,
            part: MeshArray::Normals,
        };
        normals_at(self, &mut frames, &meter, times, out)
    }

    /// Per-vertex velocity at a snapshot by central differences, in units per second; one-sided at the ends, whatever
    /// follows them when the animation is looped. [`VertexWriter::write_at`](super::VertexWriter::write_at) has velocities at any time, with
    /// a [`Wrap`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`positions_at`](Self::positions_at), and [`Unsupported`](ErrorKind::Unsupported) if no time passes
    /// between snapshots.
    pub fn velocities(
        &self,
        timing: &Timing,
        index: usize,
        out: &mut Vec<[f32; 3]>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let meter = Meter::of_call(&self.options().limits);
        let mut frames = Decoded {
            meter: &meter,
            scratch,
            part: MeshArray::Positions,
        };
        velocities(self, &mut frames, &meter, timing, index, out)
    }
}

/// Times in seconds, and the snapshots that they lie between.
#[derive(Clone, Copy)]
pub(super) struct Times<'a> {
    pub(super) timing: &'a Timing,
    pub(super) seconds: &'a [f64],
    pub(super) wrap: Wrap,
}

/// A provider of the positions or the normals of snapshots for motion.
pub(super) trait Frames {
    type Frame;

    /// Returns the array of a snapshot, which may reuse the memory of `old`, and the topology that it belongs to.
    fn frame(
        &mut self,
        snapshot: &Snapshot,
        old: Option<Self::Frame>,
    ) -> Result<(Self::Frame, TopologyId)>;

    fn array(frame: &Self::Frame) -> Cow<'_, [[f32; 3]]>;

    /// Takes back the memory of a frame that is needed no more.
    fn keep(&mut self, _: Self::Frame) {}

    /// Lends memory for the order of the times, until [`keep_order`](Self::keep_order).
    fn take_order(&mut self) -> Vec<usize>;

    fn keep_order(&mut self, order: Vec<usize>);
}

/// Positions or normals that are decoded for this call.
struct Decoded<'a> {
    meter: &'a Meter<'a>,
    scratch: &'a mut Scratch,
    part: MeshArray,
}

/// An array of a snapshot, and what it is charged to.
struct Charged<'a> {
    array: Vec<[f32; 3]>,
    meter: Meter<'a>,
}

impl<'a> Frames for Decoded<'a> {
    type Frame = Charged<'a>;

    fn frame(
        &mut self,
        snapshot: &Snapshot,
        old: Option<Self::Frame>,
    ) -> Result<(Self::Frame, TopologyId)> {
        let mut array = match old {
            Some(old) => old.array,
            None => self.spare_memory(),
        };
        let topology = snapshot.topology(self.scratch)?;
        let meter = self.meter.part();
        snapshot.array_into(self.part, &meter, (&mut array).into(), self.scratch)?;
        Ok((Charged { array, meter }, topology))
    }

    fn array(frame: &Self::Frame) -> Cow<'_, [[f32; 3]]> {
        Cow::Borrowed(&frame.array)
    }

    fn keep(&mut self, frame: Self::Frame) {
        drop(frame.meter);
        for spare in &mut self.scratch.frames {
            if spare.capacity() == 0 {
                *spare = frame.array;
                return;
            }
        }
    }

    fn take_order(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.scratch.order)
    }

    fn keep_order(&mut self, order: Vec<usize>) {
        self.scratch.order = order;
    }
}

impl Decoded<'_> {
    /// Memory of an earlier call, if there is some.
    fn spare_memory(&mut self) -> Vec<[f32; 3]> {
        for spare in &mut self.scratch.frames {
            if spare.capacity() > 0 {
                return std::mem::take(spare);
            }
        }
        Vec::new()
    }
}

/// The two snapshots that were used last, the last one in `newer`.
struct Pair<F> {
    newer: Option<Used<F>>,
    older: Option<Used<F>>,
    /// The last snapshot of a loop, which was used with the first one, and is needed again at the end.
    set_aside: Option<Used<F>>,
    /// `true` if `older` is the last snapshot of a loop, and `newer` the first one.
    is_over_the_seam: bool,
    topology: Option<TopologyId>,
}

struct Used<F> {
    /// Entries of the table that name the same offset are the same snapshot.
    offset: u64,
    frame: F,
}

/// Returns `true` if this is the snapshot that was used.
fn is_of<F>(used: Option<&Used<F>>, snapshot: &Snapshot) -> bool {
    match used {
        Some(used) => used.offset == snapshot.stored.extent.start,
        None => false,
    }
}

impl<F> Pair<F> {
    fn new() -> Self {
        Self {
            newer: None,
            older: None,
            set_aside: None,
            is_over_the_seam: false,
            topology: None,
        }
    }

    /// Makes this snapshot the newer one.
    fn bring<S: Frames<Frame = F>>(&mut self, frames: &mut S, snapshot: &Snapshot) -> Result<()> {
        if is_of(self.newer.as_ref(), snapshot) {
            return Ok(());
        }
        if is_of(self.older.as_ref(), snapshot) {
            std::mem::swap(&mut self.newer, &mut self.older);
            return Ok(());
        }
        if is_of(self.set_aside.as_ref(), snapshot) {
            if let Some(older) = self.older.take() {
                frames.keep(older.frame);
            }
            self.older = self.newer.take();
            self.newer = self.set_aside.take();
            return Ok(());
        }
        let old = self.older.take().map(|used| used.frame);
        let (frame, topology) = frames.frame(snapshot, old)?;
        if *self.topology.get_or_insert(topology) != topology {
            return Err(other_triangles(snapshot));
        }
        self.older = self.newer.replace(Used {
            offset: snapshot.stored.extent.start,
            frame,
        });
        Ok(())
    }

    /// Makes `to` the newer snapshot and `from` the older one, unless they are the same.
    fn bring_both<S: Frames<Frame = F>>(
        &mut self,
        frames: &mut S,
        from: &Snapshot,
        to: &Snapshot,
    ) -> Result<()> {
        if is_of(self.older.as_ref(), to) {
            // It must not be replaced by the other.
            std::mem::swap(&mut self.newer, &mut self.older);
        }
        self.bring(frames, from)?;
        self.bring(frames, to)
    }

    /// Keeps the last snapshot of a loop until it is needed again.
    fn set_seam_aside(&mut self) {
        if self.is_over_the_seam {
            self.set_aside = self.older.take();
            self.is_over_the_seam = false;
        }
    }

    /// Gives the memory of all back.
    fn end<S: Frames<Frame = F>>(self, frames: &mut S) {
        for used in [self.newer, self.older, self.set_aside]
            .into_iter()
            .flatten()
        {
            frames.keep(used.frame);
        }
    }
}

/// The error of a snapshot with other triangles than the one before it.
pub(super) fn other_triangles(snapshot: &Snapshot) -> Error {
    let error = FILE
        .error(ErrorKind::Mismatch, "triangles of snapshots")
        .of(snapshot.address());
    error
        .expected("those of the snapshot before")
        .found("others; vertices cannot be matched")
}

/// The error of a time without snapshots around it.
pub(super) fn no_key(seconds: f64) -> Error {
    FILE.out_of_range("time")
        .expected("a time, and snapshots")
        .found(seconds)
}

/// A vector of length 1 in the direction of another one; 0 if it has no direction.
pub(super) fn direction([x, y, z]: [f32; 3]) -> [f32; 3] {
    let length = (x * x + y * y + z * z).sqrt();
    if length > 0.0 && length.is_finite() {
        [x / length, y / length, z / length]
    } else {
        [0.0; 3]
    }
}

/// The normals at these times, by frames that come from anywhere.
pub(super) fn normals_at<S: Frames>(
    proxy: &Proxy,
    frames: &mut S,
    meter: &Meter,
    times: Times<'_>,
    out: &mut Vec<[f32; 3]>,
) -> Result<()> {
    positions_at(proxy, frames, meter, times, out)?;
    for normal in out {
        *normal = direction(*normal);
    }
    Ok(())
}

/// The positions at these times, by frames that come from anywhere.
pub(super) fn positions_at<S: Frames>(
    proxy: &Proxy,
    frames: &mut S,
    meter: &Meter,
    times: Times<'_>,
    out: &mut Vec<[f32; 3]>,
) -> Result<()> {
    let mut order = frames.take_order();
    let done = positions_in_order(proxy, frames, meter, times, &mut order, out);
    frames.keep_order(order);
    done
}

/// Like [`positions_at`]; `order` is working memory.
fn positions_in_order<S: Frames>(
    proxy: &Proxy,
    frames: &mut S,
    meter: &Meter,
    times: Times<'_>,
    order: &mut Vec<usize>,
    out: &mut Vec<[f32; 3]>,
) -> Result<()> {
    let Times {
        timing,
        seconds,
        wrap,
    } = times;
    for time in seconds {
        timing.index_at(*time, wrap).ok_or_else(|| no_key(*time))?;
    }
    // All times have keys.
    let key_of = |place: &usize| {
        let time = *seconds.get(*place)?;
        timing.needed_at(time, wrap)
    };
    order.clear();
    order.extend(0..seconds.len());
    order.sort_unstable_by_key(|place| key_of(place).map(|key| key.rank()));

    if seconds.is_empty() {
        out.clear();
    }
    let mut pair = Pair::new();
    let mut vertices = 0;
    for place in &*order {
        let Some(key) = key_of(place) else { continue };
        if !key.is_over_the_seam() {
            pair.set_seam_aside();
        }
        let from = proxy.snapshot(key.from)?;
        let to = proxy.snapshot(key.to)?;
        pair.bring_both(frames, &from, &to)?;
        pair.is_over_the_seam = key.is_over_the_seam();

        let Some(newer) = &pair.newer else { continue };
        let newer = S::array(&newer.frame);
        if vertices == 0 {
            vertices = newer.len();
            let all = as_u64(vertices).saturating_mul(as_u64(seconds.len()));
            resize_vec(meter, out, meter.read(), all, "positions at all times")?;
        }
        let start = place.saturating_mul(vertices);
        let end = start.saturating_add(vertices);
        let at_time = out.get_mut(start..end).unwrap_or_default();
        let is_one = from.stored.extent.start == to.stored.extent.start;
        match &pair.older {
            Some(older) if !is_one => {
                let older = S::array(&older.frame);
                let both = older.as_flattened().iter().zip(newer.as_flattened());
                for (out, (from, to)) in at_time.as_flattened_mut().iter_mut().zip(both) {
                    *out = between(*from, *to, key.fraction);
                }
            }
            _ => {
                for (out, position) in at_time.iter_mut().zip(newer.iter()) {
                    *out = *position;
                }
            }
        }
    }
    pair.end(frames);
    Ok(())
}

/// The point at this fraction of the way from one point to another.
pub(super) fn interpolated(from: [f32; 3], to: [f32; 3], fraction: f32) -> [f32; 3] {
    let [a, b, c] = from;
    let [d, e, f] = to;
    [
        between(a, d, fraction),
        between(b, e, fraction),
        between(c, f, fraction),
    ]
}

/// The number at this fraction of the way from one number to another.
fn between(from: f32, to: f32, fraction: f32) -> f32 {
    from + (to - from) * fraction
}

/// The velocities at a snapshot by central differences, by frames that come from anywhere.
pub(super) fn velocities<S: Frames>(
    proxy: &Proxy,
    frames: &mut S,
    meter: &Meter,
    timing: &Timing,
    index: usize,
    out: &mut Vec<[f32; 3]>,
) -> Result<()> {
    // An index that the file does not have is an error.
    proxy.snapshot(index)?;
    let last = proxy.snapshot_count().saturating_sub(1);
    let before = index.saturating_sub(1);
    let after = index.saturating_add(1).min(last);
    let seconds = timing.time_of(after) - timing.time_of(before);
    if before == after || seconds == 0.0 {
        let error = FILE
            .error(ErrorKind::Unsupported, "time between snapshots")
            .of(snapshot_address(index));
        return Err(error
            .expected("snapshots with time between them")
            .found("none"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "seconds, as far as an f32 goes"
    )]
    let per_second = (1.0 / seconds) as f32;
    let mut pair = Pair::new();
    let before = proxy.snapshot(before)?;
    let after = proxy.snapshot(after)?;
    pair.bring_both(frames, &before, &after)?;
    let Some(newer) = &pair.newer else {
        return Ok(());
    };
    let later = S::array(&newer.frame);
    let earlier = match &pair.older {
        Some(older) => S::array(&older.frame),
        // Both entries of the table name one snapshot.
        None => later.clone(),
    };
    resize_vec(meter, out, meter.read(), as_u64(later.len()), "velocities")?;
    let numbers = later.as_flattened().iter().zip(earlier.as_flattened());
    for (out, (later, earlier)) in out.as_flattened_mut().iter_mut().zip(numbers) {
        *out = (later - earlier) * per_second;
    }
    pair.end(frames);
    Ok(())
}
