//! Playing: snapshots one after the other, in bounded memory.

use std::fmt;
use std::ops::{ControlFlow, Deref, Range};

#[cfg(feature = "rayon")]
use super::ahead::Queue;
use super::asked::Asked;
use super::mesh::{Mesh, MeshBuffer};
use super::parts::Parts;
use super::proxy::Proxy;
use super::turns::{Free, Order, Slot};
use crate::decode::Scratch;
use crate::report::Result;

impl Proxy {
    /// Plays the snapshots of a range in order: decodes some of them ahead of time, in bounded memory.
    ///
    /// The system is asked to read the next snapshots from the disk: up to 16 MiB, but at least one snapshot. This needs Unix and,
    /// for files that are not mapped, the feature `mmap`. Custom readers receive the same ranges in [`ReadRange::will_read`](crate::ReadRange::will_read).
    ///
    /// Select the snapshots and the decoding options on the result, then [iterate](Play::into_iter) over it or pass it a
    /// [closure](Play::for_each).
    ///
    /// # Examples
    ///
    /// ```
    /// use meshmap::cgeo::{Parts, Proxy};
    ///
    /// let proxy = Proxy::open("tests/data/cgeo/valid/anim_a.cgeo")?;
    /// for (index, mesh) in proxy.play(0..proxy.snapshot_count()).parts(Parts::POSITIONS).stride(2) {
    ///     println!("snapshot {index}: {} positions", mesh?.positions.len());
    /// }
    /// # Ok::<(), meshmap::Error>(())
    /// ```
    pub fn play(&self, snapshots: Range<usize>) -> Play<'_> {
        Play {
            proxy: self,
            range: snapshots,
            stride: 1,
            is_backwards: false,
            parts: Parts::ALL,
            capacity: Play::CAPACITY,
            #[cfg(feature = "rayon")]
            pool: None,
        }
    }
}

/// Snapshots to be played; made by [`Proxy::play`].
#[derive(Clone)]
#[must_use = "nothing is decoded before the snapshots are iterated"]
pub struct Play<'a> {
    proxy: &'a Proxy,
    range: Range<usize>,
    stride: usize,
    is_backwards: bool,
    parts: Parts,
    capacity: u64,
    #[cfg(feature = "rayon")]
    pool: Option<&'a rayon::ThreadPool>,
}

impl<'a> Play<'a> {
    const CAPACITY: u64 = 256 << 20;

    /// Decodes these parts only. Without this, all of them.
    pub fn parts(self, parts: Parts) -> Self {
        Self { parts, ..self }
    }

    /// Plays every `stride`th snapshot. 0 is the same as 1.
    pub fn stride(self, stride: usize) -> Self {
        Self { stride: stride.max(1), ..self }
    }

    /// Begins with the last snapshot of the range, and goes backwards.
    pub fn backwards(self) -> Self {
        Self { is_backwards: true, ..self }
    }

    /// Limits the decoded snapshots to `bytes` bytes, but always holds at least one snapshot. 256 MiB without this.
    pub fn capacity(self, bytes: u64) -> Self {
        Self { capacity: bytes, ..self }
    }

    /// Decodes on the threads of this pool, rather than on the threads of the pool that the caller runs in.
    #[cfg(feature = "rayon")]
    pub fn pool(self, pool: &'a rayon::ThreadPool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    /// Calls `each` with the index and the mesh of each snapshot, on this thread. [`ControlFlow::Break`] ends playing.
    ///
    /// The meshes are the same as when [iterating](Self::into_iter).
    pub fn for_each(self, mut each: impl FnMut(usize, Result<&MeshBuffer>) -> ControlFlow<()>) {
        for (index, mesh) in self {
            let flow = match &mesh {
                Ok(mesh) => each(index, Ok(mesh)),
                Err(error) => each(index, Err(error.clone())),
            };
            if flow.is_break() {
                return;
            }
        }
    }
}

impl<'a> IntoIterator for Play<'a> {
    type Item = (usize, Result<PlayedMesh>);
    type IntoIter = Player<'a>;

    /// The index and the mesh of each snapshot.
    ///
    /// As many snapshots are held at a time as fit the [capacity](Play::capacity), and at most two for each thread of the rayon
    /// pool (see [`Parallelism`](crate::Parallelism)). The threads go on decoding while the caller works; after each snapshot they
    /// give way to other jobs of the pool. Where only one snapshot fits, the threads decode its stream together, if it is long.
    /// A snapshot that cannot be decoded is an error, and the next ones follow. The result does not depend on the number
    /// of threads.
    fn into_iter(self) -> Player<'a> {
        Player::new(self)
    }
}

/// A mesh while it is played. Dropping it gives its memory to a later one.
pub struct PlayedMesh {
    slot: Slot,
    free: Free,
    proxy: Proxy,
}

impl PlayedMesh {
    /// The mesh, to be kept. It no longer counts towards the [capacity](Play::capacity).
    #[must_use]
    pub fn into_mesh(mut self) -> Mesh {
        std::mem::take(&mut self.slot.mesh).into_mesh(self.proxy.topology_at(0))
    }
}

impl Deref for PlayedMesh {
    type Target = MeshBuffer;

    fn deref(&self) -> &MeshBuffer {
        &self.slot.mesh
    }
}

impl fmt::Debug for PlayedMesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slot.mesh.fmt(f)
    }
}

impl Drop for PlayedMesh {
    fn drop(&mut self) {
        self.free.lock().push(std::mem::take(&mut self.slot));
    }
}

/// Iterates over the snapshots that are played; made from a [`Play`].
pub struct Player<'a> {
    proxy: &'a Proxy,
    order: Order,
    /// Snapshots that have been played.
    turn: usize,
    parts: Parts,
    asked: Asked,
    free: Free,
    scratch: Scratch,
    #[cfg(feature = "rayon")]
    ahead: Option<Queue<'a>>,
}

impl<'a> Player<'a> {
    fn new(play: Play<'a>) -> Self {
        let order = Order { range: play.range, stride: play.stride, is_backwards: play.is_backwards };
        let free = Free::default();
        #[cfg(feature = "rayon")]
        let ahead = (play.proxy.options().parallelism == crate::options::Parallelism::Rayon).then(|| {
            Queue::new(play.proxy, order.clone(), play.parts, play.capacity, play.pool, free.clone())
        });
        Self {
            proxy: play.proxy,
            order,
            turn: 0,
            parts: play.parts,
            asked: Asked::new(),
            free,
            scratch: Scratch::default(),
            #[cfg(feature = "rayon")]
            ahead,
        }
    }

    /// Decodes the snapshot that is played next.
    fn decode(&mut self) -> (Slot, Result<()>) {
        #[cfg(feature = "rayon")]
        if let Some(ahead) = &mut self.ahead {
            return ahead.next(self.turn, &mut self.scratch);
        }
        let mut slot = self.free.lock().pop().unwrap_or_default();
        let snapshot = self.proxy.snapshot(self.order.at(self.turn));
        let outcome = snapshot
            .and_then(|snapshot| snapshot.mesh_parts_into(self.parts, &mut slot.mesh, &mut self.scratch));
        (slot, outcome)
    }
}

impl Iterator for Player<'_> {
    type Item = (usize, Result<PlayedMesh>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.turn >= self.order.len() {
            return None;
        }
        let index = self.order.at(self.turn);
        self.asked.play(self.turn, self.proxy, &self.order, self.parts);
        let (slot, outcome) = self.decode();
        self.turn = self.turn.saturating_add(1);
        // An error also gives the memory back.
        let mesh = PlayedMesh { slot, free: self.free.clone(), proxy: self.proxy.clone() };
        Some((index, outcome.map(|()| mesh)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.order.len().saturating_sub(self.turn);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Player<'_> {}

impl fmt::Debug for Play<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Play")
            .field("range", &self.range)
            .field("stride", &self.stride)
            .field("is_backwards", &self.is_backwards)
            .field("parts", &self.parts)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Player<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").field("order", &self.order).field("turn", &self.turn).finish_non_exhaustive()
    }
}
