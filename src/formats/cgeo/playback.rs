//! Snapshots in order, in bounded memory.

use std::ops::{ControlFlow, Range};

use super::mesh::MeshBuffer;
use super::proxy::Proxy;
use crate::decode::Scratch;
use crate::report::Result;

impl Proxy {
    /// Calls `each` with the snapshots of a range, in order. They are decoded ahead of time.
    ///
    /// As many are held at a time as fit `capacity_bytes`, but at least one, and at most two for each thread of the caller's
    /// rayon pool (see [`Parallelism`](crate::Parallelism)), which go on decoding while `each` runs. Where only one fits, the
    /// threads decode its stream together, if it is long. `each` is called on this thread; [`ControlFlow::Break`] ends playing. A snapshot
    /// that cannot be decoded is passed as its error, and the next ones follow. The result does not depend on the number of
    /// threads.
    pub fn play(
        &self,
        snapshots: Range<usize>,
        capacity_bytes: u64,
        mut each: impl FnMut(usize, Result<&MeshBuffer>) -> ControlFlow<()>,
    ) {
        #[cfg(feature = "rayon")]
        if self.options().parallelism == crate::options::Parallelism::Rayon {
            return super::ahead::play(self, snapshots, capacity_bytes, each);
        }
        let _ = capacity_bytes;
        let (mut mesh, mut scratch) = (MeshBuffer::default(), Scratch::default());
        for index in snapshots {
            let outcome =
                self.snapshot(index).and_then(|snapshot| snapshot.mesh_into(&mut mesh, &mut scratch));
            if each(index, outcome.map(|()| &mesh)).is_break() {
                return;
            }
        }
    }
}
