//! Both decoders of each codec, and whether they make the same.

use std::collections::HashSet;

use meshmap::cgeo::{self, MeshBuffer, Proxy};
use meshmap::{Address, Block, Decoder, MeshFile, Options, Result, Scratch, Source};

use crate::inputs::{Input, Problem, Reading};

/// The first part of a file of which the two decoders do not make the same.
pub(crate) fn differs(file: &MeshFile, input: &Input, how: &Reading) -> Result<Option<Address>, Problem> {
    Ok(match file {
        MeshFile::CGeo(_) => snapshots_differ(input, how)?,
        MeshFile::OpenCtm(bodies) => {
            bodies.iter().find_map(|mesh| blocks_differ(mesh.source(), &mesh.blocks()))
        }
        MeshFile::SlMesh(asset) => blocks_differ(asset.source(), &asset.blocks()?),
        _ => None,
    })
}

fn snapshots_differ(input: &Input, how: &Reading) -> Result<Option<Address>, Problem> {
    let open = |decoder| {
        let options = how.options().with_decoder(decoder);
        let read = match how.dialect {
            Some(dialect) => cgeo::ReadOptions::default().with_dialect(dialect),
            None => cgeo::ReadOptions::default(),
        };
        Ok::<_, Problem>(Proxy::from_source_with(input.source(how.mmap)?, &options, &read)?)
    };
    let (fast, second) = (open(Decoder::Fast)?, open(Decoder::Reference)?);
    let (mut a, mut b, mut scratch) = (MeshBuffer::default(), MeshBuffer::default(), Scratch::default());
    // Entries of the table that name the same snapshot are compared once.
    let mut seen = HashSet::new();
    for index in 0..fast.len() {
        if fast.snapshot(index).is_ok_and(|snapshot| !seen.insert(snapshot.range().start)) {
            continue;
        }
        let found = fast.snapshot(index).and_then(|snapshot| snapshot.mesh_into(&mut a, &mut scratch));
        let other = second.snapshot(index).and_then(|snapshot| snapshot.mesh_into(&mut b, &mut scratch));
        let bits = |mesh: &MeshBuffer| {
            let channels = mesh.map_channels.iter().flatten();
            let numbers =
                mesh.positions.iter().chain(&mesh.normals).chain(channels).flatten().map(|n| n.to_bits());
            numbers.collect::<Vec<u32>>()
        };
        let same = match (found, other) {
            (Ok(()), Ok(())) => bits(&a) == bits(&b) && a.triangles.as_bytes() == b.triangles.as_bytes(),
            (found, other) => found.is_err() == other.is_err(),
        };
        if !same {
            return Ok(Some(Address::field("snapshots").index(index as u64)));
        }
    }
    Ok(None)
}

fn blocks_differ(source: &Source, blocks: &[Block]) -> Option<Address> {
    /// Blocks may share bytes; where thousands do, not all are compared.
    const TIMES: u64 = 16;
    let mut scratch = Scratch::default();
    let end = blocks.iter().map(|block| block.range.end).max().unwrap_or(0);
    let mut within = blocks.iter().scan(0_u64, |stored, block| {
        *stored = stored.saturating_add(block.range.end - block.range.start);
        (*stored <= end.saturating_mul(TIMES)).then_some(block)
    });
    let mut decode = |block: &Block, decoder| {
        block.decode(source, &Options::default().with_decoder(decoder), &mut scratch)
    };
    let differs =
        within.find(|block| match (decode(block, Decoder::Fast), decode(block, Decoder::Reference)) {
            (Ok(fast), Ok(second)) => fast != second,
            (fast, second) => fast.is_err() != second.is_err(),
        });
    differs.map(|block| block.address.clone())
}
