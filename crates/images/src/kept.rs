//! Results that are kept for others, the least recently used of which are dropped.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Results that are kept.
pub(crate) struct Kept {
    most_bytes: u64,
    state: Mutex<State>,
}

/// Identifies a result: the number of an image, and `true` for its PNG.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) image: u64,
    pub(crate) is_png: bool,
}

#[derive(Default)]
struct State {
    bytes: u64,
    /// The number of uses so far.
    uses: u64,
    /// The results by the number of their last use.
    results: BTreeMap<u64, Entry>,
    last_uses: HashMap<Key, u64>,
}

struct Entry {
    key: Key,
    bytes: u64,
    /// Never read: it is held so that other references to it stay alive.
    _result: Arc<dyn Any + Send + Sync>,
}

impl Kept {
    pub(crate) fn new(most_bytes: u64) -> Self {
        Self {
            most_bytes,
            state: Mutex::default(),
        }
    }

    /// Keeps a result of this number of `bytes`, or notes that it is used again.
    pub(crate) fn keep(&self, key: Key, result: Arc<dyn Any + Send + Sync>, bytes: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.remove(key);
        state.uses += 1;
        let last_use = state.uses;
        state.bytes += bytes;
        state.last_uses.insert(key, last_use);
        state.results.insert(
            last_use,
            Entry {
                key,
                bytes,
                _result: result,
            },
        );
        while state.bytes > self.most_bytes {
            let Some(oldest) = state.results.first_key_value() else {
                break;
            };
            let oldest = oldest.1.key;
            state.remove(oldest);
        }
    }
}

impl State {
    fn remove(&mut self, key: Key) {
        let Some(last_use) = self.last_uses.remove(&key) else {
            return;
        };
        if let Some(entry) = self.results.remove(&last_use) {
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::*;

    #[test]
    fn the_least_recently_used_is_dropped() {
        let kept = Kept::new(10);
        let key = |image| Key {
            image,
            is_png: false,
        };
        let keep = |image: u64, bytes| -> Weak<u64> {
            let result = Arc::new(image);
            let weak = Arc::downgrade(&result);
            kept.keep(key(image), result, bytes);
            weak
        };
        let first = keep(1, 4);
        let second = keep(2, 4);
        kept.keep(key(1), first.upgrade().unwrap(), 4);
        let third = keep(3, 4);
        assert!(first.upgrade().is_some() && third.upgrade().is_some());
        assert!(second.upgrade().is_none());
        let large = keep(4, 11);
        assert!(large.upgrade().is_none() && first.upgrade().is_none());
        let state = kept.state.lock().unwrap();
        assert_eq!(
            (state.bytes, state.results.len(), state.last_uses.len()),
            (0, 0, 0)
        );
    }
}
