//! Writes a CGeo file of 4,000 small snapshots, as long as it is wanted: `sparse_proxy FILE BYTES`.

use meshmap::cgeo::Dialect;
use meshmap_testing::fixtures::cgeo;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, size] = arguments.as_slice() else {
        return Err("usage: sparse_proxy FILE BYTES".into());
    };
    let (_, snapshots) = cgeo::animation(20, 12);
    let bytes: Vec<_> = snapshots
        .iter()
        .map(|snapshot| cgeo::snapshot_bytes(snapshot, Dialect::default()))
        .collect();
    cgeo::spread(path.as_ref(), &bytes, 4000, size.parse()?)?;
    Ok(())
}
