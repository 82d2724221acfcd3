//! The parts of a file that are asked for.

use meshmap::iqm::Model;
use meshmap::{Address, Axis, Role};

/// The parts of a file that a [`Scene`](crate::Scene) has. The default is what a viewer draws by default, and all snapshots. An option for
/// another format has no effect.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SceneOptions {
    /// The addresses of meshes, or of parts that contain meshes, such as `high_lod`; without any, what is drawn by default. Hulls of Second Life
    /// meshes have addresses as [`PhysicsConvex::hulls_at`](meshmap::slmesh::PhysicsConvex::hulls_at) takes them; builds with
    /// `--cfg meshmap_small` have no shapes for hulls.
    pub meshes: Vec<Address>,
    /// The levels of detail of a Second Life mesh.
    pub levels: Levels,
    /// Snapshots of a CGeo file, by their numbers in the file, in any order, each once; `None` for all.
    pub snapshots: Option<Vec<usize>>,
    /// `true` if the samples that snapshots have between them, for motion blur, are keys as well. Lists the sections of each snapshot. Builds
    /// with `--cfg meshmap_small` have none.
    pub samples: bool,
    /// The frame of an IQM file in which vertices stand. Without it they are in the bind pose.
    pub frame: Option<PosedFrame>,
    /// The only animation that [`Scene::clips`](crate::Scene::clips) returns, by its name. If none has the name, there are no clips.
    pub animation: Option<String>,
    /// IQM files whose animations are added to the file's own, and their names.
    pub animations: Vec<(String, Model)>,
    /// The axis that points up, in place of the axis of the format.
    pub up: Option<Axis>,
    /// The length of 1 in millimetres, in place of what the file stores.
    pub unit_millimeters: Option<f64>,
    /// `true` if meshes that cannot be read are left out and [listed](crate::Scene::unreadable). Otherwise the first of them is an error.
    pub skips_unreadable: bool,
    /// `true` if triangles with two equal corners are not drawn: vertices of nothing but these are points.
    pub drops_degenerate: bool,
}

/// Levels of detail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Levels {
    /// The finest that there is.
    #[default]
    Finest,
    /// This one, where 0 is the finest that the format has.
    Only(u32),
    /// All of them.
    All,
}

impl Levels {
    /// Returns `true` if a mesh with this role is drawn. [`Finest`](Self::Finest) is level 0 here.
    #[must_use]
    pub fn contains(self, role: Role) -> bool {
        match role {
            Role::Geometry => true,
            Role::Lod(level) => match self {
                Self::Finest => level == 0,
                Self::Only(only) => level == only,
                Self::All => true,
            },
            _ => false,
        }
    }
}

/// A frame of an IQM file, counted over all of its animations.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PosedFrame {
    /// The file with the animations of another one, if the frame is of these: [`Model::attach`].
    pub model: Option<Model>,
    /// The number of the frame: a frame of a clip, plus [`first_frame`](meshmap::iqm::Anim::first_frame).
    pub index: u32,
}

impl PosedFrame {
    /// A frame of the file itself.
    #[must_use]
    pub fn new(index: u32) -> Self {
        Self { model: None, index }
    }

    /// A frame of the file with the animations of another one.
    #[must_use]
    pub fn of_model(model: Model, index: u32) -> Self {
        let model = Some(model);
        Self { model, index }
    }
}
