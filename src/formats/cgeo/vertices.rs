//! Snapshots that are decoded straight into vertex buffers.

use std::ops::Range;
use std::sync::Arc;

#[cfg(feature = "cache")]
use super::cache::SnapshotCache;
use super::mesh::{Mesh, MeshBuffer, SameTriangles, TopologyId};
use super::motion::{direction, no_key, other_triangles};
use super::parts::Parts;
use super::proxy::Proxy;
use super::snapshot::Snapshot;
use super::stream::Identify;
use super::time::{Timing, Wrap};
use crate::bytes::Array;
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
/// Keep one for each thread and each proxy: it holds the remap of one topology, and two decoded snapshots. Clones share the remap.
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
    frames: [Frame; 2],
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
    /// The proxy, and the offset and the sample in it.
    of: Option<(u64, u64, usize)>,
    mesh: MeshBuffer,
    /// The mesh in place of `mesh`, if it is in a cache.
    shared: Option<Arc<Mesh>>,
    /// The topology of its triangles, which have been seen.
    topology: Option<TopologyId>,
    /// The memory that decoding it was charged with, and the bytes that were read for it.
    charged: u64,
    read: Range<u64>,
}

/// A moment between two snapshots.
struct Moment {
    /// The frames, and the share of the second one.
    frames: [usize; 2],
    fraction: f32,
    /// The direction of the time by the seconds from one to the other; `None` if no time passes.
    per_second: Option<f32>,
    /// `true` for a time, `false` for a snapshot as it is stored.
    is_time: bool,
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
        let part = |semantic: &Semantic| match semantic {
            Semantic::Normal => Parts::NORMALS,
            Semantic::TexCoord(_) => Parts::TEXCOORDS,
            _ => Parts::POSITIONS,
        };
        self.parts = gather
            .semantics()
            .map(part)
            .fold(self.parts, |parts, part| parts | part);
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
        let frame = self.bring(snapshot, None, &meter)?;
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
        let key = timing
            .index_at(seconds, wrap)
            .ok_or_else(|| no_key(seconds))?;
        let has_velocity = self
            .gathers
            .iter()
            .flat_map(Gather::semantics)
            .any(is_velocity);
        let (mut from, mut to, mut fraction) = (key.from, key.to, key.fraction);
        if has_velocity && from == to && from > 0 {
            (from, fraction) = (from.saturating_sub(1), 1.0);
        } else if fraction == 0.0 && !has_velocity {
            to = from;
        }
        let (before, after) = (proxy.snapshot(from)?, proxy.snapshot(to)?);
        let meter = before.meter();
        let first = self.bring(&before, None, &meter)?;
        let second = if from == to {
            first
        } else {
            self.bring(&after, Some(first), &meter)?
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
        #[expect(
            clippy::cast_possible_truncation,
            reason = "seconds, as far as an f32 goes"
        )]
        let per_second = (from != to && timing.moves())
            .then(|| (timing.direction(seconds, wrap) / timing.step()) as f32);
        let moment = Moment {
            frames: [first, second],
            fraction,
            per_second,
            is_time: true,
        };
        self.fill(&before, &moment, out)
    }

    /// Decodes a snapshot, unless it is there, in the place of another one than `kept`.
    fn bring(&mut self, snapshot: &Snapshot, kept: Option<usize>, meter: &Meter) -> Result<usize> {
        let of = Some((
            snapshot.stored.file.id,
            snapshot.stored.extent.start,
            snapshot.stored.sample,
        ));
        if let Some(there) = self.frames.iter().position(|frame| frame.of == of) {
            // No verdict depends on earlier calls.
            let frame = self.frames.get(there);
            frame.iter().for_each(|frame| meter.count_read(&frame.read));
            let bytes = frame.map_or(0, |frame| frame.charged);
            meter
                .take(bytes, "mesh of a snapshot")
                .map_err(|error| snapshot.place().locate(error))?
                .keep();
            return Ok(there);
        }
        let place = usize::from(kept == Some(0));
        let shared = self.cached(snapshot, self.parts)?;
        let Some(frame) = self.frames.get_mut(place) else {
            return Ok(place);
        };
        (frame.of, frame.shared) = (None, None);
        self.scratch.set_cancel(job::cancel_flag());
        let (held, read) = (meter.held(), meter.read());
        match shared {
            None => {
                let (mesh, scratch) = (&mut frame.mesh, &mut self.scratch);
                snapshot.mesh_into_within(self.parts, meter, mesh, scratch, Identify::Always)?;
                frame.topology = frame.mesh.topology;
            }
            Some(mesh) => {
                meter.count_read(&snapshot.stored.extent);
                frame.topology = Some(snapshot.seen(mesh.topology, &mut self.scratch)?);
                if mesh.positions.as_native().is_some() {
                    frame.shared = Some(mesh);
                } else {
                    mesh.copy_into(self.parts, meter.read(), meter, &mut frame.mesh)?;
                }
            }
        }
        (frame.of, frame.charged) = (of, meter.held().saturating_sub(held));
        let end = snapshot.stored.extent.end;
        frame.read = end.saturating_sub(meter.read().saturating_sub(read))..end;
        Ok(place)
    }

    /// The snapshot from the cache, or `None` without a cache.
    fn cached(&self, snapshot: &Snapshot, parts: Parts) -> Result<Option<Arc<Mesh>>> {
        #[cfg(feature = "cache")]
        return self
            .cache
            .as_ref()
            .map(|cache| cache.snapshot(snapshot, parts))
            .transpose();
        #[cfg(not(feature = "cache"))]
        {
            let _ = (snapshot, parts);
            Ok(None)
        }
    }

    /// The topology of a frame, which has this snapshot.
    fn topology(&self, frame: usize, snapshot: &Snapshot) -> TopologyId {
        let topology = self.frames.get(frame).and_then(|frame| frame.topology);
        topology.unwrap_or_else(|| snapshot.stored.file.topology(SameTriangles::First))
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
        let mut out = out.iter_mut();
        for gather in gathers {
            let out = out.next().map(|out| &mut **out).unwrap_or_default();
            let written = gather.write(
                kept.remap.vertex_count(),
                out,
                |semantic, vertices, elements| {
                    moment.add(kept, [first, second], (semantic, vertices), elements)
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
        meter
            .take(mesh.remap_memory(), "vertices of a mesh")
            .map_err(located)?
            .keep();
        let remap = match material {
            Some(material) => mesh.vertex_remap_of(material),
            None => mesh.vertex_remap(),
        };
        let remap = Arc::new(remap.map_err(located)?);
        let streams = mesh
            .streams()
            .into_iter()
            .map(|(semantic, _)| semantic)
            .collect();
        Ok(Self {
            topology,
            streams,
            remap,
        })
    }
}

impl Frame {
    fn array(&self, semantic: &Semantic) -> Option<&[[f32; 3]]> {
        if let Some(mesh) = &self.shared {
            return match semantic {
                Semantic::Position => Some(&mesh.positions),
                Semantic::Normal => Some(&mesh.normals),
                Semantic::TexCoord(set) => mesh.texcoords.get(as_usize(*set)),
                _ => None,
            }
            .and_then(Array::as_native);
        }
        match semantic {
            Semantic::Position => Some(&self.mesh.positions),
            Semantic::Normal => Some(&self.mesh.normals),
            Semantic::TexCoord(set) => self.mesh.texcoords.get(as_usize(*set)).map(Vec::as_slice),
            _ => None,
        }
    }
}

impl Moment {
    /// Adds an attribute of some vertices; returns `false` if there is none.
    fn add(
        &self,
        kept: &Kept,
        frames: [&Frame; 2],
        (semantic, vertices): (&Semantic, Range<usize>),
        out: &mut Vec<[f32; 3]>,
    ) -> Result<bool> {
        let is_velocity = is_velocity(semantic);
        let per_second = self.per_second.filter(|_| is_velocity);
        if is_velocity && per_second.is_none() {
            return Ok(false);
        }
        let source = if is_velocity {
            &Semantic::Position
        } else {
            semantic
        };
        let Some(stream) = kept.streams.iter().position(|other| other == source) else {
            return Ok(false);
        };
        let [Some(from), Some(to)] = frames.map(|frame| frame.array(source)) else {
            return Ok(false);
        };
        let sources = kept.remap.checked_sources(stream, from.len())?;
        kept.remap.checked_sources(stream, to.len())?;
        let sources = sources.get(vertices).unwrap_or_default();
        let at = |array: &[[f32; 3]], source: &u32| {
            array.get(as_usize(*source)).copied().unwrap_or_default()
        };
        // At the second snapshot, exactly this one.
        let (from, fraction) = if self.fraction < 1.0 || is_velocity {
            (from, self.fraction)
        } else {
            (to, 0.0)
        };
        let mix = |[a, b, c]: [f32; 3], [d, e, f]: [f32; 3]| {
            [
                a + (d - a) * fraction,
                b + (e - b) * fraction,
                c + (f - c) * fraction,
            ]
        };
        match per_second {
            Some(per_second) => out.extend(sources.iter().map(|source| {
                let ([a, b, c], [d, e, f]) = (at(from, source), at(to, source));
                [d - a, e - b, f - c].map(|number| stored(number * per_second))
            })),
            None if *semantic == Semantic::Normal && self.is_time => {
                out.extend(sources.iter().map(|source| {
                    let normal = at(from, source);
                    direction(if fraction > 0.0 {
                        mix(normal, at(to, source))
                    } else {
                        normal
                    })
                    .map(stored)
                }))
            }
            None if fraction > 0.0 => {
                out.extend(
                    sources
                        .iter()
                        .map(|source| mix(at(from, source), at(to, source)).map(stored)),
                );
            }
            None => out.extend(sources.iter().map(|source| at(from, source).map(stored))),
        }
        Ok(true)
    }
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
