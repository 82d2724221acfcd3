//! Data of a file that somebody could miss.

use std::collections::BTreeMap;
use std::fmt;

use meshmap::{Semantic, Text};

/// A kind of data that a file may have, and that somebody could miss in what is made of it.
///
/// The list is complete on purpose: who writes or draws a scene matches each kind, so that a new kind does not compile until somebody has
/// decided about it. Positions and triangles are no kind, because nothing is drawn without them. What follows from other data, such as
/// the boxes and the clouds of points of CGeo snapshots and the neighbours of IQM triangles, is none either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKind {
    /// Shapes that are drawn.
    Shapes,
    /// Names of shapes.
    Names,
    /// Shapes whose positions are stored as integers of 16 bits.
    Integers,
    /// Shapes with normals; for objects through time, the snapshots with normals.
    Normals,
    /// Shapes with tangents.
    Tangents,
    /// Shapes or snapshots with a first set of texture coordinates.
    TexCoords,
    /// Further sets of texture coordinates.
    FurtherTexCoords,
    /// Sets of texture coordinates with a third component.
    ThirdTexCoords,
    /// Names of sets of texture coordinates.
    TexCoordNames,
    /// Shapes with a first set of colours of vertices.
    Colors,
    /// Shapes with opacity in their first set of colours.
    Opacity,
    /// Further sets of colours.
    FurtherColors,
    /// Shapes with a first set of joints and weights of vertices.
    Influences,
    /// Further sets of joints and of weights.
    FurtherInfluences,
    /// Attributes of vertices whose names only the file defines.
    CustomAttributes,
    /// Data of other items than vertices whose names only the file defines.
    CustomData,
    /// Shapes whose triangles have numbers of materials.
    MaterialIds,
    /// Shapes that say which edges of triangles are visible.
    EdgeVisibility,
    /// Materials by name.
    Materials,
    /// Names of images of materials.
    Images,
    /// Names of images for other texture coordinates than the first.
    FurtherImages,
    /// Levels of detail that are drawn.
    Levels,
    /// Levels of detail that are not drawn.
    OtherLevels,
    /// Snapshots of objects through time that are drawn.
    Snapshots,
    /// Snapshots that are not drawn.
    OtherSnapshots,
    /// The time of the first snapshot, if it is not 0.
    StartTime,
    /// Further samples of snapshots, for motion blur.
    Samples,
    /// Joints that animations move, in the bind pose.
    Joints,
    /// Joints of a skin, to which shapes are bound, and which the file does not move.
    SkinJoints,
    /// The transform of vertices into the bind pose.
    BindShape,
    /// Other places of joints than in the bind pose.
    JointOffsets,
    /// The offset of the pelvis.
    PelvisOffset,
    /// Scales of joints that are locked.
    LockedScales,
    /// Animations of joints.
    Clips,
    /// Animations that were not asked for.
    OtherClips,
    /// Animations that repeat.
    LoopFlags,
    /// Events in animations, such as footsteps.
    Events,
    /// Boxes around the frames of animations.
    FrameBounds,
    /// Convex hulls for physics that are not drawn.
    Hulls,
    /// Meshes for physics that are not drawn.
    PhysicsMeshes,
    /// The meaning of a length of 1.
    Unit,
    /// Comments.
    Comments,
    /// Properties of the file as a whole, such as its creator and its date.
    Metadata,
    /// Extensions of the format.
    Extensions,
}

impl FactKind {
    /// All of them.
    pub const ALL: [Self; 44] = [
        Self::Shapes,
        Self::Names,
        Self::Integers,
        Self::Normals,
        Self::Tangents,
        Self::TexCoords,
        Self::FurtherTexCoords,
        Self::ThirdTexCoords,
        Self::TexCoordNames,
        Self::Colors,
        Self::Opacity,
        Self::FurtherColors,
        Self::Influences,
        Self::FurtherInfluences,
        Self::CustomAttributes,
        Self::CustomData,
        Self::MaterialIds,
        Self::EdgeVisibility,
        Self::Materials,
        Self::Images,
        Self::FurtherImages,
        Self::Levels,
        Self::OtherLevels,
        Self::Snapshots,
        Self::OtherSnapshots,
        Self::StartTime,
        Self::Samples,
        Self::Joints,
        Self::SkinJoints,
        Self::BindShape,
        Self::JointOffsets,
        Self::PelvisOffset,
        Self::LockedScales,
        Self::Clips,
        Self::OtherClips,
        Self::LoopFlags,
        Self::Events,
        Self::FrameBounds,
        Self::Hulls,
        Self::PhysicsMeshes,
        Self::Unit,
        Self::Comments,
        Self::Metadata,
        Self::Extensions,
    ];

    /// The kind of an attribute; `None` for positions.
    #[must_use]
    pub fn of(semantic: &Semantic) -> Option<Self> {
        Some(match semantic {
            Semantic::Position => return None,
            Semantic::Normal => Self::Normals,
            Semantic::Tangent => Self::Tangents,
            Semantic::TexCoord(0) => Self::TexCoords,
            Semantic::TexCoord(_) => Self::FurtherTexCoords,
            Semantic::Color(0) => Self::Colors,
            Semantic::Color(_) => Self::FurtherColors,
            Semantic::Joints(0) | Semantic::Weights(0) => Self::Influences,
            Semantic::Joints(_) | Semantic::Weights(_) => Self::FurtherInfluences,
            _ => Self::CustomAttributes,
        })
    }

    /// The kind without which this one means nothing: who knows that animations are missing, misses no events of theirs.
    #[must_use]
    pub fn belongs_to(self) -> Option<Self> {
        match self {
            Self::LoopFlags | Self::Events | Self::FrameBounds | Self::OtherClips => {
                Some(Self::Clips)
            }
            Self::JointOffsets | Self::PelvisOffset | Self::LockedScales => Some(Self::SkinJoints),
            Self::Opacity | Self::FurtherColors => Some(Self::Colors),
            Self::ThirdTexCoords | Self::TexCoordNames | Self::FurtherTexCoords => {
                Some(Self::TexCoords)
            }
            // The names of materials are mostly names of images.
            Self::FurtherImages | Self::Materials => Some(Self::Images),
            Self::FurtherInfluences => Some(Self::Influences),
            _ => None,
        }
    }

    /// The name for programs, such as `further_texcoords`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.texts().0
    }

    /// The name for programs, and the words for people.
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Shapes => ("shapes", "meshes"),
            Self::Names => ("names", "names of meshes"),
            Self::Integers => ("integers", "positions stored as integers"),
            Self::Normals => ("normals", "normals"),
            Self::Tangents => ("tangents", "tangents"),
            Self::TexCoords => ("texcoords", "texture coordinates"),
            Self::FurtherTexCoords => ("further_texcoords", "further sets of texture coordinates"),
            Self::ThirdTexCoords => ("third_texcoords", "third texture coordinates"),
            Self::TexCoordNames => ("texcoord_names", "names of texture coordinates"),
            Self::Colors => ("colors", "colours"),
            Self::Opacity => ("opacity", "opacity of colours"),
            Self::FurtherColors => ("further_colors", "further sets of colours"),
            Self::Influences => ("influences", "joints and weights of vertices"),
            Self::FurtherInfluences => (
                "further_influences",
                "further sets of joints and weights of vertices",
            ),
            Self::CustomAttributes => ("custom_attributes", "attributes with names of their own"),
            Self::CustomData => ("custom_data", "custom data that is not of vertices"),
            Self::MaterialIds => ("material_ids", "material IDs"),
            Self::EdgeVisibility => ("edge_visibility", "visibility of edges"),
            Self::Materials => ("materials", "names of materials"),
            Self::Images => ("images", "images"),
            Self::FurtherImages => (
                "further_images",
                "images for other texture coordinates than the first",
            ),
            Self::Levels => ("levels", "levels of detail"),
            Self::OtherLevels => ("other_levels", "other levels of detail"),
            Self::Snapshots => ("snapshots", "snapshots"),
            Self::OtherSnapshots => ("other_snapshots", "other snapshots"),
            Self::StartTime => ("start_time", "the time of the first snapshot"),
            Self::Samples => ("samples", "samples between snapshots, for motion blur"),
            Self::Joints => ("joints", "joints of the skeleton"),
            Self::SkinJoints => ("skin_joints", "joints of the skin"),
            Self::BindShape => ("bind_shape", "the bind shape of the skin"),
            Self::JointOffsets => (
                "joint_offsets",
                "other positions of joints (alt_inverse_bind_matrix)",
            ),
            Self::PelvisOffset => ("pelvis_offset", "the offset of the pelvis"),
            Self::LockedScales => ("locked_scales", "locks of the scales of moved joints"),
            Self::Clips => ("clips", "animations"),
            Self::OtherClips => ("other_clips", "other animations"),
            Self::LoopFlags => ("loop_flags", "loop flags of animations"),
            Self::Events => ("events", "events of animations"),
            Self::FrameBounds => ("frame_bounds", "boxes around frames of animations"),
            Self::Hulls => ("hulls", "convex hulls for physics"),
            Self::PhysicsMeshes => ("physics_meshes", "meshes for physics"),
            Self::Unit => ("unit", "the unit"),
            Self::Comments => ("comments", "comments"),
            Self::Metadata => ("metadata", "properties of the file"),
            Self::Extensions => ("extensions", "extensions"),
        }
    }
}

/// The words for people, such as `further sets of texture coordinates`.
impl fmt::Display for FactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.texts().1)
    }
}

/// The data of one kind that a file has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// The kind.
    pub kind: FactKind,
    /// The number of items: the documentation of the kind says of what.
    pub count: u64,
    /// The first items by their addresses or names, at most [`MOST_NAMED`](Self::MOST_NAMED) of them. Names of items that have none are
    /// left out.
    pub first: Vec<String>,
}

impl Fact {
    /// The number of items that are named.
    pub const MOST_NAMED: usize = 4;
}

/// The facts of a scene while they are counted.
#[derive(Default)]
pub(crate) struct Facts {
    by_kind: BTreeMap<FactKind, Fact>,
}

impl Facts {
    /// Counts an item, which may have a name.
    pub(crate) fn add(&mut self, kind: FactKind, name: impl FnOnce() -> String) {
        self.add_many(kind, 1, Some(name));
    }

    /// Counts items without names.
    pub(crate) fn count(&mut self, kind: FactKind, count: usize) {
        self.add_many(kind, count, None::<fn() -> String>);
    }

    fn add_many(&mut self, kind: FactKind, count: usize, name: Option<impl FnOnce() -> String>) {
        if count == 0 {
            return;
        }
        let fact = self.by_kind.entry(kind).or_insert_with(|| Fact {
            kind,
            count: 0,
            first: Vec::new(),
        });
        fact.count = fact.count.saturating_add(count as u64);
        if let Some(name) = name
            && fact.first.len() < Fact::MOST_NAMED
        {
            fact.first.push(name());
        }
    }

    /// The facts in the order of their kinds.
    pub(crate) fn finish(self) -> Vec<Fact> {
        self.by_kind.into_values().collect()
    }
}

/// The beginning of a name, which may be as long as the file.
pub(crate) fn beginning_of(name: &str) -> String {
    const LONGEST: usize = 256;
    let mut places = name.char_indices().map(|(place, _)| place);
    match places.find(|place| *place >= LONGEST) {
        Some(end) => format!("{}..", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

/// Like [`beginning_of`], of a name that is not copied before.
pub(crate) fn beginning_of_text(name: &Text) -> String {
    const LONGEST: usize = 1024;
    let bytes = name.as_bytes();
    beginning_of(&String::from_utf8_lossy(
        bytes.get(..LONGEST).unwrap_or(bytes),
    ))
}
