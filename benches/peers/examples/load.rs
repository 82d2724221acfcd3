//! Loads a file with another crate, for `benches/alternatives`.
//!
//!     load openctm|tmf|serde-llsd FILE
//!
//! Exit status 0 if the crate reads the file, 1 if it reports an error.

use std::error::Error;
use std::io::{Cursor, Read};

use flate2::read::ZlibDecoder;
use serde_llsd::LLSDValue;
use tmf::TMFMesh;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(path)) = (arguments.next(), arguments.next()) else {
        return Err("usage: load openctm|tmf|serde-llsd FILE".into());
    };
    let bytes = std::fs::read(path)?;
    match name.as_str() {
        "openctm" => drop(openctm::decode(&bytes).map_err(|error| format!("{error:?}"))?),
        "tmf" => drop(TMFMesh::read_tmf(&mut &bytes[..]).map_err(|error| format!("{error:?}"))?),
        "serde-llsd" => read_blocks(&bytes)?,
        _ => return Err(format!("no crate {name}").into()),
    }
    Ok(())
}

/// Parses the header of an asset and every block of it. The crate has no meshes: arrays are left as bytes.
fn read_blocks(bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut cursor = Cursor::new(bytes);
    let header = serde_llsd::binary_from_reader(&mut cursor)?;
    let begin = usize::try_from(cursor.position())?;
    let LLSDValue::Map(header) = header else {
        return Err("the header is not a map".into());
    };
    for block in header.values() {
        let LLSDValue::Map(block) = block else {
            continue;
        };
        let (Some(LLSDValue::Integer(offset)), Some(LLSDValue::Integer(size))) =
            (block.get("offset"), block.get("size"))
        else {
            continue;
        };
        let start = begin
            .checked_add(usize::try_from(*offset)?)
            .ok_or("an offset")?;
        let stored = bytes
            .get(start..)
            .and_then(|rest| rest.get(..usize::try_from(*size).ok()?));
        let mut content = Vec::new();
        ZlibDecoder::new(stored.ok_or("a range outside of the file")?).read_to_end(&mut content)?;
        serde_llsd::binary_from_bytes(&content)?;
    }
    Ok(())
}
