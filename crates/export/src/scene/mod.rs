//! A mesh file as all targets are written from it, and as pictures are drawn of it.
//!
//! No other module knows the formats: [`cgeo`], [`iqm`] and [`slmesh`] have what is special in theirs. OpenCTM and TMF have only
//! meshes.

use std::borrow::Cow;
use std::collections::HashMap;

use meshmap::cgeo::Parts;
use meshmap::iqm::Model;
use meshmap::{Address, Format, MeshFile, MeshView, Semantic, Winding};

use self::cgeo::Snapshots;
use self::pose::Pose;
use self::rig::Rig;
use self::textures::Texture;
use crate::budget::Budget;
use crate::error::{Error, Result};
use crate::moment::{Moment, Still};
use crate::outcome::{Outcome, Report};
use crate::settings::{Job, Lods, WITH_UNITS};
use crate::turn::Turn;
use crate::vector::is_degenerate;

pub(crate) mod assume;
pub(crate) mod cgeo;
pub(crate) mod check;
pub(crate) mod hierarchy;
pub(crate) mod iqm;
pub(crate) mod names;
pub(crate) mod pose;
pub(crate) mod read;
pub(crate) mod rig;
mod select;
mod slmesh;
pub(crate) mod textures;

/// The parts of a file that are written or drawn.
pub(crate) struct Selection<'a> {
    /// The addresses of meshes; without any, what is drawn by default.
    pub(crate) meshes: &'a [Address],
    pub(crate) lods: Lods,
    /// `true` if triangles with two equal corners are not written: vertices of nothing but these are points.
    pub(crate) drops_degenerate: bool,
    /// Snapshots of a CGeo file.
    pub(crate) snapshots: Vec<usize>,
    /// The moment of what is written as it stands still.
    pub(crate) still: &'a Still,
    /// IQM files whose animations are added, and their names.
    pub(crate) animations: &'a [(String, Model)],
    /// The name of the target in errors.
    pub(crate) target: &'static str,
    pub(crate) budget: &'a Budget,
}

/// Meshes, what moves them, and what their numbers mean. Numbers are read when they are written.
pub(crate) struct Scene {
    pub(crate) format: Format,
    pub(crate) unit: Unit,
    /// Empty if there are snapshots.
    meshes: Vec<Mesh>,
    /// One object through time, in which positions, normals and texture coordinates have separate indices.
    pub(crate) snapshots: Option<Snapshots>,
    /// The transform of all vertices that follow joints.
    pub(crate) pose: Option<Pose>,
    pub(crate) rig: Option<Box<dyn Rig>>,
    /// The joints of a file without meshes: the places of each and of its parent.
    pub(crate) bones: Vec<[[f32; 3]; 2]>,
    /// The images of materials, by the names of these.
    textures: HashMap<String, Texture>,
    /// `true` if the meshes are clouds of points.
    pub(crate) are_points: bool,
    /// `true` if the file has animations that another file may need.
    pub(crate) has_animations: bool,
}

/// The meaning of a length of 1.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    Millimeters(f64),
    /// The format has units, and this file does not say which.
    Unknown,
    Metres,
}

impl Unit {
    /// A comment for targets that have no unit; `None` if the file stores none.
    pub(crate) fn comment(self) -> Option<String> {
        if let Self::Millimeters(unit) = self {
            Some(format!("unit: {unit} mm"))
        } else {
            None
        }
    }
}

/// A mesh, in which one index serves all attributes of a vertex.
#[derive(Clone)]
pub(crate) struct Mesh {
    pub(crate) view: MeshView,
    /// The name, if it is not the name that the view has.
    own_name: Option<String>,
    /// The material of all triangles, by its name or by the name of its image. Without one, triangles may have IDs.
    pub(crate) material: Option<String>,
    /// The number of the object of which the mesh is a level of detail.
    pub(crate) object: Option<usize>,
}

impl Mesh {
    /// `None` for a mesh without positions, which is reported.
    fn of(view: MeshView, report: &mut impl Report) -> Option<Self> {
        if !view.has(&Semantic::Position) {
            report.skips(format!("{}, which has no positions", view.address()));
            return None;
        }
        let material = view.texture().map(str::to_owned);
        Some(Self {
            view,
            own_name: None,
            material,
            object: None,
        })
    }

    /// Empty if it has none.
    pub(crate) fn name(&self) -> &str {
        self.own_name.as_deref().unwrap_or(self.view.name())
    }
}

/// The name of the root if objects have no name to share with it.
const ROOT: &str = "meshmap_root";

impl Scene {
    /// The name of the object above all others: the name of the file. It is longer if an object has this name, because programs such as
    /// Blender rename one of two objects with the same name.
    pub(crate) fn root_name(&self, job: &Job<'_>) -> String {
        if job.name.is_empty() {
            return ROOT.to_owned();
        }
        let is_taken = |name: &str| job.name_of(name) == job.name;
        let is_taken = match &self.snapshots {
            Some(snapshots) => is_taken(&snapshots.name()),
            None => self.meshes.iter().any(|mesh| is_taken(mesh.name())),
        };
        let end = if is_taken { "_root" } else { "" };
        format!("{}{end}", job.name)
    }

    /// The scene of what a conversion writes.
    pub(crate) fn of_job(
        file: &MeshFile,
        job: &Job<'_>,
        still: &Still,
        report: &mut impl Report,
    ) -> Result<Self> {
        let proxy = file.as_cgeo().filter(|_| job.meshes.is_empty());
        let wanted = Selection {
            meshes: &job.meshes,
            lods: job.lod,
            drops_degenerate: job.drops_degenerate(),
            snapshots: proxy.map_or(Ok(Vec::new()), |proxy| job.snapshots(proxy))?,
            still,
            animations: &job.animations,
            target: job.target.name(),
            budget: &job.budget,
        };
        let scene = Self::of(file, &wanted, report)?;
        job.are_points.set(scene.are_points);
        if !scene.are_points && scene.is_against()? {
            job.is_against.set(true);
            if !job.flip {
                let note = "most normals point away from the fronts: triangles are turned, which `flip` undoes";
                report.note(note.to_owned());
            }
        }
        if job.turn != Turn::None && !WITH_UNITS.contains(&job.target) {
            job.turns_about
                .set(Some(assume::up(scene.format, job.up, |note| {
                    report.note(note)
                })));
        }
        Ok(scene)
    }

    pub(crate) fn of(
        file: &MeshFile,
        wanted: &Selection<'_>,
        report: &mut impl Report,
    ) -> Result<Self> {
        let mut scene = Self {
            format: file.format(),
            unit: Unit::Metres,
            meshes: Vec::new(),
            snapshots: None,
            pose: None,
            rig: None,
            bones: Vec::new(),
            textures: HashMap::new(),
            are_points: false,
            has_animations: false,
        };
        if let Some(proxy) = file.as_cgeo() {
            scene.unit = cgeo::unit(proxy);
            if wanted.meshes.is_empty() {
                let snapshots = Snapshots::new(proxy, wanted.snapshots.clone());
                scene.are_points = snapshots.are_points(wanted.drops_degenerate, report)?;
                scene.snapshots = Some(snapshots);
                return Ok(scene);
            }
        }
        if let Some(model) = file.as_iqm() {
            scene.pose = iqm::pose(wanted)?;
            scene.has_animations = model.anims().len() > 0;
            let is_posed = matches!(wanted.still.named.moment, Moment::Frame(_));
            scene.rig = iqm::rig(model, wanted, is_posed, report)?;
            scene.bones = iqm::bones(model, wanted)?;
        }
        if let Some(asset) = file.as_slmesh() {
            scene.pose = slmesh::bind_shape(asset, report)?;
            scene.rig = slmesh::rig(asset);
        }
        let views = select::views(file, wanted, report)?;
        scene.meshes = views
            .into_iter()
            .filter_map(|view| Mesh::of(view, report))
            .collect();
        if file.as_slmesh().is_some() {
            slmesh::name_faces(&mut scene.meshes);
        }
        let drops_all = |view: &MeshView| {
            wanted.drops_degenerate && view.indices().triangles().all(is_degenerate)
        };
        if scene
            .meshes
            .iter()
            .all(|mesh| mesh.view.is_point_cloud() || drops_all(&mesh.view))
        {
            scene.meshes.retain(|mesh| mesh.view.vertex_count() > 0);
            scene.are_points = !scene.meshes.is_empty();
        }
        Ok(scene)
    }

    /// Returns `true` if the normals of the first mesh that has some point away from the fronts of its triangles.
    fn is_against(&self) -> Result<bool> {
        if let Some(snapshots) = &self.snapshots {
            // Damage is reported when it is written.
            let mesh = snapshots.first()?.mesh(Parts::ALL);
            return Ok(mesh.is_ok_and(|mesh| mesh.runs_against_normals()));
        }
        let has_sides =
            |mesh: &&Mesh| mesh.view.triangle_count() > 0 && mesh.view.has(&Semantic::Normal);
        let Some(mesh) = self.meshes.iter().find(has_sides) else {
            return Ok(false);
        };
        let front_face = self
            .format
            .conventions()
            .front_face
            .unwrap_or(Winding::CounterClockwise);
        Ok(mesh.view.runs_against_normals(front_face).unwrap_or(false))
    }

    /// The image of a material.
    pub(crate) fn texture(&self, material: &str) -> Option<&Texture> {
        self.textures.get(material)
    }

    /// Counts the points, and fails if nothing was written. The error says whether the file has animations, which another one may
    /// take.
    pub(crate) fn check_written(&self, outcome: &mut Outcome) -> Result<()> {
        if self.are_points {
            outcome.points = outcome.vertices;
        }
        if outcome.triangles > 0 || outcome.points > 0 || outcome.joints > 0 {
            return Ok(());
        }
        let has_unusable = outcome.has_unusable;
        Err(Error::NothingToConvert {
            has_animations: self.has_animations,
            has_unusable,
        })
    }

    /// `true` if no mesh could be written.
    pub(crate) fn is_empty(&self) -> bool {
        self.meshes.is_empty() && self.snapshots.is_none()
    }

    /// The joints of a file without meshes.
    pub(crate) fn rig_alone(&self) -> Option<&dyn Rig> {
        self.rig
            .as_deref()
            .filter(|_| self.is_empty() && !self.bones.is_empty())
    }

    /// The meshes; of snapshots, the first.
    pub(crate) fn meshes(
        &self,
        budget: &Budget,
        report: &mut impl Report,
    ) -> Result<Cow<'_, [Mesh]>> {
        let Some(snapshots) = &self.snapshots else {
            return Ok(Cow::Borrowed(&self.meshes));
        };
        snapshots.report_others(report);
        let view = snapshots.first()?.view()?;
        budget.read_geometry(view.vertex_count() as u64, view.triangle_count() as u64)?;
        Ok(Cow::Owned(Mesh::of(view, report).into_iter().collect()))
    }
}
