//! Processes that tests start: with the default effect of signals, and with a time after which they are ended.

#![allow(dead_code, reason = "no test uses all of it")]

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The time after which a command hangs. Tests run next to others, and under emulators.
const LIMIT: Duration = Duration::from_secs(300);

/// The command `meshmap`. Signals have their default effect, also if the tests run in the background or by `nohup`, which
/// ignore some: a command leaves ignored signals ignored. Standard input is empty.
pub(crate) fn meshmap() -> Command {
    with_default_signals(env!("CARGO_BIN_EXE_meshmap"))
}

/// Runs the command `meshmap` with these arguments to its end.
pub(crate) fn meshmap_with(arguments: &[&str]) -> Output {
    meshmap().args(arguments).run()
}

/// The text that a command printed.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A program for which signals have their default effect.
pub(crate) fn with_default_signals(program: &str) -> Command {
    let mut command = if cfg!(target_os = "linux") {
        let mut command = Command::new("env");
        command.args(["--default-signal=INT,HUP,TERM", program]);
        command
    } else {
        Command::new(program)
    };
    command.stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub(crate) trait Run {
    fn run(&mut self) -> Output;
}

impl Run for Command {
    fn run(&mut self) -> Output {
        Started::new(self).end()
    }
}

/// A process, which is ended with the test. Its output goes to files, so that no pipe can fill up.
pub(crate) struct Started {
    pub(crate) child: Child,
    out: File,
    err: File,
}

impl Started {
    pub(crate) fn new(command: &mut Command) -> Self {
        let [out, err] = [(); 2].map(|()| tempfile::tempfile().unwrap());
        command
            .stdout(out.try_clone().unwrap())
            .stderr(err.try_clone().unwrap());
        Self {
            child: command.spawn().unwrap(),
            out,
            err,
        }
    }

    pub(crate) fn send(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &id])
                .status()
                .unwrap()
                .success()
        );
    }

    pub(crate) fn end(mut self) -> Output {
        drop(self.child.stdin.take());
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                start.elapsed() < LIMIT,
                "it hangs: {:?}",
                String::from_utf8_lossy(&read(&mut self.err))
            );
            std::thread::sleep(Duration::from_millis(2));
        };
        let [stdout, stderr] = [&mut self.out, &mut self.err].map(read);
        Output {
            status,
            stdout,
            stderr,
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Fails if it has ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}
