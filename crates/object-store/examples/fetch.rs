//! The requests and bytes that a part of a file in a store takes: `fetch ADDRESS [mesh ADDRESS_OF_MESH | snapshot N..]`.
//!
//! Prints requests and bytes after each step.

use std::error::Error;
use std::process::ExitCode;

use meshmap_object_store::Remote;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: fetch ADDRESS [mesh ADDRESS_OF_MESH | snapshot N..]");
        return Ok(ExitCode::from(2));
    };
    let remote = Remote::at(address)?;
    let tell = |what: &str| {
        let stats = remote.stats();
        println!(
            "{what}: {} requests, {} of {} bytes",
            stats.requests, stats.bytes, stats.length
        );
    };
    let file = remote.open().await?;
    tell("open");
    match rest {
        [what, mesh] if what == "mesh" => {
            let mesh = mesh.parse()?;
            let view = remote.run(|_| file.mesh(&mesh)).await?;
            println!(
                "{mesh}: {} vertices, {} triangles",
                view.vertex_count(),
                view.triangle_count()
            );
            tell("mesh");
        }
        [what, numbers @ ..] if what == "snapshot" => {
            let proxy = file.as_cgeo().ok_or("no CGeo file")?;
            for number in numbers {
                let index = number.parse()?;
                let positions = remote.run(|_| proxy.snapshot(index)?.positions()).await?;
                println!("snapshots[{index}]: {} positions", positions.len());
                tell("snapshot");
            }
        }
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}
