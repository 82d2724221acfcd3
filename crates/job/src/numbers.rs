//! Numbers that no target can hold, and no picture can show.

use crate::error::{Error, Result};

/// Fails for the first NaN or infinite number, or replaces them all; returns how many.
///
/// # Errors
///
/// [`NonFinite`](Error::NonFinite) with the address of the first.
pub fn replace_non_finite<const N: usize>(
    elements: &mut [[f32; N]],
    address_of: impl Fn(usize) -> String,
    is_zeroed: bool,
) -> Result<u64> {
    // The usual case, without a branch for each number.
    let greatest = elements
        .as_flattened()
        .iter()
        .fold(0, |most: u32, number| most.max(number.abs().to_bits()));
    if greatest < f32::INFINITY.to_bits() {
        return Ok(0);
    }
    let mut replaced = 0;
    for (index, element) in elements.iter_mut().enumerate() {
        for number in element.iter_mut().filter(|number| !number.is_finite()) {
            if !is_zeroed {
                return Err(Error::NonFinite {
                    address: address_of(index),
                    value: *number,
                });
            }
            *number = 0.0;
            replaced += 1;
        }
    }
    Ok(replaced)
}
