//! Snapshots that are decoded straight into vertex buffers.

use std::ops::Range;
use std::sync::Arc;

#[cfg(feature = "cache")]
use super::cache::SnapshotCache;
use super::mesh::{Mesh, MeshBuffer, SameTriangles, TopologyId};
use super::motion::{direction, interpolated, no_key, other_triangles};
use super::parts::Parts;
use super::proxy::Proxy;
use super::rules::FILE;
use super::snapshot::Snapshot;
use super::stream::Identify;
use super::time::{Key, Timing, Wrap};
use crate::decode::Scratch;
use crate::limits::{Meter, job};
use crate::mesh::{Gather, Semantic, VertexLayout, VertexRemap, stored};
use crate::num::as_usize;
use crate::report::Result;

/// Decodes snapshots straight into vertex buffers: positions, normals, texture coordinates and velocities in any layout.
///
/// A vertex is one combination of indices that a corner has, as in [`Snapshot::view`]. The vertices of a topology are found once, and
/// kept as a [`VertexRemap`]; after the first call, nothing is allocated. Memory that vertices are written to is never read, so that it
/// may be mapped memory of a GPU. Decoding runs on the calling thread. With [`with_cache`](Self::with_cache), snapshots are decoded into
/// the memory of a cache, which is allocated.
///
/// Keep one for each thread and each proxy: it holds the remap of one topology, and two decoded snapshots, or three after
/// [`write_many_at`](Self::write_many_at). Clones share the remap.
///
/// # Examples
///
/// ```
/// use meshmap::cgeo::{Proxy, VertexWriter, Wrap};
/// use meshmap::{Semantic, VertexFormat, VertexLayout};
///
/// let layout = VertexLayout::new()
///     .with(Semantic::Position, VertexFormat::FLOAT32X3)
///     .with_default(Semantic::Normal, VertexFormat::SNORM8X4, [0.0, 0.0, 1.0, 0.0])
///     .with_default(Semantic::TexCoord(0), VertexFormat::FLOAT32X2, [0.0; 4]);
/// let stride = layout.stride();
/// let mut writer = VertexWriter::new(layout)?;
///
/// let proxy = Proxy::open("tests/data/cgeo/valid/anim_a.cgeo")?;
/// let remap = writer.remap(&proxy.snapshot(0)?)?;
/// let index_buffer: &[u32] = remap.indices();
/// let mut vertex_buffer = vec![0; remap.vertex_count() * stride];
///
/// let timing = proxy.timing().unwrap();
/// let first = writer.write(&proxy.snapshot(0)?, &mut [&mut vertex_buffer])?;
/// let later = writer.write_at(&proxy, &timing, 0.07, Wrap::Loop, &mut [&mut vertex_buffer])?;
/// assert_eq!(first, later, "the index buffer stays");
/// # assert!(!index_buffer.is_empty());
/// # Ok::<(), meshmap::Error>(())
/// ```
pub struct VertexWriter {
    /// One for each vertex buffer.
    gathers: Vec<Gather>,
    /// The parts that the layouts need.
    parts: Parts,
    material: Option<u32>,
    #[cfg(feature = "cache")]
    cache: Option<SnapshotCache>,
    kept: Option<Kept>,
    frames: [Frame; 3],
    /// The keys of the outputs of a call, and the place of each output in it.
    keys: Vec<(Key, usize)>,
    scratch: Scratch,
}

/// The vertices of a topology.
#[derive(Clone)]
struct Kept {
    topology: TopologyId,
    /// The attributes of the remap.
    streams: Arc<[Semantic]>,
    remap: Arc<VertexRemap>,
}

/// A decoded snapshot.
#[derive(Default)]
struct Frame {
    snapshot: Option<FrameId>,
    mesh: MeshBuffer,
    /// The mesh in place of `mesh`, if it is in a cache.
    shared: Option<Arc<Mesh>>,
    /// The topology of its triangles, which have been seen.
    topology: Option<TopologyId>,
    /// The memory that decoding it was charged with, and the bytes that were read for it.
    charged: u64,
    read: Range<u64>,
}

/// Identifies a decoded snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FrameId {
    proxy: u64,
    offset: u64,
    sample: usize,
}

impl FrameId {
    fn of(snapshot: &Snapshot) -> Self {
        let stored = &snapshot.stored;
        Self {
            proxy: stored.file.id,
            offset: stored.extent.start,
            sample: stored.sample,
        }
    }
}

/// A time between two snapshots, or at one of them.
struct Moment {
    /// The indices of the frames.
    frames: [usize; 2],
    /// The share of the second frame.
    fraction: f32,
    /// The direction of the time, divided by the seconds from one to the other; `None` if no time passes.
    per_second: Option<f32>,
    /// `true` for a time, `false` for a snapshot as it is stored.
    is_time: bool,
}

/// A time in seconds, on a clock.
#[derive(Clone, Copy)]
struct Time<'a> {
    seconds: f64,
    timing: &'a Timing,
    wrap: Wrap,
}

/// The vertices at a time that have been written.
struct Written {
    topology: TopologyId,
    /// The frame of the first of the two snapshots.
    first: usize,
}

/// The name of the attribute that has velocities.
const VELOCITY: &str = "velocity";

impl VertexWriter {
    /// Makes a writer of vertices in a layout.
    ///
    /// The layout may have [`Position`](Semantic::Position), [`Normal`](Semantic::Normal), [`TexCoord`](Semantic::TexCoord) and, for
    /// [`write_at`](Self::write_at), velocities: `Semantic::Custom("velocity".into())`. All are converted as by
    /// [`MeshView::interleave_into`](crate::MeshView::interleave_into).
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if attributes of the layout overlap or are longer than its stride, and if
    /// a default does not fit its format.
    pub fn new(layout: VertexLayout) -> Result<Self> {
        let this = Self {
            gathers: Vec::new(),
            parts: Parts::POSITIONS,
            material: None,
            #[cfg(feature = "cache")]
            cache: None,
            kept: None,
            frames: Default::default(),
            keys: Vec::new(),
            scratch: Scratch::default(),
        };
        this.with_buffer(layout)
    }

    /// Adds a vertex buffer with another layout: for positions in one buffer and other attributes in another.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`new`](Self::new).
    pub fn with_buffer(mut self, layout: VertexLayout) -> Result<Self> {
        let gather = Gather::new(&layout)?;
        for semantic in gather.semantics() {
            let part = match semantic {
                Semantic::Normal => Parts::NORMALS,
                Semantic::TexCoord(_) => Parts::TEXCOORDS,
                // Velocities are differences of positions.
                _ => Parts::POSITIONS,
            };
            self.parts = self.parts | part;
        }
        self.gathers.push(gather);
        Ok(self)
    }

    /// Writes the triangles of one material, and the vertices of these. Where the file stores no materials, all are material 0.
    #[must_use]
    pub fn with_material(self, material: u32) -> Self {
        Self {
            material: Some(material),
            kept: None,
            ..self
        }
    }

    /// Takes snapshots from a cache, for several writers of one file, or to decode ahead: [`parts`](Self::parts) is what they need.
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn with_cache(self, cache: SnapshotCache) -> Self {
        Self {
            cache: Some(cache),
            ..self
        }
    }

    /// The parts of a snapshot that the layouts need.
    #[must_use]
    pub fn parts(&self) -> Parts {
        self.parts
    }

    /// The vertices of a snapshot: the index buffer, and the number of vertices. It is made unless it is the one of the last snapshot.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Snapshot::view`].
    pub fn remap(&mut self, snapshot: &Snapshot) -> Result<Arc<VertexRemap>> {
        self.scratch.set_cancel(job::cancel_flag());
        let topology = match self.cached(snapshot, self.parts)? {
            Some(mesh) => snapshot.seen(mesh.topology, &mut self.scratch)?,
            None => snapshot.topology(&mut self.scratch)?,
        };
        Ok(Arc::clone(&self.find(snapshot, topology)?.remap))
    }

    /// Writes all vertices of a snapshot, into one slice for each vertex buffer: the bytes that
    /// [`interleave_into`](crate::MeshView::interleave_into) of its [`view`](Snapshot::view) writes. Returns the topology that they
    /// belong to: if it is another one than before, so is [`remap`](Self::remap).
    ///
    /// Bytes of `out` after the vertices stay as they are; after an error, the vertices are undefined.
    ///
    /// # Errors
    ///
    /// Returns [`OutOfRange`](crate::ErrorKind::OutOfRange) if a slice is too short or missing, or a number does not fit the layout;
    /// [`Mismatch`](crate::ErrorKind::Mismatch) if the mesh lacks an attribute that has no default; and the errors of [`Snapshot::view`].
    pub fn write(&mut self, snapshot: &Snapshot, out: &mut [&mut [u8]]) -> Result<TopologyId> {
        let meter = snapshot.meter();
        let frame = self.bring(snapshot, [None; 2], &meter)?;
        let moment = Moment {
            frames: [frame; 2],
            fraction: 0.0,
            per_second: None,
            is_time: false,
        };
        self.fill(snapshot, &moment, out)
    }

    /// Writes all vertices at a time in seconds, by linear interpolation between snapshots: positions as
    /// [`Proxy::positions_at`] gives them, normals as [`Proxy::normals_at`].
    ///
    /// Velocities are this motion in units per second: from the snapshot at or before the time to the next one; at the last snapshot, from
    /// the one before it. They are negative on the way back of [`Wrap::PingPong`], and 0 before the first snapshot and after the last with
    /// [`Wrap::Clamp`], where nothing moves.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write`](Self::write) and of [`Proxy::positions_at`].
    pub fn write_at(
        &mut self,
        proxy: &Proxy,
        timing: &Timing,
        seconds: f64,
        wrap: Wrap,
        out: &mut [&mut [u8]],
    ) -> Result<TopologyId> {
        let key = self.needed_at(timing, seconds, wrap)?;
        let time = Time {
            seconds,
            timing,
            wrap,
        };
        let written = self.write_between(proxy, key, time, None, out)?;
        Ok(written.topology)
    }

    /// The snapshots that a time needs, and the share of the second one.
    fn needed_at(&self, timing: &Timing, seconds: f64, wrap: Wrap) -> Result<Key> {
        let has_velocity = self
            .gathers
            .iter()
            .flat_map(Gather::semantics)
            .any(is_velocity);
        let key = if has_velocity {
            timing.index_at(seconds, wrap)
        } else {
            timing.needed_at(seconds, wrap)
        };
        let mut key = key.ok_or_else(|| no_key(seconds))?;
        if has_velocity && key.from == key.to && key.from > 0 {
            // At the last snapshot, velocities are from the one before it.
            key.from = key.from.saturating_sub(1);
            key.fraction = 1.0;
        }
        Ok(key)
    }

    /// Writes all vertices at a time between two snapshots. The frame `kept` stays as it is.
    fn write_between(
        &mut self,
        proxy: &Proxy,
        key: Key,
        time: Time<'_>,
        kept: Option<usize>,
        out: &mut [&mut [u8]],
    ) -> Result<Written> {
        let before = proxy.snapshot(key.from)?;
        let after = proxy.snapshot(key.to)?;
        let meter = before.meter();
        let first = self.bring(&before, [kept, None], &meter)?;
        let second = if key.from == key.to {
            first
        } else {
            self.bring(&after, [kept, Some(first)], &meter)?
        };
        self.find(&before, self.topology(first, &before))?;
        let topology = self.topology(second, &after);
        if self
            .kept
            .as_ref()
            .is_none_or(|kept| kept.topology != topology)
        {
            return Err(other_triangles(&after));
        }
        let Time {
            seconds,
            timing,
            wrap,
        } = time;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "seconds, as far as an f32 goes"
        )]
        let per_second = if key.from != key.to && timing.moves() {
            Some((timing.direction(seconds, wrap) / timing.step()) as f32)
        } else {
            None
        };
        let moment = Moment {
            frames: [first, second],
            fraction: key.fraction,
            per_second,
            is_time: true,
        };
        let topology = self.fill(&before, &moment, out)?;
        Ok(Written { topology, first })
    }

    /// Writes all vertices at several times, as [`write_at`](Self::write_at) does: each output has a time in seconds, and one slice for
    /// each vertex buffer.
    ///
    /// The outputs may have any order, such as the order of many instances: each snapshot that the times lie between is decoded once,
    /// or requested from the cache once. Returns the topology, which all of them have.
    ///
    /// # Examples
    ///
    /// ```
    /// # use meshmap::cgeo::{Proxy, VertexWriter, Wrap};
    /// # use meshmap::{Semantic, VertexFormat, VertexLayout};
    /// let proxy = Proxy::open("tests/data/cgeo/valid/anim_a.cgeo")?;
    /// let layout = VertexLayout::new().with(Semantic::Position, VertexFormat::FLOAT32X3);
    /// let mut writer = VertexWriter::new(layout)?;
    /// let length = writer.remap(&proxy.snapshot(0)?)?.vertex_count() * 12;
    /// let (mut tree, mut bush) = (vec![0; length], vec![0; length]);
    ///
    /// let timing = proxy.timing().unwrap();
    /// let mut outputs = [(0.07, &mut [&mut tree[..]][..]), (0.05, &mut [&mut bush[..]][..])];
    /// writer.write_many_at(&proxy, &timing, Wrap::Loop, &mut outputs)?;
    /// # let mut single = vec![0; length];
    /// # writer.write_at(&proxy, &timing, 0.07, Wrap::Loop, &mut [&mut single])?;
    /// # assert!(single == tree && single != bush);
    /// # Ok::<(), meshmap::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write_at`](Self::write_at), and [`OutOfRange`](crate::ErrorKind::OutOfRange) without outputs. After an
    /// error, all outputs are undefined.
    pub fn write_many_at(
        &mut self,
        proxy: &Proxy,
        timing: &Timing,
        wrap: Wrap,
        outputs: &mut [(f64, &mut [&mut [u8]])],
    ) -> Result<TopologyId> {
        self.keys.clear();
        for (place, (seconds, _)) in outputs.iter().enumerate() {
            let key = self.needed_at(timing, *seconds, wrap)?;
            self.keys.push((key, place));
        }
        self.keys.sort_unstable_by_key(|(key, _)| key.rank());
        let keys = std::mem::take(&mut self.keys);
        let done = self.write_in_order(proxy, timing, wrap, outputs, &keys);
        self.keys = keys;
        done
    }

    /// Writes outputs in an order in which neighbours need the same snapshots.
    fn write_in_order(
        &mut self,
        proxy: &Proxy,
        timing: &Timing,
        wrap: Wrap,
        outputs: &mut [(f64, &mut [&mut [u8]])],
        keys: &[(Key, usize)],
    ) -> Result<TopologyId> {
        // The frame of the last snapshot of a loop, which is needed first and last.
        let mut seam = None;
        let mut topology = None;
        for (key, place) in keys {
            let Some((seconds, out)) = outputs.get_mut(*place) else {
                continue;
            };
            let time = Time {
                seconds: *seconds,
                timing,
                wrap,
            };
            let frames = self.write_between(proxy, *key, time, seam, out)?;
            topology = Some(frames.topology);
            if key.is_over_the_seam() {
                seam = Some(frames.first);
            }
        }
        topology.ok_or_else(|| {
            let error = FILE.out_of_range("outputs");
            error.expected("at least 1 output").found("none")
        })
    }

    /// Decodes a snapshot, unless it is there, into a frame that is not one of `kept`. Returns the index of its frame.
    fn bring(
        &mut self,
        snapshot: &Snapshot,
        kept: [Option<usize>; 2],
        meter: &Meter,
    ) -> Result<usize> {
        let id = FrameId::of(snapshot);
        for (index, frame) in self.frames.iter().enumerate() {
            if frame.snapshot == Some(id) {
                // No verdict depends on earlier calls.
                meter.count_read(&frame.read);
                let charge = meter.take(frame.charged, "mesh of a snapshot");
                charge
                    .map_err(|error| snapshot.place().locate(error))?
                    .keep();
                return Ok(index);
            }
        }
        let index = (0..self.frames.len())
            .find(|index| !kept.contains(&Some(*index)))
            .unwrap_or(0);
        let shared = self.cached(snapshot, self.parts)?;
        let Some(frame) = self.frames.get_mut(index) else {
            return Ok(index);
        };
        frame.snapshot = None;
        frame.shared = None;
        self.scratch.set_cancel(job::cancel_flag());
        let held_before = meter.held();
        let read_before = meter.read();
        match shared {
            None => {
                let scratch = &mut self.scratch;
                snapshot.mesh_into_within(
                    self.parts,
                    meter,
                    &mut frame.mesh,
                    scratch,
                    Identify::Always,
                )?;
                frame.topology = frame.mesh.topology;
            }
            Some(mesh) => {
                meter.count_read(&snapshot.stored.extent);
                frame.topology = Some(snapshot.seen(mesh.topology, &mut self.scratch)?);
                if mesh.positions.as_native().is_some() {
                    frame.shared = Some(mesh);
                } else {
                    // Machines of the other byte order need a copy.
                    mesh.copy_into(self.parts, meter.read(), meter, &mut frame.mesh)?;
                }
            }
        }
        frame.snapshot = Some(id);
        frame.charged = meter.held().saturating_sub(held_before);
        let end = snapshot.stored.extent.end;
        let read = meter.read().saturating_sub(read_before);
        frame.read = end.saturating_sub(read)..end;
        Ok(index)
    }

    /// The snapshot from the cache, or `None` without a cache.
    fn cached(&self, snapshot: &Snapshot, parts: Parts) -> Result<Option<Arc<Mesh>>> {
        #[cfg(feature = "cache")]
        if let Some(cache) = &self.cache {
            return cache.snapshot(snapshot, parts).map(Some);
        }
        #[cfg(not(feature = "cache"))]
        let _ = (snapshot, parts);
        Ok(None)
    }

    /// The topology of a frame, which has this snapshot.
    fn topology(&self, frame: usize, snapshot: &Snapshot) -> TopologyId {
        match self.frames.get(frame) {
            Some(Frame {
                topology: Some(topology),
                ..
            }) => *topology,
            _ => snapshot.stored.file.topology(SameTriangles::First),
        }
    }

    /// The mesh of a snapshot with all parts.
    fn whole(&self, snapshot: &Snapshot, meter: &Meter) -> Result<Arc<Mesh>> {
        match self.cached(snapshot, Parts::ALL)? {
            Some(mesh) => Ok(mesh),
            None => snapshot.mesh_within(Parts::ALL, meter).map(Arc::new),
        }
    }

    /// Finds the vertices of this topology, which is the one of the snapshot.
    fn find(&mut self, snapshot: &Snapshot, topology: TopologyId) -> Result<&Kept> {
        let kept = match self.kept.take() {
            Some(kept) if kept.topology == topology => kept,
            _ => {
                let meter = snapshot.meter();
                let mesh = self.whole(snapshot, &meter)?;
                Kept::new(snapshot, &mesh, topology, self.material, &meter)?
            }
        };
        Ok(self.kept.insert(kept))
    }

    fn fill(
        &mut self,
        snapshot: &Snapshot,
        moment: &Moment,
        out: &mut [&mut [u8]],
    ) -> Result<TopologyId> {
        let [first, second] = moment.frames;
        let topology = self
            .find(snapshot, self.topology(first, snapshot))?
            .topology;
        let Self {
            gathers,
            kept: Some(kept),
            frames,
            ..
        } = self
        else {
            return Ok(topology);
        };
        let (Some(first), Some(second)) = (frames.get(first), frames.get(second)) else {
            return Ok(topology);
        };
        let mut buffers = out.iter_mut();
        for gather in gathers {
            // A missing buffer is too short.
            let buffer: &mut [u8] = match buffers.next() {
                Some(buffer) => buffer,
                None => &mut [],
            };
            let written = gather.write(
                kept.remap.vertex_count(),
                buffer,
                |semantic, vertices, elements| {
                    let attribute = moment.attribute(kept, [first, second], semantic)?;
                    let Some(attribute) = attribute else {
                        return Ok(false);
                    };
                    attribute.add(vertices, elements);
                    Ok(true)
                },
            );
            written.map_err(|error| snapshot.place().locate(error))?;
        }
        Ok(topology)
    }
}

impl Kept {
    fn new(
        snapshot: &Snapshot,
        mesh: &Mesh,
        topology: TopologyId,
        material: Option<u32>,
        meter: &Meter,
    ) -> Result<Self> {
        let located = |error| snapshot.place().locate(error);
        let charge = meter.take(mesh.remap_memory(), "vertices of a mesh");
        charge.map_err(located)?.keep();
        let remap = match material {
            Some(material) => mesh.vertex_remap_of(material),
            None => mesh.vertex_remap(),
        };
        let semantics = mesh.streams().into_iter().map(|(semantic, _)| semantic);
        Ok(Self {
            topology,
            streams: semantics.collect(),
            remap: Arc::new(remap.map_err(located)?),
        })
    }
}

impl Frame {
    fn array(&self, semantic: &Semantic) -> Option<&[[f32; 3]]> {
        let Some(shared) = &self.shared else {
            return match semantic {
                Semantic::Position => Some(&self.mesh.positions),
                Semantic::Normal => Some(&self.mesh.normals),
                Semantic::TexCoord(set) => {
                    let channel = self.mesh.texcoords.get(as_usize(*set))?;
                    Some(channel)
                }
                _ => None,
            };
        };
        let array = match semantic {
            Semantic::Position => &shared.positions,
            Semantic::Normal => &shared.normals,
            Semantic::TexCoord(set) => shared.texcoords.get(as_usize(*set))?,
            _ => return None,
        };
        array.as_native()
    }
}

impl Moment {
    /// The values of an attribute at this time; `None` if there are none.
    fn attribute<'a>(
        &self,
        kept: &'a Kept,
        frames: [&'a Frame; 2],
        semantic: &Semantic,
    ) -> Result<Option<AttributeAt<'a>>> {
        let source = if is_velocity(semantic) {
            &Semantic::Position
        } else {
            semantic
        };
        let blend = if is_velocity(semantic) {
            let Some(per_second) = self.per_second else {
                return Ok(None);
            };
            Blend::Velocity { per_second }
        } else if *semantic == Semantic::Normal && self.is_time {
            Blend::Direction
        } else {
            Blend::Linear
        };
        let Some(stream) = kept.streams.iter().position(|other| other == source) else {
            return Ok(None);
        };
        let [first, second] = frames;
        let (Some(from), Some(to)) = (first.array(source), second.array(source)) else {
            return Ok(None);
        };
        let sources = kept.remap.checked_sources(stream, from.len())?;
        kept.remap.checked_sources(stream, to.len())?;
        let mut attribute = AttributeAt {
            sources,
            from,
            to,
            fraction: self.fraction,
            blend,
        };
        if self.fraction >= 1.0 && !is_velocity(semantic) {
            // At the second snapshot, exactly this one: `a + (b - a)` may differ from `b` in the last bit.
            attribute.from = to;
            attribute.fraction = 0.0;
        }
        Ok(Some(attribute))
    }
}

/// The values of an attribute between two frames.
struct AttributeAt<'a> {
    /// The element of each vertex.
    sources: &'a [u32],
    from: &'a [[f32; 3]],
    to: &'a [[f32; 3]],
    fraction: f32,
    blend: Blend,
}

/// The way in which the values of two frames become one.
#[derive(Clone, Copy)]
enum Blend {
    /// By linear interpolation.
    Linear,
    /// By linear interpolation, of length 1.
    Direction,
    /// The difference per second.
    Velocity { per_second: f32 },
}

impl AttributeAt<'_> {
    /// Adds the values of some vertices.
    fn add(&self, vertices: Range<usize>, out: &mut Vec<[f32; 3]>) {
        let sources = self.sources.get(vertices).unwrap_or_default();
        let from = |source: &u32| element(self.from, *source);
        let to = |source: &u32| element(self.to, *source);
        let between = |source: &u32| interpolated(from(source), to(source), self.fraction);
        let is_between = self.fraction > 0.0;
        // One loop for each blend, so that none has a branch for each vertex.
        match self.blend {
            Blend::Velocity { per_second } => out.extend(sources.iter().map(|source| {
                let [a, b, c] = from(source);
                let [d, e, f] = to(source);
                [d - a, e - b, f - c].map(|number| stored(number * per_second))
            })),
            Blend::Direction if is_between => out.extend(
                sources
                    .iter()
                    .map(|source| direction(between(source)).map(stored)),
            ),
            Blend::Direction => out.extend(
                sources
                    .iter()
                    .map(|source| direction(from(source)).map(stored)),
            ),
            Blend::Linear if is_between => {
                out.extend(sources.iter().map(|source| between(source).map(stored)));
            }
            Blend::Linear => out.extend(sources.iter().map(|source| from(source).map(stored))),
        }
    }
}

/// An element, which the remap has checked.
fn element(array: &[[f32; 3]], index: u32) -> [f32; 3] {
    array.get(as_usize(index)).copied().unwrap_or_default()
}

fn is_velocity(semantic: &Semantic) -> bool {
    matches!(semantic, Semantic::Custom(name) if name == VELOCITY)
}

impl Clone for VertexWriter {
    /// A writer that shares the vertices and the cache, and nothing else.
    fn clone(&self) -> Self {
        Self {
            gathers: self.gathers.clone(),
            #[cfg(feature = "cache")]
            cache: self.cache.clone(),
            kept: self.kept.clone(),
            frames: Default::default(),
            keys: Vec::new(),
            scratch: Scratch::default(),
            ..*self
        }
    }
}

impl std::fmt::Debug for VertexWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let vertices = self.kept.as_ref().map(|kept| kept.remap.vertex_count());
        f.debug_struct("VertexWriter")
            .field("parts", &self.parts)
            .field("vertices", &vertices)
            .finish_non_exhaustive()
    }
}
