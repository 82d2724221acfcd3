//! Writes a CGeo proxy of any length, a snapshot at a time: `long_proxy FILE SNAPSHOTS VERTICES [EVERY]`.
//!
//! A sheet of at least as many vertices, bent by a wave that moves. The first snapshot is complete and the others are
//! differences from it, not compressed. With EVERY, each snapshot whose number it divides is complete, and all are compressed: 1 for a proxy
//! of complete snapshots.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::process::ExitCode;

use meshmap::Codec;
use meshmap::cgeo::{Dialect, OffsetTarget, raw};
use meshmap_testing::fixtures::cgeo::{Mesh, header, snapshot, snapshot_bytes};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, snapshots, vertices, every @ ..] = arguments.as_slice() else {
        eprintln!("usage: long_proxy FILE SNAPSHOTS VERTICES [EVERY]");
        return Ok(ExitCode::from(2));
    };
    let (snapshots, vertices): (usize, u32) = (snapshots.parse()?, vertices.parse()?);
    let every: Option<usize> = every.first().map(|every| every.parse()).transpose()?;
    let is_complete =
        |index: usize| index == 0 || every.is_some_and(|every| index.is_multiple_of(every));
    let codec = if every.is_some() {
        Codec::Zlib
    } else {
        Codec::Stored
    };
    let mut side = 2;
    while side * side < vertices {
        side += 1;
    }
    let dialect = Dialect::default()
        .with_codec(codec)
        .with_offset(OffsetTarget::StartTag);
    let mut out = BufWriter::new(File::create(path)?);
    let head = header(snapshots, dialect);
    let table = head.len() as u64;
    out.write_all(&head)?;
    out.write_all(&vec![0; snapshots * 8])?;
    out.write_all(&raw::TAG_ANIM_TABLE_END.to_le_bytes())?;
    let mut place = table + snapshots as u64 * 8 + 4;
    let mut offsets = Vec::new();
    let base = Mesh::sheet(side, 1, 0.0);
    for index in 0..snapshots {
        let mesh = Mesh::sheet(side, 1, index as f32 * 0.01);
        let content = if is_complete(index) {
            mesh.complete()
        } else {
            mesh.difference(&base)
        };
        let bytes = snapshot_bytes(&snapshot(&mesh, content), dialect);
        out.write_all(&bytes)?;
        offsets.extend(place.to_le_bytes());
        place += bytes.len() as u64;
    }
    out.seek(SeekFrom::Start(table))?;
    out.write_all(&offsets)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
