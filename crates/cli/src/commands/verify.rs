//! `meshmap verify`: whether files are sound.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use meshmap::{Finding, Severity};
use meshmap_catalog::inspect::{self, Damage, Inspection, State};
use meshmap_catalog::json;
use meshmap_catalog::{Depth, SHARES};

use super::{Outcome, Reporting};
use crate::inputs::{self, Choice, Input, Problem, Reading, TWO_FILES};
use crate::progress::{self, Printed, Reported};
use crate::rules::Allowed;
use crate::screen::{Screen, Style};
use crate::words::Troubled;
use crate::{cross_check, damage, interrupt, page, text};

/// The arguments of `meshmap verify`.
#[derive(Clone, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Files, directories to search, or `-` for standard input.
    #[arg(required_unless_present_any = ["rules", "files_from"])]
    paths: Vec<PathBuf>,
    /// Minimum severity that makes a file fail. A part that cannot be used always does.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// Ignore this rule: IDENTIFIER, or FORMAT.IDENTIFIER.
    #[arg(long, value_name = "RULE", value_parser = Allowed::parse)]
    allow: Vec<Allowed>,
    /// List the rules, with their severities.
    #[arg(long, exclusive = true)]
    pub(crate) rules: bool,
    /// Print a JSON object for each file, one per line, and the verdict on standard error.
    #[arg(long)]
    json: bool,
    /// Decode everything with both decoders of each codec, and compare the bytes.
    #[arg(long)]
    cross_check: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum FailOn {
    /// Values that are allowed, but likely not intended, and everything worse.
    Suspicious,
    /// Values that the specification of the format forbids.
    Forbidden,
}

impl VerifyArgs {
    /// The minimum severity that makes a file fail; parts that cannot be used always do.
    fn fail_on(&self) -> Severity {
        match self.fail_on {
            None => Severity::Unusable,
            Some(FailOn::Suspicious) => Severity::Suspicious,
            Some(FailOn::Forbidden) => Severity::Forbidden,
        }
    }
}

/// The verdict on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    troubled: Troubled,
    has_warnings: bool,
    fails: bool,
}

impl Verdict {
    fn is_broken(self) -> bool {
        self.troubled.sum() > 0
    }
}

/// The sum over files.
#[derive(Clone, Copy, Debug, Default)]
struct Summary {
    files: u64,
    troubled: Troubled,
    warned: u64,
    failed: u64,
}

impl Summary {
    fn add(&mut self, verdict: Verdict) {
        self.files += 1;
        self.troubled += verdict.troubled;
        self.warned += u64::from(verdict.has_warnings && !verdict.is_broken());
        self.failed += u64::from(verdict.fails);
    }

    /// `1 damaged, 3 with warnings`.
    fn words(self) -> String {
        let warned =
            (self.warned > 0).then(|| format!("{} with warnings", text::count(self.warned)));
        let troubled = Some(self.troubled.to_string()).filter(|words| !words.is_empty());
        troubled
            .into_iter()
            .chain(warned)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

pub(crate) fn run(
    args: &VerifyArgs,
    choice: &Choice,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    interrupt::watch();
    let mut found = inputs::find(&args.paths, choice);
    let single = found.single && found.files.len() == 1;
    let how = choice.reading(if args.cross_check { TWO_FILES } else { SHARES }, !single);
    let inputs = Arc::new(std::mem::take(&mut found.files));
    let mut sum = Summary::default();
    let work = {
        let args = args.clone();
        move |input: &Input| check(input, &args, &how, single, screen)
    };
    let add = |verdict: Verdict| {
        sum.add(verdict);
        verdict.fails
    };
    let skipped = &mut found.skipped;
    let handed = progress::each_mesh_file(&inputs, choice, skipped, work, add, out)?;
    let is_done = handed == inputs.len();
    for (path, error) in found.unreadable.iter().filter(|_| is_done) {
        let troubled = Troubled {
            not_readable: 1,
            ..Troubled::default()
        };
        sum.add(Verdict {
            troubled,
            has_warnings: false,
            fails: true,
        });
        if args.json {
            json::write_line(&mut *out, &inspect::object_of_no_file(path, error))?;
        } else {
            out.write_all(&text::joined(lines_of_file(
                "x",
                &text::path(path),
                error,
                screen,
            )))?;
        }
    }
    // Files that were not looked at may turn out to be no meshes.
    let of = sum.files + (inputs.len() - handed) as u64;
    let (word, style, line) = verdict_line(sum, of, is_done, &found.skipped.to_string());
    let rest = text::wrap(&format!("{word}{line}"), screen.width, 2).join("\n");
    let painted = format!(
        "{}{}",
        screen.paint(style, word),
        rest.strip_prefix(word).unwrap_or(&rest)
    );
    Reporting {
        quiet: choice.quiet,
        json: args.json,
    }
    .conclude(&painted, is_done, out)?;
    Ok(match (is_done, sum.failed == 0 && sum.files > 0) {
        (false, _) => Outcome::Interrupted,
        (true, good) => Outcome::good_if(good),
    })
}

fn verdict_line(
    sum: Summary,
    of: u64,
    is_done: bool,
    skipped: &str,
) -> (&'static str, Style, String) {
    let words = sum.words();
    let files = text::count(sum.files);
    let with = |separator: &str| {
        if words.is_empty() {
            String::new()
        } else {
            format!("{separator}{words}")
        }
    };
    if !is_done {
        let line = format!(
            " after {files} of {} files{}{skipped}",
            text::count(of),
            with(": ")
        );
        return ("STOPPED", Style::Warning, line);
    }
    if sum.files == 0 {
        return ("FAIL", Style::Bad, format!(": no file to verify{skipped}"));
    }
    if sum.failed == 0 {
        let files = text::plural(sum.files, "file");
        return (
            "PASS",
            Style::Good,
            format!(": {files}{}{skipped}", with(", ")),
        );
    }
    let files = text::plural(sum.files, "file");
    (
        "FAIL",
        Style::Bad,
        format!(
            ": {} of {files}{}{skipped}",
            text::count(sum.failed),
            with(": ")
        ),
    )
}

/// Checks a file: what is printed of it, and how it did.
fn check(
    input: &Input,
    args: &VerifyArgs,
    how: &Reading,
    single: bool,
    screen: Screen,
) -> Option<Reported<Verdict>> {
    let mut inspection = inspect::inspect(input, how, Depth::Everything, args.json)?;
    if let (true, Some(file)) = (args.cross_check, &inspection.file) {
        match cross_check::differs(file, how) {
            Ok(None) => {}
            Ok(Some(address)) => {
                let why = "the two decoders do not make the same of it".to_owned();
                inspection.damage.push(Damage {
                    address,
                    state: State::Broken,
                    range: None,
                    problem: Problem::other("mismatch", why),
                    rule: None,
                });
            }
            // Nothing is known to be wrong with the file, but it was not compared to its end.
            Err(problem) if inspection.damage.is_empty() => inspection.problem = Some(problem),
            Err(_) => {}
        }
    }
    if let Some(format) = inspection.format {
        let allowed =
            |rule: meshmap::Rule| args.allow.iter().any(|allowed| allowed.is(format, rule));
        inspection
            .damage
            .retain(|damage| !damage.rule.is_some_and(allowed));
        inspection.findings.retain(|finding| !allowed(finding.rule));
    }
    let worst = inspection.findings.iter().map(Finding::severity).max();
    let verdict = Verdict {
        troubled: Troubled::of(&inspection),
        has_warnings: worst.is_some_and(|worst| worst >= Severity::Suspicious),
        fails: inspection.is_broken() || worst.is_some_and(|worst| worst >= args.fail_on()),
    };
    let mut printed = Vec::new();
    if args.json {
        // Writing to memory does not fail.
        drop(json::write_line(
            &mut printed,
            &inspect::object(&inspection),
        ));
    } else {
        let lines = if single {
            page(&inspection, screen)
        } else {
            rows(&inspection, verdict, screen)
        };
        printed = text::joined(lines);
    }
    Some(Reported {
        printed: Printed::result(printed),
        facts: verdict,
    })
}

/// The only file: its title, and all that there is to say.
fn page(inspection: &Inspection, screen: Screen) -> Vec<String> {
    let mut title = vec![text::cut(
        &inspection.input.name(),
        screen.width.saturating_sub(4).max(8),
    )];
    let variant = inspection.variant.as_ref();
    title.extend(variant.map(|variant| variant.long.clone()));
    title.extend(inspection.bytes.map(text::size));
    let mut lines = text::wrap(&title.join("   "), screen.width, 4);
    if let Some(first) = lines.first_mut() {
        *first = screen.paint(Style::Bold, first);
    }
    lines.extend(what_is_wrong(inspection, screen, Severity::Note));
    lines
}

/// The rows of one of many files; nothing if there is nothing to report.
fn rows(inspection: &Inspection, verdict: Verdict, screen: Screen) -> Vec<String> {
    let path = inspection.input.shown();
    if let Some(problem) = inspection
        .problem
        .as_ref()
        .filter(|_| inspection.salvaged.is_empty())
    {
        return lines_of_file("x", &path, &problem.to_string(), screen);
    }
    let mark = match inspection.findings.iter().map(Finding::severity).max() {
        _ if verdict.is_broken() => "x",
        Some(Severity::Forbidden) => "!!",
        Some(Severity::Suspicious) => "!",
        _ => return Vec::new(),
    };
    let findings = inspection
        .findings
        .iter()
        .filter(|finding| is_warning(finding))
        .count();
    let parts = [
        (
            inspection.damage.len()
                + inspection
                    .salvaged
                    .iter()
                    .filter(|part| part.state >= State::Broken)
                    .count(),
            "bad part",
        ),
        (findings, "finding"),
    ];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let words = parts
        .map(|(number, one)| text::plural(*number, one))
        .collect::<Vec<_>>()
        .join(", ");
    let mut lines = lines_of_file(mark, &path, &words, screen);
    lines.extend(
        what_is_wrong(inspection, screen, Severity::Suspicious)
            .into_iter()
            .map(|line| format!("  {line}")),
    );
    lines
}

/// Returns `true` if it is reported in addition to unusable parts.
fn is_warning(finding: &Finding) -> bool {
    (Severity::Suspicious..Severity::Unusable).contains(&finding.severity())
}

/// A mark, a path and words after it; on lines of their own where they do not fit.
fn lines_of_file(mark: &str, path: &str, words: &str, screen: Screen) -> Vec<String> {
    let style = if mark == "x" {
        Style::Bad
    } else {
        Style::Warning
    };
    let lead = format!("{} {path}", screen.paint(style, &format!("{mark:<2}")));
    if text::width(path) + 3 + 3 + text::width(words) <= screen.width {
        return vec![format!("{lead}   {words}")];
    }
    let wrapped = text::wrap(words, screen.width.saturating_sub(6).max(20), 0);
    std::iter::once(lead)
        .chain(wrapped.into_iter().map(|line| format!("      {line}")))
        .collect()
}

/// Lists damaged parts, the intact parts of the same file, and the findings from a severity on.
fn what_is_wrong(inspection: &Inspection, screen: Screen, least: Severity) -> Vec<String> {
    // Rows of many files are indented by two more.
    let inner = Screen {
        width: screen.width.saturating_sub(2),
        ..screen
    };
    let mut lines = Vec::new();
    if let Some(words) = inspection.cut_words() {
        lines.extend(page::marked("x", &words, inner));
    } else if let Some(problem) = &inspection.problem {
        lines.extend(page::marked("x", &problem.to_string(), inner));
    } else if !inspection.damage.is_empty() {
        let count = text::plural(inspection.damage.len(), "part");
        lines.extend(page::marked("x", &format!("{count} cannot be used"), inner));
    }
    lines.extend(parts(inspection, inner));
    lines.extend(page::findings(inspection, least, inner));
    lines
}

/// A line for each damaged part, equal ones folded, and one line for the intact parts.
fn parts(inspection: &Inspection, screen: Screen) -> Vec<String> {
    let mut rows: Vec<(String, &'static str, String)> = damage::folded(inspection.damage.iter())
        .iter()
        .map(|run| {
            (
                run.name(),
                run.first.state.name(),
                detail(run, inspection.bytes),
            )
        })
        .collect();
    for part in inspection
        .salvaged
        .iter()
        .filter(|part| part.state >= State::Broken)
    {
        let range = format!(
            "{}..{}",
            text::count(part.range.start),
            text::count(part.range.end)
        );
        rows.push((part.address.clone(), part.state.name(), range));
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let intact = damage::intact(inspection);
    let width = rows
        .iter()
        .map(|(name, ..)| text::width(name))
        .max()
        .unwrap_or(0)
        .clamp(14, 32);
    let mut lines = text::listed(rows, "broken part", |(name, state, detail)| {
        let name = text::pad(&text::line(&name), width, true);
        let mut lead = format!("     {name} {state:<10}  ");
        let left = text::width(&lead);
        let room = screen.width.saturating_sub(left).max(24);
        let mut lines = Vec::new();
        for part in text::wrap(&text::line(&detail), room, 0) {
            lines.push(format!("{lead}{part}").trim_end().to_owned());
            lead = " ".repeat(left);
        }
        lines
    });
    if let Some(intact) = intact {
        let wrapped = text::wrap(
            &intact,
            screen.width.saturating_sub(5 + width + 1).max(24),
            0,
        );
        for (index, part) in wrapped.iter().enumerate() {
            let label = if index == 0 { "intact" } else { "" };
            lines.push(format!("     {} {part}", text::pad(label, width, true)));
        }
    }
    lines
}

/// The location of a part and the number of its bytes that exist, or its problem.
fn detail(run: &damage::Run<&Damage>, bytes: Option<u64>) -> String {
    let damage = run.first;
    if damage
        .problem
        .library()
        .is_some_and(|error| error.what() == "offset table")
        && damage.state == State::Missing
    {
        return format!(
            "{} beyond the end of the file",
            if run.has_several() {
                "offsets"
            } else {
                "offset"
            }
        );
    }
    match (&damage.range, damage.there(bytes)) {
        (Some(range), Some((there, all))) if damage.state != State::Broken => {
            let place = format!("{}..{}", text::count(range.start), text::count(range.end));
            if damage.state == State::Missing {
                return place;
            }
            format!(
                "{place} ({} of {} there)",
                text::count(there),
                text::plural(all, "byte")
            )
        }
        _ => damage.reason(),
    }
}
