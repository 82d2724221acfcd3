//! Numbers that targets cannot hold.

use meshmap_job::{Change, Error, Result, Why, replace_non_finite};
use meshmap_scene::FactKind;

use crate::outcome::Outcome;
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
