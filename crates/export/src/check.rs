//! Numbers that targets cannot hold.

use meshmap_scene::FactKind;

use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::report::{Change, Why};
use crate::settings::Job;

/// Fails for the first NaN or infinite number, or replaces them all, and says so.
pub(crate) fn finite<const N: usize>(
    elements: &mut [[f32; N]],
    address: impl Fn() -> String,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<()> {
    let address_of = |index| format!("{}[{index}]", address());
    let replaced = replace_non_finite(elements, address_of, job.zero_non_finite)?;
    outcome.report.change(Change::NonFiniteZeroed, replaced);
    Ok(())
}

/// Like [`finite`], for data without which a mesh is still complete: `false` if it has to be left out, which is reported.
pub(crate) fn usable<const N: usize>(
    elements: &mut [[f32; N]],
    kind: FactKind,
    address: impl Fn() -> String,
    job: &Job<'_>,
    outcome: &mut Outcome,
) -> Result<bool> {
    match finite(elements, &address, job, outcome) {
        Err(Error::NonFinite { address, value }) => {
            let element = format!("{address} is {value}");
            outcome.report.leave_out(kind, Why::NotFinite, element);
            Ok(false)
        }
        checked => checked.map(|()| true),
    }
}

/// Fails for the first NaN or infinite number, or replaces them all; returns how many.
pub(crate) fn replace_non_finite<const N: usize>(
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
