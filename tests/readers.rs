//! Sources of bytes: a path that is not a file is refused, and nothing waits for it.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use meshmap::{ErrorKind, MeshFile, Source};
use meshmap_testing::with_watchdog;

#[test]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(
        Command::new("mkfifo")
            .arg(at("pipe.iqm"))
            .status()
            .unwrap()
            .success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(at("socket.iqm")).unwrap();
    std::os::unix::fs::symlink(at("pipe.iqm"), at("link.iqm")).unwrap();
    let cases = [
        (at("pipe.iqm"), "a named pipe"),
        (at("link.iqm"), "a named pipe"),
        (at("socket.iqm"), "a socket"),
        ("/dev/null".into(), "a character device"),
        ("/dev/zero".into(), "a character device"),
        (
            "/proc/self/status".into(),
            "one of length 0 that has content",
        ),
    ];
    with_watchdog(Duration::from_secs(20), || {
        for (path, kind) in cases {
            let error = MeshFile::open(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.cause().found().contains(kind), "{error}");
            assert_eq!(error.path(), Some(&*path), "{error}");
            assert_eq!(mapped(&path), Some(ErrorKind::Unsupported), "{path:?}");
        }
        assert!(matches!(
            Source::open(folder.path()).unwrap_err().kind(),
            ErrorKind::Io(_)
        ));
        std::fs::write(at("empty"), "").unwrap();
        assert_eq!(Source::open(at("empty")).unwrap().len().unwrap(), Some(0));
        assert_eq!(mapped(&at("empty")), None);
    });
}

#[cfg(feature = "mmap")]
#[allow(unsafe_code, reason = "nothing writes into what is mapped")]
fn mapped(path: &Path) -> Option<ErrorKind> {
    // SAFETY: paths that are not files are not mapped, and nothing writes into the mapped file.
    unsafe { Source::map(path) }.err().map(|error| error.kind())
}

#[cfg(not(feature = "mmap"))]
fn mapped(path: &Path) -> Option<ErrorKind> {
    Source::open(path).err().map(|error| error.kind())
}

/// On a file system that keeps everything in memory there is nothing to read ahead.
#[cfg(feature = "mmap")]
#[test]
fn a_file_is_read_ahead() {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use meshmap::ReadRange;
    use rustix::fs::{Advice, fadvise};

    const LENGTH: u64 = 8 << 20;
    let named = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&named, vec![1; LENGTH as usize]).unwrap();
    let file = File::open(&named).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    let before = bytes_from_disk();
    file.read_exact_at(&mut [0; 4096], LENGTH - 4096).unwrap();
    if bytes_from_disk() == before {
        eprintln!("not checked: this file system does not tell what it reads from a disk");
        return;
    }
    for range in [0..0, LENGTH..u64::MAX, 5..5, 1 << 40..1 << 41] {
        file.will_read(range);
    }
    let before = bytes_from_disk();
    file.will_read(1_000_001..3_000_001);
    let read = bytes_from_disk() - before;
    assert!(read >= 2_000_000, "{read} bytes");
}

/// Bytes that this process has had read from a disk so far.
#[cfg(feature = "mmap")]
fn bytes_from_disk() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = io
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes: "))
        .unwrap();
    line.parse().unwrap()
}
