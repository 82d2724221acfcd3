//! Motion blur for a path tracer: the motion of each frame's shutter, from many threads, each snapshot decoded once.
//!
//!     cargo run --release --example shutter [FILE.cgeo [FRAMES_PER_SECOND]]

use meshmap::Scratch;
use meshmap::cgeo::{Parts, Proxy, SnapshotCache, Timing, Wrap};

/// A shutter that is open for half of the time of a frame.
const OPEN: f64 = 0.5;

/// The motion of a mesh while a shutter is open.
struct Motion {
    /// When the shutter opens and closes, and when the motion bends between.
    keys: Vec<f64>,
    /// All positions of the first key, then all positions of the next key, and so on.
    positions: Vec<[f32; 3]>,
    /// The greatest distance that a vertex moves in a second.
    speed: f32,
}

fn main() -> meshmap::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .unwrap_or_else(|| "tests/data/cgeo/valid/anim_a.cgeo".to_owned());
    let rate = arguments
        .next()
        .and_then(|rate| rate.parse().ok())
        .unwrap_or(24.0);
    let proxy = Proxy::open(path)?;

    // Whole microseconds are what a header holds; a film may run at 30 or at 23.976 snapshots a second.
    let timing = proxy
        .timing()
        .unwrap_or_else(|| Timing::new(0.0, 1.0 / rate, proxy.snapshot_count()));
    let cache = SnapshotCache::new(1 << 30);

    // An acceleration structure that was built from the triangles is refitted as long as they are the same ones.
    let first = cache.get(&proxy, 0, Parts::ALL)?;
    let mut scratch = Scratch::default();
    let same = (0..proxy.snapshot_count()).take_while(|index| {
        let topology = proxy
            .snapshot(*index)
            .and_then(|snapshot| snapshot.topology(&mut scratch));
        topology.is_ok_and(|topology| topology == first.topology)
    });
    println!(
        "{} of {} snapshots have the triangles of the first one",
        same.count(),
        proxy.snapshot_count()
    );

    // Twice as long as the animation, which is looped: the motion over the seam is also bent there.
    let seconds = timing.step() * proxy.snapshot_count() as f64 * 2.0;
    let frames: Vec<f64> = (0..)
        .map(|frame| frame as f64 / rate)
        .take_while(|time| *time < seconds)
        .collect();
    let motions: Vec<meshmap::Result<Motion>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let (proxy, cache, timing, frames) = (&proxy, &cache, &timing, &frames);
                scope.spawn(move || {
                    let mine = frames.iter().skip(thread).step_by(8);
                    mine.map(|open| motion(proxy, cache, timing, *open, OPEN / rate))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no thread panics"))
            .collect()
    });

    let (mut keys, mut positions, mut speed) = (0, 0, 0.0_f32);
    for motion in motions {
        // A snapshot with other triangles has no motion from the one before: that frame is still.
        let Ok(motion) = motion.inspect_err(|error| println!("{error}")) else {
            continue;
        };
        keys += motion.keys.len();
        positions += motion.positions.len();
        speed = speed.max(motion.speed);
    }
    println!(
        "{} shutters of {keys} keys, {positions} positions, at most {speed:.3} units a second",
        frames.len()
    );
    let stats = cache.stats();
    println!(
        "{} requests, {} snapshots decoded",
        stats.hits + stats.misses,
        stats.decodes
    );
    cache.remove(&proxy);
    Ok(())
}

fn motion(
    proxy: &Proxy,
    cache: &SnapshotCache,
    timing: &Timing,
    open: f64,
    seconds: f64,
) -> meshmap::Result<Motion> {
    let keys = timing.keys(open, open + seconds, Wrap::Loop)?;
    let (mut positions, mut velocities) = (Vec::new(), Vec::new());
    cache.positions_at(proxy, timing, &keys, Wrap::Loop, &mut positions)?;
    // Instead of keys: one velocity a vertex, at the snapshot where the shutter opens.
    let mut speed = 0.0;
    if let Some(key) = timing
        .index_at(open, Wrap::Loop)
        .filter(|_| timing.step() != 0.0 && proxy.snapshot_count() > 1)
    {
        cache.velocities(proxy, timing, key.from, &mut velocities)?;
        let length = |[x, y, z]: &[f32; 3]| (x * x + y * y + z * z).sqrt();
        speed = velocities.iter().map(length).fold(0.0, f32::max);
    }
    Ok(Motion {
        keys,
        positions,
        speed,
    })
}
