use std::collections::VecDeque;
use std::ops::Range;

use futures_util::{Stream, stream};
use meshmap::Scratch;
use meshmap::cgeo::{MeshBuffer, Parts, Proxy};
use tokio::task::JoinHandle;

use crate::error::Result;
use crate::remote::Remote;

/// A snapshot that was played: its number, and its mesh.
pub type Play = (usize, MeshBuffer);

/// The state of playing.
struct State {
    remote: Remote,
    proxy: Proxy,
    parts: Parts,
    rest: Range<usize>,
    /// In the order in which they are played.
    ahead: VecDeque<Ahead>,
    /// The stored bytes of those.
    bytes: u64,
    most_bytes: u64,
}

/// A snapshot whose bytes are being fetched.
struct Ahead {
    index: usize,
    /// All of its bytes.
    range: Range<u64>,
    /// The number of bytes that are being fetched.
    bytes: u64,
    fetched: JoinHandle<Result<()>>,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.fetched.abort();
    }
}

/// The length of a start tag. In some dialects the tag of the next snapshot is at the end of a snapshot's range.
const TAG: u64 = 4;

/// Fewer delay each other.
const MOST_AHEAD: usize = 32;

impl Remote {
    /// Plays snapshots of a CGeo file that [`open`](Self::open) has opened here: while one is decoded, the next ones are fetched,
    /// as many as their stored bytes fit into `most_bytes`, but at least one. Their bytes are dropped afterwards, except for the
    /// first snapshot of the file, which the others are differences from. They are fetched by tasks outside of any job, so only the
    /// limit of the file counts.
    ///
    /// A snapshot that cannot be read is passed as its error, and the next ones follow. Dropping the stream ends all
    /// requests. It runs in a runtime of tokio.
    pub fn play(
        &self,
        proxy: &Proxy,
        snapshots: Range<usize>,
        most_bytes: u64,
    ) -> impl Stream<Item = Result<Play>> + Send + Unpin + use<> {
        self.play_parts(proxy, snapshots, Parts::ALL, most_bytes)
    }

    /// Like [`play`](Self::play), with these parts of the meshes; other parts are empty. Positions and normals of a difference
    /// are fetched in one request for the [likely range](meshmap::cgeo::Snapshot::likely_range).
    pub fn play_parts(
        &self,
        proxy: &Proxy,
        snapshots: Range<usize>,
        parts: Parts,
        most_bytes: u64,
    ) -> impl Stream<Item = Result<Play>> + Send + Unpin + use<> {
        let state = State {
            remote: self.clone(),
            proxy: proxy.clone(),
            parts,
            rest: snapshots,
            ahead: VecDeque::new(),
            bytes: 0,
            most_bytes,
        };
        // Boxed, so that it can be polled in place.
        Box::pin(stream::unfold(state, |mut state| async move {
            let played = state.next().await?;
            Some((played, state))
        }))
    }
}

impl State {
    async fn next(&mut self) -> Option<Result<Play>> {
        self.request();
        let mut ahead = self.ahead.pop_front()?;
        self.bytes -= ahead.bytes;
        // Others are fetched while this one is waited for and decoded.
        self.request();
        Some(self.decode(&mut ahead).await)
    }

    /// Begins to fetch the snapshots that fit.
    fn request(&mut self) {
        while !self.rest.is_empty()
            && self.ahead.len() < MOST_AHEAD
            && (self.ahead.is_empty() || self.bytes < self.most_bytes)
        {
            let index = self.rest.start;
            let (range, likely) = match self.proxy.snapshot(index) {
                Ok(snapshot) => (snapshot.range(), snapshot.likely_range(self.parts)),
                Err(error) => {
                    let error = self.remote.inner.mesh_error(error);
                    let fetched = tokio::spawn(async { Err(error) });
                    self.ahead.push_back(Ahead {
                        index,
                        range: 0..0,
                        bytes: 0,
                        fetched,
                    });
                    self.rest.start += 1;
                    continue;
                }
            };
            // There is an estimate as soon as the snapshot before it is decoded.
            if likely.is_none() && !self.ahead.is_empty() {
                break;
            }
            let likely = likely.unwrap_or_else(|| range.clone());
            let remote = self.remote.clone();
            let wanted = likely.clone();
            let fetched = tokio::spawn(async move {
                // A damaged file may declare bytes beyond its end: they are not requested.
                let length = remote
                    .inner
                    .version()
                    .map_or(u64::MAX, |version| version.length);
                let end = wanted.end.min(length);
                remote
                    .run(|source| source.read(wanted.start.min(end)..end).map(drop))
                    .await
            });
            let bytes = likely.end - likely.start;
            self.bytes += bytes;
            self.ahead.push_back(Ahead {
                index,
                range,
                bytes,
                fetched,
            });
            self.rest.start += 1;
        }
    }

    async fn decode(&self, ahead: &mut Ahead) -> Result<Play> {
        (&mut ahead.fetched).await??;
        let proxy = self.proxy.clone();
        let parts = self.parts;
        let index = ahead.index;
        let decoded = self.remote.run_blocking(move |_| {
            let mut mesh = MeshBuffer::default();
            proxy
                .snapshot(index)?
                .mesh_into(parts, &mut mesh, &mut Scratch::default())?;
            Ok(mesh)
        });
        let mesh = decoded.await;
        if index > 0 {
            let Range { start, end } = ahead.range;
            self.remote
                .forget(start.saturating_sub(TAG)..end.saturating_sub(TAG));
        }
        Ok((index, mesh?))
    }
}
