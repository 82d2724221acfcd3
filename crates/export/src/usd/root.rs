//! The prim that contains all others: it turns them upright.

use meshmap::Axis;
use meshmap_job::{Turn, up_of};

use super::prim::{Prim, Property, Spec, Token, Value, Written};
use crate::assume;
use crate::names::Names;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::settings::Target;

/// The prim that contains all others, and the fields of the stage.
pub(super) struct Root {
    prim: Prim,
    fields: Vec<(&'static str, Value)>,
    has_skeleton: bool,
}

impl Root {
    pub(super) fn new(plan: &Plan<'_>, outcome: &mut Outcome) -> Self {
        let shown = plan.root_name();
        let name = Names::default().add(&shown, "");
        let up = up_of(plan.scene, &mut outcome.report);
        let mut prim = Prim::new("Xform", name.clone()).displayed(&shown);
        // The last of them comes first.
        let of_stage = match (plan.job.target, up) {
            // Phones show only files with Y up.
            (Target::Usdz, _) => Axis::Y,
            (_, Axis::Z) => Axis::Z,
            _ => Axis::Y,
        };
        let turned = turn(plan.job.turn, of_stage).into_iter();
        let rotations: Vec<Rotation> = turned.chain(upright(up, of_stage)).collect();
        for (name, degrees) in &rotations {
            let rotation = Property::attribute(*name, "float");
            prim = prim.with(rotation.field("default", Value::Float(*degrees)));
        }
        if !rotations.is_empty() {
            let order = rotations.iter().map(|(name, _)| Token::from(*name));
            let order = Value::Tokens(order.collect());
            prim = prim.with(Property::uniform("xformOpOrder", "token[]", order));
        }
        prim.fields.push(("kind", Value::Token("component".into())));
        let axis = if of_stage == Axis::Z { "Z" } else { "Y" };
        let metres = assume::metres(plan.scene, outcome);
        let fields = vec![
            ("defaultPrim", Value::Token(name.into())),
            ("metersPerUnit", Value::Double(metres)),
            ("upAxis", Value::Token(axis.into())),
        ];
        Self {
            prim,
            fields,
            has_skeleton: false,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.prim.name
    }

    /// Adds a prim that does not move.
    pub(super) fn add_still(&mut self, prim: Prim) {
        self.prim.children.push(prim);
    }

    /// Adds a prim that moves.
    pub(super) fn add(&mut self, written: Written) {
        self.fields.extend(written.times);
        self.prim.children.push(written.prim);
    }

    /// Adds variants by their names, of which this one is shown.
    pub(super) fn add_variants(
        &mut self,
        set: &'static str,
        shown: String,
        variants: Vec<(String, Vec<Prim>)>,
    ) {
        let fields = &mut self.prim.fields;
        fields.push(("variantSetNames", Value::PrependedNames(vec![set.into()])));
        fields.push(("variantSelection", Value::Selection(set.into(), shown)));
        let names = variants.iter().map(|(name, _)| Token::from(name.clone()));
        let names = names.collect();
        self.prim.children.push(Prim::variant_set(set, names));
        for (name, prims) in variants {
            self.prim.children.push(Prim::variant(set, name, prims));
        }
    }

    /// Adds the prim of joints, which comes first.
    pub(super) fn add_skeleton(&mut self, written: Written) {
        self.has_skeleton = true;
        self.fields.extend(written.times);
        self.prim.children.insert(0, written.prim);
    }

    /// The stage, which has the prim.
    pub(super) fn into_stage(mut self) -> Prim {
        if self.has_skeleton {
            self.prim.set_kind("SkelRoot");
        }
        Prim {
            spec: Spec::Prim,
            name: String::new(),
            fields: self.fields,
            properties: Vec::new(),
            children: vec![self.prim],
        }
    }
}

/// The name of an operation, and degrees.
type Rotation = (&'static str, f32);

/// The rotation that takes the axis that points up to the one of the stage. Stages have Y up, or Z.
fn upright(up: Axis, of_stage: Axis) -> Option<Rotation> {
    match up {
        Axis::Z if of_stage != up => Some(("xformOp:rotateX", -90.0)),
        Axis::X => Some(("xformOp:rotateZ", 90.0)),
        Axis::NegX => Some(("xformOp:rotateZ", -90.0)),
        Axis::NegY => Some(("xformOp:rotateX", 180.0)),
        Axis::NegZ => Some(("xformOp:rotateX", 90.0)),
        _ => None,
    }
}

/// The rotation about the axis of the stage that the options ask for.
fn turn(turn: Turn, up: Axis) -> Option<Rotation> {
    let about = if up == Axis::Z {
        "xformOp:rotateZ"
    } else {
        "xformOp:rotateY"
    };
    (turn != Turn::None).then(|| (about, 90.0 * f32::from(turn.quarters())))
}
