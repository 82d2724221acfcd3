//! OBJ, and the MTL with its materials. Numbers are the shortest decimals that give the same bits.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::iter;

use meshmap::{Scratch, Semantic, VertexRemap};
use meshmap_job::{Change, Result, Why};
use meshmap_outputs::{Output, Place};
use meshmap_scene::{Buffer, FactKind, Parts, Shape, Stream};

use crate::images::Texture;
use crate::ledger::Decision;
use crate::material_ids::MaterialIds;
use crate::names::free;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::read;
use crate::settings::Job;

pub(crate) fn write(plan: &Plan<'_>, place: &Place, outcome: &mut Outcome) -> Result<()> {
    let outputs = write_files(plan, place, outcome)?;
    plan.images.finish(outputs, plan.job, outcome)
}

/// The shapes at their first keys. Each stream has the indices that are stored for it.
pub(crate) fn write_files(
    plan: &Plan<'_>,
    place: &Place,
    outcome: &mut Outcome,
) -> Result<Vec<Output>> {
    let mut output = plan.job.budget.output(place)?;
    begin(plan, place, &mut output)?;
    let mut writer = Writer {
        plan,
        out: &mut output,
        outcome,
        next: Numbers {
            position: 1,
            coordinate: 1,
            normal: 1,
        },
        object_names: HashMap::new(),
        materials: Materials::default(),
        ids: MaterialIds::default(),
        has_colors: plan.scene.shapes().iter().any(has_colors),
    };
    for shape in plan.scene.shapes() {
        writer.shape(shape)?;
    }
    let materials = writer.materials;
    plan.check_written(outcome)?;
    Ok(vec![
        write_materials(&materials.images, place, plan.job)?,
        output,
    ])
}

fn has_colors(shape: &Shape) -> bool {
    let mut attributes = shape.attributes().iter();
    attributes.any(|info| info.semantic == Semantic::Color(0))
}

/// The materials of the MTL.
#[derive(Default)]
struct Materials {
    /// The image of each material, by its name in the output.
    images: BTreeMap<String, Option<String>>,
    /// The name in the output of each material of the file: different names stay different.
    names: HashMap<String, String>,
    taken: HashMap<String, usize>,
    /// The name of the material of objects without one, after objects that have one.
    none: Option<String>,
}

/// The numbers of the elements that are written next. OBJ counts from 1, and through all objects.
#[derive(Clone, Copy)]
struct Numbers {
    position: u64,
    coordinate: u64,
    normal: u64,
}

struct Writer<'a> {
    plan: &'a Plan<'a>,
    out: &'a mut Output,
    outcome: &'a mut Outcome,
    next: Numbers,
    object_names: HashMap<String, usize>,
    materials: Materials,
    ids: MaterialIds,
    /// `true` if any shape has colours. All vertices then have some, because programs expect as many colours as positions.
    has_colors: bool,
}

/// The corners of the triangles of a shape, in the order in which they are written.
struct Faces {
    /// The lists that are written; the others are empty.
    lists: Vec<Vec<[u32; 3]>>,
    /// The lists of texture coordinates and of normals.
    coordinates: Option<usize>,
    normals: Option<usize>,
}

impl Writer<'_> {
    fn shape(&mut self, shape: &Shape) -> Result<()> {
        let plan = self.plan;
        let job = plan.job;
        let are_points = plan.scene.are_points();
        let _scope = job.budget.scope();
        let mut buffer = Buffer::default();
        shape.read(0, Parts::ALL, &mut buffer, &mut Scratch::default())?;
        plan.charge_read(&buffer)?;
        self.charge(&buffer)?;
        self.begin_object(shape)?;
        if !are_points {
            read::remove_non_finite(&mut buffer, plan, self.outcome)?;
        }
        let mut positions = Vec::new();
        if let Some(stream) = buffer.positions() {
            positions = read::positions(stream, plan, self.outcome)?;
        }
        let mut coordinates = None;
        let mut normals = None;
        if !are_points {
            coordinates = self.array::<2>(&buffer, &Semantic::TexCoord(0))?;
            if let Some(stream) = buffer.stream(&Semantic::TexCoord(0)) {
                read::count_third_coordinates(stream, plan, self.outcome)?;
            }
            normals = self.array::<3>(&buffer, &Semantic::Normal)?;
        }
        let colors = self.array::<4>(&buffer, &Semantic::Color(0))?;
        match &colors {
            Some(colors) => colored_lines(self.out, &positions, colors.iter().copied())?,
            None if self.has_colors => {
                colored_lines(self.out, &positions, iter::repeat([1.0; 4]))?;
            }
            None => lines(self.out, "v", &positions)?,
        }
        let transparent = colors.iter().flatten().filter(|[.., alpha]| *alpha != 1.0);
        let transparent = transparent.count() as u64;
        self.outcome.report.change(Change::OpacityLost, transparent);
        self.coordinate_lines(coordinates.as_deref().unwrap_or_default())?;
        lines(self.out, "vn", normals.as_deref().unwrap_or_default())?;

        let list_of = |semantic: &Semantic| buffer.stream(semantic).and_then(Stream::corners);
        let coordinate_list = coordinates.as_ref().and(list_of(&Semantic::TexCoord(0)));
        let normal_list = normals.as_ref().and(list_of(&Semantic::Normal));
        let faces = Faces::new(&buffer, coordinate_list, normal_list, plan);
        let counts = [
            positions.len(),
            coordinates.map_or(0, |coordinates| coordinates.len()),
            normals.map_or(0, |normals| normals.len()),
        ];
        faces.check(counts)?;
        let kept = plan.triangle_count(&buffer);
        self.outcome.wrote(positions.len(), kept);
        plan.count_degenerate(&buffer, self.outcome);
        self.ids.count(buffer.material_ids(), job, self.outcome)?;
        if let Some(ids) = buffer.material_ids()
            && self.ids.are_merged(job)
        {
            let count = ids.len() as u64;
            let report = &mut self.outcome.report;
            report.leave_out_many(FactKind::MaterialIds, Why::Merged, count);
        }
        if are_points {
            points(self.out, self.next.position, positions.len())?;
        } else {
            self.faces(shape, &buffer, &faces)?;
        }
        let [positions, coordinates, normals] = counts.map(|count| count as u64);
        self.next.position += positions;
        self.next.coordinate += coordinates;
        self.next.normal += normals;
        Ok(())
    }

    /// Charges what a snapshot takes: its arrays and the ones that are written, and the corners of at most three streams.
    fn charge(&self, buffer: &Buffer) -> Result<()> {
        let budget = &self.plan.job.budget;
        let mut elements: usize = 0;
        for stream in buffer.streams() {
            if stream.floats().is_some() {
                elements = elements.saturating_add(stream.len());
            }
        }
        budget.charge_for::<[[f32; 3]; 2]>(elements, "mesh of a snapshot")?;
        let lists = buffer.corners().len().min(3);
        let corners = buffer.triangle_count().saturating_mul(lists);
        budget.charge_for::<[u32; 3]>(corners, "triangles of a mesh")
    }

    fn begin_object(&mut self, shape: &Shape) -> Result<()> {
        let job = self.plan.job;
        let name = if !shape.name().is_empty() {
            shape.name().to_owned()
        } else if shape.has_keys() || job.name.is_empty() {
            job.name.clone()
        } else {
            free(&job.name, &mut self.object_names)
        };
        let otherwise = if shape.has_keys() {
            "mesh".to_owned()
        } else {
            shape.address().to_string()
        };
        writeln!(self.out, "o {}", token(&name, &otherwise))?;
        Ok(())
    }

    /// The numbers of an attribute; `None` if the shape has none, or none that can be written.
    fn array<const N: usize>(
        &mut self,
        buffer: &Buffer,
        semantic: &Semantic,
    ) -> Result<Option<Vec<[f32; N]>>> {
        match buffer.stream(semantic) {
            Some(stream) => read::optional(stream, self.plan, self.outcome),
            None => Ok(None),
        }
    }

    fn coordinate_lines(&mut self, coordinates: &[[f32; 2]]) -> Result<()> {
        for [u, v] in coordinates {
            let v = if self.plan.flips_v { 1.0 - v } else { *v };
            writeln!(self.out, "vt {u} {v}")?;
        }
        Ok(())
    }

    fn faces(&mut self, shape: &Shape, buffer: &Buffer, faces: &Faces) -> Result<()> {
        let Some(corners) = buffer
            .position_corners()
            .filter(|corners| !corners.is_empty())
        else {
            return Ok(());
        };
        if let Some(material) = shape.material() {
            let has_coordinates = faces.coordinates.is_some();
            let image = self.plan.images.of(Some(material));
            let image = image.filter(|_| has_coordinates).map(Texture::path);
            if image.is_some() && buffer.stream(&Semantic::Color(0)).is_some() {
                let count = buffer.position_count() as u64;
                let address = || shape.address().to_string();
                let change = Change::ColorsCovered;
                self.outcome.report.change_at(change, count, address);
            }
            let name = self.materials.name(material.name, self.plan.job)?;
            self.use_material(name, image)?;
        } else if buffer.material_ids().is_none() && !self.materials.images.is_empty() {
            let name = self.materials.none();
            self.use_material(name, None)?;
        }
        let mut ids = buffer.material_ids();
        let mut current = None;
        for (index, triangle) in corners.triangles().enumerate() {
            let id = ids.as_mut().and_then(Iterator::next);
            if !self.plan.keeps(triangle) {
                continue;
            }
            let job = self.plan.job;
            let id = id.map(|id| if self.ids.are_merged(job) { 0 } else { id });
            if let Some(id) = id.filter(|_| id != current) {
                current = Some(id);
                let name = self.ids.name(id, job);
                self.use_material(name, None)?;
            }
            faces.write(index, self.next, self.out)?;
        }
        Ok(())
    }

    fn use_material(&mut self, name: String, image: Option<String>) -> Result<()> {
        writeln!(self.out, "usemtl {name}")?;
        let images = &mut self.materials.images;
        let known = images.get(&name);
        if known.is_none_or(|known| known.is_none() && image.is_some()) {
            let bytes = name.len() + image.as_ref().map_or(0, String::len);
            let budget = &self.plan.job.budget;
            budget.keep(2 * bytes as u64 + 96, "materials")?;
            images.insert(name, image);
        }
        Ok(())
    }
}

impl Materials {
    /// The name of no material: `usemtl` holds for all that follows in the file, not for an object.
    fn none(&mut self) -> String {
        let Self { none, taken, .. } = self;
        none.get_or_insert_with(|| free("none", taken)).clone()
    }

    /// The name in the output of a material of the file.
    fn name(&mut self, name: &str, job: &Job<'_>) -> Result<String> {
        if let Some(known) = self.names.get(name) {
            return Ok(known.clone());
        }
        job.budget.keep(4 * name.len() as u64 + 256, "materials")?;
        let free = free(&token(name, "material"), &mut self.taken);
        self.names.insert(name.to_owned(), free.clone());
        Ok(free)
    }
}

impl Faces {
    fn new(
        buffer: &Buffer,
        coordinates: Option<usize>,
        normals: Option<usize>,
        plan: &Plan<'_>,
    ) -> Self {
        let used = [Some(0), coordinates, normals];
        let mut lists = Vec::new();
        for (list, corners) in buffer.corners().iter().enumerate() {
            lists.push(if used.contains(&Some(list)) {
                let triangles = corners.triangles();
                triangles.map(|corners| plan.turned(corners)).collect()
            } else {
                Vec::new()
            });
        }
        Self {
            lists,
            coordinates,
            normals,
        }
    }

    /// Fails if a corner has an index that is not less than the number of elements, and says where.
    fn check(&self, [positions, coordinates, normals]: [usize; 3]) -> Result<()> {
        let used = [
            (Some(0), positions),
            (self.normals, normals),
            (self.coordinates, coordinates),
        ];
        let mut corners: Vec<&[u32]> = Vec::new();
        let mut counts = Vec::new();
        for (list, count) in used {
            if let Some(list) = list.and_then(|list| self.lists.get(list)) {
                corners.push(list.as_flattened());
                counts.push(count);
            }
        }
        let is_beyond = |(corners, count): (&&[u32], &usize)| {
            corners.iter().any(|index| *index as usize >= *count)
        };
        if corners.iter().zip(&counts).any(is_beyond) {
            VertexRemap::new(&corners, &counts)?;
        }
        Ok(())
    }

    /// The corners of a triangle in a list.
    fn corners(&self, list: Option<usize>, triangle: usize) -> Option<[u32; 3]> {
        self.lists.get(list?)?.get(triangle).copied()
    }

    /// Writes a triangle. `next` has the numbers of the first elements of the shape.
    fn write(&self, triangle: usize, next: Numbers, out: &mut impl Write) -> Result<()> {
        let positions = self.corners(Some(0), triangle).unwrap_or_default();
        let coordinates = self.corners(self.coordinates, triangle);
        let normals = self.corners(self.normals, triangle);
        write!(out, "f")?;
        for (corner, position) in positions.into_iter().enumerate() {
            write!(out, " {}", u64::from(position) + next.position)?;
            let coordinate = coordinates.map(|all| u64::from(all[corner]) + next.coordinate);
            let normal = normals.map(|all| u64::from(all[corner]) + next.normal);
            match (coordinate, normal) {
                (Some(coordinate), Some(normal)) => write!(out, "/{coordinate}/{normal}")?,
                (Some(coordinate), None) => write!(out, "/{coordinate}")?,
                (None, Some(normal)) => write!(out, "//{normal}")?,
                (None, None) => {}
            }
        }
        writeln!(out)?;
        Ok(())
    }
}

fn begin(plan: &Plan<'_>, place: &Place, out: &mut impl Write) -> Result<()> {
    let library = materials_of(place)?;
    let library = library.name().to_string_lossy();
    // No statement of OBJ can name a file with a control character.
    let library = library.replace(char::is_control, "_");
    writeln!(out, "# meshmap")?;
    if let Some(unit) = plan.unit_comment() {
        writeln!(out, "# {unit}")?;
    }
    writeln!(out, "mtllib {library}")?;
    Ok(())
}

fn lines(out: &mut impl Write, what: &str, triples: &[[f32; 3]]) -> Result<()> {
    for [x, y, z] in triples {
        writeln!(out, "{what} {x} {y} {z}")?;
    }
    Ok(())
}

/// Positions with the colours of their vertices, which is not in the format's text, but what most programs read and write.
fn colored_lines(
    out: &mut impl Write,
    positions: &[[f32; 3]],
    colors: impl Iterator<Item = [f32; 4]>,
) -> Result<()> {
    for ([x, y, z], [r, g, b, _]) in positions.iter().zip(colors) {
        writeln!(out, "v {x} {y} {z} {r} {g} {b}")?;
    }
    Ok(())
}

/// Points; `first` is the number of the first one.
fn points(out: &mut impl Write, first: u64, count: usize) -> Result<()> {
    for point in (first..).take(count) {
        writeln!(out, "p {point}")?;
    }
    Ok(())
}

/// A name without what would end it, or continue it on the next line.
fn token(name: &str, otherwise: &str) -> String {
    let name = if name.trim().is_empty() {
        otherwise
    } else {
        name
    };
    let mut token = name.replace(|c: char| c.is_whitespace() || c.is_control(), "_");
    // One more underscore if there are some, so that different names stay different.
    if token.trim_end_matches('_').ends_with('\\') {
        token.push('_');
    }
    token
}

/// The place of the materials of an OBJ.
fn materials_of(place: &Place) -> Result<Place> {
    Ok(place.with_extension("mtl")?)
}

fn write_materials(
    materials: &BTreeMap<String, Option<String>>,
    place: &Place,
    job: &Job<'_>,
) -> Result<Output> {
    let mut output = job.budget.output(&materials_of(place)?)?;
    let out = &mut output;
    writeln!(out, "# meshmap")?;
    for (material, image) in materials {
        match image {
            Some(image) => writeln!(out, "newmtl {material}\nKd 1 1 1\nmap_Kd {image}")?,
            None => writeln!(out, "newmtl {material}\nKd 0.8 0.8 0.8")?,
        }
    }
    Ok(output)
}

/// The decision about a kind of data in OBJ.
pub(crate) fn decide(kind: FactKind, plan: &Plan<'_>) -> Decision {
    match kind {
        FactKind::Unit if plan.job.raw => Decision::Drops,
        FactKind::Normals | FactKind::TexCoords | FactKind::Materials | FactKind::Images
            if plan.scene.are_points() =>
        {
            Decision::Drops
        }
        FactKind::MaterialIds if plan.job.merge_materials => Decision::Drops,
        FactKind::Shapes
        | FactKind::Integers
        | FactKind::Levels
        | FactKind::Snapshots
        | FactKind::Names
        | FactKind::Normals
        | FactKind::TexCoords
        | FactKind::Colors
        | FactKind::MaterialIds
        | FactKind::Materials
        | FactKind::Images => Decision::Keeps,
        FactKind::ThirdTexCoords => Decision::Changes(Change::ThirdTexCoordLost),
        FactKind::Opacity => Decision::Changes(Change::OpacityLost),
        FactKind::BindShape => Decision::Changes(Change::BindShapeApplied),
        // Numbers are in the unit of the target.
        FactKind::Unit => Decision::Keeps,
        FactKind::Tangents
        | FactKind::FurtherTexCoords
        | FactKind::TexCoordNames
        | FactKind::FurtherColors
        | FactKind::Influences
        | FactKind::FurtherInfluences
        | FactKind::CustomAttributes
        | FactKind::CustomData
        | FactKind::EdgeVisibility
        | FactKind::FurtherImages
        | FactKind::OtherLevels
        | FactKind::OtherSnapshots
        | FactKind::StartTime
        | FactKind::Samples
        | FactKind::Joints
        | FactKind::SkinJoints
        | FactKind::JointOffsets
        | FactKind::PelvisOffset
        | FactKind::LockedScales
        | FactKind::Clips
        | FactKind::OtherClips
        | FactKind::LoopFlags
        | FactKind::Events
        | FactKind::FrameBounds
        | FactKind::Hulls
        | FactKind::PhysicsMeshes
        | FactKind::Comments
        | FactKind::Metadata
        | FactKind::Extensions => Decision::Drops,
    }
}
