//! Playing: snapshots one after the other, in bounded memory, of which threads of a pool decode the next ones. Stands on top of
//! [`Proxy`] and [`Snapshot`](super::Snapshot).
//!
//! A window of jobs lies ahead of the snapshot that is played. Each has an equal share of the capacity. The thread that plays takes
//! the first one: it decodes the snapshot itself if no other thread has begun to, and otherwise decodes others until that one is
//! done. A snapshot that does not fit its share is decoded when it is played, without others in memory.

use std::collections::VecDeque;
use std::fmt;
use std::ops::{ControlFlow, Deref, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::base;
use super::mesh::{Mesh, MeshBuffer};
use super::parts::Parts;
use super::proxy::Proxy;
use super::read_policy::Requests;
use super::stream::Identify;
use crate::bytes::is_rayon_worker;
use crate::decode::{Context, Scratch};
use crate::limits::job;
use crate::num::{Span, as_u64, as_usize};
use crate::report::{ErrorKind, Result};

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
        Self {
            stride: stride.max(1),
            ..self
        }
    }

    /// Begins with the last snapshot of the range, and goes backwards.
    pub fn backwards(self) -> Self {
        Self {
            is_backwards: true,
            ..self
        }
    }

    /// Limits the decoded snapshots to `bytes` bytes, but always holds at least one snapshot. 256 MiB without this.
    pub fn capacity(self, bytes: u64) -> Self {
        Self {
            capacity: bytes,
            ..self
        }
    }

    /// Decodes on the threads of this pool, rather than on the threads of the pool that the caller runs in.
    #[cfg(feature = "rayon")]
    pub fn pool(self, pool: &'a rayon::ThreadPool) -> Self {
        Self {
            pool: Some(pool),
            ..self
        }
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
    /// give way to other jobs of the pool. A snapshot that does not fit next to others is decoded when it is played.
    /// A snapshot that cannot be decoded is an error, and the next ones follow. The result does not depend on the number
    /// of threads.
    fn into_iter(self) -> Player<'a> {
        Player::new(self)
    }
}

/// Memory of snapshots that have been played, and of decoders.
#[derive(Default)]
struct Memory {
    buffers: Mutex<Vec<MeshBuffer>>,
    scratches: Mutex<Vec<Scratch>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A mesh while it is played. Dropping it gives its memory to a later one.
pub struct PlayedMesh {
    mesh: MeshBuffer,
    memory: Arc<Memory>,
    proxy: Proxy,
}

impl PlayedMesh {
    /// The mesh, to be kept. It no longer counts towards the [capacity](Play::capacity).
    #[must_use]
    pub fn into_mesh(mut self) -> Mesh {
        std::mem::take(&mut self.mesh).into_mesh(self.proxy.first_topology())
    }
}

impl Deref for PlayedMesh {
    type Target = MeshBuffer;

    fn deref(&self) -> &MeshBuffer {
        &self.mesh
    }
}

impl fmt::Debug for PlayedMesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mesh.fmt(f)
    }
}

impl Drop for PlayedMesh {
    fn drop(&mut self) {
        let mut buffers = locked(&self.memory.buffers);
        if buffers.is_empty() {
            buffers.push(std::mem::take(&mut self.mesh));
        }
    }
}

/// A snapshot that has been decoded.
struct Decoded {
    mesh: MeshBuffer,
    /// The error, or the panic of a reader.
    outcome: std::thread::Result<Result<()>>,
}

/// A snapshot that is to be decoded, by whichever thread comes first.
///
/// This is not a [`Slot`](crate::decode::Slot), in which a value is made while others wait for it: a job reads, maybe through a
/// reader of the caller that needs this very pool, so a thread may not simply wait for it. The thread that plays has to know whether
/// a job has begun, to decode others meanwhile, and it takes the mesh out, to use its memory again.
struct Job {
    proxy: Proxy,
    index: usize,
    parts: Parts,
    /// `true` if the first snapshot is also decoded for the differences.
    shares_first: bool,
    /// The maximum number of bytes that it may hold; `None` if no other snapshot is in memory.
    share: Option<u64>,
    memory: Arc<Memory>,
    state: Mutex<State>,
    decoded: Condvar,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each snapshot ahead"
)]
enum State {
    Waiting,
    Running,
    Decoded(Decoded),
    /// The snapshot does not fit its share of the capacity.
    TooLarge,
    /// Its result was taken, or is not wanted any more.
    Ended,
}

impl Job {
    /// Decodes the snapshot, unless another thread has begun to; returns `true` if it did.
    fn run(&self) -> bool {
        if !self.begin() {
            return false;
        }
        let end = match self.decode() {
            Some(decoded) => State::Decoded(decoded),
            None => State::TooLarge,
        };
        *locked(&self.state) = end;
        self.decoded.notify_all();
        true
    }

    /// Returns `true` if no other thread has begun.
    fn begin(&self) -> bool {
        let mut state = locked(&self.state);
        let is_waiting = matches!(*state, State::Waiting);
        if is_waiting {
            *state = State::Running;
        }
        is_waiting
    }

    /// Decodes the snapshot outside of any job, on whichever thread; `None` if it does not fit its share.
    fn decode(&self) -> Option<Decoded> {
        job::unmetered(|| self.decode_unmetered())
    }

    fn decode_unmetered(&self) -> Option<Decoded> {
        let call = self.proxy.file().meter();
        let meter = call.part_of_at_most(self.share.unwrap_or(u64::MAX));
        let mut mesh = locked(&self.memory.buffers).pop().unwrap_or_default();
        if let Some(share) = self.share
            && mesh.memory() > share
        {
            mesh = MeshBuffer::default();
        }
        let mut scratch = locked(&self.memory.scratches).pop().unwrap_or_default();
        // A reader that panics must not leave the thread that plays waiting.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.decode_into(&mut mesh, Context::new(&meter, &mut scratch))
        }));
        locked(&self.memory.scratches).push(scratch);
        if let Ok(Err(error)) = &outcome
            && error.kind() == ErrorKind::LimitExceeded
            && self.share.is_some()
        {
            // It is decoded when it is played.
            return None;
        }
        Some(Decoded { mesh, outcome })
    }

    fn decode_into(&self, mesh: &mut MeshBuffer, context: Context<'_>) -> Result<()> {
        let Context { meter, scratch } = context;
        let snapshot = self.proxy.snapshot(self.index)?;
        if self.shares_first && snapshot.copy_base(self.parts, meter, mesh) {
            return Ok(());
        }
        snapshot.mesh_into_within(self.parts, meter, mesh, scratch, Identify::IfWanted)?;
        Ok(())
    }

    /// Waits until another thread has decoded the snapshot, or less long. If a caller's reader reads it, which may need this worker of a
    /// pool, the worker does other work of the pool meanwhile.
    fn wait(&self) {
        const PAUSE: Duration = Duration::from_micros(100);
        let is_needed = is_rayon_worker() && self.proxy.source().has_own_reader();
        if is_needed && has_worked() {
            return;
        }
        let state = locked(&self.state);
        match *state {
            State::Running if is_needed => drop(self.decoded.wait_timeout(state, PAUSE)),
            State::Running => drop(self.decoded.wait(state)),
            State::Waiting | State::Decoded(_) | State::TooLarge | State::Ended => {}
        }
    }

    /// Takes the result, if it is there: [`State::Decoded`] or [`State::TooLarge`].
    fn take(&self) -> Option<State> {
        let mut state = locked(&self.state);
        if matches!(*state, State::Waiting | State::Running) {
            return None;
        }
        Some(std::mem::replace(&mut *state, State::Ended))
    }

    /// Ends a job that no thread has begun.
    fn cancel(&self) {
        let mut state = locked(&self.state);
        if matches!(*state, State::Waiting) {
            *state = State::Ended;
        }
    }

    fn is_running(&self) -> bool {
        matches!(*locked(&self.state), State::Running)
    }
}

/// Runs another job of this worker's pool, if there is one.
fn has_worked() -> bool {
    #[cfg(feature = "rayon")]
    return job::in_pool(|_| rayon::yield_now()) == Some(rayon::Yield::Executed);
    #[cfg(not(feature = "rayon"))]
    false
}

/// Iterates over the snapshots that are played; made from a [`Play`].
pub struct Player<'a> {
    play: Play<'a>,
    /// Snapshots that have been played.
    turn: usize,
    /// The snapshots ahead, the next one first.
    window: VecDeque<Arc<Job>>,
    /// The threads that may decode ahead.
    threads: usize,
    /// The first snapshot is also decoded for the differences.
    shares_first: bool,
    /// About how many bytes the next snapshot takes, if that is known.
    size: Option<u64>,
    memory: Arc<Memory>,
    read_ahead: ReadAhead,
}

impl<'a> Player<'a> {
    fn new(play: Play<'a>) -> Self {
        let threads = play.threads();
        // From a store, the second snapshot takes a request, which pays if others are decoded ahead.
        let source = play.proxy.source();
        let looks = threads > 0 || source.is_in_memory() || source.is_file();
        let shares_first = looks && job::unmetered(|| play.needs_first());
        let size = if threads > 0 && shares_first {
            job::unmetered(|| play.first_size())
        } else {
            None
        };
        Self {
            play,
            turn: 0,
            window: VecDeque::new(),
            threads,
            shares_first,
            size,
            memory: Arc::default(),
            read_ahead: ReadAhead::default(),
        }
    }

    fn job(&self, turn: usize, share: Option<u64>) -> Arc<Job> {
        Arc::new(Job {
            proxy: self.play.proxy.clone(),
            index: self.play.at(turn),
            parts: self.play.parts,
            shares_first: self.shares_first,
            share,
            memory: Arc::clone(&self.memory),
            state: Mutex::new(State::Waiting),
            decoded: Condvar::new(),
        })
    }

    /// Lets threads begin with the next snapshots, as many as fit the capacity.
    fn fill(&mut self) {
        /// Snapshots for each thread. More gain nothing and take newly allocated memory.
        const AHEAD_OF_EACH: usize = 2;
        /// The snapshot that the caller has, and the one whose memory waits to be used again.
        const OUTSIDE: u64 = 2;
        let capacity = self.play.capacity;
        let fitting = match self.size {
            Some(size) => capacity.checked_div(size.max(1)).unwrap_or(0),
            None => 0,
        };
        let most = self
            .threads
            .saturating_mul(AHEAD_OF_EACH)
            .min(as_usize(fitting.saturating_sub(OUTSIDE)));
        let shares = as_u64(most).saturating_add(OUTSIDE);
        let share = capacity.checked_div(shares).unwrap_or(0);
        let mut left = capacity;
        for job in &self.window {
            left = left.saturating_sub(job.share.unwrap_or(0));
        }
        while self.window.len() < most && left >= share.saturating_mul(OUTSIDE.saturating_add(1)) {
            let turn = self.turn.saturating_add(self.window.len());
            if turn >= self.play.len() {
                return;
            }
            left = left.saturating_sub(share);
            let job = self.job(turn, Some(share));
            // The first one is decoded by the thread that plays.
            if !self.window.is_empty() {
                self.play.spawn(&job);
            }
            self.window.push_back(job);
        }
    }

    /// Decodes the snapshot that is played next.
    fn decode(&mut self) -> (MeshBuffer, Result<()>) {
        self.fill();
        let ahead = match self.window.pop_front() {
            Some(job) => match self.finish(&job) {
                State::Decoded(decoded) => Some(decoded),
                _ => {
                    // It does not fit next to others. What comes after it is decoded once more.
                    self.clear();
                    None
                }
            },
            None => None,
        };
        let decoded = match ahead {
            Some(decoded) => decoded,
            None => self.decode_alone(),
        };
        let outcome = decoded
            .outcome
            .unwrap_or_else(|payload| resume_unwind(payload));
        if outcome.is_ok() {
            self.size = Some(decoded.mesh.memory());
        }
        (decoded.mesh, outcome)
    }

    /// Decodes the snapshot that is played next, without others in memory.
    fn decode_alone(&self) -> Decoded {
        let decoded = self.job(self.turn, None).decode();
        // A job without a share always fits.
        decoded.unwrap_or_else(|| Decoded {
            mesh: MeshBuffer::default(),
            outcome: Ok(Ok(())),
        })
    }

    /// Decodes a snapshot or, if another thread does, the ones after it until it is done.
    fn finish(&self, job: &Job) -> State {
        job.run();
        loop {
            if let Some(end) = job.take() {
                return end;
            }
            if !self.decode_one_ahead() {
                job.wait();
            }
        }
    }

    /// Decodes the first snapshot of the window that no other thread has begun; returns `false` if there is none.
    fn decode_one_ahead(&self) -> bool {
        for job in &self.window {
            if job.run() {
                return true;
            }
        }
        false
    }

    /// Drops what is decoded ahead, or is to be.
    fn clear(&mut self) {
        for job in &self.window {
            job.cancel();
        }
        for job in std::mem::take(&mut self.window) {
            while job.is_running() {
                job.wait();
            }
        }
        locked(&self.memory.buffers).clear();
    }
}

impl Drop for Player<'_> {
    /// Leaves nothing to threads that come when playing has ended, in whatever way.
    fn drop(&mut self) {
        self.clear();
    }
}

impl Play<'_> {
    /// The number of snapshots that are played.
    fn len(&self) -> usize {
        self.range.len().div_ceil(self.stride)
    }

    /// The index of the snapshot that is played after `turn` others.
    fn at(&self, turn: usize) -> usize {
        let distance = turn.saturating_mul(self.stride);
        if self.is_backwards {
            self.range.end.saturating_sub(1).saturating_sub(distance)
        } else {
            self.range.start.saturating_add(distance)
        }
    }

    /// Returns `true` if the second snapshot that is played is a difference from the first one of the file.
    fn needs_first(&self) -> bool {
        if self.len() < 2 {
            return false;
        }
        let Ok(second) = self.proxy.snapshot(self.at(1)) else {
            return false;
        };
        matches!(second.is_complete(&mut Scratch::default()), Ok(false))
    }

    /// Returns the approximate size of a difference in bytes: the size of the arrays of the first snapshot.
    fn first_size(&self) -> Option<u64> {
        let file = self.proxy.file();
        let base = base::parts(file, self.parts, &file.meter()).ok()?;
        Some(base.mesh.sizes().of(self.parts.without(Parts::TRIANGLES)))
    }

    /// The threads of the pool, if there are others than this one and the file's options use them.
    #[cfg(feature = "rayon")]
    fn threads(&self) -> usize {
        use rayon::ThreadPool;
        let threads = self
            .pool
            .map_or_else(rayon::current_num_threads, ThreadPool::current_num_threads);
        let worker = self.pool.map_or_else(
            rayon::current_thread_index,
            ThreadPool::current_thread_index,
        );
        let is_off = self.proxy.options().parallelism != crate::options::Parallelism::Rayon;
        if is_off || threads <= usize::from(worker.is_some()) {
            0
        } else {
            threads
        }
    }

    #[cfg(feature = "rayon")]
    fn spawn(&self, job: &Arc<Job>) {
        let job = Arc::clone(job);
        let run = move || {
            job.run();
        };
        match self.pool {
            Some(pool) => pool.spawn(run),
            None => rayon::spawn(run),
        }
    }

    #[cfg(not(feature = "rayon"))]
    fn threads(&self) -> usize {
        0
    }

    #[cfg(not(feature = "rayon"))]
    fn spawn(&self, _: &Arc<Job>) {}
}

impl Iterator for Player<'_> {
    type Item = (usize, Result<PlayedMesh>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.turn >= self.play.len() {
            return None;
        }
        let index = self.play.at(self.turn);
        self.read_ahead.play(self.turn, &self.play);
        let (mesh, outcome) = self.decode();
        self.turn = self.turn.saturating_add(1);
        // It was decoded outside of the job of this call.
        let call = self.play.proxy.file().meter();
        let outcome = outcome
            .and_then(|()| call.work(mesh.sizes().of(Parts::ALL), "snapshot that is played"));
        // An error also gives the memory back.
        let mesh = PlayedMesh {
            mesh,
            memory: Arc::clone(&self.memory),
            proxy: self.play.proxy.clone(),
        };
        Some((index, outcome.map(|()| mesh)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.play.len().saturating_sub(self.turn);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Player<'_> {}

/// The snapshots that the system has been asked to read ahead: up to [`AHEAD`] bytes, but at least the next snapshot.
#[derive(Default)]
struct ReadAhead {
    /// The next turn to ask for.
    next: usize,
    /// The bytes of each snapshot that was asked for and has not been played, and of all of them.
    lengths: VecDeque<u64>,
    bytes: u64,
}

/// Enough to keep a disk busy while a snapshot is decoded, and little memory.
const AHEAD: u64 = 16 << 20;

impl ReadAhead {
    /// Asks for what comes after this turn, which is played now.
    fn play(&mut self, turn: usize, play: &Play<'_>) {
        let after = turn.saturating_add(1);
        self.next = self.next.max(after);
        while self.lengths.len() > self.next.saturating_sub(after) {
            let played = self.lengths.pop_front().unwrap_or(0);
            self.bytes = self.bytes.saturating_sub(played);
        }
        while self.next < play.len() && (self.lengths.is_empty() || self.bytes < AHEAD) {
            // Before a snapshot has been decoded, nothing is known of how much of the others is needed.
            let Ok(snapshot) = play.proxy.snapshot(play.at(self.next)) else {
                return;
            };
            let source = play.proxy.source();
            let policy = snapshot.stored.policy();
            let last = play.parts.last();
            let Some(likely) = policy.likely_ranges(last, Requests::of(source)) else {
                return;
            };
            let length = likely.headers.length().saturating_add(likely.mesh.length());
            self.bytes = self.bytes.saturating_add(length);
            self.lengths.push_back(length);
            self.next = self.next.saturating_add(1);
            // The space to the next snapshot of a file may be a hole of any size, which files are not asked for either.
            let most = if source.is_mapped() { AHEAD } else { u64::MAX };
            for range in [likely.headers, likely.mesh] {
                if !range.is_empty() {
                    let end = range.end.min(range.start.saturating_add(most));
                    source.will_read(range.start..end);
                }
            }
        }
    }
}
