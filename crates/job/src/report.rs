//! Differences between a file and its output: kinds and numbers. The words are in `words`.

use meshmap::Axis;
use meshmap_scene::{Fact, FactKind};

use crate::error::{Error, Result};
use crate::text::beginning_of;

/// The differences between a file and its output.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Data that is not there.
    pub left_out: Vec<Entry<LeftOut>>,
    /// Numbers and parts that are there in another form.
    pub changed: Vec<Entry<Change>>,
    /// Properties that the file does not store.
    pub assumed: Vec<Entry<Assumption>>,
    /// Possible problems.
    pub warnings: Vec<Entry<Warning>>,
}

/// Items with the same difference.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry<T> {
    /// The kind of the difference.
    pub what: T,
    /// The number of items.
    pub count: u64,
    /// The first items by their addresses or names, at most four.
    pub first: Vec<String>,
}

/// A kind of data that is not there, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The kind of data.
    pub kind: FactKind,
    /// The reason.
    pub why: Why,
}

/// The reason why data is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The target has no place for it, or it was not asked for.
    NotHeld,
    /// It has NaN or infinite numbers.
    NotFinite,
    /// It cannot be decoded.
    Undecodable,
    /// The skin has no joints or no matrices.
    Incomplete,
    /// The skin has other numbers of joints than of matrices.
    UnequalCounts,
    /// There are no positions.
    NoPositions,
    /// There are no triangles that are drawn.
    NoTriangles,
    /// There are no points.
    NoPoints,
    /// Not every mesh or snapshot has it, and the target has it for all or for none.
    NotEverywhere,
    /// The target has it for the first snapshot only.
    OfFirstSnapshot,
    /// The target has no type for such numbers.
    NoType,
    /// The integers are too large for the numbers of the target.
    TooLarge,
    /// It has no meaning without normals.
    NoNormals,
    /// It has no length or no sign.
    NoDirection,
    /// Joints have no meaning without weights.
    NoWeights,
    /// Weights have no meaning without joints.
    NoJoints,
    /// It is of another number of joints than the skeleton has.
    OtherJoints,
    /// There are no frames.
    NoFrames,
    /// The parents of poses differ from the parents of joints, and no translation, rotation and scale is the same.
    Sheared,
    /// There are more joints than the target can number.
    TooManyJoints,
    /// Materials are written as one.
    Merged,
    /// The meshes have different ones, and the target has one for all.
    Different,
    /// A name of an image to which the output does not refer.
    Image(ImageProblem),
}

/// The reason why an output does not refer to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageProblem {
    /// It was not found next to the file, and no other folder was named.
    NotBeside,
    /// It was not found in the folders that were looked in.
    NotFound,
    /// No folder was looked in, because the input or the output is not in one.
    NotLookedFor,
    /// More names than are looked for.
    TooManyNames,
    /// The mesh has no texture coordinates.
    NoCoordinates,
    /// The file is outside of the folder that was named, by a link.
    Outside,
    /// The file is a link, a folder or a device, or cannot be read.
    NotReadable,
    /// The file is not an image of a known kind.
    UnknownKind,
    /// Programs do not read this kind of image in files of the target.
    NotRead,
    /// The file is larger than 256 MiB.
    TooLarge,
    /// The path is not a text of one line.
    NotText,
    /// The image is damaged, or of a variant that is not decoded.
    Undecodable,
    /// Decoding it needs more memory than the call may take.
    OverLimit,
}

/// A change of numbers or of parts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Triangles whose corners are reversed, because most normals point away from the fronts.
    TrianglesTurned,
    /// Triangles with two equal corners, left out.
    DegenerateDropped,
    /// NaN and infinite numbers, replaced by 0.
    NonFiniteZeroed,
    /// Vertices that are turned into the axes of the target.
    AxesTurned {
        /// The axis that points up in the file.
        from: Axis,
        /// The axis that points up in the target.
        to: Axis,
    },
    /// Vertices that are scaled to the unit of the target.
    UnitConverted {
        /// The unit of the file in millimetres.
        from: f64,
        /// The unit of the target in millimetres.
        to: f64,
    },
    /// Vertices that are moved by the bind shape of the skin.
    BindShapeApplied,
    /// Texture coordinates whose third number, which is not 0, is left out.
    ThirdTexCoordLost,
    /// Colours whose opacity is left out.
    OpacityLost,
    /// Colours, rounded to 8 bits.
    ColorsRounded,
    /// Colours outside of 0 to 1, which 8 bits cannot hold.
    ColorsClamped,
    /// Colours with numbers outside of 0 to 1, written as numbers without a meaning.
    ColorsAsNumbers,
    /// Vertices whose colours an image covers, because the target has no product of both.
    ColorsCovered,
    /// Normals that were not of unit length.
    NormalsScaled,
    /// Normals of length 0, which become the normal of a triangle.
    NormalsReplaced,
    /// Normals that are turned for the scale of their node.
    NormalsTurned,
    /// Normals of morph targets, stored as differences.
    NormalDifferences,
    /// Tangents that were not of unit length.
    TangentsScaled,
    /// Tangents without a length or a sign, which become any direction along the surface.
    TangentsReplaced,
    /// Weights that are NaN or infinite, which become 0.
    WeightsNotFinite,
    /// Weights of joints that are not there, left out.
    WeightsBeyond,
    /// Joints that are not there, which become the last joint.
    WeightsClamped,
    /// Weights beyond the four greatest of a vertex, left out.
    WeightsDropped,
    /// Vertices whose weights are scaled to the sum 1.
    WeightsScaled,
    /// Vertices without weights, which follow a joint that rests.
    VerticesResting,
    /// Joints whose matrix is sheared or has no inverse, which keep the mesh in the bind pose.
    JointsReplaced,
    /// Poses that are stored relative to other parents than the joints have.
    PosesRebased,
    /// Scales of joints, rounded to 16 bits.
    ScalesRounded,
    /// Animations that the skeleton is not bound to, which programs do not play.
    ClipsNotBound,
    /// Material IDs, which become one material.
    MaterialsMerged,
    /// Positions of meshes with joints, which are floats, so that normals are right.
    FloatsForSkin,
    /// Positions of flat meshes, which are floats.
    FloatsForFlat,
    /// Images of another kind, which become PNG.
    ImagesAsPng,
    /// Degenerate triangles outside of a picture.
    TrianglesOutside,
    /// Triangles that are too small to be seen, drawn as dots.
    TrianglesAsDots,
    /// Points of which only some are drawn.
    PointsSampled,
}

/// A property that a file does not store.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Assumption {
    /// The axis that points up.
    Up(Axis),
    /// A length of 1 is a metre.
    Metres,
    /// So many snapshots per second.
    SnapshotRate(f32),
    /// So many frames per second of animations.
    FrameRate(f32),
}

/// A possible problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The bind shape of the skin is a mirror image: triangles may look inside out.
    BindShapeMirrors,
    /// Triangles with two equal corners, on which Blender's import of USD crashes.
    DegenerateTriangles,
    /// More morph targets than the 64 that Bevy can hold.
    ManyMorphTargets,
    /// Joints that the animations of another file do not move.
    JointsAtRest,
    /// Nothing moves in an animation or a sheet of one file.
    NothingMoves,
    /// Images whose opacity cannot be read, because they are damaged, or decoding them needs more memory than the call may take.
    OpacityNotRead,
    /// Names that mean several images equally well, of which the first is used.
    SeveralImages,
    /// An option that has no effect on the file, by the name of its field.
    WithoutEffect(&'static str),
}

impl Why {
    /// `true` if the data is damaged, or has numbers that cannot be written.
    #[must_use]
    pub fn is_damage(self) -> bool {
        matches!(self, Self::NotFinite | Self::Undecodable)
    }
}

impl Warning {
    /// The option that has no effect, by the name of its field.
    #[must_use]
    pub fn option(self) -> Option<&'static str> {
        match self {
            Self::WithoutEffect(option) => Some(option),
            _ => None,
        }
    }
}

impl ImageProblem {
    /// `true` if a file was found for the name.
    pub fn is_of_found(self) -> bool {
        match self {
            Self::Outside
            | Self::NotReadable
            | Self::UnknownKind
            | Self::NotRead
            | Self::TooLarge
            | Self::NotText
            | Self::Undecodable
            | Self::OverLimit => true,
            Self::NotBeside
            | Self::NotFound
            | Self::NotLookedFor
            | Self::TooManyNames
            | Self::NoCoordinates => false,
        }
    }
}

impl Report {
    /// `true` if data is not there because it is damaged, or has numbers that cannot be written.
    #[must_use]
    pub fn has_damage(&self) -> bool {
        self.left_out.iter().any(|entry| entry.what.why.is_damage())
    }

    /// `true` if some data of this kind is not there.
    #[must_use]
    pub fn lacks(&self, kind: FactKind) -> bool {
        self.left_out.iter().any(|entry| entry.what.kind == kind)
    }

    /// The number of items with this change.
    #[must_use]
    pub fn count_of(&self, change: Change) -> u64 {
        let entry = self.changed.iter().find(|entry| entry.what == change);
        entry.map_or(0, |entry| entry.count)
    }

    /// The missing data that people should know of, the more important kinds first: without parts that [belong](FactKind::belongs_to) to other missing data.
    pub fn left_out_for_people(&self) -> impl Iterator<Item = &Entry<LeftOut>> {
        let is_dropped = |kind| {
            let mut entries = self.left_out.iter();
            entries.any(|entry| entry.what.kind == kind && entry.what.why == Why::NotHeld)
        };
        let entries = self.left_out.iter();
        entries.filter(move |entry| !entry.what.kind.belongs_to().is_some_and(is_dropped))
    }

    /// `true` if this is assumed.
    #[must_use]
    pub fn assumes(&self, assumption: Assumption) -> bool {
        self.assumed.iter().any(|entry| entry.what == assumption)
    }

    /// `true` if there is this warning.
    #[must_use]
    pub fn warns(&self, warning: Warning) -> bool {
        self.warnings.iter().any(|entry| entry.what == warning)
    }

    /// Lists options that have no effect, with the kinds of data that they are about; fails if they are refused.
    ///
    /// # Errors
    ///
    /// [`WithoutEffect`](Error::WithoutEffect).
    pub fn warn_without_effect(
        &mut self,
        options: &[(&'static str, &'static [FactKind])],
        are_refused: bool,
    ) -> Result<()> {
        for (setting, kinds) in options {
            if are_refused {
                return Err(Error::WithoutEffect { setting, kinds });
            }
            self.warn(Warning::WithoutEffect(setting), 1);
        }
        Ok(())
    }

    /// Adds the differences of another output of the file.
    pub fn merge(&mut self, other: Self) {
        merge(&mut self.left_out, other.left_out);
        merge(&mut self.changed, other.changed);
        merge(&mut self.assumed, other.assumed);
        merge(&mut self.warnings, other.warnings);
    }

    /// A fact is not there, because the target has no place for it.
    pub fn drop_fact(&mut self, fact: Fact) {
        let Fact {
            kind, count, first, ..
        } = fact;
        let why = Why::NotHeld;
        self.left_out.push(Entry {
            what: LeftOut { kind, why },
            count,
            first,
        });
    }

    /// An item is not there.
    pub fn leave_out(&mut self, kind: FactKind, why: Why, name: impl Into<String>) {
        add(&mut self.left_out, LeftOut { kind, why }, 1, || {
            Some(name.into())
        });
    }

    /// Items are not there.
    pub fn leave_out_many(&mut self, kind: FactKind, why: Why, count: u64) {
        add(&mut self.left_out, LeftOut { kind, why }, count, || None);
    }

    /// Items have changed, if there are some.
    pub fn change(&mut self, change: Change, count: u64) {
        add(&mut self.changed, change, count, || None);
    }

    /// Items have changed, of which this is the first.
    pub fn change_at(&mut self, change: Change, count: u64, first: impl FnOnce() -> String) {
        add(&mut self.changed, change, count, || Some(first()));
    }

    /// An assumption, which is listed once.
    pub fn assume(&mut self, assumption: Assumption) {
        if !self.assumed.iter().any(|known| known.what == assumption) {
            add(&mut self.assumed, assumption, 1, || None);
        }
    }

    /// An assumption about an item of this name.
    pub fn assume_of(&mut self, assumption: Assumption, name: impl Into<String>) {
        add(&mut self.assumed, assumption, 1, || Some(name.into()));
    }

    /// A warning about some items.
    pub fn warn(&mut self, warning: Warning, count: u64) {
        add(&mut self.warnings, warning, count, || None);
    }

    /// A warning about an item of this name.
    pub fn warn_of(&mut self, warning: Warning, name: impl Into<String>) {
        add(&mut self.warnings, warning, 1, || Some(name.into()));
    }
}

/// Adds entries to others.
fn merge<T: PartialEq>(entries: &mut Vec<Entry<T>>, others: Vec<Entry<T>>) {
    for other in others {
        match entries.iter_mut().find(|entry| entry.what == other.what) {
            Some(entry) => {
                entry.count = entry.count.saturating_add(other.count);
                let free = Fact::MOST_NAMED.saturating_sub(entry.first.len());
                entry.first.extend(other.first.into_iter().take(free));
            }
            None => entries.push(other),
        }
    }
}

/// Counts items of which something is said, and keeps the names of the first.
fn add<T: PartialEq>(
    entries: &mut Vec<Entry<T>>,
    what: T,
    count: u64,
    name: impl FnOnce() -> Option<String>,
) {
    if count == 0 {
        return;
    }
    let known = entries.iter().position(|entry| entry.what == what);
    let place = known.unwrap_or(entries.len());
    if known.is_none() {
        entries.push(Entry {
            what,
            count: 0,
            first: Vec::new(),
        });
    }
    let Some(entry) = entries.get_mut(place) else {
        return;
    };
    entry.count = entry.count.saturating_add(count);
    if entry.first.len() < Fact::MOST_NAMED
        && let Some(name) = name()
    {
        entry.first.push(beginning_of(name));
    }
}
