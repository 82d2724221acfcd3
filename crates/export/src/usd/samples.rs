//! Values of an attribute through time: where each run of equal ones begins.

use meshmap_job::Result;

use std::io::{Seek, Write};

use super::crate_file::CrateFile;
use super::prim::{Property, Value};
use super::values::Rep;

/// Values at snapshots, which are counted from 0 as they are written.
#[derive(Default)]
pub(super) struct Samples {
    runs: Vec<(usize, Rep)>,
}

/// The times of the snapshots that are written: the numbers that they have in the file.
pub(super) struct Clock {
    count: usize,
    every: usize,
    all: Option<Rep>,
}

impl Samples {
    /// The value from this snapshot on.
    pub(super) fn set(&mut self, snapshot: usize, value: Rep) {
        if self.last() != Some(value) {
            self.runs.push((snapshot, value));
        }
    }

    pub(super) fn last(&self) -> Option<Rep> {
        self.runs.last().map(|(_, value)| *value)
    }

    pub(super) fn is_constant(&self) -> bool {
        self.runs.len() < 2
    }

    fn first(&self) -> Option<Rep> {
        self.runs.first().map(|(_, value)| *value)
    }
}

impl Clock {
    pub(super) fn new(count: usize, every: usize) -> Self {
        Self {
            count,
            every,
            all: None,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "there are fewer snapshots than that"
    )]
    pub(super) fn time(&self, snapshot: usize) -> f64 {
        (snapshot * self.every) as f64
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn last(&self) -> f64 {
        self.time(self.count.saturating_sub(1))
    }

    /// Gives an attribute a value at every snapshot; readers interpolate between them.
    pub(super) fn each<W: Write + Seek>(
        &mut self,
        property: Property,
        samples: &Samples,
        file: &mut CrateFile<'_, W>,
    ) -> Result<Property> {
        let times = match self.all {
            Some(times) => times,
            None => *self
                .all
                .insert(file.times((0..self.count).map(|snapshot| self.time(snapshot)))?),
        };
        let mut runs = samples.runs.iter().copied().peekable();
        let mut value = None;
        let values = (0..self.count).map(|snapshot| {
            while let Some((_, next)) = runs.next_if(|(first, _)| *first <= snapshot) {
                value = Some(next);
            }
            value.unwrap_or(Rep(0))
        });
        let values = file.samples(times, values)?;
        Ok(constant(property, samples).field("timeSamples", Value::Stored(values)))
    }

    /// Gives an attribute its values where they change; readers hold each until the next.
    pub(super) fn held<W: Write + Seek>(
        &self,
        property: Property,
        samples: &Samples,
        file: &mut CrateFile<'_, W>,
    ) -> Result<Property> {
        if samples.is_constant() {
            return Ok(constant(property, samples));
        }
        let times = file.times(
            samples
                .runs
                .iter()
                .map(|(snapshot, _)| self.time(*snapshot)),
        )?;
        let values = file.samples(times, samples.runs.iter().map(|(_, value)| *value))?;
        Ok(constant(property, samples).field("timeSamples", Value::Stored(values)))
    }
}

/// The times of a stage, from 0 to `end`.
pub(super) fn times_of_stage(end: f64, rate: f64) -> Vec<(&'static str, Value)> {
    let numbers = [
        ("startTimeCode", 0.0),
        ("endTimeCode", end),
        ("timeCodesPerSecond", rate),
        ("framesPerSecond", rate),
    ];
    numbers
        .map(|(name, number)| (name, Value::Double(number)))
        .into()
}

/// Gives an attribute its first value, for those who do not ask for a time.
pub(super) fn constant(property: Property, samples: &Samples) -> Property {
    match samples.first() {
        Some(first) => property.value(first),
        None => property,
    }
}
