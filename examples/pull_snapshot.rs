//! The work of a renderer with a proxy: any snapshot on demand from many threads, and the motion of a shutter.
//!
//!     cargo run --release --example pull_snapshot [FILE.cgeo [SNAPSHOT]]

use meshmap::Scratch;
use meshmap::cgeo::{Parts, Proxy, SnapshotCache, Wrap};

fn main() -> meshmap::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .unwrap_or_else(|| "tests/data/cgeo/valid/anim_a.cgeo".to_owned());
    let proxy = Proxy::open(path)?;
    let index = arguments
        .next()
        .and_then(|index| index.parse().ok())
        .unwrap_or(proxy.snapshot_count() / 2);

    // However many threads ask, one of them decodes.
    let cache = SnapshotCache::new(1 << 30);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                cache
                    .get(&proxy, index, Parts::ALL)
                    .map(|mesh| mesh.positions.len())
            });
        }
    });
    let mesh = cache.get(&proxy, index, Parts::ALL)?;
    println!(
        "snapshot {index}: {} positions; {:?}",
        mesh.positions.len(),
        cache.stats()
    );

    // One vertex buffer and one index buffer; the same for every snapshot with this topology.
    let weld = mesh.vertex_remap()?;
    let positions = weld.gather(0, &mesh.positions.to_vec())?;
    println!(
        "welded: {} vertices, {} indices",
        positions.len(),
        weld.indices().len()
    );

    // Motion keys for a shutter that is open for half of a step.
    if let Some(timing) = proxy.timing() {
        let open = timing.time_of(index);
        let keys = timing.keys(open, open + timing.step() * 0.5, Wrap::Clamp)?;
        let mut moving = Vec::new();
        proxy.positions_at(
            &timing,
            &keys,
            Wrap::Clamp,
            &mut moving,
            &mut Scratch::default(),
        )?;
        println!("{} keys of {} positions", keys.len(), mesh.positions.len());
    }
    Ok(())
}
