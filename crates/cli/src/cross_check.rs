//! Comparison of the two decoders of each codec.

use meshmap::{Address, ArrayEntry, Cause, Codec, Decoder, Error, Limit, MeshFile, Result};

use crate::inputs::{Problem, Reading};

/// The first array that the reference decoder decodes to other values, or for which only one of the decoders reports an error.
pub(crate) fn differs(file: &MeshFile, how: &Reading) -> Result<Option<Address>, Problem> {
    let options = how
        .options()
        .with_limits(*file.limits())
        .with_decoder(Decoder::Reference);
    // Standard input cannot be read again.
    let second = MeshFile::from_source(file.source().clone(), &options)?;
    let mut others = second.arrays_together();
    for array in file.arrays_together() {
        match (array, others.next()) {
            (Ok(array), Some(Ok(other))) => {
                // Arrays with the bytes of earlier ones have been compared.
                let is_new = array.same_as.is_none() && array.codec != Codec::Stored;
                if array.address != other.address || is_new && !are_same(&array, &other)? {
                    return Ok(Some(array.address));
                }
            }
            (Err(error), _) | (_, Some(Err(error))) if ends_job(&error) => return Err(error.into()),
            (Err(_), Some(Err(_))) => {}
            (Ok(array), _) => return Ok(Some(array.address)),
            (Err(error), _) => {
                return Ok(error
                    .address()
                    .cloned()
                    .or_else(|| Some(Address::field("file"))));
            }
        }
    }
    Ok(None)
}

fn are_same(array: &ArrayEntry, other: &ArrayEntry) -> Result<bool> {
    match (array.read(), other.read()) {
        (Ok(fast), Ok(reference)) => Ok(fast == reference),
        (Err(error), _) | (_, Err(error)) if ends_job(&error) => Err(error),
        (fast, reference) => Ok(fast.is_err() == reference.is_err()),
    }
}

/// The job has done too much work, or holds too much memory, whatever the array is.
fn ends_job(error: &Error) -> bool {
    matches!(
        error.cause(),
        Cause::Limit {
            limit: Limit::Work | Limit::TotalBytes,
            ..
        }
    )
}
