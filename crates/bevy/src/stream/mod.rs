//! Animations of CGeo proxies, played into a mesh.

mod frame;

use std::sync::Arc;

use bevy_asset::{AssetEvent, AssetId, Assets, Handle};
use bevy_camera::primitives::Aabb;
use bevy_ecs::prelude::*;
use bevy_mesh::{Mesh, Mesh3d, MeshVertexAttribute, VertexFormat};
use bevy_tasks::futures::check_ready;
use bevy_tasks::{AsyncComputeTaskPool, Task};
use bevy_time::Time;
use meshmap::Format;
use meshmap::VertexRemap;
use meshmap::cgeo::{Parts, SnapshotCache, Timing, Wrap};

use self::frame::{Clip, Frame, FrameWriter};
use crate::assets::MeshmapFile;
use crate::error::MeshmapError;
use crate::scene::aabb;

/// The position of each vertex one frame earlier, which [`StreamedProxy::motion`] writes: for materials that compute motion
/// vectors. Bevy's own prepass knows the motion of transforms, skins and morph targets only.
pub const ATTRIBUTE_PREVIOUS_POSITION: MeshVertexAttribute = MeshVertexAttribute::new(
    "Vertex_PreviousPosition",
    0x006d_6573_686d_6170,
    VertexFormat::Float32x3,
);

/// Plays the animation of a CGeo proxy: adds a `Mesh3d` to the entity, and writes each frame into its mesh.
///
/// Positions, normals and texture coordinates are interpolated between two snapshots; without stored normals, these are computed. Where
/// the triangles change from one snapshot to the next, the mesh changes at the snapshot. A file without triangles is shown as points. Positions are in the axes of the file, as in scenes: use [`MeshmapFile::root`] as the
/// transform.
///
/// The mesh has the triangles of all materials, or of [`material`](Self::material): several entities that stream one file show it
/// with several materials, and each snapshot is decoded once for all of them.
///
/// Frames are decoded in Bevy's task pools, straight into the memory of the mesh, and
/// snapshots up to four ahead of the time, as far as the cache has room for them. A frame that is not ready in time keeps the last one, and is counted in
/// [`StreamStats::missed`].
#[derive(Component, Clone, Debug)]
#[require(
    StreamStats,
    StreamState,
    bevy_transform::components::Transform,
    bevy_camera::visibility::Visibility
)]
pub struct StreamedProxy {
    /// The file.
    pub file: Handle<MeshmapFile>,
    /// Seconds after the first snapshot. Advances by itself; may be set at any time.
    pub time: f64,
    /// Seconds of the animation per second; 0 stops, negative values run backwards.
    pub speed: f64,
    /// The behaviour before the first snapshot and after the last.
    pub wrap: Wrap,
    /// The positions between two snapshots.
    pub interpolation: Interpolation,
    /// The treatment of the positions of the frame before.
    pub motion: MotionVectors,
    /// The ID of the material whose triangles are shown ([`MeshmapMaterial::id`](crate::MeshmapMaterial::id)); all triangles by default.
    pub material: Option<u32>,
}

impl StreamedProxy {
    /// Plays a file from its first snapshot, in a loop.
    #[must_use]
    pub fn new(file: Handle<MeshmapFile>) -> Self {
        Self {
            file,
            time: 0.0,
            speed: 1.0,
            wrap: Wrap::Loop,
            interpolation: Interpolation::default(),
            motion: MotionVectors::default(),
            material: None,
        }
    }
}

/// The positions between two snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interpolation {
    /// Interpolated linearly.
    #[default]
    Linear,
    /// The positions of the earlier snapshot.
    Step,
}

/// The treatment of the positions of the frame before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MotionVectors {
    /// They are not kept.
    #[default]
    Off,
    /// They are written into [`ATTRIBUTE_PREVIOUS_POSITION`].
    PreviousPositions,
}

/// Statistics of a [`StreamedProxy`].
#[derive(Component, Clone, Debug, Default)]
pub struct StreamStats {
    /// Frames that were written into the mesh.
    pub shown: u64,
    /// Frames that were not ready in time.
    pub missed: u64,
    /// Frames that could not be decoded.
    pub failed: u64,
    /// The error of the last of these.
    pub last_error: Option<String>,
}

/// The decoded snapshots of all streams, up to a number of bytes.
#[derive(Resource, Clone)]
pub struct StreamCache(pub Arc<SnapshotCache>);

/// The work of a [`StreamedProxy`].
#[derive(Component, Default)]
pub(crate) struct StreamState {
    file: Option<AssetId<MeshmapFile>>,
    clip: Option<Clip>,
    /// The vertices of the mesh.
    remap: Option<Arc<VertexRemap>>,
    writer: Option<FrameWriter>,
    /// The parts of snapshots that frames need, and the number of vertices; known after the first frame.
    parts: Option<Parts>,
    vertices: u64,
    /// The time of the frame in the mesh, and of the frame that is being decoded.
    shown: Option<f64>,
    asked: Option<f64>,
    frame: Option<Task<Written>>,
    /// Snapshots that are decoded ahead.
    ahead: Vec<(usize, Task<()>)>,
    /// The memory of the frame before, which the next frame uses again.
    spare: Frame,
    /// `true` if the previous positions differ from the positions.
    moved: bool,
}

/// The result of a task: the frame, and its writer.
type Written = (Frame, Option<FrameWriter>, Result<(), MeshmapError>);

/// The components of a stream. The mesh and its bounding box come with the first frame.
type Stream<'a> = (
    Entity,
    &'a mut StreamedProxy,
    &'a mut StreamState,
    &'a mut StreamStats,
    Option<&'a Mesh3d>,
    Option<&'a mut Aabb>,
);

/// Starts over with streams whose file was loaded again.
pub(crate) fn restart(
    mut events: MessageReader<AssetEvent<MeshmapFile>>,
    mut streams: Query<&mut StreamState>,
) {
    for event in events.read() {
        if let AssetEvent::Modified { id } = event {
            for mut state in &mut streams {
                if state.file == Some(*id) {
                    *state = StreamState::default();
                }
            }
        }
    }
}

/// Advances all streams: shows the frames that are ready, and asks for the next ones.
pub(crate) fn advance(
    mut commands: Commands,
    time: Res<Time>,
    cache: Res<StreamCache>,
    files: Res<Assets<MeshmapFile>>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut streams: Query<Stream>,
) {
    let count = streams.iter().len();
    for (entity, mut stream, mut state, mut stats, mesh, bounds) in &mut streams {
        let state = &mut *state;
        let is_other = |clip: &Clip| clip.material != stream.material;
        if state.file != Some(stream.file.id()) || state.clip.as_ref().is_none_or(is_other) {
            let file = stream.file.id();
            *state = StreamState {
                file: Some(file),
                clip: clip(&stream, &files),
                ..StreamState::default()
            };
        }
        let Some(clip) = state.clip.clone() else {
            continue;
        };
        let step = time.delta_secs_f64() * stream.speed;
        // The first frame shows the time with which the stream was made.
        if state.remap.is_some() {
            stream.time += step;
        }
        let keeps_previous = stream.motion == MotionVectors::PreviousPositions;
        let mesh = mesh
            .map(|mesh| mesh.0.id())
            .filter(|mesh| meshes.contains(*mesh));
        if let Some(mut frame) = receive(state, &mut stats) {
            match (bounds, frame.bounds.map(aabb)) {
                (Some(mut old), Some(new)) => *old = new,
                (None, Some(new)) => drop(commands.entity(entity).insert(new)),
                (_, None) => {}
            }
            if let Some(mut shown) = mesh.and_then(|mesh| meshes.get_mut(mesh)) {
                std::mem::swap(&mut *shown, &mut frame.mesh);
                if keeps_previous {
                    keep_previous(&mut shown, Some(&mut frame.mesh));
                }
                state.spare = frame;
            } else {
                if keeps_previous {
                    keep_previous(&mut frame.mesh, None);
                }
                commands
                    .entity(entity)
                    .insert(Mesh3d(meshes.add(frame.mesh)));
            }
            state.moved = keeps_previous;
        } else if let Some(mut shown) = mesh
            .filter(|_| state.moved)
            .and_then(|mesh| meshes.get_mut(mesh))
        {
            // Nothing moves in this frame.
            keep_previous(&mut shown, None);
            state.moved = false;
        }
        let Some(wanted) = seconds(&clip.timing, &stream, stream.time) else {
            continue;
        };
        if state.shown.is_some_and(|shown| shown != wanted) {
            stats.missed += 1;
        }
        if state.frame.is_some() {
            continue;
        }
        // The frame appears in the next run of this system.
        let Some(next) = seconds(&clip.timing, &stream, stream.time + step) else {
            continue;
        };
        if state.asked != Some(next) {
            state.asked = Some(next);
            state.frame = Some(decode(&cache, &clip, (next, stream.wrap), state));
        }
        prefetch(&cache, &clip, &stream, next, count, state);
    }
}

/// The animation of a stream; `None` before its file is loaded, and for files of other formats.
fn clip(stream: &StreamedProxy, files: &Assets<MeshmapFile>) -> Option<Clip> {
    let file = files.get(&stream.file)?;
    let proxy = file.proxy.clone()?;
    let usual = || {
        Timing::new(
            0.0,
            1.0 / f64::from(Format::USUAL_RATE),
            proxy.snapshot_count(),
        )
    };
    // Some files store a time of 0 from one snapshot to the next.
    let stored = proxy.timing().filter(|timing| timing.step() > 0.0);
    let timing = stored.unwrap_or_else(usual);
    Some(Clip {
        proxy,
        timing,
        material: stream.material,
        turns_triangles: file.turns_triangles,
    })
}

/// The time of a frame in the time of the file; `None` for times that are not finite.
fn seconds(timing: &Timing, stream: &StreamedProxy, time: f64) -> Option<f64> {
    let at = timing.time_of(0) + time;
    let key = timing.index_at(at, stream.wrap)?;
    match stream.interpolation {
        Interpolation::Step => Some(timing.time_of(key.from)),
        Interpolation::Linear => Some(at),
    }
}

/// A frame that is ready.
fn receive(state: &mut StreamState, stats: &mut StreamStats) -> Option<Frame> {
    let (mut frame, writer, result) = state.frame.as_mut().and_then(check_ready)?;
    state.frame = None;
    state.parts = writer.as_ref().map(FrameWriter::parts);
    state.writer = writer;
    // After an error, the next time is another frame, which may be intact.
    state.shown = state.asked;
    match result {
        Ok(()) => {
            // The frame is exchanged with the mesh, which has the other triangles.
            state.vertices = frame
                .remap
                .as_ref()
                .map_or(0, |remap| remap.vertex_count() as u64);
            std::mem::swap(&mut state.remap, &mut frame.remap);
            stats.shown += 1;
            Some(frame)
        }
        Err(error) => {
            stats.failed += 1;
            stats.last_error = Some(error.to_string());
            state.spare = frame;
            None
        }
    }
}

/// Writes the previous positions: of the mesh before if it has the same vertices, and otherwise of the mesh itself. The
/// mesh before gets memory for its next positions.
fn keep_previous(mesh: &mut Mesh, before: Option<&mut Mesh>) {
    let count = mesh.count_vertices();
    let mut old = None;
    if let Some(before) = before.filter(|before| before.count_vertices() == count) {
        old = before.remove_attribute(Mesh::ATTRIBUTE_POSITION);
        if let Some(memory) = before.remove_attribute(ATTRIBUTE_PREVIOUS_POSITION) {
            before.insert_attribute(Mesh::ATTRIBUTE_POSITION, memory);
        }
    }
    if let Some(old) = old.or_else(|| mesh.attribute(Mesh::ATTRIBUTE_POSITION).cloned()) {
        mesh.insert_attribute(ATTRIBUTE_PREVIOUS_POSITION, old);
    }
}

fn decode(
    cache: &StreamCache,
    clip: &Clip,
    at: (f64, Wrap),
    state: &mut StreamState,
) -> Task<Written> {
    let cache = cache.0.clone();
    let clip = clip.clone();
    let writer = state.writer.take();
    let mut frame = std::mem::take(&mut state.spare);
    AsyncComputeTaskPool::get().spawn(async move {
        let mut writer = match writer.map_or_else(|| FrameWriter::new(&clip, &cache), Ok) {
            Ok(writer) => writer,
            Err(error) => return (frame, None, Err(error)),
        };
        let result = writer.write(&clip, at, &mut frame);
        (frame, Some(writer), result)
    })
}

/// The most snapshots that a stream decodes ahead. On the web, all of them would be decoded within one frame of the app.
const AHEAD: u64 = if cfg!(target_arch = "wasm32") { 1 } else { 4 };

/// Decodes the snapshots after the next frame's, in the direction of the time: as many as have a place in the cache, which this
/// number of streams share.
fn prefetch(
    cache: &StreamCache,
    clip: &Clip,
    stream: &StreamedProxy,
    seconds: f64,
    streams: usize,
    state: &mut StreamState,
) {
    let Some(parts) = state.parts else { return };
    // Each part of a vertex has 12 bytes, and two snapshots are shown.
    let size =
        12 * u64::from(parts.bits().count_ones()) * state.vertices.max(1) * streams.max(1) as u64;
    let most = (cache.0.capacity() / size).saturating_sub(2).min(AHEAD);
    let step = clip.timing.step().abs().max(f64::MIN_POSITIVE) * stream.speed.signum();
    let keys = (1..=most).filter_map(|number| {
        clip.timing
            .index_at(seconds + step * number as f64, stream.wrap)
    });
    let wanted: Vec<usize> = keys
        .map(|key| if stream.speed < 0.0 { key.from } else { key.to })
        .collect();
    // A snapshot that is dropped from the cache before it is shown is not decoded ahead twice.
    state.ahead.retain(|(index, _)| wanted.contains(index));
    for snapshot in wanted {
        if state.ahead.iter().all(|(index, _)| *index != snapshot) {
            let cache = cache.0.clone();
            let clip = clip.clone();
            let task = AsyncComputeTaskPool::get().spawn(async move {
                // The frame that needs the snapshot reports its error.
                let _ = cache.get(&clip.proxy, snapshot, parts);
            });
            state.ahead.push((snapshot, task));
        }
    }
}
