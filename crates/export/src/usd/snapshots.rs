//! CGeo: one mesh, whose points, normals and coordinates are sampled in time. One snapshot is in memory at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, Write};

use meshmap::cgeo::{MeshBuffer, Parts, TopologyId};
use meshmap::{Format, Scratch};

use super::crate_file::CrateFile;
use super::materials::{Materials, Subsets};
use super::prim::{Prim, Property, Value, coordinates, extent, mesh, primvar};
use super::samples::{Clock, Samples, constant, times_of_stage};
use super::values::{Kind, Rep};
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::scene::assume;
use crate::scene::cgeo::Snapshots;
use crate::scene::check::{finite, turned, usable};
use crate::scene::names::Names;
use crate::settings::Job;
use crate::vector::dot_width;

/// The mesh, and what the stage says of its times.
pub(super) struct Written {
    pub(super) prim: Prim,
    pub(super) times: Vec<(&'static str, Value)>,
}

pub(super) fn write<W: Write + Seek>(
    snapshots: &Snapshots,
    job: &Job<'_>,
    file: &mut CrateFile<'_, W>,
    (materials, names): (&mut Materials, &mut Names),
    outcome: &mut Outcome,
) -> Result<Written> {
    let count = snapshots.indices.len();
    let rate = match job.fps {
        Some(rate) => rate,
        None => 1.0 / assume::step(snapshots, job, outcome),
    };
    if !(rate > 0.0 && rate.is_finite()) {
        return Err(not_held(format!("{rate} snapshots a second")));
    }
    let tracks = Tracks::default();
    let mut writer = Writer {
        job,
        file,
        outcome,
        tracks,
        topology: None,
        keeps: Vec::new(),
        drawn: 0,
        width: 0.0,
        left_out: BTreeSet::new(),
    };
    let (mut buffer, mut scratch) = (MeshBuffer::default(), Scratch::default());
    for (place, index) in snapshots.indices.iter().copied().enumerate() {
        snapshots
            .at(index)?
            .mesh_into(Parts::ALL, &mut buffer, &mut scratch)?;
        writer.snapshot(place, index, &mut buffer)?;
    }
    let object = snapshots.name();
    let name = job.name_of(&object);
    let own = names.add(name, "mesh");
    let are_points = job.are_points.get();
    let mut prim = if are_points {
        Prim::new("Points", own)
    } else {
        mesh(own)
    }
    .displayed(name);
    if are_points {
        // The files store none: without one, each point is 1 wide.
        let width = writer.file.floats([[writer.width]].into_iter())?;
        prim = prim.with(
            Property::attribute("widths", "float[]")
                .value(width)
                .interpolated("constant"),
        );
    }
    let mut clock = Clock::new(count, job.every());
    let keeps_triangles = writer.tracks.corners.is_constant();
    writer.finish(&mut prim, &mut clock, materials)?;
    if count > 1 && keeps_triangles && !are_points {
        outcome.note(
            "in Blender: let the modifier Mesh Sequence Cache read vertices only, to play many times faster",
        );
    }
    let times = if count > 1 {
        times_of_stage(clock.last(), rate)
    } else {
        Vec::new()
    };
    Ok(Written { prim, times })
}

pub(super) fn not_held(what: String) -> Error {
    Error::NotHeld {
        target: "usdc",
        what,
    }
}

/// The locations of the written data of each attribute.
#[derive(Default)]
struct Tracks {
    points: Array,
    extent: Samples,
    counts: Samples,
    corners: Samples,
    /// Normals and map channels.
    streams: BTreeMap<Stream, Corners>,
    subsets: Subsets,
    lacks_ids: bool,
}

/// The attributes, except the position, for which corners have an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stream {
    Normals,
    Channel(usize),
}

/// An array, with its last content: what stays is written once.
#[derive(Default)]
struct Array {
    samples: Samples,
    last: Vec<[f32; 3]>,
}

/// An array with an index for each corner.
#[derive(Default)]
struct Corners {
    values: Array,
    indices: Samples,
    /// The number of snapshots with triangles that have the attribute, as long as all do.
    count: usize,
    /// The place after the last of them.
    end: usize,
}

/// The triangles of a snapshot, and how long the arrays are that they have indices for.
struct Topology {
    id: Option<TopologyId>,
    lengths: Vec<usize>,
}

struct Writer<'a, 'b, W> {
    job: &'a Job<'a>,
    file: &'a mut CrateFile<'b, W>,
    outcome: &'a mut Outcome,
    tracks: Tracks,
    /// The topology of the previous snapshot.
    topology: Option<Topology>,
    /// For each triangle of the topology, `true` if it is written.
    keeps: Vec<bool>,
    /// The number of previous snapshots with triangles.
    drawn: usize,
    /// The width of points, as the first snapshot has it.
    width: f32,
    /// Attributes with NaN or infinite values in a snapshot.
    left_out: BTreeSet<Stream>,
}

impl<W: Write + Seek> Writer<'_, '_, W> {
    fn snapshot(&mut self, place: usize, index: usize, mesh: &mut MeshBuffer) -> Result<()> {
        let (job, outcome) = (self.job, &mut *self.outcome);
        let _scope = job.budget.scope();
        charge(mesh, &job.budget)?;
        outcome.snapshots += 1;
        finite(
            &mut mesh.positions,
            || format!("snapshots[{index}].positions"),
            job,
            outcome,
        )?;
        // Data that one snapshot leaves out is left out of all.
        if !usable(
            &mut mesh.normals,
            || format!("snapshots[{index}].normals"),
            job,
            outcome,
        )? {
            self.left_out.insert(Stream::Normals);
        }
        for (channel, values) in mesh.texcoords.iter_mut().enumerate() {
            let address = || format!("snapshots[{index}].map_channels[{channel}]");
            if !usable(values, address, job, outcome)? {
                self.left_out.insert(Stream::Channel(channel));
            }
        }
        let are_points = job.are_points.get();
        if are_points {
            if self.width == 0.0 && !mesh.positions.is_empty() {
                self.width = dot_width(&mesh.positions);
            }
            if mesh.positions.len() != self.tracks.points.last.len() {
                outcome.count_degenerate(mesh.triangles.positions().into_iter(), true);
                outcome.wrote(mesh.positions.len(), 0);
            }
        }
        let is_new = !are_points
            && !self
                .topology
                .as_ref()
                .is_some_and(|topology| topology.is_of(mesh));
        if is_new {
            self.triangles(place, index, mesh)?;
            self.topology = Some(Topology {
                id: mesh.topology,
                lengths: lengths(mesh),
            });
        }
        if !self.tracks.points.is_last(&mesh.positions) {
            let points = self.file.floats(mesh.positions.iter().copied())?;
            self.tracks.points.set(place, &mesh.positions, points);
            self.tracks.extent.set(
                place,
                self.file.floats(extent(&mesh.positions).into_iter())?,
            );
        }
        // A snapshot without triangles lacks no normals and coordinates.
        if !mesh.triangles.is_empty() && !are_points {
            let left_out = self.left_out.clone();
            for (stream, values) in streams(mesh).filter(|(stream, _)| !left_out.contains(stream)) {
                self.stream(place, index, mesh, (stream, values), is_new)?;
            }
            self.drawn += 1;
        }
        Ok(())
    }

    /// Writes what is the same as long as triangles are.
    fn triangles(&mut self, place: usize, index: usize, mesh: &MeshBuffer) -> Result<()> {
        let (tracks, triangles) = (&mut self.tracks, &mesh.triangles);
        if triangles.edge_visibility().is_some() {
            self.outcome.leave_out("visibility of edges");
        }
        let corners = checked(
            triangles.positions(),
            mesh.positions.len(),
            "position",
            index,
        )?;
        self.outcome
            .count_degenerate(corners.iter().copied(), self.job.drops_degenerate());
        let keeps: Vec<bool> = corners
            .iter()
            .map(|corners| self.job.keeps(*corners))
            .collect();
        let corners = kept(corners, &keeps);
        self.outcome.wrote(mesh.positions.len(), corners.len());
        let turns = self.job.turns(Format::CGeo);
        tracks
            .counts
            .set(place, self.file.ints(corners.iter().map(|_| [3]))?);
        tracks.corners.set(
            place,
            self.file
                .corners(corners.iter().map(|corners| turned(*corners, turns)))?,
        );
        self.job
            .count_materials(triangles.material_ids(), self.outcome)?;
        if self.topology.is_none() {
            tracks.subsets = Subsets::new(self.job.merges_materials());
        }
        let ids = triangles.material_ids().map(Iterator::collect::<Vec<_>>);
        tracks.lacks_ids |= ids.is_none() && !triangles.is_empty();
        let ids = kept(ids.unwrap_or_default(), &keeps);
        tracks.subsets.set(place, ids.into_iter(), self.file)?;
        self.keeps = keeps;
        Ok(())
    }

    /// Writes normals, or a map channel.
    fn stream(
        &mut self,
        place: usize,
        index: usize,
        mesh: &MeshBuffer,
        (stream, values): (Stream, &[[f32; 3]]),
        is_new: bool,
    ) -> Result<()> {
        let track = self.tracks.streams.entry(stream).or_default();
        if track.count != self.drawn {
            return Ok(());
        }
        track.pass(place, stream);
        track.count += 1;
        if is_new {
            let (indices, what) = match stream {
                Stream::Normals => (mesh.triangles.normals(), "normal"),
                Stream::Channel(channel) => {
                    (mesh.triangles.texcoords(channel), "texture coordinate")
                }
            };
            let indices = checked(indices.unwrap_or_default(), values.len(), what, index)?;
            let turns = self.job.turns(Format::CGeo);
            let indices = kept(indices, &self.keeps)
                .into_iter()
                .map(|corners| turned(corners, turns));
            track.indices.set(place, self.file.corners(indices)?);
        }
        if !track.values.is_last(values) {
            let rep = match stream {
                Stream::Normals => self.file.floats(values.iter().copied())?,
                Stream::Channel(_) => {
                    self.outcome.leave_out("the third texture coordinate");
                    self.file.floats(values.iter().map(|[u, v, _]| [*u, *v]))?
                }
            };
            track.values.set(place, values, rep);
        }
        Ok(())
    }

    /// Makes the mesh of what has been written.
    fn finish(self, prim: &mut Prim, clock: &mut Clock, materials: &mut Materials) -> Result<()> {
        let Self {
            file,
            outcome,
            mut tracks,
            drawn,
            ..
        } = self;
        tracks
            .streams
            .iter_mut()
            .for_each(|(stream, track)| track.pass(clock.count(), *stream));
        let mut is_whole = |stream: &Stream, track: &Corners| {
            if track.count == drawn {
                return true;
            }
            outcome.leave_out(match stream {
                Stream::Normals => "normals, which not every snapshot has".to_owned(),
                Stream::Channel(channel) => {
                    format!("map_channels[{channel}], which not every snapshot has")
                }
            });
            false
        };
        let streams = tracks
            .streams
            .iter()
            .filter(|(stream, track)| is_whole(stream, track));
        let streams: Vec<(&Stream, &Corners)> = streams.collect();
        let normals = streams
            .iter()
            .find(|(stream, _)| **stream == Stream::Normals)
            .map(|(_, track)| track);
        let points = &tracks.points.samples;
        let samples = [Some(points), normals.map(|normals| &normals.values.samples)];
        // Programs that find other times for normals than for points drop the mesh.
        let moves = samples
            .into_iter()
            .flatten()
            .any(|samples| !samples.is_constant());
        let mut sampled = |property, samples: &Samples, moves, file: &mut CrateFile<'_, W>| {
            if moves {
                clock.each(property, samples, file)
            } else {
                Ok(constant(property, samples))
            }
        };
        let mut properties = vec![
            sampled(
                Property::attribute("extent", "float3[]"),
                &tracks.extent,
                moves,
                file,
            )?,
            sampled(
                Property::attribute("points", "point3f[]"),
                points,
                moves,
                file,
            )?,
        ];
        let mut indexed = Vec::new();
        for (stream, track) in streams {
            let values = &track.values.samples;
            let (name, kind, moves) = match stream {
                Stream::Normals => (primvar("normals"), "normal3f[]", moves),
                Stream::Channel(channel) => (
                    primvar(&coordinates(*channel)),
                    "texCoord2f[]",
                    !values.is_constant(),
                ),
            };
            let indices = Property::attribute(format!("{name}:indices"), "int[]");
            indexed.push((indices, &track.indices));
            let values = sampled(Property::attribute(name, kind), values, moves, file)?;
            properties.push(values.interpolated("faceVarying"));
        }
        if tracks.corners.last().is_some() {
            indexed.push((
                Property::attribute("faceVertexCounts", "int[]"),
                &tracks.counts,
            ));
            indexed.push((
                Property::attribute("faceVertexIndices", "int[]"),
                &tracks.corners,
            ));
        }
        for (property, samples) in indexed {
            properties.push(clock.held(property, samples, file)?);
        }
        prim.properties.extend(properties);
        if tracks.lacks_ids && !tracks.subsets.is_empty() {
            outcome.leave_out("materials, which not every snapshot has");
            return Ok(());
        }
        tracks.subsets.add_to(prim, clock, file, materials)
    }
}

impl Topology {
    fn is_of(&self, mesh: &MeshBuffer) -> bool {
        self.id == mesh.topology && self.lengths == lengths(mesh)
    }
}

impl Array {
    /// Returns `true` if these values were written last.
    fn is_last(&self, values: &[[f32; 3]]) -> bool {
        let bits = |values: &[f32; 3]| values.map(f32::to_bits);
        self.samples.last().is_some() && values.iter().map(bits).eq(self.last.iter().map(bits))
    }

    fn set(&mut self, place: usize, values: &[[f32; 3]], rep: Rep) {
        self.last.clear();
        self.last.extend(values);
        self.samples.set(place, rep);
    }
}

impl Corners {
    /// Has nothing at the snapshots before this place that have no triangles.
    fn pass(&mut self, place: usize, stream: Stream) {
        if self.end < place {
            let components = if stream == Stream::Normals { 3 } else { 2 };
            self.values
                .set(self.end, &[], Rep::empty(Kind::floats(components)));
            self.indices.set(self.end, Rep::empty(Kind::Int));
        }
        self.end = place + 1;
    }
}

/// Charges a snapshot, what is kept of the one before, and the corners of one stream.
fn charge(mesh: &MeshBuffer, budget: &Budget) -> Result<()> {
    let (points, triangles) = (mesh.positions.len(), mesh.triangles.len());
    budget.read_geometry(points as u64, triangles as u64)?;
    let elements = lengths(mesh)
        .iter()
        .fold(0_usize, |sum, length| sum.saturating_add(*length));
    budget.charge_for::<[[f32; 3]; 2]>(elements, "mesh of a snapshot")?;
    budget.charge_for::<[u8; 2]>(mesh.triangles.as_bytes().len(), "triangles of a snapshot")?;
    budget.charge_for::<([[u32; 3]; 2], bool)>(triangles, "triangles of a snapshot")
}

fn lengths(mesh: &MeshBuffer) -> Vec<usize> {
    [&mesh.positions, &mesh.normals]
        .into_iter()
        .chain(&mesh.texcoords)
        .map(Vec::len)
        .collect()
}

fn has_normals(mesh: &MeshBuffer) -> bool {
    mesh.triangles.has_normals() && !mesh.normals.is_empty()
}

/// Normals and map channels, as far as corners have indices for them.
fn streams(mesh: &MeshBuffer) -> impl Iterator<Item = (Stream, &[[f32; 3]])> {
    let channels = mesh
        .texcoords
        .iter()
        .take(mesh.triangles.texcoord_sets())
        .enumerate();
    let channels = channels.filter(|(_, values)| !values.is_empty());
    let channels = channels.map(|(channel, values)| (Stream::Channel(channel), values.as_slice()));
    has_normals(mesh)
        .then_some((Stream::Normals, mesh.normals.as_slice()))
        .into_iter()
        .chain(channels)
}

/// The elements of the triangles that are written.
fn kept<T>(of_triangles: Vec<T>, keeps: &[bool]) -> Vec<T> {
    of_triangles
        .into_iter()
        .zip(keeps)
        .filter(|(_, keeps)| **keeps)
        .map(|(element, _)| element)
        .collect()
}

/// Indices that are all less than the length of their array.
fn checked(
    indices: Vec<[u32; 3]>,
    length: usize,
    what: &str,
    snapshot: usize,
) -> Result<Vec<[u32; 3]>> {
    let is_inside = |index: &u32| i32::try_from(*index).is_ok() && (*index as usize) < length;
    match indices
        .as_flattened()
        .iter()
        .find(|index| !is_inside(index))
    {
        None => Ok(indices),
        Some(index) => Err(not_held(format!(
            "a triangle of snapshots[{snapshot}] has the {what} {index}, where there are {length}"
        ))),
    }
}
