//! The joints of a scene, as UsdSkel has them.

use std::io::{Seek, Write};
use std::mem;
use std::rc::Rc;

use meshmap_job::{Result, Why};
use meshmap_scene::matrix::{IDENTITY, invert, is_flat};
use meshmap_scene::{FactKind, Joint, Skeleton};

use super::animations;
use super::crate_file::CrateFile;
use super::error::not_held;
use super::prim::{Prim, Property, Token, Value, Written};
use crate::names::Names;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::rig::{self, REST};

/// The prim of the joints, below the root.
pub(super) const SKELETON: &str = "skeleton";

/// The joints, and what is known about the shapes that follow them.
pub(super) struct Rig {
    pub(super) skeleton: Skeleton,
    /// The joints in the order in which they are written: a parent comes before its children.
    pub(super) order: Vec<usize>,
    /// The path of the prim.
    pub(super) path: String,
    /// `true` if a shape follows joints.
    pub(super) is_followed: bool,
    /// `true` if some vertices follow the joint that rests, which is the last one.
    pub(super) has_rest: bool,
}

impl Rig {
    /// The joints of a scene; `None` if there are none, or if they cannot be used, which is reported.
    pub(super) fn of(plan: &Plan<'_>, root: &str, outcome: &mut Outcome) -> Result<Option<Self>> {
        let Some(skeleton) = rig::skeleton(plan, outcome)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            order: parents_first(&skeleton.joints),
            skeleton,
            path: format!("/{root}/{SKELETON}"),
            is_followed: false,
            has_rest: false,
        }))
    }

    /// The prim of the joints, with their animations; `None` for a skin that no shape follows, which is reported.
    pub(super) fn write<W: Write + Seek>(
        self,
        plan: &Plan<'_>,
        file: &mut CrateFile<'_, W>,
        outcome: &mut Outcome,
    ) -> Result<Option<Written>> {
        let joints = &self.skeleton.joints;
        let count = joints.len() as u64;
        if !self.skeleton.stands_alone && !self.is_followed {
            let kind = FactKind::SkinJoints;
            let why = Why::NoWeights;
            outcome.report.leave_out_many(kind, why, count);
            return Ok(None);
        }
        if plan.scene.has_only_joints() {
            outcome.joints = count;
        }
        let mut names = Names::default();
        let paths = self.paths(&mut names, file)?;
        let clips = animations::write(&self.order, &paths, plan, file, outcome)?;
        let mut prim = self.prim(&paths, &mut names, file)?;
        if let Some(bound) = clips.prims.first() {
            let path = format!("{}/{}", self.path, bound.name);
            let source = Property::relationship("skel:animationSource", &path);
            prim.properties.push(source);
        }
        prim.children = clips.prims;
        let times = clips.times;
        Ok(Some(Written { prim, times }))
    }

    fn prim<W: Write + Seek>(
        &self,
        paths: &Rc<[Token]>,
        names: &mut Names,
        file: &mut CrateFile<'_, W>,
    ) -> Result<Prim> {
        let joints = &self.skeleton.joints;
        file.budget
            .charge_for::<[[f64; 16]; 3]>(joints.len(), "joints")?;
        let places = self.skeleton.bind_matrices();
        let mut shown: Vec<Token> = Vec::with_capacity(joints.len() + 1);
        let mut rest = Vec::with_capacity(joints.len() + 1);
        let mut bind = Vec::with_capacity(joints.len() + 1);
        for index in &self.order {
            let (Some(joint), Some(place), Some(inverse)) = (
                joints.get(*index),
                places.get(*index),
                self.skeleton.inverse_bind.get(*index),
            ) else {
                continue;
            };
            shown.push(joint.name().into_owned().into());
            rest.push(joint.rest.to_matrix());
            bind.push(bind_transform(place, inverse));
        }
        let mut all = Rc::clone(paths);
        if self.has_rest {
            let own = names.add(REST, "");
            all = paths.iter().cloned().chain([own.into()]).collect();
            shown.push(REST.into());
            rest.push(IDENTITY);
            bind.push(IDENTITY);
        }
        let numbers = rest.iter().chain(&bind).flatten();
        if numbers.copied().any(|number| !number.is_finite()) {
            return Err(not_held("a joint whose place is too large".to_owned()));
        }
        let names = Value::Tokens(shown.into());
        let bind = Value::Stored(file.matrices(&bind)?);
        let rest = Value::Stored(file.matrices(&rest)?);
        let mut prim = Prim::new("Skeleton", SKELETON)
            .with(Property::uniform("joints", "token[]", Value::Tokens(all)))
            .with(Property::uniform("jointNames", "token[]", names))
            .with(Property::uniform("bindTransforms", "matrix4d[]", bind))
            .with(Property::uniform("restTransforms", "matrix4d[]", rest));
        prim.apply("SkelBindingAPI");
        Ok(prim)
    }

    /// The path of each joint below the first one, such as `hips/spine/head`, in the order in which they are written.
    fn paths<W: Write + Seek>(
        &self,
        names: &mut Names,
        file: &CrateFile<'_, W>,
    ) -> Result<Rc<[Token]>> {
        /// The paths of 1,000 joints in chains of 100 take a third of it.
        const LONGEST: usize = 1 << 20;
        let joints = &self.skeleton.joints;
        let mut paths = vec![Token::default(); joints.len()];
        let mut length = 0_usize;
        for index in &self.order {
            let Some(joint) = joints.get(*index) else {
                continue;
            };
            let name = names.add(&joint.name(), "joint");
            let parent = joint.parent.and_then(|parent| paths.get(parent));
            let path = match parent {
                Some(parent) => format!("{parent}/{name}"),
                None => name,
            };
            // Deep hierarchies repeat the names of all parents.
            length = length.saturating_add(path.len());
            if length > LONGEST {
                return Err(not_held(format!(
                    "joints whose paths take more than {LONGEST} bytes, each after its parents"
                )));
            }
            file.charge_prim(path.len())?;
            if let Some(place) = paths.get_mut(*index) {
                *place = path.into();
            }
        }
        let order = self.order.iter();
        Ok(order
            .filter_map(|index| paths.get_mut(*index).map(mem::take))
            .collect())
    }
}

/// The joints in an order in which parents come before their children.
fn parents_first(joints: &[Joint]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..joints.len()).collect();
    let is_before = |(index, joint): (usize, &Joint)| joint.parent.is_none_or(|it| it < index);
    if joints.iter().enumerate().all(is_before) {
        return order;
    }
    let parent_of = |index: &usize| joints.get(*index).and_then(|joint| joint.parent);
    let depth = |index: &usize| {
        let parents = std::iter::successors(parent_of(index), parent_of);
        parents.take(joints.len()).count()
    };
    order.sort_by_cached_key(depth);
    order
}

/// The matrix whose inverse takes a vertex in the bind pose into a joint.
///
/// It is the place of the joint. A place that is flat has no inverse: programs of the format leave out what a joint without a size has along its
/// axes. The inverse of a matrix that nearly does so differs from the stored one by 1e-8 of its size.
fn bind_transform(place: &[f64; 16], inverse: &[f64; 16]) -> [f64; 16] {
    const NEARLY_NOTHING: f64 = 1e-8;
    if !is_flat(place) {
        return *place;
    }
    let mut largest: f64 = 0.0;
    for number in inverse.iter().take(11) {
        largest = largest.max(number.abs());
    }
    let size = if largest > 0.0 { largest } else { 1.0 };
    let mut near = *inverse;
    for diagonal in [0, 5, 10] {
        near[diagonal] += NEARLY_NOTHING * size;
    }
    invert(&near).unwrap_or(IDENTITY)
}

#[cfg(test)]
mod tests {
    use meshmap_scene::matrix::multiply;

    use super::*;

    #[test]
    fn what_programs_invert_moves_vertices_as_the_stored_inverse_does() {
        let translated = |mut matrix: [f64; 16]| {
            matrix[12..15].copy_from_slice(&[1.0, 2.0, 3.0]);
            matrix
        };
        let mut flat = IDENTITY;
        flat[5] = 0.0;
        let mut point = flat;
        (point[0], point[10]) = (0.0, 0.0);
        for (place, inverse) in [
            (translated(flat), translated(flat)),
            (translated(point), translated(point)),
        ] {
            let bind = bind_transform(&place, &inverse);
            let found = invert(&bind).unwrap();
            for (a, b) in found.iter().zip(inverse) {
                assert!((a - b).abs() < 1e-7, "{found:?}");
            }
        }
        let place = translated(IDENTITY);
        assert_eq!(bind_transform(&place, &[0.0; 16]), place);
        assert_eq!(multiply(&place, &invert(&place).unwrap()), IDENTITY);
    }
}
