//! Shapes with keys, whose positions, normals and coordinates are sampled in time. One key is in memory at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek, Write};

use meshmap::cgeo::TopologyId;
use meshmap::{Scratch, Semantic};
use meshmap_job::{Result, Why};
use meshmap_scene::vector::dot_width;
use meshmap_scene::{Buffer, Corners, FactKind, Parts, Shape, Stream};

use super::crate_file::CrateFile;
use super::error::not_held;
use super::materials::{Materials, Subsets};
use super::prim::{Prim, Property, Written, coordinates, extent, mesh, primvar};
use super::samples::{Clock, Samples, Track, constant, times_of_stage};
use super::values::{Kind, Rep};
use crate::assume;
use crate::material_ids::MaterialIds;
use crate::names::Names;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::read;

pub(super) fn write<W: Write + Seek>(
    shape: &Shape,
    plan: &Plan<'_>,
    ids: &mut MaterialIds,
    file: &mut CrateFile<'_, W>,
    (materials, names): (&mut Materials, &mut Names),
    outcome: &mut Outcome,
) -> Result<Written> {
    let job = plan.job;
    let count = shape.key_count();
    let rate = assume::rate(shape, job, outcome);
    if !(rate > 0.0 && rate.is_finite()) {
        return Err(not_held(format!("{rate} snapshots a second")));
    }
    let mut writer = Writer {
        plan,
        ids,
        file,
        outcome,
        tracks: Tracks::default(),
        topology: None,
        keeps: Vec::new(),
        drawn: 0,
        width: 0.0,
        left_out: BTreeSet::new(),
    };
    let mut buffer = Buffer::default();
    let mut scratch = Scratch::default();
    for key in 0..count {
        shape.read(key, Parts::ALL, &mut buffer, &mut scratch)?;
        writer.key(key, shape.number_of(key), &mut buffer)?;
    }
    let name = job.name_of(shape.name());
    let own = names.add(name, "mesh");
    let are_points = plan.scene.are_points();
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
    let mut clock = Clock::of_shape(shape);
    writer.finish(&mut prim, &mut clock, materials)?;
    let times = if count > 1 {
        times_of_stage(clock.last(), rate)
    } else {
        Vec::new()
    };
    Ok(Written { prim, times })
}

/// The locations of the written data of each attribute.
#[derive(Default)]
struct Tracks {
    points: Track<3>,
    extent: Samples,
    counts: Samples,
    corners: Samples,
    /// Normals and map channels.
    streams: BTreeMap<Name, Indexed>,
    subsets: Subsets,
    lacks_ids: bool,
}

/// The attributes, except the position, for which corners have an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Normals,
    Coordinates(u32),
}

impl Name {
    /// `None` for the positions.
    fn of(semantic: &Semantic) -> Option<Self> {
        match semantic {
            Semantic::Normal => Some(Self::Normals),
            Semantic::TexCoord(set) => Some(Self::Coordinates(*set)),
            _ => None,
        }
    }

    /// The number of components that are written.
    fn components(self) -> usize {
        match self {
            Self::Normals => 3,
            Self::Coordinates(_) => 2,
        }
    }
}

/// An array with an index for each corner.
#[derive(Default)]
struct Indexed {
    /// The third number of texture coordinates is 0 here.
    values: Track<3>,
    indices: Samples,
    /// The number of third coordinates that are not 0, in the last array.
    thirds: usize,
    /// The number of snapshots with triangles that have the attribute, as long as all do.
    count: usize,
    /// The place after the last of them.
    end: usize,
}

/// The triangles of a key, and how long the arrays are that they have indices for.
#[derive(PartialEq)]
struct Topology {
    id: Option<TopologyId>,
    lengths: Vec<(Option<Name>, usize)>,
}

struct Writer<'a, 'b, W> {
    plan: &'a Plan<'a>,
    ids: &'a mut MaterialIds,
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
    left_out: BTreeSet<Name>,
}

impl<W: Write + Seek> Writer<'_, '_, W> {
    /// Writes a key, which has this number in the file.
    fn key(&mut self, key: usize, number: usize, buffer: &mut Buffer) -> Result<()> {
        let _scope = self.plan.job.budget.scope();
        self.plan.charge_read(buffer)?;
        self.charge(buffer)?;
        self.outcome.snapshots += 1;
        // Attributes that one key leaves out are left out of all.
        for semantic in read::unusable_streams(buffer, self.plan, self.outcome)? {
            self.left_out.extend(Name::of(&semantic));
        }
        let Some(positions) = buffer.positions().and_then(Stream::floats) else {
            return Ok(());
        };
        let are_points = self.plan.scene.are_points();
        if are_points {
            if self.width == 0.0 && !positions.is_empty() {
                self.width = dot_width(positions);
            }
            if positions.len() != self.tracks.points.len() {
                self.plan.count_degenerate(buffer, self.outcome);
                self.outcome.wrote(positions.len(), 0);
            }
        }
        let topology = Topology::of(buffer);
        let is_new = !are_points && self.topology.as_ref() != Some(&topology);
        if is_new {
            self.triangles(key, number, positions.len(), buffer)?;
            self.topology = Some(topology);
        }
        let points = || positions.iter().copied();
        let track = &mut self.tracks.points;
        if track.set(key, points, |points| self.file.floats(points))? {
            let extent = self.file.floats(extent(positions).into_iter())?;
            self.tracks.extent.set(key, extent);
        }
        // A key without triangles lacks no normals and coordinates.
        if buffer.triangle_count() > 0 && !are_points {
            for stream in buffer.streams() {
                if let Some(name) = Name::of(stream.semantic())
                    && let Some(corners) = stream.corners()
                    && let Some(corners) = buffer.corners().get(corners)
                    && !self.left_out.contains(&name)
                {
                    let corners = is_new.then_some(corners);
                    self.stream(key, number, name, stream, corners)?;
                }
            }
            self.drawn += 1;
        }
        Ok(())
    }

    /// Charges a key, what is kept of the one before, and the corners of one stream.
    fn charge(&self, buffer: &Buffer) -> Result<()> {
        let budget = &self.plan.job.budget;
        let mut elements: usize = 0;
        for stream in buffer.streams() {
            elements = elements.saturating_add(stream.len());
        }
        budget.charge_for::<[[f32; 3]; 2]>(elements, "mesh of a snapshot")?;
        let triangles = buffer.triangle_count();
        let corners = triangles.saturating_mul(buffer.corners().len());
        budget.charge_for::<[[u32; 3]; 2]>(corners, "triangles of a snapshot")?;
        budget.charge_for::<([[u32; 3]; 2], bool)>(triangles, "triangles of a snapshot")
    }

    /// Writes what is the same as long as triangles are.
    fn triangles(
        &mut self,
        key: usize,
        number: usize,
        positions: usize,
        buffer: &Buffer,
    ) -> Result<()> {
        let plan = self.plan;
        let Some(corners) = buffer.position_corners() else {
            return Ok(());
        };
        check_corners(corners, positions, "position", number)?;
        plan.count_degenerate(buffer, self.outcome);
        self.keeps = corners
            .triangles()
            .map(|corners| plan.keeps(corners))
            .collect();
        let corners = kept(corners.triangles(), &self.keeps);
        self.outcome.wrote(positions, corners.len());
        let counts = self.file.ints(corners.iter().map(|_| [3]))?;
        self.tracks.counts.set(key, counts);
        let written = corners.iter().map(|corners| plan.turned(*corners));
        let written = self.file.corners(written)?;
        self.tracks.corners.set(key, written);
        self.ids
            .count(buffer.material_ids(), plan.job, self.outcome)?;
        if self.topology.is_none() {
            self.tracks.subsets = Subsets::new(self.ids.are_merged(plan.job));
        }
        let ids: Option<Vec<u32>> = buffer.material_ids().map(Iterator::collect);
        self.tracks.lacks_ids |= ids.is_none() && buffer.triangle_count() > 0;
        let ids = kept(ids.unwrap_or_default().into_iter(), &self.keeps);
        self.tracks.subsets.set(key, ids.into_iter(), self.file)
    }

    /// Writes normals, or a set of coordinates; its corners if they are new.
    fn stream(
        &mut self,
        key: usize,
        number: usize,
        name: Name,
        stream: &Stream,
        corners: Option<&Corners>,
    ) -> Result<()> {
        let plan = self.plan;
        let Some(values) = stream.floats() else {
            return Ok(());
        };
        let track = self.tracks.streams.entry(name).or_default();
        if track.count != self.drawn {
            return Ok(());
        }
        track.pass(key, name);
        track.count += 1;
        if let Some(corners) = corners {
            let what = match name {
                Name::Normals => "normal",
                Name::Coordinates(_) => "texture coordinate",
            };
            check_corners(corners, values.len(), what, number)?;
            let indices = kept(corners.triangles(), &self.keeps);
            let indices = indices.into_iter().map(|corners| plan.turned(corners));
            track.indices.set(key, self.file.corners(indices)?);
        }
        match name {
            Name::Normals => {
                let normals = || values.iter().copied();
                track
                    .values
                    .set(key, normals, |normals| self.file.floats(normals))?;
            }
            Name::Coordinates(_) => {
                let coordinates = || values.iter().map(|[u, v, _]| [*u, *v, 0.0]);
                let is_new = track.values.set(key, coordinates, |coordinates| {
                    self.file.floats(coordinates.map(|[u, v, _]| [u, v]))
                })?;
                let thirds = read::third_coordinates(stream, plan)?;
                if is_new || thirds != track.thirds {
                    read::report_third_coordinates(thirds, stream, self.outcome);
                }
                track.thirds = thirds;
            }
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
        let mut is_whole = |name: &Name, track: &Indexed| {
            if track.count == drawn {
                return true;
            }
            let (kind, name) = match name {
                Name::Normals => (FactKind::Normals, "normals".to_owned()),
                Name::Coordinates(channel) => {
                    let semantic = Semantic::TexCoord(*channel);
                    (read::kind_of(&semantic), format!("map_channels[{channel}]"))
                }
            };
            outcome.report.leave_out(kind, Why::NotEverywhere, name);
            false
        };
        let streams = tracks
            .streams
            .iter()
            .filter(|(stream, track)| is_whole(stream, track));
        let streams: Vec<(&Name, &Indexed)> = streams.collect();
        let normals = streams
            .iter()
            .find(|(stream, _)| **stream == Name::Normals)
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
                Name::Normals => (primvar("normals"), "normal3f[]", moves),
                Name::Coordinates(channel) => (
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
            let why = Why::NotEverywhere;
            outcome.report.leave_out_many(FactKind::MaterialIds, why, 1);
            return Ok(());
        }
        tracks.subsets.add_to(prim, clock, file, materials)
    }
}

impl Topology {
    fn of(buffer: &Buffer) -> Self {
        Self {
            id: buffer.topology(),
            lengths: buffer
                .streams()
                .iter()
                .map(|stream| (Name::of(stream.semantic()), stream.len()))
                .collect(),
        }
    }
}

impl Indexed {
    /// Has nothing at the snapshots before this place that have no triangles.
    fn pass(&mut self, place: usize, name: Name) {
        if self.end < place {
            let kind = Kind::floats(name.components());
            self.values.set_empty(self.end, Rep::empty(kind));
            self.indices.set(self.end, Rep::empty(Kind::Int));
        }
        self.end = place + 1;
    }
}

/// The elements of the triangles that are written.
fn kept<T>(of_triangles: impl Iterator<Item = T>, keeps: &[bool]) -> Vec<T> {
    let mut kept = Vec::new();
    for (element, keeps) in of_triangles.zip(keeps) {
        if *keeps {
            kept.push(element);
        }
    }
    kept
}

/// Fails for a corner whose index is not less than the length of its array.
fn check_corners(corners: &Corners, length: usize, what: &str, number: usize) -> Result<()> {
    for corners in corners.triangles() {
        for index in corners {
            if i32::try_from(index).is_err() || index as usize >= length {
                return Err(not_held(format!(
                    "a triangle of snapshots[{number}] has the {what} {index}, where there are {length}"
                )));
            }
        }
    }
    Ok(())
}
