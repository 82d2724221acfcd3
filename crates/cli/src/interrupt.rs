//! Whether the user has had enough.

use std::sync::atomic::{AtomicBool, Ordering};

use meshmap_export::Output;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C, and a request to end, set what this returns, so that what is known can be told. A second one ends
/// the process.
pub(crate) fn watch() -> &'static AtomicBool {
    let second = || {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            Output::remove_all();
            std::process::exit(STATUS.into());
        }
    };
    // Where there is a handler already, as in a program that uses this library, that one stays.
    drop(ctrlc::try_set_handler(second));
    &INTERRUPTED
}

/// The exit status of an interrupted command.
pub(crate) const STATUS: u8 = 130;
