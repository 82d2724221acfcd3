//! All of a file that is drawn, and what its numbers mean.
//!
//! This is the only place that decides. Conversions (`meshmap-export`), pictures (`meshmap-render`), the browser
//! (`crates/web/src/scene.rs`), Python (`crates/python/src/whole.rs`), Blender through Python (`blender/meshmap_io/model/read.py`), Bevy
//! (`crates/bevy/src/loader.rs`) and C (`crates/capi/src/scene.rs`) ask the same [`Scene`]. `iqm`, `slmesh`, `openctm`, `tmf` and
//! `snapshots` have what is special in a format. `.ci/slow doors` compares all programs, and the written files, with the stored arrays.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use meshmap::slmesh::PhysicsConvex;
use meshmap::{
    Axis, Charge, Conventions, Format, MeshFile, MeshView, Meter, Semantic, VOrigin, Winding,
};

use crate::clip::Clip;
use crate::error::{Error, Result, is_of_a_part};
use crate::fact::{Fact, Facts};
use crate::matrix::IDENTITY;
use crate::options::{Levels, SceneOptions};
use crate::pose::Pose;
use crate::remark::Remark;
use crate::shape::Shape;
use crate::skeleton::Skeleton;
use crate::snapshots::{ObjectName, Snapshots};
use crate::tint::Tints;
use crate::unit::Unit;
use crate::vector::is_degenerate;
use crate::{iqm, openctm, select, shape, slmesh, snapshots, tmf};

/// The look of a file: shapes, what moves them, and what their numbers mean.
///
/// Making it reads headers and tables, and the indices of the meshes that are asked for: no attribute is decoded. The memory that it keeps
/// is limited by the [`Limits`](meshmap::Limits) with which the file was opened.
pub struct Scene {
    format: Format,
    unit: Unit,
    /// The axis that points up, if the options name it.
    up: Option<Axis>,
    shapes: Vec<Shape>,
    are_points: bool,
    pose: Option<Pose>,
    rig: Rig,
    bones: Vec<[[f32; 3]; 2]>,
    remarks: Vec<Remark>,
    /// The errors of meshes that are left out.
    unreadable: Vec<meshmap::Error>,
    file: MeshFile,
    animation: Option<String>,
    /// The levels of detail that are asked for; `None` if addresses of meshes are.
    levels: Option<Levels>,
    runs_against_normals: OnceLock<bool>,
    meter: Arc<Meter<'static>>,
    /// The memory of the shapes.
    charge: Charge<'static>,
}

/// The joints that vertices follow.
enum Rig {
    None,
    Skeleton(iqm::Rig),
    Skin(slmesh::Joints),
}

/// The joints of a scene, as its tables count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Joints {
    /// There are none, or vertices stand in a frame.
    None,
    /// Joints that animations move.
    Skeleton {
        /// The number of joints.
        joints: usize,
        /// The number of animations of the file.
        clips: usize,
    },
    /// Joints to which a mesh is bound, and which the file does not move.
    Skin {
        /// The number of joints; 0 if they cannot be read.
        joints: usize,
    },
}

impl Scene {
    /// The scene of these parts of a file.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading, and an error if the frame or an animation of the options does not fit the file.
    pub fn new(file: &MeshFile, options: &SceneOptions) -> Result<Self> {
        let meter = Arc::new(meter_of(file));
        let mut scene = Self {
            format: file.format(),
            unit: Unit::Metres,
            up: options.up,
            shapes: Vec::new(),
            are_points: false,
            pose: None,
            rig: Rig::None,
            bones: Vec::new(),
            remarks: Vec::new(),
            unreadable: Vec::new(),
            file: file.clone(),
            levels: options.meshes.is_empty().then_some(options.levels),
            animation: options.animation.clone(),
            runs_against_normals: OnceLock::new(),
            charge: Charge::shared(&meter),
            meter,
        };
        scene.unit = match options.unit_millimeters {
            Some(millimeters) => Unit::Millimeters(millimeters),
            None => unit_of(file),
        };
        match file {
            MeshFile::CGeo(proxy) => {
                scene.add_snapshots(file, proxy, options)?;
                return Ok(scene);
            }
            MeshFile::Iqm(model) => scene.add_rig(model, options)?,
            MeshFile::SlMesh(asset) => {
                scene.pose = slmesh::bind_shape(asset, &mut scene.remarks)?;
                scene.rig = slmesh::Joints::of(asset).map_or(Rig::None, Rig::Skin);
            }
            _ => {}
        }
        scene.add_meshes(file, options)?;
        Ok(scene)
    }

    /// The number of triangles of the meshes that a scene of these options has, as far as it is listed before they are read: to refuse a
    /// file of which many meshes share their triangles. The blocks of a Second Life mesh are inflated.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading.
    pub fn listed_triangles(file: &MeshFile, options: &SceneOptions) -> Result<u64> {
        if !options.meshes.is_empty() || file.as_cgeo().is_some() {
            return Ok(0);
        }
        let mut sum: u64 = 0;
        for listed in select::default_meshes(file, options.levels)? {
            sum = sum.saturating_add(listed.triangles.unwrap_or_default());
        }
        Ok(sum)
    }

    fn add_snapshots(
        &mut self,
        file: &MeshFile,
        proxy: &meshmap::cgeo::Proxy,
        options: &SceneOptions,
    ) -> Result<()> {
        let mut groups = Vec::new();
        if options.meshes.is_empty() {
            let count = proxy.snapshot_count();
            let all = || (0..count).collect();
            let mut numbers = options.snapshots.clone().unwrap_or_else(all);
            numbers.sort_unstable();
            numbers.dedup();
            if let Some(number) = numbers.last().copied().filter(|last| *last >= count) {
                // Fails, and says how many there are.
                proxy.snapshot(number)?;
            }
            groups.push(numbers);
        }
        let named = select::snapshots_at(file, proxy, &options.meshes)?;
        groups.extend(named.into_iter().map(|number| vec![number]));
        let name = Arc::new(ObjectName::of(proxy));
        let mut have_triangles = false;
        for numbers in groups {
            let Some(mut snapshots) = Snapshots::new(proxy, &name, &numbers) else {
                continue;
            };
            // Small builds do not have the code for it.
            if options.samples && !cfg!(meshmap_small) {
                snapshots.add_samples(&self.meter)?;
            }
            let are_points = match snapshots.are_points(options.drops_degenerate) {
                Err(Error::Read(error)) if options.skips_unreadable && is_of_a_part(&error) => {
                    self.unreadable.push(error);
                    continue;
                }
                are_points => are_points?,
            };
            have_triangles |= !are_points;
            self.shapes.push(Shape::of_snapshots(snapshots));
        }
        self.are_points = !have_triangles && !self.shapes.is_empty();
        Ok(())
    }

    fn add_rig(&mut self, model: &meshmap::iqm::Model, options: &SceneOptions) -> Result<()> {
        if let Some(frame) = &options.frame
            && model.meshes().len() > 0
        {
            self.pose = Some(Pose::of_frame(model, frame)?);
        }
        let rig = iqm::Rig::new(model, options)?;
        if options.frame.is_none() && rig.moves() {
            self.rig = Rig::Skeleton(rig);
        }
        let frame = options.frame.as_ref().map(|frame| frame.index);
        self.bones = iqm::bones(model, frame, &self.meter)?;
        Ok(())
    }

    fn add_meshes(&mut self, file: &MeshFile, options: &SceneOptions) -> Result<()> {
        if options.meshes.is_empty() {
            for listed in select::default_meshes(file, options.levels)? {
                self.add_mesh(file.mesh(&listed.address), options)?;
            }
        }
        let convex = self.read_hulls(file, options);
        for address in &options.meshes {
            match &convex {
                Ok(Some(convex)) if slmesh::is_of_hulls(address) => {
                    for hull in convex.hulls_at(address)? {
                        let view = slmesh::hull_view(&hull, &self.meter);
                        self.add_mesh(view, options)?;
                    }
                }
                Err(error) if slmesh::is_of_hulls(address) => {
                    self.add_mesh(Err(error.clone()), options)?;
                }
                _ => select::add_views_at(file, address, |view| self.add_mesh(view, options))?,
            }
        }
        if file.as_slmesh().is_some() {
            slmesh::name_faces(&mut self.shapes, options.meshes.is_empty());
        }
        let is_cloud = |view: &MeshView| {
            let drops_all =
                || options.drops_degenerate && view.indices().triangles().all(is_degenerate);
            view.is_point_cloud() || drops_all()
        };
        let views = || self.shapes.iter().filter_map(Shape::mesh);
        if views().all(is_cloud) {
            self.shapes.retain(|shape| {
                let view = shape.mesh();
                view.is_some_and(|view| view.vertex_count() > 0)
            });
            self.are_points = !self.shapes.is_empty();
        }
        Ok(())
    }

    /// The hulls of a Second Life mesh, if some of them are asked for.
    fn read_hulls(
        &mut self,
        file: &MeshFile,
        options: &SceneOptions,
    ) -> meshmap::Result<Option<PhysicsConvex>> {
        let Some(asset) = file.as_slmesh() else {
            return Ok(None);
        };
        if !options.meshes.iter().any(slmesh::is_of_hulls) {
            return Ok(None);
        }
        let convex = asset.physics_convex()?;
        if let Some(convex) = &convex {
            let bytes = slmesh::bytes_of_hulls(convex);
            self.charge.grow(bytes, "points of hulls")?;
        }
        Ok(convex)
    }

    /// Adds a mesh, unless it has no positions, which is a remark, or cannot be read.
    fn add_mesh(&mut self, view: meshmap::Result<MeshView>, options: &SceneOptions) -> Result<()> {
        /// A view without what it shares with the file.
        const OWN: u64 = 1 << 10;
        let view = match view {
            Ok(view) => view,
            Err(error) if options.skips_unreadable && is_of_a_part(&error) => {
                self.unreadable.push(error);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if !view.has(&Semantic::Position) {
            self.remarks
                .push(Remark::NoPositions(view.address().clone()));
            return Ok(());
        }
        let names = view.name().len() + view.material().map_or(0, str::len);
        let triangles = view.triangle_count() as u64;
        let bytes = OWN + names as u64 + triangles.saturating_mul(12);
        self.charge.grow(bytes, "views of all meshes")?;
        self.shapes.push(Shape::of_mesh(view));
        Ok(())
    }

    /// The format of the file, for reports.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The axes, the winding and the texture origin of the format, as far as it has them.
    #[must_use]
    pub fn conventions(&self) -> Conventions {
        self.format.conventions()
    }

    /// The origin of V: of the format or, if it has none, the bottom of the image, as in the programs that usually write it.
    #[must_use]
    pub fn v_origin(&self) -> VOrigin {
        self.conventions().v_origin.unwrap_or(VOrigin::Bottom)
    }

    /// The axis that points up: of the options, of the format or, if it has none, of the programs that usually write it.
    #[must_use]
    pub fn up(&self) -> Axis {
        let known = self.up.or(self.conventions().up);
        known.unwrap_or_else(|| self.format.usual_up())
    }

    /// `false` if neither the format nor the options say which axis points up, so that [`up`](Self::up) is what programs usually write.
    #[must_use]
    pub fn knows_up(&self) -> bool {
        self.up.is_some() || self.conventions().up.is_some()
    }

    /// The meaning of a length of 1.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The transform that makes the numbers of the scene upright and metres: Y points up. Columns one after another. A scene that does not
    /// know its unit keeps its size.
    #[must_use]
    pub fn upright(&self) -> [f64; 16] {
        let scale = self.unit.metres().unwrap_or(1.0);
        let mut matrix = IDENTITY;
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        for (column, axis) in matrix.chunks_exact_mut(4).zip(axes) {
            let turned: [f64; 3] = self.up().rotate_to(Axis::Y, axis);
            for (number, turned) in column.iter_mut().zip(turned) {
                *number = turned * scale;
            }
        }
        matrix
    }

    /// The shapes that are drawn, in the order of the file.
    #[must_use]
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// The colours of the materials, for files that store none.
    #[must_use]
    pub fn tints(&self) -> Tints {
        let mut tints = Tints::default();
        for shape in &self.shapes {
            let name = shape.material().map(|material| material.name);
            let is_drawn = self.are_points || shape.has_keys() || shape.has_triangles();
            tints.add(name, shape.may_have_material_ids(), is_drawn);
        }
        tints
    }

    /// The index of the stored position of each vertex of [`Shape::view`] of a shape that stands still, by its index in
    /// [`shapes`](Self::shapes); `None` if each vertex has its own. A format with separate indices for positions, normals and texture
    /// coordinates has more vertices than positions: programs that edit meshes join these vertices.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading.
    pub fn position_sources(&self, shape: usize) -> Result<Option<Vec<u32>>> {
        match (self.shapes.get(shape), &self.file) {
            (Some(shape), MeshFile::Tmf(document)) => {
                tmf::position_sources(document, &shape.address())
            }
            _ => Ok(None),
        }
    }

    /// `true` if the vertices of all shapes are points: no triangle is drawn.
    #[must_use]
    pub fn are_points(&self) -> bool {
        self.are_points
    }

    /// `true` if nothing has vertices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// The transform of vertices that follow joints, if stored positions are not in the bind pose, or a frame is asked for.
    #[must_use]
    pub fn pose(&self) -> Option<&Pose> {
        self.pose.as_ref()
    }

    /// The joints, as the tables of the file count them.
    #[must_use]
    pub fn joints(&self) -> Joints {
        match &self.rig {
            Rig::None => Joints::None,
            Rig::Skeleton(rig) => Joints::Skeleton {
                joints: rig.joint_count(),
                clips: rig.clip_count(),
            },
            Rig::Skin(joints) => Joints::Skin {
                joints: joints.joint_count(),
            },
        }
    }

    /// The skeleton; `None` if there are no joints, if vertices stand in a [frame](SceneOptions::frame), or if joints cannot be used, which
    /// adds to `remarks`.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading.
    pub fn skeleton(&self, remarks: &mut Vec<Remark>) -> Result<Option<Skeleton>> {
        match &self.rig {
            Rig::None => Ok(None),
            Rig::Skeleton(rig) => rig.skeleton(remarks),
            Rig::Skin(joints) => joints.skeleton(remarks),
        }
    }

    /// The animations for a [skeleton](Self::skeleton) of this many joints: the file's own, then the added ones. An animation that
    /// cannot be played adds to `remarks`.
    #[must_use]
    pub fn clips(&self, joints: usize, remarks: &mut Vec<Remark>) -> Vec<Clip> {
        match &self.rig {
            Rig::Skeleton(rig) => {
                rig.clips(joints, self.animation.as_deref(), &self.meter, remarks)
            }
            Rig::None | Rig::Skin(_) => Vec::new(),
        }
    }

    /// `true` if the [animations](SceneOptions::animations) of other files can be added to a file of this format.
    #[must_use]
    pub fn takes_animations(&self) -> bool {
        self.format == Format::Iqm
    }

    /// `true` if the file has animations, which another file may need.
    #[must_use]
    pub fn has_animations(&self) -> bool {
        self.file
            .as_iqm()
            .is_some_and(|model| model.anims().len() > 0)
    }

    /// The joints of a file without meshes: the places of each and of its parent. Joints that stand in one place are one.
    #[must_use]
    pub fn bones(&self) -> &[[[f32; 3]; 2]] {
        &self.bones
    }

    /// `true` if there are joints and no meshes.
    #[must_use]
    pub fn has_only_joints(&self) -> bool {
        self.is_empty() && !self.bones.is_empty() && !matches!(self.rig, Rig::None)
    }

    /// The data of the file that somebody could miss in an output, counted: each kind once, in the order of [`FactKind::ALL`](crate::FactKind::ALL).
    ///
    /// It covers the parts that are asked for; what is not asked for is counted as a whole. Reads headers and tables, inflates the skin and the
    /// hulls of a Second Life mesh, and reads the triangles of the first snapshot of a CGeo file. Parts that cannot be read count as absent:
    /// reading them reports the damage.
    #[must_use]
    pub fn facts(&self) -> Vec<Fact> {
        self.facts_with(|shape, facts| {
            shape.add_facts(facts);
            shape.add_facts_of_triangles(facts);
        })
    }

    /// Like [`facts`](Self::facts), without the facts of the triangles of snapshots: numbers of materials, and visible edges. No snapshot is
    /// decoded.
    #[must_use]
    pub fn facts_of_tables(&self) -> Vec<Fact> {
        self.facts_with(Shape::add_facts)
    }

    fn facts_with(&self, add_facts: impl Fn(&Shape, &mut Facts)) -> Vec<Fact> {
        let mut facts = Facts::default();
        for shape in &self.shapes {
            add_facts(shape, &mut facts);
        }
        match &self.file {
            MeshFile::CGeo(proxy) => {
                snapshots::add_facts(proxy, self.drawn_snapshots(), &mut facts);
            }
            MeshFile::Iqm(model) => {
                let only = self.animation.as_deref();
                iqm::add_facts(model, only, &mut facts);
                if let Rig::Skeleton(rig) = &self.rig {
                    rig.add_facts_of_others(only, &mut facts);
                }
            }
            MeshFile::SlMesh(asset) => {
                slmesh::add_facts(asset, self.levels, &self.shapes, &mut facts);
            }
            MeshFile::OpenCtm(bodies) => openctm::add_facts(bodies, &mut facts),
            MeshFile::Tmf(document) => tmf::add_facts(document, &mut facts),
            _ => {}
        }
        facts.finish()
    }

    /// The number of snapshots of a CGeo file that shapes have.
    fn drawn_snapshots(&self) -> usize {
        let mut numbers = HashSet::new();
        for shape in &self.shapes {
            numbers.extend((0..shape.key_count()).map(|key| shape.number_of(key)));
        }
        numbers.len()
    }

    /// The meter of the memory that the scene keeps. A program that charges what it makes of the scene to it has one limit for both.
    #[must_use]
    pub fn meter(&self) -> &Arc<Meter<'static>> {
        &self.meter
    }

    /// A meter for the memory that a single call takes. Other threads may be in calls at the same time.
    pub(crate) fn meter_of_call(&self) -> Meter<'static> {
        meter_of(&self.file)
    }

    /// Parts of the file that cannot be used as they are stored.
    #[must_use]
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// The errors of meshes that cannot be read, if the options [skip](SceneOptions::skips_unreadable) these.
    #[must_use]
    pub fn unreadable(&self) -> &[meshmap::Error] {
        &self.unreadable
    }

    /// `true` if most normals of the first shape that has some point away from the fronts of its triangles, by the winding of the format:
    /// see [`MeshView::runs_against_normals`]. Reads this shape once.
    ///
    /// # Errors
    ///
    /// Returns an error if the first snapshot does not exist. Damage counts as `false`, because reading the mesh reports it.
    pub fn runs_against_normals(&self) -> Result<bool> {
        if let Some(known) = self.runs_against_normals.get() {
            return Ok(*known);
        }
        let mut against = false;
        for shape in &self.shapes {
            if let Some(verdict) = shape.runs_against_normals(self.front_face())? {
                against = verdict;
                break;
            }
        }
        Ok(*self.runs_against_normals.get_or_init(|| against))
    }

    /// Answers [`runs_against_normals`](Self::runs_against_normals) by the [view](Shape::view) of the first shape, if it has normals: for
    /// programs that have [loaded](MeshView::load) it, so that its attributes are not decoded again. For an object through time, it is the view of
    /// the first snapshot of the file.
    ///
    /// # Errors
    ///
    /// Returns the errors of reading. Damage counts as `false`.
    pub fn learn_winding(&self, first: &MeshView) -> Result<()> {
        if self.runs_against_normals.get().is_none()
            && let Some(against) = shape::runs_against_normals(first, self.front_face())?
        {
            self.runs_against_normals.get_or_init(|| against);
        }
        Ok(())
    }

    fn front_face(&self) -> Winding {
        self.conventions()
            .front_face
            .unwrap_or(Winding::CounterClockwise)
    }

    /// `true` if the corners of triangles have to be reversed, so that the winding of front faces is this one: by the conventions of the
    /// format, and by the [normals](Self::runs_against_normals) as they are stored. Without normals, the conventions decide.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`runs_against_normals`](Self::runs_against_normals).
    pub fn turns_triangles(&self, front_face: Winding) -> Result<bool> {
        let against = !self.are_points && self.runs_against_normals()?;
        Ok((front_face != self.front_face()) != against)
    }
}

/// A meter with the limits of a file, by the number of its bytes.
fn meter_of(file: &MeshFile) -> Meter<'static> {
    let stored = file.source().len().ok().flatten().unwrap_or_default();
    Meter::new(file.limits(), stored)
}

/// The meaning of a length of 1 in a file.
pub(crate) fn unit_of(file: &MeshFile) -> Unit {
    match file {
        MeshFile::CGeo(proxy) => snapshots::unit(proxy),
        MeshFile::SlMesh(_) => slmesh::UNIT,
        _ => Unit::Metres,
    }
}
