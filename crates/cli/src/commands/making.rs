//! The run of a command that makes outputs: earlier outputs that are up to date, new ones, and the sum of both.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use meshmap::MeshFile;
use meshmap_catalog::Skipped;
use meshmap_export::find_up_to_date;
use meshmap_images::Library;
use meshmap_outputs::{Made, Outputs, Record};

use super::outputs::{
    Job, JobResult, Plan, Summary, Totals, UpToDate, Written, lines, object, one, origin,
    unreadable,
};
use super::{Outcome, print_stderr};
use crate::inputs::{Choice, Found, Reading};
use crate::pool::Waits;
use crate::progress::{self, Printed};
use crate::screen::Screen;
use crate::{text, words};

/// Does all jobs and prints a summary. `make` writes the output of one file.
pub(super) fn all(
    mut found: Found,
    jobs: Vec<Job>,
    plan: &Plan<'_>,
    choice: &Choice,
    screen: Screen,
    make: impl Fn(&MeshFile, &Job) -> JobResult + Send + Sync + 'static,
    out: &mut impl Write,
) -> io::Result<Outcome> {
    let start = Instant::now();
    let reporting = plan.reporting;
    let is_one = found.single && jobs.len() == 1;
    let making = Arc::new(Making::new(plan, &jobs, make));
    let work = {
        let making = Arc::clone(&making);
        move |job: &Job| making.do_job(job)
    };
    let jobs = Arc::new(jobs);
    let mut tally = Tally::default();
    let mut not_recorded = None;
    let report = |job: &Job, done: Done| {
        let added = making.add_to_record(job, &done);
        not_recorded = not_recorded.take().or(added.err());
        let result = done.result.of_named(job.input.is_named);
        if matches!(result, JobResult::DiskFull) {
            making.is_full.store(true, Ordering::Relaxed);
        }
        tally.add(&result, &mut found.skipped);
        if reporting.json {
            Printed::result(object(&job.paths(), result))
        } else {
            lines(&job.paths(), result, reporting.quiet, is_one, screen)
        }
    };
    let pool = choice.pool(plan.making_bytes);
    let handed = progress::each(&jobs, |job| &job.input, choice, pool, work, report, out)?;

    let failed = tally.failed + unreadable(&found, reporting.json, out)? + tally.not_written;
    if !is_one && !reporting.json {
        let totals = tally.totals.printed(reporting.quiet, screen);
        totals.write(out)?;
    }
    if tally.not_written > 0 {
        let files = text::plural(tally.not_written, "file");
        print_stderr(screen.problem(&format!("{}: {files} not written", words::DISK_FULL)));
    }
    if let Some(why) = not_recorded {
        print_stderr(text::line(&why));
    }
    Summary {
        counts: tally.counts(),
        made: tally.written + tally.up_to_date,
        failed,
        damaged: tally.damaged,
        is_done: handed == jobs.len(),
        start,
    }
    .write(&found, reporting, screen, out)
}

/// The result of a job, and the fingerprint of what its outputs are made from.
struct Done {
    result: JobResult,
    fingerprint: Option<String>,
}

impl Waits for Done {
    fn held_bytes(&self) -> u64 {
        self.result.held_bytes()
    }
}

/// Makes outputs. The threads of a run share it.
struct Making<Make> {
    /// The record of earlier runs; `None` for one output, which is always written.
    record: Option<Record>,
    is_in_store: bool,
    /// Outputs that are up to date are made again.
    force: bool,
    library: Library,
    how: Reading,
    make: Make,
    /// The disk is full: nothing more is made.
    is_full: AtomicBool,
}

impl<Make: Fn(&MeshFile, &Job) -> JobResult> Making<Make> {
    fn new(plan: &Plan<'_>, jobs: &[Job], make: Make) -> Self {
        let read = |outputs| {
            let places = jobs.iter().map(|job| &job.place);
            Record::read(outputs, &plan.options, plan.also.as_deref(), places)
        };
        Self {
            record: plan.outputs.map(read),
            is_in_store: plan.outputs.is_some_and(Outputs::is_in_store),
            force: plan.force,
            library: plan.library.clone(),
            how: plan.how,
            make,
            is_full: AtomicBool::new(false),
        }
    }

    fn do_job(&self, job: &Job) -> Done {
        // Before the file is read, so that a file that changes meanwhile is not up to date.
        let fingerprint = self.fingerprint(job);
        let earlier = self.earlier_result(job, fingerprint.as_deref());
        let result = earlier.unwrap_or_else(|| self.new_result(job, fingerprint.as_deref()));
        Done {
            result,
            fingerprint,
        }
    }

    fn fingerprint(&self, job: &Job) -> Option<String> {
        let record = self.record.as_ref()?;
        record.fingerprint(&origin(&job.input, &self.how)?)
    }

    /// The result of an earlier run: what it made, or why nothing. `None` if that does not count.
    fn earlier_result(&self, job: &Job, fingerprint: Option<&str>) -> Option<JobResult> {
        if self.force {
            return None;
        }
        let record = self.record.as_ref()?;
        let fingerprint = fingerprint?;
        if let Some(known) = find_up_to_date(record, &job.place, fingerprint, &self.library) {
            let known = serde_json::from_str(known.report).unwrap_or_default();
            return Some(JobResult::UpToDate(known));
        }
        let failure = record.find_failure(&job.place, fingerprint)?;
        JobResult::of_failure(failure, self.how.memory)
    }

    /// Makes an output. In a store, it is recorded as it is put there.
    fn new_result(&self, job: &Job, fingerprint: Option<&str>) -> JobResult {
        if self.is_full.load(Ordering::Relaxed) {
            return JobResult::DiskFull;
        }
        match (one(job, &self.how, &self.make), &self.record) {
            (JobResult::Written(made), Some(record)) if self.is_in_store => {
                let fingerprint = fingerprint.unwrap_or_default().to_owned();
                match record.deliver(&job.place, recorded(&made, fingerprint)) {
                    Ok(()) => JobResult::Written(made),
                    Err(error) => JobResult::of(meshmap_export::Error::Write(error)),
                }
            }
            (result, _) => result,
        }
    }

    /// Records an output that was made, or why none was. The next run reports the same.
    fn add_to_record(&self, job: &Job, done: &Done) -> Result<(), String> {
        let (Some(record), Some(fingerprint)) = (&self.record, &done.fingerprint) else {
            return Ok(());
        };
        let place = &job.place;
        let JobResult::Written(made) = &done.result else {
            return match done.result.failure_record(&self.how) {
                // It may be there already.
                Some(report) if record.find_failure(place, fingerprint) != Some(&report) => {
                    record.add_failure(place, fingerprint.clone(), report)
                }
                _ => Ok(()),
            };
        };
        // An output in a store has been put there with its record.
        if self.is_in_store {
            return Ok(());
        }
        record.add(place, recorded(made, fingerprint.clone()))
    }
}

/// An output as it is recorded.
fn recorded(made: &Written, fingerprint: String) -> Made {
    let known = UpToDate {
        damage: made.damage.for_record(),
        counts: made.counts.clone(),
    };
    Made {
        fingerprint,
        source: String::new(),
        files: made.files.clone(),
        looked_for: made.textures.to_record(),
        // Neither serializing to memory nor these types fail.
        report: serde_json::to_string(&known).unwrap_or_default(),
    }
}

/// The results of a run, counted.
#[derive(Default)]
struct Tally {
    written: u64,
    up_to_date: u64,
    failed: u64,
    /// Files that are not written because the disk is full.
    not_written: u64,
    /// Outputs of files that have parts which cannot be used.
    damaged: u64,
    totals: Totals,
}

impl Tally {
    fn add(&mut self, result: &JobResult, skipped: &mut Skipped) {
        match result {
            JobResult::Written(made) => {
                self.written += 1;
                self.damaged += u64::from(!made.damage.is_empty());
            }
            JobResult::UpToDate(output) => {
                self.up_to_date += 1;
                self.damaged += u64::from(!output.damage.is_empty());
            }
            JobResult::Failed(_) | JobResult::Unusable(_) => self.failed += 1,
            JobResult::Other => skipped.others += 1,
            JobResult::Nothing(_) => skipped.nothing += 1,
            JobResult::DiskFull => self.not_written += 1,
        }
        self.totals.add(result);
    }

    /// `3 files written, 2 up to date`.
    fn counts(&self) -> String {
        let written = text::plural(self.written, "file");
        let up_to_date = text::count(self.up_to_date);
        format!("{written} written, {up_to_date} up to date")
    }
}
