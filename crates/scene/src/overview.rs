//! A file at a glance.

use std::collections::HashSet;

use meshmap::iqm::Model;
use meshmap::slmesh::{Asset, Lod};
use meshmap::{Axis, MeshFile, Text};

use crate::clip::{is_rate_stored, seconds_of};
use crate::iqm::has_only_poses;
use crate::scene::unit_of;
use crate::snapshots::rate_of_snapshots;
use crate::unit::Unit;

/// A file, as far as its headers and tables describe it: no mesh is read, while [`Scene::new`](crate::Scene::new) reads indices.
///
/// The numbers are the same as in a scene of the whole file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overview {
    /// The meaning of a length of 1.
    pub unit: Unit,
    /// The axis that points up: of the format or, if it has none, of the programs that usually write it.
    pub up: Axis,
    /// The snapshots of a CGeo file, if it has several.
    pub snapshots: Option<SnapshotTimes>,
    /// The number of animations of an IQM file.
    pub clip_count: usize,
    /// The first of these animations, at most [`MOST_LISTED`](Self::MOST_LISTED).
    pub clips: Vec<ClipTime>,
    /// The number of joints that meshes or animations have; `None` if that is in a compressed block.
    pub joints: Option<usize>,
    /// The number of levels of detail of a Second Life mesh, and 0 for any other file.
    pub levels: usize,
    /// The names that materials have in the file, and that may mean images, each once, at most [`MOST_LISTED`](Self::MOST_LISTED).
    pub images: Vec<String>,
}

/// The times of snapshots.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SnapshotTimes {
    /// The number of snapshots.
    pub count: usize,
    /// The number of snapshots a second: the [rate](crate::Shape::rate) of their shape; `None` if the file does not store it.
    pub rate: Option<f64>,
}

impl SnapshotTimes {
    /// The seconds from the first snapshot to the last.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are fewer snapshots than that"
    )]
    pub fn seconds(&self) -> Option<f64> {
        let rate = self.rate?;
        Some(self.count.saturating_sub(1) as f64 / rate)
    }
}

/// The length of an animation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClipTime {
    /// The name; empty if the file stores none.
    pub name: Text,
    /// The seconds from the first [key](crate::Clip::key_frames) to the last.
    pub seconds: f64,
    /// `false` if the file stores no rate, so that [the usual one](meshmap::Format::USUAL_RATE) decides the length.
    pub is_rate_stored: bool,
}

impl Overview {
    /// The most elements of a list. A file can have millions of names.
    pub const MOST_LISTED: usize = 1024;

    /// Looks at the headers and tables of a file.
    #[must_use]
    pub fn of(file: &MeshFile) -> Self {
        let format = file.format();
        let mut overview = Self {
            unit: unit_of(file),
            up: format.conventions().up.unwrap_or_else(|| format.usual_up()),
            snapshots: None,
            clip_count: 0,
            clips: Vec::new(),
            joints: Some(0),
            levels: 0,
            images: Vec::new(),
        };
        match file {
            MeshFile::CGeo(proxy) => {
                let times = SnapshotTimes {
                    count: proxy.snapshot_count(),
                    rate: rate_of_snapshots(proxy),
                };
                overview.snapshots = (times.count > 1).then_some(times);
            }
            MeshFile::Iqm(model) => overview.add_model(model),
            MeshFile::SlMesh(asset) => overview.add_asset(asset),
            MeshFile::OpenCtm(container) => {
                let mut seen = HashSet::new();
                for mesh in container.meshes() {
                    // As `MeshView::texture`: the image of the first map.
                    if let Some(map) = mesh.uv_maps().next() {
                        overview.add_image(&map.file(), &mut seen);
                    }
                }
            }
            _ => {}
        }
        overview
    }

    fn add_model(&mut self, model: &Model) {
        self.clip_count = model.anims().len();
        for anim in model.anims().take(Self::MOST_LISTED) {
            self.clips.push(ClipTime {
                seconds: seconds_of(&anim),
                is_rate_stored: is_rate_stored(&anim),
                name: anim.name,
            });
        }
        self.joints = Some(if has_only_poses(model) {
            model.poses().len()
        } else {
            model.joints().len()
        });
        let mut seen = HashSet::new();
        for mesh in model.meshes() {
            self.add_image(&mesh.material, &mut seen);
        }
    }

    fn add_asset(&mut self, asset: &Asset) {
        self.joints = if asset.entry("skin").is_some() {
            None
        } else {
            Some(0)
        };
        for lod in Lod::ALL {
            let has_level = matches!(asset.lod_range(lod), Ok(Some(_)));
            self.levels += usize::from(has_level);
        }
    }

    fn add_image(&mut self, name: &Text, seen: &mut HashSet<Text>) {
        let is_full = self.images.len() >= Self::MOST_LISTED;
        if !is_full && !name.is_empty() && seen.insert(name.clone()) {
            self.images.push(name.to_string_lossy().into_owned());
        }
    }
}
