use std::path::PathBuf;

use meshmap_job::{Change, Report, Textures};
use meshmap_outputs::Written;
use meshmap_scene::FactKind;
use meshmap_scene::vector::is_degenerate;
use serde::{Deserialize, Serialize};

/// The result of writing a file's content.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The files that were written.
    pub files: Vec<Written>,
    /// Triangles that were written.
    pub triangles: u64,
    /// The number of written triangles with two equal corners. Blender's USD import may crash on them.
    pub degenerate: u64,
    /// Vertices that were written, or positions where targets have no vertices.
    pub vertices: u64,
    /// Points that were written, of a file that has only points.
    pub points: u64,
    /// Joints that were written, of a file that has no meshes.
    pub joints: u64,
    /// Snapshots of a CGeo file that were written.
    pub snapshots: u64,
    /// Animations that were written.
    pub animations: u64,
    /// The images that the file names, and where they were found.
    pub textures: Textures,
    /// The moment that was written, such as `frame 3 of walk`; empty if everything was.
    pub moment: String,
    /// The differences from the file.
    pub report: Report,
}

/// The counts of an output, as its record has them, so that they are known while the output is up to date.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Counts {
    /// See [`Outcome::vertices`]. `None` if an earlier version has written the record.
    pub vertices: Option<u64>,
    /// See [`Outcome::triangles`].
    pub triangles: Option<u64>,
}

impl Outcome {
    /// The counts that the record of the output has.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            vertices: Some(self.vertices),
            triangles: Some(self.triangles),
        }
    }

    /// The paths of the files that were written.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Adds the outcome of another level of detail, whose levels are no longer missing.
    pub(crate) fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.triangles += other.triangles;
        self.degenerate += other.degenerate;
        self.vertices += other.vertices;
        self.points += other.points;
        if self.textures.is_empty() {
            self.textures = other.textures;
        }
        self.report.merge(other.report);
        self.report
            .left_out
            .retain(|entry| entry.what.kind != FactKind::OtherLevels);
    }

    /// A mesh was written.
    pub(crate) fn wrote(&mut self, vertices: usize, triangles: usize) {
        self.vertices += vertices as u64;
        self.triangles += triangles as u64;
    }

    /// Triangles with these corners are in the file: counts the degenerate ones among them, dropped or written.
    pub(crate) fn count_degenerate(
        &mut self,
        corners: impl Iterator<Item = [u32; 3]>,
        is_dropped: bool,
    ) {
        let count = corners.filter(|corners| is_degenerate(*corners)).count() as u64;
        if is_dropped {
            self.report.change(Change::DegenerateDropped, count);
        } else {
            self.degenerate += count;
        }
    }
}
