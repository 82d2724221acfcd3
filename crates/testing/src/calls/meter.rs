//! The time and the memory that calls take.

use std::collections::HashSet;
use std::time::Duration;

use cpu_time::ProcessTime;
use meshmap::Result;

use super::caller::Caller;
use super::look::Look;
use crate::allocator::{counted_in_process, live};

/// The measurements of a call.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The name of the call.
    pub name: String,
    /// The time of the processor that all threads took.
    pub time: Duration,
    /// The maximum number of bytes that were live at once, in addition to the earlier ones.
    pub peak: i64,
}

/// Measures calls, in a program whose global allocator is [`Counting`](crate::allocator::Counting).
pub struct Meter<B: FnMut(&str), D: FnMut(Measured)> {
    /// The text before names.
    pub prefix: &'static str,
    /// Calls that are not made, with their prefix.
    pub skipped: HashSet<String>,
    /// The most items of a kind that calls are made for.
    pub most: usize,
    begun: B,
    done: D,
    before: i64,
}

impl<B: FnMut(&str), D: FnMut(Measured)> Meter<B, D> {
    /// Tells of every call when it begins, and what was measured when it is done.
    pub fn new(begun: B, done: D) -> Self {
        Self {
            prefix: "",
            skipped: HashSet::new(),
            most: usize::MAX,
            begun,
            done,
            before: live(),
        }
    }

    /// Bytes that are live now are not the file's.
    pub fn begin(&mut self, prefix: &'static str) {
        self.prefix = prefix;
        self.before = live();
    }

    fn named(&mut self, name: &str) -> Option<String> {
        let name = format!("{}{name}", self.prefix);
        if self.skipped.contains(&name) {
            return None;
        }
        (self.begun)(&name);
        Some(name)
    }
}

impl<B: FnMut(&str), D: FnMut(Measured)> Caller for Meter<B, D> {
    fn call<T: Look>(&mut self, name: &str, job: impl FnOnce() -> Result<T>) -> Option<T> {
        let name = self.named(name)?;
        let start = ProcessTime::now();
        let (result, count) = counted_in_process(job);
        (self.done)(Measured {
            name,
            time: start.elapsed(),
            peak: count.peak,
        });
        result.ok()
    }

    fn each<I, T: Look>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = I>,
        mut job: impl FnMut(I) -> Result<T>,
    ) {
        let Some(name) = self.named(name) else { return };
        let start = ProcessTime::now();
        let mut peak = 0;
        for item in items.into_iter().take(self.most) {
            let (_, count) = counted_in_process(|| drop(job(item)));
            peak = peak.max(count.peak);
        }
        (self.done)(Measured {
            name,
            time: start.elapsed(),
            peak,
        });
    }

    fn most(&self) -> usize {
        self.most
    }

    fn held(&mut self, what: &str) {
        let peak = live() - self.before;
        (self.done)(Measured {
            name: format!("{}held {what}", self.prefix),
            time: Duration::ZERO,
            peak,
        });
    }
}
