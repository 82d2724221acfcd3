//! Differences between a file and its output: as JSON, and as lines.

use clap::Args;
use meshmap_export::{Entry, Report, Say};
use serde_json::{Value, json};

use super::outputs::Remark;
use crate::{text, words};

/// The properties of a JSON object.
pub(super) fn facts<Options: Args>(report: &Report) -> Value {
    let mut left_out = objects::<_, Options>(&report.left_out);
    for (object, entry) in left_out.iter_mut().zip(&report.left_out) {
        object["why"] = json!(entry.what.why.name());
    }
    let mut warnings = objects::<_, Options>(&report.warnings);
    for (object, entry) in warnings.iter_mut().zip(&report.warnings) {
        object["option"] = json!(entry.what.option());
    }
    json!({
        "left_out": left_out,
        "changed": objects::<_, Options>(&report.changed),
        "assumed": objects::<_, Options>(&report.assumed),
        "warnings": warnings,
    })
}

fn objects<T: Say, Options: Args>(entries: &[Entry<T>]) -> Vec<Value> {
    let mut objects = Vec::new();
    for entry in entries {
        objects.push(json!({
            "kind": entry.what.name(),
            "count": entry.count,
            "first": entry.first,
            "text": entry.line(&words::option::<Options>),
        }));
    }
    objects
}

/// Lines about what is not there, what has changed and what is assumed.
pub(super) fn details<Options: Args>(report: &Report) -> Vec<Remark> {
    let mut lines = Vec::new();
    let mut minor = Vec::new();
    for entry in report.left_out_for_people() {
        if entry.what.is_minor() {
            minor.push(entry.what.kind.to_string());
        } else {
            lines.push(remark::<_, Options>("left out: ", entry));
        }
    }
    if !minor.is_empty() {
        let line = format!("also left out: {}", minor.join(", "));
        lines.push(Remark::of_kind(&line, &line));
    }
    for entry in &report.changed {
        let count = text::count(entry.count);
        let words = entry.words(&words::option::<Options>);
        let first = match entry.first.first() {
            Some(first) => format!(" (first: {first})"),
            None => String::new(),
        };
        let line = format!("changed: {count} {words}{first}");
        lines.push(Remark::of_kind(&line, &format!("changed: {words}")));
    }
    for entry in &report.assumed {
        lines.push(remark::<_, Options>("assumed: ", entry));
    }
    lines
}

/// Lines about possible problems.
pub(super) fn warnings<Options: Args>(report: &Report) -> Vec<Remark> {
    let mut lines = Vec::new();
    for entry in &report.warnings {
        lines.push(remark::<_, Options>("", entry));
    }
    lines
}

fn remark<T: Say, Options: Args>(begin: &str, entry: &Entry<T>) -> Remark {
    let option = words::option::<Options>;
    let line = format!("{begin}{}", entry.line(&option));
    Remark::of_kind(&line, &format!("{begin}{}", entry.words(&option)))
}
