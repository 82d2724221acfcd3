//! OBJ, in which each shape is a separate object, and the point cache next to one.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use meshmap::{Scratch, Semantic};
use meshmap_export::Result;
use meshmap_scene::{Buffer, Parts, Shape};

use super::tobj;
use crate::expected::Expected;
use crate::mesh::{Materials, Mesh, are_same, compare, same};
use crate::obj;
use crate::pc2::PointCache;
use crate::rules::Rules;
use crate::tally::Tally;

/// Compares an OBJ with the first keys of all shapes.
pub(crate) fn check_obj(rules: &Rules<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let _charge = rules
        .meter
        .take(obj::memory(path), "numbers of the written file")?;
    let Some(found) = tally.read(obj::read(path)) else {
        return Ok(());
    };
    if !rules.scene.are_points() && tally.read(tobj::agrees(path, &found)).is_none() {
        return Ok(());
    }
    let shapes = rules.scene.shapes();
    if shapes.len() != found.len() {
        let found = found.len();
        let count = shapes.len();
        tally.differs(|| format!("{found} objects, where the file has {count}"));
        return Ok(());
    }
    // All objects have colours, or none has.
    let mut attributes = shapes.iter().flat_map(|shape| shape.attributes());
    let has_colors = attributes.any(|info| info.semantic == Semantic::Color(0));
    let mut names = MaterialNames::default();
    let mut buffer = Buffer::default();
    let mut scratch = Scratch::default();
    // The elements of all objects are in one list.
    let mut first = 0;
    for (shape, found) in shapes.iter().zip(found) {
        shape.read(0, Parts::ALL, &mut buffer, &mut scratch)?;
        let _charge = rules.charge_mesh(&buffer)?;
        let mut expected = Expected::new(rules, shape, &buffer)?.mesh()?;
        names.check(shape, &mut expected, &found, tally);
        if has_colors && expected.colors.is_empty() {
            let white = vec![[1.0; 4]; expected.positions.len()];
            expected.colors.insert(0, Rc::new(white));
        }
        compare(&shape.address().to_string(), &expected, &found, tally);
        let end = first + expected.positions.len();
        let positions = found.positions.get(first..end).unwrap_or_default();
        let is_same_length = positions.len() == expected.positions.len();
        if !is_same_length || !are_same(positions.as_flattened(), expected.positions.as_flattened())
        {
            tally.differs(|| {
                "the positions of the object are not in the order of the file".to_owned()
            });
        }
        first = end;
    }
    Ok(())
}

/// The names of the materials of the file and in the output, which are different words for different names.
#[derive(Default)]
struct MaterialNames<'a> {
    /// The word of each name.
    words: BTreeMap<&'a str, String>,
    /// The name of each word.
    names: BTreeMap<String, &'a str>,
}

impl<'a> MaterialNames<'a> {
    /// Checks the word that the output has for the material of a shape, and expects it of the triangles.
    fn check(&mut self, shape: &'a Shape, expected: &mut Mesh, found: &Mesh, tally: &mut Tally) {
        let Some(word) = found.materials.first() else {
            return;
        };
        let Some(material) = shape.material() else {
            let is_free = !self.names.contains_key(word);
            if expected.materials.first().is_none() && is_free && word.starts_with("none") {
                expected.materials = Materials::one(Some(word));
            }
            return;
        };
        let name = material.name;
        let is_known = self.words.entry(name).or_insert_with(|| word.to_owned()) == word;
        let is_own = *self.names.entry(word.to_owned()).or_insert(name) == name;
        // Two names of the file may be the same word.
        let number = word.strip_prefix(&word_of(name));
        let number = number.map(|rest| rest.strip_prefix('_').unwrap_or(rest));
        if number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
            expected.materials = Materials::one(Some(word));
        }
        if !is_known || !is_own {
            let address = shape.address();
            tally.differs(|| format!("{address}: {word:?} is not the name of one material"));
        }
    }
}

/// A name in a line of words.
fn word_of(name: &str) -> String {
    let name = if name.trim().is_empty() {
        "material"
    } else {
        name
    };
    let mut word = name.replace(|c: char| c.is_whitespace() || c.is_control(), "_");
    if word.trim_end_matches('_').ends_with('\\') {
        word.push('_');
    }
    word
}

/// Compares a point cache with the positions of all keys, and the OBJ next to it.
pub(crate) fn check_pc2(rules: &Rules<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let [shape] = rules.scene.shapes() else {
        let count = rules.scene.shapes().len();
        tally.differs(|| format!("a point cache of {count} objects"));
        return Ok(());
    };
    let Some(mut cache) = tally.read(PointCache::open(path)) else {
        return Ok(());
    };
    let _charge = rules
        .meter
        .take(cache.memory(), "numbers of the written file")?;
    let count = shape.key_count();
    if cache.samples != count {
        tally.differs(|| format!("{} samples of {count} snapshots", cache.samples));
        return Ok(());
    }
    let mut positions = Vec::new();
    let mut scratch = Scratch::default();
    for key in 0..count {
        shape.positions(key, &mut positions, &mut scratch)?;
        rules.replace_non_finite(positions.as_flattened_mut());
        rules.place(&mut positions);
        let Some(found) = tally.read(cache.sample()) else {
            return Ok(());
        };
        let address = shape.address_at(key);
        if found.len() != positions.len() {
            let stored = positions.len();
            let found = found.len();
            tally.differs(|| format!("{address} has {stored} points, where {found} were written"));
        }
        for (from, to) in positions.iter().zip(found) {
            same(
                "positions",
                Some(*from),
                Some(to),
                || address.to_string(),
                tally,
            );
        }
    }
    check_obj(rules, &path.with_extension("obj"), tally)
}
