//! The memory of fetched bytes, charged before it is taken.
//!
//! | bytes | charged to the file | charged to the job |
//! |---|---|---|
//! | a body, with the length that was asked for | until its bytes are retained or returned | as long |
//! | bytes that the file retains | until they are evicted or forgotten | until [`Remote::run`](crate::Remote::run) ends, or [`Blocking`](crate::Blocking) has read them |
//! | bytes that `Blocking` returns | until the last view of them is dropped; not if the whole file is retained | until the last view of them is dropped |
//!
//! The job is the one that the calling thread runs ([`Meter::run`]); requests are made by another thread, so the call takes the meter
//! along. The file is charged without the allowance for data that is stored large (`free_ratio`): the length that a server declares
//! proves nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use meshmap::{Charge, Limits, Meter};

/// The name of fetched bytes in errors.
const WHAT: &str = "fetched data";

/// The memory of the bytes of a file.
#[derive(Debug)]
pub(crate) struct FileMeter {
    meter: Arc<Meter<'static>>,
    /// The charge of what the file retains.
    retained: Mutex<Charge<'static>>,
}

impl FileMeter {
    pub(crate) fn new(limits: &Limits) -> Self {
        let meter = Arc::new(Meter::of_file(&limits.with_free_ratio(0), 0));
        let retained = Mutex::new(Charge::shared(&meter));
        Self { meter, retained }
    }

    /// An empty charge of this file and of the job of a call.
    pub(crate) fn charge(&self, call: &Call) -> Held {
        Held {
            file: Some(Charge::shared(&self.meter)),
            job: call.job.as_ref().map(Charge::shared),
        }
    }

    /// The charge of what the file retains. It is locked while that changes.
    pub(crate) fn retained(&self) -> MutexGuard<'_, Charge<'static>> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that are charged now.
    #[cfg(test)]
    pub(crate) fn held(&self) -> u64 {
        self.meter.held()
    }
}

/// A call that fetches bytes, and what its job is charged for until it ends.
#[derive(Debug, Default)]
pub(crate) struct Call {
    job: Option<Arc<Meter<'static>>>,
    kept: Mutex<Vec<Charge<'static>>>,
}

impl Call {
    /// A call of the job that this thread runs.
    pub(crate) fn of_thread() -> Self {
        Self {
            job: Meter::current(),
            kept: Mutex::default(),
        }
    }

    /// Runs a step of the call, which may be on another thread than its job.
    pub(crate) fn run<T>(&self, step: impl FnOnce() -> T) -> T {
        match &self.job {
            Some(job) => job.run(step),
            None => step(),
        }
    }
}

/// Memory that is charged until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    file: Option<Charge<'static>>,
    job: Option<Charge<'static>>,
}

impl Held {
    /// Charges memory that is about to be allocated.
    pub(crate) fn grow(&mut self, bytes: u64) -> meshmap::Result<()> {
        for charge in [&mut self.file, &mut self.job].into_iter().flatten() {
            charge.grow(bytes, WHAT)?;
        }
        Ok(())
    }

    /// Gives back all but `bytes` bytes.
    pub(crate) fn shrink_to(&mut self, bytes: u64) {
        for charge in [&mut self.file, &mut self.job].into_iter().flatten() {
            charge.shrink_to(bytes);
        }
    }

    /// Charges the job only, because the file is charged already.
    pub(crate) fn without_file(self) -> Self {
        Self { file: None, ..self }
    }

    /// Charges the file for bytes that it retains from now on, and the job until the call ends.
    pub(crate) fn retain(self, retained: &mut Charge<'_>, call: &Call) -> meshmap::Result<()> {
        let Self { file, job } = self;
        if let Some(job) = job {
            let mut kept = call.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push(job);
        }
        let bytes = file.as_ref().map_or(0, Charge::bytes);
        // They are charged once.
        drop(file);
        retained.grow(bytes, WHAT)
    }
}

/// Bytes, and the charge of their memory.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) bytes: Bytes,
    pub(crate) held: Held,
}

impl Fetched {
    /// The bytes, which are charged until the last view of them is dropped.
    pub(crate) fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Fetched {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_charged_to_the_file_and_to_the_job_of_the_call() {
        let file = FileMeter::new(&Limits::default().with_max_total_bytes(100));
        let job = Arc::new(Meter::new(&Limits::default(), 0));
        let call = job.run(Call::of_thread);
        let mut held = file.charge(&call);
        held.grow(60).unwrap();
        assert_eq!([file.held(), job.held()], [60, 60]);
        let mut more = file.charge(&call);
        let error = more.grow(50).unwrap_err().to_string();
        assert!(error.contains("fetched data"), "{error}");
        assert!(error.contains("with_max_total_bytes"), "{error}");
        drop(more);

        held.retain(&mut file.retained(), &call).unwrap();
        assert_eq!([file.held(), job.held()], [60, 60]);
        drop(call);
        assert_eq!([file.held(), job.held()], [60, 0]);
        file.retained().shrink_to(10);
        assert_eq!(file.held(), 10);

        let call = job.run(Call::of_thread);
        let mut held = file.charge(&call);
        held.grow(7).unwrap();
        let fetched = Fetched {
            bytes: Bytes::from_static(b"fetched"),
            held,
        };
        let view = fetched.into_bytes().slice(2..3);
        drop(call);
        assert_eq!((&view[..], file.held(), job.held()), (&b"t"[..], 17, 7));
        drop(view);
        assert_eq!([file.held(), job.held()], [10, 0]);
    }
}
