//! Reads a model over a connection that answers byte ranges, without blocking on it: the client fetches, the library
//! says what it needs.
//!
//!     cargo run --example ranges [FILE]

use std::ops::Range;

use meshmap::{Fragments, Options, Result, Source, iqm};

/// Stands for a server. An asynchronous client would await its response here.
fn fetch(file: &Source, range: &Range<u64>) -> Result<bytes::Bytes> {
    println!("  GET bytes={}-{}", range.start, range.end - 1);
    file.read(range.clone())
}

/// Runs a job until it has what it needs.
fn run<T>(server: &Source, fragments: &Fragments, job: impl Fn(&Source) -> Result<T>) -> Result<T> {
    loop {
        match fragments.step(&job)? {
            Ok(done) => return Ok(done),
            Err(ranges) => {
                // Ranges with little between them cost less as one request, and so does the rest of a small file.
                for range in fragments.requests(&ranges, 16 << 10, 64 << 10) {
                    fragments.supply(range.start, fetch(server, &range)?)?;
                }
            }
        }
    }
}

fn main() -> Result<()> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "tests/data/iqm/valid/skin_multi_anim.iqm".to_owned());
    let server = Source::open(path)?;
    let fragments = Fragments::new(server.len()?);

    println!("opening");
    let model = run(&server, &fragments, |source| {
        iqm::Model::from_source(source.clone(), &Options::default())
    })?;
    println!("positions");
    let positions = run(&server, &fragments, |_| model.positions())?;
    println!(
        "{model:?}: {} positions",
        positions.map_or(0, |positions| positions.len())
    );
    Ok(())
}
