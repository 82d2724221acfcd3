//! A reader that does one thing wrong, and callers that look at what becomes of it.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use meshmap::{ReadRange, Result};

use crate::calls::{Caller, Look, Looked};

/// The fault that a reader has once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It returns less than there is.
    Short,
    /// It returns more than it was asked for.
    Long,
    /// It takes its time.
    Late,
    /// It returns an error.
    Fails,
    /// It panics, with [`OwnPanic`].
    Panics,
    /// It reports another length than before.
    OtherLength,
}

impl Fault {
    /// Everything that can go wrong.
    pub const ALL: [Self; 6] = [
        Self::Short,
        Self::Long,
        Self::Late,
        Self::Fails,
        Self::Panics,
        Self::OtherLength,
    ];
}

/// The text with which a reader panics.
pub struct OwnPanic;

/// A reader of memory that does one thing wrong when it is called for the so-manieth time.
pub struct Faulty {
    bytes: Bytes,
    fault: Fault,
    at: usize,
    calls: AtomicUsize,
}

impl Faulty {
    /// A reader whose call number `at` goes wrong.
    pub fn new(bytes: Bytes, fault: Fault, at: usize) -> Arc<Self> {
        Arc::new(Self {
            bytes,
            fault,
            at,
            calls: AtomicUsize::new(0),
        })
    }

    /// A reader that does nothing wrong.
    pub fn healthy(bytes: Bytes) -> Arc<Self> {
        Self::new(bytes, Fault::Late, usize::MAX)
    }

    /// The number of its calls.
    pub fn calls(&self) -> usize {
        self.calls.load(SeqCst)
    }

    /// `true` if the fault has happened.
    pub fn is_done(&self) -> bool {
        self.calls() > self.at
    }
}

impl ReadRange for Faulty {
    fn len(&self) -> io::Result<Option<u64>> {
        let len = self.bytes.len() as u64;
        if self.calls.fetch_add(1, SeqCst) != self.at {
            return Ok(Some(len));
        }
        match self.fault {
            Fault::Short | Fault::OtherLength => Ok(Some(len / 2)),
            Fault::Long => Ok(Some(len * 2 + 1)),
            Fault::Late => {
                std::thread::sleep(Duration::from_millis(1));
                Ok(Some(len))
            }
            Fault::Fails => Err(io::Error::other("the reader's own")),
            Fault::Panics => panic_any(OwnPanic),
        }
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let at = |offset: u64| {
            usize::try_from(offset)
                .unwrap_or(usize::MAX)
                .min(self.bytes.len())
        };
        let bytes = self.bytes.slice(at(range.start)..at(range.end));
        if self.calls.fetch_add(1, SeqCst) != self.at {
            return Ok(bytes);
        }
        match self.fault {
            Fault::Short => Ok(bytes.slice(..bytes.len() / 2)),
            Fault::Long => Ok([&bytes[..], &[0x5a; 100]].concat().into()),
            Fault::Late => {
                std::thread::sleep(Duration::from_millis(1));
                Ok(bytes)
            }
            Fault::Fails => Err(io::Error::other("the reader's own")),
            Fault::Panics => panic_any(OwnPanic),
            Fault::OtherLength => Ok(bytes),
        }
    }
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a value or an error, of which this is the digest, and the number of errors in it.
    Value(u64, usize),
    /// With the panic of the reader.
    OwnPanic,
    /// With another panic.
    OtherPanic(String),
}

/// A call by its round, its name and the number of its item.
pub type Key = (usize, String, usize);

/// Looks at every value.
pub struct Looking {
    reader: Arc<Faulty>,
    round: usize,
    rounds: usize,
    /// The end of every call.
    pub endings: BTreeMap<Key, Ending>,
    /// The calls in the order in which they were made.
    pub order: Vec<Key>,
    /// The call in which the reader did it.
    pub hit: Option<Key>,
}

impl Looking {
    /// Makes all calls on an open file several times.
    pub fn new(reader: Arc<Faulty>, rounds: usize) -> Self {
        Self {
            reader,
            round: 0,
            rounds,
            endings: BTreeMap::new(),
            order: Vec::new(),
            hit: None,
        }
    }

    fn look<T: Look>(
        &mut self,
        name: &str,
        index: usize,
        job: impl FnOnce() -> Result<T>,
    ) -> Option<T> {
        let before = self.reader.is_done();
        let result = catch_unwind(AssertUnwindSafe(job));
        let key = (self.round, name.to_owned(), index);
        if !before && self.reader.is_done() {
            self.hit = Some(key.clone());
        }
        self.order.push(key.clone());
        let (ending, value) = match result {
            Ok(result) => {
                let mut looked = Looked::default();
                result.look(&mut looked);
                (Ending::Value(looked.digest(), looked.errors), result.ok())
            }
            Err(payload) if payload.is::<OwnPanic>() => (Ending::OwnPanic, None),
            Err(payload) => {
                let text = payload.downcast_ref::<String>().cloned();
                let text = text.or(payload
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned()));
                (Ending::OtherPanic(text.unwrap_or_default()), None)
            }
        };
        self.endings.insert(key, ending);
        value
    }
}

impl Caller for Looking {
    fn call<T: Look>(&mut self, name: &str, job: impl FnOnce() -> Result<T>) -> Option<T> {
        self.look(name, 0, job)
    }

    fn each<I, T: Look>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = I>,
        mut job: impl FnMut(I) -> Result<T>,
    ) {
        for (index, item) in items.into_iter().enumerate() {
            self.look(name, index, || job(item));
        }
    }

    fn looks(&self) -> bool {
        true
    }

    fn rounds(&self) -> usize {
        self.rounds
    }

    fn begin_round(&mut self, round: usize) {
        self.round = round;
    }
}

/// Prints no message of a reader's own panics.
pub fn silence_own_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<OwnPanic>() {
                before(info);
            }
        }));
    });
}
