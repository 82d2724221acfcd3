//! Levels of detail: variants of the root, of which programs show one.

use std::collections::BTreeMap;

use meshmap::Role;
use meshmap_job::Lods;
use meshmap_scene::{Scene, Shape};

use super::prim::Prim;
use super::root::Root;
use crate::names::Names;

/// The set of variants.
const SET: &str = "lod";

/// A variant: first the one that is shown, which has all that is drawn by default; then the coarser shapes of each level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Variant {
    is_coarser: bool,
    level: u32,
}

/// The shapes of a scene and their variants, if there are several levels of an object: first the shapes that are in no variant.
pub(super) fn shapes_by_variant(scene: &Scene) -> Vec<(Option<Variant>, &Shape)> {
    let shapes = scene.shapes();
    let finest = shapes.iter().find(|shape| !shape.is_coarser());
    let shown = finest.and_then(level_of).unwrap_or_default();
    let has_levels = shapes.iter().any(Shape::is_coarser);
    let variant_of = |shape: &Shape| {
        let own = level_of(shape).filter(|_| has_levels)?;
        let is_coarser = shape.is_coarser();
        let level = if is_coarser { own } else { shown };
        Some(Variant { is_coarser, level })
    };
    let mut found = Vec::with_capacity(shapes.len());
    for shape in shapes {
        found.push((variant_of(shape), shape));
    }
    found.sort_by_key(|(variant, _)| *variant);
    found
}

fn level_of(shape: &Shape) -> Option<u32> {
    match shape.role() {
        Role::Lod(level) => Some(level),
        _ => None,
    }
}

/// The variants of a scene while they are written.
#[derive(Default)]
pub(super) struct Variants {
    of: BTreeMap<Variant, Written>,
}

struct Written {
    names: Names,
    prims: Vec<Prim>,
}

impl Variants {
    /// The names of the prims of a variant, which has none of the `taken` ones.
    pub(super) fn names(&mut self, variant: Variant, taken: &Names) -> &mut Names {
        let written = self.of.entry(variant).or_insert_with(|| Written {
            names: taken.clone(),
            prims: Vec::new(),
        });
        &mut written.names
    }

    pub(super) fn add(&mut self, variant: Variant, prim: Prim) {
        if let Some(written) = self.of.get_mut(&variant) {
            written.prims.push(prim);
        }
    }

    /// Adds the variants to the root, if there are some.
    pub(super) fn add_to(self, root: &mut Root) {
        let mut names = Names::default();
        let mut named = Vec::with_capacity(self.of.len());
        for (variant, written) in self.of {
            let name = Lods::Only(variant.level).to_string();
            named.push((names.add(&name, ""), written.prims));
        }
        if let Some((shown, _)) = named.first() {
            root.add_variants(SET, shown.clone(), named);
        }
    }
}
