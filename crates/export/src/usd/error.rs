//! Errors of what USD cannot hold.

use meshmap_job::Error;

/// The name of the target in errors.
pub(super) const TARGET: &str = "usdc";

pub(super) fn not_held(what: String) -> Error {
    Error::NotHeld {
        target: TARGET,
        what,
    }
}
