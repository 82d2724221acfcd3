//! The triangles of a file's meshes, as they are drawn.

use std::ops::Range;

use meshmap::{
    Attribute, Axis, Bounds, Influences, MeshFile, MeshView, Semantic, colors_to_linear,
};
use meshmap_job::{Budget, Change, Error, Moment, Result, Why, check_snapshots};
use meshmap_scene::vector::{cross, dot, dot_width, face_normal, sub, unit_of_f64};
use meshmap_scene::{FactKind, Pose, PosedFrame, Scene, SceneOptions, Tints, VectorKind};

use crate::camera::{Frame, View};
use crate::color::Light;
use crate::settings::{Render, Rendered, TARGET};

/// Triangles of all meshes, with the vertices that they use.
pub(crate) struct Drawing {
    /// The axis that points up.
    pub(crate) up: Axis,
    pub(crate) positions: Vec<[f32; 3]>,
    /// Normals of length 1, or 0 if the file's normal has length 0.
    pub(crate) normals: Vec<[f32; 3]>,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// The surface of each triangle.
    pub(crate) surfaces: Vec<Surface>,
    /// The index of each vertex in its mesh.
    pub(crate) indices: Vec<u32>,
    /// The colour of each vertex; empty if no mesh has colours.
    pub(crate) colors: Vec<Option<Light>>,
    /// The vertices of the meshes, those included that no triangle uses.
    pub(crate) vertices: usize,
    /// The share of the largest distance for each vertex, if distances are shown.
    pub(crate) heat: Option<Vec<f32>>,
    /// `true` for points and bones, which are drawn as dots.
    has_dots: bool,
    tints: Tints,
}

/// The properties that the triangles of a surface share.
#[derive(Clone, Copy)]
pub(crate) struct Surface {
    /// The number of its colour.
    pub(crate) tint: u16,
    /// `true` if normals are computed, so that a triangle's normal may have to replace them.
    pub(crate) is_creased: bool,
}

/// The corners of an octahedron: four around, and the ends.
const DOT: [[f32; 3]; 6] = [
    [1., 0., 0.],
    [0., 1., 0.],
    [-1., 0., 0.],
    [0., -1., 0.],
    [0., 0., 1.],
    [0., 0., -1.],
];
const FACES: [[u32; 3]; 8] = [
    [0, 1, 4],
    [1, 2, 4],
    [2, 3, 4],
    [3, 0, 4],
    [1, 0, 5],
    [2, 1, 5],
    [3, 2, 5],
    [0, 3, 5],
];

/// More dots would hide each other.
const MOST_DOTS: usize = 50_000;

/// Memory for a vertex as it is drawn, and on the picture; the same of a triangle.
const DRAWN: [u64; 2] = [64, 24];

/// The vertices that triangles use, in the order of the file.
struct Used {
    indices: Vec<u32>,
    /// From the first to the last of them.
    run: Range<usize>,
    /// For each vertex of the run, its index in the used vertices; empty if few of many are used.
    places: Vec<u32>,
}

impl Used {
    fn of(corners: &[u32]) -> Self {
        let ends = |(first, last): (u32, u32), index: &u32| (first.min(*index), last.max(*index));
        let (first, last) = corners.iter().fold((u32::MAX, 0), ends);
        let run = first as usize..(last as usize).saturating_add(1);
        if run.len() > corners.len() {
            let mut indices = corners.to_vec();
            indices.sort_unstable();
            indices.dedup();
            return Self {
                indices,
                run,
                places: Vec::new(),
            };
        }
        let mut places = vec![u32::MAX; run.len()];
        for corner in corners {
            if let Some(place) = places.get_mut((corner - first) as usize) {
                *place = 0;
            }
        }
        let mut indices = Vec::new();
        for (place, index) in places
            .iter_mut()
            .zip(first..)
            .filter(|(place, _)| **place == 0)
        {
            // Fewer than the indices, which are 32 bits wide.
            *place = indices.len() as u32;
            indices.push(index);
        }
        Self {
            indices,
            run,
            places,
        }
    }

    /// The index of a vertex in the used vertices.
    fn place(&self, index: u32) -> u32 {
        match self
            .places
            .get((index as usize).saturating_sub(self.run.start))
        {
            Some(place) => *place,
            None => self.indices.binary_search(&index).unwrap_or(0) as u32,
        }
    }

    /// The vertex at a place.
    fn index(&self, place: usize) -> u32 {
        self.indices.get(place).copied().unwrap_or(0)
    }

    fn read<const N: usize>(&self, attribute: &Attribute) -> Vec<[f32; N]> {
        let is_dense = !self.places.is_empty();
        let all = if is_dense {
            attribute.slice(self.run.clone())
        } else {
            None
        };
        let all: Vec<[f32; N]> = all.map(|part| part.to_f32()).unwrap_or_default();
        if is_dense && all.len() == self.indices.len() {
            return all;
        }
        let one = |index: &u32| {
            let index = *index as usize;
            if is_dense {
                return all.get(index - self.run.start).copied().unwrap_or([0.0; N]);
            }
            let element = attribute.slice(index..index + 1);
            element
                .and_then(|element| element.iter_f32().next())
                .unwrap_or([0.0; N])
        };
        self.indices.iter().map(one).collect()
    }
}

/// A shape that is drawn, with one index for all attributes of a vertex.
struct Mesh {
    /// The index of the shape in the scene.
    index: usize,
    view: MeshView,
}

impl Mesh {
    fn all_of(scene: &Scene, budget: &Budget) -> Result<Vec<Self>> {
        let mut meshes = Vec::with_capacity(scene.shapes().len());
        for (index, shape) in scene.shapes().iter().enumerate() {
            if shape.is_coarser() {
                continue;
            }
            let view = shape.view(0)?;
            if shape.has_keys() {
                budget.read_geometry(view.vertex_count() as u64, view.triangle_count() as u64)?;
            }
            meshes.push(Self { index, view });
        }
        Ok(meshes)
    }
}

impl Drawing {
    fn empty(up: Axis, has_dots: bool) -> Self {
        Self {
            up,
            positions: Vec::new(),
            normals: Vec::new(),
            triangles: Vec::new(),
            surfaces: Vec::new(),
            indices: Vec::new(),
            colors: Vec::new(),
            vertices: 0,
            heat: None,
            has_dots,
            tints: Tints::default(),
        }
    }

    /// The triangles of a file at a moment.
    pub(crate) fn of(
        file: &MeshFile,
        render: &Render,
        moment: Moment,
        budget: &Budget,
        rendered: &mut Rendered,
    ) -> Result<Self> {
        budget.begin_scene();
        check_snapshots(file, TARGET)?;
        let mut options = SceneOptions::default();
        options.meshes.clone_from(&render.meshes);
        options.levels = render.lod.levels();
        options.up = render.up;
        match moment {
            Moment::Stored => options.snapshots = Some(vec![0]),
            Moment::Snapshot(index) => options.snapshots = Some(vec![index]),
            Moment::Frame(index) => {
                options.frame = Some(PosedFrame::new(index));
            }
        }
        let scene = budget.scene(file, &options, TARGET)?;
        meshmap_job::report_all(scene.remarks(), &mut rendered.report);
        let meshes = Mesh::all_of(&scene, budget)?;
        let has_dots = scene.are_points() || !scene.bones().is_empty();
        let up = meshmap_job::up_of(&scene, &mut rendered.report);
        let mut drawing = Self::empty(up, has_dots);
        drawing.tints = scene.tints();
        drawing.reserve(&meshes, &scene, budget)?;
        for (ordinal, mesh) in meshes.iter().enumerate() {
            if scene.are_points() {
                drawing.add_points(mesh, ordinal, scene.pose(), render, rendered)?;
                continue;
            }
            drawing.add(mesh, scene.pose(), render, rendered)?;
        }
        let width = dot_width(scene.bones().as_flattened());
        for [from, to] in scene.bones() {
            drawing.add_bone(*from, *to, width);
        }
        if drawing.triangles.is_empty() {
            let what = if meshes.is_empty() {
                "the file has no mesh to draw"
            } else {
                "the mesh has no triangles"
            };
            return Err(Error::NotHeld {
                target: TARGET,
                what: what.to_owned(),
            });
        }
        rendered.triangles = drawing.triangles.len() as u64;
        Ok(drawing)
    }

    /// Makes a scene visible whose triangles together cover less than a thousandth of the picture, from each of the views: first without
    /// the corners of triangles that have no area, then with dots at the corners.
    ///
    /// The verdict depends on the scene and not on the number of pixels. Dots are at least three pixels wide.
    pub(crate) fn make_visible(
        &mut self,
        views: &[View],
        frame: Frame,
        budget: &Budget,
        rendered: &mut Rendered,
    ) -> Result<()> {
        /// The number of dots on the diagonal of a picture.
        const DOTS: f64 = 150.0;
        let is_faint = |this: &Self| views.iter().all(|view| this.is_faint(view));
        if self.has_dots || !is_faint(self) {
            return Ok(());
        }
        let mut is_corner = vec![false; self.positions.len()];
        let have_area = self
            .triangles
            .iter()
            .filter(|triangle| !is_degenerate(self.corners(triangle)));
        for corner in have_area.flatten() {
            if let Some(is_corner) = is_corner.get_mut(*corner as usize) {
                *is_corner = true;
            }
        }
        // Without an area, there is nothing to draw.
        let Some(first) = is_corner.iter().position(|is| *is) else {
            return Ok(());
        };
        let place = self.positions.get(first).copied().unwrap_or_default();
        let mut corners = Vec::new();
        for (position, is_corner) in self.positions.iter_mut().zip(is_corner) {
            if is_corner {
                corners.push(*position);
            } else {
                *position = place;
            }
        }
        if !is_faint(self) {
            let triangles = (self.indices.len() / 3) as u64;
            rendered.report.change(Change::TrianglesOutside, triangles);
            return Ok(());
        }
        let step = corners.len().div_ceil(MOST_DOTS).max(1);
        let dots = || corners.iter().step_by(step);
        let elements = [dots().len() * DOT.len(), dots().len() * FACES.len()];
        budget.charge(memory(elements, DRAWN), "dots to draw")?;
        let extent = extent(&corners);
        // The square of an extent may be more than `f32` can hold.
        let radius = f64::max(
            dot(extent, extent).sqrt() / DOTS,
            pixels(3.0, extent, frame),
        ) / 2.0;
        for place in dots() {
            let at = |corner: [f32; 3]| {
                let at = |axis: usize| f64::from(place[axis]) + radius * f64::from(corner[axis]);
                [0, 1, 2]
                    .map(|axis| at(axis).clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32)
            };
            self.add_octahedron(DOT.map(at), 0);
        }
        self.indices.resize(self.positions.len(), 0);
        if !self.colors.is_empty() {
            self.colors.resize(self.positions.len(), None);
        }
        let triangles = (self.indices.len() / 3) as u64;
        rendered.report.change(Change::TrianglesAsDots, triangles);
        Ok(())
    }

    /// `true` if the areas of all triangles are together less than a thousandth of the area of the picture, from far away. Most scenes need
    /// few triangles to know.
    fn is_faint(&self, view: &View) -> bool {
        const LEAST: f64 = 1e-3;
        let seen = |point: [f32; 3]| view.apply(point.map(f64::from));
        let (mut least, mut most) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for point in self.positions.iter().map(|point| seen(*point)) {
            least = [0, 1, 2].map(|axis| f64::min(least[axis], point[axis]));
            most = [0, 1, 2].map(|axis| f64::max(most[axis], point[axis]));
        }
        let side = f64::max(most[0] - least[0], most[1] - least[1]);
        let area = |triangle: &[u32; 3]| {
            let [a, b, c] = self.corners(triangle).map(seen);
            let ([ux, uy, _], [vx, vy, _]) = (sub(b, a), sub(c, a));
            (ux * vy - uy * vx).abs() / 2.0
        };
        let enough = LEAST * (side * side);
        let mut covered = 0.0;
        !self.triangles.iter().map(area).any(|area| {
            covered += area;
            covered >= enough
        })
    }

    fn corners(&self, triangle: &[u32; 3]) -> [[f32; 3]; 3] {
        triangle.map(|corner| {
            self.positions
                .get(corner as usize)
                .copied()
                .unwrap_or_default()
        })
    }

    /// The error of a picture on which no triangle covers a sample.
    pub(crate) fn nothing_drawn(&self) -> Error {
        let count = self.triangles.len();
        let what = match self
            .triangles
            .iter()
            .all(|triangle| is_degenerate(self.corners(triangle)))
        {
            true if count == 1 => "nothing to draw: the only triangle has no area".to_owned(),
            true => format!("nothing to draw: none of the {count} triangles has an area"),
            false => {
                "nothing is drawn: every triangle is seen edge-on or is smaller than a pixel; \
                use a larger picture, another axis that points up, or single meshes"
                    .to_owned()
            }
        };
        Error::NotHeld {
            target: TARGET,
            what,
        }
    }

    /// Charges what the meshes and bones need, all at once, so that an error names the whole; then allocates it.
    fn reserve(&mut self, meshes: &[Mesh], scene: &Scene, budget: &Budget) -> Result<()> {
        /// With a colour.
        const COLOR: u64 = 16;
        /// As it is read: an attribute, and a normal that is computed. The corners of a triangle, twice.
        const READ: [u64; 2] = [96, 32];
        /// The memory of the library for a vertex while it decodes an attribute.
        const READING: u64 = 32;
        /// The joints and weights of a vertex that is moved.
        const MOVED: u64 = 64;
        let has_colors = meshes.iter().any(|mesh| mesh.view.has(&Semantic::Color(0)));
        let (mut drawn, mut read) = ([0_usize; 2], 0_u64);
        for mesh in meshes {
            let [vertices, triangles] = size(&mesh.view, scene.are_points());
            drawn = [
                drawn[0].saturating_add(vertices),
                drawn[1].saturating_add(triangles),
            ];
            // One mesh after another is read.
            let of_vertex = READ[0] + if scene.pose().is_some() { MOVED } else { 0 };
            read = read.max(memory([vertices, triangles], [of_vertex, READ[1]]));
        }
        let bones = scene.bones().len().saturating_mul(2);
        drawn[0] = drawn[0].saturating_add(bones.saturating_mul(DOT.len()));
        drawn[1] = drawn[1].saturating_add(bones.saturating_mul(FACES.len()));
        let of_vertex = DRAWN[0] + if has_colors { COLOR } else { 0 };
        let bytes = memory(drawn, [of_vertex, DRAWN[1]]).saturating_add(read);
        let [vertices, triangles] = drawn;
        {
            // The library charges the memory in which it decodes attributes by itself: it has room.
            let _scope = budget.scope();
            budget.charge(
                bytes.saturating_add(memory(drawn, [READING, 0])),
                "triangles to draw",
            )?;
        }
        budget.charge(bytes, "triangles to draw")?;
        self.positions.reserve_exact(vertices);
        self.normals.reserve_exact(vertices);
        self.indices.reserve_exact(vertices);
        if has_colors {
            self.colors.reserve_exact(vertices);
        }
        self.triangles.reserve_exact(triangles);
        self.surfaces.reserve_exact(triangles);
        Ok(())
    }

    fn add(
        &mut self,
        mesh: &Mesh,
        pose: Option<&Pose>,
        render: &Render,
        rendered: &mut Rendered,
    ) -> Result<()> {
        let view = &mesh.view;
        let corners = view.indices().to_vec();
        let Some(attribute) = view
            .attribute(&Semantic::Position)?
            .filter(|_| corners.len() >= 3)
        else {
            return Ok(());
        };
        let used = Used::of(&corners);
        let mut positions = used.read::<3>(&attribute);
        drop(attribute);
        finite(
            &mut positions,
            &used,
            view,
            &Semantic::Position,
            render,
            rendered,
        )?;
        let mut normals = view
            .attribute(&Semantic::Normal)?
            .map(|attribute| used.read::<3>(&attribute));
        if let Some(values) = &mut normals {
            match finite(values, &used, view, &Semantic::Normal, render, rendered) {
                Err(Error::NonFinite { address, value }) => {
                    let element = format!("{address} is {value}");
                    let report = &mut rendered.report;
                    report.leave_out(FactKind::Normals, Why::NotFinite, element);
                    normals = None;
                }
                checked => checked?,
            }
        }
        let index_of = |place: usize| used.index(place) as usize;
        if let Some((pose, influences)) = influences(view, pose)? {
            pose.apply(VectorKind::Point, &influences, index_of, &mut positions);
            finite(
                &mut positions,
                &used,
                view,
                &Semantic::Position,
                render,
                rendered,
            )?;
            if let Some(normals) = &mut normals {
                pose.apply(VectorKind::Normal, &influences, index_of, normals);
            }
        }
        let base = self.positions.len();
        let base = u32::try_from(base)
            .ok()
            .filter(|base| base.checked_add(u32::MAX >> 1).is_some());
        let Some(base) = base.filter(|_| positions.len() < (u32::MAX >> 1) as usize) else {
            let what = "more than 2,147,483,647 vertices".to_owned();
            return Err(Error::NotHeld {
                target: TARGET,
                what,
            });
        };
        let places = |triangle: &[u32; 3]| triangle.map(|corner| used.place(corner));
        let triangles: Vec<[u32; 3]> = corners.as_chunks::<3>().0.iter().map(places).collect();
        drop(corners);
        let is_creased = normals.is_none();
        let mut normals = normals.unwrap_or_else(|| vec![[0.0; 3]; positions.len()]);
        for normal in &mut normals {
            *normal = unit_of_f64(normal.map(f64::from)).unwrap_or([0.0; 3]);
        }
        complete(&mut normals, &positions, &triangles);
        self.surfaces(mesh, is_creased);
        self.colors(&used, view)?;
        self.positions.append(&mut positions);
        self.normals.append(&mut normals);
        self.indices.extend(used.indices);
        self.vertices = self.vertices.saturating_add(view.vertex_count());
        self.triangles.extend(
            triangles
                .into_iter()
                .map(|triangle| triangle.map(|corner| base + corner)),
        );
        Ok(())
    }

    /// Adds the colours of vertices that are added next.
    fn colors(&mut self, used: &Used, view: &MeshView) -> Result<()> {
        let Some(attribute) = view.attribute(&Semantic::Color(0))? else {
            if !self.colors.is_empty() {
                self.colors
                    .resize(self.colors.len() + used.indices.len(), None);
            }
            return Ok(());
        };
        // Meshes before it may have none.
        self.colors.resize(self.positions.len(), None);
        let mut colors = used.read::<4>(&attribute);
        let are_colors = colors_to_linear(&mut colors);
        self.colors.extend(
            colors
                .into_iter()
                .map(|[red, green, blue, _]| are_colors.then_some([red, green, blue])),
        );
        Ok(())
    }

    /// Draws the vertices of a cloud as dots: octahedra, which have the colour of the mesh.
    fn add_points(
        &mut self,
        mesh: &Mesh,
        ordinal: usize,
        pose: Option<&Pose>,
        render: &Render,
        rendered: &mut Rendered,
    ) -> Result<()> {
        let view = &mesh.view;
        let Some(attribute) = view.attribute(&Semantic::Position)? else {
            return Ok(());
        };
        let step = attribute.len().div_ceil(MOST_DOTS).max(1);
        if step > 1 {
            let points = attribute.len() as u64;
            let address = || view.address().to_string();
            rendered
                .report
                .change_at(Change::PointsSampled, points, address);
        }
        let indices: Vec<u32> = (0..).take(attribute.len()).step_by(step).collect();
        let used = Used::of(&indices);
        let mut points = used.read::<3>(&attribute);
        drop(attribute);
        finite(
            &mut points,
            &used,
            view,
            &Semantic::Position,
            render,
            rendered,
        )?;
        if let Some((pose, influences)) = influences(view, pose)? {
            pose.apply(
                VectorKind::Point,
                &influences,
                |place| used.index(place) as usize,
                &mut points,
            );
            finite(
                &mut points,
                &used,
                view,
                &Semantic::Position,
                render,
                rendered,
            )?;
        }
        self.colors(&used, view)?;
        // One for each point, of which each corner of its dot has it.
        let first = self.colors.len() - points.len().min(self.colors.len());
        let colors = self.colors.split_off(first);
        self.colors
            .extend(colors.into_iter().flat_map(|color| [color; DOT.len()]));
        let radius =
            dot_width(&points).max(pixels(1.5, extent(&points), render.frame()) as f32) / 2.0;
        for (point, index) in points.iter().zip(&indices) {
            let at = |corner: [f32; 3]| [0, 1, 2].map(|axis| point[axis] + radius * corner[axis]);
            self.add_octahedron(DOT.map(at), u16::try_from(ordinal).unwrap_or(u16::MAX));
            self.indices.extend([*index; DOT.len()]);
        }
        self.vertices = self.vertices.saturating_add(view.vertex_count());
        Ok(())
    }

    /// Draws a bone from a joint to its child, and a dot at the child.
    fn add_bone(&mut self, from: [f32; 3], to: [f32; 3], width: f32) {
        let along = sub(to.map(f64::from), from.map(f64::from));
        let side = unit_of_f64(cross(along, [0.0, 0.0, 1.0]))
            .or(unit_of_f64(cross(along, [0.0, 1.0, 0.0])));
        let at = |share: f64, a: f64, b: f64, x: [f64; 3], y: [f64; 3]| {
            [0, 1, 2].map(|axis| {
                (f64::from(from[axis]) + share * along[axis] + a * x[axis] + b * y[axis]) as f32
            })
        };
        if let Some(x) = side.map(|side| side.map(f64::from)) {
            let y = unit_of_f64(cross(along, x))
                .unwrap_or_default()
                .map(f64::from);
            let thick = 0.1 * dot(along, along).sqrt();
            let ring = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
                .map(|[a, b]| at(0.2, a * thick, b * thick, x, y));
            let [a, b, c, d] = ring;
            self.add_octahedron([a, b, c, d, to, from], 0);
        }
        let at = |corner: [f32; 3]| [0, 1, 2].map(|axis| to[axis] + width * corner[axis]);
        self.add_octahedron(DOT.map(at), 1);
        self.indices.resize(self.positions.len(), 0);
    }

    /// Adds an octahedron with corners in the order of [`DOT`].
    fn add_octahedron(&mut self, corners: [[f32; 3]; 6], tint: u16) {
        // Fewer than four billion: each is charged.
        let base = self.positions.len() as u32;
        self.positions.extend(corners);
        // None, so that the normals of the triangles are used.
        self.normals.extend([[0.0; 3]; DOT.len()]);
        self.triangles
            .extend(FACES.map(|face| face.map(|corner| base + corner)));
        self.surfaces.extend(
            [Surface {
                tint,
                is_creased: true,
            }; FACES.len()],
        );
    }

    /// Adds the surface of each triangle of a mesh.
    fn surfaces(&mut self, mesh: &Mesh, is_creased: bool) {
        let have_ids = mesh.view.material_ids().is_some();
        for group in mesh.view.groups() {
            let id = have_ids.then_some(group.material);
            let number = self.tints.number(mesh.index, id);
            let tint = (number % Tints::COLORS.len()) as u16;
            self.surfaces.extend(std::iter::repeat_n(
                Surface { tint, is_creased },
                group.triangles.len(),
            ));
        }
    }
}

/// The lengths of the box around points.
fn extent(points: &[[f32; 3]]) -> [f64; 3] {
    let bounds = Bounds::around(points.iter().copied()).unwrap_or_default();
    sub(bounds.max.map(f64::from), bounds.min.map(f64::from))
}

/// About the width of `count` pixels of a picture in which a box of this extent is seen.
fn pixels(count: f64, extent: [f64; 3], frame: Frame) -> f64 {
    let widest = extent.into_iter().fold(0.0, f64::max);
    count * widest / f64::from(frame.width.min(frame.height).max(1))
}

/// `true` if the corners of a triangle lie on one line or in one point, within the rounding of `f32`.
fn is_degenerate(corners: [[f32; 3]; 3]) -> bool {
    const ROUNDING: f64 = f32::EPSILON as f64;
    let [a, b, c] = corners.map(|corner| corner.map(f64::from));
    let normal = face_normal(corners);
    let square = |vector: [f64; 3]| dot(vector, vector);
    square(normal).sqrt() <= ROUNDING * square(sub(b, a)).sqrt() * square(sub(c, a)).sqrt()
}

/// The pose, and the joints of the vertices that follow it.
fn influences<'a>(
    view: &MeshView,
    pose: Option<&'a Pose>,
) -> Result<Option<(&'a Pose, Influences)>> {
    let Some(pose) = pose else { return Ok(None) };
    Ok(pose.influences(view)?.map(|influences| (pose, influences)))
}

/// The most vertices and triangles that are drawn of a mesh.
fn size(view: &MeshView, are_points: bool) -> [usize; 2] {
    if are_points {
        let points = view.vertex_count().min(MOST_DOTS);
        return [points * DOT.len(), points * FACES.len()];
    }
    let triangles = view.triangle_count();
    [
        view.vertex_count().min(triangles.saturating_mul(3)),
        triangles,
    ]
}

/// The memory for some vertices and triangles, of which each takes this.
fn memory(counts: [usize; 2], bytes: [u64; 2]) -> u64 {
    let of = |at: usize| (counts[at] as u64).saturating_mul(bytes[at]);
    of(0).saturating_add(of(1))
}

/// Fails for the first NaN or infinite number, or replaces them all, and says so.
fn finite(
    elements: &mut [[f32; 3]],
    used: &Used,
    view: &MeshView,
    semantic: &Semantic,
    render: &Render,
    rendered: &mut Rendered,
) -> Result<()> {
    let address_of = |place| format!("{}.{semantic}[{}]", view.address(), used.index(place));
    let replaced = meshmap_job::replace_non_finite(elements, address_of, render.zero_non_finite)?;
    let address = || format!("{}.{semantic}", view.address());
    let change = Change::NonFiniteZeroed;
    rendered.report.change_at(change, replaced, address);
    Ok(())
}

/// Gives vertices without a normal the mean of the triangles around their place, by their areas.
fn complete(normals: &mut [[f32; 3]], positions: &[[f32; 3]], triangles: &[[u32; 3]]) {
    if normals.iter().all(|normal| *normal != [0.0; 3]) {
        return;
    }
    // Vertices that differ in other things, as those at a seam do, are one place, which has the index of the first vertex.
    let bits = |index: u32| {
        let position = positions.get(index as usize).copied().unwrap_or_default();
        position.map(|number| (number + 0.0).to_bits())
    };
    let mut sorted: Vec<u32> = (0..).take(positions.len()).collect();
    sorted.sort_unstable_by_key(|index| (bits(*index), *index));
    let mut firsts = vec![0_u32; positions.len()];
    let mut first = 0;
    for pair in std::iter::once(None)
        .chain(sorted.iter().map(Some))
        .zip(&sorted)
    {
        let (before, index) = pair;
        if before.is_none_or(|before| bits(*before) != bits(*index)) {
            first = *index;
        }
        if let Some(place) = firsts.get_mut(*index as usize) {
            *place = first;
        }
    }
    drop(sorted);
    let mut sums = vec![[0.0_f64; 3]; positions.len()];
    for triangle in triangles {
        let [a, b, c] =
            triangle.map(|corner| positions.get(corner as usize).copied().unwrap_or_default());
        let face = face_normal([a, b, c]);
        for corner in triangle {
            let first = firsts
                .get(*corner as usize)
                .and_then(|first| sums.get_mut(*first as usize));
            for (sum, number) in first.into_iter().flatten().zip(face) {
                *sum += number;
            }
        }
    }
    for (normal, first) in normals
        .iter_mut()
        .zip(firsts)
        .filter(|(normal, _)| **normal == [0.0; 3])
    {
        let sum = sums.get(first as usize).copied().unwrap_or_default();
        *normal = unit_of_f64(sum).unwrap_or([0.0; 3]);
    }
}
