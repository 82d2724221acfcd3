use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::codec::inflate::Inflater;
use crate::codec::lzma::Lzma;

/// What decoders work with, kept so that the next decode allocates nothing.
///
/// Every `*_into` method takes one. One thread uses a scratch at a time; a thread pool keeps one for each thread.
#[derive(Default)]
pub struct Scratch {
    pub(crate) inflater: Inflater,
    pub(crate) lzma: Lzma,
    /// Memory for what is decoded on the way and not kept.
    pub(crate) bytes: Vec<u8>,
    pub(crate) positions: Vec<[f32; 3]>,
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
}

impl Scratch {
    /// Makes decodes with this scratch stop, with [`Cancelled`](crate::ErrorKind::Cancelled), soon after the flag is
    /// set: it is looked at each time 64 KiB have come out. `None` takes the flag away.
    pub fn set_cancel(&mut self, cancel: Option<Arc<AtomicBool>>) {
        self.cancel = cancel;
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}
