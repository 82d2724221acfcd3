//! The same values for any number of threads, and no deadlock wherever the library is called from.
#![cfg(feature = "rayon")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use meshmap::cgeo::{Dialect, Parts, Proxy};
use meshmap::{MeshFile, Options, Parallelism, Source};
use meshmap_testing::calls::{Digest, Look, Looked, assert_same, digests_on};
use meshmap_testing::{fixtures, hooked, open, with_watchdog};
use rayon::prelude::*;
use zerocopy::IntoBytes;

/// Miri looks at every access of every thread: what it runs is as small as it can be.
const THREADS: &[usize] = if cfg!(miri) { &[1, 2] } else { &[1, 2, 8] };

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

/// Files of every format with work for several threads; for Miri, for which compressing takes minutes, two small ones.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    use fixtures::openctm::{MG1, MG2};
    let grid = fixtures::tmf::grid(if cfg!(miri) { 9 } else { 300 });
    let mut files = vec![("iqm", fixtures::iqm::long_animation()), ("tmf", grid)];
    if !cfg!(miri) {
        // If several arrays cannot be decoded, the same one is always reported.
        let mut damaged = rough_body(MG2);
        let blocks = open::body(damaged.clone()).blocks();
        let lengths = || {
            blocks
                .iter()
                .map(|block| block.range.end - block.range.start)
        };
        assert!(
            lengths().sum::<u64>() - lengths().max().unwrap() > 16 << 10,
            "enough for another thread"
        );
        blocks
            .iter()
            .for_each(|block| damaged[block.range.start as usize] = 1);
        files.extend([
            ("cgeo, one snapshot damaged", uneven()),
            ("slmesh", fixtures::slmesh::large(110)),
            ("openctm, MG1", rough_body(MG1)),
            ("openctm, MG2", rough_body(MG2)),
            ("openctm, every block damaged", damaged),
        ]);
    }
    files
}

/// The values and errors of all calls; for Miri, which takes an hour for them, of the arrays.
fn all(file: &MeshFile, source: &Source, options: &Options) -> Vec<Digest> {
    if cfg!(miri) {
        let read = |entry: meshmap::Result<meshmap::ArrayEntry>| {
            let (mut looked, entry) = (Looked::default(), entry.unwrap());
            entry.read().look(&mut looked);
            (entry.address.to_string(), looked.digest())
        };
        return file.arrays().map(read).collect();
    }
    digests_on(file, source, options, 8).unwrap().0
}

/// All calls, by one thread, and by many at once on files that they share: one in memory, and one that is read by ranges.
#[test]
fn every_call_is_the_same_for_any_number_of_threads() {
    for (name, bytes) in files() {
        let open = |source: Source, parallelism| {
            let options = Options::default().with_parallelism(parallelism);
            let file = MeshFile::from_source(source.clone(), &options).unwrap();
            move || all(&file, &source, &options)
        };
        let expected = open(Source::from_bytes(bytes.clone()), Parallelism::Off)();
        for &threads in THREADS {
            let sources = [
                Source::from_bytes(bytes.clone()),
                hooked(bytes.clone(), |_| Ok(())),
            ];
            let files = sources.map(|source| open(source, Parallelism::Rayon));
            let check = |number: usize| {
                assert_same(
                    &format!("{name}, {threads} threads"),
                    &files[number % 2](),
                    &expected,
                    true,
                );
            };
            with_watchdog(Duration::from_secs(120), || {
                let pool = pool(threads);
                pool.install(|| (0..4).into_par_iter().for_each(check));
                pool.install(|| check(0));
            });
        }
    }
}

fn sheets(side: u32, snapshots: usize) -> Proxy {
    let (_, snapshots) = fixtures::cgeo::animation(side, snapshots);
    open::proxy(fixtures::cgeo::file(&snapshots, Dialect::default()))
}

/// All bytes of all snapshots, as playing hands them out.
fn played(proxy: &Proxy) -> Vec<u8> {
    let mut all = Vec::new();
    proxy
        .play(0..proxy.snapshot_count())
        .capacity(1 << 20)
        .for_each(|_, mesh| {
            let mesh = mesh.unwrap();
            all.extend_from_slice(mesh.positions.as_bytes());
            all.extend_from_slice(mesh.normals.as_bytes());
            all.extend_from_slice(mesh.triangles.as_bytes());
            std::ops::ControlFlow::Continue(())
        });
    all
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn playing_ends_where_the_caller_ends_it() {
    let mut seen = Vec::new();
    sheets(5, 40)
        .play(3..30)
        .capacity(1 << 20)
        .for_each(|index, _| {
            seen.push(index);
            if index == 7 {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        });
    assert_eq!(seen, [3, 4, 5, 6, 7]);
}

/// Complete snapshots of many sizes between differences, one of them damaged.
fn uneven() -> Vec<u8> {
    let (_, mut snapshots) = fixtures::cgeo::animation(20, 24);
    for (index, snapshot) in snapshots.iter_mut().enumerate().skip(3).step_by(4) {
        let side = [3, 90, 10, 40, 70, 2][index / 4];
        *snapshot = fixtures::cgeo::animation(side, 1).1.remove(0);
    }
    let mut file = fixtures::cgeo::file(&snapshots, Dialect::default());
    let proxy = open::proxy(file.clone());
    let blocks = proxy.snapshot(9).unwrap().blocks().unwrap();
    let mesh = blocks
        .iter()
        .max_by_key(|block| block.range.end - block.range.start)
        .unwrap();
    let middle = usize::try_from(mesh.range.start.midpoint(mesh.range.end)).unwrap();
    file[middle..middle + 20].fill(0xff);
    file
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn playing_is_the_same_for_any_capacity() {
    let source = Source::from_bytes(uneven());
    let proxy = Proxy::from_source(source.clone(), &Options::default()).unwrap();
    let expected: Vec<_> = (0..proxy.snapshot_count())
        .map(|index| {
            let mesh = proxy
                .snapshot(index)
                .unwrap()
                .mesh(Parts::ALL)
                .map_err(|error| error.to_string())?;
            Ok::<_, String>((mesh.positions.to_vec(), mesh.triangles.as_bytes().to_vec()))
        })
        .collect();
    assert_eq!(expected.iter().filter(|mesh| mesh.is_err()).count(), 1);
    let play = |range: std::ops::Range<usize>, capacity| {
        let (proxy, mut played) = (
            Proxy::from_source(source.clone(), &Options::default()).unwrap(),
            Vec::new(),
        );
        proxy
            .play(range.clone())
            .capacity(capacity)
            .for_each(|index, mesh| {
                assert_eq!(index, range.start + played.len());
                let mesh =
                    mesh.map(|mesh| (mesh.positions.clone(), mesh.triangles.as_bytes().to_vec()));
                played.push(mesh.map_err(|error| error.to_string()));
                std::ops::ControlFlow::Continue(())
            });
        assert!(played == expected[range], "{capacity}");
    };
    with_watchdog(Duration::from_secs(120), || {
        for capacity in [0, 20_000, 50_000, 200_000, 500_000, 1 << 30] {
            for range in [0..24, 2..24, 8..10, 5..6, 4..4] {
                play(range.clone(), capacity);
                for threads in [1, 2, 5] {
                    pool(threads).install(|| play(range.clone(), capacity));
                }
            }
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn playing_goes_on_while_the_caller_works_and_ends_where_it_panics() {
    let (proxy, pool) = (sheets(20, 16), pool(2));
    with_watchdog(Duration::from_secs(60), || {
        // Playing inside of playing, in the same pool.
        let (mut inner, all) = (Vec::new(), proxy.snapshot_count());
        pool.install(|| {
            proxy.play(0..all).capacity(1 << 20).for_each(|_, _| {
                proxy
                    .play(0..all)
                    .capacity(1 << 20)
                    .for_each(|index, mesh| {
                        inner.push(mesh.map(|_| index).unwrap());
                        std::ops::ControlFlow::Continue(())
                    });
                std::ops::ControlFlow::Continue(())
            });
        });
        assert_eq!(inner, (0..all).flat_map(|_| 0..all).collect::<Vec<_>>());
        let play = || {
            pool.install(|| {
                proxy
                    .play(0..all)
                    .capacity(1 << 20)
                    .for_each(|index, _| std::panic::panic_any(index))
            })
        };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(play));
        assert_eq!(ended.unwrap_err().downcast_ref(), Some(&0_usize));
    });
}

/// Long streams, decoded by workers of the pool that also help with them, from inside and outside of it.
#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn long_streams_are_the_same_for_any_number_of_threads() {
    let content = fixtures::rough(4 << 20);
    let stream = miniz_oxide::deflate::compress_to_vec_zlib(&content, 1);
    let range = 0..stream.len() as u64;
    let address = meshmap::Address::field("block");
    let block = meshmap::Block::new("block", address, range, meshmap::Codec::Zlib, None);
    let damaged = |stream: &[u8]| {
        let mut stream = stream.to_vec();
        let place = stream.len() / 3 * 2;
        stream[place..place + 8].fill(0xff);
        Source::from_bytes(stream)
    };
    let (intact, damaged) = (Source::from_bytes(stream.clone()), damaged(&stream));
    let decode = |source: &Source, parallelism| {
        let options = Options::default().with_parallelism(parallelism);
        block
            .decode(source, &options, &mut meshmap::Scratch::default())
            .map_err(|error| error.to_string())
    };
    let expected = [&intact, &damaged].map(|source| decode(source, Parallelism::Off));
    assert!(expected[0].as_ref().unwrap() == &content && expected[1].is_err());
    let check = || {
        let found = [&intact, &damaged].map(|source| decode(source, Parallelism::Rayon));
        assert!(found == expected);
    };
    with_watchdog(Duration::from_secs(120), || {
        check();
        for threads in [1, 2, 8] {
            let pool = pool(threads);
            pool.install(check);
            pool.install(|| (0..8).into_par_iter().for_each(|_| check()));
            pool.scope(|scope| (0..4).for_each(|_| scope.spawn(|_| check())));
        }
    });
}

/// The base is a long stream, which whoever makes it decodes with the help of others, of whom some wait for it.
#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn long_base_is_decoded_while_others_wait_for_it() {
    let (_, snapshots) = fixtures::cgeo::animation(300, 3);
    let file = fixtures::cgeo::file(&snapshots, Dialect::default());
    let proxy = open::proxy(file.clone());
    let expected = played(&proxy);
    for threads in [1, 2, 8] {
        let proxy = open::proxy(file.clone());
        from_outside(threads, move || {
            let positions = proxy.snapshot(1).unwrap().positions().unwrap();
            assert_eq!(positions.len(), 300 * 300);
        });
        let proxy = open::proxy(file.clone());
        assert!(
            pool(threads).install(|| played(&proxy)) == expected,
            "{threads} threads"
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn base_is_decoded_once_whoever_asks() {
    let proxy = sheets(60, 8);
    let bases: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..32)
            .map(|_| scope.spawn(|| proxy.base().unwrap()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(bases.iter().all(|base| Arc::ptr_eq(base, &bases[0])));
}

/// A proxy that is longer than what opening reads.
fn long_proxy() -> Vec<u8> {
    let (_, snapshots) = fixtures::cgeo::animation(40, 4);
    fixtures::cgeo::file(
        &snapshots,
        Dialect::default().with_codec(meshmap::Codec::Stored),
    )
}

/// A reader that works in rayon, as one does that fetches parts in parallel; it may also panic.
fn parallel(bytes: Vec<u8>) -> (Source, Arc<AtomicBool>) {
    let panics = Arc::new(AtomicBool::new(false));
    let also = Arc::clone(&panics);
    let source = hooked(bytes, move |_| {
        assert!(!also.load(SeqCst), "a reader that panics");
        // Another worker takes the long half, and this one looks for other work meanwhile.
        let wait = |milliseconds| std::thread::sleep(Duration::from_millis(milliseconds));
        rayon::join(|| wait(2), || wait(20));
        Ok(())
    });
    (source, panics)
}

/// A sheet and its differences, and a body, which are both decoded once and kept.
#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn readers_that_use_rayon_do_not_hang_what_is_made_once() {
    let body = rough_sheet(fixtures::openctm::MG1, 240);
    let mesh = meshmap::openctm::Mesh::at(&parallel(body).0, 0, &Options::default()).unwrap();
    from_outside(2, move || {
        assert_eq!(mesh.positions().unwrap().len(), 240 * 240)
    });
    let proxy = Proxy::from_source(parallel(long_proxy()).0, &Options::default()).unwrap();
    from_outside(2, move || {
        assert_eq!(proxy.base().unwrap().positions.len(), 40 * 40)
    });
}

/// Does a job many times in a pool, beginning with one worker while the others are busy for a moment.
fn from_outside(threads: usize, job: impl Fn() + Send + Sync + 'static) {
    const JOBS: usize = 8;
    with_watchdog(Duration::from_secs(60), || {
        let (pool, job) = (pool(threads), Arc::new(job));
        let (done, wait) = std::sync::mpsc::channel();
        for number in 0..JOBS {
            let (job, done) = (Arc::clone(&job), done.clone());
            pool.spawn(move || {
                if number == 1 {
                    std::thread::sleep(Duration::from_millis(1));
                } else {
                    job();
                }
                done.send(()).unwrap();
            });
        }
        (0..JOBS).for_each(|_| wait.recv().unwrap());
    });
}

#[cfg(feature = "cache")]
mod cache {
    use std::sync::atomic::AtomicUsize;

    use meshmap::cgeo::{CacheStats, SnapshotCache};

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn readers_that_use_rayon_do_not_hang_the_cache() {
        let proxy = Proxy::from_source(parallel(long_proxy()).0, &Options::default()).unwrap();
        let cache = SnapshotCache::new(1 << 20);
        let all = cache.clone();
        from_outside(2, move || {
            assert_eq!(
                all.get(&proxy, 1, Parts::ALL).unwrap().positions.len(),
                40 * 40
            )
        });
        assert!(cache.stats().decodes >= 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn reader_that_panics_ends_a_prefetch_and_not_the_program() {
        let (source, panics) = parallel(long_proxy());
        let (proxy, cache) = (
            Proxy::from_source(source, &Options::default()).unwrap(),
            SnapshotCache::new(1 << 20),
        );
        panics.store(true, std::sync::atomic::Ordering::SeqCst);
        let pool = pool(2);
        pool.install(|| cache.prefetch(&proxy, 0..4, Parts::ALL));
        pool.install(|| {
            (0..64)
                .into_par_iter()
                .for_each(|_| std::thread::yield_now())
        });
        while cache.stats().misses < 4 {
            std::thread::yield_now();
        }
        panics.store(false, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(
            cache.get(&proxy, 1, Parts::ALL).unwrap().positions.len(),
            40 * 40
        );
    }

    #[test]
    fn empty_map_channels_weigh_what_they_take() {
        let mesh = fixtures::cgeo::Mesh {
            texcoords: vec![Vec::new(); 4096],
            ..Default::default()
        };
        let complete = vec![(meshmap::cgeo::raw::TAG_MESH_DATA, mesh.complete())];
        let difference = vec![(meshmap::cgeo::raw::TAG_MESH_DATA, mesh.difference(&mesh))];
        let snapshots: Vec<_> = std::iter::once(complete)
            .chain(vec![difference; 31])
            .collect();
        let bytes = fixtures::cgeo::file(&snapshots, Dialect::default());
        let proxy = open::proxy(bytes);
        let cache = SnapshotCache::new(1 << 20);
        let held = |kept: &usize| cache.try_get(&proxy, *kept, Parts::ALL).is_some();
        (0..32).for_each(|index| {
            assert_eq!(
                cache
                    .get(&proxy, index, Parts::ALL)
                    .unwrap()
                    .texcoords
                    .len(),
                4096
            )
        });
        assert!((0..32).filter(held).count() <= 8);
        let small = SnapshotCache::new(64 << 10);
        assert!(
            small.get(&proxy, 3, Parts::ALL).is_ok()
                && small.try_get(&proxy, 3, Parts::ALL).is_none()
        );
    }

    use super::*;

    #[test]
    fn snapshot_that_64_threads_ask_for_is_decoded_once() {
        let (proxy, cache) = (sheets(60, 4), SnapshotCache::new(64 << 20));
        let meshes: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..64)
                .map(|_| scope.spawn(|| cache.get(&proxy, 2, Parts::ALL).unwrap()))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(meshes.iter().all(|mesh| Arc::ptr_eq(mesh, &meshes[0])));
        let stats = cache.stats();
        assert_eq!(
            (
                stats.decodes,
                stats.repeated_decodes,
                stats.hits + stats.misses
            ),
            (1, 0, 64)
        );
    }

    /// Bytes are read before a thread waits, so each thread may read them; one of them decodes.
    #[test]
    fn snapshot_that_64_threads_ask_for_is_read_at_most_once_by_each() {
        let (_, snapshots) = fixtures::cgeo::animation(60, 4);
        let file = fixtures::cgeo::file(&snapshots, Dialect::default());
        // A store that answers after a while, so that all threads ask before the first answer.
        let reads = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&reads);
        let proxy = open::proxy(hooked(file, move |_| {
            counter.fetch_add(1, SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            Ok(())
        }));
        let cache = SnapshotCache::new(64 << 20);
        cache.get(&proxy, 1, Parts::ALL).unwrap();
        reads.store(0, SeqCst);
        std::thread::scope(|scope| {
            (0..64).for_each(|_| drop(scope.spawn(|| cache.get(&proxy, 2, Parts::ALL).unwrap())));
        });
        let reads = reads.load(SeqCst);
        assert!(
            (1..=64).contains(&reads) && cache.stats().decodes == 2,
            "{reads} reads, {:?}",
            cache.stats()
        );
    }

    /// Random requests from every thread of a pool, inside one another, on fresh caches: one decode a slot, no hang.
    #[test]
    fn random_nested_requests_end_with_one_decode_each() {
        const SNAPSHOTS: usize = 12;
        with_watchdog(Duration::from_secs(300), || {
            let bytes = {
                let (_, snapshots) = fixtures::cgeo::animation(6, SNAPSHOTS);
                fixtures::cgeo::file(&snapshots, Dialect::default())
            };
            for threads in [1, 2, 8] {
                let pool = pool(threads);
                for round in 0..3_000_usize {
                    let proxy = open::proxy(bytes.clone());
                    let cache = SnapshotCache::new(64 << 20);
                    pool.install(|| {
                        (0..6_usize).into_par_iter().for_each(|outer| {
                            (0..4_usize).into_par_iter().for_each(|inner| {
                                let index = (round * 31 + outer * 7 + inner * 5) % SNAPSHOTS;
                                cache.get(&proxy, index, Parts::ALL).unwrap();
                            });
                        });
                    });
                    let asked: std::collections::HashSet<_> = (0..6)
                        .flat_map(|outer| {
                            (0..4)
                                .map(move |inner| (round * 31 + outer * 7 + inner * 5) % SNAPSHOTS)
                        })
                        .collect();
                    assert_eq!(cache.stats().decodes, asked.len() as u64);
                }
            }
        });
    }

    /// A custom reader that takes this number of milliseconds.
    fn slow(bytes: Vec<u8>, milliseconds: u64) -> Source {
        hooked(bytes, move |_| {
            std::thread::sleep(Duration::from_millis(milliseconds));
            Ok(())
        })
    }

    /// Nine snapshots, asked for nine times by eight threads while they are prefetched: nine decodes with any source.
    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn snapshots_are_decoded_once_with_any_source() {
        let bytes: bytes::Bytes = {
            let (_, snapshots) = fixtures::cgeo::animation(30, 9);
            fixtures::cgeo::file(&snapshots, Dialect::default()).into()
        };
        let sources = || [Source::from_bytes(bytes.clone()), slow(bytes.to_vec(), 1)];
        let ask = |cache: &SnapshotCache, proxy: &Proxy, thread: usize| {
            for request in 0..9 * 9 {
                assert_eq!(
                    cache
                        .get(proxy, (request * 5 + thread) % 9, Parts::ALL)
                        .unwrap()
                        .positions
                        .len(),
                    900
                );
            }
        };
        with_watchdog(Duration::from_secs(120), || {
            for round in 0..20 {
                for source in sources() {
                    let proxy = Proxy::from_source(source, &Options::default()).unwrap();
                    let cache = SnapshotCache::new(64 << 20);
                    let pool = pool(1 + round % 4);
                    pool.install(|| cache.prefetch(&proxy, (0..9).chain(0..9), Parts::ALL));
                    if round % 2 == 0 {
                        let (cache, proxy) = (&cache, &proxy);
                        std::thread::scope(|scope| {
                            (0..8).for_each(|thread| {
                                drop(scope.spawn(move || ask(cache, proxy, thread)))
                            });
                        });
                    } else {
                        pool.install(|| {
                            (0..8)
                                .into_par_iter()
                                .for_each(|thread| ask(&cache, &proxy, thread))
                        });
                    }
                    let stats = cache.stats();
                    assert_eq!((stats.decodes, stats.repeated_decodes), (9, 0), "{stats:?}");
                }
            }
        });
    }

    /// A job of the pool does not wait for all that is prefetched and played before it.
    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn other_jobs_run_between_snapshots() {
        let (_, snapshots) = fixtures::cgeo::animation(60, 40);
        let file = fixtures::cgeo::file(&snapshots, Dialect::default());
        // Slow enough that this thread is not far behind, however busy the machine is.
        let proxy = open::proxy(slow(file, 15));
        for threads in [1, 2] {
            let (pool, cache) = (pool(threads), SnapshotCache::new(1 << 30));
            pool.install(|| cache.prefetch(&proxy, 0..40, Parts::ALL));
            let (done, wait) = std::sync::mpsc::channel();
            let (stats, begun) = (cache.clone(), cache.stats().decodes);
            pool.spawn(move || done.send(stats.stats().decodes).unwrap());
            let before = wait.recv_timeout(Duration::from_secs(60)).unwrap() - begun;
            assert!(
                before <= 2 * threads as u64 + 4,
                "{before} snapshots were decoded before the job ran"
            );
            with_watchdog(Duration::from_secs(60), || {
                while cache.stats().decodes < 40 {
                    std::thread::yield_now();
                }
            });
            let mut played = 0;
            let (done, wait) = std::sync::mpsc::channel();
            proxy.play(0..40).pool(&pool).for_each(|_, mesh| {
                mesh.unwrap();
                played += 1;
                if played == 1 {
                    let done = done.clone();
                    pool.spawn(move || done.send(()).unwrap());
                }
                // The thread that plays takes its time, and decodes nothing itself.
                std::thread::sleep(Duration::from_millis(2));
                std::ops::ControlFlow::Continue(())
            });
            wait.try_recv().expect("the job ran while playing went on");
        }
    }

    #[test]
    fn least_recently_used_snapshots_go_first_until_requests_repeat_and_nothing_is_refused() {
        let proxy = sheets(40, 8);
        let one = {
            let cache = SnapshotCache::new(1 << 30);
            cache.get(&proxy, 1, Parts::ALL).unwrap();
            cache.stats().bytes_held
        };
        let cache = SnapshotCache::new(one * 3 + 4096);
        for index in [1, 2, 3, 1, 4] {
            cache.get(&proxy, index, Parts::ALL).unwrap();
        }
        // 2 was used longest ago.
        let there: Vec<_> = [1, 2, 3, 4]
            .map(|index| cache.try_get(&proxy, index, Parts::ALL).is_some())
            .into();
        assert_eq!(there, [true, false, true, true]);
        cache.get(&proxy, 2, Parts::ALL).unwrap();
        let stats = cache.stats();
        assert_eq!((stats.decodes, stats.repeated_decodes), (5, 1));
        assert!(
            stats.bytes_held <= one * 3 && stats.peak_bytes <= one * 4,
            "{stats:?}"
        );

        let tiny = SnapshotCache::new(1);
        assert!(tiny.get(&proxy, 0, Parts::ALL).is_ok() && tiny.get(&proxy, 1, Parts::ALL).is_ok());
        assert_eq!(tiny.stats().bytes_held, 0);
        cache.clear();
        assert_eq!(cache.stats().bytes_held, 0);
    }

    #[test]
    fn proxies_share_a_cache_without_being_mistaken() {
        let (a, b, cache) = (sheets(6, 3), sheets(7, 3), SnapshotCache::new(1 << 20));
        assert_eq!(cache.get(&a, 1, Parts::ALL).unwrap().positions.len(), 36);
        assert_eq!(cache.get(&b, 1, Parts::ALL).unwrap().positions.len(), 49);
        assert_eq!(
            cache
                .get(&a.clone(), 1, Parts::ALL)
                .unwrap()
                .positions
                .len(),
            36
        );
        assert_eq!(cache.stats().decodes, 2);
    }

    #[test]
    fn errors_are_handed_out_and_not_kept() {
        let (proxy, cache) = (sheets(6, 3), SnapshotCache::new(1 << 20));
        for _ in 0..2 {
            let requests = |stats: CacheStats| stats.hits + stats.misses;
            let before = requests(cache.stats());
            assert_eq!(
                cache.get(&proxy, 3, Parts::ALL).unwrap_err().kind(),
                meshmap::ErrorKind::OutOfRange
            );
            assert_eq!(
                requests(cache.stats()),
                before + 1,
                "every request is counted"
            );
        }
        assert_eq!(cache.stats().decodes, 0);
    }

    #[test]
    fn prefetched_snapshots_are_there() {
        let (proxy, cache) = (sheets(20, 10), SnapshotCache::new(64 << 20));
        let pool = pool(2);
        pool.install(|| cache.prefetch(&proxy, 2..6, Parts::ALL));
        with_watchdog(Duration::from_secs(60), || {
            while (2..6).any(|index| cache.try_get(&proxy, index, Parts::ALL).is_none()) {
                std::thread::yield_now();
            }
        });
        assert_eq!(cache.stats().decodes, 4);
    }
}

/// A body that compresses so badly that several threads are worth waking.
fn rough_body(method: [u8; 4]) -> Vec<u8> {
    rough_sheet(method, 120)
}

fn rough_sheet(method: [u8; 4], side: u16) -> Vec<u8> {
    let mut body = fixtures::openctm::Body::sheet(method, side);
    let mut noise = 1_u32;
    let mut next = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 8) as f32 / 16_777_216.0
    };
    body.positions
        .iter_mut()
        .for_each(|position| position[2] += next());
    body.uv_maps
        .iter_mut()
        .flat_map(|map| &mut map.2)
        .for_each(|coords| *coords = [next(), next()]);
    body.attribute_maps[0]
        .1
        .iter_mut()
        .for_each(|values| *values = [next(); 4]);
    body.normals
        .iter_mut()
        .for_each(|normal| normal[1] += (next() * 64.0) as u32);
    body.to_bytes()
}

/// The first wrong index is reported, whichever thread finds one first.
#[test]
fn errors_are_the_same_for_any_number_of_threads() {
    let (first, count) = if cfg!(miri) {
        (701, 1000)
    } else {
        (70_001, 200_000)
    };
    let mut numbers = vec![0; count];
    (first..count)
        .step_by(7)
        .for_each(|place| numbers[place] = place as u64 | 1 << 32);
    let file = fixtures::tmf::Writer::b()
        .mesh("")
        .indices(2, 33, 0, &numbers)
        .to_bytes();
    let document = open::document(file);
    let array = document.mesh(0).unwrap().position_indices().unwrap();
    for threads in THREADS {
        let error = pool(*threads).install(|| array.read().unwrap_err());
        let found = error.cause().found().replace(',', "");
        assert_eq!(found, (first as u64 | 1 << 32).to_string(), "{error}");
    }
}

/// The faces of a mesh are asked for one by one, by many threads inside one another.
#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn faces_of_a_file_are_decoded_without_a_hang() {
    let bytes = fixtures::slmesh::large(24);
    with_watchdog(Duration::from_secs(120), || {
        for threads in [1, 2, 8] {
            for _ in 0..20 {
                let source = Source::from_bytes(bytes.clone());
                let file = meshmap::MeshFile::from_source(source, &Options::default()).unwrap();
                pool(threads).install(|| {
                    (0..8).into_par_iter().for_each(|_| {
                        let meshes: Vec<_> =
                            file.meshes().unwrap().map(|entry| entry.address).collect();
                        assert_eq!(meshes.len(), 32);
                        meshes.par_iter().for_each(|address| {
                            assert!(file.mesh(address).unwrap().vertex_count() > 0);
                        });
                    });
                });
            }
        }
    });
}
