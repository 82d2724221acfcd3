//! `meshmap verify`: whether files are sound.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use meshmap::cgeo::{MeshBuffer, Proxy};
use meshmap::{Block, Decoder, Finding, MeshFile, Options, Result, Scratch, Severity, Source};

use crate::{files, show};

/// What came out for one file.
enum Verdict {
    Good,
    Findings(Vec<Finding>),
    /// It opens, but some of its data cannot be used, or the decoders disagree on it.
    Damaged(Vec<Finding>, Option<String>),
    Unreadable(String),
}

/// How strict the verdict is, and how files are read.
pub(crate) struct Wish {
    pub(crate) fail_on_finding: bool,
    pub(crate) cross_check: bool,
    pub(crate) mmap: bool,
}

pub(crate) fn run(paths: &[PathBuf], wish: &Wish, out: &mut impl Write) -> io::Result<bool> {
    let found = files::find(paths);
    let bar = files::progress(found.files.len());
    let mut verdicts = Vec::new();
    for path in &found.files {
        bar.set_message(show::path(path));
        let verdict = match check(path, wish, &bar) {
            Ok((findings, None)) if findings.is_empty() => Verdict::Good,
            Ok((findings, None))
                if findings.iter().all(|finding| finding.severity() < Severity::Unusable) =>
            {
                Verdict::Findings(findings)
            }
            Ok((findings, disagreement)) => Verdict::Damaged(findings, disagreement),
            Err(error) if found.single => {
                show::error(format_args!("{}: {}", show::path(path), error.message()));
                return Ok(false);
            }
            Err(error) => Verdict::Unreadable(error.message()),
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
    let damaged = count(|verdict| matches!(verdict, Verdict::Damaged(..)));
    let unreadable = count(|verdict| matches!(verdict, Verdict::Unreadable(_)));
    let passed = damaged + unreadable == 0 && !(wish.fail_on_finding && findings > 0);
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

/// What is wrong with a file, and what its decoders disagree on.
fn check(path: &Path, wish: &Wish, bar: &ProgressBar) -> Result<(Vec<Finding>, Option<String>)> {
    let file = files::open(path, wish.mmap)?;
    let findings = match &file {
        MeshFile::CGeo(proxy) => {
            let snapshots = files::progress(proxy.len());
            let findings = proxy.validate_reporting(|done| snapshots.set_position(done as u64));
            snapshots.finish_and_clear();
            findings?
        }
        MeshFile::SlMesh(asset) => {
            let mut findings = asset.validate()?;
            findings.extend(asset.check_hashes()?);
            findings
        }
        file => file.validate()?,
    };
    bar.tick();
    let disagreement = match &file {
        MeshFile::CGeo(_) if wish.cross_check => cross_check(path, wish.mmap)?,
        MeshFile::OpenCtm(bodies) if wish.cross_check => {
            bodies.iter().find_map(|mesh| blocks_differ(mesh.source(), &mesh.blocks()))
        }
        MeshFile::SlMesh(asset) if wish.cross_check => blocks_differ(asset.source(), &asset.blocks()?),
        _ => None,
    };
    Ok((findings, disagreement))
}

/// The first snapshot of which the two decoders do not make the same.
fn cross_check(path: &Path, mmap: bool) -> Result<Option<String>> {
    let open = |decoder| {
        let options = Options::default().with_decoder(decoder);
        Proxy::from_source_with(files::source(path, mmap)?, &options, &Default::default())
    };
    let (fast, second) = (open(Decoder::Fast)?, open(Decoder::Reference)?);
    let (mut a, mut b, mut scratch) = (MeshBuffer::default(), MeshBuffer::default(), Scratch::default());
    // Entries of the table that name the same snapshot are compared once.
    let mut seen = HashSet::new();
    for index in 0..fast.len() {
        if fast.snapshot(index).is_ok_and(|snapshot| !seen.insert(snapshot.range().start)) {
            continue;
        }
        let found = fast.snapshot(index).and_then(|snapshot| snapshot.mesh_into(&mut a, &mut scratch));
        let other = second.snapshot(index).and_then(|snapshot| snapshot.mesh_into(&mut b, &mut scratch));
        let bits = |mesh: &MeshBuffer| {
            let channels = mesh.map_channels.iter().flatten();
            let numbers =
                mesh.positions.iter().chain(&mesh.normals).chain(channels).flatten().map(|n| n.to_bits());
            numbers.collect::<Vec<u32>>()
        };
        let same = match (found, other) {
            (Ok(()), Ok(())) => bits(&a) == bits(&b) && a.triangles.as_bytes() == b.triangles.as_bytes(),
            (found, other) => found.is_err() == other.is_err(),
        };
        if !same {
            return Ok(Some(format!("snapshots[{index}]: the two decoders do not make the same of it")));
        }
    }
    Ok(None)
}

/// The first block of which the two decoders do not make the same.
fn blocks_differ(source: &Source, blocks: &[Block]) -> Option<String> {
    /// Blocks may share bytes; where thousands do, not all are compared.
    const TIMES: u64 = 16;
    let mut scratch = Scratch::default();
    let end = blocks.iter().map(|block| block.range.end).max().unwrap_or(0);
    let mut within = blocks.iter().scan(0_u64, |stored, block| {
        *stored = stored.saturating_add(block.range.end - block.range.start);
        (*stored <= end.saturating_mul(TIMES)).then_some(block)
    });
    let mut decode = |block: &Block, decoder| {
        block.decode(source, &Options::default().with_decoder(decoder), &mut scratch)
    };
    let differs =
        within.find(|block| match (decode(block, Decoder::Fast), decode(block, Decoder::Reference)) {
            (Ok(fast), Ok(second)) => fast != second,
            (fast, second) => fast.is_err() != second.is_err(),
        });
    differs.map(|block| format!("{}: the two decoders do not make the same of it", block.address))
}

fn write_verdict(path: &str, width: usize, verdict: &Verdict, out: &mut impl Write) -> io::Result<()> {
    let (mark, findings, disagreement) = match verdict {
        Verdict::Good => return Ok(()),
        Verdict::Unreadable(error) => return writeln!(out, "x   {path:<width$}   {error}"),
        Verdict::Findings(findings) => ("!", findings, &None),
        Verdict::Damaged(findings, disagreement) => ("x", findings, disagreement),
    };
    writeln!(out, "{mark}   {path:<width$}   {}", show::plural(findings.len(), "finding"))?;
    for finding in findings {
        let mark = if finding.severity() < Severity::Unusable { " " } else { "x" };
        writeln!(out, "    {mark} {}", show::finding(finding))?;
    }
    if let Some(disagreement) = disagreement {
        writeln!(out, "    x {disagreement}")?;
    }
    Ok(())
}
