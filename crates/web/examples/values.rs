//! Prints the meshes that the library reads, one line of JSON per file: `values FILE..`, or the names on standard input.
//! `values --array FILE ADDRESS ATTRIBUTE` writes one array in the form from which the checksums are made.
//!
//! The tests of the package compare these lines with the results of the module. A mesh has the numbers of vertices and
//! triangles, and the CRC-32 of all values as f32; a mesh that cannot be read has the message.

use std::io::{BufRead, Write};

use meshmap::{Attribute, MeshFile, Options, Parallelism, Source};
use meshmap_web::Settings;
use serde_json::{Value, json};

/// So many meshes of a file are read.
const MOST: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    if let [option, name, address, semantic] = named.as_slice()
        && option == "--array"
    {
        let view = open(name)?.mesh(&address.parse()?)?;
        let attribute = view
            .attribute(&semantic.parse()?)?
            .ok_or("no such attribute")?;
        std::io::stdout().write_all(&floats(&attribute))?;
        return Ok(());
    }
    let names = match named.is_empty() {
        true => std::io::stdin().lock().lines().collect::<Result<_, _>>()?,
        false => named,
    };
    for name in names {
        println!(
            "{}",
            file(&name).unwrap_or_else(|error| json!({ "error": error.message() }))
        );
    }
    Ok(())
}

fn open(name: &str) -> meshmap::Result<MeshFile> {
    let limits = Settings::default().limits();
    let options = Options::default()
        .with_limits(limits)
        .with_parallelism(Parallelism::Off);
    MeshFile::from_source(Source::open(name)?, &options)
}

fn file(name: &str) -> meshmap::Result<Value> {
    let file = open(name)?;
    let mut meshes = Vec::new();
    for entry in file.meshes()?.take(MOST) {
        let address = entry.address.to_string();
        meshes.push(match mesh(&file, &entry.address) {
            Ok(values) => json!({ "address": address, "values": values }),
            Err(error) => json!({ "address": address, "error": error.message() }),
        });
    }
    Ok(
        json!({ "format": file.format().to_string(), "findings": file.findings().len(), "meshes": meshes }),
    )
}

fn mesh(file: &MeshFile, address: &meshmap::Address) -> meshmap::Result<Value> {
    let view = file.mesh(address)?;
    let mut arrays = serde_json::Map::new();
    for info in view.attributes() {
        if let Some(attribute) = view.attribute(&info.semantic)? {
            arrays.insert(
                info.semantic.to_string(),
                crc32fast::hash(&floats(&attribute)).into(),
            );
        }
    }
    let indices: Vec<u8> = view.indices().iter().flat_map(u32::to_le_bytes).collect();
    Ok(json!({
        "vertices": view.vertex_count(),
        "triangles": view.triangle_count(),
        "arrays": arrays,
        "indices": crc32fast::hash(&indices),
    }))
}

/// The first four components as f32, those that are not stored as the library fills them; a NaN is one of them.
fn floats(attribute: &Attribute) -> Vec<u8> {
    let components = attribute.format().components.min(4) as usize;
    let number = |number: f32| if number.is_nan() { f32::NAN } else { number };
    let floats = attribute.to_f32::<4>();
    let bytes = floats
        .iter()
        .flat_map(|element| element.iter().take(components));
    bytes
        .flat_map(|float| number(*float).to_le_bytes())
        .collect()
}
