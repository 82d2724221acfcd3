//! Servers that behave, and servers that do not: the right values or a clear error, never two versions in one.
#![cfg(feature = "http")]

#[path = "server/mod.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod server;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use meshmap::cgeo::Parts;
use meshmap::{ErrorKind, Format, MeshFile, Meter, Options, Scratch, Semantic, Source};
use meshmap_object_store::{Blocking, Error, RangeCache, Remote, Settings};
use meshmap_testing::data;
use server::{Act, serve};

/// Values of all meshes, and the errors of the meshes that cannot be read.
fn values(file: &MeshFile) -> Vec<u8> {
    let mut values = Vec::new();
    let entries: Vec<_> = match file.meshes() {
        Ok(meshes) => meshes.collect(),
        Err(error) => return error.to_string().into_bytes(),
    };
    for entry in entries {
        values.extend(entry.address.to_string().bytes());
        match file.mesh(&entry.address) {
            Ok(mesh) => {
                for info in mesh.attributes() {
                    match mesh.attribute(&info.semantic) {
                        Ok(Some(attribute)) => values.extend_from_slice(attribute.as_bytes()),
                        Ok(None) => {}
                        Err(error) => values.extend(format!("{:?}", error.kind()).bytes()),
                    }
                }
                values.extend(
                    mesh.indices()
                        .to_vec()
                        .iter()
                        .flat_map(|index| index.to_le_bytes()),
                );
            }
            Err(error) => values.extend(format!("{:?}", error.kind()).bytes()),
        }
    }
    values
}

fn quick(remote: &Remote) -> Remote {
    let mut settings = Settings::default();
    settings.backoff = Duration::from_millis(1);
    remote.with_settings(settings)
}

/// The files here are small: the first request would be the last.
fn small_steps(address: &str) -> Remote {
    let mut settings = Settings::default();
    // The client of the store waits longer and longer before it tries again.
    (settings.backoff, settings.retries) = (Duration::from_millis(1), 2);
    (settings.first, settings.gap) = (0, 16);
    Remote::at_with(address, settings).unwrap()
}

#[test]
fn every_good_file_has_the_values_that_it_has_on_the_disk() {
    let mut seen = 0;
    for format in Format::ALL.map(Format::name) {
        for path in data::folder(&format!("{format}/valid")) {
            let Ok(local) = MeshFile::open(&path) else {
                continue;
            };
            let server = serve(fs::read(&path).unwrap(), |_, _| Act::Right);
            let blocking = Blocking::at(&server.address).unwrap();
            let remote = MeshFile::from_source(blocking.source(), &Options::default()).unwrap();
            assert!(values(&remote) == values(&local), "{}", path.display());
            // No more than what is retained, and the surplus of the first request.
            assert!(blocking.remote().held() <= (4 << 20) + (64 << 10));
            seen += 1;
        }
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn a_server_without_ranges_sends_the_whole_file_within_the_limit() {
    let bytes = fs::read(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let server = serve(bytes.clone(), |_, _| Act::Whole);
    let blocking = Blocking::at(&server.address).unwrap();
    let source = blocking.source();
    for range in [0..100, 100..bytes.len() as u64] {
        assert_eq!(
            source.read(range.clone()).unwrap(),
            bytes[range.start as usize..range.end as usize]
        );
        blocking.remote().forget(range);
    }
    assert!(blocking.remote().is_whole());
    assert_eq!(server.requests.load(Ordering::SeqCst), 2);
    let mut settings = Settings::default();
    settings.options.limits = settings.options.limits.with_max_total_bytes(1000);
    let error = Blocking::at_with(&server.address, settings)
        .unwrap()
        .fetch_length()
        .unwrap_err();
    assert!(
        matches!(error, Error::TooLong { limit: 1000, .. }),
        "{error}"
    );
}

#[test]
fn bytes_that_are_read_again_are_fetched_again_only_beyond_what_is_retained() {
    let server = serve(vec![7; 1 << 20], |_, _| Act::Right);
    let mut settings = Settings::default();
    (settings.first, settings.retain) = (0, 64 << 10);
    let source = Blocking::at_with(&server.address, settings).unwrap();
    assert_eq!(source.fetch_length().unwrap(), 1 << 20);
    let requests = |range: std::ops::Range<u64>| {
        let before = server.requests.load(Ordering::SeqCst);
        assert_eq!(
            source.source().read(range.clone()).unwrap().len() as u64,
            range.end - range.start
        );
        server.requests.load(Ordering::SeqCst) - before
    };
    let [a, b, long] = [100_000..100_010, 300_000..350_000, 400_000..500_000];
    assert_eq!(
        [&a, &a, &(100_004..104_000), &b, &a, &b].map(|range| requests(range.clone())),
        [1, 0, 0, 1, 0, 0]
    );
    // More than is retained leaves the rest as it is; the oldest goes first.
    assert_eq!(
        [&long, &long, &a, &b].map(|range| requests(range.clone())),
        [1, 1, 0, 0]
    );
    assert_eq!(
        [&(600_000..620_000), &b, &a].map(|range| requests(range.clone())),
        [1, 1, 1]
    );
    // And the byte of the first request.
    assert!(
        source.remote().held() <= (64 << 10) + 1,
        "{}",
        source.remote().held()
    );
}

/// The settings with a limit of the bytes that are held of a file, in the words of a program.
fn limited(most: u64) -> Settings {
    let mut settings = Settings::default();
    (settings.first, settings.gap) = (0, 0);
    let limits = settings.options.limits.with_max_total_bytes(most);
    settings.options.limits = limits.with_remedies(["", "--max-memory", ""]);
    settings
}

#[test]
fn fetched_bytes_are_within_the_limit_of_their_file() {
    const KIB: u64 = 1 << 10;
    let server = serve(vec![7; 1 << 20], |_, _| Act::Right);
    let blocking = Blocking::at_with(&server.address, limited(512 * KIB)).unwrap();
    let source = blocking.source();
    assert_eq!(source.len().unwrap(), Some(1 << 20));
    // A long range is refused before it is requested, whatever `free_ratio` allows.
    let before = server.requests.load(Ordering::SeqCst);
    let error = source.read(0..600 * KIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    let text = error.to_string();
    assert!(
        text.starts_with("fetched data (0x0..0x96000) needs")
            && text.ends_with("raise it with --max-memory"),
        "{text}"
    );
    assert_eq!(server.requests.load(Ordering::SeqCst), before);
    // Views are charged until they are dropped.
    let view = source.read(0..300 * KIB).unwrap().slice(..10);
    assert!(source.read(300 * KIB..600 * KIB).is_err());
    drop(view);
    assert!(source.read(300 * KIB..600 * KIB).is_ok());
    // Retained bytes leave three quarters for others.
    for start in (0..1 << 20).step_by(64 << 10) {
        assert!(source.read(start..start + 64 * KIB).is_ok());
    }
    assert!(source.read(0..300 * KIB).is_ok());

    // A whole file is retained once, and views of it cost nothing more.
    let server = serve(vec![7; 500 << 10], |_, _| Act::Whole);
    let blocking = Blocking::at_with(&server.address, limited(512 * KIB)).unwrap();
    let source = blocking.source();
    let views = [(); 3].map(|()| source.read(0..500 * KIB).unwrap());
    assert!(blocking.remote().is_whole() && views[0] == views[2]);
}

#[test]
fn fetched_bytes_are_charged_to_the_job_of_the_thread() {
    const KIB: u64 = 1 << 10;
    let server = serve(vec![7; 1 << 20], |_, _| Act::Right);
    let source = Blocking::at_with(&server.address, limited(1 << 30))
        .unwrap()
        .source();
    let limits = meshmap::Limits::default()
        .with_max_total_bytes(256 * KIB)
        .with_free_ratio(0);
    let job = Arc::new(Meter::new(&limits, 0));
    let error = job.run(|| source.read(0..300 * KIB)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(job.held(), 0);
    let view = job.run(|| source.read(0..100 * KIB)).unwrap();
    assert_eq!(job.held(), 100 * KIB);
    drop(view);
    assert_eq!(job.held(), 0);
    // Another job, or none, has other limits.
    assert!(source.read(0..300 * KIB).is_ok());
}

#[tokio::test]
async fn what_a_run_fetches_is_charged_to_its_file_and_to_its_job() {
    const KIB: u64 = 1 << 10;
    let server = serve(vec![7; 1 << 20], |_, _| Act::Right);
    let remote = Remote::at_with(&server.address, limited(512 * KIB)).unwrap();
    let read = async |start: u64, end: u64| {
        let read = remote.run(|source| source.read(start..end)).await;
        read.map(|bytes| bytes.len())
    };
    read(0, 400 * KIB).await.unwrap();
    let error = read(400 * KIB, 600 * KIB).await.unwrap_err();
    assert!(
        matches!(&error, Error::Mesh { error, .. } if error.kind() == ErrorKind::LimitExceeded),
        "{error}"
    );
    remote.forget(0..400 * KIB);
    read(400 * KIB, 600 * KIB).await.unwrap();
    assert_eq!(remote.held(), 200 * KIB);

    let remote = Remote::at_with(&server.address, limited(1 << 30)).unwrap();
    let limits = meshmap::Limits::default().with_max_total_bytes(256 * KIB);
    let job = Arc::new(Meter::new(&limits, 0));
    // As a program does that has a job for each file.
    let within = |start: u64, end: u64| {
        let mut run = Box::pin(remote.run(move |source| source.read(start..end)));
        let job = Arc::clone(&job);
        std::future::poll_fn(move |context| job.run(|| run.as_mut().poll(context)))
    };
    assert!(within(0, 300 * KIB).await.is_err());
    within(0, 200 * KIB).await.unwrap();
    // The call has ended.
    assert_eq!(job.held(), 0);
    within(500 * KIB, 700 * KIB).await.unwrap();
    let held = remote.run_blocking(|_| Ok(Meter::current().map(|meter| meter.held())));
    assert_eq!(held.await.unwrap(), None);
}

#[test]
fn a_version_is_fetched_without_a_part_of_the_file() {
    let version = |choose: fn(usize) -> Act| {
        let server = serve(vec![7; 1000], move |number, _| choose(number));
        let version = Blocking::at(&server.address).unwrap().fetch_version();
        let lines = server.lines.lock().unwrap();
        let kinds: Vec<_> = lines
            .iter()
            .filter(|line| line.contains(" HTTP/1.1") || line.starts_with("range"))
            .cloned()
            .collect();
        (version.map_err(|error| error.is_not_found()), kinds)
    };
    let one = Some("one".to_owned());
    let head = "HEAD /folder/file.bin HTTP/1.1";
    assert_eq!(
        version(|_| Act::Right),
        (Ok((1000, one.clone())), vec![head.to_owned()])
    );
    assert_eq!(version(|_| Act::NoTag).0, Ok((1000, None)));
    assert_eq!(version(|_| Act::Weak).0, Ok((1000, None)));
    assert_eq!(
        version(|_| Act::Status(404)),
        (Err(true), vec![head.to_owned()])
    );
    // An address may be signed for reading only.
    let refused = version(|number| {
        if number == 0 {
            Act::Status(403)
        } else {
            Act::Right
        }
    });
    assert_eq!(refused.0, Ok((1000, one)));
    assert_eq!(
        refused.1[1..],
        ["GET /folder/file.bin HTTP/1.1", "range: bytes=0-0"]
    );
}

#[cfg(all(feature = "fs", unix))]
#[test]
fn a_list_is_read_from_a_key_on() {
    let folder = data::folder("iqm/valid");
    let folder = folder[0].parent().unwrap();
    let list = |after: &str| {
        let address = format!("file://{}/", folder.display());
        let mut list = Blocking::list(&address, after, &Settings::default()).unwrap();
        let files = list.next_page().unwrap();
        // The end may be asked for again.
        assert!((0..2).all(|_| list.next_page().unwrap().is_empty()));
        files
    };
    let files = list("");
    assert!(files.len() > 10 && files.is_sorted_by(|a, b| a.key < b.key));
    for file in &files {
        let stored = Blocking::at(&file.address).unwrap();
        assert_eq!(
            stored.fetch_version().unwrap(),
            (file.bytes, file.version.clone())
        );
        assert!(file.version.is_some());
    }
    assert_eq!(list(&files[3].key), files[4..]);
    assert_eq!(list("zzz"), []);
}

#[test]
fn requests_are_sent_again_as_often_as_is_set() {
    for retries in [0, 2] {
        let server = serve(vec![7; 1000], |_, _| Act::Status(503));
        let mut settings = Settings::default();
        settings.retries = retries;
        let error = Blocking::at_with(&server.address, settings)
            .unwrap()
            .fetch_version()
            .unwrap_err();
        assert!(error.to_string().contains("503"), "{error}");
        // Each of the request for the head and the request for a byte.
        assert_eq!(
            server.requests.load(Ordering::SeqCst),
            2 * (retries as usize + 1)
        );
    }
}

#[tokio::test]
async fn one_level_of_detail_takes_two_requests() {
    let path = data::valid("slmesh", "nodemv_02_static_4lod.slmesh");
    // Smaller files are fetched whole.
    let mut bytes = fs::read(&path).unwrap();
    bytes.resize(256 << 10 | 1, 0);
    let server = serve(bytes, |_, _| Act::Right);
    let remote = small_steps(&server.address);
    let file = remote.open().await.unwrap();
    let address = "lowest_lod.faces[0]".parse().unwrap();
    let mesh = remote.run(|_| file.mesh(&address)).await.unwrap();
    let local = MeshFile::open(&path).unwrap().mesh(&address).unwrap();
    assert_eq!(mesh.indices().to_vec(), local.indices().to_vec());
    let stats = remote.stats();
    assert!(
        stats.requests <= 2 && stats.bytes < stats.length,
        "{stats:?}"
    );
    assert_eq!(
        server.requests.load(Ordering::SeqCst) as u64,
        stats.requests
    );
}

/// The positions of the second snapshot by a server that does this, and how many requests it took.
async fn positions(
    choose: impl Fn(usize) -> Act + Send + Sync + 'static,
) -> (Result<Vec<u8>, Error>, usize) {
    let bytes = fs::read(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let server = serve(bytes, move |number, _| choose(number));
    let remote = small_steps(&server.address);
    let read = async {
        let file = remote.open().await?;
        let proxy = file.as_cgeo().unwrap();
        let positions = remote.run_blocking({
            let proxy = proxy.clone();
            move |_| proxy.snapshot(1)?.positions()
        });
        Ok(positions
            .await?
            .iter()
            .flat_map(|p| p.map(f32::to_le_bytes))
            .flatten()
            .collect())
    };
    let read = read.await;
    (read, server.requests.load(Ordering::SeqCst))
}

fn expected() -> Vec<u8> {
    let proxy = meshmap::cgeo::Proxy::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
    let positions = proxy.snapshot(1).unwrap().positions().unwrap();
    positions
        .iter()
        .flat_map(|p| p.map(f32::to_le_bytes))
        .flatten()
        .collect()
}

#[tokio::test]
async fn faults_that_pass_are_tried_again() {
    for act in [
        Act::Slow(30),
        Act::Cut,
        Act::Status(500),
        Act::Status(503),
        Act::NoTag,
    ] {
        // Each second request fails, or all of them where nothing fails.
        let always = matches!(act, Act::Slow(_) | Act::NoTag);
        let (read, requests) = positions(move |number| {
            if always || number % 2 == 0 {
                act
            } else {
                Act::Right
            }
        })
        .await;
        assert_eq!(
            read.unwrap_or_else(|error| panic!("{act:?}: {error}")),
            expected(),
            "{act:?}"
        );
        assert!(always || requests > 2, "{act:?}: {requests}");
    }
}

#[tokio::test]
async fn faults_that_stay_are_errors_that_name_the_file() {
    let kinds = [
        (Act::Status(404), "404"),
        (Act::Status(403), "403"),
        (Act::Status(416), "416"),
        (Act::Status(500), "500"),
        (Act::OtherRange, "Requested"),
        (Act::Compressed, "compressed by the server (gzip)"),
        (Act::LongLength, "body"),
        (Act::Cut, "body"),
    ];
    // At the same time, for some wait before they try again.
    let reads = kinds.map(|(act, why)| async move { (act, why, positions(move |_| act).await) });
    for (act, why, (read, requests)) in join_all(reads).await {
        let error = read.unwrap_err();
        let text = format!("{error}: {:?}", error);
        assert!(
            text.contains("http://127.0.0.1") && text.contains(why),
            "{act:?}: {text}"
        );
        assert!(requests < 40, "{act:?}: {requests}");
    }
}

#[tokio::test]
async fn a_file_that_changes_is_an_error_and_no_mixture() {
    for act in [
        Act::OtherTag,
        Act::OtherFile,
        Act::OtherTotal,
        Act::Status(412),
        Act::NoTag,
    ] {
        let (read, _) = positions(move |number| if number == 0 { Act::Right } else { act }).await;
        match read {
            Err(Error::Changed { .. }) => {}
            other => panic!("{act:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn what_is_no_mesh_is_said_with_its_address() {
    for bytes in [Vec::new(), b"<html>not found</html>".repeat(500)] {
        let server = serve(bytes, |_, _| Act::Right);
        let error = quick(&Remote::at(&server.address).unwrap())
            .open()
            .await
            .unwrap_err();
        assert!(
            matches!(error, Error::Mesh { .. }) && error.to_string().contains("file.bin"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn addresses_of_no_store_are_refused() {
    for address in ["nowhere", "ftp://example.com/a", "http://"] {
        assert!(
            matches!(Remote::at(address), Err(Error::Address { .. })),
            "{address}"
        );
    }
}

#[tokio::test]
async fn a_shared_cache_saves_requests() {
    let path = data::valid("slmesh", "nodemv_02_static_4lod.slmesh");
    let server = serve(fs::read(&path).unwrap(), |_, _| Act::Right);
    let cache = RangeCache::new(1 << 20);
    let mut bytes = Vec::new();
    for _ in 0..2 {
        let remote = small_steps(&server.address).with_cache(&cache);
        let file = remote.open().await.unwrap();
        let mesh = remote
            .run(|_| file.mesh(&"high_lod.faces[0]".parse()?))
            .await
            .unwrap();
        assert!(mesh.has(&Semantic::Position));
        bytes.push(remote.stats().bytes);
    }
    assert!(bytes[1] < bytes[0] && cache.held() > 0, "{bytes:?}");
}

#[tokio::test]
async fn playing_gives_every_snapshot_in_bounded_memory() {
    use futures_util::StreamExt;
    let path = data::valid("cgeo", "anim_a.cgeo");
    // Smaller files are fetched whole.
    let mut bytes = fs::read(&path).unwrap();
    bytes.resize(bytes.len() + (256 << 10), 0);
    let length = bytes.len() as u64;
    let source = Source::from_bytes(bytes.clone());
    let local = meshmap::cgeo::Proxy::from_source(source, &Options::default()).unwrap();
    let server = serve(bytes, |_, _| Act::Slow(3));
    let remote = small_steps(&server.address);
    let file = remote.open().await.unwrap();
    let proxy = file.as_cgeo().unwrap();
    let mut playing = remote.play(proxy, 0..proxy.snapshot_count(), 1);
    let mut count = 0;
    while let Some(played) = playing.next().await {
        let (index, mesh) = played.unwrap();
        assert_eq!(index, count);
        let expected = local.snapshot(index).unwrap().positions().unwrap();
        assert!(
            mesh.positions
                .iter()
                .map(|p| p.map(f32::to_bits))
                .eq(expected.iter().map(|p| p.map(f32::to_bits)))
        );
        count += 1;
    }
    assert_eq!(count, local.snapshot_count());
    // Headers, the table, the first snapshot and the last 16 bytes of each stay.
    let range = |index: usize| local.snapshot(index).unwrap().range();
    let later: u64 = (1..local.snapshot_count())
        .map(|index| range(index).end - range(index).start)
        .sum();
    let kept = length - later + 16 * local.snapshot_count() as u64;
    assert!(
        remote.held() < kept + 100,
        "{} of {length}, {later} later",
        remote.held()
    );
}

#[tokio::test]
async fn a_snapshot_that_cannot_be_read_is_an_error_and_the_next_ones_follow() {
    use futures_util::StreamExt;
    let path = data::valid("cgeo", "anim_a.cgeo");
    let mut bytes = fs::read(&path).unwrap();
    let local = meshmap::cgeo::Proxy::open(&path).unwrap();
    let broken = local.snapshot(2).unwrap().range();
    bytes[broken.start as usize + 40..broken.end as usize].fill(0xff);
    let local =
        meshmap::cgeo::Proxy::from_source(Source::from_bytes(bytes.clone()), &Options::default())
            .unwrap();
    let server = serve(bytes, |_, _| Act::Right);
    let remote = quick(&Remote::at(&server.address).unwrap());
    let file = remote.open().await.unwrap();
    let played: Vec<_> = remote
        .play(file.as_cgeo().unwrap(), 0..local.snapshot_count(), 1 << 20)
        .collect()
        .await;
    let good: Vec<bool> = played.iter().map(Result::is_ok).collect();
    let expected: Vec<bool> = (0..local.snapshot_count())
        .map(|index| local.snapshot(index).unwrap().mesh(Parts::ALL).is_ok())
        .collect();
    assert_eq!(good, expected);
    assert!(!good[2] && good[1] && good[5], "{good:?}");
}

#[tokio::test]
async fn a_snapshot_that_is_not_there_is_the_only_error() {
    use futures_util::StreamExt;
    let path = data::valid("cgeo", "anim_a.cgeo");
    let count = meshmap::cgeo::Proxy::open(&path).unwrap().snapshot_count();
    let server = serve(fs::read(&path).unwrap(), |_, _| Act::Right);
    let remote = quick(&Remote::at(&server.address).unwrap());
    let file = remote.open().await.unwrap();
    let played: Vec<_> = remote
        .play(file.as_cgeo().unwrap(), 0..count + 1, 1 << 20)
        .collect()
        .await;
    assert_eq!(played.len(), count + 1);
    assert!(played[..count].iter().all(Result::is_ok) && played[count].is_err());
}

#[tokio::test]
async fn positions_take_one_request_each_and_hardly_more_bytes_than_they_need() {
    use futures_util::StreamExt;
    use meshmap::cgeo::{Dialect, MeshBuffer, Parts, Proxy};
    use meshmap_testing::fixtures::cgeo;
    const SNAPSHOTS: usize = 16;
    let (_, snapshots) = cgeo::animation(110, SNAPSHOTS);
    let bytes = cgeo::file(&snapshots, Dialect::default());
    let local = Proxy::from_source(Source::from_bytes(bytes.clone()), &Options::default()).unwrap();
    let server = serve(bytes, |_, _| Act::Right);
    // Positions are in 60 % of the stored bytes of these differences. A quarter more is fetched, and of the first one everything.
    for (parts, share) in [
        (Parts::POSITIONS, 0.8),
        (Parts::POSITIONS | Parts::TRIANGLES, 0.8),
        (Parts::ALL, 1.1),
    ] {
        let remote = small_steps(&server.address);
        let file = remote.open().await.unwrap();
        let proxy = file.as_cgeo().unwrap();
        remote.run(|_| proxy.base().map(drop)).await.unwrap();
        let before = remote.stats();
        let mut playing = remote.play_parts(proxy, 1..SNAPSHOTS, parts, 1 << 20);
        let mut expected = MeshBuffer::default();
        while let Some(played) = playing.next().await {
            let (index, mesh) = played.unwrap();
            let snapshot = local.snapshot(index).unwrap();
            snapshot
                .mesh_into(parts, &mut expected, &mut Scratch::default())
                .unwrap();
            assert_eq!(
                (&mesh.positions, &mesh.normals),
                (&expected.positions, &expected.normals)
            );
            assert_eq!(
                (mesh.parts, mesh.triangles.len()),
                (parts, expected.triangles.len())
            );
        }
        let (requests, read) = (
            remote.stats().requests - before.requests,
            remote.stats().bytes - before.bytes,
        );
        let whole = local.snapshot(SNAPSHOTS - 1).unwrap().range().end
            - local.snapshot(1).unwrap().range().start;
        let (wanted, most) = (SNAPSHOTS as u64 - 1, whole as f64 * share);
        assert!(
            requests <= wanted + 2 && (read as f64) < most,
            "{parts:?}: {requests} of {wanted}, {read} of {whole}"
        );
    }
}

#[test]
fn readers_that_block_tell_what_the_store_says() {
    let server = serve(vec![0; 10_000], |_, _| Act::Status(403));
    let blocking = Blocking::new(quick(&Remote::at(&server.address).unwrap())).unwrap();
    let error = MeshFile::from_source(blocking.source(), &Options::default()).unwrap_err();
    let said = format!("{:?}", std::error::Error::source(&error));
    assert!(said.contains("403") && said.contains("file.bin"), "{said}");
}

/// Fetching and decoding at once takes hardly longer than the slower of both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures time"]
async fn playing_over_a_slow_server_costs_what_the_slower_part_costs() {
    use futures_util::{StreamExt, stream};
    use std::time::Instant;
    let folder = std::env::var("MESHMAP_CORPUS")
        .expect("MESHMAP_CORPUS names the folder of the larger corpus");
    let path = std::path::Path::new(&folder).join("cgeo/large/anim_60k_40.cgeo");
    let local = meshmap::cgeo::Proxy::open(&path).unwrap();
    let server = serve(fs::read(&path).unwrap(), |_, _| Act::Slow(50));
    let most_bytes = 4 << 20;
    let (mut ratios, mut held) = (Vec::new(), 0);
    for _ in 0..3 {
        let start = Instant::now();
        for index in 0..local.snapshot_count() {
            let mut mesh = meshmap::cgeo::MeshBuffer::default();
            local
                .snapshot(index)
                .unwrap()
                .mesh_into(Parts::ALL, &mut mesh, &mut meshmap::Scratch::default())
                .unwrap();
        }
        let decoding = start.elapsed();

        let remote = Remote::at(&server.address).unwrap();
        remote.open().await.unwrap();
        let start = Instant::now();
        let average = local.snapshot(1).unwrap().range();
        let at_once = (most_bytes / (average.end - average.start)) as usize + 1;
        let fetches = stream::iter(0..local.snapshot_count()).map(|index| {
            let (remote, range) = (remote.clone(), local.snapshot(index).unwrap().range());
            async move {
                remote
                    .run(|source| source.read(range.clone()).map(drop))
                    .await
            }
        });
        fetches
            .buffered(at_once)
            .for_each(|fetched| async { fetched.unwrap() })
            .await;
        let fetching = start.elapsed();

        let remote = Remote::at(&server.address).unwrap();
        let file = remote.open().await.unwrap();
        let start = Instant::now();
        let mut playing = remote.play(
            file.as_cgeo().unwrap(),
            0..local.snapshot_count(),
            most_bytes,
        );
        while let Some(played) = playing.next().await {
            played.unwrap();
            held = held.max(remote.held());
        }
        let both = start.elapsed();
        println!(
            "decoding {decoding:.2?}, fetching {fetching:.2?}, playing {both:.2?} in {} requests, at most {held} bytes held",
            remote.stats().requests
        );
        ratios.push(both.as_secs_f64() / decoding.max(fetching).as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!("{:.2} (at most 1.2)", ratios[1]);
    assert!(ratios[0] <= 1.2, "{ratios:?}");
    // The first snapshot stays, and one that is being decoded.
    let first = local.snapshot(0).unwrap().range();
    assert!(
        held < most_bytes + 2 * (first.end - first.start) + (1 << 20),
        "{held}"
    );
}
