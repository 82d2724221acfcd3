//! The words for reports: the only place that has them.

use std::fmt;

use meshmap_scene::FactKind;

use crate::report::{Assumption, Change, Entry, ImageProblem, LeftOut, Warning, Why};
use crate::text::{in_code, one_line};

/// Something that a report says of items.
pub trait Say {
    /// The name for programs, such as `not_finite`.
    fn name(&self) -> &'static str;

    /// The words for people. `option` names an option by the name of its field, as the user knows it.
    fn words(&self, option: &dyn Fn(&str) -> String) -> String;

    /// `true` if people learn something from the first items.
    fn has_telling_items(&self) -> bool {
        true
    }
}

impl<T: Say> Entry<T> {
    /// The words for people, without the items. `option` names an option by the name of its field, as the user knows it.
    #[must_use]
    pub fn words(&self, option: &dyn Fn(&str) -> String) -> String {
        self.what.words(option)
    }

    /// The words for people and the items, in one line.
    #[must_use]
    pub fn line(&self, option: &dyn Fn(&str) -> String) -> String {
        one_line(self.what.words(option) + &self.items())
    }

    /// The items: `: walk, run and 3 more`, or ` (5)` if they have no names; empty for one without a name.
    fn items(&self) -> String {
        if self.first.is_empty() || !self.what.has_telling_items() {
            return match self.count {
                1 => String::new(),
                count => format!(" ({count})"),
            };
        }
        let more = match self.count.saturating_sub(self.first.len() as u64) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(": {}{more}", self.first.join(", "))
    }
}

/// The words and the items, with options as Rust names them.
impl<T: Say> fmt::Display for Entry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line(&in_code))
    }
}

impl Say for LeftOut {
    /// The name of the kind.
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn words(&self, option: &dyn Fn(&str) -> String) -> String {
        let kind = self.kind;
        let why = match self.why {
            Why::NotHeld => return kind.to_string(),
            Why::Image(problem) => return image_words(problem, option),
            Why::NotFinite => "with NaN or infinite numbers",
            Why::Undecodable => "that cannot be decoded",
            Why::Incomplete => "of a skin without joints or without matrices",
            Why::UnequalCounts => "of a skin with other numbers of joints and of matrices",
            Why::NoPositions => "without positions",
            Why::NoTriangles => "without triangles",
            Why::NoPoints => "without points",
            Why::NotEverywhere => "which not everything has",
            Why::OfFirstSnapshot => "of all snapshots but the first",
            Why::NoType => "which the target has no type for",
            Why::TooLarge => "whose integers are too large for the target",
            Why::NoNormals => "that have no normals",
            Why::NoDirection => "without a length or a sign",
            Why::NoWeights => "that have no weights",
            Why::NoJoints => "without joints that they follow",
            Why::OtherJoints => "of other joints than the skeleton has",
            Why::NoFrames => "without frames",
            Why::Sheared => "relative to other parents, which would be sheared",
            Why::TooManyJoints => "of more joints than the target can number",
            Why::Merged => "which become one material",
            Why::Different => "which differ, where the target has one for all",
        };
        let comma = if why.starts_with("which") || why.starts_with("whose") {
            ","
        } else {
            ""
        };
        format!("{kind}{comma} {why}")
    }

    /// A target without a kind of attributes has them nowhere.
    fn has_telling_items(&self) -> bool {
        let is_attribute = matches!(
            self.kind,
            FactKind::Normals
                | FactKind::Tangents
                | FactKind::TexCoords
                | FactKind::FurtherTexCoords
                | FactKind::ThirdTexCoords
                | FactKind::Colors
                | FactKind::Opacity
                | FactKind::FurtherColors
                | FactKind::Influences
                | FactKind::FurtherInfluences
                | FactKind::MaterialIds
                | FactKind::EdgeVisibility
        );
        self.why != Why::NotHeld || !is_attribute
    }
}

impl LeftOut {
    /// `true` for data that follows from other data, or that hardly anybody uses: people need one line about all of it.
    #[must_use]
    pub fn is_minor(&self) -> bool {
        let is_minor_kind = matches!(
            self.kind,
            FactKind::EdgeVisibility
                | FactKind::Metadata
                | FactKind::FrameBounds
                | FactKind::TexCoordNames
        );
        self.why == Why::NotHeld && is_minor_kind
    }
}

/// A length of 1 for people.
fn unit_words(millimeters: f64) -> String {
    if millimeters == 1000.0 {
        "metres".to_owned()
    } else if millimeters == 1.0 {
        "millimetres".to_owned()
    } else {
        format!("units of {millimeters} mm")
    }
}

impl Why {
    /// The name for programs, such as `not_finite`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotHeld => "not_held",
            Self::NotFinite => "not_finite",
            Self::Undecodable => "undecodable",
            Self::Incomplete => "incomplete",
            Self::UnequalCounts => "unequal_counts",
            Self::NoPositions => "no_positions",
            Self::NoTriangles => "no_triangles",
            Self::NoPoints => "no_points",
            Self::NotEverywhere => "not_everywhere",
            Self::OfFirstSnapshot => "of_first_snapshot",
            Self::NoType => "no_type",
            Self::TooLarge => "too_large",
            Self::NoNormals => "no_normals",
            Self::NoDirection => "no_direction",
            Self::NoWeights => "no_weights",
            Self::NoJoints => "no_joints",
            Self::OtherJoints => "other_joints",
            Self::NoFrames => "no_frames",
            Self::Sheared => "sheared",
            Self::TooManyJoints => "too_many_joints",
            Self::Merged => "merged",
            Self::Different => "different",
            Self::Image(problem) => match problem {
                ImageProblem::NotBeside => "image_not_beside",
                ImageProblem::NotFound => "image_not_found",
                ImageProblem::NotLookedFor => "image_not_looked_for",
                ImageProblem::TooManyNames => "image_too_many_names",
                ImageProblem::NoCoordinates => "image_no_coordinates",
                ImageProblem::Outside => "image_outside",
                ImageProblem::NotReadable => "image_not_readable",
                ImageProblem::UnknownKind => "image_unknown_kind",
                ImageProblem::NotRead => "image_not_read",
                ImageProblem::TooLarge => "image_too_large",
                ImageProblem::NotText => "image_not_text",
                ImageProblem::Undecodable => "image_undecodable",
                ImageProblem::OverLimit => "image_over_limit",
            },
        }
    }
}

fn image_words(problem: ImageProblem, option: &dyn Fn(&str) -> String) -> String {
    let images = FactKind::Images;
    match problem {
        ImageProblem::NotBeside => format!(
            "{images} that were not found next to the file ({} names a folder to search)",
            option("textures")
        ),
        ImageProblem::NotFound => {
            format!(
                "{images} that were found neither next to the file nor below the folders of {}",
                option("textures")
            )
        }
        ImageProblem::NotLookedFor => format!(
            "{images}, which were not looked for, because the input or the output is not in a folder"
        ),
        ImageProblem::TooManyNames => {
            format!("{images}, of which only the first 1,024 names are looked for")
        }
        ImageProblem::NoCoordinates => format!("{images} of meshes without texture coordinates"),
        ImageProblem::Outside => format!("{images} outside of the folder that was named"),
        ImageProblem::NotReadable => {
            format!("{images} that are no regular files, or cannot be read")
        }
        ImageProblem::UnknownKind => format!("{images} of an unknown kind"),
        ImageProblem::NotRead => {
            format!(
                "{images} of a kind that programs do not read in files of the target ({} writes them as PNG)",
                option("copy_textures")
            )
        }
        ImageProblem::TooLarge => format!("{images} of more than 256 MiB"),
        ImageProblem::NotText => format!(
            "{images} whose path is not a text of one line ({} copies them)",
            option("copy_textures")
        ),
        ImageProblem::Undecodable => format!("{images} that cannot be decoded"),
        ImageProblem::OverLimit => format!(
            "{images} that need more memory than the call may take ({} raises it)",
            option("max_total_bytes")
        ),
    }
}

impl Say for Change {
    fn name(&self) -> &'static str {
        match self {
            Self::TrianglesTurned => "triangles_turned",
            Self::DegenerateDropped => "degenerate_dropped",
            Self::NonFiniteZeroed => "non_finite_zeroed",
            Self::AxesTurned { .. } => "axes_turned",
            Self::UnitConverted { .. } => "unit_converted",
            Self::BindShapeApplied => "bind_shape_applied",
            Self::ThirdTexCoordLost => "third_texcoord_lost",
            Self::OpacityLost => "opacity_lost",
            Self::ColorsRounded => "colors_rounded",
            Self::ColorsClamped => "colors_clamped",
            Self::ColorsAsNumbers => "colors_as_numbers",
            Self::ColorsCovered => "colors_covered",
            Self::NormalsScaled => "normals_scaled",
            Self::NormalsReplaced => "normals_replaced",
            Self::NormalsTurned => "normals_turned",
            Self::NormalDifferences => "normal_differences",
            Self::TangentsScaled => "tangents_scaled",
            Self::TangentsReplaced => "tangents_replaced",
            Self::WeightsNotFinite => "weights_not_finite",
            Self::WeightsBeyond => "weights_beyond",
            Self::WeightsClamped => "weights_clamped",
            Self::WeightsDropped => "weights_dropped",
            Self::WeightsScaled => "weights_scaled",
            Self::VerticesResting => "vertices_resting",
            Self::JointsReplaced => "joints_replaced",
            Self::PosesRebased => "poses_rebased",
            Self::ScalesRounded => "scales_rounded",
            Self::ClipsNotBound => "clips_not_bound",
            Self::MaterialsMerged => "materials_merged",
            Self::FloatsForSkin => "floats_for_skin",
            Self::FloatsForFlat => "floats_for_flat",
            Self::ImagesAsPng => "images_as_png",
            Self::TrianglesOutside => "triangles_outside",
            Self::TrianglesAsDots => "triangles_as_dots",
            Self::PointsSampled => "points_sampled",
        }
    }

    fn words(&self, option: &dyn Fn(&str) -> String) -> String {
        let words = match self {
            Self::TrianglesTurned => {
                return format!(
                    "triangles, whose fronts are now their backs, because most normals point there ({} undoes it)",
                    option("flip")
                );
            }
            Self::AxesTurned { from, to } => {
                let [from, to] = [from, to].map(|axis| axis.name().to_uppercase());
                return format!("vertices, turned from {from} up to {to} up");
            }
            Self::UnitConverted { from, to } => {
                let [from, to] = [from, to].map(|unit| unit_words(*unit));
                return format!("vertices, scaled from {from} to {to}");
            }
            Self::MaterialsMerged => {
                return format!(
                    "material IDs, now one material ({} writes each)",
                    option("keep_materials")
                );
            }
            Self::DegenerateDropped => "triangles with two equal corners, left out",
            Self::NonFiniteZeroed => "NaN and infinite numbers, now 0",
            Self::BindShapeApplied => "vertices, now in the bind shape of the skin",
            Self::ThirdTexCoordLost => {
                "texture coordinates without their third number, which is not 0"
            }
            Self::OpacityLost => "colours without their opacity",
            Self::ColorsRounded => "colours, rounded to 8 bits",
            Self::ColorsClamped => "colours outside of 0 to 1, which 8 bits cannot hold",
            Self::ColorsAsNumbers => "colours outside of 0 to 1, now numbers without a meaning",
            Self::ColorsCovered => {
                "vertices whose colours the image covers, instead of multiplying them"
            }
            Self::NormalsScaled => "normals that were not of unit length, now are",
            Self::NormalsReplaced => "normals of length 0, now that of a triangle",
            Self::NormalsTurned => "normals, turned for the scale of their node",
            Self::NormalDifferences => "normals of morph targets, now differences",
            Self::TangentsScaled => "tangents that were not of unit length, now are",
            Self::TangentsReplaced => {
                "tangents without a length or a sign, now any direction along the surface"
            }
            Self::WeightsNotFinite => "weights that are NaN or infinite, now 0",
            Self::WeightsBeyond => "weights of joints that are not there, left out",
            Self::WeightsClamped => "joints that are not there, now the last joint",
            Self::WeightsDropped => "weights beyond the four greatest of a vertex, left out",
            Self::WeightsScaled => "weights, now shares of the sum of their vertex",
            Self::VerticesResting => {
                "vertices without weights, now on the added joint meshmap_rest"
            }
            Self::JointsReplaced => {
                "joints whose matrix is sheared or has no inverse, now as in the bind pose"
            }
            Self::PosesRebased => "poses, now relative to the parents of the joints",
            Self::ScalesRounded => "scales of joints, rounded to 16 bits",
            Self::ClipsNotBound => {
                return format!(
                    "animations that programs do not play, because a skeleton plays one ({} chooses it)",
                    option("anim")
                );
            }
            Self::FloatsForSkin => {
                "meshes with joints, whose positions are floats, so that normals are right"
            }
            Self::FloatsForFlat => "flat meshes, whose positions are floats",
            Self::ImagesAsPng => "images, now PNG",
            Self::TrianglesOutside => "triangles without an area, outside of the picture",
            Self::TrianglesAsDots => "triangles that are too small to be seen, now dots",
            Self::PointsSampled => "points, of which only some are drawn",
        };
        words.to_owned()
    }
}

impl Say for Assumption {
    fn name(&self) -> &'static str {
        match self {
            Self::Up(_) => "up",
            Self::Metres => "metres",
            Self::SnapshotRate(_) => "snapshot_rate",
            Self::FrameRate(_) => "frame_rate",
        }
    }

    fn words(&self, option: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Up(axis) => {
                let axis = axis.name().to_uppercase();
                let up = option("up");
                format!("{axis} points up, which the file does not say ({up} changes it)")
            }
            Self::Metres => {
                let unit = option("unit_millimeters");
                format!("lengths are metres, which the file does not say ({unit} changes it)")
            }
            Self::SnapshotRate(rate) => format!("{rate} snapshots per second"),
            Self::FrameRate(rate) => format!("{rate} frames per second"),
        }
    }
}

impl Say for Warning {
    fn name(&self) -> &'static str {
        match self {
            Self::BindShapeMirrors => "bind_shape_mirrors",
            Self::DegenerateTriangles => "degenerate_triangles",
            Self::ManyMorphTargets => "many_morph_targets",
            Self::JointsAtRest => "joints_at_rest",
            Self::NothingMoves => "nothing_moves",
            Self::OpacityNotRead => "opacity_not_read",
            Self::SeveralImages => "several_images",
            Self::WithoutEffect(_) => "without_effect",
        }
    }

    fn words(&self, option: &dyn Fn(&str) -> String) -> String {
        let words = match self {
            Self::WithoutEffect(setting) => {
                return format!("{} has no effect on the file", option(setting));
            }
            Self::BindShapeMirrors => {
                "the bind shape of the skin is a mirror image: triangles may look inside out"
            }
            Self::DegenerateTriangles => {
                "triangles with two equal corners, which crash Blender's import"
            }
            Self::ManyMorphTargets => {
                "more than 64 morph targets, which is the most that Bevy can hold"
            }
            Self::JointsAtRest => "joints that added animations do not move",
            Self::NothingMoves => "nothing moves: one picture",
            Self::OpacityNotRead => {
                "images that are opaque, because their opacity cannot be read: damage, or not enough memory"
            }
            Self::SeveralImages => "names that mean several images, of which the first is used",
        };
        words.to_owned()
    }
}
