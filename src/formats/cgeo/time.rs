//! The times of snapshots.

use super::rules::FILE;
use crate::num::decimal;
use crate::report::Result;

/// The times of the snapshots, equally spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// The time of snapshot 0, in microseconds.
    pub start: i64,
    /// From one snapshot to the next, in microseconds; 0 where no time passes.
    pub step: i64,
    /// The number of snapshots.
    pub count: usize,
}

/// What happens before the first snapshot and after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wrap {
    /// The first and the last snapshot stay.
    Clamp,
    /// The first snapshot follows the last, one step later.
    Loop,
    /// Snapshots run back to the first, then forth again.
    PingPong,
}

/// A time between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Key {
    /// The snapshot at or before the time.
    pub from: usize,
    /// The snapshot after it.
    pub to: usize,
    /// The fraction from `from` (0) to `to` (1).
    pub fraction: f32,
}

const MICROSECONDS: f64 = 1e6;

impl Timing {
    /// Sets the rate in snapshots per second, rounded to whole microseconds from one to the next.
    #[must_use]
    pub fn with_rate(mut self, snapshots_per_second: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "saturates, as it should")]
        let step = (MICROSECONDS / snapshots_per_second).round() as i64;
        self.step = step;
        self
    }

    /// The time of a snapshot in seconds.
    #[must_use]
    pub fn time_of(&self, index: usize) -> f64 {
        // As far as whole microseconds go, this is exact; i128 holds every product.
        let index = i128::try_from(index).unwrap_or(i128::MAX);
        let micros = i128::from(self.start).saturating_add(i128::from(self.step).saturating_mul(index));
        #[expect(clippy::cast_precision_loss, reason = "rounds to the nearest")]
        let micros = micros as f64;
        micros / MICROSECONDS
    }

    /// The snapshots around a time in seconds; `None` where there are no snapshots, or the time is not a number.
    #[must_use]
    pub fn index_at(&self, seconds: f64, wrap: Wrap) -> Option<Key> {
        let last = self.count.checked_sub(1)?;
        if !seconds.is_finite() {
            return None;
        }
        if self.step == 0 || last == 0 {
            return Some(Key { from: 0, to: 0, fraction: 0.0 });
        }
        #[expect(clippy::cast_precision_loss, reason = "no file has 2^52 snapshots")]
        let (count, end) = (self.count as f64, last as f64);
        #[expect(clippy::cast_precision_loss, reason = "times of 285 years in microseconds are exact")]
        let at = (seconds * MICROSECONDS - self.start as f64) / self.step as f64;
        let at = match wrap {
            Wrap::Clamp => at.clamp(0.0, end),
            Wrap::Loop => at.rem_euclid(count),
            Wrap::PingPong => {
                let there_and_back = at.rem_euclid(2.0 * end);
                if there_and_back > end { 2.0 * end - there_and_back } else { there_and_back }
            }
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the number of snapshots"
        )]
        let (from, fraction) = ((at.floor() as usize).min(last), at.fract() as f32);
        let to = match wrap {
            Wrap::Loop if from == last => 0,
            _ => from.saturating_add(1).min(last),
        };
        Some(Key { from, to, fraction })
    }

    /// The times in seconds that a shutter needs, ascending: its opening and closing, and each snapshot between them.
    ///
    /// Between two neighbours, vertices move in straight lines.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) for a shutter that closes before it opens, or more than 65,536 times.
    pub fn keys(&self, open: f64, close: f64) -> Result<Vec<f64>> {
        const MAX_KEYS: i64 = 65_536;
        let refused = |expected: String, found: String| {
            let error = FILE.out_of_range("shutter");
            error.expected(expected).found(found)
        };
        if !(open.is_finite() && close.is_finite() && open <= close) {
            return Err(refused(
                "an opening before the closing".to_owned(),
                format!("{open} s .. {close} s"),
            ));
        }
        let mut keys = vec![open];
        if self.step > 0 {
            #[expect(clippy::cast_precision_loss, reason = "times of 285 years in microseconds are exact")]
            let index = |seconds: f64| (seconds * MICROSECONDS - self.start as f64) / self.step as f64;
            #[expect(clippy::cast_possible_truncation, reason = "saturates, and is bounded below")]
            let (first, last) = (index(open).floor() as i64, index(close).ceil() as i64);
            let first = first.max(0);
            let last = last.min(i64::try_from(self.count).unwrap_or(i64::MAX).saturating_sub(1));
            if last.saturating_sub(first) > MAX_KEYS {
                let found = decimal(last.abs_diff(first));
                return Err(refused(format!("at most {MAX_KEYS} snapshots"), found));
            }
            let times =
                (first..=last).filter_map(|index| usize::try_from(index).ok()).map(|i| self.time_of(i));
            keys.extend(times.filter(|time| *time > open && *time < close));
        }
        if close > open {
            keys.push(close);
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ErrorKind;

    const TIMING: Timing = Timing { start: 1_000_000, step: 40_000, count: 5 };

    fn at(seconds: f64, wrap: Wrap) -> (usize, usize, f32) {
        let key = TIMING.index_at(seconds, wrap).unwrap();
        (key.from, key.to, (key.fraction * 1000.).round() / 1000.)
    }

    #[test]
    fn times_are_those_of_the_header() {
        assert_eq!((TIMING.time_of(0), TIMING.time_of(4)), (1., 1.16));
        let ends = Timing { start: i64::MAX, step: i64::MAX, count: usize::MAX };
        assert!(ends.time_of(usize::MAX).is_finite());
        let rate = TIMING.with_rate(30.);
        assert_eq!(rate.step, 33_333);
    }

    #[test]
    fn clamped_times_stay_at_the_ends() {
        assert_eq!(at(1.05, Wrap::Clamp), (1, 2, 0.25));
        assert_eq!(at(-9., Wrap::Clamp), (0, 1, 0.));
        assert_eq!(at(9., Wrap::Clamp), (4, 4, 0.));
    }

    #[test]
    fn looped_times_go_from_the_last_to_the_first() {
        assert_eq!(at(1.18, Wrap::Loop), (4, 0, 0.5));
        assert_eq!(at(1.21, Wrap::Loop), (0, 1, 0.25));
        assert_eq!(at(0.98, Wrap::Loop), (4, 0, 0.5));
    }

    #[test]
    fn ping_pong_turns_at_both_ends() {
        assert_eq!(at(1.18, Wrap::PingPong), (3, 4, 0.5));
        assert_eq!(at(1.31, Wrap::PingPong), (0, 1, 0.25));
        assert_eq!(at(0.99, Wrap::PingPong), (0, 1, 0.25));
    }

    #[test]
    fn files_without_time_have_one_key() {
        for timing in [Timing { step: 0, ..TIMING }, Timing { count: 1, ..TIMING }] {
            for wrap in [Wrap::Clamp, Wrap::Loop, Wrap::PingPong] {
                assert_eq!(timing.index_at(77., wrap), Some(Key { from: 0, to: 0, fraction: 0. }));
            }
        }
        assert_eq!(Timing { count: 0, ..TIMING }.index_at(0., Wrap::Clamp), None);
        assert_eq!(TIMING.index_at(f64::NAN, Wrap::Clamp), None);
    }

    #[test]
    fn shutters_have_a_key_at_each_snapshot_between() {
        assert_eq!(TIMING.keys(1.01, 1.09).unwrap(), [1.01, 1.04, 1.08, 1.09]);
        assert_eq!(TIMING.keys(1.04, 1.08).unwrap(), [1.04, 1.08]);
        assert_eq!(TIMING.keys(1.05, 1.05).unwrap(), [1.05]);
        assert_eq!(TIMING.keys(0., 9.).unwrap().len(), 7);
        assert_eq!(TIMING.keys(2., 1.).unwrap_err().kind(), ErrorKind::OutOfRange);
        let long = Timing { step: 1, count: usize::MAX, ..TIMING };
        assert_eq!(long.keys(0., 1e9).unwrap_err().kind(), ErrorKind::OutOfRange);
    }
}
