//! Levels of detail in glTF: the finest mesh of each face is in the scene, and leads to the coarser ones.

use std::collections::{BTreeMap, BTreeSet};

use meshmap::MeshView;
use serde_json::Value;

use super::expected;
use super::gltf::{Gltf, index, list};
use super::tally::Tally;

pub(super) fn check(drawn: &[&MeshView], gltf: &Gltf, tally: &mut Tally) {
    let mut levels: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (mesh, view) in drawn.iter().enumerate() {
        let Some(face) = expected::face(view) else { continue };
        let Some(node) = gltf.node_of(mesh) else {
            return tally.differs(|| format!("no node shows meshes[{mesh}]"));
        };
        levels.entry(face).or_default().push(node);
    }
    let shown = shown(gltf);
    for (face, nodes) in levels {
        let [finest, coarser @ ..] = nodes.as_slice() else { continue };
        let ids = gltf.nodes().get(*finest).map(|node| list(&node["extensions"]["MSFT_lod"], "ids"));
        let ids: Vec<usize> = ids.unwrap_or_default().iter().filter_map(index).collect();
        if ids == coarser && shown.contains(finest) && !coarser.iter().any(|node| shown.contains(node)) {
            tally.equal("levels of detail");
        } else {
            tally.differs(|| {
                format!("{face}: the finest level does not lead to the coarser ones in their order")
            });
        }
    }
}

/// The nodes that are in the scene.
fn shown(gltf: &Gltf) -> BTreeSet<usize> {
    let mut work: Vec<usize> = gltf.scene().iter().filter_map(index).collect();
    let mut shown = BTreeSet::new();
    while let Some(node) = work.pop() {
        if shown.insert(node) {
            let children = gltf.nodes().get(node).map(|node: &Value| list(node, "children"));
            work.extend(children.unwrap_or_default().iter().filter_map(index));
        }
    }
    shown
}
