//! The materials of triangles in USD.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::mesh::Materials;
use crate::tally::Read;
use crate::usdc::{Array, Prim, Stage};

/// The relationship of a mesh or a subset to its material.
const BINDING: &str = "material:binding";

/// The prims of a stage by their paths, of which some are materials.
pub(crate) struct Looks<'a, 'b>(BTreeMap<&'a str, &'a Prim<'b>>);

/// The materials of a mesh.
pub(crate) struct Bound<'a, 'b> {
    mesh: &'a Prim<'b>,
    /// The name of the material of all triangles.
    material: Option<String>,
    subsets: Vec<&'a Prim<'b>>,
    /// The names of the materials of the subsets.
    names: Rc<Vec<String>>,
}

impl<'a, 'b> Looks<'a, 'b> {
    pub(crate) fn of(stage: &'a Stage<'b>) -> Self {
        let prims = stage.prims.iter();
        Self(prims.map(|prim| (prim.path.as_str(), prim)).collect())
    }

    /// The materials that a mesh and its subsets are bound to.
    pub(crate) fn bound(&self, mesh: &'a Prim<'b>) -> Read<Bound<'a, 'b>> {
        let below = format!("{}/", mesh.path);
        let mut subsets = Vec::new();
        let mut names = Vec::new();
        for (path, prim) in self.0.range(below.as_str()..) {
            if !path.starts_with(&below) {
                break;
            }
            if prim.kind == "GeomSubset" {
                subsets.push(*prim);
                names.push(self.name(prim)?.unwrap_or_default());
            }
        }
        Ok(Bound {
            mesh,
            material: self.name(mesh)?,
            subsets,
            names: Rc::new(names),
        })
    }

    /// The name of the material that a prim is bound to. A material has a surface.
    fn name(&self, prim: &Prim<'b>) -> Read<Option<String>> {
        let Some(targets) = prim.targets.get(BINDING) else {
            return Ok(None);
        };
        let material = targets.first().and_then(|path| self.0.get(path.as_str()));
        let material = material.filter(|material| material.kind == "Material");
        let material = material.ok_or_else(|| format!("{} is bound to no material", prim.path))?;
        if !self.has_surface(material) {
            return Err(format!("{} has no surface", material.path));
        }
        let last = material.path.rsplit('/').next().unwrap_or_default();
        let name = material.shown.as_deref().unwrap_or(last);
        Ok(Some(name.to_owned()))
    }

    fn has_surface(&self, material: &Prim<'b>) -> bool {
        let surface = material.targets.get("outputs:surface");
        let surface = surface.and_then(|targets| targets.first());
        let shader = surface.and_then(|surface| surface.strip_suffix(".outputs:surface"));
        let shader = shader.and_then(|path| self.0.get(path));
        let shader = shader.filter(|shader| shader.kind == "Shader");
        let id = shader.and_then(|shader| shader.words.get("info:id"));
        id.is_some_and(|id| id == "UsdPreviewSurface")
    }
}

impl Bound<'_, '_> {
    /// The number of materials.
    pub(crate) fn count(&self) -> usize {
        self.subsets.len() + usize::from(self.material.is_some())
    }

    /// The materials of the triangles at a time. `are_merged`: all have one material, and IDs.
    pub(crate) fn at(&self, time: f64, triangles: usize, are_merged: bool) -> Read<Materials> {
        let ids = self.mesh.arrays.get("primvars:material_id");
        let ids = ids.and_then(|ids| ids.at(time));
        if let Some(ids) = ids.filter(|_| are_merged) {
            return self.merged(ids, triangles);
        }
        if self.subsets.is_empty() {
            return Ok(Materials::one(self.material.as_deref()));
        }
        let mut of = vec![u32::MAX; triangles];
        for (number, subset) in (0_u32..).zip(&self.subsets) {
            let faces = subset.arrays.get("indices");
            let Some(faces) = faces.and_then(|faces| faces.at(time)) else {
                continue;
            };
            for face in faces.ints() {
                let place = usize::try_from(face).ok().and_then(|face| of.get_mut(face));
                match place {
                    Some(place) if *place == u32::MAX => *place = number,
                    _ => {
                        let path = &subset.path;
                        return Err(format!(
                            "{path} has the triangle {face} twice, or beyond the end"
                        ));
                    }
                }
            }
        }
        if of.contains(&u32::MAX) {
            return Err(format!("{} has triangles in no subset", self.mesh.path));
        }
        Ok(Materials {
            names: Rc::clone(&self.names),
            of,
        })
    }

    /// The materials of triangles that have one material, by their IDs.
    fn merged(&self, ids: Array<'_>, triangles: usize) -> Read<Materials> {
        let is_one = self.material.as_deref() == Some("material");
        if !is_one || ids.ints().len() != triangles {
            return Err(format!(
                "{} does not have one material, and an ID for each triangle",
                self.mesh.path
            ));
        }
        let ids = ids.ints().map(i32::cast_unsigned);
        Ok(Materials::by_id(ids, |id| id.to_string()))
    }
}
