//! Readers that use rayon themselves, in the pool that the library is called from.
#![cfg(feature = "rayon")]

use std::time::Duration;

use meshmap::cgeo::{Dialect, Parts, Proxy};
use meshmap::{Codec, Options, Source};
use meshmap_testing::{fixtures, hooked, open, with_watchdog};
use rayon::prelude::*;

/// Fetches what it is asked for in pieces, in parallel.
fn parallel(bytes: Vec<u8>) -> Source {
    hooked(bytes, |range| {
        // Whoever waits for others in a pool runs whatever else there is to do meanwhile, as it may happen in any join.
        rayon::yield_now();
        let pieces = (range.end - range.start).min(16);
        (0..pieces)
            .into_par_iter()
            .for_each(|_| std::thread::sleep(Duration::from_micros(200)));
        Ok(())
    })
}

fn in_a_small_pool<T: Send>(job: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    with_watchdog(Duration::from_secs(30), || pool.install(job))
}

fn proxy() -> Proxy {
    // Larger than what is read when it is opened.
    let (_, snapshots) = fixtures::cgeo::animation(40, 16);
    let file = fixtures::cgeo::file(&snapshots, Dialect::default().with_codec(Codec::Stored));
    open::proxy(parallel(file))
}

#[test]
fn playing_ends_where_the_reader_uses_the_same_pool() {
    in_a_small_pool(|| {
        let proxy = proxy();
        let mut seen = 0;
        proxy
            .play(0..proxy.snapshot_count())
            .capacity(16 << 20)
            .for_each(|_, mesh| {
                mesh.unwrap();
                seen += 1;
                std::ops::ControlFlow::Continue(())
            });
        assert_eq!(seen, 16);
    });
}

/// Needs every worker of the pool for each read.
fn everyone(bytes: Vec<u8>) -> Source {
    hooked(bytes, |_| {
        if rayon::current_thread_index().is_some() {
            std::thread::sleep(Duration::from_millis(2));
            rayon::broadcast(|_| ());
        }
        Ok(())
    })
}

#[test]
fn playing_ends_where_the_reader_needs_every_worker() {
    in_a_small_pool(|| {
        let (_, snapshots) = fixtures::cgeo::animation(40, 16);
        let file = fixtures::cgeo::file(&snapshots, Dialect::default().with_codec(Codec::Stored));
        for last in [16, 5] {
            let proxy = open::proxy(everyone(file.clone()));
            let mut seen = 0;
            proxy
                .play(0..proxy.snapshot_count())
                .capacity(16 << 20)
                .for_each(|_, mesh| {
                    mesh.unwrap();
                    seen += 1;
                    // Meanwhile another worker begins to read the next one.
                    std::thread::sleep(Duration::from_millis(1));
                    if seen == last {
                        std::ops::ControlFlow::Break(())
                    } else {
                        std::ops::ControlFlow::Continue(())
                    }
                });
            assert_eq!(seen, last);
        }
    });
}

#[test]
fn snapshots_of_many_tasks_end_where_the_reader_uses_the_same_pool() {
    in_a_small_pool(|| {
        let proxy = proxy();
        (0..64_usize).into_par_iter().for_each(|task| {
            proxy.snapshot(task % 16).unwrap().mesh(Parts::ALL).unwrap();
        });
    });
}

#[test]
fn decoding_all_blocks_ends_where_the_reader_uses_the_same_pool() {
    in_a_small_pool(|| {
        let proxy = proxy();
        let blocks: Vec<_> = (0..proxy.snapshot_count())
            .flat_map(|index| proxy.snapshot(index).unwrap().blocks().unwrap())
            .collect();
        let decoded = meshmap::decode_all(proxy.source(), &blocks, &Options::default());
        assert!(decoded.iter().all(Result::is_ok));
    });
}

#[test]
fn every_format_is_validated_where_the_reader_uses_the_same_pool() {
    use fixtures::openctm::{Body, MG2};
    let (_, snapshots) = fixtures::cgeo::animation(60, 4);
    let files = [
        fixtures::cgeo::file(&snapshots, Dialect::default()),
        fixtures::iqm::long_animation(),
        Body::sheet(MG2, 90).to_bytes(),
        fixtures::slmesh::large(64),
        fixtures::tmf::grid(120),
    ];
    in_a_small_pool(|| {
        for body in files {
            let file = open::file(parallel(body));
            (0..16).into_par_iter().for_each(|_| {
                file.validate().unwrap();
                file.meshes()
                    .unwrap()
                    .for_each(|entry| drop(file.mesh(&entry.address).unwrap()));
            });
        }
    });
}

#[cfg(feature = "cache")]
mod cache {
    use meshmap::cgeo::SnapshotCache;

    use super::*;

    #[test]
    fn cache_of_many_tasks_ends_where_the_reader_uses_the_same_pool() {
        in_a_small_pool(|| {
            let (proxy, cache) = (proxy(), SnapshotCache::new(100 << 10));
            (0..256_usize).into_par_iter().for_each(|task| {
                cache.get(&proxy, task % 4, Parts::ALL).unwrap();
            });
        });
    }

    #[test]
    fn prefetching_ends_where_the_reader_uses_the_same_pool() {
        in_a_small_pool(|| {
            let (proxy, cache) = (proxy(), SnapshotCache::new(1 << 20));
            for _ in 0..8 {
                cache.clear();
                cache.prefetch(&proxy, 0..16, Parts::ALL);
                (0..16)
                    .into_par_iter()
                    .for_each(|index| drop(cache.get(&proxy, index, Parts::ALL).unwrap()));
            }
        });
    }
}
