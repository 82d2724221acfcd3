//! Whatever the order of requests and the capacity, a cache hands out what a snapshot decodes to, and keeps its account.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use meshmap::cgeo::{Dialect, Mesh, Parts, Proxy, SnapshotCache};
use meshmap::{ErrorKind, Options, Source};
use meshmap_testing::fixtures::cgeo as fixtures;

const SNAPSHOTS: usize = 16;

/// A proxy with a damaged snapshot, and what the others decode to.
static PROXY: LazyLock<(Proxy, Vec<Option<Mesh>>)> = LazyLock::new(|| {
    let (_, snapshots) = fixtures::animation(5, SNAPSHOTS);
    let mut file = fixtures::file(&snapshots, Dialect::default());
    let proxy = |file: &Vec<u8>| {
        Proxy::from_source(Source::from_bytes(file.clone()), &Options::default())
            .expect("a good file")
    };
    let damaged = proxy(&file)
        .snapshot(7)
        .and_then(|snapshot| snapshot.sections())
        .expect("sections");
    let content = damaged.last().expect("a mesh").content.clone();
    file[content.start as usize + 20] ^= 0xff;
    let proxy = proxy(&file);
    let meshes = (0..SNAPSHOTS)
        .map(|index| {
            proxy
                .snapshot(index)
                .and_then(|snapshot| snapshot.mesh(Parts::ALL))
                .ok()
        })
        .collect();
    (proxy, meshes)
});

fuzz_target!(|data: &[u8]| {
    let Some((capacity, requests)) = data.split_first() else {
        return;
    };
    let (proxy, meshes) = &*PROXY;
    let cache = SnapshotCache::new(u64::from(*capacity) << 8);
    let mut held = Vec::new();
    let mut expected_requests = 0;
    for request in requests.iter().take(256) {
        let index = usize::from(request & 31);
        match request >> 5 {
            0 => cache.clear(),
            1 => held.clear(),
            2 => {
                expected_requests += 1;
                if let Some(mesh) = cache.try_get(proxy, index, Parts::ALL) {
                    assert_eq!(
                        Some(&mesh.positions),
                        meshes[index].as_ref().map(|mesh| &mesh.positions)
                    );
                }
            }
            3 => {
                expected_requests += 1;
                let parts =
                    Parts::from_bits((held.len() * 5 + index) as u8 & 15).expect("four bits");
                if let (Ok(mesh), Some(Some(expected))) =
                    (cache.get(proxy, index, parts), meshes.get(index))
                {
                    assert!(mesh.parts.contains(parts));
                    let there = |part| mesh.parts.contains(part);
                    assert!(!there(Parts::POSITIONS) || mesh.positions == expected.positions);
                    assert!(!there(Parts::NORMALS) || mesh.normals == expected.normals);
                    assert!(!there(Parts::TEXCOORDS) || mesh.texcoords == expected.texcoords);
                    assert!(
                        !there(Parts::TRIANGLES)
                            || mesh.triangles.as_bytes() == expected.triangles.as_bytes()
                    );
                    held.push(mesh);
                }
            }
            _ => {
                expected_requests += 1;
                match (cache.get(proxy, index, Parts::ALL), meshes.get(index)) {
                    (Ok(mesh), Some(Some(expected))) => {
                        assert_eq!(mesh.positions, expected.positions);
                        held.push(mesh);
                    }
                    (Err(error), Some(None)) => assert_ne!(error.kind(), ErrorKind::OutOfRange),
                    (Err(error), None) => assert_eq!(error.kind(), ErrorKind::OutOfRange),
                    (result, _) => panic!("snapshot {index}: {result:?}"),
                }
            }
        }
        let stats = cache.stats();
        assert_eq!(stats.hits + stats.misses, expected_requests);
        assert!(stats.bytes_held <= stats.peak_bytes && stats.repeated_decodes <= stats.decodes);
    }
    cache.clear();
    assert_eq!(cache.stats().bytes_held, 0);
});
