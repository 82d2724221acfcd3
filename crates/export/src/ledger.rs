//! The decisions of targets about what a scene has.
//!
//! Each target has one `match` of all kinds of facts. A kind without a decision does not compile.

use meshmap_job::Change;
use meshmap_scene::{Fact, FactKind};

use crate::outcome::Outcome;
use crate::plan::Plan;

/// The decision of a target about a kind of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decision {
    /// It is written. If the writer cannot write some of it, it says so.
    Keeps,
    /// It is written in another form: the writer counts what has changed.
    Changes(Change),
    /// It is not written.
    Drops,
}

/// Reports the facts that a target drops, by its decisions.
pub(crate) fn report(
    facts: Vec<Fact>,
    plan: &Plan<'_>,
    decide: impl Fn(FactKind, &Plan<'_>) -> Decision,
    outcome: &mut Outcome,
) {
    for fact in facts {
        match decide(fact.kind, plan) {
            Decision::Drops => outcome.report.drop_fact(fact),
            Decision::Keeps | Decision::Changes(_) => {}
        }
    }
}
