//! A page about one file: at most 25 lines, no wider than the terminal.

use meshmap::{Finding, Severity};

use super::block::{Block, PAGE, fill};
use super::model::{Damage, Inspection, State};
use super::{Facts, Inspected, cgeo, iqm, openctm, slmesh, tmf};
use crate::screen::{Screen, Style};
use crate::{text, words};

/// The page about a file that could be opened.
pub(crate) fn lines(inspected: &Inspected, screen: Screen, mmap: bool) -> Vec<String> {
    let Inspected { inspection, facts } = inspected;
    let (subtitle, blocks) = match facts {
        Some(Facts::CGeo(facts)) => cgeo::page(facts, inspection),
        Some(Facts::Iqm(facts)) => iqm::page(facts, inspection),
        Some(Facts::OpenCtm(facts)) => openctm::page(facts, inspection),
        Some(Facts::SlMesh(facts)) => slmesh::page(facts, inspection),
        Some(Facts::Tmf(facts)) => tmf::page(facts, inspection),
        None => (String::new(), Vec::new()),
    };
    let mut title = vec![inspection.variant.clone().unwrap_or_default()];
    title.extend(inspection.bytes.map(text::size));
    title.push(subtitle);
    let mut lines = title_lines(&inspection.input.name(), &title, screen);
    lines.push(String::new());

    let tail = marks(inspection, screen);
    let cost = screen.paint(Style::Dim, &format!("  {}", cost(inspection, mmap)));
    let laid: Vec<Vec<String>> = blocks.iter().map(|block| block.lines(screen.width)).collect();
    let is_table = |block: &Block| matches!(block, Block::Table(_));
    let words: usize =
        blocks.iter().zip(&laid).filter(|(block, _)| !is_table(block)).map(|(_, l)| l.len()).sum();
    let fixed = lines.len() + words + tail.len() + 1;
    let tables = blocks.iter().filter(|block| is_table(block)).count();
    let rows = |block: &Block| if let Block::Table(table) = block { table.total + 1 } else { 0 };
    let room = PAGE.saturating_sub(fixed);
    let fits = blocks.iter().map(rows).sum::<usize>() <= room;
    let share = if fits { usize::MAX } else { (room / tables.max(1)).max(4) };
    for (block, laid) in blocks.iter().zip(laid) {
        let Block::Table(table) = block else {
            lines.extend(laid);
            continue;
        };
        let all = table.total + 1;
        let shown = if all > share { share - 1 } else { laid.len() };
        lines.extend(laid.iter().take(shown).cloned());
        if shown < all {
            let more = text::plural(all - shown, table.row);
            lines.push(format!("    .. {more} more (--json lists more)"));
        }
    }
    lines.extend(tail);
    lines.push(cost);
    lines
}

/// The title on as many lines as it takes.
fn title_lines(name: &str, words: &[String], screen: Screen) -> Vec<String> {
    let name = text::cut(name, screen.width.max(16) - 4);
    let words: Vec<String> = words.iter().filter(|word| !word.is_empty()).cloned().collect();
    let mut lines = fill(words, screen.width, text::width(&name) + 3, 4);
    let first = if lines.is_empty() { String::new() } else { lines.remove(0) };
    let first = format!("{}   {first}", screen.paint(Style::Bold, &name)).trim_end().to_owned();
    std::iter::once(first).chain(lines.into_iter().map(|line| format!("    {line}"))).collect()
}

/// Lists damaged parts and broken rules.
fn marks(inspection: &Inspection, screen: Screen) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(what) = what_is_broken(inspection) {
        lines.extend(marked("x", &what, screen));
    }
    lines.extend(findings(inspection, Severity::Suspicious, screen));
    lines
}

/// The findings with a severity of at least `least`. Parts that cannot be used are reported separately.
pub(crate) fn findings(inspection: &Inspection, least: Severity, screen: Screen) -> Vec<String> {
    let told = |finding: &&Finding| (least..Severity::Unusable).contains(&finding.severity());
    text::listed(inspection.findings.iter().filter(told), "finding", |finding| {
        let mark = mark(finding.severity()).unwrap_or("");
        marked(mark, &text::line(&self::finding(finding)), screen)
    })
}

/// A line with a mark before it, wrapped.
pub(crate) fn marked(mark: &str, line: &str, screen: Screen) -> Vec<String> {
    let style = if mark == "x" { Style::Bad } else { Style::Warning };
    let wrapped = text::wrap(line, screen.width.saturating_sub(5), 0);
    let lead =
        |index: usize| if index == 0 { screen.paint(style, &format!("{mark:<2}")) } else { "  ".to_owned() };
    wrapped.iter().enumerate().map(|(index, line)| format!("  {} {line}", lead(index))).collect()
}

/// The mark of a severity on pages; a note has no mark.
fn mark(severity: Severity) -> Option<&'static str> {
    match severity {
        Severity::Note => None,
        Severity::Suspicious => Some("!"),
        Severity::Forbidden => Some("!!"),
        _ => Some("x"),
    }
}

/// The location and the text of a finding.
fn finding(finding: &Finding) -> String {
    let place = finding.address.as_ref().map(|address| format!("{address}: ")).unwrap_or_default();
    let count = match finding.count {
        0 | 1 => String::new(),
        count => format!(" ({} occurrences)", text::count(count)),
    };
    match words::of_value(finding) {
        Some(words) => format!("{words}{count}"),
        None => format!("{place}{}: {}{count}", finding.rule.name, finding.detail),
    }
}

/// All that is broken of a file that could be opened, or could not: on one line.
pub(crate) fn what_is_broken(inspection: &Inspection) -> Option<String> {
    let problem = inspection.problem.as_ref().map(ToString::to_string);
    if inspection.damage.is_empty() && inspection.salvaged.is_empty() {
        return problem;
    }
    let format = inspection.format.map(|format| format!("{format}: ")).unwrap_or_default();
    let mut clauses = Vec::new();
    if let Some(words) = inspection.cut_words() {
        clauses.push(words);
    } else {
        clauses.extend(problem);
    }
    let names = |state: State| folded(inspection.parts_in(state));
    let broken: Vec<&Damage> =
        inspection.damage.iter().filter(|damage| damage.state == State::Broken).collect();
    for group in groups(&broken).into_iter().take(4) {
        clauses.push(format!("{}: {}", group.name, text::line(&group.reason)));
    }
    if let Some(intact) = inspection.intact() {
        clauses.push(format!("intact: {intact}"));
    }
    for (state, label) in [(State::Incomplete, "incomplete"), (State::Missing, "missing")] {
        let names = names(state);
        if !names.is_empty() {
            clauses.push(format!("{label}: {names}"));
        }
    }
    if clauses.len() == 1 && !broken.is_empty() {
        clauses.push("other parts are not affected".to_owned());
    }
    Some(format!("{format}{}", clauses.join("; ")))
}

/// Damaged parts with the same reason, one after the other.
pub(crate) struct GroupOf<'a> {
    pub(crate) name: String,
    pub(crate) reason: String,
    pub(crate) first: &'a Damage,
    pub(crate) count: usize,
}

/// Damage folded: `snapshots[14..39]`.
pub(crate) fn groups<'a>(damage: &[&'a Damage]) -> Vec<GroupOf<'a>> {
    let mut groups: Vec<(GroupOf<'a>, String)> = Vec::new();
    for damage in damage {
        let key = damage.fold_key();
        let (stem, index, rest) = indexed(&damage.address.to_string());
        match groups.last_mut() {
            Some((group, last)) if *last == key => {
                let first = indexed(&group.first.address.to_string());
                if let (Some(index), Some(from)) = (index, first.1)
                    && stem == first.0
                    && rest == first.2
                    && index == from + group.count as u64
                {
                    group.count += 1;
                    group.name = format!("{stem}[{from}..{index}]{rest}");
                    continue;
                }
            }
            _ => {}
        }
        let group =
            GroupOf { name: damage.address.to_string(), reason: damage.reason(), first: damage, count: 1 };
        groups.push((group, key));
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

/// `snapshots[3].positions` as `snapshots`, 3 and `.positions`.
fn indexed(address: &str) -> (String, Option<u64>, String) {
    let parts = address.split_once('[').and_then(|(stem, rest)| {
        let (index, rest) = rest.split_once(']')?;
        Some((stem.to_owned(), Some(index.parse().ok()?), rest.to_owned()))
    });
    parts.unwrap_or_else(|| (address.to_owned(), None, String::new()))
}

/// The text before an index, the first and the last index, and the text after it.
type Run = (String, Option<(u64, u64)>, String);

/// Names of parts in a few words: runs of indices folded, no more than a few.
fn folded(addresses: Vec<String>) -> String {
    const MOST: usize = 8;
    let mut runs: Vec<Run> = Vec::new();
    for address in addresses {
        let (stem, index, rest) = indexed(&address);
        match (runs.last_mut(), index) {
            (Some((last, Some((_, to)), tail)), Some(index))
                if *last == stem && *tail == rest && *to + 1 == index =>
            {
                *to = index;
            }
            _ => runs.push((stem, index.map(|index| (index, index)), rest)),
        }
    }
    let more = runs.len().saturating_sub(MOST);
    let mut names: Vec<String> = runs
        .into_iter()
        .take(MOST)
        .map(|(stem, index, rest)| match index {
            None => stem,
            Some((from, to)) if from == to => format!("{stem}[{from}]{rest}"),
            Some((from, to)) => format!("{stem}[{from}..{to}]{rest}"),
        })
        .collect();
    if more > 0 {
        names.push(format!("{} more", text::count(more)));
    }
    names.join(", ")
}

impl Damage {
    /// Damage with the same key is reported once.
    fn fold_key(&self) -> String {
        let what = match self.problem.library() {
            Some(error) => format!("{}{:?}", error.what(), error.kind()),
            None => self.problem.to_string(),
        };
        format!("{:?} {what}", self.state)
    }
}

impl Inspection {
    /// The addresses of the parts that are in this state.
    pub(crate) fn parts_in(&self, state: State) -> Vec<String> {
        // Parts of parts are listed if they are damaged themselves.
        const PLACES: [&str; 3] = ["header", "offset_table", "text"];
        if state == State::Intact {
            let all = self.parts().filter(|part| part.state == state && !PLACES.contains(&&*part.address));
            return all.map(|part| part.address).collect();
        }
        let salvaged =
            self.salvaged.iter().filter(|part| part.state == state).map(|part| part.address.clone());
        let damaged = self.damage.iter().filter(|damage| damage.state == state);
        salvaged.chain(damaged.map(|damage| damage.address.to_string())).collect()
    }
}

impl Inspection {
    /// The parts that are intact, where others are not, in a few words.
    pub(crate) fn intact(&self) -> Option<String> {
        let mut parts = self.parts_in(State::Intact);
        let salvaged = self.salvaged.iter().filter(|part| part.state < State::Broken);
        parts.extend(salvaged.map(|part| part.address.clone()));
        (!parts.is_empty()).then(|| text::line(&folded(parts)))
    }
}

fn cost(inspection: &Inspection, mmap: bool) -> String {
    let [reads, bytes] = inspection.reads;
    let bytes = text::size(bytes);
    let cost = if mmap {
        "mapped".to_owned()
    } else if reads == 0 {
        "in memory".to_owned()
    } else {
        format!("read {bytes} in {}", text::plural(reads, "read"))
    };
    if inspection.is_checked() { cost } else { format!("{cost}; values not checked (--full)") }
}
