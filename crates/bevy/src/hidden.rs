//! Data that Bevy does not show.

use std::collections::BTreeSet;

use meshmap::{Influences, MeshView, Semantic};

use crate::skeleton::Joints;

/// The most joints of a skin without storage buffers.
const MOST_JOINTS: usize = 256;
/// The most names in a sentence.
const MOST_NAMES: usize = 4;

/// The data of a file that is not shown.
#[derive(Default)]
pub(crate) struct Hidden {
    without_positions: BTreeSet<String>,
    attributes: BTreeSet<String>,
    data_colors: bool,
    images: BTreeSet<String>,
    dropped: u64,
    beyond: u64,
    not_finite: u64,
}

impl Hidden {
    /// Adds a mesh that has vertices, and no place for them.
    pub(crate) fn mesh_without_positions(&mut self, address: String) {
        self.without_positions.insert(address);
    }

    /// Adds the attributes of a mesh that Bevy's meshes have no place for, and the image that it names. `has_joints`: joints that it
    /// may follow.
    pub(crate) fn add(&mut self, view: &MeshView, has_joints: bool) {
        for info in view.attributes() {
            let is_shown = match &info.semantic {
                Semantic::Position | Semantic::Normal | Semantic::Tangent => true,
                Semantic::TexCoord(set) => *set < 2,
                Semantic::Color(set) => *set == 0,
                Semantic::Joints(set) | Semantic::Weights(set) => *set == 0 && has_joints,
                _ => false,
            };
            if !is_shown {
                self.attributes.insert(info.semantic.to_string());
            }
        }
        let is_image = |name: &&str| {
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            ["png", "jpg", "jpeg", "tga", "dds", "bmp", "webp", "ktx2"]
                .iter()
                .any(|image| image.eq_ignore_ascii_case(ending))
        };
        self.images
            .extend(view.texture().filter(is_image).map(str::to_owned));
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

    /// A sentence for each kind.
    pub(crate) fn sentences(&self, joints: &Joints) -> Vec<String> {
        let mut out = Vec::new();
        let mut add = |is_there: bool, text: String| out.extend(is_there.then_some(text));
        let some = |names: &BTreeSet<String>| !names.is_empty();
        add(
            some(&self.without_positions),
            format!(
                "meshes without positions are not shown: {}",
                list(&self.without_positions)
            ),
        );
        add(
            some(&self.attributes),
            format!(
                "attributes that Bevy's meshes do not have are left out: {}",
                list(&self.attributes)
            ),
        );
        add(
            self.data_colors,
            "colours with numbers outside of 0 to 1 are other data, and are left out".to_owned(),
        );
        add(
            some(&self.images),
            format!(
                "images that materials name are not shown: {}",
                list(&self.images)
            ),
        );
        add(
            self.dropped > 0,
            format!(
                "{} weights are left out: Bevy moves a vertex by at most four joints",
                self.dropped
            ),
        );
        add(
            self.beyond > 0 && joints.len() > 0,
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
            joints.drops_all,
            "skin: without a name and an inverse bind matrix for each joint, vertices follow no joint"
                .to_owned(),
        );
        add(
            joints.replaced > 0,
            format!(
                "{} joints have the nearest place that position, rotation and scale express",
                joints.replaced
            ),
        );
        let count = joints.len();
        add(
            count > MOST_JOINTS,
            format!(
                "{count} joints: without storage buffers, as in WebGL 2, Bevy has at most {MOST_JOINTS}"
            ),
        );
        out
    }
}

/// The first names, and the number of the others.
fn list(names: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        others => format!("{} and {others} others", shown.join(", ")),
    }
}
