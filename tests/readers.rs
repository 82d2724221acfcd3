//! Sources of bytes: a path that is not a file is refused, and nothing waits for it.
#![cfg(target_os = "linux")]
#![cfg(not(miri))]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use meshmap::{ErrorKind, MeshFile, Source};
use meshmap_testing::with_watchdog;

#[test]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(Command::new("mkfifo").arg(at("pipe.iqm")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(at("socket.iqm")).unwrap();
    std::os::unix::fs::symlink(at("pipe.iqm"), at("link.iqm")).unwrap();
    let cases = [
        (at("pipe.iqm"), "a named pipe"),
        (at("link.iqm"), "a named pipe"),
        (at("socket.iqm"), "a socket"),
        ("/dev/null".into(), "a character device"),
        ("/dev/zero".into(), "a character device"),
        ("/proc/self/status".into(), "one of length 0 that has content"),
    ];
    with_watchdog(Duration::from_secs(20), || {
        for (path, kind) in cases {
            let error = MeshFile::open(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.found_text().contains(kind), "{error}");
            assert_eq!(error.path(), Some(&*path), "{error}");
            assert_eq!(mapped(&path), Some(ErrorKind::Unsupported), "{path:?}");
        }
        assert!(matches!(Source::open(folder.path()).unwrap_err().kind(), ErrorKind::Io(_)));
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
