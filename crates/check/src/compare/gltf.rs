//! glTF: shapes through their keys, what moves them, and the root of all.

use std::path::Path;
use std::rc::Rc;

use meshmap::Scratch;
use meshmap_export::Result;
use meshmap_scene::{Buffer, Parts, Shape};

use super::root;
use super::skins::{WrittenJoints, check_clips, check_levels};
use super::times::{Run, check_times};
use crate::expected::Expected;
use crate::gltf::{self, Gltf};
use crate::mesh::{Materials, Mesh, compare, same};
use crate::rules::Rules;
use crate::tally::Tally;

pub(crate) fn check(rules: &Rules<'_>, path: &Path, tally: &mut Tally) -> Result<()> {
    let Some(mut gltf) = gltf::open(path, rules.meter, tally)? else {
        return Ok(());
    };
    root::check_gltf(rules, &gltf, tally);
    let mut joints = match &rules.skeleton {
        Some(skeleton) => tally.read(WrittenJoints::of(skeleton, &gltf)),
        None => None,
    };
    let mut next = 0;
    let mut all_runs = Vec::new();
    for shape in rules.scene.shapes() {
        let mut checker = ShapeChecker {
            rules,
            shape,
            joints: joints.as_mut(),
            gltf: &mut gltf,
            tally,
            next,
        };
        let Some(runs) = checker.check()? else {
            return Ok(());
        };
        next = checker.next;
        all_runs.push(runs);
    }
    if next != gltf.mesh_count() {
        let found = gltf.mesh_count();
        tally.differs(|| format!("{found} meshes, where the file has {next}"));
    }
    check_levels(rules.scene.shapes(), &all_runs, &gltf, tally);
    let mut animations = gltf.animations();
    check_clips(rules, joints.as_ref(), &mut animations, &mut gltf, tally)?;
    for (shape, runs) in rules.scene.shapes().iter().zip(&all_runs) {
        check_times(rules, shape, runs, &mut animations, &mut gltf, tally);
    }
    if let Some(name) = animations.rest() {
        tally.differs(|| format!("the animation {name} is not that of the file"));
    }
    Ok(())
}

/// Compares the meshes of a shape.
struct ShapeChecker<'a, 'b, 'c> {
    rules: &'a Rules<'a>,
    shape: &'a Shape,
    joints: Option<&'a mut WrittenJoints<'c>>,
    gltf: &'a mut Gltf<'b>,
    tally: &'a mut Tally,
    /// The index of the mesh that is compared next.
    next: usize,
}

/// A primitive, as it is expected and as it was found.
struct Compared {
    expected: Mesh,
    found: Mesh,
}

impl ShapeChecker<'_, '_, '_> {
    /// Compares all keys; `None` if there is nothing to compare the next ones with.
    fn check(&mut self) -> Result<Option<Vec<Run>>> {
        let mut runs = Vec::new();
        let mut buffer = Buffer::default();
        let mut scratch = Scratch::default();
        let mut key = 0;
        while key < self.shape.key_count() {
            self.shape
                .read(key, Parts::ALL, &mut buffer, &mut scratch)?;
            let _charge = self.rules.charge_mesh(&buffer)?;
            let are_integers = !self.shape.has_keys() && self.gltf.has_integers(self.next);
            let expected = Expected::new(self.rules, self.shape, &buffer)?;
            let parts = expected.with_integers(are_integers).parts()?;
            // A key without triangles is not written.
            if parts.is_empty() {
                key += 1;
                continue;
            }
            let Some(primitives) = self.check_mesh(key, parts) else {
                return Ok(None);
            };
            let mesh = self.next;
            let targets = self.gltf.target_count(mesh);
            for target in 0..targets {
                let key = key + 1 + target;
                if key >= self.shape.key_count() {
                    self.tally.differs(|| {
                        format!("meshes[{mesh}] has the target {target}, which is of no snapshot")
                    });
                    return Ok(None);
                }
                self.check_target(key, target, &primitives, &mut scratch)?;
            }
            if primitives.iter().any(|of| of.expected.weights.is_some()) {
                self.check_skin(mesh);
            }
            runs.push(Run {
                mesh,
                first: key,
                targets,
            });
            self.next += 1;
            key += 1 + targets;
        }
        Ok(Some(runs))
    }

    /// Compares the parts of a key with the primitives of the next mesh.
    fn check_mesh(&mut self, key: usize, parts: Vec<Mesh>) -> Option<Vec<Compared>> {
        let mesh = self.next;
        let address = self.shape.address_at(key);
        if mesh >= self.gltf.mesh_count() {
            self.tally.differs(|| format!("{address} was not written"));
            return None;
        }
        let found = self.gltf.primitive_count(mesh);
        let count = parts.len();
        if found != count {
            self.tally.differs(|| {
                format!("meshes[{mesh}] has {found} parts, where the file has {count} materials")
            });
            return None;
        }
        let mut primitives = Vec::with_capacity(count);
        for (primitive, expected) in parts.into_iter().enumerate() {
            let name = if self.shape.has_keys() {
                format!("{address}, primitive {primitive}")
            } else {
                address.to_string()
            };
            let mut found = self.tally.read(self.gltf.mesh(mesh, primitive))?;
            if self.rules.merges_materials && !expected.materials.of.is_empty() {
                self.read_ids(&name, primitive, &expected, &mut found);
            }
            compare(&name, &expected, &found, self.tally);
            primitives.push(Compared { expected, found });
        }
        Some(primitives)
    }

    /// Reads the material IDs of vertices, which these have if all triangles are written with one material.
    fn read_ids(&mut self, name: &str, primitive: usize, expected: &Mesh, found: &mut Mesh) {
        /// The least ID that floats may not hold has as many digits.
        const LARGE: usize = "16777217".len();
        let mesh = self.next;
        if self.gltf.material(mesh, primitive) != Some("material") {
            self.tally
                .differs(|| format!("{name} does not have the one material"));
        }
        let ids = self.tally.read(self.gltf.ids(mesh, primitive));
        if let Some(Some(ids)) = ids {
            let corners = found.corners.iter();
            let first = corners.map(|[first, ..]| *first as usize);
            let ids = first.map(|vertex| ids.get(vertex).copied().unwrap_or(u32::MAX));
            found.materials = Materials::by_id(ids, |id| id.to_string());
            return;
        }
        // IDs that are too large for floats are left out.
        let mut names = expected.materials.names.iter();
        if ids.is_some() && names.any(|id| id.len() >= LARGE) {
            found.materials = expected.materials.clone();
        } else {
            self.tally.differs(|| format!("{name} has no material IDs"));
        }
    }

    /// Base and target together are the positions of a key.
    fn check_target(
        &mut self,
        key: usize,
        target: usize,
        primitives: &[Compared],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mesh = self.next;
        let mut positions = Vec::new();
        self.shape.positions(key, &mut positions, scratch)?;
        self.rules.replace_non_finite(positions.as_flattened_mut());
        let address = self.shape.address_at(key);
        // Primitives of many materials share their vertices, and what moves them.
        let mut before = None;
        let mut moved = Vec::new();
        for (primitive, Compared { expected, found }) in primitives.iter().enumerate() {
            let accessor = self.gltf.target(mesh, primitive, target);
            let Some(accessor) = self.tally.read(accessor) else {
                return Ok(());
            };
            let this = Some((accessor, Rc::as_ptr(&found.positions)));
            if this != before {
                let Some(differences) = self.tally.read(self.gltf.triples(accessor)) else {
                    return Ok(());
                };
                moved.clone_from(&found.positions);
                let numbers = moved.as_flattened_mut().iter_mut();
                for (number, difference) in numbers.zip(differences.as_flattened()) {
                    *number += difference;
                }
                before = this;
            }
            let from = expected.corners.as_flattened();
            let to = found.corners.as_flattened();
            for (from, to) in from.iter().zip(to) {
                same(
                    "positions of corners in other snapshots",
                    positions.get(*from as usize).copied(),
                    moved.get(*to as usize).copied(),
                    || address.to_string(),
                    self.tally,
                );
            }
        }
        Ok(())
    }

    fn check_skin(&mut self, mesh: usize) {
        let Some(joints) = &mut self.joints else {
            return;
        };
        match joints.compare(mesh, self.gltf) {
            Ok(()) => self
                .tally
                .equal("skins: joints, their places and inverse bind matrices"),
            Err(why) => {
                let address = self.shape.address();
                self.tally.differs(|| format!("{address}: {why}"));
            }
        }
    }
}
