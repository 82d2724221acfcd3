//! Readers that use the file that they read: an error on threads that would wait for themselves, and no deadlock anywhere.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use meshmap::cgeo::Dialect;
use meshmap::{ErrorKind, MeshFile, Options, Parallelism, Result, Source};
use meshmap_testing::calls::{Digest, digests_on};
use meshmap_testing::{fixtures, hooked, open, with_watchdog};

const DEADLOCK: ErrorKind = ErrorKind::Io(io::ErrorKind::Deadlock);

/// A job that a reader runs once, in call number `at`.
struct Job {
    at: usize,
    run: Box<dyn FnOnce() + Send>,
}

/// The job of a reader of memory, and the calls before it.
#[derive(Default)]
struct Reentrant {
    calls: AtomicUsize,
    job: Mutex<Option<Job>>,
}

impl Reentrant {
    fn new(bytes: &Bytes) -> (Arc<Self>, Source) {
        let reader = Arc::new(Self::default());
        let inside = Arc::clone(&reader);
        let source = hooked(bytes.clone(), move |_| {
            let call = inside.calls.fetch_add(1, SeqCst);
            let job = inside.job.lock().unwrap().take_if(|job| job.at == call);
            if let Some(job) = job {
                (job.run)();
            }
            Ok(())
        });
        (reader, source)
    }

    /// Counts calls from 0 again, and runs `run` in the call number `at`.
    fn set(&self, at: usize, run: impl FnOnce() + Send + 'static) {
        self.calls.store(0, SeqCst);
        *self.job.lock().unwrap() = Some(Job {
            at,
            run: Box::new(run),
        });
    }
}

/// The values of all calls, and the number of refused calls.
fn called(file: &MeshFile, source: &Source, options: &Options) -> (Vec<Digest>, usize) {
    let (values, errors) = digests_on(file, source, options, usize::MAX).unwrap();
    (
        values,
        errors
            .iter()
            .filter(|error| error.kind() == DEADLOCK)
            .count(),
    )
}

/// Makes all calls, and in one call of the reader after the other makes all calls again.
fn check(body: Vec<u8>) {
    // The first ones, and then some: they become more of the same.
    const ALL_OF: usize = 24;
    const STEP: usize = 23;
    let body = Bytes::from(body);
    for parallelism in [Parallelism::Off, Parallelism::Rayon] {
        let options = Options::default().with_parallelism(parallelism);
        let (reader, source) = Reentrant::new(&body);
        let file = MeshFile::from_source(source.clone(), &options).unwrap();
        reader.calls.store(0, SeqCst);
        let (expected, none) = called(&file, &source, &options);
        assert_eq!(none, 0);
        let calls = reader.calls.load(SeqCst);
        let mut refused = 0;
        for at in (0..calls).filter(|at| *at < ALL_OF || at % STEP == 0) {
            let (reader, source) = Reentrant::new(&body);
            let file = MeshFile::from_source(source.clone(), &options).unwrap();
            let inner = Arc::new(AtomicUsize::new(0));
            let inside = (source.clone(), file.clone(), Arc::clone(&inner));
            reader.set(at, move || {
                inside
                    .2
                    .store(called(&inside.1, &inside.0, &options).1, SeqCst)
            });
            let (found, _) =
                with_watchdog(Duration::from_secs(60), || called(&file, &source, &options));
            assert_eq!(
                found, expected,
                "after calls inside of the reader's call {at}"
            );
            refused += inner.load(SeqCst);
        }
        assert!(
            refused > 0,
            "no call inside of {calls} calls of the reader was refused"
        );
    }
}

#[test]
fn a_reader_of_cgeo_that_uses_its_own_file_gets_errors() {
    let (_, snapshots) = fixtures::cgeo::animation(20, 4);
    check(fixtures::cgeo::file(
        &snapshots,
        Dialect::default().with_codec(meshmap::Codec::Stored),
    ));
    let (_, snapshots) = fixtures::cgeo::animation(40, 6);
    check(fixtures::cgeo::file(&snapshots, Dialect::default()));
}

#[test]
fn a_reader_of_iqm_that_uses_its_own_file_gets_errors() {
    check(
        fixtures::iqm::Writer::sheets(2, 60, 60)
            .animated(4, 300)
            .to_bytes(),
    );
}

#[test]
fn a_reader_of_openctm_that_uses_its_own_file_gets_errors() {
    use fixtures::openctm::{Body, MG1, MG2, RAW};
    let bodies = [RAW, MG1, MG2].map(|method| {
        let mut body = Body::sheet(method, 5);
        // So that not all of the file is read at first.
        body.comment = vec![b'x'; 70 << 10];
        body.to_bytes()
    });
    check(bodies.concat());
}

#[test]
fn a_reader_of_slmesh_that_uses_its_own_file_gets_errors() {
    check(fixtures::slmesh::large(24));
}

#[test]
fn a_reader_of_tmf_that_uses_its_own_file_gets_errors() {
    check(fixtures::tmf::grid(120));
}

#[cfg(feature = "cache")]
mod cache {
    use meshmap::cgeo::{Parts, Proxy, SnapshotCache, Wrap};

    use super::*;

    type Use = fn(&SnapshotCache, &Proxy) -> Result<()>;

    /// The call of a reader while the cache waits for it, and whether it is refused.
    const USES: [(&str, bool, Use); 8] = [
        ("get of the same snapshot", true, |cache, proxy| {
            cache.get(proxy, 5, Parts::ALL).map(drop)
        }),
        ("get of another snapshot", true, |cache, proxy| {
            cache.get(proxy, 6, Parts::ALL).map(drop)
        }),
        ("get of a snapshot that is there", false, |cache, proxy| {
            cache.get(proxy, 1, Parts::ALL).map(drop)
        }),
        ("positions_at", true, |cache, proxy| {
            let timing = proxy.timing().unwrap();
            cache.positions_at(
                proxy,
                &timing,
                &[timing.time_of(5)],
                Wrap::Clamp,
                &mut Vec::new(),
            )
        }),
        ("velocities", true, |cache, proxy| {
            cache.velocities(proxy, &proxy.timing().unwrap(), 5, &mut Vec::new())
        }),
        ("try_get", false, |cache, proxy| {
            assert!(cache.try_get(proxy, 5, Parts::ALL).is_none());
            Ok(())
        }),
        ("remove", false, |cache, proxy| {
            cache.remove(proxy);
            Ok(())
        }),
        ("clear", false, |cache, _| {
            cache.clear();
            Ok(())
        }),
    ];

    #[test]
    fn a_reader_that_asks_the_cache_for_its_own_file_gets_an_error() {
        let (_, snapshots) = fixtures::cgeo::animation(40, 16);
        let body = Bytes::from(fixtures::cgeo::file(&snapshots, Dialect::default()));
        for (name, is_refused, job) in USES {
            let (reader, source) = Reentrant::new(&body);
            let proxy = open::proxy(source);
            let cache = SnapshotCache::new(64 << 20);
            cache.get(&proxy, 1, Parts::ALL).unwrap();
            let inner = Arc::new(Mutex::new(None));
            let inside = (cache.clone(), proxy.clone(), Arc::clone(&inner));
            reader.set(0, move || {
                *inside.2.lock().unwrap() = Some(job(&inside.0, &inside.1))
            });
            let mesh = with_watchdog(Duration::from_secs(20), || {
                cache.get(&proxy, 5, Parts::ALL).unwrap()
            });
            assert_eq!(
                mesh.positions,
                proxy.snapshot(5).unwrap().positions().unwrap()
            );
            let kind = inner
                .lock()
                .unwrap()
                .take()
                .unwrap()
                .err()
                .map(|error| error.kind());
            assert_eq!(kind, is_refused.then_some(DEADLOCK), "{name}");
        }
    }
}

/// The text, because it is what people see.
#[test]
fn the_error_names_the_reader() {
    let (_, snapshots) = fixtures::cgeo::animation(40, 16);
    let (reader, source) =
        Reentrant::new(&fixtures::cgeo::file(&snapshots, Dialect::default()).into());
    let proxy = open::proxy(source);
    let text = Arc::new(Mutex::new(String::new()));
    let inside = (proxy.clone(), Arc::clone(&text));
    reader.set(0, move || {
        *inside.1.lock().unwrap() = inside
            .0
            .snapshot(7)
            .unwrap()
            .positions()
            .unwrap_err()
            .message();
    });
    with_watchdog(Duration::from_secs(20), || {
        proxy.snapshot(7).unwrap().positions().unwrap()
    });
    let text = text.lock().unwrap();
    assert!(
        text.starts_with("cgeo: cannot read ") && text.contains("the reader uses the file"),
        "{text}"
    );
}
