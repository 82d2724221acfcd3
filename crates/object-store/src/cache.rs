use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Ranges of files that were fetched, shared by many files, in bounded memory. The most recently used ranges stay.
///
/// The bound includes the addresses and tags of the files, which a server may make long. These bytes are charged to no file and no job.
///
/// Data that a server sent without a tag is not cached, as it cannot be checked for changes.
#[derive(Clone)]
pub struct RangeCache {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    capacity: u64,
    bytes: u64,
    /// The number of lookups so far.
    ticks: u64,
    files: HashMap<Key, BTreeMap<u64, Entry>>,
    /// By the tick of the last use.
    order: BTreeMap<u64, (Key, u64)>,
}

/// A version of a file. The maps of a cache share it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    address: Arc<str>,
    tag: Arc<str>,
}

impl Key {
    fn new(address: &str, tag: &str) -> Self {
        Self {
            address: address.into(),
            tag: tag.into(),
        }
    }

    /// The memory of a file, without its entries.
    fn weight(&self) -> u64 {
        (self.address.len() as u64)
            .saturating_add(self.tag.len() as u64)
            .saturating_add(OVERHEAD)
    }
}

struct Entry {
    bytes: Bytes,
    tick: u64,
}

/// The memory of an entry in addition to its bytes, and of a file in addition to its key.
const OVERHEAD: u64 = 256;

fn weight(bytes: &Bytes) -> u64 {
    bytes.len() as u64 + OVERHEAD
}

impl RangeCache {
    /// Makes a cache of `capacity_bytes` bytes.
    #[must_use]
    pub fn new(capacity_bytes: u64) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                capacity: capacity_bytes,
                ..State::default()
            })),
        }
    }

    /// The number of bytes that it holds.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes of a range, if one entry has all of them.
    pub(crate) fn get(&self, address: &str, tag: &str, range: &Range<u64>) -> Option<Bytes> {
        let mut state = self.lock();
        let key = state.shared_key(address, tag);
        let State {
            files,
            order,
            ticks,
            ..
        } = &mut *state;
        let (start, entry) = files.get_mut(&key)?.range_mut(..=range.start).next_back()?;
        let part = |at: u64| usize::try_from(at - start).unwrap_or(usize::MAX);
        let first = part(range.start);
        let last = part(range.end);
        let bytes = (last <= entry.bytes.len()).then(|| entry.bytes.slice(first..last))?;
        *ticks += 1;
        order.remove(&entry.tick);
        order.insert(*ticks, (key, *start));
        entry.tick = *ticks;
        Some(bytes)
    }

    pub(crate) fn put(&self, address: &str, tag: &str, start: u64, bytes: &Bytes) {
        let mut state = self.lock();
        let key = state.shared_key(address, tag);
        if weight(bytes).saturating_add(key.weight()) > state.capacity {
            return;
        }
        state.remove(&key, start);
        while state.bytes.saturating_add(state.added(&key, bytes)) > state.capacity {
            let Some((_, (key, start))) = state.order.pop_first() else {
                break;
            };
            state.remove(&key, start);
        }
        state.ticks += 1;
        let tick = state.ticks;
        state.bytes += state.added(&key, bytes);
        state.order.insert(tick, (key.clone(), start));
        state.files.entry(key).or_default().insert(
            start,
            Entry {
                bytes: bytes.clone(),
                tick,
            },
        );
    }
}

impl State {
    /// The key of a file, which is the one in the maps if the file is there.
    fn shared_key(&self, address: &str, tag: &str) -> Key {
        let key = Key::new(address, tag);
        match self.files.get_key_value(&key) {
            Some((known, _)) => known.clone(),
            None => key,
        }
    }

    /// The memory that an entry adds.
    fn added(&self, key: &Key, bytes: &Bytes) -> u64 {
        let of_file = if self.files.contains_key(key) {
            0
        } else {
            key.weight()
        };
        weight(bytes).saturating_add(of_file)
    }

    fn remove(&mut self, key: &Key, start: u64) {
        let Some(file) = self.files.get_mut(key) else {
            return;
        };
        if let Some(entry) = file.remove(&start) {
            self.bytes -= weight(&entry.bytes);
            self.order.remove(&entry.tick);
        }
        if file.is_empty() {
            self.files.remove(key);
            self.bytes -= key.weight();
        }
    }
}

impl fmt::Debug for RangeCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("RangeCache")
            .field("capacity", &state.capacity)
            .field("held", &state.bytes)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// The memory of what the maps have, counted entry by entry.
    fn counted(cache: &RangeCache) -> u64 {
        let state = cache.lock();
        let mut sum = 0;
        for (key, file) in &state.files {
            assert!(!file.is_empty());
            sum += key.address.len() as u64 + key.tag.len() as u64 + OVERHEAD;
            for entry in file.values() {
                sum += entry.bytes.len() as u64 + OVERHEAD;
            }
        }
        for (key, _) in state.order.values() {
            let (known, _) = state.files.get_key_value(key).unwrap();
            assert!(Arc::ptr_eq(&key.address, &known.address) && Arc::ptr_eq(&key.tag, &known.tag));
        }
        sum
    }

    proptest! {
        #[test]
        fn entries_and_keys_are_within_the_capacity(
            capacity in 0_u64..6000,
            steps in proptest::collection::vec(
                (any::<bool>(), 0_usize..4, 0_usize..3, 0_u64..8, 0_usize..900),
                0..60,
            ),
        ) {
            let cache = RangeCache::new(capacity);
            for (is_put, address, tag, start, length) in steps {
                // Some keys are longer than any of the bytes.
                let address = "a".repeat(address * address * 300);
                let tag = "t".repeat(tag * 500);
                if is_put {
                    cache.put(&address, &tag, start * 100, &Bytes::from(vec![7; length]));
                } else {
                    let range = start * 100..start * 100 + 50;
                    let found = cache.get(&address, &tag, &range);
                    prop_assert!(found.is_none_or(|bytes| bytes.len() == 50));
                }
                prop_assert_eq!(cache.held(), counted(&cache));
                prop_assert!(cache.held() <= capacity);
            }
        }
    }

    #[test]
    fn what_was_used_last_stays() {
        // Four entries of a file, or three of two files.
        let of_file = 2 + OVERHEAD;
        let capacity = 4 * (100 + OVERHEAD) + of_file;
        let cache = RangeCache::new(capacity);
        let bytes = |value: u8| Bytes::from(vec![value; 100]);
        for index in 0..4 {
            cache.put("a", "1", u64::from(index) * 1000, &bytes(index));
        }
        assert_eq!(cache.held(), capacity);
        assert_eq!(cache.get("a", "1", &(0..100)).unwrap(), bytes(0));
        cache.put("b", "1", 0, &bytes(9));
        assert_eq!(cache.get("a", "1", &(1000..1100)), None);
        assert_eq!(cache.get("a", "1", &(10..50)).unwrap(), bytes(0)[10..50]);
        assert_eq!(cache.get("b", "1", &(0..100)).unwrap(), bytes(9));
        // Another version, a longer range, one that begins before.
        assert_eq!(cache.get("a", "2", &(0..100)), None);
        assert_eq!(cache.get("a", "1", &(50..101)), None);
        assert_eq!(cache.get("a", "1", &(1990..2010)), None);
        // Larger than all of it, and the same once more.
        cache.put("a", "1", 5, &Bytes::from(vec![0; 10_000]));
        cache.put("b", "1", 0, &bytes(8));
        assert_eq!(cache.get("b", "1", &(0..100)).unwrap(), bytes(8));
        assert_eq!(cache.held(), 3 * (100 + OVERHEAD) + 2 * of_file);
    }
}
