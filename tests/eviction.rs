//! Hits of a full cache of snapshots, compared with a cache that always evicts the least recently used snapshot.
#![cfg(feature = "cache")]

use std::collections::VecDeque;

use meshmap::cgeo::{Dialect, Parts, Proxy, SnapshotCache};
use meshmap_testing::{fixtures, open};

/// Hits of a sequence of requests, in the cache and in the simulation.
#[derive(Clone, Copy, Debug, Default)]
struct Hits {
    requests: usize,
    cache: usize,
    oldest_first: usize,
}

impl Hits {
    fn rate(self) -> f64 {
        self.cache as f64 / self.requests as f64
    }

    fn oldest_first_rate(self) -> f64 {
        self.oldest_first as f64 / self.requests as f64
    }
}

/// A cache of positions of equal size, and a simulation of one that evicts the least recently used snapshot.
struct Pair {
    proxies: Vec<Proxy>,
    cache: SnapshotCache,
    capacity: usize,
    /// Proxies and indices of snapshots, the last one used at the end.
    oldest_first: VecDeque<(usize, usize)>,
}

impl Pair {
    /// A cache for `capacity` snapshots of proxies that have `counts` snapshots.
    fn new(counts: &[usize], capacity: usize) -> Self {
        let proxies: Vec<Proxy> = counts.iter().map(|count| animation(*count)).collect();
        let one = size(&proxies[0], 1, Parts::POSITIONS);
        let cache = SnapshotCache::new(one * capacity as u64 + one / 2);
        Self {
            proxies,
            cache,
            capacity,
            oldest_first: VecDeque::new(),
        }
    }

    fn request(&mut self, proxy: usize, index: usize, hits: &mut Hits) {
        let before = self.cache.stats().hits;
        let mesh = self
            .cache
            .get(&self.proxies[proxy], index, Parts::POSITIONS)
            .unwrap();
        assert_eq!(mesh.positions.len(), 4);
        let stats = self.cache.stats();
        assert!(stats.bytes_held <= stats.peak_bytes && stats.peak_bytes <= self.cache.capacity());
        hits.requests += 1;
        hits.cache += (stats.hits - before) as usize;
        let place = self
            .oldest_first
            .iter()
            .position(|other| *other == (proxy, index));
        if let Some(place) = place {
            self.oldest_first.remove(place);
            hits.oldest_first += 1;
        }
        self.oldest_first.push_back((proxy, index));
        if self.oldest_first.len() > self.capacity {
            self.oldest_first.pop_front();
        }
    }

    /// Requests snapshots of the first proxy.
    fn run(&mut self, indices: impl IntoIterator<Item = usize>) -> Hits {
        let mut hits = Hits::default();
        for index in indices {
            self.request(0, index, &mut hits);
        }
        hits
    }
}

/// An animation of sheets of four vertices.
fn animation(snapshots: usize) -> Proxy {
    let (_, snapshots) = fixtures::cgeo::animation(2, snapshots);
    open::proxy(fixtures::cgeo::file(&snapshots, Dialect::default()))
}

/// The bytes that parts of a snapshot have in a cache.
fn size(proxy: &Proxy, index: usize, parts: Parts) -> u64 {
    let cache = SnapshotCache::new(1 << 30);
    cache.get(proxy, index, parts).unwrap();
    cache.stats().bytes_held
}

fn rounds(snapshots: usize, rounds: usize) -> impl Iterator<Item = usize> {
    (0..snapshots * rounds).map(move |request| request % snapshots)
}

/// Playback back and forth.
fn ping_pong(snapshots: usize, requests: usize) -> impl Iterator<Item = usize> {
    let turn = 2 * (snapshots - 1);
    (0..requests).map(move |request| (request % turn).min(turn - request % turn))
}

/// The same random numbers in each run.
struct Random(u32);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % end
    }
}

#[test]
fn most_of_a_loop_stays() {
    for (snapshots, capacity, expected) in [
        (40, 39, 0.95),
        (40, 36, 0.85),
        (48, 24, 0.43),
        (40, 20, 0.43),
    ] {
        let mut pair = Pair::new(&[snapshots], capacity);
        let cold = pair.run(rounds(snapshots, 10));
        assert!(
            cold.rate() > expected * 0.85,
            "room for {capacity} of {snapshots}: {cold:?}"
        );
        let warm = pair.run(rounds(snapshots, 100));
        println!(
            "loop of {snapshots}, room for {capacity}: {:.3} cold, {:.3} warm",
            cold.rate(),
            warm.rate()
        );
        assert!(
            warm.rate() > expected,
            "room for {capacity} of {snapshots}: {warm:?}"
        );
        assert_eq!(warm.oldest_first, 0);
    }
    // A loop that fits stays.
    let mut pair = Pair::new(&[40], 40);
    pair.run(rounds(40, 1));
    assert_eq!(pair.run(rounds(40, 5)).rate(), 1.0);
}

#[test]
fn a_loop_over_pairs_of_snapshots_decodes_each_once_in_a_round() {
    let pairs = |frame: usize| [frame * 2 / 5 % 40, (frame * 2 / 5 + 1) % 40];
    for (capacity, expected) in [(36, 0.96), (20, 0.87), (8, 0.79), (3, 0.79), (2, 0.79)] {
        let mut pair = Pair::new(&[40], capacity);
        let hits = pair.run((0..2_000).flat_map(pairs));
        println!(
            "pairs, room for {capacity}: {:.3} of {:.3}",
            hits.rate(),
            hits.oldest_first_rate()
        );
        assert!(
            hits.rate() > expected && hits.cache + 40 >= hits.oldest_first,
            "{capacity}: {hits:?}"
        );
    }
}

#[test]
fn playback_back_and_forth_has_the_hits_of_oldest_first() {
    for (snapshots, capacity) in [(40, 20), (40, 36), (40, 39), (48, 24)] {
        let mut pair = Pair::new(&[snapshots], capacity);
        let hits = pair.run(ping_pong(snapshots, 4_000));
        println!(
            "ping-pong, room for {capacity} of {snapshots}: {:.3}",
            hits.rate()
        );
        assert!(
            hits.cache >= hits.oldest_first,
            "room for {capacity} of {snapshots}: {hits:?}"
        );
    }
}

/// 64 instances request the two snapshots around their times.
#[test]
fn instances_have_at_least_the_hits_of_oldest_first() {
    let mut random = Random(7);
    let even: Vec<f64> = (0..64)
        .map(|instance| f64::from(instance) * 4.173)
        .collect();
    for (snapshots, capacity) in [(40, 20), (40, 30), (200, 100)] {
        let uneven: Vec<f64> = (0..64)
            .map(|_| random.below(snapshots * 16) as f64 / 16.0)
            .collect();
        for offsets in [&even, &uneven] {
            let times = (0..60).flat_map(|frame| {
                offsets
                    .iter()
                    .map(move |offset| frame as f64 * 0.9 + offset)
            });
            let indices =
                times.flat_map(|time| [time as usize % snapshots, (time as usize + 1) % snapshots]);
            let mut pair = Pair::new(&[snapshots], capacity);
            let hits = pair.run(indices);
            println!(
                "instances, room for {capacity} of {snapshots}: {:.3}, oldest first {:.3}",
                hits.rate(),
                hits.oldest_first_rate()
            );
            assert!(
                hits.cache * 100 >= hits.oldest_first * 99,
                "{capacity} of {snapshots}: {hits:?}"
            );
        }
    }
}

#[test]
fn jumps_have_the_hits_of_oldest_first() {
    let mut random = Random(3);
    let uniform: Vec<usize> = (0..30_000).map(|_| random.below(40)).collect();
    let mut scrubbed = Vec::new();
    while scrubbed.len() < 30_000 {
        let (from, steps, is_forward) =
            (random.below(40), 5 + random.below(16), random.below(2) == 1);
        scrubbed.extend((0..steps).map(|step| if is_forward { from + step } else { from + 40 - step } % 40));
    }
    for (name, indices) in [("random", uniform), ("scrubbed", scrubbed)] {
        for capacity in [12, 20, 36] {
            let hits = Pair::new(&[40], capacity).run(indices.iter().copied());
            println!(
                "{name}, room for {capacity}: {:.3} of {:.3}",
                hits.rate(),
                hits.oldest_first_rate()
            );
            assert!(
                hits.cache * 50 >= hits.oldest_first * 49,
                "{name}, room for {capacity}: {hits:?}"
            );
        }
    }
}

#[test]
fn loops_of_several_proxies_share_a_cache() {
    let mut pair = Pair::new(&[20, 20, 20], 36);
    let mut hits = Hits::default();
    for frame in 0..1_000 {
        (0..3).for_each(|proxy| pair.request(proxy, frame % 20, &mut hits));
    }
    println!(
        "three loops: {:.3}, oldest first {:.3}",
        hits.rate(),
        hits.oldest_first_rate()
    );
    assert!(hits.rate() > 0.5 && hits.oldest_first == 0, "{hits:?}");
}

/// A user goes on to another proxy: what is not used any more does not stay, whatever the policy was before.
#[test]
fn snapshots_that_are_not_used_any_more_go() {
    for (before, after, expected) in [
        (36, 36, 1.0),
        (36, 20, 1.0),
        (36, 8, 1.0),
        (40, 30, 1.0),
        (40, 8, 1.0),
        (40, 40, 0.8),
        (40, 60, 0.5),
    ] {
        for is_known in [false, true] {
            let mut pair = Pair::new(&[before, after], 36);
            let mut play = |proxy: usize, rounds: usize| {
                let mut hits = Hits::default();
                for request in 0..[before, after][proxy] * rounds {
                    pair.request(proxy, request % [before, after][proxy], &mut hits);
                }
                hits.rate()
            };
            if is_known {
                play(1, 10);
            }
            play(0, 30);
            let recovery: Vec<f64> = (0..12).map(|_| play(1, 1)).collect();
            println!("{before} to {after}: {recovery:.2?}");
            assert!(
                recovery[4..].iter().all(|rate| *rate >= expected),
                "{before} to {after}: {recovery:?}"
            );
        }
    }
    // A loop whose range moves by a snapshot every other round.
    let mut pair = Pair::new(&[100], 24);
    let hits = pair.run((0..80).flat_map(|start| (0..40).map(move |request| start + request % 20)));
    println!(
        "moving range: {:.3}, oldest first {:.3}",
        hits.rate(),
        hits.oldest_first_rate()
    );
    assert!(hits.cache >= hits.oldest_first, "{hits:?}");
}

#[test]
fn snapshots_of_different_sizes_stay_within_the_capacity() {
    let proxy = animation(40);
    let all = size(&proxy, 1, Parts::ALL);
    let cache = SnapshotCache::new(all * 30);
    let mut random = Random(11);
    for round in 0..50 {
        for index in 0..40 {
            // Parts are added to snapshots, and dropped with them.
            let parts = match (round + index) % 4 {
                0 => Parts::ALL,
                1 => Parts::POSITIONS,
                2 => Parts::POSITIONS | Parts::NORMALS,
                _ => Parts::from_bits(random.below(16) as u8).unwrap(),
            };
            assert!(
                cache
                    .get(&proxy, index, parts)
                    .unwrap()
                    .parts
                    .contains(parts)
            );
            let stats = cache.stats();
            assert!(
                stats.bytes_held <= stats.peak_bytes && stats.peak_bytes <= cache.capacity(),
                "{stats:?}"
            );
        }
    }
    let stats = cache.stats();
    println!("sizes: {} of 2000 hits", stats.hits);
    assert!(stats.hits > 900, "{stats:?}");

    // A mesh that is larger than the capacity evicts nothing.
    let (small, large) = (animation(4), {
        let (_, snapshots) = fixtures::cgeo::animation(20, 2);
        open::proxy(fixtures::cgeo::file(&snapshots, Dialect::default()))
    });
    let cache = SnapshotCache::new(size(&small, 1, Parts::ALL) * 4);
    assert!(size(&large, 1, Parts::ALL) > cache.capacity());
    (1..4).for_each(|index| drop(cache.get(&small, index, Parts::ALL).unwrap()));
    let held = cache.stats().bytes_held;
    assert_eq!(
        cache.get(&large, 1, Parts::ALL).unwrap().positions.len(),
        400
    );
    assert_eq!(cache.stats().bytes_held, held);
    assert!((1..4).all(|index| cache.try_get(&small, index, Parts::ALL).is_some()));
}

/// Keys of removed proxies are forgotten, and their places used again.
#[test]
fn removed_proxies_leave_nothing() {
    let (kept, removed) = (animation(40), animation(40));
    let one = size(&kept, 1, Parts::POSITIONS);
    let cache = SnapshotCache::new(one * 36 + one / 2);
    for round in 0..20 {
        (0..40).for_each(|index| drop(cache.get(&removed, index, Parts::POSITIONS).unwrap()));
        (0..8).for_each(|index| drop(cache.get(&kept, index, Parts::POSITIONS).unwrap()));
        cache.remove(&removed);
        assert!(
            (0..40).all(|index| cache.try_get(&removed, index, Parts::POSITIONS).is_none()),
            "{round}"
        );
        (0..8).for_each(|index| drop(cache.get(&kept, index, Parts::POSITIONS).unwrap()));
        assert_eq!(cache.stats().bytes_held, one * 8, "{round}");
    }
    cache.clear();
    assert_eq!(cache.stats().bytes_held, 0);
    (0..36).for_each(|index| drop(cache.get(&kept, index, Parts::POSITIONS).unwrap()));
    assert_eq!(cache.stats().bytes_held, one * 36);
}
