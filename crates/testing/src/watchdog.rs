use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Ends the program where a job does not: a deadlock must not look like a slow test.
pub fn with_watchdog<T>(limit: Duration, job: impl FnOnce() -> T) -> T {
    // Tests on big-endian targets run under an emulator.
    let slower = if cfg!(miri) {
        60
    } else if cfg!(target_endian = "big") {
        10
    } else {
        1
    };
    let limit = limit * slower;
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    let watchdog = std::thread::spawn(move || {
        std::thread::park_timeout(limit);
        if !seen.load(Ordering::SeqCst) {
            eprintln!("no end after {limit:?}");
            std::process::abort();
        }
    });
    let result = job();
    done.store(true, Ordering::SeqCst);
    watchdog.thread().unpark();
    watchdog.join().unwrap();
    result
}
