use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::fragment_store::{FragmentStore, State, piece_range};
use crate::bytes::{Source, coalesce};
use crate::num::as_u64;
use crate::report::{Error, ErrorKind, Result};

/// The bytes of a file that a client has fetched so far, for reading without I/O.
///
/// An asynchronous client supplies bytes in any order, overlapping or not; [`step`](Self::step) runs a job until it finds
/// bytes missing. What a job returns keeps using the fragments, so its accessors are run in a step, too.
///
/// # Examples
///
/// ```
/// use meshmap::{Fragments, Step, iqm};
///
/// let body = std::fs::read("tests/data/iqm/valid/skin_multi_anim.iqm").unwrap();
/// let fragments = Fragments::new(Some(body.len() as u64));
/// let model = loop {
///     match fragments.step(|source| iqm::Model::from_source(source.clone()))? {
///         Step::Done(model) => break model,
///         Step::Need(ranges) => {
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

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// These ranges are missing. They ascend and do not touch; only while the length is unknown do they reach beyond the
    /// end of the file.
    Need(Vec<Range<u64>>),
    /// The job is done.
    Done(T),
}

impl Fragments {
    /// No bytes yet, of a file of this length, where that is known.
    #[must_use]
    pub fn new(len: Option<u64>) -> Self {
        let state = State { len, pieces: BTreeMap::new(), wanted: Vec::new(), widened: 0, far_steps: 0 };
        Self { store: Arc::new(FragmentStore { state: Mutex::new(state) }) }
    }

    /// Sets the length once it is known: from the head of a response, or because a response ended early.
    ///
    /// Until then, a job that needs more than there is goes on asking for it.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](ErrorKind::Mismatch) where another length is known, or bytes after it were supplied.
    pub fn set_len(&self, len: u64) -> Result<()> {
        let mut state = self.store.lock();
        let end = state.pieces.last_key_value().map_or(0, |(start, bytes)| piece_range(*start, bytes).end);
        match state.len {
            Some(known) if known != len => Err(mismatch("length of the fragments", known, len)),
            _ if end > len => Err(mismatch("length of the fragments", end, len)),
            _ => {
                state.len = Some(len);
                Ok(())
            }
        }
    }

    /// Adds the bytes at an offset. Bytes that were supplied before stay.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](ErrorKind::Mismatch) where they reach beyond the length of the file.
    pub fn supply(&self, offset: u64, bytes: impl Into<Bytes>) -> Result<()> {
        let bytes = bytes.into();
        let mut state = self.store.lock();
        let len = state.len.unwrap_or(u64::MAX);
        match offset.checked_add(as_u64(bytes.len())) {
            Some(end) if end <= len => {
                state.insert(offset, &bytes);
                Ok(())
            }
            end => Err(mismatch("fragment", len, end.unwrap_or(u64::MAX))),
        }
    }

    /// A source of the bytes so far. Reading others is [`NeedBytes`](ErrorKind::NeedBytes).
    #[must_use]
    pub fn source(&self) -> Source {
        Source::of_fragments(Arc::clone(&self.store))
    }

    /// Runs a job from its beginning until bytes are missing.
    ///
    /// # Errors
    ///
    /// Those of the job, except for missing bytes, which are [`Step::Need`].
    pub fn step<T>(&self, job: impl FnOnce(&Source) -> Result<T>) -> Result<Step<T>> {
        self.store.lock().wanted.clear();
        match job(&self.source()) {
            Ok(done) => Ok(Step::Done(done)),
            Err(error) => {
                let mut state = self.store.lock();
                let wanted = coalesce(&std::mem::take(&mut state.wanted), 0);
                if !matches!(error.kind(), ErrorKind::NeedBytes(_)) || wanted.is_empty() {
                    return Err(error);
                }
                Ok(Step::Need(wanted))
            }
        }
    }
}

impl fmt::Debug for Fragments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.store.lock();
        let have: Vec<_> = state.pieces.iter().map(|(start, bytes)| piece_range(*start, bytes)).collect();
        f.debug_struct("Fragments").field("len", &state.len).field("have", &have).finish()
    }
}

fn mismatch(what: &'static str, known: u64, found: u64) -> Error {
    Error::new(ErrorKind::Mismatch, what).expected(format!("at most {known} bytes")).found(found)
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
        assert_eq!(fragments.step(job).unwrap(), Step::Need(vec![0..10]));
        fragments.supply(0, vec![1, 2, 3]).unwrap();
        assert_eq!(fragments.step(job).unwrap(), Step::Need(vec![3..10]));
        fragments.set_len(3).unwrap();
        assert_eq!(fragments.step(job).unwrap_err().kind(), ErrorKind::Truncated);
    }

    #[test]
    fn lengths_that_contradict_are_errors() {
        let fragments = Fragments::new(Some(10));
        assert_eq!(fragments.supply(8, vec![0; 3]).unwrap_err().kind(), ErrorKind::Mismatch);
        assert_eq!(fragments.supply(u64::MAX, vec![0; 3]).unwrap_err().kind(), ErrorKind::Mismatch);
        assert_eq!(fragments.set_len(11).unwrap_err().kind(), ErrorKind::Mismatch);
        let open_end = Fragments::new(None);
        open_end.supply(8, vec![0; 3]).unwrap();
        assert_eq!(open_end.set_len(10).unwrap_err().kind(), ErrorKind::Mismatch);
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
                let (mut at, mut visited) = (0, 0);
                while at < body.len() as u64 {
                    at = u64::from_le_bytes(walk.read_struct(at, "node")?);
                    visited += 1;
                }
                Ok(visited)
            });
            match step.unwrap() {
                Step::Done(visited) => break visited,
                Step::Need(ranges) => {
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
            let range = asked.0.min(asked.1)..asked.0.max(asked.1);
            let step = fragments.step(|s| s.get(range.start as u64..range.end as u64, "x")).unwrap();
            match step {
                Step::Done(bytes) => {
                    prop_assert!(have[range.clone()].iter().all(|h| *h));
                    prop_assert_eq!(&bytes[..], &body[range]);
                }
                Step::Need(gaps) => {
                    let missing: Vec<usize> = range.clone().filter(|i| !have[*i]).collect();
                    let needed: Vec<usize> =
                        gaps.iter().flat_map(|gap| gap.start as usize..gap.end as usize).collect();
                    prop_assert_eq!(needed, missing);
                }
            }
        }
    }
}
