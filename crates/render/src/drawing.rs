//! The triangles of a file's meshes, as they are drawn.

use std::ops::Range;
use std::sync::Arc;

use meshmap::{
    Attribute, Axis, Bounds, Influences, MeshFile, MeshView, Semantic, VOrigin, Winding,
    colors_to_linear,
};
use meshmap_job::{
    Budget, Change, Error, ImageProblem, Moment, Report, Result, Why, check_snapshots,
    replace_non_finite, report_all, up_of,
};
use meshmap_scene::vector::{cross, dot, dot_width, face_normal, sub, unit_of_f64};
use meshmap_scene::{FactKind, Pose, PosedFrame, Scene, SceneOptions, Tints, VectorKind, is_image};

use crate::camera::{Frame, View};
use crate::images::Images;
use crate::settings::{Render, Rendered, TARGET};
use crate::texture::{Texel, Texture};

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
    /// The colour and the opacity of each vertex; empty if no mesh has colours.
    pub(crate) colors: Vec<Option<Texel>>,
    /// The texture coordinates of each vertex, with V from above; empty if no mesh has an image.
    pub(crate) coordinates: Vec<[f32; 2]>,
    /// The images of surfaces.
    pub(crate) textures: Vec<Arc<Texture>>,
    /// The vertices of the meshes, those included that no triangle uses.
    pub(crate) vertices: usize,
    /// The share of the largest distance for each vertex, if distances are shown.
    pub(crate) heat: Option<Vec<f32>>,
    /// `true` for points and bones, which are drawn as dots.
    pub(crate) has_dots: bool,
    v_is_from_below: bool,
    tints: Tints,
}

/// The properties that the triangles of a surface share.
#[derive(Clone, Copy)]
pub(crate) struct Surface {
    /// The number of its colour.
    pub(crate) tint: u16,
    /// The index of its image in the scene, or [`NO_TEXTURE`].
    pub(crate) texture: u16,
    /// `true` if normals are computed, so that a triangle's normal may have to replace them.
    pub(crate) is_creased: bool,
}

/// The surface has no image.
pub(crate) const NO_TEXTURE: u16 = u16::MAX;

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
const DRAWN: [u64; 2] = [64, 26];

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

/// The vertices of a mesh that are read.
struct Vertices<'a> {
    view: &'a MeshView,
    used: &'a Used,
    /// `true` if 0 is drawn in place of NaN and infinite numbers.
    zero_non_finite: bool,
}

impl Vertices<'_> {
    /// Fails for the first NaN or infinite number, or replaces them all, and says so.
    fn check(
        &self,
        elements: &mut [[f32; 3]],
        semantic: &Semantic,
        report: &mut Report,
    ) -> Result<()> {
        let view = self.view;
        let used = self.used;
        let address_of = |place| format!("{}.{semantic}[{}]", view.address(), used.index(place));
        let replaced = replace_non_finite(elements, address_of, self.zero_non_finite)?;
        let address = || format!("{}.{semantic}", view.address());
        report.change_at(Change::NonFiniteZeroed, replaced, address);
        Ok(())
    }

    /// Moves positions into a pose.
    fn pose(
        &self,
        pose: &Pose,
        influences: &Influences,
        positions: &mut [[f32; 3]],
        report: &mut Report,
    ) -> Result<()> {
        let index_of = |place: usize| self.used.index(place) as usize;
        pose.apply(VectorKind::Point, influences, index_of, positions);
        self.check(positions, &Semantic::Position, report)
    }
}

/// A shape that is drawn, with one index for all attributes of a vertex.
struct Mesh {
    /// The index of the shape in the scene.
    index: usize,
    view: MeshView,
    /// The image of its surface.
    texture: Option<Arc<Texture>>,
}

impl Mesh {
    fn all_of(
        scene: &Scene,
        render: &Render,
        images: &mut Images,
        budget: &Budget,
        rendered: &mut Rendered,
    ) -> Result<Vec<Self>> {
        let mut meshes = Vec::with_capacity(scene.shapes().len());
        for (index, shape) in scene.shapes().iter().enumerate() {
            if shape.is_coarser() {
                continue;
            }
            let view = shape.view(0)?;
            if shape.has_keys() {
                budget.read_geometry(view.vertex_count() as u64, view.triangle_count() as u64)?;
            }
            let mut texture = None;
            let name = shape.material().and_then(|material| material.image);
            if let Some(name) = name.filter(|_| images.are_drawn()) {
                if view.has(&Semantic::TexCoord(0)) {
                    texture = images.of(name, render, budget, rendered)?;
                } else if is_image(name) {
                    let why = Why::Image(ImageProblem::NoCoordinates);
                    rendered.report.leave_out(FactKind::Images, why, name);
                }
            }
            meshes.push(Self {
                index,
                view,
                texture,
            });
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
            coordinates: Vec::new(),
            textures: Vec::new(),
            vertices: 0,
            heat: None,
            has_dots,
            v_is_from_below: false,
            tints: Tints::default(),
        }
    }

    /// The triangles of a file at a moment.
    pub(crate) fn of(
        file: &MeshFile,
        render: &Render,
        moment: Moment,
        images: &mut Images,
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
        report_all(scene.remarks(), &mut rendered.report);
        let meshes = Mesh::all_of(&scene, render, images, budget, rendered)?;
        let has_dots = scene.are_points() || !scene.bones().is_empty();
        let up = up_of(&scene, &mut rendered.report);
        let mut drawing = Self::empty(up, has_dots);
        drawing.tints = scene.tints();
        drawing.v_is_from_below = scene.v_origin() == VOrigin::Bottom;
        drawing.reserve(&meshes, &scene, budget)?;
        rendered.triangles = 0;
        rendered.points = 0;
        for (ordinal, mesh) in meshes.iter().enumerate() {
            if scene.are_points() {
                drawing.add_points(mesh, ordinal, scene.pose(), render, rendered)?;
                continue;
            }
            drawing.add(mesh, &scene, render, rendered)?;
        }
        let joints = scene.bones().as_flattened();
        let width = f64::max(f64::from(dot_width(joints)), scale_of(joints) / 150.0);
        for [from, to] in scene.bones() {
            drawing.add_bone(*from, *to, width as f32);
        }
        rendered.joints = scene.bones().len() as u64;
        if drawing.triangles.is_empty() {
            return Err(Error::NothingToDraw {
                has_unusable: rendered.report.has_damage(),
            });
        }
        Ok(drawing)
    }

    /// Makes a scene visible whose triangles together cover less than a thousandth of the picture, from each of the views: first without
    /// the corners of triangles that have no area, then with dots at the corners. If no triangle has an area, lines show them as well.
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
        let triangles = self.triangles.len();
        let mut lines = Vec::new();
        let mut corners = self.corners_with_area();
        if corners.is_empty() {
            corners.clone_from(&self.positions);
            lines = self.longest_sides();
        } else if !is_faint(self) {
            let change = Change::TrianglesOutside;
            rendered.report.change(change, triangles as u64);
            return Ok(());
        }
        if is_one_place(&corners) {
            // Each dot would fill the picture.
            corners.truncate(1);
        }
        let step = corners.len().div_ceil(MOST_DOTS).max(1);
        let dots = || corners.iter().step_by(step);
        let shapes = dots().len() + lines.len();
        let elements = [shapes * DOT.len(), shapes * FACES.len()];
        budget.charge(memory(elements, DRAWN), "dots to draw")?;
        let extent = extent(&corners);
        // The square of an extent may be more than `f32` can hold.
        let diagonal = dot(extent, extent).sqrt();
        let radius = f64::max(diagonal / DOTS, pixels(3.0, &corners, frame)) / 2.0;
        for place in dots() {
            let at = |corner: [f32; 3]| {
                let at = |axis: usize| f64::from(place[axis]) + radius * f64::from(corner[axis]);
                [0, 1, 2]
                    .map(|axis| at(axis).clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32)
            };
            self.add_octahedron(DOT.map(at), 0);
        }
        for [from, to] in lines {
            self.add_spindle(from, to, 0.5, radius / 2.0);
        }
        self.indices.resize(self.positions.len(), 0);
        if !self.colors.is_empty() {
            self.colors.resize(self.positions.len(), None);
        }
        let change = Change::TrianglesAsDots;
        rendered.report.change(change, triangles as u64);
        Ok(())
    }

    /// The corners of triangles that have an area. The other vertices move to one of them, so that they do not count; nothing moves if there
    /// are none.
    fn corners_with_area(&mut self) -> Vec<[f32; 3]> {
        let mut is_corner = vec![false; self.positions.len()];
        for triangle in &self.triangles {
            if is_degenerate(self.corners(triangle)) {
                continue;
            }
            for corner in triangle {
                if let Some(is_corner) = is_corner.get_mut(*corner as usize) {
                    *is_corner = true;
                }
            }
        }
        let mut corners = Vec::new();
        let Some(first) = is_corner.iter().position(|is| *is) else {
            return corners;
        };
        let place = self.positions.get(first).copied().unwrap_or_default();
        for (position, is_corner) in self.positions.iter_mut().zip(is_corner) {
            if is_corner {
                corners.push(*position);
            } else {
                *position = place;
            }
        }
        corners
    }

    /// The longest side of each triangle, of at most as many triangles as dots.
    fn longest_sides(&self) -> Vec<[[f32; 3]; 2]> {
        let step = self.triangles.len().div_ceil(MOST_DOTS).max(1);
        let mut sides = Vec::new();
        for triangle in self.triangles.iter().step_by(step) {
            let [a, b, c] = self.corners(triangle);
            let length = |from: [f32; 3], to: [f32; 3]| {
                let way = sub(to.map(f64::from), from.map(f64::from));
                dot(way, way)
            };
            let mut longest = [a, b];
            for side in [[b, c], [c, a]] {
                if length(side[0], side[1]) > length(longest[0], longest[1]) {
                    longest = side;
                }
            }
            if longest[0] != longest[1] {
                sides.push(longest);
            }
        }
        sides
    }

    /// `true` if the areas of all triangles are together less than a thousandth of the area of the picture, from far away. Most scenes need
    /// few triangles to know.
    fn is_faint(&self, view: &View) -> bool {
        const LEAST: f64 = 1e-3;
        let seen = |point: [f32; 3]| view.apply(point.map(f64::from));
        let mut least = [f64::INFINITY; 3];
        let mut most = [f64::NEG_INFINITY; 3];
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
        // Everything is in one place.
        if side == 0.0 {
            return true;
        }
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
    pub(crate) fn nothing_drawn() -> Error {
        Error::NotHeld {
            target: TARGET,
            what: "nothing is drawn: every triangle is seen edge-on or is smaller than a pixel; \
                use a larger picture, another axis that points up, or single meshes"
                .to_owned(),
        }
    }

    /// Charges what the meshes and bones need, all at once, so that an error names the whole; then allocates it.
    fn reserve(&mut self, meshes: &[Mesh], scene: &Scene, budget: &Budget) -> Result<()> {
        /// With a colour.
        const COLOR: u64 = 20;
        /// With texture coordinates.
        const COORDINATES: u64 = 8;
        /// As it is read: an attribute, and a normal that is computed. The corners of a triangle, twice.
        const READ: [u64; 2] = [96, 32];
        /// The memory of the library for a vertex while it decodes an attribute.
        const READING: u64 = 32;
        /// The joints and weights of a vertex that is moved.
        const MOVED: u64 = 64;
        /// The work for a vertex and for a triangle.
        const WORK: [u64; 2] = [16, 16];
        /// The work for a picture of anything, above all its shadow: a file of a few bytes may have any number of frames.
        const WORK_OF_MOMENT: u64 = 1 << 18;
        let has_colors = meshes.iter().any(|mesh| mesh.view.has(&Semantic::Color(0)));
        let mut drawn = [0_usize; 2];
        let mut read = 0_u64;
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
        let has_textures = meshes.iter().any(|mesh| mesh.texture.is_some());
        let mut of_vertex = DRAWN[0];
        if has_colors {
            of_vertex += COLOR;
        }
        if has_textures {
            of_vertex += COORDINATES;
        }
        let bytes = memory(drawn, [of_vertex, DRAWN[1]]).saturating_add(read);
        budget.work(
            memory(drawn, WORK).saturating_add(WORK_OF_MOMENT),
            "drawing of all moments",
        )?;
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
        if has_textures {
            self.coordinates.reserve_exact(vertices);
        }
        self.triangles.reserve_exact(triangles);
        self.surfaces.reserve_exact(triangles);
        Ok(())
    }

    fn add(
        &mut self,
        mesh: &Mesh,
        scene: &Scene,
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
        let vertices = Vertices {
            view,
            used: &used,
            zero_non_finite: render.zero_non_finite,
        };
        let mut positions = used.read::<3>(&attribute);
        drop(attribute);
        let report = &mut rendered.report;
        vertices.check(&mut positions, &Semantic::Position, report)?;
        let mut normals = view
            .attribute(&Semantic::Normal)?
            .map(|attribute| used.read::<3>(&attribute));
        if let Some(values) = &mut normals {
            match vertices.check(values, &Semantic::Normal, report) {
                Err(Error::NonFinite { address, value }) => {
                    let element = format!("{address} is {value}");
                    report.leave_out(FactKind::Normals, Why::NotFinite, element);
                    normals = None;
                }
                checked => checked?,
            }
        }
        if let Some((pose, influences)) = influences(view, scene.pose())? {
            vertices.pose(pose, &influences, &mut positions, report)?;
            if let Some(normals) = &mut normals {
                let index_of = |place: usize| used.index(place) as usize;
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
        let mut triangles: Vec<[u32; 3]> = corners.as_chunks::<3>().0.iter().map(places).collect();
        drop(corners);
        let is_creased = normals.is_none();
        let mut normals = normals.unwrap_or_else(|| vec![[0.0; 3]; positions.len()]);
        for normal in &mut normals {
            *normal = unit_of_f64(normal.map(f64::from)).unwrap_or([0.0; 3]);
        }
        if normals.contains(&[0.0; 3]) {
            // Normals of triangles point to the side from which these run counter-clockwise.
            if scene.turns_triangles(Winding::CounterClockwise)? {
                for [_, second, third] in &mut triangles {
                    std::mem::swap(second, third);
                }
            }
            complete(&mut normals, &positions, &triangles);
        }
        self.surfaces(mesh, is_creased);
        self.colors(&used, view)?;
        if mesh.texture.is_some() {
            self.coordinates(&used, view)?;
        }
        self.positions.append(&mut positions);
        self.normals.append(&mut normals);
        self.indices.extend(used.indices);
        self.vertices = self.vertices.saturating_add(view.vertex_count());
        rendered.triangles = rendered.triangles.saturating_add(triangles.len() as u64);
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
        self.colors
            .extend(colors.into_iter().map(|color| are_colors.then_some(color)));
        Ok(())
    }

    /// Adds the texture coordinates of vertices that are added next.
    fn coordinates(&mut self, used: &Used, view: &MeshView) -> Result<()> {
        let Some(attribute) = view.attribute(&Semantic::TexCoord(0))? else {
            return Ok(());
        };
        // Meshes before it may have no image.
        self.coordinates.resize(self.positions.len(), [0.0; 2]);
        let mut coordinates = used.read::<2>(&attribute);
        if self.v_is_from_below {
            for [_, v] in &mut coordinates {
                *v = 1.0 - *v;
            }
        }
        self.coordinates.append(&mut coordinates);
        Ok(())
    }

    /// The index of an image in the scene.
    fn texture(&mut self, texture: Option<&Arc<Texture>>) -> u16 {
        let Some(texture) = texture else {
            return NO_TEXTURE;
        };
        let known = self
            .textures
            .iter()
            .rposition(|known| Arc::ptr_eq(known, texture));
        let index = known.unwrap_or_else(|| {
            self.textures.push(Arc::clone(texture));
            self.textures.len() - 1
        });
        // Fewer than the names that are looked for.
        u16::try_from(index).unwrap_or(NO_TEXTURE)
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
        let vertices = Vertices {
            view,
            used: &used,
            zero_non_finite: render.zero_non_finite,
        };
        let mut points = used.read::<3>(&attribute);
        drop(attribute);
        let report = &mut rendered.report;
        vertices.check(&mut points, &Semantic::Position, report)?;
        if let Some((pose, influences)) = influences(view, pose)? {
            vertices.pose(pose, &influences, &mut points, report)?;
        }
        self.colors(&used, view)?;
        // One for each point, of which each corner of its dot has it.
        let first = self.colors.len() - points.len().min(self.colors.len());
        let colors = self.colors.split_off(first);
        if is_one_place(&points) {
            // Each dot would fill the picture.
            points.truncate(1);
        }
        let of_dots = colors.into_iter().take(points.len());
        self.colors
            .extend(of_dots.flat_map(|color| [color; DOT.len()]));
        let frame = render.frame();
        let width = render.points.unwrap_or(usual_width(points.len(), frame));
        let radius = (pixels(width, &points, frame) / 2.0) as f32;
        for (point, index) in points.iter().zip(&indices) {
            let at = |corner: [f32; 3]| [0, 1, 2].map(|axis| point[axis] + radius * corner[axis]);
            self.add_octahedron(DOT.map(at), u16::try_from(ordinal).unwrap_or(u16::MAX));
            self.indices.extend([*index; DOT.len()]);
        }
        self.vertices = self.vertices.saturating_add(view.vertex_count());
        rendered.points = rendered.points.saturating_add(view.vertex_count() as u64);
        Ok(())
    }

    /// Draws a bone from a joint to its child, and a dot at the child.
    fn add_bone(&mut self, from: [f32; 3], to: [f32; 3], width: f32) {
        let along = sub(to.map(f64::from), from.map(f64::from));
        // A tenth of its length, nearer to the joint.
        self.add_spindle(from, to, 0.2, 0.1 * dot(along, along).sqrt());
        let at = |corner: [f32; 3]| [0, 1, 2].map(|axis| to[axis] + width * corner[axis]);
        self.add_octahedron(DOT.map(at), 1);
        self.indices.resize(self.positions.len(), 0);
    }

    /// Draws a line that is this thick at a share of its length, and pointed at both ends. Nothing is drawn of one without a length.
    fn add_spindle(&mut self, from: [f32; 3], to: [f32; 3], share: f64, thick: f64) {
        let along = sub(to.map(f64::from), from.map(f64::from));
        let side = unit_of_f64(cross(along, [0.0, 0.0, 1.0]))
            .or(unit_of_f64(cross(along, [0.0, 1.0, 0.0])));
        let Some(x) = side.map(|side| side.map(f64::from)) else {
            return;
        };
        let y = unit_of_f64(cross(along, x))
            .unwrap_or_default()
            .map(f64::from);
        let at = |a: f64, b: f64| {
            [0, 1, 2].map(|axis| {
                let way = share * along[axis] + thick * (a * x[axis] + b * y[axis]);
                (f64::from(from[axis]) + way) as f32
            })
        };
        let corners = [
            at(1.0, 0.0),
            at(0.0, 1.0),
            at(-1.0, 0.0),
            at(0.0, -1.0),
            to,
            from,
        ];
        self.add_octahedron(corners, 0);
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
                texture: NO_TEXTURE,
                is_creased: true,
            }; FACES.len()],
        );
    }

    /// Adds the surface of each triangle of a mesh.
    fn surfaces(&mut self, mesh: &Mesh, is_creased: bool) {
        let texture = self.texture(mesh.texture.as_ref());
        let have_ids = mesh.view.material_ids().is_some();
        for group in mesh.view.groups() {
            let id = have_ids.then_some(group.material);
            let number = self.tints.number(mesh.index, id);
            let tint = (number % Tints::COLORS.len()) as u16;
            self.surfaces.extend(std::iter::repeat_n(
                Surface {
                    tint,
                    texture,
                    is_creased,
                },
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

/// `true` if all of several points have the same coordinates.
fn is_one_place(points: &[[f32; 3]]) -> bool {
    points.len() > 1 && extent(points) == [0.0; 3]
}

/// About the width of `count` pixels of a picture in which points are seen.
fn pixels(count: f64, points: &[[f32; 3]], frame: Frame) -> f64 {
    count * scale_of(points) / f64::from(frame.width.min(frame.height).max(1))
}

/// The longest side of the box around points. Points in one place have the size that dots at numbers of this size can have.
fn scale_of(points: &[[f32; 3]]) -> f64 {
    /// A part of the largest coordinate: a difference that single precision can hold.
    const PART: f64 = 1e-3;
    let widest = extent(points).into_iter().fold(0.0, f64::max);
    if widest > 0.0 {
        return widest;
    }
    let place = points.first().copied().unwrap_or_default();
    let largest = place.map(|number| f64::from(number).abs());
    match largest.into_iter().fold(0.0, f64::max) * PART {
        scale if scale > 0.0 => scale,
        _ => 1.0,
    }
}

/// The width of dots in pixels: so that all together cover about a quarter of the picture, and each can be seen.
fn usual_width(count: usize, frame: Frame) -> f64 {
    let side = f64::from(frame.width.min(frame.height));
    let width = (side * side / (4.0 * count.max(1) as f64)).sqrt();
    // 3 and 20 pixels of 1024.
    width.clamp(side / 341.0, side / 51.0).max(1.5)
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

/// Gives vertices without a normal the mean of the triangles around their place, by their areas.
fn complete(normals: &mut [[f32; 3]], positions: &[[f32; 3]], triangles: &[[u32; 3]]) {
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
