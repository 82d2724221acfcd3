//! For any bytes, `meshmap info` and `meshmap verify` end with status 0 or 1, print lines that are safe on a terminal, and
//! objects that are JSON of at most 1 MB.
#![no_main]

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::{LazyLock, Mutex};

use libfuzzer_sys::fuzz_target;
use meshmap_fuzz::{Choices, Folder, assert_lines, split};

/// Bytes of an input that select commands.
const CHOICES: usize = 2;
/// The size up to which all commands read a file.
const SMALL: usize = 2 << 10;
/// The most bytes that an object takes for a file of less than 10 MB.
const MOST: usize = 1_000_000;

/// Command lines, to which the file is added.
const LINES: [&[&str]; 10] = [
    &["info"],
    &["info", "--json"],
    &["info", "--full"],
    &["info", "--json", "--full"],
    &["info", "--report"],
    &["info", "--snapshots"],
    &["verify"],
    &["verify", "--json"],
    &["verify", "--cross-check", "--fail-on", "suspicious"],
    &["verify", "--json", "--mmap"],
];

/// The destinations of the standard output and the standard error of commands, and the process' own standard error.
struct Streams {
    out: File,
    err: File,
    own: File,
}

static STREAMS: LazyLock<Mutex<Streams>> = LazyLock::new(|| {
    let unnamed = || {
        tempfile::tempfile_in(if cfg!(target_os = "linux") {
            "/dev/shm"
        } else {
            "."
        })
    };
    // SAFETY: the new descriptor belongs to the file.
    let own = unsafe { File::from_raw_fd(libc::dup(2)) };
    Mutex::new(Streams {
        out: unnamed().expect("space for temporary files"),
        err: unnamed().expect("space for temporary files"),
        own,
    })
});

/// Lets a descriptor of the process stand for another file.
fn redirect(descriptor: i32, file: &File) {
    // SAFETY: both are open.
    assert!(unsafe { libc::dup2(file.as_raw_fd(), descriptor) } >= 0);
}

/// Messages of panics go to the process' own standard error.
fn prepare() {
    let own = STREAMS
        .lock()
        .expect("no panic")
        .own
        .try_clone()
        .expect("a descriptor");
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        redirect(2, &own);
        hook(info);
    }));
}

/// Runs a command, and returns its status and what it printed.
fn run(words: &[&str]) -> (u8, [String; 2]) {
    let mut streams = STREAMS.lock().expect("no panic");
    let Streams { out, err, own } = &mut *streams;
    for file in [&mut *out, &mut *err] {
        file.set_len(0).expect("a file");
        file.rewind().expect("a file");
    }
    std::io::stdout().flush().expect("a file");
    redirect(1, out);
    redirect(2, err);
    let status = meshmap_cli::run_to_status(words);
    redirect(2, own);
    let printed = [out, err].map(|file| {
        let mut text = String::new();
        file.rewind().expect("a file");
        file.read_to_string(&mut text).expect("text in UTF-8");
        text
    });
    (status, printed)
}

fuzz_target!(init: prepare(), |data: &[u8]| {
    let (bytes, mut choices) = split(data, CHOICES);
    let folder = Folder::new("report");
    let path = folder.file("file");
    std::fs::write(&path, bytes).expect("space for temporary files");
    let path = path.to_str().expect("a path in UTF-8");
    match LINES.get(choices.below(LINES.len() + 1)) {
        Some(line) => check(line, path, bytes.len(), choices),
        None if bytes.len() <= SMALL => LINES.iter().for_each(|line| check(line, path, bytes.len(), choices.clone())),
        None => check(LINES[1], path, bytes.len(), choices),
    }
});

fn check(line: &[&str], path: &str, length: usize, mut choices: Choices<'_>) {
    let memory = choices.of(&["8MiB", "64KiB", "1KiB", "0"]);
    let words = [
        &["meshmap"],
        line,
        &["--jobs", "1", "--max-memory", memory, path],
    ]
    .concat();
    let (status, [out, err]) = run(&words);
    // A list of snapshots is for CGeo files.
    let is_usage = status == 2 && line.contains(&"--snapshots");
    assert!(
        status <= 1 || is_usage,
        "{words:?} ends with {status}: {err}"
    );
    assert_lines(&out);
    assert_lines(&err);
    assert!(err.lines().count() <= 1, "{words:?}: {err}");
    assert!(
        status == 0 || !(out.is_empty() && err.is_empty()),
        "{words:?} does not say what is wrong"
    );
    if !line.contains(&"--json") {
        return;
    }
    assert!(
        out.len() <= MOST,
        "{words:?}: {} bytes for a file of {length}",
        out.len()
    );
    assert_eq!(out.lines().count(), 1, "{words:?}: {out}");
    let object: serde_json::Value =
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
    assert_eq!(object["path"], path);
    assert_eq!(object["bytes"], length);
    assert!(
        status == 0
            || line[0] == "verify"
            || object["error"].is_object()
            || object["parts"].is_array(),
        "{out}"
    );
}
