//! Handles: numbers in a table, in the shape of pointers.
//!
//! Nothing that a caller passes is followed, so that handles that were closed, or are of another kind, are found out. Each
//! object is shared: one that is closed while another thread works with it lives until that is done.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::fail::{Fail, Result, guard, mm_status, status};
use crate::memory::put;
use crate::pin::pin;

/// Several tables, so that threads that look up their own handles seldom meet.
const SHARDS: usize = 16;
/// Handles look like addresses of something aligned.
const ALIGNED: u32 = 4;
const SHARD_BITS: u32 = SHARDS.trailing_zeros();
const INDEX_BITS: u32 = if usize::BITS == 64 { 24 } else { 12 };
const GENERATION_SHIFT: u32 = ALIGNED + SHARD_BITS + INDEX_BITS;

type Object = Arc<dyn Any + Send + Sync>;

struct Shard {
    slots: Vec<Slot>,
    /// Those longest without an object come first, so that a handle is found out for as long as possible.
    free: VecDeque<usize>,
}

struct Slot {
    /// The number of objects in this slot so far, including this one: the part of a handle that differs in old ones.
    generation: usize,
    object: Option<Object>,
}

static TABLE: [RwLock<Shard>; SHARDS] = [const {
    RwLock::new(Shard {
        slots: Vec::new(),
        free: VecDeque::new(),
    })
}; SHARDS];
static NEXT: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The kind of object that a handle refers to.
pub(crate) trait Kind: Any + Send + Sync {
    /// The type of the header.
    type Opaque;
    /// The name of the kind in messages.
    const NAME: &'static str;
}

fn read(shard: usize) -> Option<RwLockReadGuard<'static, Shard>> {
    TABLE
        .get(shard)
        .map(|shard| shard.read().unwrap_or_else(PoisonError::into_inner))
}

fn write(shard: usize) -> Option<RwLockWriteGuard<'static, Shard>> {
    TABLE
        .get(shard)
        .map(|shard| shard.write().unwrap_or_else(PoisonError::into_inner))
}

/// The handle of an object.
fn number(shard: usize, index: usize, generation: usize) -> usize {
    generation << GENERATION_SHIFT | index << (ALIGNED + SHARD_BITS) | shard << ALIGNED
}

/// Shard, index and generation. The bits below them are 0 in every handle.
fn parts(handle: usize) -> Option<(usize, usize, usize)> {
    let below = |bits: u32| (1_usize << bits).wrapping_sub(1);
    let rest = handle >> ALIGNED;
    let shard = rest & below(SHARD_BITS);
    let rest = rest >> SHARD_BITS;
    let index = rest & below(INDEX_BITS);
    let generation = handle >> GENERATION_SHIFT;
    (number(shard, index, generation) == handle).then_some((shard, index, generation))
}

/// A new handle of an object, or of one that has others.
pub(crate) fn new<K: Kind>(object: Arc<K>) -> Result<*mut K::Opaque> {
    pin();
    let most = 1_usize << INDEX_BITS;
    let shard = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    let full = || {
        Fail::new(
            status::MM_ERROR_LIMIT_EXCEEDED,
            "there are too many handles: close some",
        )
    };
    let mut table = write(shard).ok_or_else(full)?;
    let index = match table.free.pop_front() {
        Some(index) => index,
        None if table.slots.len() < most => {
            table.slots.push(Slot {
                generation: 0,
                object: None,
            });
            table.slots.len().saturating_sub(1)
        }
        None => return Err(full()),
    };
    let slot = table.slots.get_mut(index).ok_or_else(full)?;
    slot.generation = slot.generation.saturating_add(1);
    slot.object = Some(object);
    COUNT.fetch_add(1, Ordering::Relaxed);
    Ok(std::ptr::without_provenance_mut(number(
        shard,
        index,
        slot.generation,
    )))
}

/// Makes an object, and stores its handle in `out`, which is NULL after an error.
///
/// # Safety
///
/// `out` is NULL, or may be written.
pub(crate) unsafe fn make<K: Kind>(
    out: *mut *mut K::Opaque,
    object: impl FnOnce() -> Result<Arc<K>>,
) -> mm_status {
    guard(|| {
        // SAFETY: as the caller promised.
        unsafe { put(out, std::ptr::null_mut()) }?;
        let handle = new(object()?)?;
        // SAFETY: as the caller promised.
        unsafe { put(out, handle) }
    })
}

fn wrong<K: Kind>(found: &str) -> Fail {
    Fail::new(
        status::MM_ERROR_HANDLE,
        format!("expected a handle of {}, found {found}", K::NAME),
    )
}

const CLOSED: &str = "one that was closed, or that never was one";
const OTHER: &str = "one of something else";

/// The object of a handle.
pub(crate) fn get<K: Kind>(handle: *const K::Opaque) -> Result<Arc<K>> {
    if handle.is_null() {
        return Err(wrong::<K>("NULL"));
    }
    let (shard, index, generation) = parts(handle.addr()).ok_or_else(|| wrong::<K>(CLOSED))?;
    let object = read(shard).and_then(|table| {
        let slot = table
            .slots
            .get(index)
            .filter(|slot| slot.generation == generation)?;
        slot.object.clone()
    });
    let object = object.ok_or_else(|| wrong::<K>(CLOSED))?;
    object.downcast().map_err(|_| wrong::<K>(OTHER))
}

/// The object of a handle that may be NULL.
pub(crate) fn get_if_any<K: Kind>(handle: *const K::Opaque) -> Result<Option<Arc<K>>> {
    if handle.is_null() {
        Ok(None)
    } else {
        get(handle).map(Some)
    }
}

/// Ends a handle; NULL is none.
pub(crate) fn close<K: Kind>(handle: *mut K::Opaque) -> Result<()> {
    if handle.is_null() {
        return Ok(());
    }
    let (shard, index, generation) = parts(handle.addr()).ok_or_else(|| wrong::<K>(CLOSED))?;
    let closed = write(shard).and_then(|mut table| {
        let slot = table
            .slots
            .get_mut(index)
            .filter(|slot| slot.generation == generation)?;
        if !slot.object.as_ref()?.as_ref().is::<K>() {
            return Some(Err(wrong::<K>(OTHER)));
        }
        let object = slot.object.take();
        // One whose numbers are used up is not used again.
        if generation < usize::MAX >> GENERATION_SHIFT {
            table.free.push_back(index);
        }
        Some(Ok(object))
    });
    // The object may end here, with the table unlocked: it may call back.
    let object = closed.unwrap_or_else(|| Err(wrong::<K>(CLOSED)))?;
    COUNT.fetch_sub(1, Ordering::Relaxed);
    drop(object);
    Ok(())
}

/// The number of open handles of all kinds, in the whole process: for tests that look for handles that were never closed, which
/// leak checkers do not find.
#[unsafe(no_mangle)]
pub extern "C" fn mm_handle_count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing;

    struct Other;

    impl Kind for Thing {
        type Opaque = u8;
        const NAME: &'static str = "a thing";
    }

    impl Kind for Other {
        type Opaque = u8;
        const NAME: &'static str = "another thing";
    }

    #[test]
    fn handles_that_were_closed_or_are_of_another_kind_are_found_out() {
        let handle = new(Arc::new(Thing)).unwrap();
        assert!(get::<Thing>(handle).is_ok());
        assert!(get::<Other>(handle).is_err() && close::<Other>(handle).is_err());
        assert!(close::<Thing>(handle).is_ok());
        // Others take its place.
        let others: Vec<*mut u8> = (0..1000).map(|_| new(Arc::new(Thing)).unwrap()).collect();
        assert!(get::<Thing>(handle).is_err() && close::<Thing>(handle).is_err());
        assert!(
            others
                .iter()
                .all(|other| *other != handle && close::<Thing>(*other).is_ok())
        );
        for never in [1_usize, 16, usize::MAX, 0xdead_beef] {
            let never = std::ptr::without_provenance_mut(never);
            assert!(get::<Thing>(never).is_err() && close::<Thing>(never).is_err());
        }
        assert!(
            get::<Thing>(std::ptr::null()).is_err() && close::<Thing>(std::ptr::null_mut()).is_ok()
        );
    }

    #[test]
    fn a_handle_with_any_change_is_refused() {
        /// No other test has handles of it.
        struct Single;

        impl Kind for Single {
            type Opaque = u8;
            const NAME: &'static str = "a single thing";
        }

        let handle = new(Arc::new(Single)).unwrap();
        let number = handle.addr();
        let flipped = (0..usize::BITS).map(|bit| number ^ 1 << bit);
        let moved = (1..64).flat_map(|step| [number.wrapping_add(step), number.wrapping_sub(step)]);
        let changed = flipped.chain(moved).chain([number.swap_bytes(), !number]);
        // NULL may be closed.
        for changed in changed.filter(|changed| *changed != 0) {
            let changed = std::ptr::without_provenance_mut(changed);
            assert!(
                get::<Single>(changed).is_err(),
                "{changed:?} for {handle:?}"
            );
            assert!(
                close::<Single>(changed).is_err(),
                "{changed:?} for {handle:?}"
            );
        }
        assert!(get::<Single>(handle).is_ok());
        close::<Single>(handle).unwrap();
    }

    #[test]
    fn an_object_that_is_closed_while_it_is_used_lives_until_then() {
        let handle = new(Arc::new(Thing)).unwrap();
        let used = get::<Thing>(handle).unwrap();
        close::<Thing>(handle).unwrap();
        assert_eq!(Arc::strong_count(&used), 1);
    }
}
