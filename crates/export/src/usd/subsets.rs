//! The triangles of each material, as children of their mesh.

use std::collections::BTreeMap;
use std::io::{Seek, Write};

use super::crate_file::CrateFile;
use super::materials::Materials;
use super::prim::{Prim, Property, Value};
use super::samples::{Clock, Samples};
use super::values::{Kind, Rep};
use crate::error::Result;

/// The triangles of each material id through time.
#[derive(Default)]
pub(super) struct Subsets {
    faces: BTreeMap<u32, Samples>,
    /// Those that have triangles now.
    used: Vec<u32>,
}

impl Subsets {
    /// Writes the triangles of each id from this snapshot on.
    pub(super) fn set<W: Write + Seek>(
        &mut self,
        snapshot: usize,
        ids: impl Iterator<Item = u32>,
        file: &mut CrateFile<'_, W>,
    ) -> Result<()> {
        let mut faces: BTreeMap<u32, Vec<[i32; 1]>> = BTreeMap::new();
        for (face, id) in (0..).zip(ids) {
            faces.entry(id).or_default().push([face]);
        }
        let none = Rep::empty(Kind::Int);
        for gone in self.used.drain(..).filter(|id| !faces.contains_key(id)) {
            self.faces.entry(gone).or_default().set(snapshot, none);
        }
        for (id, faces) in faces {
            let samples = self.faces.entry(id).or_default();
            if samples.last().is_none() && snapshot > 0 {
                samples.set(0, none);
            }
            samples.set(snapshot, file.ints(faces.into_iter())?);
            self.used.push(id);
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.faces.is_empty()
    }

    /// Adds a child for each id, with its material.
    pub(super) fn add_to<W: Write + Seek>(
        self,
        mesh: &mut Prim,
        clock: &Clock,
        file: &mut CrateFile<'_, W>,
        materials: &mut Materials,
    ) -> Result<()> {
        let word = |name, word: &'static str| Property::uniform(name, "token", Value::Token(word.into()));
        if !self.is_empty() {
            mesh.properties.push(word("subsetFamily:materialBind:familyType", "partition"));
        }
        for (id, samples) in self.faces {
            let name = format!("material_{id}");
            let material = materials.path(&name);
            let indices = clock.held(Property::attribute("indices", "int[]"), &samples, file)?;
            let subset = Prim::new("GeomSubset", name)
                .with(word("elementType", "face"))
                .with(word("familyName", "materialBind"))
                .with(indices);
            mesh.children.push(subset.bound_to(&material));
        }
        Ok(())
    }
}
