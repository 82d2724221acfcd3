//! Requests to end: Ctrl-C, and the signals of a terminal that closes and of `kill`.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use meshmap_outputs::remove_part_files;

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

/// From now on, a file that is mapped and becomes shorter while it is read ends the process with a message that names it.
#[cfg(target_os = "linux")]
pub(crate) fn watch_maps() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| drop(maps::watch()));
}

/// Other systems end the process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn watch_maps() {}

#[cfg(target_os = "linux")]
mod maps {
    use std::io::{self, Read};
    use std::os::fd::IntoRawFd;
    use std::sync::atomic::{AtomicI32, Ordering};

    use libc::{c_int, c_void, siginfo_t};

    use super::remove_part_files;

    /// The pipe to the thread that ends the process.
    static PIPE: AtomicI32 = AtomicI32::new(-1);

    pub(super) fn watch() -> io::Result<()> {
        let (mut fault, pipe) = io::pipe()?;
        PIPE.store(pipe.into_raw_fd(), Ordering::SeqCst);
        std::thread::Builder::new().spawn(move || {
            let mut address = [0; size_of::<usize>()];
            if fault.read_exact(&mut address).is_ok() {
                let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
                let path = file_at(usize::from_ne_bytes(address), &maps)
                    .unwrap_or("a file that is mapped");
                let why =
                    "it became shorter while it was read; leave --mmap out for files that change";
                eprintln!("{}: {why}", crate::text::line(path));
                remove_part_files();
                std::process::exit(1);
            }
        })?;
        #[allow(unsafe_code, reason = "no safe function sets the handler of a fault")]
        // SAFETY: the handler does nothing but write to a pipe and wait, which handlers may; zeroes are an empty set of signals.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Tells the thread, and waits for the end of the process: the read that failed cannot go on.
    extern "C" fn on_fault(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
        #[allow(
            unsafe_code,
            reason = "handlers may call few functions, none of them safe"
        )]
        // SAFETY: the system passes the information; a pipe takes as many bytes at once.
        unsafe {
            let address = ((*info).si_addr() as usize).to_ne_bytes();
            libc::write(
                PIPE.load(Ordering::SeqCst),
                address.as_ptr().cast(),
                address.len(),
            );
            loop {
                libc::pause();
            }
        }
    }

    /// The path of the file that is mapped at an address, of the lines `FIRST-END MODE OFFSET DEVICE INODE PATH`.
    fn file_at(address: usize, maps: &str) -> Option<&str> {
        let is_there = |range: &str| {
            let (first, end) = range.split_once('-')?;
            let number = |hex| usize::from_str_radix(hex, 16).ok();
            Some((number(first)?..number(end)?).contains(&address))
        };
        let line = maps
            .lines()
            .find(|line| is_there(line.split(' ').next().unwrap_or_default()) == Some(true))?;
        line.get(line.find('/')?..)
    }
}

fn end() {
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        remove_part_files();
        std::process::exit(STATUS.into());
    }
}

#[cfg(unix)]
fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let status = std::fs::read_to_string("/proc/self/status").ok();
    let wanted = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|signal| is_default(*signal, status.as_deref()));
    // Without a handler, the process ends as any other does.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else {
        return;
    };
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
    let Some(status) = status else {
        return signal != signal_hook::consts::SIGHUP;
    };
    let has = |line: &str| {
        let mask = status.lines().find_map(|text| text.strip_prefix(line));
        let mask = mask
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0);
        mask & (1 << (signal - 1)) != 0
    };
    !has("SigIgn:") && !has("SigCgt:")
}
