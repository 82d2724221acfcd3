//! Plays a proxy: every snapshot in order, decoded ahead by all threads, in bounded memory.
//!
//!     cargo run --release --example stream_proxy [FILE.cgeo]

use meshmap::cgeo::Proxy;

/// Bytes of decoded snapshots that are held at a time.
const CAPACITY: u64 = 256 << 20;

fn main() -> meshmap::Result<()> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "tests/data/cgeo/valid/anim_a.cgeo".to_owned());
    let proxy = Proxy::open(path)?;
    println!("{} snapshots, {}", proxy.snapshot_count(), proxy.dialect());
    for (index, mesh) in proxy.play(0..proxy.snapshot_count()).capacity(CAPACITY) {
        match mesh {
            Ok(mesh) => {
                println!(
                    "{index}: {} positions, {} triangles",
                    mesh.positions.len(),
                    mesh.triangles.len()
                )
            }
            // The others are still good.
            Err(error) => println!("{index}: {error}"),
        }
    }
    Ok(())
}
