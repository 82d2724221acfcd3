//! This program in another process, whose memory and time are its own.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The end of another process.
pub enum End {
    /// By itself, or by a signal.
    Status(ExitStatus),
    /// It said nothing for so long, and was killed.
    Silence(Duration),
}

impl End {
    /// The code that it ended with.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Status(status) => status.code(),
            Self::Silence(_) => None,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The allocator ends a process that takes more than it may.
            Self::Status(status) if status.code().is_none() => {
                write!(f, "{status} (too much memory?)")
            }
            Self::Status(status) => write!(f, "{status}"),
            Self::Silence(patience) => write!(f, "no end after {patience:?}"),
        }
    }
}

/// Runs this program with other arguments, as `prepare` wishes, and passes each line of its standard error to `each`. Its
/// standard output goes nowhere, unless `prepare` says where.
pub fn run(
    prepare: impl FnOnce(&mut Command),
    patience: Duration,
    mut each: impl FnMut(String),
) -> End {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    prepare(command.stdout(Stdio::null()));
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .expect("another process");
    let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        lines
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
    });
    loop {
        match receiver.recv_timeout(patience) {
            Ok(line) => each(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return End::Status(child.wait().expect("its end"));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                let _ = child.wait();
                return End::Silence(patience);
            }
        }
    }
}
