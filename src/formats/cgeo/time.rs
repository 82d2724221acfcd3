//! The times of snapshots.

use super::rules::FILE;
use crate::limits::caps;
use crate::num::{as_u64, decimal};
use crate::report::Result;

/// The times of the snapshots, equally spaced.
///
/// A file's own times are whole microseconds ([`Proxy::timing`](super::Proxy::timing)); others may be any real numbers.
///
/// # Examples
///
/// ```
/// use meshmap::cgeo::{Timing, Wrap};
///
/// // 30 snapshots a second, which are no whole number of microseconds apart.
/// let timing = Timing::new(0.0, 0.04, 2000).with_rate(30.0);
/// assert_eq!(timing.time_of(1000), 1000.0 / 30.0);
/// // A shutter over two snapshots.
/// let keys = timing.keys(0.05, 0.12, Wrap::Clamp)?;
/// assert_eq!(keys, [0.05, 2.0 / 30.0, 0.1, 0.12]);
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    clock: Clock,
    count: usize,
}

/// The clock in which times are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Clock {
    /// In whole microseconds, as in a header.
    Microseconds { start: i64, step: i64 },
    /// In seconds: a step is `period / rate`, and one of the two is 1.
    Seconds { start: f64, period: f64, rate: f64 },
}

/// The behaviour before the first snapshot and after the last.
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

impl Key {
    /// The place of a key among others, such that each snapshot is needed by neighbours only.
    ///
    /// Keys over the seam of a loop come first: the last snapshot, which they begin with, is needed again by the last keys.
    pub(super) fn rank(&self) -> (bool, usize, usize) {
        (!self.is_over_the_seam(), self.from, self.to)
    }

    /// Returns `true` between the last snapshot of a loop and the first one.
    pub(super) fn is_over_the_seam(&self) -> bool {
        self.from > self.to
    }
}

const MICROSECONDS: f64 = 1e6;

impl Timing {
    /// The times of `count` snapshots: the first at `start`, the others one `step` after another, in seconds.
    ///
    /// If the step is 0, no time passes. NaN and infinite values count as 0.
    #[must_use]
    pub fn new(start: f64, step: f64, count: usize) -> Self {
        Self::of_seconds(start, step, 1.0, count)
    }

    /// The times of a header.
    pub(super) fn of_microseconds(start: i64, step: i64, count: usize) -> Self {
        Self {
            clock: Clock::Microseconds { start, step },
            count,
        }
    }

    fn of_seconds(start: f64, period: f64, rate: f64, count: usize) -> Self {
        let start = if start.is_finite() { start } else { 0.0 };
        let mut clock = Clock::Seconds {
            start,
            period,
            rate,
        };
        if !(period / rate).is_finite() {
            clock = Clock::Seconds {
                start,
                period: 0.0,
                rate: 1.0,
            };
        }
        Self { clock, count }
    }

    /// Sets the rate in snapshots per second; the time of the first one stays as it is.
    ///
    /// If the step from one snapshot to the next is not finite, no time passes.
    #[must_use]
    pub fn with_rate(self, snapshots_per_second: f64) -> Self {
        Self::of_seconds(self.start(), 1.0, snapshots_per_second, self.count)
    }

    /// The time of snapshot 0 in seconds.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.at(0)
    }

    /// From one snapshot to the next, in seconds; 0 if no time passes.
    #[must_use]
    pub fn step(&self) -> f64 {
        match self.clock {
            Clock::Microseconds { step, .. } => seconds(step.into()),
            Clock::Seconds { period, rate, .. } => period / rate,
        }
    }

    /// The number of snapshots.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The time of a snapshot in seconds.
    #[must_use]
    pub fn time_of(&self, index: usize) -> f64 {
        self.at(i128::try_from(index).unwrap_or(i128::MAX))
    }

    /// Returns the time `steps` steps after the first snapshot. Exact as far as whole microseconds allow; i128 holds
    /// every product.
    fn at(&self, steps: i128) -> f64 {
        match self.clock {
            Clock::Microseconds { start, step } => {
                seconds(i128::from(start).saturating_add(i128::from(step).saturating_mul(steps)))
            }
            Clock::Seconds {
                start,
                period,
                rate,
            } => {
                #[expect(clippy::cast_precision_loss, reason = "rounds to the nearest")]
                let steps = steps as f64;
                start + steps * period / rate
            }
        }
    }

    /// Returns the number of steps from the first snapshot to a time; a whole number at the time of a snapshot.
    fn steps(&self, time: f64) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "times of 285 years in microseconds are exact"
        )]
        let steps = match self.clock {
            Clock::Microseconds { start, step } => {
                (time * MICROSECONDS - start as f64) / step as f64
            }
            Clock::Seconds {
                start,
                period,
                rate,
            } => (time - start) * rate / period,
        };
        let nearest = steps.round();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, where no step has this time"
        )]
        let is_there = self.at(nearest as i128) == time;
        if is_there { nearest } else { steps }
    }

    /// Returns `true` if one snapshot follows another in time.
    pub(super) fn moves(&self) -> bool {
        self.step() != 0.0 && self.count > 1
    }

    /// The snapshots around a time in seconds; `None` if there are no snapshots, or the time is NaN.
    ///
    /// The fraction is 0 at the time of a snapshot, as [`time_of`](Self::time_of) gives it.
    #[must_use]
    pub fn index_at(&self, seconds: f64, wrap: Wrap) -> Option<Key> {
        let last = self.count.checked_sub(1)?;
        if !seconds.is_finite() {
            return None;
        }
        if !self.moves() {
            return Some(Key {
                from: 0,
                to: 0,
                fraction: 0.0,
            });
        }
        #[expect(clippy::cast_precision_loss, reason = "no file has 2^52 snapshots")]
        let count = self.count as f64;
        #[expect(clippy::cast_precision_loss, reason = "no file has 2^52 snapshots")]
        let end = last as f64;
        let steps = self.steps(seconds);
        let at = match wrap {
            Wrap::Clamp => steps.clamp(0.0, end),
            // Steps may be too short to be counted.
            _ if !steps.is_finite() => 0.0,
            Wrap::Loop => {
                let at = steps.rem_euclid(count);
                // The remainder of a very small negative number is rounded to the divisor.
                if at < count { at } else { 0.0 }
            }
            Wrap::PingPong => {
                let there_and_back = steps.rem_euclid(2.0 * end);
                if there_and_back > end {
                    2.0 * end - there_and_back
                } else {
                    there_and_back
                }
            }
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the number of snapshots"
        )]
        let from = (at.floor() as usize).min(last);
        #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1")]
        let fraction = at.fract() as f32;
        let to = match wrap {
            Wrap::Loop if from == last => 0,
            _ => from.saturating_add(1).min(last),
        };
        Some(Key { from, to, fraction })
    }

    /// The snapshots around a time of which one has a share in it: at the time of a snapshot, only this one.
    pub(super) fn needed_at(&self, seconds: f64, wrap: Wrap) -> Option<Key> {
        let key = self.index_at(seconds, wrap)?;
        if key.fraction > 0.0 {
            return Some(key);
        }
        Some(Key {
            to: key.from,
            ..key
        })
    }

    /// The direction in which snapshots follow each other at a time: 1, -1 on the way back, and 0 where a clamped animation stands still.
    pub(super) fn direction(&self, seconds: f64, wrap: Wrap) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no file has 2^52 snapshots")]
        let end = self.count.saturating_sub(1) as f64;
        let at = self.steps(seconds);
        match wrap {
            Wrap::Clamp if at < 0.0 || at > end => 0.0,
            Wrap::PingPong if at.rem_euclid(2.0 * end) > end => -1.0,
            _ => 1.0,
        }
    }

    /// The times in seconds that a shutter needs, ascending: its opening and closing, and the time of each snapshot which is passed
    /// between them.
    ///
    /// Between two neighbours, vertices move in straight lines. Before the first snapshot and after the last, `wrap` defines what
    /// is passed: nothing, the snapshots of other laps, or the snapshots on the way back.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`](crate::ErrorKind::OutOfRange) for a shutter that closes before it opens, or more than 65,536 times.
    pub fn keys(&self, open: f64, close: f64, wrap: Wrap) -> Result<Vec<f64>> {
        let mut keys = Vec::new();
        self.keys_into(open, close, wrap, &mut keys)?;
        Ok(keys)
    }

    /// Like [`keys`](Self::keys), into `out`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`keys`](Self::keys); `out` then has no times.
    pub fn keys_into(&self, open: f64, close: f64, wrap: Wrap, out: &mut Vec<f64>) -> Result<()> {
        let refused = |expected: String, found: String| {
            let error = FILE.out_of_range("shutter");
            error.expected(expected).found(found)
        };
        out.clear();
        if !(open.is_finite() && close.is_finite() && open <= close) {
            return Err(refused(
                "an opening before the closing".to_owned(),
                format!("{open} s .. {close} s"),
            ));
        }
        out.push(open);
        if self.moves() {
            // Snapshots may follow one another backwards in time.
            let at_open = self.steps(open);
            let at_close = self.steps(close);
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            let mut first = at_open.min(at_close).floor() as i64;
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            let mut last = at_open.max(at_close).ceil() as i64;
            if wrap == Wrap::Clamp {
                first = first.max(0);
                let count = i64::try_from(self.count).unwrap_or(i64::MAX);
                last = last.min(count.saturating_sub(1));
            }
            // The first and the last step may coincide with the opening and the closing.
            let most = u64::try_from(last.saturating_sub(first).saturating_sub(1)).unwrap_or(0);
            if most > caps::CGEO_KEYS {
                out.clear();
                return Err(refused(
                    format!("at most {} times", decimal(caps::CGEO_KEYS)),
                    decimal(most),
                ));
            }
            let count = last.saturating_sub(first).saturating_add(1);
            for number in 0..count {
                let step = if at_open <= at_close {
                    first.saturating_add(number)
                } else {
                    last.saturating_sub(number)
                };
                let time = self.at(step.into());
                if time < close && out.last().is_some_and(|before| time > *before) {
                    out.push(time);
                }
            }
        }
        if close > open {
            out.push(close);
        }
        let count = as_u64(out.len());
        if count > caps::CGEO_KEYS {
            out.clear();
            return Err(refused(
                format!("at most {} times", decimal(caps::CGEO_KEYS)),
                decimal(count),
            ));
        }
        Ok(())
    }
}

/// Whole microseconds in seconds.
fn seconds(microseconds: i128) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rounds to the nearest")]
    let microseconds = microseconds as f64;
    microseconds / MICROSECONDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ErrorKind;

    const TIMING: Timing = Timing {
        clock: Clock::Microseconds {
            start: 1_000_000,
            step: 40_000,
        },
        count: 5,
    };

    fn at(seconds: f64, wrap: Wrap) -> (usize, usize, f32) {
        let key = TIMING.index_at(seconds, wrap).unwrap();
        (key.from, key.to, (key.fraction * 1000.).round() / 1000.)
    }

    #[test]
    fn times_are_those_of_the_header() {
        assert_eq!((TIMING.time_of(0), TIMING.time_of(4)), (1., 1.16));
        assert_eq!(
            (TIMING.start(), TIMING.step(), TIMING.count()),
            (1., 0.04, 5)
        );
        let ends = Timing::of_microseconds(i64::MAX, i64::MAX, usize::MAX);
        assert!(ends.time_of(usize::MAX).is_finite());
        // 33,333 microseconds as they are stored, however many of them.
        assert_eq!(
            Timing::of_microseconds(7, 33_333, 9_000_001).time_of(9_000_000),
            299_997.000_007
        );
    }

    #[test]
    fn rates_do_not_drift() {
        let timing = Timing::of_microseconds(0, 33_333, 10_000).with_rate(30.);
        for index in [1, 7, 1000, 9999] {
            assert_eq!(timing.time_of(index), index as f64 / 30.);
        }
        assert_eq!((timing.start(), timing.step()), (0., 1. / 30.));
        let later = TIMING.with_rate(24.);
        assert_eq!((later.time_of(0), later.time_of(24)), (1., 2.));
        assert_eq!(Timing::new(0.5, 0.1, 9).time_of(3), 0.5 + 3. * 0.1);
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
        // So little before the first that it is the first.
        assert_eq!(at(1. - f64::EPSILON / 2., Wrap::Loop).2, 1.);
        let zero = Timing::new(0., 0.04, 5).index_at(-1e-19, Wrap::Loop);
        assert_eq!(
            zero,
            Some(Key {
                from: 0,
                to: 1,
                fraction: 0.
            })
        );
    }

    #[test]
    fn ping_pong_turns_at_both_ends() {
        assert_eq!(at(1.18, Wrap::PingPong), (3, 4, 0.5));
        assert_eq!(at(1.31, Wrap::PingPong), (0, 1, 0.25));
        assert_eq!(at(0.99, Wrap::PingPong), (0, 1, 0.25));
    }

    #[test]
    fn times_of_snapshots_are_at_the_snapshots() {
        let timings = [
            TIMING,
            TIMING.with_rate(30.),
            Timing::new(0.1, 0.3, 5),
            Timing::new(3., -0.7, 5),
        ];
        let count = if cfg!(miri) { 100 } else { 5000 };
        for timing in timings.map(|timing| Timing { count, ..timing }) {
            for index in 0..count {
                for wrap in [Wrap::Clamp, Wrap::Loop, Wrap::PingPong] {
                    let key = timing.index_at(timing.time_of(index), wrap).unwrap();
                    assert_eq!((key.from, key.fraction), (index, 0.), "{timing:?} {wrap:?}");
                }
            }
        }
    }

    #[test]
    fn files_without_time_have_one_key() {
        for timing in [
            Timing::of_microseconds(1_000_000, 0, 5),
            Timing { count: 1, ..TIMING },
        ] {
            for wrap in [Wrap::Clamp, Wrap::Loop, Wrap::PingPong] {
                assert_eq!(
                    timing.index_at(77., wrap),
                    Some(Key {
                        from: 0,
                        to: 0,
                        fraction: 0.
                    })
                );
                assert_eq!(timing.keys(0., 9., wrap).unwrap(), [0., 9.]);
            }
        }
        assert_eq!(
            Timing { count: 0, ..TIMING }.index_at(0., Wrap::Clamp),
            None
        );
        assert_eq!(TIMING.index_at(f64::NAN, Wrap::Clamp), None);
    }

    #[test]
    fn numbers_that_are_none_stop_time() {
        for number in [f64::NAN, f64::INFINITY, 1e-320] {
            let rate = TIMING.with_rate(number);
            assert!(
                rate.time_of(1000).is_finite() && rate.start() == 1.,
                "{number}"
            );
        }
        assert_eq!(TIMING.with_rate(0.).step(), 0.);
        assert_eq!(
            Timing::new(f64::NAN, f64::NEG_INFINITY, 3),
            Timing::new(0., 0., 3)
        );
        // Steps that are too short to be distinguished, and too long.
        for step in [f64::MIN_POSITIVE, f64::MAX, -f64::MAX] {
            let timing = Timing::new(1., step, 3);
            for wrap in [Wrap::Clamp, Wrap::Loop, Wrap::PingPong] {
                for time in [-f64::MAX, 0., 1., 2., f64::MAX] {
                    let key = timing.index_at(time, wrap).unwrap();
                    assert!(
                        key.from < 3 && key.to < 3 && (0. ..=1.).contains(&key.fraction),
                        "{key:?}"
                    );
                }
                let keys = timing
                    .keys(-1e300, 1e300, wrap)
                    .map(|keys| keys.len())
                    .unwrap_or(0);
                assert!(keys < 10);
            }
        }
    }

    #[test]
    fn shutters_have_a_key_at_each_snapshot_between() {
        let keys = |open, close| TIMING.keys(open, close, Wrap::Clamp);
        assert_eq!(keys(1.01, 1.09).unwrap(), [1.01, 1.04, 1.08, 1.09]);
        assert_eq!(keys(1.04, 1.08).unwrap(), [1.04, 1.08]);
        assert_eq!(keys(1.05, 1.05).unwrap(), [1.05]);
        assert_eq!(keys(0., 9.).unwrap().len(), 7);
        assert_eq!(keys(2., 1.).unwrap_err().kind(), ErrorKind::OutOfRange);
        let long = Timing::of_microseconds(1_000_000, 1, usize::MAX);
        assert_eq!(
            long.keys(0., 1e9, Wrap::Clamp).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
    }

    #[test]
    fn shutters_over_the_seam_have_a_key_at_each_snapshot() {
        let keys = |wrap| TIMING.keys(0.95, 1.29, wrap).unwrap();
        assert_eq!(keys(Wrap::Clamp), [0.95, 1., 1.04, 1.08, 1.12, 1.16, 1.29]);
        // The last one before the first, and the first ones of the next lap.
        let all = [
            0.95, 0.96, 1., 1.04, 1.08, 1.12, 1.16, 1.2, 1.24, 1.28, 1.29,
        ];
        assert_eq!(
            (keys(Wrap::Loop), keys(Wrap::PingPong)),
            (all.to_vec(), all.to_vec())
        );
        let at = |wrap| all.map(|time| TIMING.index_at(time, wrap).unwrap());
        let whole = |keys: [Key; 11]| {
            assert!(
                keys.iter()
                    .skip(1)
                    .rev()
                    .skip(1)
                    .all(|key| key.fraction == 0.)
            );
            keys.map(|key| key.from)
        };
        assert_eq!(whole(at(Wrap::Loop)), [3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 2]);
        assert_eq!(whole(at(Wrap::PingPong)), [1, 1, 0, 1, 2, 3, 4, 3, 2, 1, 0]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes Miri minutes")]
    fn there_are_at_most_65_536_keys() {
        assert_eq!(
            TIMING
                .keys(1., 1. + 65_535. * 0.04, Wrap::Loop)
                .unwrap()
                .len(),
            65_536
        );
        assert!(TIMING.keys(1., 1. + 65_536. * 0.04, Wrap::Loop).is_err());
    }

    #[test]
    fn snapshots_that_go_back_in_time_have_ascending_keys() {
        let back = Timing::new(1., -0.25, 5);
        assert_eq!(
            back.keys(-1., 0.8, Wrap::Clamp).unwrap(),
            [-1., 0., 0.25, 0.5, 0.75, 0.8]
        );
        assert_eq!(
            back.keys(-0.3, 0.1, Wrap::Loop).unwrap(),
            [-0.3, -0.25, 0., 0.1]
        );
    }
}
