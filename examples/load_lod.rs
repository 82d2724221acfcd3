//! Loads one level of detail of a Second Life mesh over a connection that answers byte ranges: the header, and then just
//! that block.
//!
//!     cargo run --example load_lod [FILE [high | medium | low | lowest]]

use meshmap::slmesh::{Asset, Lod};
use meshmap::{Fragments, Options, Result, Semantic, Source, VertexFormat};

/// Runs a job until it has what it needs. An asynchronous client would await its responses here.
fn run<T>(server: &Source, fragments: &Fragments, job: impl Fn(&Source) -> Result<T>) -> Result<T> {
    loop {
        match fragments.step(&job)? {
            Ok(done) => return Ok(done),
            Err(ranges) => {
                for range in ranges {
                    println!("  GET bytes={}-{}", range.start, range.end - 1);
                    fragments.supply(range.start, server.read(range)?)?;
                }
            }
        }
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .unwrap_or_else(|| "tests/data/slmesh/valid/nodemv_02_static_4lod.slmesh".to_owned());
    let wanted = match arguments.next().as_deref() {
        Some("medium") => Lod::Medium,
        Some("low") => Lod::Low,
        Some("lowest") => Lod::Lowest,
        _ => Lod::High,
    };
    let server = Source::open(path)?;
    let fragments = Fragments::new(server.len()?);

    println!("opening");
    let asset = run(&server, &fragments, |source| {
        Asset::from_source(source.clone(), &Options::default())
    })?;
    let Some(lod) = asset.best_lod(wanted) else {
        println!("no level of detail");
        return Ok(());
    };
    println!(
        "{lod}, about {} triangles",
        asset.triangle_estimate(lod).unwrap_or(0)
    );
    let Some(mesh) = run(&server, &fragments, |_| asset.lod(lod))? else {
        return Ok(());
    };

    for face in mesh.faces().filter(|face| face.has_geometry()) {
        // Checks that every index has a vertex.
        let view = face.view()?;
        // Eight bytes a vertex; the shader multiplies and adds what `dequant` says.
        let mut vertices = Vec::new();
        if let Some(positions) = view.attribute(&Semantic::Position)? {
            positions.write_chunks(VertexFormat::UNORM16X4, 8, |_, bytes| {
                vertices.extend_from_slice(bytes)
            })?;
        }
        println!(
            "  face {}: {} vertices, {} bytes of positions, {} triangles",
            face.index(),
            face.vertex_count(),
            vertices.len(),
            face.triangle_count()
        );
    }
    Ok(())
}
