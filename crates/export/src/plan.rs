//! The rules by which a scene is written: decided once, before the first byte.

use meshmap::{Axis, Scratch, Winding};
use meshmap_job::{Change, Error, Report, Result, Turn, up_of};
use meshmap_scene::vector::is_degenerate;
use meshmap_scene::{Buffer, Corners, Parts, Pose, Scene, Shape, Stream, Unit};

use crate::check::finite;
use crate::images::Images;
use crate::outcome::Outcome;
use crate::settings::{Job, Target, WITH_ROOT};

/// A scene, and the rules by which a target has its numbers.
pub(crate) struct Plan<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) job: &'a Job<'a>,
    /// The images that materials name.
    pub(crate) images: Images,
    /// `true` if corners are written in another order than the file's.
    pub(crate) turns: bool,
    /// `true` if the texture coordinate V is written as 1 - V.
    pub(crate) flips_v: bool,
    /// The axes and the unit of numbers, for targets without a root that turns and scales.
    frame: Option<Frame>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(scene: &'a Scene, job: &'a Job<'a>, report: &mut Report) -> Result<Self> {
        let to = job.target.conventions();
        let front_face = to.front_face.unwrap_or(Winding::CounterClockwise);
        let turns = scene.turns_triangles(front_face)? != job.flip;
        let mut frame = None;
        if !WITH_ROOT.contains(&job.target) {
            frame = Some(Frame::new(scene, job, report));
        }
        Ok(Self {
            scene,
            job,
            images: Images::default(),
            turns,
            flips_v: to.v_origin.is_some_and(|to| to != scene.v_origin()),
            frame,
        })
    }

    /// `true` if triangles with two equal corners are left out.
    pub(crate) fn drops_degenerate(&self) -> bool {
        self.job.drops_degenerate() || self.scene.are_points()
    }

    /// `true` if a triangle with these corners is written.
    pub(crate) fn keeps(&self, corners: [u32; 3]) -> bool {
        !self.drops_degenerate() || !is_degenerate(corners)
    }

    /// The corners of a triangle in the order in which they are written.
    pub(crate) fn turned(&self, [a, b, c]: [u32; 3]) -> [u32; 3] {
        if self.turns { [a, c, b] } else { [a, b, c] }
    }

    /// The triangles that are written, as they are stored, with their numbers.
    pub(crate) fn kept<'b>(
        &'b self,
        corners: &'b Corners,
    ) -> impl ExactSizeIterator<Item = (usize, [u32; 3])> + 'b {
        let left = self.kept_count(corners);
        let triangles = corners.triangles().enumerate();
        let kept = triangles.filter(|(_, triangle)| self.keeps(*triangle));
        Counted { kept, left }
    }

    /// The number of triangles of a buffer that are written.
    pub(crate) fn triangle_count(&self, buffer: &Buffer) -> usize {
        match buffer.position_corners() {
            Some(corners) => self.kept_count(corners),
            None => 0,
        }
    }

    fn kept_count(&self, corners: &Corners) -> usize {
        if self.drops_degenerate() {
            let triangles = corners.triangles();
            triangles.filter(|triangle| self.keeps(*triangle)).count()
        } else {
            corners.len()
        }
    }

    /// The triangles of a buffer with one index for each vertex, as they are written.
    pub(crate) fn triangles<'b>(
        &'b self,
        corners: &'b Corners,
    ) -> impl ExactSizeIterator<Item = [u32; 3]> + 'b {
        self.kept(corners)
            .map(|(_, triangle)| self.turned(triangle))
    }

    /// Counts the triangles with two equal corners.
    pub(crate) fn count_degenerate(&self, buffer: &Buffer, outcome: &mut Outcome) {
        if let Some(corners) = buffer.position_corners() {
            outcome.count_degenerate(corners.triangles(), self.drops_degenerate());
        }
    }

    /// Turns directions into the axes of the target.
    pub(crate) fn turn_directions<const N: usize>(&self, values: &mut [[f32; N]]) {
        let Some(frame) = &self.frame else {
            return;
        };
        for value in values {
            if let Some(vector) = value.first_chunk_mut() {
                *vector = frame.turned(*vector);
            }
        }
    }

    /// Turns positions into the axes of the target, and scales them to its unit, which is reported. Fails if one becomes too large.
    pub(crate) fn place(
        &self,
        positions: &mut [[f32; 3]],
        address: impl Fn() -> String,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let Some(frame) = &self.frame else {
            return Ok(());
        };
        for position in positions.iter_mut() {
            *position = frame.turned(*position);
        }
        let count = positions.len() as u64;
        if frame.from != frame.to {
            let from = frame.from;
            let to = frame.to;
            let change = Change::AxesTurned { from, to };
            outcome.report.change(change, count);
        }
        if frame.scale == 1.0 {
            return Ok(());
        }
        for number in positions.as_flattened_mut() {
            #[expect(clippy::cast_possible_truncation, reason = "the nearest is written")]
            let scaled = (f64::from(*number) * frame.scale) as f32;
            *number = scaled;
        }
        let (from, to) = frame.units;
        let change = Change::UnitConverted { from, to };
        outcome.report.change(change, count);
        let address = || format!("{} in the unit of the target", address());
        finite(positions, address, self.job, outcome)
    }

    /// A comment about the unit of numbers, if it is known.
    pub(crate) fn unit_comment(&self) -> Option<String> {
        let Unit::Millimeters(stored) = self.scene.unit() else {
            return None;
        };
        let unit = match self.job.target {
            _ if self.job.raw => stored,
            target => unit_of(target),
        };
        Some(format!("unit: {unit} mm"))
    }

    /// Charges what a read has decoded, which is written next: what meshes have was charged when the scene was made.
    pub(crate) fn charge_read(&self, buffer: &Buffer) -> Result<()> {
        let budget = &self.job.budget;
        budget.charge(size_of_buffer(buffer), "attributes of a mesh")?;
        let Some(positions) = buffer.positions().and_then(Stream::floats) else {
            return Ok(());
        };
        let points = positions.len() as u64;
        let triangles = buffer.triangle_count() as u64;
        budget.read_geometry(points, triangles)
    }

    /// The name of the object above all others: the name of the file. It is longer if an object has this name, because programs such as
    /// Blender rename one of two objects with the same name.
    pub(crate) fn root_name(&self) -> String {
        /// The name of the root if objects have no name to share with it.
        const ROOT: &str = "meshmap_root";
        let name = &self.job.name;
        if name.is_empty() {
            return ROOT.to_owned();
        }
        let mut shapes = self.scene.shapes().iter();
        let is_taken = shapes.any(|shape| self.job.name_of(shape.name()) == name);
        let end = if is_taken { "_root" } else { "" };
        format!("{name}{end}")
    }

    /// Counts the points, and fails if nothing was written. The error says whether the file has animations, which another one may take.
    pub(crate) fn check_written(&self, outcome: &mut Outcome) -> Result<()> {
        if self.scene.are_points() {
            outcome.points = outcome.vertices;
        }
        if outcome.triangles > 0 || outcome.points > 0 || outcome.joints > 0 {
            return Ok(());
        }
        Err(Error::NothingToConvert {
            has_animations: self.scene.has_animations(),
            has_unusable: outcome.report.has_damage(),
        })
    }

    /// These parts of the shapes at their first keys, with one index for all attributes of a vertex: for targets without time.
    pub(crate) fn vertices(&self, parts: Parts) -> Result<Vec<Buffer>> {
        let mut all = Vec::new();
        for shape in self.scene.shapes() {
            let mut buffer = Buffer::default();
            if self.scene.are_points() && shape.has_keys() {
                // Nothing refers to the other streams: corners of triangles that are left out would make points of them.
                let parts = Parts::POSITIONS | Parts::TRIANGLES;
                shape.read(0, parts, &mut buffer, &mut Scratch::default())?;
            } else {
                shape.read_vertices(0, parts, &mut buffer)?;
            }
            self.job
                .budget
                .keep(size_of_buffer(&buffer), "attributes of all meshes")?;
            if shape.has_keys() {
                let positions = buffer.position_count() as u64;
                let triangles = buffer.triangle_count() as u64;
                self.job.budget.read_geometry(positions, triangles)?;
            }
            all.push(buffer);
        }
        Ok(all)
    }

    /// `true` if vertices stand in a frame of an animation.
    pub(crate) fn is_posed(&self) -> bool {
        self.scene.pose().is_some_and(Pose::is_frame)
    }

    /// `true` if the vertices are points to which nothing but positions belongs: corners of triangles have the indices of all else.
    pub(crate) fn has_bare_points(&self) -> bool {
        self.scene.are_points() && self.scene.shapes().iter().any(Shape::has_keys)
    }

    /// `true` if the target writes joints of this scene.
    pub(crate) fn has_joints(&self) -> bool {
        WITH_ROOT.contains(&self.job.target)
    }
}

/// The unit of a target without a root, in millimetres.
fn unit_of(target: Target) -> f64 {
    if target == Target::Stl { 1.0 } else { 1000.0 }
}

/// The axes and the unit of the numbers that are written.
struct Frame {
    from: Axis,
    to: Axis,
    turn: Turn,
    /// The units of the file and of the target, in millimetres.
    units: (f64, f64),
    scale: f64,
}

impl Frame {
    /// The frame of a target, or of the file if its numbers are kept.
    fn new(scene: &Scene, job: &Job<'_>, report: &mut Report) -> Self {
        let conventions = job.target.conventions();
        let turns = !job.raw || job.turn != Turn::None;
        let from = if turns {
            up_of(scene, report)
        } else {
            scene.up()
        };
        let mut frame = Self {
            from,
            to: from,
            turn: job.turn,
            units: (1.0, 1.0),
            scale: 1.0,
        };
        if !job.raw {
            frame.to = conventions.up.unwrap_or(from);
            if let Unit::Millimeters(unit) = scene.unit() {
                let target = unit_of(job.target);
                frame.units = (unit, target);
                frame.scale = unit / target;
            }
        }
        frame
    }

    /// A vector in the axes of the target.
    fn turned(&self, vector: [f32; 3]) -> [f32; 3] {
        self.turn
            .about(self.to, self.from.rotate_to(self.to, vector))
    }
}

/// The memory of a buffer without its numbers, in lists that have grown, and of its index.
fn size_of_buffer(buffer: &Buffer) -> u64 {
    const OF_INDEX_ENTRY: usize = 64;
    let streams = buffer
        .streams()
        .len()
        .saturating_mul(2 * size_of::<Stream>() + OF_INDEX_ENTRY);
    let lists = buffer
        .corners()
        .len()
        .saturating_mul(2 * size_of::<Corners>());
    (2 * size_of::<Buffer>())
        .saturating_add(streams)
        .saturating_add(lists) as u64
}

/// Elements that were counted before.
struct Counted<I> {
    kept: I,
    left: usize,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let next = self.kept.next()?;
        self.left = self.left.saturating_sub(1);
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}
