//! The flag that cancels the calls of a thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

thread_local! {
    static CURRENT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

pub(crate) fn set(flag: Option<Arc<AtomicBool>>) {
    // A thread that ends needs no flag.
    let _ = CURRENT.try_with(|current| current.replace(flag));
}

pub(crate) fn current() -> Option<Arc<AtomicBool>> {
    CURRENT
        .try_with(|flag| flag.borrow().clone())
        .ok()
        .flatten()
}
