//! Requests to end: Ctrl-C, and the signals of a terminal that closes and of `kill`.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use meshmap_export::Output;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The exit status of an interrupted command.
pub(crate) const STATUS: u8 = 130;

/// From now on a request to end sets the returned flag, so that a command can report what is known. A second request ends the
/// process.
///
/// A signal is not changed if it is ignored, as SIGHUP is under `nohup`, or has a handler of the program that uses this
/// library.
pub(crate) fn watch() -> &'static AtomicBool {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(listen);
    &INTERRUPTED
}

fn end() {
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        Output::remove_all();
        std::process::exit(STATUS.into());
    }
}

#[cfg(unix)]
fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let status = std::fs::read_to_string("/proc/self/status").ok();
    let wanted =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| is_default(*signal, status.as_deref()));
    // Without a handler, the process ends as any other does.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    drop(std::thread::Builder::new().spawn(move || signals.forever().for_each(|_| end())));
}

#[cfg(not(unix))]
fn listen() {
    drop(ctrlc::try_set_handler(end));
}

/// Returns `true` if a signal has its default effect, by the status of this process in Linux's `/proc`. On other systems SIGHUP
/// is not changed, because `nohup` may have changed it.
#[cfg(unix)]
fn is_default(signal: i32, status: Option<&str>) -> bool {
    let Some(status) = status else { return signal != signal_hook::consts::SIGHUP };
    let has = |line: &str| {
        let mask = status.lines().find_map(|text| text.strip_prefix(line));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        mask & (1 << (signal - 1)) != 0
    };
    !has("SigIgn:") && !has("SigCgt:")
}
