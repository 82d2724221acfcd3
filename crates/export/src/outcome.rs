use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// What became of a file's content.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The files that were written.
    pub files: Vec<PathBuf>,
    /// Triangles that were written.
    pub triangles: u64,
    /// Vertices that were written, or positions where targets have no vertices.
    pub vertices: u64,
    /// Snapshots of a CGeo file that were written.
    pub snapshots: u64,
    /// Animations that were written.
    pub animations: u64,
    /// What the target does not hold, a line each.
    pub left_out: Vec<String>,
    /// Numbers that are not those of the file: what was done, and to how many elements.
    pub changed: BTreeMap<&'static str, u64>,
    /// What looks wrong, or was assumed, a line each.
    pub notes: Vec<String>,
    /// The lines of `left_out` and `notes`, of which each is told once.
    told: HashSet<String>,
}

impl Outcome {
    /// A mesh was written.
    pub(crate) fn wrote(&mut self, vertices: usize, triangles: usize) {
        self.vertices += vertices as u64;
        self.triangles += triangles as u64;
    }

    pub(crate) fn leave_out(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.told.insert(what.clone()) {
            self.left_out.push(what);
        }
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if self.told.insert(note.clone()) {
            self.notes.push(note);
        }
    }

    pub(crate) fn change(&mut self, what: &'static str, elements: u64) {
        if elements > 0 {
            *self.changed.entry(what).or_default() += elements;
        }
    }
}
