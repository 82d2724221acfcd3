//! The runtime and the clients that all files of a process share, so that connections stay open and keys are fetched once.
//!
//! A forked child has neither the threads nor the connections of its parent, and makes its own.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use object_store::ObjectStore;
#[cfg(feature = "client")]
use object_store::client::HttpClient;
use object_store::list::PaginatedListStore;
use tokio::runtime::Runtime;

use crate::error::{Error, Result};

/// A store, and, if it has them, the pages of its lists as they are sent.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) pages: Option<Lists>,
}

/// The lists of a store by pages.
#[derive(Clone)]
pub(crate) struct Lists {
    pub(crate) store: Arc<dyn PaginatedListStore>,
    /// `true` if they are in the order of the keys, and begin after a key.
    pub(crate) is_sorted: bool,
}

#[derive(Default)]
struct Shared {
    process: u32,
    runtime: Option<Arc<Runtime>>,
    stores: HashMap<String, Store>,
    #[cfg(feature = "client")]
    clients: HashMap<Vec<u8>, HttpClient>,
    /// The time at which the next request may begin, if their rate is limited.
    next_turn: Option<Instant>,
}

static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

/// The values of this process. `None` if another thread holds the lock for long: it may have been held when the process was forked.
fn lock() -> Option<MutexGuard<'static, Option<Shared>>> {
    const TRIES: u32 = 200;
    for _ in 0..TRIES {
        match SHARED.try_lock() {
            Ok(shared) => return Some(shared),
            Err(TryLockError::Poisoned(shared)) => return Some(shared.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

fn of_process(shared: &mut Option<Shared>) -> &mut Shared {
    let process = std::process::id();
    if let Some(parents) = shared.take_if(|shared| shared.process != process) {
        // Its threads are not here, and would be waited for.
        std::mem::forget(parents);
    }
    shared.get_or_insert_with(|| Shared {
        process,
        ..Shared::default()
    })
}

/// A runtime of one thread for requests.
pub(crate) fn runtime() -> Result<Arc<Runtime>> {
    let new = || {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime
            .worker_threads(1)
            .enable_all()
            .build()
            .map(Arc::new)
            .map_err(Error::Runtime)
    };
    let Some(mut shared) = lock() else {
        return new();
    };
    let runtime = &mut of_process(&mut shared).runtime;
    if let Some(runtime) = runtime {
        return Ok(Arc::clone(runtime));
    }
    Ok(Arc::clone(runtime.insert(new()?)))
}

/// The time at which a request may begin, if `rate` requests may in a second.
pub(crate) fn next_turn(rate: f64) -> Instant {
    let now = Instant::now();
    let Some(mut shared) = lock() else {
        return now;
    };
    let next = &mut of_process(&mut shared).next_turn;
    let turn = next.unwrap_or(now).max(now);
    let pause = Duration::try_from_secs_f64(rate.recip()).unwrap_or_default();
    *next = turn.checked_add(pause);
    turn
}

/// The store with this key.
pub(crate) fn store<E>(key: String, make: impl FnOnce() -> Result<Store, E>) -> Result<Store, E> {
    match lock() {
        Some(mut shared) => kept(&mut of_process(&mut shared).stores, key, make),
        None => make(),
    }
}

/// The client of plain HTTP with this key.
#[cfg(feature = "client")]
pub(crate) fn client<E>(
    key: Vec<u8>,
    make: impl FnOnce() -> Result<HttpClient, E>,
) -> Result<HttpClient, E> {
    match lock() {
        Some(mut shared) => kept(&mut of_process(&mut shared).clients, key, make),
        None => make(),
    }
}

fn kept<K: Eq + Hash, V: Clone, E>(
    map: &mut HashMap<K, V>,
    key: K,
    make: impl FnOnce() -> Result<V, E>,
) -> Result<V, E> {
    /// Programs with more stores at a time open connections again.
    const MOST: usize = 64;
    if let Some(value) = map.get(&key) {
        return Ok(value.clone());
    }
    if map.len() >= MOST {
        map.clear();
    }
    let value = make()?;
    map.insert(key, value.clone());
    Ok(value)
}
