//! Times of several jobs in turns, and the table of their ratios.

use std::fmt;
use std::time::{Duration, Instant};

/// The shortest and the median time of a job.
#[derive(Clone, Copy)]
pub struct Times {
    least: Duration,
    median: Duration,
}

impl Times {
    /// The times of both jobs, one after the other.
    pub fn and(self, other: Self) -> Self {
        Self {
            least: self.least + other.least,
            median: self.median + other.median,
        }
    }

    /// The shortest time, in seconds.
    pub fn seconds(self) -> f64 {
        self.least.as_secs_f64()
    }

    /// The time relative to the other job, by the minimum times.
    pub fn times_of(self, other: Self) -> f64 {
        self.least.div_duration_f64(other.least)
    }
}

/// Runs the jobs in turns, A B C A B C, so that a busy moment of the machine falls on all of them alike.
pub fn interleave<const N: usize>(rounds: usize, mut jobs: [&mut dyn FnMut(); N]) -> [Times; N] {
    let mut times = [const { Vec::new() }; N];
    for _ in 0..rounds {
        for (job, times) in jobs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            job();
            times.push(start.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        Times {
            least: times[0],
            median: times[rounds / 2],
        }
    })
}

/// Rows of ratios, each with the one that it must reach.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

struct Row {
    ours: &'static str,
    theirs: &'static str,
    times: [Times; 2],
    of_least: f64,
    of_median: f64,
    bar: String,
    /// `None` without a target.
    reached: Option<bool>,
}

impl Table {
    /// A row that says how many times as fast ours is: at least `bar`.
    pub fn faster(
        &mut self,
        ours: &'static str,
        theirs: &'static str,
        times: [Times; 2],
        bar: f64,
    ) {
        let [of_least, of_median] = ratios(times[1], times[0]);
        let (bar, reached) = (format!(">= {bar:?}"), Some(of_least >= bar));
        self.rows.push(Row {
            ours,
            theirs,
            times,
            of_least,
            of_median,
            bar,
            reached,
        });
    }

    /// A row that says how many times as fast ours is, whatever that may be.
    pub fn beside(&mut self, ours: &'static str, theirs: &'static str, times: [Times; 2]) {
        let [of_least, of_median] = ratios(times[1], times[0]);
        self.rows.push(Row {
            ours,
            theirs,
            times,
            of_least,
            of_median,
            bar: String::new(),
            reached: None,
        });
    }

    /// A row that says how many times as long ours takes: at most `bar`.
    pub fn slower(
        &mut self,
        ours: &'static str,
        theirs: &'static str,
        times: [Times; 2],
        bar: f64,
    ) {
        let [of_least, of_median] = ratios(times[0], times[1]);
        let (bar, reached) = (format!("<= {bar:?}"), Some(of_least <= bar));
        self.rows.push(Row {
            ours,
            theirs,
            times,
            of_least,
            of_median,
            bar,
            reached,
        });
    }
}

fn ratios(of: Times, to: Times) -> [f64; 2] {
    [of.times_of(to), of.median.div_duration_f64(to.median)]
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| work | compared with | ratio of minima | ratio of medians | target | | minima, ms |"
        )?;
        writeln!(f, "|---|---|--:|--:|--:|---|--:|")?;
        for row in &self.rows {
            let [ours, theirs] = row.times.map(|times| times.least.as_secs_f64() * 1e3);
            let verdict = match row.reached {
                Some(true) => "reached",
                Some(false) => "not reached",
                None => "",
            };
            writeln!(
                f,
                "| {} | {} | {:.2} | {:.2} | {} | {verdict} | {ours:.3} / {theirs:.3} |",
                row.ours, row.theirs, row.of_least, row.of_median, row.bar
            )?;
        }
        Ok(())
    }
}
