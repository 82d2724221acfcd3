use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::content::Decoders;
use crate::codec::lzma::Lzma;
use crate::limits::{Meter, job};
use crate::options::{Options, Parallelism};

/// Working memory of decoders, reused so that later decodes allocate nothing.
///
/// Methods that decode into the caller's memory take one. Keep one for each thread.
pub struct Scratch {
    pub(crate) decoders: Decoders,
    pub(crate) lzma: Lzma,
    /// Memory for intermediate results.
    pub(crate) bytes: Vec<u8>,
    pub(crate) positions: Vec<[f32; 3]>,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Positions of the snapshots on both sides of a time, and of one that is needed again at the end.
    pub(crate) frames: [Vec<[f32; 3]>; 3],
    /// The order in which the times of a call are computed.
    pub(crate) order: Vec<usize>,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
    pub(crate) is_parallel: bool,
}

/// The context of a decode: the meter that it is charged to, and its working memory.
pub(crate) struct Context<'a> {
    pub(crate) meter: &'a Meter<'a>,
    pub(crate) scratch: &'a mut Scratch,
}

impl<'a> Context<'a> {
    pub(crate) fn new(meter: &'a Meter<'_>, scratch: &'a mut Scratch) -> Self {
        Self { meter, scratch }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            decoders: Decoders::default(),
            lzma: Lzma::default(),
            bytes: Vec::new(),
            positions: Vec::new(),
            triangles: Vec::new(),
            frames: [Vec::new(), Vec::new(), Vec::new()],
            order: Vec::new(),
            cancel: job::cancel_flag(),
            is_parallel: false,
        }
    }
}

impl Scratch {
    /// Sets a flag that cancels decodes with this scratch. `None` removes it. A new scratch has the flag of the job that makes
    /// it ([`cancellable`](crate::cancellable)).
    ///
    /// They fail with [`Cancelled`](crate::ErrorKind::Cancelled) within 64 KiB of output after the flag is set.
    pub fn set_cancel(&mut self, cancel: Option<Arc<AtomicBool>>) {
        self.cancel = cancel;
    }

    /// Lets calls with this scratch use the caller's rayon pool, also within one stream, if the options of the file do. Without this,
    /// they run on the calling thread.
    ///
    /// It pays for a program that waits for one array while its processors are idle. If they are busy, a stream that several threads
    /// decode takes 1.6 times the processor time.
    pub fn set_parallel(&mut self, is_parallel: bool) {
        self.is_parallel = is_parallel;
    }

    /// The options of a call with this scratch.
    pub(crate) fn within(&self, options: &Options) -> Options {
        let parallelism = if self.is_parallel {
            options.parallelism
        } else {
            Parallelism::Off
        };
        Options {
            parallelism,
            ..*options
        }
    }
}
