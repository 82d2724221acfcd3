//! Data that Bevy does not show.

use std::collections::BTreeSet;

use meshmap::{Influences, MeshView, Semantic};
use meshmap_scene::{Fact, FactKind};

use crate::settings::MeshmapSettings;

/// The most joints of a skin without storage buffers.
const MOST_JOINTS: usize = 256;
/// The most names in a sentence.
const MOST_NAMES: usize = 4;

/// The place of a kind of data in Bevy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// Bevy has it. What a part of it lacks is a separate sentence.
    Has,
    /// Bevy has no place for it.
    Lacks,
    /// The settings do not ask for it.
    Unasked,
}

/// The decision about a kind of data in Bevy.
fn decide(kind: FactKind, settings: &MeshmapSettings) -> Decision {
    let parts = settings.parts;
    match kind {
        FactKind::Normals if !parts.normals => Decision::Unasked,
        FactKind::Tangents if !parts.tangents => Decision::Unasked,
        FactKind::TexCoords if !parts.texcoords => Decision::Unasked,
        FactKind::Colors if !parts.colors => Decision::Unasked,
        FactKind::Influences | FactKind::SkinJoints if !parts.skin => Decision::Unasked,
        FactKind::Clips if !settings.animations => Decision::Unasked,
        FactKind::Shapes
        | FactKind::Names
        | FactKind::Integers
        | FactKind::Normals
        | FactKind::Tangents
        | FactKind::TexCoords
        // The second set; others are counted where arrays are made.
        | FactKind::FurtherTexCoords
        | FactKind::Colors
        | FactKind::Opacity
        | FactKind::Influences
        | FactKind::MaterialIds
        | FactKind::Materials
        // Images that are not found are listed by `Images`.
        | FactKind::Images
        | FactKind::Levels
        | FactKind::Snapshots
        // These are streamed.
        | FactKind::OtherSnapshots
        | FactKind::StartTime
        | FactKind::Joints
        | FactKind::SkinJoints
        | FactKind::BindShape
        | FactKind::Clips
        | FactKind::LoopFlags
        | FactKind::Unit => Decision::Has,
        FactKind::OtherLevels | FactKind::OtherClips => Decision::Unasked,
        FactKind::ThirdTexCoords
        | FactKind::TexCoordNames
        | FactKind::FurtherColors
        | FactKind::FurtherInfluences
        | FactKind::CustomAttributes
        | FactKind::CustomData
        | FactKind::EdgeVisibility
        | FactKind::FurtherImages
        | FactKind::Samples
        | FactKind::JointOffsets
        | FactKind::PelvisOffset
        | FactKind::LockedScales
        | FactKind::Events
        | FactKind::FrameBounds
        | FactKind::Hulls
        | FactKind::PhysicsMeshes
        | FactKind::Comments
        | FactKind::Metadata
        | FactKind::Extensions => Decision::Lacks,
    }
}

/// A sentence for each kind of data that Bevy has no place for.
pub(crate) fn sentences_of_facts(facts: &[Fact], settings: &MeshmapSettings) -> Vec<String> {
    let mut sentences = Vec::new();
    for fact in facts {
        let owner = fact.kind.belongs_to();
        let is_missed = owner.is_none_or(|owner| decide(owner, settings) == Decision::Has);
        if is_missed && decide(fact.kind, settings) == Decision::Lacks {
            let names = match fact.first.is_empty() {
                true => String::new(),
                false => format!(" ({})", shortened(&fact.first, fact.count)),
            };
            let Fact { kind, count, .. } = fact;
            sentences.push(format!("Bevy has no place for {kind}: {count}{names}"));
        }
    }
    sentences
}

/// Names, and dots if they are not all.
fn shortened(names: &[String], count: u64) -> String {
    let more = match (names.len() as u64) < count {
        true => ", ..",
        false => "",
    };
    names.join(", ") + more
}

/// Data that is found while arrays are made.
#[derive(Default)]
pub(crate) struct Hidden {
    without_triangles: BTreeSet<String>,
    texcoords: BTreeSet<String>,
    data_colors: bool,
    dropped: u64,
    beyond: u64,
    not_finite: u64,
}

impl Hidden {
    /// Adds a mesh that has vertices, and no triangles as other meshes have them.
    pub(crate) fn mesh_without_triangles(&mut self, address: String) {
        self.without_triangles.insert(address);
    }

    /// Adds the sets of texture coordinates of a mesh that Bevy's meshes have no place for.
    pub(crate) fn texcoords(&mut self, view: &MeshView, settings: &MeshmapSettings) {
        if !settings.parts.texcoords {
            return;
        }
        for info in view.attributes() {
            if matches!(info.semantic, Semantic::TexCoord(set) if set > 1) {
                self.texcoords.insert(info.semantic.to_string());
            }
        }
    }

    /// Adds colours that are other data.
    pub(crate) fn data_colors(&mut self) {
        self.data_colors = true;
    }

    /// Adds the weights that move nothing.
    pub(crate) fn weights(&mut self, influences: &Influences) {
        self.dropped += influences.dropped;
        self.beyond += influences.beyond;
        self.not_finite += influences.not_finite;
    }

    /// A sentence for each kind. `joints`: the number of joints.
    pub(crate) fn sentences(&self, joints: usize) -> Vec<String> {
        let mut out = Vec::new();
        let mut add = |is_there: bool, text: String| out.extend(is_there.then_some(text));
        add(
            !self.without_triangles.is_empty(),
            format!(
                "meshes without triangles are not shown beside others: {}",
                list(&self.without_triangles)
            ),
        );
        add(
            !self.texcoords.is_empty(),
            format!(
                "texture coordinates that Bevy's meshes do not have are left out: {}",
                list(&self.texcoords)
            ),
        );
        add(
            self.data_colors,
            "colours with numbers outside of 0 to 1 are other data, and are left out".to_owned(),
        );
        add(
            self.dropped > 0,
            format!(
                "{} weights are left out: Bevy moves a vertex by at most four joints",
                self.dropped
            ),
        );
        add(
            self.beyond > 0,
            format!(
                "{} weights are left out: their joints do not exist",
                self.beyond
            ),
        );
        add(
            self.not_finite > 0,
            format!(
                "{} weights are NaN or infinite, and count as 0",
                self.not_finite
            ),
        );
        add(
            joints >= usize::from(u16::MAX),
            format!(
                "{joints} joints: vertices follow none of them, because they can name fewer than 65,535"
            ),
        );
        add(
            joints > MOST_JOINTS,
            format!(
                "{joints} joints: without storage buffers, as in WebGL 2, Bevy has at most {MOST_JOINTS}"
            ),
        );
        out
    }
}

/// The first names, and the number of the others.
pub(crate) fn list(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        others => format!("{} and {others} others", shown.join(", ")),
    }
}
