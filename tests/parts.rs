//! Parts of CGeo meshes: the same values as in whole meshes, and nothing else decoded, read or held.

use std::ops::ControlFlow;

use meshmap::cgeo::{Dialect, MeshBuffer, Parts, Proxy};
use meshmap::{Scratch, Source};
use meshmap_testing::{data, fixtures};

/// All combinations of parts.
fn all_parts() -> impl Iterator<Item = Parts> {
    (0..=Parts::ALL.bits()).filter_map(Parts::from_bits)
}

fn sheets(side: u32, snapshots: usize) -> Vec<u8> {
    let (_, snapshots) = fixtures::cgeo::animation(side, snapshots);
    fixtures::cgeo::file(&snapshots, Dialect::default())
}

/// Checks that `found` has these parts of `whole`, and no others.
fn assert_parts(found: &MeshBuffer, whole: &MeshBuffer, parts: Parts, text: &str) {
    let bits =
        |array: &[[f32; 3]]| array.as_flattened().iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let expected = |part, array: &[[f32; 3]]| if parts.contains(part) { bits(array) } else { Vec::new() };
    assert_eq!(bits(&found.positions), expected(Parts::POSITIONS, &whole.positions), "{text}");
    assert_eq!(bits(&found.normals), expected(Parts::NORMALS, &whole.normals), "{text}");
    let channels: &[_] = if parts.contains(Parts::TEXCOORDS) { &whole.texcoords } else { &[] };
    assert_eq!(found.texcoords.len(), channels.len(), "{text}");
    for (found, expected) in found.texcoords.iter().zip(channels) {
        assert_eq!(bits(found), bits(expected), "{text}");
    }
    let triangles = if parts.contains(Parts::TRIANGLES) { whole.triangles.as_bytes() } else { &[] };
    assert!(found.triangles.as_bytes() == triangles, "{text}");
    assert_eq!(
        (found.parts, found.topology, found.is_complete),
        (parts, whole.topology, whole.is_complete),
        "{text}"
    );
}

#[test]
#[cfg_attr(miri, ignore = "reads many files")]
fn parts_are_those_of_the_whole_mesh() {
    let mut differences = 0;
    for path in data::files(&data::root().join("cgeo/valid")) {
        let open = || Proxy::open(&path).unwrap();
        let (proxy, mut scratch) = (open(), Scratch::default());
        for index in 0..proxy.snapshot_count().min(4) {
            let mut whole = MeshBuffer::default();
            if proxy.snapshot(index).unwrap().mesh_into(&mut whole, &mut scratch).is_err() {
                continue;
            }
            differences += usize::from(!whole.is_complete);
            // In memory that was used for other parts, of a proxy of which other parts are known.
            let mut reused = MeshBuffer::default();
            for parts in all_parts() {
                let text = format!("{}: {index}: {parts:?}", path.display());
                let mut fresh = MeshBuffer::default();
                let snapshot = open().snapshot(index).unwrap();
                snapshot.mesh_parts_into(parts, &mut fresh, &mut Scratch::default()).unwrap();
                assert_parts(&fresh, &whole, parts, &text);
                proxy.snapshot(index).unwrap().mesh_parts_into(parts, &mut reused, &mut scratch).unwrap();
                assert_parts(&reused, &whole, parts, &text);
            }
        }
    }
    assert!(differences > 10, "{differences}");
}

#[test]
fn names_and_bits_of_parts() {
    assert_eq!(format!("{:?}", Parts::POSITIONS | Parts::TRIANGLES), "POSITIONS | TRIANGLES");
    assert_eq!(format!("{:?}", Parts::NONE), "NONE");
    assert_eq!(Parts::from_bits(16), None);
    let two = Parts::NORMALS | Parts::TEXCOORDS;
    assert!(Parts::ALL.contains(two) && !two.contains(Parts::ALL) && two.contains(Parts::NONE));
    assert_eq!(Parts::ALL.without(two), Parts::POSITIONS | Parts::TRIANGLES);
    assert_eq!(all_parts().count(), 16);
}

/// The stream of snapshot 1 is damaged in its last third, behind the positions.
fn damaged() -> Proxy {
    let mut file = sheets(30, 3);
    let proxy = Proxy::from_source(Source::from_bytes(file.clone())).unwrap();
    let blocks = proxy.snapshot(1).unwrap().blocks().unwrap();
    let mesh = blocks.iter().max_by_key(|block| block.range.end - block.range.start).unwrap();
    let place = usize::try_from(mesh.range.end - 60).unwrap();
    file[place..place + 30].fill(0xff);
    Proxy::from_source(Source::from_bytes(file)).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn damage_behind_a_part_does_not_matter() {
    let (proxy, mut mesh, mut scratch) = (damaged(), MeshBuffer::default(), Scratch::default());
    let snapshot = proxy.snapshot(1).unwrap();
    assert!(snapshot.mesh_into(&mut mesh, &mut scratch).is_err());
    snapshot.mesh_parts_into(Parts::POSITIONS, &mut mesh, &mut scratch).unwrap();
    assert_eq!(mesh.positions.len(), 900);
    let played: Vec<bool> =
        proxy.play(0..3).parts(Parts::POSITIONS).into_iter().map(|(_, mesh)| mesh.is_ok()).collect();
    assert_eq!(played, [true; 3]);
    let played: Vec<bool> = proxy.play(0..3).into_iter().map(|(_, mesh)| mesh.is_ok()).collect();
    assert_eq!(played, [true, false, true]);
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn playing_goes_forwards_backwards_and_by_strides() {
    let proxy = Proxy::from_source(Source::from_bytes(sheets(10, 11))).unwrap();
    let indices = |play: meshmap::cgeo::Play<'_>| {
        let player = play.into_iter();
        let announced = player.len();
        let indices: Vec<usize> = player.map(|(index, mesh)| mesh.map(|_| index).unwrap()).collect();
        assert_eq!(indices.len(), announced);
        indices
    };
    for range in [0..11, 3..9, 5..6, 4..4] {
        for stride in [1, 2, 3, 20] {
            let play = || proxy.play(range.clone()).stride(stride);
            assert!(range.clone().step_by(stride).eq(indices(play())), "{range:?} {stride}");
            assert!(
                range.clone().rev().step_by(stride).eq(indices(play().backwards())),
                "{range:?} {stride}"
            );
        }
    }
    assert_eq!(indices(proxy.play(0..3).stride(0)), [0, 1, 2]);
    // Backwards, every mesh is the same, too.
    for (index, mesh) in proxy.play(0..11).backwards().parts(Parts::POSITIONS | Parts::NORMALS) {
        let mesh = mesh.unwrap();
        let whole = proxy.snapshot(index).unwrap().mesh().unwrap();
        assert!(mesh.positions == whole.positions.to_vec() && mesh.normals == whole.normals.to_vec());
        assert!(mesh.triangles.is_empty() && mesh.texcoords.is_empty());
    }
}

#[test]
#[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
fn meshes_that_were_played_can_be_kept() {
    let proxy = Proxy::from_source(Source::from_bytes(sheets(20, 12))).unwrap();
    let expected: Vec<_> = (0..12).map(|index| proxy.snapshot(index).unwrap().mesh().unwrap()).collect();
    // More than fit the capacity: what the caller keeps stays as it is.
    let held: Vec<_> =
        proxy.play(0..12).capacity(10_000).into_iter().map(|(_, mesh)| mesh.unwrap()).collect();
    for (found, expected) in held.iter().zip(&expected) {
        assert!(found.positions == expected.positions.to_vec());
    }
    let kept: Vec<_> = held.into_iter().map(meshmap::cgeo::PlayedMesh::into_mesh).collect();
    for (found, expected) in kept.iter().zip(&expected) {
        assert!(found.positions == expected.positions && found.topology == expected.topology);
    }
    // Playing ends where the iterator is dropped, and errors of snapshots that do not exist follow those that do.
    assert!(proxy.play(0..12).into_iter().next().is_some());
    let beyond: Vec<_> = proxy.play(10..14).into_iter().map(|(index, mesh)| (index, mesh.is_ok())).collect();
    assert_eq!(beyond, [(10, true), (11, true), (12, false), (13, false)]);
    let mut seen = 0;
    proxy.play(0..12).for_each(|index, _| {
        seen += 1;
        if index == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(seen, 5);
}

#[cfg(feature = "cache")]
mod cache {
    use std::sync::Arc;

    use meshmap::cgeo::{SnapshotCache, Wrap};

    use super::*;

    fn proxy(side: u32) -> Proxy {
        Proxy::from_source(Source::from_bytes(sheets(side, 6))).unwrap()
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn positions_alone_are_held_until_more_is_asked_for() {
        const SIDE: u32 = 60;
        let (proxy, cache) = (proxy(SIDE), SnapshotCache::new(1 << 30));
        let timing = proxy.timing().unwrap();
        let mut out = Vec::new();
        cache.positions_at(&proxy, &timing, &[timing.time_of(2)], Wrap::Clamp, &mut out).unwrap();
        let positions = u64::from(SIDE * SIDE * 12);
        let held = cache.stats().bytes_held;
        assert!(held >= positions && held < positions + 2048, "{held} for {positions}");

        assert!(cache.try_get(&proxy, 2).is_none());
        let first = cache.try_get_parts(&proxy, 2, Parts::POSITIONS).unwrap();
        assert_eq!(first.parts, Parts::POSITIONS);
        let more = cache.get_parts(&proxy, 2, Parts::POSITIONS | Parts::NORMALS).unwrap();
        assert_eq!(more.parts, Parts::POSITIONS | Parts::NORMALS);
        assert_eq!(first.positions.as_bytes().as_ptr(), more.positions.as_bytes().as_ptr(), "decoded once");
        let whole = cache.get(&proxy, 2).unwrap();
        let expected = proxy.snapshot(2).unwrap().mesh().unwrap();
        assert!(whole.positions == expected.positions && whole.normals == expected.normals);
        assert!(whole.texcoords == expected.texcoords);
        assert!(whole.triangles.as_bytes() == expected.triangles.as_bytes());
        assert_eq!((whole.topology, whole.is_complete), (expected.topology, expected.is_complete));
        // Fewer parts than there are need nothing.
        let before = cache.stats();
        assert!(Arc::ptr_eq(&whole, &cache.get_parts(&proxy, 2, Parts::TRIANGLES).unwrap()));
        let stats = cache.stats();
        assert_eq!((before.decodes, stats.decodes, stats.repeated_decodes), (3, 3, 0));
        assert_eq!(stats.hits, before.hits + 1);
    }

    /// What is damaged for one who asks for the whole mesh is not for one who asks for positions, however they meet.
    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn errors_belong_to_the_parts_that_were_asked_for() {
        for _ in 0..20 {
            let (proxy, cache) = (damaged(), SnapshotCache::new(1 << 30));
            std::thread::scope(|scope| {
                for number in 0..8 {
                    let (proxy, cache) = (&proxy, &cache);
                    scope.spawn(move || {
                        let parts = if number % 2 == 0 { Parts::ALL } else { Parts::POSITIONS };
                        assert_eq!(cache.get_parts(proxy, 1, parts).is_ok(), parts == Parts::POSITIONS);
                    });
                }
            });
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "compressing what is inflated takes Miri minutes")]
    fn threads_that_ask_for_parts_get_all_that_they_asked_for() {
        let (proxy, cache) = (proxy(20), SnapshotCache::new(1 << 30));
        std::thread::scope(|scope| {
            for number in 0..8_usize {
                let (proxy, cache) = (&proxy, &cache);
                scope.spawn(move || {
                    for round in 0..200 {
                        let parts = Parts::from_bits(((round * 7 + number * 5) % 16) as u8).unwrap();
                        let index = (round * 3 + number) % 6;
                        assert!(cache.get_parts(proxy, index, parts).unwrap().parts.contains(parts));
                        if round % 50 == 49 {
                            cache.clear();
                        }
                    }
                });
            }
        });
    }
}
