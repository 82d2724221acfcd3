//! Values of an attribute through time: where each run of equal ones begins.

use std::io::{Seek, Write};

use meshmap_job::Result;
use meshmap_scene::Shape;

use super::crate_file::CrateFile;
use super::prim::{Property, Value};
use super::values::Rep;

/// Values at keys, which are counted from 0 as they are written.
#[derive(Default)]
pub(super) struct Samples {
    runs: Vec<(usize, Rep)>,
}

impl Samples {
    /// The value from this key on.
    pub(super) fn set(&mut self, key: usize, value: Rep) {
        if self.last() != Some(value) {
            self.runs.push((key, value));
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

/// An array at keys, with its last content: what stays is written once.
pub(super) struct Track<const N: usize> {
    pub(super) samples: Samples,
    last: Vec<[f32; N]>,
}

impl<const N: usize> Default for Track<N> {
    fn default() -> Self {
        Self {
            samples: Samples::default(),
            last: Vec::new(),
        }
    }
}

impl<const N: usize> Track<N> {
    /// Sets the array from this key on, and writes it unless it is the last one; returns `true` if it was written.
    pub(super) fn set<I: ExactSizeIterator<Item = [f32; N]>>(
        &mut self,
        key: usize,
        elements: impl Fn() -> I,
        write: impl FnOnce(I) -> Result<Rep>,
    ) -> Result<bool> {
        let bits = |element: [f32; N]| element.map(f32::to_bits);
        let last = self.last.iter().copied().map(bits);
        if self.samples.last().is_some() && elements().map(bits).eq(last) {
            return Ok(false);
        }
        self.last.clear();
        self.last.extend(elements());
        self.samples.set(key, write(elements())?);
        Ok(true)
    }

    /// Sets an array without elements.
    pub(super) fn set_empty(&mut self, key: usize, empty: Rep) {
        self.last.clear();
        self.samples.set(key, empty);
    }

    /// The number of elements of the last array.
    pub(super) fn len(&self) -> usize {
        self.last.len()
    }
}

/// The time codes of keys.
pub(super) struct Clock {
    codes: Vec<f64>,
    all: Option<Rep>,
}

impl Clock {
    /// A clock with these codes, which ascend.
    pub(super) fn new(codes: Vec<f64>) -> Self {
        Self { codes, all: None }
    }

    /// The clock of a shape: a code is the step from one snapshot of the file to the next, and the first key has 0.
    pub(super) fn of_shape(shape: &Shape) -> Self {
        let first = shape.steps_of(0);
        let steps = (0..shape.key_count()).map(|key| shape.steps_of(key) - first);
        Self::new(steps.collect())
    }

    fn code(&self, key: usize) -> f64 {
        self.codes.get(key).copied().unwrap_or_default()
    }

    pub(super) fn count(&self) -> usize {
        self.codes.len()
    }

    pub(super) fn last(&self) -> f64 {
        self.codes.last().copied().unwrap_or_default()
    }

    /// Gives an attribute a value at every key; readers interpolate between them.
    pub(super) fn each<W: Write + Seek>(
        &mut self,
        property: Property,
        samples: &Samples,
        file: &mut CrateFile<'_, W>,
    ) -> Result<Property> {
        let times = match self.all {
            Some(times) => times,
            None => *self.all.insert(file.times(self.codes.iter().copied())?),
        };
        let mut runs = samples.runs.iter().copied().peekable();
        let mut value = None;
        let values = (0..self.count()).map(|key| {
            while let Some((_, next)) = runs.next_if(|(first, _)| *first <= key) {
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
        let times = file.times(samples.runs.iter().map(|(key, _)| self.code(*key)))?;
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
