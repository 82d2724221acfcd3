//! Animations of CGeo proxies, played into a mesh.

use std::sync::Arc;

use bevy_asset::{AssetEvent, AssetId, Assets, Handle};
use bevy_camera::primitives::Aabb;
use bevy_ecs::prelude::*;
use bevy_mesh::{Mesh, Mesh3d, MeshVertexAttribute, VertexAttributeValues, VertexFormat};
use bevy_tasks::futures::check_ready;
use bevy_tasks::{AsyncComputeTaskPool, Task};
use bevy_time::Time;
use meshmap::cgeo::{Parts, Proxy, SnapshotCache, Timing, Wrap};
use meshmap::{Address, Bounds, MeshFile};

use crate::assets::MeshmapFile;
use crate::convert::convert;
use crate::error::MeshmapError;
use crate::scene::aabb;
use crate::settings::MeshmapSettings;
use crate::skeleton::Joints;

/// The position of each vertex one frame earlier, which [`StreamedProxy::motion`] writes: for materials that compute motion
/// vectors. Bevy's own prepass knows the motion of transforms, skins and morph targets only.
pub const ATTRIBUTE_PREVIOUS_POSITION: MeshVertexAttribute =
    MeshVertexAttribute::new("Vertex_PreviousPosition", 0x006d_6573_686d_6170, VertexFormat::Float32x3);

/// Plays the animation of a CGeo proxy: adds a `Mesh3d` to the entity, and writes the positions of each frame into its mesh.
///
/// Only positions change: normals and texture coordinates stay as in the first snapshot. The mesh contains all triangles of the
/// file, so that it has one material. Positions are in the axes of the file, as in scenes: use
/// [`MeshmapFile::root`] as the transform.
///
/// Frames are decoded in Bevy's task pools. A frame that is not ready in time keeps the last one, and is counted in
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
    /// They are written into [`ATTRIBUTE_PREVIOUS_POSITION`]. Read when the file is loaded.
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

/// The mesh of the first snapshot, and the stored position of each of its vertices.
struct Base {
    proxy: Proxy,
    timing: Timing,
    sources: Vec<u32>,
}

/// The memory of one frame, which goes to a task and comes back.
#[derive(Default)]
struct Frame {
    stored: Vec<[f32; 3]>,
    positions: Vec<[f32; 3]>,
    bounds: Option<Bounds>,
}

type Started = Result<(Base, Mesh, Option<Bounds>), MeshmapError>;

/// The work of a [`StreamedProxy`].
#[derive(Component, Default)]
pub(crate) struct StreamState {
    file: Option<AssetId<MeshmapFile>>,
    start: Option<Task<Started>>,
    base: Option<Arc<Base>>,
    /// The time of the frame in the mesh, and of the frame that is being decoded.
    shown: Option<f64>,
    asked: Option<f64>,
    frame: Option<Task<(Frame, Result<(), meshmap::Error>)>>,
    ahead: Option<Task<()>>,
    /// The buffers that the next frame uses again.
    spare: Frame,
    /// `true` if the previous positions differ from the positions.
    moved: bool,
}

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

/// Advances all streams: writes the frames that are ready, and asks for the next ones.
pub(crate) fn advance(
    mut commands: Commands,
    time: Res<Time>,
    cache: Res<StreamCache>,
    files: Res<Assets<MeshmapFile>>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut streams: Query<Stream>,
) {
    for (entity, mut stream, mut state, mut stats, mesh, bounds) in &mut streams {
        let state = &mut *state;
        if state.file != Some(stream.file.id()) {
            *state = StreamState { file: Some(stream.file.id()), ..StreamState::default() };
        }
        let Some(base) = state.base.clone() else {
            if let Some((mesh, bounds)) = begin(state, &stream, &mut stats, &files) {
                commands.entity(entity).insert(Mesh3d(meshes.add(mesh)));
                if let Some(bounds) = bounds {
                    commands.entity(entity).insert(aabb(bounds));
                }
            }
            continue;
        };
        let step = time.delta_secs_f64() * stream.speed;
        stream.time += step;
        let mesh = mesh.map(|mesh| mesh.0.id());
        receive(state, &mut stats, &mut meshes, mesh, bounds);
        let Some(wanted) = seconds(&base.timing, &stream, stream.time) else { continue };
        if state.shown != Some(wanted) {
            stats.missed += 1;
        }
        if state.frame.is_some() {
            continue;
        }
        // The frame appears in the next run of this system.
        let Some(next) = seconds(&base.timing, &stream, stream.time + step) else { continue };
        if state.shown != Some(next) {
            state.asked = Some(next);
            state.frame = Some(decode(&cache, &base, next, stream.wrap, std::mem::take(&mut state.spare)));
        }
        let run = state.ahead.as_mut().is_none_or(|task| check_ready(task).is_some());
        if run {
            state.ahead = prefetch(&cache, &base, &stream, next);
        }
    }
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

/// Loads the mesh of the first snapshot in a task; returns it once.
fn begin(
    state: &mut StreamState,
    stream: &StreamedProxy,
    stats: &mut StreamStats,
    files: &Assets<MeshmapFile>,
) -> Option<(Mesh, Option<Bounds>)> {
    let Some(task) = &mut state.start else {
        let proxy = files.get(&stream.file)?.proxy.clone()?;
        let motion = stream.motion;
        state.start = Some(AsyncComputeTaskPool::get().spawn(async move { start(proxy, motion) }));
        return None;
    };
    // The task stays after an error: it would fail again.
    match check_ready(task)? {
        Ok((base, mesh, bounds)) => {
            state.start = None;
            state.base = Some(Arc::new(base));
            Some((mesh, bounds))
        }
        Err(error) => {
            fail(stats, error);
            state.start = Some(AsyncComputeTaskPool::get().spawn(std::future::pending()));
            None
        }
    }
}

fn start(proxy: Proxy, motion: MotionVectors) -> Started {
    let first = proxy.snapshot(0)?.mesh(Parts::ALL)?;
    let remap = first.vertex_remap()?;
    let sources = remap.sources(0).unwrap_or_default().to_vec();
    let view = MeshFile::CGeo(proxy.clone()).mesh(&Address::field("snapshots").index(0))?;
    let mut mesh = convert(&view, &MeshmapSettings::default(), &Joints::default())?.mesh;
    if motion == MotionVectors::PreviousPositions
        && let Some(VertexAttributeValues::Float32x3(positions)) = mesh.attribute(Mesh::ATTRIBUTE_POSITION)
    {
        mesh.insert_attribute(ATTRIBUTE_PREVIOUS_POSITION, positions.clone());
    }
    let count = proxy.snapshot_count();
    // As Corona plays a file without times.
    let timing = proxy.timing().unwrap_or_else(|| Timing::new(0.0, 1.0 / 24.0, count));
    Ok((Base { proxy, timing, sources }, mesh, view.bounds()?))
}

/// Writes a frame that is ready into the mesh by exchanging buffers.
fn receive(
    state: &mut StreamState,
    stats: &mut StreamStats,
    meshes: &mut Assets<Mesh>,
    mesh: Option<AssetId<Mesh>>,
    bounds: Option<Mut<'_, Aabb>>,
) {
    let ready = state.frame.as_mut().and_then(check_ready);
    if ready.is_none() && !state.moved {
        return;
    }
    if ready.is_some() {
        state.frame = None;
    }
    let Some(mut mesh) = mesh.and_then(|mesh| meshes.get_mut(mesh)) else { return };
    let Some((mut frame, result)) = ready else {
        // Nothing moves in this frame.
        still(&mut mesh);
        state.moved = false;
        return;
    };
    match result {
        Ok(()) => {
            exchange(&mut mesh, Mesh::ATTRIBUTE_POSITION, &mut frame.positions);
            state.moved = mesh.contains_attribute(ATTRIBUTE_PREVIOUS_POSITION);
            if state.moved {
                exchange(&mut mesh, ATTRIBUTE_PREVIOUS_POSITION, &mut frame.positions);
            }
            if let Some((mut old, new)) = bounds.zip(frame.bounds) {
                *old = aabb(new);
            }
            state.shown = state.asked;
            stats.shown += 1;
        }
        Err(error) => {
            // The next time is another frame, which may be intact.
            state.shown = state.asked;
            fail(stats, error.into());
        }
    }
    state.spare = frame;
}

fn exchange(mesh: &mut Mesh, attribute: MeshVertexAttribute, values: &mut Vec<[f32; 3]>) {
    if let Ok(VertexAttributeValues::Float32x3(old)) = mesh.try_attribute_mut(attribute)
        && old.len() == values.len()
    {
        std::mem::swap(old, values);
    }
}

/// Copies the positions to the previous positions.
fn still(mesh: &mut Mesh) {
    let Some(VertexAttributeValues::Float32x3(positions)) = mesh.attribute(Mesh::ATTRIBUTE_POSITION) else {
        return;
    };
    let positions = positions.clone();
    mesh.insert_attribute(ATTRIBUTE_PREVIOUS_POSITION, positions);
}

fn fail(stats: &mut StreamStats, error: MeshmapError) {
    stats.failed += 1;
    stats.last_error = Some(error.to_string());
}

fn decode(
    cache: &StreamCache,
    base: &Arc<Base>,
    seconds: f64,
    wrap: Wrap,
    mut frame: Frame,
) -> Task<(Frame, Result<(), meshmap::Error>)> {
    let (cache, base) = (cache.0.clone(), base.clone());
    AsyncComputeTaskPool::get().spawn(async move {
        let Frame { stored, positions, bounds } = &mut frame;
        let result = cache.positions_at(&base.proxy, &base.timing, &[seconds], wrap, stored);
        if result.is_ok() {
            positions.clear();
            // The library has checked that every snapshot has the vertices of the first.
            positions.extend(base.sources.iter().filter_map(|source| stored.get(*source as usize)));
            *bounds = Bounds::around(positions.iter().copied());
        }
        (frame, result)
    })
}

/// Decodes the snapshot after the next frame's, in the direction of the time.
fn prefetch(cache: &StreamCache, base: &Arc<Base>, stream: &StreamedProxy, seconds: f64) -> Option<Task<()>> {
    let ahead = base.timing.step().abs().max(f64::MIN_POSITIVE) * stream.speed.signum();
    let key = base.timing.index_at(seconds + ahead, stream.wrap)?;
    let snapshot = if stream.speed < 0.0 { key.from } else { key.to };
    if cache.0.try_get(&base.proxy, snapshot, Parts::POSITIONS).is_some() {
        return None;
    }
    let (cache, base) = (cache.0.clone(), base.clone());
    Some(AsyncComputeTaskPool::get().spawn(async move {
        // The frame that needs the snapshot reports its error.
        let _ = cache.get(&base.proxy, snapshot, Parts::POSITIONS);
    }))
}
