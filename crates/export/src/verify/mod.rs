//! Reads what was written, and compares it with the mesh file. Nothing here is shared with what writes.

mod cgeo;
mod expected;
mod frame;
mod gltf;
mod obj;
mod pc2;
mod ply;
mod shape;
mod stl;
mod usd;
mod usdc;
mod views;

use std::collections::BTreeMap;
use std::path::Path;

use meshmap::MeshFile;

use self::shape::Shape;
use crate::convert::{Convert, Target};
use crate::error::Result;

/// What a comparison of a written file with its origin found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// What is equal bit for bit and what was rounded, a line for each kind of number.
    pub lines: Vec<String>,
    /// What is not what the origin has, a line each. Empty where all is well.
    pub differs: Vec<String>,
}

impl Convert {
    /// Reads what [`write_file`](Self::write_file) wrote of this file at this path, and compares it with the file.
    ///
    /// The readers share no code with the writers. Compared are the corners of all triangles with their positions,
    /// normals and texture coordinates, and the positions of all snapshots.
    ///
    /// # Errors
    ///
    /// Those of reading the mesh file. What is wrong with the written one is in [`Checked::differs`].
    pub fn check_file(&self, file: &MeshFile, path: impl AsRef<Path>) -> Result<Checked> {
        let (path, mut tally) = (path.as_ref(), Tally::default());
        match (self.target, file.as_cgeo().filter(|_| self.meshes.is_empty())) {
            (Target::Glb | Target::Gltf, Some(proxy)) => cgeo::check_gltf(proxy, self, path, &mut tally)?,
            (Target::Pc2, Some(proxy)) => cgeo::check_pc2(proxy, self, path, &mut tally)?,
            (Target::Usdc, Some(proxy)) => usd::check_cgeo(proxy, self, path, &mut tally)?,
            (Target::Obj, Some(proxy)) => cgeo::check_obj(proxy, self, path, &mut tally)?,
            _ => views::check(file, self, path, &mut tally)?,
        }
        Ok(tally.into_checked())
    }
}

/// What was compared so far.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, Counts>,
    differs: Vec<String>,
}

#[derive(Default)]
struct Counts {
    equal: u64,
    rounded: u64,
    /// The largest difference of those that were rounded.
    largest: f64,
}

impl Tally {
    /// The most lines about what differs.
    const MOST: usize = 20;

    fn equal(&mut self, what: &'static str) {
        self.counts.entry(what).or_default().equal += 1;
    }

    fn rounded(&mut self, what: &'static str, difference: f64) {
        let counts = self.counts.entry(what).or_default();
        counts.rounded += 1;
        counts.largest = counts.largest.max(difference);
    }

    fn differs(&mut self, what: impl FnOnce() -> String) {
        if self.differs.len() < Self::MOST {
            self.differs.push(what());
        }
    }

    /// What was read of a part of the written file; an error is what differs.
    fn read<T>(&mut self, read: std::result::Result<T, String>) -> Option<T> {
        read.map_err(|why| self.differs(|| why)).ok()
    }

    /// Compares two shapes, if the second one could be read.
    fn compare(&mut self, name: &str, expected: &Shape, found: &Shape) {
        shape::compare(name, expected, found, self);
    }

    fn into_checked(self) -> Checked {
        let line = |(what, Counts { equal, rounded, largest }): (&str, Counts)| match rounded {
            0 => format!("{what}: all {equal} equal bit for bit"),
            _ => format!("{what}: {equal} equal bit for bit, {rounded} within {largest:.1e}"),
        };
        Checked { lines: self.counts.into_iter().map(line).collect(), differs: self.differs }
    }
}
