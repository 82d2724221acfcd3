//! `meshmap verify`: whether files are sound.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use meshmap::{Finding, Result};

use crate::{files, show};

/// What came out for one file.
enum Verdict {
    Good,
    Findings(Vec<Finding>),
    /// It opens, but some of its data cannot be used.
    Damaged(Vec<Finding>),
    Unreadable(String),
}

pub(crate) fn run(
    paths: &[PathBuf],
    fail_on_finding: bool,
    mmap: bool,
    out: &mut impl Write,
) -> io::Result<bool> {
    let found = files::find(paths);
    let bar = files::progress(found.files.len());
    let mut verdicts = Vec::new();
    for path in &found.files {
        bar.set_message(show::path(path));
        let verdict = match check(path, mmap) {
            Ok(findings) if findings.is_empty() => Verdict::Good,
            Ok(findings) if findings.iter().all(|finding| finding.tolerated) => Verdict::Findings(findings),
            Ok(findings) => Verdict::Damaged(findings),
            Err(error) if found.single => {
                eprintln!("{}: {error}", show::path(path));
                return Ok(false);
            }
            Err(error) => Verdict::Unreadable(error.to_string()),
        };
        verdicts.push((path, verdict));
        bar.inc(1);
    }
    bar.finish_and_clear();
    verdicts
        .extend(found.unreadable.iter().map(|(path, error)| (path, Verdict::Unreadable(error.to_string()))));

    let width = verdicts.iter().filter(|(_, verdict)| !matches!(verdict, Verdict::Good));
    let width = width.map(|(path, _)| show::path(path).chars().count()).max().unwrap_or(0);
    for (path, verdict) in &verdicts {
        write_verdict(&show::path(path), width, verdict, out)?;
    }

    let count = |is: fn(&Verdict) -> bool| verdicts.iter().filter(|(_, verdict)| is(verdict)).count();
    let good = count(|verdict| matches!(verdict, Verdict::Good));
    let findings = count(|verdict| matches!(verdict, Verdict::Findings(_)));
    let damaged = count(|verdict| matches!(verdict, Verdict::Damaged(_)));
    let unreadable = count(|verdict| matches!(verdict, Verdict::Unreadable(_)));
    let passed = damaged + unreadable == 0 && !(fail_on_finding && findings > 0);
    let damaged = if damaged > 0 { format!(", {damaged} damaged") } else { String::new() };
    let others =
        if found.others > 0 { format!("; {}", show::plural(found.others, "other")) } else { String::new() };
    writeln!(
        out,
        "{}: {}, {good} without a finding, {findings} with findings{damaged}, {unreadable} unreadable{others}",
        if passed { "good" } else { "not good" },
        show::plural(verdicts.len(), "file"),
    )?;
    Ok(passed)
}

fn check(path: &Path, mmap: bool) -> Result<Vec<Finding>> {
    files::open(path, mmap)?.validate()
}

fn write_verdict(path: &str, width: usize, verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
    let (mark, findings) = match verdict {
        Verdict::Good => return Ok(()),
        Verdict::Unreadable(error) => return writeln!(out, "x   {path:<width$}   {error}"),
        Verdict::Findings(findings) => ("!", findings),
        Verdict::Damaged(findings) => ("x", findings),
    };
    writeln!(out, "{mark}   {path:<width$}   {}", show::plural(findings.len(), "finding"))?;
    for finding in findings {
        let mark = if finding.tolerated { " " } else { "x" };
        writeln!(out, "    {mark} {}", show::finding(finding))?;
    }
    Ok(())
}
