//! The parts of a file that cannot be used, in words: equal ones folded, as in `snapshots[14..39]`.

use meshmap_catalog::inspect::{Damage, Inspection, Part, State};

use crate::text;

/// All that is broken of a file that could be opened, or could not: on one line.
pub(crate) fn what_is_broken(inspection: &Inspection) -> Option<String> {
    let problem = inspection.problem.as_ref().map(ToString::to_string);
    if inspection.damage.is_empty() && inspection.salvaged.is_empty() {
        return problem;
    }
    let format = inspection
        .format
        .map(|format| format!("{format}: "))
        .unwrap_or_default();
    let mut clauses: Vec<String> = inspection.cut_words().or(problem).into_iter().collect();
    let broken = folded(
        inspection
            .damage
            .iter()
            .filter(|damage| damage.state == State::Broken),
    );
    let reasons = broken
        .iter()
        .take(4)
        .map(|run| format!("{}: {}", run.name(), text::line(&run.first.reason())));
    clauses.extend(reasons);
    clauses.extend(intact(inspection).map(|intact| format!("intact: {intact}")));
    for (state, label) in [
        (State::Incomplete, "incomplete"),
        (State::Missing, "missing"),
    ] {
        let salvaged = inspection
            .salvaged
            .iter()
            .filter(|part| part.state == state);
        let damaged = inspection
            .damage
            .iter()
            .filter(|damage| damage.state == state);
        let names = salvaged
            .map(address)
            .chain(damaged.map(|damage| damage.address.to_string()));
        clauses.extend(names_of(names).map(|names| format!("{label}: {names}")));
    }
    if clauses.len() == 1 && !broken.is_empty() {
        clauses.push("other parts are not affected".to_owned());
    }
    Some(format!("{format}{}", clauses.join("; ")))
}

/// The parts that are intact, if others are not, in a few words.
pub(crate) fn intact(inspection: &Inspection) -> Option<String> {
    // Parts of parts are listed if they are damaged themselves.
    const PLACES: [&str; 3] = ["header", "offset_table", "text"];
    let intact = inspection
        .parts()
        .filter(|part| part.state == State::Intact && !PLACES.contains(&&*part.address));
    let salvaged = inspection
        .salvaged
        .iter()
        .filter(|part| part.state < State::Broken);
    names_of(intact.map(|part| part.address).chain(salvaged.map(address)))
        .map(|names| text::line(&names))
}

fn address(part: &Part) -> String {
    part.address.clone()
}

/// Addresses that differ in one index, and are equal in everything else.
pub(crate) struct Run<T> {
    /// The text before the index, the first and the last index, and the text after it.
    stem: String,
    index: Option<(u64, u64)>,
    rest: String,
    /// Everything else that is equal.
    key: String,
    pub(crate) first: T,
}

impl<T> Run<T> {
    /// The name of all: `snapshots[14..39].positions`.
    pub(crate) fn name(&self) -> String {
        let Self { stem, rest, .. } = self;
        match self.index {
            None => stem.clone(),
            Some((from, to)) if from == to => format!("{stem}[{from}]{rest}"),
            Some((from, to)) => format!("{stem}[{from}..{to}]{rest}"),
        }
    }

    /// `true` if it has more than one address.
    pub(crate) fn has_several(&self) -> bool {
        self.index.is_some_and(|(from, to)| from < to)
    }
}

/// Damage folded: parts that follow each other, and are damaged in the same way.
pub(crate) fn folded<'a>(damage: impl Iterator<Item = &'a Damage>) -> Vec<Run<&'a Damage>> {
    runs(damage.map(|damage| {
        let reason = match damage.problem.library() {
            Some(error) => format!("{}{:?}", error.what(), error.kind()),
            None => damage.problem.to_string(),
        };
        (
            damage.address.to_string(),
            format!("{:?} {reason}", damage.state),
            damage,
        )
    }))
}

/// Names of parts in a few words; `None` if there are none.
fn names_of(addresses: impl Iterator<Item = String>) -> Option<String> {
    const MOST: usize = 8;
    let runs = runs(addresses.map(|address| (address, String::new(), ())));
    let more = runs.len().saturating_sub(MOST);
    let more = (more > 0).then(|| format!("{} more", text::count(more)));
    let names = runs.iter().take(MOST).map(Run::name).chain(more);
    Some(names.collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty())
}

fn runs<T>(parts: impl Iterator<Item = (String, String, T)>) -> Vec<Run<T>> {
    let mut runs: Vec<Run<T>> = Vec::new();
    for (address, key, first) in parts {
        let (stem, index, rest) = indexed(&address);
        let last = runs
            .last_mut()
            .filter(|run| (&run.stem, &run.rest, &run.key) == (&stem, &rest, &key));
        match (last.and_then(|run| run.index.as_mut()), index) {
            (Some((_, to)), Some(index)) if *to + 1 == index => *to = index,
            _ => runs.push(Run {
                stem,
                index: index.map(|index| (index, index)),
                rest,
                key,
                first,
            }),
        }
    }
    runs
}

/// `snapshots[3].positions` as `snapshots`, 3 and `.positions`.
fn indexed(address: &str) -> (String, Option<u64>, String) {
    let parts = address.split_once('[').and_then(|(stem, rest)| {
        let (index, rest) = rest.split_once(']')?;
        Some((stem.to_owned(), Some(index.parse().ok()?), rest.to_owned()))
    });
    parts.unwrap_or_else(|| (address.to_owned(), None, String::new()))
}
