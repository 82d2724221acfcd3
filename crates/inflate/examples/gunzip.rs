//! Decodes a gzip file to standard output, piece by piece.
//!
//!     cargo run --release -p meshmap-inflate --example gunzip -- FILE.gz [LIMIT] >FILE
//!
//! LIMIT is the maximum size of the output, in bytes: 1 GiB by default.

use std::error::Error;
use std::io::{Write, stdout};

use meshmap_inflate::{Format, Inflater, Stream};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: gunzip FILE.gz [LIMIT]")?;
    let limit: u64 = arguments
        .next()
        .map_or(Ok(1 << 30), |limit| limit.parse())?;

    let input = std::fs::read(&path)?;
    let mut inflater = Inflater::new();
    let mut stream = Stream::new(&mut inflater, &input, Format::Gzip)?;
    let mut piece = vec![0; Stream::PIECE];
    let mut out = stdout().lock();
    loop {
        let count = stream.read(&mut piece)?;
        if stream.produced() > limit {
            return Err(format!("{path}: more than {limit} bytes of output").into());
        }
        out.write_all(&piece[..count])?;
        if count < piece.len() {
            break;
        }
    }
    // Verifies the checksum of the last member.
    stream.finish()?;
    Ok(out.flush()?)
}
