//! The cost of converting a CGeo file to GLB, compared with decoding the same parts: `cost FILE [ROUNDS]`.
//!
//! Prints the ratio of the least CPU times of both, which alternate on one thread.

use std::process::ExitCode;
use std::time::Duration;

use cpu_time::ThreadTime;
use meshmap::cgeo::Parts;
use meshmap::cgeo::Proxy;
use meshmap::{MeshFile, Options, Parallelism, Scratch, Source};
use meshmap_export::{Convert, Target};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = arguments.first() else {
        eprintln!("usage: cost FILE [ROUNDS]");
        return Ok(ExitCode::from(2));
    };
    let rounds: usize = arguments.get(1).map_or(Ok(9), |rounds| rounds.parse())?;
    let bytes = std::fs::read(path)?;
    // One thread, for both.
    let options = Options::default().with_parallelism(Parallelism::Off);
    let open = || MeshFile::from_source(Source::from_bytes(bytes.clone()), &options);
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("out.glb");
    let (mut decoding, mut converting) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        let file = open()?;
        let start = ThreadTime::now();
        decode(file.as_cgeo().ok_or("no CGeo file")?)?;
        decoding = decoding.min(start.elapsed());
        let file = open()?;
        let start = ThreadTime::now();
        Convert::new(Target::Glb).write_file(&file, &output)?;
        converting = converting.min(start.elapsed());
        // Taking it away is not what is measured.
        std::fs::remove_file(&output)?;
    }
    let ratio = converting.as_secs_f64() / decoding.as_secs_f64();
    println!("decoding {decoding:.1?}, converting {converting:.1?}: {ratio:.2}");
    Ok(ExitCode::SUCCESS)
}

/// The first mesh, and the differences of all other snapshots.
fn decode(proxy: &Proxy) -> meshmap::Result<()> {
    let (mut differences, mut scratch) = (Vec::new(), Scratch::default());
    std::hint::black_box(proxy.snapshot(0)?.mesh(Parts::ALL)?);
    for index in 1..proxy.snapshot_count() {
        let snapshot = proxy.snapshot(index)?;
        if !snapshot.position_differences_into(&mut differences, &mut scratch)? {
            snapshot.positions_into(&mut differences, &mut scratch)?;
        }
        std::hint::black_box(&differences);
    }
    Ok(())
}
