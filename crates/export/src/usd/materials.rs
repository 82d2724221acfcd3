//! Materials, and the triangles of each one as children of their mesh.

use std::collections::{BTreeMap, HashMap};
use std::io::{Seek, Write};

use super::crate_file::CrateFile;
use super::prim::{Prim, Property, Value};
use super::samples::{Clock, Samples};
use super::values::{Kind, Rep};
use crate::error::Result;
use crate::source::names::Names;

/// The prim that has all others.
pub(super) const ROOT: &str = "meshmap_root";

/// The prim below it that has the materials.
pub(super) const MATERIALS: &str = "materials";

/// Names to which programs can give a surface. Files that are read have none.
#[derive(Default)]
pub(super) struct Materials {
    names: Names,
    paths: HashMap<String, String>,
    prims: Vec<Prim>,
}

impl Materials {
    /// The path of the material of this name.
    pub(super) fn path<W: Write + Seek>(&mut self, name: &str, file: &CrateFile<'_, W>) -> Result<String> {
        if let Some(path) = self.paths.get(name) {
            return Ok(path.clone());
        }
        file.charge_prim(name.len())?;
        let own = self.names.add(name, "material");
        let path = format!("/{ROOT}/{MATERIALS}/{own}");
        self.prims.push(Prim::new("Material", own).displayed(name));
        self.paths.insert(name.to_owned(), path.clone());
        Ok(path)
    }

    /// The prim that has all of them; `None` where there are none.
    pub(super) fn scope(self) -> Option<Prim> {
        let has_some = !self.prims.is_empty();
        has_some.then(|| Prim { children: self.prims, ..Prim::new("Scope", MATERIALS) })
    }
}

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
        ids: impl ExactSizeIterator<Item = u32>,
        file: &mut CrateFile<'_, W>,
    ) -> Result<()> {
        /// Memory for the sample of a material, and for its entry in a map.
        const OF_SAMPLE: u64 = 96;
        let _scope = file.budget.scope();
        // Vectors that grow have up to twice the elements that they need.
        file.budget.charge_for::<[i32; 4]>(ids.len(), "triangles by material")?;
        let mut faces: BTreeMap<u32, Vec<[i32; 1]>> = BTreeMap::new();
        for (face, id) in (0..).zip(ids) {
            faces.entry(id).or_default().push([face]);
        }
        let count = faces.len().saturating_add(self.used.len()) as u64;
        file.budget.keep(count.saturating_mul(OF_SAMPLE), "materials of all snapshots")?;
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
            let material = materials.path(&name, file)?;
            file.charge_prim(name.len())?;
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
