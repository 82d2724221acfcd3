use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::fragment_store::{FragmentStore, State, piece_range};
use super::range::truncated;
use crate::bytes::{Source, coalesce};
use crate::num::{Span, as_u64, as_usize, at_most, decimal};
use crate::report::{Error, ErrorKind, Result};

/// The bytes of a file that a client has fetched so far, for reading without I/O.
///
/// An asynchronous client supplies bytes in any order, overlapping or not; [`step`](Self::step) runs a job until it finds
/// bytes missing. The result of a job keeps using the fragments, so call its accessors in a step as well.
///
/// # Examples
///
/// ```
/// use meshmap::{Fragments, Options, iqm};
///
/// let body = std::fs::read("tests/data/iqm/valid/skin_multi_anim.iqm").unwrap();
/// let fragments = Fragments::new(Some(body.len() as u64));
/// let model = loop {
///     match fragments.step(|source| iqm::Model::from_source(source.clone(), &Options::default()))? {
///         Ok(model) => break model,
///         Err(ranges) => {
///             for range in ranges {
///                 // An HTTP client asks for `bytes={start}-{end - 1}` here.
///                 let part = body[range.start as usize..range.end as usize].to_vec();
///                 fragments.supply(range.start, part)?;
///             }
///         }
///     }
/// };
/// assert_eq!(model.version(), 2);
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone)]
pub struct Fragments {
    store: Arc<FragmentStore>,
}

impl Fragments {
    /// Starts without bytes, for a file of length `len`, if the length is known.
    #[must_use]
    pub fn new(len: Option<u64>) -> Self {
        let state = State {
            len,
            pieces: BTreeMap::new(),
            held: 0,
            wanted: Vec::new(),
            widened: 0,
            far_steps: 0,
        };
        Self {
            store: Arc::new(FragmentStore {
                state: Mutex::new(state),
            }),
        }
    }

    /// Sets the length once it is known: from the head of a response, or because a response ended early.
    ///
    /// Until then, a job that needs more than there is goes on asking for it.
    ///
    /// # Errors
    ///
    /// Returns [`Mismatch`](ErrorKind::Mismatch) if another length is known, or bytes after it were supplied.
    pub fn set_len(&self, len: u64) -> Result<()> {
        let mut state = self.store.lock();
        if let Some(known) = state.len
            && known != len
        {
            return Err(mismatch("length of the fragments", known, len));
        }
        if let Some((start, bytes)) = state.pieces.last_key_value() {
            let end = piece_range(*start, bytes).end;
            if end > len {
                return Err(mismatch("length of the fragments", end, len));
            }
        }
        state.len = Some(len);
        Ok(())
    }

    /// Adds the bytes at an offset. Bytes that were supplied before stay.
    ///
    /// # Errors
    ///
    /// Returns [`Mismatch`](ErrorKind::Mismatch) if they reach beyond the length of the file.
    pub fn supply(&self, offset: u64, bytes: impl Into<Bytes>) -> Result<()> {
        let bytes = bytes.into();
        let mut state = self.store.lock();
        let max_end = state.len.unwrap_or(u64::MAX);
        let Some(end) = offset.checked_add(as_u64(bytes.len())) else {
            return Err(mismatch("fragment", max_end, u64::MAX));
        };
        if end > max_end {
            return Err(mismatch("fragment", max_end, end));
        }
        state.insert(offset, &bytes);
        Ok(())
    }

    /// Lets the bytes of a range go. Jobs that need them ask for them again.
    ///
    /// Memory is given back once nothing else uses the bytes: views keep theirs.
    pub fn remove(&self, range: Range<u64>) {
        self.store.lock().remove(&range);
    }

    /// The parts of a range that were not supplied, in order. A range without an end is as long as the file, if its length is known.
    ///
    /// # Examples
    ///
    /// ```
    /// let fragments = meshmap::Fragments::new(Some(100));
    /// fragments.supply(10, vec![0; 20])?;
    /// assert_eq!(fragments.missing(0..u64::MAX), [0..10, 30..100]);
    /// # Ok::<(), meshmap::Error>(())
    /// ```
    #[must_use]
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let state = self.store.lock();
        let end = range.end.min(state.len.unwrap_or(u64::MAX));
        state.gaps(&(range.start..end))
    }

    /// The number of bytes held so far.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.store.lock().held
    }

    /// A source of the bytes so far. Reading others is [`NeedBytes`](ErrorKind::NeedBytes).
    #[must_use]
    pub fn source(&self) -> Source {
        Source::of_fragments(Arc::clone(&self.store))
    }

    /// Runs a job from its beginning until bytes are missing.
    ///
    /// Returns `Ok(Ok(value))` if the job is done, `Ok(Err(ranges))` if these ranges are missing, and
    /// `Err(error)` if the job fails for another reason.
    ///
    /// The ranges ascend and do not touch; they reach beyond the end of the file only while its length is unknown.
    ///
    /// # Errors
    ///
    /// Returns the errors of the job, except for missing bytes.
    pub fn step<T>(
        &self,
        job: impl FnOnce(&Source) -> Result<T>,
    ) -> Result<std::result::Result<T, Vec<Range<u64>>>> {
        self.store.lock().wanted.clear();
        match job(&self.source()) {
            Ok(done) => Ok(Ok(done)),
            Err(error) => {
                let mut ranges = std::mem::take(&mut self.store.lock().wanted);
                let ErrorKind::NeedBytes(missing) = error.kind() else {
                    return Err(error);
                };
                // The step of another thread may have taken the ranges that this one has noted.
                ranges.push(missing);
                Ok(Err(coalesce(&ranges, 0)))
            }
        }
    }

    /// The ranges to ask for in place of the missing ones that a [`step`](Self::step) returned, to save requests.
    ///
    /// Ranges at most `gap` bytes apart are joined, if the bytes between them are missing as well: nothing is asked for twice. If the file
    /// has at most 256 KiB, all that is missing is asked for, because a request takes longer than its bytes. If nothing is known of the
    /// file, the first range is asked for, with at least `first` bytes: its response has the length of the file, and often what is needed next.
    ///
    /// # Examples
    ///
    /// ```
    /// let fragments = meshmap::Fragments::new(Some(1 << 20));
    /// assert_eq!(fragments.requests(&[0..10, 12..20, 100..110], 4, 64), [0..20, 100..110]);
    /// fragments.supply(10, vec![0; 2])?;
    /// assert_eq!(fragments.requests(&[0..10, 12..20, 100..110], 4, 64), [0..10, 12..20, 100..110]);
    /// let small = meshmap::Fragments::new(Some(1 << 10));
    /// small.supply(0, vec![0; 20])?;
    /// assert_eq!(small.requests(&[100..110], 4, 64), [20..1024]);
    /// let unknown = meshmap::Fragments::new(None);
    /// assert_eq!(unknown.requests(&[0..10, 100..110], 4, 64), [0..64]);
    /// # Ok::<(), meshmap::Error>(())
    /// ```
    #[must_use]
    pub fn requests(&self, missing: &[Range<u64>], gap: u64, first: u64) -> Vec<Range<u64>> {
        /// The size of a small file.
        const SMALL: u64 = 256 << 10;
        let state = self.store.lock();
        let mut requests = match state.len {
            Some(len) if len <= SMALL && !missing.is_empty() => state.gaps(&(0..len)),
            _ => coalesce(missing, gap)
                .iter()
                .flat_map(|range| state.gaps(range))
                .collect(),
        };
        let is_nothing_known = state.len.is_none() && state.pieces.is_empty();
        if is_nothing_known {
            requests.truncate(1);
            if let Some(request) = requests.first_mut() {
                let min_end = request.start.saturating_add(first);
                request.end = request.end.max(min_end);
            }
        }
        requests
    }

    /// Runs a job to its end: calls `fetch` with all ranges that a step misses, and goes on with what it returns.
    ///
    /// `fetch` returns the bytes of each range, in order. The future needs no runtime, and waits for nothing but `fetch`.
    /// If the length is unknown, it is determined when a range returns fewer bytes than requested.
    ///
    /// # Errors
    ///
    /// Returns the errors of the job and of `fetch`, [`Mismatch`](ErrorKind::Mismatch) if `fetch` does not return one part for each
    /// range, and [`Truncated`](ErrorKind::Truncated) if a part is shorter than its range, within the length.
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::{Fragments, MeshFile, Options};
    ///
    /// # async fn get_ranges(ranges: &[std::ops::Range<u64>]) -> Vec<meshmap::Bytes> {
    /// #     let body = std::fs::read("tests/data/iqm/valid/skin_multi_anim.iqm").unwrap();
    /// #     let part = |range: &std::ops::Range<u64>| body[range.start as usize..range.end as usize].to_vec().into();
    /// #     ranges.iter().map(part).collect()
    /// # }
    /// # async fn open(len: u64) -> meshmap::Result<()> {
    /// // `get_ranges` is the client's; one of an object store has a call of this shape.
    /// let fetch = async |ranges: Vec<_>| -> meshmap::Result<_> { Ok(get_ranges(&ranges).await) };
    /// let fragments = Fragments::new(Some(len));
    /// let file = fragments.drive(|source| MeshFile::from_source(source.clone(), &Options::default()), fetch).await?;
    /// let count = fragments.drive(|_| Ok(file.meshes()?.len()), fetch).await?;
    /// assert!(count > 0);
    /// # meshmap::Result::Ok(())
    /// # }
    /// # let len = std::fs::metadata("tests/data/iqm/valid/skin_multi_anim.iqm").unwrap().len();
    /// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// # let std::task::Poll::Ready(opened) = std::pin::pin!(open(len)).poll(&mut context) else { panic!() };
    /// # opened.unwrap();
    /// ```
    pub async fn drive<T, E, F>(
        &self,
        job: impl Fn(&Source) -> Result<T>,
        mut fetch: impl FnMut(Vec<Range<u64>>) -> F,
    ) -> Result<T, E>
    where
        E: From<Error>,
        F: Future<Output = Result<Vec<Bytes>, E>>,
    {
        loop {
            match self.step(&job)? {
                Ok(done) => return Ok(done),
                Err(ranges) => {
                    let parts = fetch(ranges.clone()).await?;
                    self.supply_parts(&ranges, parts)?;
                }
            }
        }
    }

    /// Adds the bytes of these ranges. Afterwards there are more bytes than before, or the length is known.
    fn supply_parts(&self, ranges: &[Range<u64>], parts: Vec<Bytes>) -> Result<()> {
        if parts.len() != ranges.len() {
            let error = Error::new(ErrorKind::Mismatch, "parts of a response");
            return Err(error
                .expected(format!("{} of them", decimal(ranges.len())))
                .found(parts.len()));
        }
        for (range, mut part) in ranges.iter().zip(parts) {
            part.truncate(as_usize(range.length()));
            let found = as_u64(part.len());
            let end = range.start.saturating_add(found);
            if end < range.end {
                // The file ends where the part does. Without a single byte, it ends anywhere up to the start of the range.
                let reveals_length = found > 0 || range.start == 0;
                if self.store.len().is_some() || !reveals_length {
                    return Err(truncated(range, found, "response"));
                }
                self.set_len(end)?;
            }
            self.supply(range.start, part)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fragments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.held();
        let state = self.store.lock();
        // Counts: a file that is read by small ranges may have thousands of pieces.
        f.debug_struct("Fragments")
            .field("len", &state.len)
            .field("pieces", &state.pieces.len())
            .field("held", &held)
            .finish()
    }
}

/// The error of a length, or of the end of a fragment, that contradicts what is known.
///
/// The message reads as an upper bound, also for a new length that is less than a known length or
/// than the end of the bytes supplied so far.
fn mismatch(what: &'static str, known: u64, found: u64) -> Error {
    Error::new(ErrorKind::Mismatch, what)
        .expected(format!("{} bytes", at_most(known)))
        .found(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body() -> Vec<u8> {
        (0..200).collect()
    }

    #[test]
    fn fragments_of_an_unknown_length_ask_until_it_is_set() {
        let fragments = Fragments::new(None);
        let job = |source: &Source| source.get(0..10, "x");
        assert_eq!(fragments.step(job).unwrap(), Err(vec![0..10]));
        fragments.supply(0, vec![1, 2, 3]).unwrap();
        assert_eq!(fragments.step(job).unwrap(), Err(vec![3..10]));
        fragments.set_len(3).unwrap();
        assert_eq!(
            fragments.step(job).unwrap_err().kind(),
            ErrorKind::Truncated
        );
    }

    #[test]
    fn lengths_that_contradict_are_errors() {
        let fragments = Fragments::new(Some(10));
        assert_eq!(
            fragments.supply(8, vec![0; 3]).unwrap_err().kind(),
            ErrorKind::Mismatch
        );
        assert_eq!(
            fragments.supply(u64::MAX, vec![0; 3]).unwrap_err().kind(),
            ErrorKind::Mismatch
        );
        assert_eq!(
            fragments.set_len(11).unwrap_err().kind(),
            ErrorKind::Mismatch
        );
        let open_end = Fragments::new(None);
        open_end.supply(8, vec![0; 3]).unwrap();
        assert_eq!(
            open_end.set_len(10).unwrap_err().kind(),
            ErrorKind::Mismatch
        );
    }

    /// Polls a future that never waits, and returns its output.
    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => panic!("nothing waits here"),
        }
    }

    fn respond(parts: Vec<Bytes>) -> std::future::Ready<Result<Vec<Bytes>>> {
        std::future::ready(Ok(parts))
    }

    #[test]
    fn driven_job_fetches_all_ranges_of_a_step_in_one_call() {
        let body = body();
        for len in [Some(200), None] {
            let fragments = Fragments::new(len);
            let mut calls = Vec::new();
            let job = |source: &Source| {
                source.want([0..10, 50..60].into_iter(), "x")?;
                source.get(190..200, "x")
            };
            let fetch = |ranges: Vec<Range<u64>>| {
                let part = |range: &Range<u64>| {
                    body[range.start as usize..(range.end as usize).min(200)]
                        .to_vec()
                        .into()
                };
                let parts = ranges.iter().map(part).collect();
                calls.push(ranges);
                respond(parts)
            };
            let bytes = now(fragments.drive(job, fetch)).unwrap();
            assert_eq!(bytes, body[190..]);
            assert_eq!(calls, [vec![0..10, 50..60], vec![190..200]]);
        }
    }

    #[test]
    fn responses_that_end_early_tell_the_length_or_are_errors() {
        let drive = |len: Option<u64>, range: Range<u64>, parts: Vec<Bytes>| {
            let fragments = Fragments::new(len);
            let fetch = |_| respond(parts.clone());
            let result = now(fragments.drive(|source| source.get(range.clone(), "x"), fetch));
            (
                result.map_err(|error| (error.kind(), error.what())),
                fragments.store.len(),
            )
        };
        let part = |len: usize| vec![Bytes::from(vec![7; len])];
        assert_eq!(
            drive(Some(9), 0..4, part(4)),
            (Ok(part(4).remove(0)), Some(9))
        );
        // More than was asked for.
        assert_eq!(
            drive(Some(4), 0..4, part(9)),
            (Ok(part(4).remove(0)), Some(4))
        );
        assert_eq!(
            drive(None, 0..4, part(3)),
            (Err((ErrorKind::Truncated, "x")), Some(3))
        );
        assert_eq!(
            drive(None, 0..4, part(0)),
            (Err((ErrorKind::Truncated, "x")), Some(0))
        );
        // No end of the loop, were it taken for the length.
        assert_eq!(
            drive(None, 4..8, part(0)),
            (Err((ErrorKind::Truncated, "response")), None)
        );
        assert_eq!(
            drive(Some(9), 0..4, part(3)),
            (Err((ErrorKind::Truncated, "response")), Some(9))
        );
        assert_eq!(
            drive(None, 0..4, Vec::new()).0,
            Err((ErrorKind::Mismatch, "parts of a response"))
        );
    }

    #[test]
    fn bytes_that_were_let_go_are_asked_for_again() {
        let fragments = Fragments::new(Some(100));
        fragments.supply(0, vec![1; 40]).unwrap();
        fragments.supply(50, vec![2; 40]).unwrap();
        let get = |range: Range<u64>| {
            fragments
                .step(|source| source.get(range.clone(), "x"))
                .unwrap()
        };
        fragments.remove(10..60);
        assert_eq!(fragments.held(), 40);
        assert_eq!(get(0..10), Ok(vec![1; 10].into()));
        assert_eq!(get(60..90), Ok(vec![2; 30].into()));
        assert_eq!(get(5..65), Err(vec![10..60]));
        fragments.remove(0..0);
        fragments.remove(95..200);
        fragments.remove(0..100);
        assert_eq!((fragments.held(), get(0..100)), (0, Err(vec![0..100])));
    }

    #[test]
    fn a_step_has_its_own_range_whatever_another_one_takes() {
        let fragments = Fragments::new(Some(100));
        let step = fragments.step(|source| {
            let missing = source.get(0..10, "x");
            // As another thread does in between.
            let other = fragments.step(|source| source.get(50..60, "x")).unwrap();
            assert_eq!(other, Err(vec![50..60]));
            missing
        });
        assert_eq!(step.unwrap(), Err(vec![0..10]));
    }

    #[test]
    fn errors_of_the_job_pass_through() {
        let fragments = Fragments::new(Some(0));
        let error = fragments.step(|source| source.get(0..1, "x")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
    }

    #[test]
    fn chain_through_a_long_file_takes_few_trips() {
        // Thousands of nodes of 8 bytes, 1,024 bytes apart, each telling where the next one is.
        let nodes = if cfg!(miri) { 32 } else { 4096_usize };
        let mut body = vec![0; nodes * 1024];
        for node in 0..nodes {
            let next = (node as u64 + 1) * 1024;
            body[node * 1024..][..8].copy_from_slice(&next.to_le_bytes());
        }
        let fragments = Fragments::new(Some(body.len() as u64));
        let mut trips = 0;
        let visited = loop {
            let step = fragments.step(|source| {
                let mut walk = source.walk();
                let mut at = 0;
                let mut visited = 0;
                while at < body.len() as u64 {
                    at = u64::from_le_bytes(walk.read_struct(at, "node")?);
                    visited += 1;
                }
                Ok(visited)
            });
            match step.unwrap() {
                Ok(visited) => break visited,
                Err(ranges) => {
                    trips += 1;
                    for range in ranges {
                        let part = body[range.start as usize..range.end as usize].to_vec();
                        fragments.supply(range.start, part).unwrap();
                    }
                }
            }
        };
        assert_eq!(visited, nodes);
        assert!(trips <= 12, "{trips} trips");
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_make_the_same_bytes(
            pieces in proptest::collection::vec((0_usize..200, 0_usize..60), 0..12),
            asked in (0_usize..200, 0_usize..200),
        ) {
            let body = body();
            let fragments = Fragments::new(Some(200));
            let mut have = [false; 200];
            for (start, len) in pieces {
                let end = (start + len).min(200);
                fragments.supply(start as u64, body[start..end].to_vec()).unwrap();
                have[start..end].fill(true);
            }
            let count = |have: &[bool]| have.iter().filter(|is_held| **is_held).count();
            prop_assert_eq!(fragments.held(), count(&have) as u64);
            let range = asked.0.min(asked.1)..asked.0.max(asked.1);
            let step = fragments.step(|s| s.get(range.start as u64..range.end as u64, "x")).unwrap();
            match step {
                Ok(bytes) => {
                    prop_assert!(have[range.clone()].iter().all(|h| *h));
                    prop_assert_eq!(&bytes[..], &body[range.clone()]);
                }
                Err(gaps) => {
                    let missing: Vec<usize> = range.clone().filter(|i| !have[*i]).collect();
                    let needed: Vec<usize> =
                        gaps.iter().flat_map(|gap| gap.start as usize..gap.end as usize).collect();
                    prop_assert_eq!(needed, missing);
                }
            }
            // Joining pieces changes nothing, and removing a range takes its bytes.
            prop_assert_eq!(fragments.held(), count(&have) as u64);
            fragments.remove(range.start as u64..range.end as u64);
            have[range].fill(false);
            prop_assert_eq!(fragments.held(), count(&have) as u64);
        }
    }
}
