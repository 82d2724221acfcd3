//! Comparison of the two decoders of each codec.

use meshmap::{Address, ArrayEntry, Codec, Decoder, MeshFile, Result};

use crate::inputs::{Problem, Reading};

/// The first array that the reference decoder decodes to other values, or for which only one of the decoders reports an error.
pub(crate) fn differs(file: &MeshFile, how: &Reading) -> Result<Option<Address>, Problem> {
    let options = how.options().with_limits(*file.limits()).with_decoder(Decoder::Reference);
    // Standard input cannot be read again.
    let second = MeshFile::from_source(file.source().clone(), &options)?;
    let mut others = second.arrays_together();
    for array in file.arrays_together() {
        match (array, others.next()) {
            (Ok(array), Some(Ok(other))) => {
                // Arrays with the bytes of earlier ones have been compared.
                let is_new = array.same_as.is_none() && array.codec != Codec::Stored;
                if array.address != other.address || is_new && !are_same(&array, &other) {
                    return Ok(Some(array.address));
                }
            }
            (Err(_), Some(Err(_))) => {}
            (Ok(array), _) => return Ok(Some(array.address)),
            (Err(error), _) => return Ok(error.address().cloned().or_else(|| Some(Address::field("file")))),
        }
    }
    Ok(None)
}

fn are_same(array: &ArrayEntry, other: &ArrayEntry) -> bool {
    match (array.read(), other.read()) {
        (Ok(fast), Ok(reference)) => fast == reference,
        (fast, reference) => fast.is_err() == reference.is_err(),
    }
}
