//! Materials: names to which programs can give a surface. Files that are read have none.

use std::collections::HashMap;

use super::names::Names;
use super::prim::Prim;
use super::{MATERIALS, ROOT};

#[derive(Default)]
pub(super) struct Materials {
    names: Names,
    paths: HashMap<String, String>,
    prims: Vec<Prim>,
}

impl Materials {
    /// The path of the material of this name.
    pub(super) fn path(&mut self, name: &str) -> String {
        if let Some(path) = self.paths.get(name) {
            return path.clone();
        }
        let own = self.names.add(name, "material");
        let path = format!("/{ROOT}/{MATERIALS}/{own}");
        self.prims.push(Prim::new("Material", own).displayed(name));
        self.paths.insert(name.to_owned(), path.clone());
        path
    }

    /// The prim that has all of them; `None` where there are none.
    pub(super) fn scope(self) -> Option<Prim> {
        let has_some = !self.prims.is_empty();
        has_some.then(|| Prim { children: self.prims, ..Prim::new("Scope", MATERIALS) })
    }
}
